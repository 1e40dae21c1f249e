/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From stacks to rows: a program of known shares shows them in all three views. */
#include "config.h"

#include "src/profile/profile.h"
#include "src/view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MSEC 1000000ull

enum { KERNEL, PROGRAM };

/* _start, main and then a (70), b (20), c (10); c always in the kernel; every address differs. */
static struct snapshot *known(void)
{
	static const char *const names[] = {"_start", "main", "a", "b", "c", "do_sys"};
	struct profile *p = profile_new(&profile_config_default);
	struct snapshot *s;

	assert_non_null(p);
	profile_object(p, KERNEL, "[kernel]", true);
	profile_object(p, PROGRAM, "prog", false);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t callee = i % 10 < 7 ? 2 : i % 10 < 9 ? 3 : 4;
		const struct profile_frame frames[] = {{PROGRAM, 10},
						       {PROGRAM, 1000 + i},
						       {PROGRAM, callee * 1000 + i},
						       {KERNEL, 5000}};
		const struct profile_sample sample = {.time_ns = i * MSEC,
						      .process = 1,
						      .weight = 1,
						      .mode = STACK_MODE_FP,
						      .end = STACK_END_FP};

		profile_add(p, &sample, frames, callee == 4 ? 4 : 3, NULL);
		for (int k = 0; k < 4; k++)
			profile_name(p, frames[k].module, frames[k].off,
				     &(struct profile_name){frames[k].off / 1000 * 1000, 0,
							    names[frames[k].off / 1000], NULL,
							    NULL});
	}
	profile_advance(p, 1000 * MSEC);
	s = profile_snapshot(p, 0);
	profile_free(p);
	assert_non_null(s);
	return s;
}

/* All rows as one text: "depth name self total", so that a failure shows what came instead. */
static void expect(const struct snapshot *s, struct view_query query, const char *expected)
{
	struct view view = {0};
	char text[2048] = "", name[64];
	size_t len = 0;

	assert_int_equal(view_build(&view, s, &query), 0);
	for (uint32_t i = 0; i < view.nr_rows && len < sizeof(text); i++) {
		const struct view_row *row = &view.rows[i];

		view_cell(&view, s, row, COLUMN_FUNCTION, name, sizeof(name));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %s %u %u\n", row->depth,
					name, (unsigned int)row->self, (unsigned int)row->total);
	}
	assert_string_equal(text, expected);
	view_done(&view);
}

static void shares_show_in_all_views(void **state)
{
	struct snapshot *s = known();
	struct fold *open = fold_new();

	(void)state;
	fold_set_all(open, true);
	expect(s, (struct view_query){.kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_SELF},
	       "0 a 700 700\n0 b 200 200\n0 do_sys 100 100\n0 _start 0 1000\n0 main 0 1000\n0 c 0 100\n");
	expect(s, (struct view_query){.kind = VIEW_CALLERS},
	       "0 a 700 700\n0 b 200 200\n0 do_sys 100 100\n");
	expect(s, (struct view_query){.kind = VIEW_CALLERS, .fold = open},
	       "0 a 700 700\n1 main 700 700\n1 _start 700 700\n"
	       "0 b 200 200\n1 main 200 200\n1 _start 200 200\n"
	       "0 do_sys 100 100\n1 c 100 100\n1 main 100 100\n1 _start 100 100\n");
	expect(s, (struct view_query){.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL},
	       "0 _start 0 1000\n1 main 0 1000\n2 a 700 700\n2 b 200 200\n2 c 0 100\n2 do_sys 100 100\n");
	fold_free(open);
	snapshot_free(s);
}

static void hidden_kernel_frames_leave_their_weight(void **state)
{
	struct snapshot *s = known();

	(void)state;
	expect(s,
	       (struct view_query){
		       .kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_SELF, .hide_kernel = true},
	       "0 a 700 700\n0 b 200 200\n0 c 100 100\n0 _start 0 1000\n0 main 0 1000\n");
	expect(s, (struct view_query){.kind = VIEW_CALLERS, .hide_kernel = true},
	       "0 a 700 700\n0 b 200 200\n0 c 100 100\n");
	expect(s,
	       (struct view_query){.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL, .hide_kernel = true},
	       "0 _start 0 1000\n1 main 0 1000\n2 a 700 700\n2 b 200 200\n2 c 100 100\n");
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_show_in_all_views),
		cmocka_unit_test(hidden_kernel_frames_leave_their_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
