/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What src/loader/debug_info.c says of the addresses on standard input, as
 * addr2line -a -f -i writes it, for tests/test_loader_inlined.py to compare:
 *
 *	lines_of CODE [DEBUG [OTHER...]] < addresses	OTHER: dwz's second file, a .dwp, or .dwo
 *
 * With --trim nothing is kept from one address to the next. With --time it says in milliseconds how long opening, the first pass and a second one took.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/loader/debug_info.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDRS_MAX 100000

static uint64_t addrs[ADDRS_MAX];
static size_t nr_addrs;

/* What was found in units is given back. */
static void trim(struct debug_info *info)
{
	size_t before = debug_info_bytes(info);

	debug_info_trim(info, 0);
	if (debug_info_bytes(info) >= before)
		printf("nothing was given back\n");
}

static void print_at(struct debug_info *info, uint64_t addr, bool is_trimmed)
{
	struct debug_frame frames[DEBUG_INFO_CHAIN_MAX];
	int nr = debug_info_at(info, addr, frames);

	printf("0x%016" PRIx64 "\n", addr);
	if (nr <= 0) {
		printf("%s\n??:0\n", nr < 0 ? strerror(-nr) : "??");
		return;
	}
	for (int i = 0; i < nr; i++)
		printf("%s\n%s:%u\n", frames[i].name ? frames[i].name : "??",
		       frames[i].file ? frames[i].file : "??", frames[i].line);
	if (is_trimmed)
		trim(info);
}

static uint64_t time_all(struct debug_info *info)
{
	struct debug_frame frames[DEBUG_INFO_CHAIN_MAX];
	uint64_t start_ns = now_ns();

	for (size_t i = 0; i < nr_addrs; i++)
		debug_info_at(info, addrs[i], frames);
	return now_ns() - start_ns;
}

static void time_it(struct debug_info *info, uint64_t open_ns)
{
	uint64_t first_ns = time_all(info);
	uint64_t again_ns = time_all(info);

	printf("%zu addresses: open %.1f ms, first %.1f ms, again %.3f ms, %zu KB\n", nr_addrs,
	       (double)open_ns / 1e6, (double)first_ns / 1e6, (double)again_ns / 1e6,
	       debug_info_bytes(info) / 1024);
}

/* What kind of file it is, it says itself. */
static int add_part(struct debug_info *info, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : debug_info_add_package(info, fd);

	if (r == -ENOENT)
		r = debug_info_add_split(info, fd);
	if (r == -ENOENT)
		r = debug_info_add_other(info, fd);
	if (fd >= 0)
		close(fd);
	return r;
}

int main(int argc, char **argv)
{
	bool is_timed = argc > 1 && strcmp(argv[1], "--time") == 0;
	bool is_trimmed = argc > 1 && strcmp(argv[1], "--trim") == 0;
	char **files = argv + 1 + (is_timed || is_trimmed);
	int nr = argc - (int)(files - argv), fds[2] = {-1, -1};
	struct debug_info *info;
	struct elf_file code;
	uint64_t start_ns;
	int r;

	for (int i = 0; i < nr && i < 2; i++)
		fds[i] = open(files[i], O_RDONLY | O_CLOEXEC);
	if (fds[0] < 0 || elf_file_open(fds[0], &code) < 0) {
		fprintf(stderr, "usage: lines_of [--time | --trim] CODE [DEBUG [OTHER...]]\n");
		return 2;
	}
	while (nr_addrs < ADDRS_MAX && scanf("%" SCNx64, &addrs[nr_addrs]) == 1)
		nr_addrs++;
	start_ns = now_ns();
	r = debug_info_open(fds[1] < 0 ? fds[0] : fds[1], &code, &info);
	for (int i = 2; i < nr && r == 0; i++)
		r = add_part(info, files[i]);
	if (r < 0) {
		printf("%s\n", strerror(-r));
		return 1;
	}
	if (is_timed)
		time_it(info, now_ns() - start_ns);
	else
		for (size_t i = 0; i < nr_addrs; i++)
			print_at(info, addrs[i], is_trimmed);
	debug_info_free(info);
	elf_file_close(&code);
	return 0;
}
