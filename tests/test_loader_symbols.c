/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbols of files that are made here, by a real loader: of several names the
 * plain one, however large the file, wherever its code is, whatever becomes of it.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "tests/loader_elf.h"
#include "tests/loader_helpers.h"

#include <dlfcn.h>
#include <inttypes.h>

#define MODULE	       1u
#define FUNCTION_BYTES 32u
#define TEXT_OFF       (1ull << 28) /* behind the symbols */
#define MEMORY_KB_MAX  (150ull * 1000 * 1000 / 1024)
#ifdef SANITIZED /* they keep what was freed, and more */
#define IS_SANITIZED true
#define NR_MANY	     200000u
#else
#define IS_SANITIZED false
#define NR_MANY	     2000000u
#endif

struct fixture {
	struct test_spawner spawner;
	struct loader_client *client;
	struct made_elf elf;
};

static int fixture_new(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->spawner.main = loader_main;
	f->client = test_client(&f->spawner);
	test_slowness = PATIENCE_NS / LOADER_DEADLINE_NS;
	f->elf.text_off = TEXT_OFF;
	f->elf.text_bytes = 1 << 20;
	*state = f;
	return 0;
}

static int fixture_free(void **state)
{
	struct fixture *f = *state;

	test_client_free(f->client);
	made_free(&f->elf);
	free(f);
	return 0;
}

/* A function at number PLACE of the text. */
static void add_as(struct fixture *f, unsigned int place, const char *name, unsigned char bind,
		   unsigned char type, uint16_t version)
{
	made_add(&f->elf, &(struct made_symbol){
				  .name = name,
				  .off = f->elf.text_off + (uint64_t)place * FUNCTION_BYTES,
				  .bytes = FUNCTION_BYTES,
				  .bind = bind,
				  .type = type,
				  .version = version,
			  });
}

static void add(struct fixture *f, unsigned int place, const char *name, unsigned char bind)
{
	add_as(f, place, name, bind, STT_FUNC, 1);
}

static void use_file(struct fixture *f)
{
	assert_int_equal(loader_add_module(f->client, MODULE, made_file(&f->elf)), 0);
}

static void assert_called(struct fixture *f, unsigned int place, const char *name)
{
	uint64_t off = f->elf.text_off + (uint64_t)place * FUNCTION_BYTES;
	struct loader_name found = test_name(f->client, MODULE, off + 1);

	if (!name) {
		assert_null(found.name);
		return;
	}
	assert_non_null(found.name);
	assert_string_equal(found.name, name);
	assert_true(found.func_off == off && found.func_vaddr == off + MADE_LOAD_BIAS);
}

static void the_plain_name_wins(void **state)
{
	struct fixture *f = *state;

	for (int turn = 0; turn < 2; turn++) { /* in whichever order they come */
		unsigned int at = (unsigned int)turn * 100u, a = turn == 0 ? 0 : 1;
		static const struct {
			const char *names[2]; /* the second is the plain one */
			unsigned char bind[2];
		} pairs[] = {
			{{"cfree", "free"}, {STB_GLOBAL, STB_GLOBAL}},
			{{"__pi_memcpy", "memcpy"}, {STB_GLOBAL, STB_LOCAL}},
			{{"__libc_pwrite", "pwrite"}, {STB_GLOBAL, STB_WEAK}},
			{{"local", "everyones"}, {STB_LOCAL, STB_GLOBAL}},
			{{"weak", "strong"}, {STB_WEAK, STB_GLOBAL}},
			{{"old@V1", "newest"}, {STB_GLOBAL, STB_GLOBAL}},
			{{"_start_of_all_start", "begin"}, {STB_GLOBAL, STB_LOCAL}},
			{{"clock_gettime", "__vdso_clock_gettime"}, {STB_WEAK, STB_GLOBAL}},
		};

		for (unsigned int i = 0; i < ARRAY_SIZE(pairs); i++) {
			add(f, at + i, pairs[i].names[a], pairs[i].bind[a]);
			add(f, at + i, pairs[i].names[!a], pairs[i].bind[!a]);
		}
		if (turn == 0)
			continue;
		use_file(f);
		for (unsigned int i = 0; i < ARRAY_SIZE(pairs); i++) {
			assert_called(f, i, pairs[i].names[1]);
			assert_called(f, at + i, pairs[i].names[1]);
		}
	}
}

static void an_old_version_gives_way(void **state)
{
	struct fixture *f = *state;

	f->elf.is_dynamic = true;
	add_as(f, 0, "move", STB_GLOBAL, STT_FUNC, 2 | MADE_HIDDEN);
	add_as(f, 0, "move_bytes", STB_GLOBAL, STT_FUNC, 3);
	add_as(f, 1, "alone", STB_GLOBAL, STT_FUNC, 2 | MADE_HIDDEN);
	use_file(f);
	assert_called(f, 0, "move_bytes");
	assert_called(f, 1, "alone");
}

static void padding_has_no_name_of_its_own(void **state)
{
	struct fixture *f = *state;

	add(f, 0, "__pfx_handler", STB_LOCAL);
	add(f, 1, "handler", STB_GLOBAL);
	add(f, 2, "$x", STB_LOCAL);
	use_file(f);
	assert_called(f, 0, NULL);
	assert_called(f, 1, "handler");
	assert_called(f, 2, NULL);
}

/* The largest memory that process PID has had, in KB. */
static uint64_t peak_kb(pid_t pid)
{
	char path[64], line[256];
	uint64_t kb = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %" SCNu64, &kb) == 1)
			break;
	fclose(file);
	return kb;
}

static void assert_called_many(struct fixture *f, unsigned int place)
{
	char name[64];

	snprintf(name, sizeof(name), "function_number_%u", place);
	assert_called(f, place, name);
}

static void two_million_symbols_fit(void **state)
{
	struct fixture *f = *state;
	struct loader_stats stats;
	uint64_t before_kb;
	char name[64];

	test_warm_up(f->client);
	before_kb = peak_kb(f->spawner.pid);
	f->elf.text_bytes = (uint64_t)NR_MANY * FUNCTION_BYTES;
	for (unsigned int i = 0; i < NR_MANY; i++) {
		/* Not in the order of their addresses. */
		unsigned int place = (unsigned int)((uint64_t)i * 999983 % NR_MANY);

		snprintf(name, sizeof(name), "function_number_%u", place);
		add(f, place, name, STB_GLOBAL);
	}
	use_file(f);
	made_free(&f->elf);
	f->elf.symbols = NULL;
	f->elf.versions = NULL;
	f->elf.names = NULL;
	for (unsigned int place = 0; place < NR_MANY; place += NR_MANY / 100 + 1)
		assert_called_many(f, place);
	assert_called_many(f, NR_MANY - 1);
	loader_stats(f->client, &stats);
	assert_int_equal(stats.symbols_evicted, 0);
	if (!IS_SANITIZED)
		assert_true(peak_kb(f->spawner.pid) - before_kb < MEMORY_KB_MAX);
}

static void code_beyond_four_gigabytes_has_names(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"first", "last_below", "first_above", "last"};
	static const unsigned int below = (1u << 19) / FUNCTION_BYTES;
	const unsigned int places[] = {0, below - 1, below, 2 * below - 1};

	f->elf.text_off = (1ull << 32) - (1u << 19);
	for (unsigned int i = ARRAY_SIZE(names); i-- > 0;)
		add(f, places[i], names[i], STB_GLOBAL);
	use_file(f);
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		assert_called(f, places[i], names[i]);
	assert_called(f, 1, NULL);
	assert_called(f, below + 1, NULL);
}

static void packed_names_are_kept(void **state)
{
	struct fixture *f = *state;

	f->elf.has_packed_names = true;
	add(f, 0, "first", STB_GLOBAL);
	add(f, 1, "_second", STB_LOCAL);
	add(f, 1, "second", STB_GLOBAL);
	use_file(f);
	for (int i = 0; i < 2; i++) {
		assert_called(f, 0, "first");
		assert_called(f, 1, "second");
	}
}

static void long_names_are_read_whole(void **state)
{
	struct fixture *f = *state;
	char name[500];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	add(f, 0, name, STB_GLOBAL);
	add(f, 1, "next", STB_GLOBAL);
	use_file(f);
	assert_called(f, 0, name);
	assert_called(f, 1, "next");
}

/* The last name has no end, another begins behind all of them. */
static void names_that_are_not_there_are_left_out(void **state)
{
	struct fixture *f = *state;

	add(f, 0, "good", STB_GLOBAL);
	add(f, 1, "endless", STB_GLOBAL);
	f->elf.nr_names--;
	made_add(&f->elf, &(struct made_symbol){.name = "",
						.off = TEXT_OFF + 2 * FUNCTION_BYTES,
						.bytes = 1,
						.type = STT_FUNC});
	f->elf.nr_names--;
	f->elf.symbols[f->elf.nr - 1].st_name = UINT32_MAX;
	use_file(f);
	assert_called(f, 0, "good");
	assert_called(f, 1, NULL);
	assert_called(f, 2, NULL);
}

/* A file that is built anew in its place, then cut off: its names are those that it has. */
static void a_changed_file_is_read_again(void **state)
{
	struct fixture *f = *state;
	int fd;

	add(f, 0, "before", STB_GLOBAL);
	add(f, 1, "same", STB_GLOBAL);
	fd = made_file(&f->elf);
	assert_int_equal(loader_add_module(f->client, MODULE, dup(fd)), 0);
	assert_called(f, 0, "before");
	made_free(&f->elf);
	f->elf = (struct made_elf){.text_off = TEXT_OFF, .text_bytes = 2 << 20};
	add(f, 0, "afterwards", STB_GLOBAL);
	add(f, 1, "same", STB_GLOBAL);
	made_write_to(&f->elf, fd);
	assert_called(f, 0, "afterwards");
	assert_called(f, 1, "same");
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_called(f, 0, NULL);
	close(fd);
}

/* The file of the C library, without its section headers, in a memory file; *RET_OFF: where the function at ADDR is. */
static int library_without_sections(const void *addr, uint64_t *ret_off)
{
	int fd = memfd_create("bare", MFD_CLOEXEC), from;
	AUTO_FREE char *image = NULL;
	const Elf64_Phdr *phdr;
	Elf64_Ehdr head;
	Dl_info info;
	size_t len;
	off_t at = 0;

	assert_true(dladdr(addr, &info) != 0 && fd >= 0);
	from = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(from >= 0 && read_all(from, 64u << 20, &image, &len) == 0);
	close(from);
	memcpy(&head, image, sizeof(head));
	*ret_off = (uint64_t)((const char *)addr - (const char *)info.dli_fbase);
	phdr = (const Elf64_Phdr *)(const void *)(image + head.e_phoff);
	while (phdr->p_type != PT_LOAD || *ret_off - phdr->p_vaddr >= phdr->p_filesz)
		phdr++;
	*ret_off += phdr->p_offset - phdr->p_vaddr;
	len = head.e_shoff;
	head.e_shoff = head.e_shnum = head.e_shstrndx = 0;
	memcpy(image, &head, sizeof(head));
	made_write(fd, image, len, &at);
	return fd;
}

static void a_file_without_sections_has_its_dynamic_names(void **state)
{
	static const char *const names[] = {"gnu_get_libc_version", "getpriority", "sethostname"};
	struct fixture *f = *state;
	uint64_t off;

	if (sizeof(void *) != 8)
		skip();
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		const void *addr = dlsym(RTLD_DEFAULT, names[i]);
		struct loader_name found;
		int fd;

		assert_non_null(addr);
		fd = library_without_sections(addr, &off);
		assert_int_equal(loader_add_module(f->client, MODULE + i, fd), 0);
		found = test_name(f->client, MODULE + i, off + 1);
		assert_non_null(found.name);
		assert_string_equal(found.name, names[i]);
		assert_int_equal(found.func_off, off);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_new, fixture_free)
	const struct CMUnitTest tests[] = {
		TEST(the_plain_name_wins),
		TEST(an_old_version_gives_way),
		TEST(padding_has_no_name_of_its_own),
		TEST(two_million_symbols_fit),
		TEST(code_beyond_four_gigabytes_has_names),
		TEST(packed_names_are_kept),
		TEST(long_names_are_read_whole),
		TEST(names_that_are_not_there_are_left_out),
		TEST(a_changed_file_is_read_again),
		TEST(a_file_without_sections_has_its_dynamic_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
