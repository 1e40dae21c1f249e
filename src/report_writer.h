/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the write key does: a report goes to the disk without the screen waiting
 * for it. As the user we run as, or through a process that is root when root itself
 * started stacktop. One at a time. Main thread.
 */
#ifndef ST_REPORT_WRITER_H
#define ST_REPORT_WRITER_H

#include "src/base/err.h"

#include <stddef.h>

struct report_writer;

/*
 * PROCESS: the socket of that which creates the files (writer.h, borrowed); -1: we do ourselves. SETTINGS: the
 * file of settings (borrowed), or NULL. NULL: no memory.
 */
struct report_writer *report_writer_new(int process, const char *settings);
/* Waits a moment for a report that is being written. */
struct report_writer *report_writer_free(struct report_writer *writer);

/*
 * Begin to write LEN bytes (copied) to NAME: -EINPROGRESS, or -errno with a
 * message when it cannot begin. Then report_writer_poll tells: -EINPROGRESS still, 0 done,
 * or -errno with a message.
 */
int report_writer_save(struct report_writer *writer, const char *name, const void *data, size_t len,
		       struct err *err);
/* The same with the file of settings and LINES for it (settings_write), always as the user we run as. */
int report_writer_save_settings(struct report_writer *writer, const char *lines, struct err *err);
int report_writer_poll(struct report_writer *writer, struct err *err);

#endif
