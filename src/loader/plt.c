/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkers lay stubs out in many ways (lazy or not, with endbr64 or bnd, of 8 or
 * 16 bytes), but all of them jump through a slot by `jmp *rel32(%rip)`, those of i386 by
 * `jmp *slot` or `jmp *rel32(%ebx)`, counted from the global offset table; and the
 * slot has a relocation with a name. So the jumps are looked for, and nothing
 * is assumed about the order of stubs and relocations.
 */
#include "config.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/symbols.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX      (1u << 20)
#define PLT_BYTES_MAX  (64u << 20)
#define JUMP_BYTES     6u
#define STUB_BYTES_MAX 16u
#define SECTION_MAX    (512u << 20)
#define SLOT_NAME_MAX  4000

struct slot {
	uint64_t vaddr;
	uint32_t name; /* see symbols_add_stub */
};

struct slots {
	const struct form *form;
	uint64_t got; /* of i386: what slots are counted from */
	struct slot *all;
	size_t nr, cap;
};

/* How a machine's stubs and relocations are written. */
struct form {
	bool is_32;
	uint32_t section; /* type of those with relocations */
	uint32_t jump_slot, glob_dat;
	uint8_t endbr; /* its last byte */
	size_t symbol_bytes;
};

static const struct form form_x86_64 = {
	.section = SHT_RELA,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	.endbr = 0xfa,
	.symbol_bytes = sizeof(Elf64_Sym),
};

static const struct form form_i386 = {
	.is_32 = true,
	.section = SHT_REL,
	.jump_slot = R_386_JMP_SLOT,
	.glob_dat = R_386_GLOB_DAT,
	.endbr = 0xfb,
	.symbol_bytes = sizeof(Elf32_Sym),
};

/* A section with relocations, the symbols that these name, and their names. */
struct relocations {
	struct elf_bytes entries, symbols, strings;
	uint32_t first_name;
};

static void relocations_close(struct relocations *r)
{
	elf_bytes_close(&r->entries);
	elf_bytes_close(&r->symbols);
	elf_bytes_close(&r->strings);
}

/* 0, -ENOENT (nothing usable), -ENOMEM. */
static int relocations_open(struct relocations *ret, struct symbols *names,
			    const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Scn *symbols = elf_getscn(file->elf, shdr->sh_link);
	GElf_Shdr symbols_shdr;
	int r;

	if (!symbols || !gelf_getshdr(symbols, &symbols_shdr) || symbols_shdr.sh_type != SHT_DYNSYM)
		return -ENOENT;
	r = elf_bytes_open(file, scn, SECTION_MAX, &ret->entries);
	if (r == 0)
		r = elf_bytes_open(file, symbols, SECTION_MAX, &ret->symbols);
	if (r == 0)
		r = elf_bytes_open(file, elf_getscn(file->elf, symbols_shdr.sh_link), SECTION_MAX,
				   &ret->strings);
	if (r == 0) {
		ret->first_name = symbols_add_strings(names, &ret->strings, 0, true);
		r = ret->first_name == SYMBOLS_NO_NAME ? -ENOENT : 0;
	}
	if (r < 0)
		relocations_close(ret);
	return r;
}

/* The name of symbol INDEX, or SYMBOLS_NO_NAME. */
static uint32_t slot_name(struct relocations *r, const struct form *form, uint64_t index)
{
	char name[SLOT_NAME_MAX];
	uint32_t st_name; /* the first member of both forms */
	ssize_t len;

	_Static_assert(offsetof(Elf64_Sym, st_name) == 0 && offsetof(Elf32_Sym, st_name) == 0,
		       "the name is read alone");
	if (!elf_bytes_read(&r->symbols, index * form->symbol_bytes, &st_name, sizeof(st_name)))
		return SYMBOLS_NO_NAME;
	len = elf_bytes_text(&r->strings, st_name, name, sizeof(name));
	/* One that is longer would not be demangled anyway. */
	return len > 0 && len < SLOT_NAME_MAX - 1 ? r->first_name + st_name : SYMBOLS_NO_NAME;
}

/* Entry INDEX: where its slot is, of which type it is, and of which symbol. */
static bool read_relocation(struct relocations *r, const struct form *form, uint64_t index,
			    uint64_t *ret_vaddr, uint32_t *ret_type, uint64_t *ret_symbol)
{
	Elf64_Rela rela;
	Elf32_Rel rel;

	if (form->is_32) {
		if (!elf_bytes_read(&r->entries, index * sizeof(rel), &rel, sizeof(rel)))
			return false;
		*ret_vaddr = rel.r_offset;
		*ret_type = ELF32_R_TYPE(rel.r_info);
		*ret_symbol = ELF32_R_SYM(rel.r_info);
		return true;
	}
	if (!elf_bytes_read(&r->entries, index * sizeof(rela), &rela, sizeof(rela)))
		return false;
	*ret_vaddr = rela.r_offset;
	*ret_type = ELF64_R_TYPE(rela.r_info);
	*ret_symbol = ELF64_R_SYM(rela.r_info);
	return true;
}

static int slots_add_section(struct slots *slots, struct relocations *relocations)
{
	const struct form *form = slots->form;
	uint64_t vaddr, symbol;
	uint32_t type;

	for (uint64_t i = 0; read_relocation(relocations, form, i, &vaddr, &type, &symbol); i++) {
		uint32_t name;
		int r;

		if (deadline_is_over())
			return -ETIME;
		if (type != form->jump_slot && type != form->glob_dat)
			continue;
		name = slot_name(relocations, form, symbol);
		if (name == SYMBOLS_NO_NAME)
			continue;
		r = vec_reserve(&slots->all, &slots->cap, slots->nr + 1, SLOTS_MAX);
		if (r < 0)
			return r == -E2BIG ? 0 : r;
		slots->all[slots->nr++] = (struct slot){vaddr, name};
	}
	return 0;
}

static int slot_compare(const void *va, const void *vb)
{
	const struct slot *a = va, *b = vb;

	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

static int slots_read(struct slots *slots, struct symbols *symbols, const struct elf_file *file)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		struct relocations relocations = {0};
		GElf_Shdr shdr;
		int r;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != slots->form->section)
			continue;
		r = relocations_open(&relocations, symbols, file, scn, &shdr);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = slots_add_section(slots, &relocations);
		relocations_close(&relocations);
		if (r < 0)
			return r;
	}
	if (slots->nr > 0)
		qsort(slots->all, slots->nr, sizeof(*slots->all), slot_compare);
	return 0;
}

/* The bytes of the stub that stand before its jump at AT: endbr and a bnd prefix. */
static size_t stub_lead(const struct form *form, const uint8_t *data, size_t at)
{
	const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, form->endbr};
	size_t lead = 0;

	if (at >= 1 && data[at - 1] == 0xf2)
		lead = 1;
	if (at - lead >= sizeof(endbr) &&
	    memcmp(data + at - lead - sizeof(endbr), endbr, sizeof(endbr)) == 0)
		lead += sizeof(endbr);
	return lead;
}

static const struct slot *jump_slot(const struct slots *slots, const struct cfi_section *section,
				    size_t at)
{
	bool is_by_ebx = slots->form->is_32 && section->data[at + 1] == 0xa3;
	struct slot key = {0};
	int32_t rel;

	if (section->data[at] != 0xff || (section->data[at + 1] != 0x25 && !is_by_ebx))
		return NULL;
	memcpy(&rel, section->data + at + 2, sizeof(rel));
	key.vaddr = section->vaddr + at + JUMP_BYTES + (uint64_t)(int64_t)rel;
	if (slots->form->is_32)
		key.vaddr = (uint32_t)rel + (is_by_ebx ? (uint32_t)slots->got : 0);
	return bsearch(&key, slots->all, slots->nr, sizeof(key), slot_compare);
}

static int section_add(struct symbols *symbols, const struct slots *slots,
		       const struct elf_file *file, const struct cfi_section *section)
{
	size_t end = section->bytes; /* of the stub before the one looked at last */

	/* Backwards, as a stub ends where the next one begins. */
	for (size_t left = section->bytes; left >= JUMP_BYTES; left--) {
		const struct slot *slot = jump_slot(slots, section, left - JUMP_BYTES);
		size_t start;
		uint64_t off;
		int r;

		if (!slot)
			continue;
		start = left - JUMP_BYTES -
			stub_lead(slots->form, section->data, left - JUMP_BYTES);
		if (elf_file_off_of(file, section->vaddr + start, &off)) {
			r = symbols_add_stub(symbols, off, MIN(end - start, (size_t)STUB_BYTES_MAX),
					     slot->name);
			if (r < 0)
				return r == -E2BIG ? 0 : r;
		}
		end = start;
	}
	return 0;
}

/* NULL: its stubs are not known. */
static const struct form *form_of(const struct elf_file *file)
{
	if (file->swap)
		return NULL;
	if (file->machine == EM_X86_64 && file->is_64)
		return &form_x86_64;
	return file->machine == EM_386 && !file->is_64 ? &form_i386 : NULL;
}

/* What ebx points at in position-independent code of i386: _GLOBAL_OFFSET_TABLE_ (psABI i386, 3.4.2). */
static uint64_t got_of(const struct elf_file *file)
{
	struct cfi_section got = elf_file_section(file, ".got.plt", PLT_BYTES_MAX);

	if (!got.data)
		got = elf_file_section(file, ".got", PLT_BYTES_MAX);
	return got.vaddr;
}

int plt_add(struct symbols *symbols, const struct elf_file *file)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	struct slots slots = {.form = form_of(file)};
	int r = 0;

	if (!slots.form)
		return 0;
	if (slots.form->is_32)
		slots.got = got_of(file);
	r = slots_read(&slots, symbols, file);
	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0 && slots.nr > 0; i++) {
		struct cfi_section section = elf_file_section(file, names[i], PLT_BYTES_MAX);

		if (section.data)
			r = section_add(symbols, &slots, file, &section);
	}
	free(slots.all);
	return r;
}
