/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table of abbreviations (DWARF 5, section 7.5.3): what the entries of a unit look like, so
 * that most of them can be skipped without a look at their attributes. Example: the entry
 *
 *	name (strp)  line (data1)  type (ref4)  location (exprloc)  sibling (ref4)
 *
 * is skipped by 9 bytes, a block with its length in front, and a jump to the sibling.
 */
#ifndef ST_LOADER_DEBUG_ABBREVS_H
#define ST_LOADER_DEBUG_ABBREVS_H

#include "src/base/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the sizes of forms depend on. */
struct debug_shape {
	uint8_t version;
	uint8_t addr_bytes;
	uint8_t offset_bytes; /* 8 in the 64-bit format */
};

#define DEBUG_NOT_FIXED	 UINT16_MAX
#define DEBUG_EASY_BYTES 64 /* of the attributes of an easy entry, but for a block's own */

/* Most entries have at most one number or block among attributes of fixed length. */
enum debug_easy_kind {
	DEBUG_NOT_EASY,
	DEBUG_EASY_FIXED,
	DEBUG_EASY_LEB,
	DEBUG_EASY_BLOCK, /* with its length in front, as a LEB */
};

struct debug_easy {
	uint8_t kind;			   /* enum debug_easy_kind */
	uint8_t before_bytes, after_bytes; /* around the number or block */
	int8_t levels;			   /* 1: children follow; -1: it is the end of some */
};

struct debug_attr {
	uint16_t name, form; /* DW_AT_, DW_FORM_ */
	uint32_t value;	     /* of an implicit_const */
};

struct debug_abbrev {
	uint64_t tag_bit; /* 1 << TAG; 0: too great, or a function that has no code */
	uint32_t code;
	uint32_t first_attr, first_skip;
	uint16_t nr_attrs;
	uint16_t tag; /* DW_TAG_ */
	/* Most have attributes of so many bytes in all, with a sibling (ref4) at one of them. */
	uint16_t fixed_bytes; /* DEBUG_NOT_FIXED: that depends */
	uint16_t sibling_at;  /* DEBUG_NOT_FIXED: there is none, if the bytes are fixed */
	bool has_children;
	bool has_code; /* it says where its code is */
};

struct debug_skip;

struct debug_abbrevs {
	struct debug_abbrev *all; /* by code */
	size_t nr, cap;
	size_t nr_plain;	 /* so many from the first on have the codes 1, 2, 3... */
	struct debug_easy *easy; /* of the codes up to NR_PLAIN, with 0; NULL: one alone was read */
	struct debug_attr *attrs;
	size_t nr_attrs, cap_attrs;
	struct debug_skip *skips;
	size_t nr_skips, cap_skips;
};

/*
 * Read the table at R into RET, which is zeroed; of ONLY_CODE, if that is not 0, that one alone. 0, -ENOMEM,
 * -EBADMSG (damaged, or a form that is not known), -E2BIG. RET is to be freed in any case.
 */
int debug_abbrevs_read(struct reader *r, const struct debug_shape *shape, uint64_t only_code,
		       struct debug_abbrevs *ret);
void debug_abbrevs_done(struct debug_abbrevs *abbrevs);
size_t debug_abbrevs_bytes(const struct debug_abbrevs *abbrevs);

/* That of CODE; NULL: there is none. */
const struct debug_abbrev *debug_abbrevs_find(const struct debug_abbrevs *abbrevs, uint64_t code);
/* The same as debug_skip_attrs(), for all. */
void debug_skip_attrs_slowly(const struct debug_abbrevs *abbrevs, const struct debug_abbrev *abbrev,
			     struct reader *r, uint64_t *sibling);
/*
 * Move R past a value of FORM. It is bad then, if the value is cut off or FORM is none that says how long it is:
 * not known, or one that stands elsewhere (indirect, implicit_const).
 */
void debug_form_skip(struct reader *r, const struct debug_shape *shape, uint64_t form);
/*
 * Behind the attributes at P of an entry like EASY; at least DEBUG_EASY_BYTES are left up to END. NULL: it is not easy,
 * debug_skip_attrs() has to look.
 */
static inline const uint8_t *debug_skip_easily(const struct debug_easy *easy, const uint8_t *p,
					       const uint8_t *end)
{
	uint32_t number;

	if (easy->kind == DEBUG_NOT_EASY)
		return NULL;
	p += easy->before_bytes;
	if (easy->kind == DEBUG_EASY_FIXED)
		return p;
	number = *p++;
	if (number >= 0x80) {
		number = (number & 0x7f) | (uint32_t)*p << 7;
		if (*p++ >= 0x80)
			return NULL;
	}
	if (easy->kind == DEBUG_EASY_LEB)
		return p + easy->after_bytes;
	number += easy->after_bytes;
	return number <= end - p ? p + number : NULL;
}
/*
 * Move R from the attributes of an entry like ABBREV to what follows it: its children, if it has any. *SIBLING
 * is what follows those, as an offset in the unit; 0: it does not say. R is bad if the entry is cut off.
 */
static inline void debug_skip_attrs(const struct debug_abbrevs *abbrevs,
				    const struct debug_abbrev *abbrev, struct reader *r,
				    uint64_t *sibling)
{
	struct reader at = *r;

	if (abbrev->fixed_bytes == DEBUG_NOT_FIXED) {
		debug_skip_attrs_slowly(abbrevs, abbrev, r, sibling);
		return;
	}
	*sibling = 0;
	reader_skip(r, abbrev->fixed_bytes);
	if (abbrev->sibling_at != DEBUG_NOT_FIXED) {
		reader_skip(&at, abbrev->sibling_at);
		*sibling = reader_u32(&at);
	}
}

#endif
