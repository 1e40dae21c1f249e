/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds perf.data files byte by byte, in either byte order, for tests: from
 * tools/perf/Documentation/perf.data-file-format.txt, not from the reader.
 */
#ifndef ST_TESTS_RECORDING_BYTES_H
#define ST_TESTS_RECORDING_BYTES_H

#include "src/base/util.h"
#include "src/perf/recording.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct image {
	uint8_t *data;
	size_t len, cap;
	bool swap; /* write the other byte order */
};

static inline void im_raw(struct image *im, const void *data, size_t len)
{
	if (im->len + len > im->cap) {
		im->cap = (im->len + len) * 2;
		im->data = realloc(im->data, im->cap);
		assert_non_null(im->data);
	}
	if (len > 0)
		memcpy(im->data + im->len, data, len);
	im->len += len;
}

/* Numbers of BYTES, in the image's order; at OFF of what is there already, or at its end. */
static inline void im_set(struct image *im, size_t off, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		im->data[off + (im->swap ? bytes - 1 - i : i)] = (uint8_t)(v >> 8 * i);
}

static inline void im_number(struct image *im, uint64_t v, size_t bytes)
{
	uint8_t zeros[8] = {0};

	im_raw(im, zeros, bytes);
	im_set(im, im->len - bytes, v, bytes);
}

static inline void im_u16(struct image *im, uint16_t v)
{
	im_number(im, v, 2);
}

static inline void im_u32(struct image *im, uint32_t v)
{
	im_number(im, v, 4);
}

static inline void im_u64(struct image *im, uint64_t v)
{
	im_number(im, v, 8);
}

static inline void im_fill(struct image *im, uint8_t byte, size_t len)
{
	for (size_t i = 0; i < len; i++)
		im_raw(im, &byte, 1);
}

/* Text with its NUL, filled up to 8 bytes from START on. */
static inline void im_text(struct image *im, const char *text, size_t start)
{
	im_raw(im, text, strlen(text) + 1);
	while ((im->len - start) % 8)
		im_fill(im, 0, 1);
}

static inline size_t im_start(struct image *im, uint32_t type, uint16_t misc)
{
	size_t start = im->len;

	im_u32(im, type);
	im_u16(im, misc);
	im_u16(im, 0);
	return start;
}

static inline void im_end(struct image *im, size_t start)
{
	im_set(im, start + 6, im->len - start, 2);
}

static inline void im_round(struct image *im)
{
	im_end(im, im_start(im, 68, 0));
}

/* --- attrs --- */

struct im_attr {
	uint32_t type, bytes; /* bytes 0: 112 */
	uint64_t config, freq, sample_type, read_format, branch_type, regs;
	uint32_t stack;
	bool sample_id_all, exclude_kernel;
	unsigned int precise; /* 0 to 3 */
};

static inline void im_attr(struct image *im, const struct im_attr *attr)
{
	size_t start = im->len, bytes = attr->bytes ? attr->bytes : 112;
	/* Bit fields: freq is the 11th, counted from the byte's other end in the other order. */
	uint64_t bits[] = {attr->exclude_kernel ? 5 : 64, 10, attr->sample_id_all ? 18 : 64,
			   attr->precise >> im->swap & 1 ? 15 : 64,
			   attr->precise >> !im->swap & 1 ? 16 : 64};
	uint8_t flags[8] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		if (bits[i] < 64)
			flags[bits[i] / 8] |=
				(uint8_t)(im->swap ? 0x80u >> bits[i] % 8 : 1u << bits[i] % 8);
	im_u32(im, attr->type);
	im_u32(im, (uint32_t)bytes);
	im_u64(im, attr->config);
	im_u64(im, attr->freq);
	im_u64(im, attr->sample_type);
	im_u64(im, attr->read_format);
	im_raw(im, flags, sizeof(flags));
	im_fill(im, 0, 24); /* wakeup, bp_type, config1, config2 */
	im_u64(im, attr->branch_type);
	im_u64(im, attr->regs);
	im_u32(im, attr->stack);
	while (im->len - start < bytes)
		im_fill(im, 0xee, 1); /* what this program does not know */
	im->len = start + bytes;
	if (bytes >= 110)
		im_set(im, start + 108, 0, 2); /* sample_max_stack */
}

/* --- records --- */

static inline void im_sample_id(struct image *im, const struct im_attr *attr, uint64_t time_ns,
				uint64_t id)
{
	uint64_t type = attr->sample_type;

	if (!attr->sample_id_all)
		return;
	if (type & PERF_SAMPLE_TID) {
		im_u32(im, 100);
		im_u32(im, 101);
	}
	if (type & PERF_SAMPLE_TIME)
		im_u64(im, time_ns);
	if (type & PERF_SAMPLE_ID)
		im_u64(im, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		im_u64(im, id);
	if (type & PERF_SAMPLE_CPU) {
		im_u32(im, 3);
		im_u32(im, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		im_u64(im, id);
}

static inline void im_read(struct image *im, uint64_t format)
{
	uint64_t nr = format & PERF_FORMAT_GROUP ? 2 : 1;

	if (format & PERF_FORMAT_GROUP)
		im_u64(im, nr);
	else
		im_u64(im, 0x11);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		im_u64(im, 0x22);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		im_u64(im, 0x33);
	for (uint64_t i = 0; i < nr; i++) {
		if (format & PERF_FORMAT_GROUP)
			im_u64(im, 0x44);
		if (format & PERF_FORMAT_ID)
			im_u64(im, 0x55);
		if (format & 1 << 4) /* PERF_FORMAT_LOST */
			im_u64(im, 0x66);
	}
}

/* A sample of ATTR with a value of its own in each field, all that can be there. */
static inline void im_sample(struct image *im, const struct im_attr *attr, uint64_t time_ns,
			     uint64_t id, uint64_t ip)
{
	uint64_t type = attr->sample_type;
	size_t start = im_start(im, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	if (type & PERF_SAMPLE_IDENTIFIER)
		im_u64(im, id);
	if (type & PERF_SAMPLE_IP)
		im_u64(im, ip);
	if (type & PERF_SAMPLE_TID) {
		im_u32(im, 100);
		im_u32(im, 101);
	}
	if (type & PERF_SAMPLE_TIME)
		im_u64(im, time_ns);
	if (type & PERF_SAMPLE_ADDR)
		im_u64(im, 0xadd7);
	if (type & PERF_SAMPLE_ID)
		im_u64(im, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		im_u64(im, 0x57);
	if (type & PERF_SAMPLE_CPU) {
		im_u32(im, 3);
		im_u32(im, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		im_u64(im, 1000);
	if (type & PERF_SAMPLE_READ)
		im_read(im, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		im_u64(im, 3);
		im_u64(im, PERF_CONTEXT_USER);
		im_u64(im, ip);
		im_u64(im, 0xca11);
	}
	if (type & PERF_SAMPLE_RAW) {
		im_u32(im, 12);
		im_raw(im, "rawrawrawraw", 12);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		im_u64(im, 2);
		if (attr->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			im_u64(im, 9);
		for (uint64_t i = 0; i < 2; i++) {
			im_u64(im, 0xf0 + i);
			im_u64(im, 0x70 + i);
			/* mispred and 7 cycles: bits 0 and 4 to 19, from the other end swapped. */
			im_u64(im, im->swap ? 1ull << 63 | 7ull << 44 : 1 | 7 << 4);
		}
		if (attr->branch_type & 1ull << 19) { /* PERF_SAMPLE_BRANCH_COUNTERS */
			im_u64(im, 0xc0);
			im_u64(im, 0xc1);
		}
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		im_u64(im, PERF_SAMPLE_REGS_ABI_64);
		for (int i = 0; i < __builtin_popcountll(attr->regs); i++)
			im_u64(im, 0x5e60 + (uint64_t)i);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		im_u64(im, 32);
		im_raw(im, "stackbytestackbytestackbyte.....", 32);
		im_u64(im, 24);
	}
	if (type & PERF_SAMPLE_WEIGHT)
		im_u64(im, 0x77);
	if (type & PERF_SAMPLE_DATA_SRC)
		im_u64(im, 0x78);
	if (type & PERF_SAMPLE_TRANSACTION)
		im_u64(im, 0x79);
	if (type & PERF_SAMPLE_REGS_INTR)
		im_u64(im, PERF_SAMPLE_REGS_ABI_NONE);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		im_u64(im, 0x7a);
	if (type & PERF_SAMPLE_CGROUP)
		im_u64(im, 0x7b);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		im_u64(im, 0x7c);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		im_u64(im, 0x7d);
	if (type & PERF_SAMPLE_AUX)
		im_u64(im, 0);
	im_end(im, start);
}

static inline void im_comm(struct image *im, const struct im_attr *attr, uint64_t time_ns,
			   uint64_t id, const char *comm)
{
	size_t start = im_start(im, PERF_RECORD_COMM, 0);

	im_u32(im, 100);
	im_u32(im, 101);
	im_text(im, comm, start);
	im_sample_id(im, attr, time_ns, id);
	im_end(im, start);
}

/* --- whole files --- */

#define IM_HEADER_BYTES 104

/* The header of a file with its events, each with the id 10, 11, ...; records follow. */
static inline void im_file(struct image *im, const struct im_attr *attrs, size_t nr)
{
	size_t bytes = attrs[0].bytes ? attrs[0].bytes : 112, at;

	im_raw(im, im->swap ? "2ELIFREP" : "PERFILE2", 8);
	im_u64(im, IM_HEADER_BYTES);
	im_u64(im, bytes + 16);
	im_u64(im, IM_HEADER_BYTES + nr * 8);
	im_u64(im, nr * (bytes + 16));
	at = IM_HEADER_BYTES + nr * 8 + nr * (bytes + 16);
	im_u64(im, at); /* data */
	im_u64(im, 0);
	im_fill(im, 0, 16 + 32); /* event types, features */
	for (size_t i = 0; i < nr; i++)
		im_u64(im, 10 + i);
	for (size_t i = 0; i < nr; i++) {
		im_attr(im, &attrs[i]);
		im_u64(im, IM_HEADER_BYTES + 8 * i);
		im_u64(im, 8);
	}
}

/* Where the records begin. */
static inline size_t im_data_off(const struct im_attr *attrs, size_t nr)
{
	return IM_HEADER_BYTES + nr * 8 + nr * ((attrs[0].bytes ? attrs[0].bytes : 112) + 16);
}

/* All records are there: write the size of the data. */
static inline void im_file_end(struct image *im, size_t data_off)
{
	im_set(im, 48, im->len - data_off, 8);
}

static inline void im_pipe(struct image *im)
{
	im_raw(im, im->swap ? "2ELIFREP" : "PERFILE2", 8);
	im_u64(im, 16);
}

static inline void im_pipe_attr(struct image *im, const struct im_attr *attr, uint64_t id)
{
	size_t start = im_start(im, 64, 0);

	im_attr(im, attr);
	im_u64(im, id);
	im_end(im, start);
}

/* The same with a name. */
static inline void im_pipe_named(struct image *im, const struct im_attr *attr, uint64_t id,
				 const char *name)
{
	size_t start;

	im_pipe_attr(im, attr, id);
	start = im_start(im, 78, 0); /* EVENT_UPDATE: name */
	im_u64(im, 2);
	im_u64(im, id);
	im_text(im, name, start);
	im_end(im, start);
}

/* A memory file with LEN bytes of the image. */
static inline int im_fd(const struct image *im, size_t len)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, im->data + done, len - done);

		assert_true(n > 0);
		done += (size_t)n;
	}
	return fd;
}

static inline void im_done(struct image *im)
{
	free(im->data);
	*im = (struct image){0};
}

#define IM_BASIC (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)
#define IM_REGS	 0xff01ffull

static const struct im_attr im_cycles = {
	.freq = 999, .sample_type = IM_BASIC, .sample_id_all = true};

/* A file of one event with NR samples at times 1000, 1001 ...; ip is the number. */
static inline void im_whole_file(struct image *im, const struct im_attr *attr, int nr)
{
	im_file(im, attr, 1);
	im_comm(im, attr, 999, 10, "program");
	for (int i = 0; i < nr; i++)
		im_sample(im, attr, 1000 + (uint64_t)i, 10, (uint64_t)i);
	im_file_end(im, im_data_off(attr, 1));
}

/* --- features --- */

static inline void im_string(struct image *im, const char *text)
{
	im_u32(im, (uint32_t)strlen(text) + 1);
	im_raw(im, text, strlen(text) + 1);
}

static inline void im_feature(struct image *im, unsigned int feature)
{
	size_t start;

	switch (feature) {
	case 2:
		start = im_start(im, 67, PERF_RECORD_MISC_USER | 1 << 15);
		im_u32(im, 100);
		im_raw(im, "0123456789abcdef\0\0\0\0\020\0\0\0", 24);
		im_text(im, "/usr/bin/program", start);
		im_end(im, start);
		start = im_start(im, 67, PERF_RECORD_MISC_KERNEL);
		im_u32(im, UINT32_MAX);
		im_raw(im, "0123456789abcdefghij\0\0\0\0", 24);
		im_text(im, "[kernel.kallsyms]", start);
		im_end(im, start);
		break;
	case 3:
		im_string(im, "host\033[31m");
		break;
	case 4:
		im_string(im, "6.1.0");
		break;
	case 6:
		im_string(im, "aarch64");
		break;
	case 7:
		im_u32(im, 8);
		im_u32(im, 6);
		break;
	case 11:
		im_u32(im, 3);
		im_string(im, "perf");
		im_string(im, "record");
		im_string(im, "-a");
		break;
	case 12:
		im_u32(im, 1);
		im_u32(im, 112);
		im_attr(im, &im_cycles);
		im_u32(im, 1);
		im_string(im, "cycles:P");
		im_u64(im, 10);
		break;
	case 21:
		im_u64(im, 1000);
		im_u64(im, 2000);
		break;
	case 29:
		im_u32(im, 1);
		im_u32(im, 1);
		im_u64(im, 1700000000000000000);
		im_u64(im, 5000);
		break;
	default:
		im_u64(im, 0xdead);
	}
}

static const unsigned int im_features[] = {2, 3, 4, 6, 7, 9, 11, 12, 21, 29, 40};

/* A file with features behind its data; *RET_TABLE: where their table is. */
static inline void im_features_file(struct image *im, size_t *ret_table)
{
	size_t table, at;

	im_whole_file(im, &im_cycles, 5);
	table = im->len;
	im_fill(im, 0, 16 * ARRAY_SIZE(im_features));
	for (size_t i = 0; i < ARRAY_SIZE(im_features); i++) {
		uint64_t bits = 0;

		for (size_t j = 0; j < ARRAY_SIZE(im_features); j++)
			bits |= 1ull << im_features[j];
		im_set(im, 72, bits, 8);
		at = im->len;
		im_feature(im, im_features[i]);
		im_set(im, table + 16 * i, at, 8);
		im_set(im, table + 16 * i + 8, im->len - at, 8);
	}
	*ret_table = table;
}

/* All that pipe mode has in place of a header, then NR samples. */
static inline void im_whole_pipe(struct image *im, int nr)
{
	size_t start;

	im_pipe(im);
	for (size_t i = 0; i < ARRAY_SIZE(im_features); i++) {
		if (im_features[i] == 2 || im_features[i] == 12)
			continue;
		start = im_start(im, 80, 0);
		im_u64(im, im_features[i]);
		im_feature(im, im_features[i]);
		im_fill(im, 0, (8 - im->len % 8) % 8);
		im_end(im, start);
	}
	im_pipe_named(im, &im_cycles, 10, "cycles:P");
	im_feature(im, 2);
	start = im_start(im, 66, 0); /* tracing data: 13 bytes and padding follow */
	im_u32(im, 13);
	im_u32(im, 0);
	im_end(im, start);
	im_fill(im, 0xff, 16);
	im_comm(im, &im_cycles, 999, 10, "program");
	start = im_start(im, 71, 0); /* AUXTRACE: data follows */
	im_u64(im, 100000);
	im_fill(im, 0, 40);
	im_end(im, start);
	im_fill(im, 0xff, 100000);
	im_end(im, im_start(im, 11, 0)); /* AUX */
	im_end(im, im_start(im, 60, 0)); /* of a kernel to come */
	im_end(im, im_start(im, 200, 0));
	for (int i = 0; i < nr; i++)
		im_sample(im, &im_cycles, 1000 + (uint64_t)i, 10, (uint64_t)i);
}

/* --- reading --- */

static inline struct recording *im_open(const struct image *im)
{
	struct recording *rec;
	struct err err;

	if (recording_open(im_fd(im, im->len), "test", &rec, &err) < 0)
		fail_msg("%s", err.text);
	return rec;
}

/* The next record, after as many drains as it takes; false at the end. */
static inline bool im_next(struct recording *rec, struct record *ret)
{
	while (!recording_next(rec, ret)) {
		if (recording_is_over(rec))
			return false;
		if (recording_read(rec) == 0 && !recording_is_over(rec))
			return false; /* a pipe that has nothing now */
	}
	return true;
}

static inline uint64_t im_count(struct recording *rec, enum record_kind kind)
{
	struct record record;
	uint64_t nr = 0;

	while (im_next(rec, &record))
		nr += record.kind == kind;
	return nr;
}

static inline const char *im_trouble(struct recording *rec)
{
	bool is_bad;

	return recording_trouble(rec, &is_bad);
}

static inline bool im_is_bad(struct recording *rec)
{
	bool is_bad;

	recording_trouble(rec, &is_bad);
	return is_bad;
}

#endif
