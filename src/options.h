/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: one table, from which the parser and --help are made. Starts nothing, prints only help. */
#ifndef ST_OPTIONS_H
#define ST_OPTIONS_H

#include "src/base/err.h"
#include "src/base/stack.h"
#include "src/view/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };
enum options_format {
	OPTIONS_TEXT,
	OPTIONS_JSON,
	OPTIONS_SAMPLES,
	OPTIONS_FOLDED,
	OPTIONS_FORMAT_COUNT
};

struct options {
	enum options_action action;

	const char *input; /* a recording, "-": standard input; NULL: live */
	const char *symfs; /* folder below which its files are, or NULL */

	pid_t *pids, *tids; /* sorted, each once */
	uint32_t nr_pids, nr_tids;
	int *cpus; /* sorted, each once; none given: NULL */
	uint32_t nr_cpus;
	char **command; /* of argv, NULL-terminated; or NULL */

	/* as typed, or NULL: the default event; of a recording: name or number */
	const char *event;
	uint64_t freq_hz; /* 0: period was given */
	uint64_t period;
	enum stack_mode mode;
	uint32_t stack_bytes;

	uint64_t delay_ns, window_ns;
	enum view_kind view;
	enum view_sort sort;
	uint64_t limit; /* rows, 0: all */
	bool no_color;

	/* servers to fetch debug files from; "": the usual ones; NULL: none */
	const char *debuginfod;

	bool batch;	    /* asked for, or implied by count, output or format */
	uint64_t count;	    /* blocks or samples, 0: without end */
	const char *output; /* file, or NULL: standard output */
	enum options_format format;

	bool freq_given, period_given; /* they exclude each other */
	bool mode_given, window_given, delay_given;
};

/*
 * Parse ARGV into *RET, which is filled in whatever comes of it (free it with
 * options_done). Returns 0 or -EINVAL with ERR naming the word at fault; -ENOMEM.
 */
int options_parse(int argc, char **argv, struct options *ret, struct err *err);
void options_done(struct options *options);

/* What --help prints. */
void options_print_help(FILE *stream);

#endif
