/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions that a person watches for, and the moment at which one becomes true. A condition is
 * "WHAT OP NUMBER", OP one of > >= < <=:
 *
 *	cpu>80			percent of the sampled CPUs' time that was spent in what is sampled
 *	samples<10		number in the window
 *	self(NAME)>5		percent of the window's weight in functions that NAME is in (pattern.h),
 *	total(NAME)>=5		the same with what they call, each stack once
 *	complete<90%		percent of the window's user stacks that reached a root
 *	lost>0, drop>0		records, samples since the last look
 *	cost>5			percent of one CPU that stacktop takes
 */
#ifndef ST_VIEW_WHEN_H
#define ST_VIEW_WHEN_H

#include "src/base/err.h"
#include "src/model/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEN_MAX      8
#define WHEN_TEXT_MAX 160

enum when_what {
	WHEN_CPU,
	WHEN_SAMPLES,
	WHEN_SELF,
	WHEN_TOTAL,
	WHEN_COMPLETE,
	WHEN_LOST,
	WHEN_DROP,
	WHEN_COST,
	WHEN_COUNT
};

struct when {
	enum when_what what;
	char name[WHEN_TEXT_MAX]; /* of WHEN_SELF and WHEN_TOTAL */
	bool is_below, or_equal;
	double number;
	char text[WHEN_TEXT_MAX]; /* as it was typed, sanitized */
};

/* Read TEXT: 0, or -EINVAL with a message that begins with OPTION and names the place of the fault. */
int when_parse(const char *option, const char *text, struct when *ret, struct err *err);

/*
 * Watches for some conditions. Each fires when it becomes true, not while it stays so, at most once a second and
 * all together COUNT times. What is not known, or is of less than a second, changes nothing; nor does a frozen window.
 */
struct trigger {
	const struct when *whens;
	uint32_t nr_whens;
	uint64_t count, nr_fired;
	bool was_true[WHEN_MAX];
	uint64_t lost, dropped;	  /* at the last look */
	uint64_t due_ns, last_ns; /* since when it is due, 0: it is not; when it fired last */
	char why[WHEN_TEXT_MAX];  /* the conditions that made it due */
	bool has_doubted;
};

/* WHENS is kept; at most WHEN_MAX. */
void trigger_init(struct trigger *trigger, const struct when *whens, uint32_t nr, uint64_t count);
/*
 * Look at SNAPSHOT, which is not narrowed. True: it is the evidence to be written now, trigger.why tells for what. It
 * waits a moment for names and tables, and as long as CAN_WRITE is false.
 */
bool trigger_look(struct trigger *trigger, const struct snapshot *snapshot, bool can_write);
/* True once: a condition can never become true as SNAPSHOT is sampled; which, and what helps, into OUT. */
bool trigger_doubt(struct trigger *trigger, const struct snapshot *snapshot, char *out,
		   size_t size);
/* "watches cpu>80, lost>0: 2 of 10 written" */
void trigger_text(const struct trigger *trigger, char *out, size_t size);

#endif
