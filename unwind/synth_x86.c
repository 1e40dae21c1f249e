/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64 and i386: code without FDEs that is known by its bytes. Of i386 the stubs, the entry
 * point and how code learns its own place. Sources: binutils' elf_x86_64 and elf_i386 PLT templates; glibc's and musl's start.S; musl's
 * src/signal/x86_64/restore.s.
 */
#include "config.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "unwind/synth.h"

#include <string.h>

#define STUB_BYTES	  16
#define SYNTH_BYTES_MIN	  7 /* of the shortest pattern, mov $15,%eax; syscall */
#define PADDING_BYTES_MAX 63
#define EDGE_BYTES \
	(1u << 20)     /* of a hole: what is larger is other data, or a language without CFI */
#define ENTRY_SCAN 96  /* where the entry code makes its one call */
#define INIT_SCAN  256 /* the calls of _init */

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const uint8_t endbr32[] = {0xf3, 0x0f, 0x1e, 0xfb};

#define ENDBR_BYTES sizeof(endbr64)

static bool starts_with(const uint8_t *p, size_t left, const void *bytes, size_t len)
{
	return left >= len && memcmp(p, bytes, len) == 0;
}

static bool is_endbr(const struct cfi_input *input, const uint8_t *p, size_t left)
{
	return starts_with(p, left, input->machine == TABLE_MACHINE_I386 ? endbr32 : endbr64,
			   ENDBR_BYTES);
}

/* `jmp *slot`; of i386 the slot may be given by its distance from ebx. */
static bool is_slot_jump(const struct cfi_input *input, const uint8_t *p)
{
	return p[0] == 0xff &&
	       (p[1] == 0x25 || (p[1] == 0xa3 && input->machine == TABLE_MACHINE_I386));
}

/* The bytes of a stub at P and how many of them run before its push; 0: not a stub. */
static unsigned int stub_match(const struct cfi_input *input, const uint8_t *p, size_t left,
			       unsigned int *ret_push)
{
	size_t at = 0;

	*ret_push = STUB_BYTES;
	if (left < 8)
		return 0;
	if (is_slot_jump(input, p) && p[6] == 0x66 && p[7] == 0x90) {
		*ret_push = 8;
		return 8; /* .plt.got: jmp *slot; xchg %ax,%ax */
	}
	if (left < STUB_BYTES)
		return 0;
	if (is_slot_jump(input, p) && p[6] == 0x68 && p[11] == 0xe9) {
		*ret_push = 11;
		return STUB_BYTES; /* .plt: jmp *slot; push n; jmp plt0 */
	}
	if (!is_endbr(input, p, left))
		return 0;
	at = ENDBR_BYTES;
	if (p[at] == 0x68 && (p[at + 5] == 0xe9 || (p[at + 5] == 0xf2 && p[at + 6] == 0xe9))) {
		*ret_push = 9;
		return STUB_BYTES; /* .plt with IBT: endbr; push n; jmp plt0 */
	}
	at += p[at] == 0xf2;
	return is_slot_jump(input, p + at) ? STUB_BYTES : 0; /* .plt.sec */
}

static bool is_plt0(const struct cfi_input *input, const uint8_t *p, size_t left)
{
	if (left < STUB_BYTES || p[0] != 0xff)
		return false;
	if (p[1] == 0xb3) /* pushl 4(%ebx) */
		return is_slot_jump(input, p + 6) && p[7] == 0xa3;
	return p[1] == 0x35 &&
	       ((p[6] == 0xff && p[7] == 0x25) || (p[6] == 0xf2 && p[7] == 0xff && p[8] == 0x25));
}

static bool in_plt_section(const struct cfi_input *input, uint64_t vaddr)
{
	for (size_t i = 0; i < ARRAY_SIZE(input->plt); i++)
		if (input->plt[i].data && vaddr - input->plt[i].vaddr < input->plt[i].bytes)
			return true;
	return false;
}

static int add_stub(struct cfi_frames *f, uint64_t off, unsigned int bytes, unsigned int push,
		    uint32_t words)
{
	int r = synth_add(f, off, off + push, off, synth_sp(words));

	return r < 0 ? r : synth_add(f, off + push, off + bytes, off, synth_sp(words + 1));
}

static int find_plt(const struct cfi_input *input, const struct synth_gap *gap,
		    struct cfi_frames *f)
{
	uint64_t shift = gap->seg->vaddr - gap->seg->file_off;
	uint64_t off = align_up(gap->start + shift, 8) - shift;
	unsigned int bytes, push;
	int r = 0;

	for (; r == 0 && !deadline_is_over() && off < gap->end && gap->end - off >= 8;
	     off += bytes) {
		const uint8_t *p = gap->seg->text + (off - gap->seg->file_off);
		size_t left = gap->end - off;

		bytes = stub_match(input, p, left, &push);
		if (bytes) {
			r = add_stub(f, off, bytes, push, 0);
		} else if (is_plt0(input, p, left)) {
			bytes = STUB_BYTES;
			r = add_stub(f, off, bytes, 6, 1);
		} else if (left >= STUB_BYTES && in_plt_section(input, off + shift)) {
			bytes = STUB_BYTES; /* of a kind not known here: no stub keeps a frame */
			r = synth_add(f, off, off + bytes, off, synth_sp(0));
		} else {
			bytes = 8;
		}
	}
	return r;
}

/*
 * `mov $15,%eax or %rax; syscall`. A handler returns to its first byte, and a
 * return address is looked up one byte lower: musl has a nop there for that.
 */
static int find_sigreturn(const struct synth_gap *gap, struct cfi_frames *f)
{
	static const uint8_t tail[] = {0x0f, 0, 0, 0, 0x0f, 0x05};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	const uint8_t *end = text + (gap->end - gap->start), *p = text, *hit;
	int r = 0;

	while (r == 0 && (hit = synth_search(p, (size_t)(end - p), tail, sizeof(tail)))) {
		uint64_t at = gap->start + (uint64_t)(hit - text), start = at;

		if (hit - text >= 3 && memcmp(hit - 3, "\x48\xc7\xc0", 3) == 0)
			start = at - 3;
		else if (hit - text >= 1 && hit[-1] == 0xb8)
			start = at - 1;
		p = hit + sizeof(tail);
		if (start < at)
			r = synth_add(f, MAX(gap->seg->file_off + 1, start) - 1, at + sizeof(tail),
				      start, SYNTH_SIGNAL);
	}
	return r;
}

/*
 * `sub $8,%rsp` at P to `add $8,%rsp; ret` at Q, which crti.o and crtn.o make of _init
 * and _fini: without and with a word on the stack besides the return address.
 */
static int add_init(const struct synth_gap *gap, const uint8_t *p, const uint8_t *q,
		    struct cfi_frames *f)
{
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	uint64_t push = gap->start + (uint64_t)(p - text) + 4;
	uint64_t pop = gap->start + (uint64_t)(q - text) + 4;
	uint64_t start = push - 4;
	int r;

	if ((size_t)(p - text) >= ENDBR_BYTES && memcmp(p - ENDBR_BYTES, endbr64, ENDBR_BYTES) == 0)
		start -= ENDBR_BYTES;
	r = synth_add(f, start, push, start, synth_sp(0));
	if (r == 0)
		r = synth_add(f, push, pop, start, synth_sp(1));
	return r < 0 ? r : synth_add(f, pop, pop + 1, start, synth_sp(0));
}

/* _init, around the calls of constructors: `mov __gmon_start__,%rax; test %rax,%rax; je` come first. */
static int find_init(const struct synth_gap *gap, struct cfi_frames *f)
{
	static const uint8_t begin[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05};
	static const uint8_t after[] = {0x48, 0x85, 0xc0, 0x74};
	static const uint8_t end[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	size_t left = gap->end - gap->start, at;
	const uint8_t *p = synth_search(text, left, begin, sizeof(begin)), *q;

	if (!p)
		return 0;
	at = (size_t)(p - text) + sizeof(begin) + sizeof(int32_t);
	if (at > left || !starts_with(text + at, left - at, after, sizeof(after)))
		return 0;
	q = memmem(text + at, MIN(left - at, (size_t)INIT_SCAN), end, sizeof(end));
	return q ? add_init(gap, p, q, f) : 0;
}

/* _fini, with nothing in between. */
static int find_fini(const struct synth_gap *gap, struct cfi_frames *f)
{
	static const uint8_t whole[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	const uint8_t *p = synth_search(text, gap->end - gap->start, whole, sizeof(whole));

	return p ? add_init(gap, p, p + 4, f) : 0;
}

/* How many bytes at the entry point run before or just after its one call; 0: not known code. */
static size_t entry_match(const uint8_t *p, size_t left)
{
	size_t at = starts_with(p, left, endbr64, ENDBR_BYTES) ? ENDBR_BYTES : 0;

	left = MIN(left, (size_t)ENTRY_SCAN);
	if (starts_with(p, left, endbr32, ENDBR_BYTES))
		at = ENDBR_BYTES;
	/* Free Pascal's notes first where the arguments are: lea info(%rip),%r10; ... xor %rbp,%rbp; call */
	if (starts_with(p, left, "\x4c\x8d\x15", 3)) {
		while (at < left && !starts_with(p + at, left - at, "\x48\x31\xed\xe8", 4))
			at++;
		return at + 9 <= left ? at + 9 : 0;
	}
	if (!starts_with(p + at, left - at, "\x31\xed", 2) &&	  /* xor %ebp,%ebp */
	    !starts_with(p + at, left - at, "\x48\x31\xed", 3) && /* xor %rbp,%rbp */
	    !starts_with(p + at, left - at, "\x48\x89\xe7", 3))	  /* mov %rsp,%rdi */
		return 0;
	for (; at + 6 < left; at++) {
		if (p[at] == 0xe8)
			return at + 5 + 1; /* with the hlt after it */
		if (p[at] == 0xff && p[at + 1] == 0x15)
			return at + 6 + 1;
	}
	return 0;
}

/* What pads functions has none of the bytes that all code here has: system call, return, jump, push. */
static bool is_padding(const struct synth_gap *gap)
{
	const uint8_t *p = gap->seg->text + (gap->start - gap->seg->file_off);

	for (size_t i = 0; i < gap->end - gap->start; i++)
		if (p[i] == 0x05 || p[i] == 0xc3 || p[i] == 0xff || p[i] == 0x68)
			return false;
	return true;
}

/*
 * `mov (%esp),%reg; ret`: i386 code that wants to know where it is calls that. The compiler's own
 * have CFI, those of the C library's start-up files not.
 */
static int find_thunks(const struct synth_gap *gap, struct cfi_frames *f)
{
	static const uint8_t tail[] = {0x24, 0xc3};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	const uint8_t *end = text + (gap->end - gap->start), *p = text, *hit;
	int r = 0;

	while (r == 0 && (hit = synth_search(p, (size_t)(end - p), tail, sizeof(tail)))) {
		uint64_t at = gap->start + (uint64_t)(hit - text);

		p = hit + sizeof(tail);
		if (hit - text >= 2 && hit[-2] == 0x8b && (hit[-1] & 0xc7) == 0x04)
			r = synth_add(f, at - 2, at + sizeof(tail), at - 2, synth_sp(0));
	}
	return r;
}

/* What the linker and the C library put around the code of a program. */
static int find_frame_code(const struct cfi_input *input, const struct synth_gap *gap,
			   struct cfi_frames *f)
{
	bool is_64 = input->machine == TABLE_MACHINE_X86_64;
	int r = is_64 ? find_init(gap, f) : find_thunks(gap, f);

	if (r == 0 && is_64)
		r = find_fini(gap, f);
	return r == 0 ? find_plt(input, gap, f) : r;
}

int synth_x86(const struct cfi_input *input, const struct synth_gap *gap, struct cfi_frames *f)
{
	uint64_t bytes = gap->end - gap->start;
	int r = synth_entry(input, gap, entry_match, f);

	if (bytes < SYNTH_BYTES_MIN || !gap->seg->text)
		return r;
	/* Searches have their price, and most holes are of this size. */
	if (bytes <= PADDING_BYTES_MAX && is_padding(gap))
		return r;
	if (r == 0 && input->machine == TABLE_MACHINE_X86_64)
		r = find_sigreturn(gap, f);
	if (r == 0 && bytes <= 2 * EDGE_BYTES) {
		r = find_frame_code(input, gap, f);
	} else if (r == 0) {
		struct synth_gap head = *gap, tail = *gap;

		head.end = gap->start + EDGE_BYTES;
		tail.start = gap->end - EDGE_BYTES;
		r = find_frame_code(input, &head, f);
		if (r == 0)
			r = find_frame_code(input, &tail, f);
	}
	return r;
}
