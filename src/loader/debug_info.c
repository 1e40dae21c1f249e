/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The units of a file, what is kept of them, and what is at an address. See debug_info.h. */
#include "config.h"

#include "src/loader/debug_info.h"

#include "src/base/deadline.h"
#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/debug_lines.h"
#include "src/loader/debug_scopes.h"
#include "src/loader/debug_split.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MAX  (1u << 18)
#define CHAIN_MAX  16u /* entries that say one after the other what a function is called */
#define PATH_BYTES 512
#define NAMES_BYTES_MAX \
	((size_t)256 << 20) /* of all that is kept: then no unit is opened for a name alone */
#define SPLITS_MAX 64u	    /* files with split units */

/* A table of abbreviations, which several units may share. */
struct abbrev_table {
	uint64_t key;
	uint32_t nr_users;
	uint32_t index; /* among all */
	struct debug_abbrevs abbrevs;
};

struct units;

/* What is kept of a unit that was looked into. */
struct kept {
	struct units *units;
	size_t index;
	uint64_t last_use;
	size_t counted_bytes; /* of it, in what is kept of all */
	struct abbrev_table *table, *split_table;
	struct debug_unit unit;	       /* which has the lines */
	struct debug_unit split;       /* what was split off from it, if that is there */
	const struct debug_unit *dies; /* the one of both that has the entries */
	bool lacks_split;
	struct debug_scopes scopes;
	struct debug_lines lines;
};

struct place {
	uint64_t off;
	struct kept *kept; /* NULL: nothing */
};

/* The units of a file by their offsets, as far as they have been found. */
struct units {
	struct debug_file file;
	struct place *all;
	size_t nr, cap;
	uint64_t next_off;
	bool has_all;
};

/* A file with what was split off from a unit. */
struct split {
	struct debug_file file; /* closed: free */
	uint64_t last_use;
};

struct debug_info {
	struct units main, other;  /* the file, and the second one of dwz */
	struct debug_file package; /* with what was split off from units of MAIN */
	struct split splits[SPLITS_MAX];
	struct cfi_segment segments[CFI_SEGMENTS_MAX];
	struct debug_text text;
	struct debug_ranges ranges; /* of the units of MAIN */
	struct kept **kept;
	size_t nr_kept, cap_kept;
	struct abbrev_table **tables;
	size_t nr_tables, cap_tables;
	struct u64map tables_by_key; /* table_key() -> place in tables[] */
	size_t kept_bytes;	     /* of all units and tables */
	uint64_t uses;
	/* of the last answer */
	char paths[2 * DEBUG_INFO_CHAIN_MAX][PATH_BYTES];
	unsigned int nr_paths;
};

/* --- opening --- */

int debug_info_open(int fd, const struct elf_file *code, struct debug_info **ret)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	struct debug_unit first;
	int r;

	if (!info)
		return -ENOMEM;
	memcpy(info->segments, code->segments, sizeof(info->segments));
	info->text = (struct debug_text){.segments = info->segments, .nr = code->nr_segments};
	r = debug_file_open(fd, DEBUG_FILE_CODE, &info->main.file);
	if (r == 0 && debug_unit_read_head(&info->main.file, 0, &first) < 0)
		r = -ENOENT;
	if (r < 0) {
		debug_info_free(info);
		return r;
	}
	*ret = info;
	return 0;
}

size_t debug_info_other_id(const struct debug_info *info, const void **ret, const char **ret_path)
{
	struct reader r = debug_file_reader(&info->main.file, DEBUG_OTHER_FILE, 0);

	*ret_path = reader_str(&r);
	*ret = r.p;
	return *ret_path ? reader_left(&r) : 0;
}

int debug_info_add_other(struct debug_info *info, int fd)
{
	return info->other.file.elf ? -EEXIST
				    : debug_file_open(fd, DEBUG_FILE_OTHER, &info->other.file);
}

int debug_info_add_package(struct debug_info *info, int fd)
{
	int r = info->package.elf ? -EEXIST : debug_file_open(fd, DEBUG_FILE_SPLIT, &info->package);

	if (r == 0 && !info->package.sections[DEBUG_CU_INDEX].data) {
		debug_file_close(&info->package);
		return -ENOENT;
	}
	return r;
}

/* --- tables of abbreviations --- */

static uint64_t file_number(const struct debug_info *info, const struct debug_file *file)
{
	uint64_t nr = 0;

	if (file == &info->main.file)
		return 0;
	if (file == &info->other.file)
		return 1;
	while (nr < SPLITS_MAX && file != &info->splits[nr].file)
		nr++;
	return nr + 2; /* the greatest: the package */
}

/* What tells tables apart: the same bytes say something else in another shape. */
static uint64_t table_key(const struct debug_info *info, const struct debug_unit *unit)
{
	const struct debug_shape *shape = &unit->shape;

	return unit->abbrevs_off << 5 | (uint64_t)(shape->version & 7) << 2 |
	       (uint64_t)(shape->addr_bytes == 8) << 1 | (shape->offset_bytes == 8) |
	       file_number(info, unit->file) << 56;
}

static size_t table_bytes(const struct abbrev_table *table)
{
	return sizeof(*table) + debug_abbrevs_bytes(&table->abbrevs);
}

static void table_drop(struct debug_info *info, struct abbrev_table *table)
{
	struct abbrev_table *last;

	if (!table || --table->nr_users > 0)
		return;
	info->kept_bytes -= table_bytes(table);
	u64map_remove(&info->tables_by_key, table->key);
	last = info->tables[--info->nr_tables];
	info->tables[table->index] = last;
	last->index = table->index;
	if (last != table)
		/* The map has had it before. */
		(void)u64map_set(&info->tables_by_key, last->key, last->index);
	debug_abbrevs_done(&table->abbrevs);
	free(table);
}

static int table_read(struct debug_info *info, const struct debug_unit *unit,
		      struct abbrev_table **ret)
{
	struct reader r = debug_file_reader(unit->file, DEBUG_ABBREV, unit->abbrevs_off);
	struct abbrev_table *table;
	int error = vec_reserve(&info->tables, &info->cap_tables, info->nr_tables + 1, UINT32_MAX);

	if (error < 0)
		return error;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->key = table_key(info, unit);
	table->index = (uint32_t)info->nr_tables;
	table->nr_users = 1;
	error = debug_abbrevs_read(&r, &unit->shape, 0, &table->abbrevs);
	if (error == 0)
		error = u64map_set(&info->tables_by_key, table->key, table->index);
	if (error < 0) {
		debug_abbrevs_done(&table->abbrevs);
		free(table);
		return error;
	}
	info->tables[info->nr_tables++] = table;
	info->kept_bytes += table_bytes(table);
	*ret = table;
	return 0;
}

/* That of UNIT: it has one user more. */
static int table_get(struct debug_info *info, const struct debug_unit *unit,
		     struct abbrev_table **ret)
{
	uint32_t index = u64map_get(&info->tables_by_key, table_key(info, unit));

	if (index == U64MAP_NONE)
		return table_read(info, unit, ret);
	*ret = info->tables[index];
	(*ret)->nr_users++;
	return 0;
}

/* --- what is kept of units --- */

/* Some of KEPT was read or forgotten. */
static void kept_count(struct debug_info *info, struct kept *kept)
{
	size_t bytes =
		sizeof(*kept) + debug_scopes_bytes(&kept->scopes) + debug_lines_bytes(&kept->lines);

	info->kept_bytes += bytes - kept->counted_bytes;
	kept->counted_bytes = bytes;
}

static void kept_drop(struct debug_info *info, struct kept *kept)
{
	kept->units->all[kept->index].kept = NULL;
	info->kept_bytes -= kept->counted_bytes;
	debug_scopes_done(&kept->scopes);
	debug_lines_done(&kept->lines);
	table_drop(info, kept->table);
	table_drop(info, kept->split_table);
	free(kept);
}

/* What was split off from SKELETON. 0, -ETIME, -ENOMEM, or another error: it is not there. */
static int split_find(struct debug_info *info, const struct debug_unit *skeleton,
		      struct debug_unit *ret)
{
	int r = info->package.elf ? debug_split_find(&info->package, skeleton, ret) : -ENOENT;

	for (size_t i = 0; i < SPLITS_MAX && r < 0 && r != -ETIME && r != -ENOMEM; i++) {
		struct split *split = &info->splits[i];

		if (split->file.elf)
			r = debug_split_find(&split->file, skeleton, ret);
		if (r == 0)
			split->last_use = ++info->uses;
	}
	return r;
}

/* What was split off from KEPT's unit, if it is there: else there are lines alone, and what a compiler has left. */
static int kept_fill_split(struct debug_info *info, struct kept *kept)
{
	int r = split_find(info, &kept->unit, &kept->split);

	if (r == 0)
		r = table_get(info, &kept->split, &kept->split_table);
	if (r == 0)
		r = debug_unit_read_first(&kept->split, &kept->split_table->abbrevs);
	if (r == -ETIME || r == -ENOMEM)
		return r;
	if (r == 0)
		kept->dies = &kept->split;
	kept->lacks_split = r < 0;
	return 0;
}

static int kept_fill(struct debug_info *info, struct kept *kept)
{
	const struct debug_file *file = &kept->units->file;
	int r = debug_unit_read_head(file, kept->units->all[kept->index].off, &kept->unit);

	if (r == 0)
		r = table_get(info, &kept->unit, &kept->table);
	if (r == 0)
		r = debug_unit_read_first(&kept->unit, &kept->table->abbrevs);
	kept->dies = &kept->unit;
	return r == 0 && kept->unit.split_name ? kept_fill_split(info, kept) : r;
}

/* Unit number INDEX, ready to look into. 0, -ENOMEM, -ETIME, -EBADMSG. */
static int unit_open(struct debug_info *info, struct units *units, size_t index, struct kept **ret)
{
	struct place *place = &units->all[index];
	int r;

	if (!place->kept) {
		r = vec_reserve(&info->kept, &info->cap_kept, info->nr_kept + 1, SIZE_MAX);
		if (r < 0)
			return r;
		place->kept = calloc(1, sizeof(*place->kept));
		if (!place->kept)
			return -ENOMEM;
		place->kept->units = units;
		place->kept->index = index;
		r = kept_fill(info, place->kept);
		if (r < 0) {
			kept_drop(info, place->kept);
			return r == -ENOENT || r == -E2BIG ? -EBADMSG : r;
		}
		info->kept[info->nr_kept++] = place->kept;
		kept_count(info, place->kept);
	}
	place->kept->last_use = ++info->uses;
	*ret = place->kept;
	return 0;
}

struct debug_info *debug_info_free(struct debug_info *info)
{
	if (!info)
		return NULL;
	while (info->nr_kept > 0)
		kept_drop(info, info->kept[--info->nr_kept]);
	free(info->kept);
	free(info->tables);
	u64map_done(&info->tables_by_key);
	free(info->main.all);
	free(info->other.all);
	debug_ranges_done(&info->ranges);
	debug_file_close(&info->main.file);
	debug_file_close(&info->other.file);
	debug_file_close(&info->package);
	for (size_t i = 0; i < SPLITS_MAX; i++)
		debug_file_close(&info->splits[i].file);
	free(info);
	return NULL;
}

size_t debug_info_bytes(const struct debug_info *info)
{
	return sizeof(*info) + (info->main.cap + info->other.cap) * sizeof(*info->main.all) +
	       info->ranges.cap * sizeof(*info->ranges.all) + info->kept_bytes;
}

size_t debug_info_unpacked_bytes(const struct debug_info *info)
{
	size_t sum = info->main.file.unpacked_bytes + info->other.file.unpacked_bytes +
		     info->package.unpacked_bytes;

	for (size_t i = 0; i < SPLITS_MAX; i++)
		sum += info->splits[i].file.unpacked_bytes;
	return sum;
}

static int newest_first(const void *left, const void *right)
{
	uint64_t a = (*(struct kept *const *)left)->last_use,
		 b = (*(struct kept *const *)right)->last_use;

	return a > b ? -1 : a < b;
}

void debug_info_trim(struct debug_info *info, size_t max)
{
	if (info->nr_kept == 0 || debug_info_bytes(info) <= max)
		return;
	qsort(info->kept, info->nr_kept, sizeof(*info->kept), newest_first);
	while (info->nr_kept > 0 && debug_info_bytes(info) > max)
		kept_drop(info, info->kept[--info->nr_kept]);
}

/* --- files with split units --- */

/* What is kept of units is forgotten where it is in FILE, or where something is lacking. */
static void split_forget(struct debug_info *info, const struct debug_file *file)
{
	for (size_t i = info->nr_kept; i-- > 0;) {
		struct kept *kept = info->kept[i];

		if (!kept->lacks_split && kept->dies->file != file)
			continue;
		kept_drop(info, kept);
		info->kept[i] = info->kept[--info->nr_kept];
	}
}

static struct split *split_oldest(struct debug_info *info)
{
	struct split *oldest = &info->splits[0];

	for (size_t i = 1; i < SPLITS_MAX; i++)
		if (info->splits[i].last_use < oldest->last_use)
			oldest = &info->splits[i];
	return oldest;
}

int debug_info_add_split(struct debug_info *info, int fd)
{
	struct split *split = split_oldest(info);
	struct debug_file file;
	int r = debug_file_open(fd, DEBUG_FILE_SPLIT, &file);

	if (r < 0)
		return r;
	split_forget(info, &split->file);
	debug_file_close(&split->file);
	*split = (struct split){.file = file, .last_use = ++info->uses};
	return 0;
}

bool debug_info_lacks_split(const struct debug_info *info, uint64_t since, size_t index, char *out,
			    size_t size)
{
	for (size_t i = 0; i < info->nr_kept; i++) {
		const struct debug_unit *unit = &info->kept[i]->unit;
		bool is_whole;

		if (!info->kept[i]->lacks_split || info->kept[i]->last_use <= since || index-- > 0)
			continue;
		is_whole = *unit->split_name == '/' || !unit->folder;
		snprintf(out, size, "%s%s%s", is_whole ? "" : unit->folder, is_whole ? "" : "/",
			 unit->split_name);
		return true;
	}
	return false;
}

uint64_t debug_info_uses(const struct debug_info *info)
{
	return info->uses;
}

/* --- units --- */

/* The ranges of UNIT, which is number INDEX. One that is damaged has none. */
static int unit_add_ranges(struct debug_info *info, struct debug_unit *unit, size_t index)
{
	int r = unit->is_of_types ? -EBADMSG : debug_unit_read_first(unit, NULL);

	if (r == 0)
		r = debug_ranges_add_code(&info->ranges, &info->text, unit, &unit->code,
					  (uint32_t)index, 0);
	return r == -EBADMSG || r == -E2BIG ? 0 : r;
}

/* Find all of UNITS. Goes on where it was when time was up. */
static int units_find(struct debug_info *info, struct units *units)
{
	while (!units->has_all) {
		struct debug_unit unit;
		int r = deadline_is_over() ? -ETIME : 0;

		if (r == 0)
			r = vec_reserve(&units->all, &units->cap, units->nr + 1, UNITS_MAX);
		/* The last one, or damage, or too many: there are those before it. */
		if (r == -E2BIG ||
		    (r == 0 && debug_unit_read_head(&units->file, units->next_off, &unit) < 0)) {
			r = debug_ranges_sort(&info->ranges);
			units->has_all = r == 0;
			return r;
		}
		if (r == 0 && units == &info->main)
			r = unit_add_ranges(info, &unit, units->nr);
		if (r < 0)
			return r;
		units->all[units->nr++] = (struct place){.off = unit.off};
		units->next_off = unit.end;
	}
	return 0;
}

/* The unit of UNITS that holds OFF of DEBUG_INFO. */
static int unit_of(struct debug_info *info, struct units *units, uint64_t off, struct kept **ret)
{
	size_t after;
	int r = units_find(info, units);

	if (r < 0)
		return r;
	after = search_first(units->nr, i, units->all[i].off > off);
	return after == 0 ? -EBADMSG : unit_open(info, units, after - 1, ret);
}

/* --- one address --- */

static const char *path_of(struct debug_info *info, struct kept *kept, uint32_t file)
{
	if (info->nr_paths == ARRAY_SIZE(info->paths) ||
	    debug_lines_open(&kept->lines, &kept->unit) < 0)
		return NULL;
	kept_count(info, kept);
	return debug_lines_path(&kept->lines, &kept->unit, file, info->paths[info->nr_paths++],
				PATH_BYTES);
}

/* What is known of a function, from one entry after the other. */
struct decl {
	const char *linkage_name, *name;
	struct kept *file_of; /* whose file FILE is */
	uint32_t file, line;
	struct debug_value next; /* the entry that says more */
};

static void decl_take(struct decl *decl, struct kept *kept, unsigned int name,
		      const struct debug_value *value, const struct debug_file *other)
{
	switch (name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		if (!decl->linkage_name)
			decl->linkage_name = debug_value_text(kept->dies, value, other);
		break;
	case DW_AT_name:
		if (!decl->name)
			decl->name = debug_value_text(kept->dies, value, other);
		break;
	case DW_AT_decl_file:
		if (!decl->file_of) {
			decl->file_of = kept;
			decl->file = debug_value_small(value);
		}
		break;
	case DW_AT_decl_line:
		if (!decl->line)
			decl->line = debug_value_small(value);
		break;
	case DW_AT_abstract_origin:
		decl->next = *value;
		break;
	case DW_AT_specification:
		if (!decl->next.form)
			decl->next = *value;
		break;
	}
}

/* Where the entry leads that says more than the present one, which is in *KEPT. False: nowhere. */
static bool decl_follow(struct debug_info *info, const struct decl *decl, struct kept **kept,
			uint64_t *off)
{
	struct units *units = (*kept)->units;
	const struct debug_unit *dies = (*kept)->dies;
	bool is_other;

	if (!debug_value_ref(dies, &decl->next, off, &is_other))
		return false;
	/* What was split off says all by itself. */
	if (dies->skeleton)
		return !is_other && *off >= dies->off && *off < dies->end;
	if (is_other && !info->other.file.elf)
		return false;
	if (debug_info_bytes(info) > NAMES_BYTES_MAX)
		return false;
	return unit_of(info, is_other ? &info->other : units, *off, kept) == 0;
}

/* The entry at OFF of KEPT and those that it stands for. */
static void fill_decl(struct debug_info *info, struct kept *kept, uint64_t off,
		      struct debug_frame *frame)
{
	const struct debug_file *other = info->other.file.elf ? &info->other.file : NULL;
	struct decl decl = {0};

	for (unsigned int i = 0; i < CHAIN_MAX; i++) {
		struct debug_value value;
		struct debug_die die;
		unsigned int name;

		if (debug_die_at(kept->dies, off, &die) < 0)
			break;
		decl.next = (struct debug_value){0};
		while (debug_die_next(kept->dies, &die, &name, &value))
			decl_take(&decl, kept, name, &value, other);
		if (!decl_follow(info, &decl, &kept, &off))
			break;
	}
	frame->name = decl.linkage_name && *decl.linkage_name ? decl.linkage_name : decl.name;
	if (frame->name && !*frame->name)
		frame->name = NULL;
	frame->decl_line = decl.line;
	if (decl.file_of)
		frame->decl_file = path_of(info, decl.file_of, decl.file);
}

/* Where the inlined function at OFF is called, into the FRAME that calls. */
static void fill_call(struct debug_info *info, struct kept *kept, uint64_t off,
		      struct debug_frame *frame)
{
	struct debug_value value;
	struct debug_die die;
	unsigned int name;

	if (debug_die_at(kept->dies, off, &die) < 0)
		return;
	while (debug_die_next(kept->dies, &die, &name, &value)) {
		if (name == DW_AT_call_line)
			frame->line = debug_value_small(&value);
		else if (name == DW_AT_call_file)
			frame->file = path_of(info, kept, debug_value_small(&value));
	}
}

/* The line of ADDR in the line table. Damage there says nothing of the functions. */
static int fill_line(struct debug_info *info, struct kept *kept, uint64_t addr,
		     struct debug_frame *frame)
{
	uint32_t file = 0, line = 0;
	int r = debug_lines_open(&kept->lines, &kept->unit);

	if (r == 0)
		r = debug_lines_at(&kept->lines, &kept->unit, &info->text, addr, &file, &line);
	if (r == 0) {
		frame->file = path_of(info, kept, file);
		frame->line = line;
	}
	return r == -ETIME || r == -ENOMEM ? r : 0;
}

/* All functions at ADDR, of which FUNC is the outermost. */
static int frames_of(struct debug_info *info, struct kept *kept, struct debug_func *func,
		     uint64_t addr, struct debug_frame frames[DEBUG_INFO_CHAIN_MAX])
{
	uint64_t dies[DEBUG_INFO_CHAIN_MAX - 1];
	unsigned int nr = 0;
	int r = debug_scopes_inlined(&kept->scopes, kept->dies, &info->text, func, addr);

	if (r < 0)
		return r;
	while (nr < ARRAY_SIZE(dies)) {
		const struct debug_range *range = debug_ranges_at(&func->inlined, nr + 1, addr);

		if (!range)
			break;
		dies[nr++] = kept->dies->off + range->index;
	}
	for (unsigned int i = 0; i < nr; i++) {
		/* An entry may have megabytes of text. */
		if (deadline_is_over_now())
			return -ETIME;
		fill_decl(info, kept, dies[nr - 1 - i], &frames[i]);
		fill_call(info, kept, dies[nr - 1 - i], &frames[i + 1]);
	}
	fill_decl(info, kept, kept->dies->off + func->die, &frames[nr]);
	return (int)nr + 1;
}

/* The unit that has code at VADDR, in *RET, or NULL. 0 or -errno. */
static int unit_at(struct debug_info *info, uint64_t vaddr, struct kept **ret)
{
	int r = units_find(info, &info->main);
	const struct debug_range *range = r == 0 ? debug_ranges_at(&info->ranges, 0, vaddr) : NULL;

	*ret = NULL;
	info->nr_paths = 0;
	return range ? unit_open(info, &info->main, range->index, ret) : r;
}

static bool was_cut(const struct debug_info *info)
{
	for (size_t i = 0; i < SPLITS_MAX; i++)
		if (info->splits[i].file.elf && mapped_was_cut(&info->splits[i].file.map))
			return true;
	return mapped_was_cut(&info->main.file.map) || mapped_was_cut(&info->other.file.map) ||
	       mapped_was_cut(&info->package.map);
}

int debug_info_line(struct debug_info *info, uint64_t vaddr, struct debug_frame *frame)
{
	struct kept *kept;
	int r = unit_at(info, vaddr, &kept);

	*frame = (struct debug_frame){0};
	if (r == 0 && kept) {
		r = fill_line(info, kept, vaddr, frame);
		kept_count(info, kept);
	}
	if (r == 0 && was_cut(info))
		r = -EBADMSG;
	return r < 0 ? r : frame->file && frame->line > 0;
}

int debug_info_at(struct debug_info *info, uint64_t vaddr,
		  struct debug_frame frames[DEBUG_INFO_CHAIN_MAX])
{
	struct debug_func *func;
	struct kept *kept;
	int r = unit_at(info, vaddr, &kept), nr = 0;

	memset(frames, 0, DEBUG_INFO_CHAIN_MAX * sizeof(*frames));
	if (r < 0 || !kept)
		return r;
	r = debug_scopes_func(&kept->scopes, kept->dies, &info->text, vaddr, &func);
	if (r == 0 && func)
		r = nr = frames_of(info, kept, func, vaddr, frames);
	if (r >= 0)
		r = fill_line(info, kept, vaddr, &frames[0]);
	kept_count(info, kept);
	if (r == 0 && was_cut(info))
		r = -EBADMSG;
	return r < 0 ? r : MAX(nr, frames[0].line > 0 ? 1 : 0);
}
