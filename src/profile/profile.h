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

/*
 * MODULE is one of several with the functions of LIKE, which is known: they have its name, and a function
 * without a place is one and the same in all of them. Again with another LIKE when MODULE becomes that.
 */
int profile_object_like(struct profile *profile, uint32_t module, uint32_t like);

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
	uint32_t tid;
	uint64_t weight; /* period */
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
	const char *mangled; /* what NAME was made from; NULL: it is the same */
};
/*
 * Name frame (MODULE, OFF). A name of NULL with a func_off of UINT64_MAX: nothing
 * is known, it shows as the object's name alone, as it does with -ENOMEM. 0 or that.
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
/* More is known of MODULE now: those of its frames that have no name are asked for again. As above. */
void profile_rename_unnamed(struct profile *profile, uint32_t module);
/*
 * Inlined functions: snapshots show them as frames of their own while this is ON, as far as they are known.
 * Each snapshot chooses the heaviest frames to ask about.
 */
void profile_set_inlines(struct profile *profile, bool on);
/* As profile_unnamed(): frames chosen by the last snapshot. */
uint32_t profile_unlined(struct profile *profile, uint32_t *ret_module, uint64_t *offs,
			 uint32_t max);
/* Frames of the last snapshot of which it is not known yet; 0 while it is off. */
uint32_t profile_nr_unlined(const struct profile *profile);
/* A function at an address. Texts are sanitized and copied; NULL, 0: not known. */
struct profile_inline {
	const char *name;
	const char *file;
	uint32_t line;
	const char *decl_file; /* where it is written */
	uint32_t decl_line;
};
/* What is at frame (MODULE, OFF), innermost first; all but the last are inlined. NR 0: nothing is known. */
void profile_line(struct profile *profile, uint32_t module, uint64_t off,
		  const struct profile_inline *inlined, uint32_t nr);
/* There is no answer now: a later snapshot asks again. */
void profile_line_later(struct profile *profile, uint32_t module, uint64_t off);
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
/*
 * What is looked at: the functions with these KEYS of snapshots, NR of them. Of their modules unnamed frames are
 * handed out before others, and of them what is inlined. Replaces what was said before. 0, or -ENOMEM: nothing has changed.
 */
int profile_prefer(struct profile *profile, const uint64_t *keys, uint32_t nr);
/* MODULE has such a function. */
bool profile_prefers(const struct profile *profile, uint32_t module);
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
/*
 * Freeze, or move the frozen picture, so that the window ends at END_NS: not
 * before a window's length after the oldest sample that is kept, and not after
 * the newest. One pass over the log.
 */
void profile_show(struct profile *profile, uint64_t end_ns);
/* Move the window's ends to TIME_NS: samples that leave it are taken out of the sums. */
void profile_advance(struct profile *profile, uint64_t time_ns);

/*
 * Build a snapshot of the window: funcs, nodes, text, totals, window times.
 * Settings and health are the caller's to fill; EXTRA_TEXT bytes are left free
 * at the end of its text for that (snapshot.nr_text is where they begin).
 * Children are ordered by total, heaviest first. NULL: no memory.
 */
struct snapshot *profile_snapshot(struct profile *profile, uint32_t extra_text);
/*
 * From now on snapshots have their stacks by address too, or not: of their objects the
 * number of the module and the name, which the caller may better.
 */
void profile_show_stacks(struct profile *profile, bool on);

/* A function of a snapshot, by its key there. */
struct profile_func {
	uint32_t module;
	uint64_t off; /* where it begins; UINT64_MAX: not known */
	bool is_kernel;
};
/* False: there is none with KEY. */
bool profile_find_func(const struct profile *profile, uint64_t key, struct profile_func *ret);
/* The key that a function at OFF of MODULE has in snapshots, if there is one. */
uint64_t profile_func_key(uint32_t module, uint64_t off);

/* Samples of the window that end at an offset of a module. */
struct profile_address {
	uint64_t off, weight, samples;
	uint32_t module;
};
struct profile_addresses { /* zeroed at first; all is the owner's to free */
	struct profile_address *all;
	size_t nr, cap;
};
/*
 * The places in the function with KEY at which stacks of the window end, each once, by module and offset, in the
 * memory of RET. 0 or -ENOMEM. They add up to its self weight.
 */
int profile_addresses(const struct profile *profile, uint64_t key, struct profile_addresses *ret);

struct profile_stats {
	uint64_t nodes, frames, log_entries, collections;
	/* samples that left the log; where all samples are summed, those without their callers */
	uint64_t evicted;
	/* memory: of the samples, of tree and frames, of functions and their names */
	uint64_t log_bytes, tree_bytes, names_bytes;
};
void profile_stats(const struct profile *profile, struct profile_stats *ret);

#endif
