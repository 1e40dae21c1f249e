/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stacks of a snapshot as a profile of pprof (proto/profile.proto of
 * github.com/google/pprof), one sample for each stack of each process.
 *
 * Many processes map one file at many addresses. So that the same place is one
 * location in all, locations have the addresses of the file as it is linked, and each
 * mapping reaches from 0 to the end: readers take that for "adjusted already", whether
 * they subtract where a mapping starts or not.
 */
#include "config.h"

#include "src/base/strings.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/out/out.h"
#include "src/out/proto.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX    (256u << 20)
#define DEPTH_MAX   (1u << 20) /* of a stack; a bound that no tree in memory reaches */
#define COMMENT_MAX 512

/* Numbers of the fields, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum { MAPPING_ID = 1, MAPPING_LIMIT = 3, MAPPING_FILE = 5, MAPPING_BUILD_ID = 6 };
enum { MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDR = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3 };

struct pprof {
	const struct snapshot *snapshot;
	const struct snap_stacks *stacks;
	struct proto_file *file;
	struct proto top, inner, innermost; /* messages in the making, by depth */
	struct strings *strings;	    /* their numbers are the profile's */
	uint32_t *mappings;		    /* of each object the number */
	uint64_t *locations;		    /* of one stack */
	size_t cap_locations;
};

static uint32_t text_id(struct pprof *p, const char *text)
{
	return strings_intern(p->strings, text, strlen(text));
}

/* What p->inner is becomes a field of the profile. */
static int put_inner(struct pprof *p, uint32_t field)
{
	proto_clear(&p->top);
	proto_message(&p->top, field, &p->inner);
	proto_clear(&p->inner);
	return proto_file_put(p->file, &p->top);
}

/* --- what is counted --- */

static bool is_clock(const char *event)
{
	return strncmp(event, "cpu-clock", strlen("cpu-clock")) == 0 ||
	       strncmp(event, "task-clock", strlen("task-clock")) == 0;
}

static int put_type(struct pprof *p, uint32_t field, const char *name, const char *unit)
{
	proto_u64(&p->inner, TYPE_NAME, text_id(p, name));
	proto_u64(&p->inner, TYPE_UNIT, text_id(p, unit));
	return put_inner(p, field);
}

static uint64_t period_of(const struct snap_settings *settings, bool is_time)
{
	if (settings->period > 0)
		return settings->period;
	if (is_time && settings->freq_asked_hz > 0)
		return (uint64_t)((double)NS_PER_SEC / settings->freq_asked_hz);
	return 1;
}

static void comment_text(const struct snapshot *s, char *out, size_t size)
{
	const struct health *h = &s->health;
	const struct snap_settings *set = &s->settings;

	snprintf(out, size,
		 "stacktop %s on %s: %s, %s, %s; complete %.1f%%, lost %" PRIu64
		 ", dropped %" PRIu64 "; cost %.1f%% of a CPU",
		 PACKAGE_VERSION, snapshot_text(s, s->hostname), snapshot_text(s, set->target),
		 snapshot_text(s, set->event), stack_mode_name(set->mode),
		 health_known_now(h) ? health_now_pct(h, STACK_END_ROOT) : 100.0,
		 h->lost + h->lost_samples, h->dropped, h->own_cpu_pct);
}

static int put_head(struct pprof *p)
{
	const struct snapshot *s = p->snapshot;
	const char *event = snapshot_text(s, s->settings.event);
	bool is_time = is_clock(event);
	const char *name = is_time ? "cpu" : event, *unit = is_time ? "nanoseconds" : "count";
	uint64_t covered_ns = s->window_end_ns - MIN(s->window_start_ns, s->window_end_ns);
	char comment[COMMENT_MAX];
	int r = put_type(p, PROFILE_SAMPLE_TYPE, "samples", "count");

	if (r == 0)
		r = put_type(p, PROFILE_SAMPLE_TYPE, name, unit);
	if (r == 0)
		r = put_type(p, PROFILE_PERIOD_TYPE, name, unit);
	comment_text(s, comment, sizeof(comment));
	proto_clear(&p->top);
	proto_u64(&p->top, PROFILE_PERIOD, period_of(&s->settings, is_time));
	proto_u64(&p->top, PROFILE_TIME_NS,
		  (uint64_t)s->wall_ns - (s->recording.is_recording ? 0 : covered_ns));
	proto_u64(&p->top, PROFILE_DURATION_NS, covered_ns);
	proto_u64(&p->top, PROFILE_COMMENT, text_id(p, comment));
	proto_u64(&p->top, PROFILE_DEFAULT_TYPE, text_id(p, name));
	return r < 0 ? r : proto_file_put(p->file, &p->top);
}

/* --- code --- */

/* Readers take the first mapping for the program. */
enum { RANK_PROGRAM, RANK_LIBRARY, RANK_NO_FILE, RANK_COUNT };

static int rank_of(const struct snap_object *object)
{
	if (object->path[0] == '[')
		return RANK_NO_FILE;
	return strstr(object->path, ".so") ? RANK_LIBRARY : RANK_PROGRAM;
}

static int put_mapping(struct pprof *p, uint32_t i)
{
	const struct snap_object *object = &p->stacks->objects[i];

	proto_u64(&p->inner, MAPPING_ID, p->mappings[i]);
	proto_u64(&p->inner, MAPPING_LIMIT, UINT64_MAX);
	proto_u64(&p->inner, MAPPING_FILE, text_id(p, object->path));
	proto_u64(&p->inner, MAPPING_BUILD_ID, text_id(p, object->build_id));
	proto_u64(&p->inner, MAPPING_HAS_FUNCTIONS, 1);
	return put_inner(p, PROFILE_MAPPING);
}

static int put_mappings(struct pprof *p)
{
	uint32_t nr = 0;
	int r = 0;

	for (int rank = 0; rank < RANK_COUNT; rank++) {
		for (uint32_t i = 0; i < p->stacks->nr_objects && r == 0; i++) {
			if (rank_of(&p->stacks->objects[i]) != rank)
				continue;
			p->mappings[i] = ++nr;
			r = put_mapping(p, i);
		}
	}
	return r;
}

/* What is not known by a linked address belongs to no mapping: its address would be taken for one. */
static int put_location(struct pprof *p, uint32_t i)
{
	const struct snap_place *place = &p->stacks->places[i];

	proto_u64(&p->inner, LOCATION_ID, i + 1ul);
	if (place->has_addr && place->object < p->stacks->nr_objects) {
		proto_u64(&p->inner, LOCATION_MAPPING, p->mappings[place->object]);
		proto_u64(&p->inner, LOCATION_ADDR, place->addr);
	}
	proto_clear(&p->innermost);
	proto_u64(&p->innermost, LINE_FUNCTION, place->func + 1ul);
	proto_message(&p->inner, LOCATION_LINE, &p->innermost);
	return put_inner(p, PROFILE_LOCATION);
}

static int put_function(struct pprof *p, uint32_t i)
{
	uint32_t name = text_id(p, snapshot_text(p->snapshot, p->snapshot->funcs[i].name));

	proto_u64(&p->inner, FUNCTION_ID, i + 1ul);
	proto_u64(&p->inner, FUNCTION_NAME, name);
	proto_u64(&p->inner, FUNCTION_SYSTEM_NAME, name);
	return put_inner(p, PROFILE_FUNCTION);
}

/* --- samples --- */

static void add_label(struct pprof *p, const char *key, const char *text, uint64_t number)
{
	proto_clear(&p->innermost);
	proto_u64(&p->innermost, LABEL_KEY, text_id(p, key));
	if (text)
		proto_u64(&p->innermost, LABEL_TEXT, text_id(p, text));
	proto_u64(&p->innermost, LABEL_NUMBER, number);
	proto_message(&p->inner, SAMPLE_LABEL, &p->innermost);
}

static int put_sample(struct pprof *p, const struct snap_stack *stack)
{
	const struct snap_thread *thread = &p->snapshot->threads[stack->thread];
	const struct snap_process *process = &p->snapshot->processes[thread->process];
	const uint64_t values[] = {stack->nr_samples, stack->weight};
	size_t nr = 0;

	assert(stack->thread < p->snapshot->nr_threads);
	for (uint32_t node = stack->node; node != 0; node = p->stacks->calls[node].parent) {
		if (vec_reserve(&p->locations, &p->cap_locations, nr + 1, DEPTH_MAX) < 0)
			return -ENOMEM;
		p->locations[nr++] = p->stacks->calls[node].place + 1ul;
	}
	proto_numbers(&p->inner, SAMPLE_LOCATIONS, p->locations, nr);
	proto_numbers(&p->inner, SAMPLE_VALUES, values, ARRAY_SIZE(values));
	if (process->pid > 0)
		add_label(p, "pid", NULL, (uint64_t)process->pid);
	if (process->comm[0])
		add_label(p, "comm", process->comm, 0);
	if (thread->tid > 0)
		add_label(p, "tid", NULL, (uint64_t)thread->tid);
	if (thread->comm[0])
		add_label(p, "thread", thread->comm, 0);
	if (process->container > 0 && process->container <= p->snapshot->nr_containers)
		add_label(p, "container", p->snapshot->containers[process->container - 1].name, 0);
	if (process->user_name[0])
		add_label(p, "user", process->user_name, 0);
	return put_inner(p, PROFILE_SAMPLE);
}

/* --- all of it --- */

static int put_strings(struct pprof *p)
{
	uint32_t nr = strings_count(p->strings);
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		const char *text = strings_get(p->strings, i);

		proto_clear(&p->top);
		proto_text(&p->top, PROFILE_STRING, text, strlen(text));
		r = proto_file_put(p->file, &p->top);
	}
	return r;
}

static int put_profile(struct pprof *p)
{
	int r = put_head(p);

	for (uint32_t i = 0; i < p->stacks->nr_stacks && r == 0; i++)
		r = put_sample(p, &p->stacks->stacks[i]);
	if (r == 0)
		r = put_mappings(p);
	for (uint32_t i = 0; i < p->stacks->nr_places && r == 0; i++)
		r = put_location(p, i);
	for (uint32_t i = 0; i < p->snapshot->nr_funcs && r == 0; i++)
		r = put_function(p, i);
	if (r == 0)
		r = put_strings(p);
	return r < 0 ? r : proto_file_end(p->file);
}

int out_pprof(FILE *stream, const struct snapshot *s)
{
	struct pprof p = {
		.snapshot = s,
		.stacks = s->stacks,
		.file = proto_file_new(stream),
		.strings = strings_new(TEXT_MAX),
		.mappings = calloc(s->stacks->nr_objects + 1ul, sizeof(*p.mappings)),
	};
	int r = -ENOMEM;

	errno = 0;
	if (p.file && p.strings && p.mappings)
		r = put_profile(&p);
	proto_file_free(p.file);
	strings_free(p.strings);
	proto_done(&p.top);
	proto_done(&p.inner);
	proto_done(&p.innermost);
	free(p.mappings);
	free(p.locations);
	return r < 0 ? r : out_end(stream);
}
