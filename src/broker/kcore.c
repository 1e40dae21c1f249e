/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file is an ELF core dump of 64 bits (fs/proc/kcore.c): its program headers say which addresses are where in
 * it. Both files are the kernel's own; they are checked all the same.
 */
#include "config.h"

#include "src/broker/kcore.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/broker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KALLSYMS_BYTES_MAX (128u << 20)
#define SEGMENTS_MAX	   4096u
#define PAGE_BYTES	   4096u

int kcore_open(void)
{
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ENOSYS : -errno;
}

/* --- where code ends --- */

struct symbol {
	uint64_t address;
	char type;
	const char *module; /* "[ext4]", or "": of the kernel proper */
	size_t module_len;
};

/* "ffffffffc0a01000 t nf_tables_newrule\t[nf_tables]", which ends at END. False: it is something else. */
static bool symbol_parse(const char *line, const char *end, struct symbol *ret)
{
	const char *tab;
	char *p;

	ret->address = strtoull(line, &p, 16);
	if (p == line || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	ret->type = p[1];
	tab = memchr(p, '\t', (size_t)(end - p));
	ret->module = tab ? tab + 1 : "";
	ret->module_len = tab ? (size_t)(end - ret->module) : 0;
	return true;
}

static bool is_code(const struct symbol *symbol)
{
	return symbol->type && strchr("tTwW", symbol->type);
}

static bool same_module(const struct symbol *a, const struct symbol *b)
{
	return a->module_len == b->module_len && memcmp(a->module, b->module, a->module_len) == 0;
}

/* The next symbol of *TEXT, which ends at END and is moved on. False: there is no more. */
static bool next_symbol(const char **text, const char *end, struct symbol *ret)
{
	const char *newline;

	while ((newline = memchr(*text, '\n', (size_t)(end - *text)))) {
		bool is_symbol = symbol_parse(*text, newline, ret);

		*text = newline + 1;
		if (is_symbol)
			return true;
	}
	return false;
}

/* The code symbol at ADDRESS. False: there is none. */
static bool find_function(const char *text, const char *end, uint64_t address, struct symbol *ret)
{
	while (next_symbol(&text, end, ret))
		if (ret->address == address && is_code(ret))
			return true;
	return false;
}

/* The first symbol after FUNCTION that is not code of its module, before LIMIT, which is the address in *RET if there is none. */
static void find_stop(const char *text, const char *end, const struct symbol *function,
		      uint64_t limit, struct symbol *ret)
{
	struct symbol symbol;

	*ret = *function;
	ret->address = limit;
	while (next_symbol(&text, end, &symbol))
		if (symbol.address > function->address && symbol.address < ret->address &&
		    !(is_code(&symbol) && same_module(&symbol, function)))
			*ret = symbol;
}

/* The last function before STOP that is, as FUNCTION is, code of its module: where it begins. */
static uint64_t last_before(const char *text, const char *end, const struct symbol *function,
			    uint64_t stop)
{
	uint64_t last = function->address;
	struct symbol symbol;

	while (next_symbol(&text, end, &symbol))
		if (symbol.address > last && symbol.address < stop)
			last = symbol.address;
	return last;
}

/*
 * How many bytes of code begin with FUNCTION. What comes after the last function of a module, where another one's begins,
 * may be anything: it reaches to the end of its page.
 */
static uint64_t code_bytes(const char *text, const char *end, const struct symbol *function)
{
	uint64_t most = MIN(UINT64_MAX - function->address, (uint64_t)BROKER_KCORE_BYTES_MAX);
	struct symbol stop;

	find_stop(text, end, function, function->address + most, &stop);
	if (!same_module(&stop, function)) {
		uint64_t last = last_before(text, end, function, stop.address);

		stop.address = MIN(stop.address, (last | (PAGE_BYTES - 1)) + 1);
	}
	return stop.address - function->address;
}

/* --- where it is in the file --- */

/* The segment of KCORE with ADDRESS. 0, -ENOENT, or -errno. */
static int find_segment(int kcore, uint64_t address, Elf64_Phdr *ret)
{
	Elf64_Ehdr head;

	if (pread(kcore, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(*ret) || head.e_phnum > SEGMENTS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		uint64_t at = head.e_phoff + i * sizeof(*ret);

		if (at > INT64_MAX || pread(kcore, ret, sizeof(*ret), (off_t)at) != sizeof(*ret))
			return -EINVAL;
		if (ret->p_type == PT_LOAD && address >= ret->p_vaddr &&
		    address - ret->p_vaddr < ret->p_memsz)
			return 0;
	}
	return -ENOENT;
}

/* The LEN bytes at ADDRESS, as far as they are there. */
static int read_code(int kcore, uint64_t address, uint64_t len)
{
	AUTO_FREE uint8_t *data = malloc(len);
	Elf64_Phdr segment;
	uint64_t at;
	ssize_t n;
	int r;

	if (!data)
		return -ENOMEM;
	r = find_segment(kcore, address, &segment);
	if (r < 0)
		return r;
	at = segment.p_offset + (address - segment.p_vaddr);
	if (at > INT64_MAX)
		return -EINVAL;
	n = pread(kcore, data, MIN(len, segment.p_memsz - (address - segment.p_vaddr)), (off_t)at);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	return memfd_sealed("stacktop-kcore", data, (size_t)n);
}

int kcore_code_by(int kcore, int kallsyms, uint64_t address)
{
	AUTO_FREE char *text = NULL;
	struct symbol function;
	size_t len;
	int r = read_all(kallsyms, KALLSYMS_BYTES_MAX, &text, &len);

	if (r < 0)
		return r;
	if (address == 0 || !find_function(text, text + len, address, &function))
		return -ENOENT;
	return read_code(kcore, address, code_bytes(text, text + len, &function));
}

int kcore_code(int kcore, uint64_t address)
{
	AUTO_CLOSE int kallsyms = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return kallsyms < 0 ? -errno : kcore_code_by(kcore, kallsyms, address);
}
