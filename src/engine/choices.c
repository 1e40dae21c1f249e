/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a recording's events is meant: see recorded.h. Names are sanitized already. */
#include "config.h"

#include "src/engine/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- several as one --- */

/* What "PMU/TERMS/MODIFIERS" counts, whoever counts it: "TERMS:MODIFIERS". False: no such name. */
static bool without_pmu(const char *name, char *out, size_t size)
{
	const char *begin = strchr(name, '/'), *end = strrchr(name, '/');

	if (!begin || end <= begin + 1 || begin == name)
		return false;
	snprintf(out, size, "%.*s%s%s", (int)(end - begin - 1), begin + 1, end[1] ? ":" : "",
		 end + 1);
	return true;
}

/* The first event after NUMBER that is called NAME without its PMU, by another PMU; or CHOICE_NONE. */
static uint32_t next_called(const struct choices *c, uint32_t number, const char *name)
{
	const char *own = c->info->events[number].name;
	char other[sizeof(c->info->events[0].name)];

	for (uint32_t i = number + 1; i < c->info->nr_events; i++)
		if (strcmp(c->info->events[i].name, own) != 0 &&
		    without_pmu(c->info->events[i].name, other, sizeof(other)) &&
		    strcmp(other, name) == 0)
			return i;
	return CHOICE_NONE;
}

void choices_join(struct choices *c)
{
	char name[sizeof(c->joined[0].name)];

	memset(c->joined_of, 0, sizeof(c->joined_of));
	c->nr_joined = 0;
	for (uint32_t i = 0; i < c->info->nr_events && c->nr_joined < CHOICE_JOINED_MAX; i++) {
		struct choices_joined *joined = &c->joined[c->nr_joined];
		uint32_t next;

		if (c->joined_of[i] || !without_pmu(c->info->events[i].name, name, sizeof(name)))
			continue;
		next = next_called(c, i, name);
		if (next == CHOICE_NONE)
			continue;
		joined->first = i;
		memcpy(joined->name, name, sizeof(name));
		c->nr_joined++;
		c->joined_of[i] = (uint8_t)c->nr_joined;
		for (; next != CHOICE_NONE; next = next_called(c, next, name))
			c->joined_of[next] = (uint8_t)c->nr_joined;
	}
}

/* --- choices --- */

uint32_t choices_at(const struct choices *c, uint32_t number)
{
	if (number >= 1 && number <= c->info->nr_events)
		return number - 1;
	if (number > c->info->nr_events && number - c->info->nr_events <= c->nr_joined)
		return CHOICE_JOINED + number - c->info->nr_events - 1;
	return CHOICE_NONE;
}

uint32_t choices_number(const struct choices *c, uint32_t choice)
{
	return choice < CHOICE_JOINED ? choice + 1
				      : choice - CHOICE_JOINED + c->info->nr_events + 1;
}

bool choices_exists(const struct choices *c, uint32_t choice)
{
	return choice < CHOICE_JOINED ? choice < c->info->nr_events
				      : choice - CHOICE_JOINED < c->nr_joined;
}

bool choices_has(const struct choices *c, uint32_t choice, uint32_t event)
{
	return choice < CHOICE_JOINED ? event == choice
				      : c->joined_of[event] == choice - CHOICE_JOINED + 1;
}

const char *choices_name(const struct choices *c, uint32_t choice)
{
	return choice < CHOICE_JOINED ? c->info->events[choice].name
				      : c->joined[choice - CHOICE_JOINED].name;
}

const struct recording_event *choices_first(const struct choices *c, uint32_t choice)
{
	return &c->info->events[choice < CHOICE_JOINED ? choice
						       : c->joined[choice - CHOICE_JOINED].first];
}

uint64_t choices_samples(const struct choices *c, uint32_t choice)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < c->info->nr_events; i++)
		if (choices_has(c, choice, i))
			nr += c->info->events[i].nr_samples;
	return nr;
}

uint32_t choices_fullest(const struct choices *c, const uint64_t *counts)
{
	uint32_t fullest = c->info->nr_events > 0 ? 0 : CHOICE_NONE, choice;
	bool is_dummy = true;
	uint64_t most = 0;

	for (uint32_t n = 1; (choice = choices_at(c, n)) != CHOICE_NONE; n++) {
		uint64_t nr = 0;

		if (choices_first(c, choice)->is_dummy)
			continue;
		for (uint32_t i = 0; i < c->info->nr_events; i++)
			nr += choices_has(c, choice, i) ? counts[i] : 0;
		if (is_dummy || nr > most ||
		    (nr == most && choice >= CHOICE_JOINED && choices_has(c, choice, fullest))) {
			fullest = choice;
			most = nr;
			is_dummy = false;
		}
	}
	return fullest;
}

/* --- words --- */

/* NAME is what WORD asks for: itself with modifiers. */
static bool is_called(const char *name, const char *word)
{
	size_t len = strlen(word);

	return strncmp(name, word, len) == 0 && name[len] == ':';
}

uint32_t choices_find(const struct choices *c, const char *word)
{
	char *rest;
	unsigned long number = strtoul(word, &rest, 10);
	uint32_t choice;

	if (*rest == '\0' && number <= UINT32_MAX && choices_at(c, (uint32_t)number) != CHOICE_NONE)
		return choices_at(c, (uint32_t)number);
	for (uint32_t n = 1; (choice = choices_at(c, n)) != CHOICE_NONE; n++)
		if (strcmp(choices_name(c, choice), word) == 0)
			return choice;
	for (uint32_t n = 1; (choice = choices_at(c, n)) != CHOICE_NONE; n++)
		if (is_called(choices_name(c, choice), word))
			return choice;
	return CHOICE_NONE;
}
