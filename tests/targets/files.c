/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes NR files in FOLDER that begin as ELF does, maps each of them
 * executable, and sleeps. Usage: files NR FOLDER
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

int main(int argc, char **argv)
{
	unsigned long nr = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < nr; i++) {
		char path[4096];
		int fd;

		snprintf(path, sizeof(path), "%s/%lu", argv[2], i);
		fd = open(path, O_RDWR | O_CREAT, 0755);
		if (fd < 0 || ftruncate(fd, PAGE) < 0 || write(fd, "\177ELF", 4) != 4 ||
		    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			perror(path);
			return 1;
		}
		close(fd);
	}
	printf("mapped\n");
	fflush(stdout);
	for (;;)
		pause();
}
