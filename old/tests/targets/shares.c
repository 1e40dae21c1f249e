/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of known shares: below dispatch(), work_70, work_20 and work_10
 * take 70, 20 and 10 % of the time: the same loop in each, called so often.
 */
#include <stdint.h>

#define ROUNDS 20000

/* Called so that the others are no leaves: compilers give leaves no frame, whatever they are told. */
__attribute__((noinline)) void nothing(void);
__attribute__((noinline)) void nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

/*
 * The loop is assembly, so that every compiler and level makes the same of it,
 * and aligned: across two cache lines it would take twice the time.
 */
#define WORK(name)                                                                 \
	__attribute__((noinline)) void name(void);                                 \
	__attribute__((noinline)) void name(void)                                  \
	{                                                                          \
		uint64_t n = ROUNDS;                                               \
                                                                                   \
		nothing();                                                         \
		__asm__ volatile(".p2align 6\n1: sub $1, %0\n\tjnz 1b" : "+r"(n)); \
		/* not a tail: the frame of the caller must be there */            \
		__asm__ volatile("" ::: "memory");                                 \
	}

WORK(work_70)
WORK(work_20)
WORK(work_10)

/* By lot, and not in turns: turns would keep step with the sampling. */
__attribute__((noinline)) void dispatch(unsigned int lot);
__attribute__((noinline)) void dispatch(unsigned int lot)
{
	if (lot < 7)
		work_70();
	else if (lot < 9)
		work_20();
	else
		work_10();
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	uint64_t random = 88172645463325252ull;

	for (;;) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		dispatch((unsigned int)(random >> 32) % 10);
	}
}
