/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of machines with the other byte order, turned into this machine's before anybody reads them. */
#ifndef ST_PERF_RECORDING_SWAP_H
#define ST_PERF_RECORDING_SWAP_H

#include "src/perf/record.h"

/*
 * Turn the record RAW of BYTES, whose header is in this machine's order already
 * and whose rest has FORMAT, in place: all that record_decode() reads. Text,
 * raw data and stack bytes stay as they are. Never leaves RAW.
 */
void recording_swap(const struct record_format *format, uint8_t *raw, size_t bytes);

#endif
