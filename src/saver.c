/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing reports: see saver.h. A disk may take seconds for an fsync and a
 * network for ever, so each report gets a thread that touches nothing but its job.
 */
#include "config.h"

#include "src/saver.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/out/out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define END_MAX_S 1 /* how long leaving waits for a report */

struct saver {
	struct broker *broker;
	bool is_busy;
	pthread_t thread; /* while busy and without a broker */
	char *name;
	void *data;
	size_t len;
	struct err err; /* the thread's answer */
};

struct saver *saver_new(struct broker *broker)
{
	struct saver *saver = calloc(1, sizeof(*saver));

	if (saver)
		saver->broker = broker;
	return saver;
}

static void forget_job(struct saver *saver)
{
	free(saver->name);
	free(saver->data);
	saver->name = NULL;
	saver->data = NULL;
	saver->is_busy = false;
}

static void *write_report(void *context)
{
	struct saver *saver = context;

	saver->err = (struct err){0};
	out_save(AT_FDCWD, saver->name, saver->data, saver->len, &saver->err);
	return NULL;
}

static int start_thread(struct saver *saver)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&saver->thread, NULL, write_report, saver);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

/* R is the broker's answer, or that there is none. */
static int explain(int r, const char *name, struct err *err)
{
	if (r == -EPIPE)
		return err_set(err, r, "not written: the process that writes is gone");
	return out_save_error(r, name, err);
}

static int ask_broker(struct saver *saver, struct err *err)
{
	AUTO_CLOSE int memfd = -1;
	int r;

	if (strchr(saver->name, '/')) {
		err_set(err, -EINVAL, "only into the directory where stacktop was started");
		err_hint(err, "give a name without a slash");
		return -EINVAL;
	}
	if (!broker_save_is_name(saver->name)) {
		err_set(err, -EINVAL,
			"root's reports are called stacktop-NAME.txt, .json or "
			".folded: nothing written");
		err_hint(err, "choose another name");
		return -EINVAL;
	}
	memfd = memfd_sealed("report", saver->data, saver->len);
	r = memfd < 0 ? memfd : broker_save_ask(saver->broker, saver->name, memfd);
	return r < 0 ? explain(r, saver->name, err) : 0;
}

int saver_save(struct saver *saver, const char *name, const void *data, size_t len, struct err *err)
{
	int r;

	if (saver->is_busy)
		return err_set(err, -EBUSY, "the last report is still being written");
	saver->name = strdup(name);
	saver->data = malloc(len ? len : 1);
	saver->len = len;
	if (!saver->name || !saver->data) {
		forget_job(saver);
		return err_set(err, -ENOMEM, "no memory for the report");
	}
	memcpy(saver->data, data, len);
	if (saver->broker) {
		r = ask_broker(saver, err);
	} else {
		r = start_thread(saver);
		if (r < 0)
			out_save_error(r, name, err);
	}
	if (r < 0) {
		forget_job(saver);
		return r;
	}
	saver->is_busy = true;
	return -EINPROGRESS;
}

int saver_poll(struct saver *saver, struct err *err)
{
	int r;

	if (!saver->is_busy)
		return 0;
	if (saver->broker) {
		if (!broker_save_next(saver->broker, &r))
			return -EINPROGRESS;
		if (r < 0)
			explain(r, saver->name, err);
	} else {
		if (pthread_tryjoin_np(saver->thread, NULL) != 0)
			return -EINPROGRESS;
		r = saver->err.code;
		if (r < 0)
			*err = saver->err;
	}
	forget_job(saver);
	return r;
}

struct saver *saver_free(struct saver *saver)
{
	struct timespec until;

	if (!saver)
		return NULL;
	if (saver->is_busy && !saver->broker) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += END_MAX_S;
		if (pthread_timedjoin_np(saver->thread, NULL, &until) != 0)
			return NULL; /* it still uses all this */
	}
	forget_job(saver);
	free(saver);
	return NULL;
}
