/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Offsets are addresses here. The memory was read a moment ago, the samples are older: what is called by another name
 * by now is not shown.
 */
#include "config.h"

#include "src/loader/made_code.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/loader/disassemble.h"
#include "src/loader/jit_code.h"
#include "unwind/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDR_MASK ((1ull << JIT_EPOCH_SHIFT) - 1)

struct memory {
	uint64_t base;
	uint32_t nr_pieces;
	uint32_t masks[LOADER_PIECES_MAX];
	uint8_t *bytes;
};

static int memory_read(int fd, struct memory *m)
{
	size_t masks_bytes = m->nr_pieces * sizeof(*m->masks);
	size_t bytes = (size_t)m->nr_pieces * CODE_PIECE_BYTES;

	m->bytes = malloc(bytes);
	if (!m->bytes)
		return -ENOMEM;
	if (pread(fd, m->masks, masks_bytes, 0) != (ssize_t)masks_bytes ||
	    pread(fd, m->bytes, bytes, (off_t)masks_bytes) != (ssize_t)bytes)
		return -EINVAL;
	return 0;
}

static bool has_page(const struct memory *m, uint64_t at)
{
	return m->masks[at / CODE_PIECE_BYTES] >> at % CODE_PIECE_BYTES / CODE_PAGE_BYTES & 1;
}

/* How many of WANTED bytes from FROM on are there. */
static size_t bytes_at(const struct memory *m, uint64_t from, uint64_t wanted)
{
	uint64_t first = from - m->base, at = first;
	uint64_t end = first + MIN(wanted, (uint64_t)m->nr_pieces * CODE_PIECE_BYTES - first);

	while (at < end && has_page(m, at))
		at += CODE_PAGE_BYTES - at % CODE_PAGE_BYTES;
	return (size_t)(MIN(at, end) - first);
}

/* The first BYTES of all addresses, of this machine's instructions. */
static struct elf_file machine_head(uint64_t bytes)
{
	struct elf_file head = {.is_64 = true, .nr_segments = 1};

#if defined(__x86_64__)
	head.machine = EM_X86_64;
#elif defined(__aarch64__)
	head.machine = EM_AARCH64;
#endif
	head.segments[0] = (struct cfi_segment){.bytes = bytes};
	return head;
}

/* The piece of code at the place that was sampled, if it has not become another one. */
static bool find_place(const struct cache_entry *entry, uint64_t then, uint64_t now,
		       struct jit_place *ret)
{
	struct jit_place present;

	return jit_code_find(entry->jit_code, then, ret) &&
	       jit_code_find(entry->jit_code, now, &present) &&
	       (present.from & ADDR_MASK) == (ret->from & ADDR_MASK) &&
	       strcmp(present.name, ret->name) == 0;
}

static int list(const struct memory *m, const struct jit_place *place,
		const struct cache_entry *entry, uint64_t epoch_bits, void **ret, size_t *ret_len)
{
	uint64_t from = place->from & ADDR_MASK, wanted = (place->last & ADDR_MASK) - from + 1;
	struct cache_entry made = {.head = machine_head(1ull << JIT_EPOCH_SHIFT),
				   .jit_code = entry->jit_code};
	const struct cache_files files = {.nr = 0};
	struct code_bytes code = {.off = from, .vaddr = from, .above = epoch_bits};

	if (from < m->base || from - m->base >= (uint64_t)m->nr_pieces * CODE_PIECE_BYTES)
		return -ENOENT;
	code.data = m->bytes + (from - m->base);
	code.len = bytes_at(m, from, wanted);
	code.is_cut = code.len < wanted;
	return code.len > 0 ? disassemble(&code, &made, &files, NULL, ret, ret_len) : -ENOENT;
}

int made_code_list(const struct protocol_request *request, const struct cache_entry *entry,
		   int memory, void **ret, size_t *ret_len)
{
	uint64_t now = request->offs[4];
	struct memory m = {.base = request->offs[1]};
	struct jit_place place;
	int r;

	if (request->nr_offs != 5 || memory < 0 || request->offs[3] == 0 ||
	    request->offs[3] > LOADER_PIECES_MAX || m.base > ADDR_MASK)
		return -EINVAL;
	m.nr_pieces = (uint32_t)request->offs[3];
	if (!find_place(entry, request->offs[0], now, &place))
		return -ENOENT;
	r = memory_read(memory, &m);
	if (r == 0)
		r = list(&m, &place, entry, now & ~ADDR_MASK, ret, ret_len);
	free(m.bytes);
	return r;
}

/* --- the kernel's --- */

/* The function that begins at ADDRESS, as far as it is in MEMORY, into BYTES. 0 or -errno. */
static int read_function(const struct kallsyms *kallsyms, uint64_t address, int memory,
			 uint8_t *bytes, struct code_bytes *ret)
{
	struct kallsyms_function function;
	uint64_t wanted;
	ssize_t n;

	if (!kallsyms || !kallsyms_find(kallsyms, address, &function) || function.start != address)
		return -ENOENT;
	wanted = function.end - address;
	n = pread(memory, bytes, MIN(wanted, (uint64_t)LOADER_CODE_BYTES_MAX), 0);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	*ret = (struct code_bytes){
		.data = bytes,
		.len = (size_t)n,
		.off = address,
		.vaddr = address,
		.is_cut = (uint64_t)n < wanted,
	};
	return 0;
}

int made_code_list_kernel(const struct protocol_request *request, const struct cache_entry *entry,
			  int memory, void **ret, size_t *ret_len)
{
	const struct cache_entry kernel = {.head = machine_head(UINT64_MAX),
					   .kallsyms = entry->kallsyms};
	const struct cache_files files = {.nr = 0};
	AUTO_FREE uint8_t *bytes = malloc(LOADER_CODE_BYTES_MAX);
	struct code_bytes code;
	int r;

	if (request->nr_offs != 1 || memory < 0)
		return -EINVAL;
	if (!bytes)
		return -ENOMEM;
	r = read_function(entry->kallsyms, request->offs[0], memory, bytes, &code);
	return r < 0 ? r : disassemble(&code, &kernel, &files, NULL, ret, ret_len);
}
