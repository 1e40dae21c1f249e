/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The menu's process: see choose.h. What comes back from it is a number, and a message that it made. */
#include "config.h"

#include "src/choose.h"

#include "src/base/confine.h"
#include "src/base/text.h"
#include "src/broker/identity.h"
#include "src/process.h"
#include "src/running.h"
#include "ui/menu.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
	int32_t pid;
	int status;
	struct err err;
};

static int items(void *context, const struct menu_item **ret)
{
	return running_read(context, ret);
}

static int give_up_privileges(struct err *err)
{
	struct identity who;
	int r = identity_workers(&who, err);

	if (r == 0)
		r = identity_become(&who, err);
	if (r < 0)
		return r;
	confine_processes();
	r = confine_calls(false);
	return r < 0 ? err_set(err, r, "cannot filter system calls: %s", strerror(-r)) : 0;
}

static void run_menu(enum view_theme theme, struct answer *answer)
{
	struct menu_config config = {.theme = theme, .items = items};
	struct running *running;

	answer->status = 1;
	process_sanitize_environment();
	setlocale(LC_CTYPE, "");
	if (give_up_privileges(&answer->err) < 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	running = running_new();
	config.context = running;
	if (running)
		answer->status = menu_run(&config, &answer->pid, &answer->err);
	else
		err_set(&answer->err, -ENOMEM, "no memory");
	running_free(running);
}

/* What the terminal sends is for the menu. */
static void wait_for_menu(pid_t child, int fd, struct answer *answer)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit;
	int status;

	sigaction(SIGINT, &ignore, &old_int);
	sigaction(SIGQUIT, &ignore, &old_quit);
	if (read(fd, answer, sizeof(*answer)) != sizeof(*answer)) {
		*answer = (struct answer){.status = 1};
		err_set(&answer->err, -EPIPE, "the menu of processes has ended early");
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
}

int choose_process(enum view_theme theme, pid_t *ret_pid, struct err *err)
{
	struct answer answer = {0};
	int fds[2];
	pid_t child;

	*ret_pid = 0;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		err_set(err, -errno, "cannot show a menu: %s", strerror(errno));
		return 1;
	}
	child = fork();
	if (child == 0) {
		run_menu(theme, &answer);
		_exit(write(fds[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(fds[1]);
	if (child < 0)
		err_set(err, -errno, "cannot show a menu: %s", strerror(errno));
	else
		wait_for_menu(child, fds[0], &answer);
	close(fds[0]);
	if (child < 0)
		return 1;
	/* The menu has read what others wrote: its words are cleaned again. */
	answer.err.text[sizeof(answer.err.text) - 1] = '\0';
	if (answer.err.code < 0) {
		char clean[ERR_TEXT_MAX];

		text_sanitize(answer.err.text, strlen(answer.err.text), clean, sizeof(clean));
		err_set(err, answer.err.code, "%s", clean);
	}
	*ret_pid = answer.pid > 0 ? answer.pid : 0;
	return answer.status;
}
