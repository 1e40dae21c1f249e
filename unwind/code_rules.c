/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From an instruction to what its frame looks like, without any description of it: the code is
 * followed to where the function returns, with what each instruction does to rsp and rbp. Where the
 * return address is popped from there is what a row of CFI would say. x86-64.
 *
 * Example: a call returns to 0x104a, in code of HotSpot's second compiler, which keeps no frame pointer.
 *
 *	instruction			rsp		rbp
 *	104a	test eax, eax		sp		fp
 *	104c	jne 1060 (later)
 *	104e	add rsp, 0x20		sp + 0x20
 *	1052	pop rbp			sp + 0x28	[sp + 0x20]
 *	1053	cmp rsp, [r15 + 0x338]
 *	105a	ja 10c0 (later)
 *	1060	ret			the return address is at sp + 0x28, the caller's rbp at sp + 0x20
 *
 * With `mov rsp, rbp` or `leave` on the way both are found from rbp. Interpreters have code without
 * a way out, since each piece jumps to the next one through a table: if such code
 * addresses memory below rbp, its locals, or jumps as HotSpot's interpreter does, then rbp is its frame's.
 * Hand-written code that aligns rsp keeps what it was in any register, and leaves by `mov rsp, reg`: then both are found from that one,
 * which is known at the place of a sample. What the code calls on the way leaves it alone, or the code would not go by it.
 * Stubs have only a jump to another function, whose caller is theirs. A file's function that only loops is followed from
 * its beginning instead.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/code_way.h"

#include <string.h>

#define BACK_STEP  1024u
#define BACK_SYNC  64u	       /* bytes before them */
#define BACK_MAX   (32u << 10) /* of a function before the place in it */
#define FILE_STEPS 8u	       /* of a file's function: so that instructions are left to look at */

#define BEGINNING_MAX  19u   /* bytes */
#define LEAF_MAX       1024u /* the same, before the place in it */
#define FUNC_ALIGN     16u
#define PADDING_MIN    2u
#define PROLOGUE_INSNS 6u
#define INT3	       0xcc
#define PUSH_IMM8      0x6a

/* --- the search --- */

static bool next_insn(struct search *s, uint64_t pc, struct insn *ret)
{
	size_t left;
	const uint8_t *bytes = follow_fetch(&s->code, pc, INSN_BYTES_MAX, &left);

	return left > 0 && insn_decode(bytes, left, ret);
}

static void add_branch(struct search *s, const struct way *way, uint64_t target)
{
	if (s->nr_branches == FOLLOW_BRANCHES) {
		s->is_lost = true;
		return;
	}
	s->branches[s->nr_branches] = *way;
	s->branches[s->nr_branches++].pc = target;
}

static struct code_place place_of(const struct value *value)
{
	static const uint8_t dwarf_of_reg[] = {0, 2, 1,	 3,  7,	 6,  4,	 5,
					       8, 9, 10, 11, 12, 13, 14, 15};

	if (value->base != SP && value->base != FP)
		return value_place(value, (enum code_base)(CODE_REG + dwarf_of_reg[value->base]));
	return value_place(value, value->base == FP ? CODE_FP : CODE_SP);
}

/* What a way that has come to `ret` says; false: it has lost sight of the stack. */
static bool rule_of(const struct way *way, const struct insn *insn, struct code_rule *ret)
{
	if (!way->sp.base || way->sp.nr_loads == FOLLOW_LOADS_MAX)
		return false;
	*ret = (struct code_rule){
		.ra = place_of(&way->sp),
		.fp = place_of(&way->fp),
		.is_fp_lost = !way->fp.base,
		.is_straight = !way->has_called,
		.pops = insn->op == 0xc2 ? (uint16_t)insn->imm : 0,
	};
	return true;
}

/* Nothing but `pop rbp` was last done to rsp: the return address is next. */
static bool is_just_popped(const struct way *way)
{
	struct value next = way->sp;

	next = value_loaded(value_moved(next, -8));
	return way->fp.nr_loads == 1 && value_is_equal(&next, &way->fp);
}

/*
 * `hlt` is forbidden to programs: it stands where nobody is to come, after what never returns, in start-up
 * code (the C libraries' _start, musl's clone) and below coroutines (Boost.Context's).
 */
static bool is_halt(const struct insn *insn)
{
	return insn->map == INSN_MAP_1 && insn->op == 0xf4;
}

/*
 * LuaJIT's traces never return: they are left by jumps to lj_vm_exit_handler, in its file, with the
 * exit's number in two bytes on the stack. Their frame is that of its interpreter's C function and 16 bytes
 * (CFRAME_SIZE_JIT of lj_frame.h, for x86-64 with GC64), and what they spill there.
 */
static bool is_trace_exit(const struct search *s, const struct way *way, uint64_t target)
{
	return !s->is_file && way->sp.base == SP && way->sp.nr_loads == 0 &&
	       way->sp.off[0] == -2 * 8 && code_is_of_file(s->code.space, target);
}

/*
 * Does made code at TARGET begin with `push imm8`, as the exits of traces do? They are looked at first: traces that lead
 * into each other are longer than what is followed.
 */
static bool may_be_trace_exit(struct search *s, uint64_t target)
{
	uint8_t byte;

	return !s->is_file && !s->is_trace &&
	       code_fetch(s->code.code, s->code.space, target, &byte, 1, &s->code.is_pending) ==
		       1 &&
	       byte == PUSH_IMM8;
}

/* Or, at its end, by a jump to lj_vm_exit_interp, which begins with that frame's size: `lea rcx, [rsp + 16]; mov r13, [rcx - 8]`. */
static bool is_trace_end(struct search *s, const struct way *way, uint64_t target)
{
	static const uint8_t begins[] = {0x48, 0x8d, 0x4c, 0x24, 0x10, 0x4c, 0x8b, 0x69, 0xf8};
	uint8_t text[sizeof(begins)];

	return !s->is_file && way->sp.base == SP && way->sp.nr_loads == 0 && way->sp.off[0] == 0 &&
	       code_is_of_file(s->code.space, target) &&
	       code_fetch(s->code.code, s->code.space, target, text, sizeof(text),
			  &s->code.is_pending) == sizeof(text) &&
	       memcmp(text, begins, sizeof(text)) == 0;
}

static const struct code_rule rule_of_trace = {
	.ra = {.base = CODE_SP, .off = {0x58}},
	.is_fp_lost = true,
	.is_trace = true,
};

/* What stands before functions, and before the heads of loops. */
static bool is_padding(const struct insn *insn)
{
	return insn->map == INSN_MAP_0F
		       ? insn->op == 0x1f
		       : insn->map == INSN_MAP_1 && (insn->op == 0x90 || insn->op == INT3);
}

/* A way ends, and tells nothing: false. */
static bool is_lost(struct search *s)
{
	s->is_lost = true;
	return false;
}

/*
 * Follow one way to its end. True: it has come to a return that says where things are. Behind a call of a file's code and
 * padding another function begins: the call never returns. The head of a loop may be padded as well, but others lead there.
 */
static bool follow_way(struct search *s, struct way *way, struct code_rule *ret)
{
	struct insn insn = {0};

	while (!follow_has_been_at(s->budget, way->pc)) {
		bool is_after_call = insn.map == INSN_MAP_1 && insn.op == 0xe8;
		uint64_t target;
		enum then then;

		if (way->pc == s->until) {
			s->has_arrived = true;
			s->arrived = *way;
			return false;
		}
		if (s->nr_left == 0 || !next_insn(s, way->pc, &insn) ||
		    (s->is_file && is_after_call && is_padding(&insn)))
			return is_lost(s);
		s->nr_left--;
		way->pc += insn.bytes;
		target = way->pc + (uint64_t)insn.imm;
		then = way_follow(s, way, &insn);
		if ((then == THEN_BRANCH || then == THEN_JUMP) && target < way->pc)
			s->is_lost = true; /* perhaps in a loop */
		switch (then) {
		case THEN_ON:
			break;
		case THEN_BRANCH:
			if (may_be_trace_exit(s, target)) {
				add_branch(s, way, way->pc);
				way->pc = target;
			} else {
				add_branch(s, way, target);
			}
			break;
		case THEN_JUMP:
			if (is_just_popped(way))
				return rule_of(way, &insn, ret) || is_lost(s);
			if (is_trace_exit(s, way, target) || is_trace_end(s, way, target)) {
				s->is_trace = true;
				return false;
			}
			way->pc = target;
			break;
		case THEN_RETURN:
			return rule_of(way, &insn, ret) || is_lost(s);
		case THEN_TAIL:
			/* With all of its frame gone: what it jumps to returns to its caller. */
			if (!s->has_tail && way->sp.base == SP && way->sp.off[0] >= 0)
				s->has_tail = rule_of(way, &insn, &s->tail);
			s->tail.is_straight = false;
			is_lost(s);
			if (!way_is_known_jump(way, &insn, &way->pc))
				return false;
			break;
		case THEN_END:
			if (!is_halt(&insn))
				return is_lost(s);
			s->has_halted = true;
			return false;
		}
	}
	return false;
}

/*
 * A way that goes on after a call that never returns comes into another function, and through it to a return
 * address that is not above the stack pointer. So one above it is right, and so is any if no call is on the way.
 */
static bool is_sure(const struct search *s, const struct code_rule *rule)
{
	return !s->has_called || rule->ra.base != CODE_SP || rule->ra.nr_loads > 0 ||
	       rule->ra.off[0] > 0;
}

/* Is rsp AT_CALL, counted from the return address, as at calls? Compilers of files keep it aligned to 16 bytes there. */
static bool is_aligned(const struct value *at_call)
{
	return at_call->base == SP && at_call->nr_loads == 0 && (at_call->off[0] - 8) % 16 == 0;
}

/* Could the return address be there? */
static bool is_believable(const struct search *s, const struct code_rule *rule)
{
	if (is_sure(s, rule))
		return rule->ra.base != CODE_SP || rule->ra.nr_loads > 0 || rule->ra.off[0] >= 0;
	return rule->ra.off[0] == 0 && (!s->is_file || is_aligned(&s->sp_at_call));
}

/*
 * With the return address on top, after a call: of a function without a frame, if it calls with the stack not aligned, as gcc does where
 * it knows the callee (-fipa-stack-alignment); or of another one, if that call never returns.
 */
static void note_unsure(struct search *s, const struct code_rule *rule)
{
	if (s->has_unsure || !s->is_file || rule->ra.base != CODE_SP || rule->ra.nr_loads > 0 ||
	    rule->ra.off[0] != 0)
		return;
	s->has_unsure = true;
	s->unsure = *rule;
	s->unsure.is_unsure = true;
}

/* Follow WAY and what branches off it to a return. */
static bool find_return(struct search *s, struct way way, struct code_rule *ret)
{
	struct code_rule rule;
	bool is_found = false;

	for (;;) {
		bool is_return = follow_way(s, &way, &rule);

		if (is_return && is_believable(s, &rule)) {
			is_found = true;
			*ret = rule;
			if (is_sure(s, &rule))
				return true;
		} else if (is_return) {
			s->is_lost = true;
			note_unsure(s, &rule);
		}
		if (s->nr_branches == 0)
			return is_found;
		way = s->branches[--s->nr_branches];
	}
}

/* --- a beginning instead of an end --- */

/*
 * HotSpot's compilers begin a function by touching the stack below (`mov [rsp - n], eax`), then
 * `push rbp`, perhaps `mov rbp, rsp`, and `sub rsp, n`. The bytes of the frame, or 0: P, of LEFT bytes, is not that.
 */
static uint32_t frame_of_beginning(const uint8_t *p, size_t left)
{
	static const uint8_t fp_of_sp[] = {0x48, 0x8b, 0xec};
	size_t at = 8;
	uint32_t frame;

	if (left < 12 || p[0] != 0x89 || p[1] != 0x84 || p[2] != 0x24 || p[7] != 0x55)
		return 0;
	if (memcmp(p + at, fp_of_sp, sizeof(fp_of_sp)) == 0)
		at += sizeof(fp_of_sp);
	if (left < at + 4 || p[at] != 0x48 || p[at + 2] != 0xec)
		return 0;
	if (p[at + 1] == 0x83)
		return p[at + 3];
	if (left < at + 7 || p[at + 1] != 0x81)
		return 0;
	memcpy(&frame, p + at + 3, sizeof(frame));
	return frame < FOLLOW_OFFSET_MAX ? frame : 0;
}

/* The last beginning before PC, a function without a way out: its rule is that of its body. */
static bool find_beginning(struct search *s, uint64_t pc, struct code_rule *ret)
{
	uint8_t text[BACK_STEP + BEGINNING_MAX];
	uint64_t end = pc;

	for (uint32_t n = 0; n < BACK_MAX / BACK_STEP && end > BACK_STEP; n++, end -= BACK_STEP) {
		size_t got = code_fetch(s->code.code, s->code.space, end - BACK_STEP, text,
					MIN(sizeof(text), (size_t)(pc - (end - BACK_STEP))),
					&s->code.is_pending);

		if (got < BACK_STEP)
			return false;
		for (size_t i = BACK_STEP; i-- > 0;) {
			uint32_t frame = frame_of_beginning(text + i, got - i);

			if (frame == 0 || frame % 8)
				continue;
			*ret = (struct code_rule){
				.ra = {.base = CODE_SP, .off = {(int32_t)frame + 8}},
				.fp = {.base = CODE_SP, .nr_loads = 1, .off = {(int32_t)frame}},
			};
			return true;
		}
	}
	return false;
}

/* Does it move rsp, if only for a while? */
static bool moves_sp(const struct insn *insn)
{
	uint8_t op = insn->op, ext = insn->reg & 7;

	if (insn->map != INSN_MAP_1)
		return insn_writes(insn, SP);
	return (op >= 0x50 && op <= 0x5f) || op == 0x68 || op == 0x6a || op == 0x8f || op == 0x9c ||
	       op == 0x9d || op == 0xc8 || op == 0xc9 || op == 0xe8 ||
	       (op == 0xff && (ext == 2 || ext == 3 || ext == 6)) || insn_writes(insn, SP);
}

/*
 * Has nothing moved rsp between the beginning of the function and PC? It begins after padding by `int3`, as V8's builtins
 * do, many of which have no frame and end with a jump to wherever a register says.
 */
static bool is_frameless(struct search *s, uint64_t pc)
{
	uint8_t text[LEAF_MAX + PADDING_MIN];
	uint64_t from = pc - LEAF_MAX - PADDING_MIN, at;
	struct insn insn;

	if (pc < sizeof(text) || code_fetch(s->code.code, s->code.space, from, text, sizeof(text),
					    &s->code.is_pending) != sizeof(text))
		return false;
	for (at = pc & ~(FUNC_ALIGN - 1ull);; at -= FUNC_ALIGN) {
		if (at < from + PADDING_MIN)
			return false;
		if (text[at - from - 1] == INT3 && text[at - from - 2] == INT3)
			break;
	}
	for (; at < pc && s->nr_left > 0; at += insn.bytes, s->nr_left--)
		if (!insn_decode(text + (at - from), pc - at, &insn) || moves_sp(&insn))
			return false;
	return at == pc;
}

static bool is_branch(const struct insn *insn)
{
	uint8_t op = insn->op;

	return insn->map == INSN_MAP_0F ? op >= 0x80 && op <= 0x8f
					: insn->map == INSN_MAP_1 && ((op >= 0x70 && op <= 0x7f) ||
								      (op >= 0xe0 && op <= 0xe3));
}

/* Is it a return, a jump, a call, which may never return, or what nothing comes after? */
static bool is_way_out(const struct insn *insn)
{
	uint8_t op = insn->op, ext = insn->reg & 7;

	return insn->map == INSN_MAP_0F
		       ? op == 0x0b
		       : insn->map == INSN_MAP_1 &&
				 (op == 0xc2 || op == 0xc3 || op == 0xe8 || op == 0xe9 ||
				  op == 0xeb || op == 0xf4 || (op == 0xff && ext >= 2 && ext <= 5));
}

/*
 * Where functions may begin in TEXT, of BYTES, from SKIP on, bit n for the place n times FUNC_ALIGN after it: behind a way out
 * and perhaps padding. The heads of loops are padded as well, but are come to from above. What is before SKIP brings the
 * decoder to where instructions begin.
 */
static uint64_t places_of_beginnings(struct search *s, const uint8_t *text, size_t bytes,
				     size_t skip)
{
	bool is_out = skip == 0;
	uint64_t ret = 0;
	struct insn insn;

	for (size_t at = 0; at < MIN(bytes, skip + BACK_STEP) && s->nr_left > 0;) {
		if (is_out && at >= skip && (at - skip) % FUNC_ALIGN == 0)
			ret |= 1ull << (at - skip) / FUNC_ALIGN;
		/* Free Pascal fills up with zeros. */
		if (is_out && text[at] == 0) {
			at++;
			continue;
		}
		if (!insn_decode(text + at, bytes - at, &insn)) {
			is_out = false;
			at++;
			continue;
		}
		s->nr_left--;
		if (!is_padding(&insn))
			is_out = is_way_out(&insn);
		at += insn.bytes;
	}
	return ret;
}

/* Does the code at PC make a frame, by `push reg`, `sub rsp, n` or `lea rsp, [rsp - n]`, before it does anything else with the stack? */
static bool is_prologue(struct search *s, uint64_t pc)
{
	struct insn insn;

	for (unsigned int n = 0; n < PROLOGUE_INSNS && s->nr_left > 0 && next_insn(s, pc, &insn);
	     n++) {
		bool is_sub = insn.map == INSN_MAP_1 && (insn.op == 0x81 || insn.op == 0x83) &&
			      insn.is_wide && insn.mod == 3 && (insn.reg & 7) == 5 && insn.rm == SP;
		bool is_lea = insn.map == INSN_MAP_1 && insn.op == 0x8d && insn.reg == SP &&
			      insn.base == SP && insn.disp < 0;

		s->nr_left--;
		if (is_sub || is_lea ||
		    (insn.map == INSN_MAP_1 && insn.op >= 0x50 && insn.op <= 0x57))
			return true;
		if (moves_sp(&insn) || is_branch(&insn) || is_way_out(&insn) ||
		    (insn.has_modrm && insn.mod != 3 && insn.base == SP))
			return false;
		pc += insn.bytes;
	}
	return false;
}

/* Follow the code at BEGINNING to PC; false: it does not come there. */
static bool follow_beginning(struct search *s, uint64_t beginning, uint64_t pc)
{
	struct way way = {.pc = beginning, .sp = {.base = SP}, .fp = {.base = FP}};
	struct code_rule ignored;

	s->until = pc;
	s->has_arrived = s->has_called = s->uses_frame = false;
	s->sp_at_call = (struct value){.base = SP};
	s->nr_branches = 0;
	follow_begin(s->budget);
	for (;;) {
		follow_way(s, &way, &ignored);
		if (s->has_arrived || s->nr_branches == 0)
			return s->has_arrived;
		way = s->branches[--s->nr_branches];
	}
}

/* What the way that has arrived says of the frame; false: nothing. Compilers call with the stack aligned, or know the callee. */
static bool rule_from_beginning(const struct search *s, bool is_exact, struct code_rule *ret)
{
	const struct way *way = &s->arrived;
	const struct value *from = way->sp.base == SP ? &way->sp : &way->fp;
	enum code_base base = from == &way->sp ? CODE_SP : CODE_FP;

	if (from->base != SP || from->nr_loads > 0 || from->off[0] > 0)
		return false;
	*ret = (struct code_rule){
		.ra = {.base = (uint8_t)base, .off = {-from->off[0]}},
		.is_unsure = (s->has_called && !is_aligned(&s->sp_at_call)) ||
			     (!is_exact && !is_aligned(&way->sp)),
	};
	if (is_first_fp(&way->fp))
		ret->fp = (struct code_place){.base = CODE_FP};
	else if (is_first_fp(&way->saved) && way->saved_at.base == SP &&
		 way->saved_at.nr_loads == 0)
		ret->fp = (struct code_place){.base = (uint8_t)base,
					      .nr_loads = 1,
					      .off = {way->saved_at.off[0] - from->off[0]}};
	else
		ret->is_fp_lost = true;
	return true;
}

/*
 * Does a way lead to PC from the beginning of its function in a file, in the last STEPS times BACK_STEP bytes? Compilers align
 * that after the end of another one, and mostly there is a PROLOGUE. The nearest such place from which a way leads to PC is taken for it.
 */
static bool comes_from_beginning(struct search *s, uint64_t pc, bool is_exact, uint32_t steps,
				 bool has_prologue)
{
	const struct unwind_map *map = unwind_map_of(s->code.space, pc - !is_exact);
	uint8_t text[BACK_SYNC + BACK_STEP + INSN_BYTES_MAX];
	uint64_t end = (pc & ~(FUNC_ALIGN - 1ull)) + FUNC_ALIGN, from;

	for (uint32_t n = 0; n < steps && map && end > map->start; n++, end = from) {
		size_t skip, bytes;
		uint64_t places;

		from = end - MIN(end - map->start, (uint64_t)BACK_STEP);
		skip = MIN(from - map->start, (uint64_t)BACK_SYNC);
		bytes = code_fetch(s->code.code, s->code.space, from - skip, text, sizeof(text),
				   &s->code.is_pending);
		if (bytes < skip + (MIN(pc, end) - from))
			return false;
		places = places_of_beginnings(s, text, bytes, skip);
		for (unsigned int i = (unsigned int)(end - from) / FUNC_ALIGN; i-- > 0;) {
			uint64_t place = from + i * FUNC_ALIGN;

			if (places >> i & 1 && place <= pc - !is_exact &&
			    (!has_prologue || is_prologue(s, place)) &&
			    follow_beginning(s, place, pc))
				return true;
		}
	}
	return false;
}

/*
 * By the way from the function's beginning: one with a prologue says where the return address is. One without is looked for near by, and
 * may agree with a return that is not sure.
 */
static bool find_from_beginning(struct search *s, uint64_t pc, bool is_exact, struct code_rule *ret)
{
	if (comes_from_beginning(s, pc, is_exact, FILE_STEPS, true))
		return rule_from_beginning(s, is_exact, ret);
	if (!s->has_unsure || !comes_from_beginning(s, pc, is_exact, 1, false) || s->uses_frame ||
	    !value_is_first(&s->arrived.sp, SP))
		return false;
	*ret = s->unsure;
	ret->is_unsure = false;
	return true;
}

static enum code_answer find_rule(struct search *s, uint64_t pc, bool is_exact,
				  struct code_rule *ret)
{
	struct way way = {.pc = pc, .sp = {.base = SP}, .fp = {.base = FP}};
	bool uses_fp;

	if (is_exact)
		way_look_for_table(s, &way);
	follow_begin(s->budget);
	if (find_return(s, way, ret))
		return CODE_YES;
	if (is_exact && s->kept_reg) {
		way.kept_reg = s->kept_reg;
		way.kept = (struct value){.base = s->kept_reg};
		follow_begin(s->budget);
		if (find_return(s, way, ret))
			return CODE_YES;
	}
	if (is_exact && s->is_file && is_frameless(s, pc)) {
		*ret = (struct code_rule){.ra = {.base = CODE_SP}, .fp = {.base = CODE_FP}};
		return CODE_YES;
	}
	if (s->has_halted && !s->is_lost)
		return CODE_ROOT;
	if (s->is_trace) {
		*ret = rule_of_trace;
		return CODE_YES;
	}
	if (s->code.is_pending)
		return CODE_PENDING;
	uses_fp = s->uses_fp;
	/* In a file it is as likely a `switch`, unless its frame has been given up. */
	if (s->has_tail && (is_exact || !uses_fp) && (!s->is_file || s->tail.ra.off[0] > 0)) {
		*ret = s->tail;
		return CODE_YES;
	}
	/* Or with nothing on the stack: then it counts if the beginning agrees, or below a call of it. */
	if (s->has_tail && is_exact && !s->uses_frame)
		note_unsure(s, &s->tail);
	if (!uses_fp && ((s->is_file && find_from_beginning(s, pc, is_exact, ret)) ||
			 find_beginning(s, pc, ret)))
		return CODE_YES;
	if (s->code.is_pending)
		return CODE_PENDING;
	if (!uses_fp) {
		*ret = s->unsure;
		return s->has_unsure ? CODE_YES : CODE_NO;
	}
	*ret = (struct code_rule){
		.ra = {.base = CODE_FP, .off = {8}},
		.fp = {.base = CODE_FP, .nr_loads = 1},
		.is_open = true,
	};
	return CODE_YES;
}

enum code_answer code_find_rule(struct unwind_code *code, const struct unwind_space *space,
				uint64_t pc, bool is_exact, struct code_rule *ret)
{
	uint32_t nr_max = MIN(code->budget->insns_left, FOLLOW_INSNS_MAX);
	struct search s = {
		.code = {.code = code, .space = space},
		.budget = code->budget,
		.is_file = code_is_of_file(space, pc),
		.has_called = !is_exact,
		.sp_at_call = {.base = SP},
		.nr_left = nr_max,
	};
	enum code_answer answer = find_rule(&s, pc, is_exact, ret);

	code->budget->insns_left -= nr_max - s.nr_left;
	return answer;
}
