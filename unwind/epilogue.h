/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64 epilogues that CFI does not describe: clang before 17 lets the row of a
 * function's body stand up to its last instruction, where x29 and x30 are the
 * caller's again and the row leads past the caller. Private to the compiler.
 */
#ifndef ST_UNWIND_EPILOGUE_H
#define ST_UNWIND_EPILOGUE_H

#include "unwind/cfa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
