/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: many plain steps in one go. Nearly every frame of a stack is left by
 * one of four rules; here they are one sequence of instructions, with the state
 * in registers and the rule in the word that the table remembers of it. Whatever
 * is not plain, or not as it should be, is left to the single step (step.h),
 * which says why. A word may be of code without CFI: then what it leads to must come just after a call.
 *
 * Example, from a return address in the function at 0x1100; each line is one step:
 *
 *	pc - 1	rule of its word		CFA	read		then
 *	0x1127	sp + 0x20, fp unchanged		0x7020	[0x7018] 0x1234	pc 0x1234 sp 0x7020 fp 0x7050
 *	0x1233	fp + 16, fp saved at CFA - 16	0x7060	[0x7058] 0x1305	pc 0x1305 sp 0x7060
 *						[0x7050] 0x7090	fp 0x7090
 *	0x1304	not plain			the run ends: two frames more, the cursor at 0x1305
 */
#include "config.h"

#include "unwind/arch.h"

/* The frame that the run has come to. */
struct place {
	uint64_t pc, sp, fp;
};

/* The file that code runs in, as far as steps go by it. */
struct code {
	uint64_t start, bytes, to_off; /* pc + to_off is the file offset */
	const struct unwind_map *map;
	const struct unwind_module *module;
	const struct table *table;
};

/* False: nothing is known at PC that steps could go by. */
static bool code_at(const struct unwind_space *space, const struct unwind_map *map, uint64_t pc,
		    struct code *ret)
{
	const struct unwind_module *module;

	if (!map || pc - map->start >= map->end - map->start)
		map = unwind_map_of(space, pc);
	module = map ? map->module : NULL;
	if (!module || !module->has_table || module->table.machine != TABLE_MACHINE_X86_64 ||
	    !module->table.recent)
		return false;
	*ret = (struct code){
		.start = map->start,
		.bytes = map->end - map->start,
		.to_off = map->file_off - map->start,
		.map = map,
		.module = module,
		.table = &module->table,
	};
	return true;
}

/* A if MASK is all ones, B if 0: which plain rule comes next cannot be predicted, so no branch depends on it. */
static inline uint64_t pick(uint64_t mask, uint64_t a, uint64_t b)
{
	return b ^ ((a ^ b) & mask);
}

static inline uint64_t fp_mask(uint64_t word)
{
	return -(word / WORD_FP_SAVED & 1);
}

/* By the plain rule of WORD. */
static inline bool step_plain(struct unwind_cursor *c, uint64_t word, struct place *at)
{
	uint64_t cfa = (word & WORD_CFA_BY_FP ? at->fp : at->sp) + (word & WORD_CFA_MASK);
	uint64_t ra_off = cfa - c->base - 8, fp_bytes = word_fp_bytes(word);
	uint64_t fp;

	/* Of the words read the return address is the highest. */
	if (unlikely(cfa % 8 || cfa - at->sp - 1 >= FRAME_BYTES_MAX || ra_off >= c->readable ||
		     ra_off < fp_bytes))
		return false;
	memcpy(&at->pc, c->data + ra_off, sizeof(at->pc));
	memcpy(&fp, c->data + (ra_off - fp_bytes), sizeof(fp));
	cursor_fetch(c, ra_off);
	at->fp = pick(fp_mask(word), fp, at->fp);
	at->sp = cfa;
	return true;
}

/* Does OFF come just after a call in CODE's file? As walk_check_guess, of the plain case. */
static bool is_after_call(struct unwind_cursor *c, const struct code *code, uint64_t off)
{
	const struct return_addrs *return_addrs = &code->module->return_addrs;

	return code->module->has_return_addrs &&
	       cursor_work(c, return_addrs_work(return_addrs, off)) &&
	       return_addrs_has(return_addrs, off);
}

uint32_t x86_64_step_run(struct unwind_cursor *c, const struct unwind_space *space,
			 const struct unwind_map **map, struct unwind_frame *frames,
			 uint32_t nr_max)
{
	struct place at = {c->regs[X86_RIP], c->regs[X86_RSP], c->regs[X86_RBP]};
	struct place unproven = at; /* the frame left last, if its code alone said how */
	struct unwind_frame *to = frames, *const end = frames + nr_max;
	bool is_proven = true;
	struct code code = {0};

	for (; to < end; to++) {
		uint64_t word;

		if (unlikely(at.pc - 1 - code.start >= code.bytes) &&
		    !code_at(space, code.map ? code.map : *map, at.pc - 1, &code))
			break;
		*to = (struct unwind_frame){
			.pc = at.pc,
			.off = at.pc + code.to_off,
			.sp = at.sp,
			.module = code.module->id,
			.is_return = true,
		};
		if (unlikely(!is_proven && !is_after_call(c, &code, to->off)))
			break;
		word = table_word(code.table, to->off - 1);
		unproven = at;
		is_proven = true;
		if (unlikely(!(word & WORD_PLAIN) || !step_plain(c, word, &at)))
			break;
		is_proven = !word_is_of_code(word);
	}
	/* The single step looks at that one again. */
	if (!is_proven) {
		at = unproven;
		to--;
	}
	if (to == frames)
		return 0;
	*map = code.map;
	c->regs[X86_RIP] = at.pc;
	c->regs[X86_RSP] = at.sp;
	c->regs[X86_RBP] = at.fp;
	c->used = MAX(c->used, at.sp - c->base);
	return (uint32_t)(to - frames);
}
