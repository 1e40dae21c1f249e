/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Debug information of a damaged file: what is inlined at some of its addresses, and the lines. The input is an
 * image of an ELF file, after the two bytes of a number that says at which addresses.
 */
#include "config.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/loader/debug_info.h"
#include "tests/fuzz/fuzz.h"

#define ADDRS_EACH 8
#define CPU_MAX_NS (NS_PER_SEC / 4)

static void look(struct debug_info *info, uint64_t vaddr)
{
	struct debug_frame frames[DEBUG_INFO_CHAIN_MAX];
	int nr = debug_info_at(info, vaddr, frames);

	must(nr <= DEBUG_INFO_CHAIN_MAX);
	for (int i = 0; i < nr; i++) {
		use(frames[i].name ? strlen(frames[i].name) : 0);
		use(frames[i].file ? strlen(frames[i].file) : 0);
		use(frames[i].decl_file ? strlen(frames[i].decl_file) : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(data, size);
	uint16_t step = reader_u16(&in);
	struct debug_info *info = NULL;
	struct elf_file code;
	int before = free_descriptor(), fd;
	char lacking[64];
	const char *path;
	const void *id;

	if (in.bad)
		return 0;
	fd = memory_file(data + 2, size - 2);
	deadline_set(CPU_MAX_NS);
	if (elf_file_open(fd, &code) == 0) {
		if (debug_info_open(fd, &code, &info) == 0) {
			if (debug_info_other_id(info, &id, &path) > 0)
				use(strlen(path));
			debug_info_add_other(info, fd);
			if (debug_info_add_package(info, fd) < 0)
				debug_info_add_split(info, fd);
			for (size_t i = 0; i < code.nr_segments; i++)
				for (uint64_t k = 0; k < ADDRS_EACH; k++)
					look(info, code.segments[i].vaddr + k * step);
			use(debug_info_bytes(info));
			if (debug_info_lacks_split(info, 0, 0, lacking, sizeof(lacking)))
				use(strlen(lacking));
			debug_info_free(info);
		}
		elf_file_close(&code);
	}
	deadline_set(0);
	close(fd);
	must(free_descriptor() == before);
	return 0;
}
