/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small JIT with a perf map: it makes a loop that counts down, tells of it as jit_first, and runs it for
 * ever. At SIGUSR1 it moves that loop to another place and puts another one, jit_second, where it was; both
 * run in turn then. Usage: jit [dump]: with a jitdump instead, in the present folder.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CODE_BYTES 4096

/* mov %rdi,%rax; 1: dec %rax; jnz 1b; ret */
static const unsigned char loop_code[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

typedef void loop_fn(unsigned long);

static volatile sig_atomic_t is_told;

static void on_signal(int sig)
{
	(void)sig;
	is_told = 1;
}

static FILE *map, *dump;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A record of a jitdump: code of so many WORDS behind its head. */
static void put_record(uint32_t id, uint32_t bytes, const uint64_t *words, size_t nr)
{
	const uint32_t head[] = {id, bytes}, ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	uint64_t time_ns = now_ns();

	fwrite(head, sizeof(head), 1, dump);
	fwrite(&time_ns, sizeof(time_ns), 1, dump);
	fwrite(ids, sizeof(ids), 1, dump);
	fwrite(words, sizeof(*words), nr, dump);
}

static int begin_dump(void)
{
	const uint32_t head[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0};
	char path[64];

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = fopen(path, "w+");
	if (!dump || fwrite(head, sizeof(head), 1, dump) != 1 || fflush(dump) != 0)
		return -1;
	return mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static int begin_map(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	return map ? 0 : -1;
}

/* Put the loop at AT and tell of it, as new or, FROM another place, as moved. */
static loop_fn *make(unsigned char *at, const char *name, const unsigned char *from)
{
	const uint64_t size = sizeof(loop_code), addr = (uint64_t)(uintptr_t)at;

	memcpy(at, loop_code, sizeof(loop_code));
	if (map) {
		fprintf(map, "%lx %lx %s\n", (unsigned long)addr, (unsigned long)size, name);
		fflush(map);
	} else if (from) {
		const uint64_t words[] = {addr, (uint64_t)(uintptr_t)from, addr, size, 1};

		put_record(1, 64, words, 5);
	} else {
		const uint64_t words[] = {addr, addr, size, 1};

		put_record(0, (uint32_t)(56 + strlen(name) + 1 + size), words, 4);
		fwrite(name, strlen(name) + 1, 1, dump);
		fwrite(loop_code, sizeof(loop_code), 1, dump);
	}
	if (dump)
		fflush(dump);
	return (loop_fn *)at;
}

int main(int argc, char **argv)
{
	unsigned char *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool has_dump = argc > 1 && strcmp(argv[1], "dump") == 0;
	loop_fn *first, *second = NULL;

	if (code == MAP_FAILED || (has_dump ? begin_dump() : begin_map()) < 0)
		return 1;
	signal(SIGUSR1, on_signal);
	first = make(code, "jit_first", NULL);
	for (;;) {
		first(1000000);
		if (second)
			second(1000000);
		if (is_told && !second) {
			first = make(code + CODE_BYTES / 2, "jit_first", code);
			second = make(code, "jit_second", NULL);
		}
	}
}
