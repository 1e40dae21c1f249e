/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function is known by its short name, in whatever language it was written, and a narrow column keeps its end. */
#include "config.h"

#include "src/base/short_name.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *name, *shown;
} names[] = {
	/* C and the kernel */
	{"", ""},
	{"main", "main"},
	{"__x64_sys_read", "__x64_sys_read"},
	{"do_syscall_64.constprop.0.cold", "do_syscall_64.constprop.0.cold"},
	{"read@plt", "read@plt"},
	{"[no stack]", "[no stack]"},
	{"fio+0x6fda0", "fio+0x6fda0"},
	/* C++ */
	{"std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, std::vector<int> >, long>",
	 "std::__introsort_loop<*>"},
	{"void std::sort<int*>(int*, int*)", "std::sort<*>"},
	{"unsigned long foo<int>(int)", "foo<*>"},
	{"Foo::bar(std::map<int, int>) const", "Foo::bar"},
	{"Foo<int>::~Foo", "Foo<*>::~Foo"},
	{"Foo<int>::bar<long>.cold", "Foo<*>::bar<*>.cold"},
	{"(anonymous namespace)::foo(int)", "(anonymous namespace)::foo"},
	{"a::(anonymous namespace)::b<int>::c", "a::(anonymous namespace)::b<*>::c"},
	{"foo(int)::{lambda(int)#1}::operator()", "foo::{lambda#1}::operator()"},
	{"Foo::bar() const::{lambda(auto:1)#2}::operator()(int) const",
	 "Foo::bar::{lambda#2}::operator()"},
	{"f()::{lambda<typename $T0>($T0)#1}::operator()<int>", "f::{lambda<*>#1}::operator()<*>"},
	{"f(int)::'lambda'(int)::operator()(int) const", "f::'lambda'::operator()"},
	{"std::function<void (int)>::operator()(int) const", "std::function<*>::operator()"},
	{"std::function<int (*(char))(long)>::swap", "std::function<*>::swap"},
	{"operator<", "operator<"},
	{"operator<<", "operator<<"},
	{"operator< <int>", "operator< <*>"},
	{"operator<< <int, long>", "operator<< <*>"},
	{"bool operator< <int>(Foo<int> const&)", "operator< <*>"},
	{"operator<<<int>", "operator<<<*>"},
	{"operator<=><int>", "operator<=><*>"},
	{"operator-><int>", "operator-><*>"},
	{"Foo::operator->*(int)", "Foo::operator->*"},
	{"operator+<int>(int)", "operator+<*>"},
	{"operator,(A, B)", "operator,"},
	{"Foo::operator[](int)", "Foo::operator[]"},
	{"operator new[](unsigned long)", "operator new[]"},
	{"Foo::operator bool() const", "Foo::operator bool"},
	{"Foo::operator std::vector<int, std::allocator<int> >()", "Foo::operator std::vector<*>"},
	{"myoperator<int>", "myoperator<*>"},
	{"decltype (((fp)+(fp0))) add<int, int>(int, int)", "add<*>"},
	{"f<decltype (a->b), ((1)>(2))>::g", "f<*>::g"},
	{"f<&Foo::operator<, (A)1>::g", "f<*>::g"},
	{"Foo<(1)<(2)>::g", "Foo<*>::g"},
	{"non-virtual thunk to A<int>::f<int>()", "non-virtual thunk to A<*>::f<*>"},
	{"boost::foo[abi:cxx11](int)", "boost::foo"},
	{"cut::off<a<b<c...", "cut::off<*>"},
	/* Rust */
	{"<alloc::vec::Vec<u8> as core::fmt::Debug>::fmt",
	 "<alloc::vec::Vec<*> as core::fmt::Debug>::fmt"},
	{"<<A<u8> as B>::C as D>::e", "<<A<*> as B>::C as D>::e"},
	{"<(A, B<u8>) as T>::m", "<(A, B<*>) as T>::m"},
	{"<[T; 4] as core::ops::Index<usize>>::index", "<[T; 4] as core::ops::Index<*>>::index"},
	{"core::slice::<impl [T]>::len", "core::slice::<*>::len"},
	{"core::ptr::drop_in_place::<u8>", "core::ptr::drop_in_place::<*>"},
	{"std::rt::lang_start::<()>::{closure#0}", "std::rt::lang_start::<*>::{closure#0}"},
	{"std::rt::lang_start::{{closure}}", "std::rt::lang_start::{{closure}}"},
	{"<fn(u8) -> u32 as T>::call", "<fn -> u32 as T>::call"},
	/* Go */
	{"net/http.(*conn).serve", "net/http.(*conn).serve"},
	{"main.main.func1", "main.main.func1"},
	{"main.Map[go.shape.int,go.shape.string]", "main.Map[*]"},
	{"main.(*List[...]).Push", "main.(*List[...]).Push"},
	{"sync.(*Pool).Get-fm", "sync.(*Pool).Get-fm"},
	{"type:.eq.main.T", "type:.eq.main.T"},
	/* D, Java, JavaScript, .NET */
	{"std.algorithm.sort!(\"a < b\", int[]).sort", "std.algorithm.sort!(*).sort"},
	{"void com.foo.Bar.baz(int, java.lang.String)", "com.foo.Bar.baz"},
	{"work app.js:2", "work app.js:2"},
	{"(anonymous) app.js:5", "(anonymous) app.js:5"},
	{"Array.<anonymous> app.js:5", "Array.<anonymous> app.js:5"},
	/* no name at all */
	{"<", "<"},
	{">>>", ">>>"},
	{"a)b]c", "a)b]c"},
	{"a<)>", "a<*>"},
	{"operator", "operator"},
};

static void names_lose_their_arguments_and_nothing_else(void **state)
{
	char out[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = short_name(names[i].name, "*", out, sizeof(out));

		assert_string_equal(out, names[i].shown);
		assert_int_equal(len, strlen(out));
	}
}

static void narrow_columns_lose_the_outermost_namespaces_first(void **state)
{
	static const struct {
		const char *text;
		int columns;
		const char *shown;
	} rows[] = {
		{"a::b::c", 7, "a::b::c"},
		{"aaa::bbb::c", 9, "*::bbb::c"},
		{"aaa::bbb::c", 8, "*::c"},
		{"aaa::bbb::ccccccccc", 2, "*::ccccccccc"},
		{"(anonymous namespace)::f<*>::g", 12, "*::f<*>::g"},
		{"<alloc::vec::Vec<*> as core::fmt::Debug>::fmt", 26, "<Vec<*> as Debug>::fmt"},
		{"<alloc::vec::Vec<*> as core::fmt::Debug>::fmt", 10, "*::fmt"},
		{"std::string::operator std::vector<*>", 20, "*::operator std::vector<*>"},
		{"github.com/foo/bar/v2.(*T).Run", 16, "*/v2.(*T).Run"},
		{"net/http.(*conn).serve", 15, "*.(*conn).serve"},
		{"com.foo.Bar.baz", 10, "*.Bar.baz"},
		{"do_something_long.constprop.0.cold", 10, "do_something_long.constprop.0.cold"},
		{"handleRequest app.js:22", 10, "handleRequest app.js:22"},
	};
	char out[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		short_name_fit(rows[i].text, rows[i].columns, "*", out, sizeof(out));
		assert_string_equal(out, rows[i].shown);
	}
}

/* Each in memory of its own: one byte more is an error under the address sanitizer. */
static void nothing_is_written_beyond_the_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t size = 1; size < 64; size++) {
			char *out = malloc(size), *narrow = malloc(size);

			assert_non_null(out);
			assert_non_null(narrow);
			assert_in_range(short_name(names[i].name, "\xe2\x80\xa6", out, size), 0,
					size - 1);
			assert_true(text_width(out) <= (int)strlen(out));
			short_name_fit(out, (int)size / 2, "\xe2\x80\xa6", narrow, size);
			free(narrow);
			free(out);
		}
	}
}

static void deep_nesting_is_bounded(void **state)
{
	size_t nr = 3000;
	char *name = malloc(2 * nr + 2), out[64];

	(void)state;
	assert_non_null(name);
	name[0] = 'f';
	memset(name + 1, '<', nr);
	memset(name + 1 + nr, '>', nr);
	name[2 * nr + 1] = '\0';
	short_name(name, "*", out, sizeof(out));
	assert_string_equal(out, "f<*>");
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lose_their_arguments_and_nothing_else),
		cmocka_unit_test(narrow_columns_lose_the_outermost_namespaces_first),
		cmocka_unit_test(nothing_is_written_beyond_the_end),
		cmocka_unit_test(deep_nesting_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
