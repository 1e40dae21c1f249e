/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Perf maps and jitdumps, in two parts as they grow or are written anew, and the names in them. First byte: how,
 * and where the second part begins.
 */
#include "config.h"

#include "src/loader/jit_code.h"
#include "src/loader/jit_text.h"
#include "src/loader/jit_told.h"
#include "src/loader/jitdump.h"
#include "src/loader/perf_map.h"
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

enum { WRITES_ANEW = 1, IS_DUMP = 2 };

static void look_up(const struct jit_code *code, int fd)
{
	struct code_told told[512];
	struct jit_lines lines = {0};

	for (uint64_t i = 0; i < 512; i++) {
		uint64_t off = (i & 3) << JIT_EPOCH_SHIFT | (i >> 2) * 0x101;
		struct jit_place place;
		char name[64];

		if (!jit_code_find(code, off, &place))
			continue;
		must(place.from <= off && off <= place.last);
		jit_text(place.name, name, sizeof(name));
		use(strlen(name));
	}
	for (uint64_t i = 0; i < 512; i++)
		told[i] = (struct code_told){.key = (i & 3) << JIT_EPOCH_SHIFT | (i >> 2) * 0x41};
	use((uint64_t)jit_told_frames(code, fd, told, 512));
	for (uint64_t i = 0; i < 512; i++) {
		const char *file;
		uint32_t line;

		if (jit_told_line(&lines, code, fd, told[i].key, &file, &line) > 0)
			use(strlen(file) + line);
	}
	jit_lines_done(&lines);
}

static void put(int fd, const uint8_t *data, size_t len, bool is_anew)
{
	if (is_anew && ftruncate(fd, 0) < 0)
		return;
	if (lseek(fd, 0, SEEK_END) >= 0 && write(fd, data, len) < 0)
		return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint32_t head[] = {0x4a695444, 1, 40, 62, 0, 1, 0, 0, 0, 0};
	struct jit_code *code = jit_code_new();
	struct perf_map map = {0};
	struct jitdump dump = {0};
	uint16_t epoch = 0;
	size_t first;
	int fd;

	if (len == 0 || !code) {
		jit_code_free(code);
		return 0;
	}
	first = (len - 1) * (data[0] >> 2) / 63;
	fd = memory_file(head, data[0] & IS_DUMP ? sizeof(head) : 0);
	put(fd, data + 1, first, false);
	for (int part = 0; part < 2; part++) {
		bool has_changed = false;

		if (jitdump_is(fd))
			use((uint64_t)jitdump_read(&dump, fd, code, epoch, &has_changed));
		else
			must(perf_map_read(&map, fd, code, epoch, &has_changed) == 0);
		epoch = (uint16_t)(epoch + has_changed);
		look_up(code, fd);
		put(fd, data + 1 + first, len - 1 - first, data[0] & WRITES_ANEW);
	}
	close(fd);
	jit_code_free(code);
	return 0;
}
