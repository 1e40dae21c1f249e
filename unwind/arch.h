/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a machine must be able to do for walk.c: one file per machine. Private
 * to unwind/. The cursor is the state of one walk; its reads never leave the
 * copied stack.
 */
#ifndef ST_UNWIND_ARCH_H
#define ST_UNWIND_ARCH_H

#include "src/base/util.h"
#include "unwind/table_format.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* No frame is that large: a CFA so far up comes from a wrong register. */
#define FRAME_BYTES_MAX (1ull << 30)

/* Whoever hands over a copy has asked for its beginning; the walk is so far ahead of its frames. */
#define FETCH_BEGIN_BYTES 512u
#define FETCH_AHEAD_BYTES 4096u

struct unwind_cursor {
	uint64_t regs[UNWIND_REGS_MAX];
	uint64_t known;	 /* bit n: regs[n] is the register's value in this frame */
	bool is_exact;	 /* pc is an instruction about to run, not a return address */
	bool keep_saved; /* restore the callee-saved registers too: some rule needs one */
	bool read_above; /* a read failed just above the copy, not below or far away */
	bool had_signal; /* a signal frame was stepped over */
	const uint8_t *data;
	uint64_t base;
	uint64_t readable;  /* one more than the offset of the last word in the copy */
	uint64_t fetched;   /* up to this offset the copy is on its way into the cache */
	uint64_t used;	    /* end of the highest read, from base */
	uint64_t outside;   /* the last word that could not be read */
	uint64_t code_mask; /* aarch64: the bits of addresses of code; above are signatures */
	/* Of UNWIND_WORK_MAX, for all walks of the stack together; and before the last one to work for. */
	uint32_t work_left, work_before;
	const struct table *worker;
};

enum step {
	STEP_OK,     /* the cursor is the caller's frame, at its return address */
	STEP_SIGNAL, /* the cursor is the interrupted frame */
	STEP_ROOT,
	STEP_OUTSIDE,	 /* a read outside the copy */
	STEP_BAD,	 /* cannot be right */
	STEP_EXPENSIVE,	 /* no work is left */
	STEP_ELSEWHERE,	 /* the caller is on a stack that is not in the copy */
	STEP_NEEDS_REGS, /* a callee-saved register that was not restored: again, with keep_saved */
};

/* Where a step that no CFI backs would lead. */
struct step_guess {
	uint64_t pc, sp, fp;
	uint64_t end; /* of the highest read, from the copy's base */
};

struct unwind_arch {
	enum table_machine machine;
	unsigned int pc_reg, sp_reg, fp_reg, nr_regs;
	unsigned int word_bytes, frame_align, insn_bytes;
	uint64_t red_zone_bytes; /* how far below the stack pointer memory is still a leaf's */
	uint64_t saved_regs;	 /* bit n: keep_saved is about register n */
	bool follows_code;	 /* code without CFI may be followed: code.h */
	uint32_t
		untold_pushes; /* so many words code may have pushed against its CFI; 0: it never has */
	/* Where a RULE_CFA_SIGNAL frame has the interrupted registers, from sp; their order, NULL: by number. */
	uint64_t signal_regs_off;
	const uint8_t *signal_order;
	/* Look at the sampled registers before the first frame; NULL: there is nothing to do. */
	void (*begin)(struct unwind_cursor *c, const struct unwind_space *space);
	/* Signatures of addresses taken off: of one, of those in registers. NULL: there are none. */
	uint64_t (*strip)(const struct unwind_cursor *c, uint64_t addr);
	void (*strip_regs)(struct unwind_cursor *c);
	void (*restore_saved)(struct unwind_cursor *c, const struct table *table,
			      const struct table_rule *rule, uint64_t cfa);
	enum step (*step)(struct unwind_cursor *c, const struct table *table,
			  const struct table_rule *rule);
	/*
	 * Many steps at once, from a frame at its return address of which pc, sp and
	 * fp are known and nothing else is asked: as far as rules are plain (sp, or
	 * fp, plus something; the return address below that), at most NR_MAX. Puts the
	 * frames that it left into FRAMES. *MAP is a mapping that the frame may be in, then
	 * the last one looked up. NULL: there is none.
	 */
	uint32_t (*step_run)(struct unwind_cursor *c, const struct unwind_space *space,
			     const struct unwind_map **map, struct unwind_frame *frames,
			     uint32_t nr_max);
	/* Could the exact pc be where a system call returns to? */
	bool (*after_syscall)(const struct unwind_cursor *c);
	/* Could the exact pc be just after the system call that made this task? NULL: it cannot be known. */
	bool (*after_clone)(const struct unwind_cursor *c);
	/* The caller of a leaf function that has pushed nothing yet. */
	bool (*guess_leaf)(const struct unwind_cursor *c, struct step_guess *ret);
};

extern const struct unwind_arch arch_aarch64;
extern const struct unwind_arch arch_i386;
extern const struct unwind_arch arch_x86_64;

uint32_t x86_64_step_run(struct unwind_cursor *c, const struct unwind_space *space,
			 const struct unwind_map **map, struct unwind_frame *frames,
			 uint32_t nr_max);

/* The word of machine A at ADDR. */
static inline bool cursor_peek(const struct unwind_cursor *c, const struct unwind_arch *a,
			       uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - c->base;
	uint32_t half;

	if (at >= c->readable)
		return false;
	if (a->word_bytes == sizeof(*ret)) {
		memcpy(ret, c->data + at, sizeof(*ret));
	} else {
		memcpy(&half, c->data + at, sizeof(half));
		*ret = half;
	}
	return true;
}

static inline bool cursor_read(struct unwind_cursor *c, const struct unwind_arch *a, uint64_t addr,
			       uint64_t *ret)
{
	uint64_t at = addr - c->base;

	if (unlikely(!cursor_peek(c, a, addr, ret))) {
		c->read_above = at < FRAME_BYTES_MAX;
		c->outside = addr;
		return false;
	}
	c->used = MAX(c->used, at + a->word_bytes);
	return true;
}

/*
 * The stack OFF bytes into the copy will be read, and soon what lies further out. It was written by
 * another CPU: each line has to be asked for well ahead, or each frame waits for it.
 */
static inline void cursor_fetch(struct unwind_cursor *c, uint64_t off)
{
	const uint64_t until = MIN(off + FETCH_AHEAD_BYTES, c->readable);

	for (; c->fetched < until; c->fetched += 64)
		__builtin_prefetch(c->data + c->fetched);
}

static inline bool cursor_knows(const struct unwind_cursor *c, unsigned int reg)
{
	return c->known >> reg & 1;
}

/* What follows is work for code of TABLE. */
static inline void cursor_work_for(struct unwind_cursor *c, const struct table *table)
{
	if (c->worker != table)
		c->work_before = c->work_left;
	c->worker = table;
	if (unlikely(table->is_expensive))
		c->work_left = MIN(c->work_left, UNWIND_WORK_EXPENSIVE);
}

/* False: no work is left. */
static inline bool cursor_work(struct unwind_cursor *c, uint32_t work)
{
	bool is_enough = work <= c->work_left;

	c->work_left = is_enough ? c->work_left - work : 0;
	return is_enough;
}

/*
 * Evaluate the DWARF expression EXPR for the frame of C, of machine A, with PUSH on the stack
 * first if not NULL. STEP_OK, OUTSIDE, BAD, EXPENSIVE or NEEDS_REGS (*ret_reg says which).
 */
enum step expr_eval(struct unwind_cursor *c, const struct unwind_arch *a, const uint8_t *expr,
		    size_t bytes, const uint64_t *push, uint64_t *ret, unsigned int *ret_reg);

/* What a row says of the caller. */
struct slow_path_row {
	uint64_t regs[UNWIND_REGS_MAX];
	uint64_t known; /* which of them the row gives or leaves as they were */
	unsigned int ra_reg;
	unsigned int needs_reg; /* of STEP_NEEDS_REGS */
};

/*
 * The row of a RULE_CFA_SLOW rule: STEP_OK and STEP_SIGNAL come with RET; C is
 * unchanged but for the work. Rules of registers that no step asks for are not
 * evaluated: those are unknown.
 */
enum step slow_path_step(struct unwind_cursor *c, const struct table *table,
			 const struct table_rule *rule, const struct unwind_arch *arch,
			 struct slow_path_row *ret);

static inline uint64_t arch_strip(const struct unwind_cursor *c, const struct unwind_arch *arch,
				  uint64_t addr)
{
	return arch->strip ? arch->strip(c, addr) : addr;
}

/* The registers that are known in every frame. */
static inline uint64_t arch_known_always(const struct unwind_arch *arch)
{
	return 1ull << arch->pc_reg | 1ull << arch->sp_reg | 1ull << arch->fp_reg;
}

#endif
