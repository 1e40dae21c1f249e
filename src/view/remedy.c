/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words for each end of a stack: see remedy.h. What is the most important comes first, for a
 * narrow screen cuts the end off. A remedy that helps only one kind of program stands above the
 * one for all.
 */
#include "config.h"

#include "src/view/remedy.h"

#include "src/base/util.h"

#include <stddef.h>

static const char *const meanings[STACK_END_COUNT] = {
	[STACK_END_KERNEL] = "kernel threads: no user part",
	[STACK_END_ROOT] = "followed to the root",
	[STACK_END_STITCHED] = "outer calls from an earlier stack",
	[STACK_END_LIVE_READ] = "the rest read from the process",
	[STACK_END_TRUNCATED] = "longer than what was copied of it",
	[STACK_END_PENDING] = "waits for its table or its rest",
	[STACK_END_LATE] = "its table came too late",
	[STACK_END_NO_USER] = "the task was ending or starting",
	[STACK_END_NO_STACK] = "not one byte could be copied",
	[STACK_END_NO_MAP] = "code in no known mapping",
	[STACK_END_NO_FILE] = "the file could not be opened",
	[STACK_END_BAD_FILE] = "the file is damaged or no ELF",
	[STACK_END_NO_CFI] = "code without unwind information",
	[STACK_END_BAD_CFI] = "unwind information that is wrong",
	[STACK_END_EXPENSIVE] = "unwind information takes too long",
	[STACK_END_BAD_RA] = "a return address in no code",
	[STACK_END_JIT] = "code made at run time",
	[STACK_END_ALTSTACK] = "goes on on another stack",
	[STACK_END_DEPTH] = "more frames than are kept",
	[STACK_END_ARCH] = "code of a machine not unwound",
	[STACK_END_FP] = "perhaps cut: frame pointers end",
	[STACK_END_LBR] = "perhaps cut: branch records end",
	[STACK_END_LBR_DEPTH] = "deeper than the CPU remembers",
};

#define RECORD_DWARF "record with --call-graph dwarf"

/* clang-format off */
static const struct remedy {
	enum stack_end end;
	enum runtime runtime; /* NONE: whatever it is */
	const char *words;
	const char *recorded;  /* instead, of a recording; NULL: the same */
	const char *automatic; /* instead, where the size of the copy finds itself; NULL: the same */
} remedies[] = {
	{STACK_END_TRUNCATED, RUNTIME_NONE, "key = finds the size; 64 KB are the most",
	 "record with a larger copy: --call-graph dwarf,65528",
	 "above the copy, and not read in time"},
	{STACK_END_LATE, RUNTIME_NONE, "comes right by itself: busy or large files", NULL, NULL},
	{STACK_END_NO_STACK, RUNTIME_NONE, "page not touched yet, or swapped out", NULL, NULL},
	{STACK_END_NO_MAP, RUNTIME_NONE, "mapped just now, or notices were lost", NULL, NULL},
	{STACK_END_NO_FILE, RUNTIME_NONE, "as root; or it was deleted: start it again",
	 "--symfs, or read it where it was recorded", NULL},
	{STACK_END_BAD_FILE, RUNTIME_NONE, "install the file again", NULL, NULL},
	{STACK_END_NO_CFI, RUNTIME_NONE, "no CFI: built without .eh_frame, or asm", NULL, NULL},
	{STACK_END_BAD_CFI, RUNTIME_NONE, "its CFI is wrong: a fault of its compiler", NULL, NULL},
	{STACK_END_EXPENSIVE, RUNTIME_NONE, "its CFI takes too long to evaluate", NULL, NULL},
	{STACK_END_BAD_RA, RUNTIME_NONE, "its CFI or its stack is wrong here", NULL, NULL},
	{STACK_END_JIT, RUNTIME_JAVA, "restart it with -XX:+PreserveFramePointer", NULL, NULL},
	{STACK_END_JIT, RUNTIME_NODE, "in V8's own code: nothing helps yet", NULL, NULL},
	{STACK_END_JIT, RUNTIME_PHP, "in opcache's own code: nothing helps yet", NULL, NULL},
	{STACK_END_JIT, RUNTIME_RUBY, "start it with --yjit-perf (ruby 3.3)", NULL, NULL},
	{STACK_END_JIT, RUNTIME_NONE, "let its compiler keep frame pointers", NULL, NULL},
	{STACK_END_ALTSTACK, RUNTIME_ERLANG, "C that Erlang calls has its own stack", NULL, NULL},
	{STACK_END_ALTSTACK, RUNTIME_NONE, "a coroutine, a handler or Go's scheduler", NULL, NULL},
	{STACK_END_DEPTH, RUNTIME_NONE, "--max-depth=FRAMES keeps more of them", NULL, NULL},
	{STACK_END_ARCH, RUNTIME_NONE, "only its frame pointers are followed", NULL, NULL},
	{STACK_END_FP, RUNTIME_NONE, "key d: by CFI; or -fno-omit-frame-pointer", RECORD_DWARF, NULL},
	{STACK_END_LBR, RUNTIME_NONE, "key d: by CFI", RECORD_DWARF, NULL},
	{STACK_END_LBR_DEPTH, RUNTIME_NONE, "key d: by CFI", RECORD_DWARF, NULL},
};
/* clang-format on */

const char *remedy_meaning(enum stack_end end)
{
	return meanings[end];
}

const char *remedy_of(const struct snapshot *s, const struct health_fault *fault)
{
	const struct remedy *r = remedies, *end = remedies + ARRAY_SIZE(remedies);

	if (fault->why && fault->why[0])
		return fault->why;
	while (r < end && (r->end != fault->end ||
			   (r->runtime != fault->runtime && r->runtime != RUNTIME_NONE)))
		r++;
	if (r == end)
		return "";
	if (s->recording.is_recording)
		return r->recorded ? r->recorded : r->words;
	return s->settings.is_stack_auto && r->automatic ? r->automatic : r->words;
}
