/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run, see session.h. The order matters:
 *
 *   environment    what libraries would trust is removed; the command keeps the original
 *   event          a tracepoint's number can be read by root only
 *   command        forked while limits and signals are still those it was started with
 *   broker         forked while single-threaded and privileged
 *   identity       given up before the first foreign byte is read, with the calls that start,
 *                  connect and trace
 *   engine         opens events through the broker, or reads a recording; then gets its thread
 *   screen, batch  on the main thread
 */
#include "config.h"

#include "src/session.h"

#include "src/arguments.h"
#include "src/base/cleanup.h"
#include "src/base/confine.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/batch.h"
#include "src/broker/broker.h"
#include "src/broker/identity.h"
#include "src/broker/writer.h"
#include "src/cgroup.h"
#include "src/engine/engine.h"
#include "src/input.h"
#include "src/launch.h"
#include "src/loader/client.h"
#include "src/loader/fetcher.h"
#include "src/out/out.h"
#include "src/output.h"
#include "src/process.h"
#include "src/report_writer.h"
#include "src/settings.h"
#include "src/watch.h"
#include "ui/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS	((250 + ENGINE_ROUND_MS) * NS_PER_MSEC)
#define LARGE_BYTES	(4u << 20) /* of blocks that go back to the system: more than most snapshots */
#define QUIT_MAX_NS	(250 * NS_PER_MSEC)
#define TARGET_MAX	128
#define ARCHIVE_MIN_PCT 0.1 /* of its trees: a person looks closer than batch mode does */
#define STATUS_USAGE	2

struct session {
	const struct options *options;
	void (*say)(const char *text);
	void (*show)(const char *text); /* or NULL */
	bool is_batch;
	char **env; /* as we were started */
	struct identity workers, invoker;
	struct event_spec event;
	struct input input;
	struct cgroup_roots roots;
	struct cgroup cgroup; /* of --cgroup */
	pid_t *members;	      /* its processes, where the kernel cannot sample it as such */
	uid_t user;	      /* of --uid */
	int root_fd;	      /* the folder that the files of a recording are below; -1: none */
	struct recording *recording;
	struct launch *launch;
	pid_t command_tid;
	struct broker *broker;
	int writer_sock;   /* of that process, -1: none */
	int settings_sock; /* the same of settings */
	struct settings_file settings;
	struct report_writer *writer;
	struct output output;
	struct trigger trigger; /* of --when */
	struct bundle *bundle;
	struct engine *engine;
	struct channel *channel;
	pthread_t thread;
	bool has_thread;
	bool is_realtime; /* this thread had the priority, until the engine took it over */
	int status;	  /* exit status of a run that fails */
	char target[TARGET_MAX];
	char fetch_urls[FETCH_URLS_BYTES_MAX], fetch_hosts[TARGET_MAX];
};

/* --- what is sampled --- */

static void put_ids(FILE *out, const char *what, const int *ids, uint32_t nr_ids)
{
	fprintf(out, "%s%s", what, nr_ids > 1 ? "s" : "");
	for (uint32_t i = 0; i < nr_ids; i++) {
		if (i == 4 && nr_ids > 5) {
			fprintf(out, " and %u more", nr_ids - i);
			return;
		}
		fprintf(out, "%s%d", i ? "," : " ", ids[i]);
	}
}

static void put_word(FILE *out, const char *what, const char *word)
{
	char shown[64];

	text_sanitize(word, strlen(word), shown, sizeof(shown));
	fprintf(out, "%s %s", what, shown);
}

static void put_command(FILE *out, const char *path)
{
	const char *slash = strrchr(path, '/');

	put_word(out, "command", slash ? slash + 1 : path);
}

/* "all CPUs", "pid 12", "command make", "pids 1,2 on CPU 3": what is sampled, in words, into OUT (zeroed). */
static void target_text(const struct options *o, char *out, size_t size)
{
	AUTO_FCLOSE FILE *text = fmemopen(out, size - 1, "w");

	if (!text)
		return;
	if (o->input)
		fputs("recording", text);
	else if (o->command)
		put_command(text, o->command[0]);
	else if (o->nr_pids)
		put_ids(text, "pid", o->pids, o->nr_pids);
	else if (o->nr_tids)
		put_ids(text, "tid", o->tids, o->nr_tids);
	else if (o->user)
		put_word(text, "user", o->user);
	else if (o->cgroup)
		put_word(text, "cgroup", o->cgroup);
	else if (!o->nr_cpus)
		fputs("all CPUs", text);
	if (o->nr_cpus && !o->input)
		put_ids(text, ftell(text) > 0 ? " on CPU" : "CPU", o->cpus, o->nr_cpus);
}

/* Something was named: not the whole machine. */
static bool target_is_named(const struct options *o)
{
	return o->command || o->nr_pids || o->nr_tids || o->nr_cpus || o->user || o->cgroup;
}

/* --- start --- */

static int parse_event(struct session *s, struct err *err)
{
	int r;

	if (!s->options->event || s->options->input) {
		event_default(&s->event);
		return 0;
	}
	/* The one file that main opens with more than the caller's rights: by a name of two plain words. */
	identity_take_up();
	r = event_parse(s->options->event, &s->event, err);
	identity_set_aside();
	if (r == -EINVAL || r == -ENOENT) /* the word is wrong, wherever it is tried */
		s->status = STATUS_USAGE;
	return r;
}

/* Whom to ask is the person's own variable, so it is read before that is removed. */
static int choose_servers(struct session *s, struct err *err)
{
	bool asks = s->options->fetch == OPTIONS_FETCH_ASK;
	struct err none = {0};
	int r;

	if (s->options->fetch == OPTIONS_FETCH_OFF || (asks && s->is_batch))
		return 0;
	r = fetch_urls(s->options->debuginfod, s->fetch_urls, asks ? &none : err);
	if (asks && r == -ENOENT)
		return 0; /* there is nothing to ask for */
	if (r == -EINVAL)
		s->status = STATUS_USAGE;
	if (r == 0)
		fetch_urls_hosts(s->fetch_urls, s->fetch_hosts, sizeof(s->fetch_hosts));
	return r;
}

static int find_user(struct session *s, struct err *err)
{
	const char *word = s->options->user;
	char shown[TARGET_MAX];
	struct passwd *user;
	uint64_t number;

	if (!word)
		return 0;
	user = getpwnam(word);
	if (user) {
		s->user = user->pw_uid;
		return 0;
	}
	if (arg_number("-u", word, 0, UINT32_MAX - 1, &number, NULL) == 0) {
		s->user = (uid_t)number;
		return 0;
	}
	s->status = STATUS_USAGE;
	text_sanitize(word, strlen(word), shown, sizeof(shown));
	return err_set(err, -EINVAL, "-u: there is no user '%s'", shown);
}

/* The person named it: it is opened with the rights that we were started with. */
static int find_cgroup(struct session *s, struct err *err)
{
	int r;

	cgroup_find_roots(&s->roots);
	if (!s->options->cgroup)
		return 0;
	r = cgroup_find(&s->roots, s->options->cgroup, &s->cgroup, err);
	if (r == -EINVAL)
		s->status = STATUS_USAGE;
	return r;
}

static int start_command(struct session *s, struct err *err)
{
	struct launch_config config = {
		.argv = s->options->command,
		.env = s->env,
		.who = &s->invoker,
		.behind_screen = !s->is_batch,
	};
	int r;

	if (!s->options->command)
		return 0;
	r = launch_start(&config, &s->launch, err);
	if (r == 0)
		s->command_tid = launch_pid(s->launch);
	else
		s->status = launch_status_of(r);
	return r;
}

/*
 * The person named the file, so it is opened as whom they called us; what the
 * file names is not.
 */
static int open_input(struct session *s, struct err *err)
{
	int r;

	if (!s->options->input)
		return 0;
	r = input_open(s->options->input, &s->input, err);
	if (r == -EACCES && !s->workers.was_root)
		err_hint(err, "what root has recorded is root's: sudo stacktop -i %s",
			 s->input.name);
	return r;
}

static int open_root(struct session *s, struct err *err)
{
	const char *name = s->options->symfs ? s->options->symfs : "/";
	char shown[TARGET_MAX];

	if (!s->options->input)
		return 0;
	s->root_fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->root_fd >= 0)
		return 0;
	text_sanitize(name, strlen(name), shown, sizeof(shown));
	return err_set(err, -errno, "--symfs: cannot open %s: %s", shown, strerror(errno));
}

static int start_broker(struct session *s, struct err *err)
{
	struct broker_config config = {
		.workers = s->workers,
		.loader_main = loader_main,
		.fetcher_main = s->fetch_urls[0] ? fetcher_main : NULL,
		.is_recorded = s->options->input != NULL,
		.root_fd = s->root_fd,
		.has_cgroup = s->cgroup.fd >= 0,
		.cgroup_fd = s->cgroup.fd,
	};

	return broker_start(&config, &s->broker, err);
}

/*
 * We shall be another user, who may neither make a report in root's folder nor remove from it what -o has
 * made and found no room for, nor name a bundle that is whole. So a process stays root for each of these.
 */
static char *merge_settings(const void *context, const char *text, const char *lines)
{
	return settings_merge_checked(context, text, lines);
}

/* Where the file is not root's alone there is no process: then it is not written either, which the key says. */
static int start_settings_writer(struct session *s)
{
	AUTO_CLOSE int folder = -1;

	if (s->is_batch || !s->options->settings)
		return 0;
	s->settings = (struct settings_file){
		.bytes_max = SETTINGS_BYTES_MAX,
		.merge = merge_settings,
		.context = s->options,
	};
	folder = settings_open_folder(s->options->settings, &s->settings.path);
	return folder < 0 ? 0 : writer_start_settings(folder, &s->settings, &s->settings_sock);
}

static int start_writers(struct session *s, struct err *err)
{
	struct writer_output none = {.fd = -1}, output = none;
	AUTO_CLOSE int here = -1;
	AUTO_CLOSE int folder = -1;
	int r = 0;

	if (!s->is_batch || s->options->nr_whens)
		here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->is_batch && s->output.is_ours)
		folder = output_folder(&s->output, &output);
	if (here >= 0)
		r = writer_start(here, &none, &s->writer_sock);
	if (r == 0 && folder >= 0)
		r = writer_start(folder, &output, &s->output.writer_sock);
	if (r == 0 && s->bundle)
		r = bundle_start_writer(s->bundle);
	if (r == 0)
		r = start_settings_writer(s);
	return r < 0 ? err_set(err, r, "cannot start the process that writes: %s", strerror(-r))
		     : 0;
}

/* For this process and the guard that it starts later. Where the kernel has no Landlock the filter is all. */
static int confine(struct err *err)
{
	int r;

	confine_processes();
	r = confine_calls(false);
	return r < 0 ? err_set(err, r, "cannot filter system calls: %s", strerror(-r)) : 0;
}

/* What is not text would leave the terminal unusable. */
static int check_terminal(const struct options *o, struct err *err)
{
	if (o->format != OPTIONS_PPROF || o->output || !isatty(STDOUT_FILENO))
		return 0;
	err_set(err, -EINVAL, "--format=pprof is not for a terminal: nothing written");
	err_hint(err, "write it to a file with -o NAME.pb.gz, or into a pipe");
	return -EINVAL;
}

static int open_output(struct session *s, struct err *err)
{
	int r = output_open(&s->output, s->options->output, err);

	return r == 0 && s->options->bundle ? bundle_open(s->options->bundle, &s->bundle, err) : r;
}

/* Everything that needs the privileges, in order; afterwards they are gone. */
static int start_privileged(struct session *s, struct err *err)
{
	bool is_live = !s->options->input, is_root_itself;
	int r;

	r = parse_event(s, err);
	if (r == 0)
		r = identity_workers(&s->workers, err);
	if (r == 0)
		r = identity_invoker(&s->invoker, err);
	if (r == 0)
		r = find_user(s, err);
	if (r == 0)
		r = find_cgroup(s, err);
	if (r == 0)
		r = start_command(s, err);
	if (r == 0)
		process_raise_limits();
	if (r == 0)
		r = open_input(s, err);
	if (r == 0)
		r = open_root(s, err);
	if (r < 0)
		return r;
	if (is_live)
		process_raise_priority();
	/* Root itself, without sudo, writes files as root; all others as who they are. */
	is_root_itself = s->workers.was_root && !s->workers.by_sudo;
	if (is_root_itself)
		r = open_output(s, err);
	if (r == 0 && is_root_itself)
		r = start_writers(s, err);
	if (r == 0)
		r = start_broker(s, err);
	if (r == 0 && is_live)
		s->is_realtime = process_begin_realtime();
	if (r == 0)
		r = identity_become(&s->workers, err);
	if (r == 0 && !s->output.stream)
		r = open_output(s, err);
	return r == 0 ? confine(err) : r;
}

static int start_recorded(struct session *s, struct err *err)
{
	struct engine_config config = {
		.recording = s->recording,
		.file = s->input.name,
		.event = s->options->event,
		.max_frames = (uint32_t)s->options->max_depth,
		.no_complete = s->options->no_complete,
		.has_samples = (s->is_batch && options_has_samples(s->options)) || s->bundle,
		.has_stacks = s->is_batch && (s->options->format == OPTIONS_PPROF || s->bundle),
		.target = s->target,
		.fetch_hosts = s->fetch_urls[0] ? s->fetch_hosts : NULL,
		.fetch_asks = s->options->fetch == OPTIONS_FETCH_ASK,
		.start_fd = -1,
	};
	int r;

	s->recording = NULL;
	r = engine_new(&config, s->broker, &s->engine, err);
	if (r == -ENOENT)
		s->status = STATUS_USAGE;
	return r;
}

/* Those that are in the group now, with their children: what comes into it later is not sampled. */
static void say_by_processes(struct session *s)
{
	size_t len = strlen(s->target);

	snprintf(s->target + len, sizeof(s->target) - len, ", by its processes of now");
}

static int start_engine(struct session *s, struct err *err)
{
	const struct options *o = s->options;
	struct engine_config config = {
		.live = {.event = s->event,
			 .freq_hz = o->freq_hz,
			 .period = o->period,
			 .mode = o->mode,
			 .stack_bytes = o->stack_bytes,
			 .cpus = o->cpus,
			 .nr_cpus = o->nr_cpus,
			 .tids = o->tids,
			 .nr_tids = o->nr_tids,
			 .stall_ns = STALL_NS,
			 .rings_max_bytes = process_rings_max_bytes()},
		.pids = o->pids,
		.nr_pids = o->nr_pids,
		.by_cgroup = o->cgroup != NULL,
		.cgroup_v2 = s->roots.v2,
		.cgroup_v1_cpu = s->roots.v1_cpu,
		.by_user = o->user != NULL,
		.user = s->user,
		.target = s->target,
		.window_ns = o->window_ns,
		.budget_pct = (uint32_t)o->budget_pct,
		.max_frames = (uint32_t)o->max_depth,
		.has_stacks =
			o->nr_whens || (s->is_batch && (o->format == OPTIONS_PPROF || s->bundle)),
		.no_complete = o->no_complete,
		.is_realtime = s->is_realtime,
		.fetch_hosts = s->fetch_urls[0] ? s->fetch_hosts : NULL,
		.fetch_asks = s->options->fetch == OPTIONS_FETCH_ASK,
		.start_fd = -1,
	};
	int r;

	if (s->launch) {
		config.live.tids = &s->command_tid;
		config.live.nr_tids = 1;
		config.live.start_on_exec = true;
		config.start_fd = launch_start_fd(s->launch);
	}
	r = engine_new(&config, s->broker, &s->engine, err);
	if (config.by_cgroup && (r == -EOPNOTSUPP || r == -EACCES)) {
		*err = (struct err){0};
		/* The kernel has no events of control groups, or not for us: by its processes. */
		r = cgroup_members(&s->cgroup, &s->members, &config.nr_pids, err);
		config.by_cgroup = false;
		config.pids = s->members;
		config.pids_may_end = true;
		say_by_processes(s);
		if (r == 0)
			r = engine_new(&config, s->broker, &s->engine, err);
	}
	if (r == -EACCES && !target_is_named(o) && !s->workers.was_root) {
		*err = (struct err){0};
		/* Not the whole machine, then: an ordinary user's own processes. */
		config.own_tasks = true;
		config.target = "own processes";
		r = engine_new(&config, s->broker, &s->engine, err);
	}
	if (r == -ENXIO)
		s->status = STATUS_USAGE;
	/* "use sudo" is no help to those who did. */
	if ((r == -EACCES || r == -EPERM) && s->workers.was_root)
		err_hint(err, "even root may not here: a container needs --cap-add PERFMON and a "
			      "seccomp profile that has perf_event_open");
	return r;
}

static void *run_engine(void *context)
{
	struct session *s = context;

	pthread_setname_np(pthread_self(), "engine");
	engine_run(s->engine, s->channel);
	return NULL;
}

/* The engine's thread takes no signal but that of its own limit (process_begin_realtime). */
static int start_thread(struct session *s, struct err *err)
{
	sigset_t all, before;
	int r;

	s->channel = channel_new();
	if (!s->channel)
		return err_set(err, -ENOMEM, "no memory");
	sigfillset(&all);
	sigdelset(&all, SIGXCPU);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&s->thread, NULL, run_engine, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	process_end_realtime();
	if (r < 0)
		return err_set(err, r, "cannot start a thread: %s", strerror(-r));
	s->has_thread = true;
	return 0;
}

/* --- the write key --- */

static void report_name(const struct snapshot *snapshot, bool is_bundle, char *out, size_t size)
{
	if (is_bundle)
		bundle_name(snapshot, out, size);
	else
		out_report_name(snapshot_text(snapshot, snapshot->hostname), snapshot->wall_ns, out,
				size);
}

static bool is_ascii(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

/* What is made into a report; SNAPSHOT's own fields as they were: the screen's may change. */
struct making {
	struct snapshot *holder, snapshot;
	struct view_query query;
	struct view view; /* for text */
	char *name;
};

static int make_report(FILE *stream, void *context)
{
	const struct making *making = context;

	if (bundle_is_archive(making->name))
		return bundle_archive(stream, &making->snapshot, making->name, ARCHIVE_MIN_PCT,
				      is_ascii());
	if (out_has_format(making->name))
		return out_by_name(stream, &making->snapshot, &making->query, making->name);
	return out_report(stream, &making->snapshot, &making->view, &making->query, is_ascii());
}

static void free_making(void *context)
{
	struct making *making = context;

	snapshot_free(making->holder);
	view_done(&making->view);
	free(making->name);
	free(making);
}

static int save(void *context, const char *name, struct snapshot *snapshot,
		const struct view_query *query, struct view *view, struct err *err)
{
	struct making *making = calloc(1, sizeof(*making));

	if (!making)
		return err_set(err, -ENOMEM, "no memory for the report");
	making->holder = snapshot_hold(snapshot);
	making->snapshot = *snapshot;
	making->query = *query;
	if (view) {
		making->view = *view;
		*view = (struct view){0};
	}
	making->name = strdup(name);
	if (!making->name) {
		free_making(making);
		return err_set(err, -ENOMEM, "no memory for the report");
	}
	return report_writer_make(context, name,
				  &(struct report_source){.make = make_report,
							  .done = free_making,
							  .context = making},
				  err);
}

static int save_settings(void *context, const char *lines, struct err *err)
{
	return report_writer_save_settings(context, lines, err);
}

static int save_poll(void *context, struct err *err)
{
	return report_writer_poll(context, err);
}

static void save_stop(void *context)
{
	report_writer_stop(context);
}

static uint64_t save_done_bytes(void *context, uint64_t *ret_total_bytes)
{
	return report_writer_done_bytes(context, ret_total_bytes);
}

/* --- run and end --- */

/* While a recording is read, unless what is written meanwhile stands on a terminal. */
static bool shows_progress(const struct session *s)
{
	const struct options *o = s->options;

	return o->input && (s->bundle || !isatty(fileno(s->output.stream)) ||
			    !(o->delay_given || options_has_samples(o)));
}

static int run_batch(struct session *s, struct err *err)
{
	struct watch watch = {
		.trigger = &s->trigger,
		.writer = s->writer,
		.min_pct = s->options->min_pct,
		.ascii = is_ascii(),
		.say = s->say,
	};
	struct batch_config config = {
		.options = s->options,
		.output = &s->output,
		.bundle = s->bundle,
		.ascii = is_ascii(),
		.launch = s->launch,
		.watch = s->options->nr_whens ? &watch : NULL,
		.say = s->say,
		.show = shows_progress(s) ? s->show : NULL,
	};

	return batch_run(&config, s->channel, err);
}

static int run_screen(struct session *s, struct err *err)
{
	struct ui_config config = {
		.view = s->options->view,
		.sort = s->options->sort,
		.names = s->options->names,
		.columns = s->options->columns,
		.is_inlined = s->options->is_inlined,
		.folds_recursion = s->options->folds_recursion,
		.delay_ns = s->options->delay_ns,
		.window_ns = s->options->window_ns,
		.has_mouse = s->options->has_mouse,
		.theme = s->options->theme,
		.no_color = s->options->no_color,
		.max_bytes_per_s = s->options->max_bytes_per_s,
		.report_name = report_name,
		.save = save,
		.save_poll = save_poll,
		.save_stop = save_stop,
		.save_done_bytes = save_done_bytes,
		.trigger = s->options->nr_whens ? &s->trigger : NULL,
		.context = s->writer,
		.save_settings = s->options->settings ? save_settings : NULL,
		.where = s->options->settings,
		.servers = s->options->debuginfod,
		.notice = s->options->settings_err.code ? s->options->settings_err.text : NULL,
	};

	return ui_run(&config, s->channel, err);
}

static int run_on_main_thread(struct session *s, struct err *err)
{
	const struct options *o = s->options;

	trigger_init(&s->trigger, o->whens, o->nr_whens, o->when_count);
	s->writer = report_writer_new(s->writer_sock, o->settings, s->settings_sock);
	if (!s->writer) {
		err_set(err, -ENOMEM, "no memory");
		return 1;
	}
	return s->is_batch ? run_batch(s, err) : run_screen(s, err);
}

/* False: the engine did not end in time; its thread runs on until the process ends. */
static bool stop_engine(struct session *s)
{
	struct timespec until;

	if (!s->has_thread)
		return true;
	channel_send(s->channel, (struct command){.kind = COMMAND_QUIT});
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)QUIT_MAX_NS;
	until.tv_sec += until.tv_nsec / (long)NS_PER_SEC;
	until.tv_nsec %= (long)NS_PER_SEC;
	return pthread_timedjoin_np(s->thread, NULL, &until) == 0;
}

static void close_output(struct session *s, struct err *err)
{
	char shown[TARGET_MAX];
	int r = output_close(&s->output, err->code != 0);

	if (r == 0)
		return;
	text_sanitize(s->options->output, strlen(s->options->output), shown, sizeof(shown));
	err_set(err, r, "cannot write %s: %s", shown, strerror(-r));
	s->status = 1;
}

/* A recording that is damaged from its start, or is not what was asked for, is a failure. */
static void tell_trouble(struct session *s, struct err *err)
{
	bool is_bad = false;
	const char *trouble = engine_trouble(s->engine, &is_bad);

	if (!*trouble || s->status != 0)
		return;
	if (is_bad) {
		err_set(err, -EBADMSG, "%s", trouble);
		s->status = 1;
	} else if (s->is_batch) {
		s->say(trouble);
	}
}

/* False: as stop_engine(). */
static bool end_session(struct session *s, struct err *err)
{
	bool has_ended;

	report_writer_free(s->writer);
	has_ended = stop_engine(s);
	if (has_ended) {
		if (s->engine)
			tell_trouble(s, err);
		engine_free(s->engine);
		channel_free(s->channel);
		broker_stop(s->broker);
	}
	recording_close(s->recording);
	input_close(&s->input);
	if (s->root_fd >= 0)
		close(s->root_fd);
	if (s->writer_sock >= 0)
		close(s->writer_sock);
	if (s->settings_sock >= 0)
		close(s->settings_sock);
	if (s->output.writer_sock >= 0)
		close(s->output.writer_sock);
	cgroup_done(&s->cgroup);
	free(s->members);
	launch_free(s->launch);
	free(s->env);
	return has_ended;
}

bool session_is_batch(const struct options *options)
{
	return options->batch || !isatty(STDOUT_FILENO);
}

int session_run(const struct options *options, void (*say)(const char *text),
		void (*show)(const char *text), bool *ret_runs_on, struct err *err)
{
	struct session s = {
		.options = options,
		.say = say,
		.show = show,
		.is_batch = session_is_batch(options),
		.status = 1,
		.input = INPUT_NONE,
		.root_fd = -1,
		.cgroup = {.fd = -1},
		.writer_sock = -1,
		.settings_sock = -1,
		.output = {.writer_sock = -1},
		.env = process_copy_environment(),
	};
	int r = s.env ? 0 : err_set(err, -ENOMEM, "no memory");
	sigset_t signals;

	heap_setup(LARGE_BYTES);
	if (r == 0)
		r = check_terminal(options, err);
	if (r == 0)
		r = choose_servers(&s, err);
	process_sanitize_environment();
	if (r == 0 && s.fetch_urls[0] && setenv("DEBUGINFOD_URLS", s.fetch_urls, 1) < 0)
		r = err_set(err, -ENOMEM, "no memory");
	/* Characters only: numbers in files are the same everywhere. */
	setlocale(LC_CTYPE, "");
	target_text(options, s.target, sizeof(s.target));
	if (r == 0)
		r = start_privileged(&s, err);
	/* Its head is foreign already; with a pipe this waits for it. */
	if (r == 0 && s.input.fd >= 0)
		r = input_read_head(&s.input, &s.recording, err);
	/* They wait for batch_run: a command that ends at once must not end unseen. */
	if (r == 0 && s.is_batch) {
		batch_signals(&signals);
		pthread_sigmask(SIG_BLOCK, &signals, NULL);
	}
	if (r == 0)
		r = s.recording ? start_recorded(&s, err) : start_engine(&s, err);
	if (r == 0)
		r = start_thread(&s, err);
	if (r == 0)
		s.status = run_on_main_thread(&s, err);
	if (bundle_close(s.bundle, err->code != 0, err) < 0 && s.status == 0)
		s.status = 1;
	close_output(&s, err);
	*ret_runs_on = !end_session(&s, err);
	return s.status;
}
