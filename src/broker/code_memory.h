/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of processes that is code. Nothing of it is parsed here. Runs on the broker's worker threads. */
#ifndef ST_BROKER_CODE_MEMORY_H
#define ST_BROKER_CODE_MEMORY_H

#include "src/broker/broker.h"

/*
 * Answer BROKER_CODE, at TIME_NS: a sealed memory file or -errno; -EBUSY: too many at once or in this second, or a
 * read of that process's, or several of its user's, take long.
 */
int code_memory(const struct broker_file_request *request, uint64_t time_ns);

#endif
