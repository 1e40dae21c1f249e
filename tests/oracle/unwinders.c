/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Our unwinder beside libdwfl and libunwind, on the same registers and bytes:
 *
 *	unwinders compare RECORDING [SAMPLES]	where they disagree, by class
 *	unwinders time RECORDING [SAMPLES]	nanoseconds, as tab-separated values
 *
 * RECORDING: perf record --call-graph dwarf of this machine's own programs,
 * which must still be there. Hot: the stack's copy has just been written, and
 * what the unwinder keeps is where the samples before have left it, as in live
 * sampling; alone: the same, but ours does not know the last stack of the thread;
 * again: the same stack has just been unwound, by ours without knowing it; cold:
 * the copy has been flushed from all caches.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "tests/oracle/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <x86intrin.h>

#define SAMPLES_DEFAULT 2000
#define ROUNDS		5
#define CLASSES_MAX	512
#define CLASSES_SHOWN	40
#define CACHE_LINE	64
#define COPY_BYTES	16384ul
#define UNWINDERS_MAX	2

static struct samples samples;
static struct unwind_frame frames[UNWIND_FRAMES_MAX];
static uint8_t stage[65536];

static void ours(const struct sample *sample, struct unwind_result *ret)
{
	unwind_dwarf(&samples.spaces[sample->space].view, &sample->regs, &sample->stack, frames,
		     ret);
}

/* --- states of another unwinder: one for each space, made when first needed --- */

static void **states_new(void)
{
	return calloc(samples.nr_spaces + 1, sizeof(void *));
}

static void *state_of(void **states, const struct unwinder *u, const struct sample *sample)
{
	void **state = &states[sample->space];

	if (!*state)
		*state = u->space_new(&samples, &samples.spaces[sample->space]);
	return *state;
}

static void states_free(void **states, const struct unwinder *u)
{
	for (size_t i = 0; i < samples.nr_spaces; i++)
		if (states[i])
			u->space_free(states[i]);
	free(states);
}

/* --- compare --- */

struct class
{
	char text[200];
	uint64_t nr;
	size_t example;
};

static struct class classes[CLASSES_MAX];
static size_t nr_classes;

static void count_class(const char *text, size_t example)
{
	for (size_t i = 0; i < nr_classes; i++)
		if (strcmp(classes[i].text, text) == 0) {
			classes[i].nr++;
			return;
		}
	if (nr_classes == CLASSES_MAX)
		return;
	snprintf(classes[nr_classes].text, sizeof(classes[0].text), "%s", text);
	classes[nr_classes].nr = 1;
	classes[nr_classes++].example = example;
}

static int by_count(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	return x->nr < y->nr ? 1 : x->nr > y->nr ? -1 : 0;
}

static const char *file_name(uint32_t module)
{
	const char *path = module == UNWIND_NO_MODULE ? "no file" : samples_path(&samples, module);

	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* What the two say, and in which file the last frame lies on which they agree. */
static void classify(const struct unwind_result *r, const struct opinion *o, char *text,
		     size_t size)
{
	uint32_t same = 0;
	bool is_root = r->end == STACK_END_ROOT;
	const char *what, *where;

	while (same < r->nr_frames && same < o->nr && frames[same].pc == o->pcs[same])
		same++;
	where = same > 0 ? file_name(frames[same - 1].module) : "-";
	if (same == r->nr_frames && same == o->nr) {
		if (is_root == o->is_complete)
			snprintf(text, size, "equal, both %s", is_root ? "complete" : "incomplete");
		else
			snprintf(text, size, "equal frames, only %s complete: ours ends %s in %s",
				 is_root ? "ours" : "theirs", stack_end_name(r->end), where);
		return;
	}
	what = same == o->nr	      ? "ours goes on"
	       : same == r->nr_frames ? "theirs goes on"
				      : "different";
	snprintf(text, size, "%s after %s: ours ends %s, theirs %s", what, where,
		 stack_end_name(r->end), o->is_complete ? "complete" : "incomplete");
}

static void print_example(size_t i, const struct unwinder *u, void **states)
{
	const struct sample *sample = &samples.all[i];
	static struct opinion opinion;
	struct unwind_result r;
	uint32_t same = 0;

	u->unwind(state_of(states, u, sample), sample, &opinion);
	ours(sample, &r);
	while (same < r.nr_frames && same < opinion.nr && frames[same].pc == opinion.pcs[same])
		same++;
	printf("\t\tsample %zu, from frame %u: ours", i, same);
	for (uint32_t k = same > 2 ? same - 2 : 0; k < r.nr_frames && k < same + 3; k++)
		printf(" %s+%#lx", file_name(frames[k].module), frames[k].off);
	printf("; theirs");
	for (uint32_t k = same > 2 ? same - 2 : 0; k < opinion.nr && k < same + 3; k++)
		printf(" %#lx", opinion.pcs[k]);
	printf("\n");
}

static int compare_with(const struct unwinder *u)
{
	static struct opinion opinion;
	void **states = states_new();
	struct unwind_result r;
	char text[200];

	if (!states)
		return 1;
	nr_classes = 0;
	for (size_t i = 0; i < samples.nr; i++) {
		const struct sample *sample = &samples.all[i];

		u->unwind(state_of(states, u, sample), sample, &opinion);
		ours(sample, &r);
		classify(&r, &opinion, text, sizeof(text));
		count_class(text, i);
	}
	qsort(classes, nr_classes, sizeof(classes[0]), by_count);
	printf("%s\n", u->name);
	for (size_t i = 0; i < MIN(nr_classes, (size_t)CLASSES_SHOWN); i++) {
		printf("\t%6lu  %5.2f %%  %s\n", classes[i].nr,
		       100.0 * (double)classes[i].nr / (double)samples.nr, classes[i].text);
		if (strncmp(classes[i].text, "equal", 5) != 0)
			print_example(classes[i].example, u, states);
	}
	states_free(states, u);
	return 0;
}

/* --- time --- */

struct timing {
	float *stack_ns[ROUNDS]; /* of each sample; negative: not measured */
	uint64_t frames, complete;
};

static double tsc_per_ns;

static void calibrate(void)
{
	uint64_t ns = now_ns(), tsc = __rdtsc();

	while (now_ns() - ns < 50 * NS_PER_MSEC)
		;
	tsc_per_ns = (double)(__rdtsc() - tsc) / (double)(now_ns() - ns);
}

static void flush(const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += CACHE_LINE)
		_mm_clflush((const char *)data + i);
	_mm_mfence();
}

/* Keep what live sampling copies by default, or more where the stack is deeper. */
static void cut_stacks(void)
{
	struct unwind_result r;

	for (size_t i = 0; i < samples.nr; i++) {
		struct sample *s = &samples.all[i];

		ours(s, &r);
		s->stack.bytes =
			MIN(s->stack.bytes, MAX(COPY_BYTES, align_up(r.bytes_used + 8, 4096)));
	}
}

enum heat { HOT, AGAIN, COLD, HEATS };
static const char *const heat_names[HEATS] = {"hot", "again", "cold"};

/* By U, or by ours if NULL. */
static void unwind_once(const struct unwinder *u, void *state, const struct sample *sample,
			struct opinion *opinion, struct unwind_result *ret)
{
	if (u)
		u->unwind(state, sample, opinion);
	else
		ours(sample, ret);
}

/* One round over all samples: U, or ours if NULL. */
static void time_round(const struct unwinder *u, void **states, enum heat heat, int round,
		       struct timing *ret)
{
	static struct opinion opinion;

	ret->frames = ret->complete = 0;
	for (size_t i = 0; i < samples.nr; i++) {
		struct sample sample = samples.all[i];
		void *state = u ? state_of(states, u, &sample) : NULL;
		struct unwind_result r = {0};
		uint64_t start;

		ret->stack_ns[round][i] = -1;
		if (sample.stack.bytes > sizeof(stage))
			continue;
		memcpy(stage, sample.stack.data, sample.stack.bytes);
		sample.stack.data = stage;
		if (heat == COLD)
			flush(stage, sample.stack.bytes);
		if (heat == AGAIN)
			unwind_once(u, state, &sample, &opinion, &r);
		start = __rdtsc();
		unwind_once(u, state, &sample, &opinion, &r);
		ret->stack_ns[round][i] = (float)((double)(__rdtsc() - start) / tsc_per_ns);
		ret->frames += u ? opinion.nr : r.nr_frames;
		ret->complete += u ? opinion.is_complete : r.end == STACK_END_ROOT;
	}
}

/* All kinds, behind a round that brings back what the other unwinders have driven out of the caches. */
static void time_heats(const struct unwinder *u, void **states, int round, struct timing *ret)
{
	time_round(u, states, HOT, round, &ret[HOT]);
	for (int heat = 0; heat < HEATS; heat++)
		time_round(u, states, (enum heat)heat, round, &ret[heat]);
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

/*
 * The time of a stack is the median of its rounds, so that an interrupt in one
 * of them does not count; the spread is the sum of all fastest and all slowest.
 */
static void print_timing(const char *name, const char *kind, const struct timing *t)
{
	double low = 0, middle = 0, high = 0;
	size_t nr = 0;

	for (size_t i = 0; i < samples.nr; i++) {
		float ns[ROUNDS];

		for (int round = 0; round < ROUNDS; round++)
			ns[round] = t->stack_ns[round][i];
		qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
		if (ns[0] < 0)
			continue;
		nr++;
		low += ns[0];
		middle += ns[ROUNDS / 2];
		high += ns[ROUNDS - 1];
	}
	if (nr == 0 || t->frames == 0)
		return;
	printf("unwinder\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.1f\t%.2f\n", name, kind,
	       middle / (double)t->frames, low / (double)t->frames, high / (double)t->frames,
	       middle / (double)nr, (double)t->frames / (double)nr,
	       100.0 * (double)t->complete / (double)nr);
}

static bool timing_init(struct timing *t)
{
	for (int round = 0; round < ROUNDS; round++) {
		t->stack_ns[round] = calloc(samples.nr + 1, sizeof(float));
		if (!t->stack_ns[round])
			return false;
	}
	return true;
}

static int time_all(const struct unwinder *const *others, size_t nr_others)
{
	static struct timing t[UNWINDERS_MAX + 1][HEATS];
	void **states[UNWINDERS_MAX] = {NULL};

	calibrate();
	cut_stacks();
	for (size_t i = 0; i <= nr_others; i++)
		for (int heat = 0; heat < HEATS; heat++)
			if (!timing_init(&t[i][heat]))
				return 1;
	for (size_t i = 0; i < nr_others; i++) {
		states[i] = states_new();
		if (!states[i])
			return 1;
		time_round(others[i], states[i], HOT, 0, &t[i + 1][HOT]); /* makes its caches */
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i <= nr_others; i++)
			time_heats(i ? others[i - 1] : NULL, i ? states[i - 1] : NULL, round, t[i]);
	printf("stacks\t%zu\t%zu\n", samples.nr, samples.nr_spaces);
	printf("tables\t%lu\t%lu\t%lu\t%lu\t%.1f\t%lu\n", samples.files, samples.rows,
	       samples.table_bytes, samples.text_bytes, (double)samples.build_ns / NS_PER_MSEC,
	       samples.return_addrs_bytes);
	for (size_t i = 0; i <= nr_others; i++)
		for (int heat = 0; heat < HEATS; heat++)
			print_timing(i ? others[i - 1]->name : "stacktop", heat_names[heat],
				     &t[i][heat]);
	for (size_t i = 0; i < nr_others; i++)
		states_free(states[i], others[i]);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct unwinder *const others[] = {
		&unwinder_dwfl,
#ifdef HAVE_LIBUNWIND
		&unwinder_libunwind,
#endif
	};
	struct rlimit limit;
	struct err err;
	int r = 0;

	if (argc < 3 || (strcmp(argv[1], "compare") != 0 && strcmp(argv[1], "time") != 0)) {
		fprintf(stderr, "usage: unwinders compare|time RECORDING [SAMPLES]\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) { /* libdwfl opens each file for each process */
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (samples_load(argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : SAMPLES_DEFAULT, &samples,
			 &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (strcmp(argv[1], "time") == 0)
		r = time_all(others, ARRAY_SIZE(others));
	else
		for (size_t i = 0; i < ARRAY_SIZE(others); i++)
			r |= compare_with(others[i]);
	samples_done(&samples);
	return r;
}
