/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file system that does not answer hangs its own requests and nothing else. */
#include "config.h"

#include "tests/broker_fixture.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statfs.h>

#define NR_STUCK   16	       /* as many threads as there are at most */
#define CODE_BYTES (64u << 10) /* of a process's mapping */
#define OF_A_USER  2	       /* processes hang reads of code: none of the user's is read */

struct hang {
	char folder[64];
	pid_t daemon, program;
	struct broker *broker;
	struct broker_file_request request; /* for the mapped program */
};

static bool is_mounted(const char *folder)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == 0x65735546; /* FUSE_SUPER_MAGIC */
}

/* A program that runs from a mounted file system; false: this machine cannot. */
static bool set_up_mount(struct hang *hang)
{
	const char *top = getenv("top_builddir");
	char helper[512], program[128];

	snprintf(helper, sizeof(helper), "%s/tests/fuse_hang", top ? top : ".");
	if (geteuid() != 0 || access(helper, X_OK) < 0 || access("/dev/fuse", R_OK | W_OK) < 0)
		return false;
	snprintf(hang->folder, sizeof(hang->folder), "/tmp/stacktop-hang-XXXXXX");
	assert_non_null(mkdtemp(hang->folder));
	hang->daemon = fork();
	if (hang->daemon == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The broker is not the user who mounts it. */
		execl(helper, "fuse_hang", "-f", "-o", "allow_other", hang->folder, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < PATIENCE_MS / 10 && !is_mounted(hang->folder); i++) {
		if (waitpid(hang->daemon, NULL, WNOHANG) != 0) {
			hang->daemon = 0;
			return false;
		}
		usleep(10000);
	}
	snprintf(program, sizeof(program), "%s/program", hang->folder);
	hang->program = fork();
	if (hang->program == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(program, "sleep", "1000", (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		char state[64];

		status_field(hang->program, "State", state, sizeof(state));
		if (state[0] == 'S' &&
		    find_mapping(hang->program, "r-xp", "/program", &hang->request))
			return true;
		usleep(10000);
	}
	return false;
}

static int set_up(void **state)
{
	static struct hang hang;

	memset(&hang, 0, sizeof(hang));
	*state = &hang;
	if (!set_up_mount(&hang))
		return 0;
	hang.broker = start_broker();
	return 0;
}

static int tear_down(void **state)
{
	struct hang *hang = *state;

	if (hang->broker)
		broker_stop(hang->broker);
	if (hang->daemon > 0)
		end_child(hang->daemon);
	if (hang->program > 0)
		end_child(hang->program);
	if (hang->folder[0]) {
		umount2(hang->folder, MNT_DETACH);
		rmdir(hang->folder);
	}
	return 0;
}

static void begin_to_hang(const struct hang *hang)
{
	char path[128];
	bool hangs = false;

	snprintf(path, sizeof(path), "%s/hangs", hang->folder);
	signal_child(hang->daemon, SIGUSR1);
	for (int i = 0; i < PATIENCE_MS / 10 && !hangs; i++) {
		hangs = access(path, F_OK) == 0;
		if (!hangs)
			usleep(10000);
	}
	assert_true(hangs);
}

static void other_requests_are_answered(void **state)
{
	struct hang *hang = *state;
	struct broker_file_reply reply;
	uint64_t cpu_ns, rss_bytes;
	int fd;

	if (!hang->broker)
		skip();
	assert_int_equal(ask_file(hang->broker, &hang->request, &fd), 0);
	close(fd);
	begin_to_hang(hang);
	/* more than there are threads to begin with: others have to be started */
	for (int i = 0; i < NR_STUCK - 1; i++) {
		hang->request.tag = 100 + (uint64_t)i;
		assert_int_equal(broker_file_ask(hang->broker, &hang->request), 0);
	}
	assert_int_equal(ask_kind(hang->broker, BROKER_SCAN, 0, &fd), 0);
	close(fd);
	assert_int_equal(broker_usage(hang->broker, &cpu_ns, &rss_bytes), 0);

	/* the last thread; what comes now is refused and does not wait for ever */
	assert_int_equal(broker_file_ask(hang->broker, &hang->request), 0);
	usleep(200000);
	assert_int_equal(ask_kind(hang->broker, BROKER_KALLSYMS, 0, &fd), -EBUSY);
	assert_int_equal(broker_usage(hang->broker, &cpu_ns, &rss_bytes), 0);
	assert_false(broker_file_next(hang->broker, &reply));

	/* the file system ends: each stuck request has its one answer, and all is well again */
	end_child(hang->daemon);
	hang->daemon = 0;
	for (int i = 0; i < NR_STUCK; i++) {
		assert_true(await_reply(hang->broker, &reply));
		assert_true(reply.status < 0);
		assert_int_equal(reply.fd, -1);
	}
	assert_false(broker_file_next(hang->broker, &reply));
	assert_int_equal(ask_kind(hang->broker, BROKER_KALLSYMS, 0, &fd), 0);
	close(fd);
}

static void the_end_does_not_wait(void **state)
{
	struct hang *hang = *state;
	pid_t pid, loader;
	int sock, fd;

	if (!hang->broker)
		skip();
	pid = broker_pid(hang->broker);
	assert_int_equal(broker_start_loader(hang->broker, &sock, &loader), 0);
	begin_to_hang(hang);
	assert_int_equal(broker_file_ask(hang->broker, &hang->request), 0);
	assert_int_equal(ask_kind(hang->broker, BROKER_KALLSYMS, 0, &fd), 0);
	close(fd);
	usleep(100000);
	hang->broker = broker_stop(hang->broker);
	assert_true(await_end(loader));
	assert_true(await_end(pid));
	close(sock);
}

/* --- code, which is read from memory --- */

struct coder {
	pid_t pid;
	struct broker_file_request request; /* for its code */
};

/* A process of user UID that has FILE as its code, and has not touched it. */
static struct coder start_coder(const char *file, uid_t uid)
{
	struct coder coder = {.request = {.kind = BROKER_CODE, .nr_pieces = 1}};
	int ready[2];
	void *at;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	coder.pid = fork();
	if (coder.pid == 0) {
		int fd = open(file, O_RDONLY | O_CLOEXEC);

		at = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED || setresuid(uid, uid, uid) < 0 ||
		    prctl(PR_SET_DUMPABLE, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		    write(ready[1], &at, sizeof(at)) != sizeof(at))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &at, sizeof(at)), sizeof(at));
	close(ready[0]);
	coder.request.pid = coder.pid;
	coder.request.pieces[0] = align_up((uint64_t)(uintptr_t)at, BROKER_PIECE_BYTES);
	return coder;
}

static int code_status(const struct hang *hang, const struct coder *coder)
{
	int fd, status = ask_file(hang->broker, &coder->request, &fd);

	if (fd >= 0)
		close(fd);
	return status;
}

/* It may take a while until a read counts as one that hangs. */
static bool is_code_read(const struct hang *hang, const struct coder *coder)
{
	int status = -EBUSY;

	for (int i = 0; i < PATIENCE_MS / 10 && status == -EBUSY; i++) {
		usleep(10000);
		status = code_status(hang, coder);
	}
	return status == 0;
}

/* None but its own process's is left alone, and when several of a user's hang, that user's. */
static void code_that_hangs_takes_nothing_from_others(void **state)
{
	struct hang *hang = *state;
	struct coder silent[OF_A_USER + 1], other;
	struct broker_file_reply reply;
	char program[128];

	if (!hang->broker)
		skip();
	snprintf(program, sizeof(program), "%s/program", hang->folder);
	other = start_coder("/bin/sleep", 0);
	for (int i = 0; i <= OF_A_USER; i++)
		silent[i] = start_coder(program, NOBODY);
	signal_child(hang->daemon, SIGUSR2);
	for (int i = 0; i < OF_A_USER; i++) {
		assert_int_equal(broker_file_ask(hang->broker, &silent[i].request), 0);
		usleep(300000);
		assert_false(broker_file_next(hang->broker, &reply));
		assert_int_equal(code_status(hang, &silent[i]), -EBUSY);
		assert_true(is_code_read(hang, &other));
	}
	assert_int_equal(code_status(hang, &silent[OF_A_USER]), -EBUSY);

	/* The file system ends, and what was asked for has its answer. */
	end_child(hang->daemon);
	hang->daemon = 0;
	for (int i = 0; i < OF_A_USER; i++) {
		assert_true(await_reply(hang->broker, &reply));
		if (reply.fd >= 0)
			close(reply.fd);
	}
	assert_true(is_code_read(hang, &silent[OF_A_USER]));
	for (int i = 0; i <= OF_A_USER; i++)
		end_child(silent[i].pid);
	end_child(other.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_requests_are_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_that_hangs_takes_nothing_from_others, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_end_does_not_wait, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
