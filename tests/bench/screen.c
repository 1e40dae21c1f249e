/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long the screen takes to answer each key of its table, with a large tree on it: from the key's bytes into a pty to
 * the last byte of the picture that it leads to, an engine's answer included where it asks for one.
 *
 *   screen NODES ROUNDS COLUMNS LINES
 *
 * A line for each key in each view: the key, the view, and milliseconds: the middle and the most of ROUNDS, and the
 * middle of the CPU time of the screen's thread in that, which others on the machine do not change.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/out/out.h"
#include "tests/bench/made_up.h"
#include "ui/keys.h"
#include "ui/ui.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 100
#define QUIET_MS   60  /* without a byte what was typed to get there is done */
#define DRAIN_MS   250 /* and so long a picture is whole: an engine may answer late */

/* --- the program: the screen on top of an engine that has its next snapshot ready --- */

struct engine {
	struct channel *channel;
	uint32_t nr_nodes;
};

static struct snapshot *make(const struct engine *engine)
{
	struct snapshot *s = made_up_snapshot(engine->nr_nodes);

	if (s) {
		s->time_ns = s->window_end_ns = now_ns();
		s->window_start_ns = s->window_end_ns - 10 * NS_PER_SEC;
		s->settings.window_s = 10;
		s->settings.mode = STACK_MODE_DWARF;
		s->settings.stack_bytes = 16384;
		s->settings.cpus_online = s->settings.cpus_sampled = 2;
		s->settings.freq_asked_hz = 999;
	}
	return s;
}

static void *run_engine(void *context)
{
	const struct engine *engine = context;
	struct pollfd fd = {.fd = channel_engine_fd(engine->channel), .events = POLLIN};
	struct snapshot *next = make(engine);
	struct command command;

	for (;;) {
		bool is_asked = false;

		poll(&fd, 1, -1);
		while (channel_receive(engine->channel, &command)) {
			is_asked |= command.kind == COMMAND_SNAPSHOT;
			if (command.kind == COMMAND_QUIT)
				return snapshot_free(next);
		}
		if (!is_asked)
			continue;
		if (next)
			channel_post(engine->channel, next);
		next = make(engine);
	}
}

static void report_name(const struct snapshot *snapshot, bool is_bundle, char *out, size_t size)
{
	(void)snapshot;
	snprintf(out, size, "report%s", is_bundle ? ".tar" : ".txt");
}

static int save(void *context, const char *name, const void *data, size_t len, struct err *err)
{
	(void)context;
	(void)name;
	(void)data;
	(void)len;
	(void)err;
	return 0;
}

static int run_screen(uint32_t nr_nodes)
{
	struct ui_config config = {
		.view = VIEW_FUNCTIONS,
		.delay_ns = 1000 * NS_PER_SEC, /* a picture comes of a key alone */
		.window_ns = 10 * NS_PER_SEC,
		.render = out_report,
		.report_name = report_name,
		.save = save,
	};
	struct engine engine = {channel_new(), nr_nodes};
	struct err err = {0};
	pthread_t thread;
	int status;

	setlocale(LC_ALL, "C.UTF-8");
	setenv("TERM", "xterm-256color", 1);
	if (!engine.channel || pthread_create(&thread, NULL, run_engine, &engine) != 0)
		return 1;
	status = ui_run(&config, engine.channel, &err);
	channel_send(engine.channel, (struct command){.kind = COMMAND_QUIT});
	pthread_join(thread, NULL);
	channel_free(engine.channel);
	return status;
}

/* --- who types --- */

/* Read until nothing has come for QUIET_MS; when the last byte has come, 0: none has. */
static uint64_t last_byte_ns(int pty, int quiet_ms)
{
	struct pollfd fd = {.fd = pty, .events = POLLIN};
	uint64_t last_ns = 0;
	char bytes[65536];

	while (poll(&fd, 1, quiet_ms) > 0 && read(pty, bytes, sizeof(bytes)) > 0)
		last_ns = now_ns();
	return last_ns;
}

static void type(int pty, const char *bytes)
{
	if (write_all(pty, bytes, strlen(bytes)) < 0) {
		fprintf(stderr, "the screen has ended\n");
		exit(1);
	}
}

/* CPU time of the screen's thread so far. */
static uint64_t thread_ns(pid_t pid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

/* What a terminal sends for a key of the table. */
static void bytes_of(int key, char *out, size_t size)
{
	static const struct {
		int code;
		const char *bytes;
	} codes[] = {
		{KEY_UP, "\033OA"},	 {KEY_DOWN, "\033OB"},	 {KEY_RIGHT, "\033OC"},
		{KEY_LEFT, "\033OD"},	 {KEY_PPAGE, "\033[5~"}, {KEY_NPAGE, "\033[6~"},
		{KEY_HOME, "\033OH"},	 {KEY_END, "\033OF"},	 {KEY_F(1), "\033OP"},
		{KEY_BACKSPACE, "\x7f"}, {KEY_ENTER, "\r"},
	};

	snprintf(out, size, "%c", key);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (CODE(codes[i].code) == key)
			snprintf(out, size, "%s", codes[i].bytes);
}

/* What is typed to take back what KEY has done, beside the reset of the view. */
static const char *undo_of(int key)
{
	static char same[2];

	switch (key) {
	case 'o':
	case 'X':
	case 'U':
	case '@':
		return "\x7f";
	case 'k':
	case 'r':
	case 'i':
	case 't':
	case 'b':
	case 'M':
	case ' ':
		same[0] = (char)key;
		return same;
	case 'x':
		return "xxx";
	case 's':
		return "S";
	case 'S':
		return "s";
	default:
		return "";
	}
}

static const struct {
	const char *name, *bytes;
} views[] = {
	{"functions", "1"}, {"callers, all open", "2E"}, {"call tree, all open", "3E"},
	{"butterfly", "4"}, {"flame graph", "5"},	 {"processes", "6"},
};

/* Keys that only mean something after others. */
static const struct {
	const char *name, *before, *bytes;
} others[] = {
	{"\\m", "\\", "m"},
	{"\\me", "\\m", "e"},
	{"/no such name Enter", "/no such name", "\r"},
	{"w Enter", "w", "\r"},
};

static pid_t child; /* the screen */

static int by_time(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The view as it is after BEFORE has been typed, then KEY: how long it takes, ROUNDS times. */
static void measure(int pty, size_t view, const char *name, const char *before, const char *key,
		    const char *undo, unsigned long rounds)
{
	double ms[ROUNDS_MAX] = {0}, cpu_ms[ROUNDS_MAX] = {0};

	for (unsigned long i = 0; i < rounds; i++) {
		uint64_t begin_ns, end_ns, cpu_ns;

		type(pty, "\033");
		last_byte_ns(pty, QUIET_MS);
		type(pty, views[view].bytes);
		last_byte_ns(pty, QUIET_MS);
		type(pty, before);
		last_byte_ns(pty, DRAIN_MS);
		cpu_ns = thread_ns(child);
		begin_ns = now_ns();
		type(pty, key);
		end_ns = last_byte_ns(pty, DRAIN_MS);
		ms[i] = end_ns > begin_ns ? (double)(end_ns - begin_ns) / 1e6 : 0;
		cpu_ms[i] = (double)(thread_ns(child) - cpu_ns) / 1e6;
		type(pty, "\033");
		last_byte_ns(pty, QUIET_MS);
		type(pty, undo);
	}
	qsort(ms, rounds, sizeof(*ms), by_time);
	qsort(cpu_ms, rounds, sizeof(*cpu_ms), by_time);
	printf("%s\t%s\t%.1f\t%.1f\t%.1f\n", name, views[view].name, ms[rounds / 2], ms[rounds - 1],
	       cpu_ms[rounds / 2]);
	fflush(stdout);
}

static void measure_view(int pty, size_t view, unsigned long rounds)
{
	for (size_t i = 0; i < ui_nr_keys; i++) {
		for (size_t j = 0; j < KEY_BINDINGS_MAX && ui_keys[i].on[j].key; j++) {
			int key = ui_keys[i].on[j].key;
			char bytes[16], name[64];

			if (ui_keys[i].on[j].request == REQUEST_QUIT)
				continue;
			bytes_of(key, bytes, sizeof(bytes));
			snprintf(name, sizeof(name), key < 0 || key <= ' ' ? "%s (%d)" : "%s: %c",
				 ui_keys[i].keys, key);
			measure(pty, view, name, "", bytes, undo_of(key), rounds);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		measure(pty, view, others[i].name, others[i].before, others[i].bytes, "", rounds);
}

int main(int argc, char **argv)
{
	unsigned long numbers[4] = {0};
	struct winsize size = {0};
	int pty;

	for (int i = 1; i < argc && i <= 4; i++)
		numbers[i - 1] = strtoul(argv[i], NULL, 10);
	if (argc != 5 || numbers[0] < 2 || numbers[0] > UINT32_MAX / 4 || numbers[1] < 1 ||
	    numbers[1] > ROUNDS_MAX || numbers[2] < 20 || numbers[2] > 1000 || numbers[3] < 8 ||
	    numbers[3] > 1000) {
		fprintf(stderr, "usage: screen NODES ROUNDS COLUMNS LINES\n");
		return 2;
	}
	size.ws_col = (unsigned short)numbers[2];
	size.ws_row = (unsigned short)numbers[3];
	child = forkpty(&pty, NULL, NULL, &size);
	if (child == 0)
		_exit(run_screen((uint32_t)numbers[0]));
	if (child < 0) {
		perror("forkpty");
		return 1;
	}
	for (int i = 0; i < 5; i++) /* the first pictures come by themselves */
		last_byte_ns(pty, 1000);
	for (size_t view = 0; view < ARRAY_SIZE(views); view++)
		measure_view(pty, view, numbers[1]);
	type(pty, "\033");
	last_byte_ns(pty, QUIET_MS);
	type(pty, "q");
	last_byte_ns(pty, DRAIN_MS);
	close(pty);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}
