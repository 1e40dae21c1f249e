/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real ELF files as input for the unwind compiler: see unwind_elf.h. */
#include "config.h"

#include "tests/unwind_elf.h"

#include "src/base/cleanup.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void add_section(struct unwind_elf *e, const char *name, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	static const char *const plt_names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	struct cfi_section section = {.vaddr = shdr->sh_addr};
	Elf_Data *data;

	if (shdr->sh_type == SHT_NOBITS)
		return;
	if (strncmp(name, ".debug", 6) == 0)
		elf_compress(scn, 0, 0);
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return;
	section.data = data->d_buf;
	section.bytes = data->d_size;
	if (strcmp(name, ".eh_frame") == 0)
		e->input.eh_frame = section;
	if (strcmp(name, ".debug_frame") == 0)
		e->input.debug_frame = section;
	if (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0)
		e->input.go_table = section;
	for (size_t i = 0; i < 4; i++)
		if (strcmp(name, plt_names[i]) == 0)
			e->input.plt[i] = section;
}

static void add_sections(struct unwind_elf *e)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(e->elf, &names) != 0)
		return;
	while ((scn = elf_nextscn(e->elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		if (gelf_getshdr(scn, &shdr) && (name = elf_strptr(e->elf, names, shdr.sh_name)))
			add_section(e, name, scn, &shdr);
	}
}

static void add_segments(struct unwind_elf *e)
{
	size_t nr = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(e->elf, &nr) != 0)
		return;
	for (size_t i = 0; i < nr && e->input.nr_segments < UNWIND_ELF_SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X) || phdr.p_offset + phdr.p_filesz > e->bytes)
			continue;
		e->segments[e->input.nr_segments++] =
			(struct cfi_segment){.file_off = phdr.p_offset,
					     .vaddr = phdr.p_vaddr,
					     .bytes = phdr.p_filesz,
					     .text = (const uint8_t *)e->image + phdr.p_offset};
	}
	e->input.segments = e->segments;
}

bool unwind_elf_open_image(void *image, size_t bytes, struct unwind_elf *ret)
{
	GElf_Ehdr ehdr;

	elf_version(EV_CURRENT);
	*ret = (struct unwind_elf){.image = image, .bytes = bytes};
	ret->elf = elf_memory(image, bytes);
	if (ret->elf && gelf_getehdr(ret->elf, &ehdr) && ehdr.e_ident[EI_CLASS] == ELFCLASS64)
		ret->input.machine = ehdr.e_machine == EM_X86_64    ? TABLE_MACHINE_X86_64
				     : ehdr.e_machine == EM_AARCH64 ? TABLE_MACHINE_AARCH64
								    : TABLE_MACHINE_NONE;
	else if (ret->elf && gelf_getehdr(ret->elf, &ehdr) && ehdr.e_machine == EM_386)
		ret->input.machine = TABLE_MACHINE_I386;
	if (ret->input.machine == TABLE_MACHINE_NONE) {
		elf_end(ret->elf);
		return false;
	}
	ret->input.entry = ehdr.e_entry;
	add_segments(ret);
	add_sections(ret);
	return true;
}

bool unwind_elf_open(const char *path, struct unwind_elf *ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *image;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return false;
	image = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		return false;
	if (unwind_elf_open_image(image, (size_t)st.st_size, ret))
		return true;
	munmap(image, (size_t)st.st_size);
	return false;
}

void unwind_elf_close(struct unwind_elf *e)
{
	elf_end(e->elf);
	munmap(e->image, e->bytes);
}
