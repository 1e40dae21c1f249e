/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the write key does: a report goes to the disk without the screen waiting
 * for it. As the user we run as, or through the broker when root itself started
 * stacktop. One at a time. Main thread.
 */
#ifndef ST_SAVER_H
#define ST_SAVER_H

#include "src/base/err.h"
#include "src/broker/broker.h"

#include <stddef.h>

struct saver;

/* BROKER: it creates the files (borrowed); NULL: we do ourselves. NULL: no memory. */
struct saver *saver_new(struct broker *broker);
/* Waits a moment for a report that is being written. */
struct saver *saver_free(struct saver *saver);

/*
 * Begin to write LEN bytes (copied) to NAME: -EINPROGRESS, or -errno with a
 * message when it cannot begin. Then saver_poll tells: -EINPROGRESS still, 0 done,
 * or -errno with a message.
 */
int saver_save(struct saver *saver, const char *name, const void *data, size_t len,
	       struct err *err);
int saver_poll(struct saver *saver, struct err *err);

#endif
