/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The screen: ncurses, keys, one file per view. Sees snapshots, never the engine. Main thread. */
#ifndef ST_UI_UI_H
#define ST_UI_UI_H

#include "src/base/err.h"
#include "src/model/command.h"
#include "src/view/view.h"
#include "src/view/when.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ui_config {
	enum view_kind view;
	enum view_names names;
	uint32_t columns;     /* as view_columns_parse() has them, to begin with */
	bool is_inlined;      /* inlined functions are frames of their own, to begin with */
	bool folds_recursion; /* to begin with */
	enum view_sort sort;  /* to begin with; by self the call tree begins with total */
	uint64_t delay_ns;
	uint64_t window_ns;
	bool has_mouse; /* to begin with */
	enum view_theme theme;
	bool no_color;		  /* as VIEW_THEME_MONO */
	uint64_t max_bytes_per_s; /* that are sent to the terminal by redraws, 0: no limit */

	/*
	 * The write key. Any of these may be NULL: then the key says that reports are not to be
	 * had. They are called on the thread of ui_run and must not wait for a disk, nor make a report.
	 *
	 * report_name: the name that is offered ("stacktop-HOST-TIME.txt", of a bundle .tar).
	 * save: write a report to NAME, as typed or the offered one, in the format that its ending asks for, made of SNAPSHOT
	 * (held as long); or as text with the rows of VIEW, which is taken (left empty) if it is needed for longer. VIEW is NULL for
	 * bundles that are not asked for by a person. 0 when done, -errno with a message, -EINPROGRESS: save_poll will
	 * tell, in the same way.
	 * save_stop: give up what is being written, so that nothing of it stays; save_poll tells.
	 * save_done_bytes: how much of it is made (total 0: how much that will be is not known) or written.
	 */
	void (*report_name)(const struct snapshot *snapshot, bool is_bundle, char *out,
			    size_t size);
	int (*save)(void *context, const char *name, struct snapshot *snapshot,
		    const struct view_query *query, struct view *view, struct err *err);
	int (*save_poll)(void *context, struct err *err);
	void (*save_stop)(void *context);
	uint64_t (*save_done_bytes)(void *context, uint64_t *ret_total_bytes);
	void *context;

	/* A bundle is written by itself when it fires (when.h), NULL: nothing is watched for. */
	struct trigger *trigger;

	/*
	 * Make LINES ("NAME = VALUE") the settings that the next start begins with; NULL: there is no file for
	 * them. As save does it. WHERE: the file's name, for the person.
	 */
	int (*save_settings)(void *context, const char *lines, struct err *err);
	const char *where;
	const char *servers; /* debuginfod's, as they were named, or NULL */
	const char *notice;  /* shown at the start, or NULL */
};

/*
 * Run the screen until the person leaves or a signal ends it (SIGHUP, SIGINT,
 * SIGQUIT, SIGTERM, or a terminal that went away, which counts as SIGHUP). The
 * terminal is restored on every way out: by a signal handler when the program
 * crashes, by a small guard process when it is killed. Sends commands and takes
 * snapshots; COMMAND_QUIT is the caller's. Returns the exit status: 0, 1 with a
 * message in ERR, or 128 + signal.
 */
int ui_run(const struct ui_config *config, struct channel *channel, struct err *err);

#endif
