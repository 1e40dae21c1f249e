/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole programs, from their first instruction in the dynamic linker to their
 * last, one instruction at a time: a shadow stack is kept by the calls, returns,
 * signals and jumps that the processor makes, and at every single instruction
 * the stack unwound from registers and memory must equal it. Where it may say
 * something else, that is told apart, checked and counted. What a program starts
 * (threads, children of vfork and clone) runs the same way while it stands still.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define SHADOW_MAX	256
#define TEXT_BYTES	16
#define STEPS_MAX	3000000
#define REPORTS_MAX	12
#define WITHOUT_CFI_MAX 200 /* some 27 of each file */
#define SIGNAL_EVERY	61  /* steps, once the program catches signals */
#define UCONTEXT_RIP	(offsetof(ucontext_t, uc_mcontext.gregs) + REG_RIP * sizeof(greg_t))
/* The same for i386 (<asm/sigcontext.h>), and from the frame of a handler without a context. */
#define UCONTEXT32_EIP (20 + 56)
#define SIGFRAME32_EIP (8 + 56)
#define CS_32	       0x23 /* what a 32-bit program has in cs */

struct entry {
	uint64_t slot; /* where the return address lies; a signal: the interrupted stack pointer */
	uint64_t pc;   /* of the frame */
	bool is_signal;
	bool is_far; /* a signal that came on another stack: what is below was not copied */
};

struct program {
	pid_t pid;
	struct self *self;
	bool is_32;
	unsigned int word_bytes;
	bool maps_are_old;
	uint64_t stack_end;
	struct entry shadow[SHADOW_MAX];
	size_t nr;
	struct user_regs_struct regs; /* of 32 bits: with zeros above */
	uint8_t text[TEXT_BYTES];     /* at the pc */
	struct shot shot;
	uint64_t alt_start, alt_end; /* of sigaltstack, or 0 */
	bool catches;		     /* SIGUSR1 */
	uint64_t jump_to;	     /* what longjmp's CFI has announced, or 0 */
	bool is_in_register;	     /* vfork keeps its return address in rdi */
	bool is_equal;		     /* the last check found no difference of any kind */
	uint64_t steps, signals, early_jumps, without_cfi, differ;
	unsigned int nr_children; /* that have run to their end */
};

static struct unwind_frame frames[UNWIND_FRAMES_MAX];

/* --- looking at the program --- */

static bool read_at(const struct program *p, uint64_t addr, void *out, size_t bytes)
{
	struct iovec local = {out, bytes}, remote = {(void *)(uintptr_t)addr, bytes};

	return process_vm_readv(p->pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* The end of the mapping that the stack pointer is in. */
static void find_stack(struct program *p)
{
	struct user_regs_struct regs;
	char path[32], line[512];
	unsigned long long start, end;
	FILE *f;

	assert_int_equal(ptrace(PTRACE_GETREGS, p->pid, NULL, &regs), 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)p->pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%llx", &start, &end) == 2 && regs.rsp >= start &&
		    regs.rsp < end)
			p->stack_end = end;
	fclose(f);
}

static bool on_alt(const struct program *p, uint64_t sp)
{
	return sp >= p->alt_start && sp < p->alt_end;
}

/* Registers, text at the pc and the stack up from sp. */
static void look(struct program *p)
{
	static const size_t at[X86_NR_REGS] = {
#define AT(reg) offsetof(struct user_regs_struct, reg)
		AT(rax), AT(rdx), AT(rcx), AT(rbx), AT(rsi), AT(rdi), AT(rbp), AT(rsp), AT(r8),
		AT(r9),	 AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15), AT(rip)};
	static const size_t at_32[I386_NR_REGS] = {AT(rax), AT(rcx), AT(rdx), AT(rbx), AT(rsp),
						   AT(rbp), AT(rsi), AT(rdi), AT(rip)};
	uint64_t sp, end;

	assert_int_equal(ptrace(PTRACE_GETREGS, p->pid, NULL, &p->regs), 0);
	p->is_32 = p->regs.cs == CS_32;
	p->word_bytes = p->is_32 ? 4 : 8;
	p->shot.regs.machine = p->is_32 ? TABLE_MACHINE_I386 : TABLE_MACHINE_X86_64;
	p->regs.rax = p->is_32 ? (uint32_t)p->regs.rax : p->regs.rax;
	sp = p->regs.rsp;
	end = on_alt(p, sp) ? p->alt_end : p->stack_end;
	for (size_t i = 0; i < (p->is_32 ? (size_t)I386_NR_REGS : (size_t)X86_NR_REGS); i++)
		memcpy(&p->shot.regs.r[i], (const char *)&p->regs + (p->is_32 ? at_32[i] : at[i]),
		       8);
	p->shot.stack = (struct unwind_stack){.data = p->shot.bytes,
					      .base = sp,
					      .bytes = MIN(end - sp, (uint64_t)SELF_STACK_BYTES)};
	assert_true(read_at(p, sp, p->shot.bytes, p->shot.stack.bytes));
	memset(p->text, 0, sizeof(p->text));
	for (size_t n = TEXT_BYTES; n > 0 && !read_at(p, p->regs.rip, p->text, n); n--)
		;
}

/* --- the shadow stack --- */

static const uint8_t *opcode_of(const struct program *p, const uint8_t *text)
{
	while (*text == 0xf2 || *text == 0xf3 || *text == 0x3e || *text == 0x65 ||
	       (!p->is_32 && (*text & 0xf0) == 0x40))
		text++;
	return text;
}

static bool is_call(const struct program *p, const uint8_t *text)
{
	const uint8_t *op = opcode_of(p, text);

	return op[0] == 0xe8 || (op[0] == 0xff && (op[1] >> 3 & 7) == 2);
}

static bool is_return(const struct program *p, const uint8_t *text)
{
	const uint8_t *op = opcode_of(p, text);

	return op[0] == 0xc3 || op[0] == 0xc2;
}

/* syscall, sysenter, int $0x80. */
static bool is_syscall(const uint8_t *text)
{
	return (text[0] == 0x0f && (text[1] == 0x05 || text[1] == 0x34)) ||
	       (text[0] == 0xcd && text[1] == 0x80);
}

static void push(struct program *p, struct entry entry)
{
	assert_true(p->nr < SHADOW_MAX);
	p->shadow[p->nr++] = entry;
}

static uint64_t top_word(const struct program *p)
{
	uint64_t word = 0;

	memcpy(&word, p->shot.bytes, p->word_bytes);
	return word;
}

/*
 * Is this the first instruction of a handler of SIG, which has interrupted PC? A
 * signal that is blocked comes later, as it is in its own handler.
 */
static bool is_handler(const struct program *p, int sig, uint64_t pc)
{
	uint64_t interrupted;
	uint32_t sig_32, pc_32;

	if (p->is_32)
		return sig && p->regs.rax == (uint64_t)sig &&
		       read_at(p, p->regs.rsp + 4, &sig_32, sizeof(sig_32)) &&
		       sig_32 == (uint32_t)sig &&
		       read_at(p,
			       p->regs.rdx ? p->regs.rcx + UCONTEXT32_EIP
					   : p->regs.rsp + SIGFRAME32_EIP,
			       &pc_32, sizeof(pc_32)) &&
		       pc_32 == pc;

	return sig && p->regs.rdi == (uint64_t)sig && p->regs.rdx == p->regs.rsp + 8 &&
	       read_at(p, p->regs.rdx + UCONTEXT_RIP, &interrupted, sizeof(interrupted)) &&
	       interrupted == pc;
}

/* The kernel has put a handler upon what was at PC and SP. */
static void enter_handler(struct program *p, uint64_t pc, uint64_t sp)
{
	push(p, (struct entry){.slot = sp,
			       .pc = pc,
			       .is_signal = true,
			       .is_far = on_alt(p, p->regs.rsp) && !on_alt(p, sp)});
	push(p, (struct entry){.slot = p->regs.rsp, .pc = top_word(p)});
	p->signals++;
}

static void leave_handler(struct program *p)
{
	while (p->nr > 0 && !p->shadow[p->nr - 1].is_signal)
		p->nr--;
	assert_true(p->nr > 0);
	p->nr--;
	assert_int_equal(p->shadow[p->nr].pc, p->regs.rip);
	assert_int_equal(p->shadow[p->nr].slot, p->regs.rsp);
}

/* What the instruction TEXT, run with stack pointer SP, has done to it. */
static void follow(struct program *p, const uint8_t *text, uint64_t pc, uint64_t sp)
{
	if (is_call(p, text) && p->regs.rsp == sp - p->word_bytes) {
		uint64_t ret = top_word(p);

		assert_true(ret > pc && ret - pc < TEXT_BYTES);
		push(p, (struct entry){.slot = p->regs.rsp, .pc = ret});
		return;
	}
	if (is_return(p, text) && p->nr > 0 && p->shadow[p->nr - 1].slot == sp) {
		assert_int_equal(p->shadow[--p->nr].pc, p->regs.rip);
		return;
	}
	/* vfork's `pop %rdi` and `push %rdi` around its system call. */
	if (text[0] == 0x5f && p->nr > 0 && p->shadow[p->nr - 1].slot == sp)
		p->is_in_register = true;
	else if (text[0] == 0x57 && p->regs.rsp == sp - 8)
		p->is_in_register = false;
	if (p->is_in_register)
		return;
	/* A jump out of calls takes them off by the stack pointer alone. */
	while (p->nr > 0 && p->shadow[p->nr - 1].slot < p->regs.rsp &&
	       (on_alt(p, p->shadow[p->nr - 1].slot) || !on_alt(p, p->regs.rsp)))
		p->nr--;
}

/* --- comparing --- */

static bool equals_from(const struct program *p, const struct unwind_result *r, size_t frame,
			size_t nr)
{
	enum stack_end end = STACK_END_ROOT;

	for (; nr > 0 && end == STACK_END_ROOT; nr--, frame++) {
		if (frame >= r->nr_frames || frames[frame].pc != p->shadow[nr - 1].pc)
			return false;
		if (p->shadow[nr - 1].is_far)
			end = STACK_END_ALTSTACK;
	}
	return frame == r->nr_frames && r->end == end;
}

/* ebp is in the jmp_buf, which need not be on the stack: up to a frame that goes by it. */
static bool ends_without_fp(const struct program *p, const struct unwind_result *r, size_t frame,
			    size_t nr)
{
	for (; nr > 0 && frame < r->nr_frames; nr--, frame++)
		if (frames[frame].pc != p->shadow[nr - 1].pc)
			return false;
	return p->is_32 && r->end == STACK_END_BAD_CFI && frame == r->nr_frames;
}

/*
 * In its last instructions longjmp's CFI tells of where it is about to go: the
 * target in rdx or edx, with the stack pointer in r8 or ecx. Then that must be what happens.
 */
static bool is_early_jump(struct program *p, const struct unwind_result *r)
{
	uint64_t to_sp = p->is_32 ? p->regs.rcx : p->regs.r8;
	size_t nr = p->nr;

	while (nr > 0 && p->shadow[nr - 1].slot < to_sp)
		nr--;
	if ((nr == p->nr && p->jump_to == 0) || r->nr_frames < 2 || frames[1].pc != p->regs.rdx ||
	    !(equals_from(p, r, 2, nr) || ends_without_fp(p, r, 2, nr)))
		return false;
	p->jump_to = p->regs.rdx;
	p->early_jumps++;
	return true;
}

/* Is the code at PC told by CFI, or recognised? */
static bool has_rule(const struct program *p, uint64_t pc)
{
	const struct unwind_map *map = unwind_map_of(&p->self->space, pc);

	return map && table_find(&map->module->table, pc - map->start + map->file_off);
}

/* The innermost frame whose code has no rule, if all up to it are right; else SIZE_MAX. */
static size_t frame_without_rule(const struct program *p, const struct unwind_result *r)
{
	size_t at = 1;

	if (!has_rule(p, p->regs.rip))
		return 0;
	for (; at < r->nr_frames && at <= p->nr && frames[at].pc == p->shadow[p->nr - at].pc; at++)
		if (!has_rule(p, frames[at].pc - 1))
			return at;
	return SIZE_MAX;
}

/*
 * The compiler's start-up files (frame_dummy, deregister_tm_clones and others
 * that run once in each file) have no CFI. The stack may end there and say so;
 * or, where the caller has a frame pointer, go on from that and miss the caller, of i386 perhaps
 * two, where ebp is seldom one. i386's _start, a root, has a little function in it.
 */
static bool is_without_cfi(struct program *p, const struct unwind_result *r)
{
	size_t at = frame_without_rule(p, r), missed_max = p->is_32 ? 2 : 1;
	bool is_said = at != SIZE_MAX && r->end == STACK_END_NO_CFI && r->nr_frames == at + 1;

	for (size_t missed = 1; !is_said && at != SIZE_MAX && missed <= missed_max; missed++)
		is_said = at + missed <= p->nr && equals_from(p, r, at + 1, p->nr - at - missed);
	is_said |= p->is_32 && p->nr == 1 && r->nr_frames == 1 && r->end == STACK_END_ROOT;
	p->without_cfi += is_said;
	return is_said;
}

static void report(const struct program *p, const struct unwind_result *r)
{
	const struct unwind_map *map = unwind_map_of(&p->self->space, p->regs.rip);
	const char *path = map ? p->self->paths[map->module->id] : "?";

	if (p->differ > REPORTS_MAX)
		return;
	fprintf(stderr, "step %lu at %#llx (%s+%#lx), end %s\n  ours  ", p->steps, p->regs.rip,
		path, frames[0].off, stack_end_name(r->end));
	for (uint32_t i = 1; i < r->nr_frames; i++)
		fprintf(stderr, " %#lx", frames[i].pc);
	fprintf(stderr, "\n  shadow");
	for (size_t i = p->nr; i-- > 0;)
		fprintf(stderr, " %#lx", p->shadow[i].pc);
	fprintf(stderr, "\n");
}

static void check(struct program *p)
{
	struct unwind_result r;

	if (p->maps_are_old)
		assert_true(self_load_of(p->self, p->pid, true));
	p->maps_are_old = false;
	unwind_dwarf(&p->self->space, &p->shot.regs, &p->shot.stack, frames, &r);
	p->steps++;
	if (p->jump_to && p->nr > 0 && p->regs.rip == p->jump_to)
		p->jump_to = 0; /* it has arrived */
	p->is_equal = equals_from(p, &r, 1, p->nr);
	if (p->is_equal) {
		assert_true(p->jump_to == 0);
		return;
	}
	if (is_early_jump(p, &r) || is_without_cfi(p, &r))
		return;
	p->differ++;
	report(p, &r);
}

/* --- running it --- */

/* The number in i386 (<asm/unistd_32.h>) of a system call that is looked at, as one of x86-64. */
static uint64_t number_of(const struct program *p, uint64_t nr)
{
	static const struct {
		uint16_t i386, x86_64;
	} numbers[] = {
		{90, SYS_mmap},		 {192, SYS_mmap},	  {125, SYS_mprotect},
		{91, SYS_munmap},	 {186, SYS_sigaltstack},  {174, SYS_rt_sigaction},
		{119, SYS_rt_sigreturn}, {173, SYS_rt_sigreturn},
	};

	for (size_t i = 0; p->is_32 && i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].i386 == nr)
			return numbers[i].x86_64;
	return p->is_32 ? UINT64_MAX : nr;
}

/* The program's other stack, struct sigaltstack at ADDR. */
static void note_altstack(struct program *p, uint64_t addr)
{
	uint32_t ss_32[3];
	stack_t ss;

	if (p->is_32 && read_at(p, addr, ss_32, sizeof(ss_32))) {
		p->alt_start = ss_32[0];
		p->alt_end = p->alt_start + ss_32[2];
	} else if (!p->is_32 && read_at(p, addr, &ss, sizeof(ss))) {
		p->alt_start = (uintptr_t)ss.ss_sp;
		p->alt_end = p->alt_start + ss.ss_size;
	}
}

static void note_syscall(struct program *p, const struct user_regs_struct *before)
{
	uint64_t first = p->is_32 ? (uint32_t)before->rbx : before->rdi;

	switch (number_of(p, before->rax)) {
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_munmap:
		p->maps_are_old = true;
		break;
	case SYS_sigaltstack:
		if (first)
			note_altstack(p, first);
		break;
	case SYS_rt_sigaction:
		p->catches = p->catches || first == SIGALRM; /* the last of three */
		break;
	default:
		break;
	}
}

static int step(struct program *p, int sig);

/* What P has started runs from its first instruction to its last; with P's stack, or (a thread) with none. */
static void run_child(struct program *p, bool has_stack)
{
	static struct program child;
	unsigned long pid;
	int status;

	assert_int_equal(ptrace(PTRACE_GETEVENTMSG, p->pid, NULL, &pid), 0);
	child = *p;
	child.pid = (pid_t)pid;
	child.nr = has_stack ? p->nr : 0;
	child.maps_are_old = true;
	assert_int_equal(waitpid(child.pid, &status, __WALL), child.pid);
	assert_true(WIFSTOPPED(status));
	find_stack(&child);
	look(&child);
	check(&child);
	while (step(&child, 0) >= 0 && child.steps < STEPS_MAX)
		check(&child);
	assert_int_equal(child.pid, -1);
	p->steps = child.steps;
	p->differ = child.differ;
	p->without_cfi = child.without_cfi;
	p->early_jumps = child.early_jumps;
	p->maps_are_old = true;
	p->nr_children++;
}

/* Let P run one instruction. How it stopped or ended. */
static int one_step(struct program *p, int sig)
{
	int status, event;

	do {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, p->pid, NULL, (void *)(uintptr_t)sig),
				 0);
		assert_int_equal(waitpid(p->pid, &status, __WALL), p->pid);
		event = WIFSTOPPED(status) ? status >> 16 : 0;
		if (event)
			run_child(p, event == PTRACE_EVENT_VFORK);
		sig = 0;
	} while (event);
	return status;
}

/* One step, with SIG if not 0. The signal that is to be delivered next, or -1: it has ended. */
static int step(struct program *p, int sig)
{
	struct user_regs_struct before = p->regs;
	uint8_t text[TEXT_BYTES];
	int status;

	memcpy(text, p->text, sizeof(text));
	status = one_step(p, sig);
	if (!WIFSTOPPED(status)) {
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		p->pid = -1;
		return -1;
	}
	look(p);
	if (is_handler(p, sig, before.rip)) {
		enter_handler(p, before.rip, before.rsp);
	} else if (is_syscall(text)) {
		note_syscall(p, &before);
		if (number_of(p, before.rax) == SYS_rt_sigreturn)
			leave_handler(p);
	} else {
		follow(p, text, before.rip, before.rsp);
	}
	return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

static void run(const char *path, struct program *p)
{
	static struct self self;
	int status, sig = 0;

	memset(&self, 0, sizeof(self));
	memset(p, 0, sizeof(*p));
	p->self = &self;
	p->maps_are_old = true;
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		char *const argv[] = {(char[]){"stepped"}, NULL}, *const envp[] = {NULL};

		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		execve(path, argv, envp);
		_exit(78);
	}
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no ptrace here */
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, p->pid, NULL,
				(void *)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
					 PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL)),
			 0);
	find_stack(p);
	look(p);
	check(p);
	while ((sig = step(p, sig)) >= 0 && p->steps < STEPS_MAX) {
		check(p);
		/* Handlers at any instruction that is not one of those told apart. */
		if (sig == 0 && p->catches && p->is_equal && has_rule(p, p->regs.rip) &&
		    p->steps % SIGNAL_EVERY == 0 && !on_alt(p, p->regs.rsp))
			sig = p->steps % 2 ? SIGUSR1 : SIGUSR2;
	}
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, &status, 0);
	}
	self_unload(&self);
	print_message("%s: %lu steps, %lu signals; %lu different, %lu in jumps announced, "
		      "%lu in code without CFI\n",
		      path, p->steps, p->signals, p->differ, p->early_jumps, p->without_cfi);
	assert_int_equal(p->pid, -1);
	assert_int_equal(p->differ, 0);
	assert_true(p->without_cfi <= WITHOUT_CFI_MAX);
}

static struct program program;

static void signals_jumps_tail_calls_plt(void **state)
{
	const char *top = getenv("top_builddir");
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/stepped", top ? top : ".");
	run(path, &program);
	assert_true(program.signals > 100);
	assert_true(program.early_jumps > 0);
}

/* Threads, a child of vfork on its parent's stack, one of clone on a stack of its own. */
static void threads_and_children(void **state)
{
	const char *top = getenv("top_builddir");
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/stepped_tasks", top ? top : ".");
	run(path, &program);
	assert_int_equal(program.nr_children, 4);
}

/* The same program of 32 bits: its vDSO makes the system calls, and signal frames of both kinds. */
static void a_program_of_32_bits(void **state)
{
	const char *top = getenv("top_srcdir");
	char dir[] = "/tmp/stacktop-test.XXXXXX", path[64], simple[64], command[1024];
	bool runs;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/stepped", dir);
	snprintf(simple, sizeof(simple), "%s/simple", dir);
	snprintf(
		command, sizeof(command),
		"{ gcc -m32 -O1 -maccumulate-outgoing-args -Wl,-z,lazy -o %s %s/tests/stepped.c -lm && "
		"echo 'int main(void) { return 0; }' | gcc -m32 -o %s -x c - && %s; } 2>/dev/null",
		path, top ? top : "..", simple, simple);
	runs = system(command) == 0; // NOLINT
	if (runs)
		run(path, &program);
	unlink(path);
	unlink(simple);
	rmdir(dir);
	if (!runs) /* neither gcc nor the kernel need have it */
		skip();
	assert_true(program.is_32);
	assert_true(program.signals > 100);
	assert_true(program.early_jumps > 0);
}

static void a_program_of_the_system(void **state)
{
	(void)state;
	run("/bin/true", &program);
	assert_true(program.steps > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_jumps_tail_calls_plt),
		cmocka_unit_test(threads_and_children),
		cmocka_unit_test(a_program_of_the_system),
		cmocka_unit_test(a_program_of_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
