/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * This program unwinds itself out of awkward places. Where the C library's and
 * gcc's own unwinder can do it too, its answer must be the same, frame by
 * frame; where there is no CFI, the expected addresses are known.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"

#include <alloca.h>
#include <elf.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define NOINLINE __attribute__((noinline))
/* After a call: the call is not the function's last instruction. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static struct self self;
static struct shot shot;
#define DEEP 3000

static struct unwind_frame frames[DEEP];
static struct unwind_result result;

static void unwind_shot(void)
{
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, frames, &result);
}

/* The frames from FIRST on are what libgcc saw. */
static void assert_like_libgcc(uint32_t first)
{
	uint32_t nr = result.nr_frames - first;

	for (uint32_t i = 0; i < MIN(nr, shot.nr_chain); i++)
		assert_int_equal(frames[first + i].pc, shot.chain[i]);
	assert_int_equal(nr, shot.nr_chain);
}

static void assert_complete(void)
{
	unwind_shot();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(frames[0].pc, shot.regs.r[X86_RIP]);
	assert_false(frames[0].is_return);
	assert_like_libgcc(1);
	for (uint32_t i = 0; i < result.nr_frames; i++)
		if (frames[i].is_return)
			assert_true(return_addrs_has(&self.modules[frames[i].module].return_addrs,
						     frames[i].off));
}

/* Is the code of FUNC among the frames? (its first bytes are enough: all are small) */
static int frame_in(const void *func, size_t bytes)
{
	for (uint32_t i = 0; i < result.nr_frames; i++)
		if (frames[i].pc - frames[i].is_return - (uintptr_t)func < bytes)
			return (int)i;
	return -1;
}

static NOINLINE void nested(int depth)
{
	if (depth > 0)
		nested(depth - 1);
	else
		shoot(&shot);
	KEEP_FRAME();
}

static void nested_calls(void **state)
{
	(void)state;
	nested(20);
	assert_complete();
	assert_true(result.nr_frames > 22);
	assert_true(result.bytes_used > 0 && result.bytes_used <= shot.stack.bytes);
}

static NOINLINE void with_alloca(size_t bytes)
{
	volatile char *p = alloca(bytes);

	p[0] = 1;
	shoot(&shot);
	KEEP_FRAME();
}

static void frames_of_unknown_size(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < 20000; bytes *= 7) {
		with_alloca(bytes);
		assert_complete();
	}
}

static NOINLINE void realigned(size_t bytes, int a, int b, int c, int d, int e, int f, int g)
{
	volatile char aligned[64] __attribute__((aligned(128))) = {0};
	volatile char *p = alloca(bytes);

	p[0] = aligned[0];
	aligned[1] = (char)(a + b + c + d + e + f + g);
	shoot(&shot);
	KEEP_FRAME();
}

static void realigned_frames(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < 20000; bytes *= 7) {
		realigned(bytes, 1, 2, 3, 4, 5, 6, 7);
		assert_complete();
	}
}

static NOINLINE void huge_frame(void)
{
	volatile char big[100000];

	big[0] = 1;
	shoot(&shot);
	big[1] = big[0];
}

static void frame_above_64k(void **state)
{
	(void)state;
	huge_frame();
	assert_complete();
}

static int compare_and_shoot(const void *a, const void *b)
{
	if (shot.nr_chain == 0)
		shoot(&shot);
	return *(const int *)a - *(const int *)b;
}

static void callback_of_libc(void **state)
{
	int numbers[] = {3, 1, 2};

	(void)state;
	shot.nr_chain = 0;
	qsort(numbers, 3, sizeof(int), compare_and_shoot);
	assert_complete();
}

static void *thread_main(void *arg)
{
	(void)arg;
	nested(3);
	return NULL;
}

static void root_of_a_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	pthread_join(thread, NULL);
	assert_complete();
}

static void on_signal(int sig)
{
	(void)sig;
	nested(2);
}

static void on_signal_raise_another(int sig)
{
	(void)sig;
	raise(SIGUSR2);
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};

	assert_int_equal(sigaction(sig, &sa, NULL), 0);
}

static void signal_frames(void **state)
{
	(void)state;
	handle(SIGUSR1, on_signal, 0);
	raise(SIGUSR1);
	assert_complete();
}

static void signal_in_a_signal(void **state)
{
	int exact = 0;

	(void)state;
	handle(SIGUSR1, on_signal_raise_another, 0);
	handle(SIGUSR2, on_signal, 0);
	raise(SIGUSR1);
	assert_complete();
	for (uint32_t i = 1; i < result.nr_frames; i++)
		exact += !frames[i].is_return;
	assert_int_equal(exact, 4); /* two trampolines, two interrupted frames */
}

/* All below runs as is: no compiler may add a prologue. The names end in the case they show. */
extern const char asm_first_insn[], asm_noreturn_call[], asm_noreturn_after[], asm_vfork_trap[];
extern const char asm_plain[], asm_plain_call_end[], asm_leaf_no_cfi[], asm_rbx_base[],
	asm_rax_base_call[], asm_restore[];
void asm_call_first_insn(void);
void asm_call_vfork_like(void);
void asm_call_noreturn(void (*f)(struct shot *), struct shot *s);
void asm_no_cfi_fp(void (*f)(struct shot *), struct shot *s);
void asm_no_cfi_no_fp(void (*f)(struct shot *), struct shot *s);
void asm_call_leaf_no_cfi(void);
void asm_rbx_base_call(void (*f)(struct shot *), struct shot *s);
void asm_rax_base(void (*f)(struct shot *), struct shot *s);

__asm__(".text\n"
	/* The row before asm_first_insn would lead astray. */
	"asm_before:\n"
	".cfi_startproc\n"
	".cfi_def_cfa_offset 4096\n"
	"	nop\n"
	".cfi_endproc\n"
	"asm_first_insn:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".globl asm_call_first_insn\n"
	"asm_call_first_insn:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	call asm_first_insn\n"
	"	add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	/* The return address is in a register while nothing is on the stack: vfork. */
	".globl asm_call_vfork_like\n"
	"asm_call_vfork_like:\n"
	".cfi_startproc\n"
	"	pop %rdi\n"
	".cfi_def_cfa_offset 0\n"
	".cfi_register %rip, %rdi\n"
	"asm_vfork_trap:\n"
	"	ud2\n"
	"	push %rdi\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_offset %rip, -8\n"
	"	ret\n"
	".cfi_endproc\n"
	/* A call is the last instruction; the next function's rule is another one. */
	".globl asm_call_noreturn\n"
	"asm_call_noreturn:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"asm_noreturn_call:\n"
	"	call *%rax\n"
	".cfi_endproc\n"
	"asm_noreturn_after:\n"
	".cfi_startproc\n"
	"	pop %rbx\n" /* where a call that does return comes out */
	"	ret\n"
	".cfi_endproc\n"
	/* No CFI, but a frame pointer. */
	".globl asm_no_cfi_fp\n"
	"asm_no_cfi_fp:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $128, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	leave\n"
	"	ret\n"
	/* Neither CFI nor a frame pointer. */
	".globl asm_no_cfi_no_fp\n"
	"asm_no_cfi_no_fp:\n"
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	pop %rbp\n"
	"	ret\n"
	/* The hole begins where this function does. */
	".globl asm_call_leaf_no_cfi\n"
	"asm_call_leaf_no_cfi:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	call asm_leaf_no_cfi\n"
	"	add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	"asm_leaf_no_cfi:\n"
	"	ud2\n"
	"	ret\n"
	/* The frame hangs on a callee-saved register, as in _dl_runtime_resolve. */
	".globl asm_rbx_base_call\n"
	"asm_rbx_base_call:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"	mov %rsp, %rbx\n"
	".cfi_def_cfa %rbx, 16\n"
	"	and $-256, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	mov %rbx, %rsp\n"
	".cfi_def_cfa %rsp, 16\n"
	"	pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	/* The frame hangs on a register that every call destroys: such CFI is wrong. */
	".globl asm_rax_base\n"
	"asm_rax_base:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa %rax, 16\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	".cfi_def_cfa %rsp, 16\n"
	"	add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	/* musl's: no CFI at all. */
	"	nop\n"
	"asm_restore:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	"	nop\n");

static void noreturn_call_at_the_end(void **state)
{
	(void)state;
	asm_call_noreturn(shoot, &shot);
	assert_ptr_equal(shot.chain[0], asm_noreturn_after);
	assert_complete();
	assert_int_equal(frames[1].pc, (uintptr_t)asm_noreturn_after);
	assert_true(frames[1].is_return);
}

static uint64_t trap_pc;

/* Unwinds the interrupted code itself, then steps over the ud2. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	trap_pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	shot_from_ucontext(&shot, uc, SELF_STACK_BYTES);
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void on_trap_shoot(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	shoot(&shot);
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void handle_trap(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	assert_int_equal(sigaction(SIGILL, &sa, NULL), 0);
}

static void interrupted_at_the_first_instruction(void **state)
{
	(void)state;
	handle_trap(on_trap_shoot);
	asm_call_first_insn();
	assert_complete();
	handle_trap(on_trap);
	asm_call_first_insn();
	unwind_shot();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(frames[0].pc, (uintptr_t)asm_first_insn);
	assert_true(frame_in((const void *)asm_call_first_insn, 32) == 1);
}

static void return_address_in_a_register(void **state)
{
	(void)state;
	handle_trap(on_trap_shoot);
	asm_call_vfork_like();
	assert_complete();
	handle_trap(on_trap);
	asm_call_vfork_like();
	assert_int_equal(trap_pc, (uintptr_t)asm_vfork_trap);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(frames[1].pc, shot.regs.r[X86_RDI]);
}

static void base_in_a_saved_register(void **state)
{
	(void)state;
	asm_rbx_base_call(shoot, &shot);
	assert_complete();
}

static void base_in_a_lost_register(void **state)
{
	(void)state;
	asm_rax_base(shoot_no_chain, &shot);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(result.end_module, self.modules[0].id);
}

static NOINLINE void call_no_cfi_fp(void)
{
	asm_no_cfi_fp(shoot_no_chain, &shot);
	KEEP_FRAME();
}

static void frame_pointer_where_no_cfi(void **state)
{
	struct unwind_module *own = self_module_of(&self, (const void *)asm_no_cfi_fp);

	(void)state;
	call_no_cfi_fp();
	unwind_shot();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(frame_in((const void *)asm_no_cfi_fp, 32), 1);
	assert_int_equal(frame_in((const void *)call_no_cfi_fp, 40), 2);

	own->has_return_addrs = false;
	unwind_shot();
	assert_int_equal(result.end, STACK_END_PENDING);
	assert_int_equal(result.end_module, own->id);
	assert_true(own->needs_return_addrs);
	own->return_addrs_failed = true;
	unwind_shot();
	assert_int_equal(result.end, STACK_END_NO_CFI);
	assert_int_equal(result.nr_frames, 2);
	own->return_addrs_failed = own->needs_return_addrs = false;
	own->has_return_addrs = true;
}

static void no_frame_pointer_where_no_cfi(void **state)
{
	(void)state;
	asm_no_cfi_no_fp(shoot_no_chain, &shot);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_NO_CFI);
	assert_int_equal(result.nr_frames, 2);
}

/* A frame pointer that leads to a word which is no return address must not be followed. */
static void frame_pointer_to_no_call(void **state)
{
	uint64_t fp, word = 0, caller;

	(void)state;
	asm_no_cfi_fp(shoot_no_chain, &shot);
	unwind_shot();
	caller = frames[2].pc;
	for (fp = shot.stack.base; fp + 16 < shot.stack.base + shot.stack.bytes; fp += 8) {
		memcpy(&word, shot.bytes + (fp + 8 - shot.stack.base), 8);
		if (word == caller)
			break;
	}
	word++; /* still in executable memory */
	memcpy(shot.bytes + (fp + 8 - shot.stack.base), &word, 8);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_NO_CFI);
	assert_int_equal(result.nr_frames, 2);
}

static void leaf_without_cfi(void **state)
{
	(void)state;
	handle_trap(on_trap);
	asm_call_leaf_no_cfi();
	unwind_shot();
	assert_int_equal(frames[0].pc, (uintptr_t)asm_leaf_no_cfi);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(frame_in((const void *)asm_call_leaf_no_cfi, 14), 1);
}

/* The kernel's view of sigaction: with a restorer of our own, as musl has one. */
static void signal_without_cfi(void **state)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		const void *restorer;
		unsigned long mask;
	} sa = {on_signal, 0x04000000 /* SA_RESTORER */, asm_restore, 0};

	(void)state;
	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR1, &sa, NULL, 8), 0);
	raise(SIGUSR1);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_true(frame_in((const void *)signal_without_cfi, 512) > 3);
	assert_true(frame_in(asm_restore, 1) > 0);
}

static void other_stack_for_signals(void **state)
{
	static char alt[65536];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof(alt)}, old;
	uint64_t alt_end = (uint64_t)(uintptr_t)alt + sizeof(alt);

	(void)state;
	assert_int_equal(sigaltstack(&ss, &old), 0);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	raise(SIGUSR1);
	assert_int_equal(sigaltstack(&old, NULL), 0);
	/* A copy of that mapping alone, then one that was cut inside it. */
	shot.stack.bytes = MIN(shot.stack.bytes, alt_end - shot.stack.base);
	for (int cut = 0; cut < 2; cut++) {
		shot.stack.is_cut = cut;
		unwind_shot();
		assert_int_equal(result.end, STACK_END_ALTSTACK);
		assert_false(frames[result.nr_frames - 1].is_return); /* the interrupted code */
		for (uint32_t i = 1; i < result.nr_frames; i++)
			assert_int_equal(frames[i].pc, shot.chain[i - 1]);
	}
}

static void copy_too_small(void **state)
{
	uint32_t last = 0;

	(void)state;
	nested(20);
	unwind_shot();
	for (uint64_t bytes = 0; bytes < result.bytes_used; bytes += 8) {
		struct unwind_stack small = shot.stack;
		struct unwind_result r;
		uint8_t *exact = malloc(bytes); /* so that a sanitizer sees one byte too far */

		memcpy(exact, shot.bytes, bytes);
		small.data = exact;
		small.bytes = bytes;
		small.is_cut = true;
		unwind_dwarf(&self.space, &shot.regs, &small, frames, &r);
		free(exact);
		assert_int_equal(r.end, bytes > 0 ? STACK_END_TRUNCATED : STACK_END_NO_STACK);
		assert_true(r.nr_frames >= last && r.nr_frames >= 1);
		assert_true(r.bytes_used <= bytes);
		for (uint32_t i = 1; i < r.nr_frames; i++)
			assert_int_equal(frames[i].pc, shot.chain[i - 1]);
		last = r.nr_frames;
	}
}

static NOINLINE void nested_in_huge(int depth)
{
	volatile char big[100000];

	big[0] = 1;
	nested(depth);
	big[1] = big[0];
}

/* The first BYTES of the shot's stack, and NR_REST from REST_AT on; what may not be read is in no memory. */
static struct unwind_result unwind_with_rest(uint64_t bytes, uint64_t rest_at, uint64_t nr_rest)
{
	struct unwind_stack stack = shot.stack;
	uint8_t *copy = malloc(bytes), *rest = malloc(nr_rest);
	struct unwind_result r;

	assert_true(copy && rest);
	memcpy(copy, shot.bytes, bytes);
	memcpy(rest, shot.bytes + (rest_at - stack.base), nr_rest);
	stack.data = copy;
	stack.bytes = bytes;
	stack.is_cut = true;
	stack.rest = (struct unwind_piece){rest, rest_at, nr_rest};
	unwind_dwarf(&self.space, &shot.regs, &stack, frames, &r);
	free(copy);
	free(rest);
	return r;
}

/* What was read later of the stack begins a little below the word that the copy has not. */
static void rest_of_a_stack(void **state)
{
	static struct unwind_frame whole[UNWIND_FRAMES_MAX];

	(void)state;
	nested_in_huge(20);
	assert_complete();
	memcpy(whole, frames, result.nr_frames * sizeof(*frames));
	for (uint64_t bytes = 264; bytes < result.bytes_used; bytes += bytes < 2000 ? 8 : 4000) {
		uint64_t base = shot.stack.base, end = base + result.bytes_used, at;
		struct unwind_result r = unwind_with_rest(bytes, base, 0);

		assert_int_equal(r.end, STACK_END_TRUNCATED);
		assert_true(r.outside >= base + bytes - 7 && r.outside <= end - 8);
		at = MAX(base + bytes - 256, r.outside - 256);
		r = unwind_with_rest(bytes, at, end - at);
		assert_int_equal(r.end, STACK_END_ROOT);
		assert_int_equal(r.bytes_used, result.bytes_used);
		assert_int_equal(r.nr_frames, result.nr_frames);
		assert_memory_equal(frames, whole, r.nr_frames * sizeof(*frames));
		/* One that is too short as well. */
		r = unwind_with_rest(bytes, at, end - at - 8);
		assert_int_equal(r.end, STACK_END_TRUNCATED);
		assert_true(r.outside > end - 16 && r.bytes_used <= result.bytes_used - 8);
		assert_memory_equal(frames, whole, r.nr_frames * sizeof(*frames));
	}
}

static void deeper_than_is_kept(void **state)
{
	(void)state;
	nested(1200);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_DEPTH);
	assert_int_equal(result.nr_frames, UNWIND_FRAMES_MAX);
	for (uint32_t max = 1190; max <= DEEP; max += DEEP - 1190) {
		shot.stack.max_frames = max;
		unwind_shot();
		assert_int_equal(result.end, max == DEEP ? STACK_END_ROOT : STACK_END_DEPTH);
		assert_in_range(result.nr_frames, 1190, max == DEEP ? DEEP : max);
	}
	shot.stack.max_frames = 0;
}

static void stacks_that_cannot_be_right(void **state)
{
	struct unwind_regs good;

	(void)state;
	nested(3);
	good = shot.regs;
	shot.regs.r[X86_RIP] = 0x10;
	unwind_shot();
	assert_int_equal(result.end, STACK_END_NO_MAP);
	assert_int_equal(result.nr_frames, 1);
	assert_int_equal(frames[0].pc, 0x10);
	assert_int_equal(frames[0].module, UNWIND_NO_MODULE);

	shot.regs = good;
	shot.regs.r[X86_RSP] += 4;
	shot.regs.r[X86_RBP] += 4;
	unwind_shot();
	assert_int_equal(result.end, STACK_END_BAD_CFI);

	shot.regs = good;
	memset(shot.bytes, 0x5a, SELF_STACK_BYTES);
	unwind_shot();
	assert_int_equal(result.end, STACK_END_BAD_RA);
	assert_int_equal(result.nr_frames, 1);

	memset(shot.bytes, 0, SELF_STACK_BYTES); /* called from 0: as threads of musl end */
	unwind_shot();
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 1);
}

static void modules_without_a_table(void **state)
{
	static const enum stack_end states[] = {STACK_END_PENDING, STACK_END_NO_FILE,
						STACK_END_BAD_FILE, STACK_END_ARCH};
	struct unwind_module *own = self_module_of(&self, asm_first_insn);

	(void)state;
	nested(3);
	own->has_table = false;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		own->state = states[i];
		unwind_shot();
		assert_int_equal(result.end, states[i]);
		assert_int_equal(result.end_module, own->id);
		assert_int_equal(result.nr_frames, 1);
	}
	own->has_table = true;
}

/* Where the kernel starts a program: in the dynamic linker, which then jumps to the program. */
static void entry_points_are_roots(void **state)
{
	uint64_t entries[2] = {getauxval(AT_ENTRY), 0};
	uint64_t linker = getauxval(AT_BASE);

	(void)state;
	nested(1);
	if (linker) {
		Elf64_Ehdr ehdr;

		memcpy(&ehdr, (const void *)(uintptr_t)linker, sizeof(ehdr));
		entries[1] = linker + ehdr.e_entry;
	}
	for (size_t i = 0; i < 2 && entries[i]; i++) {
		shot.regs.r[X86_RIP] = entries[i];
		unwind_shot();
		assert_int_equal(result.end, STACK_END_ROOT);
		assert_int_equal(result.nr_frames, 1);
	}
}

static void code_made_at_run_time(void **state)
{
	/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
				       0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
	void (*jit)(void (*)(struct shot *), struct shot *);
	static struct self with_jit;
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	if (mem == MAP_FAILED)
		skip();
	memcpy(mem, code, sizeof(code));
	memcpy(&jit, &mem, sizeof(jit));
	assert_true(self_load(&with_jit, false));
	jit(shoot, &shot);
	unwind_dwarf(&with_jit.space, &shot.regs, &shot.stack, frames, &result);
	assert_int_equal(result.end, STACK_END_JIT);
	assert_int_equal(result.nr_frames, 2);
	self_unload(&with_jit);
	munmap(mem, 4096);
}

static void chain_of_the_kernel(void **state)
{
	uint64_t ips[SELF_CHAIN_MAX + 1];
	uint32_t nr = 1;

	(void)state;
	nested(5);
	ips[0] = shot.regs.r[X86_RIP];
	for (uint32_t i = 0; i < shot.nr_chain; i++)
		ips[nr++] = shot.chain[i];
	unwind_fp(&self.space, ips, nr, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT); /* the last is _start */
	assert_int_equal(result.nr_frames, nr);
	assert_int_equal(frames[0].pc, ips[0]);
	assert_false(frames[0].is_return);
	assert_true(frames[1].is_return);
	unwind_fp(&self.space, ips, nr - 1, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_FP);
	unwind_fp(&self.space, ips, nr - 1, nr - 1, frames, &result);
	assert_int_equal(result.end, STACK_END_TRUNCATED);
	unwind_fp(&self.space, ips, 0, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_FP);
	assert_int_equal(result.nr_frames, 0);
}

static int load(void **state)
{
	(void)state;
	return self_load(&self, true) ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	self_unload(&self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_calls),
		cmocka_unit_test(frames_of_unknown_size),
		cmocka_unit_test(realigned_frames),
		cmocka_unit_test(frame_above_64k),
		cmocka_unit_test(callback_of_libc),
		cmocka_unit_test(root_of_a_thread),
		cmocka_unit_test(signal_frames),
		cmocka_unit_test(signal_in_a_signal),
		cmocka_unit_test(noreturn_call_at_the_end),
		cmocka_unit_test(interrupted_at_the_first_instruction),
		cmocka_unit_test(return_address_in_a_register),
		cmocka_unit_test(base_in_a_saved_register),
		cmocka_unit_test(base_in_a_lost_register),
		cmocka_unit_test(frame_pointer_where_no_cfi),
		cmocka_unit_test(no_frame_pointer_where_no_cfi),
		cmocka_unit_test(frame_pointer_to_no_call),
		cmocka_unit_test(leaf_without_cfi),
		cmocka_unit_test(signal_without_cfi),
		cmocka_unit_test(other_stack_for_signals),
		cmocka_unit_test(copy_too_small),
		cmocka_unit_test(rest_of_a_stack),
		cmocka_unit_test(deeper_than_is_kept),
		cmocka_unit_test(stacks_that_cannot_be_right),
		cmocka_unit_test(modules_without_a_table),
		cmocka_unit_test(entry_points_are_roots),
		cmocka_unit_test(code_made_at_run_time),
		cmocka_unit_test(chain_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
