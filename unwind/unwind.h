/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwinding one user stack from a copy of its registers and its memory. No
 * allocation, no lock, no system call; knows no perf. The engine calls it for
 * every sample, on the engine thread.
 */
#ifndef ST_UNWIND_UNWIND_H
#define ST_UNWIND_UNWIND_H

#include "src/base/stack.h"
#include "unwind/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_FRAMES_MAX    1024 /* where nothing else is said; of chains in any case */
#define UNWIND_DEPTH_DEFAULT 4096
#define UNWIND_DEPTH_MAX     65536
#define UNWIND_NO_MODULE     UINT32_MAX
/*
 * The work that one stack is given besides its plain steps, which are few: in operations of
 * expressions, some 5 ns each. A program decides what its rows take; a frame of real code that
 * takes any takes some twenty. A file that has used all of it once has less of it from then on.
 */
#define UNWIND_WORK_MAX	      8192u
#define UNWIND_WORK_EXPENSIVE 512u

/* DWARF register numbers of x86-64 (psABI figure 3.36), as indices of unwind_regs.r. */
enum {
	X86_RAX,
	X86_RDX,
	X86_RCX,
	X86_RBX,
	X86_RSI,
	X86_RDI,
	X86_RBP,
	X86_RSP,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_RIP,
	X86_NR_REGS
};

/* The same for aarch64 (AADWARF64, section 4.1): x0 to x30 are 0 to 30. */
enum {
	A64_X8 = 8,
	A64_X19 = 19,
	A64_X29 = 29, /* the frame pointer */
	A64_X30 = 30, /* the link register: where a call returns to */
	A64_SP = 31,
	A64_PC = 32,
	A64_NR_REGS
};

/* The same for i386 (psABI i386, table 2.14). */
enum {
	I386_EAX,
	I386_ECX,
	I386_EDX,
	I386_EBX,
	I386_ESP,
	I386_EBP,
	I386_ESI,
	I386_EDI,
	I386_EIP,
	I386_NR_REGS
};

#define UNWIND_REGS_MAX 34

struct unwind_regs {
	enum table_machine machine;  /* whose they are; NONE: x86-64's */
	uint64_t r[UNWIND_REGS_MAX]; /* by DWARF number; the machine's pc last */
	/* pc is of an instruction that has run, and the others are as it has left them */
	bool is_precise;
	/* if is_precise: pc is of a `ret` that has run and went to this address; 0: it is not */
	uint64_t returned_to;
};

/* The copied stack: bytes at addresses [base, base + bytes). */
struct unwind_stack {
	const uint8_t *data;
	uint64_t base;
	uint64_t bytes;
	/* More of it, further out, perhaps after a gap: for the first frame that the copy has not in full, and for its callers. */
	struct unwind_piece {
		const uint8_t *data;
		uint64_t base;
		uint64_t bytes; /* 0: there is none */
	} rest;
	bool is_cut; /* the copy, or the rest, was as large as asked for: the stack may go on */
	/* the most frames, at most UNWIND_DEPTH_MAX, then it ends DEPTH; 0: UNWIND_FRAMES_MAX */
	uint32_t max_frames;
};

/* The blob of cfi_compile_return_addrs, checked. */
struct return_addrs {
	const struct return_addrs_header *header;
	const uint32_t *pages;
	const uint8_t *deltas;
};
int return_addrs_open(const void *blob, size_t len, struct return_addrs *ret);
/* Is OFF (file offset) the address just after a call instruction? */
bool return_addrs_has(const struct return_addrs *return_addrs, uint64_t off);
/* The most that this answer takes, as of UNWIND_WORK_MAX. */
uint32_t return_addrs_work(const struct return_addrs *return_addrs, uint64_t off);

/* What unwinding needs to know of an ELF file; shared by all processes that map it. */
struct unwind_module {
	uint32_t id;
	bool has_table;		 /* table is valid */
	bool has_return_addrs;	 /* return_addrs is valid */
	bool needs_table;	 /* set by unwinding: a stack leads into this file */
	bool needs_return_addrs; /* set by unwinding: an unverified frame-pointer step needs them */
	bool return_addrs_failed; /* there will be none */
	/* without a table: PENDING (one will come), NO_FILE, BAD_FILE, JIT, ARCH ... */
	enum stack_end state;
	struct table table;
	struct return_addrs return_addrs;
};

/*
 * Does no file tell of its code: was it made at run time, or is the file that it was mapped from no ELF file, as the core of
 * a Lisp or a program that Wine runs?
 */
static inline bool unwind_is_untold(const struct unwind_module *module)
{
	return !module->has_table &&
	       (module->state == STACK_END_JIT || module->state == STACK_END_BAD_FILE);
}

/* One executable mapping of a process. */
struct unwind_map {
	uint64_t start, end;
	uint64_t file_off; /* of start */
	struct unwind_module *module;
};

struct unwind_code;

/* A run of them, where there are many. */
struct unwind_part {
	uint64_t start;		       /* of its first */
	const struct unwind_map *maps; /* at least one */
	uint32_t nr_maps;
};

/*
 * The executable mappings of a process, sorted by address, not overlapping: in one array, or,
 * where NR_PARTS is not 0, in several, so that a change moves few of them.
 */
struct unwind_space {
	const struct unwind_map *maps;
	uint32_t nr_maps;
	const struct unwind_part *parts;
	uint32_t nr_parts;
	struct unwind_code *code; /* what is known of its code without a file (code.h), or NULL */
};

struct unwind_frame {
	/*
	 * virtual address: exact for the innermost frame, above signal frames and
	 * from branch records, else the return address
	 */
	uint64_t pc;
	uint64_t off;	 /* file offset of pc in the module; pc itself without a module */
	uint64_t sp;	 /* of unwind_dwarf: the stack pointer in this frame, else 0 */
	uint32_t module; /* unwind_module.id or UNWIND_NO_MODULE */
	bool is_return;	 /* look up function and rule at off - 1 */
};

struct unwind_result {
	uint32_t nr_frames;
	enum stack_end end;
	uint32_t end_module; /* the module at fault, or UNWIND_NO_MODULE */
	uint32_t bytes_used; /* how far into the copy, and beyond it into the rest, reads went */
	uint64_t outside;    /* of TRUNCATED: the word that was needed and is not there */
	bool lacks_code;     /* of unwind_dwarf: unwind_space.code would have been asked */
};

/*
 * Unwind from REGS and STACK through SPACE; code of another machine than REGS'
 * ends the stack (ARCH). FRAMES (room for
 * STACK's max_frames) gets the frames innermost first; the first one is
 * regs' pc itself. The stack ends with exactly one reason (stack.h): ROOT only
 * if every step was verified: CFA grows and is aligned, the return address is
 * in an executable mapping, and frame-pointer steps come just after a call.
 * Without a byte of the stack (NO_STACK) the first frame is all.
 */
void unwind_dwarf(const struct unwind_space *space, const struct unwind_regs *regs,
		  const struct unwind_stack *stack, struct unwind_frame *frames,
		  struct unwind_result *ret);

/*
 * The same form for return addresses that the kernel walked (mode fp): IPS
 * innermost first, the first exact. End: FP, or ROOT when the outermost frame
 * is a root by its module's table, or PENDING while that table is missing.
 * MAX_IPS is the kernel's limit (TRUNCATED when NR reaches it).
 */
void unwind_fp(const struct unwind_space *space, const uint64_t *ips, uint64_t nr, uint64_t max_ips,
	       struct unwind_frame *frames, struct unwind_result *ret);

/*
 * The same for call sites from branch records (lbr.h): all of IPS are exact, a
 * call site is the call itself. The end is CUT unless the outermost frame is a
 * root. A STITCHED stack stays that, unless it is known not to end in one.
 */
void unwind_lbr(const struct unwind_space *space, const uint64_t *ips, uint64_t nr,
		enum stack_end cut, struct unwind_frame *frames, struct unwind_result *ret);

/* The mapping that holds PC, or NULL. */
const struct unwind_map *unwind_map_of(const struct unwind_space *space, uint64_t pc);

/* The last mapping that starts below ADDR (not 0), or NULL. */
const struct unwind_map *unwind_map_below(const struct unwind_space *space, uint64_t addr);

/* The first mapping that ends above ADDR, or NULL: from 0, each one's end leads to the next. */
const struct unwind_map *unwind_map_from(const struct unwind_space *space, uint64_t addr);

/* Of a space in parts: the last one that starts at or below ADDR, else the first. */
uint32_t unwind_part_of(const struct unwind_space *space, uint64_t addr);

/* The first of NR sorted mappings that ends above ADDR, or NR. */
uint32_t unwind_first_above(const struct unwind_map *maps, uint32_t nr, uint64_t addr);

/*
 * A frame at PC that does not come from a step, its sp 0. HINT is a mapping that PC
 * is likely in, or NULL. Returns the one it is in, or NULL.
 */
const struct unwind_map *unwind_frame_of(const struct unwind_space *space, uint64_t pc,
					 bool is_return, const struct unwind_map *hint,
					 struct unwind_frame *frame);

/* Does a call return to FRAME's address? *RET_ASKED: nobody has looked at its file for that, which is asked for now. */
bool unwind_is_after_call(const struct unwind_space *space, const struct unwind_frame *frame,
			  bool *ret_asked);

#endif
