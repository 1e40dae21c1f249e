/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the loader and its client say to each other over one SOCK_SEQPACKET
 * socket: structs of fixed size, checked by size and version by whoever
 * receives them. The client believes nothing that the loader says.
 *
 * A request is a row of ATTACH messages, each with one descriptor, and then
 * the request itself, all with one serial number. Large answers go into
 * memory files that the client made, sized and attached: a process with
 * RLIMIT_FSIZE 0 can neither write to a memory file nor grow one, but it can
 * fill one that is mapped.
 *
 * Each table has a file of its own, which the loader cuts to size and seals
 * when it is full; the client checks that. It must be the loader:
 * for one who has not just unmapped the pages, sealing means to wait for a
 * kernel thread on every CPU, and that may be seconds on a busy machine. All
 * names of one loader go through one file; the client copies them out first.
 */
#ifndef ST_LOADER_PROTOCOL_H
#define ST_LOADER_PROTOCOL_H

#include "src/loader/client.h"

#include <stdint.h>

#define PROTOCOL_VERSION 0x73746c40u /* changes with every struct below */

/* What a full table's file must have: it cannot be changed any more. */
#define PROTOCOL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

#define LOADER_NAME_BYTES_MAX	     512	/* of one name, with its NUL */
#define LOADER_NAMES_BYTES_MAX	     (1u << 20) /* of a whole answer to NAMES */
#define LOADER_DEBUG_MAX	     4 /* debug files of one module, dwz's second one and a .dwp among them */
#define LOADER_CODE_BYTES_MAX	     (256u << 10) /* of a function that is disassembled */
#define LOADER_INSTRUCTIONS_MAX	     65536
#define LOADER_INSTRUCTION_BYTES_MAX 512 /* of its text, with its NUL */
#define LOADER_CODE_ANSWER_MAX	     (32u << 20)
#define LOADER_CODE_FILES_MAX	     64u   /* source files of a function */
#define LOADER_FRAMES_MAX	     1024u /* in an answer to LINES */
#define LOADER_SPLITS_TOLD_MAX	     128u  /* that an answer tells as missing */

enum protocol_kind {
	PROTOCOL_ATTACH, /* client: a descriptor for the request that follows */
	PROTOCOL_TABLE,
	PROTOCOL_RETURN_ADDRS,
	PROTOCOL_NAMES,
	PROTOCOL_KERNEL_NAMES,
	PROTOCOL_JIT,	    /* what has come to a perf map */
	PROTOCOL_JIT_NAMES, /* from it */
	PROTOCOL_JIT_FRAMES,
	PROTOCOL_JIT_LINES,
	/* offs: where a function begins, the last place in it that was sampled, and 1: with source lines, or 0 */
	PROTOCOL_CODE,
	PROTOCOL_KERNEL_CODE, /* the same by addresses */
	/*
	 * the same of made code; offs: a place that was sampled, with its epoch; the address of what is in the
	 * memory; 0; its pieces, see loader_request_made_code(); the place at the present epoch
	 */
	PROTOCOL_MADE_CODE,
	PROTOCOL_KCORE, /* the same of the kernel; offs: the address of what is in the memory, where a function begins */
	PROTOCOL_LINES,
	PROTOCOL_KERNEL_LINES, /* the same by addresses */
	PROTOCOL_KIND_COUNT,
};

enum protocol_role {
	PROTOCOL_ROLE_FILE,   /* the module itself, or kallsyms */
	PROTOCOL_ROLE_OUTPUT, /* the memory file for a table or for return addresses */
	PROTOCOL_ROLE_NAMES,  /* once, before any request for names: where these are answered */
	PROTOCOL_ROLE_DEBUG,  /* a debug file of the module, at most LOADER_DEBUG_MAX */
	PROTOCOL_ROLE_SPLIT, /* LINES: a file with a split unit (.dwo), at most LOADER_SPLITS_MAX: for good */
	PROTOCOL_ROLE_MEMORY, /* MADE_CODE, KCORE: a copy of the memory with the code */
	PROTOCOL_ROLE_COUNT,
};

/* The first message, from the loader: it is confined and takes requests. */
struct protocol_hello {
	uint32_t version;
	uint32_t pad;
};

/* The last message of a loader that crashes; one that was killed says nothing. */
struct protocol_crash {
	uint32_t version;
	uint32_t signal;
};

struct protocol_request {
	uint32_t version;
	uint32_t kind; /* enum protocol_kind */
	uint32_t role; /* of ATTACH: enum protocol_role */
	uint32_t nr_offs;
	uint64_t serial;
	uint64_t file_key; /* names one open file for all time: what the loader keeps goes by it */
	uint64_t cpu_max_ns; /* then the loader gives up: LOADER_LATE; 0: without a bound */
	uint64_t output_max; /* bytes of the memory file for the answer */
	/* KERNEL_NAMES: where _text was, see loader_set_kernel_text(); 0: where it is */
	uint64_t kernel_text;
	/* KERNEL_CODE: of the kernel's own file, which is among the debug files of kallsyms */
	uint8_t kernel_build_id[20];
	uint8_t kernel_build_id_bytes;
	uint8_t pad[3];
	uint64_t offs[LOADER_NAMES_MAX]; /* JIT: the epoch */
};

struct protocol_reply {
	uint32_t version;
	uint32_t kind;
	uint64_t serial;
	uint32_t status; /* enum loader_status */
	uint32_t pad;
	uint64_t output_bytes; /* written to that memory file; 0: nothing */
	uint64_t cpu_ns, rss_bytes;
	uint64_t symbols_evicted;  /* so far: files whose symbols made room for those of others */
	uint64_t symbols_left_out; /* so far: those beyond what is kept of one file */
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	uint8_t has_symtab;
	uint8_t is_refused; /* a part of the file, unpacked, is too large to be honest */
	uint8_t pad2;
	uint32_t jit_count; /* JIT: pieces of code with a name */
	uint8_t jit_has_changed, jit_is_late, jit_has_frames, pad3;
	uint64_t jit_left_out, jit_changed_ns;
	char debuglink[256];
};

/* The answer to NAMES: this head, NR records, then text_bytes of NUL-terminated strings. */
struct protocol_names {
	uint32_t nr;
	uint32_t text_bytes;
};

#define PROTOCOL_NO_TEXT UINT32_MAX

struct protocol_name {
	uint64_t off, func_off, func_vaddr;
	uint64_t from, last;   /* the same holds for these offsets, OFF among them */
	uint32_t name, object; /* where in the text, or PROTOCOL_NO_TEXT */
	uint32_t mangled;      /* the same; none: as the name */
	uint32_t pad;
};

/* The answer to CODE: this head, NR records by offset, then text_bytes of NUL-terminated strings. */
struct protocol_code {
	uint32_t nr;
	uint32_t text_bytes;
	uint64_t vaddr; /* of the first instruction */
	uint8_t is_cut; /* the function goes on after the last one */
	uint8_t pad[3];
	uint32_t nr_files;
	uint32_t files[LOADER_CODE_FILES_MAX]; /* source files: where in the text */
};

struct protocol_instruction {
	uint64_t off;
	uint64_t target; /* file offset that it jumps to or calls, or UINT64_MAX */
	uint32_t text;
	uint8_t bytes;
	uint8_t is_call;
	uint16_t file; /* which of the files it is from, if LINE is not 0 */
	uint32_t line;
	uint32_t pad;
};

_Static_assert(sizeof(struct protocol_code) == 24 + 4 * LOADER_CODE_FILES_MAX, "code has padding");
_Static_assert(sizeof(struct protocol_instruction) == 32, "instruction has padding");
/*
 * The answer to LINES: this head, records of the first NR_PLACES offsets that were asked for (at least one; for
 * the others there was no room), frames, then text_bytes of NUL-terminated strings.
 */
struct protocol_lines {
	uint32_t nr_places, nr_frames, text_bytes, nr_splits;
	uint32_t splits
		[LOADER_SPLITS_TOLD_MAX]; /* paths of split units that are not there: where in the text */
};

struct protocol_place {
	uint64_t off;
	uint32_t first, nr; /* its frames, innermost first */
};

struct protocol_frame {
	uint32_t name, file, decl_file; /* where in the text, or PROTOCOL_NO_TEXT */
	uint32_t line, decl_line;
};

/* The answer to JIT_FRAMES: a struct code_told for each offset. */
_Static_assert(sizeof(struct code_told) == 24, "told has padding");
_Static_assert(sizeof(struct protocol_lines) == 16 + 4 * LOADER_SPLITS_TOLD_MAX,
	       "lines has padding");
_Static_assert(sizeof(struct protocol_place) == 16, "place has padding");
_Static_assert(sizeof(struct protocol_frame) == 20, "frame has padding");
_Static_assert(sizeof(struct protocol_hello) == 8, "hello has padding");
_Static_assert(sizeof(struct protocol_crash) == 8, "crash has padding");
_Static_assert(sizeof(struct protocol_request) == 80 + 8 * LOADER_NAMES_MAX, "request has padding");
_Static_assert(sizeof(struct protocol_reply) == 64 + 48 + 256, "reply has padding");
_Static_assert(sizeof(struct protocol_name) == 56, "name has padding");
_Static_assert(sizeof(struct protocol_names) +
			       LOADER_NAMES_MAX * (sizeof(struct protocol_name) +
						   2 * LOADER_NAME_BYTES_MAX + 64) <=
		       LOADER_NAMES_BYTES_MAX,
	       "the largest answer fits");

#endif
