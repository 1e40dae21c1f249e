/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recorded source: see recorded.h. The recording hands over the records of
 * all events; here one event's samples are let through and the others counted,
 * and what is live's alone is refused with the reason.
 */
#include "config.h"

#include "src/engine/recorded.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STACK	 127	     /* kernel.perf_event_max_stack, unless it was changed */
#define KERNEL_PARTS_MAX 65536	     /* modules of a kernel */
#define LIST_EVENTS_MAX	 8	     /* named in a message */
#define COUNT_BYTES_MAX	 (64u << 20) /* read to see which event has most samples */

static struct recorded *recorded_of(struct source *source)
{
	return (struct recorded *)source;
}

/* --- events --- */

/* What is shown before a sample has said more. */
static uint32_t find_event(const struct recorded *r)
{
	const uint64_t nothing[RECORDING_EVENTS_MAX] = {0};

	return r->word ? choices_find(&r->choices, r->word) : choices_fullest(&r->choices, nothing);
}

/* Only one event has samples of its own, and all events are known. */
static bool has_one_event(const struct recording_info *info)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < info->nr_events; i++)
		nr += !info->events[i].is_dummy;
	return !info->is_pipe && nr == 1;
}

/* The event to begin with, of a file that can be read twice: which it is only if need be. */
static uint32_t find_fullest(struct recorded *r)
{
	uint64_t counts[RECORDING_EVENTS_MAX];
	int code;

	if (has_one_event(r->choices.info))
		return find_event(r);
	code = recording_count(r->recording, COUNT_BYTES_MAX, counts);
	choices_join(&r->choices);
	return code == 0 ? choices_fullest(&r->choices, counts) : CHOICE_NONE;
}

/* The same of a pipe, in whose first part the first sample is of EVENT. */
static uint32_t find_fullest_ahead(struct recorded *r, uint32_t event)
{
	uint64_t counts[RECORDING_EVENTS_MAX];

	choices_join(&r->choices);
	if (r->word)
		return choices_find(&r->choices, r->word);
	recording_count_ahead(r->recording, counts);
	counts[event]++;
	return choices_fullest(&r->choices, counts);
}

/* "1 cycles, 2 instructions" */
static void list_events(const struct recorded *r, char *out, size_t size)
{
	uint32_t choice, n = 1;
	size_t len = 0;

	out[0] = '\0';
	for (; (choice = choices_at(&r->choices, n)) != CHOICE_NONE; n++)
		if (n <= LIST_EVENTS_MAX && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%u %s", n > 1 ? ", " : "",
						n, choices_name(&r->choices, choice));
	if (n - 1 > LIST_EVENTS_MAX && len < size)
		snprintf(out + len, size - len, " and %u more", n - 1 - LIST_EVENTS_MAX);
}

static int no_such_event(const struct recorded *r, struct err *err)
{
	char word[64], list[256];

	text_sanitize(r->word, strlen(r->word), word, sizeof(word));
	list_events(r, list, sizeof(list));
	return err_set(err, -ENOENT, "no event '%s' in %s, which has %s", word, r->file,
		       list[0] ? list : "none");
}

static void update_effective(struct recorded *r)
{
	const struct recording_info *info = recording_info(r->recording);
	struct effective_config *effective = &r->effective;
	/* Of a pipe events may still be to come: until its first sample this is the likely one. */
	uint32_t shown = r->event == CHOICE_NONE ? find_event(r) : r->event;
	const struct recording_event *event;

	effective->max_stack = MAX_STACK;
	effective->cpus_online = info->cpus_online;
	effective->cpus_sampled = info->cpus_online;
	if (shown == CHOICE_NONE)
		return;
	event = choices_first(&r->choices, shown);
	snprintf(effective->event.name, sizeof(effective->event.name), "%s",
		 choices_name(&r->choices, shown));
	effective->mode = event->format.mode;
	effective->stack_bytes = event->stack_bytes;
	effective->freq_hz = event->is_freq ? event->freq_or_period : 0;
	effective->period = event->is_freq ? 0 : event->freq_or_period;
}

static void drop_parts(struct recorded *r)
{
	for (size_t i = 0; i < r->nr_parts; i++)
		free(r->parts[i].path);
	r->nr_parts = r->nr_placed = 0;
	r->modules_start = r->modules_end = 0;
}

int recorded_show(struct recorded *r, uint32_t event, struct err *err)
{
	const struct recording_info *info = recording_info(r->recording);
	int code;

	if (event == r->event)
		return -EALREADY;
	if (!choices_exists(&r->choices, event))
		return err_set(err, -ENOENT, "the recording has no event %u",
			       choices_number(&r->choices, event));
	if (info->is_pipe || (code = recording_rewind(r->recording)) == -ESPIPE)
		return err_set(err, -ESPIPE,
			       "a pipe cannot be read again: start with -e %u to see this event",
			       choices_number(&r->choices, event));
	if (code < 0)
		return err_set(err, code, "%s: cannot read it again: %s", r->file, strerror(-code));
	r->event = event;
	r->other_samples = 0;
	r->is_stopped = r->is_ended = false;
	drop_parts(r);
	update_effective(r);
	return 0;
}

/* --- the kernel --- */

/* "[kernel.kallsyms]_text": a name in brackets, then the symbol that PGOFF is the address of. */
static void take_kernel_map(struct recorded *r, const struct record_mmap *mmap)
{
	const char *name = mmap->filename, *slash = strrchr(name, '/'), *end;
	struct kernel_part part = {.start = mmap->start};
	char text[sizeof(part.name) - 2];

	if (__builtin_add_overflow(mmap->start, mmap->len, &part.end) || mmap->len == 0)
		return;
	if (strncmp(name, "[kernel.kallsyms]", strlen("[kernel.kallsyms]")) == 0) {
		r->kernel_text = mmap->file_off;
		memcpy(r->kernel_id.build_id, mmap->build_id, sizeof(r->kernel_id.build_id));
		r->kernel_id.build_id_bytes = mmap->build_id_bytes;
		name = "kernel";
	} else if (strncmp(name, "[guest", strlen("[guest")) == 0) {
		return;
	} else if (slash) { /* a module's file */
		name = slash + 1;
	} else if (name[0] == '[') {
		name++;
	}
	end = name + strcspn(name, "].");
	text_sanitize(name, (size_t)(end - name), text, sizeof(text));
	for (char *dash = text; slash && (dash = strchr(dash, '-')); dash++)
		*dash = '_'; /* as the kernel calls its modules, whatever their files are called */
	snprintf(part.name, sizeof(part.name), "[%s]", text);
	if (vec_reserve(&r->parts, &r->cap_parts, r->nr_parts + 1, KERNEL_PARTS_MAX) < 0)
		return;
	if (slash && strstr(slash, ".ko"))
		part.path = strdup(mmap->filename);
	memcpy(part.build_id, mmap->build_id, sizeof(part.build_id));
	part.build_id_bytes = mmap->build_id_bytes;
	r->parts[r->nr_parts++] = part;
}

void recorded_place_modules(struct recorded *r, struct procs *procs, bool is_own)
{
	for (; r->nr_placed < r->nr_parts; r->nr_placed++) {
		struct kernel_part *part = &r->parts[r->nr_placed];

		part->module = PROC_MODULE_KERNEL;
		if (!part->path || is_own)
			continue;
		part->module = procs_kernel_module(procs, part->path, part->name, part->build_id,
						   part->build_id_bytes);
		if (r->modules_end == 0 || part->start < r->modules_start)
			r->modules_start = part->start;
		r->modules_end = MAX(r->modules_end, part->end);
	}
}

/* From the last: the image is first and as wide as it can be. */
static const struct kernel_part *part_at(const struct recorded *r, uint64_t addr)
{
	for (size_t i = r->nr_parts; i-- > 0;)
		if (addr >= r->parts[i].start && addr < r->parts[i].end)
			return &r->parts[i];
	return NULL;
}

struct profile_frame recorded_kernel_frame(const struct recorded *r, uint64_t addr)
{
	bool is_near = addr >= r->modules_start && addr < r->modules_end;
	const struct kernel_part *part = is_near ? part_at(r, addr) : NULL;

	if (!part || part->module == PROC_MODULE_KERNEL)
		return (struct profile_frame){.module = PROC_MODULE_KERNEL, .off = addr};
	return (struct profile_frame){.module = part->module, .off = addr - part->start};
}

static const char *kernel_object(void *recorded, uint64_t addr)
{
	const struct kernel_part *part = part_at(recorded, addr);

	return part ? part->name : NULL;
}

/* Modules are of the kernel, too. */
static bool is_kernel_image(const struct recording_build_id *id)
{
	return id->is_kernel && (strncmp(id->path, "[kernel", strlen("[kernel")) == 0 ||
				 strstr(id->path, "/vmlinux"));
}

static const struct recording_build_id *build_id(void *recorded, const char *path)
{
	const struct recorded *r = recorded;
	const struct recording_info *info = recording_info(r->recording);

	if (!path && r->kernel_id.build_id_bytes > 0)
		return &r->kernel_id;
	for (uint32_t i = 0; i < info->nr_build_ids; i++) {
		const struct recording_build_id *id = &info->build_ids[i];

		if (id->build_id_bytes == 0)
			continue;
		if (path ? strcmp(id->path, path) == 0 : is_kernel_image(id))
			return id;
	}
	return NULL;
}

/* --- the source --- */

static int op_drain(struct source *source, uint64_t time_ns)
{
	struct recorded *r = recorded_of(source);

	(void)time_ns;
	return r->is_stopped ? 0 : recording_read(r->recording);
}

static bool op_next(struct source *source, struct record *ret)
{
	struct recorded *r = recorded_of(source);

	while (recording_next(r->recording, ret)) {
		if (ret->kind == RECORD_MMAP && ret->pid == UINT32_MAX) {
			take_kernel_map(r, &ret->mmap);
			continue;
		}
		if (ret->kind != RECORD_SAMPLE)
			return true;
		if (r->event == CHOICE_NONE) { /* of a pipe: the events have come by now */
			r->event = find_fullest_ahead(r, ret->sample.event);
			update_effective(r);
		}
		if (choices_has(&r->choices, r->event, ret->sample.event))
			return true;
		r->other_samples++;
	}
	if (r->is_stopped || recording_is_over(r->recording))
		r->is_ended = true;
	return false;
}

static void op_stats(struct source *source, struct source_stats *ret)
{
	const struct recorded *r = recorded_of(source);

	recording_stats(r->recording, ret);
	ret->other_samples = r->other_samples;
}

static const struct effective_config *op_effective(struct source *source)
{
	struct recorded *r = recorded_of(source);

	update_effective(r);
	return &r->effective;
}

static int op_set_mode(struct source *source, enum stack_mode mode, uint32_t stack_bytes,
		       struct err *err)
{
	struct recorded *r = recorded_of(source);

	(void)mode;
	if (stack_bytes > 0 && r->effective.mode == STACK_MODE_DWARF)
		return err_set(err, -EROFS,
			       "a recording: the size of its stack copies is what it is");
	if (stack_bytes > 0)
		return err_set(err, -EROFS, "a recording: there are no stack copies in it");
	return err_set(err, -EROFS, "a recording: its stacks were recorded as %s",
		       stack_mode_name(r->effective.mode));
}

static uint32_t op_pollfds(struct source *source, bool is_sideband, struct pollfd *fds,
			   uint32_t max)
{
	const struct recorded *r = recorded_of(source);
	int fd = r->is_ended ? -1 : recording_fd(r->recording);

	if (is_sideband || max == 0 || fd < 0)
		return 0;
	fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	return 1;
}

static void op_stop(struct source *source)
{
	struct recorded *r = recorded_of(source);

	if (r->is_ended)
		return;
	r->is_stopped = true;
	/* What waits for older records to come is the end now. */
	recording_stop(r->recording);
}

static bool op_is_over(struct source *source)
{
	return recorded_of(source)->is_ended;
}

static void op_close(struct source *source)
{
	struct recorded *r = recorded_of(source);

	recording_close(r->recording);
	drop_parts(r);
	free(r->parts);
	free(r->word);
	free(r);
}

static const struct source_ops recorded_ops = {
	.drain = op_drain,
	.next = op_next,
	.stats = op_stats,
	.effective = op_effective,
	.set_mode = op_set_mode,
	.pollfds = op_pollfds,
	.stop = op_stop,
	.is_over = op_is_over,
	.close = op_close,
};

int recorded_new(struct recording *recording, const char *file, const char *event,
		 struct recorded **ret, struct err *err)
{
	struct recorded *r = calloc(1, sizeof(*r));

	if (!r) {
		recording_close(recording);
		return err_set(err, -ENOMEM, "out of memory");
	}
	r->source.ops = &recorded_ops;
	r->recording = recording;
	snprintf(r->file, sizeof(r->file), "%s", file);
	if (event) {
		r->word = strdup(event);
		if (!r->word) {
			op_close(&r->source);
			return err_set(err, -ENOMEM, "out of memory");
		}
	}
	r->event = CHOICE_NONE;
	r->choices.info = recording_info(r->recording);
	r->resolve = (struct resolve_recording){
		.info = r->choices.info,
		.context = r,
		.build_id = build_id,
		.kernel_object = kernel_object,
		.kernel_text = &r->kernel_text,
	};
	choices_join(&r->choices);
	if (r->word)
		r->event = choices_find(&r->choices, r->word);
	else if (recording_fd(r->recording) < 0)
		r->event = find_fullest(r);
	if (r->event == CHOICE_NONE && r->word && !recording_info(r->recording)->is_pipe) {
		no_such_event(r, err);
		op_close(&r->source);
		return -ENOENT;
	}
	update_effective(r);
	*ret = r;
	return 0;
}

/* --- what is said of it --- */

const char *recorded_trouble(const struct recorded *r, bool *ret_is_bad)
{
	struct recorded *own = (struct recorded *)(uintptr_t)r;
	struct err err = {0};
	uint64_t done, total;

	if (r->is_ended && r->word && r->event == CHOICE_NONE) {
		no_such_event(r, &err);
		snprintf(own->trouble, sizeof(own->trouble), "%s", err.text);
		*ret_is_bad = true;
		return r->trouble;
	}
	*ret_is_bad = false;
	if (r->is_stopped && !recording_is_over(r->recording)) {
		recording_progress(r->recording, &done, &total);
		snprintf(own->trouble, sizeof(own->trouble),
			 "%s: broken off at offset %llu, the rest is not shown", r->file,
			 (unsigned long long)done);
		return r->trouble;
	}
	return r->is_ended ? recording_trouble(r->recording, ret_is_bad) : "";
}

/* Of the choices that have what is not shown, the one that has most. */
static uint32_t fullest_other(const struct recorded *r)
{
	uint32_t fullest = CHOICE_NONE, choice;
	uint64_t most = 0;

	for (uint32_t n = 1; (choice = choices_at(&r->choices, n)) != CHOICE_NONE; n++) {
		uint64_t nr = choices_samples(&r->choices, choice);
		bool is_part = r->event >= CHOICE_JOINED && choice < CHOICE_JOINED &&
			       choices_has(&r->choices, r->event, choice);

		if (choice == r->event || is_part || nr <= most)
			continue;
		fullest = choice;
		most = nr;
	}
	return fullest;
}

void recorded_notice(const struct recorded *r, char *out, size_t size)
{
	uint64_t shown;
	uint32_t other;

	out[0] = '\0';
	if (!r->is_ended || r->event == CHOICE_NONE)
		return;
	other = fullest_other(r);
	if (r->other_samples == 0 || other == CHOICE_NONE)
		return;
	shown = choices_samples(&r->choices, r->event);
	snprintf(out, size, "%llu of %llu samples are of this event: -e %u (%s)",
		 (unsigned long long)shown, (unsigned long long)(shown + r->other_samples),
		 choices_number(&r->choices, other), choices_name(&r->choices, other));
}

/* perf adds its own side band after what was asked for, which is not shown. */
static uint32_t nr_listed(const struct recorded *r)
{
	uint32_t nr = r->choices.info->nr_events;

	while (nr > 1 && nr != r->event + 1 && r->choices.info->events[nr - 1].is_dummy)
		nr--;
	return MIN(nr, (uint32_t)SNAP_EVENTS_MAX - r->choices.nr_joined);
}

static void list_event(const struct recorded *r, uint32_t choice, struct snap_recording *ret)
{
	if (choice == r->event)
		ret->event = ret->nr_events;
	ret->events[ret->nr_events++] = (struct snap_event){
		.choice = choice, .nr_samples = choices_samples(&r->choices, choice)};
}

void recorded_fill(const struct recorded *r, struct snap_recording *ret)
{
	*ret = (struct snap_recording){
		.is_recording = true,
		.is_pipe = r->choices.info->is_pipe,
		.is_reading = !r->is_ended,
	};
	recording_progress(r->recording, &ret->done_bytes, &ret->total_bytes);
	for (uint32_t i = 0; i < nr_listed(r); i++)
		list_event(r, i, ret);
	for (uint32_t i = 0; i < r->choices.nr_joined; i++)
		list_event(r, CHOICE_JOINED + i, ret);
}
