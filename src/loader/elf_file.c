/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening ELF files with libelf, by reads and not by mapping: a file that is
 * cut off meanwhile gives short reads instead of SIGBUS. libelf reads only
 * what is asked for, so that a huge file costs its headers.
 */
#include "config.h"

#include "src/loader/elf_file.h"

#include "src/base/deadline.h"
#include "src/base/reader.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_BYTES_MAX	     (1u << 20)
#define UNPACKED_BYTES_MAX   ((size_t)64 << 20)
#define CRC_CHUNK_BYTES	     65536
#define DEBUG_FILE_BYTES_MAX (4ull << 30)
#define MODULE_BYTES_MAX     (1ull << 30)

static void segments_read(struct elf_file *file)
{
	size_t nr = 0;

	if (elf_getphdrnum(file->elf, &nr) < 0)
		return;
	for (size_t i = 0; i < nr && file->nr_segments < CFI_SEGMENTS_MAX; i++) {
		struct cfi_segment *segment = &file->segments[file->nr_segments];
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return;
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X))
			continue;
		if (phdr.p_offset >= file->file_bytes)
			continue;
		segment->file_off = phdr.p_offset;
		segment->vaddr = phdr.p_vaddr;
		segment->bytes = MIN(phdr.p_filesz, file->file_bytes - phdr.p_offset);
		if (segment->bytes && segment->vaddr <= UINT64_MAX - segment->bytes)
			file->nr_segments++;
	}
}

static bool notes_find_build_id(struct elf_file *file, const uint8_t *data, size_t bytes)
{
	struct reader r = reader_of(data, bytes);

	r.swap = file->swap;
	while (reader_left(&r) >= 12) {
		uint32_t name_bytes = reader_u32(&r);
		uint32_t desc_bytes = reader_u32(&r);
		uint32_t type = reader_u32(&r);
		const uint8_t *name = reader_bytes(&r, align_up(name_bytes, 4));
		const uint8_t *desc = reader_bytes(&r, align_up(desc_bytes, 4));

		if (r.bad)
			return false;
		if (type != NT_GNU_BUILD_ID || name_bytes != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		if (desc_bytes == 0 || desc_bytes > sizeof(file->build_id))
			return false;
		memcpy(file->build_id, desc, desc_bytes);
		file->build_id_bytes = (uint8_t)desc_bytes;
		return true;
	}
	return false;
}

/* By sections first: in a separate debug file the program headers point nowhere. */
static void build_id_read(struct elf_file *file)
{
	struct cfi_section section = elf_file_section(file, ".note.gnu.build-id", NOTES_BYTES_MAX);
	size_t nr = 0;

	if (section.data && notes_find_build_id(file, section.data, section.bytes))
		return;
	if (elf_getphdrnum(file->elf, &nr) < 0)
		return;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return;
		if (phdr.p_type != PT_NOTE || phdr.p_filesz > NOTES_BYTES_MAX)
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					    ELF_T_BYTE);
		if (data && data->d_buf && notes_find_build_id(file, data->d_buf, data->d_size))
			return;
	}
}

/* A file name, padding up to a multiple of 4, the CRC of the debug file. */
static void debuglink_read(struct elf_file *file)
{
	struct cfi_section section = elf_file_section(file, ".gnu_debuglink", 4096);
	struct reader r;
	const char *name;
	size_t bytes;

	if (!section.data)
		return;
	r = reader_of(section.data, section.bytes);
	r.swap = file->swap;
	name = reader_str(&r);
	if (!name)
		return;
	bytes = strlen(name);
	reader_skip(&r, align_up(bytes + 1, 4) - bytes - 1);
	file->debuglink_crc = reader_u32(&r);
	if (r.bad || bytes == 0 || bytes >= sizeof(file->debuglink) || strchr(name, '/') ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	/* A name that is not harmless as it is would not be found under the changed one. */
	if (text_sanitize(name, bytes, file->debuglink, sizeof(file->debuglink)) != bytes ||
	    memcmp(file->debuglink, name, bytes) != 0)
		file->debuglink[0] = '\0';
}

/* libelf forgets that a section was packed as soon as it has unpacked it. */
static void symtab_look(struct elf_file *file)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_SYMTAB && shdr.sh_size > 0)
			file->has_symtab = true;
		if (shdr.sh_type == SHT_DYNSYM && shdr.sh_size > 0)
			file->has_dynsym = true;
		if (shdr.sh_flags & SHF_COMPRESSED &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM ||
		     shdr.sh_type == SHT_STRTAB))
			file->has_packed_names = true;
	}
}

/*
 * As the kernel's layout_sections() does: first what is executed, in the order of the sections, but for what is
 * only there to begin with. Other machines put tables of jumps between, which grow when they are loaded.
 */
static uint64_t module_lay_out(const struct elf_file *file, uint64_t *bases, size_t nr)
{
	uint64_t end = 0;
	size_t strings;

	if (elf_getshdrstrndx(file->elf, &strings) < 0)
		return 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		size_t index = elf_ndxscn(scn);
		const char *name;
		GElf_Shdr shdr;

		if (index >= nr || !gelf_getshdr(scn, &shdr) ||
		    (~shdr.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) ||
		    shdr.sh_addralign > MODULE_BYTES_MAX || shdr.sh_size > MODULE_BYTES_MAX - end)
			continue;
		name = elf_strptr(file->elf, strings, shdr.sh_name);
		if (name && strncmp(name, ".init", strlen(".init")) == 0)
			continue;
		if (shdr.sh_addralign > 1)
			end = (end + shdr.sh_addralign - 1) / shdr.sh_addralign * shdr.sh_addralign;
		bases[index] = end;
		end += shdr.sh_size;
		if (end > MODULE_BYTES_MAX)
			return 0;
	}
	return end;
}

/* Of FILE its layout, and in RET_BYTES how much code there is. */
static uint64_t *module_layout(const struct elf_file *file, size_t *ret_nr, uint64_t *ret_bytes)
{
	uint64_t *bases;

	if (elf_getshdrnum(file->elf, ret_nr) < 0)
		*ret_nr = 0;
	bases = malloc((*ret_nr + 1) * sizeof(*bases));
	if (!bases)
		return NULL;
	memset(bases, 0xff, (*ret_nr + 1) * sizeof(*bases));
	*ret_bytes = module_lay_out(file, bases, *ret_nr);
	return bases;
}

uint64_t *elf_file_module_layout(const struct elf_file *file, size_t *ret_nr)
{
	uint64_t bytes;

	return module_layout(file, ret_nr, &bytes);
}

/* Its code is one segment, at address 0. */
static int module_read(struct elf_file *file)
{
	size_t nr;
	uint64_t *bases = module_layout(file, &nr, &file->segments[0].bytes);

	free(bases);
	if (!bases)
		return -ENOMEM;
	file->is_module = true;
	file->nr_segments = file->segments[0].bytes > 0;
	return 0;
}

static int elf_file_read_head(struct elf_file *file)
{
	GElf_Ehdr ehdr;

	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &ehdr)) {
		elf_file_close(file);
		return -ENOEXEC;
	}
	file->machine = ehdr.e_machine;
	file->entry = ehdr.e_entry;
	file->is_64 = ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	file->swap = ehdr.e_ident[EI_DATA] !=
		     (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
	segments_read(file);
	if (ehdr.e_type == ET_REL && file->machine == EM_X86_64 && file->nr_segments == 0 &&
	    module_read(file) < 0) {
		elf_file_close(file);
		return -ENOMEM;
	}
	build_id_read(file);
	debuglink_read(file);
	symtab_look(file);
	return 0;
}

int elf_file_open(int fd, struct elf_file *ret)
{
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	ret->fd = fd;
	ret->file_bytes = (uint64_t)st.st_size;
	ret->elf = elf_begin(fd, ELF_C_READ, NULL);
	return elf_file_read_head(ret);
}

int elf_file_open_memory(const void *data, size_t len, struct elf_file *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	ret->fd = -1;
	ret->file_bytes = len;
	/* libelf does not write to an image from memory unless elf_update is called. */
	ret->elf = elf_memory((char *)(uintptr_t)data, len);
	return elf_file_read_head(ret);
}

void elf_file_close(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	file->elf = NULL;
	free(file->image);
	file->image = NULL;
}

struct cfi_section elf_file_section_of(Elf_Scn *scn, size_t max)
{
	struct cfi_section ret = {0};
	GElf_Shdr shdr;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS || shdr.sh_size == 0 ||
	    shdr.sh_size > max)
		return ret;
	ret.vaddr = shdr.sh_addr;
	if (shdr.sh_flags & SHF_COMPRESSED) {
		GElf_Chdr chdr;

		/* A section says how large it will be, so a bomb is refused before it goes off. */
		if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > MIN(max, UNPACKED_BYTES_MAX) ||
		    elf_compress(scn, 0, 0) < 0)
			return ret;
	}
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size > max)
		return ret;
	ret.data = data->d_buf;
	ret.bytes = data->d_size;
	return ret;
}

static Elf_Scn *section_find(const struct elf_file *file, const char *name)
{
	size_t strings;

	if (elf_getshdrstrndx(file->elf, &strings) < 0)
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		const char *found;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		found = elf_strptr(file->elf, strings, shdr.sh_name);
		if (found && strcmp(found, name) == 0)
			return scn;
	}
	return NULL;
}

struct cfi_section elf_file_section(const struct elf_file *file, const char *name, size_t max)
{
	Elf_Scn *scn = section_find(file, name);

	return scn ? elf_file_section_of(scn, max) : (struct cfi_section){0};
}

bool elf_file_off_of(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_off)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct cfi_segment *segment = &file->segments[i];

		if (vaddr - segment->vaddr < segment->bytes) {
			*ret_off = vaddr - segment->vaddr + segment->file_off;
			return true;
		}
	}
	return false;
}

bool elf_file_vaddr_of(const struct elf_file *file, uint64_t off, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct cfi_segment *segment = &file->segments[i];

		if (off - segment->file_off < segment->bytes) {
			*ret_vaddr = off - segment->file_off + segment->vaddr;
			return true;
		}
	}
	return false;
}

static uint32_t crc_update(const uint32_t table[256], uint32_t crc, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		crc = table[(crc ^ data[i]) & 0xff] ^ (crc >> 8);
	return crc;
}

/* CRC-32 of the whole file, as .gnu_debuglink has it. 0 or -errno, -EFBIG. */
static int file_crc(int fd, uint32_t *ret_crc)
{
	uint8_t chunk[CRC_CHUNK_BYTES];
	uint32_t table[256], crc = UINT32_MAX;
	uint64_t done = 0;
	ssize_t n;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	while ((n = pread(fd, chunk, sizeof(chunk), (off_t)done)) > 0) {
		crc = crc_update(table, crc, chunk, (size_t)n);
		done += (uint64_t)n;
		if (done > DEBUG_FILE_BYTES_MAX)
			return -EFBIG;
		if (deadline_is_over_now())
			return -ETIME;
	}
	if (n < 0)
		return -errno;
	*ret_crc = ~crc;
	return 0;
}

bool elf_file_open_debug(int fd, const struct elf_file *file, struct elf_file *ret)
{
	uint32_t crc;

	if (elf_file_open(fd, ret) < 0)
		return false;
	if (file->build_id_bytes > 0 && ret->build_id_bytes > 0) {
		if (file->build_id_bytes == ret->build_id_bytes &&
		    memcmp(file->build_id, ret->build_id, file->build_id_bytes) == 0)
			return true;
	} else if (section_find(ret, ".debug_cu_index")) {
		/* A package of split units is no debug file, and too large to be read for its checksum. */
	} else if (file->debuglink[0] && file_crc(fd, &crc) == 0 && crc == file->debuglink_crc) {
		return true;
	}
	elf_file_close(ret);
	return false;
}
