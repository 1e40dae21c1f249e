/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report is a new file of its own or nothing at all. */
#include "config.h"

#include "src/broker/writer.h"
#include "tests/broker_fixture.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

#define LARGE_BYTES (8 << 20)

static char folder[32];
static int dir;
static int writer;
static const struct writer_output no_output = {.fd = -1};

/* NAME as it is, as a client would send it that has been taken over. */
static int save_raw(const char *name, int memfd)
{
	struct writer_request request = {0};

	memcpy(request.name, name, MIN(strlen(name), sizeof(request.name)));
	assert_int_equal(msg_send(writer, &request, sizeof(request), memfd, 0), 0);
	return writer_answer(writer, PATIENCE_MS);
}

static int save(const char *name, int memfd)
{
	int status, r = writer_ask(writer, name, memfd);

	if (r < 0)
		return r;
	status = writer_answer(writer, PATIENCE_MS);
	assert_int_equal(writer_answer(writer, 0), -EINPROGRESS);
	return status;
}

static void start_writer(const struct writer_output *output)
{
	assert_int_equal(writer_start(dir, output, &writer), 0);
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
	assert_int_equal(save("stacktop-report.txt", memfd), 0);
	fd = openat(dir, "stacktop-report.txt", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(read_all(fd, 100, &text, &len), 0);
	assert_string_equal(text, "hello\n");
	free(text);
	close(fd);
	/* never over anything, never through a link */
	assert_int_equal(save("stacktop-report.txt", memfd), -EEXIST);
	assert_int_equal(symlinkat("target", dir, "stacktop-link.txt"), 0);
	assert_int_equal(save("stacktop-link.txt", memfd), -EEXIST);
	assert_int_equal(count_files(), 2);
	unlinkat(dir, "stacktop-report.txt", 0);
	unlinkat(dir, "stacktop-link.txt", 0);
	close(memfd);
}

/* Root's shell, make, cron and others start programs from files with names of their own. */
static void names_are_those_of_reports(void **state)
{
	static const char *const names[] = {
		"",
		".",
		"..",
		"../stacktop-x.txt",
		"/tmp/stacktop-x.txt",
		"a/stacktop-b.txt",
		".bash_profile",
		".stacktop-x.txt",
		"Makefile",
		"report",
		"report.txt",
		"package.json",
		"stacktop-",
		"stacktop-.txt",
		"stacktop-x",
		"stacktop-x.sh",
		"stacktop-x.txt.so",
		"stacktop-a/b.txt",
		"stacktop-a\nb.txt",
		"stacktop-a\x1b.txt",
		"stacktop-a\x7f.txt",
		"stacktop-a b.txt",
		"stacktop-$(id).txt",
		"-stacktop-x.txt",
	};
	static const char *const good[] = {"stacktop-host-20260101-000000.txt", "stacktop-x.json",
					   "stacktop-a_b.folded", "stacktop-a.tar"};
	int memfd = memfd_sealed("report", "hello\n", 6);
	char name[300] = "stacktop-";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(save(names[i], memfd), -EINVAL);
		assert_int_equal(save_raw(names[i], memfd), -EINVAL);
	}
	assert_int_equal(count_files(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(save(good[i], memfd), 0);
		assert_int_equal(unlinkat(dir, good[i], 0), 0);
	}
	memset(name + strlen(name), 'a', sizeof(name) - strlen(name) - 1);
	strcpy(name + 197, ".txt");
	assert_int_equal(save(name, memfd), -ENAMETOOLONG);
	assert_int_equal(save_raw(name, memfd), -EINVAL); /* without an end */
	strcpy(name + 196, ".txt");
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
	assert_int_equal(save("stacktop-half.txt", unreadable), -EISDIR);
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
	start_writer(&no_output);
	if (save("stacktop-report.txt", memfd) != -ENOSPC)
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

static pid_t writer_pid(void)
{
	char command[64], name[64] = "";
	pid_t pid = 0;
	FILE *children;

	snprintf(command, sizeof(command), "/proc/self/task/%d/children", getpid());
	children = fopen(command, "re");
	while (children && fscanf(children, "%d", &pid) == 1) {
		status_field(pid, "Name", name, sizeof(name));
		if (strcmp(name, "stacktop-writer") == 0)
			break;
		pid = 0;
	}
	if (children)
		fclose(children);
	return pid;
}

/* A broker that is stopped or killed takes no report along. */
static void writer_is_a_process_without_privileges(void **state)
{
	int memfd = memfd_sealed("report", "hello\n", 6);
	pid_t pid = writer_pid();

	(void)state;
	if (pid == 0)
		skip(); /* this kernel does not list children */
	assert_int_equal(save("stacktop-x.txt", memfd), 0);
	assert_int_equal(unlinkat(dir, "stacktop-x.txt", 0), 0);
	assert_int_equal(status_hex(pid, "CapPrm"), 0);
	assert_int_equal(status_hex(pid, "NoNewPrivs"), 1);
#if defined(HAVE_SECCOMP) && !defined(SANITIZED)
	assert_int_equal(status_hex(pid, "Seccomp"), 2);
#endif
	close(memfd);
}

/* Stopped before it is done nothing stays; a stop that comes too late changes nothing. */
static void what_is_stopped_is_removed(void **state)
{
	char *data = calloc(1, LARGE_BYTES);
	int memfd = memfd_sealed("report", data, LARGE_BYTES);
	int r = 0;

	(void)state;
	for (int i = 0; i < 100 && r == 0; i++) {
		assert_int_equal(writer_ask(writer, "stacktop-x.txt", memfd), 0);
		writer_stop(writer);
		r = writer_answer(writer, PATIENCE_MS);
		assert_int_equal(count_files(), r == 0);
		if (r == 0)
			assert_int_equal(unlinkat(dir, "stacktop-x.txt", 0), 0);
	}
	assert_int_equal(r, -ECANCELED);
	writer_stop(writer);
	assert_int_equal(save("stacktop-x.txt", memfd), 0);
	assert_int_equal(lseek(memfd, 0, SEEK_CUR), LARGE_BYTES); /* how far it is */
	assert_int_equal(count_files(), 1);
	assert_int_equal(unlinkat(dir, "stacktop-x.txt", 0), 0);
	free(data);
	close(memfd);
}

/* What -o has made is removed by whoever may still do that, and nothing else is. */
static void output_is_removed_on_request(void **state)
{
	int memfd = memfd_sealed("report", "hello\n", 6), saved = writer;
	int fd = openat(dir, "output", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	const struct writer_output output = {.fd = fd, .name = "output"};

	(void)state;
	assert_int_equal(save_raw("stacktop-report.txt", -1), -EINVAL); /* of the other one */
	start_writer(&output);
	assert_int_equal(save("stacktop-report.txt", memfd), -EINVAL);
	assert_int_equal(count_files(), 1);
	/* Another file of that name stays. */
	assert_int_equal(renameat(dir, "output", dir, "moved"), 0);
	close(openat(dir, "output", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(save("", -1), 0);
	assert_int_equal(count_files(), 2);
	assert_int_equal(renameat(dir, "moved", dir, "output"), 0);
	assert_int_equal(save("", -1), 0);
	assert_int_equal(count_files(), 0);
	close(writer);
	writer = saved;
	close(fd);
	close(memfd);
}

static void make_part(const char *name, struct writer_output *ret)
{
	static const char *const files[] = {"one", "two", "never made"};
	int fd;

	assert_int_equal(mkdirat(dir, name, 0700), 0);
	*ret = (struct writer_output){
		.fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.name = name,
		.whole_name = "whole",
		.files = files,
		.nr_files = ARRAY_SIZE(files),
	};
	for (size_t i = 0; i < 2; i++) {
		fd = openat(ret->fd, files[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
}

/* The answer to a request that the folder OUTPUT is named, or removed. */
static int end_part(const struct writer_output *output, bool is_whole)
{
	int saved = writer, r;

	start_writer(output);
	r = is_whole ? writer_ask_whole(writer) : writer_ask(writer, "", -1);
	assert_int_equal(r, 0);
	r = writer_answer(writer, PATIENCE_MS);
	close(writer);
	close(output->fd);
	writer = saved;
	return r;
}

static void folder_is_named_or_removed_on_request(void **state)
{
	struct writer_output output;

	(void)state;
	make_part("part", &output);
	assert_int_equal(end_part(&output, false), 0);
	assert_int_equal(count_files(), 0);
	make_part("part", &output);
	assert_int_equal(end_part(&output, true), 0);
	assert_int_equal(faccessat(dir, "whole/two", F_OK, 0), 0);
	assert_int_equal(count_files(), 1);
	/* never over anything, an empty folder neither */
	unlinkat(dir, "whole/one", 0);
	unlinkat(dir, "whole/two", 0);
	make_part("part", &output);
	assert_int_equal(end_part(&output, true), -EEXIST);
	assert_int_equal(faccessat(dir, "part/two", F_OK, 0), 0);
	assert_int_equal(unlinkat(dir, "whole", AT_REMOVEDIR), 0);
	/* what has come in its place is another's */
	output.fd = openat(dir, "part", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(renameat(dir, "part", dir, "moved"), 0);
	assert_int_equal(mkdirat(dir, "part", 0700), 0);
	output.fd = fcntl(output.fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(end_part(&output, true), -ENOENT);
	assert_int_equal(unlinkat(dir, "part", AT_REMOVEDIR), 0);
	unlinkat(dir, "moved/one", 0);
	unlinkat(dir, "moved/two", 0);
	assert_int_equal(unlinkat(dir, "moved", AT_REMOVEDIR), 0);
}

static char *merge_lines(const void *context, const char *text, const char *lines)
{
	char *ret;

	if (strcmp(lines, context) == 0)
		return NULL;
	return asprintf(&ret, "%s%s", text, lines) < 0 ? NULL : ret;
}

static int save_settings(const char *lines)
{
	int memfd = memfd_sealed("settings", lines, strlen(lines)), r;

	r = save("", memfd);
	close(memfd);
	return r;
}

static void check_settings(const char *path, const char *expected)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;
	size_t len;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(read_all(fd, 1000, &text, &len), 0);
	assert_string_equal(text, expected);
	free(text);
	close(fd);
}

static void settings_are_replaced_or_stay(void **state)
{
	static const struct settings_file file = {
		.path = "a/b/config", .bytes_max = 100, .merge = merge_lines, .context = "evil\n"};
	static char large[102];
	int memfd = memfd_sealed("report", "x\n", 2), saved = writer;

	(void)state;
	assert_int_equal(writer_start_settings(dir, &file, &writer), 0);
	assert_int_equal(save_settings("one\n"), 0);
	check_settings("a/b/config", "one\n");
	assert_int_equal(save_settings("two\n"), 0);
	check_settings("a/b/config", "one\ntwo\n");
	assert_int_equal(save_settings("evil\n"), -EINVAL);
	memset(large, 'x', sizeof(large) - 1);
	assert_int_equal(save_settings(large), -EFBIG);
	large[98] = '\0'; /* with what is there it is too long */
	assert_int_equal(save_settings(large), -EINVAL);
	assert_int_equal(save("stacktop-x.txt", memfd), -EINVAL); /* it makes nothing else */
	check_settings("a/b/config", "one\ntwo\n");
	assert_int_equal(renameat(dir, "a/b/config", dir, "other"), 0);
	assert_int_equal(symlinkat("../../other", dir, "a/b/config"), 0);
	assert_int_equal(save_settings("three\n"), -ELOOP);
	check_settings("other", "one\ntwo\n");
	assert_int_equal(unlinkat(dir, "a/b/config", 0), 0);
	assert_int_equal(mkfifoat(dir, "a/b/config", 0600), 0);
	assert_int_equal(save_settings("three\n"), -EPERM);
	assert_int_equal(unlinkat(dir, "a/b/config", 0), 0);
	assert_int_equal(unlinkat(dir, "a/b", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("..", dir, "a/b"), 0); /* nor is a folder's link */
	assert_true(save_settings("three\n") < 0);
	unlinkat(dir, "a/b", 0);
	unlinkat(dir, "a", AT_REMOVEDIR);
	unlinkat(dir, "other", 0);
	assert_int_equal(count_files(), 0);
	close(memfd);
	close(writer);
	writer = saved;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/stacktop-save-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	start_writer(&no_output);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(writer);
	close(dir);
	return rmdir(folder);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_is_written),
		cmocka_unit_test(names_are_those_of_reports),
		cmocka_unit_test(no_half_file_stays),
		cmocka_unit_test(full_disk_is_told),
		cmocka_unit_test(writer_is_a_process_without_privileges),
		cmocka_unit_test(folder_is_named_or_removed_on_request),
		cmocka_unit_test(settings_are_replaced_or_stay),
		cmocka_unit_test(what_is_stopped_is_removed),
		cmocka_unit_test(output_is_removed_on_request),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

int main(void)
{
	return run_as_both(run);
}
