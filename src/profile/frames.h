/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects (modules), frames and functions. A frame is (module, offset), a
 * function (module, offset where it begins); both are known by small numbers.
 * A frame belongs to its module's fallback function until it is named.
 */
#ifndef ST_PROFILE_FRAMES_H
#define ST_PROFILE_FRAMES_H

#include "src/base/hash.h"
#include "src/base/strings.h"
#include "src/profile/id_table.h"
#include "src/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMES_NONE UINT32_MAX

/* Frame 0 stands for a stack without frames; functions 0 and 1 are there from the start. */
enum { FRAME_NO_STACK = 0 };
#define FRAME_NO_STACK_MODULE UINT32_MAX
#define FRAME_NO_STACK_OFF    UINT64_MAX
enum { FUNC_NO_STACK = 0, FUNC_UNKNOWN = 1, FUNC_FIRST = 2 };

enum frame_state { FRAME_QUEUED, FRAME_ASKED, FRAME_ANSWERED };

struct frame {
	uint64_t off;
	uint32_t module;
	uint32_t func;
	uint32_t next; /* in the module's queue of unnamed frames */
	uint8_t state; /* enum frame_state */
};

struct func {
	uint64_t off;	/* where it begins; FUNC_OFF_NONE: a module's fallback */
	uint64_t vaddr; /* what is shown when there is no name */
	uint32_t module;
	uint32_t name;	   /* string, 0: none */
	uint32_t mangled;  /* string, 0: as the name */
	uint32_t object;   /* string, FRAMES_NONE: the module's name */
	bool has_no_place; /* it is known by its name alone, of which OFF is made */
	uint32_t file;	   /* string: where it is written, as far as that is known */
	uint32_t line;	   /* 0: not known */
	bool is_inlined;   /* into others of the module: it has no place of its own */
	bool is_preferred; /* what is not known of its frames is asked for first */
	bool is_object; /* nothing is known but the object: a module, or a part of it that has a name */
};
#define FUNC_OFF_NONE UINT64_MAX

/*
 * A stretch of a module's code whose function is known: a frame at an offset that
 * was never seen before needs no question when it lies in one of them.
 */
struct func_range {
	uint64_t from;
	uint32_t bytes;
	uint32_t func;
};

struct func_ranges { /* ordered, none overlaps another */
	struct func_range *all;
	size_t nr, cap;
};

struct object {
	uint32_t name; /* string */
	uint32_t fallback;
	uint32_t queue_first, queue_last; /* unnamed frames, oldest first */
	struct func_ranges ranges;
	uint32_t like; /* whose functions its frames have: mostly its own */
	bool is_known, is_kernel;
	bool is_preferred; /* a function of it is */
};

struct frames {
	struct frame *frames;
	size_t cap_frames;
	uint32_t nr_frames, max_frames;
	struct func *funcs;
	size_t cap_funcs;
	uint32_t nr_funcs;
	struct object *objects;
	size_t cap_objects;
	uint32_t nr_objects;
	struct id_table frame_table, func_table;
	uint64_t seed; /* of their hashes */
	struct strings *strings;
	size_t text_bytes_max;
	bool is_text_full;    /* since the last compaction of the strings */
	uint64_t nr_unnamed;  /* frames without an answer */
	uint64_t nr_queued;   /* of those: not yet asked for */
	uint32_t generation;  /* what else is known by frame is stale when this has changed */
	uint32_t next_object; /* whose unnamed frames are handed out next */
};

int frames_init(struct frames *frames, uint32_t frames_max, size_t text_bytes_max, uint64_t seed);
void frames_done(struct frames *frames);

/* Make room for NR more frames: 0, -ENOMEM, or -ENOSPC at the bound. */
int frames_reserve(struct frames *frames, uint32_t nr);

static inline uint64_t frames_hash(const struct frames *frames, uint32_t module, uint64_t off)
{
	return hash_u64(off + module * 0x9e3779b97f4a7c15ull + frames->seed);
}

/* The frame (MODULE, OFF) will be looked for soon. */
static inline void frames_fetch(const struct frames *frames, uint32_t module, uint64_t off)
{
	id_table_fetch(&frames->frame_table, frames_hash(frames, module, off));
}

/* The frame (MODULE, OFF), or FRAMES_NONE. */
uint32_t frames_find(const struct frames *frames, uint32_t module, uint64_t off);
/* The frame (MODULE, OFF), made if it is new (room was reserved). */
uint32_t frames_intern(struct frames *frames, uint32_t module, uint64_t off);

int frames_name(struct frames *frames, uint32_t module, uint64_t off,
		const struct profile_name *name);

/* A function that is inlined in MODULE, known by its name and where it is written; FRAMES_NONE: no memory. */
uint32_t frames_inlined(struct frames *frames, uint32_t module,
			const struct profile_inline *inlined);
/* FUNC is written where INLINED says. */
void frames_declare(struct frames *frames, uint32_t func, const struct profile_inline *inlined);
/* The string for a file's name, or for none. */
uint32_t frames_file(struct frames *frames, const char *file);

/* MODULE, one of them, has a function that is asked about first. */
static inline bool frames_prefer(const struct frames *frames, uint32_t module)
{
	return frames->objects[frames->objects[module].like].is_preferred;
}

/* Text of a function. The name is NULL when it has none of its own. */
const char *func_name(const struct frames *frames, const struct func *func);
const char *func_object(const struct frames *frames, const struct func *func);
bool func_is_kernel(const struct frames *frames, const struct func *func);
/* The same function has the same key for as long as the profile lives. */
uint64_t func_key(const struct func *func);

/*
 * Keep the frames that MAP has something but 0 for, and the functions and strings
 * that they need. It becomes the frames' new numbers.
 */
void frames_compact(struct frames *frames, uint32_t *map);

#endif
