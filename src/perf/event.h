/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of events, as perf's users know them, to what perf_event_open takes. */
#ifndef ST_PERF_EVENT_H
#define ST_PERF_EVENT_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_NAME_MAX 128

struct event_spec {
	char name[EVENT_NAME_MAX]; /* as asked for, with modifiers */
	uint32_t type;		   /* PERF_TYPE_* */
	uint64_t config;
	bool exclude_kernel, exclude_user; /* modifiers :u and :k */
	uint8_t precise;      /* :p to :ppp, attr.precise_ip; 3 of :P; 0 of what does not skid */
	bool is_best_precise; /* :P: as much of it as there is */
	bool is_default;      /* cycles because nothing was asked: may become cpu-clock */
};

/*
 * Parse WORD: a hardware or software event or cache event by perf's names and
 * aliases ("cycles", "cpu-cycles", "LLC-load-misses", "cpu-clock", "cs"),
 * "rNNN" (raw, hex), "SUBSYSTEM:NAME" (tracepoint, its number read from
 * tracefs, so call it with the privileges for that), with ":u", ":k", ":p" to
 * ":ppp" and ":P".
 * Returns 0, or -EINVAL, -ENOENT, -EACCES with ERR saying which word is wrong
 * and what would be right.
 */
int event_parse(const char *word, struct event_spec *ret, struct err *err);

/* The default event: cycles, marked so that live_open may fall back to cpu-clock. */
void event_default(struct event_spec *ret);

/*
 * The name of an event that was recorded by TYPE and CONFIG, with ":u" or ":k"
 * if it left the other part out: "cycles", "cpu-clock:u", "raw 0x1a8".
 */
void event_describe(uint32_t type, uint64_t config, bool exclude_user, bool exclude_kernel,
		    char *out, size_t out_size);

/*
 * True for events of TYPE whose interrupt comes later than what caused it, so that
 * precise_ip means something: perf asks for it with every event.
 */
bool event_skids(uint32_t type);

/* One step less precise, and called so. False: it is not precise at all. */
bool event_lower_precision(struct event_spec *event);

/* True for events counted in time (cpu-clock, task-clock): a period is nanoseconds. */
bool event_is_clock(const struct event_spec *event);

#endif
