/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starting a command: see launch.h. Up to three processes: ourselves, the
 * command, and for a command beside a screen, or of root's, a keeper that does
 * nothing but wait for our words and our end: we may have given up the right to
 * signal the command, and may be killed.
 *
 * The child looks its program up as the user it runs as and says what came of
 * it; then it waits for the byte that lets it go. What is left to fail after
 * that, the exec itself, is reported on the same pipe, which exec closes.
 */
#include "config.h"

#include "src/launch.h"

#include "src/base/cleanup.h"
#include "src/base/confine.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_DEFAULT  "/usr/local/bin:/usr/bin:/bin"
#define NAME_SHOWN    128
#define KEEPER_FORGET 0	  /* the command has ended and was reaped */
#define KEEPER_END    255 /* end the command; what is in between is a signal to pass on */

struct launch {
	pid_t pid, keeper; /* keeper -1: none */
	int go_fd;	   /* write: let it go */
	int report_fd;	   /* read: struct report */
	int life_fd;	   /* write: words to the keeper; its end is one too */
	bool ends_with_us;
	bool is_reaped;
	int status;
	struct err failure;    /* of the exec; code 0: none */
	char name[NAME_SHOWN]; /* of the program, sanitized */
};

struct report {	  /* first after the look-up, then again if exec fails */
	int code; /* 0 or -errno */
	char text[ERR_TEXT_MAX];
};

/* --- the child --- */

static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/* As execvp will look for it: -ENOENT, or the reason of the best candidate. */
static int find_program(const char *name)
{
	const char *dirs = getenv("PATH"), *dir = dirs ? dirs : PATH_DEFAULT;
	int result = -ENOENT;

	if (strchr(name, '/'))
		return check_program(name);
	if (*name == '\0')
		return -ENOENT;
	for (;;) {
		int len = (int)strcspn(dir, ":"), r;
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%.*s/%s", len, len ? dir : ".", name) <
		    PATH_MAX) {
			r = check_program(path);
			if (r == 0)
				return 0;
			if (r != -ENOENT && r != -ENOTDIR && r != -EISDIR)
				result = r;
		}
		if (dir[len] == '\0')
			return result;
		dir += len + 1;
	}
}

/* sudo made these root's: a command that runs as the user again needs the user's. */
static void restore_home(const struct identity *who)
{
	const struct passwd *user = who->by_sudo ? getpwuid(who->uid) : NULL;

	if (!user)
		return;
	setenv("HOME", user->pw_dir, 1);
	setenv("SHELL", *user->pw_shell ? user->pw_shell : "/bin/sh", 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
}

static int leave_terminal(void)
{
	AUTO_CLOSE int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return -errno;
	if (setsid() < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		return -errno;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		if (isatty(fd) && dup2(null_fd, fd) < 0)
			return -errno;
	}
	return 0;
}

static void tell(int report_fd, int code, const char *text)
{
	struct report report = {.code = code};

	snprintf(report.text, sizeof(report.text), "%s", text);
	write_all(report_fd, &report, sizeof(report));
}

static _Noreturn void run_child(const struct launch_config *config, int go_fd, int report_fd)
{
	struct err err = {0};
	char byte;
	ssize_t n;
	int r;

	environ = config->env;
	r = identity_become_command(config->who, &err);
	if (r == 0) {
		restore_home(config->who);
		r = find_program(config->argv[0]);
	}
	if (r == 0 && config->behind_screen)
		r = leave_terminal();
	tell(report_fd, r, err.text);
	if (r < 0)
		_exit(LAUNCH_CANNOT);
	do {
		n = read(go_fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(LAUNCH_CANNOT); /* stacktop ended before it began to sample */
	execvp(config->argv[0], config->argv);
	r = -errno;
	tell(report_fd, r, r == -ENOENT ? "the interpreter in its first line was not found" : "");
	_exit(launch_status_of(r));
}

/*
 * SIGNAL to the process COMMAND that PIDFD holds, never to a later one of that number: who reaps the
 * command is our parent, which may have been taken over. PIDFD -1: before Linux 5.3.
 */
static int signal_command(pid_t command, int pidfd, int signal)
{
#ifdef SYS_pidfd_send_signal
	if (pidfd >= 0)
		return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
#endif
	return kill(command, signal);
}

/* From here on it does nothing but signal. */
static int confine_keeper(const struct identity *who)
{
	struct err err;
	int r = identity_become_command(who, &err);

	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? r : confine_calls(false);
}

/* Obey our parent's words on the command, until one is the last; holds the command and its end of the pipe. */
static _Noreturn void run_keeper(const struct launch_config *config, pid_t command, int life_fd,
				 int pidfd)
{
	unsigned char word = 0;
	ssize_t n;
	int held = -1;

	/* The terminal's signals and everybody's files are for the others. */
	setsid();
	if (dup2(life_fd, STDIN_FILENO) < 0)
		_exit(1);
	if (pidfd >= 0)
		held = dup2(pidfd, STDIN_FILENO + 1);
	close_fds((unsigned int)MAX(held, STDIN_FILENO) + 1, ~0u);
	prctl(PR_SET_NAME, "stacktop-keeper");
	if (confine_keeper(config->who) < 0)
		_exit(1);
	do {
		n = read(STDIN_FILENO, &word, 1);
		if (n == 1 && word != KEEPER_FORGET && word != KEEPER_END)
			signal_command(command, held, word);
	} while ((n < 0 && errno == EINTR) ||
		 (n == 1 && word != KEEPER_FORGET && word != KEEPER_END));
	/* As long as the command is there, or has not been reaped, so is its group. */
	if ((word == KEEPER_END || (n == 0 && config->behind_screen)) &&
	    signal_command(command, held, 0) == 0) {
		kill(-command, SIGTERM);
		kill(-command, SIGCONT);
	}
	_exit(0);
}

/* --- stacktop's side --- */

int launch_status_of(int code)
{
	return code == -ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT;
}

static int explain(const struct launch *launch, const struct report *report, struct err *err)
{
	if (*report->text)
		return err_set(err, report->code, "%s: %s", launch->name, report->text);
	if (report->code == -ENOENT)
		return err_set(err, report->code, "%s: command not found", launch->name);
	return err_set(err, report->code, "%s: cannot be executed: %s", launch->name,
		       strerror(-report->code));
}

static int read_report(int fd, struct report *ret)
{
	size_t got = 0;

	while (got < sizeof(*ret)) {
		ssize_t n = read(fd, (char *)ret + got, sizeof(*ret) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		got += (size_t)n;
	}
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 0;
}

static int start_command(struct launch *l, const struct launch_config *config)
{
	int go[2] = {-1, -1}, report[2] = {-1, -1};

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	l->go_fd = go[1];
	if (pipe2(report, O_CLOEXEC) < 0) {
		close(go[0]);
		return -errno;
	}
	l->report_fd = report[0];
	l->pid = fork();
	if (l->pid == 0) {
		close(go[1]);
		close(report[0]);
		run_child(config, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	return l->pid < 0 ? -errno : 0;
}

static int start_keeper(struct launch *l, const struct launch_config *config)
{
	AUTO_CLOSE int pidfd = pidfd_hold(l->pid);
	int life[2];

	if (pipe2(life, O_CLOEXEC) < 0)
		return -errno;
	l->life_fd = life[1];
	l->keeper = fork();
	if (l->keeper == 0)
		run_keeper(config, l->pid, life[0], pidfd);
	close(life[0]);
	return l->keeper < 0 ? -errno : 0;
}

int launch_start(const struct launch_config *config, struct launch **ret, struct err *err)
{
	struct launch *l = malloc(sizeof(*l));
	struct report report;
	int r;

	if (!l)
		return err_set(err, -ENOMEM, "no memory");
	*l = (struct launch){.pid = -1, .keeper = -1, .go_fd = -1, .report_fd = -1, .life_fd = -1};
	l->ends_with_us = config->behind_screen;
	text_sanitize(config->argv[0], strlen(config->argv[0]), l->name, sizeof(l->name));
	r = start_command(l, config);
	if (r < 0) {
		err_set(err, r, "cannot start %s: %s", l->name, strerror(-r));
		goto fail;
	}
	r = read_report(l->report_fd, &report);
	if (r < 0 || report.code < 0) {
		r = r < 0 ? err_set(err, r, "cannot start %s: its process died", l->name)
			  : explain(l, &report, err);
		goto fail;
	}
	/* Root's command is out of reach once we are root no more. */
	r = config->behind_screen || (config->who->was_root && !config->who->by_sudo)
		    ? start_keeper(l, config)
		    : 0;
	if (r < 0) {
		err_set(err, r, "cannot start %s: %s", l->name, strerror(-r));
		goto fail;
	}
	*ret = l;
	return 0;
fail:
	launch_free(l);
	return r;
}

pid_t launch_pid(const struct launch *launch)
{
	return launch->pid;
}

int launch_start_fd(const struct launch *launch)
{
	return launch->go_fd;
}

static void tell_keeper(const struct launch *launch, int word)
{
	const unsigned char byte = (unsigned char)word;

	write_all(launch->life_fd, &byte, 1);
}

void launch_signal(const struct launch *launch, int signal)
{
	if (launch->is_reaped)
		return;
	if (launch->life_fd >= 0)
		tell_keeper(launch, signal);
	else
		kill(launch->pid, signal);
}

bool launch_reap(struct launch *launch, bool wait, int *ret_status, struct err *err)
{
	struct report report;
	int status;

	if (!launch->is_reaped) {
		pid_t pid;

		do {
			pid = waitpid(launch->pid, &status, wait ? 0 : WNOHANG);
		} while (pid < 0 && errno == EINTR);
		if (pid != launch->pid)
			return false;
		launch->is_reaped = true;
		launch->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (launch->life_fd >= 0)
			tell_keeper(launch, KEEPER_FORGET); /* its number may be another's now */
		if (read_report(launch->report_fd, &report) == 0 && report.code < 0)
			explain(launch, &report, &launch->failure);
	}
	if (launch->failure.code < 0)
		*err = launch->failure;
	*ret_status = launch->status;
	return true;
}

struct launch *launch_free(struct launch *launch)
{
	struct err err = {0};
	int status;

	if (!launch)
		return NULL;
	if (launch->pid > 0 && !launch_reap(launch, false, &status, &err) && launch->ends_with_us)
		tell_keeper(launch, KEEPER_END);
	cleanup_close(&launch->life_fd);
	cleanup_close(&launch->go_fd);
	cleanup_close(&launch->report_fd);
	free(launch);
	return NULL;
}
