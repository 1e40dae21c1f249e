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

enum synth_kind {
	SYNTH_SP, /* so many words are on the stack, then the return address */
	SYNTH_LR, /* aarch64: nothing is, the return address is in x30 */
	SYNTH_ROOT,
	SYNTH_SIGNAL,
	SYNTH_GAP,
	/* Go, where calls preserve no register: as SYNTH_SP; and the uppermost word is the caller's rbp */
	SYNTH_GO,
	SYNTH_GO_FRAME,
	SYNTH_GO_CALLBACK, /* as SYNTH_GO, but the caller is not at a return address */
	/* on another stack; where it came from is not known, or so many words above that register */
	SYNTH_ELSEWHERE,
	SYNTH_KEPT_R12,
	SYNTH_KEPT_RBX,
};

/* A rule of our own making as a number: its kind, and words as of it. */
#define SYNTH_KIND_BITS 5
#define SYNTH_KIND_MASK ((1u << SYNTH_KIND_BITS) - 1)

static inline uint32_t synth_code(enum synth_kind kind, uint32_t words)
{
	return (uint32_t)kind | words << SYNTH_KIND_BITS;
}

static inline uint32_t synth_sp(uint32_t words)
{
	return synth_code(SYNTH_SP, words);
}

/* Uncovered code of one segment. */
struct synth_gap {
	const struct cfi_segment *seg;
	uint64_t start, end; /* file offsets */
};

/* What a machine recognises in GAP; as synth_find, and -E2BIG when there is no room for more. */
typedef int synth_fn(const struct cfi_input *input, const struct synth_gap *gap,
		     struct cfi_frames *f);
synth_fn synth_aarch64;
synth_fn synth_x86; /* both kinds */

/* Rule CODE (synth_code) for [START, END) of the code that begins at BEGIN. Returns as synth_fn. */
int synth_add(struct cfi_frames *f, uint64_t start, uint64_t end, uint64_t begin, uint32_t code);
/*
 * The entry point, if it is in GAP: all of a small gap, else as many bytes as
 * MATCH knows to be start-up code (0: it is none). Returns as synth_fn.
 */
int synth_entry(const struct cfi_input *input, const struct synth_gap *gap,
		size_t (*match)(const uint8_t *p, size_t left), struct cfi_frames *f);

/*
 * The first place of PATTERN (PATTERN_BYTES) in LEFT bytes from P on, or NULL. Also
 * NULL when the deadline is over: a gap may be as large as a file.
 */
const uint8_t *synth_search(const uint8_t *p, size_t left, const uint8_t *pattern,
			    size_t pattern_bytes);

void synth_rule(enum table_machine machine, uint32_t code, struct build_rule *ret);

/*
 * Append to FRAMES->fdes what SEARCH recognises in code that COVERED (NR of them,
 * sorted, disjoint) leaves open: sorted, disjoint, insns NULL, cie a
 * synth_code. Returns 0, -ENOMEM or -E2BIG.
 */
int synth_find(const struct cfi_input *input, synth_fn *search, const struct cfi_fde *covered,
	       size_t nr_covered, struct cfi_frames *frames);

/*
 * Append to FRAMES->fdes what Go's table of functions in INPUT says of its code, as
 * synth_find; they may overlap by a byte. Returns 0, -ENOMEM or -ETIME. (go_table.c)
 */
int go_table_find(const struct cfi_input *input, struct cfi_frames *frames);

/*
 * The functions of a C library in which every thread begins: the one that calls main and
 * the one that calls a thread's first function. What is above them says
 * nothing about a program, and a chain of frame pointers cannot go on there where the library
 * was built without them.
 *
 * Look for them in the code of INPUT, if it defines exit or pthread_exit. OFFS gets for each
 * kind the file offset just after the call, or 0: none, or more than one function could be
 * it. 0, or -ETIME when the deadline is over.
 */
int starts_find(const struct cfi_input *input, uint64_t offs[TABLE_STARTS]);

#endif
