/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports are whole or not there, private, and never written over or through anything. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/out/out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct dir {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	struct dir *dir = calloc(1, sizeof(*dir));

	if (!dir)
		return -1;
	snprintf(dir->path, sizeof(dir->path), "/tmp/stacktop-save-XXXXXX");
	if (!mkdtemp(dir->path))
		return -1;
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = dir;
	return dir->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct dir *dir = *state;
	char command[128];
	int r;

	close(dir->fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir->path);
	r = system(command);
	free(dir);
	return r;
}

/* The content of NAME, NUL-terminated; "" when it cannot be opened. */
static void read_back(const struct dir *dir, const char *name, char *out, size_t size)
{
	AUTO_CLOSE int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
}

static void a_report_is_whole_and_private(void **state)
{
	struct dir *dir = *state;
	struct err err = {0};
	char text[16];
	struct stat st;
	mode_t mask = umask(0777);

	assert_int_equal(out_save(dir->fd, "a", "hello", 5, NULL, &err), 0);
	umask(mask);
	assert_int_equal(fstatat(dir->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_nlink, 1);
	read_back(dir, "a", text, sizeof(text));
	assert_string_equal(text, "hello");
}

static void nothing_is_overwritten(void **state)
{
	struct dir *dir = *state;
	struct err err = {0};
	char text[16];

	assert_int_equal(out_save(dir->fd, "a", "first", 5, NULL, &err), 0);
	assert_int_equal(out_save(dir->fd, "a", "second", 6, NULL, &err), -EEXIST);
	assert_non_null(strstr(err.text, "a exists already"));
	read_back(dir, "a", text, sizeof(text));
	assert_string_equal(text, "first");
}

static void no_link_is_followed(void **state)
{
	struct dir *dir = *state;
	struct err err = {0};

	assert_int_equal(symlinkat("victim", dir->fd, "link"), 0);
	assert_int_equal(out_save(dir->fd, "link", "x", 1, NULL, &err), -EEXIST);
	assert_int_equal(faccessat(dir->fd, "victim", F_OK, 0), -1);
	assert_int_equal(errno, ENOENT);
}

static void names_that_are_no_files_are_refused(void **state)
{
	struct dir *dir = *state;
	static const char *const names[] = {"", ".", "..", "sub/", "sub/.", "/"};
	struct err err = {0};

	assert_int_equal(mkdirat(dir->fd, "sub", 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(out_save(dir->fd, names[i], "x", 1, NULL, &err), -EISDIR);
	assert_int_equal(out_save(dir->fd, "none/x", "x", 1, NULL, &err), -ENOENT);
	assert_int_equal(out_save(dir->fd, "sub/x", "x", 1, NULL, &err), 0);
	assert_int_equal(out_save(dir->fd, "e\033[31mvil/x", "x", 1, NULL, &err), -ENOENT);
	assert_null(strchr(err.text, '\033'));
}

static uint32_t count_files(const char *path)
{
	char command[160];
	unsigned int nr = 0;
	FILE *f;

	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &nr), 1);
	pclose(f);
	return nr;
}

static void a_full_disk_leaves_nothing(void **state)
{
	struct dir *dir = *state;
	AUTO_FREE char *data = malloc(1 << 20);
	struct err err = {0};
	int fd;

	assert_non_null(data);
	memset(data, 'x', 1 << 20);
	if (geteuid() != 0 || mount("none", dir->path, "tmpfs", 0, "size=256k") < 0)
		skip();
	fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(out_save(fd, "big", data, 1 << 20, NULL, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(count_files(dir->path), 0);
	assert_int_equal(out_save(fd, "small", data, 1000, NULL, &err), 0);
	assert_int_equal(count_files(dir->path), 1);
	close(fd);
	assert_int_equal(umount2(dir->path, MNT_DETACH), 0);
}

#define LARGE_BYTES (8 << 20)

struct watcher {
	struct out_watch watch;
	pthread_t thread;
};

static void *stop_it(void *context)
{
	struct watcher *watcher = context;

	while (watcher->watch.done_bytes == 0)
		sched_yield();
	watcher->watch.stops = true;
	return NULL;
}

/* Whoever watches may have been too late: then the whole file is there. */
static void what_is_stopped_leaves_nothing(void **state)
{
	struct dir *dir = *state;
	AUTO_FREE char *data = calloc(1, LARGE_BYTES);
	int r = 0, nr_tries = 0;
	struct err err = {0};

	assert_non_null(data);
	do {
		struct watcher watcher = {0};

		assert_int_equal(pthread_create(&watcher.thread, NULL, stop_it, &watcher), 0);
		r = out_save(dir->fd, "large", data, LARGE_BYTES, &watcher.watch, &err);
		pthread_join(watcher.thread, NULL);
		assert_int_equal(count_files(dir->path), r == 0);
		if (r == 0)
			assert_int_equal(unlinkat(dir->fd, "large", 0), 0);
	} while (r == 0 && nr_tries++ < 100);
	assert_int_equal(r, -ECANCELED);
	assert_string_equal(err.text, "large is stopped: nothing written");
}

/* NFS, FUSE and vfat have no nameless files; the file system of message queues has none either and is at hand. */
static void without_nameless_files_the_name_is_exclusive(void **state)
{
	struct dir *dir = *state;
	struct err err = {0};
	int fd;

	if (geteuid() != 0 || mount("none", dir->path, "mqueue", 0, NULL) < 0)
		skip();
	fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(openat(fd, ".", O_TMPFILE | O_WRONLY, 0600), -1);
	/* No bytes can be written there: the name was made and must be gone again. */
	assert_true(out_save(fd, "big", "x", 1, NULL, &err) < 0);
	assert_int_equal(faccessat(fd, "big", F_OK, 0), -1);
	assert_int_equal(out_save(fd, "empty", "", 0, NULL, &err), 0);
	assert_int_equal(out_save(fd, "empty", "", 0, NULL, &err), -EEXIST);
	assert_int_equal(unlinkat(fd, "empty", 0), 0);
	close(fd);
	assert_int_equal(umount2(dir->path, MNT_DETACH), 0);
}

static void the_default_name_is_plain(void **state)
{
	char name[128];

	(void)state;
	setenv("TZ", "UTC", 1);
	out_report_name("a/b c\033.example", 1795280688ll * 1000000000, name, sizeof(name));
	assert_string_equal(name, "stacktop-a-b-c-.example-20261121-170448.txt");
	out_report_name("", 0, name, sizeof(name));
	assert_string_equal(name, "stacktop-host-19700101-000000.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_report_is_whole_and_private, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_overwritten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_link_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_no_files_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_leaves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_stopped_leaves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_nameless_files_the_name_is_exclusive,
						set_up, tear_down),
		cmocka_unit_test(the_default_name_is_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
