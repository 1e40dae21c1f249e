/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two walks over the entries of a unit: see debug_scopes.h. */
#include "config.h"

#include "src/loader/debug_scopes.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define FUNCS_MAX	 (1u << 20) /* of one unit */
#define LEVELS_MAX	 128	    /* of entries within entries, of a function */
#define ENTRIES_PER_LOOK 1024u	    /* at the deadline */

#define BYTES_PER_PASS 4096 /* up to ENTRIES_PER_LOOK of them to a look at the deadline */
#define CODE_BYTES     2    /* of nearly all abbreviations */

#define TAG(name)   (1ull << DW_TAG_##name)
#define FUNC_TAGS   (TAG(subprogram) | TAG(namespace) | TAG(module))
#define BLOCK_TAGS  (TAG(lexical_block) | TAG(try_block) | TAG(catch_block) | TAG(with_stmt))
#define INSIDE_TAGS (TAG(inlined_subroutine) | BLOCK_TAGS)

/* --- walking --- */

/* Over entries in the order of the file. */
struct walk {
	const struct debug_unit *unit;
	struct reader r;
	const uint8_t *start;	 /* of the unit */
	uint64_t wanted;	 /* the tags of entries that are looked for, a bit for each */
	bool is_deep;		 /* children of others are walked over too */
	unsigned int level;	 /* how many of the entries around are open */
	unsigned int skip_level; /* from here on all are passed; 0: not now */
	uint32_t nr_entries;
	/* the present entry: its offset in the unit, where its attributes are, what follows its children */
	uint32_t off;
	const struct debug_abbrev *abbrev;
	struct reader attrs;
	uint64_t sibling;
};

static int walk_begin(struct walk *w, const struct debug_unit *unit, uint64_t off, uint64_t wanted)
{
	*w = (struct walk){.unit = unit, .r = debug_unit_reader(unit, off), .wanted = wanted};
	w->start = w->r.bad ? NULL : w->r.p - (off - unit->off);
	return w->r.bad ? -EBADMSG : 0;
}

/* Behind the attributes at P of an entry like ABBREV; NULL: they are damaged. *SIBLING as in debug_skip_attrs(). */
static const uint8_t *attrs_end(const struct walk *w, const struct debug_abbrev *abbrev,
				const uint8_t *p, uint64_t *sibling)
{
	struct reader r = {.p = p, .end = w->r.end, .swap = w->r.swap};

	debug_skip_attrs(w->unit->abbrevs, abbrev, &r, sibling);
	return r.bad ? NULL : r.p;
}

/* What stands in the present entry is not wanted, up to where its children end. */
static void walk_skip(struct walk *w)
{
	if (w->skip_level == 0)
		w->skip_level = w->level;
}

/* The children of one entry are done. */
static void walk_up(struct walk *w)
{
	if (--w->level < w->skip_level)
		w->skip_level = 0;
}

/* Is SIBLING behind P, and in the unit? Only forward, so that there is an end. */
static bool is_ahead(const struct walk *w, uint64_t sibling, const uint8_t *p)
{
	return sibling > (uint64_t)(p - w->start) && sibling < (uint64_t)(w->r.end - w->start);
}

/*
 * From P on over entries of which none is looked for, as long as they are easy and far from the end: where there are no
 * siblings these are nearly all of a unit. Returns where the next one is.
 */
static const uint8_t *walk_pass(struct walk *w, const uint8_t *p)
{
	const struct debug_abbrevs *abbrevs = w->unit->abbrevs;
	const uint8_t *end = w->r.end, *stop;
	unsigned int level = w->level;

	if (end - p < CODE_BYTES + DEBUG_EASY_BYTES)
		return p;
	stop = p + MIN(end - p - (CODE_BYTES + DEBUG_EASY_BYTES), (ptrdiff_t)BYTES_PER_PASS);
	while (p <= stop && level >= w->skip_level) {
		const uint8_t *next = p + 1;
		uint32_t code = *p;

		if (code >= 0x80) {
			code = (code & 0x7f) | (uint32_t)*next << 7;
			if (*next++ >= 0x80)
				break;
		}
		if (code > abbrevs->nr_plain)
			break;
		next = debug_skip_easily(&abbrevs->easy[code], next, end);
		if (!next)
			break;
		p = next;
		level += (unsigned int)abbrevs->easy[code].levels;
	}
	w->level = level;
	if (level < w->skip_level)
		w->skip_level = 0;
	return p;
}

/*
 * Over entries that are not looked for, with their children: most are, and there are hundreds of thousands. True: it was
 * enough for now.
 */
static bool walk_over(struct walk *w)
{
	const struct debug_abbrevs *abbrevs = w->unit->abbrevs;
	const uint8_t *p = w->r.p;

	for (unsigned int i = 0; i < ENTRIES_PER_LOOK; i++) {
		const struct debug_abbrev *abbrev;
		uint64_t sibling;
		uint32_t code;

		/* The end of the outermost one is left to walk_next(). */
		if (w->skip_level > 1)
			p = walk_pass(w, p);
		w->r.p = p;
		if (w->r.end - p < CODE_BYTES)
			return false;
		code = *p++;
		if (code >= 0x80) {
			code = (code & 0x7f) | (uint32_t)*p << 7;
			if (*p++ >= 0x80)
				return false;
		}
		if (code == 0 && w->level > 1) {
			walk_up(w);
			continue;
		}
		if (code == 0 || code > abbrevs->nr_plain)
			return false;
		abbrev = &abbrevs->all[code - 1];
		if (w->skip_level == 0 && (abbrev->tag_bit & w->wanted))
			return false;
		p = attrs_end(w, abbrev, p, &sibling);
		if (!p)
			return false;
		if (!abbrev->has_children)
			continue;
		if (!w->is_deep && is_ahead(w, sibling, p)) {
			p = w->start + sibling;
			continue;
		}
		w->level++;
		if (!w->is_deep)
			walk_skip(w);
	}
	w->r.p = p;
	return true;
}

/* The next entry, but for those that are not wanted. 1; 0: the first one and all in it are done; -EBADMSG, -ETIME. */
static int walk_next(struct walk *w)
{
	while (w->level > 0 && !w->r.bad && walk_over(w))
		if (deadline_is_over_now())
			return -ETIME;
	for (;;) {
		uint32_t off = (uint32_t)(w->r.p - w->start);
		uint64_t code = reader_uleb(&w->r);

		if (++w->nr_entries % ENTRIES_PER_LOOK == 0 && deadline_is_over_now())
			return -ETIME;
		if (w->r.bad)
			return -EBADMSG;
		if (code != 0) {
			w->off = off;
			w->abbrev = debug_abbrevs_find(w->unit->abbrevs, code);
			break;
		}
		/* The last child of one of them. */
		if (w->level > 0)
			walk_up(w);
		if (w->level == 0)
			return 0;
	}
	if (!w->abbrev)
		return -EBADMSG;
	w->attrs = w->r;
	debug_skip_attrs(w->unit->abbrevs, w->abbrev, &w->r, &w->sibling);
	if (w->abbrev->has_children)
		w->level++;
	return w->r.bad ? -EBADMSG : 1;
}

/* Go on behind the children of the present entry: there is nothing of interest. */
static void walk_jump(struct walk *w)
{
	if (!w->abbrev->has_children)
		return;
	if (is_ahead(w, w->sibling, w->r.p)) {
		w->r.p = w->start + w->sibling;
		w->level--;
	} else {
		walk_skip(w);
	}
}

/* Where the code of the present entry is. */
static struct debug_code walk_code(const struct walk *w)
{
	struct debug_die die = {.abbrev = w->abbrev, .r = w->attrs};
	struct debug_code code = {0};
	struct debug_value value;
	unsigned int name;

	while (debug_die_next(w->unit, &die, &name, &value))
		debug_code_take(&code, name, &value);
	return code;
}

static int walk_add(const struct walk *w, const struct debug_text *text,
		    struct debug_ranges *ranges, uint32_t index, uint32_t depth)
{
	struct debug_code code = walk_code(w);

	return debug_ranges_add_code(ranges, text, w->unit, &code, index, depth);
}

/* --- functions --- */

static int func_add(struct debug_scopes *scopes, const struct walk *w,
		    const struct debug_text *text)
{
	size_t nr = scopes->ranges.nr;
	int r = walk_add(w, text, &scopes->ranges, (uint32_t)scopes->nr_funcs, 0);

	if (r < 0 || scopes->ranges.nr == nr)
		return r;
	r = vec_reserve(&scopes->funcs, &scopes->cap_funcs, scopes->nr_funcs + 1, FUNCS_MAX);
	if (r == 0)
		scopes->funcs[scopes->nr_funcs++] = (struct debug_func){.die = w->off};
	else
		scopes->ranges.nr = nr;
	return r;
}

/*
 * Most functions stand at the top of their unit or in a namespace. Only if one is
 * not found there IS_DEEP looks into the others, and into types.
 */
static bool may_hold_funcs(const struct debug_abbrev *abbrev, bool is_deep)
{
	return is_deep || abbrev->tag == DW_TAG_namespace || abbrev->tag == DW_TAG_module;
}

static int funcs_walk(struct debug_scopes *scopes, const struct debug_unit *unit,
		      const struct debug_text *text)
{
	struct walk w;
	int r = walk_begin(&w, unit, unit->first, FUNC_TAGS);

	w.is_deep = scopes->is_deep;
	/* The entry of the unit itself. */
	if (r == 0)
		r = walk_next(&w);
	while (r > 0 && w.level > 0 && (r = walk_next(&w)) > 0) {
		int error = 0;

		if (w.abbrev->tag == DW_TAG_subprogram && w.abbrev->has_code)
			error = func_add(scopes, &w, text);
		if (error < 0)
			return error;
		if (!may_hold_funcs(w.abbrev, scopes->is_deep))
			walk_jump(&w);
	}
	return r < 0 ? r : 0;
}

static void funcs_forget(struct debug_scopes *scopes)
{
	for (size_t i = 0; i < scopes->nr_funcs; i++)
		debug_ranges_done(&scopes->funcs[i].inlined);
	scopes->nr_funcs = scopes->ranges.nr = scopes->inlined_bytes = 0;
}

static int funcs_find(struct debug_scopes *scopes, const struct debug_unit *unit,
		      const struct debug_text *text)
{
	int r;

	if (scopes->has_funcs)
		return 0;
	funcs_forget(scopes);
	r = funcs_walk(scopes, unit, text);
	if (r == -ETIME || r == -ENOMEM)
		return r;
	r = debug_ranges_sort(&scopes->ranges);
	if (r < 0)
		return r;
	vec_shrink(&scopes->funcs, &scopes->cap_funcs, scopes->nr_funcs);
	scopes->has_funcs = true;
	return 0;
}

int debug_scopes_func(struct debug_scopes *scopes, const struct debug_unit *unit,
		      const struct debug_text *text, uint64_t addr, struct debug_func **ret)
{
	const struct debug_range *range;
	int r = funcs_find(scopes, unit, text);

	*ret = NULL;
	if (r < 0)
		return r;
	range = debug_ranges_at(&scopes->ranges, 0, addr);
	if (!range && !scopes->is_deep) {
		scopes->is_deep = true;
		scopes->has_funcs = false;
		r = funcs_find(scopes, unit, text);
		if (r < 0)
			return r;
		range = debug_ranges_at(&scopes->ranges, 0, addr);
	}
	if (range)
		*ret = &scopes->funcs[range->index];
	return 0;
}

void debug_scopes_done(struct debug_scopes *scopes)
{
	funcs_forget(scopes);
	free(scopes->funcs);
	debug_ranges_done(&scopes->ranges);
	*scopes = (struct debug_scopes){0};
}

size_t debug_scopes_bytes(const struct debug_scopes *scopes)
{
	return scopes->cap_funcs * sizeof(*scopes->funcs) +
	       scopes->ranges.cap * sizeof(*scopes->ranges.all) + scopes->inlined_bytes;
}

/* --- what was inlined --- */

static bool is_block(uint16_t tag)
{
	return tag < 64 && (BLOCK_TAGS >> tag & 1);
}

/*
 * Take the ranges of the present entry, which is at DEPTH, if it IS_INLINED. *IS_ELSEWHERE: they do not hold ONLY, if that is
 * not NULL, and nothing in the entry does.
 */
static int inlined_take(const struct walk *w, const struct debug_text *text,
			struct debug_ranges *ranges, uint32_t depth, bool is_inlined,
			const uint64_t *only, bool *is_elsewhere)
{
	size_t before = ranges->nr;
	int r = 0;

	*is_elsewhere = false;
	if (is_inlined || (only && w->abbrev->has_code))
		r = walk_add(w, text, ranges, w->off, depth);
	if (only && ranges->nr > before) {
		*is_elsewhere = true;
		for (size_t i = before; i < ranges->nr; i++)
			if (*only - ranges->all[i].from < ranges->all[i].len)
				*is_elsewhere = false;
	}
	if (!is_inlined || *is_elsewhere)
		ranges->nr = before;
	return r;
}

/*
 * DEPTHS says how many inlined functions each open entry is in; beyond LEVELS_MAX, or in types, none is looked for. ONLY: what
 * does not hold this address need not be found; or NULL.
 */
static int inlined_walk(struct debug_func *func, const struct debug_unit *unit,
			const struct debug_text *text, const uint64_t *only)
{
	uint32_t depths[LEVELS_MAX + 1] = {0};
	struct walk w;
	int r = walk_begin(&w, unit, unit->off + func->die, INSIDE_TAGS);

	if (r == 0)
		r = walk_next(&w);
	while (r > 0 && w.level > 0) {
		unsigned int level;
		bool is_inlined, is_inside, is_elsewhere = false;

		r = walk_next(&w);
		if (r <= 0)
			break;
		/* Its own is that of its parent, seen from its children. */
		level = w.level - w.abbrev->has_children;
		is_inlined = w.abbrev->tag == DW_TAG_inlined_subroutine;
		is_inside = is_inlined || is_block(w.abbrev->tag);
		if (w.skip_level || level > LEVELS_MAX)
			continue;
		if (is_inside) {
			int error = inlined_take(&w, text, &func->inlined, depths[level - 1] + 1,
						 is_inlined, only, &is_elsewhere);

			if (error < 0)
				return error;
		}
		if (!w.abbrev->has_children)
			continue;
		depths[level] = depths[level - 1] + is_inlined;
		if (!is_inside || is_elsewhere)
			walk_jump(&w);
	}
	return r < 0 ? r : 0;
}

int debug_scopes_inlined(struct debug_scopes *scopes, const struct debug_unit *unit,
			 const struct debug_text *text, struct debug_func *func, uint64_t addr)
{
	size_t before = func->inlined.cap;
	bool is_all;
	int r;

	if (func->has_inlined || func->asked == addr)
		return 0;
	is_all = func->asked != 0;
	func->asked = 0;
	func->inlined.nr = 0;
	r = inlined_walk(func, unit, text, is_all ? NULL : &addr);
	if (r != -ETIME && r != -ENOMEM)
		r = debug_ranges_sort(&func->inlined);
	if (r == 0) {
		func->has_inlined = is_all;
		func->asked = addr;
	}
	scopes->inlined_bytes += (func->inlined.cap - before) * sizeof(*func->inlined.all);
	return r;
}
