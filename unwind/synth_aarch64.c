/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64: code without FDEs that is known by its bytes. Stubs are looked for
 * in PLT sections only. Sources: binutils' elfnn-aarch64.c (PLT templates);
 * musl's crt_arch.h and src/signal/aarch64/restore.s; the kernel's
 * vdso/sigreturn.S.
 */
#include "config.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "unwind/abi.h"
#include "unwind/synth.h"

#define INSN_STP_X16_X30 0xa9bf7bf0u /* stp x16,x30,[sp,#-16]!: the first stub, for the linker */
#define INSN_BR_X17	 0xd61f0220u /* the end of a stub */
#define INSN_ZERO_X29	 0xd280001du /* mov x29,#0 */
#define INSN_B_MASK	 0x7c000000u
#define INSN_B		 0x14000000u /* b, bl */

#define ENTRY_SCAN 64 /* where the entry code goes on to C */

/* The stubs at [AT, END), of one section; that of TLS descriptors, which ends otherwise, is left out. */
static int add_stubs(const struct synth_gap *gap, uint64_t at, uint64_t end, struct cfi_frames *f)
{
	uint32_t rule = SYNTH_LR;
	uint64_t stub = at, from = at;
	int r = 0;

	for (; r == 0 && !deadline_is_over() && at + A64_INSN_BYTES <= end; at += A64_INSN_BYTES) {
		uint32_t insn = a64_insn(gap->seg->text + (at - gap->seg->file_off));

		if (insn != INSN_STP_X16_X30 && insn != INSN_BR_X17)
			continue;
		r = synth_add(f, from, at + A64_INSN_BYTES, stub, rule);
		from = at + A64_INSN_BYTES;
		rule = insn == INSN_BR_X17 ? SYNTH_LR : synth_sp(1);
		stub = insn == INSN_BR_X17 ? from : stub;
	}
	return r;
}

static int find_plt(const struct cfi_input *input, const struct synth_gap *gap,
		    struct cfi_frames *f)
{
	uint64_t shift = gap->seg->vaddr - gap->seg->file_off;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(input->plt); i++) {
		const struct cfi_section *plt = &input->plt[i];
		uint64_t start = MAX(gap->start + shift, plt->vaddr), end;

		if (!plt->data || __builtin_add_overflow(plt->vaddr, plt->bytes, &end))
			continue;
		end = MIN(end, gap->end + shift);
		if (start < end)
			r = add_stubs(gap, start - shift, end - shift, f);
	}
	return r;
}

/* `mov x8,#139; svc #0`: handlers return to it, and a return address is looked up one byte lower. */
static int find_sigreturn(const struct synth_gap *gap, struct cfi_frames *f)
{
	const uint8_t *text = gap->seg->text + (gap->start - gap->seg->file_off);
	const uint8_t *end = text + (gap->end - gap->start), *p = text;
	int r = 0;

	while (r == 0 &&
	       (p = synth_search(p, (size_t)(end - p), a64_sigreturn, sizeof(a64_sigreturn)))) {
		uint64_t at = gap->start + (uint64_t)(p - text);

		p += sizeof(a64_sigreturn);
		r = synth_add(f, MAX(gap->seg->file_off + 1, at) - 1, at + sizeof(a64_sigreturn),
			      at, SYNTH_SIGNAL);
	}
	return r;
}

/* musl's _start: no frame, no return address, then off into C. */
static size_t entry_match(const uint8_t *p, size_t left)
{
	size_t at = A64_INSN_BYTES;

	if (left < 2 * A64_INSN_BYTES || a64_insn(p) != INSN_ZERO_X29)
		return 0;
	for (left = MIN(left, (size_t)ENTRY_SCAN); at + A64_INSN_BYTES <= left;
	     at += A64_INSN_BYTES)
		if ((a64_insn(p + at) & INSN_B_MASK) == INSN_B)
			return at + 2 * A64_INSN_BYTES; /* a return address is one further */
	return 0;
}

int synth_aarch64(const struct cfi_input *input, const struct synth_gap *gap, struct cfi_frames *f)
{
	int r = synth_entry(input, gap, entry_match, f);

	if (!gap->seg->text)
		return r;
	if (r == 0)
		r = find_sigreturn(gap, f);
	return r == 0 ? find_plt(input, gap, f) : r;
}
