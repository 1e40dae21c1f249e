/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sanitizing and measuring text: see text.h. UTF-8 is decoded here by hand, so
 * that a name looks the same whatever locale the program was started in.
 */
#include "config.h"

#include "src/base/text.h"

#include "src/base/text_ranges.h"
#include "src/base/util.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MARKS_MAX 2 /* combining marks kept on one character: more is an attack on the line above */

static bool ranges_have(const struct range *ranges, size_t nr, uint32_t c)
{
	size_t at = search_first(nr, i, ranges[i].last >= c);

	return at < nr && ranges[at].first <= c;
}

static bool is_mark(uint32_t c)
{
	return c >= zero_columns[0].first && ranges_have(zero_columns, ARRAY_SIZE(zero_columns), c);
}

static int char_width(uint32_t c)
{
	if (c < zero_columns[0].first)
		return 1;
	if (is_mark(c))
		return 0;
	return ranges_have(two_columns, ARRAY_SIZE(two_columns), c) ? 2 : 1;
}

size_t text_decode(const unsigned char *text, size_t len, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = text[0];
	uint32_t c;
	size_t n;

	if (lead < 0x80) {
		*ret = lead;
		return 1;
	}
	n = lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
	if (n == 0 || n > len)
		return 0;
	c = lead & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	if (c < smallest[n] || c > 0x10ffff)
		return 0;
	*ret = c;
	return n;
}

/* May C stand on a terminal or in a file that a terminal will show? */
static bool is_harmless(uint32_t c)
{
	static const struct range harmful[] = {
		{0x0000, 0x001f},   /* C0 */
		{0x007f, 0x009f},   /* DEL, C1 */
		{0x061c, 0x061c},   /* Arabic letter mark */
		{0x180e, 0x180e},   /* Mongolian vowel separator: zero width */
		{0x200b, 0x200f},   /* zero width, direction marks */
		{0x2028, 0x202e},   /* separators of lines and paragraphs, bidi embedding */
		{0x2060, 0x206f},   /* zero width, bidi isolates */
		{0xd800, 0xf8ff},   /* surrogates, private use */
		{0xfdd0, 0xfdef},   /* non-characters */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff0, 0xfffb},   /* interlinear annotation and what is not assigned there */
		{0x1bca0, 0x1bca3}, /* shorthand and music format controls: zero width */
		{0x1d173, 0x1d17a},
		{0xe0000, 0x10ffff}, /* tags and other invisible ones, private-use planes */
	};

	if (c >= 0x20 && c < 0x7f)
		return true;
	/* The last two of each plane are non-characters. */
	return !ranges_have(harmful, ARRAY_SIZE(harmful), c) && (c & 0xfffe) != 0xfffe;
}

size_t text_sanitize(const char *text, size_t len, char *out, size_t out_size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t nr_marks = MARKS_MAX; /* a mark at the start has no character to stand on */
	size_t o = 0;

	assert(out_size > 0);
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = text_decode(p + i, len - i, &c);
		bool is_bad = n == 0 || !is_harmless(c);
		size_t wrote = is_bad ? 1 : n;

		if (!is_bad && is_mark(c) && nr_marks++ >= MARKS_MAX) {
			i += n;
			continue;
		}
		if (wrote >= out_size - o)
			break;
		if (is_bad)
			out[o] = '?';
		else
			memcpy(out + o, p + i, n);
		if (is_bad || !is_mark(c))
			nr_marks = 0;
		o += wrote;
		i += n ? n : 1;
	}
	out[o] = '\0';
	return o;
}

/* The bytes and columns of the character at TEXT; a byte that is not UTF-8 counts as one column. */
static size_t next_char(const char *text, size_t len, int *ret_columns)
{
	uint32_t c = 0;
	size_t n;

	if ((unsigned char)text[0] < 0x80) {
		*ret_columns = 1;
		return 1;
	}
	n = text_decode((const unsigned char *)text, len, &c);
	*ret_columns = n ? char_width(c) : 1;
	return n ? n : 1;
}

int text_width(const char *text)
{
	int columns;

	text_fit(text, INT_MAX, &columns);
	return columns;
}

size_t text_fit(const char *text, int columns, int *ret_columns)
{
	size_t len = strlen(text);
	size_t i = 0;
	int used = 0;

	while (i < len) {
		int width;
		size_t n = next_char(text + i, len - i, &width);

		if (width > columns - used)
			break;
		used += width;
		i += n;
	}
	if (ret_columns)
		*ret_columns = used;
	return i;
}

/*
 * Where the longest end of TEXT begins that takes at most COLUMNS of its TOTAL
 * and starts with a character, not with a mark.
 */
static size_t end_that_fits(const char *text, size_t len, int total, int columns)
{
	size_t i = 0;
	int left = total;

	while (i < len) {
		int width;
		size_t n = next_char(text + i, len - i, &width);

		if (left <= columns && width > 0)
			break;
		left -= width;
		i += n;
	}
	return i;
}

/* Append the first LEN bytes of TEXT at OUT[O], whole characters only. Returns the new length. */
static size_t append(char *out, size_t out_size, size_t o, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len) {
		int width;
		size_t n = next_char(text + i, len - i, &width);

		if (n >= out_size - o - i)
			break;
		i += n;
	}
	memcpy(out + o, text, i);
	out[o + i] = '\0';
	return o + i;
}

void text_elide(const char *text, int columns, int keep_end, char *out, size_t out_size)
{
	static const char dots[] = "..";
	size_t len = strlen(text), head, o;
	int total = text_width(text);
	int used;

	assert(out_size > 0);
	columns = MAX(columns, 0);
	if (total <= columns) {
		append(out, out_size, 0, text, len);
		return;
	}
	if (columns < 2) {
		append(out, out_size, 0, dots, (size_t)columns);
		return;
	}
	head = text_fit(text, keep_end ? (columns - 2) / 2 : columns - 2, &used);
	o = append(out, out_size, 0, text, head);
	o = append(out, out_size, o, dots, 2);
	if (keep_end) {
		size_t end = end_that_fits(text, len, total, columns - 2 - used);

		append(out, out_size, o, text + end, len - end);
	}
}

void text_append(char *out, size_t out_size, const char *format, ...)
{
	size_t len = strlen(out);
	va_list args;

	if (len > 0)
		len += (size_t)snprintf(out + len, out_size - len, "; ");
	if (len >= out_size)
		return;
	va_start(args, format);
	vsnprintf(out + len, out_size - len, format, args);
	va_end(args);
}
