/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Debug files are found by name and by build-id, and only where they speak for the file's owner. */
#include "config.h"

#include "tests/broker_programs.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void debug_file_by_link_name(void **state)
{
	struct broker_file_request request;
	char program[64], debug[64], secret[64];
	pid_t pid;
	int fd;

	(void)state;
	in_folder(program, sizeof(program), "program");
	copy_file(SLEEP, program);
	pid = start_program(program);
	assert_true(await_mapping(pid, "r-xp", program, &request));
	request.kind = BROKER_DEBUGLINK;
	snprintf(request.name, sizeof(request.name), "program.debug");
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);

	in_folder(debug, sizeof(debug), ".debug");
	assert_int_equal(mkdir(debug, 0755), 0);
	in_folder(debug, sizeof(debug), ".debug/program.debug");
	copy_file("/etc/passwd", debug); /* no debug file */
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	copy_file("/bin/ls", debug);
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, "/bin/ls");
	close(fd);
	/* one that anybody could write */
	assert_int_equal(chmod(debug, 0777), 0);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);

	/* a link, a FIFO, the program itself and a way out are none */
	in_folder(secret, sizeof(secret), "program.debug");
	assert_int_equal(symlink("/etc/shadow", secret), 0);
	unlink(debug);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	unlink(secret);
	assert_int_equal(mkfifo(secret, 0644), 0);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	unlink(secret);
	snprintf(request.name, sizeof(request.name), "program");
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	snprintf(request.name, sizeof(request.name), "../program");
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	snprintf(request.name, sizeof(request.name), "..");
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	memset(request.name, 'a', sizeof(request.name));
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	end_child(pid);
	unlink(program);
	in_folder(debug, sizeof(debug), ".debug");
	rmdir(debug);
}

static bool write_text(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write_all(fd, text, strlen(text)) == 0;
}

/* A user namespace with UID and GID as its root. */
static bool enter_user_namespace(uid_t uid, gid_t gid)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", uid);
	snprintf(gids, sizeof(gids), "0 %u 1", gid);
	return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", uids) && write_text("/proc/self/gid_map", gids);
}

/*
 * Mount a tmpfs over FOLDER for this process alone, as USER, in a user namespace unless that is root. What
 * fails leaves the process without the program that it is to become: it is not seen.
 */
static bool mount_own(const char *folder_there, uid_t user)
{
	if (user != geteuid() &&
	    (setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0))
		return false;
	prctl(PR_SET_DUMPABLE, 1);
	return (user == 0 || enter_user_namespace(user, getegid())) && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", folder_there, "tmpfs", 0, "mode=755") == 0;
}

/*
 * The program runs where a tmpfs of its own lies over the folder of debug files, with root's ls as one
 * of them: in a user namespace that USER made, unless USER is root.
 */
static pid_t start_with_own_debug(const char *program, const char *debug_folder, uid_t user)
{
	char path[80];
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	if (!mount_own(debug_folder, user))
		_exit(77);
	snprintf(path, sizeof(path), "%s/program.debug", debug_folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || mount("/bin/ls", path, NULL, MS_BIND, NULL) < 0)
		_exit(77);
	/* Last: a change of user forgets it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* The same with ls as the debug file of build-id 0123, below /usr/lib/debug. */
static pid_t start_with_own_build_id(const char *program, uid_t user)
{
	const char *file = "/usr/lib/debug/.build-id/01/23.debug";
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	if (!mount_own("/usr/lib/debug", user) || mkdir("/usr/lib/debug/.build-id", 0755) < 0 ||
	    mkdir("/usr/lib/debug/.build-id/01", 0755) < 0)
		_exit(77);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || mount("/bin/ls", file, NULL, MS_BIND, NULL) < 0)
		_exit(77);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* What a container that root made brings along counts for its programs; what a user mounts does not. */
static void debug_file_by_build_id_is_the_owners(void **state)
{
	const uid_t users[] = {0, NOBODY};
	struct broker_file_request request;
	struct stat st;
	char program[64];
	int fd;

	(void)state;
	if (geteuid() != 0 || stat("/usr/lib/debug", &st) < 0)
		skip();
	in_folder(program, sizeof(program), "program");
	copy_file(SLEEP, program);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		pid_t pid = start_with_own_build_id(program, users[i]);

		if (!await_mapping(pid, "r-xp", program, &request)) {
			end_child(pid);
			skip(); /* no namespaces */
		}
		request.kind = BROKER_DEBUG;
		request.build_id_bytes = 2;
		request.build_id[0] = 0x01;
		request.build_id[1] = 0x23;
		assert_int_equal(ask_file(broker, &request, &fd), users[i] == 0 ? 0 : -ENOENT);
		if (users[i] == 0) {
			assert_same_content(fd, "/bin/ls");
			close(fd);
		}
		end_child(pid);
	}
	unlink(program);
}

/* Everybody sees the names, so a mount of one's own gives none to another's program. */
static void debug_file_is_the_owners(void **state)
{
	struct broker_file_request request;
	char program[64], folder_debug[64], debug[80];
	pid_t pid;
	int fd;

	(void)state;
	assert_int_equal(chmod(folder, 0755), 0);
	in_folder(program, sizeof(program), "program");
	copy_file(SLEEP, program);
	in_folder(folder_debug, sizeof(folder_debug), ".debug");
	assert_int_equal(mkdir(folder_debug, 0755), 0);
	/* The program is this user's, and so is what is mounted: by root for a container, say. */
	pid = start_with_own_debug(program, folder_debug, geteuid());
	if (await_mapping(pid, "r-xp", program, &request)) {
		request.kind = BROKER_DEBUGLINK;
		snprintf(request.name, sizeof(request.name), "program.debug");
		assert_int_equal(ask_file(broker, &request, &fd), 0);
		assert_same_content(fd, "/bin/ls");
		close(fd);
	}
	end_child(pid);
	if (geteuid() == 0) {
		pid = start_with_own_debug(program, folder_debug, NOBODY);
		if (!await_mapping(pid, "r-xp", program, &request)) {
			end_child(pid);
			skip(); /* no user namespaces */
		}
		request.kind = BROKER_DEBUGLINK;
		snprintf(request.name, sizeof(request.name), "program.debug");
		assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
		/* nor does it hide root's */
		snprintf(debug, sizeof(debug), "%s/program.debug", folder_debug);
		copy_file("/bin/cat", debug);
		assert_int_equal(ask_file(broker, &request, &fd), 0);
		assert_same_content(fd, "/bin/cat");
		close(fd);
		/* A user's own one, beside a program that is root's, is none either. */
		assert_int_equal(chown(debug, NOBODY, NOBODY), 0);
		assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
		end_child(pid);
		unlink(debug);
	}
	rmdir(folder_debug);
	unlink(program);
}

static void debug_file_by_build_id(void **state)
{
	struct broker_file_request request = {.kind = BROKER_DEBUG, .build_id_bytes = 20};
	FILE *found =
		popen("find /usr/lib/debug/.build-id -name '*.debug' 2>/dev/null | head -1", "re");
	char path[256] = "";
	const char *hex;
	size_t n = 0;
	int fd;

	(void)state;
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	request.build_id_bytes = 1;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	request.build_id_bytes = 21;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	if (found) {
		if (!fgets(path, sizeof(path), found))
			path[0] = '\0';
		pclose(found);
	}
	if (path[0] == '\0')
		return; /* no debug file on this machine */
	path[strcspn(path, "\n")] = '\0';
	hex = path + strlen("/usr/lib/debug/.build-id/");
	for (unsigned byte; n < sizeof(request.build_id) && sscanf(hex, "%2x", &byte) == 1; n++) {
		request.build_id[n] = (uint8_t)byte;
		hex += n == 0 ? 3 : 2;
	}
	request.build_id_bytes = (uint8_t)n;
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, path);
	close(fd);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_file_by_link_name),
		cmocka_unit_test(debug_file_is_the_owners),
		cmocka_unit_test(debug_file_by_build_id_is_the_owners),
		cmocka_unit_test(debug_file_by_build_id),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

int main(void)
{
	return run_as_both(run);
}
