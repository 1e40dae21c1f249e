/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The health view: what stands in its rows, of health that is made by hand. */
#include "config.h"

#include "src/view/remedy.h"
#include "src/view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX 16384

static struct snapshot *snapshot_of(void)
{
	struct snapshot *s = snapshot_new(0, 1, 64);

	assert_non_null(s);
	s->nr_text = 1;
	s->nodes[0] = (struct snap_node){.parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = SNAPSHOT_NONE,
					 .next_sibling = SNAPSHOT_NONE};
	return s;
}

/* 1000 user stacks, 990 of them complete; none in the window but 10 complete and 10 cut ones. */
static void fill(struct health *h)
{
	h->samples = 1003;
	h->user_stacks = 1000;
	h->ends[STACK_END_ROOT] = h->complete = 990;
	h->ends[STACK_END_NO_CFI] = 3;
	h->ends[STACK_END_TRUNCATED] = 7;
	h->ends[STACK_END_KERNEL] = 3;
	h->ends_now[STACK_END_ROOT] = 10;
	h->ends_now[STACK_END_TRUNCATED] = 10;
}

/* The rows as lines "now|run|name|note", a heading without its mark; the caller frees it. */
static char *rows_text(const struct snapshot *s, const struct view *v)
{
	static const enum view_column columns[] = {COLUMN_NOW, COLUMN_RUN, COLUMN_FUNCTION,
						   COLUMN_NOTE};
	char *text = calloc(1, TEXT_MAX), cell[512];
	size_t len = 0;

	assert_non_null(text);
	for (uint32_t i = 0; i < v->nr_rows; i++)
		for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
			view_cell(v, s, &v->rows[i], columns[c], cell, sizeof(cell));
			len += (size_t)snprintf(text + len, TEXT_MAX - len, "%s%c", cell,
						c < 3 ? '|' : '\n');
			assert_true(len < TEXT_MAX);
		}
	return text;
}

static void expect(const struct snapshot *s, const char *wanted)
{
	const struct view_query query = {.kind = VIEW_HEALTH};
	struct view v = {0};
	char *text;

	assert_int_equal(view_build(&v, s, &query), 0);
	text = rows_text(s, &v);
	if (!strstr(text, wanted))
		fail_msg("no\n%s\nin\n%s", wanted, text);
	free(text);
	view_done(&v);
}

static void fates_are_now_and_in_all(void **state)
{
	struct snapshot *s = snapshot_of();

	(void)state;
	fill(&s->health);
	expect(s, "now|in all|How stacks end|\n"
		  "50.0%|99.0%|complete|990: followed to the root\n"
		  "0.0%|0.0%|live-read|0: the rest read from the process\n"
		  "0.0%|0.0%|stitched|0: outer calls from an earlier stack\n"
		  "50.0%|0.7%|truncated|7: longer than what was copied of it\n"
		  "0.0%|0.3%|no-cfi|3: code without unwind information\n"
		  "||kernel|3: kernel threads: no user part\n");
	snapshot_free(s);
}

/* Nearly all is not all, and little is not nothing. */
static void shares_are_not_rounded_to_all_or_nothing(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	h->user_stacks = 100000;
	h->ends[STACK_END_ROOT] = h->complete = 99990;
	h->ends[STACK_END_BAD_RA] = 10;
	expect(s, "|99.9%|complete|99990");
	expect(s, "|<0.1%|bad-ra|10");
	snapshot_free(s);
}

static void made_code_comes_with_what_brings_names(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	h->jits[0] = (struct health_jit){
		.name = "java", .pid = 4711, .runtime = RUNTIME_JAVA, .state = RUNTIME_NAMES_NONE};
	h->jits[1] = (struct health_jit){.name = "java",
					 .pid = 4712,
					 .runtime = RUNTIME_JAVA,
					 .state = RUNTIME_NAMES_OLD,
					 .age_s = 185,
					 .names = 702};
	h->jits[2] = (struct health_jit){
		.name = "node", .pid = 812, .runtime = RUNTIME_NODE, .state = RUNTIME_NAMES_NONE};
	h->jits[3] = (struct health_jit){.name = "node",
					 .pid = 813,
					 .runtime = RUNTIME_NODE,
					 .state = RUNTIME_NAMES_KNOWN,
					 .names = 2300,
					 .left_out = 7};
	h->jits[4] = (struct health_jit){
		.name = "x", .pid = 5, .state = RUNTIME_NAMES_FOREIGN, .map_pid = 5};
	h->jits[5] = (struct health_jit){
		.name = "y", .pid = 6, .state = RUNTIME_NAMES_NO_FILE, .map_pid = 2};
	h->jits[6] = (struct health_jit){
		.name = "z", .pid = 7, .state = RUNTIME_NAMES_LATE, .age_s = 40, .names = 9};
	h->nr_jits = 7;
	expect(s, "|names|Code made at run time|\n"
		  "|0|java 4711|no names; run: jcmd 4711 Compiler.perfmap\n"
		  "|702|java 4712|names are 3 min old; run: jcmd 4712 Compiler.perfmap\n"
		  "|0|node 812|no names; start with --perf-basic-prof\n"
		  "|2300|node 813|7 left out\n"
		  "|0|x 5|no names: /tmp/perf-5.map is another user's\n"
		  "|0|y 6|no names: /tmp/perf-2.map is not a regular file\n"
		  "|9|z 7|tells very much of its code: read on in 40 s");
	snapshot_free(s);
}

static void processes_that_are_not_readable_are_named(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	h->unreadable[0] = (struct health_unreadable){.name = "sshd", .pid = 812, .refused = 9};
	h->nr_unreadable = 1;
	h->unreadable_other = 3;
	expect(s, "|times|Rest of cut stacks refused|\n"
		  "|9|sshd 812|not readable: as root, or it forbids it\n"
		  "||[others]|3 processes\n");
	h->unreadable[0].is_hung = true;
	h->unreadable_other = 0;
	h->reads_hung = 1;
	expect(s, "|times|Rest of cut stacks refused|\n"
		  "|9|sshd 812|its pages never come (userfaultfd, FUSE, NFS)\n"
		  "|1|[reads that hang]|the stacks of other processes are read\n");
	h->unreadable_other = 3;
	h->reads_stopped = true;
	expect(s, "|times|Rest of cut stacks refused|\n"
		  "|9|sshd 812|its pages never come (userfaultfd, FUSE, NFS)\n"
		  "||[others]|3 processes\n"
		  "|1|[reads that hang]|no stack is read any more until such a process ends\n");
	snapshot_free(s);
}

static void faults_come_with_what_helps(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	fill(h);
	h->faults[0] = (struct health_fault){
		.name = "libold.so", .end = STACK_END_NO_CFI, .stacks = 3, .stacks_now = 1};
	h->faults[1] = (struct health_fault){.name = "java",
					     .nr_processes = 1,
					     .pid = 4711,
					     .end = STACK_END_JIT,
					     .runtime = RUNTIME_JAVA,
					     .stacks = 5};
	h->faults[2] = (struct health_fault){
		.name = "cc1", .nr_processes = 37, .end = STACK_END_TRUNCATED, .stacks = 2};
	h->faults[3] = (struct health_fault){
		.name = "x.so", .end = STACK_END_BAD_FILE, .why = "not ELF", .stacks = 1};
	h->nr_faults = 4;
	h->faults_other = 9;
	h->faults_stacks_now = 4;
	expect(s, "now|in all|What they end in|what helps\n"
		  "25.0%|0.3%|libold.so: no-cfi|no CFI: built without .eh_frame, or asm\n"
		  "0.0%|0.5%|java 4711: jit|restart it with -XX:+PreserveFramePointer\n"
		  "0.0%|0.2%|cc1 (37): truncated|key = finds the size; 64 KB are the most\n"
		  "0.0%|0.1%|x.so: bad-file|not ELF\n"
		  "|0.9%|[others]|9 stacks\n");
	s->settings.is_stack_auto = true;
	expect(s, "cc1 (37): truncated|above the copy, and not read in time\n");
	/* Keys that sample otherwise are of no use for what was sampled before. */
	s->recording.is_recording = true;
	expect(s, "cc1 (37): truncated|record with a larger copy: --call-graph dwarf,65528\n");
	snapshot_free(s);
}

/* Each end of a user stack means something and has a remedy, but for those that need none. */
static void every_end_has_words(void **state)
{
	struct snapshot *s = snapshot_of();

	(void)state;
	for (int end = 0; end < STACK_END_COUNT; end++) {
		const struct health_fault fault = {.end = (enum stack_end)end};

		assert_true(strlen(remedy_meaning(fault.end)) > 0);
		if (stack_end_is_user(fault.end) && !stack_end_is_root(fault.end) &&
		    end != STACK_END_PENDING && !remedy_of(s, &fault)[0])
			fail_msg("no remedy for %s", stack_end_name(fault.end));
	}
	snapshot_free(s);
}

static void processes_are_told(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	fill(h);
	h->processes[0] = (struct health_process){
		.name = "cc1", .nr_processes = 3, .user_stacks = 8, .complete = 6};
	h->processes[1] = (struct health_process){
		.name = "sh", .nr_processes = 1, .user_stacks = 2, .complete = 2};
	h->nr_processes = 2;
	h->processes_other = 5;
	expect(s, "compl|stacks|Processes|\n"
		  "75.0%|8|cc1|3 processes\n"
		  "100.0%|2|sh|\n"
		  "||[others]|5 processes\n");
	snapshot_free(s);
}

static void cpus_files_and_sizes_are_told(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	h->thinned = 1234567;
	h->evicted = 5;
	h->cpus[0] = (struct health_cpu){.cpu = 3, .fill_pct = 97, .samples = 123456, .lost = 7};
	h->nr_cpus = 1;
	h->cpus_other = 2;
	h->files[0] = (struct health_file){.name = "x.so", .why = "timed out"};
	h->nr_files = 1;
	snprintf(h->fetch_hosts, sizeof(h->fetch_hosts), "debug.example");
	h->fetch_state = "failed: left alone";
	h->fetch_pause_s = 25;
	h->fetch_bytes = 4500000;
	h->fetched = 1;
	h->fetch_failed = 3;
	h->downloads[0] = (struct health_download){
		.name = "y.so", .bytes = 4500000, .took_ns = 1230000000, .what = "came"};
	h->nr_downloads = 1;
	h->sizes[0] = (struct health_size){.bytes = 65528, .reason = COPY_SIZE_START};
	h->sizes[1] = (struct health_size){
		.from_ns = 12500000000, .bytes = 24576, .reason = COPY_SIZE_ENOUGH};
	h->nr_sizes = h->nr_sizes_ever = 2;
	expect(s,
	       "|in all|Lost and left out|\n"
	       "|1.2M|thinned|samples left out for the budget\n"
	       "|5|evicted|samples that left a full log\n"
	       "ring|taken|CPUs|\n"
	       "97%|123.4k|cpu 3|lost 7\n"
	       "||[others]|2 CPUs, with fewer lost and emptier rings\n"
	       "||Files refused or given up|why\n"
	       "||x.so|timed out\n"
	       "MB|s|Debug files from the network|\n"
	       "4.5||debug.example|failed: left alone for 25 s: 1 came, 0 not there, 3 failed, 0 to come\n"
	       "4.5|1.2|y.so|came\n"
	       "KB|from s|Sizes of the stack copy|why\n"
	       "24|12|now|stacks need no more\n"
	       "64|0|before|to begin with\n");
	snapshot_free(s);
}

/* Every reason for a size has words of its own, and so has every stage and room. */
static void nothing_is_without_words(void **state)
{
	const struct view_query query = {.kind = VIEW_HEALTH};
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;
	struct view v = {0};
	char cell[512];

	(void)state;
	h->rss_bytes = 1;
	h->stage_pct[HEALTH_STAGE_OTHER] = 1;
	for (int reason = 0; reason < COPY_SIZE_REASON_COUNT; reason++) {
		h->sizes[0] = (struct health_size){.reason = (enum copy_size_reason)reason};
		h->nr_sizes = 1;
		assert_int_equal(view_build(&v, s, &query), 0);
		for (uint32_t i = 0; i < v.nr_rows; i++) {
			view_cell(&v, s, &v.rows[i], COLUMN_NOTE, cell, sizeof(cell));
			assert_true(cell[0] || v.rows[i].has_children);
			assert_null(strstr(cell, "(null)"));
			view_cell(&v, s, &v.rows[i], COLUMN_FUNCTION, cell, sizeof(cell));
			assert_true(cell[0] && !strstr(cell, "(null)"));
		}
	}
	view_done(&v);
	snapshot_free(s);
}

static void frame_pointers_are_told(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	h->fp_all = (struct health_fp){
		.name = "[all]", .equal = 3, .shorter = 1, .skips = 2, .wrong = 4, .parts = 7};
	h->fp[0] = (struct health_fp){.name = "a", .equal = 1, .skips = 1, .parts = 6};
	h->fp[1] = (struct health_fp){.name = "b", .parts = 1};
	h->nr_fp = 2;
	h->fp_other = (struct health_fp){.name = "[others]", .wrong = 4};
	expect(s, "equal|stacks|Frame pointers (f)|by the innermost function's object\n"
		  "30.0%|10|[all]|shorter 10.0%, skips 20.0%, wrong 40.0%\n"
		  "50.0%|2|a|skips 50.0%; leads 6 astray\n"
		  "|0|b|leads 1 astray\n"
		  "0.0%|4|[others]|wrong 100.0%\n");
	snapshot_free(s);
}

static void cost_and_memory_are_told(void **state)
{
	struct snapshot *s = snapshot_of();
	struct health *h = &s->health;

	(void)state;
	h->stage_pct[HEALTH_STAGE_OTHER] = 0.01;
	h->stage_pct[HEALTH_STAGE_UNWIND] = 1.234;
	h->stage_sample_ns[HEALTH_STAGE_UNWIND] = 1234.5;
	h->stage_pct[HEALTH_STAGE_KERNEL] = 2;
	h->stage_sample_ns[HEALTH_STAGE_KERNEL] = 123456;
	h->room_bytes[HEALTH_ROOM_RINGS] = 5 << 19;
	h->rss_bytes = 20 << 20;
	expect(s, "% CPU|ns/smp|Cost by stage|over the last seconds\n");
	expect(s, "1.23%|1234|unwind|");
	expect(s, "2.00%|123.4k|kernel|estimated: falls to what is sampled\n");
	expect(s, "MB||Memory|\n2.5||rings|shared with the kernel\n");
	expect(s, "20.0||resident|all processes, whatever it is for\n");
	snapshot_free(s);
}

/* A heading folds what is below it; the cursor's item is found again when lines before it have gone. */
static void rows_fold_and_keep_their_keys(void **state)
{
	struct view_query query = {.kind = VIEW_HEALTH};
	struct snapshot *s = snapshot_of();
	struct fold *fold = fold_new();
	struct view v = {0};
	uint64_t key;
	int64_t at;

	(void)state;
	assert_non_null(fold);
	fill(&s->health);
	assert_int_equal(view_build(&v, s, &query), 0);
	assert_int_equal(v.nr_rows, 7);
	assert_true(v.rows[0].has_children && v.rows[0].is_open);
	at = view_search(&v, s, 0, "unwind information|no such", false);
	assert_int_equal(at, 5);
	key = v.rows[at].key;
	s->health.ends[STACK_END_TRUNCATED] = 0;
	assert_int_equal(view_build(&v, s, &query), 0);
	assert_int_equal(view_find_key(&v, key), 4);
	fold_set(fold, v.rows[0].key, false);
	query.fold = fold;
	assert_int_equal(view_build(&v, s, &query), 0);
	assert_int_equal(v.nr_rows, 1);
	fold_free(fold);
	view_done(&v);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fates_are_now_and_in_all),
		cmocka_unit_test(shares_are_not_rounded_to_all_or_nothing),
		cmocka_unit_test(made_code_comes_with_what_brings_names),
		cmocka_unit_test(processes_that_are_not_readable_are_named),
		cmocka_unit_test(faults_come_with_what_helps),
		cmocka_unit_test(every_end_has_words),
		cmocka_unit_test(processes_are_told),
		cmocka_unit_test(cpus_files_and_sizes_are_told),
		cmocka_unit_test(nothing_is_without_words),
		cmocka_unit_test(frame_pointers_are_told),
		cmocka_unit_test(cost_and_memory_are_told),
		cmocka_unit_test(rows_fold_and_keep_their_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
