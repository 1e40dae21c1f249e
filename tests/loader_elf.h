/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ELF files with the symbols that a test wants, made in memory files; they have no code. */
#ifndef ST_TESTS_LOADER_ELF_H
#define ST_TESTS_LOADER_ELF_H

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MADE_LOAD_BIAS 0x400000u /* addresses are file offsets and this */
#define MADE_HIDDEN    0x8000u	 /* in a symbol's version */

struct made_symbol {
	const char *name;
	uint64_t off, bytes; /* of the function in the file */
	unsigned char bind, type;
	uint16_t version; /* of a dynamic one */
};

struct made_elf {
	uint64_t text_off, text_bytes; /* of the executable segment */
	uint64_t code_off, code_bytes; /* of the executable section in it; 0 bytes: there is none */
	bool is_dynamic;	       /* .dynsym with versions, else .symtab */
	bool has_packed_names;
	Elf64_Sym *symbols; /* grows by made_add */
	uint16_t *versions;
	size_t nr, cap;
	char *names;
	size_t nr_names, cap_names;
};

/* LEN bytes as zlib has them when it packs nothing: blocks of at most 65535 bytes, a sum at the end. */
static inline uint8_t *made_pack(const char *data, size_t len, size_t *ret_len)
{
	Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = len, .ch_addralign = 1};
	uint8_t *packed = malloc(sizeof(head) + 6 + len + 5 * (len / 65535 + 1)), *p = packed;
	uint32_t a = 1, b = 0;

	assert_non_null(packed);
	memcpy(p, &head, sizeof(head));
	p += sizeof(head);
	*p++ = 0x78;
	*p++ = 0x01;
	for (size_t at = 0; at < len;) {
		uint16_t n = (uint16_t)(len - at < 65535 ? len - at : 65535),
			 inverse = (uint16_t)~n;

		*p++ = at + n == len;
		memcpy(p, &n, 2);
		memcpy(p + 2, &inverse, 2);
		memcpy(p + 4, data + at, n);
		p += 4 + n;
		at += n;
	}
	for (size_t i = 0; i < len; i++) {
		a = (a + (uint8_t)data[i]) % 65521;
		b = (b + a) % 65521;
	}
	for (int i = 0; i < 4; i++)
		*p++ = (uint8_t)((b << 16 | a) >> (24 - 8 * i));
	*ret_len = (size_t)(p - packed);
	return packed;
}

static inline void made_add(struct made_elf *elf, const struct made_symbol *symbol)
{
	size_t len = strlen(symbol->name) + 1;

	if (elf->nr + 1 >= elf->cap) {
		elf->cap = 2 * elf->cap + 64;
		elf->symbols = realloc(elf->symbols, elf->cap * sizeof(*elf->symbols));
		elf->versions = realloc(elf->versions, elf->cap * sizeof(*elf->versions));
		assert_true(elf->symbols && elf->versions);
	}
	if (elf->nr_names + len + 1 >= elf->cap_names) {
		elf->cap_names = 2 * (elf->cap_names + len + 64);
		elf->names = realloc(elf->names, elf->cap_names);
		assert_non_null(elf->names);
	}
	if (elf->nr == 0) { /* the first of both tables says nothing */
		memset(&elf->symbols[elf->nr++], 0, sizeof(*elf->symbols));
		elf->versions[0] = 0;
		elf->names[elf->nr_names++] = '\0';
	}
	elf->versions[elf->nr] = symbol->version;
	elf->symbols[elf->nr++] = (Elf64_Sym){
		.st_name = (Elf64_Word)elf->nr_names,
		.st_info = (unsigned char)ELF64_ST_INFO(symbol->bind, symbol->type),
		.st_shndx = 1,
		.st_value = symbol->off + MADE_LOAD_BIAS,
		.st_size = symbol->bytes,
	};
	memcpy(elf->names + elf->nr_names, symbol->name, len);
	elf->nr_names += len;
}

static inline void made_free(struct made_elf *elf)
{
	free(elf->symbols);
	free(elf->versions);
	free(elf->names);
}

static inline void made_write(int fd, const void *data, size_t len, off_t *at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const char *)data + done, len - done, *at);

		assert_true(n > 0);
		done += (size_t)n;
		*at += n;
	}
}

/* Write ELF into FD. Its text is a hole behind everything else, or wherever it shall be. */
static inline void made_write_to(const struct made_elf *elf, int fd)
{
	size_t names_bytes = elf->nr_names;
	uint8_t *packed =
		elf->has_packed_names ? made_pack(elf->names, elf->nr_names, &names_bytes) : NULL;
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 5,
	};
	Elf64_Phdr phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = elf->text_off,
		.p_vaddr = elf->text_off + MADE_LOAD_BIAS,
		.p_filesz = elf->text_bytes,
		.p_memsz = elf->text_bytes,
	};
	Elf64_Shdr sections[5] = {
		[1] =
			{
				.sh_type = elf->is_dynamic ? SHT_DYNSYM : SHT_SYMTAB,
				.sh_link = 2,
				.sh_size = elf->nr * sizeof(Elf64_Sym),
				.sh_entsize = sizeof(Elf64_Sym),
			},
		[2] =
			{
				.sh_type = SHT_STRTAB,
				.sh_flags = packed ? SHF_COMPRESSED : 0,
				.sh_size = names_bytes,
			},
		[3] =
			{
				.sh_type = elf->is_dynamic ? SHT_GNU_versym : SHT_NULL,
				.sh_link = 1,
				.sh_size = elf->nr * sizeof(uint16_t),
			},
		[4] =
			{
				.sh_type = elf->code_bytes ? SHT_PROGBITS : SHT_NULL,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = elf->code_off + MADE_LOAD_BIAS,
				.sh_offset = elf->code_off,
				.sh_size = elf->code_bytes,
			},
	};
	off_t at = sizeof(ehdr) + sizeof(phdr);

	sections[1].sh_offset = (Elf64_Off)at;
	made_write(fd, elf->symbols, elf->nr * sizeof(Elf64_Sym), &at);
	sections[2].sh_offset = (Elf64_Off)at;
	made_write(fd, packed ? (const void *)packed : elf->names, names_bytes, &at);
	at += 8 - at % 8;
	sections[3].sh_offset = (Elf64_Off)at;
	made_write(fd, elf->versions, elf->nr * sizeof(uint16_t), &at);
	at += 8 - at % 8;
	ehdr.e_shoff = (Elf64_Off)at;
	made_write(fd, sections, sizeof(sections), &at);
	assert_int_equal(ftruncate(fd, (off_t)(elf->text_off + elf->text_bytes)), 0);
	at = 0;
	made_write(fd, &ehdr, sizeof(ehdr), &at);
	made_write(fd, &phdr, sizeof(phdr), &at);
	free(packed);
}

/* ELF in a new memory file. */
static inline int made_file(const struct made_elf *elf)
{
	int fd = memfd_create("made", MFD_CLOEXEC);

	assert_true(fd >= 0);
	made_write_to(elf, fd);
	return fd;
}

#endif
