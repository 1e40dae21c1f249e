/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The writer of JSON: see json.h. Knows no snapshot. A document has
 * a hundred thousand numbers and names of a few bytes each: they are put together here, and
 * the stream gets long pieces.
 */
#include "config.h"

#include "src/out/json.h"

#include "src/base/text.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define REPLACEMENT   "\xef\xbf\xbd" /* U+FFFD in UTF-8 */
#define UTF8_CHAR_MAX 4

/* The length of the well-formed UTF-8 character at P (RFC 3629: no surrogate), 0: not one. */
static size_t utf8_length(const unsigned char *p)
{
	uint32_t c;
	size_t len = text_decode(p, strnlen((const char *)p, UTF8_CHAR_MAX), &c);

	return len && c >= 0xd800 && c <= 0xdfff ? 0 : len;
}

/* How many characters at P stand for themselves. */
static size_t plain_length(const unsigned char *p)
{
	size_t len = 0;

	while (p[len] >= 0x20 && p[len] < 0x7f && p[len] != '"' && p[len] != '\\')
		len++;
	return len;
}

void json_flush(struct json *json)
{
	fwrite(json->room, 1, json->nr, json->stream);
	json->nr = 0;
}

static void put(struct json *json, const void *bytes, size_t len)
{
	if (len > sizeof(json->room) - json->nr)
		json_flush(json);
	if (len > sizeof(json->room)) {
		fwrite(bytes, 1, len, json->stream);
		return;
	}
	memcpy(json->room + json->nr, bytes, len);
	json->nr += len;
}

static void put_char(struct json *json, char c)
{
	if (json->nr == sizeof(json->room))
		json_flush(json);
	json->room[json->nr++] = c;
}

static void put_text(struct json *json, const char *text)
{
	put(json, text, strlen(text));
}

static void put_u64(struct json *json, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	put(json, digits + at, sizeof(digits) - at);
}

static void put_escaped(struct json *json, unsigned char c)
{
	char text[8];

	snprintf(text, sizeof(text), "\\u%04x", (unsigned int)c);
	put_text(json, text);
}

static void put_string(struct json *json, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	put_char(json, '"');
	while (*p) {
		size_t plain = plain_length(p), len;

		put(json, p, plain);
		p += plain;
		if (!*p)
			break;
		len = utf8_length(p);
		if (len == 0) {
			put_text(json, REPLACEMENT);
			p++;
			continue;
		}
		if (*p == '"' || *p == '\\')
			put_char(json, '\\');
		if (*p < 0x20 || *p == 0x7f)
			put_escaped(json, *p);
		else
			put(json, p, len);
		p += len;
	}
	put_char(json, '"');
}

/* Keys are our own words: nothing in them needs an escape. */
static void begin(struct json *json, const char *key)
{
	if (json->needs_comma)
		put_char(json, ',');
	json->needs_comma = true;
	if (!key)
		return;
	put_char(json, '"');
	put_text(json, key);
	put(json, "\":", 2);
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	put_char(json, bracket);
	json->needs_comma = false;
}

void json_close(struct json *json, char bracket)
{
	put_char(json, bracket);
	json->needs_comma = true;
}

void json_string(struct json *json, const char *key, const char *text)
{
	begin(json, key);
	put_string(json, text);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	begin(json, key);
	put_u64(json, value);
}

void json_real(struct json *json, const char *key, double value)
{
	uint64_t milli;
	char decimals[8];

	if (!isfinite(value) || fabs(value) > 1e15) {
		json_null(json, key);
		return;
	}
	milli = (uint64_t)(fabs(value) * 1000.0 + 0.5);
	begin(json, key);
	if (value < 0 && milli > 0)
		put_char(json, '-');
	put_u64(json, milli / 1000);
	snprintf(decimals, sizeof(decimals), ".%03u", (unsigned int)(milli % 1000));
	put_text(json, decimals);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	put_text(json, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	put_text(json, "null");
}

void json_u64_or_null(struct json *json, const char *key, bool is_known, uint64_t value)
{
	if (is_known)
		json_u64(json, key, value);
	else
		json_null(json, key);
}

void json_real_or_null(struct json *json, const char *key, bool is_known, double value)
{
	json_real(json, key, is_known ? value : NAN);
}
