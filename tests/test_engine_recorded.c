/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine over recordings, with its broker and its loader: what a snapshot
 * says, another event and back, what is refused, and every single sample once.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/engine.h"
#include "src/loader/loader.h"

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

static struct fixture *start(const char *name, const char *event, bool has_samples)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct broker_config broker = {
		.loader_main = loader_main, .save_dir_fd = -1, .is_recorded = true};
	struct engine_config config = {
		.file = name,
		.event = event,
		.has_samples = has_samples,
		.target = "recording",
		.start_fd = -1,
	};
	struct err err = {0};
	int fd = open(data_path(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		skip();
	assert_non_null(f);
	assert_true(fd >= 0);
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
	struct fixture *f = start(SEVERAL, NULL, false);
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
	assert_non_null(
		strstr(snapshot_text(s, s->settings.notice), "no samples of branch-misses"));
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
	struct snapshot *s = whole(f, 0);

	(void)state;
	assert_true(s->recording.is_pipe);
	snapshot_free(s);
	order(f, COMMAND_EVENT, 2);
	assert_message(f, "start with -e 3");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_event_and_back),
		cmocka_unit_test(what_is_live_is_refused),
		cmocka_unit_test(a_pipe_is_read_once),
		cmocka_unit_test(every_single_sample_comes_once),
		cmocka_unit_test(reading_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
