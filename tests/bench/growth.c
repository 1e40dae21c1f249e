/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine's path from rings to snapshots, fed with recorded samples as if
 * they came from more CPUs and more processes than this machine has:
 *
 *	growth RECORDING CPUS PROCESSES SAMPLES
 *
 * Prints tab-separated: CPUs, processes, samples, ns per sample (CPU time), of
 * that ns in the drain, MB that grew, seconds of work per second of sampling at
 * 999 Hz on all CPUs, percent complete. The rings are memory files, filled as the
 * kernel would; everything after them is the real code. The time to fill them
 * is not counted.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/engine.h"
#include "src/model/snapshot.h"
#include "src/perf/attr.h"
#include "src/perf/drain.h"
#include "src/proc/proc.h"
#include "src/profile/profile.h"
#include "tests/oracle/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define PAGE_BYTES	4096
#define CACHE_LINE	64
#define STACK_BYTES	16384
#define ROUND_SAMPLES	4096 /* of all CPUs together at most */
#define CPU_SAMPLES	100  /* of one: 100 ms at 999 Hz */
#define ROUND_NS	(ENGINE_ROUND_MS * NS_PER_MSEC)
#define SNAPSHOT_ROUNDS 40
#define WARM_ROUNDS	4 /* not counted: memory is new */
#define FIRST_PID	100000
#define HZ		999

struct bench {
	struct samples samples;
	struct event_list list;
	struct drain drain;
	struct profile *profile;
	uint32_t nr_cpus, nr_processes;
	uint64_t time_ns;
	uint64_t added, complete;
	uint32_t nr_objects;
	uint64_t work_ns, drain_ns;
};

static struct unwind_frame frames[UNWIND_FRAMES_MAX];
static struct profile_frame path[UNWIND_FRAMES_MAX];

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t rss_bytes(void)
{
	unsigned long total, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * PAGE_BYTES;
}

/* --- rings --- */

static int open_ring(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     size_t ring_pages)
{
	size_t bytes = (ring_pages + 1) * PAGE_BYTES;
	struct perf_event_mmap_page *page;
	int fd = memfd_create("ring", MFD_CLOEXEC);

	(void)context;
	(void)attr;
	(void)pid;
	(void)cpu;
	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	page->data_offset = PAGE_BYTES;
	page->data_size = ring_pages * PAGE_BYTES;
	munmap(page, PAGE_BYTES);
	return fd;
}

static void no_mapped(void *context)
{
	(void)context;
}

static uint8_t *put(uint8_t *p, const void *data, size_t bytes)
{
	memcpy(p, data, bytes);
	return p + bytes;
}

static uint8_t *put_u64(uint8_t *p, uint64_t value)
{
	return put(p, &value, sizeof(value));
}

/* <asm/perf_regs.h>'s numbers by DWARF number. */
static const uint8_t perf_regs[X86_NR_REGS] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
					       17, 18, 19, 20, 21, 22, 23, 8};

/* What the kernel writes for attr_sampling's sample_type. Returns its size. */
static size_t make_record(const struct sample *s, uint32_t pid, uint32_t cpu, uint64_t time_ns,
			  uint8_t *out)
{
	uint64_t dyn_bytes = MIN(s->stack.bytes, (uint64_t)STACK_BYTES), by_bit[64] = {0};
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE,
					   .misc = PERF_RECORD_MISC_USER};
	uint8_t *p = out + sizeof(header);

	p = put_u64(p, 1); /* identifier */
	p = put_u64(p, s->regs.r[X86_RIP]);
	p = put_u64(p, pid | (uint64_t)pid << 32);
	p = put_u64(p, time_ns);
	p = put_u64(p, cpu);
	p = put_u64(p, NS_PER_SEC / HZ);
	p = put_u64(p, 0); /* callchain */
	p = put_u64(p, RECORD_ABI_64);
	for (size_t i = 0; i < X86_NR_REGS; i++)
		by_bit[perf_regs[i]] = s->regs.r[i];
	for (unsigned int bit = 0; bit < 64; bit++)
		if (attr_regs_mask >> bit & 1)
			p = put_u64(p, by_bit[bit]);
	p = put_u64(p, STACK_BYTES);
	memcpy(p, s->stack.data, dyn_bytes);
	p += STACK_BYTES;
	p = put_u64(p, dyn_bytes);
	header.size = (uint16_t)(p - out);
	memcpy(out, &header, sizeof(header));
	return header.size;
}

static void flush(const uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += CACHE_LINE)
		_mm_clflush(data + i);
}

static void ring_write(struct ring *ring, const uint8_t *data, size_t bytes)
{
	uint8_t *base = (uint8_t *)(uintptr_t)ring->data;
	uint64_t head = ring->page->data_head, at = head & (ring->data_bytes - 1);
	size_t first = MIN(bytes, ring->data_bytes - at);

	memcpy(base + at, data, first);
	memcpy(base, data + first, bytes - first);
	flush(base + at, first); /* as if another CPU had written it */
	flush(base, bytes - first);
	__atomic_store_n(&ring->page->data_head, head + bytes, __ATOMIC_RELEASE);
}

/* One round's samples of each CPU. */
static void fill_rings(struct bench *b, uint32_t per_cpu, uint64_t *next)
{
	static uint8_t raw[65536];

	for (uint32_t cpu = 0; cpu < b->nr_cpus; cpu++)
		for (uint32_t i = 0; i < per_cpu; i++) {
			const struct sample *s = &b->samples.all[*next % b->samples.nr];
			/* A process keeps to one space: its samples are those of that space. */
			uint32_t pid = FIRST_PID + (uint32_t)(*next % b->nr_processes);
			uint64_t time_ns = b->time_ns + i * (ROUND_NS / per_cpu) + cpu;
			const struct sample *own =
				&b->samples.all[(pid - FIRST_PID) % b->samples.nr];

			if (own->space != s->space)
				s = own;
			ring_write(&b->list.rings[cpu].ring, raw,
				   make_record(s, pid, cpu, time_ns, raw));
			++*next;
		}
}

/* --- processes --- */

static int start_process(struct bench *b, uint32_t pid, const struct space *space)
{
	struct record record = {.kind = RECORD_COMM,
				.pid = pid,
				.tid = pid,
				.time_ns = b->time_ns,
				.comm = {.is_exec = true, .comm = "program"}};
	int r = procs_apply(b->samples.procs, &record);

	for (uint32_t i = 0; i < space->view.nr_maps && r >= 0; i++) {
		const struct unwind_map *map = &space->maps[i];

		record = (struct record){
			.kind = RECORD_MMAP, .pid = pid, .tid = pid, .time_ns = b->time_ns + 1};
		record.mmap = (struct record_mmap){
			.start = map->start,
			.len = map->end - map->start,
			.file_off = map->file_off,
			.is_exec = true,
			.filename = samples_path(&b->samples, map->module->id),
		};
		r = procs_apply(b->samples.procs, &record);
	}
	return r;
}

/* --- one round, as the engine does it --- */

static int tell_objects(struct bench *b)
{
	int r = 0;

	for (; r >= 0 && b->nr_objects < procs_nr_modules(b->samples.procs); b->nr_objects++)
		r = profile_object(b->profile, b->nr_objects,
				   procs_module(b->samples.procs, b->nr_objects)->name,
				   b->nr_objects == PROC_MODULE_KERNEL);
	return r;
}

static void take_regs(const struct record_sample *from, struct unwind_regs *ret)
{
	ret->machine = TABLE_MACHINE_X86_64;
	ret->is_precise = from->is_precise;
	ret->returned_to = 0;
	for (size_t i = 0; i < X86_NR_REGS; i++) {
		uint64_t bit = 1ull << perf_regs[i];

		ret->r[i] = from->regs[__builtin_popcountll(from->regs_mask & (bit - 1))];
	}
}

static void take_sample(struct bench *b, const struct record *record)
{
	struct process *process =
		procs_of_sample(b->samples.procs, (pid_t)record->pid, record->time_ns);
	const struct record_sample *s = &record->sample;
	struct unwind_result result;
	struct unwind_regs regs;
	struct unwind_stack stack = {.data = s->stack,
				     .bytes = s->stack_bytes,
				     .is_cut = s->stack_bytes == s->stack_bytes_reserved};

	if (!process)
		return;
	take_regs(s, &regs);
	stack.base = regs.r[X86_RSP];
	unwind_dwarf(process_space(process), &regs, &stack, frames, &result);
	for (uint32_t i = 0; i < result.nr_frames; i++) {
		const struct unwind_frame *from = &frames[result.nr_frames - 1 - i];

		path[i].module =
			from->module == UNWIND_NO_MODULE ? PROC_MODULE_UNKNOWN : from->module;
		path[i].off = path[i].module < PROC_MODULE_VDSO ? 0 : from->off - from->is_return;
	}
	b->complete += result.end == STACK_END_ROOT;
	b->added += profile_add(b->profile,
				&(struct profile_sample){.time_ns = record->time_ns,
							 .process = process->index,
							 .tid = record->tid,
							 .weight = s->period,
							 .mode = STACK_MODE_DWARF,
							 .end = result.end},
				path, result.nr_frames, NULL) == 0;
}

__attribute__((noinline)) static void round_once(struct bench *b, bool with_snapshot)
{
	uint64_t start = cpu_ns();
	struct reordered reordered;
	struct record record;

	reorder_begin(b->drain.reorder);
	drain_rings(&b->drain, &b->list, UINT64_MAX);
	reorder_open(b->drain.reorder, UINT64_MAX);
	b->drain_ns += cpu_ns() - start;
	while (reorder_next(b->drain.reorder, &reordered))
		if (record_decode(&b->drain.formats[reordered.format], reordered.raw,
				  reordered.bytes, &record) == 0 &&
		    record.kind == RECORD_SAMPLE)
			take_sample(b, &record);
	drain_release(&b->list);
	profile_advance(b->profile, b->time_ns);
	if (with_snapshot)
		snapshot_free(profile_snapshot(b->profile, 0));
	b->work_ns += cpu_ns() - start;
}

/* --- the whole --- */

/* Only samples whose whole stack is in the copy: all of them must then be complete. */
static void keep_complete(struct samples *samples)
{
	struct unwind_result result;
	size_t nr = 0;

	for (size_t i = 0; i < samples->nr; i++) {
		struct sample *s = &samples->all[i];

		s->stack.bytes = MIN(s->stack.bytes, (uint64_t)STACK_BYTES);
		unwind_dwarf(&samples->spaces[s->space].view, &s->regs, &s->stack, frames, &result);
		if (result.end == STACK_END_ROOT)
			samples->all[nr++] = *s;
		else
			free((void *)(uintptr_t)s->stack.data);
	}
	samples->nr = nr;
}

static int set_up(struct bench *b, uint32_t per_cpu)
{
	static const struct perf_opener opener = {open_ring, no_mapped, NULL};
	struct event_config config = {.freq_hz = HZ,
				      .mode = STACK_MODE_DWARF,
				      .stack_bytes = STACK_BYTES,
				      .max_stack = 127};
	struct perf_event_attr attr;
	size_t pages = 1, wanted = ((size_t)per_cpu * (STACK_BYTES + 512)) / PAGE_BYTES + 1;
	int r = 0;

	while (pages < wanted)
		pages *= 2;
	event_default(&config.event);
	attr_sampling(&config, PAGE_BYTES, &attr);
	attr_format(&attr, STACK_MODE_DWARF, &b->drain.formats[DRAIN_SAMPLES + STACK_MODE_DWARF]);
	event_list_init(&b->list, &opener, &attr, &attr, pages, false);
	b->list.format = DRAIN_SAMPLES + STACK_MODE_DWARF;
	for (uint32_t cpu = 0; cpu < b->nr_cpus && r >= 0; cpu++)
		r = event_list_add_cpu(&b->list, (int)cpu);
	if (r < 0)
		return r;
	b->drain.reorder = reorder_new((size_t)1 << 30, 1 << 20);
	b->profile = profile_new(&profile_config_default);
	if (!b->drain.reorder || !b->profile)
		return -ENOMEM;
	profile_set_mode(b->profile, STACK_MODE_DWARF);
	for (uint32_t i = 0; i < b->nr_processes && r >= 0; i++)
		r = start_process(b, FIRST_PID + i,
				  &b->samples.spaces[b->samples.all[i % b->samples.nr].space]);
	return r < 0 ? r : tell_objects(b);
}

static void tear_down(struct bench *b)
{
	profile_free(b->profile);
	reorder_free(b->drain.reorder);
	event_list_done(&b->list);
	samples_done(&b->samples);
}

int main(int argc, char **argv)
{
	static struct bench b;
	uint64_t wanted, next = 0, before, nr = 0;
	uint32_t per_cpu;
	struct err err;
	int r;

	if (argc != 5) {
		fprintf(stderr, "usage: growth RECORDING CPUS PROCESSES SAMPLES\n");
		return 2;
	}
	b.nr_cpus = (uint32_t)strtoul(argv[2], NULL, 10);
	b.nr_processes = (uint32_t)strtoul(argv[3], NULL, 10);
	wanted = strtoul(argv[4], NULL, 10);
	b.time_ns = 1000 * NS_PER_SEC;
	if (samples_load(argv[1], 1000, &b.samples, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	keep_complete(&b.samples);
	if (b.samples.nr == 0 || b.nr_cpus == 0 || b.nr_processes == 0) {
		fprintf(stderr, "growth: nothing to do\n");
		return 1;
	}
	per_cpu = MIN((uint32_t)CPU_SAMPLES, ROUND_SAMPLES / b.nr_cpus + 1);
	before = rss_bytes();
	r = set_up(&b, per_cpu);
	if (r < 0) {
		fprintf(stderr, "growth: %s\n", strerror(-r));
		return 1;
	}
	for (uint64_t round = 0; nr < wanted; round++) {
		if (round == WARM_ROUNDS)
			nr = b.added = b.complete = b.work_ns = b.drain_ns = 0;
		fill_rings(&b, per_cpu, &next);
		b.time_ns += ROUND_NS;
		round_once(&b, round % SNAPSHOT_ROUNDS == 0);
		nr += (uint64_t)per_cpu * b.nr_cpus;
	}
	printf("growth\t%u\t%u\t%lu\t%.0f\t%.0f\t%.1f\t%.3f\t%.2f\n", b.nr_cpus, b.nr_processes,
	       b.added, (double)b.work_ns / (double)nr, (double)b.drain_ns / (double)nr,
	       (double)(rss_bytes() - before) / (1 << 20),
	       (double)b.work_ns / (double)nr * HZ * b.nr_cpus / NS_PER_SEC,
	       100.0 * (double)b.complete / (double)MAX(b.added, 1ul));
	tear_down(&b);
	return b.added == nr ? 0 : 1;
}
