/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps its own file NR times as executable, no two going on in each other, and
 * then maps each of them anew for ever, at another offset each time: every call
 * is a record that stacktop has to follow. Usage: remaps NR [TIMES]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 32000;
	unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 10) : -1ul;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *at = mmap(NULL, 2 * nr * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || at == MAP_FAILED)
		return 1;
	for (unsigned long time = 0; time < times; time++)
		for (unsigned long i = 0; i < nr; i++)
			if (mmap(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_FIXED, fd,
				 (off_t)((i + time) % 2 * PAGE)) == MAP_FAILED) {
				perror("mmap");
				return 1;
			}
	return 0;
}
