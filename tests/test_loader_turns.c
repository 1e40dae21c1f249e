/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose turn it is: a file that takes long waits behind all others, whoever owns
 * it, and the owners of files share the loader's time. The loader is one of our own
 * that answers at once and says how much CPU time it took.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/loader/elf_file.h"
#include "src/loader/protocol.h"
#include "src/loader/symbols.h"
#include "tests/loader_elf.h"
#include "tests/loader_helpers.h"
#include "unwind/table_format.h"

#include <dlfcn.h>

#ifdef SANITIZED /* everything takes longer */
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif
#define NR_SLOW	   10u
#define NR_OTHERS  20u
#define FIRST_SLOW 100u
#define FIRST_GOOD 200u
#define OTHER_UID  12345u

/* What the loader says: how long a file takes is its length in milliseconds. */
static uint64_t cpu_of(int file)
{
	struct stat st;

	assert_int_equal(fstat(file, &st), 0);
	return (uint64_t)st.st_size * NS_PER_MSEC;
}

static int timing_main(int sock)
{
	struct protocol_hello hello = {.version = PROTOCOL_VERSION};
	struct protocol_request request;
	uint64_t cpu_ns = 0, needs_ns = 0;
	int fd;

	msg_send(sock, &hello, sizeof(hello), -1, 0);
	while (msg_recv(sock, &request, sizeof(request), &fd, 0) > 0) {
		struct protocol_reply reply = {
			.version = PROTOCOL_VERSION,
			.kind = request.kind,
			.serial = request.serial,
			.status = LOADER_NOT_ELF,
		};

		if (request.kind == PROTOCOL_ATTACH) {
			if (request.role == PROTOCOL_ROLE_FILE)
				needs_ns = cpu_of(fd);
			close(fd);
			continue;
		}
		if (request.cpu_max_ns && needs_ns > request.cpu_max_ns)
			reply.status = LOADER_LATE;
		cpu_ns += request.cpu_max_ns ? MIN(needs_ns, request.cpu_max_ns) : needs_ns;
		reply.cpu_ns = cpu_ns;
		msg_send(sock, &reply, sizeof(reply), -1, 0);
	}
	return 0;
}

static int fixture_new(void **state)
{
	static struct test_spawner spawner;

	spawner = (struct test_spawner){.main = timing_main};
	*state = test_client(&spawner);
	return 0;
}

static int fixture_free(void **state)
{
	loader_client_free(*state);
	return 0;
}

/* File MODULE, which takes MS of the loader's time, is there. */
static void add(struct loader_client *client, uint32_t module, unsigned int ms, bool is_others)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, ms), 0);
	if (is_others)
		assert_int_equal(fchown(fd, OTHER_UID, (gid_t)-1), 0);
	assert_int_equal(loader_add_module(client, module, fd), 0);
}

/* The same of a large file: so many MB of it are on the disk. */
static void want_large(struct loader_client *client, uint32_t module, unsigned int ms, off_t mb)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, ms), 0);
	assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, mb << 20), 0);
	assert_int_equal(loader_add_module(client, module, fd), 0);
	assert_int_equal(loader_request_table(client, module), 0);
}

/* Its table is wanted. */
static void want(struct loader_client *client, uint32_t module, unsigned int ms, bool is_others)
{
	add(client, module, ms, is_others);
	assert_int_equal(loader_request_table(client, module), 0);
}

static struct loader_reply next(struct loader_client *client)
{
	struct loader_reply reply;

	test_reply(client, &reply);
	return reply;
}

static void what_takes_long_waits_behind_all_others(void **state)
{
	struct loader_client *client = *state;
	struct loader_stats stats;

	for (uint32_t i = 0; i < NR_SLOW; i++)
		want(client, FIRST_SLOW + i, 2000, false);
	for (uint32_t i = 0; i < NR_OTHERS; i++)
		want(client, FIRST_GOOD + i, 5, false);
	for (uint32_t i = 0; i < NR_OTHERS; i++)
		assert_int_equal(next(client).module, FIRST_GOOD + i);
	/* None has cost the others more than its first part, and all are known to wait. */
	loader_stats(client, &stats);
	assert_int_equal(stats.late, NR_SLOW);
	assert_int_equal(stats.put_back, NR_SLOW);
	assert_true(stats.late_module >= FIRST_SLOW && stats.late_module < FIRST_SLOW + NR_SLOW);
	assert_true(stats.cpu_ns <= NR_SLOW * LOADER_CPU_FIRST_NS + NR_OTHERS * 5 * NS_PER_MSEC);
	/* They come at last; what is wanted meanwhile comes before those that are not in work yet. */
	assert_true(next(client).module < FIRST_GOOD);
	want(client, FIRST_GOOD, 5, false);
	for (uint32_t i = 0; next(client).module != FIRST_GOOD; i++)
		assert_int_equal(i, 0);
	do {
		loader_stats(client, &stats);
		if (stats.queued > 0)
			assert_int_equal(next(client).status, LOADER_NOT_ELF);
	} while (stats.queued > 0);
	loader_stats(client, &stats);
	assert_int_equal(stats.late, 0);
	assert_int_equal(stats.queued, 0);
	assert_int_equal(stats.restarts, 0);
}

/* Compilers' libraries need more than others at first, and have it. But not for ever, however large they are. */
static void large_files_have_more_time(void **state)
{
	struct loader_client *client = *state;
	struct loader_stats stats;

	want_large(client, FIRST_SLOW, 400, 100);
	want(client, FIRST_GOOD, 5, false);
	assert_int_equal(next(client).module, FIRST_SLOW);
	assert_int_equal(next(client).module, FIRST_GOOD);
	loader_stats(client, &stats);
	assert_int_equal(stats.put_back, 0);
	want_large(client, FIRST_SLOW + 1, 700, 100);
	want_large(client, FIRST_SLOW + 2, 60000, 100);
	want(client, FIRST_GOOD + 1, 5, false);
	assert_int_equal(next(client).module, FIRST_GOOD + 1);
	assert_int_equal(next(client).module, FIRST_SLOW + 1);
	assert_int_equal(next(client).status, LOADER_TIMED_OUT);
}

static void what_takes_for_ever_is_bad(void **state)
{
	struct loader_client *client = *state;
	struct loader_stats stats;

	want(client, FIRST_SLOW, 60000, false);
	assert_int_equal(next(client).status, LOADER_TIMED_OUT);
	loader_stats(client, &stats);
	assert_int_equal(stats.restarts, 0);
	assert_int_equal(stats.late, 0);
	assert_true(stats.cpu_ns <= 2 * LOADER_DEADLINE_NS);
	assert_int_equal(loader_request_table(client, FIRST_SLOW), 0);
	assert_int_equal(next(client).status, LOADER_TIMED_OUT);
}

/* One of them has many files that each take nearly as long as is let pass. */
static void owners_share_the_time(void **state)
{
	struct loader_client *client = *state;
	unsigned int nr_others = 0, nr_own = 0;

	if (geteuid() != 0)
		skip(); /* nobody else may give files away */
	for (uint32_t i = 0; i < 100; i++)
		want(client, FIRST_SLOW + i, 290, true);
	for (uint32_t i = 0; i < NR_OTHERS; i++)
		want(client, FIRST_GOOD + i, 29, false);
	while (nr_own < NR_OTHERS) {
		if (next(client).module < FIRST_GOOD)
			nr_others++;
		else
			nr_own++;
	}
	assert_true(nr_others <= 4);
	while (nr_others < 100) {
		next(client);
		nr_others++;
	}
}

/* Names of a file that is on the screen, which was wanted last: one table may go before them, and what is in work. */
static void what_is_looked_at_goes_first(void **state)
{
	struct loader_client *client = *state;
	const uint32_t looked_at = FIRST_GOOD + NR_OTHERS, offs_nr = 1;
	const uint64_t off = 16;
	bool seen = false;

	for (uint32_t i = 0; i < NR_OTHERS; i++)
		want(client, FIRST_SLOW + i, 5, false);
	for (uint32_t i = 0; i <= NR_OTHERS; i++) {
		add(client, FIRST_GOOD + i, 5, false);
		assert_int_equal(loader_request_names(client, FIRST_GOOD + i, &off, offs_nr), 0);
	}
	loader_prefer(client, &looked_at, 1);
	for (uint32_t i = 0; i < 3; i++)
		seen |= next(client).module == looked_at;
	assert_true(seen);
	/* All others come as well. */
	for (uint32_t i = 3; i < 2 * NR_OTHERS + 1; i++)
		assert_int_not_equal(next(client).module, looked_at);
}

/* Where the time goes it is looked at: in frame information, in code, in symbols. */
static void work_ends_at_the_deadline(void **state)
{
	struct test_place place = test_place_of(dlsym(RTLD_DEFAULT, "lsearch"));
	AUTO_CLOSE int fd = open(place.path, O_RDONLY | O_CLOEXEC);
	struct symbols *symbols = symbols_new();
	struct elf_file file;
	void *blob;
	size_t len;

	(void)state;
	assert_int_equal(elf_file_open(fd, &file), 0);
	deadline_set(1);
	assert_int_equal(elf_code_compile(&file, false, &blob, &len), -ETIME);
	assert_int_equal(elf_code_compile(&file, true, &blob, &len), -ETIME);
	assert_int_equal(symbols_add(symbols, &file, 0, &file, NULL), -ETIME);
	deadline_set(0);
	assert_int_equal(elf_code_compile(&file, false, &blob, &len), 0);
	free(blob);
	assert_int_equal(symbols_add(symbols, &file, 0, &file, NULL), 0);
	symbols_free(symbols);
	elf_file_close(&file);
}

/* `mov $15,%eax; syscall` and `call *%rax` at AT of FD. */
static void write_code(int fd, uint64_t at)
{
	static const uint8_t code[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05, 0xff, 0xd0};

	assert_int_equal(pwrite(fd, code, sizeof(code), (off_t)at), sizeof(code));
}

/* Is the code of write_code() at AT of FD in FILE's table, and in its return addresses? They must agree. */
static bool is_code_at(const struct elf_file *file, uint64_t at)
{
	struct return_addrs return_addrs;
	const struct table_rule *rule;
	void *blobs[2];
	size_t lens[2];
	struct table table;
	bool is_code;

	assert_int_equal(elf_code_compile(file, false, &blobs[0], &lens[0]), 0);
	assert_int_equal(elf_code_compile(file, true, &blobs[1], &lens[1]), 0);
	assert_int_equal(table_open(blobs[0], lens[0], &table), 0);
	assert_int_equal(return_addrs_open(blobs[1], lens[1], &return_addrs), 0);
	rule = table_find(&table, at);
	is_code = rule && rule->cfa_op != RULE_CFA_GAP;
	assert_int_equal(return_addrs_has(&return_addrs, at + 9), is_code);
	free(blobs[0]);
	free(blobs[1]);
	return is_code;
}

/* In a segment for both. But sections that leave out little, which may be code, are not believed. */
static void constants_are_not_searched_for_code(void **state)
{
	const uint64_t constant = 0x11000, code = 0x90000;
	struct made_elf elf = {.text_off = 0x10000, .text_bytes = 0x100000};
	struct made_elf with_section = elf, with_little = elf;
	const struct made_elf *elfs[] = {&elf, &with_section, &with_little};

	(void)state;
	with_section.code_off = with_little.code_off = 0x80000;
	with_section.code_bytes = 0x20000;
	with_little.code_off = elf.text_off + 0x8000;
	with_little.code_bytes = elf.text_bytes - 0x8000;
	for (size_t i = 0; i < ARRAY_SIZE(elfs); i++) {
		AUTO_CLOSE int fd = made_file(elfs[i]);
		struct elf_file file;

		write_code(fd, constant);
		write_code(fd, code);
		assert_int_equal(elf_file_open(fd, &file), 0);
		assert_true(is_code_at(&file, code));
		assert_int_equal(is_code_at(&file, constant), elfs[i] != &with_section);
		elf_file_close(&file);
	}
}

/* A gap as large as the file, where everything that could be in it is looked for. */
static void a_file_of_one_gap_is_given_up_in_time(void **state)
{
	struct test_spawner spawner = {.main = loader_main};
	struct loader_client *client = test_client(&spawner);
	struct made_elf elf = {.text_off = 1 << 20,
			       .text_bytes = IS_SANITIZED ? 64 << 20 : 512 << 20};
	struct loader_stats stats;
	struct loader_reply reply;

	(void)state;
	made_add(&elf, &(struct made_symbol){"f", elf.text_off, 16, STB_GLOBAL, STT_FUNC, 0});
	test_slowness = PATIENCE_NS / LOADER_DEADLINE_NS;
	test_warm_up(client);
	assert_int_equal(loader_add_module(client, 1, made_file(&elf)), 0);
	made_free(&elf);
	assert_int_equal(loader_request_table(client, 1), 0);
	do { /* what has been used by the time that others get their turn */
		loader_tick(client, test_now(client));
		assert_false(loader_next_reply(client, &reply));
		loader_stats(client, &stats);
	} while (stats.put_back == 0 && !IS_SANITIZED);
	assert_true(IS_SANITIZED || stats.cpu_ns < 2 * LOADER_CPU_FIRST_NS);
	loader_client_free(client);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_new, fixture_free)
	const struct CMUnitTest tests[] = {
		TEST(what_takes_long_waits_behind_all_others),
		TEST(large_files_have_more_time),
		TEST(what_takes_for_ever_is_bad),
		TEST(owners_share_the_time),
		TEST(what_is_looked_at_goes_first),
		cmocka_unit_test(work_ends_at_the_deadline),
		cmocka_unit_test(constants_are_not_searched_for_code),
		cmocka_unit_test(a_file_of_one_gap_is_given_up_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
