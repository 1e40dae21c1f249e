/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: one table, from which the parser and --help are made. Starts nothing, prints only help. */
#ifndef ST_OPTIONS_H
#define ST_OPTIONS_H

#include "src/base/err.h"
#include "src/base/stack.h"
#include "src/view/view.h"
#include "src/view/when.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_COMPLETION };
enum options_shell { OPTIONS_BASH, OPTIONS_ZSH, OPTIONS_FISH };
enum options_format {
	OPTIONS_TEXT,
	OPTIONS_JSON,
	OPTIONS_SAMPLES,
	OPTIONS_SCRIPT,
	OPTIONS_FOLDED,
	OPTIONS_PPROF,
	OPTIONS_FORMAT_COUNT
};

/* May debug files be fetched from the network? By default the screen asks, and batch mode does not. */
enum options_fetch { OPTIONS_FETCH_ASK, OPTIONS_FETCH_ON, OPTIONS_FETCH_OFF };

struct options {
	enum options_action action;
	unsigned int shell; /* enum options_shell: whose completion to print */

	const char *input; /* a recording, "-": standard input; NULL: live */
	const char *symfs; /* folder below which its files are, or NULL */

	pid_t *pids, *tids; /* sorted, each once */
	uint32_t nr_pids, nr_tids;
	bool asks_pid;	    /* -p alone: a menu is to be shown */
	const char *cgroup; /* as typed, or NULL */
	const char *user;   /* name or number, or NULL */
	int *cpus;	    /* sorted, each once; none given: NULL */
	uint32_t nr_cpus;
	char **command; /* of argv, NULL-terminated; or NULL */

	/* as typed, or NULL: the default event; of a recording: name or number */
	const char *event;
	uint64_t freq_hz; /* 0: period was given */
	uint64_t period;
	enum stack_mode mode;
	uint32_t stack_bytes; /* 0: it is found */
	uint64_t budget_pct;  /* of each CPU; 0: none */
	uint64_t max_depth;   /* frames of a user stack; 0: the default */
	bool no_complete;
	bool is_inlined;
	bool folds_recursion;

	uint64_t delay_ns, window_ns;
	enum view_kind view;
	enum view_sort sort;
	const char *annotate;  /* the function whose instructions are shown, or NULL */
	const char *butterfly; /* the function whose callers and callees are shown, or NULL */
	enum view_names names;
	uint32_t columns; /* as view_columns_parse() has them */
	uint64_t limit;	  /* rows, 0: all */
	double min_pct;	  /* of the trees of batch mode: what is less is not shown */
	bool has_mouse;
	enum view_theme theme;
	bool no_color;
	uint64_t max_bytes_per_s; /* to the terminal, 0: no limit */

	const char *settings;	 /* the file of settings, or NULL */
	struct err settings_err; /* what was wrong in it; code 0: nothing */

	enum options_fetch fetch;
	const char *debuginfod; /* servers to fetch debug files from; NULL: the usual ones */

	bool batch;	    /* asked for, or implied by count, output or format */
	uint64_t count;	    /* blocks or samples, 0: without end */
	const char *output; /* file, or NULL: standard output */
	const char *bundle; /* folder to be made, or NULL */
	enum options_format format;

	struct when whens[WHEN_MAX]; /* for which evidence is written */
	uint32_t nr_whens;
	uint64_t when_count; /* at most so often */

	bool freq_given, period_given; /* they exclude each other */
	bool mode_given, names_given, window_given, delay_given, budget_given, when_count_given;
};

/* What holds without a word on the command line. Nothing to free. */
void options_init(struct options *ret);

/*
 * Change what OPTIONS_INIT has made by one line of the settings file: NAME is that of an option without
 * its dashes, WORD (kept as a pointer) its argument, or yes and no. Returns 0 or -EINVAL, ERR telling why.
 */
int options_set(struct options *options, const char *name, const char *word, struct err *err);

/*
 * Parse ARGV into *RET, where what is not given is as in DEFAULTS; it is filled in whatever comes
 * of it (free it with options_done). Returns 0 or -EINVAL with ERR naming the word at fault; -ENOMEM.
 */
int options_parse(int argc, char **argv, const struct options *defaults, struct options *ret,
		  struct err *err);
void options_done(struct options *options);

/* The format is one of single samples. */
static inline bool options_has_samples(const struct options *options)
{
	return options->format == OPTIONS_SAMPLES || options->format == OPTIONS_SCRIPT;
}

/* A row of the table, for those who write about it. Its texts live as long as the program. */
struct options_row {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none; "[=WORD]": may have one */
	const char *help;
	const char *(*name_of)(
		int); /* the words it takes, NULL behind the last; or NULL: no words */
};
/* Row number I, false: there are no more. */
bool options_row(size_t i, struct options_row *ret);

/* What --help prints. */
void options_print_help(FILE *stream);

#endif
