/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header's features, each a few bytes of a layout of its own: machine, names, build-ids. */
#ifndef ST_PERF_RECORDING_FEATURES_H
#define ST_PERF_RECORDING_FEATURES_H

#include "src/base/reader.h"
#include "src/perf/recording_head.h"

#define RECORDING_FEATURE_HOSTNAME 3

/* Bytes that are read of a feature; 0: it is not used. */
size_t recording_features_bytes_max(unsigned int feature);

/* Take feature number FEATURE from R. Returns 0 or -EBADMSG; what is not used is ignored. */
int recording_features_take(struct recording_head *head, unsigned int feature, struct reader *r);

/* Take one entry of the table of build-ids, header first. IS_ONE: it is a record of its own. */
int recording_features_build_id(struct recording_head *head, struct reader *r, bool is_one);

void recording_features_done(struct recording_info *info);

#endif
