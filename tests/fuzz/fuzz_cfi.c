/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a damaged file to a stack: an ELF image, or frame information alone,
 * compiled as the loader does; then registers and stack bytes unwound with it.
 *
 *	u16 stack bytes, u8 flags, u32 address of the section; registers and stack; the rest is
 *	the image if it begins like one, else the section
 */
#include "config.h"

#include "src/base/util.h"
#include "src/loader/elf_file.h"
#include "src/loader/symbols.h"
#include "tests/fuzz/fuzz.h"
#include "unwind/cfi.h"
#include "unwind/unwind.h"

#define LOAD_ADDR  0x10000000ull
#define STACK_ADDR 0x7ffff000ull
#define CODE_BYTES (1u << 16)

/* Words that lead somewhere: small ones into the code, others into the stack, the rest as they are. */
static uint64_t lead(uint64_t word, uint64_t stack_bytes)
{
	switch (word >> 62) {
	case 0:
		return LOAD_ADDR + word % CODE_BYTES;
	case 1:
		return STACK_ADDR + word % (stack_bytes + 1) / 8 * 8;
	default:
		return word;
	}
}

static void unwind(struct unwind_module *module, struct reader *in, uint64_t stack_bytes)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	uint64_t *stack = calloc(1, stack_bytes + 8);
	struct unwind_map map = {LOAD_ADDR, LOAD_ADDR + CODE_BYTES, 0, module};
	struct unwind_space space = {.maps = &map, .nr_maps = 1};
	unsigned int nr_regs = fuzz_nr_regs(module->table.machine);
	struct unwind_regs regs = {.machine = module->table.machine};
	struct unwind_stack copy = {.data = (uint8_t *)stack,
				    .base = STACK_ADDR,
				    .bytes = stack_bytes,
				    .is_cut = stack_bytes % 16 != 0};
	struct unwind_result result;

	must(stack);
	for (size_t i = 0; i < nr_regs; i++)
		regs.r[i] = lead(reader_u64(in), stack_bytes);
	regs.r[fuzz_sp_reg(module->table.machine)] = STACK_ADDR;
	for (size_t i = 0; i < stack_bytes / 8; i++)
		stack[i] = lead(reader_u64(in), stack_bytes);
	copy.data = exact_copy(stack, stack_bytes);
	unwind_dwarf(&space, &regs, &copy, frames, &result);
	/* Single steps until now; many at once must lead to the same. */
	if (module->has_table)
		must(table_remember(&module->table) == 0);
	must(result.nr_frames > 0 && result.nr_frames <= UNWIND_FRAMES_MAX);
	must(result.end < STACK_END_COUNT && result.bytes_used <= stack_bytes);
	unwind_fp(&space, stack, stack_bytes / 8, UNWIND_FRAMES_MAX, frames, &result);
	table_forget(&module->table);
	free((void *)(uintptr_t)copy.data);
	free(stack);
}

static void take(struct unwind_module *module, void *blob, size_t len, bool is_return_addrs)
{
	if (is_return_addrs) {
		must(return_addrs_open(blob, len, &module->return_addrs) == 0);
		module->has_return_addrs = true;
	} else {
		must(table_open(blob, len, &module->table) == 0);
		module->has_table = true;
	}
}

/* What begins every table of Go's, so that the rest of it is looked at. */
static void go_head(uint8_t *table, size_t len, uint8_t flags)
{
	static const uint64_t forms[] = {0x08010000fffffffa, 0x08010000fffffff0,
					 0x08010000fffffff1};
	uint64_t text = 0x1000;

	if (len < 32)
		return;
	memcpy(table, &forms[flags % ARRAY_SIZE(forms)], sizeof(*forms));
	if (flags % ARRAY_SIZE(forms) > 0)
		memcpy(table + 24, &text, sizeof(text));
}

static void compile_section(struct unwind_module *module, const uint8_t *data, size_t len,
			    uint8_t flags, uint32_t vaddr, void **blob)
{
	struct cfi_section section = {exact_copy(data, len), len, vaddr};
	struct cfi_segment segment = {.vaddr = flags & 8 ? 0x1000 : 0,
				      .bytes = CODE_BYTES,
				      .text = calloc(1, CODE_BYTES)};
	struct cfi_input input = {
		.machine = flags & FUZZ_CFI_AARCH64 ? TABLE_MACHINE_AARCH64
			   : flags & FUZZ_CFI_I386  ? TABLE_MACHINE_I386
						    : TABLE_MACHINE_X86_64,
		.swap = flags & 1,
		.segments = &segment,
		.nr_segments = 1,
		.entry = 0x2000,
	};
	struct cfi_stats stats;
	size_t blob_bytes;

	if (flags & FUZZ_CFI_GO) {
		go_head((uint8_t *)(uintptr_t)section.data, len, flags);
		memcpy((uint8_t *)(uintptr_t)segment.text, data, MIN(len, (size_t)CODE_BYTES));
		input.go_table = section;
		input.swap = false;
	} else if (flags & 4) {
		input.debug_frame = section;
	} else {
		input.eh_frame = section;
	}
	if (cfi_compile(&input, blob, &blob_bytes, &stats) == 0)
		take(module, *blob, blob_bytes, false);
	free((void *)(uintptr_t)section.data);
	free((void *)(uintptr_t)segment.text);
}

/* The functions of FILE, which is open as FD or in memory (-1). */
static void add_symbols(const struct elf_file *file, int fd, const struct table *table)
{
	struct symbols *symbols = symbols_new();
	char name[SYMBOLS_NAME_BYTES_MAX];
	struct symbols_place place;

	must(symbols);
	symbols_add(symbols, file, 0, file, table);
	plt_add(symbols, file);
	if (symbols_finish(symbols) == 0)
		for (uint64_t off = 0; off < file->file_bytes; off += 97)
			if (symbols_find(symbols, off, &place)) {
				ssize_t n = symbols_text(symbols, place.name, &fd, fd >= 0, name);

				must(place.from <= off && off <= place.last);
				must(n < SYMBOLS_NAME_BYTES_MAX &&
				     (n < 0 || strlen(name) == (size_t)n));
			}
	symbols_free(symbols);
}

/* As the loader has it: read piece by piece. */
static void add_symbols_of_file(const uint8_t *data, size_t len, const struct table *table)
{
	int fd = memory_file(data, len);
	struct elf_file file;

	if (elf_file_open_packed(fd, &file) == 0) {
		add_symbols(&file, fd, table);
		elf_file_close(&file);
	}
	close(fd);
}

static void compile_image(struct unwind_module *module, const uint8_t *data, size_t len,
			  void *blobs[2])
{
	struct elf_file file;
	void *image = exact_copy(data, len);
	size_t blob_bytes;

	if (elf_file_open_memory(image, len, &file) == 0) {
		for (int is_return_addrs = 0; is_return_addrs < 2; is_return_addrs++)
			if (elf_code_compile(&file, is_return_addrs, &blobs[is_return_addrs],
					     &blob_bytes) == 0)
				take(module, blobs[is_return_addrs], blob_bytes, is_return_addrs);
		add_symbols(&file, -1, module->has_table ? &module->table : NULL);
		elf_file_close(&file);
		add_symbols_of_file(data, len, module->has_table ? &module->table : NULL);
	}
	free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_module module = {.state = STACK_END_NO_FILE};
	struct reader in = reader_of(data, size), words;
	uint64_t stack_bytes = reader_u16(&in) % 4096;
	uint8_t flags = reader_u8(&in);
	uint32_t vaddr = reader_u32(&in);
	void *blobs[2] = {NULL, NULL};
	const uint8_t *p = reader_bytes(&in, X86_NR_REGS * 8 + stack_bytes);

	if (!p)
		return 0;
	words = reader_of(p, X86_NR_REGS * 8 + stack_bytes);
	if (reader_left(&in) > 4 && memcmp(in.p, "\177ELF", 4) == 0)
		compile_image(&module, in.p, reader_left(&in), blobs);
	else
		compile_section(&module, in.p, reader_left(&in), flags, vaddr, &blobs[0]);
	unwind(&module, &words, stack_bytes);
	free(blobs[0]);
	free(blobs[1]);
	return 0;
}
