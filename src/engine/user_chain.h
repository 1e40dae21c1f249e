/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the kernel is asked for its own callchain of the user part beside the copy of the stack. It costs each
 * sample a walk along frame pointers, and helps where stacks go on on another one (unwind/chain_join.h): it is
 * asked for while there are such stacks and it completes them. Knows numbers only: no source, no clock.
 */
#ifndef ST_ENGINE_USER_CHAIN_H
#define ST_ENGINE_USER_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

struct user_chain {
	bool is_wanted;
	/* in this second: stacks, of those that ended on another stack, and that a chain completed */
	uint32_t nr, nr_elsewhere, nr_joined;
	uint32_t nr_vain;	       /* seconds in which it completed none */
	uint64_t off_until_ns, off_ns; /* not to be tried before, and how long that was */
};

void user_chain_note(struct user_chain *c, bool is_elsewhere, bool is_joined);
/* A second has passed at TIME_NS. True: it is wanted from now on, or no more (is_wanted). */
bool user_chain_decide(struct user_chain *c, uint64_t time_ns);

#endif
