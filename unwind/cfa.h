/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running a call-frame program: from the instructions of an FDE and its CIE to
 * rows, each the complete register rules of a range of code. Private to the
 * compiler; knows neither machine nor table.
 */
#ifndef ST_UNWIND_CFA_H
#define ST_UNWIND_CFA_H

#include "unwind/cfi_parse.h"

#include <stdbool.h>
#include <stdint.h>

#define CFA_REGS_MAX 34 /* higher numbers are vector registers and such: parsed, not kept */

enum reg_kind {
	REG_UNSET, /* the program says nothing */
	REG_UNDEFINED,
	REG_SAME,
	REG_OFFSET,	/* saved at CFA + off */
	REG_VAL_OFFSET, /* is CFA + off */
	REG_REGISTER,	/* is in register off */
	REG_EXPR,	/* saved at the expression's value */
	REG_VAL_EXPR,	/* is the expression's value */
};

struct reg_rule {
	uint8_t kind; /* enum reg_kind */
	uint32_t expr_bytes;
	union {
		int64_t off;
		const uint8_t *expr;
	};
};

struct cfa_row {
	uint64_t regs_key;   /* the registers' share of cfa_row_key() */
	struct reg_rule cfa; /* UNSET, VAL_OFFSET from register cfa_reg, or VAL_EXPR */
	uint32_t cfa_reg;
	struct reg_rule regs[CFA_REGS_MAX];
};

/* Equal rows of a file have equal keys, others (all but surely) not. */
uint64_t cfa_row_key(const struct cfa_row *row);

/* [START, END) in virtual addresses has ROW. A negative return stops the run. */
typedef int cfa_row_fn(void *arg, uint64_t start, uint64_t end, const struct cfa_row *row);

struct cfa_run {
	const struct cfi_input *input;
	cfa_row_fn *fn;
	void *arg;
	uint64_t steps_left;  /* over all runs: a bound on hostile programs */
	unsigned int nr_regs; /* at most CFA_REGS_MAX; rules of higher ones are passed over */
	const struct cfi_cie *initial_of;
	struct cfa_row initial; /* what initial_of's own program says */
	bool initial_is_bad;
	struct cfa_row row; /* of the run at hand */
};

/*
 * Run FDE's program over the whole function and give each row to RUN's fn. SECTION is
 * where the program stands. Returns 0, -EBADMSG (damaged: rows
 * given so far must be dropped), or what fn returned.
 */
int cfa_run(struct cfa_run *run, const struct cfi_cie *cie, const struct cfi_fde *fde,
	    const struct cfi_section *section);

#endif
