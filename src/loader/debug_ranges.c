/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists of ranges of DWARF 2 to 4 and of DWARF 5, and looking into what came of them. */
#include "config.h"

#include "src/loader/debug_ranges.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX   (1u << 20) /* of one file, unit or function */
#define OVERLAPS_MAX 64		/* ranges that are looked at for one address */

/* Ranges on their way into RANGES. */
struct adding {
	struct debug_ranges *ranges;
	const struct debug_text *text;
	const struct debug_unit *unit;
	uint64_t base;
	uint32_t index, depth;
};

void debug_ranges_done(struct debug_ranges *ranges)
{
	free(ranges->all);
	*ranges = (struct debug_ranges){0};
}

bool debug_text_holds(const struct debug_text *text, uint64_t from, uint64_t to)
{
	if (from <= 1 || to <= from || to - from > UINT32_MAX)
		return false;
	for (size_t i = 0; i < text->nr; i++)
		if (from >= text->segments[i].vaddr &&
		    to - text->segments[i].vaddr <= text->segments[i].bytes)
			return true;
	return false;
}

int debug_ranges_add(struct debug_ranges *ranges, const struct debug_text *text, uint64_t from,
		     uint64_t to, uint32_t index, uint32_t depth)
{
	int r;

	if (!debug_text_holds(text, from, to))
		return 0;
	r = vec_reserve(&ranges->all, &ranges->cap, ranges->nr + 1, RANGES_MAX);
	if (r == 0)
		ranges->all[ranges->nr++] = (struct debug_range){
			.from = from, .len = (uint32_t)(to - from), .index = index, .depth = depth};
	return r;
}

static int add(const struct adding *a, uint64_t from, uint64_t to)
{
	return debug_ranges_add(a->ranges, a->text, from, to, a->index, a->depth);
}

/* --- lists --- */

static uint64_t addr_read(struct reader *r, const struct debug_unit *unit)
{
	return unit->shape.addr_bytes == 8 ? reader_u64(r) : reader_u32(r);
}

/* DWARF 4, section 2.17.3: pairs that are relative to a base; one that begins with the greatest address sets it. */
static int add_pairs(struct adding *a, struct reader *r)
{
	uint64_t greatest = a->unit->shape.addr_bytes == 8 ? UINT64_MAX : UINT32_MAX;

	for (;;) {
		uint64_t from = addr_read(r, a->unit), to = addr_read(r, a->unit);
		int error = 0;

		if (r->bad || (from == 0 && to == 0))
			return 0;
		if (deadline_is_over())
			return -ETIME;
		if (from == greatest)
			a->base = to;
		else
			error = add(a, a->base + from, a->base + to);
		if (error < 0)
			return error;
	}
}

static uint64_t addrx_read(struct reader *r, const struct debug_unit *unit)
{
	uint64_t addr;

	if (!debug_unit_addr(unit, reader_uleb(r), &addr))
		r->bad = true;
	return r->bad ? 0 : addr;
}

/* DWARF 5, section 2.17.3: one entry. 0, 1: it was the last one, or -errno. */
static int add_entry(struct adding *a, struct reader *r)
{
	const struct debug_unit *unit = a->unit;
	uint64_t from, to;

	switch (reader_u8(r)) {
	case DW_RLE_base_addressx:
		a->base = addrx_read(r, unit);
		return r->bad;
	case DW_RLE_base_address:
		a->base = addr_read(r, unit);
		return r->bad;
	case DW_RLE_startx_endx:
		from = addrx_read(r, unit);
		to = addrx_read(r, unit);
		break;
	case DW_RLE_startx_length:
		from = addrx_read(r, unit);
		to = from + reader_uleb(r);
		break;
	case DW_RLE_offset_pair:
		from = a->base + reader_uleb(r);
		to = a->base + reader_uleb(r);
		break;
	case DW_RLE_start_end:
		from = addr_read(r, unit);
		to = addr_read(r, unit);
		break;
	case DW_RLE_start_length:
		from = addr_read(r, unit);
		to = from + reader_uleb(r);
		break;
	default: /* DW_RLE_end_of_list, or what nobody knows the length of */
		return 1;
	}
	return r->bad ? 1 : add(a, from, to);
}

static int add_entries(struct adding *a, struct reader *r)
{
	int more;

	while ((more = add_entry(a, r)) == 0)
		if (deadline_is_over())
			return -ETIME;
	return more < 0 ? more : 0;
}

/* The list at VALUE: an offset, or the number of one in a table. */
static struct reader list_of(const struct debug_unit *unit, const struct debug_value *value)
{
	uint64_t off = value->number;

	/* GNU's split units have theirs with the skeletons', and no word of where its own begin. */
	if (unit->shape.version < 5 && unit->skeleton)
		return debug_file_reader(unit->skeleton->file, DEBUG_RANGES,
					 off + unit->skeleton->ranges_base);
	if (unit->shape.version < 5)
		return debug_file_reader(unit->file, DEBUG_RANGES, off);
	if (value->form == DW_FORM_rnglistx) {
		struct reader r =
			debug_file_reader(unit->file, DEBUG_RNGLISTS, unit->rnglists_base);

		if (off > reader_left(&r) / unit->shape.offset_bytes)
			r.bad = true;
		reader_skip(&r, off * unit->shape.offset_bytes);
		off = unit->shape.offset_bytes == 8 ? reader_u64(&r) : reader_u32(&r);
		if (r.bad || __builtin_add_overflow(off, unit->rnglists_base, &off))
			off = UINT64_MAX;
	}
	return debug_file_reader(unit->file, DEBUG_RNGLISTS, off);
}

int debug_ranges_add_code(struct debug_ranges *ranges, const struct debug_text *text,
			  const struct debug_unit *unit, const struct debug_code *code,
			  uint32_t index, uint32_t depth)
{
	struct adding a = {.ranges = ranges,
			   .text = text,
			   .unit = unit,
			   .base = unit->base_addr,
			   .index = index,
			   .depth = depth};
	uint64_t from, to;

	if (code->ranges.form) {
		struct reader r = list_of(unit, &code->ranges);

		return unit->shape.version < 5 ? add_pairs(&a, &r) : add_entries(&a, &r);
	}
	if (!code->high.form || !debug_value_addr(unit, &code->low, &from))
		return 0;
	if (!debug_value_addr(unit, &code->high, &to))
		to = from + code->high.number;
	return add(&a, from, to);
}

/* --- looking --- */

/* By depth and beginning; the narrower one last: it is found first. */
static bool is_before(const struct debug_range *x, const struct debug_range *y)
{
	if (x->depth != y->depth)
		return x->depth < y->depth;
	if (x->from != y->from)
		return x->from < y->from;
	if (x->len != y->len)
		return x->len > y->len;
	return x->index < y->index;
}

/* By merging, with the comparison inside; halves that are in order stay. SPARE has room for half of them. */
static void sort(struct debug_range *all, struct debug_range *spare, size_t nr)
{
	size_t half = nr / 2, a = 0, b = half;

	if (nr < 2)
		return;
	sort(all, spare, half);
	sort(all + half, spare, nr - half);
	if (!is_before(&all[half], &all[half - 1]))
		return;
	memcpy(spare, all, half * sizeof(*all));
	for (size_t i = 0; a < half; i++)
		all[i] = b < nr && is_before(&all[b], &spare[a]) ? all[b++] : spare[a++];
}

int debug_ranges_sort(struct debug_ranges *ranges)
{
	struct debug_range *spare = NULL;
	uint64_t end = 0;

	vec_shrink(&ranges->all, &ranges->cap, ranges->nr);
	if (ranges->nr > 1) {
		spare = malloc(ranges->nr / 2 * sizeof(*spare));
		if (!spare)
			return -ENOMEM;
		sort(ranges->all, spare, ranges->nr);
		free(spare);
	}
	for (size_t i = 0; i < ranges->nr; i++) {
		struct debug_range *range = &ranges->all[i];

		if (i > 0 && ranges->all[i - 1].depth != range->depth)
			end = 0;
		end = MAX(end, range->from + range->len);
		range->len_max = (uint32_t)MIN(end - range->from, (uint64_t)UINT32_MAX);
	}
	return 0;
}

const struct debug_range *debug_ranges_at(const struct debug_ranges *ranges, uint32_t depth,
					  uint64_t addr)
{
	size_t at = search_first(ranges->nr, i,
				 ranges->all[i].depth > depth || (ranges->all[i].depth == depth &&
								  ranges->all[i].from > addr));

	for (unsigned int n = 0; at > 0 && n < OVERLAPS_MAX; n++) {
		const struct debug_range *range = &ranges->all[--at];

		if (range->depth != depth ||
		    (range->len_max < UINT32_MAX && addr - range->from >= range->len_max))
			return NULL;
		if (addr - range->from < range->len)
			return range;
	}
	return NULL;
}
