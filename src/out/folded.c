/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot as folded stacks, one line for each stack of each command; see
 * docs/FORMATS. What processes of the same name have of a stack is one line.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/out/out.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX (1u << 20) /* of a stack; a bound that no tree in memory reaches */

/* A share whose process has given way to the first one of the same name. */
struct folded_line {
	uint32_t process, node;
	uint64_t weight;
};

struct folded {
	FILE *stream;
	const struct snapshot *snapshot;
	const struct snap_process **order; /* by name */
	uint32_t *first; /* of each process: the first one of its name in that order */
	struct folded_line *lines;
	uint32_t *path;
	size_t cap_path;
};

static int compare_names(const void *left, const void *right)
{
	const struct snap_process *const *a = left, *const *b = right;

	return strcmp((*a)->comm, (*b)->comm);
}

/* Places in the order stand for names from here on: equal names have equal places. */
static void place_names(struct folded *f)
{
	const struct snapshot *s = f->snapshot;
	uint32_t place = 0;

	for (uint32_t i = 0; i < s->nr_processes; i++)
		f->order[i] = &s->processes[i];
	if (s->nr_processes > 1)
		qsort(f->order, s->nr_processes, sizeof(*f->order), compare_names);
	for (uint32_t i = 0; i < s->nr_processes; i++) {
		if (strcmp(f->order[i]->comm, f->order[place]->comm) != 0)
			place = i;
		f->first[f->order[i] - s->processes] = place;
	}
}

static int compare_lines(const void *left, const void *right)
{
	const struct folded_line *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Sort, and join what is the same stack of the same name. Returns how many lines remain. */
static uint32_t make_lines(struct folded *f)
{
	const struct snapshot *s = f->snapshot;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_shares; i++)
		f->lines[i] = (struct folded_line){.process = f->first[s->shares[i].process],
						   .node = s->shares[i].node,
						   .weight = s->shares[i].weight};
	if (s->nr_shares > 1)
		qsort(f->lines, s->nr_shares, sizeof(*f->lines), compare_lines);
	for (uint32_t i = 0; i < s->nr_shares; i++) {
		if (nr && compare_lines(&f->lines[nr - 1], &f->lines[i]) == 0)
			f->lines[nr - 1].weight += f->lines[i].weight;
		else
			f->lines[nr++] = f->lines[i];
	}
	return nr;
}

/* ';' separates frames, a line ends them, and blanks at the ends of a name would get lost. */
static char plain(char c, bool is_end)
{
	if ((unsigned char)c < ' ')
		return '?';
	if (c == ';')
		return ':';
	return c == ' ' && is_end ? '_' : c;
}

static void put_name(FILE *stream, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		putc_unlocked(plain(name[i], i == 0 || i == len - 1), stream);
	if (len == 0)
		putc_unlocked('-', stream);
}

static int put_line(struct folded *f, const struct folded_line *line)
{
	const struct snapshot *s = f->snapshot;
	uint32_t nr = 0;

	assert(line->process < s->nr_processes && line->node < s->nr_nodes);
	put_name(f->stream, f->order[line->process]->comm);
	for (uint32_t node = line->node; node != 0; node = s->nodes[node].parent) {
		if (vec_reserve(&f->path, &f->cap_path, nr + 1ul, DEPTH_MAX) < 0)
			return -ENOMEM;
		f->path[nr++] = node;
	}
	while (nr-- > 0) {
		const struct snap_func *func = &s->funcs[s->nodes[f->path[nr]].func];

		putc_unlocked(';', f->stream);
		put_name(f->stream, snapshot_text(s, func->name));
		if (func->is_kernel)
			fputs("_[k]", f->stream);
	}
	fprintf(f->stream, " %" PRIu64 "\n", line->weight);
	return 0;
}

int out_folded(FILE *stream, const struct snapshot *s)
{
	struct folded f = {
		.stream = stream,
		.snapshot = s,
		.order = calloc(s->nr_processes + 1ul, sizeof(*f.order)),
		.first = calloc(s->nr_processes + 1ul, sizeof(*f.first)),
		.lines = calloc(s->nr_shares + 1ul, sizeof(*f.lines)),
	};
	int r = -ENOMEM;

	errno = 0;
	if (f.order && f.first && f.lines) {
		uint32_t nr;

		place_names(&f);
		nr = make_lines(&f);
		r = 0;
		for (uint32_t i = 0; i < nr && r == 0; i++)
			if (f.lines[i].weight)
				r = put_line(&f, &f.lines[i]);
	}
	free(f.order);
	free(f.first);
	free(f.lines);
	free(f.path);
	return r < 0 ? r : out_end(stream);
}
