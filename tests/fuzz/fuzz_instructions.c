/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Foreign code to instructions: by the first byte bytes are disassembled, and what comes of it must pass the
 * check; or they are such an answer by themselves; or the memory of a process that makes code.
 */
#include "config.h"

#include "src/loader/disassemble.h"
#include "src/loader/instructions.h"
#include "src/loader/jit_code.h"
#include "src/loader/made_code.h"
#include "tests/fuzz/fuzz.h"
#include "unwind/code.h"

#include <elf.h>

static void check(const struct instructions *in)
{
	for (uint32_t i = 0; i < in->nr_files; i++)
		use(strlen(in->text + in->files[i]));
	for (uint32_t i = 0; i < in->nr; i++) {
		use(strlen(in->text + in->all[i].text));
		must(in->all[i].line == 0 || in->all[i].file < in->nr_files);
		must(i == 0 || in->all[i].off >= in->all[i - 1].off + in->all[i - 1].bytes);
	}
}

static void fuzz_code(struct reader *in)
{
	static const struct {
		uint16_t machine;
		bool is_64;
	} machines[] = {{EM_X86_64, true}, {EM_386, false}, {EM_AARCH64, true}};
	unsigned int which = reader_u8(in) % 3;
	struct cache_entry entry = {
		.head = {.machine = machines[which].machine,
			 .is_64 = machines[which].is_64,
			 .nr_segments = 1,
			 .segments = {{.file_off = 4096, .vaddr = 0x401000, .bytes = 1 << 20}}},
	};
	struct code_bytes code = {.len = reader_left(in), .off = 4096, .vaddr = 0x401000};
	const struct cache_files files = {.nr = 0};
	struct instructions instructions;
	void *listing;
	size_t len;

	code.data = reader_bytes(in, code.len);
	if (disassemble(&code, &entry, &files, NULL, &listing, &len) < 0)
		return;
	must(instructions_parse(listing, len, &instructions) == 0);
	check(&instructions);
	/* Every byte is in an instruction. */
	for (uint32_t i = 0; i + 1 < instructions.nr; i++)
		must(instructions.all[i].off + instructions.all[i].bytes ==
		     instructions.all[i + 1].off);
	instructions_done(&instructions);
	free(listing);
}

/* Two names, for code at any place of the memory, and a question about one of them. */
static void fuzz_made(struct reader *in)
{
	struct cache_entry entry = {.jit_code = jit_code_new()};
	struct protocol_request request = {.nr_offs = 5};
	struct instructions instructions;
	size_t left;
	void *listing;
	size_t len;
	int memory;

	must(entry.jit_code);
	jit_code_note(entry.jit_code, reader_u16(in), reader_u16(in), "a", 1, 0);
	jit_code_note(entry.jit_code, reader_u16(in), reader_u16(in), "b", 1, 0);
	jit_code_commit(entry.jit_code, 0, false);
	for (int i = 0; i < 4; i++)
		request.offs[i] = reader_u16(in);
	request.offs[4] = request.offs[0];
	left = reader_left(in);
	memory = memory_file(reader_bytes(in, left), left);
	must(ftruncate(memory, 3 * (CODE_PIECE_BYTES + 4)) == 0);
	if (made_code_list(&request, &entry, memory, &listing, &len) == 0) {
		must(instructions_parse(listing, len, &instructions) == 0);
		check(&instructions);
		instructions_done(&instructions);
		free(listing);
	}
	close(memory);
	jit_code_free(entry.jit_code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(data, size);
	struct instructions instructions;

	unsigned int which = reader_u8(&in) % 3;

	if (which == 0) {
		fuzz_code(&in);
	} else if (which == 2) {
		fuzz_made(&in);
	} else {
		size_t len = reader_left(&in);
		void *copy = exact_copy(reader_bytes(&in, len), len);

		if (instructions_parse(copy, len, &instructions) == 0) {
			check(&instructions);
			instructions_done(&instructions);
		}
		free(copy);
	}
	return 0;
}
