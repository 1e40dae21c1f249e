/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs to start from, out of real files: fuzz_seeds FOLDER FILE... writes
 * FOLDER/TARGET/NAME for each target that FILE (ELF, perf.data) is good for.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unwind_elf.h"
#include "unwind/unwind.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SEED_BYTES_MAX (32u << 10)
#define STACK_BYTES    256
#define RECORDS_EACH   6
#define SEEDS_EACH     12

static const char *folder, *base;

static void save(const char *target, int nr, const void *a, size_t a_bytes, const void *b,
		 size_t b_bytes)
{
	char path[4096];
	AUTO_FCLOSE FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s.%d", folder, target, base, nr);
	f = fopen(path, "we");
	if (!f || fwrite(a, 1, a_bytes, f) != a_bytes || fwrite(b, 1, b_bytes, f) != b_bytes)
		perror(path);
}

/* The head of fuzz_cfi: words of a stack that lead into code and stack in turn. */
static size_t cfi_head(uint8_t *out, uint32_t vaddr, uint8_t flags)
{
	uint16_t bytes = STACK_BYTES;
	uint8_t *p = out;

	memcpy(p, &bytes, 2);
	p[2] = flags;
	memcpy(p + 3, &vaddr, 4);
	p += 7;
	for (uint64_t i = 0; i < X86_NR_REGS + STACK_BYTES / 8; i++, p += 8) {
		uint64_t word = i % 2 ? 0x1000 + i * 16 : 1ull << 62 | i * 8;

		memcpy(p, &word, 8);
	}
	return (size_t)(p - out);
}

static void seed_table(const struct unwind_elf *e)
{
	uint64_t regs[X86_RIP];
	struct cfi_stats stats;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		regs[i] = 0x7ffff000 + 8 * i;
	for (int is_return_addrs = 0; is_return_addrs < 2; is_return_addrs++) {
		AUTO_FREE void *blob = NULL;
		int r = is_return_addrs ? cfi_compile_return_addrs(&e->input, &blob, &len)
					: cfi_compile(&e->input, &blob, &len, &stats);

		if (r == 0 && len <= SEED_BYTES_MAX)
			save("table", is_return_addrs, regs, sizeof(regs), blob, len);
	}
}

static bool seed_elf(const char *path)
{
	uint8_t head[4096];
	struct unwind_elf e;
	size_t len;

	if (!unwind_elf_open(path, &e))
		return false;
	len = cfi_head(head, (uint32_t)e.input.eh_frame.vaddr,
		       e.input.machine == TABLE_MACHINE_AARCH64 ? FUZZ_CFI_AARCH64
		       : e.input.machine == TABLE_MACHINE_I386	? FUZZ_CFI_I386
								: 0);
	if (e.input.eh_frame.bytes && e.input.eh_frame.bytes <= SEED_BYTES_MAX)
		save("cfi", 0, head, len, e.input.eh_frame.data, e.input.eh_frame.bytes);
	if (e.bytes <= SEED_BYTES_MAX)
		save("cfi", 1, head, len, e.image, e.bytes);
	seed_table(&e);
	unwind_elf_close(&e);
	return true;
}

/* Of a perf.data file of this byte order: its first event's format, then a few records at a time. */
static void seed_records(const char *data, size_t len)
{
	uint64_t attrs_at, data_at, data_bytes, end, id_format[4];
	struct perf_event_attr attr = {0};
	uint8_t head[33];

	memcpy(&attrs_at, data + 24, 8);
	memcpy(&data_at, data + 40, 8);
	memcpy(&data_bytes, data + 48, 8);
	if (attrs_at > len - PERF_ATTR_SIZE_VER0 || data_at > len || data_bytes > len - data_at)
		return;
	memcpy(&attr, data + attrs_at, MIN(sizeof(attr), len - attrs_at));
	id_format[0] = attr.sample_type;
	id_format[1] = attr.read_format;
	id_format[2] = attr.size > PERF_ATTR_SIZE_VER2 - 8 ? attr.branch_sample_type : 0;
	id_format[3] = attr.size > PERF_ATTR_SIZE_VER2 ? attr.sample_regs_user : 0;
	memcpy(head, id_format, 32);
	head[32] =
		(uint8_t)(attr.sample_id_all | (attr.sample_type & PERF_SAMPLE_STACK_USER ? 4 : 0));
	end = data_at + data_bytes;
	for (int seed = 0; seed < SEEDS_EACH; seed++) {
		uint64_t at = data_at;

		for (int i = 0; i < RECORDS_EACH && at + 8 <= end; i++) {
			uint16_t size;

			memcpy(&size, data + at + 6, 2);
			if (size < 8 || size > end - at)
				return;
			at += size;
		}
		save("record", seed, head, sizeof(head), data + data_at,
		     MIN(at - data_at, (uint64_t)SEED_BYTES_MAX));
		data_at = at;
	}
}

static void seed_recording(const char *path)
{
	AUTO_FCLOSE FILE *f = fopen(path, "re");
	AUTO_FREE char *data = NULL;
	size_t len;

	if (!f || read_all(fileno(f), 256u << 20, &data, &len) < 0 || len < 104)
		return;
	if (len <= SEED_BYTES_MAX)
		save("recording", 0, data, len, "", 0);
	if (memcmp(data, "PERFILE2", 8) == 0)
		seed_records(data, len);
}

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : ".";
	for (int i = 2; i < argc; i++) {
		base = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
		if (!seed_elf(argv[i]))
			seed_recording(argv[i]);
	}
	return 0;
}
