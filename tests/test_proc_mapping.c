/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read from /proc/PID/maps is what the kernel says; hostile names and lines do no harm. */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/proc/mapping.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void own_maps_are_read_as_they_stand(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char *data, *again, *out;
	size_t len, left, out_len;
	const char *text;
	struct mapping m;
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read_all(fd, 1 << 20, &data, &len), 0);
	close(fd);
	/* Print each mapping in the kernel's form, but for the permissions that are not kept. */
	f = open_memstream(&out, &out_len);
	text = data;
	left = len;
	while (mapping_next_line(&text, &left, &m)) {
		int at = fprintf(f, "%08lx-%08lx ??%c? %08lx %02x:%02x %lu ", m.start, m.end,
				 m.is_exec ? 'x' : '-', m.file_off, m.maj, m.min, m.ino);

		if (m.path_len > 0)
			fprintf(f, "%*s%.*s", at < 73 ? 73 - at : 0, "", (int)m.path_len, m.path);
		fputc('\n', f);
	}
	fclose(f);
	assert_int_equal(left, 0);
	again = data;
	for (char *line = data; line < data + len; line = strchr(line, '\n') + 1) {
		char *perms = strchr(line, ' ') + 1;

		perms[0] = perms[1] = perms[3] = '?';
	}
	assert_string_equal(again, out);
	free(out);
	free(data);
}

static void hostile_lines_are_passed_over(void **state)
{
	static const char text[] =
		"garbage\n"
		"\n"
		"1000-\n"
		"1000-2000\n"
		"1000-2000 r\n"
		"1000-2000 r-xp 0 08:01\n"
		"2000-1000 r-xp 00000000 08:01 5 /backward\n"
		"1000-1000 r-xp 00000000 08:01 5 /empty\n"
		"10000000000000000-20000000000000000 r-xp 0 08:01 5 /overflow\n"
		"1000-2000 r-xp 00000000 100000000:01 5 /device\n"
		"1000-2000 r-xp 00000000 08:01 99999999999999999999 /inode\n"
		"1000-2000 r-xp 00000000 08:01 5                  /a b\\012c-d r-xp (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
		"3000-4000 rw-p 00000000 00:00 0 \n"
		"5000-6000 r-xp 00000000 08:01 5 /cut";
	const char *p = text;
	size_t len = sizeof(text) - 1;
	struct mapping m;

	(void)state;
	assert_true(mapping_next_line(&p, &len, &m));
	assert_int_equal(m.path_len, strlen("/a b\\012c-d r-xp (deleted)"));
	assert_memory_equal(m.path, "/a b\\012c-d r-xp (deleted)", m.path_len);
	assert_int_equal(m.maj, 8);
	assert_int_equal(m.ino, 5);
	assert_true(mapping_next_line(&p, &len, &m));
	assert_int_equal(m.end, 0xffffffffff601000);
	assert_int_equal(mapping_kind(&m), MAPPING_VSYSCALL);
	assert_true(mapping_next_line(&p, &len, &m));
	assert_false(m.is_exec);
	assert_int_equal(m.path_len, 0);
	assert_false(mapping_next_line(&p, &len, &m));
}

static void no_cut_reads_past_its_end(void **state)
{
	static const char line[] = "1000-2000 r-xp 00000000 08:01 5       /usr/bin/true\n";

	(void)state;
	for (size_t len = 0; len <= sizeof(line) - 1; len++) {
		char *heap = malloc(len + 1); /* the sanitizer sees a byte too far */
		const char *p = memcpy(heap, line, len);
		size_t left = len;
		struct mapping m;

		heap = realloc(heap, len ? len : 1);
		p = heap;
		assert_int_equal(mapping_next_line(&p, &left, &m), len == sizeof(line) - 1);
		free(heap);
	}
}

struct named {
	const char *path;
	uint64_t ino;
	enum mapping_kind kind;
	const char *name;
};

static void names_tell_files_from_memory(void **state)
{
	static const struct named wants[] = {
		{"/usr/bin/ls", 5, MAPPING_FILE, "ls"},
		{"/usr/bin/ls (deleted)", 5, MAPPING_FILE, "ls"},
		{"/memfd:code (deleted)", 5, MAPPING_FILE, "memfd:code"},
		{"//toolong", 5, MAPPING_FILE, "[long path]"},
		{"//enomem", 5, MAPPING_FILE, "[no name]"},
		{"//anon", 0, MAPPING_JIT, NULL},
		{"", 0, MAPPING_JIT, NULL},
		{"[heap]", 0, MAPPING_JIT, NULL},
		{"[stack]", 0, MAPPING_JIT, NULL},
		{"[anon:v8]", 0, MAPPING_JIT, NULL},
		{"anon_inode:[perf_event]", 7, MAPPING_JIT, NULL},
		{"/dev/zero", 9, MAPPING_JIT, NULL},
		{"/dev/zero (deleted)", 9, MAPPING_JIT, NULL},
		{"/SYSV00000000 (deleted)", 9, MAPPING_JIT, NULL},
		{"/anon_hugepage (deleted)", 9, MAPPING_JIT, NULL},
		{"[vdso]", 0, MAPPING_VDSO32, NULL},
		{"[vsyscall]", 0, MAPPING_VSYSCALL, NULL},
		{"/home/x/[vdso]", 5, MAPPING_FILE, "[vdso]"},
		{"/ (deleted)", 5, MAPPING_FILE, "/"},
		{"/a/b\033[2J\xff", 5, MAPPING_FILE, "b?[2J?"},
	};
	char name[64], path[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		struct mapping m = {
			.ino = wants[i].ino,
			.path = wants[i].path,
			.path_len = strlen(wants[i].path),
		};

		assert_int_equal(mapping_kind(&m), wants[i].kind);
		m.end = 1ull << 32; /* no address of a 32-bit program */
		assert_int_equal(mapping_kind(&m),
				 wants[i].kind == MAPPING_VDSO32 ? MAPPING_VDSO : wants[i].kind);
		if (!wants[i].name)
			continue;
		mapping_names(&m, name, sizeof(name), path, sizeof(path));
		assert_string_equal(name, wants[i].name);
	}
}

static void long_paths_keep_their_end(void **state)
{
	char raw[5000], name[64], path[256];
	struct mapping m = {.ino = 1, .path = raw, .path_len = sizeof(raw)};

	(void)state;
	memset(raw, 'x', sizeof(raw));
	for (size_t i = 0; i < 4000; i += 2) /* two-byte characters, so that a cut can hit one */
		memcpy(raw + i, "\xc3\xb6", 2);
	memcpy(raw + 4000, "/bin/program", 12);
	for (m.path_len = 4012; m.path_len > 4005; m.path_len--) {
		mapping_names(&m, name, sizeof(name), path, sizeof(path));
		assert_true(strlen(path) >= 254 && strlen(path) <= 255);
		assert_null(strchr(path, '?'));
		assert_memory_equal(path + strlen(path) - (m.path_len - 4000), raw + 4000,
				    m.path_len - 4000);
		assert_memory_equal(name, "program", m.path_len - 4005);
	}
	m.path_len = sizeof(raw); /* longer than any path */
	mapping_names(&m, name, sizeof(name), path, sizeof(path));
	assert_true(strlen(name) <= 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_maps_are_read_as_they_stand),
		cmocka_unit_test(hostile_lines_are_passed_over),
		cmocka_unit_test(no_cut_reads_past_its_end),
		cmocka_unit_test(names_tell_files_from_memory),
		cmocka_unit_test(long_paths_keep_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
