/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens a whole list of events: all CPUs, all tasks, and rings as large as may be. */
#ifndef ST_PERF_EVENT_OPEN_H
#define ST_PERF_EVENT_OPEN_H

#include "src/perf/event_config.h"
#include "src/perf/event_list.h"
#include "src/perf/tasks.h"

struct event_open_request {
	const struct event_targets *targets;
	const struct event_config *config; /* of samples; NULL: the sideband */
	size_t pages, min_pages;	   /* of a ring: wanted, and the least that makes sense */
	struct tasks *tasks;		   /* gets those that were opened (task targets) */
};

/*
 * Open events of ATTR into *LIST. The ring is halved as long as the kernel does
 * not let so much memory be locked (*RET_HALVED becomes true), and ATTR's
 * watermark follows it. Returns 0, or -errno with ERR and nothing open.
 */
int event_list_open(struct event_list *list, const struct perf_opener *opener,
		    struct perf_event_attr *attr, const struct event_open_request *request,
		    bool *ret_halved, struct err *err);

#endif
