/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instructions of a function, as the engine has them from a loader's answer,
 * which is checked as if an attacker had written it. Disassembles nothing.
 */
#ifndef ST_LOADER_INSTRUCTIONS_H
#define ST_LOADER_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instruction {
	uint64_t off;	 /* in the file; each ends where the next one begins, or before that */
	uint64_t target; /* file offset that it jumps to or calls; UINT64_MAX: none, or not known */
	uint32_t text;	 /* offset in struct instructions.text */
	uint32_t line;	 /* of its source, 0: not known */
	uint16_t file;	 /* which one of struct instructions that is */
	uint8_t bytes;
	bool is_call;
};

#define INSTRUCTIONS_FILES_MAX 64u

struct instructions {
	struct instruction *all; /* by offset */
	uint32_t nr;
	char *text; /* sanitized, NUL-terminated strings */
	size_t text_bytes;
	uint32_t nr_files, files[INSTRUCTIONS_FILES_MAX]; /* source files: offsets in text */
	uint64_t vaddr; /* address of the first one by the file itself */
	bool is_cut;	/* the function is longer than what is disassembled */
};

/*
 * Take what the loader put into the sealed memory file FD, which stays the caller's. 0, -ENOMEM, -errno,
 * -EBADMSG: it lies.
 */
int instructions_take(int fd, struct instructions *ret);
/* The same from LEN bytes in memory, aligned to 8, that nobody changes. */
int instructions_parse(const void *data, size_t len, struct instructions *ret);
void instructions_done(struct instructions *instructions);

#endif
