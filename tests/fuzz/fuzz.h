/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the fuzz targets share. Each is a program of its own (libFuzzer brings
 * main), built and run by "make fuzz"; the input's bytes are taken apart with a
 * struct reader, so that every input means something.
 */
#ifndef ST_TESTS_FUZZ_H
#define ST_TESTS_FUZZ_H

#include "src/base/reader.h"
#include "unwind/unwind.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_CFI_AARCH64 16 /* among the flags of fuzz_cfi's input: the section is of aarch64 */
#define FUZZ_CFI_GO	 32 /* and: it is Go's table of functions */
#define FUZZ_CFI_I386	 64 /* or of i386 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input: a failure is a crash that the fuzzer keeps. */
#define must(condition)                   \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

/* LEN bytes of DATA in a heap block of exactly that size, aligned as malloc does: a read past it is seen. */
static inline void *exact_copy(const void *data, size_t len)
{
	void *copy = malloc(len ? len : 1);

	must(copy);
	if (len)
		memcpy(copy, data, len);
	return copy;
}

/* Of MACHINE: how many registers there are, of which pc is the last, and which one is sp. */
static inline unsigned int fuzz_nr_regs(enum table_machine machine)
{
	return machine == TABLE_MACHINE_AARCH64 ? A64_NR_REGS
	       : machine == TABLE_MACHINE_I386	? I386_NR_REGS
						: X86_NR_REGS;
}

static inline unsigned int fuzz_sp_reg(enum table_machine machine)
{
	return machine == TABLE_MACHINE_AARCH64 ? A64_SP
	       : machine == TABLE_MACHINE_I386	? I386_ESP
						: X86_RSP;
}

/* So that reads cannot be optimized away. */
static inline void use(uint64_t value)
{
	static volatile uint64_t sink;

	sink = sink + value;
}

static inline void use_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += p[i];
	use(sum);
}

/* A memory file with these bytes, at offset 0. */
static inline int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	must(fd >= 0 && write(fd, data, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* The same before and after an input that leaks no descriptor. */
static inline int free_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	must(fd >= 0);
	close(fd);
	return fd;
}

#endif
