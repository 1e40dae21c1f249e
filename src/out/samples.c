/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Single samples as text, a block each; see docs/FORMATS. Much like perf
 * script, to compare with it, or exactly so that what reads its text reads this: stackcollapse-perf.pl,
 * inferno, speedscope and Firefox Profiler find fields by regular expressions.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Who splits a line at its blanks counts words from the end: an event is one, or an object. */
static void put_word(FILE *stream, const char *name)
{
	for (; *name; name++)
		putc(*name == ' ' ? '_' : *name, stream);
}

static void put_place(FILE *stream, const struct snap_samples *s, const struct snap_frame *frame)
{
	fprintf(stream, "\t%16" PRIx64 " ", frame->addr);
	if (frame->name)
		fprintf(stream, "%s+0x%" PRIx64, s->text + frame->name, frame->name_off);
	else
		fputs("[unknown]", stream);
}

static const char *object_of(const struct snap_samples *s, const struct snap_frame *frame)
{
	return frame->object ? s->text + frame->object : "[unknown]";
}

/* --- as perf script --- */

/* Readers take a name of at most two words and at least two characters. */
static void put_script_comm(FILE *stream, const char *comm)
{
	size_t len = strlen(comm);
	bool has_blank = false;

	for (size_t i = 0; i < len; i++) {
		bool is_end = i == 0 || i == len - 1, is_blank = comm[i] == ' ';

		putc(is_blank && (is_end || has_blank) ? '_' : comm[i], stream);
		has_blank |= is_blank && !is_end;
	}
	if (len < 2)
		fputs(len ? " " : "[]", stream);
}

/* A task that has ended has no number any more: readers know no negative ones. */
static void put_script_head(FILE *stream, const struct snap_sample *sample, const char *comm,
			    const char *event)
{
	put_script_comm(stream, comm);
	fprintf(stream, " %d/%d ", MAX(sample->pid, 0), MAX(sample->tid, 0));
	if (sample->cpu != UINT32_MAX)
		fprintf(stream, "[%03" PRIu32 "] ", sample->cpu);
	/* perf script's own precision: some readers take no other. */
	fprintf(stream, "%llu.%06llu: %" PRIu64 " ", sample->time_ns / NS_PER_SEC,
		sample->time_ns % NS_PER_SEC / 1000, sample->period);
	put_word(stream, event);
	fputs(": \n", stream);
}

static void put_script_object(FILE *stream, const char *object, bool is_kernel)
{
	fputs(" (", stream);
	put_word(stream,
		 is_kernel && strcmp(object, "[kernel]") == 0 ? "[kernel.kallsyms]" : object);
	fputs(")\n", stream);
}

static void put_script_frame(FILE *stream, const struct snap_samples *s,
			     const struct snap_frame *frame)
{
	put_place(stream, s, frame);
	put_script_object(stream, object_of(s, frame), frame->is_kernel);
}

int out_script(FILE *stream, const struct snap_samples *s, uint64_t max)
{
	errno = 0;
	for (uint32_t i = 0; i < MIN(s->nr_samples, max); i++) {
		const struct snap_sample *sample = &s->samples[i];

		put_script_head(stream, sample, s->text + sample->comm, s->text + sample->event);
		for (uint32_t k = 0; k < sample->nr_frames; k++)
			put_script_frame(stream, s, &s->frames[sample->first_frame + k]);
		putc('\n', stream);
	}
	return out_end(stream);
}

static void put_call(FILE *stream, const struct snapshot *s, const struct snap_call *call)
{
	const struct snap_place *place = &s->stacks->places[call->place];
	const struct snap_func *func = &s->funcs[place->func];

	fprintf(stream, "\t%16" PRIx64 " %s", place->addr,
		func->is_named ? snapshot_text(s, func->name) : "[unknown]");
	put_script_object(stream, snapshot_text(s, func->object), func->is_kernel);
}

int out_script_stacks(FILE *stream, const struct snapshot *s)
{
	const struct snap_stacks *stacks = s->stacks;

	errno = 0;
	for (uint32_t i = 0; i < stacks->nr_moments; i++) {
		const struct snap_moment *moment = &stacks->moments[i];
		const struct snap_thread *thread = &s->threads[moment->thread];
		const struct snap_process *process = &s->processes[thread->process];
		const struct snap_sample sample = {
			.pid = process->pid,
			.tid = thread->tid ? thread->tid : process->pid,
			.cpu = UINT32_MAX,
			.time_ns = moment->time_ns,
			.period = moment->weight,
		};

		put_script_head(stream, &sample, thread->comm, snapshot_text(s, s->settings.event));
		for (uint32_t at = moment->node; at > 0; at = stacks->calls[at].parent)
			put_call(stream, s, &stacks->calls[at]);
		putc('\n', stream);
	}
	return out_end(stream);
}

/* --- with the reasons --- */

static void put_head(FILE *stream, const struct snap_samples *s, const struct snap_sample *sample)
{
	fprintf(stream, "%s %d/%d ", s->text + sample->comm, sample->pid, sample->tid);
	if (sample->cpu == UINT32_MAX)
		fputs("[-]", stream);
	else
		fprintf(stream, "[%03" PRIu32 "]", sample->cpu);
	fprintf(stream, " %llu.%09llu: %" PRIu64 " ", sample->time_ns / NS_PER_SEC,
		sample->time_ns % NS_PER_SEC, sample->period);
	put_word(stream, s->text + sample->event);
	fprintf(stream, ": %s\n", stack_end_name(sample->end));
}

static void put_frame(FILE *stream, const struct snap_samples *s, const struct snap_frame *frame)
{
	put_place(stream, s, frame);
	fprintf(stream, " (%s)\n", object_of(s, frame));
}

int out_samples(FILE *stream, const struct snap_samples *s, uint64_t max)
{
	errno = 0;
	for (uint32_t i = 0; i < MIN(s->nr_samples, max); i++) {
		const struct snap_sample *sample = &s->samples[i];

		put_head(stream, s, sample);
		for (uint32_t k = 0; k < sample->nr_frames; k++)
			put_frame(stream, s, &s->frames[sample->first_frame + k]);
		putc('\n', stream);
	}
	return out_end(stream);
}
