/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report is made and written in a thread of its own, and may be stopped in both. */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/report_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LINE	    "a line of it\n"
#define PATIENCE_NS (60 * NS_PER_SEC)

struct work {
	uint32_t nr_lines; /* 0: it goes on until the stream fails */
	_Atomic int nr_done;
};

static int make_lines(FILE *stream, void *context)
{
	const struct work *work = context;

	for (uint32_t i = 0; (work->nr_lines == 0 || i < work->nr_lines) && !ferror(stream); i++) {
		fputs(LINE, stream);
		if (work->nr_lines == 0)
			usleep(1);
	}
	return ferror(stream) ? -errno : 0;
}

static void work_done(void *context)
{
	struct work *work = context;

	work->nr_done++;
}

static int begin(struct report_writer *writer, const char *name, struct work *work, struct err *err)
{
	const struct report_source source = {make_lines, work_done, work};

	return report_writer_make(writer, name, &source, err);
}

static int wait_for(struct report_writer *writer, struct err *err)
{
	uint64_t until_ns = now_ns() + PATIENCE_NS;
	int r;

	while ((r = report_writer_poll(writer, err)) == -EINPROGRESS && now_ns() < until_ns)
		usleep(1000);
	return r;
}

static void what_is_made_is_written(void **state)
{
	struct report_writer *writer = report_writer_new(-1, NULL, -1);
	struct work work = {.nr_lines = 100000};
	struct err err = {0};
	char *text = NULL;
	size_t len = 0;
	int fd;

	(void)state;
	assert_int_equal(begin(writer, "whole", &work, &err), -EINPROGRESS);
	assert_int_equal(wait_for(writer, &err), 0);
	assert_int_equal(work.nr_done, 1);
	fd = open("whole", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read_all(fd, 10 << 20, &text, &len), 0);
	assert_int_equal(len, 100000 * strlen(LINE));
	assert_string_equal(text + len - strlen(LINE), LINE);
	free(text);
	close(fd);
	/* never over anything */
	assert_int_equal(begin(writer, "whole", &work, &err), -EINPROGRESS);
	assert_int_equal(wait_for(writer, &err), -EEXIST);
	assert_int_equal(work.nr_done, 2);
	assert_int_equal(unlink("whole"), 0);
	report_writer_free(writer);
}

static void what_is_stopped_while_it_is_made_is_nowhere(void **state)
{
	struct report_writer *writer = report_writer_new(-1, NULL, -1);
	struct work work = {0};
	struct err err = {0};
	uint64_t total = 1, until_ns = now_ns() + PATIENCE_NS;

	(void)state;
	assert_int_equal(begin(writer, "endless", &work, &err), -EINPROGRESS);
	assert_int_equal(begin(writer, "other", &work, &err), -EBUSY);
	assert_int_equal(work.nr_done, 1); /* of the other */
	while (report_writer_done_bytes(writer, &total) == 0 && now_ns() < until_ns)
		usleep(1000);
	assert_true(report_writer_done_bytes(writer, &total) > 0);
	assert_int_equal(total, 0);
	report_writer_stop(writer);
	assert_int_equal(wait_for(writer, &err), -ECANCELED);
	assert_string_equal(err.text, "endless is stopped: nothing written");
	assert_int_equal(work.nr_done, 2);
	assert_int_equal(access("endless", F_OK), -1);
	/* and the next one is not stopped */
	work.nr_lines = 1;
	assert_int_equal(begin(writer, "next", &work, &err), -EINPROGRESS);
	assert_int_equal(wait_for(writer, &err), 0);
	assert_int_equal(unlink("next"), 0);
	report_writer_free(writer);
}

static int set_up(void **state)
{
	static char folder[] = "/tmp/stacktop-report-XXXXXX";

	*state = folder;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	return chdir("/") == 0 ? rmdir(*state) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_made_is_written),
		cmocka_unit_test(what_is_stopped_while_it_is_made_is_nowhere),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
