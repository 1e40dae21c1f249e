/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a ring to the reorder buffer, on rings in plain memory: records that wrap at
 * every place, sizes that lie, samples that stay where they lie, a full reorder buffer.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/perf/attr.h"
#include "src/perf/drain.h"
#include "tests/perf_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define RING_BYTES (64u << 10)
#define NR_REGS	   17
#define FIRST_REG  0x5e60 /* the others count on */

/* The writer's side of a ring. */
static struct perf_event_mmap_page page;
static uint8_t data[RING_BYTES];

static void ring_write(const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[(page.data_head + i) % RING_BYTES] = ((const uint8_t *)bytes)[i];
	page.data_head += len;
}

/* A drain with one list of one ring that starts at position START. */
struct world {
	struct drain drain;
	struct event_list list;
	struct event_ring ring;
	const uint8_t *raw; /* where the last record lay that was handed out */
};

static void world_init(struct world *world, uint64_t start, enum drain_format format,
		       size_t buffer_bytes)
{
	struct event_config config = {
		.freq_hz = 1000,
		.mode = STACK_MODE_DWARF,
		.stack_bytes = 16384,
		.max_stack = 127,
	};
	struct perf_event_attr attr;

	memset(world, 0, sizeof(*world));
	memset(&page, 0, sizeof(page));
	memset(data, 0xdb, sizeof(data));
	page.data_head = start;
	page.data_tail = start;
	world->ring.ring = ring_over(&page, data, RING_BYTES);
	world->ring.ring.tail = start;
	world->ring.cpu = 3;
	world->list.rings = &world->ring;
	world->list.nr_rings = 1;
	world->list.format = (uint8_t)format;
	world->drain.reorder = reorder_new(buffer_bytes, 0);
	attr_sampling(&config, 1, &attr);
	attr_format(&attr, config.mode, &world->drain.formats[DRAIN_SAMPLES]);
	attr_sideband(&ATTR_FEATURES_ALL, false, &attr);
	attr_format(&attr, STACK_MODE_FP, &world->drain.formats[DRAIN_SIDEBAND]);
}

static void world_done(struct world *world)
{
	reorder_free(world->drain.reorder);
}

static int drain_until(struct world *world, uint64_t horizon_ns)
{
	int nr;

	reorder_begin(world->drain.reorder);
	nr = drain_rings(&world->drain, &world->list, horizon_ns);
	reorder_open(world->drain.reorder, horizon_ns);
	return nr;
}

static int drain(struct world *world)
{
	return drain_until(world, UINT64_MAX);
}

/* The end of a round of which the records do not matter. */
static void drop(struct world *world)
{
	struct reordered reordered;

	while (reorder_next(world->drain.reorder, &reordered))
		;
	drain_release(&world->list);
}

static bool next(struct world *world, struct record *ret)
{
	struct reordered reordered;

	if (!reorder_next(world->drain.reorder, &reordered)) {
		drain_release(&world->list);
		return false;
	}
	world->raw = reordered.raw;
	assert_int_equal((uintptr_t)reordered.raw % 8, 0);
	assert_int_equal(record_decode(&world->drain.formats[reordered.format], reordered.raw,
				       reordered.bytes, ret),
			 0);
	return true;
}

static void put_trailer(struct bytes *b, uint64_t time_ns)
{
	put_u32(b, 10);
	put_u32(b, 11);
	put_u64(b, time_ns);
	put_u32(b, 1);
	put_u32(b, 0);
	put_u64(b, 66);
	end_record(b);
}

static void make_comm(struct bytes *b, uint64_t time_ns, uint16_t misc)
{
	start_record(b, PERF_RECORD_COMM, misc);
	put_u32(b, 10);
	put_u32(b, 11);
	put_string(b, "somebody");
	put_trailer(b, time_ns);
}

static void make_mmap2(struct bytes *b, uint64_t time_ns, const char *path)
{
	start_record(b, PERF_RECORD_MMAP2, 0);
	put_u32(b, 10);
	put_u32(b, 11);
	for (uint64_t word = 1; word <= 6; word++)
		put_u64(b, word);
	put_u64(b, 5); /* PROT_READ | PROT_EXEC */
	put_string(b, path);
	put_trailer(b, time_ns);
}

static void make_lost(struct bytes *b, uint64_t time_ns, uint64_t count)
{
	start_record(b, PERF_RECORD_LOST, 0);
	put_u64(b, 66);
	put_u64(b, count);
	put_trailer(b, time_ns);
}

static void make_throttle(struct bytes *b, uint32_t type, uint64_t time_ns)
{
	start_record(b, type, 0);
	put_u64(b, time_ns);
	put_u64(b, 66);
	put_u64(b, 66);
	put_trailer(b, time_ns);
}

/* A sample with NR_CHAIN addresses and SIZE bytes of stack of which DYN were copied. */
static void make_sample(struct bytes *b, uint64_t time_ns, uint64_t nr_chain, uint64_t size,
			uint64_t dyn)
{
	start_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(b, 66);
	put_u64(b, 0x401000);
	put_u32(b, 10);
	put_u32(b, 11);
	put_u64(b, time_ns);
	put_u32(b, 1);
	put_u32(b, 0);
	put_u64(b, 1000000);
	put_u64(b, nr_chain);
	for (uint64_t i = 0; i < nr_chain; i++)
		put_u64(b, 0x8000 + i);
	put_u64(b, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < NR_REGS; i++)
		put_u64(b, FIRST_REG + i);
	put_u64(b, size);
	for (uint64_t i = 0; i < size; i++)
		put_fill(b, i < dyn ? (uint8_t)(i * 7) : 0xaa, 1);
	if (size)
		put_u64(b, dyn);
	end_record(b);
}

static void check_stack(const struct record *record, uint64_t size, uint64_t dyn)
{
	assert_int_equal(record->kind, RECORD_SAMPLE);
	assert_int_equal(record->sample.ip, 0x401000);
	assert_int_equal(record->sample.regs[NR_REGS - 1], FIRST_REG + NR_REGS - 1);
	assert_int_equal(record->sample.stack_bytes_reserved, size);
	assert_int_equal(record->sample.stack_bytes, dyn);
	for (uint64_t i = 0; i < dyn; i++)
		assert_int_equal(record->sample.stack[i], (uint8_t)(i * 7));
}

/* Wherever the end of the ring cuts a record, it comes out whole. */
static void records_wrap_at_every_place(void **state)
{
	static struct bytes sample, comm;

	(void)state;
	make_sample(&sample, 1000, 5, 128, 100);
	make_comm(&comm, 999, 0);
	for (uint64_t back = 0; back <= sample.len + comm.len + 16; back += 8) {
		struct world world;
		struct record record;

		world_init(&world, 3ull * RING_BYTES - back, DRAIN_SAMPLES, 1 << 20);
		ring_write(sample.data, sample.len);
		ring_write(comm.data, comm.len);
		assert_int_equal(drain(&world), 2);
		assert_true(next(&world, &record));
		assert_int_equal(record.kind, RECORD_COMM);
		assert_string_equal(record.comm.comm, "somebody");
		assert_true(next(&world, &record));
		assert_int_equal(record.sample.nr_callchain, 5);
		assert_int_equal(record.sample.callchain[4], 0x8004);
		check_stack(&record, 128, 100);
		assert_false(next(&world, &record));
		assert_int_equal(page.data_tail, page.data_head);
		world_done(&world);
	}
}

/* A sample is read where the kernel has put it, and its space given back when the round is over, not before. */
static void samples_stay_in_their_ring(void **state)
{
	static const uint64_t dyns[] = {0, 1, 7, 8, 100, 8191, 8192, 8193, UINT64_MAX};
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dyns); i++) {
		struct world world;
		struct record record;

		world_init(&world, 512, DRAIN_SAMPLES, 4096); /* no room for a copy */
		make_sample(&b, 1000, 3, 8192, dyns[i]);
		ring_write(b.data, b.len);
		ring_write(b.data, b.len);
		assert_int_equal(drain(&world), 2);
		assert_true(next(&world, &record));
		assert_ptr_equal(world.raw, data + 512);
		check_stack(&record, 8192, MIN(dyns[i], 8192ull));
		assert_true(next(&world, &record));
		assert_ptr_equal(world.raw, data + 512 + b.len);
		assert_int_equal(page.data_tail, 512);
		assert_false(next(&world, &record));
		assert_int_equal(page.data_tail, page.data_head);
		assert_int_equal(world.drain.stats.dropped, 0);
		world_done(&world);
	}
}

/* What is younger than the horizon waits in its ring, and with it all that came behind it. */
static void young_samples_wait_in_their_ring(void **state)
{
	static const uint64_t times_ns[] = {1000, 2001, 1500};
	static struct bytes b;
	struct world world;
	struct record record;

	(void)state;
	world_init(&world, RING_BYTES - 512, DRAIN_SAMPLES, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(times_ns); i++) {
		make_sample(&b, times_ns[i], 3, 128, 100);
		ring_write(b.data, b.len);
	}
	assert_int_equal(drain_until(&world, 2000), 1);
	assert_true(next(&world, &record));
	assert_int_equal(record.time_ns, 1000);
	assert_false(next(&world, &record));
	assert_int_equal(page.data_tail, page.data_head - 2 * b.len);
	assert_int_equal(drain_until(&world, 2001), 2);
	assert_true(next(&world, &record));
	assert_int_equal(record.time_ns, 1500);
	assert_true(next(&world, &record));
	assert_int_equal(record.time_ns, 2001);
	assert_false(next(&world, &record));
	assert_int_equal(page.data_tail, page.data_head);
	world_done(&world);
}

/* A time that cannot be holds up its own sample only, outside of the ring. */
static void a_wrong_time_holds_up_nothing(void **state)
{
	static struct bytes b;
	struct world world;
	struct record record;

	(void)state;
	world_init(&world, 0, DRAIN_SAMPLES, 1 << 20);
	for (int i = 0; i < 2; i++) {
		make_sample(&b, i == 0 ? UINT64_MAX : 1000, 3, 128, 100);
		ring_write(b.data, b.len);
	}
	assert_int_equal(drain_until(&world, 2000), 2);
	assert_true(next(&world, &record));
	assert_int_equal(record.time_ns, 1000);
	assert_false(next(&world, &record));
	assert_int_equal(page.data_tail, page.data_head);
	world_done(&world);
}

/* Between rounds everything leaves the ring, young or not, which may go away then. */
static void samples_outlive_a_ring_that_is_emptied(void **state)
{
	static struct bytes b;
	struct world world;
	struct record record;

	(void)state;
	world_init(&world, RING_BYTES - 512, DRAIN_SAMPLES, 1 << 20);
	for (uint64_t time_ns = 1000; time_ns <= 3000; time_ns += 1000) {
		make_sample(&b, time_ns, 3, 1024, 1000);
		ring_write(b.data, b.len);
		if (time_ns == 1000) {
			assert_int_equal(drain_until(&world, 2500), 1);
			assert_true(next(&world, &record));
			assert_false(next(&world, &record));
		}
	}
	assert_int_equal(drain_rings_out(&world.drain, &world.list), 2);
	assert_int_equal(page.data_tail, page.data_head);
	memset(data, 0xdb, sizeof(data));
	for (uint64_t time_ns = 2000; time_ns <= 3000; time_ns += 1000) {
		assert_int_equal(drain_until(&world, time_ns), 0);
		assert_true(next(&world, &record));
		assert_int_equal(record.time_ns, time_ns);
		check_stack(&record, 1024, 1000);
		assert_false(next(&world, &record));
	}
	world_done(&world);
}

/* Samples whose inner sizes lie are kept whole or refused by the decoder, never followed outside. */
static void lying_sizes_inside_samples(void **state)
{
	static struct bytes b;
	static const uint64_t lies[] = {0, 1, 8, 1000, 65536, 1ull << 32, 1ull << 61, UINT64_MAX};

	(void)state;
	for (size_t word = 1; word < 40; word++) {
		for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
			struct world world;
			struct reordered reordered;

			make_sample(&b, 1000, 3, 64, 32);
			if (word * 8 + 8 > b.len)
				continue;
			world_init(&world, RING_BYTES - 128, DRAIN_SAMPLES, 1 << 20);
			memcpy(b.data + word * 8, &lies[i], sizeof(lies[i]));
			ring_write(b.data, b.len);
			assert_int_equal(drain(&world), 1);
			while (reorder_next(world.drain.reorder, &reordered)) {
				struct record record;

				record_decode(&world.drain.formats[reordered.format], reordered.raw,
					      reordered.bytes, &record);
			}
			world_done(&world);
		}
	}
}

/* Samples shorter than their own fixed part. */
static void short_samples(void **state)
{
	static struct bytes b;

	(void)state;
	for (size_t len = 8; len < 80; len += 8) {
		struct world world;

		world_init(&world, 0, DRAIN_SAMPLES, 1 << 20);
		make_sample(&b, 1000, 0, 0, 0);
		b.len = len;
		end_record(&b);
		ring_write(b.data, b.len);
		assert_int_equal(drain(&world), 1);
		drop(&world);
		assert_int_equal(page.data_tail, page.data_head);
		world_done(&world);
	}
}

/* After a size that cannot be, reading goes on at the head, and the damage is counted. */
static void bad_headers_resynchronise(void **state)
{
	static const uint16_t sizes[] = {0, 1, 7, 9, 65528, 65535, 4096};
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct world world;
		struct record record;

		world_init(&world, 0, DRAIN_SAMPLES, 1 << 20);
		make_comm(&b, 1000, 0);
		ring_write(b.data, b.len);
		memcpy(b.data + 6, &sizes[i], sizeof(sizes[i]));
		ring_write(b.data, b.len);
		assert_int_equal(drain(&world), 1);
		assert_int_equal(world.drain.stats.bad_records, 1);
		assert_true(next(&world, &record));
		assert_false(next(&world, &record));
		assert_int_equal(page.data_tail, page.data_head);
		make_comm(&b, 2000, 0);
		ring_write(b.data, b.len);
		assert_int_equal(drain(&world), 1);
		assert_true(next(&world, &record));
		assert_int_equal(record.time_ns, 2000);
		world_done(&world);
	}
}

static void a_head_beyond_the_ring_resynchronises(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, 0, DRAIN_SAMPLES, 1 << 20);
	page.data_head = RING_BYTES + 8;
	assert_int_equal(drain(&world), 0);
	assert_int_equal(world.drain.stats.bad_records, 1);
	drop(&world);
	assert_int_equal(page.data_tail, page.data_head);
	page.data_head = 8; /* backwards */
	assert_int_equal(drain(&world), 0);
	assert_int_equal(world.drain.stats.bad_records, 2);
	drop(&world);
	assert_int_equal(page.data_tail, 8);
	world_done(&world);
}

static void losses_and_throttling_are_counted(void **state)
{
	static struct bytes b;

	(void)state;
	for (int is_sideband = 0; is_sideband < 2; is_sideband++) {
		struct world world;

		world_init(&world, 0, is_sideband ? DRAIN_SIDEBAND : DRAIN_SAMPLES, 1 << 20);
		make_lost(&b, 1, 100);
		ring_write(b.data, b.len);
		make_lost(&b, 2, 23);
		ring_write(b.data, b.len);
		make_throttle(&b, PERF_RECORD_UNTHROTTLE, 500); /* its beginning was lost */
		ring_write(b.data, b.len);
		make_throttle(&b, PERF_RECORD_THROTTLE, 1000);
		ring_write(b.data, b.len);
		make_throttle(&b, PERF_RECORD_THROTTLE, 1500); /* an end was lost */
		ring_write(b.data, b.len);
		make_throttle(&b, PERF_RECORD_UNTHROTTLE, 4000);
		ring_write(b.data, b.len);
		assert_int_equal(drain(&world), 6);
		assert_int_equal(world.drain.stats.lost, is_sideband ? 0 : 123);
		assert_int_equal(world.drain.stats.lost_sideband, is_sideband ? 123 : 0);
		/* And by CPU, with how full the ring was. */
		assert_true(world.drain.cpus[3].is_sampled);
		assert_int_equal(world.drain.cpus[3].lost, 123);
		assert_int_equal(world.drain.cpus[3].fill_pct, page.data_head * 100 / RING_BYTES);
		assert_false(world.drain.cpus[0].is_sampled);
		assert_int_equal(world.drain.stats.throttled, 2);
		assert_int_equal(world.drain.stats.throttled_ns, 3000);
		world_done(&world);
	}
}

/* A full reorder buffer drops samples and counts them; a mapping or a name waits in its ring instead. */
static void a_full_stage_drops_samples_only(void **state)
{
	static struct bytes b;
	struct world world;
	struct record record;
	int nr_seen = 0;

	(void)state;
	world_init(&world, 0, DRAIN_SAMPLES, 2048);
	make_sample(&b, 1000, 3, 512, 512);
	for (int i = 0; i < 5; i++)
		ring_write(b.data, b.len);
	assert_int_equal(drain_rings_out(&world.drain, &world.list), 5);
	assert_int_equal(world.drain.stats.dropped, 3);
	assert_int_equal(drain(&world), 0);
	while (next(&world, &record))
		nr_seen++;
	assert_int_equal(nr_seen, 2);
	world_done(&world);

	world_init(&world, 0, DRAIN_SIDEBAND, 160);
	make_comm(&b, 1000, 0);
	for (int i = 0; i < 5; i++)
		ring_write(b.data, b.len);
	for (nr_seen = 0; drain(&world) > 0;)
		while (next(&world, &record))
			nr_seen++;
	assert_int_equal(nr_seen, 5);
	assert_int_equal(world.drain.stats.dropped, 0);
	world_done(&world);
}

static bool is_new(void *context, const struct record *record)
{
	(*(int *)context)++;
	assert_int_equal(record->kind, RECORD_MMAP);
	return strcmp(record->mmap.filename, "/new") == 0;
}

/* Looked at once and left where they are; damage is nobody's business here. */
static void mappings_are_seen_before_they_are_taken(void **state)
{
	static struct bytes b;
	struct world world;
	int nr = 0;

	(void)state;
	for (uint64_t start = 0; start < RING_BYTES; start += 56) {
		world_init(&world, start, DRAIN_SIDEBAND, 1 << 20);
		nr = 0;
		make_comm(&b, 1, 0);
		ring_write(b.data, b.len);
		make_mmap2(&b, 2, "/old");
		ring_write(b.data, b.len);
		assert_false(drain_peek(&world.drain, &world.list, is_new, &nr));
		assert_int_equal(nr, 1);
		assert_false(drain_peek(&world.drain, &world.list, is_new, &nr));
		assert_int_equal(nr, 1);
		make_mmap2(&b, 3, "/new");
		ring_write(b.data, b.len);
		assert_true(drain_peek(&world.drain, &world.list, is_new, &nr));
		assert_int_equal(nr, 2);
		assert_int_equal(page.data_tail, start);
		assert_int_equal(drain(&world), 3);
		assert_false(drain_peek(&world.drain, &world.list, is_new, &nr));
		b.data[6] = 4; /* shorter than a header */
		ring_write(b.data, b.len);
		assert_false(drain_peek(&world.drain, &world.list, is_new, &nr));
		assert_int_equal(nr, 2);
		world_done(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_are_seen_before_they_are_taken),
		cmocka_unit_test(records_wrap_at_every_place),
		cmocka_unit_test(samples_stay_in_their_ring),
		cmocka_unit_test(young_samples_wait_in_their_ring),
		cmocka_unit_test(a_wrong_time_holds_up_nothing),
		cmocka_unit_test(samples_outlive_a_ring_that_is_emptied),
		cmocka_unit_test(lying_sizes_inside_samples),
		cmocka_unit_test(short_samples),
		cmocka_unit_test(bad_headers_resynchronise),
		cmocka_unit_test(a_head_beyond_the_ring_resynchronises),
		cmocka_unit_test(losses_and_throttling_are_counted),
		cmocka_unit_test(a_full_stage_drops_samples_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
