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
#include "tests/direct_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
		/* A test may wait long for its turn on a loaded machine. */
		.stall_ns = NS_PER_SEC,
		.rings_max_bytes = 128u << 20,
	};

	event_default(&config.event);
	return config;
}

static int nr_opened; /* none at all: the whole program is skipped */

static struct source *open_or_skip(const struct live_config *config)
{
	struct source *live = NULL;
	struct err err = {0};
	int r = live_open(config, &live, &err);

	if (r == -EACCES || r == -EPERM || r == -ENOSYS) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	if (r < 0)
		fail_msg("live_open: %s (%s)", err.text, err.hint);
	nr_opened++;
	return live;
}

/* What a run of rounds saw. */
struct seen {
	uint64_t records, samples, samples_of, by_mode[STACK_MODE_COUNT];
	uint64_t with_stack, with_regs, with_chain, out_of_order;
	uint64_t newest_ns;
	uint64_t period;		 /* of the last sample */
	uint64_t drained_ns, longest_ns; /* the last time, and between two */
	pid_t of;
};

static void consume(struct source *live, struct seen *seen)
{
	struct record record;

	while (source_next(live, &record)) {
		seen->records++;
		seen->out_of_order += record.time_ns < seen->newest_ns;
		seen->newest_ns = MAX(seen->newest_ns, record.time_ns);
		if (record.kind != RECORD_SAMPLE)
			continue;
		seen->samples++;
		seen->by_mode[record.sample.mode]++;
		seen->period = record.sample.period;
		if ((pid_t)record.pid != seen->of)
			continue;
		seen->samples_of++;
		seen->with_stack += record.sample.stack_bytes > 0;
		seen->with_regs += record.sample.abi == RECORD_ABI_64;
		seen->with_chain += record.sample.nr_callchain > 0;
	}
}

static void run_rounds(struct source *live, unsigned int rounds, struct seen *seen)
{
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t time_ns;

		sleep_ms(20);
		time_ns = now_ns();
		if (seen->drained_ns)
			seen->longest_ns = MAX(seen->longest_ns, time_ns - seen->drained_ns);
		seen->drained_ns = time_ns;
		assert_true(source_drain(live, time_ns) >= 0);
		consume(live, seen);
	}
}

/* On a busy machine until *COUNT of SEEN is at least LEAST, but not for ever. */
static void run_until(struct source *live, const uint64_t *count, uint64_t least, struct seen *seen)
{
	for (uint64_t end_ns = now_ns() + 20 * NS_PER_SEC; *count < least && now_ns() < end_ns;)
		run_rounds(live, 1, seen);
}

/* Nothing is lost, unless this test had to wait for its turn longer than rings can hold. */
static void assert_none_lost(const struct source_stats *stats, const struct seen *seen)
{
	if (seen->longest_ns < 250 * NS_PER_MSEC)
		assert_int_equal(stats->lost, 0);
}

static void finish(struct source *live, struct seen *seen)
{
	assert_true(source_drain(live, UINT64_MAX) >= 0);
	consume(live, seen);
}

/* A spinner runs some share of 0.5 s on a loaded machine: wide bounds, and never above the rate. */
static void check_spinner(enum stack_mode mode)
{
	struct live_config config = config_of(mode);
	struct source *live = open_or_skip(&config);
	struct seen seen = {.of = start_spinner()};
	uint64_t start_ns = now_ns();
	struct source_stats stats;

	run_rounds(live, 25, &seen);
	run_until(live, &seen.samples_of, 20, &seen);
	finish(live, &seen);
	stop(seen.of);
	source_read_lost(live);
	source_stats(live, &stats);
	print_message("mode %s event %s: %lu samples, %lu of the spinner, notice '%s'\n",
		      stack_mode_name(mode), source_effective(live)->event.name, seen.samples,
		      seen.samples_of, source_effective(live)->notice);
	assert_in_range(seen.samples_of, 20, (now_ns() - start_ns) / NS_PER_MSEC * 3 / 2);
	assert_int_equal(seen.out_of_order, stats.late_records);
	assert_none_lost(&stats, &seen);
	if (stats.lost == 0)
		assert_int_equal(stats.lost_read, 0);
	assert_int_equal(stats.bad_records, 0);
	assert_int_equal(stats.dropped, 0);
	assert_int_equal(seen.by_mode[mode], seen.samples);
	assert_int_equal(source_effective(live)->cpus_sampled, source_effective(live)->cpus_online);
	if (mode == STACK_MODE_DWARF) {
		assert_true(seen.with_stack > seen.samples_of * 9 / 10);
		assert_true(seen.with_regs > seen.samples_of * 9 / 10);
	} else {
		assert_int_equal(seen.with_chain, seen.samples_of);
	}
	source_close(live);
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

/* Nothing is lost unseen while modes change under a load; each sample keeps the mode it was taken in. */
static void modes_are_swapped(void **state)
{
	static const struct {
		enum stack_mode mode;
		uint32_t stack_bytes;
	} steps[] = {{STACK_MODE_FP, 0},
		     {STACK_MODE_DWARF, 65528},
		     {STACK_MODE_DWARF, 4096},
		     {STACK_MODE_FP, 0}};
	struct live_config config = config_of(STACK_MODE_DWARF);
	struct source *live = open_or_skip(&config);
	struct seen seen = {.of = start_spinner()};
	struct source_stats stats;
	struct err err = {0};

	(void)state;
	run_rounds(live, 5, &seen);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		uint64_t before = seen.by_mode[steps[i].mode];

		if (source_set_mode(live, steps[i].mode, steps[i].stack_bytes, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(source_effective(live)->mode, steps[i].mode);
		if (steps[i].stack_bytes)
			assert_int_equal(source_effective(live)->stack_bytes, steps[i].stack_bytes);
		run_rounds(live, 10, &seen);
		assert_true(seen.by_mode[steps[i].mode] > before);
	}
	if (source_set_mode(live, STACK_MODE_LBR, 0, &err) < 0) {
		assert_non_null(strstr(err.text, "lbr: "));
		assert_int_equal(source_effective(live)->mode, STACK_MODE_FP);
		run_rounds(live, 5, &seen);
	}
	run_until(live, &seen.samples_of, 100, &seen);
	finish(live, &seen);
	stop(seen.of);
	source_read_lost(live);
	source_stats(live, &stats);
	assert_none_lost(&stats, &seen);
	if (stats.lost == 0)
		assert_int_equal(stats.lost_read, 0);
	assert_int_equal(stats.bad_records, 0);
	assert_int_equal(stats.dropped, 0);
	assert_true(seen.samples_of >= 100);
	source_close(live);
}

/* Of software events too: the kernel hands over each one if samples are to tell their period. */
static void a_period_leaves_events_out(void **state)
{
	struct live_config config = config_of(STACK_MODE_DWARF);
	struct rusage usage = {0};
	struct seen seen = {0};
	struct err err = {0};
	struct source *live;

	(void)state;
	assert_int_equal(event_parse("context-switches", &config.event, &err), 0);
	config.freq_hz = 0;
	config.period = 100;
	live = open_or_skip(&config);
	seen.of = fork();
	if (seen.of == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			sleep_ms(0);
	}
	run_until(live, &seen.samples_of, 10, &seen);
	assert_int_equal(seen.period, 100);
	kill(seen.of, SIGKILL);
	assert_int_equal(wait4(seen.of, NULL, 0, &usage), seen.of);
	finish(live, &seen);
	assert_true(seen.samples_of >= 10);
	assert_true(seen.samples_of * 50 < (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
	assert_int_equal(source_set_rate(live, 4, &err), 0);
	assert_int_equal(source_effective(live)->period, 400);
	source_close(live);
}

/* The rate is lowered under a load: samples tell what they stand for, and none is lost. */
static void the_rate_is_swapped(void **state)
{
	static const uint32_t divisors[] = {4, 1};
	struct live_config config = config_of(STACK_MODE_FP);
	struct seen seen = {.of = start_spinner()};
	struct source_stats stats;
	struct err err = {0};
	struct source *live;

	(void)state;
	assert_int_equal(event_parse("cpu-clock", &config.event, &err), 0);
	live = open_or_skip(&config);
	run_until(live, &seen.samples_of, 50, &seen);
	for (size_t i = 0; i < ARRAY_SIZE(divisors); i++) {
		uint32_t divisor = divisors[i];
		uint64_t before;

		if (source_set_rate(live, divisor, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(source_effective(live)->freq_hz, HZ / divisor);
		assert_string_equal(source_effective(live)->notice, "");
		finish(live, &seen); /* what came before */
		before = seen.samples_of;
		run_until(live, &seen.samples_of, before + 20, &seen);
		assert_int_equal(seen.period, NS_PER_SEC / (HZ / divisor));
	}
	finish(live, &seen);
	stop(seen.of);
	source_read_lost(live);
	source_stats(live, &stats);
	assert_none_lost(&stats, &seen);
	source_close(live);
}

/*
 * Rings that hold a few samples, not drained: the kernel's two counts of what
 * was lost agree once a later record has carried the last of it out, also over
 * a swap.
 */
static void losses_are_counted_twice_and_alike(void **state)
{
	struct live_config config = config_of(STACK_MODE_DWARF);
	struct source_stats stats;
	struct seen seen = {.of = start_spinner()};
	struct source *live;
	struct err err;

	(void)state;
	config.rings_max_bytes = 64u << 10;
	live = open_or_skip(&config);
	for (int i = 0; i < 2; i++) {
		uint64_t before = seen.samples;

		sleep_ms(300);
		/* Two rounds: the first makes room, in the second LOST records arrive. */
		run_rounds(live, 2, &seen);
		assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 16384, &err), 0);
		finish(live, &seen);
		assert_true(seen.samples > before);
	}
	/* So often that nothing more is lost: then records come that tell of the last loss. */
	for (uint64_t end_ns = now_ns() + 30 * NS_PER_SEC; now_ns() < end_ns;) {
		sleep_ms(1);
		finish(live, &seen);
		source_read_lost(live);
		source_stats(live, &stats);
		if (stats.lost == stats.lost_read)
			break;
	}
	stop(seen.of);
	print_message("lost %lu, by read %lu, sideband %lu\n", stats.lost, stats.lost_read,
		      stats.lost_sideband);
	assert_true(stats.lost > 0);
	if (stats.lost_read_known)
		assert_int_equal(stats.lost, stats.lost_read);
	assert_int_equal(stats.lost_sideband, 0);
	source_close(live);
}

/* --- the sideband --- */

struct life {
	pid_t pid;
	bool forked, named, mapped, exited;
};

/* The steps of one process come in this order. */
static void follow_life(const struct record *record, struct life *life)
{
	if ((pid_t)record->pid != life->pid)
		return;
	switch (record->kind) {
	case RECORD_FORK:
		life->forked = true;
		break;
	case RECORD_COMM:
		if (record->comm.is_exec) {
			assert_true(life->forked);
			assert_string_equal(record->comm.comm, "true");
			life->named = true;
		}
		break;
	case RECORD_MMAP:
		if (record->mmap.is_exec && strstr(record->mmap.filename, "/true")) {
			assert_true(life->named);
			assert_true(record->mmap.ino != 0);
			life->mapped = true;
		}
		break;
	case RECORD_EXIT:
		assert_true(life->mapped);
		life->exited = true;
		break;
	default:
		break;
	}
}

static pid_t start_true(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("true", "true", (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void a_child_is_seen_from_fork_to_exit(void **state)
{
	struct live_config config = config_of(STACK_MODE_DWARF);
	struct source *live = open_or_skip(&config);
	struct record record;
	struct life life = {0};
	uint64_t newest_ns = 0, nr_late = 0;
	struct source_stats stats;
	int status;

	(void)state;
	life.pid = start_true();
	assert_int_equal(waitpid(life.pid, &status, 0), life.pid);
	for (int i = 0; i < 3; i++) {
		sleep_ms(20);
		source_drain(live, now_ns());
		while (source_next(live, &record)) {
			nr_late += record.time_ns < newest_ns;
			newest_ns = MAX(newest_ns, record.time_ns);
			follow_life(&record, &life);
		}
	}
	source_read_lost(live);
	source_stats(live, &stats);
	assert_int_equal(nr_late, stats.late_records);
	assert_true(life.exited);
	source_close(live);
}

/* --- tasks --- */

static bool is_spinning(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* A process that forks GRANDCHILDREN spinners below itself, and says when they run. */
static pid_t start_family(int nr_children)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < nr_children; i++)
			start_spinner();
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* A machine that stays as it is: nothing to follow, busy or idle. */
static void cpus_that_stay(void **state)
{
	struct live_config config = config_of(STACK_MODE_FP);
	struct source *live = open_or_skip(&config);

	(void)state;
	for (int i = 0; i < 10; i++) {
		sleep_ms(20);
		assert_false(source_follow(live));
	}
	source_close(live);
}

/* One task and what it forks, not the rest of the machine. */
static void only_the_tasks_asked_for(void **state)
{
	struct live_config config = config_of(STACK_MODE_DWARF);
	struct seen seen = {.of = start_spinner()};
	pid_t other = start_spinner();
	struct source *live;
	uint64_t start_ns;

	(void)state;
	config.tids = (const pid_t[]){seen.of, seen.of, seen.of}; /* said thrice, counted once */
	config.nr_tids = 3;
	start_ns = now_ns();
	live = open_or_skip(&config);
	run_rounds(live, 15, &seen);
	run_until(live, &seen.samples, 20, &seen);
	assert_true(is_spinning(seen.of));
	assert_false(source_is_over(live));
	assert_in_range(seen.samples, 20, (now_ns() - start_ns) / NS_PER_MSEC * 3 / 2);
	assert_int_equal(seen.samples_of, seen.samples);
	stop(other);
	stop(seen.of);
	assert_true(source_is_over(live));
	source_close(live);
}

/*
 * Children forked after the events were opened are sampled by inheritance, and
 * after a swap again: the new events have to be opened on each of them.
 */
static void descendants_are_sampled_across_swaps(void **state)
{
	struct live_config config = config_of(STACK_MODE_DWARF);
	struct seen before = {0}, after = {0};
	struct source_stats stats;
	int go[2];
	struct source *live;
	struct err err = {0};
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		start_family(2);
		for (;;)
			pause();
	}
	config.tids = &pid;
	config.nr_tids = 1;
	live = open_or_skip(&config);
	assert_int_equal(write(go[1], "x", 1), 1);
	run_rounds(live, 15, &before);
	run_until(live, &before.by_mode[STACK_MODE_DWARF], 21, &before);
	assert_true(before.by_mode[STACK_MODE_DWARF] > 20);
	if (source_set_mode(live, STACK_MODE_FP, 0, &err) < 0)
		fail_msg("%s", err.text);
	run_rounds(live, 15, &after);
	run_until(live, &after.by_mode[STACK_MODE_FP], 21, &after);
	assert_true(after.by_mode[STACK_MODE_FP] > 20);
	source_read_lost(live);
	source_stats(live, &stats);
	after.longest_ns = MAX(after.longest_ns, before.longest_ns);
	assert_none_lost(&stats, &after);
	kill(pid, SIGKILL); /* its descendants follow, by their parents' death */
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 1000 && !source_is_over(live); i++)
		run_rounds(live, 1, &after);
	assert_true(source_is_over(live));
	source_close(live);
	close(go[0]);
	close(go[1]);
}

/* A command counts from its exec on; its ring polls quiet after its end. */
static void a_command_counts_from_its_exec(void **state)
{
	struct live_config config = config_of(STACK_MODE_FP);
	struct record record;
	struct pollfd fds[256];
	struct source *live;
	bool exec_seen = false;
	uint32_t nr;
	int go[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		for (volatile long i = 0; i < 100000000; i++)
			;
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		execlp("sh", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done",
		       (char *)NULL);
		_exit(127);
	}
	config.tids = &pid;
	config.nr_tids = 1;
	config.start_on_exec = true;
	live = open_or_skip(&config);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(source_is_over(live));
	source_drain(live, UINT64_MAX);
	for (nr = 0; source_next(live, &record);) {
		if (record.kind == RECORD_COMM && record.comm.is_exec)
			exec_seen = true;
		if (record.kind != RECORD_SAMPLE)
			continue;
		assert_true(exec_seen);
		nr++;
	}
	assert_true(nr > 5);
	nr = source_pollfds(live, true, fds, ARRAY_SIZE(fds));
	nr += source_pollfds(live, false, fds + nr, ARRAY_SIZE(fds) - nr);
	assert_true(nr > 0);
	poll(fds, nr, 0); /* takes what was signalled before */
	assert_int_equal(poll(fds, nr, 0), 0);
	source_close(live);
	close(go[0]);
	close(go[1]);
}

static void a_task_that_does_not_exist(void **state)
{
	struct live_config config = config_of(STACK_MODE_FP);
	struct source *live = NULL;
	struct err err = {0};
	pid_t pid = start_true();

	(void)state;
	waitpid(pid, NULL, 0);
	config.tids = &pid;
	config.nr_tids = 1;
	assert_true(live_open(&config, &live, &err) < 0);
	assert_true(err.code == -ESRCH || err.code == -EACCES || err.code == -EPERM);
	if (err.code == -ESRCH)
		assert_non_null(strstr(err.text, "no such task"));
}

/* One record in the sideband is enough to wake who polls it. */
static void the_sideband_wakes_at_once(void **state)
{
	struct live_config config = config_of(STACK_MODE_FP);
	struct pollfd fds[256];
	struct seen seen = {0};
	struct source *live;
	uint32_t nr;
	int go[2];
	pid_t pid;

	(void)state;
	assert_int_equal(event_parse("page-faults", &config.event, NULL), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		prctl(PR_SET_NAME, "renamed");
		for (;;)
			pause();
	}
	config.tids = &pid;
	config.nr_tids = 1;
	live = open_or_skip(&config);
	run_rounds(live, 1, &seen);
	nr = source_pollfds(live, true, fds, ARRAY_SIZE(fds));
	poll(fds, nr, 0);
	assert_int_equal(poll(fds, nr, 0), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(poll(fds, nr, 5000), 1);
	stop(pid);
	source_close(live);
	close(go[0]);
	close(go[1]);
}

/* --- CPUs that come and go: changes the machine, so only when asked (tests/root_perf_hotplug.sh) --- */

static void set_online(int cpu, char value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, &value, 1) != 1)
		print_message("%s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static uint64_t samples_on(struct source *live, int cpu)
{
	struct record record;
	uint64_t nr = 0;

	for (int i = 0; i < 15; i++) {
		sleep_ms(20);
		source_drain(live, now_ns());
		while (source_next(live, &record))
			nr += record.kind == RECORD_SAMPLE && record.cpu == (uint32_t)cpu;
	}
	return nr;
}

static void cpus_are_followed(void **state)
{
	struct live_config config = config_of(STACK_MODE_DWARF);
	const char *cpu_text = getenv("STACKTOP_TEST_CPU");
	pid_t spinners[2];
	struct source *live;
	uint32_t nr_cpus;
	int cpu;

	(void)state;
	if (!cpu_text)
		skip();
	cpu = (int)strtol(cpu_text, NULL, 10);
	live = open_or_skip(&config);
	nr_cpus = source_effective(live)->cpus_sampled;
	spinners[0] = start_spinner();
	spinners[1] = start_spinner();
	assert_false(source_follow(live));
	assert_true(samples_on(live, cpu) > 0);
	set_online(cpu, '0');
	assert_true(source_follow(live));
	assert_int_equal(source_effective(live)->cpus_sampled, nr_cpus - 1);
	samples_on(live, cpu);
	assert_int_equal(samples_on(live, cpu), 0);
	assert_false(source_follow(live));
	set_online(cpu, '1');
	assert_true(source_follow(live));
	assert_int_equal(source_effective(live)->cpus_sampled, nr_cpus);
	assert_true(samples_on(live, cpu) > 0);
	/* Gone and back between two looks: the events are silent, as the next two looks tell. */
	assert_false(source_follow(live));
	set_online(cpu, '0');
	set_online(cpu, '1');
	sleep_ms(20);
	if (!source_follow(live)) {
		sleep_ms(20);
		assert_true(source_follow(live));
	}
	assert_int_equal(source_effective(live)->cpus_sampled, nr_cpus);
	assert_true(samples_on(live, cpu) > 0);
	assert_false(source_follow(live));
	stop(spinners[0]);
	stop(spinners[1]);
	source_close(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_arrive_with_frame_pointers),
		cmocka_unit_test(samples_arrive_with_stacks),
		cmocka_unit_test(modes_are_swapped),
		cmocka_unit_test(the_rate_is_swapped),
		cmocka_unit_test(a_period_leaves_events_out),
		cmocka_unit_test(losses_are_counted_twice_and_alike),
		cmocka_unit_test(a_child_is_seen_from_fork_to_exit),
		cmocka_unit_test(cpus_that_stay),
		cmocka_unit_test(only_the_tasks_asked_for),
		cmocka_unit_test(descendants_are_sampled_across_swaps),
		cmocka_unit_test(a_command_counts_from_its_exec),
		cmocka_unit_test(a_task_that_does_not_exist),
		cmocka_unit_test(the_sideband_wakes_at_once),
		cmocka_unit_test(cpus_are_followed),
	};

	int nr_failed;

	if (getenv("STACKTOP_TEST_CPU"))
		cmocka_set_test_filter("cpus_are_followed");
	nr_failed = cmocka_run_group_tests(tests, NULL, NULL);

	return nr_failed == 0 && nr_opened == 0 ? 77 : nr_failed;
}
