/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every instruction of real work, one by one: the processor traps after each,
 * and the stack unwound there must be exactly the calls that were seen to be
 * made and not yet to return. So prologues, epilogues, PLT stubs, the dynamic
 * linker's resolver and the C library's assembly are all met in the middle.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NOINLINE     __attribute__((noinline))
#define CALLS_MAX    1024
#define CALL_LEN_MAX 8

static struct self self;
static struct shot base, shot;
static struct unwind_frame frames[UNWIND_FRAMES_MAX];

/* The calls that were seen: where the return address lies, and what it is. */
static struct {
	uint64_t slot, ret;
} calls[CALLS_MAX];
static size_t nr_calls;
static uint64_t last_pc, last_sp, base_end;
static uint64_t nr_steps, nr_differ, nr_incomplete;

static void report(const char *what, const struct unwind_result *r)
{
	Dl_info info;

	if (nr_differ + nr_incomplete > 12)
		return;
	if (!dladdr((void *)(uintptr_t)frames[0].pc, &info))
		info = (Dl_info){0};
	fprintf(stderr, "%s at %#lx (%s, %s+%#lx): %u frames, %zu expected, end %s\n", what,
		frames[0].pc, info.dli_fname, info.dli_sname ? info.dli_sname : "?",
		frames[0].pc - (uint64_t)(uintptr_t)info.dli_fbase, r->nr_frames,
		nr_calls + base.nr_chain, stack_end_name(r->end));
}

/* Keep the list of open calls: one was made if the stack now holds the address after it. */
static void follow(uint64_t pc, uint64_t sp)
{
	uint64_t top;

	while (nr_calls > 0 && calls[nr_calls - 1].slot < sp)
		nr_calls--;
	memcpy(&top, shot.bytes, sizeof(top));
	if (last_pc && sp == last_sp - 8 && top - last_pc <= CALL_LEN_MAX && top != last_pc &&
	    pc != top && nr_calls < CALLS_MAX) {
		calls[nr_calls].slot = sp;
		calls[nr_calls++].ret = top;
	}
	last_pc = pc;
	last_sp = sp;
}

/* The innermost calls, then the callers of step_through. */
static bool is_as_expected(const struct unwind_result *r)
{
	if (r->nr_frames != nr_calls + base.nr_chain)
		return false;
	for (size_t i = 0; i < nr_calls; i++)
		if (frames[1 + i].pc != calls[nr_calls - 1 - i].ret)
			return false;
	for (size_t i = 1; i < base.nr_chain; i++)
		if (frames[nr_calls + i].pc != base.chain[i])
			return false;
	return true;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	struct unwind_result r;

	(void)sig;
	(void)info;
	shot_from_ucontext(&shot, uc, base_end - (uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
	follow(shot.regs.r[X86_RIP], shot.regs.r[X86_RSP]);
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, frames, &r);
	nr_steps++;
	if (r.end != STACK_END_ROOT) {
		nr_incomplete++;
		report("incomplete", &r);
	} else if (!is_as_expected(&r)) {
		nr_differ++;
		report("different", &r);
	}
}

void trap_flag_set(void);
void trap_flag_clear(void);
__asm__(".text\n"
	"trap_flag_set:\n"
	".cfi_startproc\n"
	"	pushf\n"
	".cfi_def_cfa_offset 16\n"
	"	orl $0x100, (%rsp)\n"
	"	popf\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	"trap_flag_clear:\n"
	".cfi_startproc\n"
	"	pushf\n"
	".cfi_def_cfa_offset 16\n"
	"	andl $0xfffffeff, (%rsp)\n"
	"	popf\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n");

static NOINLINE void step_through(void (*work)(void))
{
	struct unwind_result r;

	shoot(&base);
	unwind_dwarf(&self.space, &base.regs, &base.stack, frames, &r);
	base_end = base.stack.base + r.bytes_used;
	nr_calls = 0;
	last_pc = 0;
	trap_flag_set();
	work();
	trap_flag_clear();
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* No floating point: glibc's __mpn_mul_1 and others push without saying so in their CFI. */
static void formatting(void)
{
	char text[256];

	snprintf(text, sizeof(text), "%s %d %#lx %10.3s %lc", "text", -1, strtoul("0xfff", NULL, 0),
		 "precision", L'x');
}

static void sorting(void)
{
	double values[30];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = sin((double)i) * pow(2.5, (double)(i % 7));
	qsort(values, ARRAY_SIZE(values), sizeof(values[0]), compare_doubles);
}

static void memory(void)
{
	for (size_t bytes = 1; bytes < 2000; bytes *= 5) {
		char *p = calloc(1, bytes), *q = malloc(bytes);

		memset(p, 'x', bytes);
		memmove(q, p, bytes);
		p[bytes - 1] = '\0';
		if (strlen(p) != bytes - 1 || strchr(p, 'y'))
			abort();
		p = realloc(p, bytes * 2);
		free(q);
		free(p);
	}
}

static void patterns(void)
{
	char text[] = "a;bc;def";
	char *rest = NULL;

	fnmatch("*/[a-f]?.so*", "/lib/cx.so.6", 0);
	for (char *word = strtok_r(text, ";", &rest); word; word = strtok_r(NULL, ";", &rest))
		if (strcmp(word, "bc") == 0)
			word[0] = (char)strncasecmp(word, "BCD", 2);
}

static void files_and_time(void)
{
	struct timespec now;
	struct tm tm;
	char text[64];
	FILE *f = fopen("/proc/self/stat", "re");

	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %A", &tm);
}

static void dynamic_linker(void)
{
	void *lib = dlopen("libgcc_s.so.1", RTLD_LAZY);

	if (lib) {
		dlsym(lib, "_Unwind_Backtrace");
		dlclose(lib);
	}
}

/* The same work a second time goes through bound PLT slots. */
static void step_twice(void (*work)(void))
{
	nr_steps = nr_differ = nr_incomplete = 0;
	step_through(work);
	step_through(work);
	print_message("%lu steps, %lu incomplete, %lu different\n", nr_steps, nr_incomplete,
		      nr_differ);
	assert_true(nr_steps > 100);
	assert_int_equal(nr_incomplete, 0);
	assert_int_equal(nr_differ, 0);
}

#define STEP_TEST(work)                       \
	static void step_##work(void **state) \
	{                                     \
		(void)state;                  \
		step_twice(work);             \
	}
STEP_TEST(formatting)
STEP_TEST(sorting)
STEP_TEST(memory)
STEP_TEST(patterns)
STEP_TEST(files_and_time)
STEP_TEST(dynamic_linker)

static int set_up(void **state)
{
	static char alt[256 << 10];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	(void)state;
	/* What the dynamic linker loads later must be in the maps. */
	dlopen("libgcc_s.so.1", RTLD_NOW);
	if (!self_load(&self, true) || sigaltstack(&ss, NULL) < 0)
		return -1;
	return sigaction(SIGTRAP, &sa, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	self_unload(&self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_formatting),     cmocka_unit_test(step_sorting),
		cmocka_unit_test(step_memory),	       cmocka_unit_test(step_patterns),
		cmocka_unit_test(step_files_and_time), cmocka_unit_test(step_dynamic_linker),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
