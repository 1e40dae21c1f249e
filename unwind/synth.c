/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that is recognised by its bytes, where no FDE covers it: see synth.h.
 * The patterns are in a file for each machine.
 */
#include "config.h"

#include "unwind/synth.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

#define SYNTH_MAX	(1u << 20)
#define READ_BYTES	(1u << 20)
#define ENTRY_GAP_BYTES 256 /* a hole of this size around the entry point is start-up code */

const uint8_t *synth_search(const uint8_t *p, size_t left, const uint8_t *pattern,
			    size_t pattern_bytes)
{
	while (left >= pattern_bytes && !deadline_is_over_now()) {
		size_t piece = MIN(left, (size_t)READ_BYTES);
		/* What begins in this piece may end in the next. */
		const uint8_t *hit =
			memmem(p, MIN(left, piece + pattern_bytes - 1), pattern, pattern_bytes);

		if (hit)
			return hit;
		p += piece;
		left -= piece;
	}
	return NULL;
}

void synth_rule(enum table_machine machine, uint32_t code, struct build_rule *ret)
{
	int32_t word_bytes = (int32_t)table_word_bytes(machine);
	enum synth_kind kind = code & SYNTH_KIND_MASK;
	int32_t words = (int32_t)(code >> SYNTH_KIND_BITS);

	*ret = (struct build_rule){0};
	switch (kind) {
	case SYNTH_SP:
		memset(ret->saved, SAVED_SAME, 5);
		ret->rule.cfa_op = RULE_CFA_SP;
		ret->rule.cfa_off = word_bytes * (1 + words);
		break;
	case SYNTH_LR:
		ret->rule.cfa_op = RULE_CFA_SP;
		ret->rule.ra_op = RULE_RA_REG;
		ret->rule.x = A64_X30;
		break;
	case SYNTH_SIGNAL:
		ret->rule.cfa_op = RULE_CFA_SIGNAL;
		break;
	case SYNTH_GAP:
		ret->rule.cfa_op = RULE_CFA_GAP;
		break;
	case SYNTH_GO_CALLBACK:
		memset(ret->saved, SAVED_LOST, 5);
		ret->rule.cfa_op = RULE_CFA_SP;
		ret->rule.cfa_off = word_bytes * (1 + words);
		ret->rule.ra_op = RULE_RA_NEXT;
		break;
	case SYNTH_GO_FRAME:
		ret->rule.fp_op = RULE_FP_CFA;
		ret->rule.fp_off = -2 * word_bytes;
		__attribute__((fallthrough));
	case SYNTH_GO:
		memset(ret->saved, SAVED_LOST, 5);
		ret->rule.cfa_op = RULE_CFA_SP;
		ret->rule.cfa_off = word_bytes * (1 + words);
		break;
	case SYNTH_KEPT_R12:
	case SYNTH_KEPT_RBX:
		memset(ret->saved, SAVED_LOST, 5);
		ret->rule.cfa_op = RULE_CFA_ELSEWHERE;
		ret->rule.cfa_reg = kind == SYNTH_KEPT_R12 ? X86_R12 : X86_RBX;
		ret->rule.cfa_off = word_bytes * (1 + words);
		ret->rule.fp_op = RULE_FP_UNDEF;
		break;
	case SYNTH_ELSEWHERE:
		ret->rule.cfa_op = RULE_CFA_ELSEWHERE;
		break;
	default:
		ret->rule.cfa_op = RULE_CFA_ROOT;
		break;
	}
}

int synth_add(struct cfi_frames *f, uint64_t start, uint64_t end, uint64_t begin, uint32_t code)
{
	const struct cfi_fde fde = {.start = start, .end = end, .begin = begin, .cie = code};

	return start < end ? cfi_frames_add(f, &fde, SYNTH_MAX) : 0;
}

int synth_entry(const struct cfi_input *input, const struct synth_gap *gap,
		size_t (*match)(const uint8_t *p, size_t left), struct cfi_frames *f)
{
	uint64_t entry = input->entry - gap->seg->vaddr + gap->seg->file_off;
	uint64_t end = gap->end;

	if (input->entry == 0 || entry < gap->start || entry >= gap->end)
		return 0;
	if (gap->end - gap->start > ENTRY_GAP_BYTES) {
		const uint8_t *text = gap->seg->text;

		if (!text)
			return 0;
		end = MIN(end,
			  entry + match(text + (entry - gap->seg->file_off), gap->end - entry));
	}
	return synth_add(f, entry, end, entry, SYNTH_ROOT);
}

int synth_find(const struct cfi_input *input, synth_fn *search, const struct cfi_fde *covered,
	       size_t nr_covered, struct cfi_frames *frames)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < input->nr_segments; i++) {
		const struct cfi_segment *seg = &input->segments[i];
		struct synth_gap gap = {.seg = seg, .start = seg->file_off};
		uint64_t seg_end = seg->file_off + seg->bytes;
		size_t c = search_first(nr_covered, at, covered[at].end > seg->file_off);
		uint64_t read = 0;

		for (; r == 0 && gap.start < seg_end; c++) {
			gap.end = c < nr_covered ? MIN(covered[c].start, seg_end) : seg_end;
			if (gap.start < gap.end)
				r = search(input, &gap, frames);
			if (r == -E2BIG) /* a million stubs are enough */
				r = 0;
			if (r == 0 && seg->text)
				r = cfi_text_read(input, seg, &read, gap.end - seg->file_off);
			if (deadline_is_over())
				r = -ETIME;
			gap.start = c < nr_covered ? MAX(gap.start, covered[c].end) : seg_end;
		}
	}
	return r;
}
