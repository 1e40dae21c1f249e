/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of one kind over CPUs, or over tasks and CPUs, with one ring
 * per CPU. Event lists are what a change of mode swaps.
 */
#ifndef ST_PERF_EVENT_LIST_H
#define ST_PERF_EVENT_LIST_H

#include "src/base/hash.h"
#include "src/perf/event_config.h"
#include "src/perf/ring.h"

struct event_fd {
	int fd;
	int cpu;
	pid_t tid; /* -1: all tasks */
};

struct event_ring {
	struct ring ring;
	int fd; /* the event that holds the ring; own descriptor for task targets, else an event's */
	int cpu;
	uint64_t throttled_since_ns; /* 0: not throttled */
	uint64_t lost_reported;	     /* sum of its LOST records */
	uint64_t looked;	     /* up to this position source_peek() has looked */
	uint64_t enabled_ns;	     /* of its event, when last looked at; sideband only */
};

struct event_list {
	const struct perf_opener *opener;
	struct event_config config;
	struct perf_event_attr attr, holder; /* of the events; of ring holders for task targets */
	size_t ring_pages;
	uint8_t format; /* the reorder buffer's word for records of this list */
	bool is_per_task;
	struct event_ring *rings;
	size_t nr_rings, cap_rings;
	struct event_fd *events;
	size_t nr_events, cap_events;
	uint32_t nr_refused; /* tasks that may not be looked into */
};

/*
 * Which tasks are alive below the sampled ones, by the sideband's FORK and EXIT
 * records. A new event list must be opened on all of them: inheritance reaches
 * only what forks later.
 */
struct tasks {
	struct u64map index; /* tid -> its place in list */
	struct task {
		pid_t tid;
		uint64_t opened_ns; /* when the newest list had its events; 0: not yet */
	} * list;
	size_t nr, cap;
};

struct event_list_request {
	const struct perf_opener *opener;
	const struct event_targets *targets;
	const struct event_config *config;
	size_t pages, min_pages; /* of a ring: asked for, and the least that makes sense */
	struct tasks *tasks;	 /* gets those that were opened (task targets) */
};

/*
 * Open the events that REQUEST tells into *LIST. The ring is halved as long as
 * the kernel does not let so much memory be locked (*RET_HALVED becomes true), and
 * the watermark follows it. Returns 0, or -errno with ERR and nothing open.
 */
int event_list_open(struct event_list *list, const struct event_list_request *request,
		    bool *ret_halved, struct err *err);

/*
 * Start an empty list; ATTR as opened, HOLDER for ring holders. For CPU targets
 * add CPUs with event_list_add_cpu; for tasks add CPUs, then tasks.
 */
void event_list_init(struct event_list *list, const struct perf_opener *opener,
		     const struct perf_event_attr *attr, const struct perf_event_attr *holder,
		     size_t ring_pages, bool is_per_task);
/* Close all events and rings. */
void event_list_done(struct event_list *list);

/*
 * Open the events of CPU (for CPU targets) or its ring's holder (for tasks).
 * On error (-errno; -EPERM and -ENOMEM also when the ring is too large) nothing
 * of this CPU stays open.
 */
int event_list_add_cpu(struct event_list *list, int cpu);
/* Close the events of CPU. */
void event_list_remove_cpu(struct event_list *list, int cpu);
bool event_list_has_cpu(const struct event_list *list, int cpu);

/* Open an event for TID on each CPU of the list. On error nothing of TID stays open. */
int event_list_add_task(struct event_list *list, pid_t tid);
/* The same on one CPU (that has a ring) for each task of FROM that is in it. */
int event_list_add_cpu_tasks(struct event_list *list, int cpu, const pid_t *tids, size_t nr_tids);

/*
 * True when RING's event (of a sideband on CPUs) has not counted time since the
 * last call: its CPU was away in between, and an event never wakes up from
 * that. Not for calls in quick succession; the first call after it may not see it yet.
 */
bool event_ring_is_dead(struct event_ring *ring);

/* PERF_EVENT_IOC_ENABLE or _DISABLE the events on CPU (-1: all). */
void event_list_control(const struct event_list *list, int cpu, unsigned long request);

/* Sum of what PERF_FORMAT_LOST counts over the events on CPU (-1: all). */
uint64_t event_list_read_lost(const struct event_list *list, int cpu);
/* Of these, those that no LOST record has reported yet: one comes only with a later record. */
uint64_t event_list_lost_unreported(const struct event_list *list, int cpu);
uint64_t event_list_ring_bytes(const struct event_list *list);

void tasks_done(struct tasks *tasks);
/* Returns 0 or -ENOMEM (the task stays unknown). */
int tasks_add(struct tasks *tasks, pid_t tid, uint64_t opened_ns);
void tasks_remove(struct tasks *tasks, pid_t tid);
/*
 * Follow FORK and EXIT. A child that was forked after its parent's events were
 * opened has inherited them.
 */
void tasks_follow(struct tasks *tasks, const struct record *record);

#endif
