/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recording as the engine sees it: a source that hands over the samples of
 * one event, and what a snapshot says of the whole. Reads nothing of this
 * machine. The loop that reads it through is replay.c.
 */
#ifndef ST_ENGINE_RECORDED_H
#define ST_ENGINE_RECORDED_H

#include "src/base/err.h"
#include "src/model/snapshot.h"
#include "src/perf/recording.h"
#include "src/profile/profile.h"
#include "src/resolve/resolve.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * --- choices.c: the events as a person chooses among them: by name, by number, and several as one where
 * a hybrid CPU counts the same thing by two PMUs ---
 */

#define CHOICE_NONE	  UINT32_MAX
#define CHOICE_JOINED	  0x10000u /* a choice from here on is several events as one */
#define CHOICE_JOINED_MAX 16	   /* more are shown apart only */

struct choices_joined {
	char name[64]; /* "cycles:P" of cpu_core/cycles/P and cpu_atom/cycles/P */
	uint32_t first;
};

/* A choice is an event's number in the file, from 0 on, or CHOICE_JOINED and more. */
struct choices {
	const struct recording_info *info; /* borrowed */
	struct choices_joined joined[CHOICE_JOINED_MAX];
	uint32_t nr_joined;
	/* of an event: where in joined, from 1 on; 0: none */
	uint8_t joined_of[RECORDING_EVENTS_MAX];
};

/* Look which events are to be joined; again when more have come (pipe mode). */
void choices_join(struct choices *choices);

/* What WORD asks for: a number from 1 on, a name, or a name without its modifiers; or CHOICE_NONE. */
uint32_t choices_find(const struct choices *choices, const char *word);
/*
 * The choice with the most samples by COUNTS of each event in the file; of as
 * many the joined and then the first one. Dummies only where there is nothing else.
 */
uint32_t choices_fullest(const struct choices *choices, const uint64_t *counts);

/* All choices by their number from 1 on, which -e takes: first the file's. CHOICE_NONE after the last. */
uint32_t choices_at(const struct choices *choices, uint32_t number);
uint32_t choices_number(const struct choices *choices, uint32_t choice);

bool choices_exists(const struct choices *choices, uint32_t choice);
bool choices_has(const struct choices *choices, uint32_t choice, uint32_t event);
const char *choices_name(const struct choices *choices, uint32_t choice);
/* The event, or the first one of several. */
const struct recording_event *choices_first(const struct choices *choices, uint32_t choice);
/* Samples read so far. */
uint64_t choices_samples(const struct choices *choices, uint32_t choice);

/* --- recorded.c --- */

/* A part of the kernel: its image, or a module. */
struct kernel_part {
	uint64_t start, end;
	char name[64]; /* sanitized, in brackets */
	char *path;    /* of a module's file, raw; or NULL */
	uint8_t build_id[RECORD_BUILD_ID_MAX],
		build_id_bytes; /* as its mapping tells, if it does */
	uint32_t module;	/* of that file; PROC_MODULE_KERNEL: its names are the kernel's */
};

struct recorded {
	struct source source; /* first: a struct source is what others hold */
	struct recording *recording;
	struct effective_config effective;
	char file[256];
	char *word; /* the event asked for, or NULL */
	struct choices choices;
	uint32_t event; /* that is shown: a choice among them, or CHOICE_NONE: not known yet */
	uint64_t other_samples;
	bool is_stopped, is_ended;
	struct kernel_part *parts; /* of the kernel, as they came */
	size_t nr_parts, cap_parts;
	size_t nr_placed;		     /* of them: MODULE is set */
	uint64_t modules_start, modules_end; /* where those with files are */
	uint64_t kernel_text; /* where its symbol _text (or _stext) was; 0: not known */
	struct recording_build_id kernel_id; /* as its mapping tells, if it does */
	struct resolve_recording resolve;    /* for the resolver */
	char trouble[ERR_TEXT_MAX];
};

/*
 * RECORDING is owned by the recorded source from here on, also on error; FILE is its name as given, sanitized;
 * EVENT: by name or number from 1 on, NULL: the one with the most samples. -ENOENT with a message that lists
 * the events when none is called so. In pipe mode they may come later: then recorded_trouble() says it.
 */
int recorded_new(struct recording *recording, const char *file, const char *event,
		 struct recorded **ret, struct err *err);

/*
 * Show EVENT instead, a choice, from the beginning of the recording. 0, -EALREADY (it is shown),
 * or another -errno with a message.
 */
int recorded_show(struct recorded *recorded, uint32_t event, struct err *err);
/*
 * Kernel modules that have come become modules of PROCS, so that their names are those of their files. IS_OWN: the
 * kernel is the one that runs here, which has all names in one list.
 */
void recorded_place_modules(struct recorded *recorded, struct procs *procs, bool is_own);
/* What ADDR in the kernel is. */
struct profile_frame recorded_kernel_frame(const struct recorded *recorded, uint64_t addr);
/* Why the recording ended early or is not what was asked for, or ""; IS_BAD: it counts as a failure. */
const char *recorded_trouble(const struct recorded *recorded, bool *ret_is_bad);
/* At the end: how many samples are not shown, and the option that shows them; or "". */
void recorded_notice(const struct recorded *recorded, char *out, size_t size);
/* Everything but text into RET. */
void recorded_fill(const struct recorded *recorded, struct snap_recording *ret);

#endif
