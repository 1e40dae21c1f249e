/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of modes and of end reasons: see stack.h. */
#include "config.h"

#include "src/base/stack.h"

#include "src/base/util.h"

#include <assert.h>

static const char *const mode_names[] = {
	[STACK_MODE_FP] = "fp",
	[STACK_MODE_DWARF] = "dwarf",
	[STACK_MODE_LBR] = "lbr",
};
_Static_assert(ARRAY_SIZE(mode_names) == STACK_MODE_COUNT, "every mode has a name");

static const struct {
	const char *name, *meaning;
} ends[] = {
	[STACK_END_KERNEL] = {"kernel", "kernel thread: there is no user part"},
	[STACK_END_ROOT] = {"root", "reached the outermost function by verified steps"},
	[STACK_END_STITCHED] = {"stitched",
				"cut, and completed from an earlier stack of the thread"},
	[STACK_END_TRUNCATED] = {"truncated", "the stack is longer than the copy: try ]"},
	[STACK_END_PENDING] = {"pending", "waits for an unwind table"},
	[STACK_END_LATE] = {"late", "its unwind table came too late"},
	[STACK_END_NO_USER] = {"no-user", "the task was ending or starting: it has no user part"},
	[STACK_END_NO_STACK] = {"no-stack", "no byte of the stack could be copied"},
	[STACK_END_NO_MAP] = {"no-map", "an address in no known mapping"},
	[STACK_END_NO_FILE] = {"no-file", "a mapped file that could not be opened"},
	[STACK_END_BAD_FILE] = {"bad-file", "a mapped file that could not be parsed"},
	[STACK_END_NO_CFI] = {"no-cfi", "code without unwind information"},
	[STACK_END_BAD_CFI] = {"bad-cfi", "unwind information that cannot be right"},
	[STACK_END_EXPENSIVE] = {"expensive", "unwind information that takes too long to evaluate"},
	[STACK_END_BAD_RA] = {"bad-ra", "a return address outside executable memory"},
	[STACK_END_JIT] = {"jit", "generated code in anonymous memory"},
	[STACK_END_ALTSTACK] = {"altstack", "goes on on a stack that was not copied"},
	[STACK_END_DEPTH] = {"depth", "more frames than are kept"},
	[STACK_END_ARCH] = {"arch", "a 32-bit program: its stack is not unwound"},
	[STACK_END_FP] = {"fp-end", "end of the frame-pointer chain, no proof of a root"},
	[STACK_END_LBR] = {"lbr-end", "end of the branch stack, no proof of a root"},
	[STACK_END_LBR_DEPTH] = {"lbr-depth", "the branch stack was full"},
};
_Static_assert(ARRAY_SIZE(ends) == STACK_END_COUNT, "every end reason has a name");

const char *stack_mode_name(enum stack_mode mode)
{
	assert(mode < STACK_MODE_COUNT);
	return mode_names[mode];
}

const char *stack_end_name(enum stack_end end)
{
	assert(end < STACK_END_COUNT);
	return ends[end].name;
}

const char *stack_end_meaning(enum stack_end end)
{
	assert(end < STACK_END_COUNT);
	return ends[end].meaning;
}

bool stack_end_is_user(enum stack_end end)
{
	return end != STACK_END_KERNEL && end != STACK_END_NO_USER;
}
