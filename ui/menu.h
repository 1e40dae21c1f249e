/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A menu of processes over the whole screen, before there is anything to show. No engine, no snapshots. */
#ifndef ST_UI_MENU_H
#define ST_UI_MENU_H

#include "src/base/err.h"
#include "src/view/view.h"

#include <stdbool.h>
#include <stdint.h>

#define MENU_TEXT_MAX 256

struct menu_item {
	int32_t pid;
	double cpu_pct;		  /* of one CPU, over the last moment */
	char text[MENU_TEXT_MAX]; /* its name and what it was started with, sanitized */
};

struct menu_config {
	enum view_theme theme;
	/* What there is now, the busiest first, valid until the next call; how many, or -errno. */
	int (*items)(void *context, const struct menu_item **ret);
	void *context;
};

/*
 * Let the person choose one: its pid in *RET_PID, 0 when the menu was left. Returns an exit status: 0, 1 with a
 * message in ERR, or 128 + signal.
 */
int menu_run(const struct menu_config *config, int32_t *ret_pid, struct err *err);

#endif
