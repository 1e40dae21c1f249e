/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How good frame pointers are: see fp_counts.h. */
#include "config.h"

#include "src/engine/fp_counts.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS_MAX 512 /* then the others are one */

struct object {
	uint32_t module;
	uint64_t nr[FP_VERDICT_COUNT];
	uint64_t parts;
};

struct fp_counts {
	struct u64map index; /* module -> place in objects[] */
	struct object objects[OBJECTS_MAX + 1];
	uint32_t nr;
};

struct fp_counts *fp_counts_new(void)
{
	return calloc(1, sizeof(struct fp_counts));
}

struct fp_counts *fp_counts_free(struct fp_counts *counts)
{
	if (!counts)
		return NULL;
	u64map_done(&counts->index);
	free(counts);
	return NULL;
}

void fp_counts_clear(struct fp_counts *counts)
{
	u64map_clear(&counts->index);
	counts->nr = 0;
	memset(&counts->objects[OBJECTS_MAX], 0, sizeof(counts->objects[0]));
}

/* The place of MODULE's counts; the last one is for all that find no other. */
static struct object *object_of(struct fp_counts *counts, uint32_t module)
{
	uint32_t at = u64map_get(&counts->index, module);

	if (likely(at != U64MAP_NONE))
		return &counts->objects[at];
	if (counts->nr == OBJECTS_MAX || u64map_set(&counts->index, module, counts->nr) < 0)
		return &counts->objects[OBJECTS_MAX];
	counts->objects[counts->nr] = (struct object){.module = module};
	return &counts->objects[counts->nr++];
}

void fp_counts_add(struct fp_counts *counts, uint32_t leaf, uint32_t parts, enum fp_verdict verdict)
{
	object_of(counts, leaf)->nr[verdict]++;
	if (verdict != FP_EQUAL)
		object_of(counts, parts)->parts++;
}

/* --- for a snapshot --- */

static void add(struct health_fp *to, const struct object *from)
{
	to->equal += from->nr[FP_EQUAL];
	to->shorter += from->nr[FP_SHORTER];
	to->skips += from->nr[FP_SKIPS];
	to->wrong += from->nr[FP_WRONG];
	to->parts += from->parts;
}

static uint64_t nr_of(const struct object *o)
{
	return o->nr[FP_EQUAL] + o->nr[FP_SHORTER] + o->nr[FP_SKIPS] + o->nr[FP_WRONG];
}

/* Where most stacks part comes first, then where most end. */
static int compare_objects(const void *left, const void *right)
{
	const struct object *a = *(const struct object *const *)left;
	const struct object *b = *(const struct object *const *)right;

	if (a->parts != b->parts)
		return a->parts > b->parts ? -1 : 1;
	if (nr_of(a) != nr_of(b))
		return nr_of(a) > nr_of(b) ? -1 : 1;
	return a->module < b->module ? -1 : a->module > b->module;
}

void fp_counts_fill(const struct fp_counts *counts, struct procs *procs, struct health *health)
{
	const struct object *sorted[OBJECTS_MAX] = {NULL};

	health->nr_fp = 0;
	health->fp_all = (struct health_fp){.name = "[all]"};
	health->fp_other = (struct health_fp){.name = "[others]"};
	for (uint32_t i = 0; i < counts->nr; i++)
		sorted[i] = &counts->objects[i];
	qsort(sorted, counts->nr, sizeof(sorted[0]), compare_objects);
	add(&health->fp_other, &counts->objects[OBJECTS_MAX]);
	add(&health->fp_all, &counts->objects[OBJECTS_MAX]);
	for (uint32_t i = 0; i < counts->nr; i++) {
		struct health_fp *fp = &health->fp_other;

		if (i < HEALTH_FP_MAX) {
			fp = &health->fp[health->nr_fp++];
			*fp = (struct health_fp){0};
			snprintf(fp->name, sizeof(fp->name), "%s",
				 procs_module(procs, sorted[i]->module)->name);
		}
		add(fp, sorted[i]);
		add(&health->fp_all, sorted[i]);
	}
}
