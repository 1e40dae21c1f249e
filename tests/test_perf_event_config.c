/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is opened on machines that refuse some of it: old kernels, no PMU, no
 * privilege, too little memory to lock, too few descriptors. The machine is a
 * fake opener whose events are memory files of a ring's shape.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/perf/attr.h"
#include "src/perf/cpus.h"
#include "src/perf/live.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define FORMAT_LOST (1u << 4)

/* A machine: what it refuses. */
struct machine {
	bool no_format_lost, no_ksymbol, no_hw_index; /* EINVAL, as old kernels */
	bool no_cycles;				      /* ENOENT */
	bool no_lbr;				      /* EOPNOTSUPP */
	bool is_imprecise;			      /* EOPNOTSUPP above max_precise */
	unsigned int max_precise;
	bool no_kernel, no_namespaces; /* EACCES */
	int refuse_all;		       /* -errno, or 0 */
	size_t max_ring_pages;	       /* EPERM above, 0: no limit */
	uint64_t max_rate_hz;	       /* EINVAL above, 0: no limit */
	int fds_left;		       /* EMFILE below 1 */
	int cpu_gone;		       /* ENODEV, -1: none */
	int fail_open_at;	       /* -EIO at the Nth sampling open with a ring */

	int nr_opened, nr_mapped_calls, nr_rings;
	struct perf_event_attr last_sampling, last_sideband;
};

static bool is_dummy(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static int refusal(const struct machine *m, const struct perf_event_attr *attr, int cpu,
		   size_t ring_pages)
{
	if (m->refuse_all)
		return m->refuse_all;
	if (m->fds_left < 1)
		return -EMFILE;
	if (cpu == m->cpu_gone)
		return -ENODEV;
	if ((m->no_format_lost && attr->read_format & FORMAT_LOST) ||
	    (m->no_ksymbol && attr->ksymbol) ||
	    (m->no_hw_index && attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) ||
	    (m->max_rate_hz && attr->freq && attr->sample_freq > m->max_rate_hz))
		return -EINVAL;
	if (m->no_cycles && attr->type == PERF_TYPE_HARDWARE)
		return -ENOENT;
	if (m->is_imprecise && attr->precise_ip > m->max_precise)
		return -EOPNOTSUPP;
	if (m->no_lbr && attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return -EOPNOTSUPP;
	if ((m->no_kernel && !attr->exclude_kernel) || (m->no_namespaces && attr->namespaces))
		return -EACCES;
	if (m->max_ring_pages && ring_pages > m->max_ring_pages)
		return -EPERM;
	return 0;
}

static int fake_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     size_t ring_pages)
{
	struct machine *m = context;
	int r = refusal(m, attr, cpu, ring_pages);
	int fd;

	(void)pid;
	if (r < 0)
		return r;
	if (!is_dummy(attr) && ring_pages && m->fail_open_at && --m->fail_open_at == 0)
		return -EIO;
	fd = memfd_create("event", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)((1 + ring_pages) * (size_t)sysconf(_SC_PAGESIZE))) < 0)
		abort();
	m->nr_opened++;
	m->nr_rings += ring_pages > 0;
	m->fds_left--;
	if (is_dummy(attr))
		m->last_sideband = *attr;
	else
		m->last_sampling = *attr;
	return fd;
}

static void fake_mapped(void *context)
{
	((struct machine *)context)->nr_mapped_calls++;
}

static struct machine new_machine(void)
{
	return (struct machine){.fds_left = 1 << 20, .cpu_gone = -1};
}

static struct live_config config_on(struct machine *m)
{
	struct live_config config = {
		.opener = {.open = fake_open, .mapped = fake_mapped, .context = m},
		.freq_hz = 999,
		.mode = STACK_MODE_DWARF,
		.stack_bytes = 16384,
		.stall_ns = 250 * NS_PER_MSEC,
		.rings_max_bytes = 64u << 20,
	};

	event_default(&config.event);
	return config;
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static struct source *open_live(const struct live_config *config)
{
	struct source *live = NULL;
	struct err err = {0};

	if (live_open(config, &live, &err) < 0)
		fail_msg("%s (%s)", err.text, err.hint);
	return live;
}

static void expect_error(const struct live_config *config, int code, const char *in_text,
			 const char *in_hint)
{
	int nr_fds = count_fds();
	struct source *live = NULL;
	struct err err = {0};

	assert_int_equal(live_open(config, &live, &err), code);
	assert_null(live);
	assert_int_equal(err.code, code);
	if (!strstr(err.text, in_text) || !strstr(err.hint, in_hint))
		fail_msg("'%s', '%s'", err.text, err.hint);
	assert_int_equal(count_fds(), nr_fds);
}

static void a_machine_that_takes_everything(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	int nr_fds = count_fds();
	struct source *live = open_live(&config);
	const struct effective_config *effective = source_effective(live);
	struct perf_event_attr *attr = &m.last_sampling;

	(void)state;
	assert_string_equal(effective->notice, "");
	assert_string_equal(effective->event.name, "cycles");
	assert_int_equal(effective->freq_hz, 999);
	assert_int_equal(effective->stack_bytes, 16384);
	assert_false(effective->user_only);
	assert_int_equal(effective->cpus_sampled, effective->cpus_online);
	assert_int_equal(m.nr_rings, 2 * effective->cpus_online);
	assert_true(m.nr_mapped_calls >= 2);

	assert_true(attr->freq && attr->sample_freq == 999);
	assert_int_equal(attr->sample_type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						    PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						    PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
						    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
						    PERF_SAMPLE_STACK_USER);
	assert_int_equal(attr->read_format, PERF_FORMAT_ID | FORMAT_LOST);
	assert_int_equal(attr->sample_stack_user, 16384);
	assert_true(attr->exclude_callchain_user && attr->sample_id_all && attr->use_clockid);
	assert_int_equal(attr->clockid, CLOCK_MONOTONIC);
#if defined(__x86_64__)
	assert_true(attr->sample_regs_user == 0xff01ff);
#endif
	assert_false(attr->exclude_idle || attr->exclude_kernel || attr->inherit);

	attr = &m.last_sideband;
	assert_true(attr->mmap && attr->mmap2 && attr->comm && attr->comm_exec && attr->task &&
		    attr->namespaces && attr->ksymbol && attr->exclude_kernel);
	assert_false(attr->build_id || attr->disabled || attr->mmap_data);
	assert_true(attr->watermark && attr->wakeup_watermark == 1);
	source_close(live);
	assert_int_equal(count_fds(), nr_fds);
}

static void a_chain_beside_the_copy_comes_and_goes(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	struct err err = {0};
	struct source *live;

	(void)state;
	config.mode = STACK_MODE_DWARF;
	live = open_live(&config);
	assert_true(m.last_sampling.exclude_callchain_user);
	assert_int_equal(source_set_user_chain(live, true, &err), 0);
	assert_false(m.last_sampling.exclude_callchain_user);
	assert_true(m.last_sampling.sample_type & PERF_SAMPLE_STACK_USER);
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 8192, &err), 0);
	assert_false(m.last_sampling.exclude_callchain_user);
	assert_int_equal(source_set_user_chain(live, false, &err), 0);
	assert_true(m.last_sampling.exclude_callchain_user);
	source_close(live);
}

static void modes_ask_for_what_they_need(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	struct source *live;

	(void)state;
	config.mode = STACK_MODE_FP;
	live = open_live(&config);
	assert_false(m.last_sampling.exclude_callchain_user);
	assert_false(m.last_sampling.sample_type &
		     (PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_BRANCH_STACK));
	source_close(live);
	config.mode = STACK_MODE_LBR;
	live = open_live(&config);
	assert_int_equal(m.last_sampling.branch_sample_type,
			 PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				 PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES |
				 PERF_SAMPLE_BRANCH_HW_INDEX);
	assert_int_equal(__builtin_popcountll(m.last_sampling.sample_regs_user), 1);
	assert_true(m.last_sampling.sample_type & PERF_SAMPLE_BRANCH_STACK);
	source_close(live);
}

/* A clock's period is the time of one sample, exactly. */
static void clocks_sample_by_period(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	struct source *live;

	(void)state;
	assert_int_equal(event_parse("cpu-clock", &config.event, NULL), 0);
	live = open_live(&config);
	assert_false(m.last_sampling.freq);
	assert_int_equal(m.last_sampling.sample_period, 1000000000 / 999);
	assert_true(m.last_sampling.exclude_idle);
	source_close(live);
	config.freq_hz = 0;
	config.period = 123456;
	live = open_live(&config);
	assert_int_equal(m.last_sampling.sample_period, 123456);
	assert_int_equal(source_effective(live)->period, 123456);
	source_close(live);
}

static void old_kernels_get_fewer_features(void **state)
{
	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		struct machine m = new_machine();
		struct live_config config = config_on(&m);
		struct source_stats stats;
		struct source *live;

		m.no_format_lost = bits & 1;
		m.no_ksymbol = bits & 2;
		m.no_hw_index = bits & 4;
		config.mode = STACK_MODE_LBR;
		live = open_live(&config);
		assert_string_equal(source_effective(live)->notice, "");
		source_stats(live, &stats);
		if (m.no_format_lost)
			assert_false(stats.lost_read_known);
		if (bits == 0)
			assert_true(stats.lost_read_known);
		assert_false(m.no_ksymbol && m.last_sideband.ksymbol);
		assert_false(m.no_hw_index &&
			     m.last_sampling.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX);
		assert_true(m.last_sideband.mmap2);
		source_close(live);
	}
}

static void without_a_pmu_the_default_becomes_cpu_clock(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	struct source *live;

	(void)state;
	m.no_cycles = true;
	live = open_live(&config);
	assert_string_equal(source_effective(live)->event.name, "cpu-clock");
	assert_non_null(strstr(source_effective(live)->notice, "no cycles"));
	assert_non_null(strstr(source_effective(live)->notice, "cpu-clock"));
	assert_int_equal(m.last_sampling.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(m.last_sampling.sample_period, 1000000000 / 999);
	source_close(live);
	/* Cycles that were asked for are not replaced. */
	assert_int_equal(event_parse("cycles", &config.event, NULL), 0);
	expect_error(&config, -ENOENT, "'cycles'", "cpu-clock");
}

/* What the CPU can of it, step by step, and what came of it is said. */
static void as_precise_as_the_machine_can(void **state)
{
	static const struct {
		const char *word;
		bool is_imprecise;
		unsigned int max, precise;
		const char *name, *notice;
	} cases[] = {
		{"cycles:pp", false, 0, 2, "cycles:pp", ""},
		{"cycles:ppp", true, 2, 2, "cycles:pp",
		 "no cycles:ppp on this CPU (or VM): sampling by cycles:pp"},
		{"cycles:p", true, 0, 0, "cycles",
		 "no cycles:p on this CPU (or VM): sampling by cycles"},
		{"cycles:P", false, 0, 3, "cycles:ppp", ""},
		{"cycles:P", true, 1, 1, "cycles:p", ""},
		{"cycles:uP", true, 0, 0, "cycles:u", ""},
		{"cpu-clock:P", true, 0, 0, "cpu-clock:P", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine m = new_machine();
		struct live_config config = config_on(&m);
		struct source *live;

		m.is_imprecise = cases[i].is_imprecise;
		m.max_precise = cases[i].max;
		assert_int_equal(event_parse(cases[i].word, &config.event, NULL), 0);
		live = open_live(&config);
		assert_int_equal(m.last_sampling.precise_ip, cases[i].precise);
		assert_string_equal(source_effective(live)->event.name, cases[i].name);
		assert_string_equal(source_effective(live)->notice, cases[i].notice);
		source_close(live);
	}
}

static void without_privilege_user_code_only(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	struct source *live;

	(void)state;
	m.no_kernel = true;
	m.no_namespaces = true;
	live = open_live(&config);
	assert_true(source_effective(live)->user_only);
	assert_non_null(strstr(source_effective(live)->notice, "kernel.perf_event_paranoid"));
	assert_true(m.last_sampling.exclude_kernel);
	assert_false(m.last_sideband.namespaces);
	source_close(live);
	config.user_only = true; /* asked for: nothing to tell */
	live = open_live(&config);
	assert_string_equal(source_effective(live)->notice, "");
	source_close(live);
	/* A kernel event has nothing left without the kernel. */
	config.user_only = false;
	assert_int_equal(event_parse("cycles:k", &config.event, NULL), 0);
	expect_error(&config, -EACCES, "", "sudo");
}

static void refused_altogether(void **state)
{
	static const struct {
		int code;
		const char *in_text, *in_hint;
	} cases[] = {
		{-EACCES, "perf_event_paranoid", "sudo"},
		{-EPERM, "perf_event_open", "--cap-add PERFMON"},
		{-ENOSYS, "no perf_event_open", "seccomp"},
		{-EMFILE, "too few file descriptors", "ulimit -n"},
		{-EINVAL, "perf_event_open", "4.18"},
		{-EIO, "perf_event_open", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine m = new_machine();
		struct live_config config = config_on(&m);

		m.refuse_all = cases[i].code;
		expect_error(&config, cases[i].code, cases[i].in_text, cases[i].in_hint);
	}
}

/* Wherever descriptors end, the error is clear and nothing stays open. */
static void descriptors_end_at_every_place(void **state)
{
	int enough = 0;

	(void)state;
	for (int fds = 0; !enough; fds++) {
		struct machine m = new_machine();
		struct live_config config = config_on(&m);
		struct source *live = NULL;
		struct err err = {0};
		int nr_fds = count_fds();

		m.fds_left = fds;
		if (live_open(&config, &live, &err) == 0) {
			enough = 1;
			source_close(live);
		} else {
			assert_int_equal(err.code, -EMFILE);
		}
		assert_int_equal(count_fds(), nr_fds);
		assert_true(fds < 1000);
	}
}

static void rings_are_halved_until_they_fit(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct source *live;
	uint64_t full;

	(void)state;
	live = open_live(&config);
	full = source_effective(live)->rings_bytes;
	/* 250 ms at 999 Hz of 16 KB stacks, on each CPU; powers of two. */
	assert_true(full / source_effective(live)->cpus_online >= 4u << 20);
	source_close(live);
	m.max_ring_pages = (64u << 10) / page;
	live = open_live(&config);
	assert_int_equal(source_effective(live)->rings_bytes,
			 2 * source_effective(live)->cpus_online * (64u << 10));
	assert_non_null(
		strstr(source_effective(live)->notice, "sysctl kernel.perf_event_mlock_kb="));
	source_close(live);
	m.max_ring_pages = 2; /* not even two samples */
	expect_error(&config, -EPERM, "rings", "ulimit -l");
	m.max_ring_pages = 0;
	config.rings_max_bytes = 1u << 20;
	live = open_live(&config);
	assert_in_range(source_effective(live)->rings_bytes -
				(uint64_t)source_effective(live)->cpus_online * (512u << 10),
			1, 1u << 20);
	source_close(live);
}

static void the_kernels_rate_limit(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	uint64_t limit =
		(uint64_t)sysctl_read("/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	struct source *live;

	(void)state;
	m.max_rate_hz = limit;
	config.mode = STACK_MODE_FP;
	config.freq_hz = limit * 2;
	live = open_live(&config);
	assert_int_equal(source_effective(live)->freq_hz, limit);
	assert_non_null(strstr(source_effective(live)->notice, "perf_event_max_sample_rate"));
	source_close(live);
}

/* No more than can be worked on, or the machine does nothing else. */
static void rates_that_can_be_followed(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	uint64_t rate_hz;
	struct source *live;

	(void)state;
	config.freq_hz = 1000000;
	config.stack_bytes = LIVE_STACK_BYTES_MAX;
	live = open_live(&config);
	rate_hz = source_effective(live)->freq_hz;
	assert_in_range(rate_hz, 999, (256 << 20) / LIVE_STACK_BYTES_MAX);
	assert_int_equal(m.last_sampling.sample_freq, rate_hz);
	assert_non_null(strstr(source_effective(live)->notice, "with stacks of 64 KB"));
	source_close(live);

	m.no_cycles = true; /* a clock instead, which nothing else limits */
	config.mode = STACK_MODE_FP;
	live = open_live(&config);
	assert_in_range(source_effective(live)->freq_hz, 999, 32768);
	assert_non_null(strstr(source_effective(live)->notice, "cannot be followed"));
	source_close(live);

	assert_int_equal(event_parse("cpu-clock", &config.event, NULL), 0);
	config.freq_hz = 0;
	config.period = 1;
	live = open_live(&config);
	assert_in_range(source_effective(live)->period, 1000000000 / 32768, 1000000);
	assert_int_equal(m.last_sampling.sample_period, source_effective(live)->period);
	assert_non_null(strstr(source_effective(live)->notice, "cannot be followed"));
	source_close(live);

	assert_int_equal(event_parse("page-faults", &config.event, NULL), 0);
	live = open_live(&config);
	assert_int_equal(source_effective(live)->period, 1);
	assert_string_equal(source_effective(live)->notice, "");
	source_close(live);
}

static void a_cpu_that_left_meanwhile_is_passed_over(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	int *cpus = NULL;
	int nr = cpus_read(CPUS_ONLINE, &cpus);
	struct source *live;

	(void)state;
	assert_true(nr > 0);
	m.cpu_gone = cpus[0];
	if (nr > 1) {
		live = open_live(&config);
		assert_int_equal(source_effective(live)->cpus_sampled, nr - 1);
		assert_int_equal(source_effective(live)->cpus_online, nr);
		/* It came back: opened when the machine is looked at again. */
		assert_false(source_follow(live));
		m.cpu_gone = -1;
		assert_true(source_follow(live));
		assert_int_equal(source_effective(live)->cpus_sampled, nr);
		assert_false(source_follow(live));
		source_close(live);
	}
	free(cpus);
}

static void cpus_asked_for(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	const int none[] = {CPUS_MAX - 1};
	int *cpus = NULL, nr = cpus_read(CPUS_ONLINE, &cpus);
	struct source *live;

	(void)state;
	assert_true(nr > 0);
	config.cpus = cpus;
	config.nr_cpus = 1;
	live = open_live(&config);
	free(cpus); /* copied */
	assert_int_equal(source_effective(live)->cpus_sampled, 1);
	assert_int_equal(source_effective(live)->cpus_online, nr);
	assert_false(source_follow(live));
	source_close(live);
	config.cpus = none;
	expect_error(&config, -ENXIO, "CPU 8191: this machine has no such CPU", "its CPUs are");
}

/* Whatever goes wrong in a change of mode, everything stays as it was. */
static void a_failed_change_of_mode_changes_nothing(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);
	struct source *live = open_live(&config);
	struct effective_config before = *source_effective(live);
	struct pollfd fds_before[64], fds_after[64];
	uint32_t nr_poll = source_pollfds(live, false, fds_before, ARRAY_SIZE(fds_before));
	int nr_fds = count_fds();
	struct err err = {0};

	(void)state;
	m.no_lbr = true;
	assert_int_equal(source_set_mode(live, STACK_MODE_LBR, 0, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "lbr: this CPU (or VM) has no call-stack branch records"));
	m.fail_open_at = 1;
	assert_int_equal(source_set_mode(live, STACK_MODE_FP, 0, &err), -EIO);
	m.fail_open_at = (int)before.cpus_online; /* the last of them */
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 32768, &err), -EIO);
	m.fail_open_at = 0;
	m.max_ring_pages = 1;
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 32768, &err), -EPERM);
	m.max_ring_pages = 0;
	m.refuse_all = -EMFILE;
	assert_int_equal(source_set_mode(live, STACK_MODE_FP, 0, &err), -EMFILE);
	assert_memory_equal(source_effective(live), &before, sizeof(before));
	assert_int_equal(source_pollfds(live, false, fds_after, ARRAY_SIZE(fds_after)), nr_poll);
	assert_memory_equal(fds_before, fds_after, nr_poll * sizeof(fds_before[0]));
	assert_int_equal(count_fds(), nr_fds);

	m.refuse_all = 0;
	assert_int_equal(source_set_mode(live, STACK_MODE_FP, 0, &err), 0);
	assert_int_equal(source_effective(live)->mode, STACK_MODE_FP);
	assert_int_equal(source_effective(live)->stack_bytes, 16384); /* for the way back */
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 32768, &err), 0);
	assert_int_equal(source_set_mode(live, STACK_MODE_FP, 0, &err), 0);
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 0, &err), 0);
	assert_int_equal(m.last_sampling.sample_stack_user, 32768);
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 100, &err), 0);
	assert_int_equal(source_effective(live)->stack_bytes, LIVE_STACK_BYTES_MIN);
	assert_int_equal(source_set_mode(live, STACK_MODE_DWARF, 1u << 20, &err), 0);
	assert_int_equal(source_effective(live)->stack_bytes, LIVE_STACK_BYTES_MAX);
	assert_int_equal(count_fds(), nr_fds);
	source_close(live);
}

static void lbr_from_the_start_is_refused_with_the_reason(void **state)
{
	struct machine m = new_machine();
	struct live_config config = config_on(&m);

	(void)state;
	config.mode = STACK_MODE_LBR;
	m.no_lbr = true;
	expect_error(&config, -EOPNOTSUPP, "lbr:", "dwarf");
	m.no_lbr = false;
	m.no_cycles = true;
	expect_error(&config, -ENOENT, "lbr:", "dwarf");
}

static void cpu_lists(void **state)
{
	static const struct {
		const char *text;
		int nr, last;
	} cases[] = {
		{"0\n", 1, 0},
		{"0-3", 4, 3},
		{"0-1,4,6-7\n", 5, 7},
		{"5", 1, 5},
		{"8192", 1, 8192},
		{"", -EINVAL, 0},
		{"\n", -EINVAL, 0},
		{"3-1", -EINVAL, 0},
		{"1,1", -EINVAL, 0},
		{"2,1", -EINVAL, 0},
		{"0-", -EINVAL, 0},
		{"a", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"0,", -EINVAL, 0},
		{"8193", -EINVAL, 0},
		{"0 1", -EINVAL, 0},
		{"0-99999999999999999999", -EINVAL, 0},
		{"0-3,2-5", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int *cpus = NULL;
		int nr = cpus_parse(cases[i].text, &cpus);

		assert_int_equal(nr, cases[i].nr);
		if (nr > 0)
			assert_int_equal(cpus[nr - 1], cases[i].last);
		free(cpus);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_that_takes_everything),
		cmocka_unit_test(a_chain_beside_the_copy_comes_and_goes),
		cmocka_unit_test(modes_ask_for_what_they_need),
		cmocka_unit_test(clocks_sample_by_period),
		cmocka_unit_test(old_kernels_get_fewer_features),
		cmocka_unit_test(without_a_pmu_the_default_becomes_cpu_clock),
		cmocka_unit_test(as_precise_as_the_machine_can),
		cmocka_unit_test(without_privilege_user_code_only),
		cmocka_unit_test(refused_altogether),
		cmocka_unit_test(descriptors_end_at_every_place),
		cmocka_unit_test(rings_are_halved_until_they_fit),
		cmocka_unit_test(the_kernels_rate_limit),
		cmocka_unit_test(rates_that_can_be_followed),
		cmocka_unit_test(a_cpu_that_left_meanwhile_is_passed_over),
		cmocka_unit_test(cpus_asked_for),
		cmocka_unit_test(a_failed_change_of_mode_changes_nothing),
		cmocka_unit_test(lbr_from_the_start_is_refused_with_the_reason),
		cmocka_unit_test(cpu_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
