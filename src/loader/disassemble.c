/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From bytes to instructions, with libcapstone, in the syntax of objdump and
 * perf. What is no instruction becomes a byte (a word on machines whose
 * instructions are words), and the next one is tried.
 */
#include "config.h"

#include "src/loader/disassemble.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/demangle.h"
#include "src/loader/jit_code.h"
#include "src/loader/jit_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CAPSTONE

#include <capstone/capstone.h>

#define WORD_BYTES 4 /* of an instruction of aarch64 */

struct listing {
	const struct code_bytes *code;
	const struct cache_entry *entry;
	const struct cache_files *files;
	struct lines_file *lines;
	csh handle;
	cs_insn *insn; /* room for one */
	struct protocol_instruction *all;
	size_t nr, cap;
	char *text;
	size_t nr_text, cap_text;
	uint32_t nr_files, files_at[LOADER_CODE_FILES_MAX]; /* source files, in TEXT */
	uint16_t last;					    /* the file of the instruction before */
};

static bool mode_of(const struct elf_file *head, cs_arch *ret_arch, cs_mode *ret_mode)
{
	*ret_mode = CS_MODE_LITTLE_ENDIAN;
	*ret_arch = CS_ARCH_X86;
	if (head->swap || head->is_module) /* its places are filled in when it is loaded */
		return false;
	if (head->machine == EM_X86_64 && head->is_64)
		*ret_mode = CS_MODE_64;
	else if (head->machine == EM_386 && !head->is_64)
		*ret_mode = CS_MODE_32;
	else if (head->machine == EM_AARCH64 && head->is_64)
		*ret_arch = CS_ARCH_ARM64;
	else
		return false;
	return true;
}

/* Where a jump or a call with a constant target leads, by address; false: it is none, or goes through a register. */
static bool target_of(const struct listing *l, uint64_t *ret)
{
	const cs_detail *detail = l->insn->detail;

	if (!cs_insn_group(l->handle, l->insn, CS_GRP_JUMP) &&
	    !cs_insn_group(l->handle, l->insn, CS_GRP_CALL))
		return false;
	if (l->entry->head.machine == EM_AARCH64) {
		const cs_arm64 *arm = &detail->arm64;

		/* The target is the last operand: cbz x0, #0x1234. */
		if (arm->op_count == 0 || arm->operands[arm->op_count - 1].type != ARM64_OP_IMM)
			return false;
		*ret = (uint64_t)arm->operands[arm->op_count - 1].imm;
		return true;
	}
	if (detail->x86.op_count != 1 || detail->x86.operands[0].type != X86_OP_IMM)
		return false;
	*ret = (uint64_t)detail->x86.operands[0].imm;
	return true;
}

/* Call instructions of aarch64 are of no group of their own in older versions of the library. */
static bool is_call(const struct listing *l)
{
	if (l->entry->head.machine == EM_AARCH64)
		return l->insn->id == ARM64_INS_BL || l->insn->id == ARM64_INS_BLR;
	return cs_insn_group(l->handle, l->insn, CS_GRP_CALL);
}

/* The name of the code that a process has made and that begins at ADDR. */
static bool name_made(const struct listing *l, uint64_t addr, char *out, size_t size)
{
	struct jit_place place;

	if (!jit_code_find(l->entry->jit_code, addr | l->code->above, &place) ||
	    place.from != (addr | l->code->above))
		return false;
	jit_text(place.name, out, size);
	return true;
}

/* The name of the kernel's function that begins at ADDR. */
static bool name_kernel(const struct listing *l, uint64_t addr, char *out, size_t size)
{
	struct kallsyms_function function;

	if (!kallsyms_find(l->entry->kallsyms, addr, &function) || function.start != addr)
		return false;
	demangle(function.name, out, size);
	return true;
}

/* " <name>" of the function that begins at OFF of the file; "": it has no name. */
static void name_target(const struct listing *l, uint64_t off, char *out, size_t size)
{
	char mangled[SYMBOLS_NAME_BYTES_MAX], name[LOADER_INSTRUCTION_BYTES_MAX / 2 - 4];
	struct symbols_place place = {.last = UINT64_MAX};

	out[0] = '\0';
	if (l->entry->jit_code) {
		if (name_made(l, off, name, sizeof(name)))
			snprintf(out, size, " <%s>", name);
		return;
	}
	if (l->entry->kallsyms) {
		if (name_kernel(l, off, name, sizeof(name)))
			snprintf(out, size, " <%s>", name);
		return;
	}
	if (!l->entry->symbols || !symbols_find(l->entry->symbols, off, &place) ||
	    place.start != off ||
	    symbols_text(l->entry->symbols, place.name, l->files->all, l->files->nr, mangled) < 0)
		return;
	demangle(mangled, name, sizeof(name));
	snprintf(out, size, " <%s>", name);
}

/* Append TEXT, which is at *RET_AT then. 0 or -ENOMEM. */
static int put_text(struct listing *l, const char *text, uint32_t *ret_at)
{
	size_t bytes = strnlen(text, LOADER_INSTRUCTION_BYTES_MAX - 1) + 1;

	if (vec_reserve(&l->text, &l->cap_text, l->nr_text + bytes, LOADER_CODE_ANSWER_MAX) < 0)
		return -ENOMEM;
	*ret_at = (uint32_t)l->nr_text;
	memcpy(l->text + l->nr_text, text, bytes - 1);
	l->text[l->nr_text + bytes - 1] = '\0';
	l->nr_text += bytes;
	return 0;
}

/* Which of the source files is called PATH, in *RET. 0, -ENOMEM, or -ENOSPC: there is no room for one more. */
static int find_file(struct listing *l, const char *path, uint16_t *ret)
{
	uint32_t i = l->last;

	/* Mostly the one of the instruction before. */
	if (i >= l->nr_files || strcmp(l->text + l->files_at[i], path) != 0)
		for (i = 0; i < l->nr_files; i++)
			if (strcmp(l->text + l->files_at[i], path) == 0)
				break;
	if (i == LOADER_CODE_FILES_MAX)
		return -ENOSPC;
	if (i == l->nr_files) {
		if (put_text(l, path, &l->files_at[i]) < 0)
			return -ENOMEM;
		l->nr_files++;
	}
	*ret = l->last = (uint16_t)i;
	return 0;
}

/* Where the instruction is from. 0 or -errno; that it is not known is none. */
static int put_line(struct listing *l, struct protocol_instruction *instruction)
{
	struct debug_frame frame;
	int r = l->lines ? lines_at(l->lines, instruction->off, &frame) : 0;

	if (r <= 0)
		return r;
	r = find_file(l, frame.file, &instruction->file);
	if (r == 0)
		instruction->line = frame.line;
	return r == -ENOSPC ? 0 : r;
}

static int put(struct listing *l, struct protocol_instruction instruction, const char *text)
{
	int r = put_line(l, &instruction);

	if (r < 0)
		return r;
	if (vec_reserve(&l->all, &l->cap, l->nr + 1, LOADER_INSTRUCTIONS_MAX) < 0 ||
	    put_text(l, text, &instruction.text) < 0)
		return -ENOMEM;
	l->all[l->nr++] = instruction;
	return 0;
}

static int put_instruction(struct listing *l, uint64_t off)
{
	struct protocol_instruction instruction = {
		.off = off,
		.target = UINT64_MAX,
		.bytes = (uint8_t)l->insn->size,
	};
	char text[LOADER_INSTRUCTION_BYTES_MAX], name[LOADER_INSTRUCTION_BYTES_MAX / 2] = "";
	uint64_t target;

	instruction.is_call = is_call(l);
	if (target_of(l, &target) &&
	    elf_file_off_of(&l->entry->head, target, &instruction.target)) {
		if (instruction.target - l->code->off >= l->code->len || instruction.is_call)
			name_target(l, instruction.target, name, sizeof(name));
	}
	snprintf(text, sizeof(text), "%s%s%s%s", l->insn->mnemonic, l->insn->op_str[0] ? " " : "",
		 l->insn->op_str, name);
	return put(l, instruction, text);
}

/* What is no instruction, at AT of the code. Its length in *RET_BYTES. */
static int put_data(struct listing *l, size_t at, size_t *ret_bytes)
{
	bool is_word = l->entry->head.machine == EM_AARCH64 && l->code->len - at >= WORD_BYTES;
	struct protocol_instruction instruction = {
		.off = l->code->off + at,
		.target = UINT64_MAX,
		.bytes = is_word ? WORD_BYTES : 1,
	};
	uint32_t word = l->code->data[at];
	char text[32];

	if (is_word)
		memcpy(&word, l->code->data + at, sizeof(word));
	snprintf(text, sizeof(text), "%s 0x%" PRIx32, is_word ? ".word" : ".byte", word);
	*ret_bytes = instruction.bytes;
	return put(l, instruction, text);
}

static int list_all(struct listing *l)
{
	const uint8_t *data = l->code->data;
	size_t left = l->code->len;
	uint64_t vaddr = l->code->vaddr;
	int r = 0;

	while (left > 0 && l->nr < LOADER_INSTRUCTIONS_MAX && r == 0) {
		size_t at = l->code->len - left, bytes;

		if (deadline_is_over())
			return -ETIME;
		if (cs_disasm_iter(l->handle, &data, &left, &vaddr, l->insn)) {
			r = put_instruction(l, l->code->off + at);
			continue;
		}
		r = put_data(l, at, &bytes);
		data = l->code->data + at + bytes;
		left = l->code->len - at - bytes;
		vaddr = l->code->vaddr + at + bytes;
	}
	return r;
}

/* One block of what was listed. */
static int pack(const struct listing *l, void **ret, size_t *ret_len)
{
	const struct code_bytes *code = l->code;
	struct protocol_code head = {
		.nr = (uint32_t)l->nr,
		.text_bytes = (uint32_t)l->nr_text,
		.vaddr = code->vaddr,
		.is_cut = code->is_cut || l->nr == LOADER_INSTRUCTIONS_MAX,
		.nr_files = l->nr_files,
	};
	size_t fixed = l->nr * sizeof(*l->all);
	char *block = malloc(sizeof(head) + fixed + l->nr_text);

	if (!block)
		return -ENOMEM;
	memcpy(head.files, l->files_at, sizeof(head.files));
	memcpy(block, &head, sizeof(head));
	if (l->nr > 0) {
		memcpy(block + sizeof(head), l->all, fixed);
		memcpy(block + sizeof(head) + fixed, l->text, l->nr_text);
	}
	*ret = block;
	*ret_len = sizeof(head) + fixed + l->nr_text;
	return 0;
}

int disassemble(const struct code_bytes *code, const struct cache_entry *entry,
		const struct cache_files *files, struct lines_file *lines, void **ret,
		size_t *ret_len)
{
	struct listing l = {.code = code, .entry = entry, .files = files, .lines = lines};
	cs_arch arch;
	cs_mode mode;
	int r = -ENOMEM;

	if (!mode_of(&entry->head, &arch, &mode) || cs_open(arch, mode, &l.handle) != CS_ERR_OK)
		return -ENOTSUP;
	cs_option(l.handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (arch == CS_ARCH_X86)
		cs_option(l.handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	l.insn = cs_malloc(l.handle);
	if (l.insn)
		r = list_all(&l);
	if (r == 0)
		r = pack(&l, ret, ret_len);
	if (l.insn)
		cs_free(l.insn, 1);
	cs_close(&l.handle);
	free(l.all);
	free(l.text);
	return r;
}

#else

int disassemble(const struct code_bytes *code, const struct cache_entry *entry,
		const struct cache_files *files, struct lines_file *lines, void **ret,
		size_t *ret_len)
{
	(void)code;
	(void)entry;
	(void)files;
	(void)lines;
	(void)ret;
	(void)ret_len;
	return -ENOSYS;
}

#endif
