/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading abbreviations, and the steps by which entries are skipped: see debug_abbrevs.h. */
#include "config.h"

#include "src/loader/debug_abbrevs.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define ABBREVS_MAX (1u << 16)
#define ATTRS_MAX   (1u << 20) /* of one table */
#define ATTRS_EACH  1024u      /* of one abbreviation: the bytes of a step fit into 16 bits */

/* What comes after the bytes of a step. */
enum skip_then {
	THEN_END, /* of the attributes */
	THEN_LEB,
	THEN_STRING,
	THEN_BLOCK_LEB,
	THEN_BLOCK1,
	THEN_BLOCK2,
	THEN_BLOCK4,
	THEN_INDIRECT,
	THEN_SIBLING,
	THEN_NOT_KNOWN,
};

struct debug_skip {
	uint16_t bytes;
	uint8_t then;
	uint8_t form; /* of a SIBLING */
	uint8_t addr_bytes, offset_bytes;
};

/* The number of bytes of FORM, or -1: that depends, see then_of(). */
static int form_bytes(uint64_t form, const struct debug_shape *shape)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return shape->addr_bytes;
	case DW_FORM_ref_addr:
		return shape->version <= 2 ? shape->addr_bytes : shape->offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return shape->offset_bytes;
	default:
		return -1;
	}
}

static enum skip_then then_of(uint64_t form)
{
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_loclistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return THEN_LEB;
	case DW_FORM_string:
		return THEN_STRING;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return THEN_BLOCK_LEB;
	case DW_FORM_block1:
		return THEN_BLOCK1;
	case DW_FORM_block2:
		return THEN_BLOCK2;
	case DW_FORM_block4:
		return THEN_BLOCK4;
	case DW_FORM_indirect:
		return THEN_INDIRECT;
	default:
		return THEN_NOT_KNOWN;
	}
}

/* --- reading --- */

static int skip_add(struct debug_abbrevs *a, struct debug_skip skip)
{
	int r = vec_reserve(&a->skips, &a->cap_skips, a->nr_skips + 1, ATTRS_MAX);

	if (r == 0)
		a->skips[a->nr_skips++] = skip;
	return r;
}

static int attr_add(struct debug_abbrevs *a, struct debug_abbrev *abbrev, struct debug_attr attr)
{
	int r = vec_reserve(&a->attrs, &a->cap_attrs, a->nr_attrs + 1, ATTRS_MAX);

	if (r < 0)
		return r;
	a->attrs[a->nr_attrs++] = attr;
	abbrev->nr_attrs++;
	if (attr.name == DW_AT_low_pc || attr.name == DW_AT_ranges)
		abbrev->has_code = true;
	return 0;
}

static bool is_sibling(const struct debug_attr *attr)
{
	return attr->name == DW_AT_sibling &&
	       (attr->form == DW_FORM_ref1 || attr->form == DW_FORM_ref2 ||
		attr->form == DW_FORM_ref4 || attr->form == DW_FORM_ref8 ||
		attr->form == DW_FORM_ref_udata);
}

/* Do the steps of ABBREV, all of which are there, always come to the same? */
static void fixed_note(const struct debug_abbrevs *a, struct debug_abbrev *abbrev)
{
	const struct debug_skip *skip = &a->skips[abbrev->first_skip];

	abbrev->fixed_bytes = abbrev->sibling_at = DEBUG_NOT_FIXED;
	if (skip->then == THEN_END) {
		abbrev->fixed_bytes = skip->bytes;
	} else if (skip->then == THEN_SIBLING && skip->form == DW_FORM_ref4 &&
		   skip[1].then == THEN_END) {
		abbrev->sibling_at = skip->bytes;
		abbrev->fixed_bytes = (uint16_t)(skip->bytes + 4u + skip[1].bytes);
	}
}

/* The steps over all attributes of ABBREV. */
static int skips_make(struct debug_abbrevs *a, struct debug_abbrev *abbrev,
		      const struct debug_shape *shape)
{
	struct debug_skip skip = {.addr_bytes = shape->addr_bytes,
				  .offset_bytes = shape->offset_bytes};
	uint32_t bytes = 0;
	int r;

	abbrev->first_skip = (uint32_t)a->nr_skips;
	for (uint32_t i = 0; i < abbrev->nr_attrs; i++) {
		const struct debug_attr *attr = &a->attrs[abbrev->first_attr + i];
		int fixed = form_bytes(attr->form, shape);

		if (fixed >= 0 && !is_sibling(attr)) {
			bytes += (uint32_t)fixed;
			continue;
		}
		skip.bytes = (uint16_t)bytes;
		skip.then = is_sibling(attr) ? THEN_SIBLING : then_of(attr->form);
		skip.form = (uint8_t)attr->form;
		bytes = 0;
		if (skip.then == THEN_NOT_KNOWN)
			return -EBADMSG;
		r = skip_add(a, skip);
		if (r < 0)
			return r;
	}
	skip.bytes = (uint16_t)bytes;
	skip.then = THEN_END;
	r = skip_add(a, skip);
	if (r == 0)
		fixed_note(a, abbrev);
	return r;
}

/* The attributes at R; those of one that is not WANTED are not kept. */
static int attrs_read(struct reader *r, struct debug_abbrevs *a, struct debug_abbrev *abbrev,
		      bool is_wanted)
{
	abbrev->first_attr = (uint32_t)a->nr_attrs;
	for (uint32_t nr = 0; nr <= ATTRS_EACH; nr++) {
		uint64_t name = reader_uleb(r), form = reader_uleb(r);
		int64_t value = form == DW_FORM_implicit_const ? reader_sleb(r) : 0;
		int error = 0;

		if (r->bad || name > UINT16_MAX || form > UINT16_MAX)
			return -EBADMSG;
		if (name == 0 && form == 0)
			return 0;
		if (is_wanted)
			error = attr_add(a, abbrev,
					 (struct debug_attr){
						 .name = (uint16_t)name,
						 .form = (uint16_t)form,
						 /* lines and files; greater ones are none */
						 .value = value >= 0 && value <= INT32_MAX
								  ? (uint32_t)value
								  : 0,
					 });
		if (error < 0)
			return error;
	}
	return -E2BIG;
}

/* 0: one more; 1: it was the last one. */
static int abbrev_read(struct reader *r, const struct debug_shape *shape, uint64_t only_code,
		       struct debug_abbrevs *a)
{
	struct debug_abbrev abbrev = {0};
	uint64_t code = reader_uleb(r), tag;
	bool is_wanted = !only_code || code == only_code;
	int error;

	if (code == 0)
		return r->bad ? -EBADMSG : 1;
	tag = reader_uleb(r);
	abbrev.has_children = reader_u8(r) != 0;
	if (code > UINT32_MAX)
		return -EBADMSG;
	abbrev.code = (uint32_t)code;
	abbrev.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
	error = attrs_read(r, a, &abbrev, is_wanted);
	if (error < 0 || !is_wanted)
		return error;
	if (tag < 64 && (abbrev.has_code || tag != DW_TAG_subprogram))
		abbrev.tag_bit = 1ull << tag;
	error = vec_reserve(&a->all, &a->cap, a->nr + 1, ABBREVS_MAX);
	if (error == 0)
		error = skips_make(a, &abbrev, shape);
	if (error == 0)
		a->all[a->nr++] = abbrev;
	return error < 0 ? error : only_code != 0;
}

static int by_code(const void *a, const void *b)
{
	const struct debug_abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

/* The entries like ABBREV, whose steps are all there. */
static struct debug_easy easy_of(const struct debug_abbrevs *a, const struct debug_abbrev *abbrev)
{
	const struct debug_skip *skip = &a->skips[abbrev->first_skip];
	bool is_fixed = skip->then == THEN_END;
	uint32_t after = is_fixed ? 0 : skip[1].bytes;
	struct debug_easy easy = {.levels = abbrev->has_children};

	if (skip->bytes + 2u + after > DEBUG_EASY_BYTES || (!is_fixed && skip[1].then != THEN_END))
		return easy;
	easy.before_bytes = (uint8_t)skip->bytes;
	easy.after_bytes = (uint8_t)after;
	if (is_fixed)
		easy.kind = DEBUG_EASY_FIXED;
	else if (skip->then == THEN_LEB)
		easy.kind = DEBUG_EASY_LEB;
	else if (skip->then == THEN_BLOCK_LEB)
		easy.kind = DEBUG_EASY_BLOCK;
	return easy;
}

/* All are read and in order. */
static int easy_make(struct debug_abbrevs *a)
{
	while (a->nr_plain < a->nr && a->all[a->nr_plain].code == a->nr_plain + 1)
		a->nr_plain++;
	a->easy = malloc((a->nr_plain + 1) * sizeof(*a->easy));
	if (!a->easy)
		return -ENOMEM;
	a->easy[0] = (struct debug_easy){.kind = DEBUG_EASY_FIXED, .levels = -1};
	for (size_t i = 0; i < a->nr_plain; i++)
		a->easy[i + 1] = easy_of(a, &a->all[i]);
	return 0;
}

int debug_abbrevs_read(struct reader *r, const struct debug_shape *shape, uint64_t only_code,
		       struct debug_abbrevs *ret)
{
	bool is_sorted = true;
	int more;

	while ((more = abbrev_read(r, shape, only_code, ret)) == 0) {
		if (ret->nr >= 2 && ret->all[ret->nr - 2].code >= ret->all[ret->nr - 1].code)
			is_sorted = false;
		if (deadline_is_over())
			return -ETIME;
	}
	if (!is_sorted)
		qsort(ret->all, ret->nr, sizeof(*ret->all), by_code);
	if (more < 0 || only_code)
		return MIN(more, 0);
	return easy_make(ret);
}

void debug_abbrevs_done(struct debug_abbrevs *a)
{
	free(a->all);
	free(a->attrs);
	free(a->skips);
	free(a->easy);
	*a = (struct debug_abbrevs){0};
}

size_t debug_abbrevs_bytes(const struct debug_abbrevs *a)
{
	return a->cap * sizeof(*a->all) + a->cap_attrs * sizeof(*a->attrs) +
	       a->cap_skips * sizeof(*a->skips) +
	       (a->easy ? a->nr_plain + 1 : 0) * sizeof(*a->easy);
}

/* --- use --- */

const struct debug_abbrev *debug_abbrevs_find(const struct debug_abbrevs *a, uint64_t code)
{
	size_t at;

	/* Compilers number them from 1 on. */
	if (likely(code - 1 < a->nr_plain))
		return &a->all[code - 1];
	at = search_first(a->nr, i, a->all[i].code >= code);
	return at < a->nr && a->all[at].code == code ? &a->all[at] : NULL;
}

static inline void skip_then(struct reader *r, enum skip_then then)
{
	switch (then) {
	case THEN_LEB:
		reader_uleb(r);
		break;
	case THEN_STRING:
		reader_str(r);
		break;
	case THEN_BLOCK_LEB:
		reader_skip(r, reader_uleb(r));
		break;
	case THEN_BLOCK1:
		reader_skip(r, reader_u8(r));
		break;
	case THEN_BLOCK2:
		reader_skip(r, reader_u16(r));
		break;
	case THEN_BLOCK4:
		reader_skip(r, reader_u32(r));
		break;
	default:
		r->bad = true;
	}
}

void debug_form_skip(struct reader *r, const struct debug_shape *shape, uint64_t form)
{
	int fixed = form_bytes(form, shape);

	if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
		r->bad = true;
	else if (fixed >= 0)
		reader_skip(r, (size_t)fixed);
	else
		skip_then(r, then_of(form));
}

/* The form stands before the value. */
static void skip_indirect(struct reader *r, const struct debug_skip *skip)
{
	/* The version counts for one form only, which stands for the address of a unit in version 2. */
	const struct debug_shape shape = {
		.version = 5, .addr_bytes = skip->addr_bytes, .offset_bytes = skip->offset_bytes};

	debug_form_skip(r, &shape, reader_uleb(r));
}

static uint64_t sibling_read(struct reader *r, uint8_t form)
{
	switch (form) {
	case DW_FORM_ref1:
		return reader_u8(r);
	case DW_FORM_ref2:
		return reader_u16(r);
	case DW_FORM_ref4:
		return reader_u32(r);
	case DW_FORM_ref8:
		return reader_u64(r);
	default:
		return reader_uleb(r);
	}
}

/*
 * Do the steps from SKIP on, as long as they are easy: numbers and blocks with lengths of one or two bytes, far from the end.
 * Returns the step where R is then.
 */
static const struct debug_skip *skip_easily(struct reader *r, const struct debug_skip *skip)
{
	for (const uint8_t *p = r->p; r->end - p >= skip->bytes + 2; r->p = p, skip++) {
		uint32_t number;

		if (skip->then != THEN_LEB && skip->then != THEN_BLOCK_LEB)
			break;
		p += skip->bytes;
		number = *p++;
		if (number >= 0x80) {
			number = (number & 0x7f) | (uint32_t)*p << 7;
			if (*p++ >= 0x80)
				break;
		}
		if (skip->then == THEN_LEB)
			continue;
		if (number > r->end - p)
			break;
		p += number;
	}
	return skip;
}

void debug_skip_attrs_slowly(const struct debug_abbrevs *a, const struct debug_abbrev *abbrev,
			     struct reader *r, uint64_t *sibling)
{
	const struct debug_skip *skip = skip_easily(r, &a->skips[abbrev->first_skip]);

	*sibling = 0;
	for (;; skip++) {
		reader_skip(r, skip->bytes);
		if (skip->then == THEN_END || r->bad)
			return;
		if (skip->then == THEN_SIBLING)
			*sibling = sibling_read(r, skip->form);
		else if (skip->then == THEN_INDIRECT)
			skip_indirect(r, skip);
		else
			skip_then(r, skip->then);
	}
}
