/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A launched command waits, runs as whom it belongs to, hands its exit status on, and does not outlive the screen. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char script_path[64];

/* Start ARGV as the invoker, its standard output into OUT_FD (-1: as ours). */
static int start(char **argv, bool behind_screen, int out_fd, struct launch **ret, struct err *err)
{
	struct identity who;
	struct launch_config config = {
		.argv = argv, .env = environ, .who = &who, .behind_screen = behind_screen};
	int saved = out_fd >= 0 ? dup(STDOUT_FILENO) : -1, r;

	*err = (struct err){0};
	assert_int_equal(identity_invoker(&who, err), 0);
	fflush(NULL);
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	r = launch_start(&config, ret, err);
	if (out_fd >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
	return r;
}

static void let_go(const struct launch *launch)
{
	assert_int_equal(write(launch_start_fd(launch), "", 1), 1);
}

/* Run SCRIPT with sh; its output in OUT. Returns its status. */
static int run_sh(const char *script, bool behind_screen, char *out, size_t size)
{
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t)script, NULL};
	struct launch *launch;
	struct err err;
	int fds[2], status;
	size_t got = 0;
	ssize_t n;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(start(argv, behind_screen, fds[1], &launch, &err), 0);
	close(fds[1]);
	let_go(launch);
	while (got < size - 1 && (n = read(fds[0], out + got, size - 1 - got)) > 0)
		got += (size_t)n;
	out[got] = '\0';
	close(fds[0]);
	assert_true(launch_reap(launch, true, &status, &err));
	assert_int_equal(err.code, 0);
	launch_free(launch);
	return status;
}

static void the_exit_status_is_handed_on(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(run_sh("exit 7", false, out, sizeof(out)), 7);
	assert_int_equal(run_sh("kill -TERM $$", false, out, sizeof(out)), 128 + SIGTERM);
	assert_int_equal(run_sh("echo hello", false, out, sizeof(out)), 0);
	assert_string_equal(out, "hello\n");
}

static void what_cannot_run_is_told_before_anything_starts(void **state)
{
	static const struct {
		const char *name;
		int status;
		const char *text;
	} cases[] = {
		{"no-such-command-here", 127, "no-such-command-here: command not found"},
		{"/no/such/file", 127, "command not found"},
		{"/", 126, "cannot be executed"},
		{"/etc/passwd", 126, "/etc/passwd: cannot be executed: Permission denied"},
		{"", 127, "command not found"},
		{"e\033[31mvil", 127, "e?[31mvil: command not found"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = {(char *)(uintptr_t)cases[i].name, NULL};
		struct launch *launch;
		struct err err;
		int r = start(argv, false, -1, &launch, &err);

		assert_true(r < 0);
		assert_int_equal(launch_status_of(r), cases[i].status);
		assert_non_null(strstr(err.text, cases[i].text));
	}
}

static void write_script(const char *first_line)
{
	FILE *f = fopen(script_path, "w");

	assert_non_null(f);
	fprintf(f, "%s\nexit 5\n", first_line);
	fclose(f);
	assert_int_equal(chmod(script_path, 0755), 0);
}

static void a_failing_exec_is_told_afterwards(void **state)
{
	char *argv[] = {script_path, NULL};
	struct launch *launch;
	struct err err;
	int status;

	(void)state;
	write_script("#!/no/such/interpreter");
	assert_int_equal(start(argv, false, -1, &launch, &err), 0);
	let_go(launch);
	assert_true(launch_reap(launch, true, &status, &err));
	assert_int_equal(status, 127);
	assert_int_equal(err.code, -ENOENT);
	launch_free(launch);
}

static void a_script_without_interpreter_line_runs(void **state)
{
	char *argv[] = {script_path, NULL};
	struct launch *launch;
	struct err err;
	int status;

	(void)state;
	write_script("# nothing");
	assert_int_equal(start(argv, false, -1, &launch, &err), 0);
	let_go(launch);
	assert_true(launch_reap(launch, true, &status, &err));
	assert_int_equal(status, 5);
	launch_free(launch);
}

static void nothing_runs_before_the_word(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "rm", script_path, NULL};
	struct launch *launch;
	struct err err;
	int status;

	(void)state;
	write_script("#");
	/* Never let go: the command must not run, not even when we are gone. */
	assert_int_equal(start(argv, false, -1, &launch, &err), 0);
	assert_false(launch_reap(launch, false, &status, &err));
	pid_t pid = launch_pid(launch);
	launch_free(launch);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(access(script_path, F_OK), 0);
	assert_int_equal(start(argv, false, -1, &launch, &err), 0);
	let_go(launch);
	assert_true(launch_reap(launch, true, &status, &err));
	assert_int_equal(status, 0);
	assert_int_equal(access(script_path, F_OK), -1);
	launch_free(launch);
}

static void behind_a_screen_it_has_no_terminal(void **state)
{
	char out[128], expected[128];

	(void)state;
	assert_int_equal(run_sh("cat; readlink /proc/self/fd/0; cut -d' ' -f6,7 /proc/$$/stat;"
				" echo $$",
				true, out, sizeof(out)),
			 0);
	/* Session leader without a controlling terminal; a pipe as output stays. */
	unsigned int session, tty, pid;
	assert_int_equal(sscanf(out, "/dev/null\n%u %u\n%u", &session, &tty, &pid), 3);
	snprintf(expected, sizeof(expected), "/dev/null\n%u 0\n%u\n", pid, pid);
	assert_string_equal(out, expected);
}

static void behind_a_screen_it_ends_with_us(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "1000", NULL};
	struct launch *launch;
	struct err err;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(start(argv, true, -1, &launch, &err), 0);
	let_go(launch);
	pid = launch_pid(launch);
	launch_free(launch);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void behind_a_screen_it_ends_even_when_we_are_killed(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t) "echo started; sleep 1000; exit", NULL};
	int fds[2], status;
	char out[32];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct launch *launch;
		struct err err;

		if (start(argv, true, fds[1], &launch, &err) < 0)
			_exit(1);
		let_go(launch);
		pause();
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], out, sizeof(out)), strlen("started\n"));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* The shell, its sleep and the keeper held the other end: all are gone. */
	assert_int_equal(read(fds[0], out, sizeof(out)), 0);
	close(fds[0]);
}

/* A process with the number PID, which is free; it waits to be killed. 0: not possible here. */
static pid_t start_as_number(pid_t pid)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
			set_tid, set_tid_size;
	} args = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
	pid_t other = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (other == 0)
		for (;;)
			pause();
	return other < 0 ? 0 : other;
}

/* Whoever took us over could wait for the command, and then have its keeper signal root's processes. */
static void keeper_signals_the_command_and_no_other(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "true", NULL};
	struct launch *launch;
	struct err err;
	pid_t pid, other;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(start(argv, true, -1, &launch, &err), 0);
	pid = launch_pid(launch);
	let_go(launch);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	other = start_as_number(pid);
	if (other != pid) {
		if (other > 0) {
			kill(other, SIGKILL);
			waitpid(other, NULL, 0);
		}
		launch_free(launch);
		skip();
	}
	launch_signal(launch, SIGKILL);
	launch_signal(launch, SIGTERM);
	launch_free(launch);
	/* The keeper is the first to end, and the other is as it was. */
	assert_int_not_equal(waitpid(-1, &status, 0), other);
	assert_int_equal(waitpid(other, &status, WNOHANG), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void by_sudo_it_is_the_callers(void **state)
{
	char out[128], expected[128];
	struct passwd *nobody = getpwnam("nobody");

	(void)state;
	if (geteuid() != 0 || !nobody)
		skip();
	snprintf(expected, sizeof(expected), "%u %u\n%s nobody\n", nobody->pw_uid, nobody->pw_gid,
		 nobody->pw_dir);
	snprintf(out, sizeof(out), "%u", nobody->pw_uid);
	setenv("SUDO_UID", out, 1);
	snprintf(out, sizeof(out), "%u", nobody->pw_gid);
	setenv("SUDO_GID", out, 1);
	setenv("SUDO_USER", "nobody", 1);
	setenv("HOME", "/root", 1);
	assert_int_equal(
		run_sh("echo $(id -u) $(id -g); echo $HOME $USER", false, out, sizeof(out)), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	assert_string_equal(out, expected);
	/* Root itself stays root. */
	assert_int_equal(run_sh("id -u", false, out, sizeof(out)), 0);
	assert_string_equal(out, "0\n");
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	snprintf(script_path, sizeof(script_path), "/tmp/stacktop-launch-XXXXXX");
	fd = mkstemp(script_path);
	if (fd >= 0)
		close(fd);
	/* When started by sudo, the tests are about whom they run as now. */
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(script_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* The first: it knows all children of this process. */
		cmocka_unit_test(keeper_signals_the_command_and_no_other),
		cmocka_unit_test(the_exit_status_is_handed_on),
		cmocka_unit_test(what_cannot_run_is_told_before_anything_starts),
		cmocka_unit_test(a_failing_exec_is_told_afterwards),
		cmocka_unit_test(a_script_without_interpreter_line_runs),
		cmocka_unit_test(nothing_runs_before_the_word),
		cmocka_unit_test(behind_a_screen_it_has_no_terminal),
		cmocka_unit_test(behind_a_screen_it_ends_with_us),
		cmocka_unit_test(behind_a_screen_it_ends_even_when_we_are_killed),
		cmocka_unit_test(by_sudo_it_is_the_callers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
