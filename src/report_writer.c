/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing reports: see report_writer.h. A disk may take seconds for an fsync and a
 * network for ever, so each report gets a thread that touches nothing but its job.
 */
#include "config.h"

#include "src/report_writer.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/broker/writer.h"
#include "src/out/out.h"
#include "src/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define END_MAX_S 1 /* how long leaving waits for a report */

struct report_writer {
	int process;	      /* its socket; -1: we write ourselves */
	const char *settings; /* the file of them, or NULL */
	bool is_busy;
	bool has_thread;  /* of its own, while busy */
	pthread_t thread; /* which writes */
	char *name;	  /* NULL: the settings */
	void *data;
	size_t len;
	struct err err; /* the thread's answer */
};

struct report_writer *report_writer_new(int process, const char *settings)
{
	struct report_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->process = process;
	writer->settings = settings;
	return writer;
}

static void forget_job(struct report_writer *writer)
{
	free(writer->name);
	free(writer->data);
	writer->name = NULL;
	writer->data = NULL;
	writer->is_busy = writer->has_thread = false;
}

static void *write_report(void *context)
{
	struct report_writer *writer = context;

	writer->err = (struct err){0};
	if (writer->name)
		out_save(AT_FDCWD, writer->name, writer->data, writer->len, &writer->err);
	else
		settings_write(writer->settings, writer->data, &writer->err);
	return NULL;
}

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

/* R is the process's answer, or that there is none. */
static int explain(int r, const char *name, struct err *err)
{
	if (r == -EPIPE)
		return err_set(err, r, "not written: the process that writes is gone");
	return out_save_error(r, name, err);
}

static int ask_process(struct report_writer *writer, struct err *err)
{
	AUTO_CLOSE int memfd = -1;
	int r;

	if (strchr(writer->name, '/')) {
		err_set(err, -EINVAL, "only into the directory where stacktop was started");
		err_hint(err, "give a name without a slash");
		return -EINVAL;
	}
	if (!writer_is_name(writer->name)) {
		err_set(err, -EINVAL,
			"root's reports are called stacktop-NAME.txt, .json, "
			".folded or .tar: nothing written");
		err_hint(err, "choose another name");
		return -EINVAL;
	}
	memfd = memfd_sealed("report", writer->data, writer->len);
	r = memfd < 0 ? memfd : writer_ask(writer->process, writer->name, memfd);
	return r < 0 ? explain(r, writer->name, err) : 0;
}

static int begun(struct report_writer *writer, int r)
{
	if (r < 0) {
		forget_job(writer);
		return r;
	}
	writer->is_busy = true;
	return -EINPROGRESS;
}

int report_writer_save(struct report_writer *writer, const char *name, const void *data, size_t len,
		       struct err *err)
{
	int r;

	if (writer->is_busy)
		return err_set(err, -EBUSY, "the last report is still being written");
	writer->name = strdup(name);
	writer->data = malloc(len ? len : 1);
	writer->len = len;
	if (!writer->name || !writer->data) {
		forget_job(writer);
		return err_set(err, -ENOMEM, "no memory for the report");
	}
	memcpy(writer->data, data, len);
	if (writer->process >= 0) {
		r = ask_process(writer, err);
	} else {
		r = start_thread(writer);
		if (r < 0)
			out_save_error(r, name, err);
	}
	return begun(writer, r);
}

int report_writer_save_settings(struct report_writer *writer, const char *lines, struct err *err)
{
	int r;

	if (writer->is_busy)
		return err_set(err, -EBUSY, "the last report is still being written");
	writer->data = strdup(lines);
	r = writer->data ? start_thread(writer) : -ENOMEM;
	if (r < 0)
		err_set(err, r, "cannot write the settings: %s", strerror(-r));
	return begun(writer, r);
}

int report_writer_poll(struct report_writer *writer, struct err *err)
{
	int r;

	if (!writer->is_busy)
		return 0;
	if (!writer->has_thread) {
		r = writer_answer(writer->process, 0);
		if (r == -EINPROGRESS)
			return r;
		if (r < 0)
			explain(r, writer->name, err);
	} else {
		if (pthread_tryjoin_np(writer->thread, NULL) != 0)
			return -EINPROGRESS;
		r = writer->err.code;
		if (r < 0)
			*err = writer->err;
	}
	forget_job(writer);
	return r;
}

struct report_writer *report_writer_free(struct report_writer *writer)
{
	struct timespec until;

	if (!writer)
		return NULL;
	if (writer->has_thread) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += END_MAX_S;
		if (pthread_timedjoin_np(writer->thread, NULL, &until) != 0)
			return NULL; /* it still uses all this */
	}
	forget_job(writer);
	free(writer);
	return NULL;
}
