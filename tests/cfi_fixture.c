/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See cfi_fixture.h. */
#include "config.h"

#include "tests/cfi_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bytes eh, debug;
uint8_t text[TEXT_BYTES];
struct cfi_segment segment;
struct cfi_input input;
struct cfi_stats stats;
void *blob;
size_t blob_bytes;
struct table table;
struct unwind_module module;
struct unwind_map map;
const struct unwind_space space = {.maps = &map, .nr_maps = 1};
struct unwind_regs regs;
uint64_t stack_words[512];
struct unwind_stack stack;
struct unwind_frame frames[UNWIND_FRAMES_MAX];
struct unwind_result result;

void put(struct bytes *b, const void *data, size_t bytes)
{
	assert_true(b->n + bytes <= sizeof(b->b));
	if (bytes)
		memcpy(b->b + b->n, data, bytes);
	b->n += bytes;
}

void put8(struct bytes *b, uint8_t v)
{
	put(b, &v, sizeof(v));
}

void put32(struct bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

void put64(struct bytes *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

void end_entry(struct bytes *b, size_t at)
{
	uint32_t bytes;

	while (b->n % 8)
		put8(b, 0);
	bytes = (uint32_t)(b->n - at - 4);
	memcpy(b->b + at, &bytes, 4);
}

/* The machine's return address column, and its pc. */
static uint8_t ra_reg(void)
{
	return input.machine == TABLE_MACHINE_AARCH64 ? A64_X30
	       : input.machine == TABLE_MACHINE_I386  ? I386_EIP
						      : X86_RIP;
}

static uint8_t pc_reg(void)
{
	return input.machine == TABLE_MACHINE_AARCH64 ? A64_PC : ra_reg();
}

size_t put_cie(const char *augmentation, const uint8_t *insns, size_t bytes)
{
	size_t at = eh.n;

	put32(&eh, 0);
	put32(&eh, 0);
	put8(&eh, 1);
	put(&eh, augmentation, strlen(augmentation) + 1);
	put8(&eh, 1);						      /* code alignment */
	put8(&eh, (uint8_t)(0x80 - table_word_bytes(input.machine))); /* data alignment, sleb */
	put8(&eh, ra_reg());
	if (augmentation[0] == 'z') {
		put8(&eh, 1);
		put8(&eh, 0x1b); /* pcrel sdata4 */
	}
	put(&eh, insns, bytes);
	end_entry(&eh, at);
	return at;
}

void put_fde(size_t cie_at, uint64_t start, uint32_t bytes, const uint8_t *insns, size_t nr_insns)
{
	size_t at = eh.n;

	put32(&eh, 0);
	put32(&eh, (uint32_t)(eh.n - cie_at));
	put32(&eh, (uint32_t)(TEXT_VADDR + start - (EH_VADDR + eh.n)));
	put32(&eh, bytes);
	put8(&eh, 0);
	put(&eh, insns, nr_insns);
	end_entry(&eh, at);
}

void forget(void)
{
	table_forget(&module.table);
	free(blob);
	blob = NULL;
}

int compile(void)
{
	int r;

	forget();
	input.eh_frame = (struct cfi_section){.data = eh.b, .bytes = eh.n, .vaddr = EH_VADDR};
	input.debug_frame =
		(struct cfi_section){.data = debug.n ? debug.b : NULL, .bytes = debug.n};
	r = cfi_compile(&input, &blob, &blob_bytes, &stats);
	if (r == 0) {
		assert_int_equal(table_open(blob, blob_bytes, &table), 0);
		module.table = table;
		module.has_table = table_remember(&module.table) == 0;
	}
	return r;
}

int reset(void **state)
{
	(void)state;
	forget();
	eh.n = debug.n = 0;
	memset(text, 0x90, sizeof(text));
	segment = (struct cfi_segment){
		.file_off = TEXT_OFF, .vaddr = TEXT_VADDR, .bytes = TEXT_BYTES, .text = text};
	input = (struct cfi_input){
		.machine = TABLE_MACHINE_X86_64, .segments = &segment, .nr_segments = 1};
	module = (struct unwind_module){.id = 1, .return_addrs_failed = true};
	map = (struct unwind_map){.start = MAP_START,
				  .end = MAP_START + TEXT_BYTES,
				  .file_off = TEXT_OFF,
				  .module = &module};
	memset(stack_words, 0, sizeof(stack_words));
	stack = (struct unwind_stack){
		.data = (const uint8_t *)stack_words, .base = STACK, .bytes = sizeof(stack_words)};
	regs.machine = TABLE_MACHINE_X86_64;
	regs.is_precise = false;
	for (int i = 0; i < X86_NR_REGS; i++)
		regs.r[i] = 0xdead0000u + (uint64_t)i * 8;
	regs.r[X86_RSP] = STACK;
	return 0;
}

int clear(void **state)
{
	(void)state;
	forget();
	return 0;
}

void *take_return_addrs(void)
{
	void *made;
	size_t len;

	assert_int_equal(cfi_compile_return_addrs(&input, &made, &len), 0);
	assert_int_equal(return_addrs_open(made, len, &module.return_addrs), 0);
	module.has_return_addrs = true;
	module.return_addrs_failed = false;
	return made;
}

void compile_one(const uint8_t *insns, size_t bytes)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	put_fde(cie, 0x100, 0x100, insns, bytes);
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
}

void walk_from(uint64_t at)
{
	regs.r[pc_reg()] = map.start + at;
	unwind_dwarf(&space, &regs, &stack, frames, &result);
}

void expect_caller(uint64_t at)
{
	walk_from(0x100 + at);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(frames[1].pc, map.start + CALLER - MAP_START);
	assert_int_equal(frames[1].off, TEXT_OFF + 0x1010);
	assert_true(frames[1].is_return);
}

void expect_end(uint64_t at, enum stack_end end)
{
	walk_from(at);
	assert_int_equal(result.end, end);
	assert_int_equal(result.nr_frames, 1);
}
