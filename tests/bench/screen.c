/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long the screen takes to answer each key of its table, with a large tree on it: from the key's bytes into a pty to
 * the last byte of the picture that it leads to, an engine's answer included where it asks for one.
 *
 *   screen NODES ROUNDS COLUMNS LINES [STATE]
 *
 * In each state of the screen, or in STATE alone: as it begins, with the column of the trend, with a baseline, narrowed ...
 * A line for each key in each view: the key, the view, the state, and milliseconds: the middle and the most of ROUNDS (a third of
 * them but as it begins), and the middle of the CPU time of the screen's thread in that, which others on the machine
 * do not change.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "tests/bench/made_up.h"
#include "ui/keys.h"
#include "ui/ui.h"

#include <curses.h>
#include <dirent.h>
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
#define ESCAPE_MS  60	 /* after Esc the screen waits for what may belong to it */
#define LOOK_MS	   3	 /* between looks whether all is done */
#define NR_LOOKS   3	 /* so many in a row that say so */
#define FIRST_MS   3000	 /* the first pictures come by themselves */
#define LOST_MS	   30000 /* then it will not end */

/* --- the program: the screen on top of an engine that has its next snapshot ready --- */

#define DELAY_NS (1000 * NS_PER_SEC) /* of refreshes: a picture comes of a key alone */

struct engine {
	struct channel *channel;
	uint32_t nr_nodes;
	uint64_t nr_made;
};

/* Each window ends a whole delay after the last one: then it is a refresh, which the trend is about. */
static struct snapshot *make(struct engine *engine)
{
	struct snapshot *s = made_up_snapshot(engine->nr_nodes);

	if (s) {
		s->time_ns = now_ns();
		s->window_end_ns = s->time_ns + engine->nr_made++ * DELAY_NS;
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
	struct engine *engine = context;
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

static int save(void *context, const char *name, struct snapshot *snapshot,
		const struct view_query *query, struct view *view, struct err *err)
{
	(void)context;
	(void)name;
	(void)snapshot;
	(void)query;
	(void)view;
	(void)err;
	return 0;
}

static int run_screen(uint32_t nr_nodes)
{
	struct ui_config config = {
		.view = VIEW_FUNCTIONS,
		.delay_ns = DELAY_NS,
		.window_ns = 10 * NS_PER_SEC,
		.report_name = report_name,
		.save = save,
	};
	struct engine engine = {.channel = channel_new(), .nr_nodes = nr_nodes};
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

static pid_t child; /* the screen */

/* One of the screen's threads or the engine's works, or is about to. */
static bool is_at_work(void)
{
	char path[320], state = 'R';
	const struct dirent *entry;
	bool works = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", child);
	tasks = opendir(path);
	while (tasks && !works && (entry = readdir(tasks)) != NULL) {
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", child, entry->d_name);
		file = fopen(path, "re");
		works = !file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1 || state != 'S';
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return works;
}

/*
 * Read until nothing has come for LEAST_MS and nobody works: an engine may answer late, and prepares its next answer. When the
 * last byte has come, 0: none has.
 */
static uint64_t last_byte_ns(int pty, int least_ms)
{
	struct pollfd fd = {.fd = pty, .events = POLLIN};
	uint64_t last_ns = 0, begin_ns = now_ns(), quiet_ns = begin_ns;
	char bytes[65536];
	int nr_looks = 0;

	while (nr_looks < NR_LOOKS || now_ns() - quiet_ns < (uint64_t)least_ms * NS_PER_MSEC) {
		if (poll(&fd, 1, LOOK_MS) > 0 && read(pty, bytes, sizeof(bytes)) > 0)
			last_ns = quiet_ns = now_ns();
		nr_looks = quiet_ns + LOOK_MS * NS_PER_MSEC <= now_ns() && !is_at_work()
				   ? nr_looks + 1
				   : 0;
		if (now_ns() - begin_ns > LOST_MS * NS_PER_MSEC) {
			fprintf(stderr, "the screen does not end its work\n");
			exit(1);
		}
	}
	return last_ns;
}

static void type(int pty, const char *bytes)
{
	if (write_all(pty, bytes, strlen(bytes)) < 0) {
		fprintf(stderr, "the screen has ended\n");
		exit(1);
	}
}

/* When the last byte has come of what BYTES lead to. */
static uint64_t typed_ns(int pty, const char *bytes)
{
	if (!*bytes)
		return 0;
	type(pty, bytes);
	return last_byte_ns(pty, strcmp(bytes, "\033") == 0 ? ESCAPE_MS : 0);
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
	{"functions", "1"},
	{"callers, all open", "2E"},
	{"call tree, all open", "3E"},
	{"butterfly, all open", "4E"},
	{"flame graph", "5"},
	{"processes, all open", "6E"},
	{"health", "7"},
};

#define CLEAR "\025" /* Ctrl-U: of a prompt */
#define USUAL "self,total,object,procs,container"

/* What the screen may be in beside a view, and the way back. */
static const struct {
	const char *name, *before, *after;
} states[] = {
	{"as it begins", "", ""},
	{"trend", "c" CLEAR USUAL ",trend,error,samples\r", "c" CLEAR USUAL "\r"},
	{"baseline", "b", "b"},
	{"filter", "\\method_[0-9]*[02468]\r", "\x7f"},
	{"without a process", "\\!p:worker-7\r", "\x7f"},
	{"hidden functions", "\\-o:libpart3\r", "\x7f"},
	{"folded recursion", "r", "r"},
	{"merged names", "xxx", "x"},
	{"no kernel", "k", "k"},
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

static int by_time(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The view as it is after BEFORE has been typed, then KEY: how long it takes, ROUNDS times. */
static void measure(int pty, size_t view, size_t state, const char *name, const char *before,
		    const char *key, const char *undo, unsigned long rounds)
{
	double ms[ROUNDS_MAX] = {0}, cpu_ms[ROUNDS_MAX] = {0};

	for (unsigned long i = 0; i < rounds; i++) {
		uint64_t begin_ns, end_ns, cpu_ns;

		typed_ns(pty, views[view].bytes);
		typed_ns(pty, before);
		cpu_ns = thread_ns(child);
		begin_ns = now_ns();
		end_ns = typed_ns(pty, key);
		ms[i] = end_ns > begin_ns ? (double)(end_ns - begin_ns) / 1e6 : 0;
		cpu_ms[i] = (double)(thread_ns(child) - cpu_ns) / 1e6;
		typed_ns(pty, "\033");
		typed_ns(pty, undo);
	}
	qsort(ms, rounds, sizeof(*ms), by_time);
	qsort(cpu_ms, rounds, sizeof(*cpu_ms), by_time);
	printf("%s\t%s\t%s\t%.1f\t%.1f\t%.1f\n", name, views[view].name, states[state].name,
	       ms[rounds / 2], ms[rounds - 1], cpu_ms[rounds / 2]);
	fflush(stdout);
}

static void measure_view(int pty, size_t view, size_t state, unsigned long rounds)
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
			measure(pty, view, state, name, "", bytes, undo_of(key), rounds);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		measure(pty, view, state, others[i].name, others[i].before, others[i].bytes, "",
			rounds);
}

static void measure_state(int pty, size_t state, unsigned long rounds)
{
	/* From the list, where all prompts are to be had. */
	typed_ns(pty, "1");
	typed_ns(pty, states[state].before);
	for (size_t view = 0; view < ARRAY_SIZE(views); view++)
		measure_view(pty, view, state, state ? (rounds + 2) / 3 : rounds);
	typed_ns(pty, "1");
	typed_ns(pty, states[state].after);
}

int main(int argc, char **argv)
{
	unsigned long numbers[4] = {0};
	struct winsize size = {0};
	int pty;

	for (int i = 1; i < argc && i <= 4; i++)
		numbers[i - 1] = strtoul(argv[i], NULL, 10);
	if ((argc != 5 && argc != 6) || numbers[0] < 2 || numbers[0] > UINT32_MAX / 4 ||
	    numbers[1] < 1 || numbers[1] > ROUNDS_MAX || numbers[2] < 20 || numbers[2] > 1000 ||
	    numbers[3] < 8 || numbers[3] > 1000) {
		fprintf(stderr, "usage: screen NODES ROUNDS COLUMNS LINES [STATE]\n");
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
	last_byte_ns(pty, FIRST_MS);
	for (size_t state = 0; state < ARRAY_SIZE(states); state++)
		if (argc == 5 || strcmp(argv[5], states[state].name) == 0)
			measure_state(pty, state, numbers[1]);
	type(pty, "q");
	close(pty);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}
