/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading .eh_frame and .debug_frame: common information entries (CIE) and
 * frame descriptions (FDE), without running their programs (cfa.h). Private to
 * the compiler.
 */
#ifndef ST_UNWIND_CFI_PARSE_H
#define ST_UNWIND_CFI_PARSE_H

#include "src/base/reader.h"
#include "unwind/cfi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_cie {
	const uint8_t *insns;
	uint32_t insns_bytes;
	uint32_t ra_reg;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_enc; /* DW_EH_PE_* */
	bool has_augmentation_data;
	bool is_signal;
	bool is_bad; /* damaged or of an unknown kind: its FDEs are skipped */
};

/* Code [start, end) with one description. All offsets are file offsets. */
struct cfi_fde {
	uint64_t start, end;
	uint64_t begin;	      /* where the described function begins: start, unless it was cut */
	uint64_t shift;	      /* virtual address = file offset + shift; modulo 2^64, as begin */
	const uint8_t *insns; /* NULL: a rule of our own making, number `cie` (synth.h) */
	uint32_t insns_bytes;
	uint32_t cie;
};

struct cfi_frames {
	struct cfi_cie *cies;
	size_t nr_cies, cap_cies;
	struct cfi_fde *fdes; /* in the order of the section until sorted */
	size_t nr_fdes, cap_fdes;
	uint64_t nr_skipped;
};

/*
 * Append what SECTION holds to FRAMES. FDEs outside the executable segments,
 * empty, at address 0 or damaged are counted as skipped. Returns 0, -ENOMEM or
 * -E2BIG. Free with cfi_frames_done, also after a failure.
 */
int cfi_scan(const struct cfi_input *input, const struct cfi_section *section, bool is_eh,
	     struct cfi_frames *frames);
void cfi_frames_done(struct cfi_frames *frames);
/* 0, -ENOMEM, or -E2BIG above MAX. */
int cfi_frames_add(struct cfi_frames *frames, const struct cfi_fde *fde, size_t max);

/* The executable segment that holds virtual address VADDR, or NULL. */
const struct cfi_segment *cfi_segment_of(const struct cfi_input *input, uint64_t vaddr);

/* SEG's code before offset AT in it has been looked at, up to *LAST at the last call. 0 or -ETIME. */
int cfi_text_read(const struct cfi_input *input, const struct cfi_segment *seg, uint64_t *last,
		  uint64_t at);

/*
 * A pointer in encoding ENC at R's position, which stands at virtual address
 * VADDR of a file for MACHINE. Sets R->bad for encodings that need what a file cannot tell.
 */
uint64_t cfi_pointer(struct reader *r, uint8_t enc, uint64_t vaddr, enum table_machine machine);

#endif
