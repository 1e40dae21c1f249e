/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * 400 calls, one below the other, on more than 64 KB of stack; some CPU time in
 * each, and most at the bottom. Slow enough that each sample on the way down
 * has most of its calls in common with the one before.
 */
#include <stdint.h>
#include <time.h>

#define LEVELS 400

static uint64_t cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

__attribute__((noinline)) static void spin(uint64_t us)
{
	uint64_t until_us = cpu_us() + us;

	while (cpu_us() < until_us)
		for (volatile unsigned int i = 0; i < 10000; i++)
			;
}

__attribute__((noinline)) static void bottom(void)
{
	spin(600000);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void level(int left)
{
	volatile char frame[300];

	frame[0] = (char)left;
	spin(2000);
	if (left > 1)
		level(left - 1);
	else
		bottom();
	frame[1] = frame[0];
}

int main(void)
{
	spin(200000);
	level(LEVELS);
	return 0;
}
