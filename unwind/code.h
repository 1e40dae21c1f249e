/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that a process makes while it runs: its bytes, read from its memory in pieces as stacks
 * lead into them, and the rules that follow from the instructions (code_rules.c). Of x86-64 and aarch64.
 * Whoever made that code mostly says nothing of its frames, and nothing is taken on trust: a rule is what
 * the function itself does to return, or what its maker tells, and what it returns to must come just after a call.
 *
 * Unwinding notes which pieces it lacks; the engine has them read, and unwinds again.
 */
#ifndef ST_UNWIND_CODE_H
#define ST_UNWIND_CODE_H

#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

#define CODE_PIECE_BYTES 16384u /* at multiples of it */
#define CODE_PAGE_BYTES	 4096u
#define CODE_PIECE_PAGES (CODE_PIECE_BYTES / CODE_PAGE_BYTES)
#define CODE_PIECES_MAX	 2048u /* of one process: then those used longest ago leave */

/* What the code of all processes may take together, and what became of that. */
#define CODE_SEEN	4096u
#define CODE_SEEN_BYTES 64u

struct code_budget {
	uint32_t insns_left;  /* to look at until somebody fills it up */
	uint32_t pieces_left; /* to keep */
	uint64_t nr_given_up; /* places without an answer for want of either */
	/* scratch: the instructions of the search at hand, by its number, in so many bytes of code each */
	uint16_t nr_searches;
	struct {
		uint64_t key;
		uint64_t insns; /* bit n: one begins at byte n */
	} seen[CODE_SEEN];
};

struct unwind_code;

/* Of a process of MACHINE, x86-64 or aarch64. NULL: no memory. BUDGET outlives it. */
struct unwind_code *unwind_code_new(struct code_budget *budget, enum table_machine machine);
struct unwind_code *unwind_code_free(struct unwind_code *code);

/* The stack that is unwound next is of TIME_NS. */
void unwind_code_set_time(struct unwind_code *code, uint64_t time_ns);

/*
 * Addresses of pieces to read now, at TIME_NS, at most MAX: those that stacks wait for, then those
 * that are old. Each comes back with unwind_code_put().
 */
uint32_t unwind_code_next(struct unwind_code *code, uint64_t time_ns, uint64_t *addrs,
			  uint32_t max);

/*
 * The piece at ADDR (of unwind_code_next): bit n of PAGES says that BYTES has its page n, which
 * is executable. 0: it cannot be read.
 */
void unwind_code_put(struct unwind_code *code, uint64_t addr, const uint8_t *bytes, uint32_t pages);

enum code_answer {
	CODE_YES,
	CODE_NO,
	CODE_PENDING, /* bytes that are still to be read may say */
	CODE_ROOT,    /* of a rule: this code has no caller */
};

/* The process is Erlang's virtual machine: stacks of its code are as unwind/erlang.c says. */
void unwind_code_set_erlang(struct unwind_code *code);

/* --- what its maker tells of frames (code_told.c) --- */

#define CODE_TOLD_MAX 8192u /* places of one process: then all are forgotten */

enum code_fp { CODE_FP_SAME, CODE_FP_AT_CFA, CODE_FP_AT_FP, CODE_FP_LOST };

/*
 * At a place: the CFA is sp, or fp, plus CFA_OFF, the return address is just below it, and the caller's fp is
 * FP_OFF from the CFA or from fp, if it is saved. As it passes between processes: nothing in it is trusted.
 */
struct code_told {
	uint64_t key; /* the address, with its epoch above it */
	int32_t cfa_off, fp_off;
	uint8_t answer; /* enum code_answer: YES, NO, or ROOT */
	uint8_t cfa_by_fp;
	uint8_t fp_how; /* enum code_fp */
	uint8_t pad[5];
};

/* What TABLE says of OFF, which is exact; RET's key stays as it is. */
void code_told_of(const struct table *table, uint64_t off, struct code_told *ret);

/* Does the process tell of frames, and what stands above the addresses of the stack that is unwound next? */
void unwind_code_set_told(struct unwind_code *code, bool is_told, uint64_t above);
/* Keys of places to ask about now, at most MAX. Each comes back with unwind_code_put_told(), */
uint32_t unwind_code_next_told(struct unwind_code *code, uint64_t *keys, uint32_t max);
/* or the last NR of them are asked about later. */
void unwind_code_ask_later(struct unwind_code *code, uint32_t nr);
void unwind_code_put_told(struct unwind_code *code, const struct code_told *told);
/* More is told than before: places without an answer may have one now. */
void unwind_code_tell_more(struct unwind_code *code);

/* --- for the walk --- */

/* Is PC where a call returns to? SPACE is the process's: nothing outside is asked for. */
enum code_answer code_is_return(struct unwind_code *code, const struct unwind_space *space,
				uint64_t pc);

/* Where the call leads that returns to PC. CODE_NO: it does not say so itself. */
enum code_answer code_call_target(struct unwind_code *code, const struct unwind_space *space,
				  uint64_t pc, uint64_t *ret_target);

/*
 * What was found at PC has led nowhere: PENDING if its bytes are older than the stack and are going to
 * be read again, which is not done too often; else NO.
 */
enum code_answer code_doubt(struct unwind_code *code, const struct unwind_space *space,
			    uint64_t pc);

/* Of Erlang's machine (erlang.c): */
bool code_is_erlang(const struct unwind_code *code);
/* Does the code at PC go on on another stack than where it is? PENDING: bytes are missing. */
enum code_answer code_erlang_leaves(struct unwind_code *code, const struct unwind_space *space,
				    uint64_t pc);
/* Is PC, which no call returns to, what is below all calls of an Erlang process? */
enum code_answer code_erlang_is_root(struct unwind_code *code, const struct unwind_space *space,
				     uint64_t pc);

enum code_base { CODE_SP, CODE_FP, CODE_LR, CODE_REG /* and its number in DWARF */ };

/* A number: sp, fp, aarch64's x30 or another register in the frame, plus off[0]; for each load the word in memory there, plus the next off. */
struct code_place {
	uint8_t base, nr_loads;
	int32_t off[3];
};

struct code_rule {
	struct code_place ra; /* where the return address is; CODE_LR: it is that */
	struct code_place fp; /* the caller's fp */
	struct code_place
		sp; /* of aarch64: the caller's sp; of x86-64 it is just above the return address */
	bool is_fp_lost, is_sp_lost;
	bool is_trace; /* LuaJIT's: RA is where it is if nothing is spilled, else so many times 16 bytes above */
	bool is_open;	  /* no way out of it was seen: it uses fp as a frame's */
	bool is_straight; /* no call is on the way to its return */
	/*
	 * Perhaps another function's: it counts if the call that it leads to is of code just before the place, or if the callee is
	 * seen to return and the way is straight.
	 */
	bool is_unsure;
	uint16_t pops; /* bytes that it takes off besides its return address */
};

/*
 * The rule at PC: EXACT is about to run, else a call returns to it. CODE_NO: none follows from
 * the instructions.
 */
enum code_answer code_rule_at(struct unwind_code *code, const struct unwind_space *space,
			      uint64_t pc, bool is_exact, struct code_rule *ret);
/* The same for made code, as its maker tells. */
enum code_answer code_rule_told(struct unwind_code *code, uint64_t pc, bool is_exact,
				struct code_rule *ret);

#endif
