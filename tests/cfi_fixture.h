/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hand-made call-frame information of one file, and a stack to walk: what the
 * tests of the CFI compiler have in common. Sections and text start empty in
 * each test (reset).
 */
#ifndef ST_TESTS_CFI_FIXTURE_H
#define ST_TESTS_CFI_FIXTURE_H

#include "tests/unwind_elf.h"
#include "unwind/dwarf_op.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_OFF   0x1000ull
#define TEXT_VADDR 0x403000ull /* not the offset plus a round number of pages at 0 */
#define TEXT_BYTES 0x10000ull
#define EH_VADDR   0x500000ull
#define MAP_START  0x7f0000001000ull /* where TEXT_OFF is mapped */
#define STACK	   0x7ffc00000000ull
#define CALLER	   (MAP_START + 0x1010)

/* DWARF call-frame instructions, as in the standard. */
enum {
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	ADVANCE1 = 0x02,
	ADVANCE2 = 0x03,
	ADVANCE4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER = 0x0a,
	RECALL = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPR = 0x0f,
	EXPR = 0x10,
	OFFSET_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_EXPR = 0x16,
	WINDOW_SAVE = 0x2d,
	ARGS_SIZE = 0x2e,
	NEGATIVE_OFFSET = 0x2f,
};
#define BREG(n) ((uint8_t)(DW_OP_breg0 + (n)))
#define LIT(n)	((uint8_t)(DW_OP_lit0 + (n)))

struct bytes {
	uint8_t b[16384];
	size_t n;
};

extern struct bytes eh, debug;
extern uint8_t text[TEXT_BYTES];
extern struct cfi_segment segment;
extern struct cfi_input input;
extern struct cfi_stats stats;
extern void *blob;
extern size_t blob_bytes;
extern struct table table;
extern struct unwind_module module;
extern struct unwind_map map;
extern const struct unwind_space space;
extern struct unwind_regs regs;
extern uint64_t stack_words[512];
extern struct unwind_stack stack;
extern struct unwind_frame frames[UNWIND_FRAMES_MAX];
extern struct unwind_result result;

static const uint8_t usual[] = {DEF_CFA, X86_RSP, 8, OFFSET | X86_RIP, 1};
static const uint8_t root[] = {UNDEFINED, X86_RIP};

void put(struct bytes *b, const void *data, size_t bytes);
void put8(struct bytes *b, uint8_t v);
void put32(struct bytes *b, uint32_t v);
void put64(struct bytes *b, uint64_t v);
/* Close the entry whose length field is at AT. */
void end_entry(struct bytes *b, size_t at);
size_t put_cie(const char *augmentation, const uint8_t *insns, size_t bytes);
/* Code [START, START + BYTES) of the segment, under the CIE at CIE_AT. */
void put_fde(size_t cie_at, uint64_t start, uint32_t bytes, const uint8_t *insns, size_t nr_insns);
void forget(void);
int compile(void);
/* The return addresses of the segment, now known of its module: to be freed. */
void *take_return_addrs(void);
int reset(void **state);
int clear(void **state);
/* One function at 0x100 with this program, and a caller at 0x1000 that is a root. */
void compile_one(const uint8_t *insns, size_t bytes);
void walk_from(uint64_t at);
/* From the function at 0x100 + AT the caller is found, and it is the root. */
void expect_caller(uint64_t at);
void expect_end(uint64_t at, enum stack_end end);

#define COMPILE_ONE(...)                                \
	do {                                            \
		const uint8_t _insns[] = {__VA_ARGS__}; \
		compile_one(_insns, sizeof(_insns));    \
	} while (0)

#endif
