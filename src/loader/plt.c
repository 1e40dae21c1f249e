/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkers lay stubs out in many ways (lazy or not, with endbr64 or bnd, of 8 or
 * 16 bytes), but all of them jump through a slot by `jmp *rel32(%rip)`, and the
 * slot has a relocation with a name. So the jumps are looked for, and nothing
 * is assumed about the order of stubs and relocations.
 */
#include "config.h"

#include "src/loader/plt.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX      (1u << 20)
#define PLT_BYTES_MAX  (64u << 20)
#define JUMP_BYTES     6u
#define STUB_BYTES_MAX 16u
#define SLOT_NAME_MAX  4000 /* a longer one would not be demangled anyway */

struct slot {
	uint64_t vaddr;
	const char *name;
};

struct slots {
	struct slot *all;
	size_t nr, cap;
};

static int slots_add_section(struct slots *slots, const struct elf_file *file, Elf_Scn *scn,
			     const GElf_Shdr *shdr)
{
	Elf_Scn *symbols = elf_getscn(file->elf, shdr->sh_link);
	Elf_Data *relocations = elf_getdata(scn, NULL), *symbol_data;
	size_t entry_bytes = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
	GElf_Shdr symbols_shdr;

	if (!symbols || !relocations || !gelf_getshdr(symbols, &symbols_shdr) ||
	    symbols_shdr.sh_type != SHT_DYNSYM || entry_bytes == 0)
		return 0;
	symbol_data = elf_getdata(symbols, NULL);
	for (size_t i = 0; symbol_data && i < relocations->d_size / entry_bytes; i++) {
		const char *name;
		GElf_Rela rela;
		GElf_Sym sym;
		int r;

		if (i > INT32_MAX || !gelf_getrela(relocations, (int)i, &rela) ||
		    (GELF_R_TYPE(rela.r_info) != R_X86_64_JUMP_SLOT &&
		     GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbol_data, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(file->elf, symbols_shdr.sh_link, sym.st_name);
		if (!name || !name[0])
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

static int slots_read(struct slots *slots, const struct elf_file *file)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		GElf_Shdr shdr;
		int r;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA)
			continue;
		r = slots_add_section(slots, file, scn, &shdr);
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

static const struct slot *jump_slot(const struct slots *slots,
				    const struct elf_file_section *section, size_t at)
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
		       const struct elf_file *file, const struct elf_file_section *section)
{
	size_t end = section->bytes; /* of the stub before the one looked at last */

	/* Backwards, as a stub ends where the next one begins. */
	for (size_t left = section->bytes; left >= JUMP_BYTES; left--) {
		const struct slot *slot = jump_slot(slots, section, left - JUMP_BYTES);
		char name[SLOT_NAME_MAX + 5];
		size_t start;
		uint64_t off;
		int r;

		if (!slot)
			continue;
		start = left - JUMP_BYTES - stub_lead(section->data, left - JUMP_BYTES);
		if (strlen(slot->name) < SLOT_NAME_MAX &&
		    elf_file_off_of(file, section->vaddr + start, &off)) {
			snprintf(name, sizeof(name), "%s@plt", slot->name);
			r = symbols_add_stub(symbols, off, MIN(end - start, (size_t)STUB_BYTES_MAX),
					     name);
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

	if (file->machine != EM_X86_64 || file->swap)
		return 0;
	r = slots_read(&slots, file);
	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0 && slots.nr > 0; i++) {
		struct elf_file_section section = elf_file_section(file, names[i], PLT_BYTES_MAX);

		if (section.data)
			r = section_add(symbols, &slots, file, &section);
	}
	free(slots.all);
	return r;
}
