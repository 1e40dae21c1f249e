/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the maker of code tells of its frames (the unwinding records of a jitdump), for places in it of
 * which the instructions do not say enough. Each place is asked about once, and its stack waits for that.
 *
 *	a stack leads to	what is known			answer
 *	0x5010 of epoch 3	nothing: it is wanted		PENDING
 *	(it is asked for, and comes: the CFA is sp + 48)
 *	0x5010 of epoch 3	sp + 48				YES
 *	0x5010 of epoch 4	nothing: it is other code now	PENDING
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "unwind/code_pieces.h"
#include "unwind/table_format.h"

#include <assert.h>
#include <stdlib.h>

#define WORD	   8
#define OFFSET_MAX (1 << 26)

void code_told_of(const struct table *table, uint64_t off, struct code_told *ret)
{
	const struct table_rule *rule = table_find(table, off);
	bool by_fp = rule && rule->cfa_op == RULE_CFA_FP;

	_Static_assert((int)RULE_FP_SAME == CODE_FP_SAME && (int)RULE_FP_CFA == CODE_FP_AT_CFA &&
			       (int)RULE_FP_FP == CODE_FP_AT_FP,
		       "one numbering");
	ret->answer = CODE_NO;
	if (!rule)
		return;
	if (rule->cfa_op == RULE_CFA_ROOT)
		ret->answer = CODE_ROOT;
	if ((rule->cfa_op != RULE_CFA_SP && !by_fp) || rule->ra_op != RULE_RA_BELOW)
		return;
	ret->answer = CODE_YES;
	ret->cfa_by_fp = by_fp;
	ret->cfa_off = rule->cfa_off;
	ret->fp_how = rule->fp_op <= RULE_FP_FP ? rule->fp_op : CODE_FP_LOST;
	ret->fp_off = rule->fp_off;
}

static bool is_near(int32_t off)
{
	return off >= -OFFSET_MAX && off <= OFFSET_MAX;
}

/* TOLD as a rule; false: it is none. */
static bool rule_of(const struct code_told *told, struct code_rule *ret)
{
	uint8_t base = told->cfa_by_fp ? CODE_FP : CODE_SP;

	if (told->answer != CODE_YES || !is_near(told->cfa_off) || !is_near(told->fp_off))
		return false;
	*ret = (struct code_rule){.ra = {.base = base, .off = {told->cfa_off - WORD}}};
	switch (told->fp_how) {
	case CODE_FP_SAME:
		ret->fp = (struct code_place){.base = CODE_FP};
		return true;
	case CODE_FP_AT_CFA:
		ret->fp = (struct code_place){
			.base = base, .nr_loads = 1, .off = {told->cfa_off + told->fp_off}};
		return true;
	case CODE_FP_AT_FP:
		ret->fp =
			(struct code_place){.base = CODE_FP, .nr_loads = 1, .off = {told->fp_off}};
		return true;
	default:
		ret->is_fp_lost = true;
		return true;
	}
}

void code_told_done(struct unwind_code *code)
{
	u64map_done(&code->told_by_key);
	free(code->told);
}

void unwind_code_set_told(struct unwind_code *code, bool is_told, uint64_t above)
{
	code->is_told = is_told;
	code->above = above;
}

enum code_answer code_rule_told(struct unwind_code *code, uint64_t pc, bool is_exact,
				struct code_rule *ret)
{
	uint64_t key = (pc - !is_exact) | code->above;
	struct told_place *place;
	uint32_t i;

	if (!code->is_told)
		return CODE_NO;
	i = u64map_get(&code->told_by_key, key);
	if (i != U64MAP_NONE) {
		place = &code->told[i];
		*ret = place->rule;
		return (enum code_answer)place->answer;
	}
	if (code->nr_told == CODE_TOLD_MAX) {
		code->budget->nr_given_up++;
		return CODE_NO;
	}
	if (vec_reserve(&code->told, &code->cap_told, code->nr_told + 1, CODE_TOLD_MAX) < 0 ||
	    u64map_set(&code->told_by_key, key, (uint32_t)code->nr_told) < 0)
		return CODE_NO;
	code->told[code->nr_told++] = (struct told_place){.key = key, .answer = CODE_PENDING};
	return CODE_PENDING;
}

uint32_t unwind_code_next_told(struct unwind_code *code, uint64_t *keys, uint32_t max)
{
	uint32_t nr = 0;

	if (code->nr_told == CODE_TOLD_MAX) {
		u64map_clear(&code->told_by_key);
		code->nr_told = code->nr_told_asked = 0;
	}
	for (; code->nr_told_asked < code->nr_told && nr < max; code->nr_told_asked++)
		keys[nr++] = code->told[code->nr_told_asked].key;
	return nr;
}

void unwind_code_ask_later(struct unwind_code *code, uint32_t nr)
{
	assert(nr <= code->nr_told_asked);
	code->nr_told_asked -= nr;
}

void unwind_code_put_told(struct unwind_code *code, const struct code_told *told)
{
	uint32_t i = u64map_get(&code->told_by_key, told->key);
	struct told_place *place = i == U64MAP_NONE ? NULL : &code->told[i];

	if (!place) /* forgotten meanwhile */
		return;
	place->answer = CODE_NO;
	if (told->answer == CODE_ROOT || rule_of(told, &place->rule))
		place->answer = told->answer;
}

void unwind_code_tell_more(struct unwind_code *code)
{
	size_t kept = 0, kept_asked = 0;

	u64map_clear(&code->told_by_key);
	for (size_t i = 0; i < code->nr_told; i++) {
		if (code->told[i].answer == CODE_NO)
			continue;
		/* The map has had room for all of them. */
		u64map_set(&code->told_by_key, code->told[i].key, (uint32_t)kept);
		code->told[kept++] = code->told[i];
		kept_asked += i < code->nr_told_asked;
	}
	code->nr_told = kept;
	code->nr_told_asked = kept_asked;
}
