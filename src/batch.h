/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batch mode: a block per refresh, or one per sample, to a stream. Sees snapshots, never the engine. */
#ifndef ST_BATCH_H
#define ST_BATCH_H

#include "src/base/err.h"
#include "src/bundle.h"
#include "src/launch.h"
#include "src/model/command.h"
#include "src/options.h"
#include "src/output.h"
#include "src/watch.h"

#include <signal.h>

struct batch_config {
	const struct options *options; /* view, sort, limit, delay, count, format */
	struct output *output;	       /* open; marked after each block */
	struct bundle *bundle;	       /* written instead of the output, or NULL */
	bool ascii;
	struct launch *launch;	       /* the command, or NULL */
	struct watch *watch;	       /* of --when, or NULL */
	void (*say)(const char *text); /* one line for the person, beside the stream */
	/* How far a recording is read; the next text takes its place, "" leaves nothing. NULL: nobody looks on. */
	void (*show)(const char *text);
};

/* The signals that batch mode takes itself: to be blocked before any thread is started. */
void batch_signals(sigset_t *ret);

/*
 * Write blocks until the count is reached, the command or the targets have ended, a signal
 * comes or the reader is gone; then send the engine COMMAND_QUIT and wait for the command.
 * Returns the exit status: the command's, 128 + n for signal n, 0, or 1 with ERR set.
 */
int batch_run(const struct batch_config *config, struct channel *channel, struct err *err);

#endif
