/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings that others made are read as an independent parser read them:
 * samples, events, byte order, mode. Files that were damaged on purpose end in
 * one line of message, in little memory.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/perf/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COLUMNS	       15
#define HOSTILE_BYTES  (512ul << 20)
#define PATH_BYTES_MAX 4096

static const char *data_dir(void)
{
	static char path[PATH_BYTES_MAX];
	const char *given = getenv("STACKTOP_TEST_DATA"), *top = getenv("top_srcdir");

	if (given)
		return given;
	snprintf(path, sizeof(path), "%s/../shared/data", top ? top : "..");
	return path;
}

static int open_in(const char *name)
{
	char path[2 * PATH_BYTES_MAX];

	snprintf(path, sizeof(path), "%s/%s", data_dir(), name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Others count the samples that were written: a group's is its leader's. */
static bool is_leader(const struct record *record)
{
	return record->sample.nr_group == 0 || record->id == record->sample.group[1];
}

/* Read to the end; the number of samples. */
static uint64_t read_samples(struct recording *rec)
{
	uint64_t nr = 0;
	struct record record;

	do {
		assert_true(recording_read(rec) >= 0);
		while (recording_next(rec, &record))
			nr += record.kind == RECORD_SAMPLE && is_leader(&record);
	} while (!recording_is_over(rec));
	return nr;
}

/* What one line of expected.tsv says; its columns are named in its first line. */
static void check_line(char *line)
{
	char *column[COLUMNS] = {NULL};
	struct recording *rec;
	const struct recording_info *info;
	const char *trouble;
	struct err err;
	uint64_t nr;
	bool is_bad;
	int r;

	for (int i = 0; i < COLUMNS; i++)
		column[i] = strsep(&line, "\t");
#ifndef HAVE_ZSTD
	if (strcmp(column[5], "-") != 0)
		return;
#endif
	r = recording_open(open_in(column[0]), column[0], &rec, &err);
	if (r < 0)
		fail_msg("%s", err.text);
	nr = read_samples(rec);
	info = recording_info(rec);
	trouble = recording_trouble(rec, &is_bad);
	assert_int_equal(nr, strtoull(column[6], NULL, 10));
	assert_int_equal(info->nr_events, strtoul(column[3], NULL, 10));
	assert_int_equal(info->is_swapped, strcmp(column[1], "BE") == 0);
	assert_int_equal(info->is_pipe, strcmp(column[2], "pipe") == 0);
	assert_int_equal(info->is_compressed, strcmp(column[5], "-") != 0);
	if (strcmp(column[9], "?") != 0)
		assert_string_equal(info->machine, column[9]);
	if (strcmp(column[10], "?") != 0)
		assert_string_equal(info->release, column[10]);
	/* The last column says what is wrong with a file, if anything. */
	assert_int_equal(trouble[0] != '\0', column[14] && column[14][0] != '\0');
	assert_false(is_bad);
	recording_close(rec);
}

static void recordings_are_read_as_others_read_them(void **state)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = open_in("expected.tsv");
	size_t len;
	char *rest, *line;
	int nr = 0;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(read_all(fd, 1 << 20, &text, &len), 0);
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] == '\0' || strncmp(line, "file\t", 5) == 0)
			continue;
		check_line(line);
		nr++;
	}
	assert_true(nr > 30);
}

static void check_hostile(const char *name)
{
	struct rlimit limit = {.rlim_cur = HOSTILE_BYTES, .rlim_max = HOSTILE_BYTES};
	char path[PATH_BYTES_MAX];
	struct recording *rec;
	const char *trouble;
	struct err err = {0};
	bool is_bad;

#ifndef SANITIZED
	setrlimit(RLIMIT_AS, &limit);
#else
	(void)limit;
#endif
	alarm(20);
	snprintf(path, sizeof(path), "hostile/%s", name);
	if (recording_open(open_in(path), name, &rec, &err) < 0)
		exit(err.text[0] && !strchr(err.text, '\n') ? 1 : 0);
	read_samples(rec);
	trouble = recording_trouble(rec, &is_bad);
	if (trouble[0] == '\0' || strchr(trouble, '\n'))
		is_bad = false;
	recording_close(rec);
	exit(is_bad ? 1 : 0);
}

/* --- the other byte order --- */

/*
 * Turns a file in file mode into what a machine of the other byte order would
 * have written. From <linux/perf_event.h> and perf.data-file-format.txt, not
 * from the reader; for files whose events all have the fields of the first.
 */
struct flip {
	uint8_t *data;
	size_t at;
};

static uint64_t get(const struct flip *f, size_t off, size_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, f->data + off, bytes);
	return v;
}

/* Turn one number around and answer what it was. */
static uint64_t turn(struct flip *f, size_t bytes)
{
	uint64_t v = get(f, f->at, bytes);

	for (size_t i = 0; i < bytes; i++)
		f->data[f->at + i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
	f->at += bytes;
	return v;
}

static void turn_all(struct flip *f, const char *widths)
{
	for (; *widths; widths++)
		turn(f, (size_t)(*widths - '0'));
}

static void turn_times(struct flip *f, uint64_t nr)
{
	while (nr-- > 0)
		turn(f, 8);
}

/* struct perf_branch_entry's bit fields from the other end: 1 1 1 1 16 4 2 4 3, the rest 31. */
static void turn_flags(struct flip *f)
{
	static const int widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};
	uint64_t from = get(f, f->at, 8), to = 0;

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		to = to << widths[i] | (from & ((1ull << widths[i]) - 1));
		from >>= widths[i];
	}
	memcpy(f->data + f->at, &to, 8);
	turn(f, 8);
}

static void turn_sample(struct flip *f, uint64_t type, uint64_t read, uint64_t branch,
			uint64_t regs)
{
	uint64_t n, per;

	if (type & 1 << 16) /* IDENTIFIER */
		turn(f, 8);
	if (type & 1 << 0) /* IP */
		turn(f, 8);
	if (type & 1 << 1) /* TID */
		turn_all(f, "44");
	turn_times(f, !!(type & 1 << 2) + !!(type & 1 << 3) + !!(type & 1 << 6) +
			      !!(type & 1 << 9)); /* TIME ADDR ID STREAM_ID */
	if (type & 1 << 7)			  /* CPU */
		turn_all(f, "44");
	if (type & 1 << 8) /* PERIOD */
		turn(f, 8);
	if (type & 1 << 4) { /* READ */
		n = read & 1 << 3 ? turn(f, 8) : 1;
		per = 1 + !!(read & 1 << 2) + !!(read & 1 << 4);
		turn_times(f, !!(read & 1) + !!(read & 2) + n * per);
	}
	if (type & 1 << 5) /* CALLCHAIN */
		turn_times(f, turn(f, 8));
	if (type & 1 << 10) /* RAW */
		f->at += turn(f, 4);
	if (type & 1 << 11) { /* BRANCH_STACK */
		n = turn(f, 8);
		if (branch & 1 << 17)
			turn(f, 8);
		for (uint64_t i = 0; i < n; i++) {
			turn_all(f, "88");
			turn_flags(f);
		}
	}
	if (type & 1 << 12 && turn(f, 8) != 0) /* REGS_USER */
		turn_times(f, (uint64_t)__builtin_popcountll(regs));
	if (type & 1 << 13) { /* STACK_USER */
		n = turn(f, 8);
		f->at += n;
		if (n)
			turn(f, 8);
	}
}

static void turn_trailer(struct flip *f, uint64_t type)
{
	if (type & 1 << 1)
		turn_all(f, "44");
	turn_times(f, !!(type & 1 << 2) + !!(type & 1 << 6) + !!(type & 1 << 9));
	if (type & 1 << 7)
		turn_all(f, "44");
	if (type & 1 << 16)
		turn(f, 8);
}

static void turn_file(uint8_t *data)
{
	struct flip f = {.data = data};
	size_t step = get(&f, 16, 8), attrs = get(&f, 24, 8), end = attrs + get(&f, 32, 8);
	size_t rec = get(&f, 40, 8), rec_end = rec + get(&f, 48, 8);
	uint64_t type = get(&f, attrs + 24, 8), read = get(&f, attrs + 32, 8);
	bool has_trailer = get(&f, attrs + 40, 8) >> 18 & 1;
	uint64_t branch = step >= 96 ? get(&f, attrs + 72, 8) : 0;
	uint64_t regs = step >= 112 ? get(&f, attrs + 80, 8) : 0;
	size_t trailer = 8u * (size_t)__builtin_popcountll(type & 0x102c6);

	for (; attrs < end; attrs += step) {
		f.at = attrs + step - 16;
		for (size_t at = turn(&f, 8), ids = turn(&f, 8) / 8; ids > 0; ids--, at += 8) {
			struct flip id = {.data = data, .at = at};

			turn(&id, 8);
		}
		f.at = attrs;
		turn_all(&f, "448888");
		for (size_t i = 0; i < 8; i++, f.at++) { /* bit fields of one bit each */
			uint8_t flags = data[f.at];

			for (int bit = 0; bit < 8; bit++)
				data[f.at] = (uint8_t)((data[f.at] & ~(1 << bit)) |
						       (flags >> (7 - bit) & 1) << bit);
		}
		turn_all(&f, step >= 128 ? "448888448422" : step >= 112 ? "44888844" : "44888");
	}
	while (rec < rec_end) {
		static const char *const bodies[] = {
			[1] = "44888", [2] = "88",  [3] = "44",	   [4] = "44448",
			[5] = "888",   [6] = "888", [7] = "44448", [10] = "44888448844"};
		size_t bytes = get(&f, rec + 6, 2);
		uint64_t kind = get(&f, rec, 4);

		f.at = rec;
		turn_all(&f, "422");
		if (kind == 9)
			turn_sample(&f, type, read, branch, regs);
		else if (kind < ARRAY_SIZE(bodies) && bodies[kind])
			turn_all(&f, bodies[kind]);
		if (kind < 64 && kind != 9 && has_trailer) {
			f.at = rec + bytes - trailer;
			turn_trailer(&f, type);
		}
		rec += bytes;
	}
	memcpy(data, "2ELIFREP", 8);
	f.at = 8;
	turn_times(&f, 8);
	memset(data + 72, 0, 32); /* the features have a test of their own */
}

static void expect_same(const struct record *a, const struct record *b)
{
	const struct record_sample *x = &a->sample, *y = &b->sample;

	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->id, b->id);
	if (a->kind == RECORD_MMAP) {
		assert_int_equal(a->mmap.start, b->mmap.start);
		assert_int_equal(a->mmap.file_off, b->mmap.file_off);
		assert_int_equal(a->mmap.ino, b->mmap.ino);
		assert_string_equal(a->mmap.filename, b->mmap.filename);
	}
	if (a->kind != RECORD_SAMPLE)
		return;
	assert_int_equal(x->event, y->event);
	assert_int_equal(x->ip, y->ip);
	assert_int_equal(x->period, y->period);
	assert_int_equal(x->nr_callchain, y->nr_callchain);
	if (x->nr_callchain)
		assert_memory_equal(x->callchain, y->callchain, 8 * x->nr_callchain);
	assert_int_equal(x->nr_branches, y->nr_branches);
	if (x->nr_branches)
		assert_memory_equal(x->branches, y->branches, 24 * x->nr_branches);
	assert_int_equal(!x->regs, !y->regs);
	if (x->regs)
		assert_memory_equal(x->regs, y->regs,
				    8 * (size_t)__builtin_popcountll(x->regs_mask));
	assert_int_equal(x->stack_bytes, y->stack_bytes);
	if (x->stack_bytes)
		assert_memory_equal(x->stack, y->stack, x->stack_bytes);
}

static bool next_of(struct recording *rec, struct record *ret)
{
	while (!recording_next(rec, ret)) {
		if (recording_is_over(rec))
			return false;
		recording_read(rec);
	}
	return true;
}

static void a_turned_recording_is_the_same(void **state)
{
	static const char *const names[] = {
		"recordings/perf.data.PerfFormatLost",
		"recordings/perf.data.callgraph_and_branch-3.4",
		"recordings/perf.data.raw_callgraph_branch-3.4",
		"recordings/perf.data.systemwide.1-3.4",
		"recordings/sleep.data",
		"stacks/vector_static_gcc/perf.data",
		"stacks/vector_static_gcc/perf.lbr.data",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *data = NULL;
		AUTO_CLOSE int fd = open_in(names[i]);
		struct recording *plain, *turned;
		struct record a, b;
		struct err err;
		int copy;
		size_t len;

		if (fd < 0)
			skip();
		assert_int_equal(read_all(fd, 16 << 20, &data, &len), 0);
		turn_file((uint8_t *)data);
		copy = memfd_sealed("turned", data, len);
		assert_true(copy >= 0);
		assert_int_equal(recording_open(open_in(names[i]), names[i], &plain, &err), 0);
		if (recording_open(copy, names[i], &turned, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(recording_info(turned)->is_swapped);
		while (next_of(plain, &a)) {
			assert_true(next_of(turned, &b));
			expect_same(&a, &b);
		}
		assert_false(next_of(turned, &b));
		assert_true(recording_info(turned)->events[0].nr_samples > 0);
		recording_close(plain);
		recording_close(turned);
	}
}

/* --- damage --- */

/* In a child each, which says by its status what came of it. */
static void hostile_files_are_refused(void **state)
{
	char path[2 * PATH_BYTES_MAX];
	struct dirent *entry;
	DIR *dir;
	int nr = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/hostile", data_dir());
	dir = opendir(path);
	if (!dir)
		skip();
	while ((entry = readdir(dir)) != NULL) {
		int status;
		pid_t pid;

		if (entry->d_name[0] == '.')
			continue;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			check_hostile(entry->d_name);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
			fail_msg("%s: status %x", entry->d_name, (unsigned int)status);
		nr++;
	}
	closedir(dir);
	assert_true(nr > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings_are_read_as_others_read_them),
		cmocka_unit_test(a_turned_recording_is_the_same),
		cmocka_unit_test(hostile_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
