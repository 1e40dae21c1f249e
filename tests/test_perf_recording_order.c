/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a recording come in order of time: by its rounds, or by a window that is bounded. */
#include "config.h"

#include "tests/recording_bytes.h"

#include <errno.h>
#include <fcntl.h>

/* --- order --- */

static void rounds_put_records_in_order(void **state)
{
	struct image im = {0};
	struct source_stats stats;
	struct recording *rec;
	struct record record;
	uint64_t last = 0, nr = 0;

	(void)state;
	im_file(&im, &im_cycles, 1);
	/* Four rings, a round each 100 ns, each ring behind the one before: rounds overlap. */
	for (uint64_t round = 0; round < 2000; round++) {
		for (uint64_t ring = 0; ring < 4; ring++)
			for (uint64_t i = 0; i < 100; i += 10)
				im_sample(&im, &im_cycles,
					  1000 + round * 100 + i - ring * 20 + ring, 10, 0);
		im_round(&im);
	}
	im_sample(&im, &im_cycles, 1, 10, 0); /* far too late */
	im_file_end(&im, im_data_off(&im_cycles, 1));
	rec = im_open(&im);
	while (im_next(rec, &record)) {
		if (record.time_ns != 1)
			assert_true(record.time_ns >= last);
		last = MAX(last, record.time_ns);
		nr++;
	}
	assert_int_equal(nr, 80001);
	recording_stats(rec, &stats);
	assert_int_equal(stats.late_records, 1);
	recording_close(rec);
	im_done(&im);
}

/*
 * More than any window holds, without rounds, from rings that are drained one
 * after the other: in order all the same, but for what is out of all bounds.
 */
static void without_rounds_a_window_orders(void **state)
{
	const uint64_t nr_turns = 400, per_ring = 250, rings = 8;
	struct image im = {0};
	struct im_attr attr = im_cycles;
	struct source_stats stats;
	struct recording *rec;
	struct record record;
	uint64_t last = 0, nr = 0;
	size_t room = 0;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.regs = IM_REGS;
	im_file(&im, &attr, 1);
	for (uint64_t turn = 0; turn < nr_turns; turn++)
		for (uint64_t ring = 0; ring < rings; ring++)
			for (uint64_t i = 0; i < per_ring; i++)
				im_sample(&im, &attr, 1000 + (turn * per_ring + i) * rings + ring,
					  10, turn);
	im_sample(&im, &attr, 1, 10, 0);
	im_file_end(&im, im_data_off(&attr, 1));
	assert_true(im.len > 150u << 20);
	rec = im_open(&im);
	while (im_next(rec, &record)) {
		if (record.time_ns != 1)
			assert_int_equal(record.time_ns, 1000 + nr++);
		last = MAX(last, record.time_ns);
		room++;
	}
	assert_int_equal(room, nr_turns * per_ring * rings + 1);
	recording_stats(rec, &stats);
	assert_int_equal(stats.late_records, 1);
	recording_close(rec);
	im_done(&im);
}

/* A record in thousand waits for the end of all: it must not hold the memory of those around it. */
static void what_waits_does_not_fill_the_window(void **state)
{
	const uint64_t nr = 800000;
	struct image im = {0};
	struct im_attr attr = im_cycles;
	struct source_stats stats;
	struct recording *rec;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.regs = IM_REGS;
	im_file(&im, &attr, 1);
	for (uint64_t i = 0; i < nr; i++)
		im_sample(&im, &attr, i % 1000 ? 1000 + i : 1000000000 + i, 10, i);
	im_file_end(&im, im_data_off(&attr, 1));
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), nr);
	recording_stats(rec, &stats);
	assert_int_equal(stats.late_records, 0);
	recording_close(rec);
	im_done(&im);
}

/* Without times everything stays as it stands in the file. */
static void without_times_the_file_is_the_order(void **state)
{
	struct image im = {0};
	struct im_attr attr = im_cycles;
	struct recording *rec;
	struct record record;

	(void)state;
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_TIME;
	im_file(&im, &attr, 1);
	for (uint64_t i = 0; i < 100; i++) {
		im_sample(&im, &attr, 0, 10, i);
		im_comm(&im, &attr, 0, 10, "program");
	}
	im_file_end(&im, im_data_off(&attr, 1));
	rec = im_open(&im);
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_SAMPLE);
		assert_int_equal(record.sample.ip, i);
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_COMM);
	}
	recording_close(rec);
	im_done(&im);
}

static void a_rewound_recording_is_the_same_again(void **state)
{
	struct image im = {0};
	struct recording *rec;
	struct record record;

	(void)state;
	im_whole_file(&im, &im_cycles, 1000);
	rec = im_open(&im);
	for (int round = 0; round < 3; round++) {
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_COMM);
		for (uint64_t i = 0; i < (round == 1 ? 10 : 1000); i++) {
			assert_true(im_next(rec, &record));
			assert_int_equal(record.sample.ip, i);
		}
		assert_int_equal(recording_rewind(rec), 0);
		assert_int_equal(recording_info(rec)->events[0].nr_samples, 0);
		assert_false(recording_is_over(rec));
	}
	recording_close(rec);
	im_done(&im);
}

/* What was read so far can be had at once, whatever was taken of it before. */
static void breaking_off_opens_what_was_read(void **state)
{
	struct image im = {0};
	struct recording *rec;
	struct record record, first;
	uint64_t done, total, nr = 0, last = 0;

	(void)state;
	im_file(&im, &im_cycles, 1);
	for (uint64_t i = 0; i < 500000; i++) {
		im_sample(&im, &im_cycles, 1000 + i, 10, i);
		if (i % 1000 == 500)
			im_round(&im);
	}
	im_file_end(&im, im_data_off(&im_cycles, 1));
	rec = im_open(&im);
	for (; nr < 5; nr++)
		assert_true(im_next(rec, &first));
	recording_stop(rec);
	for (last = first.time_ns; recording_next(rec, &record); nr++) {
		assert_int_equal(record.time_ns, last + 1);
		last = record.time_ns;
	}
	recording_progress(rec, &done, &total);
	assert_true(done < total);
	/* All but what stands in the headers. */
	assert_in_range(nr * total / done, 490000, 510000);
	recording_close(rec);
	im_done(&im);
}

/* What perf says at its end is the same loss again, by another count. */
static void losses_count_once(void **state)
{
	struct image im = {0};
	struct source_stats stats;
	struct recording *rec;

	(void)state;
	im_file(&im, &im_cycles, 1);
	for (uint64_t time_ns = 0; time_ns < 2; time_ns++) {
		size_t start = im_start(&im, 13, 0); /* LOST_SAMPLES */

		im_u64(&im, time_ns ? 7 : 100);
		im_sample_id(&im, &im_cycles, time_ns ? 1500 : 0, 0);
		im_end(&im, start);
		im_sample(&im, &im_cycles, 1000 + time_ns, 10, 0);
	}
	im_file_end(&im, im_data_off(&im_cycles, 1));
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 2);
	recording_stats(rec, &stats);
	assert_int_equal(stats.lost_samples, 7);
	assert_int_equal(stats.lost_read, 100);
	assert_true(stats.lost_read_known);
	recording_close(rec);
	im_done(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_put_records_in_order),
		cmocka_unit_test(without_rounds_a_window_orders),
		cmocka_unit_test(what_waits_does_not_fill_the_window),
		cmocka_unit_test(without_times_the_file_is_the_order),
		cmocka_unit_test(a_rewound_recording_is_the_same_again),
		cmocka_unit_test(breaking_off_opens_what_was_read),
		cmocka_unit_test(losses_count_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
