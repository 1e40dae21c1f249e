/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The compiler: descriptions in file order become disjoint ranges in code
 * order, each range's program is run, its rows become rules, and the builder
 * lays them out. .eh_frame wins over Go's table, that over .debug_frame, and all over
 * what synth.c recognises. Knows no file and no libelf; runs in the loader.
 */
#include "config.h"

#include "unwind/cfi.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/hash.h"
#include "src/base/sort.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "unwind/abi.h"
#include "unwind/cfa.h"
#include "unwind/lower.h"
#include "unwind/synth.h"
#include "unwind/table_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CFA_STEPS_MAX (1ull << 27) /* some five times what Chrome has */
#define RANGES_MAX    (16u << 20)
#define KNOWN_BITS    12

/* What is done for each machine's code. */
struct machine {
	lower_fn *lower;
	synth_fn *search;
	unsigned int nr_regs; /* of which rules are kept */
};

static const struct machine machines[TABLE_MACHINE_COUNT] = {
	[TABLE_MACHINE_X86_64] = {lower_x86_64, synth_x86, X86_NR_REGS},
	[TABLE_MACHINE_AARCH64] = {lower_aarch64, synth_aarch64, CFA_REGS_MAX},
	[TABLE_MACHINE_I386] = {lower_i386, synth_x86, I386_NR_REGS},
};

struct compile {
	const struct cfi_input *input;
	const struct machine *machine;
	struct cfi_frames eh, go, debug, synth;
	struct table_builder *builder;
	struct cfa_run run;
	struct cfi_stats stats;
	/* Rules of rows that were met before, by the rows' keys. */
	struct known_row {
		uint64_t key;
		int rule; /* 0, the gap's: nothing is known */
		bool is_slow_path;
	} known[1u << KNOWN_BITS];
	const struct cfi_cie *cie;
	uint64_t cie_key; /* of what a rule depends on besides its row */
	const struct cfi_fde *fde;
	uint64_t text_kept_off; /* code before this is not looked at again */
};

static bool is_sorted(const struct cfi_frames *f)
{
	for (size_t i = 1; i < f->nr_fdes; i++)
		if (f->fdes[i - 1].start > f->fdes[i].start)
			return false;
	return true;
}

/* By start; those of one start stay as they come in the file. */
static int sort_fdes(struct cfi_frames *f)
{
	AUTO_FREE struct sort_key *keys = calloc(2 * f->nr_fdes, sizeof(*keys));
	struct cfi_fde *sorted = malloc(f->nr_fdes * sizeof(*sorted));

	if (!keys || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->nr_fdes; i++)
		keys[i] = (struct sort_key){.key = f->fdes[i].start, .index = (uint32_t)i};
	sort_keys(keys, keys + f->nr_fdes, f->nr_fdes);
	for (size_t i = 0; i < f->nr_fdes; i++)
		sorted[i] = f->fdes[keys[i].index];
	free(f->fdes);
	f->fdes = sorted;
	f->cap_fdes = f->nr_fdes;
	return 0;
}

/* Sort by start; of equal starts the later stays; cut what reaches into the next one. */
static int make_disjoint(struct cfi_frames *f)
{
	int r = is_sorted(f) ? 0 : sort_fdes(f);
	size_t nr = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < f->nr_fdes; i++) {
		if (i + 1 < f->nr_fdes) {
			if (f->fdes[i].start == f->fdes[i + 1].start)
				continue;
			f->fdes[i].end = MIN(f->fdes[i].end, f->fdes[i + 1].start);
		}
		f->fdes[nr++] = f->fdes[i];
	}
	f->nr_fdes = nr;
	return 0;
}

static int add_range(struct cfi_frames *f, const struct cfi_fde *fde, uint64_t start, uint64_t end)
{
	struct cfi_fde range = *fde;

	range.start = start;
	range.end = end;
	return start < end ? cfi_frames_add(f, &range, RANGES_MAX) : 0;
}

/*
 * Both lists sorted and disjoint: BASE becomes all of BASE, and of FILL what
 * BASE leaves open. FILL is consumed; its CIE numbers are raised by CIE_SHIFT.
 */
static int merge(struct cfi_frames *base, struct cfi_frames *fill, uint32_t cie_shift)
{
	struct cfi_frames all = {0};
	size_t b = 0;
	int r = 0;

	if (fill->nr_fdes == 0)
		return 0;
	for (size_t i = 0; r == 0 && i < fill->nr_fdes; i++) {
		struct cfi_fde fde = fill->fdes[i];
		/* The last base range may reach over the fill before this one into it. */
		uint64_t at = b > 0 ? MAX(fde.start, base->fdes[b - 1].end) : fde.start;

		fde.cie += cie_shift;
		for (; r == 0 && b < base->nr_fdes && base->fdes[b].start < fde.end; b++) {
			r = add_range(&all, &fde, at, base->fdes[b].start);
			if (r == 0)
				r = add_range(&all, &base->fdes[b], base->fdes[b].start,
					      base->fdes[b].end);
			at = MAX(at, base->fdes[b].end);
		}
		if (r == 0)
			r = add_range(&all, &fde, at, fde.end);
	}
	for (; r == 0 && b < base->nr_fdes; b++)
		r = add_range(&all, &base->fdes[b], base->fdes[b].start, base->fdes[b].end);
	free(base->fdes);
	*base = all;
	free(fill->fdes);
	fill->fdes = NULL;
	fill->nr_fdes = fill->cap_fdes = 0;
	return r;
}

/*
 * aarch64: a handler returns to the first instruction of its trampoline, and a
 * return address is looked up one byte lower. Some trampolines have a nop there;
 * to the others, known by `mov x8,#139; svc #0`, that byte is given.
 */
static void begin_trampolines(const struct cfi_input *input, struct cfi_frames *f)
{
	for (size_t i = 0; i < f->nr_fdes; i++) {
		struct cfi_fde *fde = &f->fdes[i];
		const struct cfi_segment *seg;

		if (!f->cies[fde->cie].is_signal)
			continue;
		seg = cfi_segment_of(input, fde->start + fde->shift);
		if (seg && seg->text && fde->start > seg->file_off &&
		    seg->file_off + seg->bytes - fde->start >= sizeof(a64_sigreturn) &&
		    memcmp(seg->text + (fde->start - seg->file_off), a64_sigreturn,
			   sizeof(a64_sigreturn)) == 0)
			fde->start--;
	}
}

/* The same for trampolines that no FDE covers: the range that covers the byte before one ends there. */
static void give_way(struct cfi_frames *base, const struct cfi_frames *synth)
{
	size_t b = 0;

	for (size_t i = 0; i < synth->nr_fdes; i++) {
		uint64_t start = synth->fdes[i].start;

		if (synth->fdes[i].cie != SYNTH_SIGNAL)
			continue;
		while (b < base->nr_fdes && base->fdes[b].end <= start)
			b++;
		if (b < base->nr_fdes && base->fdes[b].start <= start)
			base->fdes[b].end = start;
	}
}

/* All covered code in order; .debug_frame's CIEs are numbered after .eh_frame's. */
static int collect(struct compile *c, struct cfi_frames *ret)
{
	int r = cfi_scan(c->input, &c->input->eh_frame, true, &c->eh);

	if (r == 0)
		r = cfi_scan(c->input, &c->input->debug_frame, false, &c->debug);
	if (r < 0)
		return r;
	c->stats.fdes_skipped = c->eh.nr_skipped + c->debug.nr_skipped;
	if (c->input->machine == TABLE_MACHINE_AARCH64) {
		begin_trampolines(c->input, &c->eh);
		begin_trampolines(c->input, &c->debug);
	}
	r = make_disjoint(&c->eh);
	if (r == 0)
		r = make_disjoint(&c->debug);
	if (r == 0)
		r = go_table_find(c->input, &c->go);
	if (r == 0)
		r = make_disjoint(&c->go);
	if (r < 0)
		return r;
	*ret = (struct cfi_frames){
		.fdes = c->eh.fdes, .nr_fdes = c->eh.nr_fdes, .cap_fdes = c->eh.cap_fdes};
	c->eh.fdes = NULL;
	r = merge(ret, &c->go, 0);
	if (r == 0)
		r = merge(ret, &c->debug, (uint32_t)c->eh.nr_cies);
	if (r == 0)
		r = synth_find(c->input, c->machine->search, ret->fdes, ret->nr_fdes, &c->synth);
	if (r == 0)
		r = make_disjoint(&c->synth);
	if (r < 0)
		return r;
	give_way(ret, &c->synth);
	return merge(ret, &c->synth, 0);
}

static int make_rule(struct compile *c, const struct cfa_row *row, bool *ret_is_slow_path)
{
	struct build_rule rule;
	uint8_t *aux = NULL;
	size_t aux_bytes = 0;
	int r = 0;

	*ret_is_slow_path = false;
	c->machine->lower(row, c->cie->ra_reg, c->cie->is_signal, &rule);
	if (rule.rule.cfa_op == RULE_CFA_SLOW) {
		r = slow_path_encode(row, c->cie->ra_reg, c->cie->is_signal, &aux, &aux_bytes);
		if (r == -EBADMSG) {
			rule = (struct build_rule){.rule.cfa_op = RULE_CFA_BAD};
			r = 0;
		}
		*ret_is_slow_path = true;
	}
	if (r == 0)
		r = table_builder_rule(c->builder, &rule, aux, aux_bytes);
	free(aux);
	if (r == -E2BIG) { /* out of rules: the code stays uncovered rather than the file */
		rule = (struct build_rule){.rule.cfa_op = RULE_CFA_GAP};
		r = table_builder_rule(c->builder, &rule, NULL, 0);
	}
	return r;
}

/* Equal rows come again and again: their rule is made once. */
static int rule_of(struct compile *c, const struct cfa_row *row)
{
	uint64_t key = cfa_row_key(row) + c->cie_key;
	struct known_row *known = &c->known[key >> (64 - KNOWN_BITS)];

	if (known->key != key || known->rule <= 0) {
		known->rule = make_rule(c, row, &known->is_slow_path);
		known->key = key;
	}
	c->stats.slow_path_rows += known->is_slow_path;
	return known->rule;
}

static int put_row(struct compile *c, uint64_t off, int rule)
{
	return rule < 0 ? rule : table_builder_row(c->builder, off, (uint32_t)rule);
}

/* The code of SEG up to OFF has been read. */
static void text_passed(struct compile *c, const struct cfi_segment *seg, uint64_t off)
{
	uint64_t last;

	if (c->text_kept_off < seg->file_off || c->text_kept_off > off)
		c->text_kept_off = off;
	last = c->text_kept_off - seg->file_off;
	cfi_text_read(c->input, seg, &last, off - seg->file_off);
	c->text_kept_off = seg->file_off + last;
}

/* Rows of our own for the epilogues that ROW, as RULE, claims to hold for: [OFF, END). */
static int add_epilogues(struct compile *c, const struct cfa_row *row, int rule, uint64_t off,
			 uint64_t end)
{
	const struct cfi_segment *seg = cfi_segment_of(c->input, off + c->fde->shift);
	struct epilogue epilogue;
	const uint8_t *code;
	size_t at = 0;
	int r = 0;

	if (!seg || !seg->text || end - seg->file_off > seg->bytes || off % A64_INSN_BYTES ||
	    off >= end)
		return 0;
	text_passed(c, seg, off);
	code = seg->text + (off - seg->file_off);
	while (r == 0 && epilogue_next(row, code, end - off, &at, &epilogue)) {
		for (unsigned int i = 0; r == 0 && i < epilogue.nr_insns; i++) {
			struct build_rule freed = {.rule = {.cfa_op = RULE_CFA_SP,
							    .ra_op = RULE_RA_REG,
							    .cfa_off = epilogue.cfa_off[i],
							    .x = A64_X30}};

			r = put_row(c, off + epilogue.at + i * (uint64_t)A64_INSN_BYTES,
				    table_builder_rule(c->builder, &freed, NULL, 0));
		}
		if (r == 0 && off + at < end)
			r = put_row(c, off + at, rule);
	}
	return r;
}

static int row_add(void *arg, uint64_t start, uint64_t end, const struct cfa_row *row)
{
	struct compile *c = arg;
	uint64_t off = start - c->fde->shift, from = c->fde->start + c->fde->shift;
	int rule, r;

	if (end <= from) /* before this range: another FDE covers it */
		return 0;
	rule = rule_of(c, row);
	/* A part may begin within a row, and a trampoline a byte before its first one. */
	if (start < from || start == c->fde->begin + c->fde->shift)
		off = c->fde->start;
	r = put_row(c, off, rule);
	if (r == 0 && c->input->machine == TABLE_MACHINE_AARCH64 && !c->cie->is_signal &&
	    c->cie->ra_reg == A64_X30 && row->regs[A64_X30].kind == REG_OFFSET)
		r = add_epilogues(c, row, rule, off, end - c->fde->shift);
	return r;
}

static int compile_synth(struct compile *c, const struct cfi_fde *fde)
{
	struct build_rule rule;
	int id;

	synth_rule(c->input->machine, fde->cie, &rule);
	id = table_builder_rule(c->builder, &rule, NULL, 0);
	return id < 0 ? id : table_builder_row(c->builder, fde->start, (uint32_t)id);
}

static int compile_fde(struct compile *c, const struct cfi_fde *fde)
{
	struct table_mark mark = table_builder_mark(c->builder);
	bool is_eh = fde->cie < c->eh.nr_cies;
	int r;

	c->fde = fde;
	c->cie = is_eh ? &c->eh.cies[fde->cie] : &c->debug.cies[fde->cie - c->eh.nr_cies];
	c->cie_key = hash_u64(c->cie->ra_reg * 2ull + c->cie->is_signal);
	r = cfa_run(&c->run, c->cie, fde, is_eh ? &c->input->eh_frame : &c->input->debug_frame);
	if (r == -EBADMSG) {
		c->stats.fdes_skipped++;
		table_builder_rewind(c->builder, &mark);
		return table_builder_row(c->builder, fde->start, 0);
	}
	return r;
}

/* One entry for each function, though its ranges may be several. */
static int add_func(struct compile *c, const struct cfi_frames *ranges, size_t i)
{
	const struct cfi_fde *v = ranges->fdes;
	size_t last = i;

	if (i > 0 && v[i - 1].begin == v[i].begin && v[i - 1].end == v[i].start)
		return 0;
	while (last + 1 < ranges->nr_fdes && v[last + 1].begin == v[i].begin &&
	       v[last + 1].start == v[last].end)
		last++;
	/* The byte before a trampoline is no part of the function. */
	return table_builder_func(c->builder, v[i].start + (v[i].begin == v[i].start + 1),
				  v[last].end);
}

static int compile_ranges(struct compile *c, const struct cfi_frames *ranges)
{
	uint64_t first = ranges->nr_fdes ? ranges->fdes[0].start : 0;
	uint64_t end = ranges->nr_fdes ? ranges->fdes[ranges->nr_fdes - 1].end : 0;
	int r = table_builder_new(c->input->machine, first, end, &c->builder);

	for (size_t i = 0; r == 0 && i < ranges->nr_fdes; i++) {
		const struct cfi_fde *fde = &ranges->fdes[i];

		r = fde->insns ? compile_fde(c, fde) : compile_synth(c, fde);
		if (deadline_is_over())
			r = -ETIME;
		if (r == 0)
			r = add_func(c, ranges, i);
		if (r == 0 && (i + 1 == ranges->nr_fdes || ranges->fdes[i + 1].start > fde->end))
			r = table_builder_row(c->builder, fde->end, 0);
	}
	return r;
}

static void compile_done(struct compile *c)
{
	table_builder_free(c->builder);
	cfi_frames_done(&c->eh);
	cfi_frames_done(&c->go);
	cfi_frames_done(&c->debug);
	cfi_frames_done(&c->synth);
}

static bool segments_are_sane(const struct cfi_input *input)
{
	uint64_t end;

	if (input->nr_segments > CFI_SEGMENTS_MAX)
		return false;
	for (size_t i = 0; i < input->nr_segments; i++) {
		const struct cfi_segment *seg = &input->segments[i];

		if (__builtin_add_overflow(seg->file_off, seg->bytes, &end) ||
		    __builtin_add_overflow(seg->vaddr, seg->bytes, &end))
			return false;
	}
	return true;
}

int cfi_compile(const struct cfi_input *input, void **ret_blob, size_t *ret_len,
		struct cfi_stats *ret_stats)
{
	const struct machine *machine = &machines[input->machine];
	struct compile c = {.input = input, .machine = machine};
	struct cfi_frames ranges = {0};
	uint64_t starts[TABLE_STARTS];
	int r;

	if (input->machine == TABLE_MACHINE_NONE || !segments_are_sane(input))
		return -EINVAL;
	c.run = (struct cfa_run){.input = input,
				 .fn = row_add,
				 .arg = &c,
				 .steps_left = CFA_STEPS_MAX,
				 .nr_regs = machine->nr_regs};
	r = collect(&c, &ranges);
	if (r == 0)
		r = compile_ranges(&c, &ranges);
	if (r == 0)
		r = starts_find(input, starts);
	if (r == 0) {
		table_builder_starts(c.builder, starts);
		r = table_builder_finish(c.builder, ret_blob, ret_len);
	}
	if (r == 0) {
		c.stats.rows = ((const struct table_header *)*ret_blob)->nr_rows;
		*ret_stats = c.stats;
	}
	cfi_frames_done(&ranges);
	compile_done(&c);
	return r;
}
