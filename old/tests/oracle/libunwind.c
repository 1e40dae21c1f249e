/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libunwind on a copied stack, as perf uses it (tools/perf/util/unwind-libunwind-local.c). */
#include "config.h"

#include "tests/oracle/samples.h"

#ifdef HAVE_LIBUNWIND

#include "src/base/util.h"
#include "tests/unwind_elf.h"

#include <gelf.h>
#include <libunwind-x86_64.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 512

/* Looks for the FDE of a pc in a binary search table; perf declares it in the same way. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);
#define search_table UNW_OBJ(dwarf_search_unwind_table)

struct file { /* one ELF file, open as long as the program runs */
	const char *path;
	struct unwind_elf e;
	uint64_t hdr_vaddr, hdr_off; /* .eh_frame_hdr */
};

static struct file files[FILES_MAX];
static size_t nr_files;

struct state {
	const struct samples *samples;
	const struct space *space;
	const struct sample *sample;
	unw_addr_space_t as;
};

static const struct file *file_of(const char *path)
{
	struct file *file = &files[nr_files];
	GElf_Phdr phdr;
	size_t nr;

	for (size_t i = 0; i < nr_files; i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	if (nr_files == FILES_MAX || !unwind_elf_open(path, &file->e))
		return NULL;
	file->path = path;
	nr_files++;
	elf_getphdrnum(file->e.elf, &nr);
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(file->e.elf, (int)i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME) {
			file->hdr_vaddr = phdr.p_vaddr;
			file->hdr_off = phdr.p_offset;
		}
	return file;
}

/* The file that lies at ADDR, and what to add to its addresses. */
static const struct file *file_at(const struct state *state, uint64_t addr, uint64_t *ret_bias)
{
	const struct unwind_map *best = NULL;
	const struct file *file;
	size_t nr;
	GElf_Phdr phdr;

	for (uint32_t i = 0; i < state->space->view.nr_maps; i++) {
		const struct unwind_map *map = &state->space->maps[i];

		if (map->start - map->file_off <= addr &&
		    samples_path(state->samples, map->module->id)[0] == '/')
			best = map;
	}
	file = best ? file_of(samples_path(state->samples, best->module->id)) : NULL;
	if (!file || file->e.input.nr_segments == 0)
		return NULL;
	*ret_bias = best->start - best->file_off + file->e.segments[0].file_off -
		    file->e.segments[0].vaddr;
	elf_getphdrnum(file->e.elf, &nr);
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(file->e.elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    addr - *ret_bias - phdr.p_vaddr < phdr.p_memsz)
			return file;
	return NULL;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	const struct state *state = arg;
	unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	uint64_t bias;
	const struct file *file = file_at(state, ip, &bias);
	const uint8_t *hdr;
	uint32_t nr;

	if (!file || !file->hdr_off || file->hdr_off + 12 > file->e.bytes)
		return -UNW_ENOINFO;
	hdr = (const uint8_t *)file->e.image + file->hdr_off;
	/* version 1; pointer pcrel sdata4, count udata4, table datarel sdata4: all that linkers write */
	if (hdr[0] != 1 || hdr[2] != 0x03 || hdr[3] != 0x3b)
		return -UNW_ENOINFO;
	memcpy(&nr, hdr + 8, sizeof(nr));
	di.start_ip = 0;
	di.end_ip = UINT64_MAX;
	di.u.rti.segbase = bias + file->hdr_vaddr;
	di.u.rti.table_data = bias + file->hdr_vaddr + 12;
	di.u.rti.table_len = (unw_word_t)nr * 8 / sizeof(unw_word_t);
	return search_table(as, ip, &di, pi, need, arg);
}

static bool read_file(const struct state *state, uint64_t addr, unw_word_t *ret)
{
	uint64_t bias;
	const struct file *file = file_at(state, addr, &bias);
	size_t nr;
	GElf_Phdr phdr;

	if (!file)
		return false;
	elf_getphdrnum(file->e.elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(file->e.elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		uint64_t at = addr - bias - phdr.p_vaddr;

		if (at < phdr.p_filesz && phdr.p_offset + at + 8 <= file->e.bytes) {
			memcpy(ret, (const uint8_t *)file->e.image + phdr.p_offset + at, 8);
			return true;
		}
	}
	return false;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	const struct state *state = arg;
	const struct unwind_stack *stack = &state->sample->stack;
	uint64_t at = addr - stack->base;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (stack->bytes >= 8 && at <= stack->bytes - 8) {
		memcpy(value, stack->data + at, 8);
		return 0;
	}
	return read_file(state, addr, value) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct state *state = arg;

	(void)as;
	if (write || reg < 0 || reg >= X86_NR_REGS)
		return -UNW_EBADREG;
	*value = state->sample->regs.r[reg]; /* both number them as DWARF does */
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EINVAL;
}

static int no_dyn_list(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as;
	(void)addr;
	(void)arg;
	return -UNW_ENOINFO;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t addr, char *name, size_t size, unw_word_t *off,
		   void *arg)
{
	(void)as;
	(void)addr;
	(void)name;
	(void)size;
	(void)off;
	(void)arg;
	return -UNW_EINVAL;
}

static void put_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_info,
	.get_dyn_info_list_addr = no_dyn_list,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = no_resume,
	.get_proc_name = no_name,
};

static void *space_new(const struct samples *samples, const struct space *space)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->samples = samples;
	state->space = space;
	state->as = unw_create_addr_space(&accessors, 0);
	unw_set_caching_policy(state->as, UNW_CACHE_GLOBAL);
	return state;
}

static void space_free(void *arg)
{
	struct state *state = arg;

	unw_destroy_addr_space(state->as);
	free(state);
}

static void unwind(void *arg, const struct sample *sample, struct opinion *ret)
{
	struct state *state = arg;
	unw_cursor_t cursor;
	unw_word_t pc;
	int r = 0;

	ret->nr = 0;
	ret->is_complete = false;
	state->sample = sample;
	if (unw_init_remote(&cursor, state->as, state) != 0)
		return;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || ret->nr == OPINION_FRAMES_MAX)
			return;
		if (pc == 0)
			break;
		ret->pcs[ret->nr++] = pc;
		r = unw_step(&cursor);
	} while (r > 0);
	ret->is_complete = r == 0;
}

const struct unwinder unwinder_libunwind = {"libunwind", space_new, space_free, unwind};

#endif
