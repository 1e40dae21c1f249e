/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings are read whatever perf wrote them: any size of attr, any fields,
 * either byte order, files and pipes; nothing that a damaged one says is
 * believed, and what came before the damage is given.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/recording_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#define ID_ALL .sample_id_all = true
#define BASIC  (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)
#define REGS   0xff01ffull

static const struct im_attr cycles = {.freq = 999, .sample_type = BASIC, ID_ALL};

/* A file of one event with NR samples at times 1000, 1001 ...; ip is the number. */
static void make_file(struct image *im, const struct im_attr *attr, int nr)
{
	im_file(im, attr, 1);
	im_comm(im, attr, 999, 10, "program");
	for (int i = 0; i < nr; i++)
		im_sample(im, attr, 1000 + (uint64_t)i, 10, (uint64_t)i);
	im_file_end(im, im_data_off(attr, 1));
}

static const char *trouble_of(struct recording *rec)
{
	bool is_bad;

	return recording_trouble(rec, &is_bad);
}

static bool is_bad(struct recording *rec)
{
	bool bad;

	recording_trouble(rec, &bad);
	return bad;
}

/* --- what is read --- */

static void attrs_of_any_size_are_read(void **state)
{
	static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 400};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct image im = {.swap = i % 2};
		struct im_attr attr = cycles;
		const struct recording_event *event;
		struct recording *rec;

		attr.bytes = sizes[i / 2];
		attr.branch_type = 1;
		attr.regs = REGS;
		attr.stack = 8192;
		attr.exclude_kernel = true;
		make_file(&im, &attr, 5);
		rec = im_open(&im);
		event = &recording_info(rec)->events[0];
		assert_int_equal(recording_info(rec)->nr_events, 1);
		assert_int_equal(recording_info(rec)->is_swapped, i % 2);
		assert_string_equal(event->name, "cycles:u");
		assert_true(event->is_freq);
		assert_int_equal(event->freq_or_period, 999);
		assert_int_equal(event->format.sample_type, BASIC);
		assert_true(event->format.sample_id_all);
		assert_int_equal(event->format.branch_sample_type, attr.bytes >= 80 ? 1 : 0);
		assert_int_equal(event->format.regs_user_mask, attr.bytes >= 96 ? REGS : 0);
		assert_int_equal(event->stack_bytes, attr.bytes >= 96 ? 8192 : 0);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
		assert_string_equal(trouble_of(rec), "");
		recording_close(rec);
		im_done(&im);
	}
}

static const uint64_t all_bits[] = {
	PERF_SAMPLE_IP,
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,
	PERF_SAMPLE_READ,
	PERF_SAMPLE_CALLCHAIN,
	PERF_SAMPLE_RAW,
	PERF_SAMPLE_BRANCH_STACK,
	PERF_SAMPLE_REGS_USER,
	PERF_SAMPLE_STACK_USER,
	PERF_SAMPLE_WEIGHT,
	PERF_SAMPLE_DATA_SRC,
	PERF_SAMPLE_TRANSACTION,
	PERF_SAMPLE_REGS_INTR,
	PERF_SAMPLE_PHYS_ADDR,
	PERF_SAMPLE_CGROUP,
	PERF_SAMPLE_DATA_PAGE_SIZE,
	PERF_SAMPLE_CODE_PAGE_SIZE,
	PERF_SAMPLE_AUX,
	PERF_SAMPLE_IDENTIFIER,
};

static void check_sample(const struct im_attr *attr, const struct record *record)
{
	const struct record_sample *sample = &record->sample;
	uint64_t type = attr->sample_type;

	assert_int_equal(sample->ip, type & PERF_SAMPLE_IP ? 0x401234 : 0);
	assert_int_equal(record->pid, type & PERF_SAMPLE_TID ? 100 : 0);
	assert_int_equal(record->tid, type & PERF_SAMPLE_TID ? 101 : 0);
	assert_int_equal(record->time_ns, type & PERF_SAMPLE_TIME ? 5000 : 0);
	assert_int_equal(record->cpu, type & PERF_SAMPLE_CPU ? 3 : UINT32_MAX);
	assert_int_equal(sample->period, type & PERF_SAMPLE_PERIOD ? 1000 : 0);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		assert_int_equal(sample->nr_callchain, 3);
		assert_int_equal(sample->callchain[2], 0xca11);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		assert_int_equal(sample->nr_branches, 2);
		assert_int_equal(sample->branches[1].from, 0xf1);
		assert_int_equal(sample->branches[1].to, 0x71);
		assert_int_equal(sample->branches[1].flags, 1 | 7 << 4);
		assert_int_equal(sample->branch_hw_idx == 9,
				 !!(attr->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX));
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		assert_int_equal(sample->abi, RECORD_ABI_64);
		assert_int_equal(sample->regs[16], 0x5e70);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		assert_int_equal(sample->stack_bytes, 24);
		assert_int_equal(sample->stack_bytes_reserved, 32);
		assert_memory_equal(sample->stack, "stackbytestackbytestackb", 24);
	}
}

/* Each field alone and left out, and many combinations of fields and of what they consist of. */
static void samples_of_any_fields_are_read(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 600; round++) {
		struct image im = {.swap = round % 2};
		struct im_attr attr = {.bytes = 136, .regs = REGS, .stack = 32};
		struct record record;
		struct recording *rec;

		for (size_t i = 0; i < ARRAY_SIZE(all_bits); i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (round / 2 < ARRAY_SIZE(all_bits) ? i != round / 2
			    : round / 2 < 2 * ARRAY_SIZE(all_bits)
				    ? i + ARRAY_SIZE(all_bits) == round / 2
				    : seed >> 40 & 1)
				attr.sample_type |= all_bits[i];
		}
		attr.read_format = seed >> 50 & 0x1f;
		attr.branch_type = (seed >> 45 & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) |
				   (seed >> 46 & 1 ? 1ull << 19 : 0);
		attr.sample_id_all = seed >> 47 & 1;
		im_file(&im, &attr, 1);
		im_sample(&im, &attr, 5000, 10, 0x401234);
		im_comm(&im, &attr, 6000, 10, "program");
		im_file_end(&im, im_data_off(&attr, 1));
		rec = im_open(&im);
		assert_true(im_next(rec, &record));
		if (record.kind == RECORD_COMM) /* without a time it may come first */
			assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_SAMPLE);
		check_sample(&attr, &record);
		im_next(rec, &record);
		assert_string_equal(trouble_of(rec), "");
		recording_close(rec);
		im_done(&im);
	}
}

/* All that is no sample, with its trailer. */
static void other_records_are_read(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct im_attr attr = cycles;
		struct recording *rec;
		struct record record;
		size_t start;

		attr.sample_type |= PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
		im_file(&im, &attr, 1);
		start = im_start(&im, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
		im_u32(&im, UINT32_MAX);
		im_u32(&im, 0);
		im_u64(&im, 0xffffffff81000000);
		im_u64(&im, 0x1000000);
		im_u64(&im, 0xffffffff81000000);
		im_text(&im, "[kernel.kallsyms]_text", start);
		im_sample_id(&im, &attr, 1, 10);
		im_end(&im, start);
		start = im_start(&im, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
		im_u32(&im, 100);
		im_u32(&im, 101);
		im_u64(&im, 0x400000);
		im_u64(&im, 0x2000);
		im_u64(&im, 0x1000);
		im_u32(&im, 8);
		im_u32(&im, 1);
		im_u64(&im, 4711);
		im_u64(&im, 2);
		im_u32(&im, 5);
		im_u32(&im, 2);
		im_text(&im, "/usr/bin/program", start);
		im_sample_id(&im, &attr, 2, 10);
		im_end(&im, start);
		start = im_start(&im, PERF_RECORD_MMAP2, 1 << 14);
		im_u32(&im, 100);
		im_u32(&im, 101);
		im_u64(&im, 0x500000);
		im_u64(&im, 0x2000);
		im_u64(&im, 0);
		im_raw(&im, "\024\0\0\0aaaabbbbccccddddeeee", 24);
		im_u32(&im, 5);
		im_u32(&im, 2);
		im_text(&im, "/usr/lib/lib.so", start);
		im_sample_id(&im, &attr, 3, 10);
		im_end(&im, start);
		start = im_start(&im, PERF_RECORD_FORK, 0);
		im_u32(&im, 7);
		im_u32(&im, 6);
		im_u32(&im, 8);
		im_u32(&im, 5);
		im_u64(&im, 4);
		im_sample_id(&im, &attr, 4, 10);
		im_end(&im, start);
		start = im_start(&im, PERF_RECORD_LOST, 0);
		im_u64(&im, 10);
		im_u64(&im, 123);
		im_sample_id(&im, &attr, 5, 10);
		im_end(&im, start);
		start = im_start(&im, PERF_RECORD_KSYMBOL, 0);
		im_u64(&im, 0xffffffffc0000000);
		im_u32(&im, 64);
		im_u16(&im, 1);
		im_u16(&im, 1);
		im_text(&im, "bpf_prog", start);
		im_sample_id(&im, &attr, 6, 10);
		im_end(&im, start);
		im_file_end(&im, im_data_off(&attr, 1));

		rec = im_open(&im);
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_MMAP);
		assert_int_equal(record.pid, UINT32_MAX);
		assert_int_equal(record.mmap.start, 0xffffffff81000000);
		assert_string_equal(record.mmap.filename, "[kernel.kallsyms]_text");
		assert_int_equal(record.cpu, 3);
		assert_true(im_next(rec, &record));
		assert_int_equal(record.mmap.maj, 8);
		assert_int_equal(record.mmap.ino, 4711);
		assert_int_equal(record.mmap.file_off, 0x1000);
		assert_int_equal(record.mmap.prot, 5);
		assert_string_equal(record.mmap.filename, "/usr/bin/program");
		assert_true(im_next(rec, &record));
		assert_int_equal(record.mmap.build_id_bytes, 20);
		assert_memory_equal(record.mmap.build_id, "aaaabbbbccccddddeeee", 20);
		assert_string_equal(record.mmap.filename, "/usr/lib/lib.so");
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_FORK);
		assert_int_equal(record.pid, 7);
		assert_int_equal(record.fork.ppid, 6);
		assert_int_equal(record.time_ns, 4);
		assert_true(im_next(rec, &record));
		assert_int_equal(record.lost.count, 123);
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_KSYMBOL);
		assert_int_equal(record.ksymbol.len, 64);
		assert_true(record.ksymbol.is_unregister);
		assert_string_equal(record.ksymbol.name, "bpf_prog");
		assert_false(im_next(rec, &record));
		recording_close(rec);
		im_done(&im);
	}
}

/* Several events: by the id first in the sample, by the one among its fields, and by none. */
static void samples_find_their_event(void **state)
{
	static const uint64_t id_bits[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_ID};

	(void)state;
	for (int round = 0; round < 4; round++) {
		struct image im = {.swap = round & 1};
		struct im_attr attrs[3] = {cycles, cycles, cycles};
		const struct recording_info *info;
		struct record record;
		struct recording *rec;

		for (size_t i = 0; i < 3; i++)
			attrs[i].sample_type |= id_bits[round / 2] | PERF_SAMPLE_ADDR;
		attrs[1].type = PERF_TYPE_SOFTWARE;
		attrs[1].config = PERF_COUNT_SW_DUMMY;
		attrs[2].config = PERF_COUNT_HW_INSTRUCTIONS;
		attrs[2].sample_type |= PERF_SAMPLE_CALLCHAIN;
		im_file(&im, attrs, 3);
		for (uint64_t i = 0; i < 30; i++) {
			size_t event = i % 3 ? 2 : 0;

			im_sample(&im, &attrs[event], 100 + i, 10 + event, event);
		}
		im_comm(&im, &attrs[1], 200, 11, "program");
		im_sample(&im, &attrs[0], 300, 99, 0); /* an id that nobody described */
		im_file_end(&im, im_data_off(attrs, 3));
		rec = im_open(&im);
		info = recording_info(rec);
		assert_string_equal(info->events[0].name, "cycles");
		assert_true(info->events[1].is_dummy);
		assert_string_equal(info->events[2].name, "instructions");
		assert_string_equal(source_granted(recording_source(rec))->event.name, "cycles");
		for (uint64_t i = 0; i < 30; i++) {
			assert_true(im_next(rec, &record));
			assert_int_equal(record.time_ns, 100 + i);
			assert_int_equal(record.sample.event, i % 3 ? 2 : 0);
			assert_int_equal(record.sample.ip, record.sample.event);
			assert_int_equal(record.sample.nr_callchain, i % 3 ? 3 : 0);
		}
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_COMM);
		assert_int_equal(record.time_ns, 200);
		assert_false(im_next(rec, &record));
		assert_int_equal(info->events[2].nr_samples, 20);
		recording_select(rec, 2);
		assert_string_equal(source_granted(recording_source(rec))->event.name,
				    "instructions");
		recording_close(rec);
		im_done(&im);
	}
}

static void modes_follow_the_fields(void **state)
{
	static const struct {
		uint64_t type, branches;
		enum stack_mode mode;
	} cases[] = {
		{PERF_SAMPLE_CALLCHAIN, 0, STACK_MODE_FP},
		{PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER, 0, STACK_MODE_FP},
		{PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 0, STACK_MODE_DWARF},
		{PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_ANY, STACK_MODE_FP},
		{PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_CALL_STACK, STACK_MODE_LBR},
		{PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_CALL_STACK, STACK_MODE_FP},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image im = {0};
		struct im_attr attr = cycles;
		struct recording *rec;

		attr.sample_type |= cases[i].type;
		attr.branch_type = cases[i].branches;
		make_file(&im, &attr, 1);
		rec = im_open(&im);
		assert_int_equal(recording_info(rec)->events[0].format.mode, cases[i].mode);
		assert_int_equal(source_granted(recording_source(rec))->mode, cases[i].mode);
		recording_close(rec);
		im_done(&im);
	}
}

/* --- features --- */

static void put_string(struct image *im, const char *text)
{
	im_u32(im, (uint32_t)strlen(text) + 1);
	im_raw(im, text, strlen(text) + 1);
}

static void put_feature(struct image *im, unsigned int feature)
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
		put_string(im, "host\033[31m");
		break;
	case 4:
		put_string(im, "6.1.0");
		break;
	case 6:
		put_string(im, "aarch64");
		break;
	case 7:
		im_u32(im, 8);
		im_u32(im, 6);
		break;
	case 11:
		im_u32(im, 3);
		put_string(im, "perf");
		put_string(im, "record");
		put_string(im, "-a");
		break;
	case 12:
		im_u32(im, 1);
		im_u32(im, 112);
		im_attr(im, &cycles);
		im_u32(im, 1);
		put_string(im, "cycles:P");
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

static const unsigned int features[] = {2, 3, 4, 6, 7, 9, 11, 12, 21, 29, 40};

static void check_features(const struct recording_info *info)
{
	assert_string_equal(info->hostname, "host?[31m");
	assert_string_equal(info->release, "6.1.0");
	assert_string_equal(info->machine, "aarch64");
	assert_int_equal(info->arch, RECORDING_ARCH_AARCH64);
	assert_int_equal(info->cpus_available, 8);
	assert_int_equal(info->cpus_online, 6);
	assert_string_equal(info->command, "perf record -a");
	assert_string_equal(info->events[0].name, "cycles:P");
	assert_int_equal(info->told_last_ns, 2000);
	assert_int_equal(info->wall_offset_ns, 1700000000000000000 - 5000);
	assert_int_equal(info->nr_build_ids, 2);
	assert_int_equal(info->build_ids[0].pid, 100);
	assert_int_equal(info->build_ids[0].build_id_bytes, 16);
	assert_false(info->build_ids[0].is_kernel);
	assert_string_equal(info->build_ids[0].path, "/usr/bin/program");
	assert_int_equal(info->build_ids[1].pid, -1);
	assert_int_equal(info->build_ids[1].build_id_bytes, 20);
	assert_true(info->build_ids[1].is_kernel);
	assert_memory_equal(info->build_ids[1].build_id, "0123456789abcdefghij", 20);
}

/* A file with features behind its data; *RET_TABLE: where their table is. */
static void make_features(struct image *im, size_t *ret_table)
{
	size_t table, at;

	make_file(im, &cycles, 5);
	table = im->len;
	im_fill(im, 0, 16 * ARRAY_SIZE(features));
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		uint64_t bits = 0;

		for (size_t j = 0; j < ARRAY_SIZE(features); j++)
			bits |= 1ull << features[j];
		im_set(im, 72, bits, 8);
		at = im->len;
		put_feature(im, features[i]);
		im_set(im, table + 16 * i, at, 8);
		im_set(im, table + 16 * i + 8, im->len - at, 8);
	}
	*ret_table = table;
}

static void the_header_tells_of_the_machine(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct recording *rec;
		size_t table;

		make_features(&im, &table);
		rec = im_open(&im);
		check_features(recording_info(rec));
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
		assert_string_equal(trouble_of(rec), "");
		recording_close(rec);
		im_done(&im);
	}
}

/* Every entry of the table pointing anywhere: the samples are there all the same. */
static void damaged_features_are_left_out(void **state)
{
	static const uint64_t wrong[] = {1, 1u << 20, 1ull << 40, UINT64_MAX, UINT64_MAX - 100};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(features) * ARRAY_SIZE(wrong); i++) {
		struct image im = {0};
		struct recording *rec;
		size_t table;

		make_features(&im, &table);
		im_set(&im, table + 8 * (i / ARRAY_SIZE(wrong)), wrong[i % ARRAY_SIZE(wrong)], 8);
		rec = im_open(&im);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
		assert_false(is_bad(rec));
		recording_close(rec);
		im_done(&im);
	}
}

/* --- pipe mode --- */

static void make_pipe(struct image *im, int nr)
{
	size_t start;

	im_pipe(im);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (features[i] == 2 || features[i] == 12)
			continue;
		start = im_start(im, 80, 0);
		im_u64(im, features[i]);
		put_feature(im, features[i]);
		im_fill(im, 0, (8 - im->len % 8) % 8);
		im_end(im, start);
	}
	im_pipe_attr(im, &cycles, 10);
	start = im_start(im, 78, 0); /* EVENT_UPDATE: name */
	im_u64(im, 2);
	im_u64(im, 10);
	im_text(im, "cycles:P", start);
	im_end(im, start);
	put_feature(im, 2);
	start = im_start(im, 66, 0); /* tracing data: 13 bytes and padding follow */
	im_u32(im, 13);
	im_u32(im, 0);
	im_end(im, start);
	im_fill(im, 0xff, 16);
	im_comm(im, &cycles, 999, 10, "program");
	start = im_start(im, 71, 0); /* AUXTRACE: data follows */
	im_u64(im, 100000);
	im_fill(im, 0, 40);
	im_end(im, start);
	im_fill(im, 0xff, 100000);
	im_end(im, im_start(im, 11, 0)); /* AUX */
	im_end(im, im_start(im, 60, 0)); /* of a kernel to come */
	im_end(im, im_start(im, 200, 0));
	for (int i = 0; i < nr; i++)
		im_sample(im, &cycles, 1000 + (uint64_t)i, 10, (uint64_t)i);
}

static void pipe_mode_is_read_from_a_file(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct recording *rec;
		uint64_t done, total;

		make_pipe(&im, 100);
		rec = im_open(&im);
		assert_true(recording_info(rec)->is_pipe);
		recording_progress(rec, &done, &total);
		assert_int_equal(done, 0);
		assert_int_equal(total, im.len - 16);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 100);
		assert_string_equal(trouble_of(rec), "");
		check_features(recording_info(rec));
		assert_string_equal(trouble_of(rec), "");
		assert_int_equal(recording_info(rec)->skipped_records, 5);
		recording_progress(rec, &done, &total);
		assert_int_equal(done, total);
		/* Once more: nothing is there twice. */
		assert_int_equal(recording_rewind(rec), 0);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 100);
		assert_int_equal(recording_info(rec)->nr_events, 1);
		assert_int_equal(recording_info(rec)->events[0].nr_samples, 100);
		check_features(recording_info(rec));
		recording_close(rec);
		im_done(&im);
	}
}

/* Through a real pipe, a few bytes at a time: nothing is waited for, nothing is lost. */
static void a_growing_pipe_is_followed(void **state)
{
	static const size_t steps[] = {1, 7, 64, 4096};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct image im = {0};
		struct recording *rec;
		struct err err;
		uint64_t nr = 0;
		int ends[2];

		im_pipe(&im);
		im_pipe_attr(&im, &cycles, 10);
		for (uint64_t j = 0; j < 60; j++) {
			im_sample(&im, &cycles, 1000 + j, 10, j);
			if (j % 10 == 9)
				im_round(&im);
		}
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		assert_int_equal(write(ends[1], im.data, 16), 16);
		assert_int_equal(recording_open(ends[0], "-", &rec, &err), 0);
		assert_int_equal(recording_fd(rec), ends[0]);
		assert_int_equal(source_drain(recording_source(rec), 0), 0);
		for (size_t off = 16; off < im.len;) {
			size_t n = MIN(steps[i], im.len - off);

			assert_int_equal(write(ends[1], im.data + off, n), n);
			off += n;
			nr += im_count(rec, RECORD_SAMPLE);
			assert_false(recording_is_over(rec));
		}
		/* Two rounds are behind the last but one's end: the file's promise. */
		assert_int_equal(nr, 50);
		close(ends[1]);
		nr += im_count(rec, RECORD_SAMPLE);
		assert_true(recording_is_over(rec));
		assert_int_equal(recording_fd(rec), -1);
		assert_int_equal(nr, 60);
		assert_string_equal(trouble_of(rec), "");
		assert_int_equal(recording_rewind(rec), -ESPIPE);
		recording_close(rec);
		im_done(&im);
	}
}

/* --- order --- */

static void rounds_put_records_in_order(void **state)
{
	struct image im = {0};
	struct source_stats stats;
	struct recording *rec;
	struct record record;
	uint64_t last = 0, nr = 0;

	(void)state;
	im_file(&im, &cycles, 1);
	/* Four rings, a round each 100 ns, each ring a little behind the one before. */
	for (uint64_t round = 0; round < 50; round++) {
		for (uint64_t ring = 0; ring < 4; ring++)
			for (uint64_t i = 0; i < 100; i += 10)
				im_sample(&im, &cycles, 1000 + round * 100 + i + ring, 10, 0);
		im_round(&im);
	}
	im_sample(&im, &cycles, 1500, 10, 0); /* far too late */
	im_file_end(&im, im_data_off(&cycles, 1));
	rec = im_open(&im);
	while (im_next(rec, &record)) {
		if (record.time_ns != 1500 || nr < 1000)
			assert_true(record.time_ns >= last);
		last = MAX(last, record.time_ns);
		nr++;
	}
	assert_int_equal(nr, 2001);
	source_stats(recording_source(rec), &stats);
	assert_int_equal(stats.late_records, 0);
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
	struct im_attr attr = cycles;
	struct source_stats stats;
	struct recording *rec;
	struct record record;
	uint64_t last = 0, nr = 0;
	size_t room = 0;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.regs = REGS;
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
	source_stats(recording_source(rec), &stats);
	assert_int_equal(stats.late_records, 1);
	recording_close(rec);
	im_done(&im);
}

/* Each chunk of memory keeps something young: half of what is there must still become free. */
static void a_window_of_long_runs_moves_on(void **state)
{
	const uint64_t rings = 6, per_ring = 70000;
	struct image im = {0};
	struct im_attr attr = cycles;
	struct recording *rec;
	uint64_t nr;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.regs = REGS;
	im_file(&im, &attr, 1);
	for (uint64_t ring = 0; ring < rings; ring++)
		for (uint64_t i = 0; i < per_ring; i++)
			im_sample(&im, &attr, i % 2 ? 1000 + i : 1000000 + ring * per_ring + i, 10,
				  ring);
	im_file_end(&im, im_data_off(&attr, 1));
	rec = im_open(&im);
	nr = im_count(rec, RECORD_SAMPLE);
	assert_int_equal(nr, rings * per_ring);
	recording_close(rec);
	im_done(&im);
}

/* Without times everything stays as it stands in the file. */
static void without_times_the_file_is_the_order(void **state)
{
	struct image im = {0};
	struct im_attr attr = cycles;
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
	make_file(&im, &cycles, 1000);
	rec = im_open(&im);
	for (int round = 0; round < 3; round++) {
		assert_true(im_next(rec, &record));
		assert_int_equal(record.kind, RECORD_COMM);
		for (uint64_t i = 0; i < (round == 1 ? 10 : 1000); i++) {
			assert_true(im_next(rec, &record));
			assert_int_equal(record.sample.ip, i);
		}
		assert_int_equal(recording_info(rec)->first_ns, 1000);
		assert_int_equal(recording_info(rec)->last_ns, round == 1 ? 1009 : 1999);
		assert_int_equal(recording_rewind(rec), 0);
		assert_int_equal(recording_info(rec)->events[0].nr_samples, 0);
		assert_false(recording_is_over(rec));
	}
	recording_close(rec);
	im_done(&im);
}

/* --- damage --- */

/* Cut anywhere: a prefix of the samples, and a word about it; never a wait or a crash. */
static void a_file_may_be_cut_anywhere(void **state)
{
	(void)state;
	for (int pipe = 0; pipe < 2; pipe++) {
		struct image im = {0};
		size_t first_sample, table = 0;

		if (pipe) {
			im_pipe(&im);
			im_pipe_attr(&im, &cycles, 10);
			im_comm(&im, &cycles, 1, 10, "program");
			first_sample = im.len;
			for (uint64_t i = 0; i < 20; i++)
				im_sample(&im, &cycles, 2 + i, 10, i);
		} else {
			make_features(&im, &table);
			first_sample = im_data_off(&cycles, 1) + 40;
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
				assert_string_not_equal(trouble_of(rec), "");
			if (end >= first_sample)
				assert_false(is_bad(rec));
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
	make_file(&im, &cycles, 30);
	im_set(&im, 48, 0, 8);
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 30);
	assert_non_null(strstr(trouble_of(rec), "not finished"));
	assert_false(is_bad(rec));
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
			make_pipe(&im, 10);
		else
			make_file(&im, &cycles, 10);
		im_raw(&im, rubbish[i / 2].text, rubbish[i / 2].len);
		rec = im_open(&im);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 10);
		assert_int_equal(recording_info(rec)->trailing_bytes, rubbish[i / 2].len);
		assert_string_not_equal(trouble_of(rec), "");
		assert_false(is_bad(rec));
		recording_close(rec);
		im_done(&im);
	}
}

static void damage_in_the_middle_ends_it(void **state)
{
	struct image im = {0};
	struct recording *rec;

	(void)state;
	make_file(&im, &cycles, 10);
	im_set(&im, im_data_off(&cycles, 1) + 40 + 5 * 40 + 6, 0, 2); /* a record of no size */
	rec = im_open(&im);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
	assert_non_null(strstr(trouble_of(rec), "offset 480"));
	assert_true(is_bad(rec));
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
	struct im_attr attr = cycles;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			    PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			    PERF_SAMPLE_STACK_USER | PERF_SAMPLE_IDENTIFIER;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	attr.regs = REGS;
	for (int kind = 0; kind < 4; kind++) {
		struct image im = {.swap = kind & 1};
		uint8_t saved[8];
		size_t table;

		if (kind & 2) {
			im_pipe(&im);
			im_pipe_attr(&im, &attr, 10);
		} else {
			make_features(&im, &table);
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
		cmocka_unit_test(attrs_of_any_size_are_read),
		cmocka_unit_test(samples_of_any_fields_are_read),
		cmocka_unit_test(other_records_are_read),
		cmocka_unit_test(samples_find_their_event),
		cmocka_unit_test(modes_follow_the_fields),
		cmocka_unit_test(the_header_tells_of_the_machine),
		cmocka_unit_test(damaged_features_are_left_out),
		cmocka_unit_test(pipe_mode_is_read_from_a_file),
		cmocka_unit_test(a_growing_pipe_is_followed),
		cmocka_unit_test(rounds_put_records_in_order),
		cmocka_unit_test(without_rounds_a_window_orders),
		cmocka_unit_test(a_window_of_long_runs_moves_on),
		cmocka_unit_test(without_times_the_file_is_the_order),
		cmocka_unit_test(a_rewound_recording_is_the_same_again),
		cmocka_unit_test(a_file_may_be_cut_anywhere),
		cmocka_unit_test(an_unfinished_file_is_read_to_its_end),
		cmocka_unit_test(rubbish_behind_the_records_is_told),
		cmocka_unit_test(damage_in_the_middle_ends_it),
		cmocka_unit_test(no_number_is_believed),
		cmocka_unit_test(what_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
