/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way in and the only way out: messages for the person and exit statuses. */
#include "config.h"

#include "src/broker/identity.h"
#include "src/choose.h"
#include "src/completion.h"
#include "src/options.h"
#include "src/session.h"
#include "src/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_FAILURE 1
#define STATUS_USAGE   2

/* A closed standard descriptor must not become one of ours. */
static void open_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void say(const char *text)
{
	fprintf(stderr, "stacktop: %s\n", text);
}

/* The line of progress on a terminal: each takes the place of the one before. */
static void show(const char *text)
{
	fprintf(stderr, "\r%s\033[K", text);
}

static void say_err(const struct err *err)
{
	if (err->code == 0)
		return;
	say(err->text);
	if (*err->hint)
		say(err->hint);
}

static int flush_output(void)
{
	if (fflush(stdout) == 0)
		return EXIT_SUCCESS;
	if (errno == EPIPE)
		return EXIT_SUCCESS;
	fprintf(stderr, "stacktop: cannot write the output: %s\n", strerror(errno));
	return STATUS_FAILURE;
}

/* What the options point into. */
struct settings {
	char *path, *text;
};

static int read_settings(struct settings *settings, struct options *ret, struct err *err)
{
	int r = settings_path(&settings->path);

	if (r == -ENOMEM)
		return err_set(err, r, "no memory");
	if (r < 0)
		return 0;
	ret->settings = settings->path;
	settings->text = settings_read(settings->path, ret, &ret->settings_err);
	return 0;
}

/* Settings are for the screen: what programs read of batch mode does not depend on them. */
static int parse(int argc, char **argv, struct settings *settings, struct options *ret,
		 struct err *err)
{
	struct options defaults;
	int r;

	options_init(&defaults);
	r = options_parse(argc, argv, &defaults, ret, err);
	if (r < 0 || ret->action != OPTIONS_RUN || session_is_batch(ret))
		return r;
	r = read_settings(settings, &defaults, err);
	if (r < 0)
		return r;
	options_done(ret);
	return options_parse(argc, argv, &defaults, ret, err);
}

/* -p without a number. False: there is no target, and *RET_STATUS is what comes of it. */
static bool choose_target(struct options *options, int *ret_status, struct err *err)
{
	pid_t pid = 0;

	if (!options->asks_pid)
		return true;
	*ret_status = STATUS_USAGE;
	if (session_is_batch(options)) {
		err_set(err, -EINVAL,
			"-p: PID[,...] is missing: a menu of processes is for a screen");
		return false;
	}
	*ret_status =
		choose_process(options->no_color ? VIEW_THEME_MONO : options->theme, &pid, err);
	if (pid == 0)
		return false;
	options->pids = malloc(sizeof(*options->pids));
	if (!options->pids) {
		*ret_status = STATUS_FAILURE;
		err_set(err, -ENOMEM, "no memory");
		return false;
	}
	options->pids[0] = pid;
	options->nr_pids = 1;
	return true;
}

static int run(int argc, char **argv, bool *ret_runs_on)
{
	struct err err = {0};
	struct options options;
	struct settings settings = {0};
	int r, status;

	if (identity_begin(&err) < 0) {
		say_err(&err);
		return STATUS_FAILURE;
	}
	r = parse(argc, argv, &settings, &options, &err);
	if (r == -ENOMEM) {
		say_err(&err);
		status = STATUS_FAILURE;
	} else if (r < 0) {
		say_err(&err);
		fputs("Try 'stacktop --help'.\n", stderr);
		status = STATUS_USAGE;
	} else if (options.action == OPTIONS_HELP) {
		options_print_help(stdout);
		status = flush_output();
	} else if (options.action == OPTIONS_VERSION) {
		puts(PACKAGE_STRING);
		status = flush_output();
	} else if (options.action == OPTIONS_COMPLETION) {
		completion_print(options.shell, stdout);
		status = flush_output();
	} else {
		if (choose_target(&options, &status, &err))
			status = session_run(&options, say, isatty(STDERR_FILENO) ? show : NULL,
					     ret_runs_on, &err);
		say_err(&err);
	}
	options_done(&options);
	free(settings.text);
	free(settings.path);
	return status;
}

int main(int argc, char **argv)
{
	bool runs_on = false;
	int status;

	open_standard_fds();
	status = run(argc, argv, &runs_on);
	if (runs_on)
		_exit(status);
	return status;
}
