/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The writer of JSON: see json.h. Knows no snapshot. A document has
 * a hundred thousand numbers and names, so text goes out in long pieces and
 * through the unlocked calls: one thread owns the stream.
 */
#include "config.h"

#include "src/out/json.h"

#include "src/base/text.h"

#include <inttypes.h>
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

static void put_u64(FILE *stream, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, stream);
}

static void put_string(FILE *stream, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	putc_unlocked('"', stream);
	while (*p) {
		size_t plain = plain_length(p), len;

		fwrite_unlocked(p, 1, plain, stream);
		p += plain;
		if (!*p)
			break;
		len = utf8_length(p);
		if (len == 0) {
			fputs_unlocked(REPLACEMENT, stream);
			p++;
			continue;
		}
		if (*p == '"' || *p == '\\')
			putc_unlocked('\\', stream);
		if (*p < 0x20 || *p == 0x7f)
			fprintf(stream, "\\u%04x", (unsigned int)*p);
		else
			fwrite_unlocked(p, 1, len, stream);
		p += len;
	}
	putc_unlocked('"', stream);
}

static void begin(struct json *json, const char *key)
{
	if (json->needs_comma)
		putc_unlocked(',', json->stream);
	json->needs_comma = true;
	if (!key)
		return;
	put_string(json->stream, key);
	putc_unlocked(':', json->stream);
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	putc_unlocked(bracket, json->stream);
	json->needs_comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc_unlocked(bracket, json->stream);
	json->needs_comma = true;
}

void json_string(struct json *json, const char *key, const char *text)
{
	begin(json, key);
	put_string(json->stream, text);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	begin(json, key);
	put_u64(json->stream, value);
}

void json_real(struct json *json, const char *key, double value)
{
	uint64_t milli;

	if (!isfinite(value) || fabs(value) > 1e15) {
		json_null(json, key);
		return;
	}
	milli = (uint64_t)(fabs(value) * 1000.0 + 0.5);
	begin(json, key);
	if (value < 0 && milli > 0)
		putc_unlocked('-', json->stream);
	fprintf(json->stream, "%" PRIu64 ".%03u", milli / 1000, (unsigned int)(milli % 1000));
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs_unlocked(value ? "true" : "false", json->stream);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	fputs_unlocked("null", json->stream);
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
