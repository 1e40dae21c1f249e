/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records are decoded as the kernel lays them out, in every combination of
 * fields, and nothing that a damaged one says is believed.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/perf/record.h"
#include "tests/perf_bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#define FORMAT_LOST	      (1ull << 4)
#define MISC_MMAP_BUILD_ID    (1u << 14)
#define BRANCH_COUNTERS	      (1ull << 19)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)

#define REGS_MASK 0xff01ffull
#define NR_REGS	  17

/* Decode a copy that ends where its block ends, so that a read behind it is caught. */
static int decode_exact(const struct record_format *format, const struct bytes *b, size_t len,
			struct record *ret, void **ret_copy)
{
	void *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, b->data, len);
	r = record_decode(format, copy, len, ret);
	*ret_copy = copy;
	return r;
}

/* --- samples --- */

static const uint64_t sample_bits[] = {
	PERF_SAMPLE_IDENTIFIER,	  PERF_SAMPLE_IP,	 PERF_SAMPLE_TID,	 PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,	  PERF_SAMPLE_ID,	 PERF_SAMPLE_STREAM_ID,	 PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,	  PERF_SAMPLE_READ,	 PERF_SAMPLE_CALLCHAIN,	 PERF_SAMPLE_RAW,
	PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER,
};

static const uint64_t chain_words[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER,
				       0x401000, 0x402000};

static void put_read(struct bytes *b, uint64_t read_format)
{
	uint64_t nr = 1;

	if (read_format & PERF_FORMAT_GROUP) {
		nr = 3;
		put_u64(b, nr);
	} else {
		put_u64(b, 0x1111);
	}
	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put_u64(b, 0x2222);
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put_u64(b, 0x3333);
	for (uint64_t i = 0; i < nr; i++) {
		if (read_format & PERF_FORMAT_GROUP)
			put_u64(b, 0x1111);
		if (read_format & PERF_FORMAT_ID)
			put_u64(b, 0x4444);
		if (read_format & FORMAT_LOST)
			put_u64(b, 0x5555);
	}
}

/* A sample with the fields of TYPE, each with a value of its own. */
static void make_sample(struct bytes *b, const struct record_format *format)
{
	uint64_t type = format->sample_type;

	start_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_u64(b, 77);
	if (type & PERF_SAMPLE_IP)
		put_u64(b, 0x401234);
	if (type & PERF_SAMPLE_TID) {
		put_u32(b, 1000);
		put_u32(b, 1001);
	}
	if (type & PERF_SAMPLE_TIME)
		put_u64(b, 123456789);
	if (type & PERF_SAMPLE_ADDR)
		put_u64(b, 0xadd7);
	if (type & PERF_SAMPLE_ID)
		put_u64(b, 77);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_u64(b, 88);
	if (type & PERF_SAMPLE_CPU) {
		put_u32(b, 5);
		put_u32(b, 0xffffffff);
	}
	if (type & PERF_SAMPLE_PERIOD)
		put_u64(b, 1001001);
	if (type & PERF_SAMPLE_READ)
		put_read(b, format->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put_u64(b, ARRAY_SIZE(chain_words));
		put(b, chain_words, sizeof(chain_words));
	}
	if (type & PERF_SAMPLE_RAW) {
		put_u32(b, 12);
		put_fill(b, 0xee, 12);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		put_u64(b, 2);
		if (format->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			put_u64(b, 9);
		for (uint64_t i = 0; i < 2; i++) {
			put_u64(b, 0xf0 + i);
			put_u64(b, 0xe0 + i);
			put_u64(b, 1);
		}
		if (format->branch_sample_type & BRANCH_COUNTERS)
			put_fill(b, 0xcc, 16);
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		put_u64(b, PERF_SAMPLE_REGS_ABI_64);
		for (uint64_t i = 0; i < NR_REGS; i++)
			put_u64(b, 0x5e60 + i);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		put_u64(b, 64);
		put_fill(b, 0x57, 64);
		put_u64(b, 40);
	}
	end_record(b);
}

static void check_sample(const struct record *record, uint64_t type)
{
	const struct record_sample *sample = &record->sample;

	assert_int_equal(record->kind, RECORD_SAMPLE);
	assert_int_equal(sample->cpumode, PERF_RECORD_MISC_USER);
	assert_int_equal(sample->ip, type & PERF_SAMPLE_IP ? 0x401234 : 0);
	assert_int_equal(record->pid, type & PERF_SAMPLE_TID ? 1000 : 0);
	assert_int_equal(record->tid, type & PERF_SAMPLE_TID ? 1001 : 0);
	assert_int_equal(record->time_ns, type & PERF_SAMPLE_TIME ? 123456789 : 0);
	assert_int_equal(sample->addr, type & PERF_SAMPLE_ADDR ? 0xadd7 : 0);
	assert_int_equal(record->id, type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 77 : 0);
	assert_int_equal(record->cpu, type & PERF_SAMPLE_CPU ? 5 : UINT32_MAX);
	assert_int_equal(sample->period, type & PERF_SAMPLE_PERIOD ? 1001001 : 0);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		assert_int_equal(sample->nr_callchain, ARRAY_SIZE(chain_words));
		assert_memory_equal(sample->callchain, chain_words, sizeof(chain_words));
	} else {
		assert_int_equal(sample->nr_callchain, 0);
	}
	assert_int_equal(sample->nr_branches, type & PERF_SAMPLE_BRANCH_STACK ? 2 : 0);
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		assert_int_equal(sample->branches[1].from, 0xf1);
		assert_int_equal(sample->branches[1].to, 0xe1);
	}
	assert_int_equal(sample->abi,
			 type & PERF_SAMPLE_REGS_USER ? RECORD_ABI_64 : RECORD_ABI_NONE);
	if (type & PERF_SAMPLE_REGS_USER)
		for (uint64_t i = 0; i < NR_REGS; i++)
			assert_int_equal(sample->regs[i], 0x5e60 + i);
	assert_int_equal(sample->stack_bytes, type & PERF_SAMPLE_STACK_USER ? 40 : 0);
	assert_int_equal(sample->stack_bytes_reserved, type & PERF_SAMPLE_STACK_USER ? 64 : 0);
	if (type & PERF_SAMPLE_STACK_USER)
		assert_int_equal(sample->stack[39], 0x57);
}

static void samples_of_every_combination(void **state)
{
	static struct bytes b;

	(void)state;
	for (uint32_t bits = 0; bits < 1u << ARRAY_SIZE(sample_bits); bits++) {
		struct record_format format = {
			.regs_user_mask = REGS_MASK,
			.sample_id_all = true,
			.read_format = PERF_FORMAT_ID | FORMAT_LOST,
			.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
		};
		struct record record;

		for (size_t i = 0; i < ARRAY_SIZE(sample_bits); i++)
			if (bits & 1u << i)
				format.sample_type |= sample_bits[i];
		make_sample(&b, &format);
		assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
		check_sample(&record, format.sample_type);
	}
}

static void read_values_of_every_format_are_passed_over(void **state)
{
	static struct bytes b;

	(void)state;
	for (uint64_t read_format = 0; read_format < 32; read_format++) {
		struct record_format format = {
			.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
			.read_format = read_format,
		};
		struct record record;

		make_sample(&b, &format);
		assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
		check_sample(&record, format.sample_type);
	}
}

static void branch_entries_of_every_format(void **state)
{
	static const uint64_t types[] = {0, PERF_SAMPLE_BRANCH_HW_INDEX, BRANCH_COUNTERS,
					 PERF_SAMPLE_BRANCH_HW_INDEX | BRANCH_COUNTERS};
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct record_format format = {
			.sample_type = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER,
			.branch_sample_type = types[i],
			.regs_user_mask = REGS_MASK,
		};
		struct record record;

		make_sample(&b, &format);
		assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
		check_sample(&record, format.sample_type);
		assert_int_equal(record.sample.branch_hw_idx,
				 types[i] & PERF_SAMPLE_BRANCH_HW_INDEX ? 9 : UINT64_MAX);
	}
}

/* What stands between the stack and the control group is passed over, whatever of it is there. */
static void the_control_group_comes_after_all_else(void **state)
{
	static const uint64_t between[] = {PERF_SAMPLE_WEIGHT,
					   PERF_SAMPLE_DATA_SRC,
					   PERF_SAMPLE_TRANSACTION,
					   PERF_SAMPLE_REGS_INTR,
					   PERF_SAMPLE_PHYS_ADDR,
					   1ull << 22,
					   1ull << 23};
	static struct bytes b;

	(void)state;
	for (uint32_t bits = 0; bits < 1u << ARRAY_SIZE(between); bits++) {
		struct record_format format = {
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER | 1ull << 21,
			.regs_intr_mask = 0x15,
		};
		struct record record;

		make_sample(&b, &format);
		for (size_t i = 0; i < ARRAY_SIZE(between); i++) {
			if (i == 5)
				put_u64(&b, 4711);
			if (!(bits & 1u << i))
				continue;
			format.sample_type |= between[i];
			put_u64(&b, between[i] == PERF_SAMPLE_REGS_INTR ? PERF_SAMPLE_REGS_ABI_64
									: 0xbe7 + i);
			if (between[i] == PERF_SAMPLE_REGS_INTR)
				put_fill(&b, 0x1e, 24);
		}
		end_record(&b);
		assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
		assert_int_equal(record.sample.cgroup, 4711);
		format.sample_type &= ~(1ull << 21);
		assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
		assert_int_equal(record.sample.cgroup, 0);
	}
}

/* Whatever is cut off at the end, it is noticed, and nothing behind the end is read. */
static void truncated_samples_are_refused(void **state)
{
	struct record_format format = {
		.regs_user_mask = REGS_MASK,
		.read_format = PERF_FORMAT_ID,
		.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
	};
	static struct bytes b;
	size_t whole;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sample_bits); i++)
		format.sample_type |= sample_bits[i];
	make_sample(&b, &format);
	whole = b.len;
	for (size_t len = 0; len < whole; len++) {
		struct record record;
		void *copy;

		b.len = len;
		if (len >= sizeof(struct perf_event_header))
			end_record(&b);
		assert_int_equal(decode_exact(&format, &b, len, &record, &copy), -EBADMSG);
		free(copy);
	}
}

static void a_size_that_is_not_the_records_is_refused(void **state)
{
	struct record_format format = {.sample_type = PERF_SAMPLE_IP};
	static struct bytes b;
	struct record record;

	(void)state;
	make_sample(&b, &format);
	assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
	assert_int_equal(record_decode(&format, b.data, b.len + 8, &record), -EBADMSG);
	b.data[6] = 0;
	assert_int_equal(record_decode(&format, b.data, b.len, &record), -EBADMSG);
}

static void huge_counts_are_refused(void **state)
{
	static const uint64_t types[] = {PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
					 PERF_SAMPLE_READ, PERF_SAMPLE_STACK_USER};
	static const uint64_t counts[] = {
		UINT64_MAX, UINT64_MAX / 8, UINT64_MAX / 24 + 1, 1ull << 61,
		1ull << 32, 1ull << 31,	    UINT64_MAX - 15,	 100};
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(counts); j++) {
			struct record_format format = {
				.sample_type = types[i],
				.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
			};
			struct record record;
			void *copy;

			start_record(&b, PERF_RECORD_SAMPLE, 0);
			put_u64(&b, counts[j]);
			put_fill(&b, 0, 64);
			end_record(&b);
			assert_int_equal(decode_exact(&format, &b, b.len, &record, &copy),
					 -EBADMSG);
			free(copy);
		}
	}
}

/* --- registers and stack --- */

static int decode_stack(uint64_t abi, uint64_t size, size_t data, uint64_t dyn, struct record *ret)
{
	struct record_format format = {
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.regs_user_mask = REGS_MASK,
		.mode = STACK_MODE_DWARF,
	};
	static struct bytes b;

	start_record(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	put_u64(&b, abi);
	if (abi != PERF_SAMPLE_REGS_ABI_NONE)
		for (int i = 0; i < NR_REGS; i++)
			put_u64(&b, 0x100);
	put_u64(&b, size);
	if (size) {
		put_fill(&b, 0x57, data);
		put_u64(&b, dyn);
	}
	end_record(&b);
	return record_decode(&format, b.data, b.len, ret);
}

static void registers_by_abi(void **state)
{
	struct record record;

	(void)state;
	assert_int_equal(decode_stack(PERF_SAMPLE_REGS_ABI_64, 64, 64, 64, &record), 0);
	assert_int_equal(record.sample.abi, RECORD_ABI_64);
	assert_int_equal(record.sample.regs_mask, REGS_MASK);
	assert_int_equal(record.sample.mode, STACK_MODE_DWARF);
	assert_int_equal(decode_stack(PERF_SAMPLE_REGS_ABI_32, 64, 64, 64, &record), 0);
	assert_int_equal(record.sample.abi, RECORD_ABI_32);
	assert_non_null(record.sample.regs);
	/* No registers: none follow, and a stack may still come (it does not, but must not be read). */
	assert_int_equal(decode_stack(PERF_SAMPLE_REGS_ABI_NONE, 0, 0, 0, &record), 0);
	assert_int_equal(record.sample.abi, RECORD_ABI_NONE);
	assert_null(record.sample.regs);
	assert_int_equal(record.sample.regs_mask, 0);
	assert_int_equal(decode_stack(3, 64, 64, 64, &record), -EBADMSG);
}

static void stack_by_size_and_dyn_size(void **state)
{
	const uint64_t abi = PERF_SAMPLE_REGS_ABI_64;
	struct record record;

	(void)state;
	/* size 0: no dyn_size follows. */
	assert_int_equal(decode_stack(abi, 0, 0, 0, &record), 0);
	assert_null(record.sample.stack);
	assert_int_equal(record.sample.stack_bytes, 0);
	/* Nothing of it could be copied. */
	assert_int_equal(decode_stack(abi, 128, 128, 0, &record), 0);
	assert_int_equal(record.sample.stack_bytes, 0);
	assert_int_equal(record.sample.stack_bytes_reserved, 128);
	/* The stack ends before the copy does. */
	assert_int_equal(decode_stack(abi, 128, 128, 100, &record), 0);
	assert_int_equal(record.sample.stack_bytes, 100);
	assert_int_equal(record.sample.stack_bytes_reserved, 128);
	/* The copy is full. */
	assert_int_equal(decode_stack(abi, 128, 128, 128, &record), 0);
	assert_int_equal(record.sample.stack_bytes, 128);
	/* More than there is room for is not believed. */
	assert_int_equal(decode_stack(abi, 128, 128, 5000, &record), 0);
	assert_int_equal(record.sample.stack_bytes, 128);
	/* A size past the record's end. */
	assert_int_equal(decode_stack(abi, 136, 128, 128, &record), -EBADMSG);
	assert_int_equal(decode_stack(abi, UINT64_MAX, 128, 128, &record), -EBADMSG);
}

/* --- other records --- */

static const struct record_format sideband = {
	.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	.sample_id_all = true,
};

static void put_trailer(struct bytes *b, uint64_t type)
{
	if (type & PERF_SAMPLE_TID) {
		put_u32(b, 2000);
		put_u32(b, 2001);
	}
	if (type & PERF_SAMPLE_TIME)
		put_u64(b, 5555);
	if (type & PERF_SAMPLE_ID)
		put_u64(b, 66);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_u64(b, 88);
	if (type & PERF_SAMPLE_CPU) {
		put_u32(b, 3);
		put_u32(b, 0xffffffff);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_u64(b, 66);
	end_record(b);
}

/* The trailer is found from the end, whatever of it there is. */
static void trailers_of_every_combination(void **state)
{
	static const uint64_t bits_of[] = {PERF_SAMPLE_TID,	   PERF_SAMPLE_TIME,
					   PERF_SAMPLE_ID,	   PERF_SAMPLE_STREAM_ID,
					   PERF_SAMPLE_CPU,	   PERF_SAMPLE_IDENTIFIER,
					   PERF_SAMPLE_IP,	   PERF_SAMPLE_CALLCHAIN,
					   PERF_SAMPLE_STACK_USER, PERF_SAMPLE_PERIOD};
	static struct bytes b;

	(void)state;
	for (uint32_t bits = 0; bits < 1u << ARRAY_SIZE(bits_of); bits++) {
		struct record_format format = {.sample_id_all = true};
		struct record record;
		uint64_t type = 0;

		for (size_t i = 0; i < ARRAY_SIZE(bits_of); i++)
			if (bits & 1u << i)
				type |= bits_of[i];
		format.sample_type = type;
		start_record(&b, PERF_RECORD_THROTTLE, 0);
		put_u64(&b, 1);
		put_u64(&b, 2);
		put_u64(&b, 3);
		put_trailer(&b, type);
		assert_int_equal(record_decode(&format, b.data, b.len, &record), 0);
		assert_int_equal(record.kind, RECORD_THROTTLE);
		assert_int_equal(record.tid, type & PERF_SAMPLE_TID ? 2001 : 0);
		assert_int_equal(record.time_ns, type & PERF_SAMPLE_TIME ? 5555 : 0);
		assert_int_equal(record.cpu, type & PERF_SAMPLE_CPU ? 3 : UINT32_MAX);
		assert_int_equal(record.id,
				 type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 66 : 0);
	}
}

static void make_mmap2(struct bytes *b, uint16_t misc, const char *name)
{
	start_record(b, PERF_RECORD_MMAP2, misc);
	put_u32(b, 10);
	put_u32(b, 11);
	put_u64(b, 0x7f0000001000);
	put_u64(b, 0x2000);
	put_u64(b, 0x3000);
	if (misc & MISC_MMAP_BUILD_ID) {
		put_fill(b, 16, 1);
		put_fill(b, 0, 3);
		put_fill(b, 0xb1, 16);
		put_fill(b, 0, 4);
	} else {
		put_u32(b, 8);
		put_u32(b, 1);
		put_u64(b, 424242);
		put_u64(b, 7);
	}
	put_u32(b, PROT_READ | PROT_EXEC);
	put_u32(b, MAP_PRIVATE);
	put_string(b, name);
	put_trailer(b, sideband.sample_type);
}

static void mappings(void **state)
{
	static struct bytes b;
	struct record record;

	(void)state;
	make_mmap2(&b, 0, "/lib/libfoo.so.1");
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_MMAP);
	assert_int_equal(record.pid, 10);
	assert_int_equal(record.tid, 11);
	assert_int_equal(record.time_ns, 5555);
	assert_int_equal(record.mmap.start, 0x7f0000001000);
	assert_int_equal(record.mmap.len, 0x2000);
	assert_int_equal(record.mmap.file_off, 0x3000);
	assert_int_equal(record.mmap.maj, 8);
	assert_int_equal(record.mmap.min, 1);
	assert_int_equal(record.mmap.ino, 424242);
	assert_int_equal(record.mmap.ino_generation, 7);
	assert_true(record.mmap.is_exec);
	assert_int_equal(record.mmap.build_id_bytes, 0);
	assert_string_equal(record.mmap.filename, "/lib/libfoo.so.1");
}

/* A build-id of 16 bytes still takes the place of 24. */
static void mappings_with_a_short_build_id(void **state)
{
	static struct bytes b;
	struct record record;
	uint8_t id[RECORD_BUILD_ID_MAX] = {0};

	(void)state;
	memset(id, 0xb1, 16);
	make_mmap2(&b, MISC_MMAP_BUILD_ID, "/bin/true");
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.mmap.build_id_bytes, 16);
	assert_memory_equal(record.mmap.build_id, id, sizeof(id));
	assert_int_equal(record.mmap.ino, 0);
	assert_string_equal(record.mmap.filename, "/bin/true");
	b.data[8 + 32] = 255; /* an impossible size: no build-id rather than a wrong one */
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.mmap.build_id_bytes, 0);
}

static void old_mappings(void **state)
{
	static struct bytes b;
	struct record record;

	(void)state;
	for (int is_data = 0; is_data < 2; is_data++) {
		start_record(&b, PERF_RECORD_MMAP, is_data ? PERF_RECORD_MISC_MMAP_DATA : 0);
		put_u32(&b, 10);
		put_u32(&b, 11);
		put_u64(&b, 0x400000);
		put_u64(&b, 0x1000);
		put_u64(&b, 0);
		put_string(&b, "[vdso]");
		put_trailer(&b, sideband.sample_type);
		assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
		assert_int_equal(record.kind, RECORD_MMAP);
		assert_int_equal(record.mmap.is_exec, !is_data);
		assert_string_equal(record.mmap.filename, "[vdso]");
	}
}

/* A name that never ends must not run into the trailer, let alone past it. */
static void names_without_an_end_are_refused(void **state)
{
	static struct bytes b;
	struct record record;
	void *copy;

	(void)state;
	start_record(&b, PERF_RECORD_COMM, 0);
	put_u32(&b, 10);
	put_u32(&b, 10);
	put_fill(&b, 'x', 16);
	put_trailer(&b, sideband.sample_type);
	assert_int_equal(decode_exact(&sideband, &b, b.len, &record, &copy), -EBADMSG);
	free(copy);
}

static void tasks_and_comm(void **state)
{
	static struct bytes b;
	struct record record;

	(void)state;
	for (int is_exec = 0; is_exec < 2; is_exec++) {
		start_record(&b, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
		put_u32(&b, 10);
		put_u32(&b, 11);
		put_string(&b, "worker");
		put_trailer(&b, sideband.sample_type);
		assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
		assert_int_equal(record.kind, RECORD_COMM);
		assert_int_equal(record.comm.is_exec, is_exec);
		assert_int_equal(record.tid, 11);
		assert_string_equal(record.comm.comm, "worker");
	}
	for (uint32_t type = PERF_RECORD_EXIT; type <= PERF_RECORD_FORK;
	     type += PERF_RECORD_FORK - PERF_RECORD_EXIT) {
		start_record(&b, type, 0);
		put_u32(&b, 20); /* pid, ppid, tid, ptid */
		put_u32(&b, 10);
		put_u32(&b, 21);
		put_u32(&b, 11);
		put_u64(&b, 4444);
		put_trailer(&b, sideband.sample_type);
		assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
		assert_int_equal(record.kind, type == PERF_RECORD_FORK ? RECORD_FORK : RECORD_EXIT);
		assert_int_equal(record.pid, 20);
		assert_int_equal(record.tid, 21);
		assert_int_equal(record.fork.ppid, 10);
		assert_int_equal(record.fork.ptid, 11);
		assert_int_equal(record.time_ns, 5555);
	}
}

static void kernel_symbols_and_losses(void **state)
{
	static struct bytes b;
	struct record record;

	(void)state;
	start_record(&b, PERF_RECORD_KSYMBOL, 0);
	put_u64(&b, 0xffffffffc0000000);
	put_u32(&b, 256);
	put_u16(&b, PERF_RECORD_KSYMBOL_TYPE_BPF);
	put_u16(&b, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	put_string(&b, "bpf_prog_1");
	put_trailer(&b, sideband.sample_type);
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_KSYMBOL);
	assert_true(record.ksymbol.is_unregister);
	assert_int_equal(record.ksymbol.len, 256);
	assert_int_equal(record.ksymbol.ksym_type, PERF_RECORD_KSYMBOL_TYPE_BPF);
	assert_string_equal(record.ksymbol.name, "bpf_prog_1");

	start_record(&b, RECORD_TYPE_CGROUP, 0);
	put_u64(&b, 4711);
	put_string(&b, "/system.slice/a.service");
	put_trailer(&b, sideband.sample_type);
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_CGROUP);
	assert_int_equal(record.cgroup.number, 4711);
	assert_string_equal(record.cgroup.path, "/system.slice/a.service");

	start_record(&b, PERF_RECORD_LOST, 0);
	put_u64(&b, 66);
	put_u64(&b, 12345);
	put_trailer(&b, sideband.sample_type);
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_LOST);
	assert_int_equal(record.lost.count, 12345);

	start_record(&b, PERF_RECORD_LOST_SAMPLES, 0);
	put_u64(&b, 54321);
	put_trailer(&b, sideband.sample_type);
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_LOST_SAMPLES);
	assert_int_equal(record.lost.count, 54321);
}

/* Every record that is no sample, cut off at every length, decodes to an error and reads nothing. */
static void truncated_records_are_refused(void **state)
{
	static const uint32_t types[] = {
		PERF_RECORD_MMAP, PERF_RECORD_LOST,  PERF_RECORD_COMM,	  PERF_RECORD_EXIT,
		PERF_RECORD_FORK, PERF_RECORD_MMAP2, PERF_RECORD_KSYMBOL, RECORD_TYPE_CGROUP,
	};
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		make_mmap2(&b, 0, "/lib/x");
		memcpy(b.data, &types[i], sizeof(types[i]));
		for (size_t len = 0; len < 40; len++) {
			struct record record;
			void *copy;

			b.len = len;
			if (len >= sizeof(struct perf_event_header))
				end_record(&b);
			assert_int_equal(decode_exact(&sideband, &b, len, &record, &copy),
					 -EBADMSG);
			free(copy);
		}
	}
}

static void unknown_records_are_passed_over(void **state)
{
	static struct bytes b;
	struct record record;

	(void)state;
	start_record(&b, 22, 0); /* CALLCHAIN_DEFERRED, newer than this program's floor */
	put_fill(&b, 0xff, 40);
	put_trailer(&b, sideband.sample_type);
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_OTHER);
	assert_int_equal(record.type, 22);
	assert_int_equal(record.time_ns, 5555);
	/* What tools put into files has no trailer. */
	start_record(&b, 68, 0);
	end_record(&b);
	assert_int_equal(record_decode(&sideband, b.data, b.len, &record), 0);
	assert_int_equal(record.kind, RECORD_OTHER);
}

/* Random bytes below true headers: any answer, but no read outside (a sanitizer watches). */
static void random_bytes_do_no_harm(void **state)
{
	static struct bytes b;
	struct record_format format = sideband;
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sample_bits); i++)
		format.sample_type |= sample_bits[i];
	format.regs_user_mask = REGS_MASK;
	for (int round = 0; round < 20000; round++) {
		struct record record;
		void *copy;
		size_t words;

		seed = seed * 1103515245 + 12345;
		words = seed >> 16 & 63;
		start_record(&b, seed >> 24 & 31, (uint16_t)(seed >> 8));
		for (size_t i = 0; i < words; i++) {
			seed = seed * 1103515245 + 12345;
			put_u64(&b, seed & 0x10000 ? seed >> 28 : (uint64_t)seed << 32 | seed);
		}
		end_record(&b);
		decode_exact(&format, &b, b.len, &record, &copy);
		free(copy);
	}
}

/* --- callchains --- */

static void check_split(const uint64_t *chain, uint64_t nr, uint64_t kernel_at, uint64_t nr_kernel,
			uint64_t user_at, uint64_t nr_user)
{
	struct callchain_part kernel, user;

	callchain_split(chain, nr, &kernel, &user);
	assert_int_equal(kernel.nr, nr_kernel);
	assert_int_equal(user.nr, nr_user);
	if (nr_kernel)
		assert_ptr_equal(kernel.ips, &chain[kernel_at]);
	if (nr_user)
		assert_ptr_equal(user.ips, &chain[user_at]);
}

#define SPLIT(chain, ...) check_split(chain, ARRAY_SIZE(chain), __VA_ARGS__)

static void callchains_are_split_at_their_context_words(void **state)
{
	const uint64_t both[] = {PERF_CONTEXT_KERNEL, 1, 2, PERF_CONTEXT_USER, 3, 4, 5};
	const uint64_t user[] = {PERF_CONTEXT_USER, 3, 4};
	const uint64_t kernel[] = {PERF_CONTEXT_KERNEL, 1};
	const uint64_t guest[] = {
		PERF_CONTEXT_GUEST_KERNEL, 7, 8, PERF_CONTEXT_KERNEL, 1, PERF_CONTEXT_HV, 9,
		PERF_CONTEXT_USER,	   2, 3};
	const uint64_t unknown[] = {PERF_CONTEXT_KERNEL, 1, (uint64_t)-3000, 2,
				    PERF_CONTEXT_USER,	 3};
	const uint64_t deferred[] = {PERF_CONTEXT_KERNEL, 1, CONTEXT_USER_DEFERRED, 0xc00c1e};
	const uint64_t twice[] = {PERF_CONTEXT_USER, 1, 2, PERF_CONTEXT_KERNEL, 3,
				  PERF_CONTEXT_USER, 4};
	const uint64_t none[] = {1, 2, 3};
	const uint64_t empty[] = {PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER};
	const uint64_t cookie_last[] = {PERF_CONTEXT_USER, 1, CONTEXT_USER_DEFERRED};

	(void)state;
	SPLIT(both, 1, 2, 4, 3);
	SPLIT(user, 0, 0, 1, 2);
	SPLIT(kernel, 1, 1, 0, 0);
	SPLIT(guest, 4, 1, 8, 2);
	SPLIT(unknown, 1, 1, 0, 0);
	SPLIT(deferred, 1, 1, 0, 0);
	SPLIT(twice, 4, 1, 1, 2);
	SPLIT(none, 0, 0, 0, 0);
	SPLIT(empty, 0, 0, 0, 0);
	SPLIT(cookie_last, 0, 0, 1, 1);
	check_split(NULL, 0, 0, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_every_combination),
		cmocka_unit_test(read_values_of_every_format_are_passed_over),
		cmocka_unit_test(branch_entries_of_every_format),
		cmocka_unit_test(the_control_group_comes_after_all_else),
		cmocka_unit_test(truncated_samples_are_refused),
		cmocka_unit_test(a_size_that_is_not_the_records_is_refused),
		cmocka_unit_test(huge_counts_are_refused),
		cmocka_unit_test(registers_by_abi),
		cmocka_unit_test(stack_by_size_and_dyn_size),
		cmocka_unit_test(trailers_of_every_combination),
		cmocka_unit_test(mappings),
		cmocka_unit_test(mappings_with_a_short_build_id),
		cmocka_unit_test(old_mappings),
		cmocka_unit_test(names_without_an_end_are_refused),
		cmocka_unit_test(tasks_and_comm),
		cmocka_unit_test(kernel_symbols_and_losses),
		cmocka_unit_test(truncated_records_are_refused),
		cmocka_unit_test(unknown_records_are_passed_over),
		cmocka_unit_test(random_bytes_do_no_harm),
		cmocka_unit_test(callchains_are_split_at_their_context_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
