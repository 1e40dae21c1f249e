/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs with known stacks, one per argument: each spends its time in
 * spin() below a chain of calls that tests/test_live_chains.sh knows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
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
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP	 __asm__ volatile("" ::: "memory") /* the call before is no tail call */

void spin(void);
NOINLINE void spin(void)
{
	unsigned long n = 100000;

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

/* It never returns, and keeps values in registers that its caller's are saved from. */
static NOINLINE void endless(void)
{
	for (volatile unsigned long n = 1;; n += n) {
		unsigned long a = n, b = n + 1;

		calls();
		n = a ^ b;
	}
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

/* Interrupted where nobody called: the trap is an instruction of this function. */
static NOINLINE void trapped(void)
{
	signal(SIGTRAP, on_usr1);
	__asm__ volatile("int3" ::: "memory");
	KEEP;
}

static NOINLINE void nested_signals(void)
{
	signal(SIGUSR1, on_usr1);
	signal(SIGUSR2, on_usr2);
	raise(SIGUSR2);
	KEEP;
}

static void on_other_stack(int sig, void (*handler)(int))
{
	static char space[65536];
	static stack_t stack = {.ss_sp = space, .ss_size = sizeof(space)};
	struct sigaction action = {.sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	action.sa_handler = on_usr1;
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = handler;
	sigaction(sig, &action, NULL);
	raise(sig);
	KEEP;
}

static NOINLINE void altstack(void)
{
	on_other_stack(SIGUSR1, on_usr1);
	KEEP;
}

/* A handler in a handler, both on that stack. */
static NOINLINE void altstack_nested(void)
{
	on_other_stack(SIGUSR2, on_usr2);
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

static void *nothing(void *unused)
{
	return unused;
}

/* Much of it in the kernel, below the system call that makes a thread. */
static NOINLINE void new_threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
}

static NOINLINE void in_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
}

static char other_stack[65536] __attribute__((aligned(64)));

static int cloned(void *unused)
{
	(void)unused;
	for (;;)
		calls();
	return 0;
}

static NOINLINE void clones(void)
{
	clone(cloned, other_stack + sizeof(other_stack),
	      CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS | CLONE_FILES, NULL);
	for (;;)
		pause();
}

#ifdef __GLIBC__ /* musl has none */
static ucontext_t caller_context, own_context;

static void coroutine(void)
{
	for (;;) {
		calls();
		swapcontext(&own_context, &caller_context);
	}
}

static NOINLINE void contexts(void)
{
	if (!own_context.uc_stack.ss_sp) {
		getcontext(&own_context);
		own_context.uc_stack.ss_sp = other_stack;
		own_context.uc_stack.ss_size = sizeof(other_stack);
		makecontext(&own_context, coroutine, 0);
	}
	swapcontext(&caller_context, &own_context);
	KEEP;
}
#endif

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

static NOINLINE void vfork_child(void)
{
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			calls();
	}
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

#ifdef __x86_64__
/*
 * Assembly without CFI: one keeps a frame pointer, another uses rbp for itself, and one has its
 * stack pointer elsewhere until it returns.
 */
void asm_with_fp(void);
void asm_without_fp(void);
void asm_lost(void);
void asm_kept(void);
void asm_interpreter(void);
__asm__(".text\n"
	".type asm_interpreter, @function\n"
	"asm_interpreter:\n"
	"	.cfi_startproc\n"
	"	sub $72, %rsp\n"
	"	.cfi_def_cfa_offset 80\n"
	"	movq $0, 64(%rsp)\n"
	"	call asm_inside\n"
	"	add $72, %rsp\n"
	"	ret\n"
	".size asm_interpreter, . - asm_interpreter\n"
	/* Called, and its CFI is that of where it is called. */
	".type asm_inside, @function\n"
	"asm_inside:\n"
	"	mov $5000, %eax\n"
	"1:	sub $1, %eax\n"
	"	jnz 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size asm_inside, . - asm_inside\n"
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
	".size asm_without_fp, . - asm_without_fp\n"
	".type asm_lost, @function\n"
	"asm_lost:\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	sub $100, %rsp\n"
	"	and $-64, %rsp\n"
	"	call spin\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size asm_lost, . - asm_lost\n"
	/* As x264's and dav1d's functions for vectors begin and end. */
	".type asm_kept, @function\n"
	"asm_kept:\n"
	"	mov %rsp, %rcx\n"
	"	and $-32, %rsp\n"
	"	sub $96, %rsp\n"
	"	mov $1000000, %eax\n"
	"1:	addq $1, (%rsp)\n"
	"	dec %eax\n"
	"	jne 1b\n"
	"	mov %rcx, %rsp\n"
	"	ret\n"
	".size asm_kept, . - asm_kept\n");

/* One leaf for each register whose frame is found by it alone. */
#define BASE(reg)                                    \
	void base_##reg(void);                       \
	__asm__(".text\n"                            \
		".type base_" #reg ", @function\n"   \
		"base_" #reg ":\n"                   \
		"	.cfi_startproc\n"                  \
		"	push %" #reg "\n"            \
		"	.cfi_adjust_cfa_offset 8\n"        \
		"	.cfi_offset " #reg ", -16\n" \
		"	lea 16(%rsp), %" #reg "\n"   \
		"	.cfi_def_cfa " #reg ", 0\n"  \
		"	sub $16, %rsp\n"                   \
		"	movl $20000, (%rsp)\n"             \
		"1:	subl $1, (%rsp)\n"               \
		"	jnz 1b\n"                          \
		"	add $16, %rsp\n"                   \
		"	.cfi_def_cfa rsp, 16\n"            \
		"	pop %" #reg "\n"             \
		"	.cfi_def_cfa_offset 8\n"           \
		"	ret\n"                             \
		"	.cfi_endproc\n"                    \
		".size base_" #reg ", . - base_" #reg "\n")
#define BASES(f) \
	f(rax);  \
	f(rbx);  \
	f(rcx);  \
	f(rdx);  \
	f(rsi);  \
	f(rdi);  \
	f(rbp);  \
	f(r8);   \
	f(r9);   \
	f(r10);  \
	f(r11);  \
	f(r12);  \
	f(r13);  \
	f(r14);  \
	f(r15)

BASES(BASE);

static NOINLINE void bases(void)
{
#define CALL(reg) base_##reg()
	BASES(CALL);
	KEEP;
}

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

static NOINLINE void wrong_cfi(void)
{
	asm_interpreter();
	KEEP;
}

static NOINLINE void no_cfi_lost(void)
{
	asm_lost();
	KEEP;
}

static NOINLINE void no_cfi_kept(void)
{
	asm_kept();
	KEEP;
}

static void run_made(const unsigned char *code, size_t bytes)
{
	static void (*run)(uint64_t);

	if (!run) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(p, code, bytes);
		memcpy(&run, &p, sizeof(p));
	}
	run(1000000);
}

/* Generated code in anonymous memory: sub $1,%rdi; jnz; ret */
static NOINLINE void jit(void)
{
	static const unsigned char code[] = {0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3};

	run_made(code, sizeof(code));
	KEEP;
}

/* The same, with the stack pointer kept elsewhere: mov %rsp,%rax; sub $1,%rdi; jnz; mov %rax,%rsp; ret */
static NOINLINE void jit_lost(void)
{
	static const unsigned char code[] = {0x48, 0x89, 0xe0, 0x48, 0x83, 0xef, 0x01,
					     0x75, 0xfa, 0x48, 0x89, 0xc4, 0xc3};

	run_made(code, sizeof(code));
	KEEP;
}
#endif

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
		for (int n = 0; n < 10000; n++) /* longer than a busy machine takes to open it */
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
#ifdef __x86_64__
	{"no-cfi-fp", no_cfi_fp},
	{"no-cfi", no_cfi},
	{"wrong-cfi", wrong_cfi},
	{"jit", jit},
	{"bases", bases},
	{"jit-lost", jit_lost},
	{"no-cfi-lost", no_cfi_lost},
	{"no-cfi-kept", no_cfi_kept},
#endif
	{"calls", calls},
	{"endless", endless},
	{"alloca", with_alloca},
	{"realigned", realigned},
	{"callback", callback},
	{"signal", in_signal},
	{"nested", nested_signals},
	{"altstack", altstack},
	{"noreturn", ends_in_call},
	{"plt", plt_calls},
	{"vdso", vdso_calls},
	{"syscall", system_calls},
	{"thread", in_thread},
	{"longjmp", long_jumps},
	{"deep", deep_100},
	{"vfork", vforks},
	{"plugins", plugins},
	{"fork", forked},
	{"memfd", memfd},
	{"trap", trapped},
	{"threads", new_threads},
	{"vfork-child", vfork_child},
	{"clone", clones},
#ifdef __GLIBC__
	{"context", contexts},
#endif
	{"altstack-nested", altstack_nested},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		while (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0)
			scenarios[i].run();
	fprintf(stderr, "chains: no such scenario\n");
	return 2;
}
