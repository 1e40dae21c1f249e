/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a recording: see recording_attr.h. Of an attr what is known is
 * read and the rest ignored, whether it is older or younger than this program.
 */
#include "config.h"

#include "src/perf/recording_attr.h"

#include "src/base/reader.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/perf/event.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD	      8u
#define HEADER_BYTES  sizeof(struct perf_event_header)
#define TASK_TIME_OFF 24 /* FORK and EXIT: header, pid, ppid, tid, ptid */

/* Bits of the word after read_format, in the order of their declaration. */
#define FLAG_INHERIT	    (1ull << 1)
#define FLAG_EXCLUDE_USER   (1ull << 4)
#define FLAG_EXCLUDE_KERNEL (1ull << 5)
#define FLAG_FREQ	    (1ull << 10)
#define FLAG_PRECISE_IP	    (3ull << 15) /* a number from 0 to 3 */
#define FLAG_SAMPLE_ID_ALL  (1ull << 18)

void recording_events_done(struct recording_events *events)
{
	free(events->events);
	free(events->places);
	u64map_done(&events->ids);
	*events = (struct recording_events){0};
}

/* The other byte order also counts bit fields from the other end of each byte. */
static uint64_t read_flags(struct reader *r)
{
	uint8_t bytes[WORD] = {0};
	const uint8_t *p = reader_bytes(r, sizeof(bytes));
	uint64_t flags;

	for (size_t i = 0; p && i < sizeof(bytes); i++) {
		bytes[i] = p[i];
		for (unsigned int bit = 0; r->swap && bit < 4; bit++) {
			unsigned int low = p[i] >> bit & 1, high = p[i] >> (7 - bit) & 1;

			bytes[i] = (uint8_t)((bytes[i] & ~(1u << bit | 0x80u >> bit)) |
					     high << bit | low << (7 - bit));
		}
	}
	memcpy(&flags, bytes, sizeof(flags));
	return flags;
}

static enum stack_mode mode_of(uint64_t sample_type, uint64_t branch_type)
{
	const uint64_t dwarf = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	if ((sample_type & dwarf) == dwarf)
		return STACK_MODE_DWARF;
	/* Without call-stack mode the branches are those taken last, calls or not. */
	if ((sample_type & PERF_SAMPLE_BRANCH_STACK) &&
	    (branch_type & PERF_SAMPLE_BRANCH_CALL_STACK))
		return STACK_MODE_LBR;
	return STACK_MODE_FP;
}

static void read_attr(struct reader *r, struct recording_event *event)
{
	uint64_t flags;

	event->type = reader_u32(r);
	reader_skip(r, sizeof(uint32_t)); /* size */
	event->config = reader_u64(r);
	event->freq_or_period = reader_u64(r);
	event->format.sample_type = reader_u64(r);
	event->format.read_format = reader_u64(r);
	flags = read_flags(r);
	reader_skip(r, 2 * sizeof(uint32_t) + 2 * WORD); /* wakeup, bp_type, config1, config2 */
	event->format.branch_sample_type = reader_u64(r);
	event->format.regs_user_mask = reader_u64(r);
	event->stack_bytes = reader_u32(r);
	reader_skip(r, sizeof(uint32_t)); /* clockid */
	event->format.regs_intr_mask = reader_u64(r);
	event->format.is_swapped = r->swap;
	event->format.sample_id_all = flags & FLAG_SAMPLE_ID_ALL;
	event->format.is_precise = flags & FLAG_PRECISE_IP && event_skids(event->type);
	event->format.mode = mode_of(event->format.sample_type, event->format.branch_sample_type);
	event->is_inherited = flags & FLAG_INHERIT;
	event->is_freq = flags & FLAG_FREQ;
	event->is_dummy = event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_DUMMY;
	event_describe(event->type, event->config, flags & FLAG_EXCLUDE_USER,
		       flags & FLAG_EXCLUDE_KERNEL, event->name, sizeof(event->name));
}

static uint16_t words(uint64_t fields)
{
	return (uint16_t)(WORD * __builtin_popcountll(fields));
}

/* Orders of fields: <linux/perf_event.h>, PERF_RECORD_SAMPLE and struct sample_id. */
static struct recording_place place_of(const struct record_format *format)
{
	const uint64_t before_time = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	const uint64_t after_id = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	uint64_t type = format->sample_type;
	struct recording_place place = {0};

	if (type & PERF_SAMPLE_TIME)
		place.time_off = (uint16_t)(HEADER_BYTES + words(type & before_time));
	if (type & PERF_SAMPLE_IDENTIFIER)
		place.id_off = HEADER_BYTES;
	else if (type & PERF_SAMPLE_ID)
		place.id_off =
			(uint16_t)(HEADER_BYTES + words(type & (before_time | PERF_SAMPLE_TIME |
								PERF_SAMPLE_ADDR)));
	if (!format->sample_id_all)
		return place;
	if (type & PERF_SAMPLE_TIME)
		place.time_back = (uint16_t)(WORD + words(type & (PERF_SAMPLE_ID | after_id)));
	if (type & PERF_SAMPLE_IDENTIFIER)
		place.id_back = WORD;
	else if (type & PERF_SAMPLE_ID)
		place.id_back = (uint16_t)(WORD + words(type & after_id));
	return place;
}

int recording_events_add(struct recording_events *events, const uint8_t *attr, size_t bytes,
			 uint32_t *ret_bytes)
{
	uint8_t known[128] = {0};
	struct reader r = reader_of(attr, bytes);
	struct recording_event event = {0};
	uint32_t attr_bytes;
	int e;

	r.swap = events->is_swapped;
	reader_skip(&r, sizeof(uint32_t));
	attr_bytes = reader_u32(&r);
	if (attr_bytes == 0)
		attr_bytes = RECORDING_ATTR_BYTES_MIN;
	if (r.bad || attr_bytes < RECORDING_ATTR_BYTES_MIN || attr_bytes > bytes)
		return -EBADMSG;
	e = vec_reserve(&events->events, &events->cap, events->nr + 1, RECORDING_EVENTS_MAX);
	if (e == 0)
		e = vec_reserve(&events->places, &events->cap_places, events->nr + 1,
				RECORDING_EVENTS_MAX);
	if (e < 0)
		return e;
	memcpy(known, attr, MIN((size_t)attr_bytes, sizeof(known)));
	r = reader_of(known, sizeof(known));
	r.swap = events->is_swapped;
	read_attr(&r, &event);
	events->events[events->nr] = event;
	events->places[events->nr] = place_of(&event.format);
	if (events->id.id_off == 0)
		events->id = events->places[events->nr];
	*ret_bytes = attr_bytes;
	return (int)events->nr++;
}

int recording_events_add_id(struct recording_events *events, uint64_t id, uint32_t event)
{
	assert(event < events->nr);
	if (events->nr_ids >= RECORDING_IDS_MAX)
		return -E2BIG;
	events->nr_ids++;
	return u64map_set(&events->ids, id, event);
}

void recording_events_name(struct recording_events *events, uint32_t event, const char *name,
			   size_t len)
{
	assert(event < events->nr);
	len = strnlen(name, len);
	if (len > 0)
		text_sanitize(name, len, events->events[event].name,
			      sizeof(events->events[event].name));
}

static uint64_t word_at(const uint8_t *p, bool is_swapped)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return is_swapped ? __builtin_bswap64(word) : word;
}

int recording_events_find(const struct recording_events *events, bool is_sample, const uint8_t *raw,
			  size_t bytes)
{
	size_t off = is_sample ? events->id.id_off : bytes - events->id.id_back;
	uint32_t event;
	uint64_t id;

	if (events->nr == 1 || off < HEADER_BYTES || off > bytes - WORD)
		return 0;
	id = word_at(raw + off, events->is_swapped);
	event = u64map_get(&events->ids, id);
	if (event != U64MAP_NONE)
		return (int)event;
	return is_sample && id != 0 ? -ENOENT : 0;
}

uint64_t recording_events_time(const struct recording_events *events, uint32_t event,
			       const struct perf_event_header *header, const uint8_t *raw)
{
	const struct recording_place *place = &events->places[event];
	bool is_task = header->type == PERF_RECORD_FORK || header->type == PERF_RECORD_EXIT;
	size_t off = 0;

	assert(event < events->nr);
	if (header->type == PERF_RECORD_SAMPLE)
		off = place->time_off;
	else if (place->time_back && place->time_back + HEADER_BYTES <= header->size)
		off = header->size - place->time_back;
	else if (!place->time_back && place->time_off && is_task)
		off = TASK_TIME_OFF;
	return off && off + WORD <= header->size ? word_at(raw + off, events->is_swapped) : 0;
}
