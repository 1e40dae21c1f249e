/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions: see when.h. */
#include "config.h"

#include "src/view/when.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/view/pattern.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YOUNG_NS	NS_PER_SEC	 /* sums of less say nothing */
#define APART_NS	NS_PER_SEC	 /* names of files are by the second */
#define SETTLE_MAX_NS	(2 * NS_PER_SEC) /* the evidence waits so long for names and tables */
#define FEW		20		 /* one part in so many is few */
#define NUMBER_TEXT_MAX 24

static const struct {
	const char *word;
	bool takes_name, is_share;
} whats[WHEN_COUNT] = {
	[WHEN_CPU] = {"cpu", false, true},	     [WHEN_SAMPLES] = {"samples", false, false},
	[WHEN_SELF] = {"self", true, true},	     [WHEN_TOTAL] = {"total", true, true},
	[WHEN_COMPLETE] = {"complete", false, true}, [WHEN_LOST] = {"lost", false, false},
	[WHEN_DROP] = {"drop", false, false},	     [WHEN_COST] = {"cost", false, false},
};

/* --- reading --- */

/* What is left to be read of a condition, and how to complain about it. */
struct reading {
	const char *option, *text, *at;
	struct err *err;
};

static int expect(const struct reading *r, const char *what)
{
	char shown[WHEN_TEXT_MAX];

	text_sanitize(r->text, strlen(r->text), shown, sizeof(shown));
	return err_set(r->err, -EINVAL, "%s: '%s', character %zu: %s", r->option, shown,
		       (size_t)(r->at - r->text) + 1, what);
}

static void skip_spaces(struct reading *r)
{
	r->at += strspn(r->at, " \t");
}

static int read_what(struct reading *r, struct when *ret)
{
	size_t len = strspn(r->at, "abcdefghijklmnopqrstuvwxyz");

	for (int what = 0; what < WHEN_COUNT; what++) {
		if (strlen(whats[what].word) != len || memcmp(whats[what].word, r->at, len) != 0)
			continue;
		ret->what = (enum when_what)what;
		r->at += len;
		return 0;
	}
	return expect(r, "cpu, samples, self(NAME), total(NAME), complete, lost, drop or cost is "
			 "expected");
}

/* Up to the last ')': names of functions have some of their own. */
static int read_name(struct reading *r, struct when *ret)
{
	const char *end = strrchr(r->at, ')');
	size_t len;

	if (*r->at != '(')
		return expect(r, "the name of a function is expected, like (memcpy)");
	r->at++;
	if (!end) {
		r->at += strlen(r->at);
		return expect(r, "the ')' behind the name is missing");
	}
	len = (size_t)(end - r->at);
	if (len == 0)
		return expect(r, "the name of a function is missing");
	memcpy(ret->name, r->at, len); /* of the whole text it is known that there is room */
	ret->name[len] = '\0';
	r->at = end + 1;
	return 0;
}

static int read_operator(struct reading *r, struct when *ret)
{
	if (*r->at != '>' && *r->at != '<')
		return expect(r, "> >= < or <= is expected");
	ret->is_below = *r->at++ == '<';
	ret->or_equal = *r->at == '=';
	r->at += ret->or_equal;
	return 0;
}

static int read_number(struct reading *r, struct when *ret)
{
	size_t whole = strspn(r->at, "0123456789"), len = whole, more;
	char digits[NUMBER_TEXT_MAX];

	if (r->at[len] == '.') {
		more = strspn(r->at + len + 1, "0123456789");
		len += 1 + more;
		whole += more;
	}
	if (whole == 0)
		return expect(r, "a number is expected");
	if (len >= sizeof(digits))
		return expect(r, "the number has too many digits");
	memcpy(digits, r->at, len);
	digits[len] = '\0';
	ret->number = strtod(digits, NULL);
	if (whats[ret->what].is_share && ret->number > 100)
		return expect(r, "a share is 100 percent at most");
	r->at += len;
	if (*r->at == '%' && (whats[ret->what].is_share || ret->what == WHEN_COST))
		r->at++;
	return 0;
}

int when_parse(const char *option, const char *text, struct when *ret, struct err *err)
{
	struct reading reading = {option, text, text, err};
	int r;

	*ret = (struct when){0};
	if (strlen(text) >= sizeof(ret->text)) {
		reading.at += sizeof(ret->text) - 1;
		return expect(&reading, "the condition is too long");
	}
	text_sanitize(text, strlen(text), ret->text, sizeof(ret->text));
	skip_spaces(&reading);
	r = read_what(&reading, ret);
	if (r == 0 && whats[ret->what].takes_name)
		r = read_name(&reading, ret);
	skip_spaces(&reading);
	if (r == 0)
		r = read_operator(&reading, ret);
	skip_spaces(&reading);
	if (r == 0)
		r = read_number(&reading, ret);
	skip_spaces(&reading);
	if (r == 0 && *reading.at)
		r = expect(&reading, "nothing more is expected");
	return r;
}

/* --- what it is now; NAN: not known --- */

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static uint64_t covered_ns(const struct snapshot *s)
{
	return s->window_end_ns - MIN(s->window_start_ns, s->window_end_ns);
}

static bool is_clock(const struct snapshot *s)
{
	const char *event = snapshot_text(s, s->settings.event);

	return strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0;
}

/* Clocks count the time itself; of other events only how often they are to come while a CPU is busy is known. */
static double cpu_of(const struct snapshot *s)
{
	const struct snap_settings *set = &s->settings;
	double time_s = (double)covered_ns(s) / (double)NS_PER_SEC * set->cpus_sampled;

	if (is_clock(s))
		return percent((double)s->total / (double)NS_PER_SEC, time_s);
	return percent((double)s->nr_samples * MAX(set->rate_divisor, 1u) * MAX(set->thinning, 1u),
		       set->freq_asked_hz * time_s);
}

/* Those that still wait for their tables may end in either way. */
static double complete_of(const struct snapshot *s)
{
	const uint64_t *ends = s->health.ends_now;
	uint64_t complete = 0;

	for (int end = 0; end < STACK_END_COUNT; end++)
		complete += stack_end_is_root((enum stack_end)end) ? ends[end] : 0;
	return percent((double)complete, (double)health_known_now(&s->health));
}

/* The share of stacks that end in (IS_SELF) or go through functions that NAME is in. */
static double share_of(const struct snapshot *s, const char *name, bool is_self)
{
	bool *is_in = calloc((size_t)s->nr_funcs + s->nr_nodes + 1, sizeof(*is_in));
	bool *goes_through = is_in ? is_in + s->nr_funcs : NULL;
	struct pattern pattern;
	uint64_t weight = 0;

	if (!is_in)
		return NAN;
	pattern_open(&pattern, name);
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		is_in[i] = pattern_finds(&pattern, snapshot_text(s, s->funcs[i].name));
		weight += is_self && is_in[i] ? s->funcs[i].self : 0;
	}
	for (uint32_t i = 1; i < s->nr_nodes && !is_self; i++) {
		const struct snap_node *node = &s->nodes[i];

		goes_through[i] = goes_through[node->parent] || is_in[node->func];
		weight += goes_through[i] ? node->self : 0;
	}
	pattern_close(&pattern);
	free(is_in);
	return percent((double)weight, (double)s->total);
}

static double value_of(const struct trigger *t, const struct when *when, const struct snapshot *s)
{
	const struct health *h = &s->health;
	uint64_t young_ns = MIN((uint64_t)(s->settings.window_s * 0.9 * 1e9), YOUNG_NS);

	if (when->what == WHEN_LOST)
		return (double)(h->lost + h->lost_samples - t->lost);
	if (when->what == WHEN_DROP)
		return (double)(h->dropped - t->dropped);
	if (covered_ns(s) < young_ns)
		return NAN;
	switch (when->what) {
	case WHEN_CPU:
		return cpu_of(s);
	case WHEN_SAMPLES:
		return (double)s->nr_samples;
	case WHEN_SELF:
	case WHEN_TOTAL:
		return share_of(s, when->name, when->what == WHEN_SELF);
	case WHEN_COMPLETE:
		return complete_of(s);
	case WHEN_COST:
		return h->own_cpu_pct;
	default:
		return NAN;
	}
}

static bool is_true(const struct when *when, double value)
{
	if (when->is_below)
		return value < when->number || (when->or_equal && value <= when->number);
	return value > when->number || (when->or_equal && value >= when->number);
}

/* --- the moment --- */

void trigger_init(struct trigger *t, const struct when *whens, uint32_t nr, uint64_t count)
{
	assert(nr <= WHEN_MAX);
	*t = (struct trigger){.whens = whens, .nr_whens = nr, .count = count};
}

static void look_at(struct trigger *t, const struct snapshot *s)
{
	for (uint32_t i = 0; i < t->nr_whens; i++) {
		double value = value_of(t, &t->whens[i], s);
		bool was_true = t->was_true[i];

		if (isnan(value))
			continue;
		t->was_true[i] = is_true(&t->whens[i], value);
		if (!t->was_true[i] || was_true)
			continue;
		if (!t->due_ns)
			t->why[0] = '\0';
		t->due_ns = t->due_ns ? t->due_ns : s->time_ns;
		text_append(t->why, sizeof(t->why), "%s", t->whens[i].text);
	}
	t->lost = s->health.lost + s->health.lost_samples;
	t->dropped = s->health.dropped;
}

/* Functions have their names and stacks their tables, but for a few. */
static bool is_settled(const struct snapshot *s)
{
	const struct health *h = &s->health;

	return h->names_pending <= h->frames / FEW &&
	       h->ends_now[STACK_END_PENDING] <= health_user_stacks(h->ends_now) / FEW;
}

bool trigger_look(struct trigger *t, const struct snapshot *s, bool can_write)
{
	if (s->settings.frozen || t->nr_fired >= t->count)
		return false;
	look_at(t, s);
	if (!t->due_ns || !can_write || (t->last_ns && s->time_ns - t->last_ns < APART_NS) ||
	    (!is_settled(s) && s->time_ns - t->due_ns < SETTLE_MAX_NS))
		return false;
	t->due_ns = 0;
	t->last_ns = s->time_ns;
	t->nr_fired++;
	return true;
}

bool trigger_doubt(struct trigger *t, const struct snapshot *s, char *out, size_t size)
{
	if (t->has_doubted || is_clock(s) || s->settings.freq_asked_hz > 0)
		return false;
	for (uint32_t i = 0; i < t->nr_whens; i++) {
		if (t->whens[i].what != WHEN_CPU)
			continue;
		t->has_doubted = true;
		snprintf(out, size, "%s cannot be told with -c of %s: use -F, or -e cpu-clock",
			 t->whens[i].text, snapshot_text(s, s->settings.event));
		return true;
	}
	return false;
}

void trigger_text(const struct trigger *t, char *out, size_t size)
{
	size_t len = (size_t)snprintf(out, size, "watches");

	for (uint32_t i = 0; i < t->nr_whens && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s %s", i ? "," : "",
					t->whens[i].text);
	if (t->nr_fired && len < size)
		snprintf(out + len, size - len, ": %" PRIu64 " of %" PRIu64 " written", t->nr_fired,
			 t->count);
}
