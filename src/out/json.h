/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes JSON to a stream: escaping and commas, nothing of what is written.
 * Whatever bytes a string holds, the output is valid UTF-8 and valid JSON; numbers
 * do not depend on the locale.
 */
#ifndef ST_OUT_JSON_H
#define ST_OUT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_ROOM_BYTES 4096

/* Only STREAM is given, all else is zero. */
struct json {
	FILE *stream;
	bool needs_comma; /* a value stands before this one in the same object or array */
	size_t nr;	  /* bytes in ROOM that the stream has not got yet */
	char room[JSON_ROOM_BYTES];
};

/* KEY is NULL inside arrays. The caller closes what it opens, in order. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);		  /* '}' or ']' */
void json_string(struct json *json, const char *key, const char *text);
void json_u64(struct json *json, const char *key, uint64_t value);
/* Three decimals; null when not a finite number of reasonable size. */
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* null unless IS_KNOWN. */
void json_u64_or_null(struct json *json, const char *key, bool is_known, uint64_t value);
void json_real_or_null(struct json *json, const char *key, bool is_known, double value);
/* At the end: the stream has all that was written. Whether it could take it, its own state says. */
void json_flush(struct json *json);

#endif
