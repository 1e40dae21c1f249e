/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs with known stacks, one per argument: each spends its time in
 * spin() below a chain of calls that tests/test_live_chains.sh knows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP	 __asm__ volatile("" ::: "memory") /* the call before is no tail call */

void spin(void);
NOINLINE void spin(void)
{
	uint64_t n = 100000;

	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n));
	KEEP;
}

static NOINLINE void calls_c(void)
{
	spin();
	KEEP;
}

static NOINLINE void calls_b(void)
{
	calls_c();
	KEEP;
}

static NOINLINE void calls(void)
{
	calls_b();
	KEEP;
}

/* A frame whose size only the run knows: CFA by rbp. */
static NOINLINE void with_alloca(void)
{
	static volatile size_t bytes = 3000;
	volatile char *p = __builtin_alloca(bytes);

	p[0] = 1;
	spin();
	p[bytes - 1] = 1;
}

/* A realigned frame. */
static NOINLINE void realigned(void)
{
	volatile char vector[256] __attribute__((aligned(64)));

	vector[0] = 1;
	spin();
	vector[255] = 1;
}

static int compare(const void *a, const void *b)
{
	spin();
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void callback(void)
{
	int v[] = {3, 2, 1, 0};

	qsort(v, 4, sizeof(v[0]), compare);
	KEEP;
}

static void on_usr1(int sig)
{
	(void)sig;
	spin();
	KEEP;
}

static void on_usr2(int sig)
{
	(void)sig;
	raise(SIGUSR1);
	KEEP;
}

static NOINLINE void in_signal(void)
{
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	KEEP;
}

static NOINLINE void nested_signals(void)
{
	signal(SIGUSR1, on_usr1);
	signal(SIGUSR2, on_usr2);
	raise(SIGUSR2);
	KEEP;
}

static NOINLINE void altstack(void)
{
	static char space[65536];
	static stack_t stack = {.ss_sp = space, .ss_size = sizeof(space)};
	struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	KEEP;
}

/* The call is the last instruction: its return address is another function's first. */
static NOINLINE __attribute__((noreturn)) void never_returns(void)
{
	for (;;)
		spin();
}

static NOINLINE __attribute__((noreturn)) void ends_in_call(void)
{
	never_returns();
}

static NOINLINE void plt_calls(void)
{
	static volatile int letter = 'a';

	for (int i = 0; i < 100000; i++)
		letter = abs(letter); /* -fno-builtin: a call through the PLT */
}

static NOINLINE void vdso_calls(void)
{
	struct timespec ts;

	for (int i = 0; i < 10000; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
}

static NOINLINE void system_calls(void)
{
	for (int i = 0; i < 1000; i++)
		getppid();
}

static void *thread_main(void *unused)
{
	(void)unused;
	for (;;)
		calls();
	return NULL;
}

static NOINLINE void in_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
}

static jmp_buf back;

static NOINLINE void jumper(void)
{
	spin();
	longjmp(back, 1);
}

static NOINLINE void long_jumps(void)
{
	if (setjmp(back) == 0)
		jumper();
	KEEP;
}

static NOINLINE void deep(int levels)
{
	volatile char frame[100];

	frame[0] = 1;
	if (levels > 0)
		deep(levels - 1);
	else
		spin();
	frame[99] = 1;
}

static NOINLINE void deep_100(void)
{
	deep(100);
	KEEP;
}

static NOINLINE void vforks(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 50; i++)
		spin();
}

/* Assembly without CFI: one keeps a frame pointer, the other uses rbp for itself. */
void asm_with_fp(void);
void asm_without_fp(void);
__asm__(".text\n"
	".type asm_with_fp, @function\n"
	"asm_with_fp:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $64, %rsp\n"
	"	call spin\n"
	"	leave\n"
	"	ret\n"
	".size asm_with_fp, . - asm_with_fp\n"
	".type asm_without_fp, @function\n"
	"asm_without_fp:\n"
	"	push %rbp\n"
	"	mov $1, %rbp\n"
	"	sub $64, %rsp\n"
	"	call spin\n"
	"	add $64, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size asm_without_fp, . - asm_without_fp\n");

static NOINLINE void no_cfi_fp(void)
{
	asm_with_fp();
	KEEP;
}

static NOINLINE void no_cfi(void)
{
	asm_without_fp();
	KEEP;
}

/* Generated code in anonymous memory: sub $1,%rdi; jnz; ret */
static NOINLINE void jit(void)
{
	static const unsigned char code[] = {0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3};
	static void (*run)(uint64_t);

	if (!run) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(p, code, sizeof(code));
		memcpy(&run, &p, sizeof(p));
	}
	run(1000000);
}

/* Two libraries in turn, mostly at the same address. */
static NOINLINE void plugins(void)
{
	static const char *const names[] = {"./plugin_a.so", "./plugin_b.so"};

	for (int i = 0; i < 2; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		void (*run)(void);
		void *symbol = library ? dlsym(library, "plugin_run") : NULL;

		if (!symbol)
			_exit(1);
		memcpy(&run, &symbol, sizeof(symbol));
		for (int n = 0; n < 2000; n++)
			run();
		dlclose(library);
	}
}

static NOINLINE void forked(void)
{
	static pid_t child;

	if (!child && (child = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			calls();
	}
	pause();
}

/* Run this program again from a memory file: there is no path to it. */
static NOINLINE void memfd(void)
{
	char *arguments[] = {(char *)"memfd-chains", (char *)"calls", NULL};
	char *environment[] = {NULL};
	int fd = memfd_create("memfd-chains", 0);
	FILE *self = fopen("/proc/self/exe", "r");
	char block[65536];
	size_t n;

	while ((n = fread(block, 1, sizeof(block), self)) > 0)
		if (write(fd, block, n) < 0)
			_exit(1);
	fexecve(fd, arguments, environment);
	_exit(1);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"calls", calls},	  {"alloca", with_alloca},    {"realigned", realigned},
	{"callback", callback},	  {"signal", in_signal},      {"nested", nested_signals},
	{"altstack", altstack},	  {"noreturn", ends_in_call}, {"plt", plt_calls},
	{"vdso", vdso_calls},	  {"syscall", system_calls},  {"thread", in_thread},
	{"longjmp", long_jumps},  {"deep", deep_100},	      {"vfork", vforks},
	{"no-cfi-fp", no_cfi_fp}, {"no-cfi", no_cfi},	      {"jit", jit},
	{"plugins", plugins},	  {"fork", forked},	      {"memfd", memfd},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		while (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0)
			scenarios[i].run();
	fprintf(stderr, "chains: no such scenario\n");
	return 2;
}
