/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event lists: see event_list.h. For CPU targets the one event of a CPU holds its ring.
 * For tasks a dummy event on the opener's own thread holds it, and the tasks'
 * events are directed there: tasks end, and an ended task's descriptor would
 * wake its poller for ever.
 */
#include "config.h"

#include "src/perf/event_list.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RINGS_MAX  65536
#define EVENTS_MAX (1u << 24)
#define TASKS_MAX  (1u << 22) /* PID_MAX_LIMIT */

void event_list_init(struct event_list *list, const struct perf_opener *opener,
		     const struct perf_event_attr *attr, const struct perf_event_attr *holder,
		     size_t ring_pages, bool is_per_task)
{
	*list = (struct event_list){
		.opener = opener,
		.attr = *attr,
		.holder = *holder,
		.ring_pages = ring_pages,
		.is_per_task = is_per_task,
	};
}

void event_list_done(struct event_list *list)
{
	for (size_t i = 0; i < list->nr_rings; i++) {
		ring_unmap(&list->rings[i].ring);
		if (list->is_per_task)
			close(list->rings[i].fd);
	}
	for (size_t i = 0; i < list->nr_events; i++)
		close(list->events[i].fd);
	free(list->rings);
	free(list->events);
	*list = (struct event_list){0};
}

static struct event_ring *find_ring(const struct event_list *list, int cpu)
{
	for (size_t i = 0; i < list->nr_rings; i++)
		if (list->rings[i].cpu == cpu)
			return &list->rings[i];
	return NULL;
}

bool event_list_has_cpu(const struct event_list *list, int cpu)
{
	return find_ring(list, cpu);
}

static int open_event(const struct event_list *list, const struct perf_event_attr *attr, pid_t tid,
		      int cpu, size_t ring_pages)
{
	return list->opener->open(list->opener->context, attr, tid, cpu, ring_pages);
}

int event_list_add_cpu(struct event_list *list, int cpu)
{
	const struct perf_event_attr *attr = list->is_per_task ? &list->holder : &list->attr;
	struct event_ring ring = {.cpu = cpu};
	int r;

	r = vec_reserve(&list->rings, &list->cap_rings, list->nr_rings + 1, RINGS_MAX);
	if (r == 0)
		r = vec_reserve(&list->events, &list->cap_events, list->nr_events + 1, EVENTS_MAX);
	if (r < 0)
		return r;
	ring.fd = open_event(list, attr, list->is_per_task ? 0 : -1, cpu, list->ring_pages);
	if (ring.fd < 0)
		return ring.fd;
	r = ring_map(&ring.ring, ring.fd, list->ring_pages);
	if (r < 0) {
		close(ring.fd);
		return r;
	}
	list->rings[list->nr_rings++] = ring;
	if (!list->is_per_task)
		list->events[list->nr_events++] = (struct event_fd){ring.fd, cpu, -1};
	return 0;
}

void event_list_remove_cpu(struct event_list *list, int cpu)
{
	struct event_ring *ring = find_ring(list, cpu);
	size_t kept = 0;

	if (!ring)
		return;
	ring_unmap(&ring->ring);
	if (list->is_per_task)
		close(ring->fd);
	*ring = list->rings[--list->nr_rings];
	for (size_t i = 0; i < list->nr_events; i++) {
		if (list->events[i].cpu == cpu)
			close(list->events[i].fd);
		else
			list->events[kept++] = list->events[i];
	}
	list->nr_events = kept;
}

/* Open TID's event for the CPU of RING and direct it there. */
static int add_task_event(struct event_list *list, pid_t tid, const struct event_ring *ring)
{
	int r = vec_reserve(&list->events, &list->cap_events, list->nr_events + 1, EVENTS_MAX);
	int fd;

	if (r < 0)
		return r;
	fd = open_event(list, &list->attr, tid, ring->cpu, 0);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	list->events[list->nr_events++] = (struct event_fd){fd, ring->cpu, tid};
	return 0;
}

static void drop_events_from(struct event_list *list, size_t nr)
{
	while (list->nr_events > nr)
		close(list->events[--list->nr_events].fd);
}

int event_list_add_task(struct event_list *list, pid_t tid)
{
	size_t before = list->nr_events;

	for (size_t i = 0; i < list->nr_rings; i++) {
		int r = add_task_event(list, tid, &list->rings[i]);

		if (r < 0) {
			drop_events_from(list, before);
			return r;
		}
	}
	return 0;
}

int event_list_add_cpu_tasks(struct event_list *list, int cpu, const pid_t *tids, size_t nr_tids)
{
	const struct event_ring *ring = find_ring(list, cpu);
	int r = 0;

	for (size_t i = 0; ring && i < nr_tids && r == 0; i++) {
		r = add_task_event(list, tids[i], ring);
		if (r == -ESRCH || r == -EACCES || r == -EPERM)
			r = 0;
	}
	return r;
}

/* With read_format TOTAL_TIME_ENABLED: value, time enabled. */
bool event_ring_is_dead(struct event_ring *ring)
{
	uint64_t values[4] = {0};
	uint64_t before_ns = ring->enabled_ns;

	if (read(ring->fd, values, sizeof(values)) <= 0)
		return false;
	ring->enabled_ns = values[1];
	return before_ns != 0 && values[1] == before_ns;
}

void event_list_control(const struct event_list *list, int cpu, unsigned long request)
{
	for (size_t i = 0; i < list->nr_events; i++)
		if (cpu < 0 || list->events[i].cpu == cpu)
			ioctl(list->events[i].fd, request, 0);
}

/* With read_format ID and LOST: value, id, lost. */
uint64_t event_list_read_lost(const struct event_list *list, int cpu)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < list->nr_events; i++) {
		uint64_t values[3];

		if (cpu >= 0 && list->events[i].cpu != cpu)
			continue;
		if (read(list->events[i].fd, values, sizeof(values)) == (ssize_t)sizeof(values))
			sum += values[2];
	}
	return sum;
}

uint64_t event_list_lost_unreported(const struct event_list *list, int cpu)
{
	uint64_t counted = event_list_read_lost(list, cpu), reported = 0;

	for (size_t i = 0; i < list->nr_rings; i++)
		if (cpu < 0 || list->rings[i].cpu == cpu)
			reported += list->rings[i].lost_reported;
	return counted > reported ? counted - reported : 0;
}

uint64_t event_list_ring_bytes(const struct event_list *list)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < list->nr_rings; i++)
		sum += list->rings[i].ring.data_bytes;
	return sum;
}

/* --- opening a whole list --- */

/* Rings for all CPUs. CPUs that left since the list was made are passed over. */
static int open_cpus(struct event_list *list, const struct event_targets *targets)
{
	for (size_t i = 0; i < targets->nr_cpus; i++) {
		int r = event_list_add_cpu(list, targets->cpus[i]);

		if (r < 0 && r != -ENODEV)
			return r;
	}
	return list->nr_rings > 0 ? 0 : -ENODEV;
}

/* Events for all tasks; some may have ended, or be another user's. */
static int open_tasks(struct event_list *list, const struct event_targets *targets,
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

int event_list_open(struct event_list *list, const struct event_list_request *request,
		    bool *ret_halved, struct err *err)
{
	const struct event_targets *targets = request->targets;
	const struct perf_opener *opener = request->opener;
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	assert(request->pages >= request->min_pages);
	for (size_t pages = request->pages;; pages /= 2, *ret_halved = true) {
		struct perf_event_attr attr, holder;
		bool is_ring;
		int r;

		event_config_attr(request->config, (uint32_t)(pages * page_bytes / 4), &attr);
		attr_ring_holder(attr.wakeup_watermark, &holder);
		event_list_init(list, opener, &attr, &holder, pages, targets->tids);
		list->config = *request->config;
		r = open_cpus(list, targets);
		opener->mapped(opener->context);
		is_ring = r == -EPERM || r == -ENOMEM;
		if (r == 0 && targets->tids)
			r = open_tasks(list, targets, request->tasks);
		if (r == 0)
			return 0;
		event_list_done(list);
		if (!is_ring)
			return event_config_explain(r, request->config, targets, err);
		if (pages / 2 < request->min_pages)
			return event_config_explain_ring(r, pages, err);
	}
}

/* --- tasks --- */

void tasks_done(struct tasks *tasks)
{
	u64map_done(&tasks->index);
	free(tasks->list);
	*tasks = (struct tasks){0};
}

int tasks_add(struct tasks *tasks, pid_t tid, uint64_t opened_ns)
{
	uint32_t at = u64map_get(&tasks->index, (uint64_t)tid);

	if (at == U64MAP_NONE) {
		if (vec_reserve(&tasks->list, &tasks->cap, tasks->nr + 1, TASKS_MAX) < 0 ||
		    u64map_set(&tasks->index, (uint64_t)tid, (uint32_t)tasks->nr) < 0)
			return -ENOMEM;
		at = (uint32_t)tasks->nr++;
	}
	tasks->list[at] = (struct task){.tid = tid, .opened_ns = opened_ns};
	return 0;
}

void tasks_remove(struct tasks *tasks, pid_t tid)
{
	uint32_t at = u64map_get(&tasks->index, (uint64_t)tid);
	struct task *last;

	if (at == U64MAP_NONE)
		return;
	last = &tasks->list[--tasks->nr];
	u64map_remove(&tasks->index, (uint64_t)tid);
	if (last->tid == tid)
		return;
	assert(at < tasks->nr);
	tasks->list[at] = *last;
	u64map_set(&tasks->index, (uint64_t)last->tid, at);
}

void tasks_follow(struct tasks *tasks, const struct record *record)
{
	uint64_t opened_ns = 0;
	uint32_t parent;

	if (record->kind == RECORD_EXIT) {
		tasks_remove(tasks, (pid_t)record->tid);
		return;
	}
	if (record->kind != RECORD_FORK)
		return;
	parent = u64map_get(&tasks->index, record->fork.ptid);
	if (parent != U64MAP_NONE && tasks->list[parent].opened_ns != 0 &&
	    tasks->list[parent].opened_ns < record->time_ns)
		opened_ns = record->time_ns;
	tasks_add(tasks, (pid_t)record->tid, opened_ns);
}
