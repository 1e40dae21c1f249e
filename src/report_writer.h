/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the write key does: a report is made and goes to the disk without the screen waiting
 * for it. As the user we run as, or through a process that is root when root itself
 * started stacktop. One at a time. Main thread.
 */
#ifndef ST_REPORT_WRITER_H
#define ST_REPORT_WRITER_H

#include "src/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report_writer;

/*
 * PROCESS: the socket of that which creates the files (writer.h, borrowed); -1: we do ourselves. SETTINGS: the
 * file of settings (borrowed), or NULL; SETTINGS_PROCESS: the same of its process. NULL: no memory.
 */
struct report_writer *report_writer_new(int process, const char *settings, int settings_process);
/* Waits a moment for a report that is being made or written. */
struct report_writer *report_writer_free(struct report_writer *writer);

/*
 * Begin to write LEN bytes (copied) to NAME: -EINPROGRESS, or -errno with a
 * message when it cannot begin. Then report_writer_poll tells: -EINPROGRESS still, 0 done,
 * or -errno with a message.
 */
int report_writer_save(struct report_writer *writer, const char *name, const void *data, size_t len,
		       struct err *err);
/* The same with the file of settings and LINES for it (settings_write). */
int report_writer_save_settings(struct report_writer *writer, const char *lines, struct err *err);
/*
 * The same, but MAKE writes the report, into a stream, in another thread. DONE is called when CONTEXT is not needed any
 * more, here or there, and in any case. MAKE returns 0 or -errno.
 */
struct report_source {
	int (*make)(FILE *stream, void *context);
	void (*done)(void *context);
	void *context;
};
int report_writer_make(struct report_writer *writer, const char *name,
		       const struct report_source *source, struct err *err);
int report_writer_poll(struct report_writer *writer, struct err *err);
/*
 * Give up what is being written; nothing of it stays. What comes of it report_writer_poll tells: -ECANCELED, unless it
 * was too late.
 */
void report_writer_stop(struct report_writer *writer);
/* How much has been made (TOTAL is 0) or written of TOTAL bytes. */
uint64_t report_writer_done_bytes(const struct report_writer *writer, uint64_t *ret_total_bytes);

#endif
