/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The compact unwind table of one ELF file: a flat, position-independent,
 * immutable blob, built by the loader (cfi.h), mapped read-only and checked
 * once by the engine, then searched without locks or allocation.
 *
 * Everything is keyed by FILE OFFSET of code, not by address: a pc becomes
 * `pc - map.start + map.file_off`, whatever the load bias and the segments'
 * p_vaddr. Only executable PT_LOAD segments are in the table.
 */
#ifndef ST_UNWIND_TABLE_H
#define ST_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_BYTES_MAX (256u << 20)

enum table_machine {
	TABLE_MACHINE_NONE, /* not unwindable here */
	TABLE_MACHINE_X86_64,
	TABLE_MACHINE_AARCH64,
	TABLE_MACHINE_I386, /* x86 with words of 32 bits */
	TABLE_MACHINE_COUNT,
};

/* Bytes of an address, and of a word in the stack. */
static inline unsigned int table_word_bytes(enum table_machine machine)
{
	return machine == TABLE_MACHINE_I386 ? 4 : 8;
}

struct table_header; /* the blob's format: table.c, table_build.c */
struct table_rule;

/* A checked view of a blob. Plain data; the blob must stay mapped. */
struct table {
	uint64_t base, span; /* the code it covers: file offsets [base, base + span) */
	enum table_machine machine;
	uint64_t *recent; /* see table_remember, or NULL */
	uint64_t recent_mask;
	bool is_expensive; /* set by unwinding: its rows used up the work of a stack */
	const struct table_header *header;
	const uint32_t *pages;
	const uint32_t *rows;
	const struct table_rule *rules;
	const uint8_t *saved;
	const uint8_t *aux;
	const uint64_t *funcs;
};

/*
 * Check BLOB (LEN bytes, from an untrusted helper) completely: every size,
 * offset, index and order that table_find relies on. Returns 0 and a view, or
 * -EBADMSG. After success no lookup reads outside it.
 */
int table_open(const void *blob, size_t len, struct table *ret);

/*
 * Let TABLE keep the rules that were searched last: most of the return addresses in
 * stacks have been seen before, and one word holds their rule. For use by one
 * thread. 0 or -ENOMEM: the table is as good without. Give it back with
 * table_forget before the view is dropped.
 */
int table_remember(struct table *table);
void table_forget(struct table *table);

uint64_t table_nr_rows(const struct table *table);

/* The rule for the code at file offset OFF, or NULL where no FDE covers it. */
const struct table_rule *table_find(const struct table *table, uint64_t off);

/* Is OFF in a function of a C library in which threads begin (starts.c)? */
bool table_is_start(const struct table *table, uint64_t off);

/* The [start, end) file offsets of the FDE (or PLT stub) that covers OFF; false: none does. */
bool table_func_of(const struct table *table, uint64_t off, uint64_t *ret_start, uint64_t *ret_end);

#endif
