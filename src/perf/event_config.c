/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event configs: see event_config.h. A refusal of the kernel says little (EINVAL for a flag
 * that is too new, EACCES for kernel samples), so each is answered by asking
 * for less of what may have caused it, youngest feature first.
 */
#include "config.h"

#include "src/perf/event_config.h"

#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/perf/cpus.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_RATE_PATH  "/proc/sys/kernel/perf_event_max_sample_rate"
#define MAX_STACK_PATH "/proc/sys/kernel/perf_event_max_stack"

#define MAX_STACK_DEFAULT 127
#define MAX_STACK_LIMIT	  1024

/* Rate to size rings for when only a period is known and it is not time. */
#define PERIOD_RATE_HZ 2000

/*
 * The kernel holds back only events that interrupt as NMIs: a clock of 100 kHz,
 * or copies of stacks at that rate, take all of a CPU and leave none to work on
 * what was sampled.
 */
#define CLOCK_MAX_HZ   32768ull
#define PERIOD_MAX     (1ull << 60)
#define COPY_MAX_BYTES (256ull << 20) /* per second and CPU */

static uint64_t kernel_max_rate(void)
{
	int64_t rate = sysctl_read(MAX_RATE_PATH, 100000);

	return rate > 0 ? (uint64_t)rate : 1;
}

static uint64_t followed_max_rate(const struct event_config *config)
{
	uint64_t rate = COPY_MAX_BYTES / attr_sample_bytes(config);

	return event_is_clock(&config->event) ? MIN(rate, CLOCK_MAX_HZ) : rate;
}

static void limit_rate(struct event_config *config)
{
	uint64_t rate = followed_max_rate(config);

	if (config->freq_hz)
		config->freq_hz = MIN(config->freq_hz, rate);
	else if (event_is_clock(&config->event))
		config->period = MAX(config->period, NS_PER_SEC / rate);
}

/* To what somebody is ready to pay: before the limits, which a low rate does not meet. */
static void divide_rate(struct event_config *config)
{
	uint64_t divisor = MAX(config->rate_divisor, 1u);

	if (config->freq_hz)
		config->freq_hz = MAX(config->freq_hz / divisor, 1ull);
	else
		config->period = MIN(config->period, PERIOD_MAX / divisor) * divisor;
}

struct event_config event_config_make(const struct live_config *asked, enum stack_mode mode,
				      uint32_t stack_bytes, const struct attr_features *features)
{
	int64_t max_stack = sysctl_read(MAX_STACK_PATH, MAX_STACK_DEFAULT);
	struct event_config config = {
		.event = asked->event,
		.mode = mode,
		.exclude_kernel = asked->user_only,
		.inherit = asked->tids != NULL,
		.rate_divisor = MAX(asked->rate_divisor, 1u),
		.has_user_chain = asked->has_user_chain,
		.features = *features,
	};

	if (asked->freq_hz)
		config.freq_hz = MIN(asked->freq_hz, kernel_max_rate());
	else
		config.period = MAX(asked->period, 1ull);
	config.max_stack = max_stack > 0 ? (uint32_t)MIN(max_stack, (int64_t)MAX_STACK_LIMIT)
					 : MAX_STACK_DEFAULT;
	if (stack_bytes == 0)
		stack_bytes = LIVE_STACK_BYTES_DEFAULT;
	stack_bytes = MIN(MAX(stack_bytes, LIVE_STACK_BYTES_MIN), LIVE_STACK_BYTES_MAX);
	config.stack_bytes = stack_bytes & ~7u;
	divide_rate(&config);
	limit_rate(&config);
	assert((config.freq_hz == 0) != (config.period == 0));
	return config;
}

/* --- trying --- */

/* Ask for less after CODE. False: nothing left to give up. */
static bool degrade(struct event_config *config, const struct perf_event_attr *attr, int code)
{
	if (config->is_sideband && code == -EACCES && config->features.namespaces) {
		config->features.namespaces = false;
		return true;
	}
	if (config->is_sideband)
		return code == -EINVAL && attr_give_up_feature(attr, &config->features);
	switch (code) {
	case -EINVAL:
		if (attr_give_up_feature(attr, &config->features) ||
		    event_lower_precision(&config->event))
			return true;
		/* The kernel lowers its limit by itself when sampling takes long. */
		if (config->freq_hz > kernel_max_rate()) {
			config->freq_hz = kernel_max_rate();
			return true;
		}
		return false;
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		if (event_lower_precision(&config->event))
			return true;
		/* No PMU here (a VM): time is the next best meaning of the default. */
		if (!config->event.is_default || config->event.type != PERF_TYPE_HARDWARE ||
		    config->mode == STACK_MODE_LBR)
			return false;
		config->event.type = PERF_TYPE_SOFTWARE;
		config->event.config = PERF_COUNT_SW_CPU_CLOCK;
		snprintf(config->event.name, sizeof(config->event.name), "cpu-clock");
		limit_rate(config);
		return true;
	case -EACCES:
	case -EPERM:
		/* A tracepoint or a :k event is nothing without the kernel. */
		if (config->exclude_kernel || config->event.exclude_user ||
		    config->event.type == PERF_TYPE_TRACEPOINT)
			return false;
		config->exclude_kernel = true;
		return true;
	default:
		return false;
	}
}

void event_config_attr(const struct event_config *config, uint32_t watermark,
		       struct perf_event_attr *ret)
{
	if (config->is_sideband)
		attr_sideband(&config->features, config->inherit, ret);
	else
		attr_sampling(config, watermark, ret);
}

/* One target; *CONFIG changes on success only. */
static int probe_one(const struct perf_opener *opener, pid_t tid, int cpu,
		     struct event_config *config)
{
	struct event_config trial = *config;

	for (;;) {
		struct perf_event_attr attr;
		int fd;

		event_config_attr(&trial, 1, &attr);
		fd = opener->open(opener->context, &attr, tid, cpu, 0);
		if (fd >= 0) {
			close(fd);
			*config = trial;
			return 0;
		}
		if (!degrade(&trial, &attr, fd))
			return fd;
	}
}

/*
 * The first target that opens decides, but a task may have ended, belong to
 * another user or hang in an exec, and a CPU may have left: then the next is tried.
 */
static bool is_of_target(const struct event_targets *targets, int code)
{
	if (!targets->tids)
		return code == -ENODEV;
	return code == -ESRCH || code == -EACCES || code == -EPERM || code == -EBUSY;
}

int event_config_probe(const struct perf_opener *opener, const struct event_targets *targets,
		       struct event_config *config, struct err *err)
{
	size_t nr = targets->tids ? targets->nr_tids : targets->nr_cpus;
	int r = targets->tids ? -ESRCH : -ENODEV;

	for (size_t i = 0; i < nr; i++) {
		if (targets->tids)
			r = probe_one(opener, targets->tids[i], targets->cpus[0], config);
		else
			r = probe_one(opener, -1, targets->cpus[i], config);
		if (!is_of_target(targets, r))
			break;
	}
	return r < 0 ? event_config_explain(r, config, targets, err) : 0;
}

/* --- explaining --- */

/*
 * For the members of one group: who can start the file sees what every program on the machine
 * does. setcap is the last, since a change of the owner takes capabilities away. Without a word
 * about where stacktop is installed: the shell knows.
 */
#define SETCAP_RECIPE                                                                           \
	"for the group stacktop: sudo sh -c 'groupadd -f stacktop && chgrp stacktop \"$0\" && " \
	"chmod 0750 \"$0\" && setcap %scap_perfmon,cap_ipc_lock,cap_sys_ptrace,"                \
	"cap_dac_read_search,cap_syslog,cap_checkpoint_restore=ep \"$0\"' "                     \
	"\"$(command -v stacktop)\""

/*
 * The level that allows it without capabilities: Documentation/admin-guide/sysctl/kernel.rst.
 * User code of one's own tasks is allowed even at 2, and the kernel's part of them at 1.
 */
static int paranoid_needed(const struct event_spec *event, bool is_per_task)
{
	if (event->type == PERF_TYPE_TRACEPOINT)
		return -1;
	return is_per_task ? 1 : 0;
}

/* TID is another user's, or may not be looked into even by its own (/proc shows it as root's). */
static bool is_foreign(pid_t tid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

static void say_what_is_refused(int code, const struct event_config *config,
				const struct event_targets *targets, int paranoid, struct err *err)
{
	if (config->event.exclude_user)
		err_set(err, code,
			"event '%s': not allowed to sample the kernel "
			"(kernel.perf_event_paranoid is %d)",
			config->event.name, paranoid);
	else if (config->event.type == PERF_TYPE_TRACEPOINT)
		err_set(err, code,
			"event '%s': not allowed to use tracepoints (kernel.perf_event_paranoid "
			"is %d)",
			config->event.name, paranoid);
	else if (targets->tids)
		err_set(err, code,
			"not allowed to sample any process (kernel.perf_event_paranoid is %d)",
			paranoid);
	else
		err_set(err, code,
			"not allowed to sample all CPUs (kernel.perf_event_paranoid is %d)",
			paranoid);
}

/* For SETCAP_RECIPE: at levels that only distributions' kernels know CAP_PERFMON is not enough. */
static const char *beside_perfmon(int paranoid)
{
	return paranoid > PARANOID_LINUX_MAX ? "cap_sys_admin," : "";
}

static int explain_permission(int code, const struct event_config *config,
			      const struct event_targets *targets, struct err *err)
{
	int paranoid = (int)sysctl_read(PARANOID_PATH, 2);
	int needed = paranoid_needed(&config->event, targets->tids);
	bool is_plain = !config->event.exclude_user && config->event.type != PERF_TYPE_TRACEPOINT;

	if (code == -EACCES && targets->tids && is_foreign(targets->tids[0])) {
		err_set(err, code, "not allowed to sample task %d: it is not this user's",
			(int)targets->tids[0]);
		err_hint(err, "use sudo, or, " SETCAP_RECIPE, beside_perfmon(paranoid));
		return code;
	}
	/* User code of own tasks is allowed up to 2: then the level is not the reason. */
	if (code == -EACCES && paranoid > (targets->tids && is_plain ? 2 : needed)) {
		say_what_is_refused(code, config, targets, paranoid, err);
		err_hint(
			err,
			"use sudo, or: sudo sysctl kernel.perf_event_paranoid=%d, or, " SETCAP_RECIPE,
			needed, beside_perfmon(paranoid));
		return code;
	}
	err_set(err, code, "perf_event_open: %s (kernel.perf_event_paranoid is %d)",
		strerror(-code), paranoid);
	err_hint(err, "use sudo; in a container allow it: docker run --cap-add PERFMON, with a "
		      "seccomp profile that has perf_event_open");
	return code;
}

static int explain_event(int code, const struct event_config *config, struct err *err)
{
	if (config->mode == STACK_MODE_LBR) {
		err_set(err, code, "lbr: this CPU (or VM) has no call-stack branch records");
		err_hint(err, "use dwarf or fp");
	} else if (!config->is_sideband && code == -EINVAL) {
		err_set(err, code, "event '%s': the kernel does not take it for sampling",
			config->event.name);
		err_hint(err, "try -e cpu-clock");
	} else if (!config->is_sideband) {
		err_set(err, code, "event '%s': this CPU (or VM) does not have it",
			config->event.name);
		err_hint(err, "try -e cpu-clock");
	} else {
		err_set(err, code, "perf_event_open: %s", strerror(-code));
		err_hint(err, "stacktop needs Linux 4.18 or later");
	}
	return code;
}

int event_config_explain(int code, const struct event_config *config,
			 const struct event_targets *targets, struct err *err)
{
	switch (code) {
	case -EACCES:
	case -EPERM:
		return explain_permission(code, config, targets, err);
	case -EINVAL:
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		return explain_event(code, config, err);
	case -ENOSYS:
		err_set(err, code, "this system has no perf_event_open");
		err_hint(err,
			 "the kernel lacks CONFIG_PERF_EVENTS, or a container's seccomp filter "
			 "hides it (docker run --cap-add PERFMON)");
		return code;
	case -ESRCH:
		return err_set(err, code, "no such task: %d",
			       targets->tids && targets->nr_tids ? (int)targets->tids[0] : -1);
	case -EMFILE:
	case -ENFILE:
		err_set(err, code, "too few file descriptors for events on %zu CPUs%s",
			targets->nr_cpus, targets->tids ? " for each task" : "");
		err_hint(err, "ulimit -n %zu",
			 4 * targets->nr_cpus * MAX(targets->nr_tids, (size_t)1) + 256);
		return code;
	case -EPIPE:
		err_set(err, code, "no events can be opened: the broker process is gone");
		err_hint(err, "start stacktop again");
		return code;
	case -ETIMEDOUT:
		return err_set(err, code, "no events can be opened: the broker does not answer");
	case -EBUSY:
		return err_set(err, code, "the CPU's counters are in use by somebody else");
	default:
		return err_set(err, code, "perf_event_open: %s", strerror(-code));
	}
}

int event_config_explain_ring(int code, size_t pages, struct err *err)
{
	err_set(err, code, "no room for rings of %zu KB per CPU: %s",
		pages * (size_t)sysconf(_SC_PAGESIZE) / 1024, strerror(-code));
	err_hint(err,
		 "use sudo, or raise 'ulimit -l' or: sudo sysctl kernel.perf_event_mlock_kb=8192");
	return code;
}

/* --- rings --- */

static size_t pages_for(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages = 1;

	while (pages * page < bytes)
		pages *= 2;
	return (size_t)pages;
}

size_t event_config_ring_pages_min(const struct event_config *config)
{
	return pages_for(2ull * attr_sample_bytes(config));
}

size_t event_config_ring_pages(const struct event_config *config, uint64_t stall_ns,
			       uint64_t max_bytes, size_t nr_cpus)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t rate_hz = config->freq_hz ? config->freq_hz : PERIOD_RATE_HZ;
	uint64_t share = max_bytes / MAX(nr_cpus, (size_t)1);
	size_t pages, min_pages = event_config_ring_pages_min(config);

	if (!config->freq_hz && event_is_clock(&config->event))
		rate_hz = NS_PER_SEC / config->period + 1;
	/* Rates are below 1e9 and stalls are seconds at most: no overflow in milliseconds. */
	rate_hz = MIN(rate_hz, 1000000ull);
	stall_ns = MIN(stall_ns, 10 * NS_PER_SEC);
	pages = pages_for(rate_hz * (stall_ns / NS_PER_MSEC) / 1000 * attr_sample_bytes(config) +
			  attr_sample_bytes(config));
	while (pages > min_pages && share && pages * page > share)
		pages /= 2;
	return MAX(pages, min_pages);
}

/* --- telling --- */

static void tell_rate(const struct live_config *asked, const struct event_config *config, char *out,
		      size_t out_size)
{
	uint64_t divisor = config->rate_divisor;
	uint64_t rate = config->freq_hz ? config->freq_hz : NS_PER_SEC / config->period;
	char stacks[48] = "";

	/* What was given up for the cost is told by whoever did it. */
	if (config->freq_hz ? config->freq_hz >= asked->freq_hz / divisor
			    : config->period <= MIN(asked->period, PERIOD_MAX / divisor) * divisor)
		return;
	if (config->freq_hz && config->freq_hz >= kernel_max_rate()) {
		text_append(out, out_size,
			    "%" PRIu64 " Hz is the kernel's limit: sudo sysctl "
			    "kernel.perf_event_max_sample_rate=%" PRIu64,
			    config->freq_hz, asked->freq_hz);
		return;
	}
	if (config->mode == STACK_MODE_DWARF)
		snprintf(stacks, sizeof(stacks), " with stacks of %.3g KB",
			 config->stack_bytes / 1024.0);
	text_append(out, out_size, "more than %" PRIu64 " Hz%s cannot be followed", rate, stacks);
}

void event_config_notice(const struct live_config *asked, const struct event_config *config,
			 uint64_t rings_wanted_kb, uint32_t nr_refused, char *out, size_t out_size)
{
	out[0] = '\0';
	if (config->exclude_kernel && !asked->user_only)
		text_append(
			out, out_size,
			"user code only: sudo sysctl kernel.perf_event_paranoid=%d (is %d) for the kernel",
			paranoid_needed(&config->event, asked->tids),
			(int)sysctl_read(PARANOID_PATH, 2));
	if (nr_refused)
		text_append(out, out_size, "%u task%s left out, not this user's: use sudo",
			    nr_refused, nr_refused > 1 ? "s" : "");
	tell_rate(asked, config, out, out_size);
	if (rings_wanted_kb)
		text_append(
			out, out_size,
			"rings smaller than wanted: sudo sysctl kernel.perf_event_mlock_kb=%llu",
			(unsigned long long)rings_wanted_kb);
	if (config->event.type != asked->event.type ||
	    (config->event.precise < asked->event.precise && !asked->event.is_best_precise))
		text_append(out, out_size, "no %s on this CPU (or VM): sampling by %s",
			    asked->event.name, config->event.name);
}
