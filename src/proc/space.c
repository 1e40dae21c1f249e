/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Address spaces: see space.h. One flat array up to PART_MAPS_MAX mappings, as
 * nearly every process has; beyond that several parts, so that a change moves the
 * elements of one of them only, however many there are.
 *
 * An example, with addresses in pages, parts of two mappings instead of 256, and A+3 for page 3 of file A:
 *
 *	                 part 0                   part 1
 *	                 [10,20) A+0  [20,30) B+0  [40,60) C+0
 *	put [30,40) B+10                                        B goes on there: joined, the part stays as full
 *	                 [10,20) A+0  [20,40) B+0  [40,60) C+0
 *	put [50,70) D+0                                         C is cut at its end
 *	                 [10,20) A+0  [20,40) B+0  [40,50) C+0  [50,70) D+0
 *	put [15,55) E+0                                         A is cut at its end, D at its start, B and C go
 *	                 [10,15) A+0  [15,55) E+0  [55,70) D+5
 *
 * Each change is such a splice: the elements that [start, end) touches, and a neighbour that can be joined,
 * become at most three others: what is left of the first one, the new mapping, what is left of the last one.
 */
#include "config.h"

#include "src/proc/space.h"

#include "src/base/util.h"
#include "src/proc/proc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_FIRST_CAP 16u
#define PART_MAPS_MAX  256u
#define ELEMENT_BYTES  (sizeof(struct unwind_map) + sizeof(uint64_t)) /* of both arrays */
#define JOIN_SHARE     64u /* joining goes through all mappings: not before so many changes of them */

/* What a part's mappings lie in. */
struct space_store {
	struct unwind_map *maps;
	uint64_t *times_ns; /* of each: when it was made or last confirmed */
	uint32_t cap;
};

struct space_place {
	uint32_t part, i;
};

struct space *space_new(struct space_budget *budget)
{
	struct space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->refs = 1;
	space->budget = budget;
	return space;
}

struct space *space_ref(struct space *space)
{
	space->refs++;
	return space;
}

static void store_done(struct space *space, struct space_store *store)
{
	space->budget->used_bytes -= store->cap * ELEMENT_BYTES;
	free(store->maps);
	free(store->times_ns);
}

struct space *space_unref(struct space *space)
{
	if (space && --space->refs == 0) {
		for (uint32_t p = 0; p < space->nr_parts; p++)
			store_done(space, &space->stores[p]);
		free(space->parts);
		free(space->stores);
		free(space);
	}
	return NULL;
}

/* The mappings have changed: show them to the unwinder. */
static void show(struct space *space)
{
	bool is_flat = space->nr_parts == 1;

	space->view = (struct unwind_space){
		.maps = is_flat ? space->parts[0].maps : NULL,
		.nr_maps = is_flat ? space->parts[0].nr_maps : 0,
		.parts = space->parts,
		.nr_parts = is_flat ? 0 : space->nr_parts,
	};
}

/* --- parts --- */

static int part_reserve(struct space *space, uint32_t p, uint32_t cap)
{
	struct space_store *store = &space->stores[p];
	uint64_t more = (cap - store->cap) * ELEMENT_BYTES, *times_ns;
	struct unwind_map *maps;

	if (more > space->budget->max_bytes - space->budget->used_bytes)
		return -E2BIG;
	maps = reallocarray(store->maps, cap, sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	store->maps = maps;
	space->parts[p].maps = maps;
	show(space);
	times_ns = reallocarray(store->times_ns, cap, sizeof(*times_ns));
	if (!times_ns)
		return -ENOMEM;
	store->times_ns = times_ns;
	space->budget->used_bytes += more;
	store->cap = cap;
	return 0;
}

static int parts_grow(struct space *space)
{
	uint32_t cap = space->cap_parts ? 2 * space->cap_parts : 1;
	struct unwind_part *parts = reallocarray(space->parts, cap, sizeof(*parts));
	struct space_store *stores;

	if (!parts)
		return -ENOMEM;
	space->parts = parts;
	show(space);
	stores = reallocarray(space->stores, cap, sizeof(*stores));
	if (!stores)
		return -ENOMEM;
	space->stores = stores;
	space->cap_parts = cap;
	return 0;
}

static void parts_drop(struct space *space, uint32_t first, uint32_t last)
{
	uint32_t after = space->nr_parts - last;

	if (first == last)
		return;
	for (uint32_t p = first; p < last; p++) {
		space->nr_maps -= space->parts[p].nr_maps;
		store_done(space, &space->stores[p]);
	}
	memmove(space->parts + first, space->parts + last, after * sizeof(*space->parts));
	memmove(space->stores + first, space->stores + last, after * sizeof(*space->stores));
	space->nr_parts -= last - first;
}

/* An empty part at P, with room for CAP mappings. */
static int part_add(struct space *space, uint32_t p, uint32_t cap)
{
	uint32_t after = space->nr_parts - p;
	int r = space->nr_parts == space->cap_parts ? parts_grow(space) : 0;

	if (r < 0)
		return r;
	memmove(space->parts + p + 1, space->parts + p, after * sizeof(*space->parts));
	memmove(space->stores + p + 1, space->stores + p, after * sizeof(*space->stores));
	space->parts[p] = (struct unwind_part){0};
	space->stores[p] = (struct space_store){0};
	space->nr_parts++;
	r = part_reserve(space, p, cap);
	if (r < 0) {
		parts_drop(space, p, p + 1);
		show(space);
	}
	return r;
}

struct elements {
	const struct unwind_map *maps;
	const uint64_t *times_ns;
	uint32_t nr;
};

/* Those of a part from I on. */
static struct elements part_from(const struct space *space, uint32_t p, uint32_t i)
{
	return (struct elements){space->parts[p].maps + i, space->stores[p].times_ns + i,
				 space->parts[p].nr_maps - i};
}

/* Replace the elements [FIRST, LAST) of a part by others. There is room. */
static void part_replace(struct space *space, uint32_t p, uint32_t first, uint32_t last,
			 struct elements by)
{
	struct unwind_part *part = &space->parts[p];
	struct space_store *store = &space->stores[p];
	uint32_t after = part->nr_maps - last, to = first + by.nr;

	assert(first <= last && last <= part->nr_maps && to + after <= store->cap);
	if (to != last && after > 0) {
		memmove(store->maps + to, store->maps + last, after * sizeof(*by.maps));
		memmove(store->times_ns + to, store->times_ns + last, after * sizeof(*by.times_ns));
		space->nr_moved += after;
	}
	for (uint32_t i = 0; i < by.nr; i++) {
		store->maps[first + i] = by.maps[i];
		store->times_ns[first + i] = by.times_ns[i];
	}
	part->nr_maps = to + after;
	part->start = store->maps[0].start;
	/* The mappings before and after do not overlap: the unwinder takes the first map that ends above. */
	assert(by.nr == 0 || first == 0 || store->maps[first - 1].end <= store->maps[first].start);
	assert(by.nr == 0 || after == 0 || store->maps[to - 1].end <= store->maps[to].start);
	space->nr_maps += to - last;
}

/* Move the elements of a part from I on to the end of another, which has room. */
static void part_move(struct space *space, uint32_t from, uint32_t i, uint32_t to)
{
	struct unwind_part *source = &space->parts[from];
	uint32_t nr = source->nr_maps - i, end = space->parts[to].nr_maps;

	part_replace(space, to, end, end, part_from(space, from, i));
	part_replace(space, from, i, source->nr_maps, (struct elements){0});
	space->nr_moved += nr;
}

/* Take the next part's elements in, if both have no more than MAX. */
static bool part_merge(struct space *space, uint32_t p, uint32_t max)
{
	if (p + 1 >= space->nr_parts ||
	    space->parts[p].nr_maps + space->parts[p + 1].nr_maps > max ||
	    space->stores[p].cap < max)
		return false;
	part_move(space, p + 1, 0, p);
	parts_drop(space, p + 1, p + 2);
	return true;
}

/* Room for a splice at a place: a larger part, or two of it. */
static int make_room(struct space *space, const struct space_place *at)
{
	uint32_t nr, cap, p = at->part;
	int r;

	if (space->nr_parts == 0)
		return part_add(space, 0, PART_FIRST_CAP);
	nr = space->parts[p].nr_maps;
	cap = space->stores[p].cap;
	if (cap < PART_MAPS_MAX)
		return part_reserve(space, p, 2 * cap);
	r = part_add(space, p + 1, PART_MAPS_MAX);
	if (r < 0)
		return r;
	/* Mappings that come in order leave full parts. */
	part_move(space, p, p + 2 == space->nr_parts && at->i == nr ? nr - 1 : nr / 2, p + 1);
	show(space);
	return 0;
}

/* Make *SPACE one that no other process shares. */
static int space_own(struct space **space)
{
	struct space *old = *space, *own;
	int r;

	if (old->refs == 1)
		return 0;
	own = space_new(old->budget);
	r = own ? 0 : -ENOMEM;
	for (uint32_t p = 0; r == 0 && p < old->nr_parts; p++) {
		r = part_add(own, p, old->stores[p].cap);
		if (r == 0)
			part_replace(own, p, 0, 0, part_from(old, p, 0));
	}
	if (r < 0) {
		space_unref(own);
		return r;
	}
	show(own);
	own->nr_changes = old->nr_changes;
	own->join_from = old->join_from;
	own->nr_moved = old->nr_moved + old->nr_maps;
	space_unref(old);
	*space = own;
	return 0;
}

/* --- places --- */

static bool is_end(const struct space *space, struct space_place at)
{
	return at.part >= space->nr_parts || at.i >= space->parts[at.part].nr_maps;
}

/* From the end of a part to the beginning of the next one. */
static struct space_place normal(const struct space *space, struct space_place at)
{
	if (at.part + 1 < space->nr_parts && at.i == space->parts[at.part].nr_maps)
		return (struct space_place){at.part + 1, 0};
	return at;
}

/* The first map that ends above ADDR. */
static struct space_place find(const struct space *space, uint64_t addr)
{
	struct space_place at = {0};

	if (space->nr_parts == 0)
		return at;
	at.part = space->nr_parts > 1 ? unwind_part_of(&space->view, addr) : 0;
	at.i = unwind_first_above(space->parts[at.part].maps, space->parts[at.part].nr_maps, addr);
	return normal(space, at);
}

/* The place before AT; false: there is none. */
static bool before(const struct space *space, struct space_place at, struct space_place *ret)
{
	if (at.i > 0)
		*ret = (struct space_place){at.part, at.i - 1};
	else if (at.part > 0)
		*ret = (struct space_place){at.part - 1, space->parts[at.part - 1].nr_maps - 1};
	return at.i > 0 || at.part > 0;
}

static const struct unwind_map *map_at(const struct space *space, struct space_place at)
{
	assert(!is_end(space, at));
	return &space->parts[at.part].maps[at.i];
}

static uint64_t *time_at(const struct space *space, struct space_place at)
{
	return &space->stores[at.part].times_ns[at.i];
}

/* --- changes --- */

static bool goes_on(const struct unwind_map *a, const struct unwind_map *b)
{
	return a->end == b->start && a->module == b->module &&
	       a->file_off + (a->end - a->start) == b->file_off;
}

/* What replaces the elements [first, last) of a space. */
struct splice {
	struct space_place first, last;
	uint32_t nr_old, nr; /* elements before and after */
	/* what is left of one cut at its end, the new one, one cut at its start */
	struct unwind_map maps[3];
	uint64_t times_ns[3];
};

static void splice_add(struct splice *splice, const struct unwind_map *map, uint64_t time_ns)
{
	uint32_t last = splice->nr - 1;

	if (splice->nr > 0 && goes_on(&splice->maps[last], map)) {
		splice->maps[last].end = map->end;
		splice->times_ns[last] = MAX(splice->times_ns[last], time_ns);
		return;
	}
	assert(splice->nr < ARRAY_SIZE(splice->maps) && map->start < map->end);
	assert(splice->nr == 0 || splice->maps[last].end <= map->start);
	splice->maps[splice->nr] = *map;
	splice->times_ns[splice->nr++] = time_ns;
}

/* A splice may leave little of a part and of the next one. */
static void tidy(struct space *space, uint32_t p)
{
	if (space->parts[p].nr_maps == 0)
		parts_drop(space, p, p + 1);
	part_merge(space, p + 1, PART_MAPS_MAX / 2);
	part_merge(space, p, PART_MAPS_MAX / 2);
	if (p > 0)
		part_merge(space, p - 1, PART_MAPS_MAX / 2);
}

static void space_splice(struct space *space, const struct splice *splice)
{
	struct space_place first = splice->first, last = splice->last;

	if (first.part != last.part) {
		part_replace(space, last.part, 0, last.i, (struct elements){0});
		if (space->parts[last.part].nr_maps == 0)
			last.part++;
		parts_drop(space, first.part + 1, last.part);
		last = (struct space_place){first.part, space->parts[first.part].nr_maps};
	}
	part_replace(space, first.part, first.i, last.i,
		     (struct elements){splice->maps, splice->times_ns, splice->nr});
	tidy(space, first.part);
	show(space);
}

/*
 * Work out what has to change so that [start, end) holds MAP (NULL: nothing).
 * The neighbours are taken in, so that they can be joined.
 */
static void splice_plan(const struct space *space, uint64_t start, uint64_t end,
			const struct unwind_map *map, uint64_t time_ns, struct splice *ret)
{
	struct space_place first = find(space, start), last = first, inner = first, prev;
	struct unwind_map piece;
	bool is_over;

	*ret = (struct splice){.first = first};
	while (!is_end(space, last) && map_at(space, last)->start < end) {
		inner = last;
		last.i++;
		last = normal(space, last);
		ret->nr_old++;
	}
	ret->last = last;
	is_over = ret->nr_old > 0;
	if (is_over && map_at(space, first)->start < start) {
		piece = *map_at(space, first);
		piece.end = start;
		splice_add(ret, &piece, *time_at(space, first));
	} else if (map && before(space, first, &prev) && goes_on(map_at(space, prev), map)) {
		splice_add(ret, map_at(space, prev), *time_at(space, prev));
		ret->first = prev;
		ret->nr_old++;
	}
	if (map)
		splice_add(ret, map, time_ns);
	if (is_over && map_at(space, inner)->end > end) {
		piece = *map_at(space, inner);
		piece.file_off += end - piece.start;
		piece.start = end;
		splice_add(ret, &piece, *time_at(space, inner));
	} else if (map && !is_end(space, last) && goes_on(map, map_at(space, last))) {
		splice_add(ret, map_at(space, last), *time_at(space, last));
		ret->last.i++;
		ret->nr_old++;
	}
}

/*
 * Room for more: join each two JIT mappings that have nothing between them.
 * Halving the number at once keeps the price per mapping constant.
 */
static void join_jit(struct space *space, uint32_t p)
{
	struct unwind_part *part = &space->parts[p];
	struct space_store *store = &space->stores[p];
	uint32_t to = 0, nr = part->nr_maps;

	for (uint32_t i = 0; i < nr; i++, to++) {
		store->maps[to] = store->maps[i];
		store->times_ns[to] = store->times_ns[i];
		if (i + 1 < nr && store->maps[i].module == store->maps[i + 1].module &&
		    store->maps[i].module->id == PROC_MODULE_JIT) {
			i++;
			store->maps[to].end = store->maps[i].end;
			store->times_ns[to] = MAX(store->times_ns[to], store->times_ns[i]);
		}
	}
	part->nr_maps = to;
	space->nr_maps -= nr - to;
	space->nr_moved += nr;
}

static void space_join_jit(struct space *space)
{
	space->join_from = space->nr_changes + space->nr_maps / JOIN_SHARE;
	for (uint32_t p = 0; p < space->nr_parts; p++) {
		join_jit(space, p);
		if (p > 0 && part_merge(space, p - 1, PART_MAPS_MAX))
			p--;
	}
	show(space);
}

/* All that is new goes into the first part that it touches. */
static bool lacks_room(const struct space *space, const struct splice *splice)
{
	struct space_place first = splice->first, last = splice->last;
	uint32_t nr;

	if (space->nr_parts == 0)
		return true;
	nr = space->parts[first.part].nr_maps;
	nr -= (first.part == last.part ? last.i : nr) - first.i;
	return nr + splice->nr > space->stores[first.part].cap;
}

/* As splice_plan() plans it, with room for it. 0, -E2BIG or -ENOMEM. */
static int space_change(struct space *space, uint64_t start, uint64_t end,
			const struct unwind_map *map, uint64_t time_ns)
{
	struct splice splice;
	int r = 0;

	splice_plan(space, start, end, map, time_ns, &splice);
	if (space->nr_maps - splice.nr_old + splice.nr > SPACE_MAPS_MAX)
		return -E2BIG;
	while (r == 0 && lacks_room(space, &splice)) {
		r = make_room(space, &splice.first);
		splice_plan(space, start, end, map, time_ns, &splice);
	}
	if (r == 0)
		space_splice(space, &splice);
	return r;
}

static int space_put(struct space **space, uint64_t start, uint64_t end,
		     const struct unwind_map *map, uint64_t time_ns)
{
	int r = space_own(space);

	if (r < 0)
		return r;
	(*space)->nr_changes++;
	(*space)->budget->nr_changes++;
	r = space_change(*space, start, end, map, time_ns);
	if (r != -E2BIG || (*space)->nr_changes < (*space)->join_from)
		return r;
	space_join_jit(*space);
	return space_change(*space, start, end, map, time_ns);
}

/* Where [start, end) is already mapped as MAP says, the time of that; else NULL. */
static uint64_t *space_has(const struct space *space, const struct unwind_map *map)
{
	struct space_place at = find(space, map->start);
	const struct unwind_map *old;

	if (is_end(space, at))
		return NULL;
	old = map_at(space, at);
	if (old->start > map->start || old->end < map->end || old->module != map->module ||
	    old->file_off + (map->start - old->start) != map->file_off)
		return NULL;
	return time_at(space, at);
}

int space_set(struct space **space, const struct unwind_map *map, uint64_t time_ns)
{
	uint64_t *reported_ns;

	if (map->start >= map->end)
		return -EINVAL;
	reported_ns = space_has(*space, map);
	if (reported_ns) {
		/* Said again (mprotect): the same mapping, even in a shared space. */
		*reported_ns = MAX(*reported_ns, time_ns);
		return 0;
	}
	return space_put(space, map->start, map->end, map, time_ns);
}

int space_clear(struct space **space, uint64_t start, uint64_t end)
{
	const struct unwind_map *first = unwind_map_from(&(*space)->view, start);

	if (start >= end)
		return -EINVAL;
	if (!first || first->start >= end)
		return 0;
	return space_put(space, start, end, NULL, 0);
}

int space_fill(struct space **space, const struct unwind_map *map, uint64_t time_ns)
{
	uint64_t pos = map->start;

	if (map->start >= map->end)
		return -EINVAL;
	while (pos < map->end) {
		const struct unwind_map *next = unwind_map_from(&(*space)->view, pos);
		struct unwind_map piece = *map;
		int r;

		if (next && next->start <= pos) {
			pos = next->end;
			continue;
		}
		piece.start = pos;
		piece.file_off += pos - map->start;
		piece.end = next ? MIN(map->end, next->start) : map->end;
		pos = piece.end;
		r = space_put(space, piece.start, piece.end, &piece, time_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

int space_set_newer(struct space **space, const struct space *from, uint64_t since_ns)
{
	for (uint32_t p = 0; p < from->nr_parts; p++)
		for (uint32_t i = 0; i < from->parts[p].nr_maps; i++) {
			uint64_t time_ns = from->stores[p].times_ns[i];

			if (time_ns >= since_ns &&
			    space_set(space, &from->parts[p].maps[i], time_ns) == -ENOMEM)
				return -ENOMEM;
		}
	return 0;
}
