/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table or a blob of return addresses from a loader that was taken over: refused, or every
 * lookup and every step by it stays inside.
 *
 *	16 words: the registers; then the blob
 */
#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "unwind/arch.h"

#define STACK_WORDS 512
#define STACK_ADDR  0x7ffff000ull
#define LOAD_ADDR   0x10000000ull

static void unwind(struct unwind_module *module, const uint8_t *registers, uint64_t off)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX], others[UNWIND_FRAMES_MAX];
	uint64_t *recent = module->table.recent;
	uint64_t words[STACK_WORDS];
	struct unwind_map map = {LOAD_ADDR, LOAD_ADDR + (1ull << 40), 0, module};
	struct unwind_space space = {.maps = &map, .nr_maps = 1};
	struct unwind_stack stack = {
		.data = (uint8_t *)words, .base = STACK_ADDR, .bytes = sizeof(words)};
	struct unwind_regs regs = {.machine = module->table.machine};
	struct unwind_result result, other;

	for (size_t i = 0; i < STACK_WORDS; i++)
		words[i] = i % 3 ? LOAD_ADDR + off + i : STACK_ADDR + 8 * i;
	memcpy(regs.r, registers, X86_RIP * sizeof(*regs.r));
	regs.r[fuzz_sp_reg(regs.machine)] = STACK_ADDR;
	regs.r[fuzz_nr_regs(regs.machine) - 1] = LOAD_ADDR + off; /* pc is the last */
	unwind_dwarf(&space, &regs, &stack, frames, &result);
	must(result.nr_frames <= UNWIND_FRAMES_MAX && result.end < STACK_END_COUNT);
	module->table.recent = NULL; /* by single steps */
	unwind_dwarf(&space, &regs, &stack, others, &other);
	module->table.recent = recent;
	must(result.nr_frames == other.nr_frames && result.end == other.end);
	for (uint32_t i = 0; i < result.nr_frames; i++)
		must(frames[i].pc == others[i].pc && frames[i].sp == others[i].sp);
}

static void use_table(struct unwind_module *module, const uint8_t *registers)
{
	const struct table_header *h = module->table.header;
	uint64_t step = (h->end - h->base) / 61 + 1, start, end;

	for (uint64_t off = h->base - 3, i = 0; i < 64; i++, off += step) {
		const struct table_rule *rule = table_find(&module->table, off);

		if (rule)
			use(rule->cfa_op);
		if (table_func_of(&module->table, off, &start, &end))
			must(start <= off && off < end);
		unwind(module, registers, off);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_module module = {.state = STACK_END_NO_FILE};
	size_t head = X86_RIP * 8;
	void *blob;

	if (size < head)
		return 0;
	blob = exact_copy(data + head, size - head);
	if (table_open(blob, size - head, &module.table) == 0) {
		module.has_table = true;
		must(table_remember(&module.table) == 0);
		use_table(&module, data);
		table_forget(&module.table);
	}
	if (return_addrs_open(blob, size - head, &module.return_addrs) == 0)
		for (uint64_t i = 0; i < 4096; i++)
			use(return_addrs_has(&module.return_addrs, i * 41));
	free(blob);
	return 0;
}
