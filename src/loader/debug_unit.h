/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A unit of debug information: its head, and reading the attributes of its entries (DIEs). Knows
 * nothing of functions and lines.
 */
#ifndef ST_LOADER_DEBUG_UNIT_H
#define ST_LOADER_DEBUG_UNIT_H

#include "src/loader/debug_abbrevs.h"
#include "src/loader/debug_file.h"

/* The value of an attribute, as it stands there. */
struct debug_value {
	uint16_t form;	  /* DW_FORM_; 0: there is no such attribute */
	uint64_t number;  /* of all forms that are not a block or a text */
	const char *text; /* of DW_FORM_string */
};

/* Where the code of an entry is. */
struct debug_code {
	struct debug_value low, high, ranges;
};

/*
 * Of a unit may be split off, into another file, all that no linker need see: a skeleton is left, with its lines
 * and addresses (DWARF 5, section 3.1.2, and GNU's way before it). What was split off is a unit too.
 */
struct debug_unit {
	const struct debug_file *file;
	const struct debug_unit *skeleton; /* of what was split off; else NULL */
	uint64_t off, end;		   /* in DEBUG_INFO, from its head on */
	uint64_t first;			   /* where its first entry is */
	uint64_t abbrevs_off;
	struct debug_shape shape;
	bool is_of_types;		     /* it has no code */
	const struct debug_abbrevs *abbrevs; /* NULL: not read */
	/* what its first entry says */
	struct debug_code code;
	uint64_t base_addr; /* what its ranges are relative to */
	uint64_t addr_base, str_offsets_base, rnglists_base, ranges_base;
	uint64_t lines_off; /* in DEBUG_LINE */
	bool has_lines;
	const char *folder;	/* DW_AT_comp_dir, or NULL */
	const char *split_name; /* of a skeleton: DW_AT_dwo_name; else NULL */
	uint64_t split_id;	/* by which both parts know each other */
};

/* An entry, whose attributes are read one after the other. */
struct debug_die {
	uint64_t off;
	const struct debug_abbrev *abbrev;
	uint32_t nr_read;
	struct reader r;
};

/* The head of the unit at OFF of FILE. 0; -ENOENT: there are no more; -EBADMSG. */
int debug_unit_read_head(const struct debug_file *file, uint64_t off, struct debug_unit *ret);
/*
 * Read what the first entry of UNIT says, by ABBREVS (which are UNIT's from then on), or without them. 0, -EBADMSG,
 * -ENOMEM, -ETIME.
 */
int debug_unit_read_first(struct debug_unit *unit, const struct debug_abbrevs *abbrevs);

/* Reads from OFF on to the end of UNIT. */
struct reader debug_unit_reader(const struct debug_unit *unit, uint64_t off);
/* The entry at OFF of UNIT. 0 or -EBADMSG. */
int debug_die_at(const struct debug_unit *unit, uint64_t off, struct debug_die *ret);
/* The next attribute of DIE: its name in *RET_NAME and its value. False: there are no more, or it is cut off. */
bool debug_die_next(const struct debug_unit *unit, struct debug_die *die, unsigned int *ret_name,
		    struct debug_value *ret);
/* The places of code among those attributes. */
void debug_code_take(struct debug_code *code, unsigned int name, const struct debug_value *value);

/* The value of FORM at R. */
void debug_value_read(struct reader *r, const struct debug_shape *shape, uint16_t form,
		      struct debug_value *ret);
/* What VALUE stands for. False: it is none, or leads out of the file. */
bool debug_value_addr(const struct debug_unit *unit, const struct debug_value *value,
		      uint64_t *ret);
/* The same for the element INDEX of the unit's addresses. */
bool debug_unit_addr(const struct debug_unit *unit, uint64_t index, uint64_t *ret);
/* OTHER: dwz's second file, or NULL. NULL: it is no text, or not there. */
const char *debug_value_text(const struct debug_unit *unit, const struct debug_value *value,
			     const struct debug_file *other);
/* A line or a file; 0: none. */
uint32_t debug_value_small(const struct debug_value *value);
/* Of a reference: where in DEBUG_INFO it leads, *IS_OTHER: of dwz's second file. */
bool debug_value_ref(const struct debug_unit *unit, const struct debug_value *value, uint64_t *ret,
		     bool *is_other);

#endif
