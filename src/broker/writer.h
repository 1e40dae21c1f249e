/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report writer: a process that makes root's reports, and nothing else. It is root, so that
 * the files are root's, but has no capability and can reach no file outside its
 * folder; the broker, which opens what targets make, need not be root then.
 */
#ifndef ST_BROKER_WRITER_H
#define ST_BROKER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#define WRITER_NAME_MAX 200 /* bytes */

struct writer_request {
	char name[WRITER_NAME_MAX + 1];
	bool stops; /* and nothing is asked for */
};

struct writer_reply {
	int32_t status;
};

/* A file that root has made itself, in batch mode: its descriptor (-1: none) and its name in the folder. */
struct writer_output {
	int fd;
	const char *name;
};

/*
 * Fork it, to work in the folder DIR until the other end of *RET_SOCK is closed; what is being written then
 * is finished. With an OUTPUT it makes no file: it removes that one when it is asked to. 0 or -errno.
 */
int writer_start(int dir, const struct writer_output *output, int *ret_sock);
/* How it gives up everything but making files in DIR; not undone by anything. 0 or -errno. */
int writer_confine(int dir);

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
/* What came of it: 0 or -errno; -EINPROGRESS: nothing within TIMEOUT_MS, -EPIPE: the writer is gone. */
int writer_answer(int sock, int timeout_ms);

#endif
