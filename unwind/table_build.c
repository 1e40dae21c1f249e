/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Laying out an unwind table: see table_build.h. Rules are interned while rows
 * come in; at the end they are numbered by how often they are used, so that
 * the rules of most frames share a few cache lines.
 */
#include "config.h"

#include "unwind/table_build.h"

#include "src/base/cleanup.h"
#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX      (TABLE_BYTES_MAX / sizeof(uint32_t))
#define FUNCS_MAX     (TABLE_BYTES_MAX / sizeof(uint64_t))
#define AUX_BYTES_MAX (16u << 20)

struct table_builder {
	enum table_machine machine;
	uint64_t base, end;
	uint32_t *pages;
	size_t nr_pages, next_page; /* pages[0 .. next_page) are set */
	uint32_t *rows;
	size_t nr_rows, cap_rows;
	uint64_t last_off; /* of the last row */
	uint64_t *funcs;
	size_t nr_funcs, cap_funcs;
	struct build_rule *rules;
	size_t nr_rules, cap_rules;
	struct u64map rule_of; /* by hash */
	uint8_t *aux;
	size_t nr_aux, cap_aux;
	uint32_t starts[TABLE_STARTS]; /* as in the header */
};

int table_builder_new(enum table_machine machine, uint64_t first, uint64_t end,
		      struct table_builder **ret)
{
	uint64_t base = first & ~(uint64_t)(TABLE_PAGE_BYTES - 1);
	uint64_t nr_pages = (end - base + TABLE_PAGE_BYTES - 1) / TABLE_PAGE_BYTES;
	const struct build_rule gap = {.rule.cfa_op = RULE_CFA_GAP};
	struct table_builder *b;
	int r;

	if (end < first || end > TABLE_FUNC_START_MAX ||
	    nr_pages >= TABLE_BYTES_MAX / sizeof(uint32_t))
		return -E2BIG;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->machine = machine;
	b->base = base;
	b->end = end;
	b->nr_pages = nr_pages;
	b->pages = calloc(nr_pages + 1, sizeof(*b->pages));
	r = b->pages ? table_builder_rule(b, &gap, NULL, 0) : -ENOMEM;
	if (r == 0 && nr_pages)
		r = table_builder_row(b, base, 0);
	if (r < 0) {
		table_builder_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

struct table_builder *table_builder_free(struct table_builder *b)
{
	if (!b)
		return NULL;
	free(b->pages);
	free(b->rows);
	free(b->funcs);
	free(b->rules);
	free(b->aux);
	u64map_done(&b->rule_of);
	free(b);
	return NULL;
}

static bool rule_equals(const struct table_builder *b, const struct build_rule *have,
			const struct build_rule *want, const void *aux, size_t aux_bytes)
{
	if (want->rule.cfa_op != RULE_CFA_SLOW)
		return memcmp(have, want, sizeof(*want)) == 0;
	return have->rule.cfa_op == RULE_CFA_SLOW && (size_t)have->rule.cfa_off == aux_bytes &&
	       memcmp(b->aux + have->rule.x, aux, aux_bytes) == 0 &&
	       memcmp(have->saved, want->saved, sizeof(want->saved)) == 0;
}

static uint64_t rule_hash(const struct build_rule *rule, const void *aux, size_t aux_bytes)
{
	uint64_t words[3], hash;

	_Static_assert(sizeof(words) == sizeof(*rule), "no padding to hash");
	memcpy(words, rule, sizeof(words));
	hash = hash_u64(hash_u64(hash_u64(words[0]) + words[1]) + words[2]);
	return aux_bytes ? hash + hash_bytes(aux, aux_bytes) : hash;
}

static int aux_add(struct table_builder *b, const void *aux, size_t aux_bytes,
		   struct table_rule *rule)
{
	int r = vec_reserve(&b->aux, &b->cap_aux, b->nr_aux + aux_bytes, AUX_BYTES_MAX);

	if (r < 0)
		return r;
	memcpy(b->aux + b->nr_aux, aux, aux_bytes);
	rule->x = (int32_t)b->nr_aux;
	rule->cfa_off = (int32_t)aux_bytes;
	b->nr_aux += aux_bytes;
	return 0;
}

int table_builder_rule(struct table_builder *b, const struct build_rule *rule, const void *aux,
		       size_t aux_bytes)
{
	uint64_t hash = rule_hash(rule, aux, aux_bytes);
	struct build_rule new_rule = *rule;
	uint32_t id;
	int r = 0;

	while ((id = u64map_get(&b->rule_of, hash)) != U64MAP_NONE) {
		if (rule_equals(b, &b->rules[id], rule, aux, aux_bytes))
			return (int)id;
		hash++;
	}
	r = vec_reserve(&b->rules, &b->cap_rules, b->nr_rules + 1, TABLE_RULES_MAX);
	if (r == 0 && rule->rule.cfa_op == RULE_CFA_SLOW)
		r = aux_add(b, aux, aux_bytes, &new_rule.rule);
	if (r == 0)
		r = u64map_set(&b->rule_of, hash, (uint32_t)b->nr_rules);
	if (r < 0)
		return r;
	b->rules[b->nr_rules] = new_rule;
	return (int)b->nr_rules++;
}

int table_builder_row(struct table_builder *b, uint64_t off, uint32_t rule)
{
	size_t page = (off - b->base) >> TABLE_PAGE_BITS;
	uint32_t row = ((uint32_t)(off - b->base) & (TABLE_PAGE_BYTES - 1)) << TABLE_RULE_BITS;
	int r;

	assert(rule < b->nr_rules && off >= b->base && (b->nr_rows == 0 || off >= b->last_off));
	if (off >= b->end)
		return 0;
	if (b->nr_rows > 0 && off == b->last_off) {
		b->rows[b->nr_rows - 1] = row | rule;
		return 0;
	}
	if (b->nr_rows > 0 && (b->rows[b->nr_rows - 1] & TABLE_RULE_MASK) == rule)
		return 0;
	r = vec_reserve(&b->rows, &b->cap_rows, b->nr_rows + 1, ROWS_MAX);
	if (r < 0)
		return r;
	while (b->next_page <= page)
		b->pages[b->next_page++] = (uint32_t)b->nr_rows;
	b->rows[b->nr_rows++] = row | rule;
	b->last_off = off;
	return 0;
}

struct table_mark table_builder_mark(const struct table_builder *b)
{
	return (struct table_mark){
		.nr_rows = b->nr_rows,
		.nr_pages = b->next_page,
		.last_off = b->last_off,
		.last_row = b->nr_rows > 0 ? b->rows[b->nr_rows - 1] : 0,
	};
}

void table_builder_rewind(struct table_builder *b, const struct table_mark *mark)
{
	assert(mark->nr_rows <= b->nr_rows && mark->nr_pages <= b->next_page);
	b->nr_rows = mark->nr_rows;
	b->next_page = mark->nr_pages;
	b->last_off = mark->last_off;
	if (b->nr_rows > 0)
		b->rows[b->nr_rows - 1] = mark->last_row;
}

int table_builder_func(struct table_builder *b, uint64_t start, uint64_t end)
{
	uint64_t bytes = MIN(end - start, (uint64_t)TABLE_FUNC_LEN_MAX);
	int r = vec_reserve(&b->funcs, &b->cap_funcs, b->nr_funcs + 1, FUNCS_MAX);

	if (r < 0)
		return r;
	assert(start <= end && end <= b->end);
	assert(b->nr_funcs == 0 || b->funcs[b->nr_funcs - 1] >> TABLE_FUNC_LEN_BITS < start);
	b->funcs[b->nr_funcs++] = start << TABLE_FUNC_LEN_BITS | bytes;
	return 0;
}

struct rule_use {
	uint32_t id, uses;
};

static int rule_use_cmp(const void *a, const void *b)
{
	const struct rule_use *x = a, *y = b;

	if (x->uses != y->uses)
		return x->uses < y->uses ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Number the rules by use, most used first, drop the unused, and renumber the rows. */
static int rules_order(struct table_builder *b)
{
	AUTO_FREE struct rule_use *use = calloc(b->nr_rules, sizeof(*use));
	AUTO_FREE uint32_t *new_id = calloc(b->nr_rules, sizeof(*new_id));
	struct build_rule *ordered = calloc(b->nr_rules, sizeof(*ordered));
	size_t nr = 0;

	if (!use || !new_id || !ordered) {
		free(ordered);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->nr_rules; i++)
		use[i].id = (uint32_t)i;
	for (size_t i = 0; i < b->nr_rows; i++)
		use[b->rows[i] & TABLE_RULE_MASK].uses++;
	qsort(use, b->nr_rules, sizeof(*use), rule_use_cmp);
	for (; nr < b->nr_rules && use[nr].uses; nr++) {
		ordered[nr] = b->rules[use[nr].id];
		new_id[use[nr].id] = (uint32_t)nr;
	}
	for (size_t i = 0; i < b->nr_rows; i++)
		b->rows[i] = (b->rows[i] & ~TABLE_RULE_MASK) | new_id[b->rows[i] & TABLE_RULE_MASK];
	free(b->rules);
	b->rules = ordered;
	b->nr_rules = nr;
	return 0;
}

static uint8_t *put(uint8_t *p, const void *data, size_t len)
{
	if (len)
		memcpy(p, data, len);
	return p + len;
}

void table_builder_starts(struct table_builder *b, const uint64_t offs[TABLE_STARTS])
{
	for (unsigned int i = 0; i < TABLE_STARTS; i++)
		if (offs[i] > b->base && offs[i] - b->base <= UINT32_MAX)
			b->starts[i] = (uint32_t)(offs[i] - b->base);
}

int table_builder_finish(struct table_builder *b, void **ret_blob, size_t *ret_len)
{
	struct table_header h = {.magic = TABLE_MAGIC, .version = TABLE_VERSION};
	uint64_t rules_at, len;
	uint8_t *blob, *p;
	int r = rules_order(b);

	if (r < 0)
		return r;
	while (b->next_page <= b->nr_pages)
		b->pages[b->next_page++] = (uint32_t)b->nr_rows;
	assert(b->next_page == b->nr_pages + 1);
	rules_at = align_up(sizeof(h) + (b->nr_pages + 1 + b->nr_rows) * sizeof(uint32_t), 16);
	len = rules_at + b->nr_rules * sizeof(struct build_rule) + b->nr_funcs * sizeof(uint64_t) +
	      b->nr_aux;
	if (len > TABLE_BYTES_MAX)
		return -E2BIG;
	blob = aligned_alloc(64, align_up(len, 64));
	if (!blob)
		return -ENOMEM;
	h.machine = (uint16_t)b->machine;
	h.base = b->base;
	h.end = b->end;
	h.bytes = len;
	h.nr_pages = (uint32_t)b->nr_pages;
	h.nr_rows = (uint32_t)b->nr_rows;
	h.nr_rules = (uint32_t)b->nr_rules;
	h.nr_funcs = (uint32_t)b->nr_funcs;
	h.aux_bytes = b->nr_aux;
	memcpy(h.starts, b->starts, sizeof(h.starts));
	memset(blob, 0, align_up(len, 64));
	p = put(blob, &h, sizeof(h));
	p = put(p, b->pages, (b->nr_pages + 1) * sizeof(*b->pages));
	put(p, b->rows, b->nr_rows * sizeof(*b->rows));
	p = blob + rules_at;
	for (size_t i = 0; i < b->nr_rules; i++)
		p = put(p, &b->rules[i].rule, sizeof(b->rules[i].rule));
	for (size_t i = 0; i < b->nr_rules; i++)
		p = put(p, b->rules[i].saved, sizeof(b->rules[i].saved));
	p = put(p, b->funcs, b->nr_funcs * sizeof(*b->funcs));
	p = put(p, b->aux, b->nr_aux);
	assert(p == blob + len);
	*ret_blob = blob;
	*ret_len = len;
	return 0;
}
