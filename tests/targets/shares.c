/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of known shares: below dispatch(), work_70, work_20 and work_10
 * take 70, 20 and 10 % of the time. The same loop in each, so that only the
 * counts differ.
 */
#include <stdint.h>

#define ROUNDS 3000

/* Called so that the others are no leaves: compilers give leaves no frame, whatever they are told. */
__attribute__((noinline)) void nothing(void);
__attribute__((noinline)) void nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

/* The loop is assembly, so that every compiler and level makes the same of it. */
#define WORK(name, share)                                               \
	__attribute__((noinline)) void name(void);                      \
	__attribute__((noinline)) void name(void)                       \
	{                                                               \
		uint64_t n = (uint64_t)(share)*ROUNDS;                  \
                                                                        \
		nothing();                                              \
                                                                        \
		__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n));  \
		/* not a tail: the frame of the caller must be there */ \
		__asm__ volatile("" ::: "memory");                      \
	}

WORK(work_70, 70)
WORK(work_20, 20)
WORK(work_10, 10)

__attribute__((noinline)) void dispatch(void);
__attribute__((noinline)) void dispatch(void)
{
	work_70();
	work_20();
	work_10();
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	for (;;)
		dispatch();
}
