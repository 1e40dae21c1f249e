/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From call-frame information (.eh_frame, .debug_frame) to the compact table.
 * Runs in the loader: the bytes are hostile. Knows no libelf: the caller finds
 * the sections. Sources: DWARF 5 section 6.4; LSB 5.0 "Exception Frames"; the
 * x86-64 psABI, section 3.6.
 */
#ifndef ST_UNWIND_CFI_H
#define ST_UNWIND_CFI_H

#include "unwind/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFI_SEGMENTS_MAX 64 /* executable ones: a file has one, rarely three */

struct cfi_segment {			 /* an executable PT_LOAD */
	uint64_t file_off, vaddr, bytes; /* p_offset, p_vaddr, p_filesz */
	/* its bytes, for entry, PLT, sigreturn and call detection; NULL: unknown */
	const uint8_t *text;
};

struct cfi_section { /* data NULL: absent */
	const uint8_t *data;
	size_t bytes;
	uint64_t vaddr;
};

struct cfi_input {
	enum table_machine machine;
	bool swap; /* the file has the other byte order */
	const struct cfi_segment *segments;
	size_t nr_segments;
	struct cfi_section eh_frame;	/* scanned linearly; .eh_frame_hdr is never needed */
	struct cfi_section debug_frame; /* fills what .eh_frame does not cover */
	struct cfi_section plt[4];	/* .plt, .plt.sec, .plt.got, .iplt: stubs without FDEs */
	struct cfi_section go_table;	/* .gopclntab: it wins over .debug_frame */
	uint64_t entry;			/* e_entry: made a root where nothing covers it */
	/* of the functions that a C library defines under these names; 0: it does not */
	uint64_t exit_vaddr, pthread_exit_vaddr;
	/* Called from time to time with the text that will not be read again; or NULL. */
	void (*text_was_read)(const uint8_t *text, size_t bytes);
};

/* Does DATA begin as Go's table of functions does? */
bool go_table_begins(const uint8_t *data, size_t bytes);

struct cfi_stats {
	uint64_t fdes_skipped, rows, slow_path_rows;
};

/*
 * Compile INPUT into a blob (heap, owned by the caller) of the format in
 * table.h. A damaged FDE is skipped and counted, never fatal. Returns 0,
 * -ENOMEM, -E2BIG (bounds of the format), -EINVAL (machine not supported, or
 * segments that cannot be).
 */
int cfi_compile(const struct cfi_input *input, void **ret_blob, size_t *ret_len,
		struct cfi_stats *ret_stats);

/*
 * The return addresses of a file: a blob that return_addrs_has (unwind.h) asks
 * whether the bytes before a file offset are a call instruction. Built on
 * demand, for modules into which a frame-pointer step leads.
 */
int cfi_compile_return_addrs(const struct cfi_input *input, void **ret_blob, size_t *ret_len);

#endif
