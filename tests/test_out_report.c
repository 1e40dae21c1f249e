/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report is the view's rows at full width, below lines that tell every loss. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/out/out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NAME_MAX_COLUMNS = 64 };

/* main calls work (30 of 100), and a function with a name of 200 letters (70). */
static struct snapshot *make_snapshot(void)
{
	enum {
		MAIN = 1,
		WORK = 6,
		OBJECT = 11,
		EVENT = 16,
		TARGET = 26,
		HOST = 35,
		LONG = 40,
		LENGTH = 200
	};
	static const char text[] = "\0main\0work\0prog\0cpu-clock\0all CPUs\0host";
	struct snapshot *s = snapshot_new(3, 4, LONG + LENGTH + 1);

	assert_non_null(s);
	memcpy(s->text, text, sizeof(text));
	memset(s->text + LONG, 'x', LENGTH);
	s->hostname = HOST;
	s->settings.event = EVENT;
	s->settings.target = TARGET;
	s->settings.mode = STACK_MODE_DWARF;
	s->total = 100;
	s->nr_samples = 100;
	s->funcs[0] = (struct snap_func){
		.key = 1, .name = MAIN, .object = OBJECT, .total = 100, .is_named = true};
	s->funcs[1] = (struct snap_func){.key = 2,
					 .name = WORK,
					 .object = OBJECT,
					 .self = 30,
					 .total = 30,
					 .is_named = true};
	s->funcs[2] = (struct snap_func){.key = 3,
					 .name = LONG,
					 .object = OBJECT,
					 .self = 70,
					 .total = 70,
					 .is_named = true};
	s->nodes[0] = (struct snap_node){.parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = 1,
					 .next_sibling = SNAPSHOT_NONE,
					 .total = 100};
	s->nodes[1] = (struct snap_node){
		.key = 11, .first_child = 2, .next_sibling = SNAPSHOT_NONE, .total = 100};
	s->nodes[2] = (struct snap_node){.key = 12,
					 .parent = 1,
					 .func = 2,
					 .first_child = SNAPSHOT_NONE,
					 .next_sibling = 3,
					 .self = 70,
					 .total = 70};
	s->nodes[3] = (struct snap_node){.key = 13,
					 .parent = 1,
					 .func = 1,
					 .first_child = SNAPSHOT_NONE,
					 .next_sibling = SNAPSHOT_NONE,
					 .self = 30,
					 .total = 30};
	return s;
}

static char *write_report(const struct snapshot *s, enum view_kind kind, bool ascii)
{
	struct view_query query = {.kind = kind};
	struct view view = {0};
	char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	assert_non_null(stream);
	assert_int_equal(view_build(&view, s, &query), 0);
	assert_int_equal(out_text(stream, s, &view, &query, ascii), 0);
	fclose(stream);
	view_done(&view);
	return text;
}

/* A report of a view for later has the health view below its rows, once. */
static void reports_end_with_health(void **state)
{
	struct snapshot *s = make_snapshot();

	(void)state;
	for (int kind = 0; kind < VIEW_COUNT; kind++) {
		struct view_query query = {.kind = (enum view_kind)kind};
		struct view view = {0};
		AUTO_FREE char *text = NULL;
		const char *at;
		size_t len;
		FILE *stream = open_memstream(&text, &len);

		assert_non_null(stream);
		assert_int_equal(view_build(&view, s, &query), 0);
		assert_int_equal(out_report(stream, s, &view, &query, true), 0);
		fclose(stream);
		at = strstr(text, "How stacks end");
		assert_non_null(at);
		assert_null(strstr(at + 1, "How stacks end"));
		assert_non_null(strstr(at, "  complete"));
		assert_null(strstr(text, " \n"));
		view_done(&view);
	}
	snapshot_free(s);
}

/* The line of TEXT that contains WORD, without its end, in OUT. */
static const char *line_with(const char *text, const char *word, char *out, size_t size)
{
	const char *at = strstr(text, word), *start = at;

	if (!at) {
		fail_msg("no '%s' in\n%s", word, text);
		return NULL;
	}
	while (start > text && start[-1] != '\n')
		start--;
	snprintf(out, size, "%.*s", (int)strcspn(start, "\n"), start);
	return out;
}

static void rows_are_whole_and_aligned(void **state)
{
	struct snapshot *s = make_snapshot();
	AUTO_FREE char *text = write_report(s, VIEW_FUNCTIONS, true);
	char head[512], work[512], longest[512];
	const char *object;

	(void)state;
	line_with(text, "self%", head, sizeof(head));
	line_with(text, " work ", work, sizeof(work));
	line_with(text, "xxxx", longest, sizeof(longest));
	assert_non_null(strstr(work, "30.00"));
	/* Columns stand below their titles; a name that is too long moves its own line only. */
	object = strstr(work, "prog");
	assert_non_null(object);
	assert_int_equal(object - work, strstr(head, "object") - head);
	assert_true(object - work < NAME_MAX_COLUMNS + 32);
	assert_int_equal(strspn(strchr(longest, 'x'), "x"), 200);
	assert_non_null(strstr(longest, "prog"));
	/* Ends with one empty line, and no line ends with a blank. */
	assert_string_equal(text + strlen(text) - 2, "\n\n");
	assert_null(strstr(text, " \n"));
	snapshot_free(s);
}

static void trees_are_drawn_in_ascii_when_asked(void **state)
{
	struct snapshot *s = make_snapshot();
	AUTO_FREE char *ascii = write_report(s, VIEW_TREE, true);
	AUTO_FREE char *utf8 = write_report(s, VIEW_TREE, false);
	char main_line[512], work_line[512];

	(void)state;
	for (const char *p = ascii; *p; p++)
		assert_true((unsigned char)*p < 0x80);
	assert_non_null(strstr(utf8, "\xe2\x94\x94")); /* a corner */
	/* work stands below main, further to the right. */
	line_with(ascii, "main", main_line, sizeof(main_line));
	line_with(ascii, "work", work_line, sizeof(work_line));
	assert_true(strstr(work_line, "work") - work_line > strstr(main_line, "main") - main_line);
	assert_true(strstr(ascii, "work") > strstr(ascii, "main"));
	snapshot_free(s);
}

static void every_loss_is_told(void **state)
{
	struct snapshot *s = make_snapshot();
	char line[1024];
	AUTO_FREE char *clean = write_report(s, VIEW_FUNCTIONS, true), *lossy = NULL;

	(void)state;
	line_with(clean, "whole run: lost", line, sizeof(line));
	assert_string_equal(line, "whole run: lost 0, dropped 0, throttled 0 times (0.000 s)");
	s->health = (struct health){
		.samples = 10,
		.user_stacks = 9,
		.complete = 5,
		.stitched = 1,
		.ends = {[STACK_END_ROOT] = 5,
			 [STACK_END_STITCHED] = 1,
			 [STACK_END_TRUNCATED] = 3,
			 [STACK_END_KERNEL] = 1},
		.lost = 11,
		.lost_read = 12,
		.lost_read_known = 1,
		.lost_sideband = 13,
		.maps_refused = 20,
		.maps_skipped = 1,
		.lost_samples = 14,
		.dropped = 15,
		.throttled = 16,
		.throttled_ns = 1500000000,
		.bad_records = 17,
		.late_records = 18,
		.evicted = 19,
	};
	lossy = write_report(s, VIEW_FUNCTIONS, true);
	line_with(lossy, "whole run: lost", line, sizeof(line));
	assert_string_equal(
		line,
		"whole run: lost 11 (by the kernel's own count 12), dropped 15, throttled 16 times (1.500 s),"
		" lost notices of processes and maps 13, mappings not followed 21, lost by hardware 14, malformed records 17,"
		" late records 18, samples that left a full log 19");
	line_with(lossy, "whole run: samples", line, sizeof(line));
	assert_string_equal(
		line,
		"whole run: samples 10, user stacks 9: complete 5 (55.5%), live-read 0, stitched 1, truncated 3; "
		"without user part: kernel threads 1, ending tasks 0");
	snapshot_free(s);
}

static void a_recording_tells_its_events_and_its_trouble(void **state)
{
	enum { CYCLES = 16, FILE_NAME = 26, TROUBLE = 35 };
	struct snapshot *s = make_snapshot();
	AUTO_FREE char *text = NULL, *whole = NULL;
	char line[1024];

	(void)state;
	s->recording.is_recording = true;
	s->recording.file = FILE_NAME; /* whatever stands there */
	s->recording.nr_events = 2;
	s->recording.events[0] = (struct snap_event){.name = CYCLES, .nr_samples = 100};
	s->recording.events[1] = (struct snap_event){.name = TROUBLE, .nr_samples = 7};
	whole = write_report(s, VIEW_FUNCTIONS, true);
	assert_non_null(strstr(whole, "Functions of all CPUs, event cpu-clock, 100 samples\n"
				      "events in the file: cpu-clock 100, host 7\n"
				      "whole recording: samples 0"));
	assert_null(strstr(whole, "window"));
	s->recording.trouble = TROUBLE;
	s->recording.done_bytes = 50;
	s->recording.total_bytes = 80;
	text = write_report(s, VIEW_FUNCTIONS, true);
	line_with(text, "read 50 bytes of 80", line, sizeof(line));
	assert_non_null(strstr(text, "\nhost\n"));
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole_and_aligned),
		cmocka_unit_test(trees_are_drawn_in_ascii_when_asked),
		cmocka_unit_test(every_loss_is_told),
		cmocka_unit_test(reports_end_with_health),
		cmocka_unit_test(a_recording_tells_its_events_and_its_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
