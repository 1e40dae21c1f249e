/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing reports: see report_writer.h. A disk may take seconds for an fsync and a
 * network for ever, and one of a large tree takes a while to be made, so each report gets a thread that touches
 * nothing but its job.
 */
#include "config.h"

#include "src/report_writer.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/writer.h"
#include "src/out/out.h"
#include "src/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAKE_MAX_S  10 /* how long leaving waits until it is made; until it is written one more */
#define PIECE_BYTES (64u << 10) /* of one that is being made: then it may be stopped */

struct report_writer {
	int process;	      /* its socket; -1: we write ourselves */
	const char *settings; /* the file of them, or NULL */
	int settings_process; /* as of reports */
	bool is_busy;
	bool has_thread;	     /* of its own, while busy */
	pthread_t thread;	     /* which makes and writes */
	char *name;		     /* NULL: the settings */
	struct report_source source; /* without MAKE: DATA is there */
	void *data;
	size_t len, room;
	int memfd;		      /* what the process has been given, or -1 */
	_Atomic uint64_t made_bytes;  /* so far */
	_Atomic uint64_t total_bytes; /* of what is made */
	struct out_watch watch;
	struct err err; /* the thread's answer */
};

struct report_writer *report_writer_new(int process, const char *settings, int settings_process)
{
	struct report_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->process = process;
	writer->settings = settings;
	writer->settings_process = settings_process;
	writer->memfd = -1;
	return writer;
}

static void forget_job(struct report_writer *writer)
{
	free(writer->name);
	free(writer->data);
	writer->name = NULL;
	writer->data = NULL;
	writer->len = writer->room = 0;
	if (writer->memfd >= 0)
		close(writer->memfd);
	writer->memfd = -1;
	writer->source = (struct report_source){0};
	writer->is_busy = writer->has_thread = false;
}

/* --- in the thread --- */

/* Of the stream that a report is made in: it fails when we are to stop, and that ends the making. */
static ssize_t take_piece(void *context, const char *piece, size_t len)
{
	struct report_writer *writer = context;
	size_t room = MAX(writer->room, (size_t)PIECE_BYTES);
	char *data = writer->data;

	errno = ECANCELED;
	if (writer->watch.stops)
		return 0;
	while (room - writer->len < len)
		room *= 2;
	errno = ENOMEM;
	if (room > writer->room)
		data = realloc(data, room);
	if (!data)
		return 0;
	writer->data = data;
	writer->room = room;
	memcpy(data + writer->len, piece, len);
	writer->len += len;
	writer->made_bytes = writer->len;
	return (ssize_t)len;
}

static int make(struct report_writer *writer)
{
	const struct report_source *source = &writer->source;
	FILE *stream = fopencookie(writer, "w", (cookie_io_functions_t){.write = take_piece});
	int r = stream ? 0 : -ENOMEM;

	if (stream) {
		setvbuf(stream, NULL, _IOFBF, PIECE_BYTES);
		r = source->make(stream, source->context);
		if (fclose(stream) != 0 && r == 0)
			r = -ENOMEM;
	}
	source->done(source->context);
	return writer->watch.stops ? -ECANCELED : r;
}

/* The process that writes what is to be written; -1: there is none. */
static int process_of(const struct report_writer *writer)
{
	return writer->name ? writer->process : writer->settings_process;
}

static const char *shown_name(const struct report_writer *writer)
{
	return writer->name ? writer->name : writer->settings;
}

static void hand_over(struct report_writer *writer)
{
	const char *name = writer->name ? writer->name : "";
	int r;

	writer->memfd = memfd_sealed("report", writer->data, writer->len);
	r = writer->memfd < 0 ? writer->memfd : writer_ask(process_of(writer), name, writer->memfd);
	if (r < 0)
		out_save_error(r, shown_name(writer), &writer->err);
}

static void *write_report(void *context)
{
	struct report_writer *writer = context;
	int r = writer->source.make ? make(writer) : 0;

	writer->total_bytes = writer->len;
	if (r < 0)
		out_save_error(r, writer->name, &writer->err);
	else if (process_of(writer) >= 0)
		hand_over(writer);
	else if (!writer->name)
		settings_write(writer->settings, writer->data, &writer->err);
	else
		out_save(AT_FDCWD, writer->name, writer->data, writer->len, &writer->watch,
			 &writer->err);
	return NULL;
}

/* --- */

static int start_thread(struct report_writer *writer)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&writer->thread, NULL, write_report, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer->has_thread = r == 0;
	return -r;
}

/* Whether root's process would make a file of that name. */
static int check_name(const struct report_writer *writer, const char *name, struct err *err)
{
	if (writer->process < 0)
		return 0;
	if (strchr(name, '/')) {
		err_set(err, -EINVAL, "only into the directory where stacktop was started");
		err_hint(err, "give a name without a slash");
		return -EINVAL;
	}
	if (!writer_is_name(name)) {
		err_set(err, -EINVAL,
			"root's reports are called stacktop-NAME.txt, .json, "
			".folded or .tar: nothing written");
		err_hint(err, "choose another name");
		return -EINVAL;
	}
	return 0;
}

/* With NAME, SOURCE or DATA, which are freed if it cannot begin. */
static int begin(struct report_writer *writer, struct err *err)
{
	int r;

	writer->err = (struct err){0};
	writer->made_bytes = writer->total_bytes = writer->watch.done_bytes = 0;
	writer->watch.stops = false;
	r = start_thread(writer);
	if (r < 0) {
		err_set(err, r, "cannot start a thread to write: %s", strerror(-r));
		forget_job(writer);
		return r;
	}
	writer->is_busy = true;
	return -EINPROGRESS;
}

static int check_free(const struct report_writer *writer, struct err *err)
{
	return writer->is_busy ? err_set(err, -EBUSY, "the last report is still being written") : 0;
}

int report_writer_save(struct report_writer *writer, const char *name, const void *data, size_t len,
		       struct err *err)
{
	int r = check_free(writer, err);

	if (r == 0)
		r = check_name(writer, name, err);
	if (r < 0)
		return r;
	writer->name = strdup(name);
	writer->data = malloc(len ? len : 1);
	writer->len = len;
	if (!writer->name || !writer->data) {
		forget_job(writer);
		return err_set(err, -ENOMEM, "no memory for the report");
	}
	memcpy(writer->data, data, len);
	return begin(writer, err);
}

int report_writer_save_settings(struct report_writer *writer, const char *lines, struct err *err)
{
	int r = check_free(writer, err);

	if (r < 0)
		return r;
	writer->data = strdup(lines);
	if (!writer->data)
		return err_set(err, -ENOMEM, "no memory for the settings");
	writer->len = strlen(lines);
	return begin(writer, err);
}

int report_writer_make(struct report_writer *writer, const char *name,
		       const struct report_source *source, struct err *err)
{
	int r = check_free(writer, err);

	if (r == 0)
		r = check_name(writer, name, err);
	if (r == 0) {
		writer->name = strdup(name);
		writer->source = *source;
		r = writer->name ? begin(writer, err)
				 : err_set(err, -ENOMEM, "no memory for the report");
	}
	if (r != -EINPROGRESS)
		source->done(source->context);
	return r;
}

/* What the thread has left. -EINPROGRESS: the process has been asked. */
static int poll_thread(struct report_writer *writer, struct err *err)
{
	if (pthread_tryjoin_np(writer->thread, NULL) != 0)
		return -EINPROGRESS;
	writer->has_thread = false;
	if (writer->err.code < 0)
		*err = writer->err;
	if (writer->err.code < 0 || writer->memfd < 0)
		return writer->err.code;
	if (writer->watch.stops) /* it was asked meanwhile */
		writer_stop(process_of(writer));
	return -EINPROGRESS;
}

static int poll_process(struct report_writer *writer, struct err *err)
{
	int r = writer_answer(process_of(writer), 0);

	if (r == -EPIPE)
		err_set(err, r, "not written: the process that writes is gone");
	else if (r < 0 && r != -EINPROGRESS)
		out_save_error(r, shown_name(writer), err);
	return r;
}

int report_writer_poll(struct report_writer *writer, struct err *err)
{
	int r;

	if (!writer->is_busy)
		return 0;
	r = writer->has_thread ? poll_thread(writer, err) : poll_process(writer, err);
	if (r != -EINPROGRESS)
		forget_job(writer);
	return r;
}

void report_writer_stop(struct report_writer *writer)
{
	writer->watch.stops = true;
	if (writer->is_busy && !writer->has_thread)
		writer_stop(process_of(writer));
}

uint64_t report_writer_done_bytes(const struct report_writer *writer, uint64_t *ret_total_bytes)
{
	off_t written;

	*ret_total_bytes = writer->total_bytes;
	if (!writer->total_bytes)
		return writer->made_bytes;
	if (writer->has_thread)
		return writer->watch.done_bytes;
	written = lseek(writer->memfd, 0, SEEK_CUR);
	return written > 0 ? (uint64_t)written : 0;
}

struct report_writer *report_writer_free(struct report_writer *writer)
{
	if (!writer)
		return NULL;
	for (int waited_s = 0; writer->has_thread; waited_s++) {
		bool is_made = writer->total_bytes > 0;
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		writer->has_thread = pthread_timedjoin_np(writer->thread, NULL, &until) != 0;
		if (writer->has_thread && (is_made || waited_s >= MAKE_MAX_S)) {
			writer->watch.stops = true;
			return NULL; /* it still uses all this */
		}
	}
	forget_job(writer);
	free(writer);
	return NULL;
}
