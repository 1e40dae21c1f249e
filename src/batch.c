/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batch mode: see batch.h. One loop on one thread: it asks for a snapshot when
 * a block is due, and writes it when it has come. "Closing" means that the last
 * block has been asked for: of that one only a snapshot will do that was made
 * after the reason to close, so that the end of a command is in it. Single
 * samples come with snapshots of which nothing else is used, and each is a block.
 */
#include "config.h"

#include "src/batch.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/progress.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/model/snapshot.h"
#include "src/out/out.h"
#include "src/symbol.h"
#include "src/view/baseline.h"
#include "src/view/narrow.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Targets that may end, and conditions, are looked at so often, however long the delay is. */
#define CHECK_NS NS_PER_SEC
/* The engine answers within milliseconds; so long after the last wait is over, leave without the last block. */
#define CLOSING_MORE_NS (3 * NS_PER_SEC)
/* The last block waits so long for names and unwind tables that are on their way, and is asked for so often. */
#define SETTLE_MAX_NS  (2 * NS_PER_SEC)
#define SETTLE_STEP_NS (20 * NS_PER_MSEC)
/* A block without the function that is asked for is worth nothing: its wait is longer. */
#define CODE_MAX_NS (10 * NS_PER_SEC)
/* Of a recording debug files of servers are waited for, each of which may take two minutes. */
#define FETCH_MAX_NS (300 * NS_PER_SEC)
/* What is sampled meanwhile is of another time: the last live block waits less long. */
#define FETCH_LIVE_NS (30 * NS_PER_SEC)
#define FETCH_STEP_NS (200 * NS_PER_MSEC)
/* Between looks for the instructions of a function. */
#define CODE_STEP_NS (100 * NS_PER_MSEC)
#define FEW	     20 /* one part in so many is few */
/* Live samples are fetched so often; those of a recording as soon as they are there. */
#define SAMPLES_STEP_NS (100 * NS_PER_MSEC)
#define BUNDLE_STEP_NS	(500 * NS_PER_MSEC)
#define WATCH_NS	(50 * NS_PER_MSEC) /* between looks whether evidence is written */
#define BUFFER_BYTES	(256u << 10)	   /* a json document has some MB: few writes */
/* The line of progress. */
#define NAME_COLUMNS 24
#define PROGRESS_NS  (250 * NS_PER_MSEC)

struct batch {
	const struct batch_config *config;
	struct channel *channel;
	struct view view;
	/* The last block's, if rows are to be compared with it; else NULL. */
	struct snapshot *before;
	struct baseline *before_rows;
	int signal_fd;
	uint64_t began_ns;
	uint64_t block_ns; /* when the next block is due */
	uint64_t check_ns; /* when a snapshot is asked for, block or not */
	uint64_t nr_blocks;
	uint64_t closing_ns; /* since when, 0: not yet */
	bool looks_often;    /* has targets that may end, or conditions */
	bool is_settling;    /* the last block is due, but waits for names and tables */
	bool is_asked;	     /* a snapshot is on its way */
	bool is_last_asked;  /* and was asked for when closing had begun */
	bool takes_unnamed;  /* samples shall not wait for names any more */
	bool is_done;
	int signal;		 /* that ends us, 0: none */
	uint64_t lost, dropped;	 /* so far */
	struct err function_err; /* why there is nothing to show of the function so far */
	uint64_t function_key;	 /* that --butterfly means */
	uint64_t code_until_ns;	 /* they are waited for, 0: not yet */
	uint64_t fetch_until_ns; /* the same for files of servers; from then on for names in them */
	uint64_t fetched_ns;	 /* when they were last waited for */
	bool has_block;		 /* one was written */
	bool is_code_late;	 /* instructions of the function may still come */
	bool is_name_late;	 /* its name may still come */
	bool has_stacks;	 /* something was there to be written */
	char not_shown[ERR_TEXT_MAX]; /* of a recording */
	int error;		      /* of the stream */
	bool is_short;		      /* of memory: a snapshot could not be made */
	uint64_t shown_ns;	      /* when progress was shown, 0: it is not */
};

void batch_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
	sigaddset(ret, SIGCHLD);
}

/* How long a block that is due waits for what is on its way. */
static uint64_t settle_max_ns(const struct batch *b)
{
	return b->is_code_late || b->is_name_late ? CODE_MAX_NS : SETTLE_MAX_NS;
}

/* The same for one that was due at DUE_NS. */
static uint64_t settle_until_ns(const struct batch *b, uint64_t due_ns)
{
	return MAX(due_ns, b->fetched_ns) + settle_max_ns(b);
}

static uint64_t closing_until_ns(const struct batch *b)
{
	return settle_until_ns(b, b->closing_ns) + CLOSING_MORE_NS;
}

/* --- how far a recording is read --- */

static void end_progress(struct batch *b)
{
	if (b->shown_ns)
		b->config->show("");
	b->shown_ns = 0;
}

static void show_progress(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	const struct snap_recording *r = &snapshot->recording;
	char name[NAME_COLUMNS * 4 + 1], progress[96], text[256];

	if (!b->config->show || b->closing_ns || !r->is_reading) {
		end_progress(b);
		return;
	}
	if (b->shown_ns && time_ns - b->shown_ns < PROGRESS_NS)
		return;
	b->shown_ns = time_ns;
	text_elide(snapshot_text(snapshot, r->file), NAME_COLUMNS, NAME_COLUMNS / 2, name,
		   sizeof(name));
	progress_text(r->done_bytes, r->total_bytes, time_ns - b->began_ns, progress,
		      sizeof(progress));
	snprintf(text, sizeof(text), "%s: %s  Ctrl-C:stop", name, progress);
	b->config->show(text);
}

/* --- blocks --- */

static int write_block(struct batch *b, const struct snapshot *snapshot)
{
	const struct options *o = b->config->options;
	bool opens = view_opens_in_text(o->view);
	struct view_query query = {
		.kind = o->view,
		.sort = o->sort,
		.names = o->names,
		.columns = o->columns,
		.ascii = b->config->ascii,
		.limit = (uint32_t)o->limit,
		.opens_all = opens,
		.min_pct = opens ? o->min_pct : 0,
		.middle = b->function_key,
	};
	int r;

	if (b->config->bundle)
		return bundle_write(b->config->bundle, snapshot, o->min_pct, b->config->ascii);
	if (o->format == OPTIONS_JSON)
		return out_json(b->config->output->stream, snapshot, &query);
	if (o->format == OPTIONS_FOLDED) {
		if (b->nr_blocks)
			putc('\n', b->config->output->stream);
		return out_folded(b->config->output->stream, snapshot);
	}
	if (o->format == OPTIONS_PPROF)
		return out_pprof(b->config->output->stream, snapshot);
	if (b->before_rows && baseline_fits(b->before_rows, snapshot))
		query.before = b->before_rows;
	/* The hottest of this block, of the one before too. */
	if (o->view == VIEW_BUTTERFLY && !query.middle)
		query.middle = butterfly_hottest(snapshot, false);
	r = baseline_prepare(query.before, &query);
	if (r == 0)
		r = view_build(&b->view, snapshot, &query);
	if (r < 0)
		return r;
	return out_text(b->config->output->stream, snapshot, &b->view, &query, b->config->ascii);
}

static int send_command(struct batch *b, enum command_kind kind, uint64_t value)
{
	return channel_send(b->channel, (struct command){.kind = kind, .value = value});
}

static void ask(struct batch *b)
{
	if (b->is_asked)
		return;
	if (b->takes_unnamed && send_command(b, COMMAND_SAMPLES, COMMAND_SAMPLES_ALL) < 0)
		return;
	b->is_asked = send_command(b, COMMAND_SNAPSHOT, 0) == 0;
	b->is_last_asked = b->closing_ns != 0;
}

static bool takes_samples(const struct batch *b)
{
	return options_has_samples(b->config->options) || b->config->bundle;
}

/* Ask for the last block, unless that has been done. */
static void start_closing(struct batch *b)
{
	if (b->closing_ns)
		return;
	b->closing_ns = now_ns();
	b->check_ns = b->closing_ns;
	/* What is on its way was made too early; but samples that are in it come only once. */
	if (!takes_samples(b))
		b->is_asked = false;
	if (b->config->options->input)
		send_command(b, COMMAND_STOP, 0);
	ask(b);
}

static void put_block(struct batch *b, const struct snapshot *snapshot)
{
	if (b->function_err.code < 0) {
		b->nr_blocks++;
		b->is_done |= b->nr_blocks == b->config->options->count;
		return;
	}
	b->has_block = true;
	b->has_stacks |= snapshot->nr_samples > 0;
	b->error = write_block(b, snapshot);
	if (b->error == 0)
		output_mark(b->config->output);
	b->nr_blocks++;
	if (b->error < 0 ||
	    (b->config->options->count && b->nr_blocks >= b->config->options->count))
		b->is_done = true;
}

/*
 * Stacks have their tables and functions their names, as far as they are to be
 * had: all but a few, of which there are always some while more is sampled.
 */
static bool is_settled(const struct batch *b, const struct snapshot *snapshot)
{
	const struct health *health = &snapshot->health;
	uint64_t few = snapshot->settings.is_over ? UINT64_MAX : FEW;

	return !b->is_code_late && !b->is_name_late &&
	       health->names_pending <= (b->fetch_until_ns ? 0 : health->frames / few) &&
	       health->inlines_pending <= health->frames / few &&
	       health->ends[STACK_END_PENDING] <= health->user_stacks / few;
}

/* Debug files are on their way: what is waited for beside them comes after the last of them. */
static bool waits_for_files(struct batch *b, const struct health *health, uint64_t time_ns)
{
	char text[256];

	if (!health->fetch_is_busy || (b->fetch_until_ns && time_ns >= b->fetch_until_ns))
		return false;
	if (!b->fetch_until_ns)
		b->fetch_until_ns =
			time_ns + (b->config->options->input ? FETCH_MAX_NS : FETCH_LIVE_NS);
	b->fetched_ns = time_ns;
	b->code_until_ns = 0;
	b->check_ns = time_ns + FETCH_STEP_NS;
	if (b->config->show) {
		snprintf(text, sizeof(text), "%s: %" PRIu64 " debug files to come  Ctrl-C:stop",
			 health->fetch_hosts, health->fetch_pending);
		b->shown_ns = time_ns;
		b->config->show(text);
	}
	return true;
}

/* The last one is worth a moment's wait for them, any one for instructions, but not one for ever. */
static bool is_too_early(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	uint64_t count = b->config->options->count;
	bool is_last = count && b->nr_blocks + 1 >= count;

	if (is_last && waits_for_files(b, &snapshot->health, time_ns))
		return true;
	return ((is_last && !is_settled(b, snapshot)) || b->is_code_late) &&
	       time_ns < settle_until_ns(b, b->block_ns);
}

/* A picture is worth those samples too that still wait for names: once, and then all there are. */
static bool asks_for_rest(struct batch *b, uint64_t time_ns)
{
	if (!b->config->bundle || b->takes_unnamed)
		return false;
	b->takes_unnamed = true;
	b->check_ns = time_ns;
	return true;
}

static void take_last(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	bool is_late = time_ns >= settle_until_ns(b, b->closing_ns);
	/* Of a recording that was broken off what has been read is still to be unwound. */
	bool is_all = !b->config->options->input || snapshot->settings.is_over;

	if (!b->signal && waits_for_files(b, &snapshot->health, time_ns))
		return;
	if (snapshot->time_ns >= b->closing_ns &&
	    (is_late || (is_all && is_settled(b, snapshot)))) {
		if (asks_for_rest(b, time_ns))
			return;
		put_block(b, snapshot);
		b->is_done = true;
	} else {
		b->check_ns = time_ns + SETTLE_STEP_NS;
	}
}

/* A recording without one sample to be read: the reason is all that there is to say. */
static bool is_worthless(const struct snapshot *snapshot)
{
	const struct health *health = &snapshot->health;

	return *snapshot_text(snapshot, snapshot->recording.trouble) &&
	       health->samples + health->other_samples == 0;
}

/* No more is to come of what is sampled. */
static bool is_over(const struct snapshot *snapshot)
{
	const struct snap_recording *recording = &snapshot->recording;

	return snapshot->settings.is_over || (recording->is_recording && !recording->is_reading);
}

/* Nothing comes after these samples, or is worth waiting for. */
static bool are_last(const struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	if (snapshot->recording.is_recording)
		return is_over(snapshot);
	if (!b->is_last_asked)
		return false;
	return b->signal ||
	       (snapshot->health.ends[STACK_END_PENDING] == 0 &&
		snapshot->health.names_pending == 0) ||
	       time_ns >= b->closing_ns + SETTLE_MAX_NS;
}

static void take_samples(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	const struct snap_samples *samples = snapshot->samples;
	bool is_recording = snapshot->recording.is_recording;
	uint64_t count = b->config->options->count;
	uint64_t left = count ? count - b->nr_blocks : UINT64_MAX;
	uint32_t nr = samples ? samples->nr_samples : 0;

	if (is_over(snapshot) && !is_recording)
		start_closing(b);
	b->has_stacks |= nr > 0;
	if (nr)
		b->error = b->config->options->format == OPTIONS_SCRIPT
				   ? out_script(b->config->output->stream, samples, left)
				   : out_samples(b->config->output->stream, samples, left);
	if (nr && b->error == 0)
		output_mark(b->config->output);
	b->nr_blocks += MIN(nr, left);
	if (b->error < 0 || nr >= left ||
	    (are_last(b, snapshot, time_ns) && (nr == 0 || (b->signal && !is_recording))))
		b->is_done = true;
	b->block_ns = time_ns + (nr && is_recording ? 0 : SAMPLES_STEP_NS);
	b->check_ns = b->closing_ns ? time_ns + SETTLE_STEP_NS : b->block_ns;
}

/*
 * Which function --annotate and --butterfly mean is only known from what was sampled, and may become another one.
 * Its instructions are asked for as soon as it is known, while its file can be read.
 */
static void choose_function(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	const struct snap_annotation *a = snapshot->annotation;
	const struct options *o = b->config->options;
	const char *word = o->annotate ? o->annotate : o->butterfly;
	uint64_t key = 0;

	b->function_err = (struct err){0};
	b->is_code_late = b->is_name_late = false;
	if (!word)
		return;
	if (symbol_find(snapshot, o->annotate ? "--annotate" : "--butterfly", word, &key,
			&b->function_err) < 0) {
		b->is_name_late = snapshot->health.names_pending > 0;
		return;
	}
	b->function_key = key;
	if (!o->annotate)
		return;
	b->is_code_late = !a || a->key != key || a->state == SNAP_CODE_PENDING || a->awaits_source;
	if (!a || a->key != key)
		send_command(b, COMMAND_ANNOTATE, key);
	if (b->is_code_late)
		b->check_ns = MIN(b->check_ns, time_ns + CODE_STEP_NS);
}

/*
 * All of a recording is read: the function that is meant is known only now, and so are the files that servers may have and what is
 * asked about inlined functions. Are their answers worth a wait?
 */
static bool waits_for_rest(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	const struct health *health = &snapshot->health;

	b->is_settling = true;
	b->check_ns = time_ns + SETTLE_STEP_NS;
	if (waits_for_files(b, health, time_ns))
		return true;
	if (!b->is_code_late && health->inlines_pending == 0 &&
	    (!b->fetch_until_ns || health->names_pending == 0))
		return false;
	if (!b->code_until_ns)
		b->code_until_ns = time_ns + CODE_MAX_NS;
	return time_ns < b->code_until_ns;
}

/* For a bundle, beside what the snapshot is for. */
static void add_samples(struct batch *b, const struct snapshot *snapshot, uint64_t time_ns)
{
	const struct snap_samples *samples = snapshot->samples;
	bool is_more = samples && samples->nr_samples > 0;

	if (samples)
		b->error = bundle_add_samples(b->config->bundle, samples);
	/* A recording waits until its samples are taken. */
	if (!b->closing_ns)
		b->check_ns = time_ns +
			      (is_more && snapshot->recording.is_recording ? 0 : BUNDLE_STEP_NS);
}

/* What other programs read has stacks as they are. */
static bool folds_recursion(const struct batch_config *config)
{
	const struct options *o = config->options;

	return o->folds_recursion && !config->bundle &&
	       (o->format == OPTIONS_TEXT || o->format == OPTIONS_JSON);
}

/* SNAPSHOT was the last block's, which the next one's rows may be compared with. */
static void leave_snapshot(struct batch *b, struct snapshot *snapshot)
{
	if (!(b->config->options->columns >> COLUMN_TREND & 1)) {
		snapshot_free(snapshot);
		return;
	}
	baseline_free(b->before_rows);
	snapshot_free(b->before);
	b->before = snapshot;
	b->before_rows = baseline_new(snapshot); /* without memory: no trend in the next block */
}

static void take_snapshot(struct batch *b, uint64_t time_ns)
{
	struct snapshot *snapshot = channel_take(b->channel);
	struct narrow narrow = {0};
	uint64_t delay_ns = b->config->options->delay_ns, nr_blocks = b->nr_blocks;

	if (!snapshot)
		return;
	b->is_asked = false;
	show_progress(b, snapshot, time_ns);
	if (b->config->watch)
		watch_take(b->config->watch, snapshot);
	choose_function(b, snapshot, time_ns);
	narrow.folds_recursion = folds_recursion(b->config);
	narrow.merges_names = b->config->options->names == VIEW_NAMES_MERGED &&
			      b->config->options->format == OPTIONS_TEXT && !b->config->bundle;
	if (narrow_snapshot(snapshot, &narrow) < 0)
		b->is_short = true;
	b->lost = snapshot->health.lost + snapshot->health.lost_samples;
	b->dropped = snapshot->health.dropped;
	b->has_stacks |= is_worthless(snapshot);
	snprintf(b->not_shown, sizeof(b->not_shown), "%s",
		 snapshot_text(snapshot, snapshot->recording.not_shown));
	if (b->config->bundle)
		add_samples(b, snapshot, time_ns);
	if (b->error < 0) {
		b->is_done = true;
	} else if (options_has_samples(b->config->options)) {
		take_samples(b, snapshot, time_ns);
	} else if (b->closing_ns) {
		take_last(b, snapshot, time_ns);
	} else if (is_over(snapshot) && snapshot->recording.is_recording) {
		/* All of it: nothing can come any more, but what is asked of the loader and of servers. */
		if (waits_for_rest(b, snapshot, time_ns)) {
			snapshot_free(snapshot);
			return;
		}
		if (!is_worthless(snapshot))
			put_block(b, snapshot);
		b->is_done = true;
	} else if (is_over(snapshot)) {
		start_closing(b);
	} else if (time_ns >= b->block_ns && is_too_early(b, snapshot, time_ns)) {
		b->is_settling = true;
		b->check_ns = time_ns + (b->fetched_ns == time_ns ? FETCH_STEP_NS : SETTLE_STEP_NS);
	} else if (time_ns >= b->block_ns && !asks_for_rest(b, time_ns)) {
		put_block(b, snapshot);
		b->block_ns += delay_ns;
		if (b->block_ns <= time_ns) /* late by more than a block: leave those out */
			b->block_ns = time_ns + delay_ns;
	}
	if (b->nr_blocks > nr_blocks)
		leave_snapshot(b, snapshot);
	else
		snapshot_free(snapshot);
}

static void take_messages(struct batch *b)
{
	char text[ERR_TEXT_MAX];
	bool is_error;

	if (channel_take_failure(b->channel))
		b->is_short = b->is_done = true;
	if (channel_take_message(b->channel, text, sizeof(text), &is_error))
		b->config->say(text);
}

/* --- events --- */

static void reap_command(struct batch *b)
{
	struct err err = {0};
	int status;

	if (b->config->launch && launch_reap(b->config->launch, false, &status, &err))
		start_closing(b);
}

/*
 * A signal that only we got is passed on to the command; what the terminal sends, it
 * has got itself. The second one ends us without waiting for anything.
 */
static void take_signal(struct batch *b, const struct signalfd_siginfo *info)
{
	struct launch *launch = b->config->launch;
	struct err err = {0};
	int status;

	if (info->ssi_signo == SIGCHLD) {
		reap_command(b);
		return;
	}
	if (b->signal)
		b->is_done = true;
	b->signal = (int)info->ssi_signo;
	b->takes_unnamed = options_has_samples(b->config->options) && !b->config->options->input;
	b->is_last_asked = false;
	if (launch && info->ssi_code == SI_USER && !launch_reap(launch, false, &status, &err))
		launch_signal(launch, b->signal);
	start_closing(b);
}

static void take_signals(struct batch *b)
{
	struct signalfd_siginfo info;

	while (read(b->signal_fd, &info, sizeof(info)) == sizeof(info))
		take_signal(b, &info);
}

/* When a snapshot is to be asked for next. */
static uint64_t ask_ns(const struct batch *b)
{
	return b->closing_ns || b->is_settling ? b->check_ns : MIN(b->block_ns, b->check_ns);
}

static int wait_ms(const struct batch *b, uint64_t time_ns)
{
	uint64_t until_ns = b->is_asked ? UINT64_MAX : ask_ns(b);

	if (b->closing_ns)
		until_ns = MIN(until_ns, closing_until_ns(b));
	if (b->config->watch && b->config->watch->is_writing)
		until_ns = MIN(until_ns, time_ns + WATCH_NS);
	if (until_ns == UINT64_MAX)
		return -1;
	return until_ns <= time_ns ? 0
				   : (int)((until_ns - time_ns + NS_PER_MSEC - 1) / NS_PER_MSEC);
}

static void step(struct batch *b)
{
	struct pollfd fds[] = {
		{.fd = channel_main_fd(b->channel), .events = POLLIN},
		{.fd = b->signal_fd, .events = POLLIN},
		{.fd = fileno(b->config->output->stream)}, /* its reader is gone */
	};
	uint64_t time_ns = now_ns();

	if (poll(fds, ARRAY_SIZE(fds), wait_ms(b, time_ns)) < 0 && errno != EINTR) {
		b->error = -errno;
		b->is_done = true;
		return;
	}
	if (b->config->watch)
		watch_poll(b->config->watch);
	if (fds[1].revents)
		take_signals(b);
	if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) {
		b->error = -EPIPE;
		b->is_done = true;
		return;
	}
	time_ns = now_ns();
	if (fds[0].revents) {
		take_messages(b);
		take_snapshot(b, time_ns);
	}
	if (b->closing_ns && time_ns >= closing_until_ns(b))
		b->is_done = true;
	if (b->is_done || b->is_asked || time_ns < ask_ns(b))
		return;
	if (time_ns >= b->check_ns)
		b->check_ns = b->looks_often ? time_ns + CHECK_NS : UINT64_MAX;
	ask(b);
}

/* --- the way out --- */

/* Sampling is over; the command may go on for as long as it likes. */
static int wait_for_command(struct batch *b, struct err *err)
{
	struct launch *launch = b->config->launch;
	int status, forwarded = b->signal ? 1 : 0;

	while (!launch_reap(launch, false, &status, err)) {
		struct pollfd fd = {.fd = b->signal_fd, .events = POLLIN};
		struct signalfd_siginfo info;

		poll(&fd, 1, -1);
		while (read(b->signal_fd, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGCHLD)
				continue;
			if (forwarded++ > 0)
				return 128 + (int)info.ssi_signo;
			if (info.ssi_code == SI_USER)
				launch_signal(launch, (int)info.ssi_signo);
		}
	}
	return status;
}

/* What formats for programs have no place for. */
static void say_what_is_missing(const struct batch *b)
{
	enum options_format format = b->config->options->format;
	char text[ERR_TEXT_MAX];

	if (format == OPTIONS_TEXT || format == OPTIONS_JSON)
		return;
	if (b->not_shown[0])
		b->config->say(b->not_shown);
	else if (!b->has_stacks)
		b->config->say(b->config->options->input
				       ? "the output is empty: no samples in the recording"
				       : "the output is empty: nothing was sampled");
	if (!b->lost && !b->dropped)
		return;
	snprintf(text, sizeof(text), "not all is in the output: lost %" PRIu64 ", dropped %" PRIu64,
		 b->lost, b->dropped);
	b->config->say(text);
}

static int finish(struct batch *b, struct err *err)
{
	const struct options *o = b->config->options;

	end_progress(b);
	send_command(b, COMMAND_QUIT, 0);
	if (b->config->watch)
		watch_end(b->config->watch);
	take_messages(b);
	if (b->error == 0)
		say_what_is_missing(b);
	if (b->error < 0 && b->error != -EPIPE && b->signal != SIGHUP) {
		err_set(err, b->error, "cannot write %s: %s%s",
			o->output   ? "the file given by -o"
			: o->bundle ? "the bundle"
				    : "the output",
			strerror(-b->error),
			o->bundle			? "; nothing written"
			: !b->config->output->is_ours	? ""
			: b->config->output->whole == 0 ? "; nothing written"
							: "; it ends with the last whole block");
		return 1;
	}
	if (b->is_short)
		err_set(err, -ENOMEM, "out of memory: the output ends here");
	if (b->function_err.code < 0 && !b->has_block) {
		*err = b->function_err;
		return b->config->launch ? MAX(wait_for_command(b, err), 1) : 1;
	}
	if (b->config->launch)
		return wait_for_command(b, err);
	if (b->is_short)
		return 1;
	return b->signal ? 128 + b->signal : 0;
}

int batch_run(const struct batch_config *config, struct channel *channel, struct err *err)
{
	uint64_t time_ns = now_ns();
	/* Which function is meant is looked for early as well. */
	bool looks_often = config->options->nr_pids || config->options->nr_tids ||
			   config->options->user || config->options->annotate ||
			   config->options->butterfly || config->watch || config->show;
	struct batch batch = {
		.config = config,
		.channel = channel,
		.began_ns = time_ns,
		.block_ns = time_ns + config->options->delay_ns,
		.check_ns = looks_often ? time_ns + CHECK_NS : UINT64_MAX,
		.looks_often = looks_often,
	};
	sigset_t signals;
	int status;

	/* The engine posts a snapshot by itself when it has read a recording. */
	if (config->options->input && !config->options->delay_given)
		batch.block_ns = UINT64_MAX;
	setvbuf(config->output->stream, NULL, _IOFBF, BUFFER_BYTES);
	batch_signals(&signals);
	batch.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (batch.signal_fd < 0) {
		err_set(err, -errno, "signalfd: %s", strerror(errno));
		send_command(&batch, COMMAND_QUIT, 0);
		return 1;
	}
	if (config->options->is_inlined)
		send_command(&batch, COMMAND_INLINES, 1);
	if (takes_samples(&batch))
		send_command(&batch, COMMAND_SAMPLES, COMMAND_SAMPLES_NAMED);
	if (options_has_samples(config->options))
		batch.block_ns = time_ns;
	if (config->bundle)
		batch.check_ns = time_ns + BUNDLE_STEP_NS;
	if (config->watch)
		watch_begin(config->watch);
	reap_command(&batch);
	while (!batch.is_done)
		step(&batch);
	status = finish(&batch, err);
	view_done(&batch.view);
	baseline_free(batch.before_rows);
	snapshot_free(batch.before);
	close(batch.signal_fd);
	return status;
}
