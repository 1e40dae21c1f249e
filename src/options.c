/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command line: see options.h. Every option is a row of the table `specs`:
 * getopt's arrays and --help are made from it, and a test holds the manual and
 * the README against --help.
 */
#include "config.h"

#include "src/options.h"

#include "src/base/util.h"
#include "src/perf/live.h"
#include "src/words.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FREQ_DEFAULT_HZ	  999
#define FREQ_MAX_HZ	  1000000
#define PERIOD_MAX	  (1ull << 60)
#define DELAY_DEFAULT_NS  (2 * NS_PER_SEC)
#define DELAY_MIN_NS	  (NS_PER_SEC / 20)
#define DELAY_MAX_NS	  (3600 * NS_PER_SEC)
#define WINDOW_DEFAULT_NS (10 * NS_PER_SEC)
#define WINDOW_MIN_NS	  (NS_PER_SEC / 10)
#define WINDOW_MAX_NS	  (86400 * NS_PER_SEC)
#define COUNT_MAX	  1000000000
#define LIMIT_MAX	  1000000
#define PID_MAX		  4194304 /* the kernel's PID_MAX_LIMIT */
#define CPU_MAX		  65535
#define LONG_ONLY	  256 /* getopt's number of an option without a letter: this plus its row */

struct spec {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none; "[=WORD]": may have one */
	const char *help;
	int (*set)(struct options *options, const char *word, struct err *err);
	const char *group; /* a heading before this row, or NULL */
};

/* --- the options --- */

static int set_input(struct options *o, const char *word, struct err *err)
{
	if (*word == '\0')
		return err_set(err, -EINVAL, "-i: '' is not the name of a file");
	o->input = word;
	return 0;
}

static int set_symfs(struct options *o, const char *word, struct err *err)
{
	if (*word == '\0')
		return err_set(err, -EINVAL, "--symfs: '' is not the name of a folder");
	o->symfs = word;
	return 0;
}

static int set_pids(struct options *o, const char *word, struct err *err)
{
	return words_ids("-p", "a process id or a list of them, like 12,34", word, false, 1,
			 PID_MAX, &o->pids, &o->nr_pids, err);
}

static int set_tids(struct options *o, const char *word, struct err *err)
{
	return words_ids("-t", "a thread id or a list of them, like 12,34", word, false, 1, PID_MAX,
			 &o->tids, &o->nr_tids, err);
}

static int set_cpus(struct options *o, const char *word, struct err *err)
{
	return words_ids("-C", "a list of CPUs, like 0-2,5", word, true, 0, CPU_MAX, &o->cpus,
			 &o->nr_cpus, err);
}

static int set_freq(struct options *o, const char *word, struct err *err)
{
	o->freq_given = true;
	return words_number("-F", word, 1, FREQ_MAX_HZ, &o->freq_hz, err);
}

static int set_period(struct options *o, const char *word, struct err *err)
{
	o->period_given = true;
	return words_number("-c", word, 1, PERIOD_MAX, &o->period, err);
}

static int set_event(struct options *o, const char *word, struct err *err)
{
	if (*word == '\0')
		return err_set(err, -EINVAL, "-e: '' is not an event, like cycles or cpu-clock:u");
	o->event = word;
	return 0;
}

static int set_stack_bytes(struct options *o, const char *word, struct err *err)
{
	uint64_t bytes;
	int r = words_number("--call-graph dwarf", word, LIVE_STACK_BYTES_MIN, LIVE_STACK_BYTES_MAX,
			     &bytes, err);

	if (r < 0)
		return r;
	o->stack_bytes = (uint32_t)bytes & ~7u; /* the kernel wants a multiple of 8 */
	return 0;
}

static int set_mode(struct options *o, const char *word, struct err *err)
{
	size_t len = strcspn(word, ",");
	char text[WORDS_SHOWN_MAX];

	o->mode_given = true;
	for (int mode = 0; mode < STACK_MODE_COUNT; mode++) {
		const char *name = stack_mode_name(mode);

		if (strlen(name) != len || memcmp(name, word, len) != 0)
			continue;
		o->mode = mode;
		if (word[len] == '\0')
			return 0;
		if (mode == STACK_MODE_DWARF)
			return set_stack_bytes(o, word + len + 1, err);
		return err_set(err, -EINVAL, "--call-graph: '%s': only dwarf takes a size",
			       words_shown(word, text, sizeof(text)));
	}
	return err_set(err, -EINVAL, "--call-graph: '%s' is not fp, dwarf, dwarf,BYTES or lbr",
		       words_shown(word, text, sizeof(text)));
}

static int set_delay(struct options *o, const char *word, struct err *err)
{
	o->delay_given = true;
	return words_seconds("-d", word, DELAY_MIN_NS, DELAY_MAX_NS, &o->delay_ns, err);
}

static int set_window(struct options *o, const char *word, struct err *err)
{
	o->window_given = true;
	return words_seconds("--window", word, WINDOW_MIN_NS, WINDOW_MAX_NS, &o->window_ns, err);
}

static const char *view_name_of(int kind)
{
	return view_name((enum view_kind)kind);
}

static int set_view(struct options *o, const char *word, struct err *err)
{
	int kind, r = words_name("--view", word, view_name_of, VIEW_COUNT, &kind, err);

	if (r == 0)
		o->view = (enum view_kind)kind;
	return r;
}

static const char *sort_name_of(int sort)
{
	return view_sort_name((enum view_sort)sort);
}

static int set_sort(struct options *o, const char *word, struct err *err)
{
	int sort, r = words_name("--sort", word, sort_name_of, VIEW_SORT_COUNT, &sort, err);

	if (r == 0)
		o->sort = (enum view_sort)sort;
	return r;
}

static int set_limit(struct options *o, const char *word, struct err *err)
{
	uint64_t limit;
	int r = words_number("--limit", word, 1, LIMIT_MAX, &limit, err);

	if (r == 0)
		o->limit = (uint32_t)limit;
	return r;
}

static int set_no_color(struct options *o, const char *word, struct err *err)
{
	(void)word;
	(void)err;
	o->no_color = true;
	return 0;
}

static int set_batch(struct options *o, const char *word, struct err *err)
{
	(void)word;
	(void)err;
	o->batch = true;
	return 0;
}

static int set_count(struct options *o, const char *word, struct err *err)
{
	o->batch = true;
	return words_number("-n", word, 1, COUNT_MAX, &o->count, err);
}

static int set_output(struct options *o, const char *word, struct err *err)
{
	o->batch = true;
	if (*word == '\0')
		return err_set(err, -EINVAL, "-o: '' is not the name of a file");
	o->output = word;
	return 0;
}

static const char *format_name_of(int format)
{
	static const char *const names[OPTIONS_FORMAT_COUNT] = {
		[OPTIONS_TEXT] = "text",
		[OPTIONS_JSON] = "json",
		[OPTIONS_SAMPLES] = "samples",
		[OPTIONS_FOLDED] = "folded",
	};

	return names[format];
}

static int set_format(struct options *o, const char *word, struct err *err)
{
	int format, r = words_name("--format", word, format_name_of, OPTIONS_FORMAT_COUNT, &format,
				   err);

	o->batch = true;
	if (r == 0)
		o->format = (enum options_format)format;
	return r;
}

static int set_debuginfod(struct options *o, const char *word, struct err *err)
{
#ifdef HAVE_DEBUGINFOD
	(void)err;
	o->debuginfod = word ? word : "";
	return 0;
#else
	(void)o;
	(void)word;
	return err_set(err, -EINVAL, "--debuginfod: this stacktop was built without debuginfod");
#endif
}

static int set_version(struct options *o, const char *word, struct err *err)
{
	(void)word;
	(void)err;
	o->action = OPTIONS_VERSION;
	return 0;
}

static int set_help(struct options *o, const char *word, struct err *err)
{
	(void)word;
	(void)err;
	o->action = OPTIONS_HELP;
	return 0;
}

static const struct spec specs[] = {
	{'p', "pid", "PID[,...]", "these processes, all their threads and children", set_pids,
	 "What to profile (default: all CPUs)"},
	{'t', "tid", "TID[,...]", "these threads and what they create", set_tids, NULL},
	{'C', "cpu", "LIST", "these CPUs only, like 0-2,5", set_cpus, NULL},
	{'i', "input", "FILE",
	 "no live profile: a recording made by perf record, or - to read one from standard input",
	 set_input, NULL},
	{0, "symfs", "DIR", "with -i: look for its files below DIR", set_symfs, NULL},

	{'F', "freq", "HZ", "samples per second and CPU (default 999)", set_freq, "How to sample"},
	{'c', "count", "PERIOD", "a sample every PERIOD events instead", set_period, NULL},
	{'e', "event", "EVENT",
	 "cycles, instructions, cache-misses, cpu-clock, page-faults, rNNN, SUBSYSTEM:NAME ...; "
	 ":u or :k behind it for user or kernel only (default cycles, else cpu-clock); with -i: which of "
	 "its events, by name or number",
	 set_event, NULL},
	{0, "call-graph", "MODE",
	 "how stacks are unwound: fp, dwarf[,BYTES of stack to copy, 4096 to 65528] or lbr "
	 "(default dwarf,16384)",
	 set_mode, NULL},
	{0, "window", "SECONDS", "sums are over the last SECONDS (default 10)", set_window, NULL},

	{'d', "delay", "SECONDS", "between two refreshes (default 2)", set_delay, "What to show"},
	{0, "view", "VIEW", "functions, callers or tree (default functions)", set_view, NULL},
	{0, "sort", "COLUMN", "self, total, name or object (default self)", set_sort, NULL},
	{0, "no-color", NULL, "no colours on the screen, as with NO_COLOR set", set_no_color, NULL},

	{'b', "batch", NULL, "write text instead of showing a screen", set_batch,
	 "Batch mode (also without a terminal on standard output)"},
	{'n', "iterations", "COUNT", "end after so many blocks, or samples; implies -b", set_count,
	 NULL},
	{0, "limit", "ROWS", "at most so many rows in a block (default all)", set_limit, NULL},
	{'o', "output", "FILE", "write to FILE, which must not exist yet; implies -b", set_output,
	 NULL},
	{0, "format", "FORMAT",
	 "text, json (one document per line), folded (stacks for flame graphs) or samples (each "
	 "with its stack); implies -b",
	 set_format, NULL},

	{0, "debuginfod", "[=URLS]",
	 "fetch debug files that are not on this machine from these servers, by default those "
	 "of DEBUGINFOD_URLS or /etc/debuginfod",
	 set_debuginfod, "Other"},
	{'V', "version", NULL, "show the version", set_version, NULL},
	{'h', "help", NULL, "show this help", set_help, NULL},
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
	*p++ = ':'; /* tell a missing argument from an unknown option */
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
	char text[WORDS_SHOWN_MAX];

	if (optopt && optopt < LONG_ONLY)
		return err_set(err, -EINVAL, "unknown option '-%s'",
			       words_shown(letter, text, sizeof(text)));
	return err_set(err, -EINVAL, "unknown or ambiguous option '%s'",
		       words_shown(word, text, sizeof(text)));
}

/* getopt answered '?' or ':'; WORD is what it looked at. */
static int refuse(int answer, const char *word, struct err *err)
{
	const struct spec *spec = spec_of(optopt);
	char text[WORDS_SHOWN_MAX];

	if (!spec)
		return refuse_unknown(word, err);
	if (answer == ':')
		return err_set(err, -EINVAL, "%s: %s is missing",
			       words_shown(word, text, sizeof(text)), spec->argument);
	return err_set(err, -EINVAL, "'%s': --%s takes no argument",
		       words_shown(word, text, sizeof(text)), spec->name);
}

static int parse_words(int argc, char **argv, struct options *o, struct err *err)
{
	struct getopt_tables tables = {0};

	fill_tables(&tables);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	for (;;) {
		int at = optind > 0 ? optind : 1, answer, r;
		const struct spec *spec;

		answer = getopt_long(argc, argv, tables.letters, tables.names, NULL);
		if (answer == -1)
			return 0;
		if (answer == '?' || answer == ':')
			return refuse(answer, argv[MIN(at, argc - 1)], err);
		spec = spec_of(answer);
		assert(spec);
		r = spec->set(o, optarg, err);
		if (r < 0 || o->action != OPTIONS_RUN)
			return r; /* --help wins over what stands behind it */
	}
}

static int take_command(int argc, char **argv, struct options *o, struct err *err)
{
	bool dashes = optind > 1 && optind <= argc && strcmp(argv[optind - 1], "--") == 0;
	char text[WORDS_SHOWN_MAX];

	if (optind < argc && !dashes) {
		words_shown(argv[optind], text, sizeof(text));
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
		{o->nr_pids > 0, "-p"},	       {o->nr_tids > 0, "-t"},
		{o->nr_cpus > 0, "-C"},	       {o->freq_given, "-F"},
		{o->period_given, "-c"},       {o->mode_given, "--call-graph"},
		{o->window_given, "--window"}, {o->command != NULL, "a command"},
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

static int check_together(const struct options *o, struct err *err)
{
	int r = check_recording(o, err);

	if (r < 0)
		return r;
	if ((o->nr_pids > 0) + (o->nr_tids > 0) + (o->command != NULL) > 1)
		return err_set(err, -EINVAL, "%s and %s exclude each other: choose one target",
			       o->nr_pids ? "-p" : "-t", o->command ? "a command" : "-t");
	if (o->freq_given && o->period_given)
		return err_set(err, -EINVAL, "-F and -c exclude each other: choose one");
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret, struct err *err)
{
	int r;

	*ret = (struct options){
		.freq_hz = FREQ_DEFAULT_HZ,
		.mode = STACK_MODE_DWARF,
		.stack_bytes = LIVE_STACK_BYTES_DEFAULT,
		.delay_ns = DELAY_DEFAULT_NS,
		.window_ns = WINDOW_DEFAULT_NS,
	};
	r = parse_words(argc, argv, ret, err);
	if (r < 0 || ret->action != OPTIONS_RUN)
		return r;
	if (ret->period_given && !ret->freq_given)
		ret->freq_hz = 0;
	r = take_command(argc, argv, ret, err);
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
