/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that runs where its file is not: places memfd copies itself into a memory file and runs that; places
 * moved puts its text into memory without a file, at the same addresses, as those do who want it in huge pages.
 * Spends its time in FUNCTION, given by the compiler, in pieces of some milliseconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((noinline)) void FUNCTION(void)
{
	for (volatile unsigned n = 0; n < 500000; n++)
		;
}

static int run_copy(const char *name)
{
	char *args[] = {(char *)(uintptr_t)name, "stay", NULL}, *env[] = {NULL};
	int in = open("/proc/self/exe", O_RDONLY), out = memfd_create(name, 0);
	struct stat st;

	if (in < 0 || out < 0 || fstat(in, &st) < 0 ||
	    sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
		return 1;
	fexecve(out, args, env);
	return 1;
}

/* The mapping of this text. */
static size_t find_text(uintptr_t *ret_start)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	size_t bytes = 0;

	while (maps && bytes == 0 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= (uintptr_t)find_text &&
		    (uintptr_t)find_text < end)
			bytes = end - start;
	if (maps)
		fclose(maps);
	*ret_start = start;
	return bytes;
}

static int move_text(void)
{
	uintptr_t start;
	size_t bytes = find_text(&start);
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == 0 || copy == MAP_FAILED)
		return 1;
	memcpy(copy, (const void *)start, bytes);
	if (mprotect(copy, bytes, PROT_READ | PROT_EXEC) < 0 ||
	    mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) == MAP_FAILED)
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "memfd") == 0)
		return run_copy(argc > 2 ? argv[2] : "places");
	if (argc > 1 && strcmp(argv[1], "moved") == 0 && move_text() != 0)
		return 1;
	for (;;) {
		FUNCTION();
		usleep(10000); /* there are others */
	}
}
