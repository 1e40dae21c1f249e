/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of which processes it is worth to read the rest of cut stacks: judged for each by itself, so that one whose
 * memory is refused, or whose stacks change too fast, costs the others nothing. Bounded: of processes that share a
 * place the last one is known. Time is an argument.
 */
#ifndef ST_ENGINE_READS_H
#define ST_ENGINE_READS_H

#include "src/model/health.h"
#include "src/proc/proc.h"

#include <stdbool.h>
#include <stdint.h>

enum reads_verdict {
	READS_USEFUL,
	READS_USELESS,
	READS_REFUSED, /* the kernel lets nobody read it, or not us */
	READS_HUNG,    /* it did not end */
};

struct reads;

/* NULL: no memory. */
struct reads *reads_new(void);
struct reads *reads_free(struct reads *reads);

/* Is the process with INDEX to be read at TIME_NS? */
bool reads_may(const struct reads *reads, uint32_t index, uint64_t time_ns);
/*
 * What a read of it brought at TIME_NS. After one that was refused or hung, or where few of many are
 * useful, there is a pause, which is twice as long each time until one is useful again.
 */
void reads_judge(struct reads *reads, uint32_t index, uint64_t time_ns, enum reads_verdict verdict);
/* Fill in what HEALTH says of reads that were refused or hung; those that are the most first. */
void reads_fill(const struct reads *reads, const struct procs *procs, struct health *health);

#endif
