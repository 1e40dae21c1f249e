/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that a copy cuts off, the inner parts of which do not tell who called. "cut steady": the same call for
 * ever. "cut closing": the same, and after SIGUSR1 nobody may look into the process any more. "cut brief": the
 * same in processes that live a fourth of a second. "cut deep LEVELS": below so many calls for ever. "cut hole":
 * below a frame of megabytes, of which most pages were never touched. "cut buffer": in a frame of kilobytes that is like
 * that, and what lies before such a page changes all the time. "cut large": the same with a frame of a megabyte that is written all over. "cut silent": far below pages that
 * userfaultfd(2) waits for, and nobody brings; it ends at once where that is not allowed. "cut change USEC":
 * from by_a or by_b, as it comes, for up to USEC each time; the innermost function says which, and all between
 * is the same to the byte.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define DEEP __attribute__((noinline, noclone))

static volatile unsigned int sink;
static uint64_t length_ns;
static void (*volatile leaf)(void);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

DEEP void spin_a(void)
{
	for (uint64_t end = now() + length_ns; now() < end;)
		for (int i = 0; i < 200; i++)
			sink++;
}

DEEP void spin_b(void)
{
	for (uint64_t end = now() + length_ns; now() < end;)
		for (int i = 0; i < 200; i++)
			sink += 2;
}

DEEP void deep(int n)
{
	volatile char room[64];

	room[0] = 1;
	if (n > 0)
		deep(n - 1);
	else
		leaf();
	sink += (unsigned char)room[0];
}

DEEP void by_a(void)
{
	leaf = spin_a;
	deep(300);
	sink++;
}

DEEP void by_b(void)
{
	leaf = spin_b;
	deep(300);
	sink += 2;
}

static void brief(void)
{
	length_ns = 250000000;
	while (fork() > 0)
		wait(NULL);
	by_a();
	_exit(0);
}

DEEP void hole(void)
{
	volatile char room[3000000]; /* more than is read of a stack */

	for (int i = 0; i < 8192; i++)
		room[i] = 1;
	leaf();
	sink += (unsigned char)room[0];
}

DEEP void buffer(void)
{
	volatile unsigned char room[48 << 10];
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t used = page_bytes - (uintptr_t)room % page_bytes + page_bytes;

	for (unsigned char n = 0; sink != 1; n++)
		for (uintptr_t i = 0; i < used; i++)
			room[i] = n;
}

DEEP void large(void)
{
	volatile char room[1 << 20];

	memset((char *)room, 1, sizeof(room));
	leaf();
	sink += (unsigned char)room[0];
}

#define SILENT_BYTES (1u << 20)
#define AWAY_BYTES   (64u << 10) /* of it: the outermost callers, to which nothing returns */

static unsigned char *silent_stack;

static void silence(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {.start = (uintptr_t)silent_stack, .len = SILENT_BYTES},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	madvise(silent_stack + SILENT_BYTES - AWAY_BYTES, AWAY_BYTES, MADV_DONTNEED);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)
		_exit(77);
	spin_a();
}

static void silent(void)
{
	ucontext_t here, below;

	silent_stack = mmap(NULL, SILENT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (silent_stack == MAP_FAILED || getcontext(&below) < 0)
		_exit(1);
	/* Room for what spins is there before pages are waited for. */
	memset(silent_stack, 0, SILENT_BYTES);
	below.uc_stack.ss_sp = silent_stack;
	below.uc_stack.ss_size = SILENT_BYTES;
	below.uc_link = NULL;
	leaf = silence;
	makecontext(&below, (void (*)(void))deep, 1, 3000);
	swapcontext(&here, &below);
}

static void close_memory(int number)
{
	(void)number;
	prctl(PR_SET_DUMPABLE, 0);
}

int main(int argc, char **argv)
{
	uint64_t max_ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000 : 0;
	unsigned int random = 1;

	if (argc > 1 && strcmp(argv[1], "brief") == 0)
		brief();
	length_ns = UINT64_MAX / 4;
	leaf = spin_a;
	if (argc > 1 && strcmp(argv[1], "deep") == 0)
		deep((int)max_ns / 1000);
	if (argc > 1 && strcmp(argv[1], "hole") == 0)
		hole();
	if (argc > 1 && strcmp(argv[1], "buffer") == 0)
		buffer();
	if (argc > 1 && strcmp(argv[1], "large") == 0)
		large();
	if (argc > 1 && strcmp(argv[1], "silent") == 0)
		silent();
	if (argc > 1 && strcmp(argv[1], "closing") == 0)
		signal(SIGUSR1, close_memory);
	if (argc > 1 && (strcmp(argv[1], "steady") == 0 || strcmp(argv[1], "closing") == 0))
		by_a();
	while (max_ns > 0) {
		random = random * 1103515245 + 12345;
		length_ns = (random >> 8) % max_ns;
		if (random >> 30 & 1)
			by_a();
		else
			by_b();
	}
	return 1;
}
