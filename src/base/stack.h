/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two words that every layer uses about a stack: how it was unwound and
 * why it ends where it ends.
 */
#ifndef ST_BASE_STACK_H
#define ST_BASE_STACK_H

#include <stdbool.h>

enum stack_mode {
	STACK_MODE_FP,	  /* the kernel's frame-pointer callchain */
	STACK_MODE_DWARF, /* call-frame information, from copies of registers and stack */
	STACK_MODE_LBR,	  /* last branch records in call-stack mode */
	STACK_MODE_COUNT,
};

/* Each stack carries exactly one of these. */
enum stack_end {
	STACK_END_KERNEL,   /* kernel thread or no user part wanted: nothing to unwind */
	STACK_END_ROOT,	    /* reached a root through verified steps: complete */
	STACK_END_STITCHED, /* completed by inference from another sample of the thread */
	/* reached a root; the outer part was read from the live process behind a guard */
	STACK_END_LIVE_READ,
	STACK_END_TRUNCATED, /* ran past the copied bytes (or the kernel's chain limit) */
	STACK_END_PENDING,   /* waiting for an unwind table: provisional, becomes another */
	/* the unwind table did not come in time or there was no room to wait */
	STACK_END_LATE,
	/* a task whose user part is gone (exiting, in exec) or not there yet */
	STACK_END_NO_USER,
	STACK_END_NO_STACK, /* user registers, but not one byte of the stack could be copied */
	STACK_END_NO_MAP,   /* pc in no known mapping */
	STACK_END_NO_FILE,  /* the mapped file could not be opened or read; its module says why */
	STACK_END_BAD_FILE, /* not ELF, damaged, or its loader crashed or timed out */
	STACK_END_NO_CFI,   /* no CFI here and no verifiable frame pointer */
	/* CFI that cannot be right: CFA not growing, misaligned, no such register */
	STACK_END_BAD_CFI,
	STACK_END_EXPENSIVE, /* CFI that took more work than one stack is given */
	STACK_END_BAD_RA,    /* return address not in executable memory */
	STACK_END_JIT,	     /* anonymous executable memory */
	/* continues on another stack that was not copied (after a signal frame) */
	STACK_END_ALTSTACK,
	STACK_END_DEPTH,     /* more frames than are kept */
	STACK_END_ARCH,	     /* of a machine that is not unwound here: the kernel's chain only */
	STACK_END_FP,	     /* frame-pointer chain: ends without proof of a root */
	STACK_END_LBR,	     /* branch stack: ends without proof of a root */
	STACK_END_LBR_DEPTH, /* the branch stack was full */
	STACK_END_COUNT,
};

/* "fp", "dwarf", "lbr". */
const char *stack_mode_name(enum stack_mode mode);
/* A short lower-case word as shown on screen and in json: "root", "truncated", "no-cfi" ... */
const char *stack_end_name(enum stack_end end);
/* The stack has a user part whose unwinding could have succeeded or failed. */
bool stack_end_is_user(enum stack_end end);
/* The stack reached a root, by verified steps alone or else: see the three reasons. */
bool stack_end_is_root(enum stack_end end);

#endif
