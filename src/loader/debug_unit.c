/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads of units, and the values of attributes by their forms: see debug_unit.h. */
#include "config.h"

#include "src/loader/debug_unit.h"

#include "src/base/util.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define LENGTH_64  UINT32_MAX /* then the length follows, and offsets have 8 bytes */
#define LENGTH_MAX 0xfffffff0u

/* --- heads --- */

static uint64_t read_sized(struct reader *r, unsigned int bytes)
{
	switch (bytes) {
	case 1:
		return reader_u8(r);
	case 2:
		return reader_u16(r);
	case 4:
		return reader_u32(r);
	case 8:
		return reader_u64(r);
	default:
		r->bad = true;
		return 0;
	}
}

/* What version 5 has between its type and the first entry. */
static void head_read_type(struct reader *r, struct debug_unit *unit, uint8_t type)
{
	unit->is_of_types = type == DW_UT_type || type == DW_UT_split_type;
	if (unit->is_of_types)
		reader_skip(r, 8u + unit->shape.offset_bytes);
	else if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		unit->split_id = reader_u64(r);
}

static bool head_is_good(const struct debug_unit *unit)
{
	const struct debug_shape *shape = &unit->shape;

	return shape->version >= 2 && shape->version <= 5 &&
	       (shape->addr_bytes == 4 || shape->addr_bytes == 8);
}

int debug_unit_read_head(const struct debug_file *file, uint64_t off, struct debug_unit *ret)
{
	struct debug_unit unit = {.file = file, .off = off, .shape.offset_bytes = 4};
	struct reader r = debug_file_reader(file, DEBUG_INFO, off);
	const uint8_t *start = r.p;
	uint64_t length;
	uint8_t type = DW_UT_compile;
	uint16_t version;

	if (r.bad)
		return -ENOENT;
	length = reader_u32(&r);
	if (length == LENGTH_64) {
		unit.shape.offset_bytes = 8;
		length = reader_u64(&r);
	} else if (length >= LENGTH_MAX) {
		return -EBADMSG;
	}
	if (r.bad || length > reader_left(&r) || length < 4)
		return -EBADMSG;
	unit.end = off + (uint64_t)(r.p - start) + length;
	r.end = r.p + length;
	version = reader_u16(&r);
	unit.shape.version = version <= 5 ? (uint8_t)version : 0;
	if (version == 5) {
		type = reader_u8(&r);
		unit.shape.addr_bytes = reader_u8(&r);
	}
	unit.abbrevs_off = read_sized(&r, unit.shape.offset_bytes);
	if (version < 5)
		unit.shape.addr_bytes = reader_u8(&r);
	head_read_type(&r, &unit, type);
	unit.first = off + (uint64_t)(r.p - start);
	*ret = unit;
	/* The next one can be found. */
	if (r.bad || !head_is_good(&unit))
		ret->shape.version = 0;
	return 0;
}

/* --- values --- */

static uint64_t read_3(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 3);

	if (!p)
		return 0;
	return r->swap ? (uint64_t)p[0] << 16 | (uint64_t)p[1] << 8 | p[2]
		       : (uint64_t)p[2] << 16 | (uint64_t)p[1] << 8 | p[0];
}

static uint64_t number_read(struct reader *r, const struct debug_shape *shape, uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
		return 1;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return reader_u8(r);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return reader_u16(r);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return read_3(r);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return reader_u32(r);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return reader_u64(r);
	case DW_FORM_addr:
		return read_sized(r, shape->addr_bytes);
	case DW_FORM_ref_addr:
		return read_sized(r, shape->version <= 2 ? shape->addr_bytes : shape->offset_bytes);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return read_sized(r, shape->offset_bytes);
	case DW_FORM_sdata:
		return (uint64_t)reader_sleb(r);
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_loclistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return reader_uleb(r);
	default:
		debug_form_skip(r, shape, form);
		return 0;
	}
}

void debug_value_read(struct reader *r, const struct debug_shape *shape, uint16_t form,
		      struct debug_value *ret)
{
	*ret = (struct debug_value){.form = form};
	if (form == DW_FORM_string)
		ret->text = reader_str(r);
	else
		ret->number = number_read(r, shape, form);
}

bool debug_die_next(const struct debug_unit *unit, struct debug_die *die, unsigned int *ret_name,
		    struct debug_value *ret)
{
	const struct debug_attr *attr;
	uint64_t form;

	if (die->nr_read == die->abbrev->nr_attrs || die->r.bad)
		return false;
	attr = &unit->abbrevs->attrs[die->abbrev->first_attr + die->nr_read++];
	*ret_name = attr->name;
	form = attr->form;
	if (form == DW_FORM_indirect)
		form = reader_uleb(&die->r);
	if (form == DW_FORM_implicit_const)
		*ret = (struct debug_value){.form = DW_FORM_implicit_const, .number = attr->value};
	else if (form <= UINT16_MAX)
		debug_value_read(&die->r, &unit->shape, (uint16_t)form, ret);
	else
		die->r.bad = true;
	return !die->r.bad;
}

void debug_code_take(struct debug_code *code, unsigned int name, const struct debug_value *value)
{
	if (name == DW_AT_low_pc)
		code->low = *value;
	else if (name == DW_AT_high_pc)
		code->high = *value;
	else if (name == DW_AT_ranges)
		code->ranges = *value;
}

/* The number of BYTES that is element INDEX of those from BASE on in SECTION. */
static bool element_read(const struct debug_unit *unit, enum debug_section section, uint64_t base,
			 uint64_t index, unsigned int bytes, uint64_t *ret)
{
	uint64_t off;
	struct reader r;

	if (__builtin_mul_overflow(index, bytes, &off) || __builtin_add_overflow(off, base, &off))
		return false;
	r = debug_file_reader(unit->file, section, off);
	*ret = read_sized(&r, bytes);
	return !r.bad;
}

bool debug_unit_addr(const struct debug_unit *unit, uint64_t index, uint64_t *ret)
{
	if (unit->skeleton)
		unit = unit->skeleton;
	return element_read(unit, DEBUG_ADDR, unit->addr_base, index, unit->shape.addr_bytes, ret);
}

bool debug_value_addr(const struct debug_unit *unit, const struct debug_value *value, uint64_t *ret)
{
	switch (value->form) {
	case DW_FORM_addr:
		*ret = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return debug_unit_addr(unit, value->number, ret);
	default:
		return false;
	}
}

const char *debug_value_text(const struct debug_unit *unit, const struct debug_value *value,
			     const struct debug_file *other)
{
	uint64_t off;

	switch (value->form) {
	case DW_FORM_string:
		return value->text;
	case DW_FORM_strp:
		return debug_file_text(unit->file, DEBUG_STR, value->number);
	case DW_FORM_line_strp:
		return debug_file_text(unit->file, DEBUG_LINE_STR, value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return other ? debug_file_text(other, DEBUG_STR, value->number) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!element_read(unit, DEBUG_STR_OFFSETS, unit->str_offsets_base, value->number,
				  unit->shape.offset_bytes, &off))
			return NULL;
		return debug_file_text(unit->file, DEBUG_STR, off);
	default:
		return NULL;
	}
}

uint32_t debug_value_small(const struct debug_value *value)
{
	switch (value->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		return value->number <= INT32_MAX ? (uint32_t)value->number : 0;
	default:
		return 0;
	}
}

bool debug_value_ref(const struct debug_unit *unit, const struct debug_value *value, uint64_t *ret,
		     bool *is_other)
{
	*is_other = false;
	*ret = value->number;
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (value->number >= unit->end - unit->off)
			return false;
		*ret = unit->off + value->number;
		return true;
	case DW_FORM_ref_addr:
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*is_other = true;
		return true;
	default:
		return false;
	}
}

/* --- entries --- */

struct reader debug_unit_reader(const struct debug_unit *unit, uint64_t off)
{
	struct reader r = debug_file_reader(unit->file, DEBUG_INFO, off);

	if (off < unit->first || off >= unit->end)
		r.bad = true;
	else if (!r.bad)
		r.end = r.p + (unit->end - off);
	return r;
}

int debug_die_at(const struct debug_unit *unit, uint64_t off, struct debug_die *ret)
{
	*ret = (struct debug_die){.off = off, .r = debug_unit_reader(unit, off)};
	ret->abbrev = debug_abbrevs_find(unit->abbrevs, reader_uleb(&ret->r));
	return ret->r.bad || !ret->abbrev ? -EBADMSG : 0;
}

static void first_take(struct debug_unit *unit, unsigned int name, const struct debug_value *value)
{
	switch (name) {
	case DW_AT_stmt_list:
		unit->lines_off = value->number;
		unit->has_lines = true;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value->number;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value->number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value->number;
		break;
	case DW_AT_GNU_dwo_id:
		unit->split_id = value->number;
		break;
	default:
		debug_code_take(&unit->code, name, value);
	}
}

/* One abbreviation is enough for the first entry, and mostly it is the first one. */
static int first_abbrev(const struct debug_unit *unit, struct debug_abbrevs *ret)
{
	struct reader die = debug_unit_reader(unit, unit->first);
	struct reader r = debug_file_reader(unit->file, DEBUG_ABBREV, unit->abbrevs_off);
	uint64_t code = reader_uleb(&die);

	return code == 0 ? -EBADMSG : debug_abbrevs_read(&r, &unit->shape, code, ret);
}

static int first_read(struct debug_unit *unit)
{
	struct debug_value value, folder = {0}, split_name = {0};
	struct debug_die die;
	unsigned int name;
	int r = debug_die_at(unit, unit->first, &die);

	if (r < 0)
		return r;
	while (debug_die_next(unit, &die, &name, &value)) {
		first_take(unit, name, &value);
		if (name == DW_AT_comp_dir)
			folder = value;
		else if (name == DW_AT_dwo_name || name == DW_AT_GNU_dwo_name)
			split_name = value;
	}
	/* Now that it is known where addresses and texts are. */
	if (unit->skeleton)
		unit->base_addr = unit->skeleton->base_addr;
	else if (!debug_value_addr(unit, &unit->code.low, &unit->base_addr))
		unit->base_addr = 0;
	unit->folder = debug_value_text(unit, &folder, NULL);
	unit->split_name = unit->skeleton ? NULL : debug_value_text(unit, &split_name, NULL);
	return die.r.bad ? -EBADMSG : 0;
}

int debug_unit_read_first(struct debug_unit *unit, const struct debug_abbrevs *abbrevs)
{
	struct debug_abbrevs one = {0};
	int r = 0;

	if (unit->shape.version == 0)
		return -EBADMSG;
	unit->abbrevs = abbrevs ? abbrevs : &one;
	if (!abbrevs)
		r = first_abbrev(unit, &one);
	if (r == 0)
		r = first_read(unit);
	if (!abbrevs)
		unit->abbrevs = NULL;
	debug_abbrevs_done(&one);
	return r;
}
