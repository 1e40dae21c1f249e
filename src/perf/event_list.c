/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event sets: see event_list.h. For CPU targets the one event of a CPU holds its ring.
 * For tasks a dummy event on the opener's own thread holds it, and the tasks'
 * events are directed there: tasks end, and an ended task's descriptor would
 * wake its poller for ever.
 */
#include "config.h"

#include "src/perf/event_list.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RINGS_MAX  65536
#define EVENTS_MAX (1u << 24)

void set_init(struct event_set *set, const struct perf_opener *opener,
	      const struct perf_event_attr *attr, const struct perf_event_attr *holder,
	      size_t ring_pages, bool is_per_task)
{
	*set = (struct event_set){
		.opener = opener,
		.attr = *attr,
		.holder = *holder,
		.ring_pages = ring_pages,
		.is_per_task = is_per_task,
	};
}

void set_done(struct event_set *set)
{
	for (size_t i = 0; i < set->nr_rings; i++) {
		ring_unmap(&set->rings[i].ring);
		if (set->is_per_task)
			close(set->rings[i].fd);
	}
	for (size_t i = 0; i < set->nr_events; i++)
		close(set->events[i].fd);
	free(set->rings);
	free(set->events);
	*set = (struct event_set){0};
}

static struct set_ring *find_ring(const struct event_set *set, int cpu)
{
	for (size_t i = 0; i < set->nr_rings; i++)
		if (set->rings[i].cpu == cpu)
			return &set->rings[i];
	return NULL;
}

bool set_has_cpu(const struct event_set *set, int cpu)
{
	return find_ring(set, cpu);
}

static int set_open(const struct event_set *set, const struct perf_event_attr *attr, pid_t tid,
		    int cpu, size_t ring_pages)
{
	return set->opener->open(set->opener->context, attr, tid, cpu, ring_pages);
}

int set_add_cpu(struct event_set *set, int cpu)
{
	const struct perf_event_attr *attr = set->is_per_task ? &set->holder : &set->attr;
	struct set_ring ring = {.cpu = cpu};
	int r;

	r = vec_reserve(&set->rings, &set->cap_rings, set->nr_rings + 1, RINGS_MAX);
	if (r == 0)
		r = vec_reserve(&set->events, &set->cap_events, set->nr_events + 1, EVENTS_MAX);
	if (r < 0)
		return r;
	ring.fd = set_open(set, attr, set->is_per_task ? 0 : -1, cpu, set->ring_pages);
	if (ring.fd < 0)
		return ring.fd;
	r = ring_map(&ring.ring, ring.fd, set->ring_pages);
	if (r < 0) {
		close(ring.fd);
		return r;
	}
	set->rings[set->nr_rings++] = ring;
	if (!set->is_per_task)
		set->events[set->nr_events++] = (struct set_event){ring.fd, cpu, -1};
	return 0;
}

void set_remove_cpu(struct event_set *set, int cpu)
{
	struct set_ring *ring = find_ring(set, cpu);
	size_t kept = 0;

	if (!ring)
		return;
	ring_unmap(&ring->ring);
	if (set->is_per_task)
		close(ring->fd);
	*ring = set->rings[--set->nr_rings];
	for (size_t i = 0; i < set->nr_events; i++) {
		if (set->events[i].cpu == cpu)
			close(set->events[i].fd);
		else
			set->events[kept++] = set->events[i];
	}
	set->nr_events = kept;
}

/* Open TID's event for the CPU of RING and direct it there. */
static int add_task_event(struct event_set *set, pid_t tid, const struct set_ring *ring)
{
	int r = vec_reserve(&set->events, &set->cap_events, set->nr_events + 1, EVENTS_MAX);
	int fd;

	if (r < 0)
		return r;
	fd = set_open(set, &set->attr, tid, ring->cpu, 0);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	set->events[set->nr_events++] = (struct set_event){fd, ring->cpu, tid};
	return 0;
}

static void drop_events_from(struct event_set *set, size_t nr)
{
	while (set->nr_events > nr)
		close(set->events[--set->nr_events].fd);
}

int set_add_task(struct event_set *set, pid_t tid)
{
	size_t before = set->nr_events;

	for (size_t i = 0; i < set->nr_rings; i++) {
		int r = add_task_event(set, tid, &set->rings[i]);

		if (r < 0) {
			drop_events_from(set, before);
			return r;
		}
	}
	return 0;
}

int set_add_cpu_tasks(struct event_set *set, int cpu, const pid_t *tids, size_t nr_tids)
{
	const struct set_ring *ring = find_ring(set, cpu);
	int r = 0;

	for (size_t i = 0; ring && i < nr_tids && r == 0; i++) {
		r = add_task_event(set, tids[i], ring);
		if (r == -ESRCH || r == -EACCES || r == -EPERM)
			r = 0;
	}
	return r;
}

/* With read_format TOTAL_TIME_ENABLED: value, time enabled. */
bool set_ring_is_dead(struct set_ring *ring)
{
	uint64_t values[4] = {0};
	uint64_t before_ns = ring->enabled_ns;

	if (read(ring->fd, values, sizeof(values)) <= 0)
		return false;
	ring->enabled_ns = values[1];
	return before_ns != 0 && values[1] == before_ns;
}

static void control(const struct event_set *set, int cpu, unsigned long request)
{
	for (size_t i = 0; i < set->nr_events; i++)
		if (cpu < 0 || set->events[i].cpu == cpu)
			ioctl(set->events[i].fd, request, 0);
}

void set_enable(const struct event_set *set, int cpu)
{
	control(set, cpu, PERF_EVENT_IOC_ENABLE);
}

void set_disable(const struct event_set *set, int cpu)
{
	control(set, cpu, PERF_EVENT_IOC_DISABLE);
}

/* With read_format ID and LOST: value, id, lost. */
uint64_t set_read_lost(const struct event_set *set, int cpu)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < set->nr_events; i++) {
		uint64_t values[3];

		if (cpu >= 0 && set->events[i].cpu != cpu)
			continue;
		if (read(set->events[i].fd, values, sizeof(values)) == (ssize_t)sizeof(values))
			sum += values[2];
	}
	return sum;
}

uint64_t set_lost_untold(const struct event_set *set, int cpu)
{
	uint64_t counted = set_read_lost(set, cpu), told = 0;

	for (size_t i = 0; i < set->nr_rings; i++)
		if (cpu < 0 || set->rings[i].cpu == cpu)
			told += set->rings[i].lost_told;
	return counted > told ? counted - told : 0;
}

uint64_t set_ring_bytes(const struct event_set *set)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < set->nr_rings; i++)
		sum += set->rings[i].ring.data_bytes;
	return sum;
}
