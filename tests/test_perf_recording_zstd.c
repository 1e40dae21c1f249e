/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perf record -z wrote is read as if it had not been compressed, in bounded memory. */
#include "config.h"

#include "tests/recording_bytes.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifdef HAVE_ZSTD

#include <zstd.h>

/* A stream that can be read up to where it is after each pack(). */
struct packer {
	ZSTD_CStream *stream;
	uint8_t out[60000];
	size_t len;
};

static void packer_init(struct packer *packer, int window_log)
{
	packer->stream = ZSTD_createCStream();
	assert_non_null(packer->stream);
	ZSTD_CCtx_setParameter(packer->stream, ZSTD_c_compressionLevel, 1);
	if (window_log)
		ZSTD_CCtx_setParameter(packer->stream, ZSTD_c_windowLog, window_log);
}

static void pack(struct packer *packer, const void *data, size_t bytes)
{
	ZSTD_inBuffer in = {.src = data, .size = bytes};
	ZSTD_outBuffer out = {.dst = packer->out, .size = sizeof(packer->out)};

	while (ZSTD_compressStream2(packer->stream, &out, &in, ZSTD_e_flush) > 0)
		assert_true(out.pos < out.size);
	assert_int_equal(in.pos, in.size);
	packer->len = out.pos;
}

/* As perf does: a record of no particular size, or one that tells the size and is filled up. */
static void put_packed(struct image *im, const struct packer *packer, bool is_second_kind)
{
	size_t start = im_start(im, is_second_kind ? 83 : 81, 0);

	if (is_second_kind)
		im_u64(im, packer->len);
	im_raw(im, packer->out, packer->len);
	if (is_second_kind)
		im_fill(im, 0, (8 - packer->len % 8) % 8);
	im_end(im, start);
}

/* Records cut anywhere by the ends of compressed ones, with others between them. */
static void compressed_records_are_read(void **state)
{
	static const size_t pieces[] = {13, 40, 1000, 40000};

	(void)state;
	for (size_t i = 0; i < 4 * ARRAY_SIZE(pieces); i++) {
		struct image plain = {.swap = i & 2}, im = {.swap = i & 2};
		size_t piece = pieces[i / 4];
		struct packer packer;
		struct record record;
		struct recording *rec;

		packer_init(&packer, 0);
		for (uint64_t j = 0; j < 3000; j++)
			im_sample(&plain, &im_cycles, 1000 + j, 10, j);
		im_file(&im, &im_cycles, 1);
		for (size_t off = 0; off < plain.len; off += piece) {
			pack(&packer, plain.data + off, MIN(piece, plain.len - off));
			put_packed(&im, &packer, i & 1);
			if (off % 1000 < piece)
				im_round(&im); /* stands where the first kind leaves it */
		}
		im_file_end(&im, im_data_off(&im_cycles, 1));
		rec = im_open(&im);
		for (int round = 0; round < 2; round++) {
			for (uint64_t j = 0; j < 3000; j++) {
				assert_true(im_next(rec, &record));
				assert_int_equal(record.sample.ip, j);
			}
			assert_false(im_next(rec, &record));
			assert_string_equal(im_trouble(rec), "");
			assert_true(recording_info(rec)->is_compressed);
			assert_int_equal(recording_rewind(rec), 0);
		}
		recording_close(rec);
		ZSTD_freeCStream(packer.stream);
		im_done(&plain);
		im_done(&im);
	}
}

/* Uncompressed records that do not stand on a multiple of 8 bytes, as the first kind leaves them. */
static void misaligned_records_are_read(void **state)
{
	struct image im = {0}, plain = {0};
	struct packer packer;
	struct recording *rec;

	(void)state;
	packer_init(&packer, 0);
	im_file(&im, &im_cycles, 1);
	for (uint64_t i = 0; i < 30000; i++) {
		plain.len = 0;
		im_sample(&plain, &im_cycles, 1000 + 2 * i, 10, i);
		pack(&packer, plain.data, plain.len);
		put_packed(&im, &packer, false);
		im_sample(&im, &im_cycles, 1001 + 2 * i, 10, i);
	}
	im_file_end(&im, im_data_off(&im_cycles, 1));
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 60000);
	assert_string_equal(im_trouble(rec), "");
	recording_close(rec);
	ZSTD_freeCStream(packer.stream);
	im_done(&plain);
	im_done(&im);
}

/* Some KB that become 2 GB: whatever comes out, memory stays bounded. */
static void check_bomb(uint32_t type)
{
	static uint8_t zeros[1 << 20];
	struct image im = {0};
	struct packer packer;
	struct recording *rec;
	struct rusage usage;

	packer_init(&packer, 0);
	for (size_t at = 0; type && at + 65528 <= sizeof(zeros); at += 65528) {
		uint16_t bytes = 65528;

		memcpy(zeros + at, &type, sizeof(type));
		memcpy(zeros + at + 6, &bytes, sizeof(bytes));
	}
	im_file(&im, &im_cycles, 1);
	for (int i = 0; i < 2048; i++) {
		pack(&packer, zeros, sizeof(zeros) / 65528 * 65528);
		put_packed(&im, &packer, true);
	}
	im_file_end(&im, im_data_off(&im_cycles, 1));
	assert_true(im.len < 1 << 20);
	rec = im_open(&im);
	im_count(rec, RECORD_SAMPLE);
	assert_int_equal(im_is_bad(rec), type == 0);
	getrusage(RUSAGE_SELF, &usage);
	/* In a sanitized program memory is something else. */
#ifndef SANITIZED
	assert_true(usage.ru_maxrss < 150 << 10);
#endif
	recording_close(rec);
	ZSTD_freeCStream(packer.stream);
	im_done(&im);
}

static void a_bomb_does_not_go_off(void **state)
{
	(void)state;
	check_bomb(0);			      /* what comes out is no record */
	check_bomb(60);			      /* of a type that is skipped */
	check_bomb(PERF_RECORD_LOST_SAMPLES); /* of one that is kept until its time has come */
}

static void expect_bad(struct image *im, const char *text)
{
	struct recording *rec;

	im_file_end(im, im_data_off(&im_cycles, 1));
	rec = im_open(im);
	im_count(rec, RECORD_SAMPLE);
	assert_non_null(strstr(im_trouble(rec), text));
	assert_non_null(strstr(im_trouble(rec), "offset"));
	assert_true(im_is_bad(rec));
	recording_close(rec);
	im_done(im);
}

static void damaged_compression_is_told(void **state)
{
	static const uint8_t old_head[] = {0x27, 0xb5, 0x2f, 0xfd, 0, 7 << 3};
	struct packer packer;
	struct image im = {0}, plain = {0};

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		im_sample(&plain, &im_cycles, 1000 + i, 10, i);
	/* a window larger than this program gives */
	packer_init(&packer, 27);
	pack(&packer, plain.data, plain.len);
	im_file(&im, &im_cycles, 1);
	put_packed(&im, &packer, false);
	expect_bad(&im, "window");
	ZSTD_freeCStream(packer.stream);
	/*
	 * a frame of zstd 0.7, which has windows of its own: magic, descriptor, window of 128 KB,
	 * one raw block, the end
	 */
	packer.len = 0;
	for (size_t i = 0; i < sizeof(old_head); i++)
		packer.out[packer.len++] = old_head[i];
	packer.out[packer.len++] = 0x40;
	packer.out[packer.len++] = (uint8_t)(plain.len >> 8);
	packer.out[packer.len++] = (uint8_t)plain.len;
	memcpy(packer.out + packer.len, plain.data, plain.len);
	packer.len += plain.len;
	packer.out[packer.len++] = 0xc0;
	packer.out[packer.len++] = 0;
	packer.out[packer.len++] = 0;
	im_file(&im, &im_cycles, 1);
	put_packed(&im, &packer, false);
	expect_bad(&im, "zstd cannot read");
	/* something else in place of zstd's data */
	packer.len = 1000;
	memset(packer.out, 0x5a, packer.len);
	im_file(&im, &im_cycles, 1);
	put_packed(&im, &packer, false);
	expect_bad(&im, "zstd cannot read");
	/* more data than the record has */
	im_file(&im, &im_cycles, 1);
	put_packed(&im, &packer, true);
	im_set(&im, im_data_off(&im_cycles, 1) + 8, 1 << 20, 8);
	expect_bad(&im, "more data than");
	/* a compressed record in a compressed record */
	packer_init(&packer, 0);
	im_end(&im, im_start(&im, 81, 0));
	pack(&packer, im.data, im.len);
	im.len = 0;
	im_file(&im, &im_cycles, 1);
	put_packed(&im, &packer, false);
	expect_bad(&im, "in a compressed record");
	ZSTD_freeCStream(packer.stream);
	im_done(&plain);
}

/* The stream ends in the middle: what came out whole is given. */
static void a_cut_stream_gives_what_it_has(void **state)
{
	struct image im = {0}, plain = {0};
	struct packer packer;
	struct recording *rec;

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		im_sample(&plain, &im_cycles, 1000 + i, 10, i);
	packer_init(&packer, 0);
	pack(&packer, plain.data, plain.len - 20);
	im_file(&im, &im_cycles, 1);
	put_packed(&im, &packer, true);
	im_file_end(&im, im_data_off(&im_cycles, 1));
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 99);
	assert_non_null(strstr(im_trouble(rec), "compressed record"));
	assert_false(im_is_bad(rec));
	recording_close(rec);
	ZSTD_freeCStream(packer.stream);
	im_done(&plain);
	im_done(&im);
}

#define NR_FILES 40

/* A file of its own for each CPU: a turn ends anywhere in a compressed record and in what it holds. */
static void compressed_files_are_read_in_turn(void **state)
{
	const uint64_t nr = 10000;
	struct image head = {0}, im = {0}, plain = {0};
	struct source_stats stats;
	struct recording *rec;
	struct record record;
	struct err err;

	(void)state;
	im_whole_file(&head, &im_cycles, 0);
	rec = im_open(&head);
	for (uint64_t i = 0; i < NR_FILES; i++) {
		const size_t piece = 5000 * (i + 1) + i;
		struct packer packer;

		packer_init(&packer, 0);
		im.len = plain.len = 0;
		for (uint64_t j = 0; j < nr; j++)
			im_sample(&plain, &im_cycles, 1000 + j * NR_FILES + i, 10, j);
		for (size_t off = 0; off < plain.len; off += piece) {
			pack(&packer, plain.data + off, MIN(piece, plain.len - off));
			put_packed(&im, &packer, i & 1);
		}
		assert_int_equal(recording_add_file(rec, im_fd(&im, im.len), (uint32_t)i, &err), 0);
		ZSTD_freeCStream(packer.stream);
	}
	for (int round = 0; round < 2; round++) {
		for (uint64_t j = 0; j < nr * NR_FILES; j++) {
			do
				assert_true(im_next(rec, &record));
			while (record.kind != RECORD_SAMPLE);
			assert_int_equal(record.time_ns, 1000 + j);
			assert_int_equal(record.sample.ip, j / NR_FILES);
		}
		assert_false(im_next(rec, &record));
		assert_string_equal(im_trouble(rec), "");
		recording_stats(rec, &stats);
		assert_int_equal(stats.late_records, 0);
		assert_int_equal(recording_rewind(rec), 0);
	}
	recording_close(rec);
	im_done(&head);
	im_done(&plain);
	im_done(&im);
}

/* A file that ends in the middle of what was compressed is told, wherever its last turn ended. */
static void a_cut_compressed_file_is_told(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 40; cut += 13) {
		struct image head = {0}, im = {0}, plain = {0};
		struct packer packer;
		struct recording *rec;
		struct err err;

		im_whole_file(&head, &im_cycles, 0);
		rec = im_open(&head);
		packer_init(&packer, 0);
		for (uint64_t j = 0; j < 10000; j++)
			im_sample(&plain, &im_cycles, 1000 + j, 10, j);
		for (size_t off = 0; off < plain.len - cut; off += 50000) {
			pack(&packer, plain.data + off, MIN((size_t)50000, plain.len - cut - off));
			put_packed(&im, &packer, true);
		}
		assert_int_equal(recording_add_file(rec, im_fd(&im, im.len), 0, &err), 0);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 9999);
		assert_non_null(
			strstr(im_trouble(rec), "test.0: cut in the middle of a compressed"));
		recording_close(rec);
		ZSTD_freeCStream(packer.stream);
		im_done(&head);
		im_done(&plain);
		im_done(&im);
	}
}

#else

static void without_zstd_it_is_said(void **state)
{
	struct image im = {0};
	struct recording *rec;

	(void)state;
	im_file(&im, &im_cycles, 1);
	im_fill(&im, 0, 0);
	im_end(&im, im_start(&im, 81, 0));
	im_file_end(&im, im_data_off(&im_cycles, 1));
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 0);
	assert_non_null(strstr(im_trouble(rec), "zstd"));
	assert_true(im_is_bad(rec));
	recording_close(rec);
	im_done(&im);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_ZSTD
		cmocka_unit_test(compressed_records_are_read),
		cmocka_unit_test(misaligned_records_are_read),
		cmocka_unit_test(a_bomb_does_not_go_off),
		cmocka_unit_test(damaged_compression_is_told),
		cmocka_unit_test(a_cut_stream_gives_what_it_has),
		cmocka_unit_test(compressed_files_are_read_in_turn),
		cmocka_unit_test(a_cut_compressed_file_is_told),
#else
		cmocka_unit_test(without_zstd_it_is_said),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
