/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event names: see event.h. Generic hardware, software and cache events stand
 * in tables; raw events and tracepoints are built from their words. PMU syntax
 * (cpu/.../) is not known here.
 */
#include "config.h"

#include "src/perf/event.h"

#include "src/base/cleanup.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECISE_MAX 3 /* attr.precise_ip */

struct event_name {
	const char *name;
	uint32_t type;
	uint64_t config;
};

#define HW(word, id)                                         \
	{                                                    \
		word, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id \
	}
#define SW(word, id)                                         \
	{                                                    \
		word, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id \
	}
#define SW_CGROUP_SWITCHES 11 /* PERF_COUNT_SW_CGROUP_SWITCHES, since 5.13 */

static const struct event_name event_names[] = {
	HW("cycles", CPU_CYCLES),
	HW("cpu-cycles", CPU_CYCLES),
	HW("instructions", INSTRUCTIONS),
	HW("cache-references", CACHE_REFERENCES),
	HW("cache-misses", CACHE_MISSES),
	HW("branches", BRANCH_INSTRUCTIONS),
	HW("branch-instructions", BRANCH_INSTRUCTIONS),
	HW("branch-misses", BRANCH_MISSES),
	HW("bus-cycles", BUS_CYCLES),
	HW("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("ref-cycles", REF_CPU_CYCLES),
	SW("cpu-clock", CPU_CLOCK),
	SW("task-clock", TASK_CLOCK),
	SW("page-faults", PAGE_FAULTS),
	SW("faults", PAGE_FAULTS),
	SW("minor-faults", PAGE_FAULTS_MIN),
	SW("major-faults", PAGE_FAULTS_MAJ),
	SW("context-switches", CONTEXT_SWITCHES),
	SW("cs", CONTEXT_SWITCHES),
	SW("cpu-migrations", CPU_MIGRATIONS),
	SW("migrations", CPU_MIGRATIONS),
	SW("alignment-faults", ALIGNMENT_FAULTS),
	SW("emulation-faults", EMULATION_FAULTS),
	{"cgroup-switches", PERF_TYPE_SOFTWARE, SW_CGROUP_SWITCHES},
};

/* Cache events: CACHE-OPERATION; by the order of enum perf_hw_cache_id. */
static const char *const cache_names[] = {
	"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
};

static const struct {
	const char *suffix;
	uint32_t op, result;
} cache_ops[] = {
	{"-loads", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"-load-misses", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS},
	{"-stores", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"-store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS},
	{"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"-prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS},
};

static const char *const tracefs_dirs[] = {
	"/sys/kernel/tracing/events",
	"/sys/kernel/debug/tracing/events",
};

/* The I-th of all names: those of the table, then each cache with each operation. False: no more. */
static bool name_at(size_t i, struct event_spec *ret)
{
	size_t cache = (i - ARRAY_SIZE(event_names)) / ARRAY_SIZE(cache_ops);
	size_t op = (i - ARRAY_SIZE(event_names)) % ARRAY_SIZE(cache_ops);

	if (i < ARRAY_SIZE(event_names)) {
		snprintf(ret->name, sizeof(ret->name), "%s", event_names[i].name);
		ret->type = event_names[i].type;
		ret->config = event_names[i].config;
		return true;
	}
	if (cache >= ARRAY_SIZE(cache_names))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s%s", cache_names[cache], cache_ops[op].suffix);
	ret->type = PERF_TYPE_HW_CACHE;
	ret->config = cache | cache_ops[op].op << 8 | cache_ops[op].result << 16;
	return true;
}

static bool find_name(const char *name, struct event_spec *spec)
{
	struct event_spec known;

	for (size_t i = 0; name_at(i, &known); i++) {
		if (strcasecmp(name, known.name) == 0) {
			spec->type = known.type;
			spec->config = known.config;
			return true;
		}
	}
	return false;
}

/* rNNN: the raw number that the PMU's manual gives, in hexadecimal. */
static bool find_raw(const char *name, struct event_spec *spec)
{
	size_t digits = strspn(name + (*name ? 1 : 0), "0123456789abcdefABCDEF");

	if (name[0] != 'r' || digits == 0 || digits > 16 || name[1 + digits] != '\0')
		return false;
	spec->type = PERF_TYPE_RAW;
	spec->config = strtoull(name + 1, NULL, 16);
	return true;
}

/* Number of single-letter edits between two short words; long words are never near. */
static unsigned int word_distance(const char *a, const char *b)
{
	unsigned int row[48];
	size_t len_a = strlen(a), len_b = strlen(b);

	if (len_b >= ARRAY_SIZE(row) || len_a >= ARRAY_SIZE(row))
		return UINT32_MAX;
	for (size_t j = 0; j <= len_b; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= len_b; j++) {
			unsigned int replace = diagonal + (a[i - 1] != b[j - 1]);
			unsigned int insert = MIN(row[j], row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = MIN(replace, insert);
		}
	}
	return row[len_b];
}

static int unknown_name(const char *name, struct err *err)
{
	const char *nearest = NULL;
	unsigned int best = 4;
	char shown[EVENT_NAME_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(event_names); i++) {
		unsigned int distance = word_distance(name, event_names[i].name);

		if (distance < best && distance < strlen(name)) {
			best = distance;
			nearest = event_names[i].name;
		}
	}
	text_sanitize(name, strlen(name), shown, sizeof(shown));
	err_set(err, -EINVAL, "unknown event '%s'", shown);
	if (nearest)
		err_hint(err, "did you mean '%s'?", nearest);
	else
		err_hint(err,
			 "known are cycles, instructions, cache-misses, cpu-clock, page-faults, "
			 "context-switches and others of 'perf list', rNNN, SUBSYSTEM:NAME");
	return -EINVAL;
}

/* Both words of a tracepoint become parts of a path: plain names only. */
static bool is_plain_word(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)word[i]) && word[i] != '_' && word[i] != '-')
			return false;
	return len > 0;
}

static int read_tracepoint_id(const char *path, uint64_t *ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	ssize_t n;
	char *end;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno || end == text ? -EIO : 0;
}

static int find_tracepoint(const char *name, const char *colon, struct event_spec *spec,
			   struct err *err)
{
	int subsystem_len = (int)(colon - name);
	int r = -ENOENT;

	if (!is_plain_word(name, (size_t)subsystem_len) ||
	    !is_plain_word(colon + 1, strlen(colon + 1))) {
		char shown[EVENT_NAME_MAX];

		text_sanitize(name, strlen(name), shown, sizeof(shown));
		err_set(err, -EINVAL, "'%s' is no tracepoint name", shown);
		err_hint(err, "write SUBSYSTEM:NAME, for example sched:sched_switch");
		return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tracefs_dirs); i++) {
		char path[sizeof("/sys/kernel/debug/tracing/events///id") + EVENT_NAME_MAX];
		int found;

		snprintf(path, sizeof(path), "%s/%.*s/%s/id", tracefs_dirs[i], subsystem_len, name,
			 colon + 1);
		found = read_tracepoint_id(path, &spec->config);
		if (found == 0) {
			spec->type = PERF_TYPE_TRACEPOINT;
			return 0;
		}
		if (found != -ENOENT)
			r = found;
	}
	if (r == -EACCES || r == -EPERM) {
		err_set(err, r, "tracepoint '%s': tracefs may be read by root only", name);
		err_hint(err, "run it with sudo");
	} else if (r == -ENOENT && access(tracefs_dirs[0], F_OK) < 0 &&
		   access(tracefs_dirs[1], F_OK) < 0) {
		r = -ENODEV;
		err_set(err, r, "tracepoint '%s': tracefs is not mounted", name);
		err_hint(err, "sudo mount -t tracefs tracefs /sys/kernel/tracing");
	} else {
		err_set(err, r, "tracepoint '%s': %s", name,
			r == -ENOENT ? "this kernel has none of that name" : strerror(-r));
		err_hint(err, "see /sys/kernel/tracing/available_events");
	}
	return r;
}

/*
 * ":u" and ":k": NAME loses them. Without either both are sampled. ":p" up to
 * three times, or ":P", may stand with them.
 */
static void take_modifiers(char *name, struct event_spec *spec)
{
	char *colon = strrchr(name, ':');
	unsigned int precise = 0;
	bool user, kernel;

	if (!colon || colon[1] == '\0' || colon[1 + strspn(colon + 1, "ukpP")] != '\0')
		return;
	for (const char *p = colon; *p; p++)
		precise += *p == 'p';
	spec->is_best_precise = strchr(colon, 'P');
	if (precise > PRECISE_MAX || (precise > 0 && spec->is_best_precise))
		return;
	spec->precise = spec->is_best_precise ? PRECISE_MAX : (uint8_t)precise;
	user = strchr(colon, 'u');
	kernel = strchr(colon, 'k');
	spec->exclude_kernel = user && !kernel;
	spec->exclude_user = kernel && !user;
	*colon = '\0';
}

/* Say in the name how precise the event is. */
static void rename_precise(struct event_spec *spec)
{
	char *colon = strrchr(spec->name, ':');
	size_t keep = 0;

	for (char *p = colon + 1; *p; p++)
		if (*p == 'u' || *p == 'k')
			colon[1 + keep++] = *p;
	snprintf(colon + 1 + keep, sizeof(spec->name) - (size_t)(colon + 1 + keep - spec->name),
		 "%.*s", spec->precise, "ppp");
	if (colon[1] == '\0')
		*colon = '\0';
}

bool event_lower_precision(struct event_spec *spec)
{
	if (spec->precise == 0)
		return false;
	spec->precise--;
	rename_precise(spec);
	return true;
}

/* NAME with a colon is a tracepoint, or a plain event with a modifier that is not known. */
static int parse_colon(char *name, char *colon, struct event_spec *spec, struct err *err)
{
	struct event_spec plain = {0};
	bool is_plain;

	*colon = '\0';
	is_plain = find_name(name, &plain) || find_raw(name, &plain);
	*colon = ':';
	if (is_plain) {
		char shown[EVENT_NAME_MAX];

		text_sanitize(colon + 1, strlen(colon + 1), shown, sizeof(shown));
		err_set(err, -EINVAL, "event '%.*s': unknown modifier '%s'", (int)(colon - name),
			name, shown);
		err_hint(err, ":u samples user code only, :k kernel code only, :p to :ppp and :P "
			      "are more precise");
		return -EINVAL;
	}
	return find_tracepoint(name, colon, spec, err);
}

int event_parse(const char *word, struct event_spec *ret, struct err *err)
{
	struct event_spec spec = {0};
	char name[EVENT_NAME_MAX];
	size_t len = strlen(word);
	char *colon;

	if (len == 0)
		return err_set(err, -EINVAL, "the event's name is empty");
	if (len >= sizeof(name))
		return err_set(err, -EINVAL, "the event's name is longer than %d characters",
			       EVENT_NAME_MAX - 1);
	memcpy(name, word, len + 1);
	text_sanitize(word, len, spec.name, sizeof(spec.name));
	if (strchr(name, '/') || strchr(name, ',')) {
		err_set(err, -EINVAL, "event '%s': one plain event, without '/' and ','",
			spec.name);
		err_hint(err, "for an event of the CPU's manual use rNNN (hexadecimal)");
		return -EINVAL;
	}
	take_modifiers(name, &spec);
	colon = strchr(name, ':');
	if (colon) {
		int r = parse_colon(name, colon, &spec, err);

		if (r < 0)
			return r;
	} else if (!find_name(name, &spec) && !find_raw(name, &spec)) {
		return unknown_name(name, err);
	}
	if (!event_skids(spec.type))
		spec.precise = 0;
	else if (spec.is_best_precise)
		rename_precise(&spec);
	*ret = spec;
	return 0;
}

void event_default(struct event_spec *ret)
{
	*ret = (struct event_spec){
		.name = "cycles",
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.is_default = true,
	};
}

void event_describe(uint32_t type, uint64_t config, bool exclude_user, bool exclude_kernel,
		    char *out, size_t out_size)
{
	static const char *const types[] = {
		[PERF_TYPE_HARDWARE] = "hardware",
		[PERF_TYPE_SOFTWARE] = "software",
		[PERF_TYPE_TRACEPOINT] = "tracepoint",
		[PERF_TYPE_HW_CACHE] = "cache",
		[PERF_TYPE_RAW] = "raw",
		[PERF_TYPE_BREAKPOINT] = "breakpoint",
	};
	const char *modifier = "";
	struct event_spec known;
	size_t i = 0;

	if (exclude_user != exclude_kernel)
		modifier = exclude_kernel ? ":u" : ":k";
	while (name_at(i, &known) && (known.type != type || known.config != config))
		i++;
	if (name_at(i, &known))
		snprintf(out, out_size, "%s%s", known.name, modifier);
	else if (type < ARRAY_SIZE(types))
		snprintf(out, out_size, "%s 0x%" PRIx64 "%s", types[type], config, modifier);
	else
		snprintf(out, out_size, "pmu %" PRIu32 " 0x%" PRIx64 "%s", type, config, modifier);
}

bool event_skids(uint32_t type)
{
	return type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT &&
	       type != PERF_TYPE_BREAKPOINT;
}

bool event_is_clock(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						     event->config == PERF_COUNT_SW_TASK_CLOCK);
}
