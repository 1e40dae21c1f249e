/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks that go on on another one, completed by a callchain: this program's own stack, as if it had been left on the way. */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"
#include "unwind/chain_join.h"
#include "unwind/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct self self;
static struct shot shot;
static struct unwind_frame whole[UNWIND_FRAMES_MAX], frames[UNWIND_FRAMES_MAX];
static struct unwind_result whole_result, result;
static uint64_t ips[UNWIND_FRAMES_MAX];
static uint32_t nr_ips;
static struct code_budget budget;

static __attribute__((noinline)) int inner(int n)
{
	volatile int sum = n;

	shoot(&shot);
	return sum;
}

static __attribute__((noinline)) int middle(int n)
{
	volatile int sum = n;

	return sum + inner(sum);
}

static __attribute__((noinline)) int outer(int n)
{
	volatile int sum = n;

	return sum + middle(sum);
}

/* Shoot inner middle outer ...; the walk saw the first NR_FRAMES, the chain all but frame MISSING. */
static void begin(uint32_t nr_frames, uint32_t missing)
{
	assert_true(outer(1) > 0);
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, whole, &whole_result);
	assert_int_equal(whole_result.end, STACK_END_ROOT);
	assert_true(whole_result.nr_frames > 6);
	nr_ips = 0;
	for (uint32_t i = 0; i < whole_result.nr_frames; i++)
		if (i != missing)
			ips[nr_ips++] = whole[i].pc;
	memcpy(frames, whole, sizeof(frames[0]) * nr_frames);
	result = (struct unwind_result){.nr_frames = nr_frames, .end = STACK_END_ALTSTACK};
}

static void join(void)
{
	chain_join(&self.space, ips, nr_ips, frames, UNWIND_FRAMES_MAX, &result);
}

static void same_as_whole(uint32_t from)
{
	for (uint32_t i = from; i < result.nr_frames; i++) {
		assert_int_equal(frames[i].pc, whole[i].pc);
		assert_int_equal(frames[i].off, whole[i].off);
		assert_int_equal(frames[i].module, whole[i].module);
		assert_true(frames[i].is_return);
	}
}

static void the_rest_is_the_chain_s(void **state)
{
	(void)state;
	begin(2, UINT32_MAX);
	join();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, whole_result.nr_frames);
	same_as_whole(2);
}

/* middle's frame pointer was in the register: what the call in outer leads to is middle. */
static void who_left_the_stack_is_what_was_called(void **state)
{
	(void)state;
	self.space.code = unwind_code_new(&budget, TABLE_MACHINE_X86_64);
	assert_non_null(self.space.code);
	unwind_code_set_time(self.space.code, NS_PER_SEC);
	begin(2, 2);
	assert_true(whole[2].pc - (uint64_t)(uintptr_t)middle < 4096); /* sanitizers make it long */
	join();
	assert_int_equal(result.end, STACK_END_PENDING);
	assert_true(self_bring_code(&self, self.space.code, 2 * NS_PER_SEC) > 0);
	begin(2, 2);
	join();
	self.space.code = unwind_code_free(self.space.code);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, whole_result.nr_frames);
	assert_int_equal(frames[2].pc, (uint64_t)(uintptr_t)middle);
	assert_false(frames[2].is_return);
	same_as_whole(3);
}

static void not_joined(void)
{
	uint32_t before = result.nr_frames;

	join();
	assert_int_equal(result.nr_frames, before);
	assert_int_equal(result.end, STACK_END_ALTSTACK);
}

static void what_is_no_way_to_a_root_is_refused(void **state)
{
	(void)state;
	begin(2, 1); /* the chain does not lead through the outermost frame */
	not_joined();
	begin(2, UINT32_MAX); /* it was cut off */
	nr_ips--;
	not_joined();
	begin(2, UINT32_MAX);
	nr_ips = 2;
	not_joined();
	begin(2, UINT32_MAX); /* a word that no call returns to, and one in no code */
	ips[3]++;
	not_joined();
	ips[3] = 8;
	not_joined();
	begin(2, UINT32_MAX); /* no room */
	chain_join(&self.space, ips, nr_ips, frames, nr_ips - 1, &result);
	assert_int_equal(result.end, STACK_END_ALTSTACK);
	begin(2, UINT32_MAX); /* another end has other reasons */
	result.end = STACK_END_TRUNCATED;
	join();
	assert_int_equal(result.end, STACK_END_TRUNCATED);
}

static void return_addresses_are_asked_for(void **state)
{
	struct unwind_module *module = self_module_of(&self, (const void *)outer);

	(void)state;
	assert_non_null(module);
	module->has_return_addrs = module->needs_return_addrs = false;
	begin(2, UINT32_MAX);
	join();
	module->has_return_addrs = true;
	assert_true(module->needs_return_addrs);
	assert_int_equal(result.end, STACK_END_PENDING);
	assert_int_equal(result.nr_frames, 2);
}

static int setup_all(void **state)
{
	(void)state;
	budget = (struct code_budget){.insns_left = 1000, .pieces_left = 100};
	return self_load(&self, true) ? 0 : -1;
}

static int teardown_all(void **state)
{
	(void)state;
	self_unload(&self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_is_the_chain_s),
		cmocka_unit_test(who_left_the_stack_is_what_was_called),
		cmocka_unit_test(what_is_no_way_to_a_root_is_refused),
		cmocka_unit_test(return_addresses_are_asked_for),
	};

	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
