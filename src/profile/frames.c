/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects, frames and functions: see frames.h. */
#include "config.h"

#include "src/profile/frames.h"

#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MIN  1024
#define RANGES_MAX  (1u << 18) /* of one module */
#define OBJECTS_MAX (1u << 20)
#define NAME_MAX_BYTES \
	1024 /* of a function or object: demangled names can be longer than any screen */

uint64_t func_key(const struct func *func)
{
	uint64_t place = hash_u64(func->off + (uint64_t)func->module * 0x9e3779b97f4a7c15ull);

	return hash_u64(place ^ 0x66756e63u);
}

/* --- tables of ids: each is one more there, since 0 is none --- */

static void frame_table_put(struct frames *f, uint32_t id)
{
	uint64_t hash = frames_hash(f, f->frames[id].module, f->frames[id].off);

	id_table_put(&f->frame_table, hash, id + 1);
}

static void func_table_put(struct frames *f, uint32_t id)
{
	uint64_t hash = frames_hash(f, f->funcs[id].module, f->funcs[id].off);

	id_table_put(&f->func_table, hash, id + 1);
}

static void frame_table_fill(struct frames *f)
{
	id_table_clear(&f->frame_table);
	for (uint32_t id = 0; id < f->nr_frames; id++)
		frame_table_put(f, id);
}

static void func_table_fill(struct frames *f)
{
	id_table_clear(&f->func_table);
	for (uint32_t id = FUNC_FIRST; id < f->nr_funcs; id++)
		func_table_put(f, id);
}

/* --- ranges: searched for every new frame, changed only while names come in --- */

static void ranges_done(struct func_ranges *r)
{
	free(r->all);
	*r = (struct func_ranges){0};
}

/* How many begin at or before OFF. */
static size_t nr_before(const struct func_ranges *r, uint64_t off)
{
	return search_first(r->nr, i, r->all[i].from > off);
}

/* The function at OFF, or FRAMES_NONE. */
static uint32_t ranges_find(const struct func_ranges *r, uint64_t off)
{
	size_t at = nr_before(r, off);

	if (at == 0 || off - r->all[at - 1].from >= r->all[at - 1].bytes)
		return FRAMES_NONE;
	return r->all[at - 1].func;
}

/*
 * FUNC holds all of FROM to LAST. What overlaps something that is known, or
 * finds no memory, is left out: it will be asked for again.
 */
static void ranges_add(struct func_ranges *r, uint64_t from, uint64_t last, uint32_t func)
{
	size_t at = nr_before(r, last);

	if (last - from >= UINT32_MAX || ranges_find(r, from) != FRAMES_NONE ||
	    (at > 0 && r->all[at - 1].from >= from) ||
	    vec_reserve(&r->all, &r->cap, r->nr + 1, RANGES_MAX) < 0)
		return;
	memmove(r->all + at + 1, r->all + at, (r->nr - at) * sizeof(*r->all));
	r->all[at] = (struct func_range){
		.from = from, .bytes = (uint32_t)(last - from) + 1, .func = func};
	r->nr++;
}

/* Functions were renumbered: MARKS[old] is the new number + 1, or 0 if it is gone. */
static void ranges_renumber(struct func_ranges *r, const uint32_t *marks)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++) {
		struct func_range range = r->all[i];

		if (!marks[range.func])
			continue;
		range.func = marks[range.func] - 1;
		r->all[nr++] = range;
	}
	r->nr = nr;
}

/* --- strings --- */

static uint32_t intern(struct frames *f, const char *text)
{
	uint32_t id = strings_intern(f->strings, text, strlen(text));

	f->is_text_full |= id == STRINGS_OVERFLOW;
	return id;
}

static uint32_t intern_foreign(struct frames *f, const char *text)
{
	char clean[NAME_MAX_BYTES];

	text_sanitize(text, strlen(text), clean, sizeof(clean));
	return intern(f, clean);
}

/* --- functions --- */

static int funcs_reserve(struct frames *f, uint32_t nr)
{
	int r = vec_reserve(&f->funcs, &f->cap_funcs, (size_t)f->nr_funcs + nr,
			    (size_t)f->max_frames + OBJECTS_MAX + FUNC_FIRST);

	if (r < 0)
		return r;
	r = id_table_reserve(&f->func_table, f->nr_funcs + nr);
	if (r > 0)
		func_table_fill(f);
	return MIN(r, 0);
}

static uint32_t func_add(struct frames *f, struct func func)
{
	assert(f->nr_funcs < f->cap_funcs);
	f->funcs[f->nr_funcs] = func;
	return f->nr_funcs++;
}

static uint32_t func_find(const struct frames *f, uint32_t module, uint64_t off)
{
	uint32_t id = id_table_find(&f->func_table, frames_hash(f, module, off));

	return id ? id - 1 : FRAMES_NONE;
}

const char *func_name(const struct frames *f, const struct func *func)
{
	return func->name ? strings_get(f->strings, func->name) : NULL;
}

const char *func_object(const struct frames *f, const struct func *func)
{
	uint32_t object = func->object;

	if (object == FRAMES_NONE)
		object = f->objects[func->module].name;
	return strings_get(f->strings, object);
}

bool func_is_kernel(const struct frames *f, const struct func *func)
{
	return func->module < f->nr_objects && f->objects[func->module].is_kernel;
}

/* --- objects --- */

/* Room for object MODULE and for a function of its own. */
static int objects_reserve(struct frames *f, uint32_t module)
{
	if (module >= OBJECTS_MAX)
		return -E2BIG;
	if (vec_reserve(&f->objects, &f->cap_objects, (size_t)module + 1, OBJECTS_MAX) < 0 ||
	    funcs_reserve(f, 1) < 0)
		return -ENOMEM;
	for (; f->nr_objects <= module; f->nr_objects++)
		f->objects[f->nr_objects] = (struct object){
			.fallback = FUNC_UNKNOWN,
			.like = f->nr_objects,
			.queue_first = FRAMES_NONE,
			.queue_last = FRAMES_NONE,
		};
	return 0;
}

int profile_object(struct profile *p, uint32_t module, const char *name, bool is_kernel)
{
	struct frames *f = &p->frames;
	struct object *object;
	int r = objects_reserve(f, module);

	if (r < 0)
		return r;
	object = &f->objects[module];
	object->name = intern_foreign(f, name);
	object->is_kernel = is_kernel;
	if (object->is_known)
		return 0;
	object->is_known = true;
	object->fallback = func_add(f, (struct func){.off = FUNC_OFF_NONE,
						     .module = module,
						     .object = FRAMES_NONE,
						     .is_object = true});
	func_table_put(f, object->fallback);
	return 0;
}

int profile_object_like(struct profile *p, uint32_t module, uint32_t like)
{
	struct frames *f = &p->frames;
	struct object *object;
	int r = objects_reserve(f, module);

	if (r < 0)
		return r;
	assert(like < f->nr_objects && f->objects[like].is_known);
	object = &f->objects[module];
	object->like = like;
	object->name = f->objects[like].name;
	object->fallback = f->objects[like].fallback;
	object->is_kernel = f->objects[like].is_kernel;
	object->is_known = true;
	return 0;
}

/* --- frames --- */

int frames_reserve(struct frames *f, uint32_t nr)
{
	int r;

	if (likely(f->cap_frames - f->nr_frames >= nr &&
		   f->frame_table.nr_slots / 2 >= f->nr_frames + nr))
		return 0;
	if (f->max_frames - f->nr_frames < nr)
		return -ENOSPC;
	if (vec_reserve(&f->frames, &f->cap_frames, (size_t)f->nr_frames + nr, f->max_frames) < 0)
		return -ENOMEM;
	r = id_table_reserve(&f->frame_table, f->nr_frames + nr);
	if (r > 0)
		frame_table_fill(f);
	return MIN(r, 0);
}

static void queue_frame(struct frames *f, uint32_t id)
{
	struct frame *frame = &f->frames[id];
	struct object *object;

	if (frame->module >= f->nr_objects || !f->objects[frame->module].is_known) {
		frame->state = FRAME_ANSWERED; /* there is no module to ask about it */
		return;
	}
	object = &f->objects[frame->module];
	frame->state = FRAME_QUEUED;
	frame->next = FRAMES_NONE;
	if (object->queue_last == FRAMES_NONE)
		object->queue_first = id;
	else
		f->frames[object->queue_last].next = id;
	object->queue_last = id;
	f->nr_unnamed++;
	f->nr_queued++;
}

/* Name FRAME after the function that is known to be there, if one is. */
static bool name_by_range(struct frames *f, struct frame *frame)
{
	uint32_t func = FRAMES_NONE;

	if (frame->module < f->nr_objects)
		func = ranges_find(&f->objects[frame->module].ranges, frame->off);
	if (func == FRAMES_NONE)
		return false;
	frame->func = func;
	frame->state = FRAME_ANSWERED;
	return true;
}

uint32_t frames_find(const struct frames *f, uint32_t module, uint64_t off)
{
	uint32_t id = id_table_find(&f->frame_table, frames_hash(f, module, off));

	return id ? id - 1 : FRAMES_NONE;
}

uint32_t frames_intern(struct frames *f, uint32_t module, uint64_t off)
{
	uint32_t id = frames_find(f, module, off);

	if (likely(id != FRAMES_NONE))
		return id;
	assert(f->nr_frames < f->cap_frames);
	id = f->nr_frames++;
	f->frames[id] = (struct frame){
		.off = off,
		.module = module,
		.func = module < f->nr_objects ? f->objects[module].fallback : FUNC_UNKNOWN,
	};
	frame_table_put(f, id);
	if (!name_by_range(f, &f->frames[id]))
		queue_frame(f, id);
	return id;
}

/* --- names --- */

uint64_t profile_nr_unnamed(const struct profile *p)
{
	return p->frames.nr_unnamed;
}

/* At most MAX frames of OBJECT's queue, which are asked for from now on. Returns how many. */
static uint32_t take_queued(struct frames *f, struct object *object, uint64_t *offs, uint32_t max)
{
	uint32_t nr = 0;

	while (nr < max && object->queue_first != FRAMES_NONE) {
		struct frame *frame = &f->frames[object->queue_first];

		object->queue_first = frame->next;
		if (frame->state != FRAME_QUEUED) /* it was named unasked */
			continue;
		f->nr_queued--;
		if (name_by_range(f, frame)) {
			f->nr_unnamed--;
			continue;
		}
		frame->state = FRAME_ASKED;
		offs[nr++] = frame->off;
	}
	if (object->queue_first == FRAMES_NONE)
		object->queue_last = FRAMES_NONE;
	return nr;
}

/* Those of the next module that has some, of those that are preferred or of the others. */
static uint32_t next_queued(struct frames *f, bool is_preferred, uint32_t *ret_module,
			    uint64_t *offs, uint32_t max)
{
	for (uint32_t i = 0; f->nr_queued && i < f->nr_objects; i++) {
		uint32_t module = (f->next_object + i) % f->nr_objects, nr = 0;

		if (frames_prefer(f, module) == is_preferred)
			nr = take_queued(f, &f->objects[module], offs, max);
		if (nr == 0)
			continue;
		f->next_object = module + 1;
		*ret_module = module;
		return nr;
	}
	return 0;
}

uint32_t profile_unnamed(struct profile *p, uint32_t *ret_module, uint64_t *offs, uint32_t max)
{
	uint32_t nr = next_queued(&p->frames, true, ret_module, offs, max);

	return nr > 0 ? nr : next_queued(&p->frames, false, ret_module, offs, max);
}

/* Whether a string that is interned already says TEXT: mostly so, the frames of a function are many. */
static bool is_string(const struct frames *f, uint32_t id, const char *text)
{
	return id != FRAMES_NONE && strcmp(strings_get(f->strings, id), text) == 0;
}

static void set_name(struct frames *f, struct func *func, const struct profile_name *name)
{
	uint32_t id = intern_foreign(f, name->name), mangled;

	if (id == STRINGS_OVERFLOW) /* without room for the name the place is shown */
		return;
	func->name = id;
	mangled = name->mangled && *name->mangled ? intern_foreign(f, name->mangled) : 0;
	func->mangled = mangled == STRINGS_OVERFLOW ? 0 : mangled;
}

static void set_names(struct frames *f, struct func *func, const struct profile_name *name)
{
	const char *object = name->object;

	if (name->name && *name->name && !is_string(f, func->name, name->name))
		set_name(f, func, name);
	if (object && *object && !is_string(f, func->object, object))
		func->object = intern_foreign(f, object);
}

/* The function that a frame's answer speaks of, made if it is new; FRAMES_NONE: no memory. */
static uint32_t func_of_name(struct frames *f, uint32_t module, const struct profile_name *name)
{
	uint64_t off = name->func_off;
	bool is_object = off == FUNC_OFF_NONE && (!name->name || !*name->name);
	uint32_t id;

	module = f->objects[module].like;
	if (is_object && (!name->object || !*name->object ||
			  is_string(f, f->objects[module].name, name->object)))
		return f->objects[module].fallback;
	if (off == FUNC_OFF_NONE) {
		/* A name without a place, of a function or of a part of the module: one for each name. */
		const char *text = is_object ? name->object : name->name;

		off = FUNC_OFF_NONE - 1 - hash_bytes(text, strlen(text)) / 2;
	}
	id = func_find(f, module, off);
	if (id == FRAMES_NONE) {
		if (funcs_reserve(f, 1) < 0)
			return FRAMES_NONE;
		id = func_add(f, (struct func){.off = off,
					       .vaddr = name->func_vaddr,
					       .module = module,
					       .object = FRAMES_NONE,
					       .has_no_place = name->func_off == FUNC_OFF_NONE,
					       .is_object = is_object});
		func_table_put(f, id);
	}
	set_names(f, &f->funcs[id], name);
	return id;
}

int frames_name(struct frames *f, uint32_t module, uint64_t off, const struct profile_name *name)
{
	uint32_t id = frames_find(f, module, off), func;
	struct frame *frame;

	if (id == FRAMES_NONE || module >= f->nr_objects || !f->objects[module].is_known)
		return 0; /* the frame has left, or its module is not known */
	func = func_of_name(f, module, name);
	frame = &f->frames[id];
	frame->func = func == FRAMES_NONE ? f->objects[module].fallback : func;
	f->nr_unnamed -= frame->state != FRAME_ANSWERED;
	f->nr_queued -= frame->state == FRAME_QUEUED;
	frame->state = FRAME_ANSWERED;
	return func == FRAMES_NONE ? -ENOMEM : 0;
}

uint32_t frames_file(struct frames *f, const char *file)
{
	uint32_t id = file && *file ? intern_foreign(f, file) : 0;

	return id == STRINGS_OVERFLOW ? 0 : id;
}

void frames_declare(struct frames *f, uint32_t func, const struct profile_inline *inlined)
{
	if (f->funcs[func].is_object || f->funcs[func].line || !inlined->decl_line)
		return;
	f->funcs[func].file = frames_file(f, inlined->decl_file);
	f->funcs[func].line = inlined->decl_line;
}

uint32_t frames_inlined(struct frames *f, uint32_t module, const struct profile_inline *inlined)
{
	const char *name = inlined->name ? inlined->name : "?";
	const char *file = inlined->decl_file ? inlined->decl_file : "";
	uint64_t hash = hash_bytes(name, strlen(name)) ^
			hash_u64(hash_bytes(file, strlen(file)) + inlined->decl_line);
	uint64_t off = FUNC_OFF_NONE - 1 - hash / 2;
	uint32_t id = func_find(f, module, off);

	if (id == FRAMES_NONE) {
		if (funcs_reserve(f, 1) < 0)
			return FRAMES_NONE;
		id = func_add(f, (struct func){.off = off,
					       .module = module,
					       .object = FRAMES_NONE,
					       .has_no_place = true,
					       .is_inlined = true});
		func_table_put(f, id);
	}
	set_names(f, &f->funcs[id], &(struct profile_name){.name = name});
	frames_declare(f, id, inlined);
	return id;
}

static void ask_again(struct frames *f, uint32_t id)
{
	f->nr_unnamed -= f->frames[id].state != FRAME_ANSWERED;
	f->nr_queued -= f->frames[id].state == FRAME_QUEUED;
	queue_frame(f, id);
}

void profile_rename_unnamed(struct profile *p, uint32_t module)
{
	struct frames *f = &p->frames;

	if (module >= f->nr_objects)
		return;
	for (uint32_t id = 1; id < f->nr_frames; id++)
		if (f->frames[id].module == module && f->frames[id].state == FRAME_ANSWERED &&
		    f->frames[id].func == f->objects[module].fallback)
			queue_frame(f, id);
}

void profile_rename(struct profile *p, uint32_t module)
{
	struct frames *f = &p->frames;

	if (module >= f->nr_objects)
		return;
	f->generation++;
	ranges_done(&f->objects[module].ranges);
	f->objects[module].queue_first = f->objects[module].queue_last = FRAMES_NONE;
	for (uint32_t id = 1; id < f->nr_frames; id++)
		if (f->frames[id].module == module)
			ask_again(f, id);
}

void profile_name_range(struct profile *p, uint32_t module, uint64_t off, uint64_t from,
			uint64_t last)
{
	struct frames *f = &p->frames;
	uint32_t id = frames_find(f, module, off);
	struct object *object;

	if (id == FRAMES_NONE || f->frames[id].state != FRAME_ANSWERED || from > off || last < off)
		return;
	object = &f->objects[module];
	if (f->frames[id].func != object->fallback)
		ranges_add(&object->ranges, from, last, f->frames[id].func);
}

/* --- compaction --- */

static void compact_frames(struct frames *f, uint32_t *map)
{
	uint32_t nr = 1;

	map[FRAME_NO_STACK] = FRAME_NO_STACK;
	for (uint32_t id = 1; id < f->nr_frames; id++) {
		if (!map[id])
			continue;
		map[id] = nr;
		f->frames[nr++] = f->frames[id];
	}
	f->nr_frames = nr;
	f->nr_unnamed = f->nr_queued = 0;
	for (uint32_t m = 0; m < f->nr_objects; m++)
		f->objects[m].queue_first = f->objects[m].queue_last = FRAMES_NONE;
	for (uint32_t id = 1; id < nr; id++) {
		if (f->frames[id].state == FRAME_QUEUED)
			queue_frame(f, id);
		else if (f->frames[id].state == FRAME_ASKED)
			f->nr_unnamed++;
	}
	frame_table_fill(f);
}

/* MARKS: one word for each function, zeroed; becomes new number + 1. */
static void compact_funcs(struct frames *f, uint32_t *marks)
{
	uint32_t nr = FUNC_FIRST;

	for (uint32_t m = 0; m < f->nr_objects; m++)
		marks[f->objects[m].fallback] = 1;
	for (uint32_t id = 1; id < f->nr_frames; id++)
		marks[f->frames[id].func] = 1;
	marks[FUNC_NO_STACK] = FUNC_NO_STACK + 1;
	marks[FUNC_UNKNOWN] = FUNC_UNKNOWN + 1;
	for (uint32_t id = FUNC_FIRST; id < f->nr_funcs; id++) {
		if (!marks[id])
			continue;
		f->funcs[nr++] = f->funcs[id];
		marks[id] = nr;
	}
	for (uint32_t m = 0; m < f->nr_objects; m++) {
		f->objects[m].fallback = marks[f->objects[m].fallback] - 1;
		ranges_renumber(&f->objects[m].ranges, marks);
	}
	for (uint32_t id = 1; id < f->nr_frames; id++)
		f->frames[id].func = marks[f->frames[id].func] - 1;
	f->nr_funcs = nr;
	func_table_fill(f);
}

static uint32_t move_string(struct frames *f, const struct strings *old, uint32_t id)
{
	return id == FRAMES_NONE ? id : intern(f, strings_get(old, id));
}

static void compact_strings(struct frames *f)
{
	struct strings *old = f->strings, *new = strings_new(f->text_bytes_max);

	if (!new)
		return; /* the old table goes on, as full as it is */
	f->strings = new;
	f->is_text_full = false;
	for (uint32_t m = 0; m < f->nr_objects; m++)
		f->objects[m].name = move_string(f, old, f->objects[m].name);
	for (uint32_t id = 0; id < f->nr_funcs; id++) {
		f->funcs[id].name = move_string(f, old, f->funcs[id].name);
		f->funcs[id].mangled = move_string(f, old, f->funcs[id].mangled);
		f->funcs[id].object = move_string(f, old, f->funcs[id].object);
		f->funcs[id].file = move_string(f, old, f->funcs[id].file);
	}
	strings_free(old);
}

void frames_compact(struct frames *f, uint32_t *map)
{
	uint32_t *marks = calloc(f->nr_funcs, sizeof(*marks));

	f->generation++;
	compact_frames(f, map);
	if (marks)
		compact_funcs(f, marks);
	free(marks);
	if (strings_bytes(f->strings) > f->text_bytes_max / 2)
		compact_strings(f);
}

/* --- life --- */

int frames_init(struct frames *f, uint32_t frames_max, size_t text_bytes_max, uint64_t seed)
{
	uint32_t max_frames = MIN(MAX(frames_max, (uint32_t)FRAMES_MIN), 1u << 28);

	*f = (struct frames){
		.max_frames = max_frames,
		.text_bytes_max = text_bytes_max,
		.strings = strings_new(text_bytes_max),
		.seed = seed,
	};
	if (!f->strings || frames_reserve(f, 1) < 0 || funcs_reserve(f, FUNC_FIRST) < 0) {
		frames_done(f);
		return -ENOMEM;
	}
	f->frames[f->nr_frames++] = (struct frame){
		.module = FRAME_NO_STACK_MODULE,
		.off = FRAME_NO_STACK_OFF,
		.func = FUNC_NO_STACK,
		.state = FRAME_ANSWERED,
	};
	frame_table_put(f, FRAME_NO_STACK);
	func_add(f, (struct func){.module = FRAME_NO_STACK_MODULE,
				  .name = intern(f, "[no stack]"),
				  .object = intern(f, "[unknown]")});
	func_add(f, (struct func){.module = FRAME_NO_STACK_MODULE,
				  .off = FUNC_OFF_NONE,
				  .object = intern(f, "[unknown]"),
				  .is_object = true});
	return 0;
}

void frames_done(struct frames *f)
{
	for (uint32_t m = 0; m < f->nr_objects; m++)
		ranges_done(&f->objects[m].ranges);
	free(f->frames);
	free(f->funcs);
	free(f->objects);
	id_table_done(&f->frame_table);
	id_table_done(&f->func_table);
	strings_free(f->strings);
	*f = (struct frames){0};
}
