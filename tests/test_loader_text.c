/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Demangled names read well and are bounded; kallsyms names what a symbol covers and nothing else. */
#include "config.h"

#include "src/base/io.h"
#include "src/loader/cache.h"
#include "src/loader/demangle.h"
#include "src/loader/kallsyms.h"
#include "src/loader/protocol.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_shown(const char *mangled, const char *wanted)
{
	char out[512];

	demangle(mangled, out, sizeof(out));
	assert_string_equal(out, wanted);
}

static void plain_names_stay(void **state)
{
	(void)state;
	assert_shown("main", "main");
	assert_shown("_Zebra", "_Zebra");
	assert_shown("_start", "_start");
	assert_shown("", "");
	assert_shown("memcpy@@GLIBC_2.14", "memcpy");
	assert_shown("read@GLIBC_2.2.5", "read");
	assert_shown(".weird", ".weird");
	assert_shown("read@plt", "read@plt");
}

static void suffixes_are_kept_when_they_say_something(void **state)
{
	(void)state;
	assert_shown("fold.cold", "fold.cold");
	assert_shown("fold.part.0.cold", "fold.part.0.cold");
	assert_shown("fold.constprop.0.isra.1", "fold.constprop.0.isra.1");
	assert_shown("fold.lto_priv.12", "fold");
	assert_shown("fold.part.3.lto_priv.0.cold", "fold.part.3.cold");
	assert_shown("fold.llvm.1234567890", "fold");
	assert_shown("fold.123", "fold.123");
	/* Go's are whole, however long, and its dots begin nothing. */
	assert_shown("example.com/a.llvm.b/c.(*Type[go.shape.int]).Method.func1",
		     "example.com/a.llvm.b/c.(*Type[go.shape.int]).Method.func1");
	assert_shown(
		"example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/cccccccc.(*Type).Method",
		"example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/cccccccc.(*Type).Method");
}

#if defined(HAVE_LIBIBERTY) && defined(HAVE_LIBIBERTY_DEMANGLE_H)
static void mangled_names_are_unfolded(void **state)
{
	(void)state;
	assert_shown("_ZN3foo3barEi", "foo::bar");
	assert_shown("_Z3addIiET_S0_S0_", "add<int>");
	assert_shown("_ZNSt6vectorIiSaIiEE9push_backERKi",
		     "std::vector<int, std::allocator<int> >::push_back");
	assert_shown("_ZNK3foo3barEv.constprop.0", "foo::bar.constprop.0");
	assert_shown("_ZN3fooC2Ev.cold", "foo::foo.cold");
	assert_shown("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo");
	assert_shown("_RNvC7mycrate3foo", "mycrate::foo");
	assert_shown("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	assert_shown("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		     "core::fmt::Write::write_fmt");
	assert_shown("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.77",
		     "core::fmt::Formatter::pad");
	assert_shown("_ZN57_$LT$spin..inner..Worker$u20$as$u20$spin..inner..Work$GT$4spin"
		     "17h80a850c244951ae7E.cold.llvm.5",
		     "<spin::inner::Worker as spin::inner::Work>::spin.cold");
	assert_shown("_ZN3foo3barEi@plt", "foo::bar@plt");
	assert_shown("_ZN3f\033oEv", "f?o");
	assert_shown("_D3foo3barFZv", "foo.bar");
}

/* Each S1_ doubles what is printed: 4 KB of this would print more than there is memory. */
static void bombs_are_cut(void **state)
{
	char mangled[DEMANGLE_IN_MAX], out[512];
	size_t len;

	(void)state;
	strcpy(mangled, "_Z1fI1aIiiE");
	for (int i = 0; i < 30; i++) {
		len = strlen(mangled);
		if (i == 0)
			snprintf(mangled + len, sizeof(mangled) - len, "1bIS_IiiES0_E");
		else if (i <= 10)
			snprintf(mangled + len, sizeof(mangled) - len, "1bIS%d_S%d_E", i, i);
		else
			snprintf(mangled + len, sizeof(mangled) - len, "1bIS%c_S%c_E", 'A' + i - 11,
				 'A' + i - 11);
	}
	strcat(mangled, "EvT_");
	demangle(mangled, out, sizeof(out));
	assert_true(strlen(out) < sizeof(out));

	memset(mangled, 'P', sizeof(mangled));
	memcpy(mangled, "_Z1f", 4);
	mangled[sizeof(mangled) - 1] = '\0';
	demangle(mangled, out, sizeof(out));
	assert_true(strlen(out) < sizeof(out));
}
/* The function of D with a parameter that is so many types, each made of the one before, twice. */
static const char *types_of_d(char *mangled, size_t size, int nr)
{
	size_t len = (size_t)snprintf(mangled, size, "_D3foo3barFHii"), before = len - 3;

	for (int i = 0; i < nr; i++) {
		size_t at = len;

		mangled[len++] = 'H';
		for (int k = 0; k < 2; k++) {
			char back = (char)('a' + (len - before));

			assert_in_range(back, 'b', 'z');
			mangled[len++] = 'Q';
			mangled[len++] = back;
		}
		before = at;
	}
	assert_in_range(len, 0, size - 3);
	memcpy(mangled + len, "Zv", 3);
	return mangled;
}

/* With each there are twice as many types, all of them in memory. */
static void bombs_of_d_stay_as_they_are(void **state)
{
	char mangled[512];

	(void)state;
	assert_shown(types_of_d(mangled, sizeof(mangled), 3), "foo.bar");
	assert_shown(types_of_d(mangled, sizeof(mangled), 9), "foo.bar");
	assert_shown(types_of_d(mangled, sizeof(mangled), 22), mangled);
	/* Many that are short are no bomb. */
	strcpy(mangled, "_D3foo3barFAiQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcQcZv");
	assert_shown(mangled, "foo.bar");
}
#endif

static void long_names_are_cut_with_a_mark(void **state)
{
	char *mangled = malloc(100001), out[512];

	(void)state;
	memset(mangled, 'x', 100000);
	mangled[100000] = '\0';
	demangle(mangled, out, sizeof(out));
	assert_int_equal(strlen(out), sizeof(out) - 1);
	assert_string_equal(out + sizeof(out) - 4, "...");
	mangled[511] = '\0';
	demangle(mangled, out, sizeof(out));
	assert_int_equal(strlen(out), 511);
	assert_int_equal(out[510], 'x');
	free(mangled);
}

static void hostile_names_are_harmless(void **state)
{
	(void)state;
	assert_shown("a\033[31mb", "a?[31mb");
	assert_shown("a\nb", "a?b");
}

static struct kallsyms *kallsyms_of(const char *text, int wanted)
{
	struct kallsyms *kallsyms = NULL;
	int fd = memfd_sealed("kallsyms", text, strlen(text));

	assert_true(fd >= 0);
	assert_int_equal(kallsyms_load(fd, &kallsyms), wanted);
	close(fd);
	return kallsyms;
}

static void assert_kernel(const struct kallsyms *kallsyms, uint64_t address, const char *name,
			  const char *object, uint64_t start)
{
	struct kallsyms_function f;

	if (!name) {
		assert_false(kallsyms_find(kallsyms, address, &f));
		return;
	}
	assert_true(kallsyms_find(kallsyms, address, &f));
	assert_string_equal(f.name, name);
	assert_string_equal(f.object, object);
	assert_true(f.start == start);
}

static void kallsyms_names_functions(void **state)
{
	struct kallsyms *k = kallsyms_of("0000000000000000 A fixed_percpu_data\n"
					 "ffffffff81000000 T _stext\n"
					 "ffffffff81000000 T _text\n"
					 "ffffffff81000000 T first\n"
					 "ffffffff81000200 t third\n"
					 "ffffffff81000100 t second\n"
					 "ffffffff81000300 t __alias\n"
					 "ffffffff81000300 W alias\n"
					 "ffffffff81000400 D data\n"
					 "ffffffff81000500 T last\n"
					 "ffffffffc0000100 t new_rule\t[nf_tables]\n"
					 "ffffffffc0001000 t bpf_prog_6deef7357e7b4530_sd\t[bpf]\n",
					 0);

	(void)state;
	assert_kernel(k, 0, NULL, NULL, 0);
	assert_kernel(k, 0xffffffff80ffffff, NULL, NULL, 0);
	assert_kernel(k, 0xffffffff81000000, "first", "", 0xffffffff81000000);
	assert_kernel(k, 0xffffffff810000ff, "first", "", 0xffffffff81000000);
	assert_kernel(k, 0xffffffff81000100, "second", "", 0xffffffff81000100);
	assert_kernel(k, 0xffffffff81000301, "alias", "", 0xffffffff81000300);
	assert_kernel(k, 0xffffffff81000401, NULL, NULL, 0);
	assert_kernel(k, 0xffffffff81000501, "last", "", 0xffffffff81000500);
	/* Nothing says how long the last one is: to the end of the next page, not to the module. */
	assert_kernel(k, 0xffffffff81001fff, "last", "", 0xffffffff81000500);
	assert_kernel(k, 0xffffffff81002000, NULL, NULL, 0);
	assert_kernel(k, 0xffffffffc0000101, "new_rule", "nf_tables", 0xffffffffc0000100);
	assert_kernel(k, 0xffffffffc0001001, "bpf_prog_6deef7357e7b4530_sd", "bpf",
		      0xffffffffc0001000);
	assert_kernel(k, UINT64_MAX, NULL, NULL, 0);
	kallsyms_free(k);
}

/* As a real kernel lists them: in any order, with padding in front of functions. */
static void of_kernel_names_the_plain_one(void **state)
{
	struct kallsyms *k = kallsyms_of("ffffffff81000000 t __pi_memcpy\n"
					 "ffffffff81000000 T __memcpy\n"
					 "ffffffff81000000 W memcpy\n"
					 "ffffffff810000f0 t __pfx_handler\n"
					 "ffffffff81000100 T handler\n"
					 "ffffffff81000200 t local\n"
					 "ffffffff81000200 T exported\n"
					 "ffffffff81000300 T longer_name\n"
					 "ffffffff81000300 T name\n"
					 "ffffffff81000400 T __pi_alone\n"
					 "ffffffff81000500 t $x\n"
					 "ffffffff81000600 T last\n",
					 0);

	(void)state;
	assert_kernel(k, 0xffffffff81000001, "memcpy", "", 0xffffffff81000000);
	/* Padding belongs to what is before it, as all padding does. */
	assert_kernel(k, 0xffffffff810000f8, "memcpy", "", 0xffffffff81000000);
	assert_kernel(k, 0xffffffff81000100, "handler", "", 0xffffffff81000100);
	assert_kernel(k, 0xffffffff81000201, "exported", "", 0xffffffff81000200);
	assert_kernel(k, 0xffffffff81000301, "name", "", 0xffffffff81000300);
	assert_kernel(k, 0xffffffff81000501, "__pi_alone", "", 0xffffffff81000400);
	kallsyms_free(k);
}

/* The kernel of a recording was placed elsewhere; its modules, nobody knows where. */
static void a_kernel_placed_elsewhere_has_the_same_names(void **state)
{
	static uint64_t out[LOADER_NAMES_BYTES_MAX / 8];
	const struct protocol_request request = {
		.nr_offs = 3,
		.offs = {0xffffffff91000150, 0xffffffff81000150, 0xffffffffd0000180},
	};
	const struct cache_files files = {.nr = 0};
	const struct protocol_names *head = (const struct protocol_names *)(const void *)out;
	const struct protocol_name *records =
		(const struct protocol_name *)(const void *)(head + 1);
	const char *text = (const char *)(records + 3);
	struct cache_entry *entry = calloc(1, sizeof(*entry));

	(void)state;
	assert_non_null(entry);
	entry->kallsyms = kallsyms_of("ffffffff80ffff00 T _stext\n"
				      "ffffffff81000000 T _text\n"
				      "ffffffff81000100 t second\n"
				      "ffffffff81000200 t third\n"
				      "ffffffffc0000100 t new_rule\t[nf_tables]\n"
				      "ffffffffc0000200 t old_rule\t[nf_tables]\n",
				      0);
	assert_true(kallsyms_image(entry->kallsyms) == 0xffffffff81000000);
	entry->kernel_shift = 0x10000000;
	assert_true(names_build(entry, &files, &request, out, sizeof(out)) > 0);
	assert_string_equal(text + records[0].name, "second");
	assert_true(records[0].func_off == 0xffffffff91000100);
	assert_true(records[0].from == 0xffffffff91000100);
	assert_true(records[0].last == 0xffffffff910001ff);
	assert_int_equal(records[1].name, PROTOCOL_NO_TEXT);
	assert_int_equal(records[2].name, PROTOCOL_NO_TEXT);
	kallsyms_free(entry->kallsyms);
	free(entry);
}

static void hidden_kallsyms_name_nothing(void **state)
{
	struct kallsyms *k = kallsyms_of("0000000000000000 T _stext\n0000000000000000 t foo\n", 0);

	(void)state;
	assert_true(kallsyms_image(k) == 0);
	assert_kernel(k, UINT64_MAX, NULL, NULL, 0);
	assert_kernel(k, 0xffffffff81000000, NULL, NULL, 0);
	assert_kernel(k, 0, NULL, NULL, 0);
	kallsyms_free(k);
}

static void damaged_kallsyms_are_refused(void **state)
{
	char *line = malloc(100001);

	(void)state;
	kallsyms_of("hello\n", -EBADMSG);
	kallsyms_of("ffffffff81000000\n", -EBADMSG);
	kallsyms_of("ffffffff81000000 T\n", -EBADMSG);
	kallsyms_of("ffffffff81000000 T \n", -EBADMSG);
	kallsyms_of("ffffffff81000000 T no newline", -EBADMSG);
	kallsyms_of("ffffffffffffffffff T big\n", -EBADMSG);
	memset(line, 'a', 100000);
	line[100000] = '\0';
	kallsyms_of(line, -EBADMSG);
	free(line);
}

static void many_lines_are_read_across_chunks(void **state)
{
	size_t cap = 10000 * 64, len = 0;
	char *text = malloc(cap), name[64];
	struct kallsyms *k;

	(void)state;
	for (int i = 0; i < 10000; i++)
		len += (size_t)snprintf(text + len, cap - len, "%016llx t function_%d\n",
					0xffffffff81000000ull + (unsigned int)i * 16, i);
	k = kallsyms_of(text, 0);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		assert_kernel(k, 0xffffffff81000000ull + (unsigned int)i * 16 + 15, name, "",
			      0xffffffff81000000ull + (unsigned int)i * 16);
	}
	assert_kernel(k, 0xffffffff80ffffff, NULL, NULL, 0);
	assert_kernel(k, 0xffffffff81029000, NULL, NULL, 0);
	kallsyms_free(k);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_names_stay),
		cmocka_unit_test(suffixes_are_kept_when_they_say_something),
#if defined(HAVE_LIBIBERTY) && defined(HAVE_LIBIBERTY_DEMANGLE_H)
		cmocka_unit_test(mangled_names_are_unfolded),
		cmocka_unit_test(bombs_are_cut),
		cmocka_unit_test(bombs_of_d_stay_as_they_are),
#endif
		cmocka_unit_test(long_names_are_cut_with_a_mark),
		cmocka_unit_test(hostile_names_are_harmless),
		cmocka_unit_test(kallsyms_names_functions),
		cmocka_unit_test(of_kernel_names_the_plain_one),
		cmocka_unit_test(a_kernel_placed_elsewhere_has_the_same_names),
		cmocka_unit_test(hidden_kallsyms_name_nothing),
		cmocka_unit_test(damaged_kallsyms_are_refused),
		cmocka_unit_test(many_lines_are_read_across_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
