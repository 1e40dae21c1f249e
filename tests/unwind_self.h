/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A test program as its own target: the executable mappings of this process
 * (or of a child) with compiled tables, and copies of its registers and stack.
 */
#ifndef ST_TESTS_UNWIND_SELF_H
#define ST_TESTS_UNWIND_SELF_H

#include "unwind/code.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#define SELF_MAPS_MAX	 64
#define SELF_STACK_BYTES (256u << 10)
#define SELF_CHAIN_MAX	 2048

struct self {
	struct unwind_map maps[SELF_MAPS_MAX];
	struct unwind_module modules[SELF_MAPS_MAX];
	char paths[SELF_MAPS_MAX][256];
	void *blobs[SELF_MAPS_MAX], *return_addrs[SELF_MAPS_MAX];
	struct unwind_space space;
};

/* Everything that is mapped executable now. WITH_CALLS: return addresses too. False: it failed. */
bool self_load(struct self *self, bool with_calls);
/* The mappings of PID as they are now; what was compiled before is kept. Zero SELF first. */
bool self_load_of(struct self *self, pid_t pid, bool with_calls);
void self_unload(struct self *self);
struct unwind_module *self_module_of(struct self *self, const void *pc);

/* Read the pieces that CODE wants at TIME_NS from this process. Returns how many. */
uint32_t self_bring_code(struct self *self, struct unwind_code *code, uint64_t time_ns);

/* What a sample has, and what libgcc's unwinder says about the same moment. */
struct shot {
	struct unwind_regs regs;
	struct unwind_stack stack;
	uint8_t bytes[SELF_STACK_BYTES];
	uint64_t chain[SELF_CHAIN_MAX]; /* return addresses, outward from shoot's caller */
	uint32_t nr_chain;
};

/* Copy up to MAX bytes of the stack at ADDR, as far as it is mapped. */
void shot_copy_stack(struct shot *shot, uint64_t addr, size_t max);
/* The interrupted state, as perf would give it, with MAX bytes of stack. */
void shot_from_ucontext(struct shot *shot, const ucontext_t *uc, size_t max);
/* Here and now; the innermost frame is shoot itself. */
void shoot(struct shot *shot) __attribute__((noinline));
/* The same without asking libgcc, which trusts its CFI and crashes where that is wrong. */
void shoot_no_chain(struct shot *shot) __attribute__((noinline));

#endif
