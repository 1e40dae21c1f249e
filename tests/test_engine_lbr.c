/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch stacks from a ring to a path: what the kernel writes for the events
 * that lbr mode opens, as no machine for tests has them.
 */
#include "config.h"

#include "src/engine/internal.h"
#include "src/perf/attr.h"
#include "src/perf/drain.h"
#include "tests/perf_bytes.h"
#include "tests/proc_util.h"

#include <stdlib.h>

#define RING_BYTES (64u << 10)
#define CODE	   0x400000ull
#define PID	   10
#define REG_PC	   8 /* of perf, x86-64 */

/* The writer's side of a ring. */
static struct perf_event_mmap_page page;
static uint8_t data[RING_BYTES];

static struct perf_event_attr attr;
static struct drain drain;
static struct event_list list;
static struct event_ring ring;
static struct engine *engine;

static int set_up(void **state)
{
	struct event_config config = {.freq_hz = 1000,
				      .mode = STACK_MODE_LBR,
				      .max_stack = 127,
				      .features = ATTR_FEATURES_ALL};
	struct module *module;

	(void)state;
	attr_sampling(&config, 1, &attr);
	memset(&page, 0, sizeof(page));
	page.data_head = page.data_tail = RING_BYTES - 200; /* the first record wraps */
	ring.ring = ring_over(&page, data, RING_BYTES);
	ring.ring.tail = page.data_tail;
	list = (struct event_list){
		.rings = &ring, .nr_rings = 1, .format = DRAIN_SAMPLES + STACK_MODE_LBR};
	memset(&drain, 0, sizeof(drain));
	drain.reorder = reorder_new(1 << 20, 0);
	attr_format(&attr, config.mode, &drain.formats[list.format]);

	engine = calloc(1, sizeof(*engine));
	engine->procs = procs_new();
	assert_int_equal(stacks_init(&engine->stacks, 0), 0);
	do_mmap(engine->procs, PID, CODE, 0x10000, "/bin/program", 5, 0);
	module = procs_module(engine->procs, module_at(engine->procs, PID, CODE, 0));
	module_failed(engine->procs, module, STACK_END_NO_FILE, "not there", false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	reorder_free(drain.reorder);
	stacks_done(&engine->stacks);
	procs_free(engine->procs);
	free(engine);
	return 0;
}

struct sample {
	uint16_t cpumode;
	uint64_t ip, user_pc; /* 0: no registers */
	uint32_t nr_kernel;   /* frames in the callchain */
	uint64_t newest_slot;
	uint32_t depth, nr; /* calls CODE + 16 * (depth - 1) and outward, NR of them */
};

/* The layout: the comment at PERF_RECORD_SAMPLE in <linux/perf_event.h>. */
static void ring_write(const struct sample *s)
{
	static struct bytes b;

	start_record(&b, PERF_RECORD_SAMPLE, s->cpumode);
	put_u64(&b, 66); /* IDENTIFIER */
	put_u64(&b, s->ip);
	put_u32(&b, PID);
	put_u32(&b, PID);
	put_u64(&b, 1000);
	put_u32(&b, 1); /* CPU */
	put_u32(&b, 0);
	put_u64(&b, 1); /* PERIOD */
	put_u64(&b, s->nr_kernel ? 1 + s->nr_kernel : 0);
	if (s->nr_kernel)
		put_u64(&b, (uint64_t)PERF_CONTEXT_KERNEL);
	for (uint64_t i = 0; i < s->nr_kernel; i++)
		put_u64(&b, 0xffffffff81000000ull + i * 0x100);
	put_u64(&b, s->nr);
	if (attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		put_u64(&b, s->newest_slot);
	for (uint32_t i = 0; i < s->nr; i++) {
		uint64_t from = CODE + 16 * (s->depth - 1 - i);

		put_u64(&b, from);
		put_u64(&b, from + 0x1000);
		put_u64(&b, 0);
	}
	put_u64(&b, s->user_pc ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
	if (s->user_pc)
		put_u64(&b, s->user_pc);
	end_record(&b);
	for (size_t i = 0; i < b.len; i++)
		data[(page.data_head + i) % RING_BYTES] = b.data[i];
	page.data_head += b.len;
}

/* The next sample of the ring, taken apart. */
static const struct process *next_sample(struct stack_input *ret_input)
{
	static struct reordered reordered;
	static struct record record;
	const struct process *process;

	reorder_begin(drain.reorder);
	assert_int_equal(drain_rings(&drain, &list, UINT64_MAX), 1);
	reorder_open(drain.reorder, UINT64_MAX);
	assert_true(reorder_next(drain.reorder, &reordered));
	assert_int_equal(record_decode(&drain.formats[reordered.format], reordered.raw,
				       reordered.bytes, &record),
			 0);
	process = procs_of_sample(engine->procs, PID, record.time_ns);
	stack_input_of(&engine->stacks, process, &record, ret_input);
	return process;
}

/* The path: NR_CALLS outermost calls of the program, LEAF unless 0, then NR_KERNEL frames of the kernel. */
static void expect_path(const struct stack_made *made, uint32_t nr_calls, uint64_t leaf,
			uint32_t nr_kernel)
{
	uint32_t module = module_at(engine->procs, PID, CODE, 0), at = 0;

	assert_int_equal(made->nr, nr_calls + (leaf != 0) + nr_kernel);
	assert_int_equal(made->nr_user, nr_calls + (leaf != 0));
	for (; at < nr_calls; at++) {
		assert_int_equal(engine->stacks.path[at].module, module);
		/* The call itself, not what comes before or after it. */
		assert_int_equal(engine->stacks.path[at].off % 16, 0);
		if (at > 0)
			assert_int_equal(engine->stacks.path[at].off,
					 engine->stacks.path[at - 1].off + 16);
	}
	if (leaf)
		assert_int_equal(engine->stacks.path[at++].off, leaf - CODE);
	for (; at < made->nr; at++)
		assert_int_equal(engine->stacks.path[at].module, PROC_MODULE_KERNEL);
}

static void expect(const struct sample *sample, uint32_t nr_calls, uint64_t leaf,
		   enum stack_end end)
{
	struct stack_input input;
	struct stack_made made;
	const struct process *process;

	ring_write(sample);
	process = next_sample(&input);
	stack_path(&engine->stacks, process, &input, &made);
	assert_int_equal(made.end, end);
	expect_path(&made, nr_calls, leaf, sample->nr_kernel);
}

static void the_event_asks_for_calls_only(void **state)
{
	(void)state;
	assert_true(attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	assert_true(attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
	assert_true(attr.branch_sample_type & PERF_SAMPLE_BRANCH_USER);
	assert_false(attr.branch_sample_type & PERF_SAMPLE_BRANCH_KERNEL);
	assert_true(attr.exclude_callchain_user);
	assert_int_equal(attr.sample_regs_user, 1 << REG_PC);
}

static void samples_of_the_program(void **state)
{
	(void)state;
	expect(
		&(struct sample){
			.cpumode = 2, .ip = CODE + 0x777, .depth = 5, .nr = 5, .newest_slot = 20},
		5, CODE + 0x777, STACK_END_LBR);
	/* No call on record: the place alone. */
	expect(&(struct sample){.cpumode = 2, .ip = CODE + 0x777, .newest_slot = 20}, 0,
	       CODE + 0x777, STACK_END_LBR);
	/* A precise ip is of before the interrupt, the kernel's frames of after it. */
	expect(&(struct sample){.cpumode = 2,
				.ip = CODE + 0x777,
				.user_pc = CODE + 0x888,
				.nr_kernel = 1,
				.depth = 2,
				.nr = 2,
				.newest_slot = 20},
	       2, CODE + 0x777, STACK_END_LBR);
}

static void samples_of_the_kernel(void **state)
{
	struct sample sample = {.cpumode = 1,
				.ip = 0xffffffff81000000,
				.user_pc = CODE + 0x888,
				.nr_kernel = 3,
				.depth = 4,
				.nr = 4,
				.newest_slot = 20};

	(void)state;
	expect(&sample, 4, CODE + 0x888, STACK_END_LBR);
	sample.user_pc = 0; /* then the function that was called last: CODE + 0x30 called it */
	expect(&sample, 4, CODE + 0x1030, STACK_END_LBR);
	sample.nr = 0;
	expect(&sample, 0, 0, STACK_END_NO_USER);
}

static void full_stacks_are_stitched(void **state)
{
	struct sample sample = {
		.cpumode = 2, .ip = CODE + 0x777, .depth = 40, .nr = 32, .newest_slot = 7};

	(void)state;
	expect(&sample, 32, CODE + 0x777, STACK_END_LBR_DEPTH);
	sample.depth = 60;
	sample.newest_slot = 27;
	expect(&sample, 52, CODE + 0x777, STACK_END_STITCHED);
	engine_follow(engine, &(struct record){.kind = RECORD_EXIT, .pid = PID, .tid = PID});
	sample.depth = 61;
	sample.newest_slot = 28;
	expect(&sample, 32, CODE + 0x777, STACK_END_LBR_DEPTH);
}

/* What waits for a table is unwound again: that is not another sample to stitch to. */
static void unwinding_again_changes_nothing(void **state)
{
	struct sample sample = {
		.cpumode = 2, .ip = CODE + 0x777, .depth = 40, .nr = 32, .newest_slot = 7};
	struct stack_input input, other;
	struct stack_made made;
	const struct process *process;

	(void)state;
	expect(&sample, 32, CODE + 0x777, STACK_END_LBR_DEPTH);
	sample.depth = 50;
	sample.newest_slot = 17;
	ring_write(&sample);
	process = next_sample(&input);
	assert_int_equal(input.nr_user_ips, 43);
	stack_path(&engine->stacks, process, &input, &made);
	stack_path(&engine->stacks, process, &input, &made); /* as often as need be */
	expect_path(&made, 42, CODE + 0x777, 0);
	assert_int_equal(made.end, STACK_END_STITCHED);
	sample.depth = 60;
	sample.newest_slot = 27;
	ring_write(&sample);
	next_sample(&other);
	assert_int_equal(other.nr_user_ips, 53);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_event_asks_for_calls_only),   TEST(samples_of_the_program),
		TEST(samples_of_the_kernel),	       TEST(full_stacks_are_stitched),
		TEST(unwinding_again_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
