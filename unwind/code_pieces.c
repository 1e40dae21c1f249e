/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of code that is made at run time, in pieces: see code.h. A just-in-time compiler adds code and replaces it all the time, so a piece is
 * read anew when something leads into it that was not there, and now and then while it is used.
 *
 *	time	a stack of that time leads to		the piece		answer
 *	1.00	0x5010, a return address		none: it is wanted	PENDING
 *	1.10						read at 1.10
 *	1.00	the same stack again			call at 0x500b		YES
 *	1.40	0x5720, a return address		zeros there, older than	PENDING
 *						the stack: wanted
 *	1.50						read at 1.50
 *	1.40	the same stack again			newer, still zeros	NO
 *
 * Where there is no room a hand goes over the pieces: one that was not used since it came by before makes room.
 */
#include "config.h"

#include "unwind/code_pieces.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AGAIN_MIN_NS \
	(200 * NS_PER_MSEC)	      /* a piece that has disappointed is read again after this, */
#define AGAIN_MAX_NS (8 * NS_PER_SEC) /* then later and later, while it is the same */
#define REFRESH_NS   (2 * NS_PER_SEC) /* one that is used */
#define FILE_REFRESH 8u		      /* times later for one of a file */
#define WANTED_MAX   (CODE_PIECES_MAX / 2)

struct unwind_code *unwind_code_new(struct code_budget *budget, enum table_machine machine)
{
	/* Many programs need a rule or two of what is remembered: pages come as they are used. */
	struct unwind_code *code = mmap(NULL, sizeof(*code), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return NULL;
	code->budget = budget;
	code->machine = machine;
	code->generation = 1;
	return code;
}

static uint32_t group_of(uint64_t addr)
{
	return (uint32_t)(addr / CODE_PIECE_BYTES % CODE_GROUPS);
}

static void drop_bytes(struct unwind_code *code, struct piece *piece)
{
	code->budget->pieces_left += piece->bytes != NULL;
	free(steal_ptr(piece->bytes));
}

struct unwind_code *unwind_code_free(struct unwind_code *code)
{
	if (!code)
		return NULL;
	for (uint32_t i = 0; i < code->nr_pieces; i++)
		drop_bytes(code, &code->pieces[i]);
	code_told_done(code);
	u64map_done(&code->by_addr);
	munmap(code, sizeof(*code));
	return NULL;
}

void unwind_code_set_time(struct unwind_code *code, uint64_t time_ns)
{
	code->time_ns = time_ns;
}

/* --- pieces --- */

static struct piece *find(struct unwind_code *code, uint64_t addr)
{
	uint32_t i = u64map_get(&code->by_addr, addr / CODE_PIECE_BYTES);

	return i == U64MAP_NONE ? NULL : &code->pieces[i];
}

static void want(struct unwind_code *code, struct piece *piece)
{
	if (piece->is_wanted || piece->is_asked)
		return;
	code->nr_wanted++;
	piece->is_wanted = true;
}

static void note_change(struct unwind_code *code, const struct piece *piece)
{
	code->changed[group_of(piece->addr)] = ++code->generation;
}

/*
 * A piece, FOR_BYTES one with bytes, that has not been used since the hand came by, now without them; NULL: all are in use.
 * What was found in code of a file stays true without them; other code may change unseen from now on.
 */
static struct piece *drop_piece(struct unwind_code *code, bool for_bytes)
{
	uint32_t nr_looks = code->nr_wanted < WANTED_MAX ? 2 * code->nr_pieces : 0;

	while (nr_looks-- > 0) {
		struct piece *piece = &code->pieces[code->hand++ % code->nr_pieces];

		if (piece->is_wanted || piece->is_asked || (for_bytes && !piece->bytes))
			continue;
		if (piece->is_used) {
			piece->is_used = false;
			continue;
		}
		if (!piece->is_of_file)
			note_change(code, piece);
		drop_bytes(code, piece);
		piece->read_ns = 0;
		return piece;
	}
	return NULL;
}

/* A place for another piece. */
static struct piece *new_piece(struct unwind_code *code)
{
	struct piece *piece;

	if (code->nr_pieces < CODE_PIECES_MAX)
		return &code->pieces[code->nr_pieces++];
	piece = drop_piece(code, false);
	if (piece)
		u64map_remove(&code->by_addr, piece->addr / CODE_PIECE_BYTES);
	return piece;
}

/* The piece around ADDR, made if it is of code of SPACE; NULL: none, or no room. */
static struct piece *get(struct unwind_code *code, const struct unwind_space *space, uint64_t addr)
{
	struct piece *piece = find(code, addr);

	if (piece)
		return piece;
	if (!unwind_map_of(space, addr))
		return NULL;
	piece = new_piece(code);
	if (!piece) {
		code->budget->nr_given_up++;
		return NULL;
	}
	*piece = (struct piece){.addr = addr & ~(uint64_t)(CODE_PIECE_BYTES - 1),
				.interval_ns = AGAIN_MIN_NS,
				.is_of_file = code_is_of_file(space, addr)};
	if (u64map_set(&code->by_addr, addr / CODE_PIECE_BYTES, (uint32_t)(piece - code->pieces)) <
	    0) {
		*piece = (struct piece){0};
		return NULL;
	}
	want(code, piece);
	return piece;
}

static bool is_there(const struct piece *piece, uint64_t addr)
{
	return piece->bytes && piece->pages >> ((addr - piece->addr) / CODE_PAGE_BYTES) & 1;
}

enum code_answer code_doubt(struct unwind_code *code, const struct unwind_space *space,
			    uint64_t addr)
{
	struct piece *piece = get(code, space, addr);

	if (!piece || piece->read_ns >= code->time_ns)
		return CODE_NO;
	if (!piece->is_wanted && !piece->is_asked && piece->read_ns &&
	    code->time_ns < piece->read_ns + piece->interval_ns) {
		code->budget->nr_given_up++;
		return CODE_NO;
	}
	want(code, piece);
	piece->is_doubted = true;
	return CODE_PENDING;
}

size_t code_fetch(struct unwind_code *code, const struct unwind_space *space, uint64_t addr,
		  uint8_t *to, size_t bytes, bool *ret_is_pending)
{
	size_t got = 0;

	while (got < bytes) {
		struct piece *piece = get(code, space, addr + got);
		uint64_t at = (addr + got) % CODE_PAGE_BYTES;
		size_t part = MIN(bytes - got, (size_t)(CODE_PAGE_BYTES - at));

		code->groups_read |= 1ull << group_of(addr + got);
		if (!piece || !is_there(piece, addr + got)) {
			if (piece && piece->read_ns == 0) {
				want(code, piece);
				*ret_is_pending = true;
			}
			break;
		}
		piece->is_used = true;
		memcpy(to + got, piece->bytes + (addr + got - piece->addr), part);
		got += part;
	}
	return got;
}

uint32_t unwind_code_next(struct unwind_code *code, uint64_t time_ns, uint64_t *addrs, uint32_t max)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < code->nr_pieces && nr < max; i++) {
		struct piece *piece = &code->pieces[i];
		bool is_old = piece->bytes && piece->is_used && time_ns >= piece->refresh_ns;

		if (piece->is_asked || (!piece->is_wanted && !is_old))
			continue;
		code->nr_wanted -= piece->is_wanted;
		piece->is_wanted = piece->is_used = false;
		piece->is_asked = true;
		piece->asked_ns = time_ns;
		addrs[nr++] = piece->addr;
	}
	return nr;
}

static bool is_same(const struct piece *piece, const uint8_t *bytes, uint32_t pages)
{
	if (!piece->bytes || piece->pages != pages)
		return !piece->bytes && pages == 0;
	for (uint32_t i = 0; i < CODE_PIECE_PAGES; i++)
		if (pages >> i & 1 && memcmp(piece->bytes + i * CODE_PAGE_BYTES,
					     bytes + i * CODE_PAGE_BYTES, CODE_PAGE_BYTES) != 0)
			return false;
	return true;
}

/* Room for the bytes of PIECE; false: there is none. */
static bool make_room(struct unwind_code *code, struct piece *piece)
{
	if (piece->bytes)
		return true;
	if (code->budget->pieces_left == 0 && !drop_piece(code, true)) {
		code->budget->nr_given_up++;
		return false;
	}
	piece->bytes = malloc(CODE_PIECE_BYTES);
	if (!piece->bytes)
		return false;
	code->budget->pieces_left--;
	return true;
}

void unwind_code_put(struct unwind_code *code, uint64_t addr, const uint8_t *bytes, uint32_t pages)
{
	struct piece *piece = find(code, addr);

	if (!piece || !piece->is_asked) /* forgotten meanwhile */
		return;
	if (is_same(piece, bytes, pages)) {
		piece->interval_ns = MIN(2 * piece->interval_ns, AGAIN_MAX_NS);
	} else if (pages == 0 || make_room(code, piece)) {
		piece->interval_ns = AGAIN_MIN_NS;
		piece->pages = pages;
		/* Nothing was found in what had not been read, unless it was dropped meanwhile. */
		if (piece->read_ns > 0 || piece->is_doubted)
			note_change(code, piece);
		if (pages)
			memcpy(piece->bytes, bytes, CODE_PIECE_BYTES);
	}
	piece->is_asked = piece->is_doubted = false;
	piece->read_ns = piece->asked_ns;
	piece->refresh_ns = piece->asked_ns + MAX(REFRESH_NS, piece->interval_ns) *
						      (piece->is_of_file ? FILE_REFRESH : 1);
}
