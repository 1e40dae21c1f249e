/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single samples as text, a block each; see docs/FORMATS. Much like perf script, to compare with it. */
#include "config.h"

#include "src/base/util.h"
#include "src/out/out.h"

#include <errno.h>
#include <inttypes.h>

/* Who splits a line at its blanks counts words from the end: an event is one. */
static void put_event(FILE *stream, const char *name)
{
	for (; *name; name++)
		putc(*name == ' ' ? '_' : *name, stream);
}

static void put_head(FILE *stream, const struct snap_samples *s, const struct snap_sample *sample)
{
	fprintf(stream, "%s %d/%d ", s->text + sample->comm, sample->pid, sample->tid);
	if (sample->cpu == UINT32_MAX)
		fputs("[-]", stream);
	else
		fprintf(stream, "[%03" PRIu32 "]", sample->cpu);
	fprintf(stream, " %llu.%09llu: %" PRIu64 " ", sample->time_ns / NS_PER_SEC,
		sample->time_ns % NS_PER_SEC, sample->period);
	put_event(stream, s->text + sample->event);
	fprintf(stream, ": %s\n", stack_end_name(sample->end));
}

static void put_frame(FILE *stream, const struct snap_samples *s, const struct snap_frame *frame)
{
	fprintf(stream, "\t%16" PRIx64 " ", frame->addr);
	if (frame->name)
		fprintf(stream, "%s+0x%" PRIx64, s->text + frame->name, frame->name_off);
	else
		fputs("[unknown]", stream);
	fprintf(stream, " (%s)\n", frame->object ? s->text + frame->object : "[unknown]");
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
