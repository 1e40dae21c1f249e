/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening and searching an unwind table. The blob comes from a helper process
 * that parsed hostile files, so table_open believes nothing: after it, every
 * index that a search can follow lies inside the blob. Knows no CFI.
 *
 * Example: the rule of file offset 0x1429 in a table with base 0x1000.
 *
 *	rel = 0x429	page 1, offset 0x29 in it
 *	page[1] = 3, page[2] = 6: rows 3, 4, 5 begin in page 1
 *	row[3] = {0x000, rule 2}, row[4] = {0x020, rule 0}, row[5] = {0x02c, rule 1}
 *	the last that begins at or before 0x29: row[4], rule[0] = sp + 8, ra at CFA - 8
 *	(had row[3] begun after 0x29, row[2] of an earlier page would still hold)
 *	kept as a word in recent[0x1429 & mask]: plain, CFA distance 8, tag 0x14 + 1
 */
#include "config.h"

#include "unwind/table.h"

#include "src/base/util.h"
#include "unwind/table_format.h"
#include "unwind/unwind.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* What table_remember takes: a word for every 16 rows, 2 KB to 128 KB. */
#define RECENT_SHARE_BITS 4
#define RECENT_BITS_MIN	  WORD_OFF_BITS
#define RECENT_BITS_MAX	  14

/* Sizes are summed in 64 bits; each factor is below 2^33, so nothing wraps. */
static int table_layout(const struct table_header *h, size_t len, struct table *ret)
{
	const uint8_t *p = (const uint8_t *)h;
	uint64_t pages = sizeof(*h);
	uint64_t rows = pages + ((uint64_t)h->nr_pages + 1) * sizeof(uint32_t);
	uint64_t rules = align_up(rows + (uint64_t)h->nr_rows * sizeof(uint32_t), 16);
	uint64_t saved = rules + (uint64_t)h->nr_rules * sizeof(struct table_rule);
	uint64_t funcs = saved + (uint64_t)h->nr_rules * TABLE_SAVED_REGS;
	uint64_t aux = funcs + (uint64_t)h->nr_funcs * sizeof(uint64_t);

	if (h->aux_bytes > len || h->bytes != len || aux + h->aux_bytes != len)
		return -EBADMSG;
	assert(rules % 16 == 0 && funcs % sizeof(uint64_t) == 0 && aux <= len);
	ret->base = h->base;
	ret->span = h->end - h->base;
	ret->machine = h->machine;
	ret->header = h;
	ret->pages = (const void *)(p + pages);
	ret->rows = (const void *)(p + rows);
	ret->rules = (const void *)(p + rules);
	ret->saved = p + saved;
	ret->funcs = (const void *)(p + funcs);
	ret->aux = p + aux;
	return 0;
}

static int header_check(const struct table_header *h)
{
	if (h->magic != TABLE_MAGIC || h->version != TABLE_VERSION)
		return -EBADMSG;
	if (h->machine == TABLE_MACHINE_NONE || h->machine >= TABLE_MACHINE_COUNT)
		return -EBADMSG;
	if (h->base % TABLE_PAGE_BYTES || h->end < h->base || h->end > TABLE_FUNC_START_MAX)
		return -EBADMSG;
	if (h->nr_pages != (h->end - h->base + TABLE_PAGE_BYTES - 1) / TABLE_PAGE_BYTES)
		return -EBADMSG;
	if (h->nr_rules > TABLE_RULES_MAX || (h->nr_pages && !h->nr_rows))
		return -EBADMSG;
	return 0;
}

static int rows_check(const struct table *t)
{
	const struct table_header *h = t->header;
	uint32_t next = 0;

	if (t->pages[0] != 0 || t->pages[h->nr_pages] != h->nr_rows)
		return -EBADMSG;
	for (uint32_t page = 0; page < h->nr_pages; page++) {
		uint32_t last = 0;

		if (t->pages[page + 1] < next || t->pages[page + 1] > h->nr_rows)
			return -EBADMSG;
		for (; next < t->pages[page + 1]; next++) {
			uint32_t at = t->rows[next] >> TABLE_RULE_BITS;

			if (next == 0 ? at != 0 : next > t->pages[page] && at <= last)
				return -EBADMSG;
			if (at >= TABLE_PAGE_BYTES ||
			    (t->rows[next] & TABLE_RULE_MASK) >= h->nr_rules)
				return -EBADMSG;
			last = at;
		}
		if (page == 0 && next == 0)
			return -EBADMSG;
	}
	assert(next == h->nr_rows);
	return 0;
}

static int rules_check(const struct table *t)
{
	for (uint32_t i = 0; i < t->header->nr_rules; i++) {
		const struct table_rule *rule = &t->rules[i];

		if (rule->cfa_op >= RULE_CFA_COUNT || rule->fp_op >= RULE_FP_COUNT ||
		    rule->ra_op >= RULE_RA_COUNT)
			return -EBADMSG;
		if ((rule->cfa_op == RULE_CFA_REG || rule->cfa_op == RULE_CFA_ELSEWHERE) &&
		    rule->cfa_reg >= UNWIND_REGS_MAX)
			return -EBADMSG;
		if (rule->fp_op == RULE_FP_REG && (uint32_t)rule->fp_off >= UNWIND_REGS_MAX)
			return -EBADMSG;
		if (rule->ra_op == RULE_RA_REG && (uint32_t)rule->x >= UNWIND_REGS_MAX)
			return -EBADMSG;
		if (rule->cfa_op == RULE_CFA_SLOW &&
		    (rule->x < 0 || rule->cfa_off < 0 ||
		     (uint64_t)rule->x + (uint64_t)rule->cfa_off > t->header->aux_bytes))
			return -EBADMSG;
	}
	return 0;
}

static int funcs_check(const struct table *t)
{
	for (uint32_t i = 1; i < t->header->nr_funcs; i++)
		if (t->funcs[i - 1] >> TABLE_FUNC_LEN_BITS >= t->funcs[i] >> TABLE_FUNC_LEN_BITS)
			return -EBADMSG;
	return 0;
}

int table_open(const void *blob, size_t len, struct table *ret)
{
	struct table table = {0};

	if (len < sizeof(struct table_header) || len > TABLE_BYTES_MAX || (uintptr_t)blob % 16)
		return -EBADMSG;
	if (header_check(blob) < 0 || table_layout(blob, len, &table) < 0 ||
	    rows_check(&table) < 0 || rules_check(&table) < 0 || funcs_check(&table) < 0)
		return -EBADMSG;
	*ret = table;
	return 0;
}

int table_remember(struct table *table)
{
	unsigned int bits = RECENT_BITS_MIN;

	assert(!table->recent);
	while (bits < RECENT_BITS_MAX && table->header->nr_rows >> (bits + RECENT_SHARE_BITS))
		bits++;
	table->recent = calloc((size_t)1 << bits, sizeof(*table->recent));
	table->recent_mask = (1ull << bits) - 1;
	return table->recent ? 0 : -ENOMEM;
}

static uint64_t word_of_rule(const struct table_rule *rule, uint64_t index)
{
	uint64_t word = index << WORD_RULE_SHIFT;
	uint32_t cfa = (uint32_t)rule->cfa_off;
	uint32_t fp = rule->fp_op ? -(uint32_t)rule->fp_off - 8 : 0;

	if (!rule_is_plain(rule) || (cfa & ~WORD_CFA_MASK) || (fp & ~WORD_FP_MASK))
		return word | WORD_CFA_BY_FP; /* no word is 0 */
	assert((cfa & (WORD_PLAIN | WORD_CFA_BY_FP | WORD_FP_SAVED)) == 0);
	return word | fp << WORD_FP_SHIFT | cfa | (rule->fp_op ? WORD_FP_SAVED : 0u) |
	       (rule->cfa_op ? WORD_CFA_BY_FP : 0u) | WORD_PLAIN;
}

const uint32_t *table_row_search(const uint32_t *first, uint32_t nr, uint32_t end)
{
	while (nr > 0) {
		uint32_t half = (nr + 1) >> 1;

		first += first[half - 1] < end ? half : 0;
		nr -= half;
	}
	return first - 1;
}

uint64_t table_word_find(const struct table *table, uint64_t off)
{
	const uint32_t *row = table_row(table, off);
	uint64_t tag = word_tag(off), index, word;

	if (!row)
		return 0;
	index = *row & TABLE_RULE_MASK;
	assert(index < table->header->nr_rules);
	word = word_of_rule(&table->rules[index], index);
	if (tag <= WORD_TAG_MAX)
		table->recent[off & table->recent_mask] = word | tag << WORD_TAG_SHIFT;
	return word;
}

void table_remember_code(const struct table *table, uint64_t off, const struct plain_step *step)
{
	uint64_t tag = word_tag(off), word = (uint64_t)WORD_RULE_CODE << WORD_RULE_SHIFT;

	if (!table->recent || tag > WORD_TAG_MAX || (step->cfa_bytes & ~WORD_CFA_MASK) ||
	    (step->fp_bytes & ~WORD_FP_MASK))
		return;
	word |= step->cfa_bytes | step->fp_bytes << WORD_FP_SHIFT | WORD_PLAIN |
		(step->is_fp_saved ? WORD_FP_SAVED : 0u) |
		(step->is_cfa_by_fp ? WORD_CFA_BY_FP : 0u);
	table->recent[off & table->recent_mask] = word | tag << WORD_TAG_SHIFT;
}

void table_forget(struct table *table)
{
	free(table->recent);
	table->recent = NULL;
}

uint64_t table_nr_rows(const struct table *table)
{
	return table->header->nr_rows;
}

const struct table_rule *table_find(const struct table *table, uint64_t off)
{
	const struct table_rule *rule = table_rule_at(table, off);

	return rule && rule->cfa_op != RULE_CFA_GAP ? rule : NULL;
}

bool table_func_of(const struct table *table, uint64_t off, uint64_t *ret_start, uint64_t *ret_end)
{
	const uint64_t *func = table->funcs;
	uint64_t start, bytes, end;

	func += search_first(table->header->nr_funcs, i, func[i] >> TABLE_FUNC_LEN_BITS > off);
	if (func == table->funcs)
		return false;
	start = func[-1] >> TABLE_FUNC_LEN_BITS;
	bytes = func[-1] & TABLE_FUNC_LEN_MAX;
	end = start + bytes;
	if (bytes == TABLE_FUNC_LEN_MAX) /* longer than its field: up to the next one */
		end = func < table->funcs + table->header->nr_funcs ? *func >> TABLE_FUNC_LEN_BITS
								    : table->header->end;
	if (off >= end)
		return false;
	assert(start <= off);
	*ret_start = start;
	*ret_end = end;
	return true;
}

bool table_is_start(const struct table *table, uint64_t off)
{
	const uint32_t *starts = table->header->starts;
	uint64_t start, end;

	if (starts[0] == 0 && starts[1] == 0)
		return false;
	if (!table_func_of(table, off, &start, &end)) { /* no FDE: only the call itself is known */
		start = off + 1;
		end = off + 2;
	}
	for (unsigned int i = 0; i < TABLE_STARTS; i++)
		if (starts[i] && table->base + starts[i] - start < end - start)
			return true;
	return false;
}
