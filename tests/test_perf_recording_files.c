/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording in a directory, with a file for each CPU (perf record --threads), is read as one. */
#include "config.h"

#include "tests/recording_bytes.h"

#include <errno.h>
#include <signal.h>

#define NR_FILES 16

/* The file "data" of a directory: the event, a name and feature 24; no samples. */
static void put_head(struct image *im)
{
	size_t section;

	im_whole_file(im, &im_cycles, 0);
	section = im->len + 16;
	im_set(im, 72, 1ull << 24, 8);
	im_u64(im, section);
	im_u64(im, 8);
	im_u64(im, 1); /* its version */
}

/* As im_open(), with what is in FILES. */
static struct recording *open_files(const struct image *head, const struct image *files,
				    uint32_t nr)
{
	struct recording *rec = im_open(head);
	struct err err;

	for (uint32_t i = 0; i < nr; i++)
		if (recording_add_file(rec, files[i].data ? im_fd(&files[i], files[i].len) : -1, i,
				       &err) < 0)
			fail_msg("%s", err.text);
	return rec;
}

static void free_files(struct image *head, struct image *files, uint32_t nr)
{
	im_done(head);
	for (uint32_t i = 0; i < nr; i++)
		im_done(&files[i]);
}

/* How many samples come, all in order and none late. */
static uint64_t count_in_order(struct recording *rec)
{
	struct source_stats stats;
	struct record record;
	uint64_t last = 0, nr = 0;

	while (im_next(rec, &record)) {
		assert_true(record.time_ns >= last);
		last = record.time_ns;
		nr += record.kind == RECORD_SAMPLE;
	}
	recording_stats(rec, &stats);
	assert_int_equal(stats.late_records, 0);
	return nr;
}

/* Busy and idle CPUs, more than memory holds of all, and interrupts that come between. */
static void files_are_read_as_one(void **state)
{
	uint64_t counts[RECORDING_EVENTS_MAX], done, total, nr = 0;
	struct image head = {0}, files[NR_FILES] = {{0}};
	struct im_attr attr = im_cycles;
	struct recording *rec;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.regs = IM_REGS;
	im_whole_file(&head, &attr, 0);
	for (uint64_t time = 2000; time < 2000000; time += 2)
		for (uint64_t i = 0; i < NR_FILES; i++) {
			if (time % (2ull << i) != 0)
				continue;
			im_sample(&files[i], &attr, time, 10, i);
			nr++;
			if (time % 1000 != 600)
				continue;
			/* It has read the clock before all these, and is written behind them. */
			im_sample(&files[i], &attr, time - 599, 10, i);
			nr++;
		}
	assert_true(files[0].len > 100u << 20);
	rec = open_files(&head, files, NR_FILES);
	assert_int_equal(recording_count(rec, UINT64_MAX, counts), 0);
	assert_int_equal(counts[0], nr);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(count_in_order(rec), nr);
		assert_int_equal(recording_info(rec)->events[0].nr_samples, nr);
		assert_string_equal(im_trouble(rec), "");
		recording_progress(rec, &done, &total);
		assert_int_equal(done, total);
		assert_int_equal(recording_rewind(rec), 0);
	}
	recording_close(rec);
	free_files(&head, files, NR_FILES);
}

/* A CPU without a record has an empty file; and there may be hundreds. */
static void empty_files_are_no_trouble(void **state)
{
	struct image head = {0}, files[300] = {{0}};
	struct recording *rec;

	(void)state;
	put_head(&head);
	for (uint64_t i = 0; i < ARRAY_SIZE(files); i++) {
		im_fill(&files[i], 0, 1);
		files[i].len = 0;
		for (uint64_t j = 0; i % 2 && j < 1000; j++)
			im_sample(&files[i], &im_cycles, 1000 + 300 * j + i, 10, j);
	}
	rec = open_files(&head, files, ARRAY_SIZE(files));
	assert_int_equal(count_in_order(rec), 150000);
	assert_string_equal(im_trouble(rec), "");
	recording_close(rec);
	free_files(&head, files, ARRAY_SIZE(files));
}

enum fault { MISSING, CUT, DAMAGED, LONG, NR_FAULTS };

/* What is wrong with one file is told with its name; the others are read to their ends. */
static void faults_are_told_by_name(void **state)
{
	static const struct {
		const char *text;
		uint64_t nr; /* of its 1000 samples */
		bool is_bad;
	} expected[NR_FAULTS] = {
		[MISSING] = {"test.1: is missing", 0, false},
		[CUT] = {"test.1: cut in the middle of a record at offset ", 999, false},
		[DAMAGED] = {"test.1: damaged at offset ", 500, true},
		[LONG] = {"test.1: cut in the middle of a record at offset ", 1000, false},
	};

	(void)state;
	for (int fault = 0; fault < NR_FAULTS; fault++) {
		struct image head = {0}, files[3] = {{0}};
		struct recording *rec;

		put_head(&head);
		for (uint64_t i = 0; i < ARRAY_SIZE(files); i++)
			for (uint64_t j = 0; j < 1000; j++)
				im_sample(&files[i], &im_cycles, 1000 + 3 * j + i, 10, j);
		if (fault == MISSING)
			im_done(&files[1]);
		else if (fault == CUT)
			files[1].len -= 4;
		else if (fault == DAMAGED)
			im_set(&files[1], files[1].len / 2 + 6, 4, 2);
		else
			im_start(&files[1], PERF_RECORD_SAMPLE, 0);
		if (fault == LONG)
			im_set(&files[1], files[1].len - 2, UINT16_MAX, 2);
		rec = open_files(&head, files, ARRAY_SIZE(files));
		assert_int_equal(count_in_order(rec), 2000 + expected[fault].nr);
		if (strncmp(im_trouble(rec), expected[fault].text, strlen(expected[fault].text)) !=
		    0)
			fail_msg("%s", im_trouble(rec));
		assert_int_equal(im_is_bad(rec), expected[fault].is_bad);
		recording_close(rec);
		free_files(&head, files, ARRAY_SIZE(files));
	}
}

static void a_directory_without_its_files_is_told(void **state)
{
	struct image head = {0};
	struct recording *rec;

	(void)state;
	put_head(&head);
	rec = im_open(&head);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 0);
	assert_non_null(strstr(im_trouble(rec), "test.0 and so on"));
	assert_true(im_is_bad(rec));
	recording_close(rec);
	im_done(&head);
}

static void what_is_no_file_is_refused(void **state)
{
	struct image head = {0};
	struct recording *rec;
	struct err err;
	int ends[2];

	(void)state;
	put_head(&head);
	rec = im_open(&head);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(recording_add_file(rec, ends[0], 7, &err), -EINVAL);
	assert_non_null(strstr(err.text, "test.7: "));
	assert_int_equal(write(ends[1], "", 1), -1); /* nobody holds the other end any more */
	close(ends[1]);
	recording_close(rec);
	im_done(&head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_read_as_one),
		cmocka_unit_test(empty_files_are_no_trouble),
		cmocka_unit_test(faults_are_told_by_name),
		cmocka_unit_test(a_directory_without_its_files_is_told),
		cmocka_unit_test(what_is_no_file_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
