/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live source on this machine: samples come, in time order, at about the
 * rate asked for; what is lost is counted twice and alike; tasks are seen from
 * fork to exit; modes are swapped. Skipped where perf events are refused.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/perf/live.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HZ 1000

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static pid_t start_spinner(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile unsigned long i = 0;; i++)
			;
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct live_config config_of(enum stack_mode mode)
{
	struct live_config config = {
		.opener = perf_opener_direct,
		.freq_hz = HZ,
		.mode = mode,
		.stack_bytes = LIVE_STACK_BYTES_DEFAULT,
		.stall_ns = 250 * NS_PER_MSEC,
		.rings_max_bytes = 64u << 20,
	};

	event_default(&config.event);
	return config;
}

static struct live *open_or_skip(const struct live_config *config)
{
	struct live *live = NULL;
	struct err err = {0};
	int r = live_open(config, &live, &err);

	if (r == -EACCES || r == -EPERM || r == -ENOSYS) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	if (r < 0)
		fail_msg("live_open: %s (%s)", err.text, err.hint);
	return live;
}

/* What a run of rounds saw. */
struct seen {
	uint64_t records, samples, samples_of, by_mode[STACK_MODE_COUNT];
	uint64_t with_stack, with_regs, with_chain, out_of_order;
	uint64_t newest_ns;
	pid_t of;
};

static void consume(struct live *live, struct seen *seen)
{
	struct record record;

	while (source_next(live_source(live), &record)) {
		seen->records++;
		seen->out_of_order += record.time_ns < seen->newest_ns;
		seen->newest_ns = MAX(seen->newest_ns, record.time_ns);
		if (record.kind != RECORD_SAMPLE)
			continue;
		seen->samples++;
		seen->by_mode[record.sample.mode]++;
		if ((pid_t)record.pid != seen->of)
			continue;
		seen->samples_of++;
		seen->with_stack += record.sample.stack_bytes > 0;
		seen->with_regs += record.sample.abi == RECORD_ABI_64;
		seen->with_chain += record.sample.nr_callchain > 0;
	}
}

static void run_rounds(struct live *live, unsigned int rounds, struct seen *seen)
{
	for (unsigned int i = 0; i < rounds; i++) {
		sleep_ms(20);
		assert_true(source_drain(live_source(live), now_ns()) >= 0);
		consume(live, seen);
	}
}

static void finish(struct live *live, struct seen *seen)
{
	assert_true(source_drain(live_source(live), UINT64_MAX) >= 0);
	consume(live, seen);
}

/* A spinner runs some share of 0.5 s on a loaded machine: wide bounds, and never above the rate. */
static void check_spinner(enum stack_mode mode)
{
	struct live_config config = config_of(mode);
	struct live *live = open_or_skip(&config);
	struct seen seen = {.of = start_spinner()};
	struct source_stats stats;

	run_rounds(live, 25, &seen);
	finish(live, &seen);
	stop(seen.of);
	source_stats(live_source(live), &stats);
	print_message("mode %s event %s: %lu samples, %lu of the spinner, notice '%s'\n",
		      stack_mode_name(mode), live_granted(live)->event.name, seen.samples,
		      seen.samples_of, live_granted(live)->notice);
	assert_in_range(seen.samples_of, 50, 3000);
	assert_int_equal(seen.out_of_order, stats.late_records);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.bad_records, 0);
	assert_int_equal(stats.dropped, 0);
	assert_int_equal(seen.by_mode[mode], seen.samples);
	assert_int_equal(live_granted(live)->cpus_sampled, live_granted(live)->cpus_online);
	if (mode == STACK_MODE_DWARF) {
		assert_true(seen.with_stack > seen.samples_of * 9 / 10);
		assert_true(seen.with_regs > seen.samples_of * 9 / 10);
	} else {
		assert_int_equal(seen.with_chain, seen.samples_of);
	}
	live_close(live);
}

static void samples_arrive_with_frame_pointers(void **state)
{
	(void)state;
	check_spinner(STACK_MODE_FP);
}

static void samples_arrive_with_stacks(void **state)
{
	(void)state;
	check_spinner(STACK_MODE_DWARF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_arrive_with_frame_pointers),
		cmocka_unit_test(samples_arrive_with_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
