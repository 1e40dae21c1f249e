/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reorder buffer gives records back in order of time, whole, each once, and not before the horizon. */
#include "config.h"

#include "src/base/util.h"
#include "src/perf/reorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A record of BYTES that carries its time and WORD. */
static bool add(struct reorder *reorder, uint64_t time_ns, uint64_t word, bool is_sample,
		size_t bytes)
{
	uint8_t *room = reorder_room(reorder, bytes, is_sample);

	if (!room)
		return false;
	memset(room, 0x5a, bytes);
	memcpy(room, &time_ns, sizeof(time_ns));
	memcpy(room + 8, &word, sizeof(word));
	reorder_add(reorder, time_ns, bytes, is_sample, is_sample);
	return true;
}

static bool next(struct reorder *reorder, uint64_t *ret_time, uint64_t *ret_word)
{
	struct reordered reordered;

	if (!reorder_next(reorder, &reordered))
		return false;
	memcpy(ret_time, reordered.raw, sizeof(*ret_time));
	memcpy(ret_word, (const uint8_t *)reordered.raw + 8, sizeof(*ret_word));
	for (uint32_t i = 16; i < reordered.bytes; i++)
		assert_int_equal(((const uint8_t *)reordered.raw)[i], 0x5a);
	return true;
}

static void expect(struct reorder *reorder, uint64_t time_ns, uint64_t word)
{
	uint64_t got_time, got_word;

	assert_true(next(reorder, &got_time, &got_word));
	assert_int_equal(got_time, time_ns);
	assert_int_equal(got_word, word);
}

static void expect_end(struct reorder *reorder)
{
	uint64_t time_ns, word;

	assert_false(next(reorder, &time_ns, &word));
}

static void rings_are_merged_by_time(void **state)
{
	struct reorder *reorder = reorder_new(1 << 20, 0);

	(void)state;
	reorder_begin(reorder);
	for (uint64_t ring = 0; ring < 5; ring++)
		for (uint64_t i = 0; i < 100; i++)
			assert_true(add(reorder, 1000 + i * 5 + ring, ring, true, 24));
	reorder_open(reorder, UINT64_MAX);
	for (uint64_t i = 0; i < 500; i++)
		expect(reorder, 1000 + i, i % 5);
	expect_end(reorder);
	assert_int_equal(reorder_late(reorder), 0);
	reorder_free(reorder);
}

static void at_equal_time_the_sideband_is_first(void **state)
{
	struct reorder *reorder = reorder_new(1 << 20, 0);

	(void)state;
	reorder_begin(reorder);
	add(reorder, 50, 1, true, 16);
	add(reorder, 50, 2, true, 16);
	add(reorder, 50, 3, false, 16);
	add(reorder, 49, 4, true, 16);
	add(reorder, 50, 5, false, 16);
	reorder_open(reorder, UINT64_MAX);
	expect(reorder, 49, 4);
	expect(reorder, 50, 3); /* as added among themselves */
	expect(reorder, 50, 5);
	expect(reorder, 50, 1);
	expect(reorder, 50, 2);
	expect_end(reorder);
	reorder_free(reorder);
}

/* What is newer than the horizon waits, survives the change of arenas, and joins what comes. */
static void the_horizon_holds_back(void **state)
{
	struct reorder *reorder = reorder_new(1 << 20, 0);

	(void)state;
	reorder_begin(reorder);
	add(reorder, 100, 1, true, 64);
	add(reorder, 300, 2, true, 640);
	add(reorder, 200, 3, false, 32);
	reorder_open(reorder, 200);
	expect(reorder, 100, 1);
	expect(reorder, 200, 3);
	expect_end(reorder);
	for (int i = 0; i < 3; i++) { /* rounds that bring nothing */
		reorder_begin(reorder);
		reorder_open(reorder, 250);
		expect_end(reorder);
	}
	reorder_begin(reorder);
	add(reorder, 280, 4, true, 16);
	add(reorder, 290, 5, true, 16);
	reorder_open(reorder, 300);
	expect(reorder, 280, 4);
	expect(reorder, 290, 5);
	expect(reorder, 300, 2);
	expect_end(reorder);
	assert_int_equal(reorder_late(reorder), 0);
	reorder_free(reorder);
}

static void what_was_not_fetched_comes_again_in_the_next_round(void **state)
{
	struct reorder *reorder = reorder_new(1 << 20, 0);

	(void)state;
	reorder_begin(reorder);
	add(reorder, 100, 1, true, 16);
	add(reorder, 200, 2, true, 16);
	reorder_open(reorder, UINT64_MAX);
	expect(reorder, 100, 1);
	reorder_begin(reorder);
	reorder_open(reorder, UINT64_MAX);
	expect(reorder, 200, 2);
	expect_end(reorder);
	reorder_begin(reorder);
	reorder_open(reorder, UINT64_MAX);
	expect_end(reorder);
	reorder_free(reorder);
}

static void late_records_come_at_once_and_are_counted(void **state)
{
	struct reorder *reorder = reorder_new(1 << 20, 0);

	(void)state;
	reorder_begin(reorder);
	add(reorder, 1000, 1, true, 16);
	reorder_open(reorder, UINT64_MAX);
	expect(reorder, 1000, 1);
	reorder_begin(reorder);
	add(reorder, 2000, 2, true, 16);
	add(reorder, 900, 3, true, 16);
	add(reorder, 0, 4, false, 16); /* of unknown time: not late */
	add(reorder, 1000, 5, true, 16);
	reorder_open(reorder, 1500);
	expect(reorder, 0, 4);
	expect(reorder, 900, 3);
	expect(reorder, 1000, 5);
	expect_end(reorder);
	assert_int_equal(reorder_late(reorder), 1);
	reorder_free(reorder);
}

/* Any order of arrival: sorted, nothing missing, nothing twice, stable. */
static void random_order_is_sorted(void **state)
{
	struct reorder *reorder = reorder_new(1 << 20, 0);
	uint64_t seed = 7, out = 0, last_time = 0, last_word = 0;
	static bool seen[20000];
	const uint64_t nr = ARRAY_SIZE(seen);

	(void)state;
	for (uint64_t added = 0; added < nr;) {
		uint64_t time_ns, word;

		reorder_begin(reorder);
		for (uint64_t i = 0; i < 1 + seed % 1000 && added < nr; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* Times stay ahead of the horizon, which follows ADDED. */
			assert_true(add(reorder, added / 100 * 100 + 1 + (seed >> 40) % 1000, added,
					true, 16 + (seed >> 50) % 16 * 8));
			added++;
		}
		reorder_open(reorder, added < nr ? added / 100 * 100 : UINT64_MAX);
		while (next(reorder, &time_ns, &word)) {
			assert_true(time_ns >= last_time);
			if (time_ns == last_time)
				assert_true(word > last_word);
			assert_false(seen[word]);
			seen[word] = true;
			last_time = time_ns;
			last_word = word;
			out++;
		}
	}
	assert_int_equal(out, nr);
	assert_int_equal(reorder_late(reorder), 0);
	reorder_free(reorder);
}

/* Samples leave room for what is no sample; both stop at the bound. */
static void the_stage_is_bounded(void **state)
{
	struct reorder *reorder = reorder_new(10000, 2000);
	unsigned int samples = 0, others = 0;

	(void)state;
	reorder_begin(reorder);
	while (add(reorder, 1, 1, true, 80))
		samples++;
	while (add(reorder, 1, 1, false, 80))
		others++;
	assert_int_equal(samples, 100);
	assert_int_equal(others, 25);
	reorder_open(reorder, 0);
	expect_end(reorder);
	/* Nothing was fetched, so nothing fits in the next round either. */
	reorder_begin(reorder);
	assert_false(add(reorder, 1, 1, true, 80));
	reorder_open(reorder, UINT64_MAX);
	for (unsigned int i = 0; i < samples + others; i++)
		expect(reorder, 1, 1);
	reorder_begin(reorder);
	assert_true(add(reorder, 2, 2, true, 80));
	reorder_free(reorder);
}

/* A burst larger than the first arena, then quiet rounds in which memory goes back. */
static void a_burst_passes(void **state)
{
	struct reorder *reorder = reorder_new(64 << 20, 0);
	const uint64_t nr = 1000;

	(void)state;
	for (int burst = 0; burst < 2; burst++) {
		reorder_begin(reorder);
		for (uint64_t i = 0; i < nr; i++)
			assert_true(add(reorder, 1000 + i, i, true, 16384));
		reorder_open(reorder, 999);
		expect_end(reorder);
		reorder_begin(reorder);
		reorder_open(reorder, UINT64_MAX);
		for (uint64_t i = 0; i < nr; i++)
			expect(reorder, 1000 + i, i);
		for (int i = 0; i < 1000; i++) {
			reorder_begin(reorder);
			assert_true(add(reorder, 1, 1, true, 64));
			reorder_open(reorder, UINT64_MAX);
			expect(reorder, 1, 1);
			expect_end(reorder);
		}
	}
	reorder_free(reorder);
}

/* Each round leaves all that it has brought to the next one: nothing is lost, and memory stays small. */
static void short_rounds_need_little_memory(void **state)
{
	struct reorder *reorder = reorder_new(64 << 20, 0);
	const uint64_t nr_each = 4, nr_rounds = 5000;

	(void)state;
	for (uint64_t round = 0; round < nr_rounds; round++) {
		reorder_begin(reorder);
		for (uint64_t i = 0; i < nr_each; i++)
			assert_true(add(reorder, 1 + round * nr_each + i, i, true, 16384));
		reorder_open(reorder, round * nr_each);
		for (uint64_t i = 0; round > 0 && i < nr_each; i++)
			expect(reorder, 1 + (round - 1) * nr_each + i, i);
		expect_end(reorder);
	}
	assert_int_equal(reorder_late(reorder), 0);
	assert_true(reorder_bytes(reorder) <= 4 << 20);
	reorder_free(reorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_merged_by_time),
		cmocka_unit_test(at_equal_time_the_sideband_is_first),
		cmocka_unit_test(the_horizon_holds_back),
		cmocka_unit_test(what_was_not_fetched_comes_again_in_the_next_round),
		cmocka_unit_test(late_records_come_at_once_and_are_counted),
		cmocka_unit_test(random_order_is_sorted),
		cmocka_unit_test(the_stage_is_bounded),
		cmocka_unit_test(a_burst_passes),
		cmocka_unit_test(short_rounds_need_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
