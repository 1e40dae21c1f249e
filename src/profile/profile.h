/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile: frames, functions, the call tree, the log of samples, windows
 * over it, and snapshots of a window. Ids, numbers and interned text only: no
 * perf, no file, no clock. All memory is bounded; at a bound the oldest
 * samples leave and a counter says so. Adding a stack allocates nothing in the
 * steady state.
 */
#ifndef ST_PROFILE_PROFILE_H
#define ST_PROFILE_PROFILE_H

#include "src/base/stack.h"
#include "src/model/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

struct profile_config {
	size_t log_bytes_max; /* 16 bytes a sample */
	uint32_t nodes_max, frames_max;
	size_t text_bytes_max;
	bool sums_all; /* no log and no window: sums of all samples that were ever added */
};
extern const struct profile_config profile_config_default;
extern const struct profile_config profile_config_recording; /* keeps all */

struct profile *profile_new(const struct profile_config *config);
struct profile *profile_free(struct profile *profile);

/*
 * Objects: what frames belong to, by the engine's module id. NAME is
 * sanitized and copied. It comes before frames of the module are added,
 * and again to change the name.
 */
int profile_object(struct profile *profile, uint32_t module, const char *name, bool is_kernel);

/* One frame of a stack as the engine knows it. */
struct profile_frame {
	uint32_t module;
	/*
	 * what to look the function up by: file offset (minus 1 for return
	 * addresses) or kernel address
	 */
	uint64_t off;
};

/* What the log keeps beside the stack. */
struct profile_sample {
	uint64_t time_ns;
	uint32_t process; /* struct process.index */
	uint64_t weight;  /* period */
	enum stack_mode mode;
	enum stack_end end;
};

/*
 * Add a sample whose stack is FRAMES, outermost first (user frames from the
 * root down, then kernel frames). NR may be 0. *RET_TICKET, if not NULL, names
 * the sample for profile_replace (0 where all samples are summed). Returns 0 or -ENOMEM (counted as dropped by the caller).
 */
int profile_add(struct profile *profile, const struct profile_sample *sample,
		const struct profile_frame *frames, uint32_t nr, uint64_t *ret_ticket);
/* Start again where all samples are summed: forget the samples, not the names. */
void profile_clear(struct profile *profile);
/*
 * Give sample TICKET its final stack and end (it was PENDING). False: it has
 * left the log already.
 */
bool profile_replace(struct profile *profile, uint64_t ticket, enum stack_end end,
		     const struct profile_frame *frames, uint32_t nr);

/*
 * Frames whose function is not known yet, at most MAX of one module, marked as
 * asked for. Returns how many, their module in *RET_MODULE; 0: none.
 */
uint32_t profile_unnamed(struct profile *profile, uint32_t *ret_module, uint64_t *offs,
			 uint32_t max);
/* The function of a frame. Texts are sanitized and copied. */
struct profile_name {
	uint64_t func_off, func_vaddr; /* where it begins */
	const char *name;	       /* NULL: it shows as OBJECT+0xVADDR */
	/* NULL: the module's name; else its own (a kernel module "[nf_tables]") */
	const char *object;
};
/*
 * Name frame (MODULE, OFF). A name of NULL with a func_off of UINT64_MAX: nothing
 * is known, it shows as the object's name alone. 0 or -ENOMEM.
 */
int profile_name(struct profile *profile, uint32_t module, uint64_t off,
		 const struct profile_name *name);
/*
 * What frame (MODULE, OFF) was just named holds for every offset from FROM to
 * LAST: frames there are named so without a question.
 */
void profile_name_range(struct profile *profile, uint32_t module, uint64_t off, uint64_t from,
			uint64_t last);
/*
 * More is known of MODULE now: its frames keep their names and are asked for
 * again. Not while answers are on their way, which would be old ones.
 */
void profile_rename(struct profile *profile, uint32_t module);
/* What is known of one frame; text is valid until the next frame is named. */
struct profile_place {
	const char *name; /* of its function, or NULL */
	const char *object;
	uint64_t func_off; /* where the function begins, UINT64_MAX: not known */
	bool is_kernel;
};
/* False: its name is on its way. */
bool profile_place_of(const struct profile *profile, uint32_t module, uint64_t off,
		      struct profile_place *ret);
/* Frames whose name is not known yet: those asked for and those not. */
uint64_t profile_nr_unnamed(const struct profile *profile);

/*
 * The window that is shown: a moving stretch that ends now, a fixed one, or
 * one that starts later (zeroed). While it is frozen new samples go to the
 * log only, and those of the picture are the last to leave it. A zero during
 * a freeze takes effect when that ends. It starts with 10 s and mode fp.
 */
void profile_set_window(struct profile *profile, uint64_t length_ns);
/* Only samples of this mode are summed. */
void profile_set_mode(struct profile *profile, enum stack_mode mode);
void profile_freeze(struct profile *profile, bool frozen, uint64_t time_ns);
void profile_zero(struct profile *profile, uint64_t time_ns);
/* Move the window's ends to TIME_NS: samples that leave it are taken out of the sums. */
void profile_advance(struct profile *profile, uint64_t time_ns);

/*
 * Build a snapshot of the window: funcs, nodes, text, totals, window times.
 * Settings and health are the caller's to fill; EXTRA_TEXT bytes are left free
 * at the end of its text for that (snapshot.nr_text is where they begin).
 * Children are ordered by total, heaviest first. NULL: no memory.
 */
struct snapshot *profile_snapshot(struct profile *profile, uint32_t extra_text);

struct profile_stats {
	uint64_t nodes, frames, log_entries, collections;
	/* samples that left the log; where all samples are summed, those without their callers */
	uint64_t evicted;
};
void profile_stats(const struct profile *profile, struct profile_stats *ret);

#endif
