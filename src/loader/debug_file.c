/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Only the sections that are needed are unpacked, and only so many bytes: see debug_file.h. */
#include "config.h"

#include "src/loader/debug_file.h"

#include "src/base/util.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#define UNPACKED_BYTES_MAX ((uint64_t)192 << 20) /* of all compressed sections of one file */
#define GNU_HEAD_BYTES	   12 /* "ZLIB" and a size, before a .zdebug_ section's bytes */

static const char *const section_names[] = {
	[DEBUG_ABBREV] = ".debug_abbrev",
	[DEBUG_ADDR] = ".debug_addr",
	[DEBUG_CU_INDEX] = ".debug_cu_index",
	[DEBUG_INFO] = ".debug_info",
	[DEBUG_LINE] = ".debug_line",
	[DEBUG_LINE_STR] = ".debug_line_str",
	[DEBUG_RANGES] = ".debug_ranges",
	[DEBUG_RNGLISTS] = ".debug_rnglists",
	[DEBUG_STR] = ".debug_str",
	[DEBUG_STR_OFFSETS] = ".debug_str_offsets",
	[DEBUG_OTHER_FILE] = ".gnu_debugaltlink",
};
_Static_assert(ARRAY_SIZE(section_names) == DEBUG_SECTION_COUNT, "one name per section");

/* Which one it is by its NAME, as it is or as older compilers call a packed one; COUNT: none of them. */
static enum debug_section section_of(const char *name, enum debug_file_kind kind, bool *ret_is_gnu)
{
	unsigned int i;

	*ret_is_gnu = strncmp(name, ".zdebug_", 8) == 0;
	name += *ret_is_gnu ? 2 : 1;
	for (i = 0; i < DEBUG_SECTION_COUNT; i++) {
		size_t len = strlen(section_names[i] + 1);
		bool is_split = kind == DEBUG_FILE_SPLIT && i != DEBUG_CU_INDEX;

		if (strncmp(name, section_names[i] + 1, len) == 0 &&
		    strcmp(name + len, is_split ? ".dwo" : "") == 0)
			break;
	}
	return i;
}

/* How large SCN says that it is when it is unpacked; 0: it is not packed. */
static uint64_t unpacked_bytes_of(Elf_Scn *scn, bool is_gnu)
{
	Elf_Data *data = is_gnu ? elf_rawdata(scn, NULL) : NULL;
	uint64_t bytes;
	GElf_Chdr chdr;

	if (!is_gnu)
		return gelf_getchdr(scn, &chdr) ? chdr.ch_size : 0;
	if (!data || !data->d_buf || data->d_size < GNU_HEAD_BYTES ||
	    memcmp(data->d_buf, "ZLIB", 4) != 0)
		return 0;
	memcpy(&bytes, (const char *)data->d_buf + 4, sizeof(bytes));
	return be64toh(bytes);
}

static int section_unpack(struct debug_file *file, Elf_Scn *scn, bool is_gnu)
{
	uint64_t bytes = unpacked_bytes_of(scn, is_gnu);

	if (bytes == 0)
		return 0;
	if (bytes > UNPACKED_BYTES_MAX - file->unpacked_bytes)
		return -EFBIG;
	file->unpacked_bytes += bytes;
	/* What cannot be unpacked is left out: what other sections say is still good. */
	return (is_gnu ? elf_compress_gnu(scn, 0, 0) : elf_compress(scn, 0, 0)) < 0 ? -ENOENT : 0;
}

static int section_take(struct debug_file *file, enum debug_file_kind kind, Elf_Scn *scn,
			const char *name)
{
	bool is_gnu;
	enum debug_section which = section_of(name, kind, &is_gnu);
	GElf_Shdr shdr;
	Elf_Data *data;
	int r;

	if (which == DEBUG_SECTION_COUNT || file->sections[which].data ||
	    !gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
		return 0;
	r = is_gnu || (shdr.sh_flags & SHF_COMPRESSED) ? section_unpack(file, scn, is_gnu) : 0;
	data = r == 0 ? elf_rawdata(scn, NULL) : NULL;
	if (data && data->d_buf)
		file->sections[which] =
			(struct debug_bytes){.data = data->d_buf, .bytes = data->d_size};
	return r == -EFBIG ? r : 0;
}

static int sections_take(struct debug_file *file, enum debug_file_kind kind)
{
	size_t strings;

	if (elf_getshdrstrndx(file->elf, &strings) < 0)
		return -ENOENT;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		GElf_Shdr shdr;
		const char *name = gelf_getshdr(scn, &shdr)
					   ? elf_strptr(file->elf, strings, shdr.sh_name)
					   : NULL;
		int r = name && *name ? section_take(file, kind, scn, name) : 0;

		if (r < 0)
			return r;
	}
	return file->sections[DEBUG_INFO].data && file->sections[DEBUG_ABBREV].data ? 0 : -ENOENT;
}

static int file_read(struct debug_file *file, enum debug_file_kind kind)
{
	GElf_Ehdr ehdr;

	file->elf = elf_memory(file->map.data, file->map.bytes);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &ehdr) ||
	    (kind == DEBUG_FILE_CODE && ehdr.e_type == ET_REL))
		return -ENOEXEC;
	file->swap = ehdr.e_ident[EI_DATA] !=
		     (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
	return sections_take(file, kind);
}

int debug_file_open(int fd, enum debug_file_kind kind, struct debug_file *ret)
{
	struct debug_file file = {0};
	int r = elf_version(EV_CURRENT) == EV_NONE ? -ENOSYS : mapped_open(fd, &file.map);

	if (r == 0)
		r = file_read(&file, kind);
	if (r < 0)
		debug_file_close(&file);
	else
		*ret = file;
	return r;
}

void debug_file_close(struct debug_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	mapped_close(&file->map);
	*file = (struct debug_file){0};
}

struct reader debug_file_reader(const struct debug_file *file, enum debug_section section,
				uint64_t off)
{
	const struct debug_bytes *bytes = &file->sections[section];
	struct reader r = {.swap = file->swap, .bad = true};

	if (!bytes->data || off >= bytes->bytes)
		return r;
	r = reader_of(bytes->data + off, bytes->bytes - off);
	r.swap = file->swap;
	return r;
}

const char *debug_file_text(const struct debug_file *file, enum debug_section section, uint64_t off)
{
	struct reader r = debug_file_reader(file, section, off);

	return reader_str(&r);
}
