/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two sorted arrays: the code that is there, in which nothing overlaps, and what was there before, as much of
 * it as may still be asked for. Names are one text without an index: half a million of them take what
 * their bytes take. Behind the name of code with a record stands that.
 */
#include "config.h"

#include "src/loader/jit_code.h"

#include "src/base/cleanup.h"
#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDR_MASK  ((1ull << JIT_EPOCH_SHIFT) - 1)
#define ADDR_MAX   (1ull << 47)
#define PIECE_MAX  (64u << 20) /* no function is larger */
#define GONE_MAX   65536u
#define STEPS_BACK 256 /* pieces that are gone, or only noted, may overlap: so many are looked at */

struct piece {
	uint64_t start; /* and above it the epoch since which it is there */
	uint32_t bytes : 31, has_record : 1;
	uint32_t name; /* in the text; a later one is of a newer piece */
};

struct gone {
	struct piece piece;
	uint16_t until; /* the epoch in which it is not there any more */
};

struct jit_code {
	struct piece *live, *noted;
	size_t nr_live, cap_live, nr_noted, cap_noted;
	struct u64map noted_at; /* of the first NR_INDEXED noted, the newest at each start */
	size_t nr_indexed;
	struct gone *gone;
	size_t nr_gone, cap_gone;
	char *text;
	size_t nr_text, cap_text;
	size_t unused; /* bytes of the text that no piece needs any more */
	uint64_t left_out;
};

static uint64_t addr_of(const struct piece *piece)
{
	return piece->start & ADDR_MASK;
}

static uint64_t end_of(const struct piece *piece)
{
	return addr_of(piece) + piece->bytes;
}

static uint16_t since_of(const struct piece *piece)
{
	return (uint16_t)(piece->start >> JIT_EPOCH_SHIFT);
}

/* Epochs go round. */
static bool is_until(uint16_t epoch, uint16_t until)
{
	return (uint16_t)(until - epoch) < 0x8000;
}

struct jit_code *jit_code_new(void)
{
	return calloc(1, sizeof(struct jit_code));
}

struct jit_code *jit_code_free(struct jit_code *code)
{
	if (!code)
		return NULL;
	free(code->live);
	free(code->noted);
	u64map_done(&code->noted_at);
	free(code->gone);
	free(code->text);
	free(code);
	return NULL;
}

/* --- room for text --- */

/* What PIECE takes of TEXT. */
static size_t text_bytes(const char *text, const struct piece *piece)
{
	return strlen(text + piece->name) + 1 + (piece->has_record ? sizeof(uint64_t) : 0);
}

static uint64_t record_of(const char *text, const struct piece *piece)
{
	uint64_t record = 0;

	if (piece->has_record)
		memcpy(&record, text + piece->name + strlen(text + piece->name) + 1,
		       sizeof(record));
	return record;
}

static void move_text(char *to, size_t *nr, const char *from, struct piece *piece)
{
	size_t bytes = text_bytes(from, piece);

	memcpy(to + *nr, from + piece->name, bytes);
	piece->name = (uint32_t)*nr;
	*nr += bytes;
}

/* What no piece needs leaves the text. What was noted comes last, in its order: it is the newest. */
static void collect(struct jit_code *code)
{
	char *text = malloc(code->nr_text + 1);
	size_t nr = 0;

	if (!text)
		return;
	for (size_t i = 0; i < code->nr_gone; i++)
		move_text(text, &nr, code->text, &code->gone[i].piece);
	for (size_t i = 0; i < code->nr_live; i++)
		move_text(text, &nr, code->text, &code->live[i]);
	for (size_t i = 0; i < code->nr_noted; i++)
		move_text(text, &nr, code->text, &code->noted[i]);
	free(code->text);
	code->cap_text = code->nr_text + 1;
	code->text = text;
	code->nr_text = nr;
	code->unused = 0;
	vec_shrink(&code->text, &code->cap_text, code->nr_text);
}

/* The name of PIECE is not needed any more. */
static void drop_text(struct jit_code *code, const struct piece *piece)
{
	code->unused += text_bytes(code->text, piece);
}

static bool has_room(struct jit_code *code, size_t bytes)
{
	if (code->nr_live + code->nr_noted >= JIT_PIECES_MAX)
		return false;
	if (code->nr_text + bytes > JIT_TEXT_MAX && code->unused + code->nr_gone > 0) {
		code->nr_gone = 0;
		collect(code);
	}
	return vec_reserve(&code->text, &code->cap_text, code->nr_text + bytes, JIT_TEXT_MAX) ==
		       0 &&
	       vec_reserve(&code->noted, &code->cap_noted, code->nr_noted + 1, JIT_PIECES_MAX) == 0;
}

static void put_text(struct jit_code *code, const void *data, size_t bytes)
{
	memcpy(code->text + code->nr_text, data, bytes);
	code->nr_text += bytes;
}

bool jit_code_note(struct jit_code *code, uint64_t start, uint64_t bytes, const char *name,
		   size_t len, uint64_t record)
{
	len = MIN(strnlen(name, len), (size_t)JIT_NAME_MAX);
	if (start >= ADDR_MAX || bytes == 0 || bytes > PIECE_MAX ||
	    !has_room(code, len + 1 + sizeof(record))) {
		code->left_out++;
		return false;
	}
	code->noted[code->nr_noted++] = (struct piece){.start = start,
						       .bytes = (uint32_t)bytes & INT32_MAX,
						       .has_record = record != 0,
						       .name = (uint32_t)code->nr_text};
	put_text(code, name, len);
	put_text(code, "", 1);
	if (record)
		put_text(code, &record, sizeof(record));
	return true;
}

/* The newest piece noted since the last commit that begins at ADDR, however long ago; NULL: none. */
static const struct piece *find_noted_start(struct jit_code *code, uint64_t addr)
{
	uint32_t at;

	for (; code->nr_indexed < code->nr_noted; code->nr_indexed++)
		if (u64map_set(&code->noted_at, code->noted[code->nr_indexed].start,
			       (uint32_t)code->nr_indexed) < 0)
			return NULL;
	at = u64map_get(&code->noted_at, addr);
	return at == U64MAP_NONE ? NULL : &code->noted[at];
}

/*
 * Of what was noted since the last commit and holds at ADDR, the newest; NULL: nothing is noted there. Of what was
 * noted long ago only the start is looked for: that is where code is moved from.
 */
static const struct piece *find_noted(struct jit_code *code, uint64_t addr)
{
	size_t left = MIN(code->nr_noted, (size_t)STEPS_BACK);

	for (size_t i = code->nr_noted; left > 0; left--) {
		const struct piece *piece = &code->noted[--i];

		if (piece->start <= addr && addr < end_of(piece))
			return piece;
	}
	return code->nr_noted > STEPS_BACK ? find_noted_start(code, addr) : NULL;
}

static const struct piece *find_live(const struct jit_code *code, uint64_t addr)
{
	size_t at = search_first(code->nr_live, i, addr_of(&code->live[i]) > addr);

	return at > 0 && addr < end_of(&code->live[at - 1]) ? &code->live[at - 1] : NULL;
}

bool jit_code_note_move(struct jit_code *code, uint64_t from, uint64_t to, uint64_t bytes)
{
	const struct piece *piece = find_noted(code, from);
	char name[JIT_NAME_MAX + 1];
	uint64_t record;

	if (!piece)
		piece = find_live(code, from);
	if (!piece)
		return false;
	snprintf(name, sizeof(name), "%s", code->text + piece->name);
	record = record_of(code->text, piece);
	/* What stays behind is no code any more: a piece without a name. */
	return jit_code_note(code, from, bytes, "", 0, 0) &&
	       jit_code_note(code, to, bytes, name, strlen(name), record);
}

bool jit_code_replaces(const struct jit_code *code, uint64_t start, uint64_t bytes,
		       const char *name, size_t len)
{
	size_t at = search_first(code->nr_live, i, end_of(&code->live[i]) > start);
	const struct piece *piece = at < code->nr_live ? &code->live[at] : NULL;
	const char *text = piece ? code->text + piece->name : "";

	if (!piece || (addr_of(piece) >= start && addr_of(piece) - start >= bytes))
		return false;
	return addr_of(piece) != start || piece->bytes != bytes ||
	       strlen(text) != strnlen(name, len) || strncmp(text, name, len) != 0;
}

/* --- commit --- */

static int compare_noted(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Of what overlaps the newer one stays. */
static void untangle(struct jit_code *code)
{
	struct piece *all = code->noted;
	size_t nr = 0;

	if (code->nr_noted > 1)
		qsort(all, code->nr_noted, sizeof(*all), compare_noted);
	for (size_t i = 0; i < code->nr_noted; i++) {
		bool is_over = nr > 0 && addr_of(&all[i]) < end_of(&all[nr - 1]);

		if (is_over && all[nr - 1].name > all[i].name) {
			drop_text(code, &all[i]);
			continue;
		}
		if (is_over)
			drop_text(code, &all[nr - 1]);
		all[nr - is_over] = all[i];
		nr += !is_over;
	}
	code->nr_noted = nr;
}

static int compare_gone(const void *left, const void *right)
{
	uint64_t a = addr_of(&((const struct gone *)left)->piece),
		 b = addr_of(&((const struct gone *)right)->piece);

	return a < b ? -1 : a > b;
}

/* PIECE is not there from UNTIL on. Without room for it only late questions get no answer. */
static void bury(struct jit_code *code, const struct piece *piece, uint16_t until)
{
	if (vec_reserve(&code->gone, &code->cap_gone, code->nr_gone + 1, 2 * GONE_MAX) == 0)
		code->gone[code->nr_gone++] = (struct gone){.piece = *piece, .until = until};
	else
		drop_text(code, piece);
}

/* Forget those that went long ago, and put the others in order. */
static void order_gone(struct jit_code *code, uint16_t epoch)
{
	for (uint16_t age = 0x4000; code->nr_gone > GONE_MAX && age > 0; age /= 2) {
		size_t nr = 0;

		for (size_t i = 0; i < code->nr_gone; i++) {
			if ((uint16_t)(epoch + 1 - code->gone[i].until) < age)
				code->gone[nr++] = code->gone[i];
			else
				drop_text(code, &code->gone[i].piece);
		}
		code->nr_gone = nr;
	}
	while (code->nr_gone > GONE_MAX)
		drop_text(code, &code->gone[--code->nr_gone].piece);
	if (code->nr_gone > 1)
		qsort(code->gone, code->nr_gone, sizeof(*code->gone), compare_gone);
}

static bool is_same(const struct jit_code *code, const struct piece *a, const struct piece *b)
{
	return addr_of(a) == addr_of(b) && a->bytes == b->bytes &&
	       strcmp(code->text + a->name, code->text + b->name) == 0;
}

/*
 * The live pieces from *AT on that NEW overlaps are gone; those before it are kept in OUT. NEW
 * is there since then, if it is the same; what is told of it is the newest.
 */
static bool replace(struct jit_code *code, struct piece *new, size_t *at, struct piece *out,
		    size_t *nr_out, uint16_t epoch, bool is_all)
{
	bool has_gone = false;

	for (; *at < code->nr_live && addr_of(&code->live[*at]) < end_of(new); (*at)++) {
		const struct piece *old = &code->live[*at];
		bool is_before = end_of(old) <= addr_of(new);

		if (is_before && !is_all) {
			out[(*nr_out)++] = *old;
		} else if (!is_before && is_same(code, old, new)) {
			drop_text(code, old);
			new->start = old->start;
		} else {
			bury(code, old, (uint16_t)(epoch + 1));
			has_gone = true;
			if (!is_before)
				new->start = addr_of(new) | (uint64_t)(uint16_t)(epoch + 1)
								    << JIT_EPOCH_SHIFT;
		}
	}
	return has_gone;
}

bool jit_code_commit(struct jit_code *code, uint16_t epoch, bool is_all)
{
	size_t nr_out = 0, at = 0, nr_all;
	struct piece *out;
	bool has_gone = false;

	if (code->nr_noted == 0 && !(is_all && code->nr_live > 0))
		return false;
	u64map_done(&code->noted_at);
	code->nr_indexed = 0;
	untangle(code);
	nr_all = code->nr_live + code->nr_noted;
	out = malloc(nr_all * sizeof(*out));
	if (!out) {
		code->left_out += code->nr_noted;
		code->nr_noted = 0;
		return false;
	}
	for (size_t i = 0; i < code->nr_noted; i++) {
		struct piece new = code->noted[i];

		new.start |= (uint64_t)epoch << JIT_EPOCH_SHIFT;
		has_gone |= replace(code, &new, &at, out, &nr_out, epoch, is_all);
		out[nr_out++] = new;
	}
	for (; at < code->nr_live; at++) {
		if (is_all) {
			bury(code, &code->live[at], (uint16_t)(epoch + 1));
			has_gone = true;
		} else {
			out[nr_out++] = code->live[at];
		}
	}
	assert(nr_out <= nr_all);
	free(code->live);
	code->live = out;
	code->cap_live = nr_all;
	code->nr_live = nr_out;
	free(code->noted);
	code->noted = NULL;
	code->nr_noted = code->cap_noted = 0;
	vec_shrink(&code->live, &code->cap_live, code->nr_live);
	if (has_gone)
		order_gone(code, epoch);
	if (code->unused > code->nr_text / 2)
		collect(code);
	return has_gone;
}

/* --- looking up --- */

/* What was at ADDR in EPOCH, or came there first after it: that goes to *LATER, which is NULL or newer. */
static const struct piece *find_gone(const struct jit_code *code, uint64_t addr, uint16_t epoch,
				     const struct piece **later)
{
	size_t at = search_first(code->nr_gone, i, addr_of(&code->gone[i].piece) > addr);

	for (size_t left = STEPS_BACK; at-- > 0 && left > 0; left--) {
		const struct gone *gone = &code->gone[at];

		if (addr >= end_of(&gone->piece))
			continue;
		if (!is_until(since_of(&gone->piece), epoch)) {
			if (!*later || is_until(since_of(&gone->piece), since_of(*later)))
				*later = &gone->piece;
		} else if (!is_until(gone->until, epoch)) {
			return &gone->piece;
		}
	}
	return NULL;
}

bool jit_code_find(const struct jit_code *code, uint64_t off, struct jit_place *ret)
{
	uint64_t addr = off & ADDR_MASK, above = off & ~ADDR_MASK;
	uint16_t epoch = (uint16_t)(off >> JIT_EPOCH_SHIFT);
	const struct piece *piece = find_live(code, addr), *later = piece;
	bool is_gone = !piece || !is_until(since_of(piece), epoch);

	if (is_gone) {
		piece = find_gone(code, addr, epoch, &later);
		if (!piece)
			piece = later;
	}
	if (!piece || !code->text[piece->name])
		return false;
	/* Of what overlaps something else only this place is sure. */
	ret->from = is_gone ? off : above | addr_of(piece);
	ret->last = is_gone ? off : above | (end_of(piece) - 1);
	ret->name = code->text + piece->name;
	ret->start = addr_of(piece);
	ret->record = record_of(code->text, piece);
	return true;
}

uint32_t jit_code_count(const struct jit_code *code)
{
	return (uint32_t)code->nr_live;
}

uint64_t jit_code_left_out(const struct jit_code *code)
{
	return code->left_out;
}

size_t jit_code_bytes(const struct jit_code *code)
{
	return sizeof(*code) + code->cap_live * sizeof(*code->live) +
	       code->cap_noted * sizeof(*code->noted) + code->cap_gone * sizeof(*code->gone) +
	       code->noted_at.nr_slots * sizeof(*code->noted_at.slots) +
	       code->nr_text; /* what is reserved beyond it has no memory yet */
}
