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

static const char *const end_names[] = {
	[STACK_END_KERNEL] = "kernel",
	[STACK_END_ROOT] = "root",
	[STACK_END_STITCHED] = "stitched",
	[STACK_END_LIVE_READ] = "live-read",
	[STACK_END_TRUNCATED] = "truncated",
	[STACK_END_PENDING] = "pending",
	[STACK_END_LATE] = "late",
	[STACK_END_NO_USER] = "no-user",
	[STACK_END_NO_STACK] = "no-stack",
	[STACK_END_NO_MAP] = "no-map",
	[STACK_END_NO_FILE] = "no-file",
	[STACK_END_BAD_FILE] = "bad-file",
	[STACK_END_NO_CFI] = "no-cfi",
	[STACK_END_BAD_CFI] = "bad-cfi",
	[STACK_END_EXPENSIVE] = "expensive",
	[STACK_END_BAD_RA] = "bad-ra",
	[STACK_END_JIT] = "jit",
	[STACK_END_ALTSTACK] = "altstack",
	[STACK_END_DEPTH] = "depth",
	[STACK_END_ARCH] = "arch",
	[STACK_END_FP] = "fp-end",
	[STACK_END_LBR] = "lbr-end",
	[STACK_END_LBR_DEPTH] = "lbr-depth",
};
_Static_assert(ARRAY_SIZE(end_names) == STACK_END_COUNT, "every end reason has a name");

const char *stack_mode_name(enum stack_mode mode)
{
	assert(mode < STACK_MODE_COUNT);
	return mode_names[mode];
}

const char *stack_end_name(enum stack_end end)
{
	assert(end < STACK_END_COUNT);
	return end_names[end];
}

bool stack_end_is_user(enum stack_end end)
{
	return end != STACK_END_KERNEL && end != STACK_END_NO_USER;
}

bool stack_end_is_root(enum stack_end end)
{
	return end == STACK_END_ROOT || end == STACK_END_STITCHED || end == STACK_END_LIVE_READ;
}
