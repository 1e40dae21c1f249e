/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small JIT with a perf map: it makes a loop that counts down, tells of it as jit_first, and runs it for
 * ever. At SIGUSR1 it moves that loop to another place and puts another one, jit_second, where it was; both
 * run in turn then. Usage: jit [dump|frames|untold]: with a jitdump instead, in the present folder.
 *
 * frames: the loop is called by another function, jit_caller, whose frame has no frame pointer and whose way out is a
 * jump through a register, so that neither leads to its caller; the jitdump tells of its frame and of its lines.
 * untold: it does not tell of the frame.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
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

/* Calls rdi with the argument rsi. */
static const unsigned char caller_code[] = {
	0x55,				    /* 0	push %rbp */
	0x48, 0x83, 0xec, 0x20,		    /* 1	sub $32,%rsp */
	0x31, 0xed,			    /* 5	xor %ebp,%ebp */
	0x48, 0xc7, 0x04, 0x24, 0, 0, 0, 0, /* 7	movq $0,(%rsp) */
	0x48, 0x89, 0xf8,		    /* 15	mov %rdi,%rax */
	0x48, 0x89, 0xf7,		    /* 18	mov %rsi,%rdi */
	0xff, 0xd0,			    /* 21	call *%rax */
	0x48, 0x8d, 0x05, 2,	0, 0, 0,    /* 23	lea 2(%rip),%rax */
	0xff, 0xe0,			    /* 30	jmp *%rax */
	0x48, 0x83, 0xc4, 0x20,		    /* 32	add $32,%rsp */
	0x5d,				    /* 36	pop %rbp */
	0xc3,				    /* 37	ret */
};

/* Its .eh_frame, as if it stood at the next multiple of 8 behind the code, and a header. */
static const unsigned char caller_frames[] = {
	/* CIE: the CFA is rsp + 8 */
	20,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	1,
	'z',
	'R',
	0,
	1,
	0x78,
	16,
	1,
	0x1b,
	0x0c,
	7,
	8,
	0x90,
	1,
	0,
	0,
	/* FDE: 72 bytes before its pointer begin 38 bytes of code */
	28,
	0,
	0,
	0,
	28,
	0,
	0,
	0,
	0xb8,
	0xff,
	0xff,
	0xff,
	38,
	0,
	0,
	0,
	0, /**/
	0x41,
	0x0e,
	16,
	0x86,
	2, /* push %rbp */
	0x44,
	0x0e,
	48, /* sub */
	0x5f,
	0x0e,
	16, /* add */
	0x41,
	0x0e,
	8,
	0xc6, /* pop */
	0,
	0,
	0,
	0, /* the end */
	1,
	0xff,
	0xff,
	0xff,
	0,
	0,
	0,
	0,
};
#define HEADER_BYTES 8

typedef void caller_fn(loop_fn *, unsigned long);

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

/* Put SIZE bytes of CODE to AT and tell of them, as new or, FROM another place, as moved. */
static void *make(unsigned char *at, const unsigned char *code, uint64_t size, const char *name,
		  const unsigned char *from)
{
	const uint64_t addr = (uint64_t)(uintptr_t)at;

	memcpy(at, code, size);
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
		fwrite(code, size, 1, dump);
	}
	if (dump)
		fflush(dump);
	return at;
}

static loop_fn *make_loop(unsigned char *at, const char *name, const unsigned char *from)
{
	return (loop_fn *)make(at, loop_code, sizeof(loop_code), name, from);
}

/* A record without ids, DATA behind its WORDS. */
static void put_told(uint32_t id, const uint64_t *words, size_t nr, const void *data, size_t bytes)
{
	const uint32_t head[] = {id, (uint32_t)(16 + nr * sizeof(*words) + bytes)};
	uint64_t time_ns = now_ns();

	fwrite(head, sizeof(head), 1, dump);
	fwrite(&time_ns, sizeof(time_ns), 1, dump);
	fwrite(words, sizeof(*words), nr, dump);
	fwrite(data, bytes, 1, dump);
}

/* The lines of the caller: 7, and from its call on 8, of the same file. */
static void tell_lines(const unsigned char *at)
{
	const uint64_t words[] = {(uint64_t)(uintptr_t)at, 2};
	struct {
		uint64_t addr;
		uint32_t line, column;
		char file[16];
		uint64_t addr_2;
		uint32_t line_2, column_2;
		char same[8]; /* two bytes of it are written */
	} entries = {words[0], 7, 1, "/srv/made_up.mu", words[0] + 21, 8, 1, "\xff"};

	put_told(2, words, 2, &entries, offsetof(__typeof__(entries), same) + 2);
}

/* The caller at AT, with or without what its frame looks like. */
static caller_fn *make_caller(unsigned char *at, bool is_told)
{
	const uint64_t words[] = {sizeof(caller_frames), HEADER_BYTES, sizeof(caller_frames)};

	tell_lines(at);
	if (is_told)
		put_told(4, words, 3, caller_frames, sizeof(caller_frames));
	return (caller_fn *)make(at, caller_code, sizeof(caller_code), "jit_caller", NULL);
}

static void run_called(unsigned char *code, bool is_told)
{
	caller_fn *caller = make_caller(code + CODE_BYTES / 2, is_told);
	loop_fn *loop = make_loop(code, "jit_first", NULL);

	for (;;)
		caller(loop, 1000000);
}

static void run_moved(unsigned char *code)
{
	loop_fn *first = make_loop(code, "jit_first", NULL), *second = NULL;

	signal(SIGUSR1, on_signal);
	for (;;) {
		first(1000000);
		if (second)
			second(1000000);
		if (is_told && !second) {
			first = make_loop(code + CODE_BYTES / 2, "jit_first", code);
			second = make_loop(code, "jit_second", NULL);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned char *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED || (argc > 1 ? begin_dump() : begin_map()) < 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "dump") != 0)
		run_called(code, strcmp(argv[1], "frames") == 0);
	run_moved(code);
}
