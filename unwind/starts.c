/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where threads begin, by the code after the call, see synth.h. These functions pass on
 * what the called function returns, for x86-64:
 *
 *	glibc's __libc_start_call_main and musl's libc_start_main_stage2
 *		call *%rax; mov %eax,%edi; call exit
 *	musl's start and start_c11
 *		call *(%rbx); mov %rax,%rdi; call pthread_exit
 *	glibc's start_thread, which keeps it in struct pthread, 16 bytes before the function
 *		call *0x640(%rbx); mov %rax,%fs:0x630
 *
 * A cltq or movslq stands between where the function is one of C11's. And glibc's for i386:
 *
 *	call *%eax; add $16,%esp; sub $12,%esp; push %eax; call exit
 *	call *0x228(%eax); add $16,%esp; mov %eax,%gs:0x21c
 */
#include "config.h"

#include "unwind/return_addrs_format.h"
#include "unwind/synth.h"

#include <string.h>

#define CALL_BYTES   5 /* of call rel32 */
#define INDIRECT_MIN 2
#define INDIRECT_MAX 7
/* struct pthread, glibc's nptl/descr.h: start_routine and result */
#define FUNCTION_TO_RESULT    0x10
#define FUNCTION_TO_RESULT_32 0x0c
#define FREE_ARGUMENTS	      "\x83\xc4\x10" /* add $16,%esp */

enum { STARTS_MAIN, STARTS_THREAD };

struct search {
	const struct cfi_input *input;
	const struct cfi_segment *seg;
	uint64_t *offs;
	bool is_ambiguous[TABLE_STARTS];
};

/* Do the bytes before END, which begin at TEXT, end with these? They are taken off then. */
static bool take(const uint8_t *text, const uint8_t **end, const char *bytes, size_t len)
{
	if ((size_t)(*end - text) < len || memcmp(*end - len, bytes, len) != 0)
		return false;
	*end -= len;
	return true;
}

static bool is_after_indirect_call(const uint8_t *text, const uint8_t *end)
{
	for (size_t n = INDIRECT_MIN; n <= INDIRECT_MAX && n <= (size_t)(end - text); n++)
		if (indirect_call_bytes(end - n, n) == n)
			return true;
	return false;
}

static void found(struct search *s, unsigned int kind, const uint8_t *at)
{
	s->is_ambiguous[kind] |= s->offs[kind] != 0;
	s->offs[kind] = s->seg->file_off + (uint64_t)(at - s->seg->text);
}

/* CALL may be one of exit or pthread_exit. */
static void look_at_call(struct search *s, const uint8_t *call)
{
	const uint8_t *text = s->seg->text, *end = call;
	uint64_t target;
	int32_t rel;

	memcpy(&rel, call + 1, sizeof(rel));
	target = s->seg->vaddr + (uint64_t)(call - text) + CALL_BYTES + (uint64_t)(int64_t)rel;
	if (s->input->machine == TABLE_MACHINE_I386) {
		if ((uint32_t)target == s->input->exit_vaddr &&
		    take(text, &end, "\x83\xec\x0c\x50", 4) &&
		    take(text, &end, FREE_ARGUMENTS, 3) && is_after_indirect_call(text, end))
			found(s, STARTS_MAIN, end);
		return;
	}
	if (target == s->input->exit_vaddr && take(text, &end, "\x89\xc7", 2) &&
	    is_after_indirect_call(text, end))
		found(s, STARTS_MAIN, end);
	else if (target == s->input->pthread_exit_vaddr && take(text, &end, "\x48\x89\xc7", 3) &&
		 is_after_indirect_call(text, end))
		found(s, STARTS_THREAD, end);
}

/* STORE may be `mov %rax,%fs:`, `mov %eax,%gs:` of a thread's result. */
static void look_at_store(struct search *s, const uint8_t *store, size_t left)
{
	static const uint8_t mov_64[] = {0x64, 0x48, 0x89, 0x04, 0x25}, mov_32[] = {0x65, 0xa3};
	bool is_32 = s->input->machine == TABLE_MACHINE_I386;
	const uint8_t *text = s->seg->text, *end = store, *mov = is_32 ? mov_32 : mov_64;
	size_t mov_bytes = is_32 ? sizeof(mov_32) : sizeof(mov_64);
	int32_t result, function;

	if (left < mov_bytes + sizeof(result) || memcmp(store, mov, mov_bytes) != 0)
		return;
	memcpy(&result, store + mov_bytes, sizeof(result));
	if (is_32)
		take(text, &end, FREE_ARGUMENTS, 3);
	else
		take(text, &end, "\x48\x98", 2); /* cltq */
	if (end - text < 6 || end[-6] != 0xff || (end[-5] & 0xf8) != 0x90)
		return;
	memcpy(&function, end - sizeof(function), sizeof(function));
	if (function - (int64_t)result == (is_32 ? FUNCTION_TO_RESULT_32 : FUNCTION_TO_RESULT))
		found(s, STARTS_THREAD, end);
}

static int search_segment(struct search *s)
{
	const uint8_t *text = s->seg->text;
	uint64_t read = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i + CALL_BYTES <= s->seg->bytes; i++) {
		if (text[i] == 0xe8)
			look_at_call(s, text + i);
		else if (text[i] == 0x64 || text[i] == 0x65)
			look_at_store(s, text + i, s->seg->bytes - i);
		r = cfi_text_read(s->input, s->seg, &read, i);
	}
	return r;
}

int starts_find(const struct cfi_input *input, uint64_t offs[TABLE_STARTS])
{
	struct search s = {.input = input, .offs = offs};
	int r = 0;

	memset(offs, 0, TABLE_STARTS * sizeof(*offs));
	if ((input->machine != TABLE_MACHINE_X86_64 && input->machine != TABLE_MACHINE_I386) ||
	    (input->exit_vaddr == 0 && input->pthread_exit_vaddr == 0))
		return 0;
	for (size_t i = 0; r == 0 && i < input->nr_segments; i++) {
		s.seg = &input->segments[i];
		if (s.seg->text)
			r = search_segment(&s);
	}
	for (unsigned int kind = 0; kind < TABLE_STARTS; kind++)
		if (s.is_ambiguous[kind])
			offs[kind] = 0;
	return r;
}
