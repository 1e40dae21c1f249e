/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a package: see debug_split.h. */
#include "config.h"

#include "src/loader/debug_split.h"

#include "src/base/deadline.h"
#include "src/base/util.h"

#include <errno.h>

#define GNU_VERSION 2u
#define COLUMNS_MAX 16u
#define SLOT_BYTES  (sizeof(uint64_t) + sizeof(uint32_t))

/* Sections, as both versions number them, and what only the newer one has. */
enum column {
	COLUMN_INFO = 1,
	COLUMN_ABBREV = 3,
	COLUMN_STR_OFFSETS = 6,
	COLUMN_RNGLISTS = 8, /* GNU: another one */
};

/* The table, of which R is at the slots. */
struct package {
	struct reader r;
	uint32_t version;
	uint32_t nr_columns, nr_units, nr_slots;
};

/* Where the parts of one unit begin in their sections. */
struct parts {
	bool has_info;
	uint64_t info, abbrev, str_offsets, rnglists;
};

static int package_open(const struct debug_file *file, struct package *ret)
{
	struct package p = {.r = debug_file_reader(file, DEBUG_CU_INDEX, 0)};
	struct reader *r = &p.r, head = p.r;

	p.version = reader_u16(&head) == 5 ? 5 : 0;
	if (!p.version)
		p.version = reader_u32(r);
	else
		reader_skip(r, sizeof(uint32_t));
	p.nr_columns = reader_u32(r);
	p.nr_units = reader_u32(r);
	p.nr_slots = reader_u32(r);
	*ret = p;
	if (r->bad || (p.version != 5 && p.version != GNU_VERSION) || p.nr_columns > COLUMNS_MAX ||
	    p.nr_slots == 0 || (p.nr_slots & (p.nr_slots - 1)) != 0 ||
	    p.nr_slots > reader_left(r) / SLOT_BYTES)
		return -EBADMSG;
	return 0;
}

/* Reads what is OFF bytes behind the beginning of the slots. */
static struct reader package_at(const struct package *p, uint64_t off)
{
	struct reader r = p->r;

	if (off > reader_left(&r))
		r.bad = true;
	else
		reader_skip(&r, off);
	return r;
}

/* The row of the unit ID, from 1 on; 0: there is none. */
static uint32_t package_row(const struct package *p, uint64_t id)
{
	uint64_t mask = p->nr_slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < p->nr_slots && !deadline_is_over();
	     i++, slot = (slot + step) & mask) {
		struct reader ids = package_at(p, slot * sizeof(uint64_t));
		struct reader rows = package_at(p, (uint64_t)p->nr_slots * sizeof(uint64_t) +
							   slot * sizeof(uint32_t));
		uint64_t found = reader_u64(&ids);
		uint32_t row = reader_u32(&rows);

		if (row == 0 || found == id)
			return row <= p->nr_units ? row : 0;
	}
	return 0;
}

/* The numbers of the sections stand in row 0, offsets in them in those from 1 on. */
static int package_parts(const struct package *p, uint32_t row, struct parts *ret)
{
	uint64_t table = p->nr_slots * (uint64_t)SLOT_BYTES;
	struct reader numbers = package_at(p, table);
	struct reader offs =
		package_at(p, table + (uint64_t)row * p->nr_columns * sizeof(uint32_t));

	*ret = (struct parts){0};
	for (uint32_t i = 0; i < p->nr_columns; i++) {
		uint32_t off = reader_u32(&offs);

		switch (reader_u32(&numbers)) {
		case COLUMN_INFO:
			ret->info = off;
			ret->has_info = true;
			break;
		case COLUMN_ABBREV:
			ret->abbrev = off;
			break;
		case COLUMN_STR_OFFSETS:
			ret->str_offsets = off;
			break;
		case COLUMN_RNGLISTS:
			ret->rnglists = off;
			break;
		}
	}
	return offs.bad || numbers.bad || !ret->has_info ? -EBADMSG : 0;
}

/* The parts of the unit ID. 0, -ENOENT, -EBADMSG. */
static int parts_find(const struct debug_file *file, uint64_t id, struct parts *ret)
{
	struct package package;
	int r = package_open(file, &package);
	uint32_t row = r == 0 ? package_row(&package, id) : 0;

	if (r == 0 && row == 0)
		r = -ENOENT;
	return r < 0 ? r : package_parts(&package, row, ret);
}

/* The heads of the lists of DWARF 5, behind which their elements are. */
static uint64_t str_offsets_head(const struct debug_unit *unit)
{
	return unit->shape.version < 5 ? 0 : unit->shape.offset_bytes == 8 ? 16 : 8;
}

static uint64_t rnglists_head(const struct debug_unit *unit)
{
	return unit->shape.offset_bytes == 8 ? 20 : 12;
}

/* The parts of UNIT, whose head has been read, begin at PARTS. */
static void parts_apply(struct debug_unit *unit, const struct debug_unit *skeleton,
			const struct parts *parts)
{
	unit->skeleton = skeleton;
	unit->abbrevs_off += parts->abbrev;
	unit->str_offsets_base = parts->str_offsets + str_offsets_head(unit);
	unit->rnglists_base = parts->rnglists + rnglists_head(unit);
}

static int find_packed(const struct debug_file *file, const struct debug_unit *skeleton,
		       struct debug_unit *ret)
{
	struct parts parts;
	int r = parts_find(file, skeleton->split_id, &parts);

	if (r == 0)
		r = debug_unit_read_head(file, parts.info, ret);
	if (r == 0)
		parts_apply(ret, skeleton, &parts);
	return r;
}

/* One after the other. Up to version 4 the first entry says which it is. */
static int find_single(const struct debug_file *file, const struct debug_unit *skeleton,
		       struct debug_unit *ret)
{
	const struct parts parts = {0};
	uint64_t off = 0;
	int r;

	while ((r = debug_unit_read_head(file, off, ret)) == 0 && !deadline_is_over()) {
		off = ret->end;
		parts_apply(ret, skeleton, &parts);
		if (ret->shape.version < 5)
			r = debug_unit_read_first(ret, NULL);
		if (r == 0 && !ret->is_of_types && ret->split_id == skeleton->split_id)
			return 0;
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	return r < 0 ? r : -ENOENT;
}

int debug_split_find(const struct debug_file *file, const struct debug_unit *skeleton,
		     struct debug_unit *ret)
{
	int r = file->sections[DEBUG_CU_INDEX].data ? find_packed(file, skeleton, ret)
						    : find_single(file, skeleton, ret);

	return r == -ENOENT && deadline_is_over_now() ? -ETIME : r;
}
