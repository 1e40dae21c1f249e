/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ELF file, open for reading: its head, its executable segments, its
 * identity and its sections by name. The only place that includes libelf
 * besides symbols.c. Everything in the file is hostile.
 */
#ifndef ST_LOADER_ELF_FILE_H
#define ST_LOADER_ELF_FILE_H

#include "unwind/cfi.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	Elf *elf;
	int fd;	     /* -1: from memory; not owned */
	void *image; /* that it was unpacked to, owned; or NULL */
	uint64_t file_bytes;
	uint16_t machine;
	bool is_64, swap;
	bool is_module; /* of the kernel: an object file, as it will be loaded */
	uint64_t entry;
	/* executable PT_LOADs, clamped to the file's end; their text is not there */
	struct cfi_segment segments[CFI_SEGMENTS_MAX];
	size_t nr_segments;
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	char debuglink[256]; /* "" if there is none, or a bad one */
	uint32_t debuglink_crc;
	bool has_symtab, has_dynsym;
	bool has_packed_names; /* symbols or their names are compressed */
};

/*
 * Read the head of the ELF file open as FD, which stays the caller's and must
 * stay open until elf_file_close. 0, -ENOEXEC (not ELF, or damaged), -errno.
 */
int elf_file_open(int fd, struct elf_file *ret);
/*
 * The same where the whole file may be packed with xz, zstd or gzip, as kernel modules are: then it is in memory.
 * Also -ETIME, -ENOSYS (built without what unpacks it). (packed_file.c)
 */
int elf_file_open_packed(int fd, struct elf_file *ret);
/* The same of an image in memory, which must outlive it. */
int elf_file_open_memory(const void *data, size_t len, struct elf_file *ret);
/* Open the debug file FD, if it is really FILE's: by build-id, else by its checksum. False: it is not. */
bool elf_file_open_debug(int fd, const struct elf_file *file, struct elf_file *ret);
void elf_file_close(struct elf_file *file);

/*
 * Section SCN, decompressed, not converted, if it has at most MAX bytes. Its data is
 * there until elf_file_close; NULL: it is absent, or without bytes in the file.
 */
struct cfi_section elf_file_section_of(Elf_Scn *scn, size_t max);
/* The first section called NAME, decompressed, not converted, if it has at most MAX bytes. */
struct cfi_section elf_file_section(const struct elf_file *file, const char *name, size_t max);

/*
 * Where the kernel puts the sections of FILE, a module, beside the first one: into a heap array by their number,
 * UINT64_MAX: not with the code. NULL: no memory.
 */
uint64_t *elf_file_module_layout(const struct elf_file *file, size_t *ret_nr);

/* Between addresses of the file and offsets in it, through the executable segments. */
bool elf_file_off_of(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_off);
bool elf_file_vaddr_of(const struct elf_file *file, uint64_t off, uint64_t *ret_vaddr);

/*
 * Compile the unwind table (or, if IS_RETURN_ADDRS, the return addresses) of FILE
 * into a heap blob, owned by the caller. 0, -ENOEXEC (no code in
 * it: cut short or damaged), -ENOTSUP (code of a machine that is not unwound
 * here), -ENOMEM, -E2BIG. (elf_code.c)
 */
int elf_code_compile(const struct elf_file *file, bool is_return_addrs, void **ret_blob,
		     size_t *ret_len);

/* The small ELF file, packed with xz, that some distributions put into .gnu_debugdata. (debugdata.c) */
#define DEBUGDATA_PACKED_MAX   (16u << 20)
#define DEBUGDATA_UNPACKED_MAX (64u << 20)
#define DEBUGDATA_RATIO_MAX    200u
#define DEBUGDATA_FREE_BYTES   (1u << 20) /* below this size no ratio is suspicious */

/* How much may come out of so many bytes. */
size_t debugdata_unpacked_max(size_t packed);
/*
 * Unpack DATA into a new heap block, owned by the caller. 0, -EBADMSG (not xz,
 * or damaged), -EFBIG (larger, or packed tighter, than any real symbol table),
 * -ENOMEM, -ENOSYS (built without liblzma).
 */
int debugdata_unpack(const void *data, size_t len, void **ret, size_t *ret_len);

/* Open what is in .gnu_debugdata of FILE, in *RET_IMAGE, which is to be freed. As above, or -ENOENT, -ENOEXEC. */
int debugdata_open(const struct elf_file *file, void **ret_image, struct elf_file *ret);

#endif
