/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stacks end in, and how good frame pointers are: the worst first, bounded, and nothing is lost count of. */
#include "config.h"

#include "src/engine/faults.h"
#include "src/engine/fp_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS_PER_S 1000000000ull

static struct procs *procs;
static struct faults *faults;

static int set_up(void **state)
{
	(void)state;
	procs = procs_new();
	faults = faults_new();
	return procs && faults ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	procs_free(procs);
	faults_free(faults);
	return 0;
}

static const struct process *process_of(pid_t pid, const char *comm)
{
	assert_int_equal(procs_seen(procs, pid, 1, comm, false, 1), 0);
	return procs_of_sample(procs, pid, 2);
}

static void note(const struct process *process, enum stack_end end, int nr)
{
	while (nr-- > 0)
		faults_note(faults, process, UNWIND_NO_MODULE, end);
}

static struct health fill(uint64_t user_stacks)
{
	struct health h = {.user_stacks = user_stacks};

	faults_fill(faults, procs, &h);
	return h;
}

static void processes_of_a_name_are_one(void **state)
{
	const struct process *java = process_of(10, "java"), *cc1 = process_of(11, "cc1");
	const struct process *other = process_of(12, "cc1");
	struct health h;

	(void)state;
	note(java, STACK_END_JIT, 2);
	note(cc1, STACK_END_TRUNCATED, 1);
	note(other, STACK_END_TRUNCATED, 3);
	note(cc1, STACK_END_JIT, 1);
	h = fill(100);
	assert_int_equal(h.nr_faults, 3);
	assert_string_equal(h.faults[0].name, "cc1");
	assert_int_equal(h.faults[0].stacks, 4);
	assert_int_equal(h.faults[0].nr_processes, 2);
	assert_int_equal(h.faults[0].pid, 0);
	assert_int_equal(h.faults[0].end, STACK_END_TRUNCATED);
	assert_string_equal(h.faults[1].name, "java");
	assert_int_equal(h.faults[1].pid, 10);
	assert_int_equal(h.faults[1].runtime, RUNTIME_JAVA);
	assert_int_equal(h.faults[2].runtime, RUNTIME_NONE);
}

/* The module is a memory file that it has put code in, which needs the remedy of its runtime. */
static void code_in_a_memory_file_is_the_processs(void **state)
{
	const struct process *erl = process_of(10, "erl");
	struct health h;

	(void)state;
	faults_note(faults, erl, PROC_MODULE_FIRST, STACK_END_JIT);
	note(erl, STACK_END_JIT, 1);
	h = fill(10);
	assert_int_equal(h.nr_faults, 1);
	assert_string_equal(h.faults[0].name, "erl");
	assert_int_equal(h.faults[0].pid, 10);
	assert_int_equal(h.faults[0].stacks, 2);
	assert_null(h.faults[0].why);
}

/* What was bad at the start and is not now goes below what is bad now. */
static void the_worst_now_comes_first(void **state)
{
	const struct process *old = process_of(10, "old"), *now = process_of(11, "now");
	struct health h;

	(void)state;
	note(old, STACK_END_JIT, 1000);
	faults_advance(faults, 10 * NS_PER_S, 10 * NS_PER_S, 2000);
	faults_advance(faults, 12 * NS_PER_S, 10 * NS_PER_S, 2000); /* too soon for a mark */
	h = fill(2000);
	assert_int_equal(h.faults[0].stacks_now, 1000);
	faults_advance(faults, 15 * NS_PER_S, 10 * NS_PER_S, 2000);
	note(now, STACK_END_JIT, 10);
	h = fill(2040);
	assert_int_equal(h.nr_faults, 2);
	assert_string_equal(h.faults[0].name, "now");
	assert_int_equal(h.faults[0].stacks_now, 10);
	assert_int_equal(h.faults[1].stacks, 1000);
	assert_int_equal(h.faults[1].stacks_now, 0);
	assert_int_equal(h.faults_stacks_now, 40);
}

/* Very many things at fault: the many stacks of a few stay counted exactly, all others are counted together. */
static void too_many_become_others(void **state)
{
	const struct process *worst = process_of(1, "worst");
	const uint32_t nr = 5000;
	uint64_t sum = 0;
	struct health h;

	(void)state;
	note(worst, STACK_END_NO_MAP, 500);
	for (uint32_t i = 0; i < nr; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "p%u", i);
		note(process_of((pid_t)(100 + i), comm), STACK_END_JIT, 1);
		if (i % 1000 == 0)
			note(worst, STACK_END_NO_MAP, 1);
	}
	h = fill(nr + 505);
	assert_int_equal(h.nr_faults, HEALTH_FAULTS_MAX);
	assert_string_equal(h.faults[0].name, "worst");
	assert_int_equal(h.faults[0].stacks, 505);
	for (uint32_t i = 0; i < h.nr_faults; i++)
		sum += h.faults[i].stacks;
	assert_int_equal(sum + h.faults_other, nr + 505);
}

static void processes_of_the_window_are_joined(void **state)
{
	struct snapshot *s = snapshot_new(0, 1, 16);
	struct health h = {0};

	(void)state;
	assert_non_null(s);
	assert_int_equal(snapshot_add_shares(s, 30, 0, 1), 0);
	for (uint32_t i = 0; i < 30; i++) {
		struct snap_process *p = &s->processes[i];

		snprintf(p->comm, sizeof(p->comm), i < 5 ? "cc1" : "p%u", i);
		p->nr_user_stacks = i == 29 ? 0 : 10;
		p->nr_complete = i == 29 ? 0 : i < 5 ? 9 : 10;
	}
	faults_fill_processes(s, &h);
	assert_int_equal(h.nr_processes, HEALTH_PROCESSES_MAX);
	assert_string_equal(h.processes[0].name, "cc1");
	assert_int_equal(h.processes[0].nr_processes, 5);
	assert_int_equal(h.processes[0].user_stacks, 50);
	assert_int_equal(h.processes[0].complete, 45);
	/* 24 others have user stacks, of which 19 are told. */
	assert_int_equal(h.processes_other, 5);
	snapshot_free(s);
}

/* By the leaf's object; what is led astray by another one is counted there. */
static void frame_pointers_are_counted(void **state)
{
	struct fp_counts *counts = fp_counts_new();
	struct health h = {0};
	uint64_t sum = 0;

	(void)state;
	assert_non_null(counts);
	fp_counts_add(counts, PROC_MODULE_VDSO, 0, FP_EQUAL);
	fp_counts_add(counts, PROC_MODULE_VDSO, PROC_MODULE_JIT, FP_WRONG);
	fp_counts_add(counts, PROC_MODULE_JIT, PROC_MODULE_JIT, FP_SKIPS);
	fp_counts_fill(counts, procs, &h);
	assert_int_equal(h.nr_fp, 2);
	assert_string_equal(h.fp[0].name, procs_module(procs, PROC_MODULE_JIT)->name);
	assert_int_equal(h.fp[0].parts, 2);
	assert_int_equal(h.fp[0].skips, 1);
	assert_int_equal(h.fp[0].wrong, 0);
	assert_int_equal(h.fp[1].equal, 1);
	assert_int_equal(h.fp[1].wrong, 1);
	assert_int_equal(h.fp[1].parts, 0);
	/* Beyond what is kept and shown all are counted together. */
	for (uint32_t i = 0; i < 2000; i++)
		fp_counts_add(counts, 1000 + i, 1000 + i, FP_SHORTER);
	fp_counts_fill(counts, procs, &h);
	assert_int_equal(h.nr_fp, HEALTH_FP_MAX);
	for (uint32_t i = 0; i < h.nr_fp; i++)
		sum += health_fp_stacks(&h.fp[i]);
	assert_int_equal(sum + health_fp_stacks(&h.fp_other), 2003);
	assert_int_equal(h.fp_all.shorter, 2000);
	fp_counts_free(counts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_of_a_name_are_one), TEST(code_in_a_memory_file_is_the_processs),
		TEST(the_worst_now_comes_first),   TEST(too_many_become_others),
		TEST(frame_pointers_are_counted),  TEST(processes_of_the_window_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
