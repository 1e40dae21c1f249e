/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings are read whatever perf wrote them: any size of attr, any fields,
 * either byte order, files and pipes.
 */
#include "config.h"

#include "tests/recording_bytes.h"

#include <errno.h>
#include <fcntl.h>

/* --- what is read --- */

static void attrs_of_any_size_are_read(void **state)
{
	static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 400};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct image im = {.swap = i % 2};
		struct im_attr attr = im_cycles;
		const struct recording_event *event;
		struct recording *rec;

		attr.bytes = sizes[i / 2];
		attr.branch_type = 1;
		attr.regs = IM_REGS;
		attr.stack = 8192;
		attr.exclude_kernel = true;
		im_whole_file(&im, &attr, 5);
		rec = im_open(&im);
		event = &recording_info(rec)->events[0];
		assert_int_equal(recording_info(rec)->nr_events, 1);
		assert_int_equal(recording_info(rec)->is_swapped, i % 2);
		assert_string_equal(event->name, "cycles:u");
		assert_true(event->is_freq);
		assert_int_equal(event->freq_or_period, 999);
		assert_int_equal(event->format.sample_type, IM_BASIC);
		assert_true(event->format.sample_id_all);
		assert_int_equal(event->format.branch_sample_type, attr.bytes >= 80 ? 1 : 0);
		assert_int_equal(event->format.regs_user_mask, attr.bytes >= 96 ? IM_REGS : 0);
		assert_int_equal(event->stack_bytes, attr.bytes >= 96 ? 8192 : 0);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
		assert_string_equal(im_trouble(rec), "");
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
		struct im_attr attr = {.bytes = 136, .regs = IM_REGS, .stack = 32};
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
		assert_string_equal(im_trouble(rec), "");
		recording_close(rec);
		im_done(&im);
	}
}

/* An MMAP2 record of 0x2000 bytes at VA, up to where its file is told. Returns its start. */
static size_t start_mmap2(struct image *im, uint16_t misc, uint64_t va, uint64_t file_off)
{
	size_t start = im_start(im, PERF_RECORD_MMAP2, misc);

	im_u32(im, 100);
	im_u32(im, 101);
	im_u64(im, va);
	im_u64(im, 0x2000);
	im_u64(im, file_off);
	return start;
}

/* Its file by device 8:1, inode and generation. */
static void put_inode(struct image *im)
{
	im_u32(im, 8);
	im_u32(im, 1);
	im_u64(im, 4711);
	im_u64(im, 2);
}

/* The kernel of RHEL 7 has MMAP2 without prot and flags. */
static void mappings_without_protection_are_read(void **state)
{
	static const char *const names[] = {"/usr/bin/program", "//anon", "[vdso]", "/a", "a"};

	(void)state;
	for (unsigned int round = 0; round < 2 * 2 * ARRAY_SIZE(names); round++) {
		struct image im = {.swap = round % 2};
		bool has_prot = round / 2 % 2;
		const char *name = names[round / 4];
		struct recording *rec;
		struct record record;
		size_t start;

		im_file(&im, &im_cycles, 1);
		for (uint16_t misc = 0; misc <= PERF_RECORD_MISC_MMAP_DATA;
		     misc += PERF_RECORD_MISC_MMAP_DATA) {
			start = start_mmap2(&im, PERF_RECORD_MISC_USER | misc, 0x400000, 0x1000);
			put_inode(&im);
			if (has_prot) {
				im_u32(&im, misc ? 3 : 5);
				im_u32(&im, 2);
			}
			im_text(&im, name, start);
			im_sample_id(&im, &im_cycles, 1 + misc, 10);
			im_end(&im, start);
		}
		im_file_end(&im, im_data_off(&im_cycles, 1));
		rec = im_open(&im);
		for (int i = 0; i < 2; i++) {
			assert_true(im_next(rec, &record));
			assert_int_equal(record.kind, RECORD_MMAP);
			assert_string_equal(record.mmap.filename, name);
			assert_int_equal(record.mmap.is_exec, i == 0);
			assert_int_equal(record.mmap.ino, 4711);
			assert_int_equal(record.mmap.flags, has_prot ? 2 : 0);
		}
		recording_close(rec);
		im_done(&im);
	}
}

/* Only the leader of a group is sampled; what the others have counted since is read with it. */
static void members_of_a_group_have_samples(void **state)
{
	static const uint64_t values[][2] = {{100, 5}, {250, 5}, {400, 9}, {30, 10}};
	static const struct {
		uint32_t event;
		uint64_t period;
	} wanted[] = {{0, 100}, {1, 5}, {0, 150}, {0, 150}, {1, 4}, {0, 30}, {1, 1}};

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct im_attr attrs[2] = {im_cycles, im_cycles};
		struct recording *rec;
		struct record record;

		attrs[0].sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ;
		attrs[0].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | 1 << 4;
		attrs[1] = attrs[0];
		attrs[1].config = PERF_COUNT_HW_INSTRUCTIONS;
		im_file(&im, attrs, 2);
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			size_t at;

			im_sample(&im, &attrs[0], 5000 + i, 10, 0x400 + i);
			at = im.len - 6 * sizeof(uint64_t);
			for (size_t k = 0; k < 2; k++) {
				im_set(&im, at + k * 24, values[i][k], 8);
				im_set(&im, at + k * 24 + 8, 10 + k, 8);
			}
		}
		im_file_end(&im, im_data_off(attrs, 2));
		rec = im_open(&im);
		for (int round = 0; round < 2; round++) {
			for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
				assert_true(im_next(rec, &record));
				assert_int_equal(record.sample.event, wanted[i].event);
				assert_int_equal(record.sample.period, wanted[i].period);
				assert_int_equal(record.id, 10 + wanted[i].event);
			}
			assert_false(im_next(rec, &record));
			assert_int_equal(recording_info(rec)->events[0].nr_samples, 4);
			assert_int_equal(recording_info(rec)->events[1].nr_samples, 3);
			assert_int_equal(recording_rewind(rec), 0);
		}
		recording_close(rec);
		im_done(&im);
	}
}

/* Of some kernels and events the attr says that ip is exact, of others each sample. */
static void precise_samples_are_told(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 8; round++) {
		struct image im = {.swap = round >= 4};
		struct im_attr attr = im_cycles;
		struct record record;
		struct recording *rec;
		size_t at;

		attr.precise = round % 4;
		im_file(&im, &attr, 1);
		im_sample(&im, &attr, 5000, 10, 0x401234);
		at = im.len;
		im_sample(&im, &attr, 5001, 10, 0x401234);
		im_set(&im, at + 4, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, 2);
		im_file_end(&im, im_data_off(&attr, 1));
		rec = im_open(&im);
		assert_true(im_next(rec, &record));
		assert_int_equal(record.sample.is_precise, attr.precise > 0);
		assert_true(im_next(rec, &record));
		assert_true(record.sample.is_precise);
		assert_int_equal(record.sample.cpumode, PERF_RECORD_MISC_USER);
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
		struct im_attr attr = im_cycles;
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
		start = start_mmap2(&im, PERF_RECORD_MISC_USER, 0x400000, 0x1000);
		put_inode(&im);
		im_u32(&im, 5);
		im_u32(&im, 2);
		im_text(&im, "/usr/bin/program", start);
		im_sample_id(&im, &attr, 2, 10);
		im_end(&im, start);
		start = start_mmap2(&im, 1 << 14, 0x500000, 0);
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

/* Two CPUs are held back at the same time: each for what it was. */
static void throttling_is_summed_up(void **state)
{
	static const struct {
		uint32_t type, cpu;
		uint64_t time_ns;
	} records[] = {{PERF_RECORD_THROTTLE, 0, 100},
		       {PERF_RECORD_THROTTLE, 1, 110},
		       {PERF_RECORD_UNTHROTTLE, 0, 150},
		       {PERF_RECORD_UNTHROTTLE, 0, 160},
		       {PERF_RECORD_UNTHROTTLE, 1, 200}};

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct im_attr attr = im_cycles;
		struct source_stats stats;
		struct recording *rec;

		attr.sample_type |= PERF_SAMPLE_CPU;
		im_file(&im, &attr, 1);
		for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
			size_t start = im_start(&im, records[i].type, 0);

			im_fill(&im, 0, 24);
			im_sample_id(&im, &attr, records[i].time_ns, 10);
			im_set(&im, im.len - 8, records[i].cpu, 4);
			im_end(&im, start);
		}
		im_file_end(&im, im_data_off(&attr, 1));
		rec = im_open(&im);
		im_count(rec, RECORD_THROTTLE);
		recording_stats(rec, &stats);
		assert_int_equal(stats.throttled, 2);
		assert_int_equal(stats.throttled_ns, 50 + 90);
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
		struct im_attr attrs[3] = {im_cycles, im_cycles, im_cycles};
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
		struct im_attr attr = im_cycles;
		struct recording *rec;

		attr.sample_type |= cases[i].type;
		attr.branch_type = cases[i].branches;
		im_whole_file(&im, &attr, 1);
		rec = im_open(&im);
		assert_int_equal(recording_info(rec)->events[0].format.mode, cases[i].mode);
		recording_close(rec);
		im_done(&im);
	}
}

/* --- features --- */

static void check_features(const struct recording_info *info)
{
	assert_string_equal(info->hostname, "host?[31m");
	assert_string_equal(info->release, "6.1.0");
	assert_string_equal(info->machine, "aarch64");
	assert_int_equal(info->arch, RECORDING_ARCH_AARCH64);
	assert_int_equal(info->cpus_online, 6);
	assert_string_equal(info->events[0].name, "cycles:P");
	assert_int_equal(info->nr_build_ids, 2);
	assert_int_equal(info->build_ids[0].build_id_bytes, 16);
	assert_false(info->build_ids[0].is_kernel);
	assert_string_equal(info->build_ids[0].path, "/usr/bin/program");
	assert_int_equal(info->build_ids[1].build_id_bytes, 20);
	assert_true(info->build_ids[1].is_kernel);
	assert_memory_equal(info->build_ids[1].build_id, "0123456789abcdefghij", 20);
}

static void the_header_tells_of_the_machine(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct recording *rec;
		size_t table;

		im_features_file(&im, &table);
		rec = im_open(&im);
		check_features(recording_info(rec));
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
		assert_string_equal(im_trouble(rec), "");
		recording_close(rec);
		im_done(&im);
	}
}

/* --- pipe mode --- */

static void pipe_mode_is_read_from_a_file(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct image im = {.swap = swap};
		struct recording *rec;
		uint64_t done, total;

		im_whole_pipe(&im, 100);
		rec = im_open(&im);
		assert_true(recording_info(rec)->is_pipe);
		recording_progress(rec, &done, &total);
		assert_int_equal(done, 0);
		assert_int_equal(total, im.len - 16);
		assert_int_equal(im_count(rec, RECORD_SAMPLE), 100);
		assert_string_equal(im_trouble(rec), "");
		check_features(recording_info(rec));
		assert_string_equal(im_trouble(rec), "");
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
		im_pipe_attr(&im, &im_cycles, 10);
		for (uint64_t j = 0; j < 60; j++) {
			im_sample(&im, &im_cycles, 1000 + j, 10, j);
			if (j % 10 == 9)
				im_round(&im);
		}
		assert_int_equal(pipe2(ends, i % 2 ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK), 0);
		assert_int_equal(write(ends[1], im.data, 16), 16);
		assert_int_equal(recording_open(ends[0], "-", &rec, &err), 0);
		assert_int_equal(recording_fd(rec), ends[0]);
		assert_int_equal(recording_read(rec), 0);
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
		assert_string_equal(im_trouble(rec), "");
		assert_int_equal(recording_rewind(rec), -ESPIPE);
		recording_close(rec);
		im_done(&im);
	}
}

/* What nobody would write, but cat does: all but what stands behind the data. */
static void file_mode_is_read_from_a_pipe(void **state)
{
	struct image im = {0};
	struct recording *rec;
	struct err err;
	size_t table;
	int ends[2];

	(void)state;
	im_features_file(&im, &table);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], im.data, im.len), im.len);
	close(ends[1]);
	assert_int_equal(recording_open(ends[0], "-", &rec, &err), 0);
	assert_false(recording_info(rec)->is_pipe);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 5);
	assert_non_null(strstr(im_trouble(rec), "behind the data"));
	assert_false(im_is_bad(rec));
	recording_close(rec);
	/* once more, cut */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], im.data, table - 50), table - 50);
	close(ends[1]);
	assert_int_equal(recording_open(ends[0], "-", &rec, &err), 0);
	assert_int_equal(im_count(rec, RECORD_SAMPLE), 3);
	assert_non_null(strstr(im_trouble(rec), "cut"));
	recording_close(rec);
	im_done(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attrs_of_any_size_are_read),
		cmocka_unit_test(samples_of_any_fields_are_read),
		cmocka_unit_test(mappings_without_protection_are_read),
		cmocka_unit_test(members_of_a_group_have_samples),
		cmocka_unit_test(precise_samples_are_told),
		cmocka_unit_test(other_records_are_read),
		cmocka_unit_test(throttling_is_summed_up),
		cmocka_unit_test(samples_find_their_event),
		cmocka_unit_test(modes_follow_the_fields),
		cmocka_unit_test(the_header_tells_of_the_machine),
		cmocka_unit_test(pipe_mode_is_read_from_a_file),
		cmocka_unit_test(a_growing_pipe_is_followed),
		cmocka_unit_test(file_mode_is_read_from_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
