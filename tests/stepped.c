/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tests/test_unwind_shadow.c lets run one instruction at a time: signal
 * handlers on both stacks, jumps out of nested calls and out of a handler, tail
 * calls, calls through unbound PLT slots. Small, for each instruction costs.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

#ifdef __i386__
#define IN_REGISTERS __attribute__((regparm(1)))
#else
#define IN_REGISTERS
#endif

int tail_first(int n) IN_REGISTERS;
int tail_last(int n) IN_REGISTERS;
/* Frames of three kinds that are left by a jump; gcc would not at every -O. */
#ifdef __i386__
__asm__(".text\n"
	"tail_first:\n"
	".cfi_startproc\n"
	"	push %ebx\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_offset %ebx, -8\n"
	"	lea 1(%eax), %ebx\n"
	"	call tail_last\n"
	"	lea (%ebx, %eax), %eax\n"
	"	pop %ebx\n"
	".cfi_restore %ebx\n"
	".cfi_def_cfa_offset 4\n"
	"	jmp tail_middle\n"
	".cfi_endproc\n"
	"tail_middle:\n"
	".cfi_startproc\n"
	"	push %ebp\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_offset %ebp, -8\n"
	"	mov %esp, %ebp\n"
	".cfi_def_cfa_register %ebp\n"
	"	sub $64, %esp\n"
	"	and $-32, %esp\n"
	"	mov %eax, (%esp)\n"
	"	call tail_last\n"
	"	add (%esp), %eax\n"
	"	leave\n"
	".cfi_def_cfa %esp, 4\n"
	".cfi_restore %ebp\n"
	"	jmp tail_last\n"
	".cfi_endproc\n"
	"tail_last:\n"
	".cfi_startproc\n"
	"	lea 3(%eax), %eax\n"
	"	ret\n"
	".cfi_endproc\n");
#else
__asm__(".text\n"
	"tail_first:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"	lea 1(%rdi), %rbx\n"
	"	call tail_last\n"
	"	lea (%rbx, %rax), %edi\n"
	"	pop %rbx\n"
	".cfi_restore %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"	jmp tail_middle\n"
	".cfi_endproc\n"
	"tail_middle:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	sub $64, %rsp\n"
	"	and $-32, %rsp\n"
	"	mov %edi, (%rsp)\n"
	"	call tail_last\n"
	"	add (%rsp), %eax\n"
	"	mov %eax, %edi\n"
	"	leave\n"
	".cfi_def_cfa %rsp, 8\n"
	".cfi_restore %rbp\n"
	"	lea tail_last(%rip), %rax\n"
	"	jmp *%rax\n"
	".cfi_endproc\n"
	"tail_last:\n"
	".cfi_startproc\n"
	"	lea 3(%rdi), %eax\n"
	"	ret\n"
	".cfi_endproc\n");
#endif

static volatile sig_atomic_t handled;
static jmp_buf back;
static sigjmp_buf back_from_handler;

static NOINLINE int handle(int n)
{
	handled += n;
	return tail_first(n);
}

static void on_signal(int sig)
{
	handle(sig != SIGUSR1);
}

static void on_signal_info(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	handle(sig);
}

static void on_signal_jump(int sig)
{
	siglongjmp(back_from_handler, handle(sig));
}

static NOINLINE int deeper(int n)
{
	volatile int here = n; /* no tail call */

	if (n == 0)
		longjmp(back, 7);
	here += deeper(n - 1);
	return here;
}

static NOINLINE void signals(void)
{
	static char alt[32 << 10];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct sigaction plain = {.sa_handler = on_signal};
	struct sigaction info = {.sa_sigaction = on_signal_info,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction jump = {.sa_handler = on_signal_jump};

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGUSR2, &info, NULL);
	sigaction(SIGALRM, &jump, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	if (sigsetjmp(back_from_handler, 1) == 0)
		raise(SIGALRM);
}

static NOINLINE void jumps(void)
{
	for (volatile int depth = 0; depth < 4; depth++)
		if (setjmp(back) == 0)
			deeper(depth);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static NOINLINE double calls(void)
{
	char words[5][4] = {"q", "w", "e", "r", "t"};

	qsort(words, 5, sizeof(words[0]), compare);
	return cbrt(atof("27")) + (double)strtol(words[0], NULL, 36) + tail_first(2);
}

int main(void)
{
	double sum = 0;

	signals();
	for (int i = 0; i < 2; i++) { /* the second time through bound slots */
		jumps();
		sum += calls();
	}
	return sum > 0 && handled > 0 ? 0 : 1;
}
