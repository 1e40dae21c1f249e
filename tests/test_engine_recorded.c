/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine over recordings, with its broker and its loader: what a snapshot
 * says, another event and back, what is refused, and every single sample once.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/engine.h"
#include "src/loader/client.h"
#include "tests/recording_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 60000

#define SEVERAL \
	"recordings/perf.data.hw_and_sw-3.4" /* 207 cycles, 0 branch-misses, 4734 cpu-clock */
#define PIPED "recordings/perf.data.piped.hw_and_sw-3.4"

struct fixture {
	struct broker *broker;
	struct engine *engine;
	struct channel *channel;
	pthread_t thread;
	int root_fd;
};

static const char *data_path(const char *name)
{
	static char path[4096];
	const char *given = getenv("STACKTOP_TEST_DATA"), *top = getenv("top_srcdir");

	if (given)
		snprintf(path, sizeof(path), "%s/%s", given, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/data/%s", top ? top : ".", name);
	return path;
}

static void *run(void *context)
{
	struct fixture *f = context;

	engine_run(f->engine, f->channel);
	return NULL;
}

/* The engine over the recording at FD, called NAME. */
static struct fixture *start_fd(int fd, const char *name, const char *event, bool has_samples)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct broker_config broker = {.loader_main = loader_main, .is_recorded = true};
	struct engine_config config = {
		.file = name,
		.event = event,
		.has_samples = has_samples,
		.target = "recording",
		.start_fd = -1,
	};
	struct err err = {0};

	assert_non_null(f);
	f->root_fd = broker.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(identity_workers(&broker.workers, &err), 0);
	assert_int_equal(broker_start(&broker, &f->broker, &err), 0);
	assert_int_equal(recording_open(fd, name, &config.recording, &err), 0);
	assert_int_equal(engine_new(&config, f->broker, &f->engine, &err), 0);
	f->channel = channel_new();
	assert_non_null(f->channel);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
	return f;
}

static struct fixture *start(const char *name, const char *event, bool has_samples)
{
	int fd = open(data_path(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		skip();
	assert_true(fd >= 0);
	return start_fd(fd, name, event, has_samples);
}

static void stop(struct fixture *f)
{
	channel_send(f->channel, (struct command){.kind = COMMAND_QUIT});
	pthread_join(f->thread, NULL);
	engine_free(f->engine);
	channel_free(f->channel);
	broker_stop(f->broker);
	close(f->root_fd);
	free(f);
}

static void order(struct fixture *f, enum command_kind kind, uint64_t value)
{
	assert_int_equal(channel_send(f->channel, (struct command){.kind = kind, .value = value}),
			 0);
}

static struct snapshot *next_snapshot(struct fixture *f)
{
	uint64_t end_ns = now_ns() + PATIENCE_MS * NS_PER_MSEC;

	order(f, COMMAND_SNAPSHOT, 0);
	while (now_ns() < end_ns) {
		struct pollfd fd = {.fd = channel_main_fd(f->channel), .events = POLLIN};
		struct snapshot *snapshot = channel_take(f->channel);

		if (snapshot)
			return snapshot;
		poll(&fd, 1, 100);
	}
	fail_msg("no snapshot");
	return NULL;
}

/* The picture of EVENT when all of it is read and named. */
static struct snapshot *whole(struct fixture *f, uint32_t event)
{
	for (;;) {
		struct snapshot *snapshot = next_snapshot(f);

		if (!snapshot->recording.is_reading && snapshot->recording.event == event)
			return snapshot;
		snapshot_free(snapshot);
		usleep(1000);
	}
}

static void assert_message(struct fixture *f, const char *part)
{
	char text[ERR_TEXT_MAX] = "";
	bool is_error = false;

	for (int i = 0; i < PATIENCE_MS; i++) {
		if (channel_take_message(f->channel, text, sizeof(text), &is_error))
			break;
		usleep(1000);
	}
	assert_true(is_error);
	if (!strstr(text, part))
		fail_msg("'%s' does not say '%s'", text, part);
}

static void another_event_and_back(void **state)
{
	struct fixture *f = start(SEVERAL, "cycles", false);
	struct snapshot *s = whole(f, 0);
	uint32_t nr_funcs = s->nr_funcs, nr_nodes = s->nr_nodes;
	uint64_t total = s->total;

	(void)state;
	assert_true(s->recording.is_recording);
	assert_false(s->recording.is_pipe);
	assert_int_equal(s->recording.nr_events, 3);
	assert_string_equal(snapshot_text(s, s->recording.events[2].name), "cpu-clock");
	assert_int_equal(s->recording.events[2].nr_samples, 4734);
	assert_int_equal(s->nr_samples, 207);
	assert_int_equal(s->health.other_samples, 4734);
	assert_int_equal(s->health.ends[STACK_END_PENDING] + s->health.ends[STACK_END_LATE], 0);
	snapshot_free(s);

	order(f, COMMAND_EVENT, 2);
	s = whole(f, 2);
	assert_int_equal(s->nr_samples, 4734);
	assert_int_equal(s->health.samples, 4734);
	assert_int_equal(s->health.other_samples, 207);
	assert_string_equal(snapshot_text(s, s->settings.event), "cpu-clock");
	snapshot_free(s);

	order(f, COMMAND_EVENT, 1);
	s = whole(f, 1);
	assert_int_equal(s->nr_samples, 0);
	assert_string_equal(snapshot_text(s, s->recording.not_shown),
			    "0 of 4941 samples are of this event: -e 3 (cpu-clock)");
	assert_non_null(strstr(snapshot_text(s, s->settings.notice),
			       snapshot_text(s, s->recording.not_shown)));
	snapshot_free(s);

	order(f, COMMAND_EVENT, 0);
	s = whole(f, 0);
	assert_int_equal(s->nr_samples, 207);
	assert_int_equal(s->total, total);
	assert_int_equal(s->nr_funcs, nr_funcs);
	assert_int_equal(s->nr_nodes, nr_nodes);
	snapshot_free(s);
	order(f, COMMAND_EVENT, 3);
	assert_message(f, "no event 4");
	stop(f);
}

/* What only the live mode has changes nothing and says why. */
static void what_is_live_is_refused(void **state)
{
	struct fixture *f = start(SEVERAL, "cpu-clock", false);
	struct snapshot *s = whole(f, 2);

	(void)state;
	snapshot_free(s);
	order(f, COMMAND_FREEZE, 1);
	assert_message(f, "whole recording");
	order(f, COMMAND_ZERO, 0);
	assert_message(f, "whole recording");
	order(f, COMMAND_WINDOW, 1);
	assert_message(f, "whole recording");
	order(f, COMMAND_MODE, STACK_MODE_DWARF);
	assert_message(f, "recorded as fp");
	order(f, COMMAND_STACK_BYTES, 65528);
	assert_message(f, "stack copies");
	s = whole(f, 2);
	assert_int_equal(s->nr_samples, 4734);
	assert_false(s->settings.frozen);
	snapshot_free(s);
	stop(f);
}

static void a_pipe_is_read_once(void **state)
{
	struct fixture *f = start(PIPED, NULL, false);
	struct snapshot *s = whole(f, 2);

	(void)state;
	assert_true(s->recording.is_pipe);
	snapshot_free(s);
	order(f, COMMAND_EVENT, 0);
	assert_message(f, "start with -e 1");
	stop(f);
}

/* More than are kept at once: reading waits until they are taken, and none is lost or doubled. */
static void every_single_sample_comes_once(void **state)
{
	struct fixture *f = start(SEVERAL, "3", true);
	uint64_t last_ns = 0;
	uint32_t nr = 0;
	bool is_over = false;

	(void)state;
	while (!is_over) {
		struct snapshot *s = next_snapshot(f);

		assert_non_null(s->samples);
		for (uint32_t i = 0; i < s->samples->nr_samples; i++) {
			const struct snap_sample *sample = &s->samples->samples[i];

			assert_true(sample->time_ns >= last_ns);
			last_ns = sample->time_ns;
			assert_string_equal(s->samples->text + sample->event, "cpu-clock");
			assert_true(sample->nr_frames == 1);
		}
		nr += s->samples->nr_samples;
		is_over = !s->recording.is_reading && s->samples->nr_samples == 0;
		assert_int_equal(s->health.dropped, 0);
		snapshot_free(s);
	}
	assert_int_equal(nr, 4734);
	stop(f);
}

/* Broken off before it began: what came, perhaps nothing, and that it was so. */
static void reading_can_be_stopped(void **state)
{
	struct fixture *f = start(SEVERAL, "3", true);
	struct snapshot *s = next_snapshot(f);
	bool is_bad = true;

	(void)state;
	/* It waits for its samples to be taken, so it is in the middle. */
	assert_true(s->recording.is_reading);
	snapshot_free(s);
	order(f, COMMAND_STOP, 0);
	s = whole(f, 2);
	assert_true(s->nr_samples <= 4734);
	snapshot_free(s);
	engine_trouble(f->engine, &is_bad);
	assert_false(is_bad);
	stop(f);
}

/* --- which event --- */

struct named_event {
	const char *name;
	uint32_t nr_samples;
	bool is_dummy;
};

/* A recording in pipe mode with the samples of all events in turn. */
static void put_events(struct image *im, const struct named_event *events, uint32_t nr)
{
	struct im_attr attr = im_cycles;
	bool has_more = true;

	attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	im_pipe(im);
	for (uint32_t i = 0; i < nr; i++) {
		attr.type = events[i].is_dummy ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
		attr.config = events[i].is_dummy ? PERF_COUNT_SW_DUMMY : 0;
		im_pipe_named(im, &attr, 10 + i, events[i].name);
	}
	for (uint32_t k = 0; has_more; k++) {
		has_more = false;
		for (uint32_t i = 0; i < nr; i++) {
			if (k < events[i].nr_samples)
				im_sample(im, &attr, 1000 + k, 10 + i, 0x400);
			has_more |= k + 1 < events[i].nr_samples;
		}
	}
}

/* What is shown of EVENTS when WORD is asked for, and what is said of the rest. */
static void check_shown(const struct named_event *events, uint32_t nr, bool from_pipe,
			const char *word, const char *name, uint64_t nr_samples,
			const char *not_shown)
{
	struct image im = {0};
	struct fixture *f;
	struct snapshot *s;
	int fds[2];

	put_events(&im, events, nr);
	if (from_pipe) {
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		assert_int_equal(write_all(fds[1], im.data, im.len), 0);
		close(fds[1]);
	}
	f = start_fd(from_pipe ? fds[0] : im_fd(&im, im.len), "made here", word, false);
	while ((s = next_snapshot(f))->recording.is_reading)
		snapshot_free(s);
	assert_string_equal(snapshot_text(s, s->settings.event), name);
	assert_string_equal(snapshot_text(s, s->recording.events[s->recording.event].name), name);
	assert_int_equal(s->nr_samples, nr_samples);
	assert_int_equal(s->recording.events[s->recording.event].nr_samples, nr_samples);
	assert_string_equal(snapshot_text(s, s->recording.not_shown), not_shown);
	snapshot_free(s);
	stop(f);
	im_done(&im);
}

/* A person who asks for nothing gets what there is most of, and is told of the rest. */
static void the_event_with_most_samples_is_shown(void **state)
{
	static const struct named_event events[] = {
		{"few", 2, false},  {"none", 0, false},	 {"most", 9, false},
		{"more", 5, false}, {"equal", 9, false}, {"dummy:HG", 20, true},
	};
	static const struct named_event alone[] = {{"dummy:HG", 0, true}, {"alone", 3, false}};

	(void)state;
	for (int from_pipe = 0; from_pipe < 2; from_pipe++) {
		check_shown(events, 5, from_pipe, NULL, "most", 9,
			    "9 of 25 samples are of this event: -e 5 (equal)");
		check_shown(events, 6, from_pipe, NULL, "most", 9,
			    "9 of 45 samples are of this event: -e 6 (dummy:HG)");
		check_shown(events, 5, from_pipe, "few", "few", 2,
			    "2 of 25 samples are of this event: -e 3 (most)");
		check_shown(events, 5, from_pipe, "2", "none", 0,
			    "0 of 25 samples are of this event: -e 3 (most)");
		check_shown(alone, 2, from_pipe, NULL, "alone", 3, "");
	}
}

/* One event to a person: what a hybrid CPU counts by a PMU for each kind of its cores. */
static void halves_of_a_hybrid_event_are_one(void **state)
{
	static const struct named_event events[] = {
		{"cpu_atom/cycles/P", 2, false},
		{"cpu_core/cycles/P", 7, false},
		{"branches", 8, false},
		{"cpu_core/instructions/", 1, false},
		{"dummy:u", 0, true},
	};
	static const struct named_event apart[] = {
		{"cpu/cycles/", 2, false}, {"cpu/cycles/", 1, false}, {"/cycles/", 1, false},
		{"cpu//", 1, false},	   {"pmu//", 1, false},	      {"pmu/cycles/u", 1, false},
	};

	(void)state;
	for (int from_pipe = 0; from_pipe < 2; from_pipe++) {
		check_shown(events, 5, from_pipe, NULL, "cycles:P", 9,
			    "9 of 18 samples are of this event: -e 3 (branches)");
		check_shown(events, 5, from_pipe, "cycles", "cycles:P", 9,
			    "9 of 18 samples are of this event: -e 3 (branches)");
		check_shown(events, 5, from_pipe, "6", "cycles:P", 9,
			    "9 of 18 samples are of this event: -e 3 (branches)");
		check_shown(events, 5, from_pipe, "cpu_atom/cycles/P", "cpu_atom/cycles/P", 2,
			    "2 of 18 samples are of this event: -e 6 (cycles:P)");
		check_shown(events, 2, from_pipe, NULL, "cycles:P", 9, "");
		check_shown(apart, 6, from_pipe, NULL, "cpu/cycles/", 2,
			    "2 of 7 samples are of this event: -e 2 (cpu/cycles/)");
	}
}

/* The list has the halves and both, and any of them can be chosen. */
static void halves_can_be_chosen_apart(void **state)
{
	static const struct named_event events[] = {{"cpu_core/cycles/", 7, false},
						    {"cpu_atom/cycles/", 2, false},
						    {"dummy:HG", 0, true}};
	struct image im = {0};
	struct fixture *f;
	struct snapshot *s;
	uint32_t choices[3];

	(void)state;
	put_events(&im, events, 3);
	f = start_fd(im_fd(&im, im.len), "made here", NULL, false);
	while ((s = next_snapshot(f))->recording.is_reading)
		snapshot_free(s);
	assert_int_equal(s->recording.nr_events, 3);
	assert_int_equal(s->recording.event, 2);
	assert_string_equal(snapshot_text(s, s->recording.events[0].name), "cpu_core/cycles/");
	assert_string_equal(snapshot_text(s, s->recording.events[2].name), "cycles");
	for (uint32_t i = 0; i < 3; i++)
		choices[i] = s->recording.events[i].choice;
	snapshot_free(s);
	order(f, COMMAND_EVENT, choices[1]);
	assert_message(f, "start with -e 2");
	order(f, COMMAND_EVENT, choices[2] + 1);
	assert_message(f, "no event 5");
	stop(f);
	im_done(&im);
}

/* --- chains --- */

#define K	   PERF_CONTEXT_KERNEL
#define U	   PERF_CONTEXT_USER
#define K_IP	   0xffffffff81000100
#define CHAIN_MAX  8
#define STACK_ROOM 32
#define USER	   PERF_RECORD_MISC_USER
#define KERNEL	   PERF_RECORD_MISC_KERNEL
/* Of these tests only: with registers, pc 0x500, and a copy of the stack; without the copy. */
#define REGS 0x100
#define BARE 0x200

/* A sample as it is written, and the addresses of the stack that is shown, innermost first. */
struct chain_case {
	const char *what;
	uint16_t misc;
	uint64_t ip, chain[CHAIN_MAX], shown[CHAIN_MAX];
};

static void put_chain(struct image *im, const struct im_attr *attr, uint64_t time_ns,
		      const struct chain_case *c)
{
	size_t start = im_start(im, PERF_RECORD_SAMPLE, c->misc & ~(REGS | BARE));
	bool has_regs = c->misc & REGS, has_stack = has_regs && !(c->misc & BARE);
	uint64_t nr = 0;

	im_u64(im, c->ip);
	im_u32(im, 100);
	im_u32(im, 100);
	im_u64(im, time_ns);
	im_u64(im, 1000);
	while (nr < CHAIN_MAX && c->chain[nr] != 0)
		nr++;
	im_u64(im, nr);
	for (uint64_t i = 0; i < nr; i++)
		im_u64(im, c->chain[i]);
	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		im_u64(im, has_regs ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
		for (int i = 0; has_regs && i < 17; i++) /* AX to SP, IP, R8 to R15 */
			im_u64(im, i == 8 ? 0x500 : 0x7000);
		im_u64(im, has_stack ? STACK_ROOM : 0);
		im_fill(im, 0, has_stack ? STACK_ROOM : 0);
		if (has_stack)
			im_u64(im, STACK_ROOM);
	}
	im_end(im, start);
}

static void check_chain(const struct snap_samples *samples, uint32_t i, const struct chain_case *c)
{
	const struct snap_sample *sample = &samples->samples[i];

	for (uint32_t k = 0; k < CHAIN_MAX && (c->shown[k] != 0 || k < sample->nr_frames); k++) {
		uint64_t addr =
			k < sample->nr_frames ? samples->frames[sample->first_frame + k].addr : 0;

		if (addr != c->shown[k])
			fail_msg("%s: frame %u is 0x%llx, not 0x%llx", c->what, k,
				 (unsigned long long)addr, (unsigned long long)c->shown[k]);
	}
}

/* The stacks of a recording of CASES by an event of ATTR. */
static void check_chains(const struct im_attr *attr, const struct chain_case *cases, uint32_t nr)
{
	struct image im = {0};
	uint32_t nr_seen = 0;
	struct fixture *f;

	im_file(&im, attr, 1);
	for (uint32_t i = 0; i < nr; i++)
		put_chain(&im, attr, 1000 + i, &cases[i]);
	im_file_end(&im, im_data_off(attr, 1));
	f = start_fd(im_fd(&im, im.len), "made here", NULL, true);
	while (nr_seen < nr) {
		struct snapshot *s = next_snapshot(f);

		assert_non_null(s->samples);
		assert_true(s->samples->nr_samples <= nr - nr_seen);
		assert_true(s->samples->nr_samples > 0 || s->recording.is_reading);
		for (uint32_t i = 0; i < s->samples->nr_samples; i++)
			check_chain(s->samples, i, &cases[nr_seen + i]);
		nr_seen += s->samples->nr_samples;
		snapshot_free(s);
	}
	stop(f);
	im_done(&im);
}

/* The chain's first address is where the interrupt came; what is meant is the sample's own. */
static void precise_samples_begin_at_their_address(void **state)
{
	static const struct chain_case cases[] = {
		{"skid in a function",
		 USER,
		 0x400,
		 {U, 0x410, 0x300, 0x200},
		 {0x400, 0x300, 0x200}},
		{"skid behind a return", USER, 0x900, {U, 0x305, 0x200}, {0x900, 0x200}},
		{"skid behind a call", USER, 0x400, {U, 0x900, 0x405, 0x300}, {0x400, 0x300}},
		{"a return address far away", USER, 0x400, {U, 0x900, 0x440}, {0x400, 0x440}},
		{"recursion", USER, 0x400, {U, 0x403, 0x405, 0x405}, {0x400, 0x405, 0x405}},
		{"in front of a system call",
		 USER,
		 0x400,
		 {K, K_IP, U, 0x402, 0x300},
		 {0x400, 0x300}},
		{"no user part", USER, 0x400, {K, K_IP}, {0x400}},
		{"behind a system call", KERNEL, K_IP, {U, 0x402, 0x300}, {K_IP, 0x402, 0x300}},
		{"in the kernel",
		 KERNEL,
		 K_IP,
		 {K, K_IP + 9, K_IP + 90, U, 0x402},
		 {K_IP, K_IP + 90, 0x402}},
		{"a guest's", PERF_RECORD_MISC_GUEST_USER, 0x400, {U, 0x500}, {0x500}},
		{"without its address", USER, 0, {U, 0x410, 0x300}, {0x410, 0x300}},
	};
	struct im_attr attr = im_cycles;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr.precise = 2;
	check_chains(&attr, cases, ARRAY_SIZE(cases));
}

/* Of others the chain is right, as the kernel walked it. */
static void other_samples_begin_where_the_chain_does(void **state)
{
	static const struct chain_case cases[] = {
		{"an interrupt", USER, 0x400, {U, 0x410, 0x300}, {0x410, 0x300}},
		{"with an exact address",
		 USER | PERF_RECORD_MISC_EXACT_IP,
		 0x400,
		 {U, 0x410, 0x300},
		 {0x400, 0x300}},
	};
	struct im_attr attr = im_cycles;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	check_chains(&attr, cases, 2);
	attr.type = PERF_TYPE_SOFTWARE; /* perf asks for it of a clock too, which does not skid */
	attr.precise = 3;
	check_chains(&attr, cases, 1);
}

/* Copies of stacks: the registers may be of the interrupt, too. */
static void precise_samples_with_registers_begin_there_too(void **state)
{
	static const struct chain_case cases[] = {
		{"in front of a system call", USER | REGS, 0x400, {K, K_IP}, {0x400}},
		{"in the kernel",
		 KERNEL | REGS,
		 K_IP,
		 {K, K_IP + 9, K_IP + 90},
		 {K_IP, K_IP + 90, 0x500}},
	};
	struct im_attr attr = im_cycles;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.regs = IM_REGS;
	attr.stack = STACK_ROOM;
	attr.precise = 1;
	check_chains(&attr, cases, ARRAY_SIZE(cases));
}

/* Recorded with copies of stacks, but some samples have none: the chain is all there is of them. */
static void a_chain_without_registers_is_shown(void **state)
{
	static const struct chain_case cases[] = {
		{"a chain", USER, 0x400, {U, 0x400, 0x300, 0x200}, {0x400, 0x300, 0x200}},
		{"with the kernel's part",
		 KERNEL,
		 K_IP,
		 {K, K_IP, U, 0x400, 0x300},
		 {K_IP, 0x400, 0x300}},
		{"the kernel's part alone", KERNEL, K_IP, {K, K_IP}, {K_IP}},
		{"registers", USER | REGS, 0x500, {U, 0x501, 0x300}, {0x500}},
		{"registers without a copy",
		 USER | REGS | BARE,
		 0x500,
		 {U, 0x500, 0x300},
		 {0x500, 0x300}},
		{"neither copy nor chain", USER | REGS | BARE, 0x500, {0}, {0x500}},
		{"registers of a program that exec has ended",
		 KERNEL | REGS | BARE,
		 K_IP,
		 {K, K_IP},
		 {K_IP}},
	};
	struct im_attr attr = im_cycles;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.regs = IM_REGS;
	attr.stack = STACK_ROOM;
	check_chains(&attr, cases, ARRAY_SIZE(cases));
}

/* --- the kernel --- */

static void put_kernel_map(struct image *im, uint64_t start, uint64_t len, const char *name)
{
	size_t at = im_start(im, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	im_u32(im, UINT32_MAX);
	im_u32(im, 0);
	im_u64(im, start);
	im_u64(im, len);
	im_u64(im, 0);
	im_text(im, name, at);
	im_sample_id(im, &im_cycles, 0, 10);
	im_end(im, at);
}

/* Without a symbol of it a module is still known by what the recording says of its place. */
static void kernel_modules_keep_their_names(void **state)
{
	static const struct {
		uint64_t ip;
		const char *name;
	} cases[] = {{K_IP, "[kernel]"},
		     {0xffffffffc0000010, "[ext4]"},
		     {0xffffffffc0100010, "[nf_tables]"},
		     {0xffffffffc0100020, "[nf_tables]"},
		     {0xffffffffc0200010, "[nvidia]"},
		     {0xffffffffc0300010, "[kernel]"}};
	struct image im = {0};
	struct fixture *f;
	struct snapshot *s;

	(void)state;
	im_file(&im, &im_cycles, 1);
	put_kernel_map(&im, 0xffffffff81000000, 0x7effffff, "[kernel.kallsyms]_text");
	put_kernel_map(&im, 0xffffffffc0000000, 0x1000,
		       "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz");
	put_kernel_map(&im, 0xffffffffc0100000, 0x1000,
		       "/lib/modules/6.1.0/kernel/net/nf-tables.ko");
	put_kernel_map(&im, 0xffffffffc0200000, 0x1000, "[nvidia]");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t at = im.len;

		im_sample(&im, &im_cycles, 1000 + i, 10, cases[i].ip);
		im_set(&im, at + 4, KERNEL, 2);
	}
	im_file_end(&im, im_data_off(&im_cycles, 1));
	f = start_fd(im_fd(&im, im.len), "made here", NULL, false);
	s = whole(f, 0);
	assert_int_equal(s->nr_funcs, 4);
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		uint64_t nr = 0;

		assert_string_equal(snapshot_text(s, s->funcs[i].name),
				    snapshot_text(s, s->funcs[i].object));
		assert_true(s->funcs[i].is_kernel && !s->funcs[i].is_named);
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++)
			nr += strcmp(snapshot_text(s, s->funcs[i].name), cases[k].name) == 0;
		assert_int_equal(s->funcs[i].self, 1000 * nr);
	}
	snapshot_free(s);
	stop(f);
	im_done(&im);
}

#define MODULE_AT   0xffffffffc0000000ull
#define MODULE_ROOM 0x100000ull

/* What is executed only to begin with lies elsewhere in the kernel; what is aligned leaves a gap. */
static const char module_source[] =
	".section .init.text,\"ax\"; .fill 64, 1, 0x90;"
	".text; .globl in_first; .type in_first, @function; .size in_first, 32;"
	"in_first: .fill 32, 1, 0x90; .type in_second, @function; .size in_second, 8;"
	"in_second: .fill 8, 1, 0x90;"
	".section .text.unlikely,\"ax\"; .p2align 6; .type in_cold, @function; .size in_cold, 16;"
	"in_cold: .fill 16, 1, 0x90";

static void run_in(const char *folder, const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; }", folder, command);
	if (system(line) != 0) /* cert-env33-c: fixed commands of this test */
		skip();
}

/* Names of modules of another kernel are those of their files, packed or not. */
static void kernel_modules_have_names(void **state)
{
	static const struct {
		const char *file, *object;
		bool is_named;
	} modules[] = {
		{"plain.ko", "[plain]", true},	       {"by-xz.ko.xz", "[by_xz]", true},
		{"by-zstd.ko.zst", "[by_zstd]", true}, {"by-gzip.ko.gz", "[by_gzip]", true},
		{"bomb.ko.gz", "[bomb]", false},       {"cut.ko.gz", "[cut]", false},
		{"none.ko.xz", "[none]", false},
	};
	static const struct {
		uint64_t off;
		const char *name;
	} places[] = {{4, "in_first"}, {36, "in_second"}, {64 + 12, "in_cold"}};
	char folder[] = "/tmp/stacktop-test.XXXXXX", path[128];
	uint64_t nr_found = 0;
	struct image im = {0};
	struct fixture *f;
	struct snapshot *s;
	FILE *source;

	(void)state;
#if !defined(HAVE_ZSTD) || !defined(HAVE_LZMA)
	skip();
#endif
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/plain.s", folder);
	source = fopen(path, "w");
	assert_non_null(source);
	assert_true(fputs(module_source, source) >= 0 && fputs("\n", source) >= 0);
	fclose(source);
	run_in(folder, "cc -c -o plain.ko plain.s && xz -c plain.ko >by-xz.ko.xz && "
		       "zstd -q -c plain.ko >by-zstd.ko.zst && gzip -c plain.ko >by-gzip.ko.gz && "
		       "head -c 200000000 /dev/zero | gzip -c >bomb.ko.gz && "
		       "head -c 200 by-gzip.ko.gz >cut.ko.gz");
	im_file(&im, &im_cycles, 1);
	put_kernel_map(&im, 0xffffffff81000000, 0x7effffff, "[kernel.kallsyms]_text");
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, modules[i].file);
		put_kernel_map(&im, MODULE_AT + i * MODULE_ROOM, MODULE_ROOM, path);
		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			size_t at = im.len;

			im_sample(&im, &im_cycles, 1000, 10,
				  MODULE_AT + i * MODULE_ROOM + places[k].off);
			im_set(&im, at + 4, KERNEL, 2);
		}
	}
	im_file_end(&im, im_data_off(&im_cycles, 1));
	f = start_fd(im_fd(&im, im.len), "made here", NULL, false);
	s = whole(f, 0);
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		const struct snap_func *func = &s->funcs[i];

		assert_true(func->is_kernel);
		for (size_t m = 0; m < ARRAY_SIZE(modules); m++) {
			if (strcmp(snapshot_text(s, func->object), modules[m].object) != 0)
				continue;
			assert_int_equal(func->is_named, modules[m].is_named);
			for (size_t k = 0; k < ARRAY_SIZE(places); k++)
				nr_found += !strcmp(snapshot_text(s, func->name), places[k].name);
		}
	}
	assert_int_equal(nr_found, 4 * ARRAY_SIZE(places));
	assert_int_equal(s->nr_funcs, 4 * ARRAY_SIZE(places) + 3);
	snapshot_free(s);
	stop(f);
	im_done(&im);
	run_in(folder, "rm -rf \"$PWD\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_event_and_back),
		cmocka_unit_test(what_is_live_is_refused),
		cmocka_unit_test(a_pipe_is_read_once),
		cmocka_unit_test(every_single_sample_comes_once),
		cmocka_unit_test(reading_can_be_stopped),
		cmocka_unit_test(the_event_with_most_samples_is_shown),
		cmocka_unit_test(halves_of_a_hybrid_event_are_one),
		cmocka_unit_test(halves_can_be_chosen_apart),
		cmocka_unit_test(kernel_modules_keep_their_names),
		cmocka_unit_test(kernel_modules_have_names),
		cmocka_unit_test(precise_samples_begin_at_their_address),
		cmocka_unit_test(other_samples_begin_where_the_chain_does),
		cmocka_unit_test(precise_samples_with_registers_begin_there_too),
		cmocka_unit_test(a_chain_without_registers_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
