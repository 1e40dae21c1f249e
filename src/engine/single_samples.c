/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single samples: see single_samples.h. Names are looked up in the profile when the samples are taken. */
#include "config.h"

#include "src/engine/single_samples.h"

#include "src/base/io.h"
#include "src/base/strings.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX (512u << 10)
#define TEXT_MAX   (64u << 20)

struct kept_frame {
	uint64_t addr, off; /* OFF: of ADDR itself in the file */
	struct profile_frame place;
};

struct kept_sample {
	uint64_t kept_ns;
	struct snap_sample head; /* its text offsets are filled in when it is taken */
	uint32_t process;
	char comm[16]; /* "": it was not known */
};

struct samples {
	struct kept_sample *samples;
	size_t nr_samples, cap_samples, max_samples;
	struct kept_frame *frames;
	size_t nr_frames, cap_frames;
};

struct samples *samples_new(uint32_t max)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (s)
		s->max_samples = max;
	return s;
}

struct samples *samples_free(struct samples *s)
{
	if (!s)
		return NULL;
	free(s->samples);
	free(s->frames);
	free(s);
	return NULL;
}

void samples_clear(struct samples *s)
{
	s->nr_samples = s->nr_frames = 0;
}

/* --- samples --- */

static void keep_frame(struct samples *s, const struct samples_stack *stack, uint32_t i)
{
	uint32_t nr_kernel = stack->nr - stack->nr_user;
	struct kept_frame frame = {.place = stack->path[stack->nr - 1 - i]};

	if (i < nr_kernel) {
		frame.addr = stack->kernel_ips[i];
		frame.off = frame.place.module == PROC_MODULE_KERNEL ? frame.addr
								     : frame.place.off + (i > 0);
	} else {
		frame.addr = stack->user[i - nr_kernel].pc;
		frame.off = stack->user[i - nr_kernel].off;
	}
	s->frames[s->nr_frames++] = frame;
}

bool samples_add(struct samples *s, const struct record *record, const struct process *process,
		 const char *comm, const struct samples_stack *stack)
{
	struct kept_sample *kept;

	if (samples_are_full(s) ||
	    vec_reserve(&s->samples, &s->cap_samples, s->nr_samples + 1, s->max_samples) < 0 ||
	    vec_reserve(&s->frames, &s->cap_frames, s->nr_frames + stack->nr, SIZE_MAX) < 0)
		return false;
	kept = &s->samples[s->nr_samples++];
	*kept = (struct kept_sample){.kept_ns = now_ns(),
				     .process = process->index,
				     .head = {
					     .pid = (int32_t)record->pid,
					     .tid = (int32_t)record->tid,
					     .cpu = record->cpu,
					     .time_ns = record->time_ns,
					     .period = record->sample.period,
					     .end = stack->end,
					     .first_frame = (uint32_t)s->nr_frames,
					     .nr_frames = stack->nr,
				     }};
	/* As the kernel knows it: threads have no other name, and perf shows that. */
	snprintf(kept->comm, sizeof(kept->comm), "%.15s", comm ? comm : "");
	for (uint32_t i = 0; i < stack->nr; i++)
		keep_frame(s, stack, i);
	return true;
}

bool samples_are_full(const struct samples *s)
{
	return s->nr_samples >= s->max_samples || s->nr_frames >= FRAMES_MAX;
}

bool samples_are_many(const struct samples *s)
{
	return s->nr_samples >= s->max_samples / 2 || s->nr_frames >= FRAMES_MAX / 2;
}

/* --- taking them --- */

/* The offset of TEXT in the text that is gathered, where the empty one is first. */
static uint32_t gather(struct strings *g, const char *text)
{
	uint32_t id = strings_intern(g, text, strlen(text));

	return (uint32_t)(strings_get(g, id) - strings_get(g, 0));
}

static int by_time(const void *left, const void *right)
{
	const struct snap_sample *a = &((const struct kept_sample *)left)->head;
	const struct snap_sample *b = &((const struct kept_sample *)right)->head;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->first_frame > b->first_frame) - (a->first_frame < b->first_frame);
}

static bool is_ordered(const struct samples *s)
{
	for (size_t i = 1; i < s->nr_samples; i++)
		if (s->samples[i].head.time_ns < s->samples[i - 1].head.time_ns)
			return false;
	return true;
}

/* Those whose stacks had to wait were kept late. Without memory they stay so. */
static void order(struct samples *s)
{
	struct kept_frame *frames;
	uint32_t nr = 0;

	if (is_ordered(s))
		return;
	frames = malloc(s->cap_frames * sizeof(*frames));
	if (!frames)
		return;
	qsort(s->samples, s->nr_samples, sizeof(*s->samples), by_time);
	for (size_t i = 0; i < s->nr_samples; i++) {
		struct snap_sample *head = &s->samples[i].head;

		if (head->nr_frames > 0)
			memcpy(frames + nr, s->frames + head->first_frame,
			       head->nr_frames * sizeof(*frames));
		head->first_frame = nr;
		nr += head->nr_frames;
	}
	assert(nr == s->nr_frames);
	free(s->frames);
	s->frames = frames;
}

/*
 * How many samples, from the first, none can come before, and have all names that they will get, or have
 * waited long enough.
 */
static uint32_t count_settled(const struct samples *s, const struct profile *profile,
			      uint64_t overdue_ns, uint64_t before_ns)
{
	struct profile_place place;

	for (uint32_t i = 0; i < s->nr_samples; i++) {
		const struct snap_sample *head = &s->samples[i].head;

		if (head->time_ns >= before_ns)
			return i;
		if (s->samples[i].kept_ns < overdue_ns)
			continue;
		for (uint32_t k = 0; k < head->nr_frames; k++) {
			const struct profile_frame *at = &s->frames[head->first_frame + k].place;

			if (!profile_place_of(profile, at->module, at->off, &place))
				return i;
		}
	}
	return (uint32_t)s->nr_samples;
}

static void fill_frame(const struct kept_frame *from, const struct profile *profile,
		       struct strings *g, struct snap_frame *ret)
{
	struct profile_place place;

	profile_place_of(profile, from->place.module, from->place.off, &place);
	*ret = (struct snap_frame){
		.addr = from->addr,
		.object = gather(g, place.object),
		.is_kernel = place.is_kernel,
	};
	if (!place.name || (place.func_off > from->off && place.func_off != UINT64_MAX))
		return;
	ret->name = gather(g, place.name);
	if (place.func_off != UINT64_MAX)
		ret->name_off = from->off - place.func_off;
}

/* Forget the first NR samples, which have been taken with their NR_FRAMES. */
static void drop_first(struct samples *s, uint32_t nr, uint32_t nr_frames)
{
	s->nr_samples -= nr;
	s->nr_frames -= nr_frames;
	if (s->nr_samples > 0)
		memmove(s->samples, s->samples + nr, s->nr_samples * sizeof(*s->samples));
	if (s->nr_frames > 0)
		memmove(s->frames, s->frames + nr_frames, s->nr_frames * sizeof(*s->frames));
	for (size_t i = 0; i < s->nr_samples; i++)
		s->samples[i].head.first_frame -= nr_frames;
}

static void name_thread(struct kept_sample *kept, const struct procs *procs)
{
	const struct process *process = procs_by_index(procs, kept->process);
	const char *comm = procs_thread_comm(procs, process, kept->head.tid);

	if (!kept->comm[0])
		snprintf(kept->comm, sizeof(kept->comm), "%.15s", comm ? comm : process->comm);
}

struct snap_samples *samples_take(struct samples *s, const struct profile *profile,
				  const struct procs *procs, const char *event, uint64_t overdue_ns,
				  uint64_t before_ns)
{
	struct strings *g = strings_new(TEXT_MAX);
	struct snap_samples *ret = NULL;
	struct snap_frame *frames;
	uint32_t nr, nr_frames, nr_text;

	order(s);
	nr = count_settled(s, profile, overdue_ns, before_ns);
	nr_frames = nr < s->nr_samples ? s->samples[nr].head.first_frame : (uint32_t)s->nr_frames;
	frames = calloc(nr_frames + 1ul, sizeof(*frames));
	if (!frames || !g)
		goto out;
	for (uint32_t i = 0; i < nr_frames; i++)
		fill_frame(&s->frames[i], profile, g, &frames[i]);
	for (uint32_t i = 0; i < nr; i++) {
		name_thread(&s->samples[i], procs);
		s->samples[i].head.comm = gather(g, s->samples[i].comm);
		s->samples[i].head.event = gather(g, event);
	}
	nr_text = (uint32_t)strings_bytes(g);
	ret = snap_samples_new(nr, nr_frames, nr_text);
	if (!ret)
		goto out;
	for (uint32_t i = 0; i < nr; i++)
		ret->samples[i] = s->samples[i].head;
	memcpy(ret->frames, frames, nr_frames * sizeof(*frames));
	memcpy(ret->text, strings_get(g, 0), nr_text);
	drop_first(s, nr, nr_frames);
out:
	free(frames);
	strings_free(g);
	return ret;
}
