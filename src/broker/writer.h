/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report writer: a process that makes root's reports, and nothing else. It is root, so that
 * the files are root's, but has no capability and can reach no file outside its
 * folder; the broker, which opens what targets make, need not be root then.
 */
#ifndef ST_BROKER_WRITER_H
#define ST_BROKER_WRITER_H

#include "src/broker/settings_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITER_NAME_MAX 200 /* bytes */

struct writer_request {
	char name[WRITER_NAME_MAX + 1];
	bool stops;    /* and nothing is asked for */
	bool is_whole; /* and OUTPUT gets its name */
};

struct writer_reply {
	int32_t status;
};

/* What root has made itself, in batch mode: its descriptor (-1: none) and its name in the folder. */
struct writer_output {
	int fd;
	const char *name;
	/* Of a folder: what it is called when it is whole, and the files that may be in it. NULL: it is a file. */
	const char *whole_name;
	const char *const *files;
	size_t nr_files;
};

/*
 * Fork it, to work in the folder DIR until the other end of *RET_SOCK is closed; what is being written then
 * is finished. With an OUTPUT it makes no file: it removes that one, or gives it its name, when it is asked to. 0 or -errno.
 */
int writer_start(int dir, const struct writer_output *output, int *ret_sock);
/*
 * The same for settings: it replaces that one file, by what a request without a name has for it. It is another process
 * than that of reports, for it has another folder.
 */
int writer_start_settings(int dir, const struct settings_file *file, int *ret_sock);
/* Remove OUTPUT from the folder DIR, while that name is still what it is. */
void writer_remove(int dir, const struct writer_output *output);
/* Give OUTPUT, a folder, the name that it has when it is whole. 0, or -errno: that name is taken by now ... */
int writer_finish(int dir, const struct writer_output *output);
/* How it gives up everything but making files in DIR, and reading them for settings; not undone by anything. 0 or -errno. */
int writer_confine(int dir, bool has_settings);

/*
 * NAME is of the form that reports have: "stacktop-", then letters, digits, '.', '-' and '_', and
 * one of the endings .txt, .json, .folded and .tar. No other file is ever made for a client, which may
 * have been taken over by what it reads: root's shell and tools start programs from many names.
 */
bool writer_is_name(const char *name);
/* What is being written is to end with -ECANCELED, unless it is done by then. */
void writer_stop(int sock);
/*
 * Ask for a new file NAME (as above), mode 0600, never over anything, with the content of MEMFD. Without one
 * (-1): that the OUTPUT is removed. The file offset of MEMFD tells how much is written. Does not wait. 0, or -errno: it was not asked.
 */
int writer_ask(int sock, const char *name, int memfd);
/* The same, for the OUTPUT to get its name: it is whole. */
int writer_ask_whole(int sock);
/* What came of it: 0 or -errno; -EINPROGRESS: nothing within TIMEOUT_MS, -EPIPE: the writer is gone. */
int writer_answer(int sock, int timeout_ms);

#endif
