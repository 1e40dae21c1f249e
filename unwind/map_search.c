/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which mapping of a space holds an address, for the walk, the steps and the chains. Calls nothing here. */
#include "config.h"

#include "src/base/util.h"
#include "unwind/unwind.h"

uint32_t unwind_part_of(const struct unwind_space *space, uint64_t addr)
{
	uint32_t part = 0, nr = space->nr_parts;

	while (nr > 1) {
		uint32_t half = nr >> 1;

		part += space->parts[part + half].start <= addr ? half : 0;
		nr -= half;
	}
	return part;
}

/* The last mapping that starts at or below ADDR, or NULL. */
static inline const struct unwind_map *last_map_to(const struct unwind_space *space, uint64_t addr)
{
	const struct unwind_map *map = space->maps, *first;
	uint32_t nr = space->nr_maps;

	if (unlikely(space->nr_parts > 0)) {
		const struct unwind_part *part = &space->parts[unwind_part_of(space, addr)];

		map = part->maps;
		nr = part->nr_maps;
	}
	first = map;
	while (nr > 0) {
		uint32_t half = (nr + 1) >> 1;

		map += half & -(uint32_t)(map[half - 1].start <= addr);
		nr -= half;
	}
	return map > first ? &map[-1] : NULL;
}

const struct unwind_map *unwind_map_of(const struct unwind_space *space, uint64_t pc)
{
	const struct unwind_map *map = last_map_to(space, pc);

	return map && pc < map->end ? map : NULL;
}

const struct unwind_map *unwind_map_below(const struct unwind_space *space, uint64_t addr)
{
	return last_map_to(space, addr - 1);
}

uint32_t unwind_first_above(const struct unwind_map *maps, uint32_t nr, uint64_t addr)
{
	return (uint32_t)search_first(nr, i, maps[i].end > addr);
}

const struct unwind_map *unwind_map_from(const struct unwind_space *space, uint64_t addr)
{
	const struct unwind_part all = {.maps = space->maps, .nr_maps = space->nr_maps};
	uint32_t p = unwind_part_of(space, addr), i;
	const struct unwind_part *part = space->nr_parts > 0 ? &space->parts[p] : &all;

	i = unwind_first_above(part->maps, part->nr_maps, addr);
	if (i < part->nr_maps)
		return &part->maps[i];
	return p + 1 < space->nr_parts ? space->parts[p + 1].maps : NULL;
}

const struct unwind_map *unwind_frame_of(const struct unwind_space *space, uint64_t pc,
					 bool is_return, const struct unwind_map *hint,
					 struct unwind_frame *frame)
{
	uint64_t at = pc - is_return;
	const struct unwind_map *map = hint;

	if (!map || at - map->start >= map->end - map->start)
		map = unwind_map_of(space, at);
	*frame = (struct unwind_frame){
		.pc = pc,
		.off = map ? pc - map->start + map->file_off : pc,
		.module = map && map->module ? map->module->id : UNWIND_NO_MODULE,
		.is_return = is_return,
	};
	return map;
}
