/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds .eh_frame, .debug_frame and the PLT by section headers; where a file
 * has no section headers, .eh_frame through the pointer in its header table.
 * Frame information is read into memory of our own, so that it cannot change
 * while it is parsed. Code is mapped: calls are looked for in all of it, but a
 * table needs a few places of what may be hundreds of megabytes.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/reader.h"
#include "src/base/util.h"
#include "src/loader/elf_file.h"
#include "unwind/cfi_parse.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAME_BYTES_MAX	   (256u << 20)
#define GO_TABLE_BYTES_MAX (256u << 20)
#define GO_TABLE_ALIGN	   32
#define PLT_BYTES_MAX	   (64u << 20)
#define SYMBOLS_BYTES_MAX  (16u << 20)
#define LIBRARY_BYTES_MAX  (512u << 10) /* of a C library's symbols, or their names */
#define DATA_BYTES_MIN	   (64u << 10)

struct code_input {
	struct cfi_input input;
	struct cfi_segment segments[CFI_SEGMENTS_MAX];
	/* the file in .gnu_debugdata, if frame information is taken from it */
	void *image;
	struct elf_file inner;
};

static enum table_machine machine_of(const struct elf_file *file)
{
	switch (file->machine) {
	case EM_X86_64: /* of the 32-bit class: x32, whose words are those of neither */
		return file->is_64 ? TABLE_MACHINE_X86_64 : TABLE_MACHINE_NONE;
	case EM_AARCH64:
		return file->is_64 ? TABLE_MACHINE_AARCH64 : TABLE_MACHINE_NONE;
	case EM_386:
		return file->is_64 ? TABLE_MACHINE_NONE : TABLE_MACHINE_I386;
	default:
		return TABLE_MACHINE_NONE;
	}
}

/* How far into its page a segment begins. */
static size_t lead_of(const struct cfi_segment *segment)
{
	return segment->file_off % (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Linkers put constants into the segment of the code, tens of megabytes of them, where they are not told to keep
 * them apart: only what lies between executable sections is looked at. Sections that leave out little are not believed.
 */
static void code_narrow(const struct elf_file *file, struct cfi_segment *segment)
{
	uint64_t begin = segment->bytes, end = 0;

	for (Elf_Scn *scn = NULL; !deadline_is_over() && (scn = elf_nextscn(file->elf, scn));) {
		GElf_Shdr shdr;
		uint64_t at;

		if (!gelf_getshdr(scn, &shdr) || (~shdr.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)))
			continue;
		at = shdr.sh_addr - segment->vaddr;
		if (at >= segment->bytes || shdr.sh_size == 0)
			continue;
		begin = MIN(begin, at);
		end = MAX(end, at + MIN(shdr.sh_size, segment->bytes - at));
	}
	if (begin >= end || segment->bytes - (end - begin) < DATA_BYTES_MIN)
		return;
	segment->file_off += begin;
	segment->vaddr += begin;
	segment->bytes = end - begin;
}

/* Map the code of one segment; without it (a limit, a special file) the table is a little poorer. */
static void code_map_segment(const struct elf_file *file, struct cfi_segment *segment)
{
	size_t lead = lead_of(segment);
	void *data = mmap(NULL, segment->bytes + lead, PROT_READ, MAP_PRIVATE, file->fd,
			  (off_t)(segment->file_off - lead));

	if (data != MAP_FAILED)
		segment->text = (const uint8_t *)data + lead;
}

static void code_unmap(struct code_input *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(code->segments); i++) {
		const struct cfi_segment *segment = &code->segments[i];
		size_t lead = lead_of(segment);

		if (segment->text)
			munmap((void *)(uintptr_t)(segment->text - lead), segment->bytes + lead);
	}
}

/* Where .eh_frame begins, as PT_GNU_EH_FRAME says: version, three encodings, eh_frame_ptr. */
static bool eh_frame_hdr_read(const struct elf_file *file, const GElf_Phdr *phdr, uint64_t *ret)
{
	Elf_Data *data = elf_getdata_rawchunk(file->elf, (int64_t)phdr->p_offset,
					      MIN(phdr->p_filesz, (GElf_Xword)12), ELF_T_BYTE);
	uint8_t version, encoding;
	struct reader r;

	if (!data || !data->d_buf)
		return false;
	r = reader_of(data->d_buf, data->d_size);
	r.swap = file->swap;
	version = reader_u8(&r);
	encoding = reader_u8(&r);
	reader_skip(&r, 2);
	*ret = cfi_pointer(&r, encoding, phdr->p_vaddr + 4, machine_of(file));
	return version == 1 && !r.bad;
}

/* The length of the records up to the terminator, or up to where they stop making sense. */
static size_t eh_frame_extent(const struct elf_file *file, const uint8_t *data, size_t bytes)
{
	struct reader r = reader_of(data, bytes);

	r.swap = file->swap;
	while (reader_left(&r) >= 4) {
		size_t at = bytes - reader_left(&r);
		uint64_t length = reader_u32(&r);

		if (length == UINT32_MAX)
			length = reader_u64(&r);
		if (length == 0 || r.bad || length > reader_left(&r))
			return at;
		reader_skip(&r, length);
	}
	return bytes - reader_left(&r);
}

/* .eh_frame of a file without (usable) section headers. */
static struct cfi_section eh_frame_by_header(const struct elf_file *file)
{
	struct cfi_section ret = {0};
	uint64_t vaddr = 0;
	bool is_found = false;
	size_t nr = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(file->elf, &nr) < 0)
		return ret;
	for (size_t i = 0; i < nr && !is_found; i++)
		is_found = gelf_getphdr(file->elf, (int)i, &phdr) &&
			   phdr.p_type == PT_GNU_EH_FRAME && eh_frame_hdr_read(file, &phdr, &vaddr);
	for (size_t i = 0; i < nr && is_found; i++) {
		uint64_t skip;
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    vaddr < phdr.p_vaddr || vaddr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		skip = vaddr - phdr.p_vaddr;
		if (phdr.p_filesz - skip > FRAME_BYTES_MAX)
			return ret;
		data = elf_getdata_rawchunk(file->elf, (int64_t)(phdr.p_offset + skip),
					    phdr.p_filesz - skip, ELF_T_BYTE);
		if (!data || !data->d_buf)
			return ret;
		ret.data = data->d_buf;
		ret.bytes = eh_frame_extent(file, data->d_buf, data->d_size);
		ret.vaddr = vaddr;
		return ret;
	}
	return ret;
}

/* The pages of a large file are ours while they are mapped: no more of them than needed. */
static void text_drop(const uint8_t *text, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)text & ~(page - 1);
	uintptr_t to = ((uintptr_t)text + bytes) & ~(page - 1);

	madvise((void *)from, to - from, MADV_DONTNEED); // NOLINT
}

/* Android, for one, keeps .debug_frame in the small file that is packed into .gnu_debugdata. */
static void debug_frame_unpack(const struct elf_file *file, struct code_input *code)
{
	if (debugdata_open(file, &code->image, &code->inner) < 0)
		return;
	if (code->inner.machine == file->machine && code->inner.is_64 == file->is_64 &&
	    code->inner.swap == file->swap)
		code->input.debug_frame =
			elf_file_section(&code->inner, ".debug_frame", FRAME_BYTES_MAX);
}

static bool is_called(const struct cfi_section *names, uint32_t at, const char *name)
{
	size_t len = strlen(name) + 1;

	return at < names->bytes && names->bytes - at >= len &&
	       memcmp(names->data + at, name, len) == 0;
}

/* The symbol at AT, which is there. */
static Elf64_Sym symbol_at(const struct elf_file *file, const uint8_t *at)
{
	Elf64_Sym sym;
	Elf32_Sym sym_32;

	if (file->is_64) {
		memcpy(&sym, at, sizeof(sym));
		return sym;
	}
	memcpy(&sym_32, at, sizeof(sym_32));
	return (Elf64_Sym){.st_name = sym_32.st_name,
			   .st_value = sym_32.st_value,
			   .st_info = sym_32.st_info,
			   .st_shndx = sym_32.st_shndx};
}

/* Does the file define exit and pthread_exit, as a C library or a program with one in it does? */
static void exits_find(const struct elf_file *file, struct cfi_input *input)
{
	bool is_static = !file->has_dynsym;
	size_t max = is_static ? SYMBOLS_BYTES_MAX : LIBRARY_BYTES_MAX;
	struct cfi_section symbols = elf_file_section(file, is_static ? ".symtab" : ".dynsym", max);
	struct cfi_section names = elf_file_section(file, is_static ? ".strtab" : ".dynstr", max);

	size_t each = file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	if (!symbols.data || !names.data || input->machine == TABLE_MACHINE_AARCH64 || file->swap)
		return;
	for (size_t at = 0; symbols.bytes - at >= each; at += each) {
		Elf64_Sym sym = symbol_at(file, symbols.data + at);

		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		if (is_called(&names, sym.st_name, "exit"))
			input->exit_vaddr = sym.st_value;
		else if (is_called(&names, sym.st_name, "pthread_exit"))
			input->pthread_exit_vaddr = sym.st_value;
	}
}

/* Go's table of functions: in a section of its own, or, in what other linkers make of a PIE, among constants. */
static struct cfi_section go_table_section(const struct elf_file *file)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};
	struct cfi_section ret = {0};
	size_t i = 0;

	if (!elf_file_section(file, ".go.buildinfo", GO_TABLE_BYTES_MAX).data)
		return ret;
	while (!ret.data && i < ARRAY_SIZE(names))
		ret = elf_file_section(file, names[i++], GO_TABLE_BYTES_MAX);
	while (ret.data && !go_table_begins(ret.data, ret.bytes)) {
		size_t skip = ret.bytes > GO_TABLE_ALIGN ? GO_TABLE_ALIGN : ret.bytes;

		ret.data = ret.bytes > skip ? ret.data + skip : NULL;
		ret.bytes -= skip;
	}
	return ret;
}

static void code_find(const struct elf_file *file, bool is_return_addrs, struct code_input *code)
{
	static const char *const plt_names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	struct cfi_input *input = &code->input;

	_Static_assert(ARRAY_SIZE(plt_names) == ARRAY_SIZE(input->plt), "one name per slot");
	input->machine = machine_of(file);
	input->swap = file->swap;
	input->entry = file->entry;
	input->segments = code->segments;
	input->nr_segments = file->nr_segments;
	memcpy(code->segments, file->segments, sizeof(code->segments));
	for (size_t i = 0; i < file->nr_segments; i++) {
		code_narrow(file, &code->segments[i]);
		code_map_segment(file, &code->segments[i]);
	}
	input->text_was_read = text_drop;
	if (is_return_addrs)
		return;
	input->eh_frame = elf_file_section(file, ".eh_frame", FRAME_BYTES_MAX);
	if (!input->eh_frame.data)
		input->eh_frame = eh_frame_by_header(file);
	input->debug_frame = elf_file_section(file, ".debug_frame", FRAME_BYTES_MAX);
	if (!input->debug_frame.data)
		debug_frame_unpack(file, code);
	input->go_table = go_table_section(file);
	exits_find(file, input);
	for (size_t i = 0; i < ARRAY_SIZE(plt_names); i++)
		input->plt[i] = elf_file_section(file, plt_names[i], PLT_BYTES_MAX);
}

int elf_code_compile(const struct elf_file *file, bool is_return_addrs, void **ret_blob,
		     size_t *ret_len)
{
	AUTO_FREE struct code_input *code = NULL;
	struct cfi_stats stats;
	int r;

	if (file->nr_segments == 0) /* it is mapped as code, and has none: cut short or damaged */
		return -ENOEXEC;
	if (machine_of(file) == TABLE_MACHINE_NONE || file->is_module)
		return -ENOTSUP;
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	code_find(file, is_return_addrs, code);
	if (is_return_addrs)
		r = cfi_compile_return_addrs(&code->input, ret_blob, ret_len);
	else
		r = cfi_compile(&code->input, ret_blob, ret_len, &stats);
	code_unmap(code);
	elf_file_close(&code->inner);
	free(code->image);
	/* Without what was given up on, the table is another one. */
	if (deadline_is_over_now() && r == 0) {
		free(steal_ptr(*ret_blob));
		r = -ETIME;
	}
	return r == -EINVAL ? -ENOTSUP : r;
}
