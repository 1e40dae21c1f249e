/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A real loader, confined, and this very program: what is inlined at an address of it and the lines; the
 * debug file of a stripped copy; files that are damaged or cut off while they are mapped. What the answers are compared
 * with are the lines of this file. tests/test_loader_inlined.py compares with other programs.
 */
#include "config.h"

#include "src/loader/mapped.h"
#include "tests/loader_helpers.h"

#define MODULE		   1u
#define FUNCTION_BYTES_MAX 2048 /* sanitizers make it long */

int main(void);
int lines_outer(int x);

static inline __attribute__((always_inline)) int lines_inner(int x)
{
	volatile int sum = x;

	for (int i = 0; i < x; i++)
		sum += i;
	return sum;
}
static const uint32_t inner_line = __LINE__ - 8;

__attribute__((noinline)) int lines_outer(int x)
{
	return lines_inner(x + 1) * 3;
}
static const uint32_t outer_line = __LINE__ - 4;

struct fixture {
	struct test_spawner spawner;
	struct loader_client *client;
	char *dir;
};

static int fixture_new(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->spawner.main = loader_main;
	f->client = test_client(&f->spawner);
	f->dir = test_dir_new();
	*state = f;
	return f->dir ? 0 : -1;
}

static int fixture_free(void **state)
{
	struct fixture *f = *state;

	loader_client_free(f->client);
	if (f->dir)
		test_run("rm -rf %s", f->dir);
	free(f->dir);
	free(f);
	return 0;
}

static struct loader_reply ask(struct fixture *f, const uint64_t *offs, uint32_t nr)
{
	struct loader_reply reply;

	assert_int_equal(loader_request_lines(f->client, MODULE, offs, nr), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_LINES);
	assert_int_equal(reply.nr_places, nr);
	assert_in_range(reply.nr_answered, nr ? 1 : 0, nr);
	return reply;
}

/* Of some address of lines_outer() it is known that lines_inner() is inlined there, and by which line. */
static void check_chain(struct fixture *f, const char *path, uint64_t off)
{
	bool is_found = false;

	test_add(f->client, MODULE, path);
	for (uint64_t i = 0; i < FUNCTION_BYTES_MAX && !is_found; i++) {
		uint64_t at = off + i;
		struct loader_reply reply = ask(f, &at, 1);
		const struct loader_place *place = reply.places;

		assert_int_equal(reply.status, LOADER_OK);
		assert_true(place->off == at);
		if (place->nr_frames < 2)
			continue;
		is_found = true;
		assert_int_equal(place->nr_frames, 2);
		assert_string_equal(place->frames[0].name, "lines_inner");
		assert_non_null(strstr(place->frames[0].file, "test_loader_lines.c"));
		assert_in_range(place->frames[0].line, inner_line, inner_line + 7);
		assert_int_equal(place->frames[0].decl_line, inner_line);
		assert_string_equal(place->frames[1].name, "lines_outer");
		assert_int_equal(place->frames[1].line, outer_line + 2);
		assert_int_equal(place->frames[1].decl_line, outer_line);
	}
	assert_true(is_found);
}

static void inlined_functions_are_found(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of((const void *)(uintptr_t)lines_outer);

	assert_int_equal(lines_outer(3), 30);
	check_chain(f, place.path, place.off);
	test_client_free(f->client);
	f->client = test_client(&f->spawner);
}

/* A stripped copy answers only with its debug file, and not with another one. */
static void a_debug_file_is_used_if_it_is_the_right_one(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of((const void *)(uintptr_t)lines_outer);
	char path[4096];
	struct loader_reply reply;
	int fd;

	if (!test_run("objcopy --only-keep-debug /proc/%d/exe %s/debug 2>%s/err && "
		      "objcopy --strip-debug /proc/%d/exe %s/program 2>%s/err",
		      getpid(), f->dir, f->dir, getpid(), f->dir, f->dir))
		skip();
	snprintf(path, sizeof(path), "%s/program", f->dir);
	test_add(f->client, MODULE, path);
	reply = ask(f, &place.off, 1);
	assert_int_equal(reply.status, LOADER_OK);
	assert_int_equal(reply.places[0].nr_frames, 0);
	fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loader_add_debug(f->client, MODULE, fd), 0);
	reply = ask(f, &place.off, 1);
	assert_int_equal(reply.places[0].nr_frames, 0);
	snprintf(path, sizeof(path), "%s/debug", f->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(loader_add_debug(f->client, MODULE, fd), 0);
	reply = ask(f, &place.off, 1);
	assert_true(reply.places[0].nr_frames > 0);
	assert_string_equal(reply.places[0].frames[reply.places[0].nr_frames - 1].name,
			    "lines_outer");
}

/* All offsets of a large request get an answer, at once or when they are asked for again. */
static void many_offsets_are_answered_in_turns(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of((const void *)(uintptr_t)lines_outer);
	uint64_t offs[LOADER_NAMES_MAX];
	uint32_t done = 0, nr_turns = 0;

	test_add(f->client, MODULE, place.path);
	for (uint32_t i = 0; i < LOADER_NAMES_MAX; i++)
		offs[i] = place.off + i % 32;
	for (; done < LOADER_NAMES_MAX; nr_turns++) {
		struct loader_reply reply = ask(f, offs + done, LOADER_NAMES_MAX - done);

		assert_int_equal(reply.status, LOADER_OK);
		for (uint32_t i = 0; i < reply.nr_answered; i++)
			assert_true(reply.places[i].nr_frames > 0);
		done += reply.nr_answered;
	}
	assert_in_range(nr_turns, 1, LOADER_NAMES_MAX / 8);
}

/* What is no ELF file has no lines; that is no reason to ask another loader. */
static void a_bad_file_has_no_lines(void **state)
{
	struct fixture *f = *state;
	uint64_t off = 0x1000;
	struct loader_reply reply;
	char path[4096];

	assert_true(test_run("echo nonsense >%s/bad", f->dir));
	snprintf(path, sizeof(path), "%s/bad", f->dir);
	test_add(f->client, MODULE, path);
	reply = ask(f, &off, 1);
	assert_int_equal(reply.status, LOADER_NOT_ELF);
	assert_int_equal(reply.places[0].nr_frames, 0);
	assert_int_equal(f->spawner.nr_started, 1);
}

/* The file is mapped when its owner cuts it off: the loader lives on and names still come. */
static void a_file_may_be_cut_off_while_it_is_mapped(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of((const void *)(uintptr_t)lines_outer);
	char path[4096];
	struct loader_reply reply;

	assert_true(test_run("cp /proc/%d/exe %s/program", getpid(), f->dir));
	snprintf(path, sizeof(path), "%s/program", f->dir);
	test_add(f->client, MODULE, path);
	reply = ask(f, &place.off, 1);
	assert_true(reply.places[0].nr_frames > 0);
	assert_int_equal(truncate(path, 8192), 0);
	for (uint64_t off = place.off - 4096; off < place.off + 4096; off += 512)
		ask(f, &off, 1);
	assert_int_equal(f->spawner.nr_started, 1);
	test_add(f->client, MODULE, place.path);
	assert_string_equal(test_name(f->client, MODULE, place.off).name, "lines_outer");
}

/* Together they are more than the loader may hold, each alone is not. */
static void large_files_make_room_for_one_another(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of((const void *)(uintptr_t)lines_outer);

	for (uint32_t module = MODULE; module < MODULE + 6; module++) {
		uint64_t off = place.off;
		struct loader_reply reply;
		char path[4096];

		snprintf(path, sizeof(path), "%s/large.%u", f->dir, module);
		assert_true(test_run("cp /proc/%d/exe %s && truncate -s 400M %s", getpid(), path,
				     path));
		test_add(f->client, module, path);
		assert_int_equal(loader_request_lines(f->client, module, &off, 1), 0);
		test_reply(f->client, &reply);
		assert_int_equal(reply.status, LOADER_OK);
		assert_true(reply.places[0].nr_frames > 0);
	}
	assert_int_equal(f->spawner.nr_started, 1);
}

/* --- mapped files --- */

static void bus_error(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!mapped_repair(info->si_addr))
		_exit(128 + number);
}

static void what_is_gone_of_a_mapped_file_is_zero(void **state)
{
	struct fixture *f = *state;
	struct sigaction action = {.sa_sigaction = bus_error, .sa_flags = SA_SIGINFO}, before;
	struct mapped mapped = {0}, other = {0};
	char path[4096];
	int fd;

	assert_true(test_run("yes | head -c 20000 >%s/text", f->dir));
	snprintf(path, sizeof(path), "%s/text", f->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(mapped_open(fd, &mapped), 0);
	assert_int_equal(mapped_open(fd, &other), 0);
	assert_int_equal(mapped.bytes, 20000);
	assert_int_equal(((volatile char *)mapped.data)[16384], 'y');
	assert_int_equal(truncate(path, 5000), 0);
	assert_int_equal(sigaction(SIGBUS, &action, &before), 0);
	assert_false(mapped_was_cut(&mapped));
	assert_int_equal(((volatile char *)mapped.data)[16384], 0);
	assert_int_equal(((volatile char *)mapped.data)[19999], 0);
	assert_int_equal(((volatile char *)mapped.data)[4096], 'y');
	assert_true(mapped_was_cut(&mapped));
	assert_false(mapped_was_cut(&other));
	assert_false(mapped_repair(&mapped));
	sigaction(SIGBUS, &before, NULL);
	mapped_close(&other);
	mapped_close(&mapped);
	mapped_close(&mapped);
	assert_int_equal(ftruncate(fd, 0), -1); /* it was opened for reading */
	close(fd);
	fd = open(f->dir, O_RDONLY | O_CLOEXEC);
	assert_int_equal(mapped_open(fd, &mapped), -ENOEXEC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(inlined_functions_are_found, fixture_new,
						fixture_free),
		cmocka_unit_test_setup_teardown(a_debug_file_is_used_if_it_is_the_right_one,
						fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(many_offsets_are_answered_in_turns, fixture_new,
						fixture_free),
		cmocka_unit_test_setup_teardown(a_bad_file_has_no_lines, fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(a_file_may_be_cut_off_while_it_is_mapped,
						fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(large_files_make_room_for_one_another, fixture_new,
						fixture_free),
		cmocka_unit_test_setup_teardown(what_is_gone_of_a_mapped_file_is_zero, fixture_new,
						fixture_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
