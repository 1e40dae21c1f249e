/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk from the sampled registers to the root, the same for every machine:
 * which mapping, which rule, is the step believable, why does it end here. The
 * steps themselves are in the machine's file (arch.h). Called for every sample;
 * no allocation, no lock.
 */
#include "config.h"

#include "unwind/walk.h"

#include "src/base/util.h"

#include <assert.h>
#include <string.h>

#define LEAF_GAP_BYTES 32
#define CALL_BYTES_MAX 9 /* with prefixes */

/* What is not done for every frame, as of UNWIND_WORK_MAX. */
#define GAP_WORK      8
#define LEAF_GAP_WORK 256

/* The work of this stack is used up, at last by code of MODULE, which is to blame if it was half of it. */
static int end_expensive(struct walk *w, struct unwind_module *module)
{
	assert(w->cursor.work_before <= UNWIND_WORK_MAX);
	module->table.is_expensive |= w->cursor.work_before > UNWIND_WORK_MAX / 2;
	return walk_end_at(w, STACK_END_EXPENSIVE, module);
}

static bool is_gap(const struct table *table, uint64_t off)
{
	const struct table_rule *rule = table_rule_at(table, off);

	return !rule || rule->cfa_op == RULE_CFA_GAP;
}

/*
 * May code at OFF have pushed nothing yet? At the first byte of its hole a
 * function begins; and a hole of a few instructions was left out of the CFI of
 * a function with nothing on the stack (after the system call in clone).
 */
static bool is_leaf_gap(const struct table *table, uint64_t off)
{
	uint64_t below = 1, above = 1;

	if (off == 0 || !is_gap(table, off - 1))
		return true;
	while (below <= LEAF_GAP_BYTES && below <= off && is_gap(table, off - below))
		below++;
	while (above <= LEAF_GAP_BYTES && is_gap(table, off + above))
		above++;
	return below + above <= LEAF_GAP_BYTES;
}

/*
 * A new thread that has not come to its first function: clone has left a hole in
 * its CFI around the system call, which the parent leaves by a return, the child
 * by code just after it that is a root.
 */
static bool is_new_thread(const struct walk *w, const struct table *table, uint64_t off)
{
	const struct table_rule *rule;
	uint64_t above = 1;

	if (!w->arch->after_clone || !w->arch->after_clone(&w->cursor))
		return false;
	while (above < LEAF_GAP_BYTES && is_gap(table, off + above))
		above++;
	rule = table_rule_at(table, off + above);
	return rule && rule->cfa_op == RULE_CFA_ROOT;
}

/*
 * In such a hole with something on the stack, as around the system call in clone of i386: as the rule
 * says that ends where the hole begins.
 */
static bool guess_in_hole(const struct walk *w, const struct table *table, uint64_t off,
			  struct step_guess *ret)
{
	const struct unwind_cursor *c = &w->cursor;
	const struct table_rule *rule;
	uint64_t below = 1;

	while (below < LEAF_GAP_BYTES && below < off && is_gap(table, off - below))
		below++;
	rule = table_rule_at(table, off - below);
	if (!rule || rule->cfa_op != RULE_CFA_SP || rule->ra_op != RULE_RA_BELOW ||
	    rule->fp_op != RULE_FP_SAME)
		return false;
	ret->fp = c->regs[w->arch->fp_reg];
	ret->sp = c->regs[w->arch->sp_reg] + (uint64_t)(int64_t)rule->cfa_off;
	ret->end = ret->sp - c->base;
	return ret->sp % w->arch->frame_align == 0 &&
	       cursor_peek(c, w->arch, ret->sp - w->arch->word_bytes, &ret->pc);
}

/* A frame record, the caller's frame pointer and the return address, lies where fp points. */
static bool guess_fp(const struct walk *w, struct step_guess *ret)
{
	const struct unwind_cursor *c = &w->cursor;
	uint64_t fp = c->regs[w->arch->fp_reg];

	if (!cursor_knows(c, w->arch->fp_reg) || fp < c->regs[w->arch->sp_reg] ||
	    fp % w->arch->frame_align || !cursor_peek(c, w->arch, fp, &ret->fp) ||
	    !cursor_peek(c, w->arch, fp + w->arch->word_bytes, &ret->pc))
		return false;
	ret->pc = arch_strip(c, w->arch, ret->pc);
	/* aarch64's may stand anywhere in its frame: its end is as far up as is known. */
	ret->sp = fp + 2ull * w->arch->word_bytes;
	ret->end = ret->sp - c->base;
	return true;
}

/* No FDE covers the code at OFF: go on only by a step that the caller's code confirms. */
static int step_gap(struct walk *w, struct unwind_module *module, uint64_t off)
{
	struct unwind_cursor *c = &w->cursor;
	struct step_guess guess;
	int r = (int)STACK_END_NO_CFI;

	cursor_work_for(c, &module->table);
	if (!cursor_work(c, c->is_exact ? LEAF_GAP_WORK : GAP_WORK))
		return end_expensive(w, module);
	if (c->is_exact && is_leaf_gap(&module->table, off)) {
		if (is_new_thread(w, &module->table, off))
			return walk_end_at(w, STACK_END_ROOT, module);
		if (w->arch->guess_leaf(c, &guess))
			r = walk_check_guess(w, &guess);
		if (r == (int)STACK_END_NO_CFI && guess_in_hole(w, &module->table, off, &guess))
			r = walk_check_guess(w, &guess);
	}
	if (!c->is_exact && table_is_start(&module->table, off - 1))
		return walk_end_at(w, STACK_END_ROOT, module);
	if (r == (int)STACK_END_NO_CFI && walk_knows_code(w)) {
		r = walk_step_code(w, module, STACK_END_NO_CFI);
		if (r == WALK_ON)
			return r;
	}
	/* What the code does not say is no frame pointer, but that of a caller further up, if there is room for one. */
	if (r == (int)STACK_END_NO_CFI && guess_fp(w, &guess) &&
	    (!walk_knows_code(w) || c->regs[w->arch->fp_reg] == c->regs[w->arch->sp_reg]))
		r = walk_check_guess(w, &guess);
	if (r == WALK_ON)
		walk_take_guess(w, &guess);
	else if (r == (int)STACK_END_NO_CFI)
		walk_end_at(w, STACK_END_NO_CFI, module);
	else if (r == (int)STACK_END_EXPENSIVE)
		end_expensive(w, module);
	return r;
}

static int step_rule(struct walk *w, struct unwind_module *module, const struct table_rule *rule,
		     struct unwind_frame *frame)
{
	struct unwind_cursor *c = &w->cursor;

	switch (w->arch->step(c, &module->table, rule)) {
	case STEP_OK:
		return WALK_ON;
	case STEP_SIGNAL:
		frame->is_return = false; /* it was not called: the kernel put its address there */
		return WALK_ON;
	case STEP_ROOT:
		return walk_end_at(w, STACK_END_ROOT, module);
	case STEP_OUTSIDE:
		return walk_end_outside(w, module);
	case STEP_ELSEWHERE:
		return walk_end_at(w, STACK_END_ALTSTACK, module);
	case STEP_NEEDS_REGS:
		return WALK_AGAIN;
	case STEP_EXPENSIVE:
		return end_expensive(w, module);
	default:
		return walk_end_at(w, STACK_END_BAD_CFI, module);
	}
}

/* The word at the stack pointer, or above what has been pushed upon it, that is just after a call. */
static int step_untold(struct walk *w)
{
	struct unwind_cursor *c = &w->cursor;
	struct step_guess guess = {.sp = c->regs[w->arch->sp_reg], .fp = c->regs[w->arch->fp_reg]};
	int r = (int)STACK_END_NO_CFI;

	for (uint32_t i = 0; r == (int)STACK_END_NO_CFI && i <= w->arch->untold_pushes; i++) {
		if (!cursor_peek(c, w->arch, guess.sp, &guess.pc))
			break;
		guess.sp += w->arch->word_bytes;
		guess.end = guess.sp - c->base;
		r = walk_check_guess(w, &guess);
	}
	if (r == WALK_ON)
		walk_take_guess(w, &guess);
	return r;
}

/*
 * Of a machine whose libraries have hand-written code that pushes registers and does not tell (glibc's memcpy,
 * strcspn and others for i386): where the innermost frame's rule leads nowhere, what has been pushed is
 * passed over, if the caller's code confirms it.
 */
static int step_told_wrong(struct walk *w, struct unwind_module *module,
			   const struct table_rule *rule, struct unwind_frame *frame)
{
	struct unwind_cursor before = w->cursor, after;
	int r = step_rule(w, module, rule, frame), untold;
	uint64_t ra = w->cursor.regs[w->arch->pc_reg];

	if (r != (int)STACK_END_BAD_CFI && (r != WALK_ON || unwind_map_of(w->space, ra - 1)))
		return r;
	after = w->cursor;
	w->cursor = before;
	untold = step_untold(w);
	if (untold == WALK_ON && rule->fp_op != RULE_FP_SAME) /* saved somewhere, and changed */
		w->cursor.known &= ~(1ull << w->arch->fp_reg);
	if (untold == WALK_ON || untold == (int)STACK_END_PENDING)
		return untold;
	w->cursor = after;
	return r;
}

/*
 * Code may end with a system call, as signal trampolines do. The address after it
 * belongs to no function, but the rule of the system call itself is known.
 */
static const struct table_rule *rule_of_syscall(struct walk *w, const struct table *table,
						uint64_t off)
{
	const struct table_rule *rule;

	if (!w->arch->after_syscall(&w->cursor))
		return NULL;
	rule = table_rule_at(table, off - 1);
	return rule && rule->cfa_op != RULE_CFA_GAP ? rule : NULL;
}

/*
 * No code is where the last frame's CFI has led. If it says that there is nothing but a return address, and the code comes
 * to no return, it only does not say that nobody has called it: glibc's __start_context, below coroutines.
 */
static int end_nowhere(struct walk *w, const struct unwind_module *module)
{
	uint32_t nr = w->result->nr_frames;
	const struct unwind_frame *last = nr > 0 ? &w->frames[nr - 1] : NULL;
	enum code_answer answer = CODE_NO;
	struct code_rule ignored;

	if (last && walk_knows_code(w) &&
	    w->cursor.regs[w->arch->sp_reg] == last->sp + w->arch->word_bytes)
		answer = code_rule_at(w->space->code, w->space, last->pc, !last->is_return,
				      &ignored);
	if (answer == CODE_ROOT)
		return walk_end_at(w, STACK_END_ROOT, module);
	return walk_end_at(w, answer == CODE_PENDING ? STACK_END_PENDING : STACK_END_BAD_RA,
			   module);
}

/* Deliver the frame at the cursor and step to its caller. */
static int walk_frame(struct walk *w, const struct unwind_module *caller_of)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t pc = c->regs[w->arch->pc_reg];
	bool is_exact = c->is_exact;
	const struct unwind_map *map = walk_map_of(w, pc - !is_exact);
	struct unwind_module *module = map ? map->module : NULL;
	const struct table_rule *rule;
	struct unwind_frame *frame;
	uint64_t off;
	int r;

	if (!map && !is_exact)
		return end_nowhere(w, caller_of);
	if (w->result->nr_frames == w->max_frames)
		return walk_end_at(w, STACK_END_DEPTH, NULL);
	off = map ? pc - map->start + map->file_off : pc;
	frame = &w->frames[w->result->nr_frames++];
	frame->pc = pc;
	frame->off = off;
	frame->sp = c->regs[w->arch->sp_reg];
	frame->module = module ? module->id : UNWIND_NO_MODULE;
	frame->is_return = !is_exact;
	if (!map)
		return walk_end_at(w, STACK_END_NO_MAP, NULL);
	if (!module)
		return walk_end_at(w, STACK_END_JIT, NULL);
	if (walk_is_untold_code(w, module))
		return code_is_erlang(w->space->code) ? walk_step_erlang(w, module)
						      : walk_step_code(w, module, module->state);
	if (!module->has_table) {
		module->needs_table = true;
		return walk_end_at(w, module->state, module);
	}
	if (module->table.machine != w->arch->machine)
		return walk_end_at(w, STACK_END_ARCH, module);
	rule = table_rule_recent(&module->table, off - !is_exact);
	if (unlikely(!rule || rule->cfa_op == RULE_CFA_GAP)) {
		rule = is_exact ? rule_of_syscall(w, &module->table, off) : NULL;
		if (!rule)
			return step_gap(w, module, off);
		r = step_rule(w, module, rule, frame);
		frame->is_return = true;
		return r;
	}
	if (unlikely(w->arch->untold_pushes) && is_exact)
		return step_told_wrong(w, module, rule, frame);
	return step_rule(w, module, rule, frame);
}

static void enter_piece(struct walk *w, const struct unwind_piece *piece)
{
	struct unwind_cursor *c = &w->cursor;

	w->piece = *piece;
	c->data = piece->data;
	c->base = piece->base;
	c->readable = piece->bytes - MIN(piece->bytes, w->arch->word_bytes - 1ull);
	c->used = 0;
	c->fetched = 0;
}

static void cursor_begin(struct walk *w, const struct unwind_regs *regs, bool keep_saved)
{
	const struct unwind_piece copy = {w->stack->data, w->stack->base, w->stack->bytes};
	struct unwind_cursor *c = &w->cursor;

	memcpy(c->regs, regs->r, sizeof(c->regs));
	c->known = (1ull << w->arch->nr_regs) - 1;
	c->is_exact = true;
	c->keep_saved = keep_saved;
	c->read_above = false;
	c->had_signal = false;
	w->is_in_rest = false;
	enter_piece(w, &copy);
	c->fetched = FETCH_BEGIN_BYTES;
	if (w->arch->begin)
		w->arch->begin(c, w->space);
}

/* The same where the copy ends and there is a rest: what the copy has not in full is stepped over in that. */
static int walk_frame_into_rest(struct walk *w, const struct unwind_module *caller_of)
{
	const struct unwind_cursor before = w->cursor;
	uint32_t nr_before = w->result->nr_frames;
	int r = walk_frame(w, caller_of);

	if (r != (int)STACK_END_TRUNCATED)
		return r;
	w->cursor = before;
	w->result->nr_frames = nr_before;
	w->is_in_rest = true;
	enter_piece(w, &w->stack->rest);
	return walk_frame(w, caller_of);
}

/* Through plain frames, which need no look at each. */
static void run_steps(struct walk *w)
{
	struct unwind_cursor *c = &w->cursor;
	uint32_t nr = w->result->nr_frames;

	w->has_run = false;
	if (c->is_exact || c->keep_saved || !cursor_knows(c, w->arch->fp_reg) || !w->arch->step_run)
		return;
	w->result->nr_frames +=
		w->arch->step_run(c, w->space, &w->last_map, &w->frames[nr], w->max_frames - nr);
	w->has_run = w->result->nr_frames > nr;
}

/* A frame that is known by its pc alone. */
static void put_lone_frame(struct walk *w)
{
	uint64_t pc = w->cursor.regs[w->arch->pc_reg];

	assert(w->result->nr_frames == 0);
	unwind_frame_of(w->space, pc, false, NULL, &w->frames[w->result->nr_frames++]);
}

/*
 * Sampled at a call that has run: its return address is on the stack, and the
 * frame is as its rule says without it. WALK_ON, or why the stack has to wait.
 */
static int undo_call(struct walk *w)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t pc = c->regs[w->arch->pc_reg];
	struct step_guess guess;
	int r;

	if (!w->arch->guess_leaf(c, &guess) || guess.pc - pc - 1 >= CALL_BYTES_MAX)
		return WALK_ON;
	r = walk_check_guess(w, &guess);
	if (r == WALK_ON)
		c->regs[w->arch->sp_reg] = guess.sp;
	else if (r == (int)STACK_END_PENDING)
		put_lone_frame(w);
	return r == (int)STACK_END_PENDING ? r : WALK_ON;
}

/* The ABIs mark the outermost frame by a return address and a frame pointer of 0. */
static bool is_outermost(const struct walk *w)
{
	const struct unwind_cursor *c = &w->cursor;

	return !c->is_exact && c->regs[w->arch->pc_reg] == 0 && cursor_knows(c, w->arch->fp_reg) &&
	       c->regs[w->arch->fp_reg] == 0;
}

/*
 * What CFI says of the place of the sample leads nowhere. Hand-written code calls, pushes and pops within what is one function
 * to CFI (LuaJIT's interpreter): then by what that code does to return, if the word there comes just after a call.
 */
static bool is_told_wrong(const struct walk *w, int end)
{
	return (end == (int)STACK_END_BAD_RA || end == (int)STACK_END_BAD_CFI) &&
	       w->result->nr_frames == 1 && !w->frames[0].is_return && walk_knows_code(w);
}

static int step_told_by_code(struct walk *w, const struct unwind_regs *regs, bool keep_saved,
			     enum stack_end else_end)
{
	const struct unwind_map *map;

	cursor_begin(w, regs, keep_saved);
	map = walk_map_of(w, w->frames[0].pc);
	return walk_step_code(w, map ? map->module : NULL, else_end);
}

static int walk(struct walk *w, const struct unwind_regs *regs, bool keep_saved)
{
	const struct unwind_module *module = NULL;
	int r;

	cursor_begin(w, regs, keep_saved);
	w->result->nr_frames = 0;
	w->last_map = NULL;
	w->has_run = false;
	if (unlikely(w->stack->bytes == 0)) {
		put_lone_frame(w);
		return (int)STACK_END_NO_STACK;
	}
	if (unlikely(regs->is_precise && regs->returned_to)) {
		put_lone_frame(w);
		w->cursor.regs[w->arch->pc_reg] = regs->returned_to;
		w->cursor.is_exact = false;
	} else if (unlikely(regs->is_precise)) {
		r = undo_call(w);
		if (r != WALK_ON)
			return r;
	}
	for (;;) {
		if (unlikely(w->stack->rest.bytes > 0 && !w->is_in_rest))
			r = walk_frame_into_rest(w, module);
		else
			r = walk_frame(w, module);
		if (unlikely(is_told_wrong(w, r)))
			r = step_told_by_code(w, regs, keep_saved, (enum stack_end)r);
		if (r != WALK_ON)
			return r;
		run_steps(w);
		module = w->last_map ? w->last_map->module : NULL;
		if (unlikely(is_outermost(w)))
			return walk_end_at(w, STACK_END_ROOT, module);
	}
}

static const struct unwind_arch *arch_of(enum table_machine machine)
{
	if (unlikely(machine == TABLE_MACHINE_I386))
		return &arch_i386;
	return machine == TABLE_MACHINE_AARCH64 ? &arch_aarch64 : &arch_x86_64;
}

void unwind_dwarf(const struct unwind_space *space, const struct unwind_regs *regs,
		  const struct unwind_stack *stack, struct unwind_frame *frames,
		  struct unwind_result *ret)
{
	struct walk w = {.space = space,
			 .stack = stack,
			 .arch = arch_of(regs->machine),
			 .frames = frames,
			 .max_frames = stack->max_frames ? stack->max_frames : UNWIND_FRAMES_MAX,
			 .result = ret,
			 .cursor.work_left = UNWIND_WORK_MAX};
	int r;

	ret->end_module = UNWIND_NO_MODULE;
	ret->lacks_code = false;
	r = walk(&w, regs, false);
	if (r == WALK_AGAIN)
		r = walk(&w, regs, true);
	ret->end = r == WALK_AGAIN ? STACK_END_BAD_CFI : (enum stack_end)r;
	ret->bytes_used = (uint32_t)MIN(w.piece.base - stack->base + w.cursor.used, UINT32_MAX);
	assert(ret->nr_frames <= w.max_frames && ret->end < STACK_END_COUNT);
}
