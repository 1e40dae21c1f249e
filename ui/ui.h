/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The screen: ncurses, keys, one file per view. Sees snapshots, never the engine. Main thread. */
#ifndef ST_UI_UI_H
#define ST_UI_UI_H

#include "src/base/err.h"
#include "src/model/command.h"
#include "src/view/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ui_config {
	enum view_kind view;
	enum view_sort sort;
	uint64_t delay_ns;
	uint64_t window_ns;
	bool no_color;
	/*
	 * Write a report. NAME: as typed, or the default one. Returns 0 when done or -errno with a
	 * message; -EINPROGRESS: save_poll will tell. NULL in tests.
	 */
	int (*save)(void *context, const char *name, const void *data, size_t len, struct err *err);
	int (*save_poll)(void *context, struct err *err); /* -EINPROGRESS, 0, or -errno with a message */
	void *context;
};

/*
 * Run the screen until the person leaves, a signal ends it, or the engine's
 * command is over and q is pressed. The terminal is restored on every way out.
 * Returns the exit status (0, 1, or 128 + signal).
 */
int ui_run(const struct ui_config *config, struct channel *channel, struct err *err);

/* The table of keys, for help, README and the manual. */
struct ui_key {
	const char *keys;  /* "Up k" ... as shown */
	const char *group; /* "Move", "Unwind" ... */
	const char *help;
};
extern const struct ui_key ui_keys[];
extern const size_t ui_nr_keys;

#endif
