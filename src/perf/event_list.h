/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A set of events of one kind over CPUs, or over tasks and CPUs, with one ring
 * per CPU. Sets are what a change of mode swaps.
 */
#ifndef ST_PERF_SET_H
#define ST_PERF_SET_H

#include "src/perf/live.h"
#include "src/perf/ring.h"

struct set_event {
	int fd;
	int cpu;
	pid_t tid; /* -1: all tasks */
};

struct set_ring {
	struct ring ring;
	int fd; /* the event that holds the ring; own descriptor for task targets, else an event's */
	int cpu;
	uint64_t throttled_since_ns; /* 0: not throttled */
	uint64_t lost_told;	     /* sum of its LOST records */
	uint64_t looked;	     /* up to this position source_peek() has looked */
	uint64_t enabled_ns;	     /* of its event, when last looked at; sideband only */
};

struct event_set {
	const struct perf_opener *opener;
	struct perf_event_attr attr, holder; /* of the events; of ring holders for task targets */
	size_t ring_pages;
	uint8_t format; /* the stage's word for records of this set */
	bool is_per_task;
	struct set_ring *rings;
	size_t nr_rings, cap_rings;
	struct set_event *events;
	size_t nr_events, cap_events;
	uint32_t nr_refused; /* tasks that may not be looked into */
};

/*
 * Start an empty set; ATTR as opened, HOLDER for ring holders. For CPU targets
 * add CPUs with set_add_cpu; for tasks add CPUs, then tasks.
 */
void set_init(struct event_set *set, const struct perf_opener *opener,
	      const struct perf_event_attr *attr, const struct perf_event_attr *holder,
	      size_t ring_pages, bool is_per_task);
/* Close all events and rings. */
void set_done(struct event_set *set);

/*
 * Open the events of CPU (for CPU targets) or its ring's holder (for tasks).
 * On error (-errno; -EPERM and -ENOMEM also when the ring is too large) nothing
 * of this CPU stays open.
 */
int set_add_cpu(struct event_set *set, int cpu);
/* Close the events of CPU. */
void set_remove_cpu(struct event_set *set, int cpu);
bool set_has_cpu(const struct event_set *set, int cpu);

/* Open an event for TID on each CPU of the set. On error nothing of TID stays open. */
int set_add_task(struct event_set *set, pid_t tid);
/* The same on one CPU (that has a ring) for each task of FROM that is in it. */
int set_add_cpu_tasks(struct event_set *set, int cpu, const pid_t *tids, size_t nr_tids);

/*
 * True when RING's event (of a sideband on CPUs) has not counted time since the
 * last call: its CPU was away in between, and an event never wakes up from
 * that. Not for calls in quick succession; the first call after it may not see it yet.
 */
bool set_ring_is_dead(struct set_ring *ring);

void set_enable(const struct event_set *set, int cpu);
void set_disable(const struct event_set *set, int cpu);

/* Sum of what PERF_FORMAT_LOST counts over the events on CPU (-1: all). */
uint64_t set_read_lost(const struct event_set *set, int cpu);
/* Of these, those that no LOST record has told of yet: one comes only with a later record. */
uint64_t set_lost_untold(const struct event_set *set, int cpu);
uint64_t set_ring_bytes(const struct event_set *set);

#endif
