/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What following code needs on every machine: its bytes, values of registers by what they were at the first
 * instruction, and which instructions a search has come to. Private to code_rules.c, code_way.c and code_rules_aarch64.c.
 */
#ifndef ST_UNWIND_CODE_FOLLOW_H
#define ST_UNWIND_CODE_FOLLOW_H

#include "unwind/code_pieces.h"

#include <string.h>

#define FOLLOW_INSNS_MAX  4096u /* that are followed from one place */
#define FOLLOW_BRANCHES	  192u	/* that wait to be followed */
#define FOLLOW_PROBES	  8u
#define FOLLOW_WINDOW	  64u /* bytes fetched at once */
#define FOLLOW_OFFSET_MAX (1 << 26)
#define FOLLOW_LOADS_MAX  2 /* a saved fp that leads to another */

/*
 * What a register holds: that of the register BASE at the first instruction, plus off[0]; after
 * each of NR_LOADS loads the word in memory there, plus the next off. BASE 0: not known.
 */
struct value {
	uint8_t base, nr_loads;
	int32_t off[FOLLOW_LOADS_MAX + 1];
};

static inline struct value value_moved(struct value value, int64_t by)
{
	int64_t off = value.off[value.nr_loads] + by;

	if (!value.base || off > FOLLOW_OFFSET_MAX || off < -FOLLOW_OFFSET_MAX)
		return (struct value){0};
	value.off[value.nr_loads] = (int32_t)off;
	return value;
}

static inline struct value value_loaded(struct value value)
{
	if (!value.base || value.nr_loads == FOLLOW_LOADS_MAX)
		return (struct value){0};
	value.nr_loads++;
	return value;
}

static inline bool value_is_equal(const struct value *a, const struct value *b)
{
	return a->base == b->base && a->nr_loads == b->nr_loads &&
	       memcmp(a->off, b->off, (a->nr_loads + 1) * sizeof(a->off[0])) == 0;
}

/* Is it what register BASE was at the first instruction? */
static inline bool value_is_first(const struct value *value, unsigned int base)
{
	return value->base == base && value->nr_loads == 0 && value->off[0] == 0;
}

static inline struct code_place value_place(const struct value *value, enum code_base base)
{
	return (struct code_place){
		.base = (uint8_t)base,
		.nr_loads = value->nr_loads,
		.off = {value->off[0], value->off[1], value->off[2]},
	};
}

/* The code that a search goes through. */
struct follow_code {
	struct unwind_code *code;
	const struct unwind_space *space;
	bool is_pending; /* bytes that are still to come were in the way */
	uint8_t window[FOLLOW_WINDOW];
	uint64_t window_at;
	size_t window_bytes;
};

/* The bytes at PC; *RET_LEFT is how many: LEAST or more, unless there are no more. */
static inline const uint8_t *follow_fetch(struct follow_code *c, uint64_t pc, size_t least,
					  size_t *ret_left)
{
	uint64_t at = pc - c->window_at;

	if (at >= c->window_bytes || c->window_bytes - at < least) {
		c->window_bytes = code_fetch(c->code, c->space, pc, c->window, sizeof(c->window),
					     &c->is_pending);
		c->window_at = pc;
		at = 0;
	}
	*ret_left = c->window_bytes - at;
	return c->window + at;
}

/* Has the search of BUDGET come to PC before? Full as the table may be, ways end where instructions run out. */
static inline bool follow_has_been_at(struct code_budget *budget, uint64_t pc)
{
	uint64_t line = pc / CODE_SEEN_BYTES, bit = 1ull << pc % CODE_SEEN_BYTES;
	uint64_t key = line << 16 | budget->nr_searches, i = hash_u64(line);

	for (unsigned int n = 0; n < FOLLOW_PROBES; n++, i++) {
		uint64_t *seen = &budget->seen[i % CODE_SEEN].insns, before;

		if (budget->seen[i % CODE_SEEN].key == key) {
			before = *seen;
			*seen |= bit;
			return before & bit;
		}
		if ((budget->seen[i % CODE_SEEN].key & UINT16_MAX) != budget->nr_searches) {
			budget->seen[i % CODE_SEEN].key = key;
			*seen = bit;
			return false;
		}
	}
	return false;
}

/* All that was seen was seen in other searches. */
static inline void follow_begin(struct code_budget *budget)
{
	if (++budget->nr_searches == 0) {
		memset(budget->seen, 0, sizeof(budget->seen));
		budget->nr_searches = 1;
	}
}

#endif
