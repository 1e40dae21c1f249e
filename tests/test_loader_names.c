/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A real loader and real files: functions of libraries that this program has
 * loaded are found under their names, a stripped function under its start, and
 * a debug file is used only if it belongs to its file.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "tests/loader_helpers.h"
#include "unwind/table.h"
#include "unwind/table_format.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/auxv.h>

#define MODULE 1u

int main(void);
int known_global(int x);
int __known_alias(int x);

/* What the tests look for. Volatile: so that each has a body of some length. */
static __attribute__((noinline)) int known_local(int x)
{
	volatile int sum = 0;

	for (int i = 0; i < x; i++)
		sum += i * x;
	return sum;
}

__attribute__((noinline)) int known_global(int x)
{
	volatile int sum = known_local(x);

	return sum * 2 + 1;
}

int __known_alias(int x) __attribute__((alias("known_global")));

struct fixture {
	struct test_spawner spawner;
	struct loader_client *client;
	char *dir;
	bool has_objcopy;
};

static int fixture_new(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->spawner.main = loader_main;
	f->client = test_client(&f->spawner);
	f->dir = test_dir_new();
	f->has_objcopy = test_run("objcopy --version >%s/out 2>&1", f->dir);
	*state = f;
	return 0;
}

static int fixture_free(void **state)
{
	struct fixture *f = *state;

	test_client_free(f->client);
	test_run("rm -rf %s", f->dir);
	free(f->dir);
	free(f);
	return 0;
}

/* Copy this program to NAME in the test's directory, changed by objcopy with OPTIONS. */
static void copy_self(const struct fixture *f, const char *name, const char *options)
{
	if (!f->has_objcopy)
		skip();
	assert_true(test_run("objcopy %s /proc/%d/exe %s/%s 2>%s/out", options, getpid(), f->dir,
			     name, f->dir));
}

static const char *in_dir(const struct fixture *f, const char *name)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

static void assert_named(struct loader_client *client, uint32_t module, const void *address,
			 const char *name)
{
	struct test_place place = test_place_of(address);
	struct loader_name found = test_name(client, module, place.off + 1);

	if (name)
		assert_non_null(found.name);
	else
		assert_null(found.name);
	if (name)
		assert_string_equal(found.name, name);
	assert_true(found.func_off == place.off);
	assert_true(found.func_vaddr == place.vaddr);
	assert_null(found.object);
}

static void own_functions_have_names(void **state)
{
	struct fixture *f = *state;
	uint64_t end = test_place_of((const void *)known_local).off;

	test_add(f->client, MODULE, "/proc/self/exe");
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
	assert_named(f->client, MODULE, (const void *)known_global, "known_global");
	assert_named(f->client, MODULE, (const void *)main, "main");
	/* Between functions and outside of the code nothing has a name. */
	assert_true(test_name(f->client, MODULE, 0).func_off == UINT64_MAX);
	assert_true(test_name(f->client, MODULE, UINT64_MAX).func_off == UINT64_MAX);
	for (int i = 0; i < 4096; i++) {
		struct loader_name name = test_name(f->client, MODULE, end + (uint64_t)i);

		if (!name.name || strcmp(name.name, "known_local") != 0)
			return;
	}
	fail_msg("known_local has no end");
}

static void library_functions_have_names(void **state)
{
	struct fixture *f = *state;
	void *address = dlsym(RTLD_DEFAULT, "lsearch");
	struct test_place place = test_place_of(address);

	test_add(f->client, MODULE, place.path);
	assert_named(f->client, MODULE, address, "lsearch");
	assert_named(f->client, MODULE, dlsym(RTLD_DEFAULT, "hcreate_r"), "hcreate_r");
	assert_named(f->client, MODULE, dlsym(RTLD_DEFAULT, "mkdtemp"), "mkdtemp");
}

static void assert_same(const struct loader_name *a, const struct loader_name *b)
{
	assert_true(a->func_off == b->func_off && a->func_vaddr == b->func_vaddr);
	assert_true(a->from == b->from && a->last == b->last);
}

/* Whatever is said to have the same answer has it. */
static void answers_hold_for_their_range(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of(dlsym(RTLD_DEFAULT, "lsearch"));
	uint64_t off = place.off & ~0xfffull;
	unsigned int nr_wide = 0;

	test_add(f->client, MODULE, place.path);
	for (int i = 0; i < 1000; i++) {
		struct loader_name name, other;

		name = test_name(f->client, MODULE, off);
		assert_true(name.from <= off && off <= name.last);
		other = test_name(f->client, MODULE, name.from);
		assert_same(&other, &name);
		other = test_name(f->client, MODULE, name.from + (name.last - name.from) / 2);
		assert_same(&other, &name);
		other = test_name(f->client, MODULE, name.last);
		assert_same(&other, &name);
		nr_wide += name.last - name.from >= 16;
		off = name.last + 1;
	}
	assert_true(nr_wide > 50); /* the rest is padding */
}

static void cplusplus_functions_are_demangled(void **state)
{
	struct fixture *f = *state;
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	void *address = library ? dlsym(library, "_ZNSt8ios_base4InitC1Ev") : NULL;

	if (!address)
		skip();
	test_add(f->client, MODULE, test_place_of(address).path);
#if defined(HAVE_LIBIBERTY) && defined(HAVE_LIBIBERTY_DEMANGLE_H)
	assert_named(f->client, MODULE, address, "std::ios_base::Init::Init");
#endif
	dlclose(library);
}

static void a_batch_is_answered_in_its_order(void **state)
{
	struct fixture *f = *state;
	uint64_t offs[LOADER_NAMES_MAX];
	struct test_place local = test_place_of((const void *)known_local);
	struct test_place global = test_place_of((const void *)known_global);
	struct loader_reply reply;

	test_add(f->client, MODULE, "/proc/self/exe");
	for (uint32_t i = 0; i < LOADER_NAMES_MAX; i++)
		offs[i] = i % 2 ? local.off : global.off;
	assert_int_equal(loader_request_names(f->client, MODULE, offs, LOADER_NAMES_MAX), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_OK);
	assert_int_equal(reply.nr_names, LOADER_NAMES_MAX);
	for (uint32_t i = 0; i < LOADER_NAMES_MAX; i++)
		assert_string_equal(reply.names[i].name, i % 2 ? "known_local" : "known_global");
	assert_int_equal(loader_request_names(f->client, MODULE, NULL, 0), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.nr_names, 0);
}

static void a_stripped_function_is_known_by_its_start(void **state)
{
	struct fixture *f = *state;

	copy_self(f, "stripped", "-S -x --strip-all");
	test_add(f->client, MODULE, in_dir(f, "stripped"));
	assert_named(f->client, MODULE, (const void *)known_local, NULL);
	assert_named(f->client, MODULE, (const void *)main, NULL);
}

static void want_table(struct fixture *f, struct loader_reply *ret, struct table *ret_table)
{
	const void *blob;
	size_t len;

	assert_int_equal(loader_request_table(f->client, MODULE), 0);
	test_reply(f->client, ret);
	assert_int_equal(ret->kind, LOADER_REPLY_TABLE);
	assert_int_equal(ret->status, LOADER_OK);
	assert_int_equal(memfd_map(ret->blob_fd, TABLE_BYTES_MAX, &blob, &len), 0);
	assert_int_equal(table_open(blob, len, ret_table), 0);
	close(ret->blob_fd);
}

/* The vDSO comes as a memory file with a copy of it. */
static void the_vdso_is_a_file_like_others(void **state)
{
	struct fixture *f = *state;
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	void *library = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *address = library ? dlsym(library, "__vdso_clock_gettime") : NULL;
	struct loader_reply reply;
	struct table table;
	uint64_t start, end;

	if (!image || !address)
		skip();
	assert_int_equal(loader_add_module(f->client, MODULE, memfd_sealed("vdso", image, 8192)),
			 0);
	want_table(f, &reply, &table);
	assert_true(table_func_of(&table, test_place_of(address).off, &start, &end));
	assert_named(f->client, MODULE, address, "__vdso_clock_gettime");
	munmap((void *)(uintptr_t)table.header, table.header->bytes);
}

/*
 * Each stub of the file at PATH, whose addresses are its offsets and SHIFT, is named after what it jumps
 * to; checked with what objdump makes of it. How many there are.
 */
static unsigned int check_stubs(struct fixture *f, const char *path, uint64_t shift)
{
	unsigned int nr = 0, right = 0;
	char line[512], name[256];
	uint64_t vaddr;
	FILE *file;

	assert_true(test_run("objdump -d -j .plt -j .plt.sec -j .plt.got %s | grep '>:$' >%s", path,
			     in_dir(f, "stubs")));
	test_add(f->client, MODULE, path);
	file = fopen(in_dir(f, "stubs"), "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct loader_name found;

		/* "0000000000006050 <read@plt>:"; PLT0 has an offset, C++ does not occur. */
		if (sscanf(line, "%" SCNx64 " <%255[^>]>:", &vaddr, name) != 2 ||
		    strchr(name, '-') || !strchr(name, '@'))
			continue;
		found = test_name(f->client, MODULE, vaddr - shift);
		nr++;
		right += found.name && strcmp(found.name, name) == 0 && found.func_vaddr == vaddr;
	}
	fclose(file);
	assert_int_equal(nr, right);
	loader_drop_module(f->client, MODULE);
	return nr;
}

static void stubs_are_named_after_their_targets(void **state)
{
	struct test_place place = test_place_of((const void *)main);
	struct fixture *f = *state;
	char path[64];

	if (!f->has_objcopy)
		skip();
	snprintf(path, sizeof(path), "/proc/%d/exe", getpid());
	assert_true(check_stubs(f, path, place.vaddr - place.off) > 20);
}

/* By a slot's address, or its distance from ebx; with and without endbr32, bound lazily or at once. */
static void stubs_of_i386_are_named_too(void **state)
{
	static const struct {
		const char *options;
		uint64_t shift;
	} forms[] = {
		{"-fPIE -pie -Wl,-z,lazy", 0},
		{"-fPIE -pie -Wl,-z,now -fno-plt", 0},
		{"-fPIE -pie -Wl,-z,lazy -Wl,-z,ibtplt -fcf-protection", 0},
		{"-no-pie -fno-pie -Wl,-z,lazy", 0x8048000},
	};
	struct fixture *f = *state;
	unsigned int nr = 0;

	if (!f->has_objcopy)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char path[PATH_MAX];

		assert_true(snprintf(path, sizeof(path), "%s", in_dir(f, "stubs32")) <
			    (int)sizeof(path));
		if (!test_run("echo 'int puts(const char *), rand(void), abs(int);"
			      "int main(void) { return puts(0) + rand() + abs(1); }' |"
			      "gcc -m32 -fno-builtin %s -o %s -x c - 2>/dev/null",
			      forms[i].options, path))
			skip();
		nr += check_stubs(f, path, forms[i].shift);
	}
	assert_true(nr >= 10);
}

static void a_table_describes_its_file(void **state)
{
	struct fixture *f = *state;
	struct test_place place = test_place_of((const void *)known_local);
	struct loader_reply reply;
	struct table table;
	uint64_t start, end;

	test_add(f->client, MODULE, "/proc/self/exe");
	want_table(f, &reply, &table);
	assert_true(reply.has_symtab);
	assert_int_equal(table.machine, TABLE_MACHINE_X86_64);
	assert_true(table_func_of(&table, place.off + 1, &start, &end));
	assert_true(start == place.off);
	/* The names come from the table that the loader kept. */
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
	munmap((void *)(uintptr_t)table.header, table.header->bytes);
}

static void calls_are_found(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	struct stat st;

	test_add(f->client, MODULE, "/proc/self/exe");
	assert_int_equal(loader_request_return_addrs(f->client, MODULE), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_RETURN_ADDRS);
	assert_int_equal(reply.status, LOADER_OK);
	assert_int_equal(fstat(reply.blob_fd, &st), 0);
	assert_true(st.st_size > 0 && st.st_size < 1 << 20);
	assert_true(fcntl(reply.blob_fd, F_GET_SEALS) & F_SEAL_WRITE);
	close(reply.blob_fd);
}

/* Write LEN bytes at offset AT of the file NAME. */
static void patch(const struct fixture *f, const char *name, off_t at, const void *data, size_t len)
{
	int fd = open(in_dir(f, name), O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, len, at), len);
	close(fd);
}

static void a_file_without_sections_has_a_table(void **state)
{
	static const char zeros[64];
	struct fixture *f = *state;
	struct loader_reply reply;
	struct table table;

	copy_self(f, "bare", "--strip-all");
	patch(f, "bare", offsetof(Elf64_Ehdr, e_shoff), zeros, sizeof(Elf64_Off));
	patch(f, "bare", offsetof(Elf64_Ehdr, e_shnum), zeros, 2 * sizeof(Elf64_Half));
	test_add(f->client, MODULE, in_dir(f, "bare"));
	want_table(f, &reply, &table);
	assert_false(reply.has_symtab);
	assert_int_equal(reply.build_id_bytes, 20);
	assert_named(f->client, MODULE, (const void *)known_local, NULL);
	munmap((void *)(uintptr_t)table.header, table.header->bytes);
}

/* The offset and the address of .eh_frame_hdr in the file NAME, and where it says that .eh_frame is. */
static Elf64_Phdr find_header(const struct fixture *f, const char *name, uint64_t *ret_eh_frame)
{
	AUTO_CLOSE int fd = open(in_dir(f, name), O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	int32_t rel;

	assert_int_equal(pread(fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	for (off_t at = (off_t)ehdr.e_phoff;; at += sizeof(phdr)) {
		assert_int_equal(pread(fd, &phdr, sizeof(phdr), at), sizeof(phdr));
		if (phdr.p_type == PT_GNU_EH_FRAME)
			break;
	}
	assert_int_equal(pread(fd, &rel, sizeof(rel), (off_t)phdr.p_offset + 4), sizeof(rel));
	*ret_eh_frame = phdr.p_vaddr + 4 + (uint64_t)(int64_t)rel;
	return phdr;
}

/*
 * Only where .eh_frame begins is taken from its header, in any encoding, and
 * only without sections; the search table in it may say what it likes.
 */
static void the_search_table_is_not_trusted(void **state)
{
	static const uint8_t lies[64] = {1, 0xff, 0xff, 0xff};
	static const char zeros[64];
	struct fixture *f = *state;
	struct loader_reply reply;
	struct table right, table;
	uint64_t eh_frame, rel;
	Elf64_Phdr phdr;

	copy_self(f, "whole", "--strip-all");
	test_add(f->client, MODULE, in_dir(f, "whole"));
	want_table(f, &reply, &right);
	phdr = find_header(f, "whole", &eh_frame);

	copy_self(f, "lies", "--strip-all");
	patch(f, "lies", (off_t)phdr.p_offset, lies, sizeof(lies));
	test_add(f->client, MODULE, in_dir(f, "lies"));
	want_table(f, &reply, &table);
	assert_true(table_nr_rows(&table) == table_nr_rows(&right));
	munmap((void *)(uintptr_t)table.header, table.header->bytes);

	copy_self(f, "wide", "--strip-all");
	patch(f, "wide", offsetof(Elf64_Ehdr, e_shoff), zeros, sizeof(Elf64_Off));
	patch(f, "wide", offsetof(Elf64_Ehdr, e_shnum), zeros, 2 * sizeof(Elf64_Half));
	patch(f, "wide", (off_t)phdr.p_offset + 1, "\x1c\xff\xff",
	      3); /* pcrel, 8 bytes; no table */
	rel = eh_frame - (phdr.p_vaddr + 4);
	patch(f, "wide", (off_t)phdr.p_offset + 4, &rel, sizeof(rel));
	test_add(f->client, MODULE, in_dir(f, "wide"));
	want_table(f, &reply, &table);
	/* Without sections stubs are not told from other code, so there may be fewer rows, not hardly any. */
	assert_true(table_nr_rows(&table) > table_nr_rows(&right) / 2);
	munmap((void *)(uintptr_t)table.header, table.header->bytes);
	munmap((void *)(uintptr_t)right.header, right.header->bytes);
}

static void another_machine_has_names_only(void **state)
{
	static const Elf64_Half machine = EM_PPC64;
	struct fixture *f = *state;
	struct loader_reply reply;

	copy_self(f, "foreign", "");
	patch(f, "foreign", offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
	test_add(f->client, MODULE, in_dir(f, "foreign"));
	assert_int_equal(loader_request_table(f->client, MODULE), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_NO_CODE);
	assert_int_equal(reply.blob_fd, -1);
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
}

static void what_is_not_elf_is_called_so(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;

	for (int i = 0; i < 3; i++) {
		static const char *const paths[] = {"/etc/passwd", "/dev/null", "/"};

		test_add(f->client, MODULE, paths[i]);
		assert_int_equal(loader_request_table(f->client, MODULE), 0);
		test_reply(f->client, &reply);
		assert_int_equal(reply.status, LOADER_NOT_ELF);
		assert_true(test_name(f->client, MODULE, 4096).func_off == UINT64_MAX);
	}
}

/* The head alone: what the kernel had mapped as code is not in the file. */
static void what_was_cut_short_is_called_damaged(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	char *dir = test_dir_new(), path[256];

	test_run("head -c 1024 /proc/%d/exe >%s/short", getpid(), dir);
	snprintf(path, sizeof(path), "%s/short", dir);
	test_add(f->client, MODULE, path);
	assert_int_equal(loader_request_table(f->client, MODULE), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_NOT_ELF);
	test_run("rm -rf %s", dir);
	free(dir);
}

/* The small image that distributions embed: the symbols alone, packed. */
static void packed_symbols_are_found(void **state)
{
	struct fixture *f = *state;

	copy_self(f, "mini", "--only-keep-debug");
	if (!test_run("xz -k %s/mini", f->dir))
		skip();
	copy_self(f, "packed", "--strip-all");
	assert_true(test_run("objcopy --add-section .gnu_debugdata=%s/mini.xz %s/packed", f->dir,
			     f->dir));
	test_add(f->client, MODULE, in_dir(f, "packed"));
#ifdef HAVE_LZMA
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
#endif
}

/* Frame information too may be in that image, and nowhere else. */
static void packed_frame_information_is_found(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	uint64_t start, end;
	struct table table;
	unsigned int nr = 0;

	if (!f->has_objcopy ||
	    !test_run(
		    "cd %s && echo 'int f(int x){volatile int a[9]; a[x]=x; return a[0];}' >f.c && "
		    "gcc -g -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -nostdlib "
		    "-shared -fPIC -o full f.c 2>out && objcopy --only-keep-debug full small && "
		    "xz -k small && objcopy --strip-all full bare && "
		    "objcopy --add-section .gnu_debugdata=small.xz bare packed",
		    f->dir))
		skip();
	test_add(f->client, MODULE, in_dir(f, "packed"));
	want_table(f, &reply, &table);
	for (uint64_t off = table.base; off < table.base + table.span; off++)
		nr += table_func_of(&table, off, &start, &end);
#ifdef HAVE_LZMA
	assert_true(nr > 8);
#endif
	munmap((void *)(uintptr_t)table.header, table.header->bytes);
}

static void add_debug(struct fixture *f, const char *name)
{
	int fd = open(in_dir(f, name), O_RDONLY | O_CLOEXEC);

	assert_int_equal(loader_add_debug(f->client, MODULE, fd), 0);
}

/* Where the build-id of the file NAME is. */
static off_t build_id_at(const struct fixture *f, const char *name)
{
	static const char note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU"; /* with its NUL */
	int fd = open(in_dir(f, name), O_RDONLY | O_CLOEXEC);
	const char *found;
	char *data;
	size_t len;
	off_t at;

	assert_true(fd >= 0);
	assert_int_equal(read_all(fd, 64 << 20, &data, &len), 0);
	close(fd);
	found = memmem(data, len, note, sizeof(note));
	at = found ? found - data + (off_t)sizeof(note) : -1;
	free(data);
	return at;
}

static void a_debug_file_must_have_the_same_build_id(void **state)
{
	struct fixture *f = *state;
	off_t at;

	copy_self(f, "stripped", "--strip-all");
	copy_self(f, "debug", "--only-keep-debug");
	assert_true(test_run("cp %s/debug %s/wrong", f->dir, f->dir));
	at = build_id_at(f, "wrong");
	if (at < 0)
		skip();
	patch(f, "wrong", at, "wrong", 5);
	test_add(f->client, MODULE, in_dir(f, "stripped"));
	assert_named(f->client, MODULE, (const void *)known_local, NULL);
	add_debug(f, "wrong");
	assert_named(f->client, MODULE, (const void *)known_local, NULL);
	add_debug(f, "debug");
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
}

/* What servers send comes when the file that it is of has long been idle. */
static void a_debug_file_may_come_while_its_file_is_closed(void **state)
{
	struct fixture *f = *state;

	copy_self(f, "stripped", "--strip-all");
	copy_self(f, "debug", "--only-keep-debug");
	test_add(f->client, MODULE, in_dir(f, "stripped"));
	assert_named(f->client, MODULE, (const void *)known_local, NULL);
	assert_int_equal(loader_close_module(f->client, MODULE), 0);
	add_debug(f, "debug");
	assert_int_equal(loader_open_again(f->client, MODULE,
					   open(in_dir(f, "stripped"), O_RDONLY | O_CLOEXEC)),
			 0);
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
}

static void a_debuglink_must_have_the_right_checksum(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	struct table table;

	copy_self(f, "x.debug", "--only-keep-debug -R .note.gnu.build-id");
	copy_self(f, "linked", "--strip-all -R .note.gnu.build-id");
	assert_true(test_run("cd %s && objcopy --add-gnu-debuglink=x.debug linked && "
			     "cp x.debug wrong && echo >>wrong",
			     f->dir));
	test_add(f->client, MODULE, in_dir(f, "linked"));
	want_table(f, &reply, &table);
	munmap((void *)(uintptr_t)table.header, table.header->bytes);
	assert_string_equal(reply.debuglink, "x.debug");
	assert_int_equal(reply.build_id_bytes, 0);
	add_debug(f, "wrong");
	assert_named(f->client, MODULE, (const void *)known_local, NULL);
	add_debug(f, "x.debug");
	assert_named(f->client, MODULE, (const void *)known_local, "known_local");
}

static void the_kernel_is_named_by_kallsyms(void **state)
{
	static const char text[] = "ffffffff81000000 T do_syscall_64\n"
				   "ffffffff81000100 T ret\033[0mhostile\n"
				   "ffffffffc0000100 t new_rule\t[nf_tables]\n";
	struct fixture *f = *state;
	struct loader_name name;

	assert_int_equal(loader_add_module(f->client, LOADER_KERNEL,
					   memfd_sealed("kallsyms", text, sizeof(text) - 1)),
			 0);
	name = test_name(f->client, LOADER_KERNEL, 0xffffffff81000010);
	assert_string_equal(name.name, "do_syscall_64");
	assert_string_equal(name.object, "");
	assert_true(name.func_off == 0xffffffff81000000);
	name = test_name(f->client, LOADER_KERNEL, 0xffffffff81000101);
	assert_string_equal(name.name, "ret?[0mhostile");
	name = test_name(f->client, LOADER_KERNEL, 0xffffffffc0000200);
	assert_string_equal(name.object, "nf_tables");
	name = test_name(f->client, LOADER_KERNEL, 0x1000);
	assert_null(name.name);
	assert_true(name.func_off == UINT64_MAX);
	/* Added again, it is read anew. */
	assert_int_equal(loader_add_module(f->client, LOADER_KERNEL,
					   memfd_sealed("kallsyms", text + 33, sizeof(text) - 34)),
			 0);
	name = test_name(f->client, LOADER_KERNEL, 0xffffffff81000010);
	assert_null(name.name);
	/* The real one, if it can be read at all. */
	if (access("/proc/kallsyms", R_OK) == 0) {
		test_add(f->client, LOADER_KERNEL, "/proc/kallsyms");
		test_name(f->client, LOADER_KERNEL, 0xffffffff81000010);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_new, fixture_free)
	const struct CMUnitTest tests[] = {
		TEST(own_functions_have_names),
		TEST(library_functions_have_names),
		TEST(answers_hold_for_their_range),
		TEST(cplusplus_functions_are_demangled),
		TEST(a_batch_is_answered_in_its_order),
		TEST(a_stripped_function_is_known_by_its_start),
		TEST(the_vdso_is_a_file_like_others),
		TEST(stubs_are_named_after_their_targets),
		TEST(stubs_of_i386_are_named_too),
		TEST(a_table_describes_its_file),
		TEST(calls_are_found),
		TEST(a_file_without_sections_has_a_table),
		TEST(the_search_table_is_not_trusted),
		TEST(another_machine_has_names_only),
		TEST(what_is_not_elf_is_called_so),
		TEST(what_was_cut_short_is_called_damaged),
		TEST(packed_symbols_are_found),
		TEST(packed_frame_information_is_found),
		TEST(a_debug_file_must_have_the_same_build_id),
		TEST(a_debug_file_may_come_while_its_file_is_closed),
		TEST(a_debuglink_must_have_the_right_checksum),
		TEST(the_kernel_is_named_by_kallsyms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
