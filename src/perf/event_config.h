/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From what the person asked for to events that this machine and these
 * privileges take: opens one event for a try, gives up what is refused, and
 * says in words why when nothing is left.
 */
#ifndef ST_PERF_EVENT_CONFIG_H
#define ST_PERF_EVENT_CONFIG_H

#include "src/perf/attr.h"
#include "src/perf/live.h"

/* On what events are opened. */
struct event_targets {
	const int *cpus;
	size_t nr_cpus;
	const pid_t *tids; /* NULL: all tasks */
	size_t nr_tids;
};

/* The config before anything is tried: ASKED in MODE, within the kernel's limits. */
struct event_config event_config_make(const struct live_config *asked, enum stack_mode mode,
				      uint32_t stack_bytes, const struct attr_features *features);

/* The attr of an event of CONFIG; WATERMARK is for samples, the sideband wakes at each record. */
void event_config_attr(const struct event_config *config, uint32_t watermark,
		       struct perf_event_attr *ret);

/*
 * Try CONFIG on the first of TARGETS that exists and degrade it (*CONFIG) until it
 * opens. Returns 0, or -errno with ERR.
 */
int event_config_probe(const struct perf_opener *opener, const struct event_targets *targets,
		       struct event_config *config, struct err *err);

/* ERR for CODE from opening events, with what to do about it; returns CODE. */
int event_config_explain(int code, const struct event_config *config,
			 const struct event_targets *targets, struct err *err);
/* ERR for rings that could not be had even at PAGES. */
int event_config_explain_ring(int code, size_t pages, struct err *err);

/* Pages of a ring that holds STALL_NS of samples, within the share of one of NR_CPUS in MAX_BYTES. */
size_t event_config_ring_pages(const struct event_config *config, uint64_t stall_ns,
			       uint64_t max_bytes, size_t nr_cpus);
/* No less makes sense: two samples fit. */
size_t event_config_ring_pages_min(const struct event_config *config);

/*
 * One line on what CONFIG gives instead of what ASKED asked for ("": all of it),
 * with the command that lifts each limit; the worst first. RINGS_WANTED_KB: what
 * all rings of a CPU would take, or 0 when they are as large as they should be.
 */
void event_config_notice(const struct live_config *asked, const struct event_config *config,
			 uint64_t rings_wanted_kb, uint32_t nr_refused, char *out, size_t out_size);

#endif
