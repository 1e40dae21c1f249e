/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collects rows in the order of the code and lays them out as an unwind table
 * (table_format.h). Knows no CFI.
 */
#ifndef ST_UNWIND_TABLE_BUILD_H
#define ST_UNWIND_TABLE_BUILD_H

#include "unwind/table_format.h"

#include <stddef.h>
#include <stdint.h>

/* A rule with its saved slots: what is interned. Zero it before filling it. */
struct build_rule {
	struct table_rule rule;
	int8_t saved[TABLE_SAVED_REGS];
};

struct table_builder;

/*
 * A builder for code at file offsets [FIRST, END). Returns 0, -ENOMEM, or
 * -E2BIG when the pages alone would exceed the format. Free with
 * table_builder_free (NULL is fine).
 */
int table_builder_new(enum table_machine machine, uint64_t first, uint64_t end,
		      struct table_builder **ret);
struct table_builder *table_builder_free(struct table_builder *b);

/*
 * The index of an equal rule, made if new; 0 is RULE_CFA_GAP. AUX (AUX_BYTES,
 * may be 0) is the row of a RULE_CFA_SLOW, whose x and cfa_off are set here.
 * Returns -ENOMEM, or -E2BIG when the file has too many different rules.
 */
int table_builder_rule(struct table_builder *b, const struct build_rule *rule, const void *aux,
		       size_t aux_bytes);

/*
 * RULE holds from file offset OFF on. OFF must not decrease; the last row at
 * one offset wins. Returns 0, -ENOMEM or -E2BIG.
 */
int table_builder_row(struct table_builder *b, uint64_t off, uint32_t rule);

/* The rows so far, to go back to. */
struct table_mark {
	size_t nr_rows, nr_pages;
	uint64_t last_off;
	uint32_t last_row;
};

struct table_mark table_builder_mark(const struct table_builder *b);
/* Forget the rows since MARK, which is of this builder. */
void table_builder_rewind(struct table_builder *b, const struct table_mark *mark);

/* [START, END) is one function. START must increase. */
int table_builder_func(struct table_builder *b, uint64_t start, uint64_t end);

/* Just after the calls of main and of a thread's first function, file offsets; 0: none. */
void table_builder_starts(struct table_builder *b, const uint64_t offs[TABLE_STARTS]);

/* Lay out the blob (16-byte aligned, owned by the caller). Returns 0, -ENOMEM or -E2BIG. */
int table_builder_finish(struct table_builder *b, void **ret_blob, size_t *ret_len);

#endif
