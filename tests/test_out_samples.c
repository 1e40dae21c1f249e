/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single samples as text: every field stands where docs/FORMATS says. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/out/out.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMM = 1, EVENT = 13, KERNEL_NAME = 25, NAME = 34, KERNEL = 39, OBJECT = 48 };

static struct snap_samples *make_samples(void)
{
	static const char text[] =
		"\0Web Content\0cpu-clock:u\0vfs_read\0main\0[kernel]\0libc.so.6";
	struct snap_samples *s = snap_samples_new(2, 4, sizeof(text));

	assert_non_null(s);
	memcpy(s->text, text, sizeof(text));
	s->samples[0] = (struct snap_sample){.comm = COMM,
					     .event = EVENT,
					     .pid = 12,
					     .tid = 4194303,
					     .cpu = 3,
					     .time_ns = 5000000007,
					     .period = 1001001,
					     .end = STACK_END_ROOT,
					     .nr_frames = 4};
	s->samples[1] = (struct snap_sample){.comm = COMM,
					     .event = EVENT,
					     .pid = -1,
					     .tid = -1,
					     .cpu = UINT32_MAX,
					     .time_ns = 18446744073709551615u,
					     .period = 18446744073709551615u,
					     .end = STACK_END_NO_USER,
					     .first_frame = 4};
	s->frames[0] = (struct snap_frame){.addr = 0xffffffff81000010,
					   .name = KERNEL_NAME,
					   .object = KERNEL,
					   .name_off = 0x10,
					   .is_kernel = true};
	s->frames[1] = (struct snap_frame){.addr = 0x401136, .name = NAME, .object = OBJECT};
	s->frames[2] = (struct snap_frame){.addr = 0x7f0000001a40, .object = OBJECT};
	s->frames[3] = (struct snap_frame){.addr = 0};
	return s;
}

#define FIRST                                                             \
	"Web Content 12/4194303 [003] 5.000000007: 1001001 cpu-clock:u: " \
	"root\n"                                                          \
	"\tffffffff81000010 vfs_read+0x10 ([kernel])\n"                   \
	"\t          401136 main+0x0 (libc.so.6)\n"                       \
	"\t    7f0000001a40 [unknown] (libc.so.6)\n"                      \
	"\t               0 [unknown] ([unknown])\n"                      \
	"\n"
#define SECOND                                                                                   \
	"Web Content -1/-1 [-] 18446744073.709551615: 18446744073709551615 cpu-clock:u: no-user" \
	"\n\n"

static void assert_text(uint64_t max, const char *wanted)
{
	struct snap_samples *s = make_samples();
	AUTO_FREE char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	assert_int_equal(out_samples(stream, s, max), 0);
	fclose(stream);
	assert_string_equal(text, wanted);
	free(s);
}

static void every_field_has_its_place(void **state)
{
	(void)state;
	assert_text(UINT64_MAX, FIRST SECOND);
}

/* An event that has no name of perf's: "raw 0x1a8". */
static void an_event_is_one_word(void **state)
{
	struct snap_samples *s = make_samples();
	AUTO_FREE char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	(void)state;
	s->samples[1].event = COMM;
	assert_int_equal(out_samples(stream, s, UINT64_MAX), 0);
	fclose(stream);
	assert_non_null(strstr(text, " 18446744073709551615 Web_Content: no-user\n"));
	assert_non_null(strstr(text, "Web Content -1/-1 "));
	free(s);
}

/* What readers' expressions need: no reason after the event, names of two words, objects of one. */
static void readers_of_perf_script_are_served(void **state)
{
	static const char text[] = "\0c\0 a b c \0my prog";
	struct snap_samples *s = make_samples();
	AUTO_FREE char *out = NULL;
	size_t len;
	FILE *stream = open_memstream(&out, &len);

	(void)state;
	assert_int_equal(out_script(stream, s, UINT64_MAX), 0);
	memcpy(s->text, text, sizeof(text));
	s->samples[0].comm = 1;
	s->samples[1].comm = 3;
	s->samples[0].nr_frames = 2;
	s->frames[0].is_kernel = false;
	s->frames[1].object = 11;
	assert_int_equal(out_script(stream, s, UINT64_MAX), 0);
	fclose(stream);
	assert_non_null(strstr(out, "Web Content 12/4194303 [003] 5.000000: 1001001 cpu-clock:u: \n"
				    "\tffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])\n"
				    "\t          401136 main+0x0 (libc.so.6)\n"));
	assert_non_null(strstr(out, "\nWeb Content 0/0 18446744073.709551: 1844674407"));
	assert_non_null(strstr(out, "\nc  12/4194303 [003]"));
	assert_non_null(strstr(out, "\n_a b_c_ 0/0 "));
	assert_non_null(strstr(out, " (my_prog)\n"));
	free(s);
}

static void no_more_than_asked_for(void **state)
{
	(void)state;
	assert_text(1, FIRST);
	assert_text(0, "");
}

static void errors_of_the_stream_are_told(void **state)
{
	struct snap_samples *s = make_samples();
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		skip();
	assert_int_equal(out_samples(full, s, 1), -ENOSPC);
	fclose(full);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_has_its_place),
		cmocka_unit_test(an_event_is_one_word),
		cmocka_unit_test(readers_of_perf_script_are_served),
		cmocka_unit_test(no_more_than_asked_for),
		cmocka_unit_test(errors_of_the_stream_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
