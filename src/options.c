/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command line: see options.h. Every option is a row of the table `specs`:
 * getopt's arrays and --help are made from it, and a test holds the manual and
 * the README against --help.
 */
#include "config.h"

#include "src/options.h"

#include "src/arguments.h"
#include "src/base/util.h"
#include "src/perf/live.h"
#include "unwind/unwind.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FREQ_DEFAULT_HZ	   999
#define FREQ_MAX_HZ	   1000000
#define PERIOD_MAX	   (1ull << 60)
#define DELAY_DEFAULT_NS   (2 * NS_PER_SEC)
#define DELAY_MIN_NS	   (NS_PER_SEC / 20)
#define DELAY_MAX_NS	   (3600 * NS_PER_SEC)
#define WINDOW_DEFAULT_NS  (10 * NS_PER_SEC)
#define WINDOW_MIN_NS	   (NS_PER_SEC / 10)
#define WINDOW_MAX_NS	   (86400 * NS_PER_SEC)
#define BUDGET_PCT	   5
#define COUNT_MAX	   1000000000
#define LIMIT_MAX	   1000000
#define MIN_PCT_DEFAULT	   0.5 /* as perf report's own trees */
#define WHEN_COUNT_DEFAULT 10
#define BYTES_PER_S_MAX	   1000000000
#define WHEN_COUNT_MAX	   1000000
#define OPTION_MAX	   16	   /* bytes of its name in messages */
#define PID_MAX		   4194304 /* the kernel's PID_MAX_LIMIT */
#define CPU_MAX		   65535
#define LONG_ONLY	   256 /* getopt's number of an option without a letter: this plus its row */
#ifdef HAVE_CAPSTONE
#define HAS_DISASSEMBLER true
#else
#define HAS_DISASSEMBLER false
#endif

/* An option as it was given. */
struct given {
	const struct spec *spec;
	const char *option; /* as messages call it: "-p", "--symfs" */
	const char *word;   /* its argument, or NULL */
};

/* A row of the table. The last four say where and how set() stores what it reads. */
struct spec {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none; "[=WORD]": may have one */
	const char *help;
	const char *group; /* a heading before this row, or NULL */
	int (*set)(const struct given *given, struct options *options, struct err *err);
	size_t at, nr, also; /* offsets in struct options: value, count, a flag that is set too */
	struct arg_list range;
	const char *(*name_of)(int);
	bool is_setting; /* may stand in the settings file */
};
#define AT(field)   .at = offsetof(struct options, field)
#define ALSO(field) .also = offsetof(struct options, field)

#define FLAG(field)	       .set = set_nothing, ALSO(field)
#define TEXT(field, right)     .set = set_text, AT(field), .range = {.what = right}
#define NUMBER(field, lo, hi)  .set = set_number, AT(field), .range = {.min = lo, .max = hi}
#define SECONDS(field, lo, hi) .set = set_seconds, AT(field), .range = {.min = lo, .max = hi}
#define PERCENT(field)	       .set = set_percent, AT(field)
#define NAME(field, names)     .set = set_name, AT(field), .name_of = names
#define IDS(ids, count, ...) \
	.set = set_ids, AT(ids), .nr = offsetof(struct options, count), .range = {__VA_ARGS__}
#define ACTION(which) .set = set_action, .range = {.min = which}
#define SETTING	      .is_setting = true

static void *at(struct options *o, size_t offset)
{
	return (char *)o + offset;
}

/* --- kinds of options --- */

static int set_nothing(const struct given *given, struct options *o, struct err *err)
{
	(void)given;
	(void)o;
	(void)err;
	return 0;
}

static int set_action(const struct given *given, struct options *o, struct err *err)
{
	(void)err;
	o->action = (enum options_action)given->spec->range.min;
	return 0;
}

static int set_text(const struct given *given, struct options *o, struct err *err)
{
	if (*given->word == '\0')
		return err_set(err, -EINVAL, "%s: '' is not %s", given->option,
			       given->spec->range.what);
	*(const char **)at(o, given->spec->at) = given->word;
	return 0;
}

static int set_number(const struct given *given, struct options *o, struct err *err)
{
	const struct spec *spec = given->spec;

	return arg_number(given->option, given->word, spec->range.min, spec->range.max,
			  at(o, spec->at), err);
}

static int set_seconds(const struct given *given, struct options *o, struct err *err)
{
	const struct spec *spec = given->spec;

	return arg_seconds(given->option, given->word, spec->range.min, spec->range.max,
			   at(o, spec->at), err);
}

static int set_percent(const struct given *given, struct options *o, struct err *err)
{
	return arg_percent(given->option, given->word, at(o, given->spec->at), err);
}

static int set_ids(const struct given *given, struct options *o, struct err *err)
{
	const struct spec *spec = given->spec;

	return arg_ids(given->option, &spec->range, given->word, at(o, spec->at), at(o, spec->nr),
		       err);
}

/* The number of a name into an enum. */
static int set_name(const struct given *given, struct options *o, struct err *err)
{
	return arg_name(given->option, given->word, given->spec->name_of, at(o, given->spec->at),
			err);
}
_Static_assert(sizeof(enum view_kind) == sizeof(unsigned int), "names are numbered so");

/* --- options of their own kind --- */

static int set_stack_bytes(struct options *o, const char *word, struct err *err)
{
	uint64_t bytes;
	int r = arg_number("--call-graph dwarf", word, LIVE_STACK_BYTES_MIN, LIVE_STACK_BYTES_MAX,
			   &bytes, err);

	if (r < 0)
		return r;
	o->stack_bytes = (uint32_t)bytes & ~7u; /* the kernel takes multiples of 8 */
	return 0;
}

static int set_mode(const struct given *given, struct options *o, struct err *err)
{
	const char *word = given->word;
	size_t len = strcspn(word, ",");
	char text[ARG_SHOWN_MAX];

	for (int mode = 0; mode < STACK_MODE_COUNT; mode++) {
		const char *name = stack_mode_name(mode);

		if (strlen(name) != len || memcmp(name, word, len) != 0)
			continue;
		o->mode = mode;
		if (word[len] == '\0') {
			o->stack_bytes = 0;
			return 0;
		}
		if (mode == STACK_MODE_DWARF)
			return set_stack_bytes(o, word + len + 1, err);
		return err_set(err, -EINVAL, "--call-graph: '%s': only dwarf takes a size",
			       arg_shown(word, text, sizeof(text)));
	}
	return err_set(err, -EINVAL, "--call-graph: '%s' is not fp, dwarf, dwarf,BYTES or lbr",
		       arg_shown(word, text, sizeof(text)));
}

static int set_shell(const struct given *given, struct options *o, struct err *err)
{
	o->action = OPTIONS_COMPLETION;
	return set_name(given, o, err);
}

static int set_columns(const struct given *given, struct options *o, struct err *err)
{
	char text[ARG_SHOWN_MAX];

	if (view_columns_parse(given->word, &o->columns) == 0)
		return 0;
	return err_set(err, -EINVAL, "%s: '%s' is no list of " VIEW_COLUMNS_NAMES, given->option,
		       arg_shown(given->word, text, sizeof(text)));
}

static int set_when(const struct given *given, struct options *o, struct err *err)
{
	int r;

	if (o->nr_whens == WHEN_MAX)
		return err_set(err, -EINVAL, "--when: %d conditions are watched for at most",
			       WHEN_MAX);
	r = when_parse(given->option, given->word, &o->whens[o->nr_whens], err);
	o->nr_whens += r == 0;
	return r;
}

static int set_debuginfod(const struct given *given, struct options *o, struct err *err)
{
	const char *word = given->word ? given->word : "on";

	o->debuginfod = NULL;
	if (strcmp(word, "ask") == 0 || strcmp(word, "off") == 0) {
		o->fetch = word[0] == 'a' ? OPTIONS_FETCH_ASK : OPTIONS_FETCH_OFF;
		return 0;
	}
#ifdef HAVE_DEBUGINFOD
	(void)err;
	o->fetch = OPTIONS_FETCH_ON;
	if (strcmp(word, "on") != 0)
		o->debuginfod = word;
	return 0;
#else
	return err_set(err, -EINVAL, "--debuginfod: this stacktop was built without debuginfod");
#endif
}

/* --- the table --- */

static const char *format_name_of(int format)
{
	static const char *const names[OPTIONS_FORMAT_COUNT + 1] = {
		[OPTIONS_TEXT] = "text",       [OPTIONS_JSON] = "json",
		[OPTIONS_SAMPLES] = "samples", [OPTIONS_SCRIPT] = "script",
		[OPTIONS_FOLDED] = "folded",   [OPTIONS_PPROF] = "pprof",
	};

	return names[format];
}

static const char *mode_name_of(int mode)
{
	return mode < STACK_MODE_COUNT ? stack_mode_name((enum stack_mode)mode) : NULL;
}

static const char *shell_name_of(int shell)
{
	static const char *const names[] = {
		[OPTIONS_BASH] = "bash",
		[OPTIONS_ZSH] = "zsh",
		[OPTIONS_FISH] = "fish",
		[OPTIONS_FISH + 1] = NULL,
	};

	return names[shell];
}

static const struct spec specs[] = {
	{'p', "pid", "PID[,...]",
	 "these processes, all their threads and children; without a number: a menu of processes",
	 "What to profile (default: all CPUs)",
	 IDS(pids, nr_pids, "a process id or a list of them, like 12,34", 1, PID_MAX, false)},
	{'t', "tid", "TID[,...]", "these threads and what they create", NULL,
	 IDS(tids, nr_tids, "a thread id or a list of them, like 12,34", 1, PID_MAX, false)},
	{'u', "uid", "USER",
	 "the processes that this user, by name or number, has now, and their children", NULL,
	 TEXT(user, "the name or number of a user")},
	{0, "cgroup", "GROUP",
	 "a control group with all below it: a path, a systemd unit like nginx.service, or a container by "
	 "name or id",
	 NULL, TEXT(cgroup, "the path of a control group, a unit or a container")},
	{'C', "cpu", "LIST", "these CPUs only, like 0-2,5", NULL,
	 IDS(cpus, nr_cpus, "a list of CPUs, like 0-2,5", 0, CPU_MAX, true)},
	{'i', "input", "FILE",
	 "no live profile: a recording made by perf record, or - to read one from standard input",
	 NULL, TEXT(input, "the name of a file")},
	{0, "symfs", "DIR", "with -i: look for its files below DIR", NULL,
	 TEXT(symfs, "the name of a folder")},

	{'F', "freq", "HZ", "samples per second and CPU (default 999)", "How to sample",
	 NUMBER(freq_hz, 1, FREQ_MAX_HZ), ALSO(freq_given), SETTING},
	{'c', "count", "PERIOD", "a sample every PERIOD events instead", NULL,
	 NUMBER(period, 1, PERIOD_MAX), ALSO(period_given)},
	{'e', "event", "EVENT",
	 "cycles, instructions, cache-misses, cpu-clock, page-faults, rNNN, SUBSYSTEM:NAME ...; "
	 ":u or :k behind it for user or kernel only (default cycles, else cpu-clock); with -i: which of "
	 "its events, by name or number",
	 NULL, TEXT(event, "an event, like cycles or cpu-clock:u")},
	{0, "call-graph", "MODE",
	 "how stacks are unwound: fp, dwarf[,BYTES of stack to copy, 4096 to 65528; without: as many as "
	 "are needed] or lbr (default dwarf)",
	 NULL, .set = set_mode, ALSO(mode_given), .name_of = mode_name_of, SETTING},
	{0, "max-depth", "FRAMES",
	 "at most so many frames of a user stack, 1024 to 65536; what is deeper ends \"depth\" "
	 "(default 4096)",
	 NULL, NUMBER(max_depth, UNWIND_FRAMES_MAX, UNWIND_DEPTH_MAX), SETTING},
	{0, "budget", "PERCENT",
	 "what sampling may cost of each CPU that is sampled, what it takes from the programs included; "
	 "copies of stacks and rate are lowered to stay below it (default 5; 0: no limit)",
	 NULL, NUMBER(budget_pct, 0, 100), ALSO(budget_given), SETTING},
	{0, "no-complete", NULL,
	 "leave stacks that are cut off as they are: read no rest from the process, take none from "
	 "earlier stacks of the thread",
	 NULL, FLAG(no_complete), SETTING},
	{0, "window", "SECONDS", "sums are over the last SECONDS (default 10)", NULL,
	 SECONDS(window_ns, WINDOW_MIN_NS, WINDOW_MAX_NS), ALSO(window_given), SETTING},

	{'d', "delay", "SECONDS", "between two refreshes (default 2)", "What to show",
	 SECONDS(delay_ns, DELAY_MIN_NS, DELAY_MAX_NS), ALSO(delay_given), SETTING},
	{0, "view", "VIEW",
	 "functions, callers, tree, butterfly, processes or health (default functions)", NULL,
	 NAME(view, view_name), SETTING},
	{0, "sort", "COLUMN", "self, total, name or object (default self)", NULL,
	 NAME(sort, view_sort_name), SETTING},
	{0, "names", "FORM",
	 "short (without arguments), full, mangled, or merged: short, and those of one name are one (default short)",
	 NULL, NAME(names, view_names_name), ALSO(names_given), SETTING},
	{0, "columns", "LIST",
	 "self, trend, total, error, change, samples, object, line, procs, threads and container: those that are wanted, "
	 "separated by commas (key c)",
	 NULL, .set = set_columns, SETTING},
	{0, "inline", NULL,
	 "show inlined functions as frames of their own, with files and lines, as far as debug "
	 "information tells (key i)",
	 NULL, FLAG(is_inlined), SETTING},
	{0, "fold-recursion", NULL,
	 "cycles of calls that follow each other are one, with their number (key r)", NULL,
	 FLAG(folds_recursion), SETTING},
	{0, "mouse", NULL,
	 "the mouse chooses rows and views, and its wheel moves (key M); the terminal's own copying does "
	 "not work then",
	 NULL, FLAG(has_mouse), SETTING},
	{0, "theme", "THEME",
	 "colours for a dark or a light background, or mono for none (default dark)", NULL,
	 NAME(theme, view_theme_name), SETTING},
	{0, "no-color", NULL, "no colours on the screen, as with NO_COLOR set", NULL,
	 FLAG(no_color), SETTING},
	{0, "max-bytes-per-second", "BYTES",
	 "over a slow link: the screen is drawn less often, so that no more is sent (default 0: no limit)",
	 NULL, NUMBER(max_bytes_per_s, 0, BYTES_PER_S_MAX), SETTING},

	{'b', "batch", NULL, "write text instead of showing a screen",
	 "Batch mode (also without a terminal on standard output)", FLAG(batch)},
	{'n', "iterations", "COUNT", "end after so many blocks, or samples; implies -b", NULL,
	 NUMBER(count, 1, COUNT_MAX), ALSO(batch)},
	{0, "annotate", "SYMBOL",
	 "the instructions of one function, with the samples in each: the one with this name, or the only "
	 "one with it in its name; implies -b",
	 NULL, TEXT(annotate, "the name of a function"), ALSO(batch)},
	{0, "butterfly", "SYMBOL",
	 "the callers and callees of one function, which is named in the same way; implies -b",
	 NULL, TEXT(butterfly, "the name of a function"), ALSO(batch)},
	{0, "limit", "ROWS", "at most so many rows in a block (default all)", NULL,
	 NUMBER(limit, 1, LIMIT_MAX)},
	{0, "min-percent", "PERCENT",
	 "trees are open down to rows of this share of all, smaller ones are [other] (default 0.5)",
	 NULL, PERCENT(min_pct)},
	{'o', "output", "FILE", "write to FILE, which must not exist yet; implies -b", NULL,
	 TEXT(output, "the name of a file"), ALSO(batch)},
	{0, "bundle", "DIR",
	 "write all of one picture into the new folder DIR: the views as text and json, folded, pprof, "
	 "single samples, health and settings; implies -b",
	 NULL, TEXT(bundle, "the name of a folder"), ALSO(batch)},
	{0, "format", "FORMAT",
	 "text, json (one document per line), folded (stacks for flame graphs), pprof (one profile), "
	 "script (single samples as perf script writes them) or samples (with what ends each stack); "
	 "implies -b",
	 NULL, NAME(format, format_name_of), ALSO(batch)},

	{0, "when", "CONDITION",
	 "write all views and formats to stacktop-HOST-TIME.tar here each time this becomes true: cpu, "
	 "samples, self(NAME), total(NAME), complete, lost, drop or cost, then > >= < or <=, then a number, "
	 "like 'cpu>80', 'total(memcpy)>5', 'lost>0'; may be given several times",
	 "Watch (screen and batch mode)", .set = set_when},
	{0, "when-count", "COUNT", "at most so many files for --when (default 10)", NULL,
	 NUMBER(when_count, 1, WHEN_COUNT_MAX), ALSO(when_count_given)},

	{0, "debuginfod", "[=WHEN]",
	 "fetch debug files that are not on this machine from the servers of DEBUGINFOD_URLS or "
	 "/etc/debuginfod: on, off or ask (default ask: the key D of the screen allows it; off in "
	 "batch mode); or the URLs of servers, on",
	 "Other", .set = set_debuginfod, SETTING},
	{0, "completion", "SHELL", "print what completes this command line in bash, zsh or fish",
	 NULL, .set = set_shell, AT(shell), .name_of = shell_name_of},
	{'V', "version", NULL, "show the version", NULL, ACTION(OPTIONS_VERSION)},
	{'h', "help", NULL, "show this help", NULL, ACTION(OPTIONS_HELP)},
};

static bool is_optional(const char *argument)
{
	return argument && argument[0] == '[';
}

/* --- parsing --- */

struct getopt_tables {
	char letters[2 + 2 * ARRAY_SIZE(specs) + 1];
	struct option names[ARRAY_SIZE(specs) + 1];
};

static int number_of(size_t row)
{
	return specs[row].letter ? specs[row].letter : LONG_ONLY + (int)row;
}

static const struct spec *spec_of(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		if (number_of(i) == number)
			return &specs[i];
	}
	return NULL;
}

/* TABLES is zeroed. */
static void fill_tables(struct getopt_tables *tables)
{
	char *p = tables->letters;

	*p++ = '+'; /* stop at the first word that is no option: the command's own follow */
	*p++ = ':'; /* distinguish a missing argument from an unknown option */
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		if (specs[i].letter) {
			*p++ = specs[i].letter;
			if (specs[i].argument)
				*p++ = ':';
		}
		tables->names[i] = (struct option){
			.name = specs[i].name,
			.has_arg = is_optional(specs[i].argument) ? optional_argument
				   : specs[i].argument		  ? required_argument
								  : no_argument,
			.val = number_of(i),
		};
	}
	*p = '\0';
}

static int refuse_unknown(const char *word, struct err *err)
{
	char letter[] = {(char)optopt, '\0'};
	char text[ARG_SHOWN_MAX];

	if (optopt && optopt < LONG_ONLY)
		return err_set(err, -EINVAL, "unknown option '-%s'",
			       arg_shown(letter, text, sizeof(text)));
	return err_set(err, -EINVAL, "unknown or ambiguous option '%s'",
		       arg_shown(word, text, sizeof(text)));
}

/* getopt answered '?' or ':'; WORD is what it looked at. */
static int refuse(int answer, const char *word, struct err *err)
{
	const struct spec *spec = spec_of(optopt);
	char text[ARG_SHOWN_MAX];

	if (!spec)
		return refuse_unknown(word, err);
	if (answer == ':')
		return err_set(err, -EINVAL, "%s: %s is missing",
			       arg_shown(word, text, sizeof(text)), spec->argument);
	return err_set(err, -EINVAL, "'%s': --%s takes no argument",
		       arg_shown(word, text, sizeof(text)), spec->name);
}

/* What getopt took for the argument is a word of its own that begins as options do: no number of a process. */
static bool is_another_option(char **argv)
{
	return optarg == argv[optind - 1] && optarg[0] == '-' && optarg[1] != '\0' &&
	       !isdigit((unsigned char)optarg[1]);
}

static int parse_words(int argc, char **argv, struct options *o, struct err *err)
{
	struct getopt_tables tables = {0};

	fill_tables(&tables);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	for (;;) {
		int word = optind > 0 ? optind : 1, answer, r;
		char option[OPTION_MAX];
		struct given given;

		answer = getopt_long(argc, argv, tables.letters, tables.names, NULL);
		if (answer == -1)
			return 0;
		if (answer == 'p' && is_another_option(argv)) {
			o->asks_pid = true;
			optind--; /* it is looked at for itself */
			continue;
		}
		if (answer == ':' && optopt == 'p') {
			o->asks_pid = true;
			return 0; /* there are no more words */
		}
		if (answer == '?' || answer == ':')
			return refuse(answer, argv[MIN(word, argc - 1)], err);
		given = (struct given){spec_of(answer), option, optarg};
		assert(given.spec);
		if (given.spec->letter)
			snprintf(option, sizeof(option), "-%c", given.spec->letter);
		else
			snprintf(option, sizeof(option), "--%s", given.spec->name);
		if (given.spec->also)
			*(bool *)at(o, given.spec->also) = true;
		r = given.spec->set(&given, o, err);
		if (r < 0 || o->action != OPTIONS_RUN)
			return r; /* --help wins over what follows it */
	}
}

static int take_command(int argc, char **argv, struct options *o, struct err *err)
{
	bool dashes = optind > 1 && optind <= argc && strcmp(argv[optind - 1], "--") == 0;
	char text[ARG_SHOWN_MAX];

	if (optind < argc && !dashes) {
		arg_shown(argv[optind], text, sizeof(text));
		return err_set(err, -EINVAL,
			       "unexpected word '%s': to profile a command, write stacktop -- %s",
			       text, text);
	}
	if (!dashes)
		return 0;
	if (optind == argc)
		return err_set(err, -EINVAL, "'--': the command to profile is missing");
	o->command = argv + optind;
	return 0;
}

/* What was chosen when a recording was made. */
static int check_recording(const struct options *o, struct err *err)
{
	const struct {
		bool is_given;
		const char *name;
	} others[] = {
		{o->nr_pids > 0 || o->asks_pid, "-p"},
		{o->nr_tids > 0, "-t"},
		{o->user != NULL, "-u"},
		{o->cgroup != NULL, "--cgroup"},
		{o->nr_cpus > 0, "-C"},
		{o->freq_given, "-F"},
		{o->period_given, "-c"},
		{o->mode_given, "--call-graph"},
		{o->window_given, "--window"},
		{o->budget_given, "--budget"},
		{o->nr_whens > 0, "--when"},
		{o->command != NULL, "a command"},
	};

	if (!o->input)
		return o->symfs ? err_set(err, -EINVAL,
					  "--symfs is for a recording: give it with -i")
				: 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].is_given)
			return err_set(
				err, -EINVAL,
				"-i and %s exclude each other: a recording is shown as it was made",
				others[i].name);
	return 0;
}

/* Two of them would be either's or both's: nobody could tell. */
static int check_targets(const struct options *o, struct err *err)
{
	const struct {
		bool is_given;
		const char *name;
	} targets[] = {
		{o->nr_pids > 0 || o->asks_pid, "-p"},
		{o->nr_tids > 0, "-t"},
		{o->user != NULL, "-u"},
		{o->cgroup != NULL, "--cgroup"},
		{o->command != NULL, "a command"},
	};
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		if (!targets[i].is_given)
			continue;
		if (first)
			return err_set(err, -EINVAL,
				       "%s and %s exclude each other: choose one target", first,
				       targets[i].name);
		first = targets[i].name;
	}
	return 0;
}

/* Each is a view of its own, in the formats that have a place for it. */
static int check_function(struct options *o, struct err *err)
{
	const char *option = o->annotate ? "--annotate" : "--butterfly";

	if (!o->annotate && !o->butterfly)
		return 0;
	if (o->annotate && o->butterfly)
		return err_set(err, -EINVAL,
			       "--annotate and --butterfly exclude each other: choose one");
	if (o->annotate && !HAS_DISASSEMBLER)
		return err_set(err, -EINVAL,
			       "--annotate: this stacktop was built without libcapstone");
	if (o->format != OPTIONS_TEXT && o->format != OPTIONS_JSON)
		return err_set(err, -EINVAL,
			       "%s and --format=%s exclude each other: use text or json", option,
			       format_name_of((int)o->format));
	if (o->butterfly)
		o->view = VIEW_BUTTERFLY;
	else if (o->format == OPTIONS_TEXT)
		o->view = VIEW_ANNOTATE;
	return 0;
}

static int check_together(const struct options *o, struct err *err)
{
	int r = check_recording(o, err);

	if (r < 0)
		return r;
	r = check_targets(o, err);
	if (r < 0)
		return r;
	if (o->asks_pid && (o->nr_pids || o->batch))
		return err_set(err, -EINVAL,
			       "-p: PID[,...] is missing: a menu of processes is for a screen%s",
			       o->batch ? "" : ", and instead of a list");
	if (o->freq_given && o->period_given)
		return err_set(err, -EINVAL, "-F and -c exclude each other: choose one");
	if (o->format == OPTIONS_PPROF && o->count > 1)
		return err_set(err, -EINVAL, "-n: a file of --format=pprof is one profile");
	if (o->names_given && o->batch && o->format != OPTIONS_TEXT)
		return err_set(err, -EINVAL, "--names is for screen and text: %s has names in full",
			       format_name_of(o->format));
	if (o->when_count_given && !o->nr_whens)
		return err_set(
			err, -EINVAL,
			"--when-count is for --when: give a condition, like --when 'cpu>80'");
	if (o->bundle && o->nr_whens)
		return err_set(err, -EINVAL,
			       "--bundle and --when exclude each other: one picture now, or when a "
			       "condition is true");
	if (o->bundle && (o->output || o->format != OPTIONS_TEXT || o->count > 1))
		return err_set(
			err, -EINVAL,
			"--bundle and %s exclude each other: it has one picture in all formats",
			o->output      ? "-o"
			: o->count > 1 ? "-n"
				       : "--format");
	return 0;
}

/* --- settings --- */

static int set_flag(const struct given *given, struct options *o, struct err *err)
{
	char text[ARG_SHOWN_MAX];
	bool is_on = strcmp(given->word, "yes") == 0;

	if (!is_on && strcmp(given->word, "no") != 0)
		return err_set(err, -EINVAL, "%s: '%s' is not yes or no", given->option,
			       arg_shown(given->word, text, sizeof(text)));
	*(bool *)at(o, given->spec->also) = is_on;
	return 0;
}

int options_set(struct options *o, const char *name, const char *word, struct err *err)
{
	struct given given = {.option = name, .word = word};
	char text[ARG_SHOWN_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(specs) && !given.spec; i++)
		if (specs[i].is_setting && strcmp(specs[i].name, name) == 0)
			given.spec = &specs[i];
	if (!given.spec)
		return err_set(err, -EINVAL, "'%s' is no setting",
			       arg_shown(name, text, sizeof(text)));
	/* Whether it was given is said of the command line alone: what excludes each other is chosen there. */
	return given.spec->argument ? given.spec->set(&given, o, err) : set_flag(&given, o, err);
}

void options_init(struct options *ret)
{
	*ret = (struct options){
		.freq_hz = FREQ_DEFAULT_HZ,
		.mode = STACK_MODE_DWARF,
		.budget_pct = BUDGET_PCT,
		.delay_ns = DELAY_DEFAULT_NS,
		.min_pct = MIN_PCT_DEFAULT,
		.window_ns = WINDOW_DEFAULT_NS,
		.when_count = WHEN_COUNT_DEFAULT,
	};
}

int options_parse(int argc, char **argv, const struct options *defaults, struct options *ret,
		  struct err *err)
{
	int r;

	*ret = *defaults;
	r = parse_words(argc, argv, ret, err);
	if (r < 0 || ret->action != OPTIONS_RUN)
		return r;
	if (ret->period_given && !ret->freq_given)
		ret->freq_hz = 0;
	r = take_command(argc, argv, ret, err);
	if ((ret->format == OPTIONS_PPROF || ret->bundle) && ret->count == 0)
		ret->count = 1;
	if (r == 0)
		r = check_function(ret, err);
	return r < 0 ? r : check_together(ret, err);
}

void options_done(struct options *options)
{
	free(options->pids);
	free(options->tids);
	free(options->cpus);
	*options = (struct options){0};
}

/* --- help --- */

bool options_row(size_t i, struct options_row *ret)
{
	if (i >= ARRAY_SIZE(specs))
		return false;
	*ret = (struct options_row){specs[i].letter, specs[i].name, specs[i].argument,
				    specs[i].help, specs[i].name_of};
	return true;
}

#define HELP_COLUMN 30
#define HELP_WIDTH  80

static void print_wrapped(FILE *stream, const char *text, int column)
{
	int at = column;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > column && at + 1 + (int)len > HELP_WIDTH) {
			fprintf(stream, "\n%*s", column, "");
			at = column;
		}
		if (at > column)
			at += fprintf(stream, " ");
		fwrite(text, 1, len, stream);
		at += (int)len;
		text += len;
		text += strspn(text, " ");
	}
	putc('\n', stream);
}

void options_print_help(FILE *stream)
{
	fputs("Usage: stacktop [OPTION...] [-- COMMAND [ARGUMENT...]]\n"
	      "A live profile of the machine, of some processes, or of a command: which\n"
	      "functions run now and who calls them.\n",
	      stream);
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		const struct spec *s = &specs[i];
		int at;

		if (s->group)
			fprintf(stream, "\n%s:\n", s->group);
		at = s->letter ? fprintf(stream, "  -%c, --%s", s->letter, s->name)
			       : fprintf(stream, "      --%s", s->name);
		if (s->argument)
			at += fprintf(stream, is_optional(s->argument) ? "%s" : "=%s", s->argument);
		if (at + 2 > HELP_COLUMN) {
			putc('\n', stream);
			at = 0;
		}
		fprintf(stream, "%*s", HELP_COLUMN - at, "");
		print_wrapped(stream, s->help, HELP_COLUMN);
	}
	fputs("\nKeys are listed by ? on the screen. Exit status: 0, 1 failure, 2 usage, 128+n\n"
	      "signal n; in batch mode with a COMMAND, the command's own.\n",
	      stream);
}
