/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report is a new file of its own or nothing at all. */
#include "config.h"

#include "tests/broker_fixture.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

static char folder[32];
static int dir;
static struct broker *broker;

static int save(const char *name, int memfd)
{
	uint64_t end = now_ns() + PATIENCE_MS * NS_PER_MSEC;
	int status = 1, r = broker_save_ask(broker, name, memfd);

	if (r < 0)
		return r;
	while (!broker_save_next(broker, &status)) {
		struct pollfd pfd = {.fd = broker_save_fd(broker), .events = POLLIN};

		assert_true(now_ns() < end);
		poll(&pfd, 1, 100);
	}
	assert_false(broker_save_next(broker, &r));
	return status;
}

static int count_files(void)
{
	int nr = 0, fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fdopendir(fd);
	const struct dirent *entry;

	assert_non_null(entries);
	while ((entry = readdir(entries)) != NULL)
		nr += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(entries);
	return nr;
}

static void report_is_written(void **state)
{
	int memfd = memfd_sealed("report", "hello\n", 6), fd;
	struct stat st;
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(save("report.txt", memfd), 0);
	fd = openat(dir, "report.txt", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(read_all(fd, 100, &text, &len), 0);
	assert_string_equal(text, "hello\n");
	free(text);
	close(fd);
	/* never over anything, never through a link */
	assert_int_equal(save("report.txt", memfd), -EEXIST);
	assert_int_equal(symlinkat("target", dir, "link"), 0);
	assert_int_equal(save("link", memfd), -EEXIST);
	assert_int_equal(count_files(), 2);
	unlinkat(dir, "report.txt", 0);
	unlinkat(dir, "link", 0);
	close(memfd);
}

static void names_are_one_component(void **state)
{
	static const char *const names[] = {"",	   ".",	   "..",    "../x", "/tmp/x",
					    "a/b", "a\nb", "a\x1b", "a\x7f"};
	int memfd = memfd_sealed("report", "hello\n", 6);
	char name[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(save(names[i], memfd), -EINVAL);
	memset(name, 'a', sizeof(name));
	name[201] = '\0';
	assert_int_equal(save(name, memfd), -ENAMETOOLONG);
	name[200] = '\0';
	assert_int_equal(save(name, memfd), 0);
	assert_int_equal(count_files(), 1);
	unlinkat(dir, name, 0);
	close(memfd);
}

/* As good as a full disk: writing fails after the file was created. */
static void no_half_file_stays(void **state)
{
	int unreadable = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(save("half", unreadable), -EISDIR);
	assert_int_equal(count_files(), 0);
	close(unreadable);
}

static int save_to_full_disk(void *arg)
{
	char *data = calloc(1, 1 << 20);
	int memfd = memfd_sealed("report", data, 1 << 20);

	(void)arg;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, "size=64k") < 0)
		return 77;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	broker = start_broker(dir);
	if (save("report", memfd) != -ENOSPC)
		return 1;
	return count_files() == 0 ? 0 : 2;
}

static void full_disk_is_told(void **state)
{
	int r;

	(void)state;
	if (geteuid() != 0)
		skip();
	r = in_child(save_to_full_disk, NULL);
	if (r == 77)
		skip();
	assert_int_equal(r, 0);
}

static void nothing_without_a_folder(void **state)
{
	int memfd = memfd_sealed("report", "hello\n", 6);
	struct broker *saved = broker;

	(void)state;
	broker = start_broker(-1);
	assert_int_equal(save("report", memfd), -EINVAL);
	broker_stop(broker);
	broker = saved;
	close(memfd);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/stacktop-save-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	broker = start_broker(dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	broker_stop(broker);
	close(dir);
	return rmdir(folder);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_is_written),
		cmocka_unit_test(names_are_one_component),
		cmocka_unit_test(no_half_file_stays),
		cmocka_unit_test(full_disk_is_told),
		cmocka_unit_test(nothing_without_a_folder),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

int main(void)
{
	return run_as_both(run);
}
