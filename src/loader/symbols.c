/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An array sorted by start. Functions may lie inside others (labels with a
 * size in assembly, overlapping claims of a hostile file), so each one points
 * to the nearest one before it that ends later: a search takes the last start
 * at or before the offset and follows that chain until one holds it.
 */
#include "config.h"

#include "src/loader/symbols.h"

#include "src/base/cleanup.h"
#include "src/base/sort.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_MAX	  (4u << 20)
#define NAMES_MAX_BYTES	  (128u << 20)
#define SYMTAB_MAX_BYTES  (512u << 20)
#define MANGLED_BYTES_MAX 4096 /* longer names are cut: nothing demangles them */
#define NO_SYMBOL	  UINT32_MAX
#define CHAIN_MAX	  1000 /* deeper nesting is an attack */

struct symbol {
	uint64_t start;
	uint32_t bytes;
	uint32_t name;
	uint32_t outer; /* after symbols_finish */
	uint16_t rank;	/* smaller is better */
	bool has_size;
};

struct symbols {
	struct symbol *all;
	size_t nr, cap;
	char *names;
	size_t nr_names, cap_names;
};

struct symbols *symbols_new(void)
{
	return calloc(1, sizeof(struct symbols));
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	free(s->all);
	free(s->names);
	free(s);
	return NULL;
}

size_t symbols_count(const struct symbols *s)
{
	return s->nr;
}

size_t symbols_bytes(const struct symbols *s)
{
	return sizeof(*s) + s->cap * sizeof(*s->all) + s->cap_names;
}

/*
 * The order in which perf chooses among symbols of one address: global, weak,
 * local; then fewer leading underscores. A plain label comes after functions.
 */
static uint16_t rank_of(const GElf_Sym *sym, const char *name)
{
	unsigned int bind = GELF_ST_BIND(sym->st_info);
	size_t underscores = strspn(name, "_");
	unsigned int rank = 2;

	if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
		rank = 0;
	else if (bind == STB_WEAK)
		rank = 1;
	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		rank += 3;
	return (uint16_t)(rank << 8 | MIN(underscores, (size_t)255));
}

/* The end of the FDE that begins at OFF, or one byte before it (signal trampolines do that). */
static bool fde_end(const struct table *table, uint64_t off, uint64_t *ret_end)
{
	uint64_t start;

	return table && table_func_of(table, off, &start, ret_end) &&
	       (start == off || start + 1 == off);
}

static bool symbol_is_function(const GElf_Sym *sym, const char *name, const struct table *table,
			       uint64_t off)
{
	uint64_t end;

	if (sym->st_shndx == SHN_UNDEF || name[0] == '\0')
		return false;
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return sym->st_size > 0 || fde_end(table, off, &end);
	case STT_NOTYPE:
		/* "$x" and the like mark kinds of bytes, ".L" is local to the assembler. */
		return name[0] != '$' && strncmp(name, ".L", 2) != 0 && fde_end(table, off, &end);
	default:
		return false;
	}
}

static int symbol_put(struct symbols *s, const struct symbol *symbol, const char *name)
{
	size_t len = strnlen(name, MANGLED_BYTES_MAX);
	int r = vec_reserve(&s->all, &s->cap, s->nr + 1, SYMBOLS_MAX);

	if (r == 0)
		r = vec_reserve(&s->names, &s->cap_names, s->nr_names + len + 1, NAMES_MAX_BYTES);
	if (r < 0)
		return r;
	s->all[s->nr] = *symbol;
	s->all[s->nr++].name = (uint32_t)s->nr_names;
	memcpy(s->names + s->nr_names, name, len);
	s->names[s->nr_names + len] = '\0';
	s->nr_names += len + 1;
	return 0;
}

int symbols_add_stub(struct symbols *s, uint64_t off, uint64_t bytes, const char *name)
{
	return symbol_put(s,
			  &(struct symbol){
				  .start = off,
				  .bytes = (uint32_t)bytes,
				  .rank = UINT16_MAX, /* a real symbol is better */
				  .has_size = true,
			  },
			  name);
}

static int symbols_add_one(struct symbols *s, const GElf_Sym *sym, const char *name,
			   const struct elf_file *file, const struct table *table)
{
	uint64_t off, end = 0, bytes;

	if (!elf_file_off_of(file, sym->st_value, &off) ||
	    !symbol_is_function(sym, name, table, off))
		return 0;
	bytes = sym->st_size;
	if (bytes == 0 && fde_end(table, off, &end))
		bytes = end - off;
	return symbol_put(s,
			  &(struct symbol){
				  .start = off,
				  .bytes = (uint32_t)MIN(bytes, (uint64_t)UINT32_MAX),
				  .rank = rank_of(sym, name),
				  .has_size = sym->st_size > 0,
			  },
			  name);
}

static int symbols_add_section(struct symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr,
			       const struct elf_file *file, const struct table *table)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t nr;

	if (!data || !data->d_buf || entry_bytes == 0)
		return 0;
	nr = MIN(data->d_size / entry_bytes, (size_t)INT32_MAX);
	for (size_t i = 0; i < nr; i++) {
		const char *name;
		GElf_Sym sym;
		int r;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_name == 0)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!name)
			continue;
		r = symbols_add_one(s, &sym, name, file, table);
		if (r == -E2BIG)
			return 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int symbols_add(struct symbols *s, const struct elf_file *source, const struct elf_file *file,
		const struct table *table)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(source->elf, scn));) {
		GElf_Shdr shdr;
		int r;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_size > SYMTAB_MAX_BYTES ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		r = symbols_add_section(s, source->elf, scn, &shdr, file, table);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Which of two symbols of one start tells more. */
static bool is_better(const struct symbol *a, const struct symbol *b, const char *names)
{
	size_t len_a, len_b;

	if (a->has_size != b->has_size)
		return a->has_size;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	len_a = strlen(names + a->name);
	len_b = strlen(names + b->name);
	return len_a != len_b ? len_a > len_b : strcmp(names + a->name, names + b->name) < 0;
}

/* By start, and of each start only the best. */
static int symbols_choose(struct symbols *s)
{
	AUTO_FREE struct sort_key *keys = calloc(2 * s->nr, sizeof(*keys));
	struct symbol *chosen = malloc(s->nr * sizeof(*chosen)), *shrunk;
	size_t nr = 0;

	if (!keys || !chosen) {
		free(chosen);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->nr; i++)
		keys[i] = (struct sort_key){.key = s->all[i].start, .index = (uint32_t)i};
	sort_keys(keys, keys + s->nr, s->nr);
	for (size_t i = 0; i < s->nr; i++) {
		const struct symbol *symbol = &s->all[keys[i].index];

		if (nr == 0 || symbol->start != chosen[nr - 1].start)
			chosen[nr++] = *symbol;
		else if (is_better(symbol, &chosen[nr - 1], s->names))
			chosen[nr - 1] = *symbol;
	}
	shrunk = realloc(chosen, nr * sizeof(*chosen));
	free(s->all);
	s->all = shrunk ? shrunk : chosen;
	s->nr = s->cap = nr;
	return 0;
}

/* Keep only the names that are in use. */
static int symbols_keep_names(struct symbols *s)
{
	size_t bytes = 0, at = 0;
	char *names;

	for (size_t i = 0; i < s->nr; i++)
		bytes += strlen(s->names + s->all[i].name) + 1;
	names = malloc(bytes);
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr; i++) {
		size_t len = strlen(s->names + s->all[i].name) + 1;

		memcpy(names + at, s->names + s->all[i].name, len);
		s->all[i].name = (uint32_t)at;
		at += len;
	}
	free(s->names);
	s->names = names;
	s->nr_names = s->cap_names = bytes;
	return 0;
}

static uint64_t symbol_end(const struct symbol *symbol)
{
	return symbol->start + symbol->bytes;
}

int symbols_finish(struct symbols *s)
{
	int r;

	if (s->nr == 0)
		return 0;
	r = symbols_choose(s);
	if (r == 0)
		r = symbols_keep_names(s);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t outer = i > 0 ? i - 1 : NO_SYMBOL;

		while (outer != NO_SYMBOL && symbol_end(&s->all[outer]) <= symbol_end(&s->all[i]))
			outer = s->all[outer].outer;
		s->all[i].outer = outer;
	}
	return 0;
}

const char *symbols_find(const struct symbols *s, uint64_t off, struct symbols_place *ret)
{
	size_t low = 0, high = s->nr;
	uint32_t at;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->all[mid].start <= off)
			low = mid + 1;
		else
			high = mid;
	}
	at = low > 0 ? (uint32_t)low - 1 : NO_SYMBOL;
	/* Another offset up to the next start begins its search here too. */
	*ret = (struct symbols_place){.last = low < s->nr ? s->all[low].start - 1 : UINT64_MAX};
	for (int i = 0; at != NO_SYMBOL; i++) {
		const struct symbol *symbol = &s->all[at];

		if (off < symbol_end(symbol)) {
			ret->start = symbol->start;
			ret->from = MAX(ret->from, symbol->start);
			ret->last = MIN(ret->last, symbol_end(symbol) - 1);
			return s->names + symbol->name;
		}
		if (i == CHAIN_MAX) {
			ret->from = ret->last = off;
			return NULL;
		}
		ret->from = symbol_end(symbol);
		at = symbol->outer;
	}
	return NULL;
}
