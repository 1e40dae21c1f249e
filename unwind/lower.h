/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a complete row of call-frame information to one rule of the table: what
 * a machine's frames look like is known here, one file per machine. Private to
 * the compiler.
 */
#ifndef ST_UNWIND_LOWER_H
#define ST_UNWIND_LOWER_H

#include "unwind/cfa.h"
#include "unwind/table_build.h"

#include <stdbool.h>
#include <stdint.h>

/* Fill RET (zeroed by the callee). cfa_op RULE_CFA_SLOW: only the whole row says it. */
typedef void lower_fn(const struct cfa_row *row, uint32_t ra_reg, bool is_signal,
		      struct build_rule *ret);

lower_fn lower_aarch64;
lower_fn lower_i386;
lower_fn lower_x86_64;

/* What a machine's common rules count from: DWARF numbers of its registers. */
struct lower_frame {
	uint8_t sp, fp, pc;
	uint8_t word_bytes;
	/* The CFA of its PLT stubs, or NULL. */
	bool (*lower_stub)(const struct lower_frame *frame, const struct reg_rule *cfa,
			   struct table_rule *rule);
};

/*
 * ROW, whose return address is by RA, as the rule RET (zeroed by the caller):
 * ROOT and BAD rows too, SLOW what only the whole row says.
 */
void lower_rule(const struct lower_frame *frame, const struct cfa_row *row,
		const struct reg_rule *ra, struct table_rule *ret);

/* `breg n a; deref [; plus_uconst b]`: another stack pointer lies in the stack. */
bool lower_deref(const struct lower_frame *frame, const struct reg_rule *cfa,
		 struct table_rule *rule);
/* `breg n off` and nothing else. */
bool lower_is_reg_plus(const struct reg_rule *rule, uint8_t *ret_reg, int64_t *ret_off);
/* Is an expression read to its end? */
bool lower_at_end(const struct reader *r);

/*
 * The form of a RULE_CFA_SLOW row in aux. slow_path.c reads it:
 *
 *	u8 is_signal, u8 ra_reg, u8 nr_regs
 *	the CFA: u8 kind; VAL_OFFSET: u8 reg, u64 off; VAL_EXPR: u32 bytes, bytes
 *	nr_regs times: u8 reg, u8 kind, then by kind: u64 off or u32 bytes, bytes
 *
 * Returns 0 and a heap block, -EBADMSG (no such row can be said), or -ENOMEM.
 */
int slow_path_encode(const struct cfa_row *row, uint32_t ra_reg, bool is_signal, uint8_t **ret,
		     size_t *ret_bytes);

/*
 * aarch64 epilogues that CFI does not describe: clang before 17 lets the row of a
 * function's body stand up to its last instruction, where x29 and x30 are the
 * caller's again and the row leads past the caller. (epilogue.c)
 */
#define EPILOGUE_INSNS_MAX 16

struct epilogue {
	size_t at; /* of its first instruction with x29 and x30 restored, in the code */
	unsigned int nr_insns;
	int32_t cfa_off[EPILOGUE_INSNS_MAX]; /* from sp to the CFA, before each of them */
};

/*
 * The next epilogue from *AT on in CODE (BYTES of it, which ROW describes) that
 * ROW is wrong for and that frees just the frame that ROW describes. *AT is moved
 * past it. False: there is no more.
 */
bool epilogue_next(const struct cfa_row *row, const uint8_t *code, size_t bytes, size_t *at,
		   struct epilogue *ret);

#endif
