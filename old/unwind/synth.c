/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that is recognised by its bytes, where no FDE covers it: see synth.h.
 * x86-64 only. Sources: binutils' elf_x86_64 PLT templates; glibc's and musl's
 * start.S; musl's src/signal/x86_64/restore.s.
 */
#include "config.h"

#include "unwind/synth.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <string.h>

#define STUB_BYTES	16
#define SYNTH_MAX	(1u << 20)
#define READ_BYTES	(1u << 20)
#define SYNTH_BYTES_MIN 7   /* of the shortest pattern, mov $15,%eax; syscall */
#define ENTRY_GAP_BYTES 256 /* a hole of this size around the entry point is start-up code */
#define ENTRY_SCAN	64  /* where the entry code makes its one call */
#define INIT_SCAN	256 /* the calls of _init */

/* Uncovered code of one segment. */
struct gap {
	const struct cfi_segment *seg;
	uint64_t start, end; /* file offsets */
};

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

void synth_rule(enum synth_rule kind, struct build_rule *ret)
{
	*ret = (struct build_rule){0};
	memset(ret->saved, SAVED_SAME, 5);
	switch (kind) {
	case SYNTH_SP8:
	case SYNTH_SP16:
	case SYNTH_SP24:
		ret->rule.cfa_op = RULE_CFA_SP;
		ret->rule.cfa_off = 8 + 8 * (int32_t)(kind - SYNTH_SP8);
		break;
	case SYNTH_ROOT:
		*ret = (struct build_rule){.rule.cfa_op = RULE_CFA_ROOT};
		break;
	default:
		*ret = (struct build_rule){.rule.cfa_op = RULE_CFA_SIGNAL};
		break;
	}
}

static int add(struct cfi_frames *f, uint64_t start, uint64_t end, uint64_t begin,
	       enum synth_rule rule)
{
	int r;

	if (start >= end)
		return 0;
	r = vec_reserve(&f->fdes, &f->cap_fdes, f->nr_fdes + 1, SYNTH_MAX);
	if (r < 0)
		return r;
	f->fdes[f->nr_fdes++] =
		(struct cfi_fde){.start = start, .end = end, .begin = begin, .cie = rule};
	return 0;
}

static bool starts_with(const uint8_t *p, size_t left, const void *bytes, size_t len)
{
	return left >= len && memcmp(p, bytes, len) == 0;
}

/* The bytes of a stub at P and how many of them run before its push; 0: not a stub. */
static unsigned int stub_match(const uint8_t *p, size_t left, unsigned int *ret_push)
{
	size_t at = 0;

	*ret_push = STUB_BYTES;
	if (left < 8)
		return 0;
	if (p[0] == 0xff && p[1] == 0x25 && p[6] == 0x66 && p[7] == 0x90) {
		*ret_push = 8;
		return 8; /* .plt.got: jmp *slot; xchg %ax,%ax */
	}
	if (left < STUB_BYTES)
		return 0;
	if (p[0] == 0xff && p[1] == 0x25 && p[6] == 0x68 && p[11] == 0xe9) {
		*ret_push = 11;
		return STUB_BYTES; /* .plt: jmp *slot; push n; jmp plt0 */
	}
	if (!starts_with(p, left, endbr64, sizeof(endbr64)))
		return 0;
	at = sizeof(endbr64);
	if (p[at] == 0x68 && (p[at + 5] == 0xe9 || (p[at + 5] == 0xf2 && p[at + 6] == 0xe9))) {
		*ret_push = 9;
		return STUB_BYTES; /* .plt with IBT: endbr64; push n; jmp plt0 */
	}
	at += p[at] == 0xf2;
	return p[at] == 0xff && p[at + 1] == 0x25 ? STUB_BYTES : 0; /* .plt.sec */
}

static bool is_plt0(const uint8_t *p, size_t left)
{
	return left >= STUB_BYTES && p[0] == 0xff && p[1] == 0x35 &&
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
		    enum synth_rule before)
{
	int r = add(f, off, off + push, off, before);

	return r < 0 ? r : add(f, off + push, off + bytes, off, before + 1);
}

static int find_plt(const struct cfi_input *input, const struct gap *gap, struct cfi_frames *f)
{
	uint64_t shift = gap->seg->vaddr - gap->seg->file_off;
	uint64_t off = align_up(gap->start + shift, 8) - shift;
	unsigned int bytes, push;
	int r = 0;

	for (; r == 0 && off < gap->end && gap->end - off >= 8; off += bytes) {
		const uint8_t *p = gap->seg->text + (off - gap->seg->file_off);
		size_t left = gap->end - off;

		bytes = stub_match(p, left, &push);
		if (bytes) {
			r = add_stub(f, off, bytes, push, SYNTH_SP8);
		} else if (is_plt0(p, left)) {
			bytes = STUB_BYTES;
			r = add_stub(f, off, bytes, 6, SYNTH_SP16);
		} else if (left >= STUB_BYTES && in_plt_section(input, off + shift)) {
			bytes = STUB_BYTES; /* of a kind not known here: no stub keeps a frame */
			r = add(f, off, off + bytes, off, SYNTH_SP8);
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
static int find_sigreturn(const struct gap *gap, struct cfi_frames *f)
{
	static const uint8_t tail[] = {0x0f, 0, 0, 0, 0x0f, 0x05};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	const uint8_t *end = text + (gap->end - gap->start), *p = text, *hit;
	int r = 0;

	while (r == 0 && (hit = memmem(p, (size_t)(end - p), tail, sizeof(tail)))) {
		uint64_t at = gap->start + (uint64_t)(hit - text), start = at;

		if (hit - text >= 3 && memcmp(hit - 3, "\x48\xc7\xc0", 3) == 0)
			start = at - 3;
		else if (hit - text >= 1 && hit[-1] == 0xb8)
			start = at - 1;
		p = hit + sizeof(tail);
		if (start < at)
			r = add(f, MAX(gap->start, start - 1), at + sizeof(tail), start,
				SYNTH_SIGNAL);
	}
	return r;
}

/*
 * _init as crti.o and crtn.o make it, around the calls of constructors:
 * `sub $8,%rsp; mov __gmon_start__,%rax; test %rax,%rax; je`, to `add $8,%rsp; ret`.
 */
static int find_init(const struct gap *gap, struct cfi_frames *f)
{
	static const uint8_t begin[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05};
	static const uint8_t after[] = {0x48, 0x85, 0xc0, 0x74};
	static const uint8_t end[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	size_t left = gap->end - gap->start, at;
	const uint8_t *p = memmem(text, left, begin, sizeof(begin)), *q;
	uint64_t start, push, pop;
	int r;

	if (!p)
		return 0;
	at = (size_t)(p - text) + sizeof(begin) + sizeof(int32_t);
	if (at > left || !starts_with(text + at, left - at, after, sizeof(after)))
		return 0;
	q = memmem(text + at, MIN(left - at, (size_t)INIT_SCAN), end, sizeof(end));
	if (!q)
		return 0;
	push = gap->start + (uint64_t)(p - text) + 4;
	pop = gap->start + (uint64_t)(q - text) + 4;
	start = push - 4;
	if (p - text >= 4 && memcmp(p - 4, endbr64, sizeof(endbr64)) == 0)
		start -= sizeof(endbr64);
	r = add(f, start, push, start, SYNTH_SP8);
	if (r == 0)
		r = add(f, push, pop, start, SYNTH_SP16);
	return r < 0 ? r : add(f, pop, pop + 1, start, SYNTH_SP8);
}

/* _fini as crti.o and crtn.o make it, with nothing in between: `sub $8,%rsp; add $8,%rsp; ret`. */
static int find_fini(const struct gap *gap, struct cfi_frames *f)
{
	static const uint8_t whole[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	const uint8_t *p = memmem(text, gap->end - gap->start, whole, sizeof(whole));
	uint64_t at, start;
	int r;

	if (!p)
		return 0;
	at = start = gap->start + (uint64_t)(p - text);
	if (p - text >= 4 && memcmp(p - 4, endbr64, sizeof(endbr64)) == 0)
		start -= sizeof(endbr64);
	r = add(f, start, at + 4, start, SYNTH_SP8);
	if (r == 0)
		r = add(f, at + 4, at + 8, start, SYNTH_SP16);
	return r < 0 ? r : add(f, at + 8, at + 9, start, SYNTH_SP8);
}

/* How many bytes at the entry point run before or just after its one call; 0: not known code. */
static size_t entry_match(const uint8_t *p, size_t left)
{
	size_t at = starts_with(p, left, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;

	left = MIN(left, (size_t)ENTRY_SCAN);
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

static int find_entry(const struct cfi_input *input, const struct gap *gap, struct cfi_frames *f)
{
	uint64_t entry = input->entry - gap->seg->vaddr + gap->seg->file_off;
	uint64_t end = gap->end;

	if (input->entry == 0 || entry < gap->start || entry >= gap->end)
		return 0;
	if (gap->end - gap->start > ENTRY_GAP_BYTES) {
		const uint8_t *text = gap->seg->text;

		if (!text)
			return 0;
		end = MIN(end, entry + entry_match(text + (entry - gap->seg->file_off),
						   gap->end - entry));
	}
	return add(f, entry, end, entry, SYNTH_ROOT);
}

static int gap_search(const struct cfi_input *input, const struct gap *gap, struct cfi_frames *f)
{
	int r = find_entry(input, gap, f);

	if (gap->end - gap->start < SYNTH_BYTES_MIN) /* mostly what pads functions */
		return r;
	if (r == 0 && gap->seg->text)
		r = find_sigreturn(gap, f);
	if (r == 0 && gap->seg->text)
		r = find_init(gap, f);
	if (r == 0 && gap->seg->text)
		r = find_fini(gap, f);
	if (r == 0 && gap->seg->text)
		r = find_plt(input, gap, f);
	return r == -E2BIG ? 0 : r; /* a million stubs are enough */
}

/* The first of NR sorted, disjoint ranges that ends after OFF. */
static size_t first_after(const struct cfi_fde *covered, size_t nr, uint64_t off)
{
	size_t low = 0;

	while (low < nr) {
		size_t mid = low + (nr - low) / 2;

		if (covered[mid].end > off)
			nr = mid;
		else
			low = mid + 1;
	}
	return low;
}

int synth_find(const struct cfi_input *input, const struct cfi_fde *covered, size_t nr_covered,
	       struct cfi_frames *frames)
{
	int r = 0;

	if (input->machine != TABLE_MACHINE_X86_64)
		return 0;
	for (size_t i = 0; r == 0 && i < input->nr_segments; i++) {
		const struct cfi_segment *seg = &input->segments[i];
		struct gap gap = {.seg = seg, .start = seg->file_off};
		uint64_t seg_end = seg->file_off + seg->bytes;
		size_t c = first_after(covered, nr_covered, seg->file_off);
		uint64_t read = gap.start;

		for (; r == 0 && gap.start < seg_end; c++) {
			gap.end = c < nr_covered ? MIN(covered[c].start, seg_end) : seg_end;
			if (gap.start < gap.end)
				r = gap_search(input, &gap, frames);
			if (seg->text && input->text_was_read && gap.end - read >= READ_BYTES) {
				input->text_was_read(seg->text + (read - seg->file_off),
						     gap.end - read);
				read = gap.end;
			}
			gap.start = c < nr_covered ? MAX(gap.start, covered[c].end) : seg_end;
		}
	}
	return r;
}
