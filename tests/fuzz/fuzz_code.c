/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that nobody describes, as a target may write it, and a stack that leads through it.
 *
 *	u8 flags (1: of a file; 2: its maker tells of frames, 2 bits what, 1 bit of what, 2 bits of fp; 128: of aarch64),
 *	u8 pages that are there; pc, fp (of aarch64 lr too), the stack; the rest is code
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/fuzz/fuzz.h"
#include "unwind/code.h"

#define CODE_ADDR   0x10000000ull
#define CODE_BYTES  (2 * CODE_PIECE_BYTES)
#define STACK_ADDR  0x7ffff000ull
#define STACK_WORDS 64
#define INSNS_MAX   (1u << 14)

/* Words that lead somewhere: small ones into the code, others into the stack, the rest as they are. */
static uint64_t lead(uint64_t word)
{
	switch (word >> 62) {
	case 0:
		return CODE_ADDR + word % CODE_BYTES;
	case 1:
		return STACK_ADDR + word % (STACK_WORDS * 8);
	default:
		return word;
	}
}

static void bring(struct unwind_code *code, uint64_t time_ns, const uint8_t *bytes, uint32_t pages)
{
	uint64_t addrs[8];
	uint32_t nr = unwind_code_next(code, time_ns, addrs, ARRAY_SIZE(addrs));

	for (uint32_t i = 0; i < nr; i++) {
		must(addrs[i] >= CODE_ADDR && addrs[i] < CODE_ADDR + CODE_BYTES);
		unwind_code_put(code, addrs[i], bytes + (addrs[i] - CODE_ADDR), pages);
	}
}

/* What is asked of its maker, by FLAGS and numbers of WORDS. */
static void tell(struct unwind_code *code, uint8_t flags, const uint64_t *words)
{
	uint64_t keys[8];
	uint32_t nr = unwind_code_next_told(code, keys, ARRAY_SIZE(keys));

	for (uint32_t i = 0; i < nr; i++) {
		const struct code_told told = {
			.key = keys[i],
			.answer = flags >> 2 & 3,
			.cfa_by_fp = flags >> 4 & 1,
			.fp_how = flags >> 5 & 3,
			.cfa_off = (int32_t)words[i],
			.fp_off = (int32_t)(words[i] >> 32),
		};

		unwind_code_put_told(code, &told);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	static struct code_budget budget;
	static uint8_t bytes[CODE_BYTES];
	struct reader in = reader_of(data, size);
	uint8_t flags = reader_u8(&in);
	struct unwind_module module = {.state = STACK_END_JIT, .has_table = flags & 1};
	struct unwind_map map = {CODE_ADDR, CODE_ADDR + CODE_BYTES, 0, &module};
	struct unwind_space space = {.maps = &map, .nr_maps = 1};
	uint64_t words[STACK_WORDS];
	bool is_arm = flags & 128;
	struct unwind_regs regs = {.machine =
					   is_arm ? TABLE_MACHINE_AARCH64 : TABLE_MACHINE_X86_64};
	uint64_t pc;
	struct unwind_stack stack = {
		.data = (uint8_t *)words, .base = STACK_ADDR, .bytes = sizeof(words)};
	struct unwind_result result;
	struct code_rule rule;
	uint32_t pages = reader_u8(&in);

	regs.r[is_arm ? A64_SP : X86_RSP] = STACK_ADDR;
	regs.r[is_arm ? A64_PC : X86_RIP] = pc = lead(reader_u64(&in));
	regs.r[is_arm ? A64_X29 : X86_RBP] = lead(reader_u64(&in));
	if (is_arm)
		regs.r[A64_X30] = lead(reader_u64(&in));
	for (size_t i = 0; i < STACK_WORDS; i++)
		words[i] = lead(reader_u64(&in));
	memset(bytes, 0, sizeof(bytes));
	if (in.p)
		memcpy(bytes, in.p, MIN((size_t)(in.end - in.p), sizeof(bytes)));
	budget.insns_left = INSNS_MAX;
	budget.pieces_left = 2;
	space.code = unwind_code_new(&budget, regs.machine);
	must(space.code);
	unwind_code_set_told(space.code, flags & 2, 1ull << 48);
	for (uint64_t time_ns = 1; time_ns < 10; time_ns++) {
		unwind_code_set_time(space.code, time_ns);
		/* Of a file only what its code says is asked: it has no table here. */
		if (module.has_table) {
			code_rule_at(space.code, &space, pc, time_ns & 1, &rule);
		} else {
			unwind_dwarf(&space, &regs, &stack, frames, &result);
			must(result.nr_frames > 0 && result.nr_frames <= STACK_WORDS + 1);
			must(result.bytes_used <= sizeof(words));
		}
		bring(space.code, time_ns, bytes, pages);
		tell(space.code, flags, words);
	}
	must(budget.insns_left <= INSNS_MAX);
	unwind_code_free(space.code);
	must(budget.pieces_left == 2);
	return 0;
}
