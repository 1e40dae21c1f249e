/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks by address, as formats need them that keep places and not only
 * functions: the tree by address, and what each process has in it. A part of a
 * snapshot that is made only when it is asked for, since it is larger than the rest.
 */
#ifndef ST_MODEL_STACKS_H
#define ST_MODEL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#define SNAP_PATH_MAX	  256
#define SNAP_BUILD_ID_MAX 41 /* hexadecimal, with the NUL after it */

/* A file, or what is none: the kernel, run-time code. */
struct snap_object {
	uint32_t module; /* the engine's number of it */
	char path[SNAP_PATH_MAX];
	char build_id[SNAP_BUILD_ID_MAX]; /* lower-case, "": not known */
};

/* A place in the code. */
struct snap_place {
	/* in the object as it is linked, of the kernel where it runs; of callers inside the call */
	uint64_t addr;
	uint32_t object; /* index, SNAPSHOT_NONE: no object */
	uint32_t func;	 /* index into snapshot.funcs */
	bool has_addr;
};

/* A node of the tree by address: parent < node, node 0 is the root and no place. */
struct snap_call {
	uint32_t parent, place;
};

/* What one thread has of the stacks that end in a node; each pair once. */
struct snap_stack {
	uint64_t weight, nr_samples;
	uint32_t thread; /* index into snapshot.threads */
	uint32_t node;
};

/* A single sample of the window. */
struct snap_moment {
	uint64_t time_ns, weight;
	uint32_t thread, node; /* as of a stack */
};

struct snap_stacks {
	struct snap_object *objects;
	uint32_t nr_objects;
	struct snap_place *places;
	uint32_t nr_places;
	struct snap_call *calls;
	uint32_t nr_calls; /* at least the root */
	struct snap_stack *stacks;
	uint32_t nr_stacks;
	struct snap_moment *moments; /* by time; none where only sums are kept, of recordings */
	uint32_t nr_moments;
};

/* Accepts NULL and what is half built. Returns NULL. */
struct snap_stacks *snap_stacks_free(struct snap_stacks *stacks);

#endif
