/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a recording as a person chooses among them: by name, by number,
 * and several as one where a hybrid CPU counts the same thing by two PMUs.
 */
#ifndef ST_ENGINE_CHOICES_H
#define ST_ENGINE_CHOICES_H

#include "src/perf/recording.h"

#include <stdbool.h>
#include <stdint.h>

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
	uint8_t joined_of
		[RECORDING_EVENTS_MAX]; /* of an event: where in joined, from 1 on; 0: none */
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

/* All choices by their number from 1 on, which -e takes: first the file's. CHOICE_NONE behind the last. */
uint32_t choices_at(const struct choices *choices, uint32_t number);
uint32_t choices_number(const struct choices *choices, uint32_t choice);

bool choices_exists(const struct choices *choices, uint32_t choice);
bool choices_has(const struct choices *choices, uint32_t choice, uint32_t event);
const char *choices_name(const struct choices *choices, uint32_t choice);
/* The event, or the first one of several. */
const struct recording_event *choices_first(const struct choices *choices, uint32_t choice);
/* Samples read so far. */
uint64_t choices_samples(const struct choices *choices, uint32_t choice);

#endif
