/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nothing that a damaged recording says is believed: it ends in a word about
 * it, and what came before the damage is given.
 */
#include "config.h"

#include "tests/recording_bytes.h"

#include <errno.h>
#include <fcntl.h>

/* --- damage --- */

/* Every entry of the table pointing anywhere: the samples are there all the same. */
static void damaged_features_are_left_out(void **state)
{
	static const uint64_t wrong[] = {1, 1u << 20, 1ull << 40, UINT64_MAX, UINT64_MAX - 100};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(im_features) * ARRAY_SIZE(wrong); i++) {
		struct image im = {0};
		struct recording *rec;
		size_t table;

		im_features_file(&im, &table);
		im_set(&im, table + 8 * (i / ARRAY_SIZE(wrong)), wrong[i % ARRAY_SIZE(wrong)], 8);
		rec = im_open(&im);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
		assert_false(im_is_bad(rec));
		recording_close(rec);
		im_done(&im);
	}
}

/* Cut anywhere: a prefix of the samples, and a word about it; never a wait or a crash. */
static void a_file_may_be_cut_anywhere(void **state)
{
	(void)state;
	for (int pipe = 0; pipe < 2; pipe++) {
		struct image im = {0};
		size_t first_sample, table = 0;

		if (pipe) {
			im_pipe(&im);
			im_pipe_attr(&im, &im_cycles, 10);
			im_comm(&im, &im_cycles, 1, 10, "program");
			first_sample = im.len;
			for (uint64_t i = 0; i < 20; i++)
				im_sample(&im, &im_cycles, 2 + i, 10, i);
		} else {
			im_features_file(&im, &table);
			first_sample = im_data_off(&im_cycles, 1) + 40;
		}
		for (size_t len = 0; len < im.len; len++) {
			size_t sample_bytes = 40, data_end = pipe ? im.len : table;
			size_t end = MIN(len, data_end);
			struct recording *rec;
			struct err err = {0};
			uint64_t nr;

			if (recording_open(im_fd(&im, len), "test", &rec, &err) < 0) {
				assert_true(len < first_sample);
				assert_int_not_equal(err.text[0], '\0');
				continue;
			}
			nr = im_count(rec, RECORD_SAMPLE);
			assert_int_equal(
				nr, end < first_sample ? 0 : (end - first_sample) / sample_bytes);
			/* A pipe may end between two records. */
			if (!pipe ||
			    (end > first_sample && (end - first_sample) % sample_bytes != 0))
				assert_string_not_equal(im_trouble(rec), "");
			if (end >= first_sample)
				assert_false(im_is_bad(rec));
			recording_close(rec);
		}
		im_done(&im);
	}
}

/* perf was killed: the header says nothing of the data. */
static void an_unfinished_file_is_read_to_its_end(void **state)
{
	struct image im = {0};
	struct recording *rec;

	(void)state;
	im_whole_file(&im, &im_cycles, 30);
	im_set(&im, 48, 0, 8);
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 30);
	assert_non_null(strstr(im_trouble(rec), "not finished"));
	assert_false(im_is_bad(rec));
	recording_close(rec);
	im_done(&im);
}

static void rubbish_behind_the_records_is_told(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rubbish[] = {{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16}, {"rubbish at the end\n", 19}};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rubbish); i++) {
		struct image im = {0};
		struct recording *rec;
		bool pipe = i % 2;

		if (pipe)
			im_whole_pipe(&im, 10);
		else
			im_whole_file(&im, &im_cycles, 10);
		im_raw(&im, rubbish[i / 2].text, rubbish[i / 2].len);
		rec = im_open(&im);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 10);
		assert_int_equal(recording_info(rec)->trailing_bytes, rubbish[i / 2].len);
		assert_string_not_equal(im_trouble(rec), "");
		assert_false(im_is_bad(rec));
		recording_close(rec);
		im_done(&im);
	}
}

static void damage_in_the_middle_ends_it(void **state)
{
	struct image im = {0};
	struct recording *rec;

	(void)state;
	im_whole_file(&im, &im_cycles, 10);
	im_set(&im, im_data_off(&im_cycles, 1) + 40 + 5 * 40 + 6, 0, 2); /* a record of no size */
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
	assert_non_null(strstr(im_trouble(rec), "offset 480"));
	assert_true(im_is_bad(rec));
	recording_close(rec);
	im_done(&im);
}

/* Every number of the file, wherever it is, set to what it may not be. */
static void no_number_is_believed(void **state)
{
	static const uint64_t wrong[] = {0,	     1,
					 7,	     8,
					 16,	     0xfff8,
					 0xffff,     1u << 20,
					 0x7fffffff, 0xffffffff,
					 1ull << 40, 1ull << 62,
					 1ull << 63, UINT64_MAX - 7,
					 UINT64_MAX};
	struct im_attr attr = im_cycles;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			    PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			    PERF_SAMPLE_STACK_USER | PERF_SAMPLE_IDENTIFIER;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	attr.regs = IM_REGS;
	for (int kind = 0; kind < 4; kind++) {
		struct image im = {.swap = kind & 1};
		uint8_t saved[8];
		size_t table;

		if (kind & 2) {
			im_pipe(&im);
			im_pipe_attr(&im, &attr, 10);
		} else {
			im_features_file(&im, &table);
		}
		im_sample(&im, &attr, 1, 10, 1);
		im_sample(&im, &attr, 2, 10, 2);
		for (size_t off = 0; off < im.len; off += 2) {
			size_t bytes = MIN((size_t)(off % 8 ? off % 4 ? 2 : 4 : 8), im.len - off);

			memcpy(saved, im.data + off, bytes);
			for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
				struct recording *rec;
				struct err err = {0};

				im_set(&im, off, wrong[i], bytes);
				if (recording_open(im_fd(&im, im.len), "test", &rec, &err) < 0) {
					assert_int_not_equal(err.text[0], '\0');
					continue;
				}
				assert_true(im_count(rec, RECORD_SAMPLE) <= 10);
				recording_close(rec);
			}
			memcpy(im.data + off, saved, bytes);
		}
		im_done(&im);
	}
}

static void refused(const char *text, int fd, int code)
{
	struct recording *rec;
	struct err err = {0};

	assert_int_equal(recording_open(fd, "test", &rec, &err), code);
	assert_non_null(strstr(err.text, text));
	assert_non_null(strstr(err.text, "test"));
}

/* A thousand events that all claim the same megabytes of ids: not read a thousand times. */
static void ids_are_read_once(void **state)
{
	static struct im_attr attrs[1000];
	struct image im = {0};
	size_t ids;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		attrs[i] = im_cycles;
	im_file(&im, attrs, ARRAY_SIZE(attrs));
	im_file_end(&im, im_data_off(attrs, ARRAY_SIZE(attrs)));
	ids = IM_HEADER_BYTES + 8 * ARRAY_SIZE(attrs) + 112;
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		im_set(&im, ids + 128 * i, 1 << 20, 8);
		im_set(&im, ids + 128 * i + 8, 8 << 20, 8);
	}
	fd = im_fd(&im, im.len);
	assert_int_equal(ftruncate(fd, 16 << 20), 0);
	refused("more than", fd, -E2BIG);
	im_done(&im);
}

static void what_is_no_recording_is_refused(void **state)
{
	struct image im = {0};
	int ends[2];

	(void)state;
	refused("directory", open("/tmp", O_RDONLY | O_CLOEXEC), -EISDIR);
	refused("device", open("/dev/null", O_RDONLY | O_CLOEXEC), -EINVAL);
	refused("empty", im_fd(&im, 0), -ENODATA);
	im_raw(&im, "#!/bin/sh\nexit 0\n# no recording\n", 32);
	refused("offset 0", im_fd(&im, im.len), -EBADMSG);
	refused("offset 0", im_fd(&im, 3), -EBADMSG);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[1]);
	refused("empty", ends[0], -ENODATA);
	im_done(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_features_are_left_out),
		cmocka_unit_test(a_file_may_be_cut_anywhere),
		cmocka_unit_test(an_unfinished_file_is_read_to_its_end),
		cmocka_unit_test(rubbish_behind_the_records_is_told),
		cmocka_unit_test(damage_in_the_middle_ends_it),
		cmocka_unit_test(no_number_is_believed),
		cmocka_unit_test(ids_are_read_once),
		cmocka_unit_test(what_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
