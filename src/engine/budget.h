/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What sampling may cost, and what is given up so that it stays below it. Knows numbers only: no
 * source, no clock.
 *
 *	too dear, and copying large stacks half the stack copy, down to 16 KB
 *	  is much of it
 *	too dear                           a half, a quarter ... of the rate
 *	too dear, and the rate is low      one sample of two, of four ..., with that weight
 *	samples are lost                   the rate, whatever it costs
 *	there is room for twice as much    one step back, after a time that grows each time it was wrong
 *
 * The first seconds cost what no later one does: memory is touched for the first time, every stack is
 * new, and those that waited for tables are unwound again. So they decide only if sampling takes much more
 * than it may, and are not in the average of those that follow.
 *
 * An example, two CPUs and 5 %, so 100 ms of CPU time in a second: at 4000 Hz sampling took 200 ms. A
 * quarter of the rate takes 50; a half would take 100 and leave no room, so it stays until it takes 40.
 *
 * Used on the engine thread, once a second.
 */
#ifndef ST_ENGINE_BUDGET_H
#define ST_ENGINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_SECONDS	     8 /* of cost that decide; twice what is allowed: one is enough */
#define BUDGET_START_SECONDS 5
#define BUDGET_COPY_MIN	     16384u
#define BUDGET_RATE_MIN_HZ   49
#define BUDGET_DIVISOR_MAX   (1u << 20)
#define BUDGET_THINNING_MAX  1024u

/* What is given up. */
struct budget_limits {
	uint32_t copy_bytes;   /* no larger stack copies; 0: any */
	uint32_t rate_divisor; /* a power of two; 1: the rate that was asked for */
	uint32_t thinning;     /* one sample of so many is worked on; 1: all */
};

/* Sums since sampling began; the last three are as they are now. */
struct budget_seen {
	uint64_t time_ns;
	uint64_t sampling_ns; /* CPU time that grows with the samples, the kernel's with it */
	uint64_t other_ns;    /* all other of stacktop's: tables, names, mappings, the screen */
	uint64_t samples;     /* that the kernel made */
	uint64_t stack_bytes; /* that came with them */
	uint64_t lost;	      /* samples lost and dropped */
	uint64_t late;	      /* stacks whose tables came too late */
	uint32_t nr_cpus;     /* sampled */
	uint32_t copy_bytes;  /* in force; 0: there are no copies */
	bool is_copy_first;   /* what is lost is answered by smaller copies */
};

struct budget {
	uint32_t percent; /* of one CPU, for each that is sampled; 0: none */
	struct budget_limits limits;
	struct budget_seen seen[BUDGET_SECONDS + 1]; /* since the last change, the oldest first */
	uint32_t nr_seen, nr_lossy;
	uint64_t begun_ns;	      /* the first second; 0: none yet */
	uint64_t changed_ns, hold_ns; /* so long nothing is taken back */
	bool was_raised;	      /* the last change took something back */
};

/* Begin with what is known before the first sample: RATE_HZ of each CPU (0: not known), all busy. */
void budget_init(struct budget *b, uint32_t percent, uint64_t rate_hz);

/* A second has passed. True: B->limits have changed. */
bool budget_decide(struct budget *b, const struct budget_seen *seen);

/* What was given up cannot be put in force, or the person has set it: LIMITS hold from now on. */
void budget_set(struct budget *b, const struct budget_limits *limits, uint64_t time_ns);

#endif
