/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkers lay stubs out in many ways (lazy or not, with endbr64 or bnd, of 8 or
 * 16 bytes), but all of them jump through a slot by `jmp *rel32(%rip)`, and the
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
	struct slot *all;
	size_t nr, cap;
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
static uint32_t slot_name(struct relocations *r, uint64_t index)
{
	char name[SLOT_NAME_MAX];
	Elf64_Sym sym;
	ssize_t len;

	if (!elf_bytes_read(&r->symbols, index * sizeof(sym), &sym, sizeof(sym)))
		return SYMBOLS_NO_NAME;
	len = elf_bytes_text(&r->strings, sym.st_name, name, sizeof(name));
	/* One that is longer would not be demangled anyway. */
	return len > 0 && len < SLOT_NAME_MAX - 1 ? r->first_name + sym.st_name : SYMBOLS_NO_NAME;
}

static int slots_add_section(struct slots *slots, struct relocations *relocations)
{
	Elf64_Rela rela;

	for (uint64_t i = 0;
	     elf_bytes_read(&relocations->entries, i * sizeof(rela), &rela, sizeof(rela)); i++) {
		uint32_t name;
		int r;

		if (deadline_is_over())
			return -ETIME;
		if (ELF64_R_TYPE(rela.r_info) != R_X86_64_JUMP_SLOT &&
		    ELF64_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT)
			continue;
		name = slot_name(relocations, ELF64_R_SYM(rela.r_info));
		if (name == SYMBOLS_NO_NAME)
			continue;
		r = vec_reserve(&slots->all, &slots->cap, slots->nr + 1, SLOTS_MAX);
		if (r < 0)
			return r == -E2BIG ? 0 : r;
		slots->all[slots->nr++] = (struct slot){rela.r_offset, name};
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

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA)
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

/* The bytes of the stub that stand before its jump at AT: endbr64 and a bnd prefix. */
static size_t stub_lead(const uint8_t *data, size_t at)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t lead = 0;

	if (at >= 1 && data[at - 1] == 0xf2)
		lead = 1;
	if (at - lead >= sizeof(endbr64) &&
	    memcmp(data + at - lead - sizeof(endbr64), endbr64, sizeof(endbr64)) == 0)
		lead += sizeof(endbr64);
	return lead;
}

static const struct slot *jump_slot(const struct slots *slots, const struct cfi_section *section,
				    size_t at)
{
	struct slot key = {0};
	int32_t rel;

	if (section->data[at] != 0xff || section->data[at + 1] != 0x25)
		return NULL;
	memcpy(&rel, section->data + at + 2, sizeof(rel));
	key.vaddr = section->vaddr + at + JUMP_BYTES + (uint64_t)(int64_t)rel;
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
		start = left - JUMP_BYTES - stub_lead(section->data, left - JUMP_BYTES);
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

int plt_add(struct symbols *symbols, const struct elf_file *file)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	struct slots slots = {0};
	int r = 0;

	if (file->machine != EM_X86_64 || !file->is_64 || file->swap)
		return 0;
	r = slots_read(&slots, symbols, file);
	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0 && slots.nr > 0; i++) {
		struct cfi_section section = elf_file_section(file, names[i], PLT_BYTES_MAX);

		if (section.data)
			r = section_add(symbols, &slots, file, &section);
	}
	free(slots.all);
	return r;
}
