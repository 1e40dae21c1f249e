/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The vDSO's images, the same in every process of one kind: the kernel's word, not a
 * target's. That of 64-bit processes is in our own memory. That of 32-bit ones is mapped into a
 * child of ours, as those do who restore such processes (ARCH_MAP_VDSO_32 of arch_prctl(2)), and
 * written from there into a memory file. The kernel does so once our own vDSO and its
 * data, the pages before it, are away, as a whole; how many those are is its own affair.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/resolve/resolver.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define VDSO_BYTES_MAX 65536
#define DATA_PAGES_MAX 16
#define PAGE_BYTES     4096u

#define MAP_VDSO_32 0x2002     /* ARCH_MAP_VDSO_32, <asm/prctl.h> */
#define FREE_ADDR   0x40000000 /* where a 64-bit program has nothing */

/* Our own image, *RET_BYTES of it; NULL: there is none. */
static const uint8_t *own_image(uint64_t *ret_bytes)
{
	/* From our own auxiliary vector: the kernel's word, not a target's. */
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	Elf64_Ehdr header;

	if (!image)
		return NULL;
	memcpy(&header, image, sizeof(header));
	*ret_bytes = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	return image;
}

static int vdso_image(void)
{
	uint64_t bytes = 0;
	const uint8_t *image = own_image(&bytes);

	if (!image)
		return -ENOENT;
	return bytes > VDSO_BYTES_MAX ? -EFBIG : memfd_sealed("vdso", image, bytes);
}

#if defined(__x86_64__)
/* In the child, which from here on makes system calls alone: the size of what is mapped from FREE_ADDR on, or 0. */
static size_t map_vdso32(void)
{
	uint64_t bytes = 0;
	uintptr_t own = (uintptr_t)own_image(&bytes);

	if (!own || syscall(SYS_munmap, own, align_up(bytes, PAGE_BYTES)) < 0)
		return 0;
	for (size_t pages = 1; pages <= DATA_PAGES_MAX; pages++) {
		long r;

		/* Refused where it would cut one of the kernel's mappings in two. */
		syscall(SYS_munmap, own - pages * PAGE_BYTES, pages * PAGE_BYTES);
		r = syscall(SYS_arch_prctl, MAP_VDSO_32, FREE_ADDR);
		if (r > 0)
			return (size_t)r;
	}
	return 0;
}

/* Write the 32-bit image to FD. Its data pages are before it, and some of them cannot be read. */
static bool write_vdso32(int fd)
{
	size_t bytes = map_vdso32();
	uint8_t magic[SELFMAG];

	for (size_t page = 0; bytes && page <= DATA_PAGES_MAX; page++)
		if (syscall(SYS_pwrite64, fd, FREE_ADDR + page * PAGE_BYTES, bytes, 0) ==
			    (long)bytes &&
		    syscall(SYS_pread64, fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		    memcmp(magic, ELFMAG, SELFMAG) == 0)
			return true;
	return false;
}

static int vdso32_image(void)
{
	AUTO_CLOSE int fd = memfd_create("vdso32", MFD_CLOEXEC);
	AUTO_FREE char *image = NULL;
	int status = -1;
	size_t len = 0;
	pid_t child;

	child = fd < 0 ? -1 : fork();
	if (child == 0) {
		syscall(SYS_exit_group, write_vdso32(fd) ? 0 : 1);
		__builtin_unreachable();
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (status != 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    read_all(fd, VDSO_BYTES_MAX, &image, &len) < 0)
		return -ENOENT;
	return memfd_sealed("vdso32", image, len);
}
#else
static int vdso32_image(void)
{
	return -ENOENT;
}
#endif

void resolve_add_vdso(struct resolver *s, uint32_t module)
{
	static const char none[] = "no vDSO here";
	struct file *file = resolver_file(s, module);
	int fd;

	if (!file) {
		module_failed(s->procs, procs_module(s->procs, module), STACK_END_NO_FILE, none,
			      false);
		return;
	}
	fd = module == PROC_MODULE_VDSO32 ? vdso32_image() : vdso_image();
	if (fd >= 0 && loader_add_module(s->loader, module, fd) == 0)
		file->state = FILE_OPEN;
	else
		resolve_file_failed(s, module, STACK_END_NO_FILE, none, false);
}
