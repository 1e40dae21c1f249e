/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening whole sets: see event_open.h. */
#include "config.h"

#include "src/perf/event_open.h"

#include "src/base/io.h"
#include "src/perf/attr.h"

#include <errno.h>
#include <unistd.h>

/* Rings for all CPUs. CPUs that left since the list was made are passed over. */
static int fill_cpus(struct event_list *list, const struct event_targets *targets)
{
	for (size_t i = 0; i < targets->nr_cpus; i++) {
		int r = event_list_add_cpu(list, targets->cpus[i]);

		if (r < 0 && r != -ENODEV)
			return r;
	}
	return list->nr_rings > 0 ? 0 : -ENODEV;
}

/* Events for all tasks; some may have ended, or be somebody else's. */
static int fill_tasks(struct event_list *list, const struct event_targets *targets,
		      struct tasks *tasks)
{
	int last = -ESRCH;

	for (size_t i = 0; i < targets->nr_tids; i++) {
		int r = event_list_add_task(list, targets->tids[i]);

		if (r == 0)
			r = tasks_add(tasks, targets->tids[i], now_ns());
		/* Busy: in the middle of an exec that hangs. */
		if (r == -EACCES || r == -EPERM || r == -EBUSY)
			list->nr_refused++;
		else if (r < 0 && r != -ESRCH)
			return r;
		if (r < 0)
			last = r;
	}
	return list->nr_events > 0 ? 0 : last;
}

int event_list_open(struct event_list *list, const struct perf_opener *opener,
		    struct perf_event_attr *attr, const struct event_open_request *request,
		    bool *ret_halved, struct err *err)
{
	const struct event_targets *targets = request->targets;
	uint32_t page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	bool is_ring;

	for (size_t pages = request->pages;; pages /= 2, *ret_halved = true) {
		struct perf_event_attr holder;
		int r;

		if (request->config)
			attr->wakeup_watermark = (uint32_t)pages * page_bytes / 4;
		attr_ring_holder(attr->wakeup_watermark, &holder);
		event_list_init(list, opener, attr, &holder, pages, targets->tids);
		r = fill_cpus(list, targets);
		opener->mapped(opener->context);
		is_ring = r == -EPERM || r == -ENOMEM;
		if (r == 0 && targets->tids)
			r = fill_tasks(list, targets, request->tasks);
		if (r == 0)
			return 0;
		event_list_done(list);
		if (!is_ring)
			return event_config_explain(r, request->config, targets, err);
		if (pages / 2 < request->min_pages)
			return event_config_explain_ring(r, pages, err);
	}
}
