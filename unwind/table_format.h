/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of an unwind table. Private to unwind/: the builder writes them,
 * table.c checks and searches them, the per-architecture steps read the rules.
 *
 *	header
 *	page[nr_pages + 1]	u32: index of the first row of each KiB of code
 *	row[nr_rows]		u32: offset in the page (10 bits), rule (21 bits)
 *	rule[nr_rules]		16 bytes
 *	saved[nr_rules][8]	s8: slots of callee-saved registers
 *	func[nr_funcs]		u64: start (40 bits), length (24 bits)
 *	aux[aux_bytes]		whole rows for the evaluator (slow_path.c)
 *
 * A row holds from its offset to the next row, across pages; where no FDE
 * covers the code, a row says so (RULE_CFA_GAP). The first row stands at the
 * first byte of page 0, so that a search always finds one.
 */
#ifndef ST_UNWIND_TABLE_FORMAT_H
#define ST_UNWIND_TABLE_FORMAT_H

#include "src/base/util.h"
#include "unwind/table.h"

#include <stdint.h>
#include <string.h>

#define TABLE_MAGIC   0x31627473u /* "stb1" */
#define TABLE_VERSION 1

#define TABLE_PAGE_BITS	 10
#define TABLE_PAGE_BYTES (1u << TABLE_PAGE_BITS)
#define TABLE_RULE_BITS	 21
#define TABLE_RULE_MASK	 ((1u << TABLE_RULE_BITS) - 1)
#define TABLE_RULES_MAX	 65535 /* one index more is WORD_RULE_CODE */
#define TABLE_SAVED_REGS 8
#define TABLE_STARTS	 2

#define TABLE_FUNC_LEN_BITS  24
#define TABLE_FUNC_LEN_MAX   ((1u << TABLE_FUNC_LEN_BITS) - 1) /* then: up to the next one */
#define TABLE_FUNC_START_MAX ((1ull << 40) - 1)

struct table_header {
	uint32_t magic;
	uint16_t version;
	uint16_t machine; /* enum table_machine */
	uint64_t base;	  /* file offset of page 0, a multiple of the page size */
	uint64_t end;	  /* file offset after the last covered byte */
	uint64_t bytes;	  /* of the whole blob */
	uint32_t nr_pages;
	uint32_t nr_rows;
	uint32_t nr_rules;
	uint32_t nr_funcs;
	uint64_t aux_bytes;
	/* just after the calls of main and of a thread's first function, from base; 0: none (starts.c) */
	uint32_t starts[TABLE_STARTS];
};
_Static_assert(sizeof(struct table_header) == 64, "one cache line");

/* How the canonical frame address (the caller's stack pointer) is found. */
enum rule_cfa {
	RULE_CFA_SP,	   /* sp + cfa_off */
	RULE_CFA_FP,	   /* fp + cfa_off */
	RULE_CFA_DEREF_SP, /* *(sp + cfa_off) + x */
	RULE_CFA_DEREF_FP, /* *(fp + cfa_off) + x */
	RULE_CFA_REG,	   /* register cfa_reg + cfa_off */
	RULE_CFA_PLT,	   /* sp + cfa_off + ((pc & 15) >= x ? one word : 0) */
	RULE_CFA_SIGNAL,   /* a signal frame of the psABI: every register from the ucontext */
	RULE_CFA_ROOT,	   /* the outermost function: it has no caller */
	RULE_CFA_GAP,	   /* no FDE covers this */
	RULE_CFA_SLOW,	   /* the whole row is in aux at x, cfa_off bytes long */
	/* on another stack than its caller, which is at register cfa_reg + cfa_off; 0: not known */
	RULE_CFA_ELSEWHERE,
	RULE_CFA_BAD, /* a row that cannot be right */
	RULE_CFA_COUNT,
};

/* What happens to the frame pointer. */
enum rule_fp {
	RULE_FP_SAME,  /* unchanged */
	RULE_FP_CFA,   /* saved at CFA + fp_off */
	RULE_FP_FP,    /* saved at fp + fp_off (realigned frames) */
	RULE_FP_REG,   /* in register fp_off */
	RULE_FP_UNDEF, /* lost */
	RULE_FP_COUNT,
};

/* Where the return address is. */
enum rule_ra {
	RULE_RA_BELOW, /* in the word just below the CFA */
	RULE_RA_CFA,   /* at CFA + x */
	RULE_RA_REG,   /* in register x */
	RULE_RA_PC,    /* pc + x */
	RULE_RA_NEXT,  /* there too, but it is where the caller goes on, not after a call */
	RULE_RA_COUNT,
};

struct table_rule {
	uint8_t cfa_op; /* enum rule_cfa */
	uint8_t cfa_reg;
	uint8_t fp_op; /* enum rule_fp */
	uint8_t ra_op; /* enum rule_ra */
	int32_t cfa_off;
	int32_t fp_off;
	int32_t x;
};
_Static_assert(sizeof(struct table_rule) == 16, "four rules per cache line");

/*
 * What nearly all rules are: the CFA by sp or fp, the return address just below
 * it, fp saved or not. Steps by them depend on pc, sp, fp and these words alone.
 */
static inline bool rule_is_plain(const struct table_rule *rule)
{
	_Static_assert((RULE_CFA_SP | RULE_FP_SAME) == 0 && (RULE_CFA_FP | RULE_FP_CFA) == 1,
		       "compared as one");
	return (rule->cfa_op | rule->fp_op) <= 1 && rule->ra_op == RULE_RA_BELOW;
}

/* saved[]: words from the CFA (or as the machine's file says), or one of these. */
#define SAVED_SAME INT8_MAX /* the register still holds the caller's value */
#define SAVED_LOST INT8_MIN /* not expressible in a byte */

#define TABLE_SCAN_ROWS 64 /* more in one page are searched: hand-made code may have a row a byte */

typedef int32_t table_lanes __attribute__((vector_size(16)));

/* The last of the NR rows from FIRST on that is less than END. */
const uint32_t *table_row_search(const uint32_t *first, uint32_t nr, uint32_t end);

/*
 * The row of file offset OFF, for table_find and what needs to know where a gap
 * begins. Counts the rows of the page that begin at OFF or before, four at a
 * time: a page has some 16, and a binary search waits for each of its loads.
 */
static inline const uint32_t *table_row(const struct table *table, uint64_t off)
{
	uint64_t rel = off - table->base;
	table_lanes end, row, left = {0, -1, -2, -3}, count = {0};
	const uint32_t *page, *first;
	int32_t nr;

	if (rel >= table->span)
		return NULL;
	page = &table->pages[rel >> TABLE_PAGE_BITS];
	first = table->rows + page[0];
	nr = (int32_t)(page[1] - page[0]);
	end = (table_lanes){0} +
	      (int32_t)((rel & (TABLE_PAGE_BYTES - 1)) << TABLE_RULE_BITS | TABLE_RULE_MASK);
	if (unlikely(nr > TABLE_SCAN_ROWS))
		return table_row_search(first, (uint32_t)nr, (uint32_t)end[0]);
	left += nr;
	for (int32_t i = 0; i < nr; i += 4, left -= 4) {
		memcpy(&row, first + i, sizeof(row)); /* may reach into the rules: they follow */
		count -= (row < end) & (left > 0);
	}
	return first + (count[0] + count[1] + count[2] + count[3]) - 1;
}

/* As table_find, but a gap is a rule like another; NULL outside the table. */
static inline const struct table_rule *table_rule_at(const struct table *table, uint64_t off)
{
	const uint32_t *row = table_row(table, off);

	return row ? &table->rules[*row & TABLE_RULE_MASK] : NULL;
}

/*
 * What the table remembers of a rule, in one word: a step by a plain one needs no
 * look at the rule itself, which would be one more load to wait for. From the
 * lowest bit: three flags; how far the CFA is from its register, and the saved fp
 * below the return address (both multiples of 8); the rule's index; and the tag:
 * the offset without its lowest bits, which recent[] is indexed by, plus one.
 */
#define WORD_PLAIN	1u /* the rule is plain, and its distances are here */
#define WORD_CFA_BY_FP	2u
#define WORD_FP_SAVED	4u
#define WORD_CFA_MASK	0x7ff8u
#define WORD_FP_SHIFT	12
#define WORD_FP_MASK	0xf8u /* after that shift */
#define WORD_RULE_SHIFT 20
#define WORD_RULE_MASK	0xffffu
#define WORD_TAG_SHIFT	36
#define WORD_TAG_MAX	((1u << (64 - WORD_TAG_SHIFT)) - 1)
#define WORD_OFF_BITS	8
#define WORD_RULE_CODE \
	WORD_RULE_MASK /* in the place of an index: the code itself says so, no CFI does */
_Static_assert(TABLE_RULES_MAX == WORD_RULE_CODE, "an index has its place");

/* What the word says was found in the code: what it leads to has to be proven to be a return address. */
static inline bool word_is_of_code(uint64_t word)
{
	return (word >> WORD_RULE_SHIFT & WORD_RULE_MASK) == WORD_RULE_CODE;
}

/* How far below the return address fp is saved; 0 if it is not. */
static inline uint32_t word_fp_bytes(uint64_t word)
{
	return (uint32_t)(word >> WORD_FP_SHIFT) & WORD_FP_MASK;
}

static inline uint64_t word_tag(uint64_t off)
{
	return (off >> WORD_OFF_BITS) + 1;
}

/* The word of OFF from the rows, remembered; 0: OFF is outside the table. */
uint64_t table_word_find(const struct table *table, uint64_t off);

static inline uint64_t table_word(const struct table *table, uint64_t off)
{
	uint64_t word = table->recent[off & table->recent_mask];

	return likely(word >> WORD_TAG_SHIFT == word_tag(off)) ? word : table_word_find(table, off);
}

/* How code that no CFI describes leaves its frame: the CFA is sp, or fp, plus CFA_BYTES, the return address just below it. */
struct plain_step {
	uint32_t cfa_bytes;
	bool is_cfa_by_fp;
	bool is_fp_saved;
	uint32_t fp_bytes; /* below the return address */
};

/* Remember that the code at OFF does so, if a word can say it. */
void table_remember_code(const struct table *table, uint64_t off, const struct plain_step *step);

/* As table_rule_at, by what the table remembers. */
static inline const struct table_rule *table_rule_recent(const struct table *table, uint64_t off)
{
	uint64_t word;

	if (unlikely(!table->recent))
		return table_rule_at(table, off);
	word = table_word(table, off);
	return word && !word_is_of_code(word)
		       ? &table->rules[word >> WORD_RULE_SHIFT & WORD_RULE_MASK]
		       : NULL;
}

static inline const int8_t *table_saved(const struct table *table, const struct table_rule *rule)
{
	return (const int8_t *)table->saved + (rule - table->rules) * TABLE_SAVED_REGS;
}

#endif
