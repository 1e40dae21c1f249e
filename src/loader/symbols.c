/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * While they are collected, functions are in the order of their tables and
 * need more room. Finished, they are an array sorted by start, of the lower
 * halves of their offsets: banks say where the upper half changes, which it
 * does in no file of less than 4 GiB.
 *
 * Functions may lie inside others (labels with a size in assembly, overlapping
 * claims of a hostile file), so those that do point to the nearest one before
 * them that ends later: a search takes the last start at or before the offset
 * and follows that chain until one holds it.
 */
#include "config.h"

#include "src/loader/symbols.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/reader.h"
#include "src/base/sort.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/dynamic.h"
#include "src/loader/name_rank.h"

#include <assert.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYMBOLS_MAX	 (4u << 20)
#define SECTION_MAX	 (512u << 20)
#define KEPT_BYTES_MAX	 (64u << 20)
#define NO_SYMBOL	 UINT32_MAX
#define CHAIN_MAX	 1000	    /* deeper nesting is an attack */
#define RANK_STUB	 UINT32_MAX /* a real symbol is better */
#define NAME_READ_BYTES	 256	    /* most names are shorter */
#define STRINGS_MAX	 16
#define STRINGS_OFF_BITS 28 /* a name is a number of strings and an offset in them */
#define STRINGS_OFF_MASK ((1u << STRINGS_OFF_BITS) - 1)
#define STRINGS_KEPT	 0 /* the first are those in memory */

struct symbol {
	uint32_t start; /* lower half of the offset */
	uint32_t bytes;
	uint32_t name;
};

/* From symbol FIRST on the upper half of the offsets is HIGH. */
struct bank {
	uint32_t high, first;
};

/* Symbol INDEX lies in OUTER, at least partly. */
struct nested {
	uint32_t index, outer;
};

/* 256 MB of a string table, or less. */
struct strings_window {
	uint64_t off;	   /* in its file */
	unsigned int file; /* number of it */
	bool is_stub;	   /* its names are those of what stubs jump to */
};

struct found {
	uint64_t start;
	uint32_t bytes;
	uint32_t name;
	uint32_t rank; /* smaller is better */
};

struct symbols {
	struct symbol *all;
	struct bank *banks;
	struct nested *nested;
	size_t nr, nr_banks, cap_banks, nr_nested, cap_nested;
	char *kept;
	size_t nr_kept, cap_kept;
	struct strings_window windows[STRINGS_MAX];
	uint32_t nr_windows;
	size_t left_out;

	struct found *found; /* until symbols_finish */
	size_t nr_found, cap_found;
};

struct symbols *symbols_new(void)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (s)
		s->nr_windows = STRINGS_KEPT + 1;
	return s;
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	free(s->all);
	free(s->banks);
	free(s->nested);
	free(s->kept);
	free(s->found);
	free(s);
	return NULL;
}

size_t symbols_left_out(const struct symbols *s)
{
	return s->left_out;
}

size_t symbols_bytes(const struct symbols *s)
{
	return sizeof(*s) + s->nr * sizeof(*s->all) + s->cap_banks * sizeof(*s->banks) +
	       s->cap_nested * sizeof(*s->nested) + s->cap_kept + s->cap_found * sizeof(*s->found);
}

/* --- names --- */

uint32_t symbols_add_strings(struct symbols *s, const struct elf_bytes *strings, unsigned int index,
			     bool is_stub)
{
	uint64_t nr = (strings->bytes >> STRINGS_OFF_BITS) + 1;
	uint32_t first = s->nr_windows;

	if (strings->data || nr > STRINGS_MAX - s->nr_windows)
		return SYMBOLS_NO_NAME;
	for (uint64_t i = 0; i < nr; i++)
		s->windows[s->nr_windows++] = (struct strings_window){
			.off = strings->off + (i << STRINGS_OFF_BITS),
			.file = index,
			.is_stub = is_stub,
		};
	return first << STRINGS_OFF_BITS;
}

/* Keep NAME (LEN bytes): it is in no file as it is. */
static int name_keep(struct symbols *s, const char *name, size_t len, uint32_t *ret)
{
	int r = vec_reserve(&s->kept, &s->cap_kept, s->nr_kept + len + 1, KEPT_BYTES_MAX);

	if (r < 0)
		return r;
	memcpy(s->kept + s->nr_kept, name, len);
	s->kept[s->nr_kept + len] = '\0';
	*ret = STRINGS_KEPT << STRINGS_OFF_BITS | (uint32_t)s->nr_kept;
	s->nr_kept += len + 1;
	return 0;
}

/* From the file that it is in: a few bytes at first. */
static ssize_t name_read(int fd, uint64_t off, char *out, size_t size)
{
	size_t len = 0, want = NAME_READ_BYTES;

	for (;;) {
		ssize_t n = pread(fd, out + len, MIN(want, size - 1) - len, (off_t)(off + len));
		const char *end = n > 0 ? memchr(out + len, '\0', (size_t)n) : NULL;

		if (end)
			return end - out;
		if (n <= 0)
			return -1;
		len += (size_t)n;
		if (len == size - 1)
			break;
		want = size;
	}
	out[len] = '\0';
	return (ssize_t)len;
}

ssize_t symbols_text(const struct symbols *s, uint32_t name, const int *files,
		     unsigned int nr_files, char out[SYMBOLS_NAME_BYTES_MAX])
{
	static const char suffix[] = "@plt";
	const struct strings_window *window = &s->windows[name >> STRINGS_OFF_BITS];
	uint32_t off = name & STRINGS_OFF_MASK;
	ssize_t len;

	assert(name >> STRINGS_OFF_BITS < s->nr_windows);
	if (name >> STRINGS_OFF_BITS == STRINGS_KEPT) {
		assert(off < s->nr_kept);
		len = (ssize_t)strnlen(s->kept + off, SYMBOLS_NAME_BYTES_MAX - 1);
		memcpy(out, s->kept + off, (size_t)len);
		out[len] = '\0';
		return len;
	}
	if (window->file >= nr_files)
		return -1;
	len = name_read(files[window->file], window->off + off, out,
			SYMBOLS_NAME_BYTES_MAX - sizeof(suffix));
	if (len < 0 || !window->is_stub)
		return len;
	memcpy(out + len, suffix, sizeof(suffix));
	return len + (ssize_t)sizeof(suffix) - 1;
}

/* --- collecting --- */

/* A symbol table and what belongs to it. */
struct symbol_table {
	struct elf_bytes entries, strings, versions;
	bool has_versions;
	bool is_64, swap;
	uint32_t first_name; /* see symbols_add_strings; SYMBOLS_NO_NAME: names must be kept */
	const struct elf_file *file;
	const struct table *table;
	const uint64_t *
		bases; /* of sections, which symbols of a kernel module are relative to; else NULL */
	size_t nr_bases;
};

/* The end of the FDE that begins at OFF, or one byte before it (signal trampolines do that). */
static bool fde_end(const struct table *table, uint64_t off, uint64_t *ret_end)
{
	uint64_t start;

	return table && table_func_of(table, off, &start, ret_end) &&
	       (start == off || start + 1 == off);
}

/* Where the function of SYM, which is at OFF, ends. False: it is none. */
static bool function_end(const GElf_Sym *sym, const struct table *table, uint64_t off,
			 uint64_t *ret_end)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	/* What has no type is a function only if it has frame information of its own. */
	if ((sym->st_size == 0 || type == STT_NOTYPE) && !fde_end(table, off, ret_end))
		return false;
	if (sym->st_size > 0)
		*ret_end = off + MIN(sym->st_size,
				     (uint64_t)UINT32_MAX); /* no overflow: OFF is in the file */
	return true;
}

static enum name_binding binding_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return NAME_GLOBAL;
	case STB_WEAK:
		return NAME_WEAK;
	default:
		return NAME_LOCAL;
	}
}

/* The symbol at place I of TABLE, in the file's own class and byte order. False: there are no more. */
static bool symbol_read(struct symbol_table *t, uint64_t i, GElf_Sym *ret)
{
	size_t bytes = t->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint8_t raw[sizeof(Elf64_Sym)];
	struct reader r = reader_of(raw, bytes);

	r.swap = t->swap;
	if (!elf_bytes_read(&t->entries, i * bytes, raw, bytes))
		return false;
	ret->st_name = reader_u32(&r);
	if (!t->is_64) {
		ret->st_value = reader_u32(&r);
		ret->st_size = reader_u32(&r);
	}
	ret->st_info = reader_u8(&r);
	ret->st_other = reader_u8(&r);
	ret->st_shndx = reader_u16(&r);
	if (t->is_64) {
		ret->st_value = reader_u64(&r);
		ret->st_size = reader_u64(&r);
	}
	return true;
}

/* Is the symbol at place I of TABLE of a version that only old programs get? */
static bool is_old(struct symbol_table *t, uint64_t i)
{
	uint16_t version;

	if (!t->has_versions || !elf_bytes_read(&t->versions, i * sizeof(version), &version, 2))
		return false;
	return (t->swap ? __builtin_bswap16(version) : version) & 0x8000;
}

static int found_put(struct symbols *s, const struct found *found)
{
	int r = vec_reserve(&s->found, &s->cap_found, s->nr_found + 1, SYMBOLS_MAX);

	assert(found->name >> STRINGS_OFF_BITS < s->nr_windows);
	if (r == 0)
		s->found[s->nr_found++] = *found;
	return r;
}

int symbols_add_stub(struct symbols *s, uint64_t off, uint64_t bytes, uint32_t name)
{
	return found_put(s, &(struct found){
				    .start = off,
				    .bytes = (uint32_t)bytes,
				    .name = name,
				    .rank = RANK_STUB,
			    });
}

/* Where SYM is. False: in no code of the file. */
static bool symbol_off(const struct symbol_table *t, const GElf_Sym *sym, uint64_t *ret)
{
	uint64_t base = 0;

	if (t->bases)
		base = sym->st_shndx < t->nr_bases ? t->bases[sym->st_shndx] : UINT64_MAX;
	return base != UINT64_MAX && sym->st_value <= UINT64_MAX - base &&
	       elf_file_off_of(t->file, base + sym->st_value, ret);
}

/* Add the symbol at place I of TABLE, if it is a function. */
static int symbol_add(struct symbols *s, struct symbol_table *t, uint64_t i, const GElf_Sym *sym)
{
	struct name_traits traits = {
		.binding = binding_of(sym),
		.is_sized = sym->st_size > 0,
		.is_label = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE,
	};
	struct found found = {.name = t->first_name + sym->st_name};
	char name[SYMBOLS_NAME_BYTES_MAX];
	uint64_t end;
	ssize_t len;

	if (sym->st_name == 0 || sym->st_shndx == SHN_UNDEF || !symbol_off(t, sym, &found.start) ||
	    !function_end(sym, t->table, found.start, &end))
		return 0;
	len = elf_bytes_text(&t->strings, sym->st_name, name, sizeof(name));
	if (len <= 0 || !name_is_of_function(name, (size_t)len))
		return 0;
	traits.is_old = is_old(t, i);
	found.bytes = (uint32_t)MIN(end - found.start, (uint64_t)UINT32_MAX);
	found.rank = name_rank(&traits, name, (size_t)len);
	if (t->first_name == SYMBOLS_NO_NAME) {
		int r = name_keep(s, name, (size_t)len, &found.name);

		if (r < 0)
			return r;
	}
	return found_put(s, &found);
}

static void versions_open(struct symbol_table *t, const struct elf_file *source, size_t index)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(source->elf, scn));) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_GNU_versym ||
		    shdr.sh_link != index)
			continue;
		t->has_versions = elf_bytes_open(source, scn, SECTION_MAX, &t->versions) == 0;
		return;
	}
}

static void symbol_table_close(struct symbol_table *t)
{
	elf_bytes_close(&t->entries);
	elf_bytes_close(&t->strings);
	elf_bytes_close(&t->versions);
}

/* Open the table SCN and its strings. 0, -ENOENT (damaged), -ENOMEM. */
static int symbol_table_open(struct symbol_table *t, const struct elf_file *source, Elf_Scn *scn,
			     const GElf_Shdr *shdr)
{
	int r = elf_bytes_open(source, scn, SECTION_MAX, &t->entries);

	if (r == 0)
		r = elf_bytes_open(source, elf_getscn(source->elf, shdr->sh_link), SECTION_MAX,
				   &t->strings);
	if (r < 0) {
		symbol_table_close(t);
		return r;
	}
	versions_open(t, source, elf_ndxscn(scn));
	return 0;
}

/* Open those of a file without sections. As symbol_table_open(). */
static int dynamic_table_open(struct symbol_table *t, const struct elf_file *source)
{
	struct dynamic_symbols found;
	int r;

	if (!dynamic_symbols_find(source, &found))
		return -ENOENT;
	r = elf_bytes_open_range(
		source, found.entries_off,
		found.nr_entries * (t->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)), &t->entries);
	if (r == 0)
		r = elf_bytes_open_range(source, found.strings_off,
					 MIN(found.strings_bytes, (uint64_t)SECTION_MAX),
					 &t->strings);
	if (r < 0) {
		symbol_table_close(t);
		return r;
	}
	t->has_versions =
		found.versions_off > 0 &&
		elf_bytes_open_range(source, found.versions_off,
				     found.nr_entries * sizeof(uint16_t), &t->versions) == 0;
	return 0;
}

/* Add the functions of T, which is open, and close it; its names are in file INDEX. */
static int symbols_add_table(struct symbols *s, unsigned int index, struct symbol_table *t)
{
	GElf_Sym sym;
	int r = 0;

	t->first_name = symbols_add_strings(s, &t->strings, index, false);
	for (uint64_t i = 0; symbol_read(t, i, &sym); i++) {
		r = symbol_add(s, t, i, &sym);
		if (r == -E2BIG)
			s->left_out++;
		else if (r < 0)
			break;
		if (deadline_is_over()) {
			r = -ETIME;
			break;
		}
	}
	symbol_table_close(t);
	return r == -E2BIG ? 0 : r;
}

int symbols_add(struct symbols *s, const struct elf_file *source, unsigned int index,
		const struct elf_file *file, const struct table *table)
{
	AUTO_FREE uint64_t *bases = NULL;
	struct symbol_table t, closed = {
				       .is_64 = source->is_64,
				       .swap = source->swap,
				       .file = file,
				       .table = table,
			       };
	int r;

	if (source->is_module) {
		bases = elf_file_module_layout(source, &closed.nr_bases);
		if (!bases)
			return -ENOMEM;
		closed.bases = bases;
	}
	t = closed;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(source->elf, scn)); t = closed) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		r = symbol_table_open(&t, source, scn, &shdr);
		if (r == 0)
			r = symbols_add_table(s, index, &t);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	/* Whoever has no section headers at all still has to be loaded. */
	if (elf_getscn(source->elf, 1))
		return 0;
	r = dynamic_table_open(&t, source);
	if (r == 0)
		r = symbols_add_table(s, index, &t);
	return r == -ENOENT ? 0 : r;
}

/* --- finishing --- */

/* What was found, as keys by start: owned by the caller; NULL: no memory. */
static struct sort_key *found_sort(const struct symbols *s)
{
	struct sort_key *keys = malloc(s->nr_found * sizeof(*keys));
	AUTO_FREE struct sort_key *spare = malloc(s->nr_found * sizeof(*spare));

	if (!keys || !spare) {
		free(keys);
		return NULL;
	}
	for (size_t i = 0; i < s->nr_found; i++)
		keys[i] = (struct sort_key){.key = s->found[i].start, .index = (uint32_t)i};
	sort_keys(keys, spare, s->nr_found);
	return keys;
}

/* Keep of each start only the best, in front of KEYS. Returns how many. */
static size_t found_choose(const struct symbols *s, struct sort_key *keys)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_found; i++) {
		if (nr == 0 || keys[i].key != keys[nr - 1].key)
			keys[nr++] = keys[i];
		else if (s->found[keys[i].index].rank < s->found[keys[nr - 1].index].rank)
			keys[nr - 1] = keys[i];
	}
	return nr;
}

static int bank_begin(struct symbols *s, uint32_t high)
{
	int r;

	if (s->nr_banks > 0 && s->banks[s->nr_banks - 1].high == high)
		return 0;
	assert(s->nr_banks == 0 || s->banks[s->nr_banks - 1].high < high);
	r = vec_reserve(&s->banks, &s->cap_banks, s->nr_banks + 1, SYMBOLS_MAX);
	if (r == 0)
		s->banks[s->nr_banks++] = (struct bank){.high = high, .first = (uint32_t)s->nr};
	return r;
}

static int symbols_fill(struct symbols *s, const struct sort_key *keys, size_t nr)
{
	s->all = malloc(nr * sizeof(*s->all));
	if (!s->all)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct found *found = &s->found[keys[i].index];
		int r = bank_begin(s, (uint32_t)(found->start >> 32));

		assert(i == 0 || keys[i - 1].key < keys[i].key);
		if (r < 0)
			return r;
		s->all[s->nr++] = (struct symbol){
			.start = (uint32_t)found->start,
			.bytes = found->bytes,
			.name = found->name,
		};
	}
	return 0;
}

/* The bank that holds symbol AT. */
static const struct bank *bank_of(const struct symbols *s, uint32_t at)
{
	assert(at < s->nr);
	return &s->banks[search_first(s->nr_banks, i, s->banks[i].first > at) - 1];
}

static uint64_t symbol_start(const struct symbols *s, uint32_t at)
{
	return (uint64_t)bank_of(s, at)->high << 32 | s->all[at].start;
}

static uint64_t symbol_end(const struct symbols *s, uint32_t at)
{
	return symbol_start(s, at) + s->all[at].bytes;
}

/* The symbols that begin before this one and have not ended, the innermost last. */
struct open_symbols {
	uint32_t *all;
	size_t nr, cap;
};

static int symbols_nest(struct symbols *s, struct open_symbols *open)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		uint64_t end = symbol_end(s, i);
		int r = 0;

		while (open->nr > 0 && symbol_end(s, open->all[open->nr - 1]) <= end)
			open->nr--;
		if (open->nr > 0)
			r = vec_reserve(&s->nested, &s->cap_nested, s->nr_nested + 1, SYMBOLS_MAX);
		if (r == 0 && open->nr > 0)
			s->nested[s->nr_nested++] = (struct nested){i, open->all[open->nr - 1]};
		assert(open->nr == 0 || open->all[open->nr - 1] < i); /* chains end */
		if (r == 0)
			r = vec_reserve(&open->all, &open->cap, open->nr + 1, SYMBOLS_MAX);
		if (r < 0)
			return r;
		open->all[open->nr++] = i;
	}
	return 0;
}

int symbols_finish(struct symbols *s)
{
	AUTO_FREE struct sort_key *keys = NULL;
	struct open_symbols open = {0};
	int r;

	if (s->nr_found == 0)
		return 0;
	keys = found_sort(s);
	if (!keys)
		return -ENOMEM;
	r = symbols_fill(s, keys, found_choose(s, keys));
	free(steal_ptr(s->found));
	s->nr_found = s->cap_found = 0;
	vec_shrink(&s->kept, &s->cap_kept, s->nr_kept);
	if (r == 0)
		r = symbols_nest(s, &open);
	free(open.all);
	return r;
}

/* --- searching --- */

/* How many symbols begin at or before OFF. */
static uint32_t symbols_before(const struct symbols *s, uint64_t off)
{
	return (uint32_t)search_first(s->nr, i, symbol_start(s, (uint32_t)i) > off);
}

/* The next symbol of the chain after AT, or NO_SYMBOL. */
static uint32_t symbol_outer(const struct symbols *s, uint32_t at)
{
	size_t i = search_first(s->nr_nested, n, s->nested[n].index >= at);

	return i < s->nr_nested && s->nested[i].index == at ? s->nested[i].outer : NO_SYMBOL;
}

bool symbols_find(const struct symbols *s, uint64_t off, struct symbols_place *ret)
{
	uint32_t before = symbols_before(s, off);
	uint32_t at = before > 0 ? before - 1 : NO_SYMBOL;

	/* Another offset up to the next start begins its search here too. */
	*ret = (struct symbols_place){
		.last = before < s->nr ? symbol_start(s, before) - 1 : UINT64_MAX,
	};
	for (int i = 0; at != NO_SYMBOL; i++) {
		uint64_t start = symbol_start(s, at), end = symbol_end(s, at);

		if (off < end) {
			assert(start <= off && ret->from <= off && off <= ret->last);
			ret->start = start;
			ret->from = MAX(ret->from, start);
			ret->last = MIN(ret->last, end - 1);
			ret->name = s->all[at].name;
			return true;
		}
		if (i == CHAIN_MAX) {
			ret->from = ret->last = off;
			return false;
		}
		ret->from = end;
		at = symbol_outer(s, at);
	}
	return false;
}
