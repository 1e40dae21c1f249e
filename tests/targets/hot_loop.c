/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Almost all of its time is in the loop of one function, which divides; it ends after so many rounds or when killed. */
#include <stdint.h>
#include <stdlib.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void hot_divide(uint64_t rounds, uint64_t by)
{
	uint64_t x = sink;

	for (uint64_t i = 0; i < rounds; i++)
		x = (x + i + (1ull << 40)) / by;
	sink = x;
}

__attribute__((noinline)) static void hot_nothing(void)
{
	sink++;
}

int main(int argc, char **argv)
{
	uint64_t times = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_MAX;

	for (uint64_t i = 0; i < times; i++) {
		hot_divide(1000000, (sink & 1) + 3);
		hot_nothing();
	}
	return 0;
}
