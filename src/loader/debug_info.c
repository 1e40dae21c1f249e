/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening debug information, its units, and what is at an address. See debug_info.h. */
#include "config.h"

#include "src/loader/debug_info.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/debug_info_internal.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MAX	   (1u << 18)
#define UNPACKED_BYTES_MAX ((uint64_t)192 << 20) /* of all compressed sections of one file */
#define UNIT_BYTES	   2048			 /* about what libdw keeps of a unit */
#define LINE_BYTES	   48			 /* and of a row of a line table */

/* --- opening --- */

/* libdw unpacks all sections when it opens a file: is that bearable? */
static bool is_bearable(Elf *elf)
{
	uint64_t sum = 0;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;
		GElf_Chdr chdr;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_COMPRESSED))
			continue;
		if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > UNPACKED_BYTES_MAX - sum)
			return false;
		sum += chdr.ch_size;
	}
	return true;
}

/* libdw cannot go on without memory, and may not return: the file is at fault. */
static __attribute__((noreturn)) void no_memory(void)
{
	abort();
}

static int dwarf_open(int fd, bool has_code, struct mapped *map, Elf **ret_elf, Dwarf **ret)
{
	GElf_Ehdr ehdr;
	int r = mapped_open(fd, map);

	if (r < 0)
		return r;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	*ret_elf = elf_memory(map->data, map->bytes);
	/* Addresses of a file that is still to be linked are of no use; dwz's file has none. */
	if (!*ret_elf || elf_kind(*ret_elf) != ELF_K_ELF || !gelf_getehdr(*ret_elf, &ehdr) ||
	    (has_code && ehdr.e_type == ET_REL))
		return -ENOEXEC;
	if (!is_bearable(*ret_elf))
		return -EFBIG;
	*ret = dwarf_begin_elf(*ret_elf, DWARF_C_READ, NULL);
	if (!*ret)
		return -ENOENT;
	dwarf_new_oom_handler(*ret, no_memory);
	return 0;
}

static bool has_units(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;

	return dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0;
}

int debug_info_open(int fd, const struct elf_file *code, struct debug_info **ret)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	int r;

	if (!info)
		return -ENOMEM;
	info->bytes = sizeof(*info);
	info->nr_code = code->nr_segments;
	memcpy(info->code, code->segments, sizeof(info->code));
	r = dwarf_open(fd, true, &info->map, &info->elf, &info->dwarf);
	if (r == 0 && !has_units(info->dwarf))
		r = -ENOENT;
	if (r < 0) {
		debug_info_free(info);
		return r;
	}
	*ret = info;
	return 0;
}

size_t debug_info_other_id(const struct debug_info *info, const void **ret)
{
	const char *name;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, ret);

	return bytes > 0 ? (size_t)bytes : 0;
}

int debug_info_add_other(struct debug_info *info, int fd)
{
	int r = info->other_elf
			? -EEXIST
			: dwarf_open(fd, false, &info->other_map, &info->other_elf, &info->other);

	if (r == 0)
		dwarf_setalt(info->dwarf, info->other);
	return r;
}

static void unit_done(struct debug_unit *unit)
{
	for (size_t i = 0; i < unit->nr_funcs; i++) {
		free(unit->funcs[i].inlined.all);
		free(unit->funcs[i].dies);
	}
	free(unit->funcs);
	free(unit->ranges.all);
}

struct debug_info *debug_info_free(struct debug_info *info)
{
	if (!info)
		return NULL;
	for (size_t i = 0; i < info->nr_units; i++)
		unit_done(&info->units[i]);
	free(info->units);
	free(info->ranges.all);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->other)
		dwarf_end(info->other);
	if (info->elf)
		elf_end(info->elf);
	if (info->other_elf)
		elf_end(info->other_elf);
	mapped_close(&info->map);
	mapped_close(&info->other_map);
	free(info);
	return NULL;
}

size_t debug_info_bytes(const struct debug_info *info)
{
	return info->bytes;
}

/* --- units --- */

static int unit_add(struct debug_info *info, Dwarf_Die *die)
{
	uint32_t index = (uint32_t)info->nr_units;
	size_t cap = info->cap_units, nr = info->ranges.nr;
	int r = scope_ranges_add(info, die, index, 0, &info->ranges);

	info->bytes += UNIT_BYTES;
	if (r < 0 || info->ranges.nr == nr)
		return r;
	r = vec_reserve(&info->units, &info->cap_units, info->nr_units + 1, UNITS_MAX);
	if (r < 0) {
		info->ranges.nr = nr;
		return r;
	}
	info->bytes += (info->cap_units - cap) * sizeof(*info->units);
	info->units[info->nr_units++] = (struct debug_unit){.die = dwarf_dieoffset(die)};
	return 0;
}

/* Goes on where it was when time was up. */
static int units_find(struct debug_info *info)
{
	while (!info->has_units) {
		Dwarf_CU *unit = info->last_unit;
		Dwarf_Die die;
		int r = dwarf_get_units(info->dwarf, unit, &unit, NULL, NULL, &die, NULL);

		if (deadline_is_over())
			return -ETIME;
		if (r != 0) { /* the last one, or damage: then there are those before it */
			scope_ranges_sort(&info->ranges);
			info->has_units = true;
			break;
		}
		r = dwarf_tag(&die) == DW_TAG_type_unit ? 0 : unit_add(info, &die);
		if (r < 0)
			return r;
		info->last_unit = unit;
	}
	return 0;
}

/* --- one address --- */

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned int names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					     DW_AT_name};
	Dwarf_Attribute attr;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attr));

		if (name && *name)
			return name;
	}
	return NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) != 0 ||
	    value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void fill_decl(Dwarf_Die *die, struct debug_frame *frame)
{
	int line;

	frame->name = name_of(die);
	frame->decl_file = dwarf_decl_file(die);
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		frame->decl_line = (uint32_t)line;
}

/* Where the function of the inlined DIE is called, into the FRAME that calls. */
static void fill_call(Dwarf_Die *die, struct debug_frame *frame)
{
	uint32_t file = number_of(die, DW_AT_call_file);
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t nr;

	frame->line = number_of(die, DW_AT_call_line);
	if (dwarf_hasattr(die, DW_AT_call_file) && dwarf_diecu(die, &unit, NULL, NULL) &&
	    dwarf_getsrcfiles(&unit, &files, &nr) == 0 && file < nr)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

/* The line of ADDR in the line table of UNIT. */
static void fill_line(struct debug_info *info, struct debug_unit *unit, uint64_t addr,
		      struct debug_frame *frame)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;
	Dwarf_Line *line;
	Dwarf_Lines *lines;
	size_t nr;
	int number;

	if (!dwarf_offdie(info->dwarf, unit->die, &die) ||
	    dwarf_getsrclines(&die, &lines, &nr) != 0)
		return;
	if (!unit->has_lines)
		info->bytes += nr * LINE_BYTES;
	unit->has_lines = true;
	line = dwarf_getsrc_die(&die, addr);
	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	frame->folder = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attr));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

/* The inlined functions at ADDR from the outermost on, at most MAX, into dies[]. Returns how many. */
static unsigned int chain_of(struct debug_info *info, const struct debug_func *func, uint64_t addr,
			     Dwarf_Die *dies, unsigned int max)
{
	unsigned int nr = 0;

	while (nr < max) {
		const struct scope_range *range = scope_ranges_at(&func->inlined, nr + 1, addr);

		if (!range || !dwarf_offdie(info->dwarf, func->dies[range->index], &dies[nr]))
			break;
		nr++;
	}
	return nr;
}

/* All functions at ADDR, of which FUNC is the outermost. */
static int frames_of(struct debug_info *info, struct debug_func *func, uint64_t addr,
		     struct debug_frame frames[DEBUG_INFO_CHAIN_MAX])
{
	Dwarf_Die dies[DEBUG_INFO_CHAIN_MAX - 1], die;
	int r = debug_func_inlined(info, func);
	unsigned int nr;

	if (r < 0)
		return r;
	nr = chain_of(info, func, addr, dies, ARRAY_SIZE(dies));
	for (unsigned int i = 0; i < nr; i++) {
		fill_decl(&dies[nr - 1 - i], &frames[i]);
		fill_call(&dies[nr - 1 - i], &frames[i + 1]);
	}
	if (dwarf_offdie(info->dwarf, func->die, &die))
		fill_decl(&die, &frames[nr]);
	return (int)nr + 1;
}

/* The unit that has code at VADDR, in *RET, or NULL. 0 or -errno. */
static int unit_at(struct debug_info *info, uint64_t vaddr, struct debug_unit **ret)
{
	int r = units_find(info);
	const struct scope_range *range = r == 0 ? scope_ranges_at(&info->ranges, 0, vaddr) : NULL;

	*ret = range ? &info->units[range->index] : NULL;
	return r;
}

int debug_info_line(struct debug_info *info, uint64_t vaddr, struct debug_frame *frame)
{
	struct debug_unit *unit;
	int r = unit_at(info, vaddr, &unit);

	*frame = (struct debug_frame){0};
	if (r < 0 || !unit)
		return r;
	fill_line(info, unit, vaddr, frame);
	if (mapped_was_cut(&info->map) || mapped_was_cut(&info->other_map))
		return -EBADMSG;
	return frame->file && frame->line > 0;
}

int debug_info_at(struct debug_info *info, uint64_t vaddr,
		  struct debug_frame frames[DEBUG_INFO_CHAIN_MAX])
{
	struct debug_func *func;
	struct debug_unit *unit;
	int r = unit_at(info, vaddr, &unit);

	memset(frames, 0, DEBUG_INFO_CHAIN_MAX * sizeof(*frames));
	if (r < 0 || !unit)
		return r;
	r = debug_unit_func(info, unit, vaddr, &func);
	if (r == 0 && func)
		r = frames_of(info, func, vaddr, frames);
	if (r < 0)
		return r;
	fill_line(info, unit, vaddr, &frames[0]);
	if (mapped_was_cut(&info->map) || mapped_was_cut(&info->other_map))
		return -EBADMSG;
	return MAX(r, frames[0].line > 0 ? 1 : 0);
}
