/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decoding of perf records: see record.h. A sample is read forward, field by
 * field in the order of its sample_type, since the kernel may shrink any size;
 * other records carry their identity in a trailer that is found from the end.
 * Of the other byte order numbers are turned as they are read, and arrays, which
 * are handed out in place, are turned in place.
 */
#include "config.h"

#include "src/perf/record.h"

#include "src/base/reader.h"
#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

/* Younger than the oldest kernel headers that this builds with; values are ABI. */
#define BRANCH_COUNTERS	      (1ull << 19)
#define MISC_MMAP_BUILD_ID    (1u << 14)
#define MISC_FORK_EXEC	      (1u << 13)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_FIRST	      ((uint64_t)-4095)
#define SAMPLE_CGROUP	      (1ull << 21)
#define SAMPLE_WEIGHT_STRUCT  (1ull << 24)

#define TRAILER_FIELDS                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static void read_tid(struct reader *r, struct record *record)
{
	record->pid = reader_u32(r);
	record->tid = reader_u32(r);
}

/* The record is in its user's memory and is decoded once. */
static void swap_words(const uint64_t *words, uint64_t n)
{
	uint64_t *out = (uint64_t *)(uintptr_t)words;

	for (uint64_t i = 0; i < n; i++)
		out[i] = __builtin_bswap64(out[i]);
}

/* N words of 64 bits in place; an N too large for what is left is bad, and so is a broken alignment. */
static const uint64_t *read_words(struct reader *r, uint64_t n)
{
	const uint64_t *words;

	if (n > reader_left(r) / sizeof(uint64_t) || (uintptr_t)r->p % sizeof(uint64_t)) {
		r->bad = true;
		return NULL;
	}
	words = (const uint64_t *)(const void *)reader_bytes(r, (size_t)n * sizeof(uint64_t));
	if (unlikely(r->swap) && words)
		swap_words(words, n);
	return words;
}

/* PERF_SAMPLE_READ: the layout of enum perf_event_read_format. */
static void read_group(struct reader *r, uint64_t read_format, struct record_sample *sample)
{
	const uint64_t *members;
	uint64_t nr = 1;
	unsigned int per_event =
		1 + !!(read_format & PERF_FORMAT_ID) + !!(read_format & RECORD_READ_LOST);

	if (read_format & PERF_FORMAT_GROUP)
		nr = reader_u64(r);
	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		reader_skip(r, sizeof(uint64_t));
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		reader_skip(r, sizeof(uint64_t));
	if (nr > reader_left(r)) {
		r->bad = true;
		return;
	}
	members = read_words(r, nr * per_event);
	if (!members || !(read_format & PERF_FORMAT_GROUP) || !(read_format & PERF_FORMAT_ID))
		return;
	assert(nr <= UINT16_MAX);
	sample->group = members;
	sample->nr_group = (uint16_t)nr; /* of a record that has at most 64 KiB */
	sample->group_words = (uint8_t)per_event;
}

/*
 * The flags of a branch are bit fields, which the other order counts from the
 * other end: mispred, predicted, in_tx, abort, cycles, type, spec, new_type, priv.
 */
static uint64_t swap_branch_flags(uint64_t from)
{
	static const unsigned int widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3};
	unsigned int done = 0;
	uint64_t to = 0;

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		uint64_t mask = (1ull << widths[i]) - 1;

		to |= (from >> (64 - done - widths[i]) & mask) << done;
		done += widths[i];
	}
	return to;
}

static void read_branches(struct reader *r, uint64_t branch_type, struct record_sample *sample)
{
	uint64_t nr = reader_u64(r);

	_Static_assert(sizeof(struct record_branch) == sizeof(struct perf_branch_entry),
		       "branch entries are used in place");
	sample->branch_hw_idx = UINT64_MAX;
	if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		sample->branch_hw_idx = reader_u64(r);
	if (nr > reader_left(r)) {
		r->bad = true;
		return;
	}
	sample->branches = (const struct record_branch *)(const void *)read_words(r, nr * 3);
	sample->nr_branches = nr;
	for (uint64_t i = 0; unlikely(r->swap) && sample->branches && i < nr; i++) {
		struct record_branch *branch =
			(struct record_branch *)(uintptr_t)&sample->branches[i];

		branch->flags = swap_branch_flags(branch->flags);
	}
	if (branch_type & BRANCH_COUNTERS)
		read_words(r, nr);
}

static void read_regs(struct reader *r, uint64_t mask, struct record_sample *sample)
{
	uint64_t abi = reader_u64(r);

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	if (abi > PERF_SAMPLE_REGS_ABI_64) {
		r->bad = true;
		return;
	}
	sample->abi = (enum record_abi)abi;
	sample->regs_mask = mask;
	sample->regs = read_words(r, (uint64_t)__builtin_popcountll(mask));
}

/*
 * size, data[size], dyn_size; nothing after a size of 0. Bytes past dyn_size
 * were never written for this sample.
 */
static void read_stack(struct reader *r, struct record_sample *sample)
{
	uint64_t size = reader_u64(r);
	uint64_t dyn;

	if (size == 0)
		return;
	if (size > reader_left(r)) {
		r->bad = true;
		return;
	}
	sample->stack = reader_bytes(r, (size_t)size);
	dyn = reader_u64(r);
	sample->stack_bytes = (uint32_t)MIN(dyn, size);
	sample->stack_bytes_reserved = (uint32_t)MIN(size, (uint64_t)RECORD_BYTES_MAX);
}

/* What follows STACK_USER, up to the control group; the rest is not used. */
static void read_cgroup(const struct record_format *format, struct reader *r,
			struct record_sample *sample)
{
	uint64_t type = format->sample_type;

	if (!(type & SAMPLE_CGROUP))
		return;
	if (type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
		reader_skip(r, sizeof(uint64_t));
	if (type & PERF_SAMPLE_DATA_SRC)
		reader_skip(r, sizeof(uint64_t));
	if (type & PERF_SAMPLE_TRANSACTION)
		reader_skip(r, sizeof(uint64_t));
	if (type & PERF_SAMPLE_REGS_INTR && reader_u64(r) != PERF_SAMPLE_REGS_ABI_NONE)
		reader_skip(r, sizeof(uint64_t) *
				       (size_t)__builtin_popcountll(format->regs_intr_mask));
	if (type & PERF_SAMPLE_PHYS_ADDR)
		reader_skip(r, sizeof(uint64_t));
	sample->cgroup = reader_u64(r);
}

/* Order of fields: the comment at PERF_RECORD_SAMPLE. */
static void decode_sample(const struct record_format *format, struct reader *r,
			  struct record *record)
{
	struct record_sample *sample = &record->sample;
	uint64_t type = format->sample_type;

	sample->mode = format->mode;
	sample->cpumode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	sample->is_precise = format->is_precise || record->misc & PERF_RECORD_MISC_EXACT_IP;
	sample->branch_hw_idx = UINT64_MAX;
	if (type & PERF_SAMPLE_IDENTIFIER)
		record->id = reader_u64(r);
	if (type & PERF_SAMPLE_IP)
		sample->ip = reader_u64(r);
	if (type & PERF_SAMPLE_TID)
		read_tid(r, record);
	if (type & PERF_SAMPLE_TIME)
		record->time_ns = reader_u64(r);
	if (type & PERF_SAMPLE_ADDR)
		sample->addr = reader_u64(r);
	if (type & PERF_SAMPLE_ID)
		record->id = reader_u64(r);
	if (type & PERF_SAMPLE_STREAM_ID)
		reader_skip(r, sizeof(uint64_t));
	if (type & PERF_SAMPLE_CPU) {
		record->cpu = reader_u32(r);
		reader_skip(r, sizeof(uint32_t));
	}
	sample->period = type & PERF_SAMPLE_PERIOD ? reader_u64(r) : format->period;
	if (type & PERF_SAMPLE_READ)
		read_group(r, format->read_format, sample);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t nr = reader_u64(r);

		sample->callchain = read_words(r, nr);
		sample->nr_callchain = nr;
	}
	if (type & PERF_SAMPLE_RAW)
		reader_skip(r, reader_u32(r));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(r, format->branch_sample_type, sample);
	if (type & PERF_SAMPLE_REGS_USER)
		read_regs(r, format->regs_user_mask, sample);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(r, sample);
	read_cgroup(format, r, sample);
}

/* sample_id at the end of a record: its fields stand in a fixed order before END. */
static void decode_trailer(const struct record_format *format, struct reader *r,
			   struct record *record)
{
	uint64_t type = format->sample_type & TRAILER_FIELDS;
	size_t bytes = sizeof(uint64_t) * (size_t)__builtin_popcountll(type);
	struct reader trailer;

	if (!format->sample_id_all)
		return;
	if (bytes > reader_left(r)) {
		r->bad = true;
		return;
	}
	r->end -= bytes;
	trailer = reader_of(r->end, bytes);
	trailer.swap = r->swap;
	if (type & PERF_SAMPLE_TID)
		read_tid(&trailer, record);
	if (type & PERF_SAMPLE_TIME)
		record->time_ns = reader_u64(&trailer);
	if (type & PERF_SAMPLE_ID)
		record->id = reader_u64(&trailer);
	if (type & PERF_SAMPLE_STREAM_ID)
		reader_skip(&trailer, sizeof(uint64_t));
	if (type & PERF_SAMPLE_CPU) {
		record->cpu = reader_u32(&trailer);
		reader_skip(&trailer, sizeof(uint32_t));
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		record->id = reader_u64(&trailer);
	assert(reader_left(&trailer) == 0);
}

/* For a record that does not have the mapping's protection. */
static void take_misc_prot(struct record *record)
{
	record->mmap.is_exec = !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
	record->mmap.prot = PROT_READ | (record->mmap.is_exec ? PROT_EXEC : 0);
}

/*
 * Before 3.16 (RHEL 7) an MMAP2 record had its filename where later ones have
 * prot and flags: is it prot that comes next?
 */
static bool has_prot(const struct reader *r)
{
	struct reader ahead = *r;

	return reader_left(r) < sizeof(uint32_t) || /* too short in any case */
	       reader_u32(&ahead) < ' ';	    /* a text begins with no control character */
}

static void decode_mmap(struct reader *r, struct record *record)
{
	struct record_mmap *mmap = &record->mmap;

	read_tid(r, record);
	mmap->start = reader_u64(r);
	mmap->len = reader_u64(r);
	mmap->file_off = reader_u64(r);
	take_misc_prot(record);
	mmap->filename = reader_str(r);
}

/* The build-id form has always 24 bytes in place of device and inode, however long the id is. */
static void decode_mmap2(struct reader *r, struct record *record)
{
	struct record_mmap *mmap = &record->mmap;

	read_tid(r, record);
	mmap->start = reader_u64(r);
	mmap->len = reader_u64(r);
	mmap->file_off = reader_u64(r);
	if (record->misc & MISC_MMAP_BUILD_ID) {
		uint8_t bytes = reader_u8(r);
		const uint8_t *id;

		reader_skip(r, 3);
		id = reader_bytes(r, RECORD_BUILD_ID_MAX);
		if (id && bytes <= RECORD_BUILD_ID_MAX) {
			memcpy(mmap->build_id, id, bytes);
			mmap->build_id_bytes = bytes;
		}
	} else {
		mmap->maj = reader_u32(r);
		mmap->min = reader_u32(r);
		mmap->ino = reader_u64(r);
		mmap->ino_generation = reader_u64(r);
	}
	if (has_prot(r)) {
		mmap->prot = reader_u32(r);
		mmap->flags = reader_u32(r);
		mmap->is_exec = mmap->prot & PROT_EXEC;
	} else {
		take_misc_prot(record);
	}
	mmap->filename = reader_str(r);
}

/* FORK and EXIT: pid, ppid, tid, ptid, time. */
static void decode_task(struct reader *r, struct record *record)
{
	uint64_t time_ns;

	record->pid = reader_u32(r);
	record->fork.ppid = reader_u32(r);
	record->tid = reader_u32(r);
	record->fork.ptid = reader_u32(r);
	record->fork.has_own_maps = record->misc & MISC_FORK_EXEC;
	time_ns = reader_u64(r);
	if (record->time_ns == 0)
		record->time_ns = time_ns;
}

static void decode_ksymbol(struct reader *r, struct record *record)
{
	record->ksymbol.addr = reader_u64(r);
	record->ksymbol.len = reader_u32(r);
	record->ksymbol.ksym_type = reader_u16(r);
	record->ksymbol.is_unregister = reader_u16(r) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	record->ksymbol.name = reader_str(r);
}

/* The body of a record that is no sample; its trailer is already cut off. */
static void decode_body(struct reader *r, struct record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
		record->kind = RECORD_MMAP;
		decode_mmap(r, record);
		break;
	case PERF_RECORD_MMAP2:
		record->kind = RECORD_MMAP;
		decode_mmap2(r, record);
		break;
	case PERF_RECORD_COMM:
		record->kind = RECORD_COMM;
		read_tid(r, record);
		record->comm.is_exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
		record->comm.comm = reader_str(r);
		break;
	case PERF_RECORD_FORK:
		record->kind = RECORD_FORK;
		decode_task(r, record);
		break;
	case PERF_RECORD_EXIT:
		record->kind = RECORD_EXIT;
		decode_task(r, record);
		break;
	case PERF_RECORD_NAMESPACES:
		record->kind = RECORD_NAMESPACES;
		read_tid(r, record);
		break;
	case PERF_RECORD_KSYMBOL:
		record->kind = RECORD_KSYMBOL;
		decode_ksymbol(r, record);
		break;
	case RECORD_TYPE_CGROUP:
		record->kind = RECORD_CGROUP;
		record->cgroup.number = reader_u64(r);
		record->cgroup.path = reader_str(r);
		break;
	case PERF_RECORD_LOST:
		record->kind = RECORD_LOST;
		record->id = reader_u64(r);
		record->lost.count = reader_u64(r);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		record->kind = RECORD_LOST_SAMPLES;
		record->lost.count = reader_u64(r);
		break;
	case PERF_RECORD_THROTTLE:
		record->kind = RECORD_THROTTLE;
		break;
	case PERF_RECORD_UNTHROTTLE:
		record->kind = RECORD_UNTHROTTLE;
		break;
	default:
		record->kind = RECORD_OTHER;
		break;
	}
}

static inline int decode(const struct record_format *format, const void *raw, size_t bytes,
			 bool is_swapped, struct record *ret)
{
	struct reader r = reader_of(raw, bytes);
	struct record record = {.cpu = UINT32_MAX};
	uint16_t size;

	assert((uintptr_t)raw % sizeof(uint64_t) == 0);
	record.type = reader_u32(&r);
	record.misc = reader_u16(&r);
	size = reader_u16(&r);
	if (r.bad || size != bytes)
		return -EBADMSG;
	r.swap = is_swapped;
	if (record.type == PERF_RECORD_SAMPLE) {
		record.kind = RECORD_SAMPLE;
		decode_sample(format, &r, &record);
	} else if (record.type >= RECORD_TYPE_TOOLS) {
		record.kind = RECORD_OTHER;
	} else {
		decode_trailer(format, &r, &record);
		decode_body(&r, &record);
	}
	if (r.bad)
		return -EBADMSG;
	*ret = record;
	return 0;
}

/* Compiled twice, since nearly all records are of this machine's order and need not ask for each field. */
static __attribute__((flatten, noinline)) int decode_swapped(const struct record_format *format,
							     const void *raw, size_t bytes,
							     struct record *ret)
{
	return decode(format, raw, bytes, true, ret);
}

__attribute__((flatten)) int record_decode(const struct record_format *format, const void *raw,
					   size_t bytes, struct record *ret)
{
	if (unlikely(format->is_swapped))
		return decode_swapped(format, raw, bytes, ret);
	return decode(format, raw, bytes, false, ret);
}

void callchain_split(const uint64_t *chain, uint64_t nr, struct callchain_part *kernel,
		     struct callchain_part *user)
{
	struct callchain_part *part = NULL;

	*kernel = (struct callchain_part){0};
	*user = (struct callchain_part){0};
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t word = chain[i];

		if (word < CONTEXT_FIRST) {
			if (part)
				part->nr++;
			continue;
		}
		part = NULL;
		if (word == PERF_CONTEXT_KERNEL)
			part = kernel;
		else if (word == PERF_CONTEXT_USER)
			part = user;
		else if (word == CONTEXT_USER_DEFERRED)
			i++;
		else if (word != PERF_CONTEXT_HV && word != PERF_CONTEXT_GUEST &&
			 word != PERF_CONTEXT_GUEST_KERNEL && word != PERF_CONTEXT_GUEST_USER)
			return;
		/* Parts are in place and so in one piece: a second part of a kind is left out. */
		if (part && part->ips)
			part = NULL;
		else if (part)
			part->ips = &chain[i + 1];
	}
}
