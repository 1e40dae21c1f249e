/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broker of a recording opens regular files below its folder, whatever the paths try, and nothing else. */
#include "config.h"

#include "src/broker/files.h"
#include "tests/broker_fixture.h"

#include <sys/stat.h>
#include <sys/un.h>

#define ELF "\177ELF" /* what every file here begins with */

static struct broker *broker;
static char folder[64];
static int root = -1;

static const char *below(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	int fd = open(below(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, ELF, strlen(ELF)), 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void make_folder(const char *name)
{
	assert_int_equal(mkdir(below(name), 0755), 0);
}

static void make_link(const char *to, const char *name)
{
	assert_int_equal(symlink(to, below(name)), 0);
}

static int ask_path(const char *path, int *ret_fd)
{
	struct broker_file_request request = {.kind = BROKER_PATH, .tag = 9};

	snprintf(request.path, sizeof(request.path), "%s", path);
	return ask_file(broker, &request, ret_fd);
}

static void assert_text(int fd, const char *text)
{
	size_t len;
	char *data;

	assert_int_equal(read_all(fd, 1024, &data, &len), 0);
	assert_memory_equal(data, ELF, strlen(ELF));
	assert_string_equal(data + strlen(ELF), text);
	free(data);
	close(fd);
}

static void assert_opens(const char *path, const char *text)
{
	int fd;

	assert_int_equal(ask_path(path, &fd), 0);
	assert_text(fd, text);
}

static void assert_refused(const char *path, int error)
{
	int fd, r = ask_path(path, &fd);

	if (r != error)
		fail_msg("%s: %d, not %d", path, r, error);
}

static void files_below_the_folder_open(void **state)
{
	(void)state;
	assert_opens("/bin/prog", "prog");
	assert_opens("//bin/./prog", "prog");
	/* Links of the other machine lead to where they led there. */
	assert_opens("/usr/prog", "prog");
	assert_opens("/usr/absolute", "prog");
	assert_refused("/bin/missing", -ENOENT);
	assert_refused("/bin/prog/x", -ENOTDIR);
}

static void nothing_above_the_folder_opens(void **state)
{
	(void)state;
	/* The folder is the root: above it there is the folder again. */
	assert_opens("/../../../../bin/prog", "prog");
	assert_refused("/../../../../etc/passwd", -ENOENT);
	assert_refused("/usr/out", -ENOENT);
	assert_refused("/usr/up/etc/passwd", -ENOENT);
	assert_refused("/usr/loop", -ELOOP);
	assert_refused("bin/prog", -EINVAL);
	assert_refused("", -EINVAL);
}

static void only_regular_files_open(void **state)
{
	(void)state;
	/* A FIFO without a writer would hang whoever opens it. */
	assert_refused("/fifo", -EINVAL);
	assert_refused("/bin", -EINVAL);
	assert_refused("/socket", -EINVAL);
	if (geteuid() == 0)
		assert_refused("/null", -EINVAL);
}

static void a_path_without_an_end_is_refused(void **state)
{
	struct broker_file_request request = {.kind = BROKER_PATH};
	int fd;

	(void)state;
	memset(request.path, '/', sizeof(request.path));
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	request.kind = BROKER_DEBUGLINK;
	snprintf(request.name, sizeof(request.name), "prog.debug");
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
}

static void debug_files_are_below_the_folder_too(void **state)
{
	struct broker_file_request request = {
		.kind = BROKER_DEBUG, .build_id = {0xab, 0xcd}, .build_id_bytes = 2};
	int fd;

	(void)state;
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_text(fd, "by id");
	request.build_id[0] = 0;
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	request.kind = BROKER_DEBUGLINK;
	snprintf(request.path, sizeof(request.path), "/bin/prog");
	snprintf(request.name, sizeof(request.name), "prog.debug");
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_text(fd, "by link");
	/* Never the file itself, and never a path. */
	snprintf(request.name, sizeof(request.name), "prog");
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	snprintf(request.name, sizeof(request.name), "../prog");
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
}

/* By build-id first, then by a name that stays in the folder for it. */
static void the_second_file_of_dwz_is_found_by_its_name(void **state)
{
	static const char *const refused[] = {
		"", "/x.debug", "a/", "a//x.debug", "a/../a/x.debug", "../.build-id/ab/cd.debug"};
	struct broker_file_request request = {
		.kind = BROKER_DWZ, .build_id = {0xab, 0xcd}, .build_id_bytes = 2};
	int fd;

	(void)state;
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_text(fd, "by id");
	request.build_id[0] = 0;
	snprintf(request.name, sizeof(request.name), "a/x.debug");
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_text(fd, "by name");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		snprintf(request.name, sizeof(request.name), "%s", refused[i]);
		assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	}
	memset(request.name, 'a', sizeof(request.name));
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
}

/* The recording tells what to ask for: processes and events of this machine are none of its business. */
static void it_tells_nothing_of_this_machine(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE};
	int fd;

	(void)state;
	assert_int_equal(ask_kind(broker, BROKER_SCAN, 0, &fd), -EINVAL);
	assert_int_equal(ask_kind(broker, BROKER_MAPS, getpid(), &fd), -EINVAL);
	assert_int_equal(ask_kind(broker, BROKER_TASKS, getpid(), &fd), -EINVAL);
	assert_int_equal(ask_kind(broker, BROKER_MAPPED, getpid(), &fd), -EINVAL);
	assert_int_equal(broker_perf_open(broker, &attr, 0, -1, 0), -EPERM);
	assert_int_equal(status_hex(broker_pid(broker), "CapEff") & 0xfffff7fffffffffbull &
				 ~(1ull << 34 | 1ull << 5 | 1ull << 6 | 1ull << 7 | 1ull << 8),
			 0);
}

/* A live broker takes no path from anybody. */
static void a_live_broker_opens_no_path(void **state)
{
	struct broker_file_request request = {.kind = BROKER_PATH, .path = "/etc/passwd"};
	struct broker *live = start_broker();
	int fd;

	(void)state;
	assert_int_equal(ask_file(live, &request, &fd), -EINVAL);
	broker_stop(live);
}

/* Before Linux 5.6: no link is followed, no ".." taken, and the rest is as ever. */
static void old_kernels_take_plain_paths_only(void **state)
{
	int fd = files_open_steps(root, "/bin/./prog");

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(files_open_steps(root, "/bin/../bin/prog"), -EXDEV);
	assert_int_equal(files_open_steps(root, "/usr/up/bin/prog"), -ENOTDIR);
	assert_int_equal(files_open_steps(root, "/bin/missing"), -ENOENT);
}

/* Files that the kernel makes up are no programs: /proc/kcore is as large as the address space. */
static void proc_and_sys_are_refused(void **state)
{
	struct broker_config config = {.loader_main = echo_main};
	struct broker_file_request request = {.kind = BROKER_PATH, .path = "/proc/self/status"};
	struct broker *other = NULL;
	struct err err = {0};
	int fd;

	(void)state;
	config.is_recorded = true;
	config.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(identity_workers(&config.workers, &err), 0);
	assert_int_equal(broker_start(&config, &other, &err), 0);
	assert_true(ask_file(other, &request, &fd) < 0);
	snprintf(request.path, sizeof(request.path), "/proc/version");
	assert_int_equal(ask_file(other, &request, &fd), -EINVAL);
	snprintf(request.path, sizeof(request.path), "/sys/kernel/notes");
	assert_int_equal(ask_file(other, &request, &fd), -EINVAL);
	snprintf(request.path, sizeof(request.path), "/etc/passwd");
	assert_int_equal(ask_file(other, &request, &fd), -ENOEXEC);
	snprintf(request.path, sizeof(request.path), "/bin/ls");
	assert_int_equal(ask_file(other, &request, &fd), 0);
	close(fd);
	close(config.root_fd);
	broker_stop(other);
}

static void make_tree(void)
{
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	make_folder("bin");
	make_folder("usr");
	make_folder("usr/lib");
	make_folder("usr/lib/debug");
	make_folder("usr/lib/debug/.build-id");
	make_folder("usr/lib/debug/.build-id/ab");
	make_folder("usr/lib/debug/.dwz");
	make_folder("usr/lib/debug/.dwz/a");
	write_file("usr/lib/debug/.dwz/a/x.debug", "by name");
	write_file("bin/prog", "prog");
	write_file("bin/prog.debug", "by link");
	write_file("usr/lib/debug/.build-id/ab/cd.debug", "by id");
	make_link("../bin/prog", "usr/prog");
	make_link("/bin/prog", "usr/absolute");
	make_link("/etc/passwd", "usr/out");
	make_link("../../../../../../../..", "usr/up");
	make_link("loop", "usr/loop");
	assert_int_equal(mkfifo(below("fifo"), 0644), 0);
	if (geteuid() == 0)
		assert_int_equal(mknod(below("null"), S_IFCHR | 0666, makedev(1, 3)), 0);
	assert_in_range(snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", below("socket")), 1,
			sizeof(addr.sun_path) - 1);
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(sock);
}

static int set_up(void **state)
{
	struct broker_config config = {.loader_main = echo_main};
	struct err err = {0};

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/stacktop-test-XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	make_tree();
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	config.is_recorded = true;
	config.root_fd = root;
	assert_int_equal(identity_workers(&config.workers, &err), 0);
	return broker_start(&config, &broker, &err);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	broker_stop(broker);
	close(root);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_below_the_folder_open),
		cmocka_unit_test(nothing_above_the_folder_opens),
		cmocka_unit_test(only_regular_files_open),
		cmocka_unit_test(a_path_without_an_end_is_refused),
		cmocka_unit_test(debug_files_are_below_the_folder_too),
		cmocka_unit_test(the_second_file_of_dwz_is_found_by_its_name),
		cmocka_unit_test(it_tells_nothing_of_this_machine),
		cmocka_unit_test(a_live_broker_opens_no_path),
		cmocka_unit_test(old_kernels_take_plain_paths_only),
		cmocka_unit_test(proc_and_sys_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
