/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one place where the engine's thread waits: one poll with an end. And how it lets others run. */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <poll.h>
#include <time.h>

/*
 * What the sideband says is looked at before a round is due, 10 ms after the last look or round, for where one record is
 * there are more: a file that is new must be opened before its process ends, and makes an early round. A
 * compiler starts ever new processes of files that are known: these make none, and wake nobody in between.
 */
#define LOOK_NS	      (10 * NS_PER_MSEC)
#define WORK_NS	      (200 * NS_PER_MSEC) /* without a pause; then one of */
#define PAUSE_NS      (20 * NS_PER_MSEC)
#define WAIT_LEAST_NS (NS_PER_MSEC / 10) /* a call that returns at once takes less */
#define OWN_FDS	      4			 /* of other threads and processes */
#define POLL_FDS_MAX  1024

/*
 * Records may come faster than they are worked on, and then no round waits; and one batch of
 * them may be long. The other processes and threads need the CPU too, and the kernel takes
 * its priority from a real-time thread that never pauses (src/process.c). What is lost is counted.
 */
uint64_t engine_yield(struct engine *engine)
{
	uint64_t time_ns = now_ns();

	if (time_ns < engine->yielded_ns + WORK_NS)
		return 0;
	nanosleep(&(struct timespec){.tv_nsec = (long)PAUSE_NS}, NULL);
	engine->yielded_ns = now_ns();
	return engine->yielded_ns - time_ns;
}

/* A wait that began at SINCE_NS is over. Others could run if it was one. */
static void note_wait(struct engine *engine, uint64_t since_ns)
{
	uint64_t time_ns = now_ns();

	if (time_ns > since_ns + WAIT_LEAST_NS)
		engine->yielded_ns = time_ns;
}

static bool any_ready(const struct pollfd *fds, uint32_t nr)
{
	bool ready = false;

	for (uint32_t i = 0; i < nr; i++)
		ready |= fds[i].revents != 0;
	return ready;
}

static bool would_want(void *procs, const struct record *record)
{
	return procs_would_request(procs, record);
}

/* Something has come in the sideband. */
static bool is_urgent(struct engine *engine)
{
	engine->looked_ns = now_ns();
	return source_peek(engine->source, would_want, engine->procs);
}

/* Wait for one of the NR descriptors until UNTIL_NS. How many are ready. */
static int wait_for(struct engine *engine, struct pollfd *fds, uint32_t nr, uint64_t until_ns)
{
	uint64_t time_ns = now_ns();
	uint64_t left_ns = time_ns < until_ns ? until_ns - time_ns : 0;
	struct timespec timeout = {.tv_sec = (time_t)(left_ns / NS_PER_SEC),
				   .tv_nsec = (long)(left_ns % NS_PER_SEC)};
	int nr_ready = ppoll(fds, nr, &timeout, NULL);

	note_wait(engine, time_ns);
	return nr_ready;
}

struct woken engine_wait(struct engine *engine, struct channel *channel, uint64_t until_ns,
			 bool for_records)
{
	struct pollfd fds[POLL_FDS_MAX], *sideband = fds;
	uint32_t nr_sideband = 0, nr_samples = 0;
	uint64_t time_ns = now_ns();
	struct woken woken = {0};

	fds[0] = (struct pollfd){.fd = channel_engine_fd(channel), .events = POLLIN};
	fds[1] = (struct pollfd){.fd = broker_files_fd(engine->broker), .events = POLLIN};
	fds[2] = (struct pollfd){.fd = loader_client_fd(engine->loader), .events = POLLIN};
	fds[3] = (struct pollfd){.fd = broker_stacks_fd(engine->broker), .events = POLLIN};
	if (for_records) {
		nr_samples = source_pollfds(engine->source, false, fds + OWN_FDS,
					    POLL_FDS_MAX - OWN_FDS);
		sideband = fds + OWN_FDS + nr_samples;
		nr_sideband = source_pollfds(engine->source, true, sideband,
					     POLL_FDS_MAX - OWN_FDS - nr_samples);
	}
	do {
		uint64_t look_ns = MAX(engine->looked_ns, engine->drained_ns) + LOOK_NS;
		bool looks = nr_sideband == 0 || time_ns >= look_ns;
		int nr_ready =
			wait_for(engine, fds, OWN_FDS + nr_samples + (looks ? nr_sideband : 0),
				 looks ? until_ns : MIN(until_ns, look_ns));

		time_ns = now_ns();
		if (nr_ready < 0)
			break;
		if (nr_ready == 0)
			continue;
		woken.by_command = any_ready(fds, 1);
		woken.by_broker = any_ready(fds + 1, 1);
		woken.by_loader = any_ready(fds + 2, 1);
		woken.by_stacks = any_ready(fds + 3, 1);
		woken.by_records = any_ready(fds + OWN_FDS, nr_samples) ||
				   (looks && any_ready(sideband, nr_sideband) && is_urgent(engine));
		if (woken.by_command || woken.by_broker || woken.by_loader || woken.by_stacks ||
		    woken.by_records)
			break;
	} while (time_ns < until_ns);
	return woken;
}
