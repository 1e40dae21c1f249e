/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What code_told.c and code_pieces.c keep, code_rules.c and code_rules_aarch64.c read and code.c answers from; each
 * calls only those before it. Private to unwind/.
 */
#ifndef ST_UNWIND_CODE_PIECES_H
#define ST_UNWIND_CODE_PIECES_H

#include "src/base/hash.h"
#include "unwind/code.h"

#include <stddef.h>

#define CODE_RULES  16384u /* remembered, by address */
#define CODE_WAYS   4u	   /* places for each */
#define CODE_GROUPS 64u	   /* of pieces, by address */

struct piece {
	uint8_t *bytes;		 /* NULL: never read */
	uint64_t addr, asked_ns; /* when it was last asked for: what has come is as new */
	uint64_t read_ns,
		refresh_ns; /* as old as the bytes are at most; when they are read anew if used */
	uint64_t interval_ns;
	uint32_t pages; /* bit n: page n has bytes */
	bool is_wanted, is_asked, is_used;
	bool is_of_file; /* its bytes seldom change */
	bool is_doubted; /* what was found in it before it was read has led nowhere */
};

/* What was found at an address. */
struct remembered {
	uint64_t key;
	uint64_t groups;     /* of the pieces that it was found in, a bit each */
	uint32_t generation; /* in which that was so; 0: nothing was found */
	uint8_t answer;	     /* enum code_answer */
	struct code_rule rule;
};

/* What its maker tells of a place. */
struct told_place {
	uint64_t key;
	uint8_t answer; /* enum code_answer; PENDING: it is asked for, or will be */
	struct code_rule rule;
};

struct unwind_code {
	struct code_budget *budget;
	enum table_machine machine;
	struct u64map by_addr; /* index of the piece */
	struct piece pieces[CODE_PIECES_MAX];
	uint32_t nr_pieces, nr_wanted;
	uint32_t hand;		       /* where a piece to make room is looked for next */
	uint32_t generation;	       /* of all bytes: another one with each change */
	uint32_t changed[CODE_GROUPS]; /* in which generation the last piece of a group changed */
	uint64_t groups_read;	       /* a bit each, for whoever asks */
	uint64_t time_ns;	       /* of the stack that is unwound now */
	struct remembered rules[CODE_RULES];
	bool is_erlang; /* the process is Erlang's machine */
	bool is_told;	/* its maker tells of frames */
	uint64_t above; /* what stands above the addresses of the stack that is unwound now */
	struct u64map told_by_key;
	struct told_place *told; /* in the order in which they were wanted */
	size_t nr_told, cap_told, nr_told_asked;
};

/* --- code_pieces.c --- */

/*
 * Copy BYTES bytes of code at ADDR to TO, or as many as there are. Where it ends and what follows is
 * still to be read, *RET_IS_PENDING becomes true.
 */
size_t code_fetch(struct unwind_code *code, const struct unwind_space *space, uint64_t addr,
		  uint8_t *to, size_t bytes, bool *ret_is_pending);

/* --- code_told.c --- */

void code_told_done(struct unwind_code *code);

/* --- code_rules.c --- */

/* The rule at PC by what the function does from there to its return; the budget's insns_left go down. */
enum code_answer code_find_rule(struct unwind_code *code, const struct unwind_space *space,
				uint64_t pc, bool is_exact, struct code_rule *ret);

/* --- code_rules_aarch64.c: the same, and what code.c does itself for x86-64 --- */

enum code_answer code_aarch64_find_rule(struct unwind_code *code, const struct unwind_space *space,
					uint64_t pc, bool is_exact, struct code_rule *ret);
enum code_answer code_aarch64_is_return(struct unwind_code *code, const struct unwind_space *space,
					uint64_t pc);
enum code_answer code_aarch64_call_target(struct unwind_code *code,
					  const struct unwind_space *space, uint64_t pc,
					  uint64_t *ret_target);

/* Is the code at PC that of a file? */
static inline bool code_is_of_file(const struct unwind_space *space, uint64_t pc)
{
	const struct unwind_map *map = unwind_map_of(space, pc);

	return map && map->module && !unwind_is_untold(map->module);
}

#endif
