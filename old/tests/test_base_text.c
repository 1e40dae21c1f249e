/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Foreign text cannot harm a terminal, is never cut inside a character, and has the width it is drawn with. */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"

#include <limits.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct pair {
	const char *in, *out;
};

static void check_pairs(const struct pair *pairs, size_t nr)
{
	char out[128];

	for (size_t i = 0; i < nr; i++) {
		size_t len = text_sanitize(pairs[i].in, strlen(pairs[i].in), out, sizeof(out));

		assert_string_equal(out, pairs[i].out);
		assert_int_equal(len, strlen(out));
	}
}

static void harmful_characters_become_one_question_mark(void **state)
{
	static const struct pair pairs[] = {
		{"main", "main"},
		{"a\033[2Jb", "a?[2Jb"},
		{"a\tb\nc\rd\x7f", "a?b?c?d?"},
		{"\xc2\x80\xc2\x9b"
		 "0m\xc2\x9f",
		 "??0m?"},			      /* C1: U+009B is CSI */
		{"\xd8\x9cx", "?x"},		      /* U+061C */
		{"x\xe2\x80\x8e\xe2\x80\x8f", "x??"}, /* U+200E, U+200F */
		{"x\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae", "x?????"},
		{"x\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "x????"}, /* U+2066-9 */
		{"x\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d", "x???"},		/* U+200B-D */
		{"\xe2\x81\xa0\xef\xbb\xbf", "??"},				/* U+2060, U+FEFF */
		{"\xe2\x80\xa8\xe2\x80\xa9", "??"},				/* U+2028/9 */
		{"\xed\xa0\x80\xed\xbf\xbf", "??"},				/* surrogates */
		{"\xef\xbf\xbe\xef\xbf\xbf\xef\xb7\x90", "???"},	 /* U+FFFE/F, U+FDD0 */
		{"\xf0\x9f\xbf\xbe", "?"},				 /* U+1FFFE */
		{"\xee\x80\x80\xf3\xb0\x80\x80\xf4\x8f\xbf\xbd", "???"}, /* private use */
		{"\xf3\xa0\x81\x81", "?"},				 /* tag letter */
		{"\xef\xbf\xbd", "\xef\xbf\xbd"},			 /* U+FFFD itself */
		{"gr\xc3\xb6\xc3\x9f"
		 "e \xe6\x97\xa5 \xf0\x9f\x98\x80",
		 "gr\xc3\xb6\xc3\x9f"
		 "e \xe6\x97\xa5 \xf0\x9f\x98\x80"},
	};
	char out[8];

	(void)state;
	check_pairs(pairs, ARRAY_SIZE(pairs));
	assert_int_equal(text_sanitize("a\0b", 3, out, sizeof(out)), 3);
	assert_string_equal(out, "a?b");
	assert_int_equal(text_sanitize("", 0, out, sizeof(out)), 0);
	assert_string_equal(out, "");
}

static void invalid_bytes_become_one_question_mark_each(void **state)
{
	static const struct pair pairs[] = {
		{"\x80\xbf", "??"},			/* continuation alone */
		{"\xc0\x80\xc1\xbf", "????"},		/* overlong NUL, overlong 0x7f */
		{"\xe0\x80\xaf\xe0\x9f\xbf", "??????"}, /* overlong in three bytes */
		{"\xf0\x80\x80\xaf", "????"},		/* overlong in four */
		{"\xf4\x90\x80\x80", "????"},		/* above U+10FFFF */
		{"\xf8\x88\x80\x80\x80\xfe\xff", "???????"},
		{"a\xe6\x97", "a??"},		       /* cut at the end */
		{"\xe6\x97x", "??x"},		       /* cut by another character */
		{"\xe6\xe6\x97\xa5", "?\xe6\x97\xa5"}, /* lead byte before a whole one */
		{"\x9b"
		 "31m",
		 "?31m"}, /* a raw C1 byte */
	};

	(void)state;
	check_pairs(pairs, ARRAY_SIZE(pairs));
}

#define ACUTE "\xcc\x81" /* U+0301 */

static void marks_do_not_pile_up(void **state)
{
	static const struct pair pairs[] = {
		{"e" ACUTE "x", "e" ACUTE "x"},
		{"e" ACUTE ACUTE ACUTE ACUTE "x" ACUTE, "e" ACUTE ACUTE "x" ACUTE},
		{ACUTE ACUTE "x", "x"},
		{"\n" ACUTE, "?" ACUTE},
	};

	(void)state;
	check_pairs(pairs, ARRAY_SIZE(pairs));
}

/* Is TEXT whole UTF-8 characters only, and nothing below a space? */
static void check_whole(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)text[i];
		size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

		assert_true(c >= 0x20 && c != 0x7f && (c < 0x80 || c >= 0xc2));
		assert_true(i + n <= len);
		for (size_t k = 1; k < n; k++)
			assert_int_equal((unsigned char)text[i + k] & 0xc0, 0x80);
		i += n;
	}
}

static void no_size_cuts_a_character(void **state)
{
	static const char text[] = "a\xc3\xb6\xe6\x97\xa5\xf0\x9f\x98\x80" ACUTE "\n\xff"
				   "b";
	char out[sizeof(text) + 1];

	(void)state;
	for (size_t size = 1; size <= sizeof(text); size++) {
		size_t len;

		memset(out, 'Z', sizeof(out));
		len = text_sanitize(text, sizeof(text) - 1, out, size);
		assert_true(len < size);
		assert_int_equal(out[len], '\0');
		assert_int_equal(out[size], 'Z');
		check_whole(out, len);
		assert_true(len + 4 >= size || len == strlen(out));
	}
}

static void random_bytes_come_out_whole(void **state)
{
	uint64_t seed = 1;
	char in[64], out[80];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len, size, wrote;

		for (size_t i = 0; i < sizeof(in); i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* Mostly bytes of long characters, so that many are nearly valid. */
			in[i] = (char)(seed >> 33 & 3 ? 0x80 | (seed >> 40 & 0x7f) : seed >> 40);
		}
		len = seed >> 50 & 63;
		size = 1 + (seed >> 56) % (sizeof(out) - 1);
		wrote = text_sanitize(in, len, out, size);
		assert_true(wrote < size);
		assert_int_equal(strlen(out), wrote);
		check_whole(out, wrote);
		assert_int_equal(text_fit(out, INT_MAX, NULL), wrote);
	}
}

static void width_counts_columns(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("main"), 4);
	assert_int_equal(text_width("gr\xc3\xb6\xc3\x9f"
				    "e"),
			 5);
	assert_int_equal(text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two ideographs */
	assert_int_equal(text_width("\xed\x95\x9c"), 2);	     /* a Hangul syllable */
	assert_int_equal(text_width("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"),
			 2);				     /* the same in three letters */
	assert_int_equal(text_width("\xef\xbc\xa1"), 2);     /* full-width A */
	assert_int_equal(text_width("\xef\xbd\xb1"), 1);     /* half-width katakana */
	assert_int_equal(text_width("\xf0\x9f\x98\x80"), 2); /* an emoji */
	assert_int_equal(text_width("e" ACUTE "e"), 2);
	assert_int_equal(text_width("\xe2\x94\x80\xe2\x94\x82"), 2); /* box drawing */
	assert_int_equal(text_width("\xff\xfe"), 2);		     /* not text at all */
}

static void fit_keeps_marks_and_whole_characters(void **state)
{
	static const char text[] = "a\xe6\x97\xa5"
				   "e" ACUTE "b"; /* columns 1 2 1 1 */
	static const struct {
		int columns, used;
		size_t bytes;
	} wants[] = {{-1, 0, 0}, {0, 0, 0}, {1, 1, 1}, {2, 1, 1},
		     {3, 3, 4},	 {4, 4, 7}, {5, 5, 8}, {99, 5, 8}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		int used = -1;

		assert_int_equal(text_fit(text, wants[i].columns, &used), wants[i].bytes);
		assert_int_equal(used, wants[i].used);
	}
	assert_int_equal(text_fit(ACUTE "a", 0, NULL), 2);
}

static void elide_replaces_the_end_or_the_middle(void **state)
{
	static const struct {
		const char *in;
		int columns, keep_end;
		const char *out;
	} wants[] = {
		{"abcdefghij", 10, 0, "abcdefghij"},
		{"abcdefghij", 10, 1, "abcdefghij"},
		{"abcdefghij", 7, 0, "abcde.."},
		{"abcdefghij", 7, 1, "ab..hij"},
		{"abcdefghij", 3, 1, "..j"},
		{"abcdefghij", 2, 1, ".."},
		{"abcdefghij", 1, 0, "."},
		{"abcdefghij", 0, 0, ""},
		{"abcdefghij", -5, 1, ""},
		{"", 0, 1, ""},
		{"\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5", 5, 0, "\xe6\x97\xa5.."},
		{"\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5", 5, 1, "..\xe6\x97\xa5"},
		{"abcde" ACUTE "e" ACUTE, 4, 1, "a..e" ACUTE},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		text_elide(wants[i].in, wants[i].columns, wants[i].keep_end, out, sizeof(out));
		assert_string_equal(out, wants[i].out);
	}
}

static void elide_never_exceeds_columns_or_bytes(void **state)
{
	static const char text[] = "st\xc3\xb6\xe6\x97\xa5" ACUTE "abc\xf0\x9f\x98\x80 end" ACUTE;
	char out[sizeof(text) + 4];

	(void)state;
	for (int columns = 0; columns < 20; columns++)
		for (int keep_end = 0; keep_end < 2; keep_end++)
			for (size_t size = 1; size < sizeof(out); size++) {
				memset(out, 'Z', sizeof(out));
				text_elide(text, columns, keep_end, out, size);
				assert_true(strlen(out) < size);
				assert_int_equal(out[size], 'Z');
				assert_true(text_width(out) <= columns);
				check_whole(out, strlen(out));
			}
}

static void nothing_depends_on_the_locale(void **state)
{
	static const char *const locales[] = {"C", "C.UTF-8"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		if (!setlocale(LC_ALL, locales[i]))
			continue;
		width_counts_columns(state);
		fit_keeps_marks_and_whole_characters(state);
		harmful_characters_become_one_question_mark(state);
	}
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(harmful_characters_become_one_question_mark),
		cmocka_unit_test(invalid_bytes_become_one_question_mark_each),
		cmocka_unit_test(marks_do_not_pile_up),
		cmocka_unit_test(no_size_cuts_a_character),
		cmocka_unit_test(random_bytes_come_out_whole),
		cmocka_unit_test(width_counts_columns),
		cmocka_unit_test(fit_keeps_marks_and_whole_characters),
		cmocka_unit_test(elide_replaces_the_end_or_the_middle),
		cmocka_unit_test(elide_never_exceeds_columns_or_bytes),
		cmocka_unit_test(nothing_depends_on_the_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
