/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The screen on top of a made-up engine: known functions and stacks, no perf
 * and no privileges, so that tests can say what must stand where. Commands that
 * the screen sends are written to --log, one per line.
 *
 *   ui_fake [--log FILE] [--delay MS] [--moves] [--noise] [--lost] [--notice] [--over]
 *           [--empty COUNT] [--silent] [--no-color] [--functions COUNT] [--max-bytes COUNT] [--theme NAME]
 *           [--recording COUNT] [--events COUNT] [--pipe] [--trouble]
 *
 * --moves: two functions change places with every snapshot. --noise: all weights
 * sway by some percent, like those of a real machine at work. --empty: so many
 * snapshots without samples come first. --silent: never answers. --recording: a
 * file that takes so many snapshots to be read.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/model/snapshot.h"
#include "ui/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATHS_MAX   8192
#define FUNCS_MAX   8192
#define NODES_MAX   65536
#define TEXT_MAX    (1u << 20)
#define DEPTH_MAX   128
#define DEEP_FRAMES 100
#define HOSTNAME    "fakehost"

#define LONG_NAME                                                                             \
	"std::__detail::_Map_base<std::__cxx11::basic_string<char>, std::pair<std::__cxx11::" \
	"basic_string<char> const, std::vector<int>>, std::allocator<int>, true>::operator[]_END"

struct fake {
	struct channel *channel;
	FILE *log;
	uint64_t delay_ns, max_bytes_per_s;
	enum view_theme theme;
	bool moves, noise, lost, notice, over, silent, no_color, pipe, trouble;
	uint32_t empty, functions, recording, events;
	_Atomic bool stop;

	/* As the engine keeps them. */
	enum stack_mode mode;
	uint32_t stack_bytes;
	bool frozen;
	uint64_t window_start_ns, window_ns, frozen_ns, step;
	uint64_t began_ns;	      /* a minute before there are samples already */
	uint32_t event, reading_step; /* of a recording: up to --recording */
	bool stopped;

	/* While a snapshot is made. */
	struct snap_func funcs[FUNCS_MAX];
	struct snap_node nodes[NODES_MAX];
	char text[TEXT_MAX];
	uint32_t nr_funcs, nr_nodes, nr_text;

	char slow_name[256];
	int slow_polls;
	bool is_endless;
};

static uint32_t add_text(struct fake *fake, const char *text)
{
	uint32_t at = fake->nr_text;
	size_t len = strlen(text) + 1;

	if (at + len > TEXT_MAX)
		return 0;
	memcpy(fake->text + at, text, len);
	fake->nr_text += (uint32_t)len;
	return at;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
	return hash;
}

/* "name" belongs to the program, "name@object" elsewhere. */
static uint32_t add_func(struct fake *fake, const char *spec)
{
	uint64_t key = hash_text(spec);
	const char *at = strrchr(spec, '@');
	char name[512];
	struct snap_func *func;

	for (uint32_t i = 0; i < fake->nr_funcs; i++) {
		if (fake->funcs[i].key == key)
			return i;
	}
	snprintf(name, sizeof(name), "%.*s", at ? (int)(at - spec) : (int)strlen(spec), spec);
	func = &fake->funcs[fake->nr_funcs];
	*func = (struct snap_func){
		.key = key,
		.name = add_text(fake, name),
		.object = add_text(fake, at ? at + 1 : "program"),
		.nr_processes = 1,
		.is_kernel = at && at[1] == '[',
		.is_named = strstr(name, "+0x") == NULL,
	};
	return fake->nr_funcs++;
}

static uint32_t add_node(struct fake *fake, uint32_t parent, uint32_t func)
{
	struct snap_node *node;
	uint32_t i;

	for (i = fake->nodes[parent].first_child; i != SNAPSHOT_NONE;
	     i = fake->nodes[i].next_sibling) {
		if (fake->nodes[i].func == func)
			return i;
	}
	node = &fake->nodes[fake->nr_nodes];
	*node = (struct snap_node){
		.key = fake->nodes[parent].key * 31 + fake->funcs[func].key,
		.parent = parent,
		.func = func,
		.first_child = SNAPSHOT_NONE,
		.next_sibling = fake->nodes[parent].first_child,
	};
	fake->nodes[parent].first_child = fake->nr_nodes;
	return fake->nr_nodes++;
}

/* FRAMES: names from the root down, separated by ';'. */
static void add_stack(struct fake *fake, uint64_t weight, const char *frames)
{
	bool seen[FUNCS_MAX] = {false};
	uint32_t node = 0, func = 0;
	char spec[512];

	if (fake->noise)
		weight = weight * (95 + hash_text(frames) * (fake->step + 1) % 1009 % 11) / 10;
	fake->nodes[0].total += weight;
	while (*frames) {
		size_t len = strcspn(frames, ";");

		snprintf(spec, sizeof(spec), "%.*s", (int)len, frames);
		frames += len + (frames[len] == ';');
		func = add_func(fake, spec);
		node = add_node(fake, node, func);
		fake->nodes[node].total += weight;
		if (!seen[func])
			fake->funcs[func].total += weight;
		seen[func] = true;
	}
	fake->nodes[node].self += weight;
	fake->funcs[func].self += weight;
}

static void add_deep_stack(struct fake *fake)
{
	char frames[DEEP_FRAMES * 16] = "_start";
	size_t len = strlen(frames);

	for (int i = 0; i < DEEP_FRAMES; i++)
		len += (size_t)snprintf(frames + len, sizeof(frames) - len, ";deep_%02d", i);
	add_stack(fake, 40, frames);
}

static void add_stacks(struct fake *fake)
{
	bool swapped = fake->moves && fake->step % 2;

	add_stack(fake, 560, "_start;main;work;leaf_70");
	add_stack(fake, 160, "_start;main;work;leaf_20");
	add_stack(fake, 60, "_start;main;work;leaf_10");
	add_stack(fake, 20,
		  "_start;main;work;leaf_10;read@libc.so.6;entry_SYSCALL_64@[kernel];"
		  "do_syscall_64@[kernel];vfs_read@[kernel];nf_hook@[nf_tables]");
	add_stack(fake, swapped ? 40 : 50, "_start;main;mover_a");
	add_stack(fake, swapped ? 50 : 40, "_start;main;mover_b");
	add_stack(fake, 30, "_start;main;日本語の関数名;後");
	add_stack(fake, 20, "_start;main;e\u0301clair_u\u0308ber");
	add_stack(fake, 20, "_start;main;" LONG_NAME "@libvery.so.1");
	add_stack(fake, 10, "start_thread@libc.so.6;libfoo.so.3+0x1a40@libfoo.so.3");
	add_deep_stack(fake);
	for (uint32_t i = 0; i < fake->functions; i++) {
		char frames[64];

		snprintf(frames, sizeof(frames), "_start;main;many;many_%05u", i);
		add_stack(fake, 1, frames);
	}
}

/* Heaviest child first, as the contract says. */
static void sort_children(struct fake *fake, uint32_t parent)
{
	uint32_t sorted = SNAPSHOT_NONE, next;

	for (uint32_t i = fake->nodes[parent].first_child; i != SNAPSHOT_NONE; i = next) {
		uint32_t *at = &sorted;

		next = fake->nodes[i].next_sibling;
		while (*at != SNAPSHOT_NONE && fake->nodes[*at].total > fake->nodes[i].total)
			at = &fake->nodes[*at].next_sibling;
		fake->nodes[i].next_sibling = *at;
		*at = i;
	}
	fake->nodes[parent].first_child = sorted;
}

static void fill_health(const struct fake *fake, struct health *health, uint64_t samples)
{
	*health = (struct health){
		.samples = samples,
		.user_stacks = samples,
		.complete = samples - samples / 100,
		.lost_read_known = 1,
		.elapsed_ns = 10 * NS_PER_SEC,
		.own_cpu_pct = 0.6,
		.rss_bytes = 31u << 20,
		.nodes = fake->nr_nodes,
		.frames = fake->nr_funcs,
	};
	health->ends[STACK_END_ROOT] = health->complete;
	health->ends[STACK_END_TRUNCATED] = samples - health->complete;
	memcpy(health->ends_now, health->ends, sizeof(health->ends));
	health->nr_faults = 2;
	health->faults_stacks_now = samples;
	health->faults[0] = (struct health_fault){
		.name = "fakejava",
		.nr_processes = 1,
		.pid = 4711,
		.end = STACK_END_JIT,
		.runtime = RUNTIME_JAVA,
		.stacks = samples - health->complete,
		.stacks_now = samples - health->complete,
	};
	health->faults[1] = (struct health_fault){
		.name = "program-of-a-long-name",
		.nr_processes = 12,
		.end = STACK_END_TRUNCATED,
		.stacks = 1,
		.stacks_now = 1,
	};
	if (fake->lost) {
		health->lost = health->lost_read = 123;
		health->dropped = 45;
		health->throttled = 6;
	}
}

static struct snap_settings settings(struct fake *fake)
{
	return (struct snap_settings){
		.mode = fake->mode,
		.stack_bytes = fake->stack_bytes,
		.event = add_text(fake, "cpu-clock"),
		.target = add_text(fake, "all CPUs"),
		.notice = fake->notice
				  ? add_text(fake, "the names of kernel functions are hidden from "
						   "this user; to see them: sudo sysctl "
						   "kernel.kptr_restrict=0")
				  : 0,
		.freq_asked_hz = 999,
		.freq_achieved_hz = 998,
		.cpus_online = 2,
		.cpus_sampled = 2,
		.window_s = (double)fake->window_ns / 1e9,
		.frozen = fake->frozen,
		.is_over = fake->over,
	};
}

#define STEP_BYTES 1000000

static struct snap_recording recording(struct fake *fake)
{
	struct snap_recording r = {.is_recording = fake->recording > 0};
	char name[32];

	if (!r.is_recording)
		return r;
	r.is_reading = fake->reading_step < fake->recording && !fake->stopped;
	r.is_pipe = fake->pipe;
	r.file = add_text(fake, fake->pipe ? "standard input" : "perf.data");
	if (fake->stopped)
		r.trouble = add_text(fake, "broken off at offset 1234");
	else if (fake->trouble && !r.is_reading)
		r.trouble = add_text(fake, "cut in the middle of a record at offset 5678");
	r.done_bytes = (uint64_t)fake->reading_step * STEP_BYTES;
	r.total_bytes = fake->pipe ? 0 : (uint64_t)fake->recording * STEP_BYTES;
	r.event = fake->event;
	r.nr_events = fake->events;
	for (uint32_t i = 0; i < fake->events; i++) {
		snprintf(name, sizeof(name), "event-%u", i);
		r.events[i] = (struct snap_event){
			.name = add_text(fake, name), .choice = i, .nr_samples = 1000 + i};
	}
	if (r.is_reading && !fake->frozen)
		fake->reading_step++;
	return r;
}

/* All in one process. */
static int add_shares(struct snapshot *s)
{
	if (snapshot_add_shares(s, 1, 1, s->nr_nodes) < 0)
		return -ENOMEM;
	s->processes[0].nr_threads = 1;
	snprintf(s->processes[0].comm, sizeof(s->processes[0].comm), "program");
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		s->shares[i] = (struct snap_share){.node = i, .weight = s->nodes[i].self};
	return 0;
}

#define PAST_SECONDS  60
#define BUSY_SECOND   30 /* the busiest, */
#define BUSY_SECOND_2 45 /* and the next */

static void fill_past(const struct fake *fake, struct snapshot *s)
{
	struct snap_activity *a = &s->activity;

	if (fake->recording)
		return;
	s->oldest_ns = fake->began_ns - PAST_SECONDS * NS_PER_SEC;
	a->from_ns = s->oldest_ns / NS_PER_SEC * NS_PER_SEC;
	a->nr = (uint32_t)MIN((s->time_ns - a->from_ns) / NS_PER_SEC + 1,
			      (uint64_t)SNAP_ACTIVITY_MAX);
	for (uint32_t i = 0; i < a->nr; i++)
		a->weights[i] = i == BUSY_SECOND ? 80 : i == BUSY_SECOND_2 ? 40 : 10;
}

static struct snapshot *make_snapshot(struct fake *fake)
{
	struct snap_recording rec;
	struct snap_settings set;
	struct snapshot *s;
	uint32_t hostname, kernel;

	fake->nr_funcs = 0;
	fake->nr_text = 1;
	fake->nr_nodes = 1;
	fake->nodes[0] = (struct snap_node){
		.parent = SNAPSHOT_NONE,
		.func = SNAPSHOT_NONE,
		.first_child = SNAPSHOT_NONE,
		.next_sibling = SNAPSHOT_NONE,
	};
	if (fake->step >= fake->empty)
		add_stacks(fake);
	for (uint32_t i = 0; i < fake->nr_nodes; i++)
		sort_children(fake, i);
	hostname = add_text(fake, HOSTNAME);
	kernel = add_text(fake, "6.18.0");
	set = settings(fake);
	rec = recording(fake);
	if (rec.nr_events)
		set.event = rec.events[rec.event].name;
	s = snapshot_new(fake->nr_funcs, fake->nr_nodes, fake->nr_text);
	if (!s)
		return NULL;
	s->hostname = hostname;
	s->kernel = kernel;
	s->settings = set;
	s->recording = rec;
	s->time_ns = now_ns();
	s->window_end_ns = fake->frozen ? fake->frozen_ns : s->time_ns;
	/* The end of the window is always the same time of day. */
	s->wall_ns = 1795280688 * (int64_t)NS_PER_SEC + (int64_t)(s->time_ns - s->window_end_ns);
	s->window_start_ns = s->window_end_ns - fake->window_ns;
	if (fake->window_start_ns < s->window_end_ns) /* else it is in the past */
		s->window_start_ns = MAX(fake->window_start_ns, s->window_start_ns);
	fill_past(fake, s);
	s->total = s->whole_total = s->nr_samples = fake->nodes[0].total;
	fill_health(fake, &s->health, s->nr_samples);
	memcpy(s->funcs, fake->funcs, fake->nr_funcs * sizeof(*s->funcs));
	memcpy(s->nodes, fake->nodes, fake->nr_nodes * sizeof(*s->nodes));
	memcpy(s->text, fake->text, fake->nr_text);
	if (!fake->frozen)
		fake->step++;
	return add_shares(s) < 0 ? snapshot_free(s) : s;
}

/* --- the engine thread --- */

static void note(struct fake *fake, const char *what, uint64_t value)
{
	if (!fake->log)
		return;
	fprintf(fake->log, "%s %llu\n", what, (unsigned long long)value);
	fflush(fake->log);
}

static void set_mode(struct fake *fake, enum stack_mode mode)
{
	if (mode == STACK_MODE_LBR) {
		channel_post_message(
			fake->channel,
			"lbr: this CPU keeps no branch records in call-stack mode, or the kernel does not let us use them; the mode stays dwarf",
			true);
		return;
	}
	fake->mode = mode;
	fake->window_start_ns = now_ns();
}

static void handle_recorded(struct fake *fake, const struct command *command)
{
	switch (command->kind) {
	case COMMAND_EVENT:
		fake->event = (uint32_t)command->value;
		fake->reading_step = 0;
		fake->stopped = false;
		break;
	case COMMAND_STOP:
		fake->stopped = true;
		break;
	default:
		channel_post_message(fake->channel, "a recording is shown whole", true);
	}
}

static void handle(struct fake *fake, const struct command *command)
{
	static const char *const names[] = {
		[COMMAND_SNAPSHOT] = "snapshot",
		[COMMAND_MODE] = "mode",
		[COMMAND_STACK_BYTES] = "stack_bytes",
		[COMMAND_STACK_AUTO] = "stack_auto",
		[COMMAND_FREEZE] = "freeze",
		[COMMAND_SHOW] = "show",
		[COMMAND_ZERO] = "zero",
		[COMMAND_WINDOW] = "window",
		[COMMAND_EVENT] = "event",
		[COMMAND_INLINES] = "inlines",
		[COMMAND_SAMPLES] = "samples",
		[COMMAND_FETCH] = "fetch",
		[COMMAND_STOP] = "stop",
		[COMMAND_QUIT] = "quit",
	};

	note(fake, names[command->kind], command->value);
	if (fake->silent)
		return;
	if (fake->recording && command->kind != COMMAND_SNAPSHOT) {
		handle_recorded(fake, command);
		return;
	}
	switch (command->kind) {
	case COMMAND_SNAPSHOT:
		channel_post(fake->channel, make_snapshot(fake));
		break;
	case COMMAND_MODE:
		set_mode(fake, (enum stack_mode)command->value);
		break;
	case COMMAND_STACK_BYTES:
		fake->stack_bytes = (uint32_t)command->value;
		break;
	case COMMAND_FREEZE:
		fake->frozen = command->value;
		fake->frozen_ns = now_ns();
		break;
	case COMMAND_SHOW:
		fake->frozen = command->value < now_ns();
		fake->frozen_ns = command->value;
		break;
	case COMMAND_WINDOW:
		fake->window_ns = command->value;
		break;
	case COMMAND_ZERO:
		fake->window_start_ns = now_ns();
		break;
	default:
		break;
	}
}

static void *engine(void *context)
{
	struct fake *fake = context;
	struct pollfd fd = {.fd = channel_engine_fd(fake->channel), .events = POLLIN};
	struct command command;

	while (!fake->stop) {
		poll(&fd, 1, 100);
		while (channel_receive(fake->channel, &command))
			handle(fake, &command);
	}
	return NULL;
}

/* --- the report --- */

static int render(FILE *stream, const struct snapshot *snapshot, const struct view *view,
		  const struct view_query *query, bool ascii)
{
	char indent[512], name[1024];

	fprintf(stream, "view %s of %s, %u rows\n", view_name(query->kind),
		snapshot_text(snapshot, snapshot->hostname), view->nr_rows);
	for (uint32_t i = 0; i < view->nr_rows; i++) {
		view_indent(&view->rows[i], ascii, indent, sizeof(indent));
		view_cell(view, snapshot, &view->rows[i], COLUMN_FUNCTION, name, sizeof(name));
		fprintf(stream, "%s%s\n", query->kind == VIEW_FUNCTIONS ? "" : indent, name);
	}
	return ferror(stream) ? -EIO : 0;
}

static void report_name(const struct snapshot *snapshot, bool is_bundle, char *out, size_t size)
{
	snprintf(out, size, "stacktop-%s-20261121-170448%s",
		 snapshot_text(snapshot, snapshot->hostname), is_bundle ? ".tar" : ".txt");
}

static int save_now(const char *name, const void *data, size_t len, struct err *err)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret;

	if (fd < 0)
		return err_set(err, -errno, "cannot write %s: %s", name, strerror(errno));
	ret = write_all(fd, data, len);
	close(fd);
	return ret < 0 ? err_set(err, ret, "cannot write %s: %s", name, strerror(-ret)) : 0;
}

/* A name that begins with "slow" is written after some polls. */
static int save_text(struct fake *fake, const char *name, const struct snapshot *snapshot,
		     const struct view_query *query, const struct view *view, struct err *err)
{
	AUTO_FREE char *data = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&data, &len);
	int ret = stream ? render(stream, snapshot, view, query, view->ascii) : -ENOMEM;

	if (stream && fclose(stream) != 0 && ret == 0)
		ret = -ENOMEM;
	if (ret == 0)
		ret = save_now(name, data, len, err);
	if (ret < 0 || strncmp(name, "slow", 4) != 0)
		return ret;
	fake->slow_polls = 10;
	return -EINPROGRESS;
}

/*
 * Names that end in .kept: what was on the screen when the key was pressed. In .endless: half of something that
 * takes until it is stopped.
 */
static int save(void *context, const char *name, struct snapshot *snapshot,
		const struct view_query *query, struct view *view, struct err *err)
{
	const char *ending = strrchr(name, '.');
	struct fake *fake = context;
	char text[128];

	fake->is_endless = ending && strcmp(ending, ".endless") == 0;
	if (fake->is_endless)
		return -EINPROGRESS;
	if (!ending || strcmp(ending, ".kept") != 0)
		return save_text(fake, name, snapshot, query, view, err);
	snprintf(text, sizeof(text), "kept %s %llu %s\n", view_name(query->kind),
		 (unsigned long long)snapshot->total, snapshot->processes[0].comm);
	return save_now(name, text, strlen(text), err);
}

static void save_stop(void *context)
{
	struct fake *fake = context;

	fake->is_endless = false;
	fake->slow_polls = 0;
}

static uint64_t save_done_bytes(void *context, uint64_t *ret_total_bytes)
{
	(void)context;
	*ret_total_bytes = 8200000;
	return 4100000;
}

static int save_poll(void *context, struct err *err)
{
	struct fake *fake = context;

	if (fake->is_endless)
		return -EINPROGRESS;
	if (--fake->slow_polls > 0)
		return -EINPROGRESS;
	return err_set(err, -ENOSPC, "the disk is full: nothing was kept");
}

/* --- the program --- */

static bool is_option(const char *word, const char *name, bool *flag)
{
	if (strcmp(word, name) != 0)
		return false;
	*flag = true;
	return true;
}

static int parse(struct fake *fake, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (is_option(word, "--moves", &fake->moves) ||
		    is_option(word, "--noise", &fake->noise) ||
		    is_option(word, "--lost", &fake->lost) ||
		    is_option(word, "--notice", &fake->notice) ||
		    is_option(word, "--over", &fake->over) ||
		    is_option(word, "--silent", &fake->silent) ||
		    is_option(word, "--pipe", &fake->pipe) ||
		    is_option(word, "--trouble", &fake->trouble) ||
		    is_option(word, "--no-color", &fake->no_color))
			continue;
		if (++i >= argc)
			return -EINVAL;
		if (strcmp(word, "--log") == 0)
			fake->log = fopen(argv[i], "ae");
		else if (strcmp(word, "--delay") == 0)
			fake->delay_ns = strtoull(argv[i], NULL, 10) * NS_PER_MSEC;
		else if (strcmp(word, "--empty") == 0)
			fake->empty = (uint32_t)strtoul(argv[i], NULL, 10);
		else if (strcmp(word, "--theme") == 0)
			fake->theme =
				strcmp(argv[i], "light") == 0 ? VIEW_THEME_LIGHT : VIEW_THEME_DARK;
		else if (strcmp(word, "--max-bytes") == 0)
			fake->max_bytes_per_s = strtoull(argv[i], NULL, 10);
		else if (strcmp(word, "--recording") == 0)
			fake->recording = (uint32_t)strtoul(argv[i], NULL, 10);
		else if (strcmp(word, "--events") == 0)
			fake->events =
				MIN((uint32_t)strtoul(argv[i], NULL, 10), SNAP_EVENTS_MAX + 0u);
		else if (strcmp(word, "--functions") == 0)
			fake->functions = MIN((uint32_t)strtoul(argv[i], NULL, 10), 5000u);
		else
			return -EINVAL;
	}
	return 0;
}

static int run(struct fake *fake)
{
	const struct ui_config config = {
		.view = VIEW_FUNCTIONS,
		.sort = VIEW_SORT_SELF,
		.delay_ns = fake->delay_ns,
		.theme = fake->theme,
		.no_color = fake->no_color,
		.max_bytes_per_s = fake->max_bytes_per_s,
		.save_stop = save_stop,
		.save_done_bytes = save_done_bytes,
		.report_name = report_name,
		.save = save,
		.save_poll = save_poll,
		.context = fake,
	};
	struct err err = {0};
	pthread_t thread;
	sigset_t all, before;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, engine, fake) != 0)
		return 1;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	status = ui_run(&config, fake->channel, &err);
	fake->stop = true;
	pthread_join(thread, NULL);
	if (err.text[0])
		fprintf(stderr, "ui_fake: %s%s%s\n", err.text, err.hint[0] ? ": " : "", err.hint);
	return status;
}

int main(int argc, char **argv)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	int status;

	setlocale(LC_ALL, "");
	if (!fake)
		return 1;
	fake->mode = STACK_MODE_DWARF;
	fake->window_ns = 10 * NS_PER_SEC;
	fake->began_ns = now_ns();
	fake->stack_bytes = 16384;
	fake->delay_ns = 300 * NS_PER_MSEC;
	fake->channel = channel_new();
	if (!fake->channel || parse(fake, argc, argv) < 0) {
		fprintf(stderr, "ui_fake: wrong usage\n");
		return 2;
	}
	status = run(fake);
	channel_free(fake->channel);
	if (fake->log)
		fclose(fake->log);
	free(fake);
	return status;
}
