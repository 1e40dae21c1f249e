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

#define DEBUG_NOT_FIXED UINT16_MAX

struct debug_attr {
	uint16_t name, form; /* DW_AT_, DW_FORM_ */
	uint32_t value;	     /* of an implicit_const */
};

struct debug_abbrev {
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
