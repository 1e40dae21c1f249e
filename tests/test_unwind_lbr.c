/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch stacks against a model of the hardware: a CPU with so many slots runs
 * calls and returns, samples are taken on the way, and what comes out is
 * compared with the true stack.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/lbr.h"
#include "unwind/table_build.h"
#include "unwind/table_format.h"
#include "unwind/unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH_MAX 2000
#define SITES_MAX (UNWIND_FRAMES_MAX - 1)

/* The CPU: a ring of calls, and the truth beside it. */
struct cpu {
	uint32_t slots, newest, nr; /* nr: how many of the ring are still known */
	struct lbr_entry ring[LBR_SLOTS_MAX];
	struct lbr_entry stack[DEPTH_MAX]; /* outermost first */
	uint32_t depth;
};

static struct lbr *lbr;
static struct cpu cpu;
static uint64_t sites[SITES_MAX];
static enum stack_end cut;

static int setup(void **state)
{
	(void)state;
	lbr = lbr_new();
	memset(&cpu, 0, sizeof(cpu));
	cpu.slots = 32;
	cpu.newest = 31;
	return lbr ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	lbr = lbr_free(lbr);
	return 0;
}

static void call(uint64_t from, uint64_t to)
{
	struct lbr_entry entry = {.from = from, .to = to};

	assert_true(cpu.depth < DEPTH_MAX);
	cpu.stack[cpu.depth++] = entry;
	cpu.newest = (cpu.newest + 1) % cpu.slots;
	cpu.ring[cpu.newest] = entry;
	cpu.nr = MIN(cpu.nr + 1, cpu.slots);
}

static void ret(void)
{
	cpu.depth--;
	cpu.newest = (cpu.newest + cpu.slots - 1) % cpu.slots;
	cpu.nr -= cpu.nr > 0;
}

/* Every call site is another one: the address tells the depth, and GENERATION which call it was. */
static void call_to_depth(uint32_t depth, uint64_t generation)
{
	while (cpu.depth < depth)
		call(0x1000 + cpu.depth * 16 + (generation << 20), 0x100000 + cpu.depth);
}

static void return_to_depth(uint32_t depth)
{
	while (cpu.depth > depth)
		ret();
}

static uint32_t sample_as(uint32_t process, uint32_t tid, bool has_slot)
{
	struct lbr_entry entries[LBR_SLOTS_MAX];

	for (uint32_t i = 0; i < cpu.nr; i++)
		entries[i] = cpu.ring[(cpu.newest + cpu.slots - i) % cpu.slots];
	return lbr_sites(lbr,
			 &(struct lbr_sample){process, tid, entries, cpu.nr,
					      has_slot ? cpu.newest : LBR_NO_SLOT},
			 sites, SITES_MAX, &cut);
}

static uint32_t sample(void)
{
	return sample_as(1, 100, true);
}

/* The NR sites are the innermost of the true stack. */
static void assert_true_sites(uint32_t nr)
{
	assert_true(nr <= cpu.depth);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(sites[i], cpu.stack[cpu.depth - 1 - i].from);
}

static void expect(uint32_t nr, enum stack_end end)
{
	assert_int_equal(sample(), nr);
	assert_true_sites(nr);
	assert_int_equal(cut, end);
}

static void stacks_that_fit(void **state)
{
	(void)state;
	for (uint32_t depth = 1; depth < 32; depth++) {
		call_to_depth(depth, 0);
		/* 8 and 16 calls could have filled a smaller CPU, had it not used higher slots. */
		expect(depth, depth == 8 || depth == 16 ? STACK_END_LBR_DEPTH : STACK_END_LBR);
	}
	return_to_depth(16);
	expect(16, STACK_END_LBR);
	return_to_depth(8);
	expect(8, STACK_END_LBR);
	call_to_depth(32, 1);
	expect(32, STACK_END_LBR_DEPTH);
	return_to_depth(0);
	expect(0, STACK_END_LBR);
}

/* Each sample adds fewer calls than there are slots: the chain grows without a gap. */
static void deeper_and_deeper(void **state)
{
	(void)state;
	for (uint32_t step = 1; step < 32; step++) {
		lbr_forget(lbr, 100);
		return_to_depth(0);
		call_to_depth(32, step);
		expect(32, STACK_END_LBR_DEPTH);
		for (uint32_t depth = 32 + step; depth < 600; depth += step) {
			call_to_depth(depth, step);
			expect(depth, STACK_END_STITCHED);
		}
	}
}

/* Returns and as many calls again or some more, always with one call in common. */
static void up_and_down(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (uint64_t i = 1; i < 20000; i++) {
		uint32_t down, up;

		if (cpu.depth < 32 || cpu.depth > 900) {
			return_to_depth(0);
			call_to_depth(32, i);
			sample();
		}
		seed = seed * 1103515245 + 12345;
		down = (seed >> 16) % 20;
		up = (seed >> 8) % 12;
		return_to_depth(cpu.depth - down);
		call_to_depth(cpu.depth + down + up, i);
		expect(cpu.depth, cpu.depth > 32 ? STACK_END_STITCHED : STACK_END_LBR_DEPTH);
	}
}

static void a_gap_is_not_stitched(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	expect(32, STACK_END_LBR_DEPTH);
	call_to_depth(71, 0); /* 31 more: one call in common */
	expect(63, STACK_END_STITCHED);
	call_to_depth(103, 0); /* 32 more: none */
	expect(32, STACK_END_LBR_DEPTH);
}

/* The same slot, but another call, or the same call by another way. */
static void another_entry_in_the_slot(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	expect(32, STACK_END_LBR_DEPTH);
	return_to_depth(12);
	call_to_depth(44, 1);
	expect(32, STACK_END_LBR_DEPTH); /* its outermost call is new */
	for (int what = 0; what < 3; what++) {
		uint32_t oldest = (cpu.newest + 1) % cpu.slots;

		cpu.ring[oldest].from += what == 0;
		cpu.ring[oldest].to += what == 1;
		cpu.ring[oldest].flags += what == 2;
		assert_int_equal(sample(), 32);
		assert_int_equal(cut, STACK_END_LBR_DEPTH);
	}
}

static void the_same_calls_in_other_slots(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	sample();
	call_to_depth(41, 0);
	cpu.newest = (cpu.newest + 1) % cpu.slots;
	memmove(cpu.ring + 1, cpu.ring, 31 * sizeof(cpu.ring[0]));
	assert_int_equal(sample(), 32);
	assert_int_equal(cut, STACK_END_LBR_DEPTH);
}

/* After returns the slots of the outer calls are empty; the sample before had them. */
static void returns_from_a_full_stack(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	expect(32, STACK_END_LBR_DEPTH);
	call_to_depth(60, 0);
	expect(52, STACK_END_STITCHED);
	return_to_depth(35);
	assert_int_equal(cpu.nr, 7);
	expect(27, STACK_END_STITCHED);
}

static void threads_and_programs_are_apart(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	assert_int_equal(sample_as(1, 100, true), 32);
	call_to_depth(50, 0);
	assert_int_equal(sample_as(1, 101, true), 32); /* another thread */
	assert_int_equal(sample_as(2, 100, true), 32); /* another program, after exec */
	assert_int_equal(sample_as(1, 100, true), 32);
	call_to_depth(60, 0);
	assert_int_equal(sample_as(1, 100, true), 42);
	assert_int_equal(cut, STACK_END_STITCHED);
	lbr_forget(lbr, 100);
	assert_int_equal(sample_as(1, 100, true), 32);
	call_to_depth(70, 0);
	assert_int_equal(sample_as(1, 101, true), 52);
}

static void many_threads_share_the_memory(void **state)
{
	uint32_t nr_stitched = 0;

	(void)state;
	call_to_depth(40, 0);
	for (uint32_t tid = 1; tid <= 10000; tid++)
		assert_int_equal(sample_as(1, tid, true), 32);
	call_to_depth(41, 0);
	for (uint32_t tid = 10000; tid >= 1; tid--) {
		nr_stitched += sample_as(1, tid, true) == 33;
		if (tid > 9900)
			assert_int_equal(cut, STACK_END_STITCHED); /* the last ones are there */
	}
	assert_in_range(nr_stitched, 200, 256);
}

static void without_slots_nothing_is_stitched(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	assert_int_equal(sample_as(1, 100, false), 32);
	assert_int_equal(cut, STACK_END_LBR_DEPTH);
	call_to_depth(41, 0);
	assert_int_equal(sample_as(1, 100, false), 32);
	assert_int_equal(sample_as(1, 100, true), 32);
	call_to_depth(42, 0);
	assert_int_equal(sample_as(1, 100, true), 33);
	call_to_depth(64, 0);
	assert_int_equal(cpu.newest, 31); /* like LBR_NO_SLOT in its last bits */
	assert_int_equal(sample_as(1, 100, true), 55);
	assert_int_equal(sample_as(1, 100, false), 32);
}

/* More than there is room for: the innermost are kept, and it is said. */
static void deeper_than_frames_are_kept(void **state)
{
	uint32_t nr = 0;

	(void)state;
	for (uint32_t depth = 20; depth < DEPTH_MAX; depth += 20) {
		call_to_depth(depth, 0);
		nr = sample();
		assert_true_sites(nr);
		assert_int_equal(cut, depth <= 32    ? cut
				      : depth <= 960 ? STACK_END_STITCHED
				      : nr < depth   ? STACK_END_DEPTH
						     : STACK_END_STITCHED);
	}
	assert_true(nr >= 960);
}

static void hostile_branch_stacks(void **state)
{
	static struct lbr_entry many[5000];
	static const uint64_t slots[] = {0, 7, 31, 63, 64, 1ull << 32, UINT64_MAX - 1, UINT64_MAX};
	static const uint64_t nrs[] = {0, 1, 8, 9, 32, 33, 63, 64, 65, 1022, 1023, 1024, 5000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct lbr_entry){.from = ~(uint64_t)i, .to = i, .flags = UINT64_MAX};
	for (size_t i = 0; i < 10 * ARRAY_SIZE(slots) * ARRAY_SIZE(nrs); i++) {
		uint64_t nr = nrs[(i * 7) % ARRAY_SIZE(nrs)];
		uint64_t slot = slots[(i * 5 + i / 13) % ARRAY_SIZE(slots)];
		uint32_t kept = lbr_sites(lbr, &(struct lbr_sample){1, 1, many, nr, slot}, sites,
					  SITES_MAX, &cut);

		assert_true(kept <= SITES_MAX);
		assert_true(kept >= MIN(nr, (uint64_t)SITES_MAX));
		if (nr > SITES_MAX)
			assert_int_equal(cut, STACK_END_DEPTH);
	}
	/* The hardware's end of the stack is an empty entry. */
	many[3].from = 0;
	lbr_forget(lbr, 1);
	assert_int_equal(
		lbr_sites(lbr, &(struct lbr_sample){1, 1, many, 32, 31}, sites, SITES_MAX, &cut),
		3);
	assert_int_equal(cut, STACK_END_LBR);
	assert_int_equal(lbr_sites(lbr, &(struct lbr_sample){1, 1, many, 32, 31}, sites, 2, &cut),
			 2);
	assert_int_equal(cut, STACK_END_DEPTH);
}

/* --- frames from sites --- */

#define MAP_START 0x400000ull

/* A file with two functions, [0x2100, 0x2110) a root and the rest not. */
static void make_module(struct unwind_module *module, void **ret_blob)
{
	struct build_rule root = {.rule.cfa_op = RULE_CFA_ROOT},
			  other = {.rule.cfa_op = RULE_CFA_SP};
	struct table_builder *builder;
	size_t bytes;
	int root_idx, other_idx;

	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 0x2000, 0x12000, &builder), 0);
	other.rule.cfa_off = 8;
	other_idx = table_builder_rule(builder, &other, NULL, 0);
	root_idx = table_builder_rule(builder, &root, NULL, 0);
	assert_true(root_idx > 0 && other_idx > 0);
	assert_int_equal(table_builder_row(builder, 0x2000, (uint32_t)other_idx), 0);
	assert_int_equal(table_builder_row(builder, 0x2100, (uint32_t)root_idx), 0);
	assert_int_equal(table_builder_row(builder, 0x2110, (uint32_t)other_idx), 0);
	assert_int_equal(table_builder_finish(builder, ret_blob, &bytes), 0);
	table_builder_free(builder);
	assert_int_equal(table_open(*ret_blob, bytes, &module->table), 0);
	module->has_table = true;
}

static void frames_of_call_sites(void **state)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_module module = {.id = 7, .state = STACK_END_PENDING};
	struct unwind_map map = {.start = MAP_START,
				 .end = MAP_START + 0x10000,
				 .file_off = 0x2000,
				 .module = &module};
	struct unwind_space space = {.maps = &map, .nr_maps = 1};
	uint64_t ips[] = {MAP_START + 0x500, MAP_START + 0x300, 0x10, MAP_START + 0x10f};
	struct unwind_result result;
	void *blob = NULL;

	(void)state;
	unwind_lbr(&space, ips, 4, STACK_END_LBR, frames, &result);
	assert_int_equal(result.end, STACK_END_PENDING);
	assert_true(module.needs_table);
	make_module(&module, &blob);
	unwind_lbr(&space, ips, 4, STACK_END_LBR_DEPTH, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 4);
	for (int i = 0; i < 4; i++) {
		assert_false(frames[i].is_return);
		assert_int_equal(frames[i].pc, ips[i]);
	}
	assert_int_equal(frames[1].off, 0x2300);
	assert_int_equal(frames[1].module, 7);
	assert_int_equal(frames[2].module, UNWIND_NO_MODULE);
	ips[3]++; /* the call is the function's last instruction: the next one is not meant */
	unwind_lbr(&space, ips, 4, STACK_END_LBR_DEPTH, frames, &result);
	assert_int_equal(result.end, STACK_END_LBR_DEPTH);
	unwind_lbr(&space, ips, 3, STACK_END_LBR, frames, &result);
	assert_int_equal(result.end, STACK_END_LBR);
	unwind_lbr(&space, ips, 4, STACK_END_STITCHED, frames, &result);
	assert_int_equal(result.end, STACK_END_LBR_DEPTH);
	ips[3]--;
	unwind_lbr(&space, ips, 4, STACK_END_STITCHED, frames, &result);
	assert_int_equal(result.end, STACK_END_STITCHED);
	module.has_table = false;
	module.state = STACK_END_NO_FILE;
	unwind_lbr(&space, ips, 4, STACK_END_STITCHED, frames, &result);
	assert_int_equal(result.end, STACK_END_STITCHED);
	free(blob);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(stacks_that_fit),
		TEST(deeper_and_deeper),
		TEST(up_and_down),
		TEST(a_gap_is_not_stitched),
		TEST(another_entry_in_the_slot),
		TEST(the_same_calls_in_other_slots),
		TEST(returns_from_a_full_stack),
		TEST(threads_and_programs_are_apart),
		TEST(many_threads_share_the_memory),
		TEST(without_slots_nothing_is_stitched),
		TEST(deeper_than_frames_are_kept),
		TEST(hostile_branch_stacks),
		cmocka_unit_test(frames_of_call_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
