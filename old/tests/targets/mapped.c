/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs code in a file that need not be an ELF file: 4096 bytes into FILE stands
 * a loop that counts its argument down, which is mapped and called for ever.
 * Usage: mapped FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_AT 4096

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	void (*loop)(unsigned long);
	struct stat st;
	char *map;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= CODE_AT)
		return 1;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	close(fd);
	loop = (void (*)(unsigned long))(map + CODE_AT);
	for (;;) {
		loop(1000000);
		usleep(20000);
	}
}
