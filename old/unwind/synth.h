/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules that no CFI gives: code that is known by what it is. PLT stubs, the
 * entry point, _init, the sigreturn of musl. Only for code that no FDE covers. Private
 * to the compiler.
 */
#ifndef ST_UNWIND_SYNTH_H
#define ST_UNWIND_SYNTH_H

#include "unwind/cfi_parse.h"
#include "unwind/table_build.h"

enum synth_rule {
	SYNTH_SP8,  /* only the return address is on the stack */
	SYNTH_SP16, /* and one push */
	SYNTH_SP24, /* and two */
	SYNTH_ROOT,
	SYNTH_SIGNAL,
	SYNTH_COUNT,
};

void synth_rule(enum synth_rule kind, struct build_rule *ret);

/*
 * Append to FRAMES->fdes what is recognised in code that COVERED (NR of them,
 * sorted, disjoint) leaves open: sorted, disjoint, insns NULL, cie an enum
 * synth_rule. Returns 0, -ENOMEM or -E2BIG.
 */
int synth_find(const struct cfi_input *input, const struct cfi_fde *covered, size_t nr_covered,
	       struct cfi_frames *frames);

#endif
