/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Address spaces: see space.h. A flat array, since the unwinder searches it
 * several times per sample and it changes seldom; a change moves the elements
 * behind it, which the bound keeps below a megabyte.
 */
#include "config.h"

#include "src/proc/space.h"

#include "src/base/util.h"
#include "src/proc/proc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_FIRST_CAP 16u
#define ELEMENT_BYTES	(sizeof(struct unwind_map) + sizeof(uint64_t)) /* of both arrays */

struct space *space_new(struct space_budget *budget)
{
	struct space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->refs = 1;
	space->budget = budget;
	space->view.generation = ++budget->generation;
	return space;
}

struct space *space_ref(struct space *space)
{
	space->refs++;
	return space;
}

struct space *space_unref(struct space *space)
{
	if (space && --space->refs == 0) {
		space->budget->used_bytes -= space->cap * ELEMENT_BYTES;
		free(space->maps);
		free(space->times_ns);
		free(space);
	}
	return NULL;
}

size_t space_bytes(const struct space *space)
{
	return sizeof(*space) + space->cap * ELEMENT_BYTES;
}

static int space_reserve(struct space *space, uint32_t want)
{
	uint32_t cap = MAX(space->cap, SPACE_FIRST_CAP);
	struct unwind_map *maps;
	uint64_t *times_ns, more;

	if (want <= space->cap)
		return 0;
	while (cap < want)
		cap *= 2;
	more = (cap - space->cap) * ELEMENT_BYTES;
	if (more > space->budget->max_bytes - space->budget->used_bytes)
		return -E2BIG;
	maps = reallocarray(space->maps, cap, sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	space->maps = maps;
	space->view.maps = maps;
	times_ns = reallocarray(space->times_ns, cap, sizeof(*times_ns));
	if (!times_ns)
		return -ENOMEM;
	space->times_ns = times_ns;
	space->budget->used_bytes += more;
	space->cap = cap;
	return 0;
}

/* Make *SPACE one that nobody else sees. */
static int space_own(struct space **space)
{
	struct space *old = *space, *own;
	uint32_t nr = old->view.nr_maps;
	int r;

	if (old->refs == 1)
		return 0;
	own = space_new(old->budget);
	r = own ? space_reserve(own, nr) : -ENOMEM;
	if (r < 0) {
		space_unref(own);
		return r;
	}
	if (nr > 0) {
		memcpy(own->maps, old->maps, nr * sizeof(*own->maps));
		memcpy(own->times_ns, old->times_ns, nr * sizeof(*own->times_ns));
	}
	own->view.nr_maps = nr;
	own->nr_moved = old->nr_moved + nr;
	space_unref(old);
	*space = own;
	return 0;
}

/* The first map that ends above ADDR. */
static uint32_t space_search(const struct space *space, uint64_t addr)
{
	uint32_t low = 0, high = space->view.nr_maps;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (space->maps[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool goes_on(const struct unwind_map *a, const struct unwind_map *b)
{
	return a->end == b->start && a->module == b->module &&
	       a->file_off + (a->end - a->start) == b->file_off;
}

/* What replaces the elements [first, last) of a space. */
struct splice {
	uint32_t first, last, nr;
	struct unwind_map
		maps[3]; /* what is left of one cut at its end, the new one, one cut at its start */
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
	splice->maps[splice->nr] = *map;
	splice->times_ns[splice->nr++] = time_ns;
}

static int space_splice(struct space *space, const struct splice *splice)
{
	uint32_t nr = space->view.nr_maps, behind = nr - splice->last;
	uint32_t new_nr = nr - (splice->last - splice->first) + splice->nr;
	uint32_t to = splice->first + splice->nr;
	int r;

	if (new_nr > SPACE_MAPS_MAX)
		return -E2BIG;
	r = space_reserve(space, new_nr);
	if (r < 0)
		return r;
	if (to != splice->last && behind > 0) {
		memmove(space->maps + to, space->maps + splice->last,
			behind * sizeof(*space->maps));
		memmove(space->times_ns + to, space->times_ns + splice->last,
			behind * sizeof(*space->times_ns));
		space->nr_moved += behind;
	}
	for (uint32_t i = 0; i < splice->nr; i++) {
		space->maps[splice->first + i] = splice->maps[i];
		space->times_ns[splice->first + i] = splice->times_ns[i];
	}
	space->view.nr_maps = new_nr;
	space->view.generation = ++space->budget->generation;
	return 0;
}

/*
 * Work out what has to change so that [start, end) holds MAP (NULL: nothing).
 * The neighbours are taken in, so that they can be joined.
 */
static void splice_plan(const struct space *space, uint64_t start, uint64_t end,
			const struct unwind_map *map, uint64_t time_ns, struct splice *ret)
{
	uint32_t first = space_search(space, start), last = first, joined = 0;
	struct unwind_map piece;

	*ret = (struct splice){0};
	while (last < space->view.nr_maps && space->maps[last].start < end)
		last++;
	if (first < last && space->maps[first].start < start) {
		piece = space->maps[first];
		piece.end = start;
		splice_add(ret, &piece, space->times_ns[first]);
	} else if (map && first > 0 && goes_on(&space->maps[first - 1], map)) {
		joined = 1;
		splice_add(ret, &space->maps[first - 1], space->times_ns[first - 1]);
	}
	if (map)
		splice_add(ret, map, time_ns);
	if (first < last && space->maps[last - 1].end > end) {
		piece = space->maps[last - 1];
		piece.file_off += end - piece.start;
		piece.start = end;
		splice_add(ret, &piece, space->times_ns[last - 1]);
	} else if (map && last < space->view.nr_maps && goes_on(map, &space->maps[last])) {
		splice_add(ret, &space->maps[last], space->times_ns[last]);
		last++;
	}
	ret->first = first - joined;
	ret->last = last;
}

/*
 * Room for more: join each two JIT mappings that have nothing between them.
 * Halving the number at once keeps the price per mapping constant.
 */
static void join_jit(struct space *space)
{
	uint32_t to = 0, nr = space->view.nr_maps;

	for (uint32_t i = 0; i < nr; i++, to++) {
		space->maps[to] = space->maps[i];
		space->times_ns[to] = space->times_ns[i];
		if (i + 1 < nr && space->maps[i].module == space->maps[i + 1].module &&
		    space->maps[i].module->id == PROC_MODULE_JIT) {
			i++;
			space->maps[to].end = space->maps[i].end;
			space->times_ns[to] = MAX(space->times_ns[to], space->times_ns[i]);
		}
	}
	space->nr_moved += nr;
	space->view.nr_maps = to;
	space->view.generation = ++space->budget->generation;
}

/* Is [start, end) already mapped as MAP says? The index of the map that holds it, or UINT32_MAX. */
static uint32_t space_has(const struct space *space, const struct unwind_map *map)
{
	uint32_t i = space_search(space, map->start);
	const struct unwind_map *old;

	if (i == space->view.nr_maps) /* and perhaps there is no array yet */
		return UINT32_MAX;
	old = &space->maps[i];
	if (old->start > map->start || old->end < map->end || old->module != map->module ||
	    old->file_off + (map->start - old->start) != map->file_off)
		return UINT32_MAX;
	return i;
}

static int space_put(struct space **space, uint64_t start, uint64_t end,
		     const struct unwind_map *map, uint64_t time_ns)
{
	struct splice splice;
	int r = space_own(space);

	if (r < 0)
		return r;
	splice_plan(*space, start, end, map, time_ns, &splice);
	r = space_splice(*space, &splice);
	if (r != -E2BIG)
		return r;
	join_jit(*space);
	splice_plan(*space, start, end, map, time_ns, &splice);
	return space_splice(*space, &splice);
}

int space_set(struct space **space, const struct unwind_map *map, uint64_t time_ns)
{
	uint32_t i;

	if (map->start >= map->end)
		return -EINVAL;
	i = space_has(*space, map);
	if (i != UINT32_MAX) {
		/* Said again (mprotect): the same mapping, even in a shared space. */
		(*space)->times_ns[i] = MAX((*space)->times_ns[i], time_ns);
		return 0;
	}
	return space_put(space, map->start, map->end, map, time_ns);
}

int space_clear(struct space **space, uint64_t start, uint64_t end)
{
	uint32_t i = space_search(*space, start);

	if (start >= end)
		return -EINVAL;
	if (i == (*space)->view.nr_maps || (*space)->maps[i].start >= end)
		return 0;
	return space_put(space, start, end, NULL, 0);
}

int space_fill(struct space **space, const struct unwind_map *map, uint64_t time_ns)
{
	uint64_t pos = map->start;

	if (map->start >= map->end)
		return -EINVAL;
	while (pos < map->end) {
		uint32_t i = space_search(*space, pos);
		bool is_last = i == (*space)->view.nr_maps;
		struct unwind_map piece = *map;
		int r;

		if (!is_last && (*space)->maps[i].start <= pos) {
			pos = (*space)->maps[i].end;
			continue;
		}
		piece.start = pos;
		piece.file_off += pos - map->start;
		piece.end = is_last ? map->end : MIN(map->end, (*space)->maps[i].start);
		pos = piece.end;
		r = space_put(space, piece.start, piece.end, &piece, time_ns);
		if (r < 0)
			return r;
	}
	return 0;
}
