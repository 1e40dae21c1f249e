/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The other byte order: see recording_swap.h. Layouts: <linux/perf_event.h>, enum perf_event_type. */
#include "config.h"

#include "src/perf/recording_swap.h"

#include "src/base/util.h"

#include <linux/perf_event.h>
#include <string.h>

#define WORD		   8
#define HEADER_BYTES	   sizeof(struct perf_event_header)
#define FORMAT_LOST	   (1ull << 4)
#define BRANCH_COUNTERS	   (1ull << 19)
#define MISC_MMAP_BUILD_ID (1u << 14)
#define BUILD_ID_ROOM	   24

struct swapper {
	uint8_t *p, *end;
};

static size_t left(const struct swapper *s)
{
	return (size_t)(s->end - s->p);
}

static void pass(struct swapper *s, uint64_t bytes)
{
	s->p += MIN(bytes, (uint64_t)left(s));
}

/* Swap one number and return it; past the end 0, and nothing more is swapped. */
static uint64_t swap_u64(struct swapper *s)
{
	uint64_t v;

	if (left(s) < sizeof(v)) {
		s->p = s->end;
		return 0;
	}
	memcpy(&v, s->p, sizeof(v));
	v = __builtin_bswap64(v);
	memcpy(s->p, &v, sizeof(v));
	s->p += sizeof(v);
	return v;
}

static uint32_t swap_u32(struct swapper *s)
{
	uint32_t v;

	if (left(s) < sizeof(v)) {
		s->p = s->end;
		return 0;
	}
	memcpy(&v, s->p, sizeof(v));
	v = __builtin_bswap32(v);
	memcpy(s->p, &v, sizeof(v));
	s->p += sizeof(v);
	return v;
}

static void swap_u16(struct swapper *s)
{
	uint16_t v;

	if (left(s) < sizeof(v)) {
		s->p = s->end;
		return;
	}
	memcpy(&v, s->p, sizeof(v));
	v = __builtin_bswap16(v);
	memcpy(s->p, &v, sizeof(v));
	s->p += sizeof(v);
}

static void swap_words(struct swapper *s, uint64_t n)
{
	while (n-- > 0 && left(s) >= WORD)
		swap_u64(s);
}

/* Numbers by their widths: "448" is two of 32 bits and one of 64. */
static void swap_fields(struct swapper *s, const char *widths)
{
	for (; *widths; widths++) {
		if (*widths == '8')
			swap_u64(s);
		else if (*widths == '4')
			swap_u32(s);
		else
			swap_u16(s);
	}
}

static void swap_read(struct swapper *s, uint64_t read_format)
{
	uint64_t nr = 1;

	if (read_format & PERF_FORMAT_GROUP)
		nr = swap_u64(s);
	swap_words(s, !!(read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			      !!(read_format & PERF_FORMAT_TOTAL_TIME_RUNNING));
	nr = MIN(nr, (uint64_t)left(s));
	swap_words(s, nr * (1u + !!(read_format & PERF_FORMAT_ID) + !!(read_format & FORMAT_LOST)));
}

/*
 * The flags of a branch are bit fields, which the other order counts from the
 * other end: mispred, predicted, in_tx, abort, cycles, type, spec, new_type, priv.
 */
static void swap_branch_flags(struct swapper *s)
{
	static const unsigned int widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3};
	uint64_t from, to = 0;
	unsigned int done = 0;

	if (left(s) < sizeof(from))
		return;
	from = swap_u64(s);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		uint64_t mask = (1ull << widths[i]) - 1;

		to |= (from >> (64 - done - widths[i]) & mask) << done;
		done += widths[i];
	}
	memcpy(s->p - sizeof(to), &to, sizeof(to));
}

static void swap_branches(struct swapper *s, uint64_t branch_type)
{
	uint64_t nr = swap_u64(s);

	if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		swap_u64(s);
	for (uint64_t i = 0; i < nr && left(s) >= 3 * WORD; i++) {
		swap_words(s, 2);
		swap_branch_flags(s);
	}
	if (branch_type & BRANCH_COUNTERS)
		swap_words(s, nr);
}

static void swap_sample(struct swapper *s, const struct record_format *format)
{
	uint64_t type = format->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		swap_u64(s);
	if (type & PERF_SAMPLE_IP)
		swap_u64(s);
	if (type & PERF_SAMPLE_TID)
		swap_fields(s, "44");
	swap_words(s, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR) +
			      !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		swap_fields(s, "44");
	if (type & PERF_SAMPLE_PERIOD)
		swap_u64(s);
	if (type & PERF_SAMPLE_READ)
		swap_read(s, format->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		swap_words(s, swap_u64(s));
	if (type & PERF_SAMPLE_RAW)
		pass(s, swap_u32(s));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		swap_branches(s, format->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER && swap_u64(s) != PERF_SAMPLE_REGS_ABI_NONE)
		swap_words(s, (uint64_t)__builtin_popcountll(format->regs_user_mask));
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t bytes = swap_u64(s);

		pass(s, bytes);
		if (bytes > 0)
			swap_u64(s);
	}
}

/* The trailer of a record that is no sample: each field takes 8 bytes, two of them in halves. */
static void swap_trailer(struct swapper *s, const struct record_format *format)
{
	uint64_t type = format->sample_type;

	if (type & PERF_SAMPLE_TID)
		swap_fields(s, "44");
	swap_words(s, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ID) +
			      !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		swap_fields(s, "44");
	if (type & PERF_SAMPLE_IDENTIFIER)
		swap_u64(s);
}

static size_t trailer_bytes(const struct record_format *format)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	if (!format->sample_id_all)
		return 0;
	return WORD * (size_t)__builtin_popcountll(format->sample_type & fields);
}

static void swap_body(struct swapper *s, const struct perf_event_header *header)
{
	/* What stands before the text, if there is one. */
	static const char *const bodies[] = {
		[PERF_RECORD_MMAP] = "44888",	  [PERF_RECORD_LOST] = "88",
		[PERF_RECORD_COMM] = "44",	  [PERF_RECORD_EXIT] = "44448",
		[PERF_RECORD_THROTTLE] = "888",	  [PERF_RECORD_UNTHROTTLE] = "888",
		[PERF_RECORD_FORK] = "44448",	  [PERF_RECORD_MMAP2] = "44888",
		[PERF_RECORD_LOST_SAMPLES] = "8", [PERF_RECORD_NAMESPACES] = "44",
		[PERF_RECORD_KSYMBOL] = "8422",
	};

	if (header->type >= ARRAY_SIZE(bodies) || !bodies[header->type])
		return;
	swap_fields(s, bodies[header->type]);
	if (header->type != PERF_RECORD_MMAP2)
		return;
	if (header->misc & MISC_MMAP_BUILD_ID)
		pass(s, BUILD_ID_ROOM);
	else
		swap_fields(s, "4488");
	if (record_mmap2_has_prot(s->p, left(s), true))
		swap_fields(s, "44");
}

void recording_swap(const struct record_format *format, uint8_t *raw, size_t bytes)
{
	struct swapper s = {.p = raw + HEADER_BYTES, .end = raw + bytes};
	struct perf_event_header header;

	memcpy(&header, raw, sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		swap_sample(&s, format);
		return;
	}
	if (trailer_bytes(format) <= left(&s)) {
		struct swapper trailer = {.p = s.end - trailer_bytes(format), .end = s.end};

		s.end = trailer.p;
		swap_trailer(&trailer, format);
	}
	swap_body(&s, &header);
}
