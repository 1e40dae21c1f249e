/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes messages in the encoding of Protocol Buffers, compressed by gzip, to a
 * stream: fields of a message are gathered, then the message is written as a
 * field of the one around it. Knows no schema.
 */
#ifndef ST_OUT_PROTO_H
#define ST_OUT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A message in the making; zeroed it is empty. Without memory it remembers that and takes no more. */
struct proto {
	uint8_t *bytes;
	size_t nr, cap;
	int error; /* 0 or -ENOMEM */
};

void proto_done(struct proto *message);
/* Forget the fields, keep the memory. */
void proto_clear(struct proto *message);

/* A number; 0, which is what a field has that is not there, is left out. */
void proto_u64(struct proto *message, uint32_t field, uint64_t value);
void proto_text(struct proto *message, uint32_t field, const char *text, size_t len);
/* INNER as a field of MESSAGE. */
void proto_message(struct proto *message, uint32_t field, const struct proto *inner);
/* Numbers one after the other ("packed"). */
void proto_numbers(struct proto *message, uint32_t field, const uint64_t *values, size_t nr);

struct proto_file;

/* Begin to write to STREAM (borrowed). NULL: no memory. */
struct proto_file *proto_file_new(FILE *stream);
/* Frees it; what was not ended is cut off. */
struct proto_file *proto_file_free(struct proto_file *file);
/* Append the fields of MESSAGE to those that are written. 0, -errno. */
int proto_file_put(struct proto_file *file, const struct proto *message);
/* Nothing more comes. 0, -errno. */
int proto_file_end(struct proto_file *file);

#endif
