/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that one process has made while it runs: which name holds for which addresses, and since when.
 * Knows no format. Time is an epoch, a number of 16 bits that the engine counts on each time that code
 * stands where other code stood: a frame keeps the name of its own epoch.
 *
 *	epoch 4		1000-10ff work		frames at 1080 of epoch 4 are work, now and later
 *	1000-107f idle is put at epoch 4	it overlaps: the change is told, the engine counts on
 *	epoch 5		1000-107f idle		frames at 1010 of epoch 5 are idle, at 1080 they have no name
 *
 * Where nothing was known in a frame's epoch, what came there first afterwards holds for it: code is often
 * made before anyone tells of it.
 */
#ifndef ST_LOADER_JIT_CODE_H
#define ST_LOADER_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_EPOCH_SHIFT \
	48 /* an offset to look up is an address below this bit, and its epoch above */
#define JIT_EPOCH_MAX  UINT16_MAX
#define JIT_PIECES_MAX (1u << 20)
#define JIT_TEXT_MAX   (64u << 20)
#define JIT_NAME_MAX   1000 /* of a raw name; the rest is cut */

struct jit_code;

struct jit_code *jit_code_new(void); /* NULL: no memory */
struct jit_code *jit_code_free(struct jit_code *code);

/*
 * Note that BYTES at START are called NAME (LEN bytes), and where RECORD is not 0, that more is told of them
 * there. It counts from the next commit on, of which the
 * last that was noted for a place wins. False: that cannot be, or there is no room; counted.
 */
bool jit_code_note(struct jit_code *code, uint64_t start, uint64_t bytes, const char *name,
		   size_t len, uint64_t record);
/*
 * Note that the code at FROM, BYTES of it, is now at TO and has the same name and record there. False as above, or
 * there is no code with a name at FROM.
 */
bool jit_code_note_move(struct jit_code *code, uint64_t from, uint64_t to, uint64_t bytes);
/* Is other code than NAME's (LEN bytes) there now, where BYTES at START are put? */
bool jit_code_replaces(const struct jit_code *code, uint64_t start, uint64_t bytes,
		       const char *name, size_t len);
/*
 * What was noted holds from now on, in EPOCH. IS_ALL: it is all that there is, other code is gone.
 * True: something has been replaced or is gone; what has, and what came there, changes with EPOCH + 1.
 */
bool jit_code_commit(struct jit_code *code, uint16_t epoch, bool is_all);

struct jit_place {
	uint64_t from, last; /* offsets of its epoch for which the same holds */
	const char *name;    /* as it was told, not sanitized; valid until something is noted */
	uint64_t start;	     /* address of its first byte */
	uint64_t record;     /* as it was noted */
};
/* The code at OFF (see JIT_EPOCH_SHIFT). False: none is known. */
bool jit_code_find(const struct jit_code *code, uint64_t off, struct jit_place *ret);

uint32_t jit_code_count(const struct jit_code *code); /* pieces of code that are there now */
uint64_t jit_code_left_out(const struct jit_code *code);
size_t jit_code_bytes(const struct jit_code *code);

#endif
