/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batch mode's side of --when: writes the evidence and says so. Main thread. */
#ifndef ST_WATCH_H
#define ST_WATCH_H

#include "src/report_writer.h"
#include "src/view/when.h"

#include <stdbool.h>

struct watch {
	struct trigger *trigger;
	struct report_writer *writer;
	double min_pct; /* of the trees that are written */
	bool ascii;
	void (*say)(const char *text);
	bool is_writing;
	char name[256], why[WHEN_TEXT_MAX]; /* of what is being written */
};

/* Say what is watched for. */
void watch_begin(struct watch *watch);
/* A snapshot has come, which is not narrowed yet. */
void watch_take(struct watch *watch, const struct snapshot *snapshot);
/* Say how the writing went, if it is over. False: there is nothing to be waited for. */
bool watch_poll(struct watch *watch);
/* Wait a moment for what is being written. */
void watch_end(struct watch *watch);

#endif
