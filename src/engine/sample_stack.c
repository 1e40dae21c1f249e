/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One sample becomes one path: user frames from the root down, then the
 * kernel frames of the same sample. Blending only: unwind/ does the steps.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* perf's register numbers (<asm/perf_regs.h>, x86-64) by DWARF number; perf counts AX BX CX DX SI DI BP SP IP. */
static const uint8_t perf_reg_of_dwarf[X86_NR_REGS] = {
	[X86_RAX] = 0,	[X86_RBX] = 1,	[X86_RCX] = 2,	[X86_RDX] = 3,	[X86_RSI] = 4,
	[X86_RDI] = 5,	[X86_RBP] = 6,	[X86_RSP] = 7,	[X86_RIP] = 8,	[X86_R8] = 16,
	[X86_R9] = 17,	[X86_R10] = 18, [X86_R11] = 19, [X86_R12] = 20, [X86_R13] = 21,
	[X86_R14] = 22, [X86_R15] = 23,
};

/* The same for i386: perf counts them as those of x86-64. */
static const uint8_t perf_reg_of_i386[I386_NR_REGS] = {
	[I386_EAX] = 0, [I386_EBX] = 1, [I386_ECX] = 2, [I386_EDX] = 3, [I386_ESI] = 4,
	[I386_EDI] = 5, [I386_EBP] = 6, [I386_ESP] = 7, [I386_EIP] = 8,
};

/*
 * Of the complete stacks one in so many is compared with what frame pointers make of it. No multiple
 * of the 16 of which one is timed: its cost is in as many of the timed ones as of all.
 */
#define FP_COMPARE_EVERY 17

#define CALL_BYTES_MAX 15 /* of an instruction of x86-64 */

#define PERF_REGS_X86_64 24 /* without those of vectors, which are not asked for */

/* The registers of a machine that is unwound here. */
struct machine_regs {
	enum table_machine machine;
	unsigned int nr, sp, pc;
	const uint8_t *perf_reg_of_dwarf; /* NULL: they have the same numbers */
	uint64_t mask;			  /* of their bits */
};

static const struct machine_regs regs_x86_64 = {
	.machine = TABLE_MACHINE_X86_64,
	.nr = X86_NR_REGS,
	.sp = X86_RSP,
	.pc = X86_RIP,
	.perf_reg_of_dwarf = perf_reg_of_dwarf,
	.mask = UINT64_MAX,
};

static const struct machine_regs regs_i386 = {
	.machine = TABLE_MACHINE_I386,
	.nr = I386_NR_REGS,
	.sp = I386_ESP,
	.pc = I386_EIP,
	.perf_reg_of_dwarf = perf_reg_of_i386,
	.mask = UINT32_MAX,
};

static const struct machine_regs regs_aarch64 = {
	.machine = TABLE_MACHINE_AARCH64,
	.nr = A64_NR_REGS,
	.sp = A64_SP,
	.pc = A64_PC,
	.mask = UINT64_MAX,
};

int stacks_init(struct stacks *s, uint32_t max_frames)
{
	/* A chain may be as long as the kernel lets it be. */
	s->max_frames =
		MAX(max_frames ? max_frames : UNWIND_DEPTH_DEFAULT, (uint32_t)UNWIND_FRAMES_MAX);
	s->completes = true;
	s->user = calloc(s->max_frames, sizeof(*s->user));
	s->untried = calloc(s->max_frames, sizeof(*s->untried));
	s->path = calloc((size_t)s->max_frames + KERNEL_IPS_MAX, sizeof(*s->path));
	s->lbr = lbr_new();
	s->tails = tails_new();
	s->stitch = s->tails ? stitch_new(s->max_frames, s->tails) : NULL;
	s->fp_counts = fp_counts_new();
	if (!s->recording && !(s->codes = codes_new()))
		return -ENOMEM;
	return s->user && s->untried && s->path && s->lbr && s->stitch && s->fp_counts ? 0
										       : -ENOMEM;
}

void stacks_done(struct stacks *s)
{
	s->codes = codes_free(s->codes);
	s->lbr = lbr_free(s->lbr);
	s->stitch = stitch_free(s->stitch);
	s->fp_counts = fp_counts_free(s->fp_counts);
	s->tails = tails_free(s->tails);
	free(s->user);
	free(s->untried);
	free(s->path);
	s->user = s->untried = NULL;
	s->path = NULL;
}

static uint64_t sample_reg(const struct record_sample *sample, unsigned int perf_reg)
{
	uint64_t bit = 1ull << perf_reg;

	if (!(sample->regs_mask & bit))
		return 0;
	return sample->regs[__builtin_popcountll(sample->regs_mask & (bit - 1))];
}

/* The user address that a sample with branch records was taken at, or 0. */
static uint64_t lbr_leaf(const struct record_sample *sample, const struct callchain_part *user)
{
	uint64_t pc;

	if (sample->cpumode == RECORD_CPUMODE_USER)
		return sample->ip;
	/* Taken in the kernel: where the program entered it, or at least which function had been called. */
	pc = sample->regs ? sample_reg(sample, perf_reg_of_dwarf[X86_RIP]) : 0;
	if (!pc && user->nr > 0)
		pc = user->ips[0];
	return !pc && sample->nr_branches > 0 ? sample->branches[0].to : pc;
}

/* The user part is the leaf, then where each function on the branch stack was called. */
static void lbr_input_of(struct stacks *s, const struct process *process,
			 const struct record *record, const struct callchain_part *user,
			 struct stack_input *ret)
{
	const struct record_sample *sample = &record->sample;
	uint64_t leaf = lbr_leaf(sample, user);
	const struct lbr_sample branches = {
		.process = process->index,
		.tid = record->tid,
		.entries = (const struct lbr_entry *)sample->branches,
		.nr = sample->nr_branches,
		.newest_slot = s->completes ? sample->branch_hw_idx : LBR_NO_SLOT,
	};

	_Static_assert(sizeof(struct lbr_entry) == sizeof(struct record_branch),
		       "branch entries are used in place");
	ret->user_ips = s->user_ips;
	ret->nr_user_ips = 0;
	if (!leaf)
		return;
	s->user_ips[0] = leaf;
	ret->nr_user_ips =
		1 + lbr_sites(s->lbr, &branches, s->user_ips + 1, UNWIND_FRAMES_MAX - 1, &ret->cut);
}

/* Recorded without callchains: the place of the sample is all there is. */
static void lone_ip(const struct record_sample *sample, struct callchain_part *kernel,
		    struct callchain_part *user)
{
	const struct callchain_part part = {.ips = &sample->ip, .nr = sample->ip != 0};

	if (sample->cpumode == RECORD_CPUMODE_KERNEL)
		*kernel = part;
	else if (sample->cpumode == RECORD_CPUMODE_USER)
		*user = part;
}

/*
 * How many of a chain's frames the frame of IP stands for: the innermost, where
 * the interrupt came, and its caller too if IP is (or stands before) the call
 * after which the interrupt came.
 */
static uint64_t frames_of(uint64_t ip, const struct callchain_part *part)
{
	bool has_left = part->nr > 0 && (part->ips[0] < ip || part->ips[0] - ip > CALL_BYTES_MAX);
	uint64_t caller = part->nr > 1 ? part->ips[1] : 0;

	if (has_left && caller > ip && caller - ip <= CALL_BYTES_MAX)
		return 2;
	return MIN(part->nr, 1ull);
}

/* Put IP in the place of the innermost frame of PART, into ROOM of MAX words. */
static void begin_at(struct callchain_part *part, uint64_t ip, uint64_t *room, uint64_t max)
{
	uint64_t passed = frames_of(ip, part);
	uint64_t nr = MIN(part->nr - passed, max - 1);

	room[0] = ip;
	if (nr > 0)
		memcpy(room + 1, part->ips + passed, nr * sizeof(*room));
	*part = (struct callchain_part){.ips = room, .nr = nr + 1};
}

/*
 * A chain begins where the interrupt came, a few instructions after the one that a
 * precise event means, perhaps in another function or on the other side of a
 * system call. What of the stack is further in than that one was not there yet.
 */
static void begin_at_ip(struct stacks *s, const struct record_sample *sample,
			struct callchain_part *kernel, struct callchain_part *user)
{
	if (sample->ip == 0)
		return;
	if (sample->cpumode == RECORD_CPUMODE_KERNEL) {
		begin_at(kernel, sample->ip, s->kernel_ips, ARRAY_SIZE(s->kernel_ips));
	} else if (sample->cpumode == RECORD_CPUMODE_USER) {
		*kernel = (struct callchain_part){0};
		begin_at(user, sample->ip, s->user_ips, ARRAY_SIZE(s->user_ips));
	}
}

/* Of the task that was sampled; NULL: it is of a machine that is not unwound here. */
static const struct machine_regs *machine_of(const struct stacks *s,
					     const struct record_sample *sample)
{
	bool is_32 = sample->abi == RECORD_ABI_32;

	if (!s->recording)
#if defined(__aarch64__)
		return &regs_aarch64;
#else
		return is_32 ? &regs_i386 : &regs_x86_64;
#endif
	switch (s->recording->arch) {
	case RECORDING_ARCH_X86_64:
		return is_32 ? &regs_i386 : &regs_x86_64;
	case RECORDING_ARCH_I386:
		return &regs_i386;
	case RECORDING_ARCH_AARCH64:
		return &regs_aarch64;
	case RECORDING_ARCH_UNKNOWN: /* has it registers that x86-64 has not? */
		if (sample->regs_mask >> PERF_REGS_X86_64)
			return NULL;
		return is_32 ? &regs_i386 : &regs_x86_64;
	default:
		return NULL;
	}
}

static void take_regs(const struct record_sample *sample, const struct machine_regs *machine,
		      struct stack_input *ret)
{
	const uint8_t *perf_reg = machine->perf_reg_of_dwarf;

	ret->regs.machine = machine->machine;
	ret->regs.is_precise = sample->is_precise;
	ret->regs.returned_to = 0;
	for (unsigned int i = 0; i < machine->nr; i++)
		ret->regs.r[i] = sample_reg(sample, perf_reg ? perf_reg[i] : i) & machine->mask;
	ret->pc = ret->regs.r[machine->pc];
	ret->stack.data = sample->stack;
	ret->stack.base = ret->regs.r[machine->sp];
	ret->stack.bytes = sample->stack_bytes;
	ret->stack.is_cut = sample->stack_bytes == sample->stack_bytes_reserved;
}

void stack_input_of(struct stacks *s, const struct process *process, const struct record *record,
		    struct stack_input *ret)
{
	const struct record_sample *sample = &record->sample;
	const struct machine_regs *machine = machine_of(s, sample);
	struct callchain_part kernel, user;

	callchain_split(sample->callchain, sample->nr_callchain, &kernel, &user);
	ret->tid = record->tid;
	ret->time_ns = record->time_ns;
	if (sample->nr_callchain == 0)
		lone_ip(sample, &kernel, &user);
	else if (sample->is_precise)
		begin_at_ip(s, sample, &kernel, &user);
	ret->mode = sample->mode;
	ret->is_foreign = !machine;
	ret->abi = sample->regs && machine ? sample->abi : RECORD_ABI_NONE;
	ret->kernel_ips = kernel.ips;
	ret->nr_kernel_ips = (uint32_t)MIN(kernel.nr, (uint64_t)KERNEL_IPS_MAX);
	ret->user_ips = user.ips;
	ret->nr_user_ips = (uint32_t)MIN(user.nr, (uint64_t)UNWIND_FRAMES_MAX);
	ret->stack = (struct unwind_stack){.max_frames = s->max_frames};
	ret->read_ns = 0;
	if (ret->mode == STACK_MODE_LBR)
		lbr_input_of(s, process, record, &user, ret);
	if (ret->mode == STACK_MODE_DWARF && ret->abi != RECORD_ABI_NONE)
		take_regs(sample, machine, ret);
	ret->leaf = sample->is_precise && sample->cpumode == RECORD_CPUMODE_USER ? sample->ip : 0;
}

/* Programs of 32 bits are unwound of x86, not of Arm. */
static bool is_arm_32(const struct stack_input *input)
{
	return input->abi == RECORD_ABI_32 && input->regs.machine == TABLE_MACHINE_AARCH64;
}

/* What the kernel walked of a stack that is not unwound here, or its innermost frame. */
static void recorded_part(struct stacks *s, const struct unwind_space *space,
			  const struct stack_input *input, struct unwind_result *ret)
{
	uint64_t pc = is_arm_32(input) ? input->pc : 0;

	if (input->nr_user_ips > 0) {
		unwind_fp(space, input->user_ips, input->nr_user_ips, s->fp_ips_max, s->user, ret);
	} else if (pc) {
		unwind_frame_of(space, pc, false, NULL, &s->user[0]);
		ret->nr_frames = 1;
	} else {
		return;
	}
	if (ret->end != STACK_END_PENDING)
		ret->end = STACK_END_ARCH;
}

/* Walked by the kernel, by the CPU or by who made the recording. */
static void chain_part(struct stacks *s, const struct unwind_space *space,
		       const struct stack_input *input, struct unwind_result *ret)
{
	if (input->nr_user_ips == 0)
		return;
	if (input->mode == STACK_MODE_LBR)
		unwind_lbr(space, input->user_ips, input->nr_user_ips, input->cut, s->user, ret);
	else
		unwind_fp(space, input->user_ips, input->nr_user_ips, s->fp_ips_max, s->user, ret);
}

static const struct unwind_result no_user = {.end = STACK_END_NO_USER,
					     .end_module = UNWIND_NO_MODULE};

/*
 * With what is known of code that nobody describes, made by the process or without CFI: it begins to be
 * read when a stack comes there, before anything is guessed.
 */
static void unwind_live(struct stacks *s, const struct process *process,
			const struct stack_input *input, const struct unwind_stack *stack,
			struct unwind_result *ret)
{
	struct unwind_space space = *process_space(process);
	uint64_t above = 0;

	space.code = codes_of(s->codes, process->index, input->time_ns);
	if (space.code && s->resolver) {
		bool is_told =
			resolve_jit_tells(s->resolver, process->index, input->time_ns, &above);

		unwind_code_set_told(space.code, is_told, above);
	}
	unwind_dwarf(&space, &input->regs, stack, s->user, ret);
	if (!ret->lacks_code)
		return;
	space.code = codes_add(s->codes, process->index, input->regs.machine, input->time_ns);
	if (!space.code)
		return;
	if (process_runtime(process) == RUNTIME_ERLANG)
		unwind_code_set_erlang(space.code);
	unwind_dwarf(&space, &input->regs, stack, s->user, ret);
}

static struct tail_thread thread_of(const struct process *process, const struct stack_input *input)
{
	return (struct tail_thread){process->index, input->tid, process_program(process)};
}

/* What the stack is if its thread can be trusted. */
static void keep_untried(struct stacks *s, const struct unwind_result *result,
			 struct stack_made *made)
{
	memcpy(s->untried, s->user, result->nr_frames * sizeof(*s->user));
	made->nr_untried = result->nr_frames;
	made->untried_end = result->end;
}

/*
 * With the rest of the stack, which was read after the sample. True: that is its end, or why it waits;
 * later stacks are stitched to it. False: the sample's own bytes are all there is, but the rest may be of use later.
 */
static bool unwind_with_rest(struct stacks *s, const struct process *process,
			     const struct stack_input *input, struct unwind_result *ret,
			     struct stack_made *made)
{
	struct unwind_space space = *process_space(process);
	const struct live_read read = {
		.space = &space,
		.thread = thread_of(process, input),
		.time_ns = input->time_ns,
		.read_ns = input->read_ns,
		.cut = input->stack.base + input->stack.bytes,
		.bytes = BROKER_GUARD_BYTES,
		.guard = input->stack.data + input->stack.bytes - BROKER_GUARD_BYTES,
	};

	assert(input->stack.bytes >= BROKER_GUARD_BYTES);
	unwind_live(s, process, input, &input->stack, ret);
	if (ret->end == STACK_END_PENDING)
		return true;
	if (ret->end == STACK_END_TRUNCATED && input->stack.is_cut)
		ret->end = STACK_END_DEPTH; /* more of a stack is never read */
	space.code = codes_of(s->codes, process->index, input->time_ns);
	made->rest = live_read_accept(s->tails, &read, s->user, ret);
	if (made->rest == TAIL_UNKNOWN)
		resolve_note_request(s->resolver);
	if (ret->end == STACK_END_ROOT)
		ret->end = STACK_END_LIVE_READ;
	if (made->rest == TAIL_UNTRIED)
		keep_untried(s, ret, made);
	if (made->rest != TAIL_BELIEVED)
		return false;
	if (ret->end == STACK_END_DEPTH)
		return true;
	/* Live reads come one soon after the other. */
	stitch_test(s->stitch, &read.thread, input->time_ns, TAILS_APART_NS, s->user, ret);
	stitch_stack(s->stitch, &read.thread, input->time_ns, s->user, ret);
	return true;
}

/* What the sample itself has of its stack. */
static struct unwind_stack copied_stack(const struct stack_input *input)
{
	struct unwind_stack stack = input->stack;

	if (stack.rest.bytes == 0)
		return stack;
	stack.rest = (struct unwind_piece){0};
	stack.is_cut = true;
	return stack;
}

/* A stack that the copy has cut off, or a return that it does not have, by an earlier stack of the thread. */
static void complete_by_earlier(struct stacks *s, const struct process *process,
				const struct stack_input *input, const struct unwind_stack *stack,
				struct unwind_result *ret)
{
	const struct stitch_return returned = {
		.thread = thread_of(process, input),
		.time_ns = input->time_ns,
		.space = process_space(process),
		.regs = &input->regs,
		.stack = stack,
	};

	if (s->completes && !stitch_return(s->stitch, &returned, s->user, ret))
		stitch_stack(s->stitch, &returned.thread, input->time_ns, s->user, ret);
}

/* The true stack is in s->user: what would frame pointers have made of it? */
static void compare_fp(struct stacks *s, const struct process *process,
		       const struct stack_input *input, const struct unwind_result *result)
{
	const struct unwind_space *space = process_space(process);
	uint32_t parts = 0;
	enum fp_verdict verdict;

	if (input->regs.machine != TABLE_MACHINE_X86_64 || input->regs.is_precise ||
	    ++s->fp_turn < FP_COMPARE_EVERY)
		return;
	s->fp_turn = 0;
	verdict = fp_compare(space, &input->regs, &input->stack, s->user, result->nr_frames,
			     s->fp_ips_max, &parts);
	fp_counts_add(s->fp_counts, s->user[0].module, s->user[parts].module, verdict);
}

/* A stack that goes on on another one: by the kernel's chain, if there is one. */
static void complete_by_chain(struct stacks *s, const struct process *process,
			      const struct stack_input *input, struct unwind_result *ret)
{
	struct unwind_space space = *process_space(process);

	space.code = codes_of(s->codes, process->index, input->time_ns);
	if (!space.code)
		space.code =
			codes_add(s->codes, process->index, input->regs.machine, input->time_ns);
	chain_join(&space, input->user_ips, input->nr_user_ips, s->user, s->max_frames, ret);
}

/* Of this machine's kind, with registers. */
static void dwarf_part(struct stacks *s, const struct process *process,
		       const struct stack_input *input, struct unwind_result *ret,
		       struct stack_made *made)
{
	const struct unwind_stack stack = copied_stack(input);

	made->was_cut = input->stack.rest.bytes > 0;
	if (made->was_cut && unwind_with_rest(s, process, input, ret, made))
		return;
	unwind_live(s, process, input, &stack, ret);
	if (ret->end == STACK_END_ROOT && ret->nr_frames > 0)
		compare_fp(s, process, input, ret);
	if (ret->end == STACK_END_NO_STACK) {
		/* In the middle of exec the registers are still those of the program that is gone. */
		if (input->nr_kernel_ips > 0 && s->user[0].module == UNWIND_NO_MODULE)
			*ret = no_user;
		return;
	}
	/* A copy is short as well where a page of the stack was never touched: the kernel stops there. */
	made->was_cut = ret->end == STACK_END_TRUNCATED;
	made->outside = ret->outside;
	complete_by_earlier(s, process, input, &stack, ret);
	if (ret->end == STACK_END_ALTSTACK && input->nr_user_ips > 0) {
		complete_by_chain(s, process, input, ret);
		made->is_joined = ret->end == STACK_END_ROOT;
	}
}

static void user_part(struct stacks *s, const struct process *process,
		      const struct stack_input *input, struct unwind_result *ret,
		      struct stack_made *made)
{
	const struct unwind_space *space = process_space(process);

	*ret = no_user;
	if (process->is_kernel) {
		ret->end = STACK_END_KERNEL;
		return;
	}
	if (input->mode != STACK_MODE_DWARF) {
		chain_part(s, space, input, ret);
		return;
	}
	if (input->is_foreign || is_arm_32(input)) {
		recorded_part(s, space, input, ret);
		return;
	}
	/* Who unwinds after recording may leave nothing but the chain: simpleperf does. */
	if (input->abi == RECORD_ABI_NONE ||
	    (s->recording && input->stack.bytes == 0 && input->nr_user_ips > 0)) {
		chain_part(s, space, input, ret);
		return;
	}
	dwarf_part(s, process, input, ret, made);
	if (input->leaf && input->leaf != input->pc && ret->nr_frames > 0 &&
	    ret->end != STACK_END_NO_STACK)
		unwind_frame_of(space, input->leaf, false, NULL, &s->user[0]);
}

/*
 * Pseudo-modules are one item each: an address in them means nothing to a reader. JIT is
 * what the process's own code is called.
 */
static struct profile_frame user_frame(const struct unwind_frame *frame,
				       const struct resolve_jit *jit)
{
	if (frame->module == PROC_MODULE_JIT && jit->module != PROC_MODULE_JIT)
		return (struct profile_frame){
			.module = jit->module,
			.off = ((frame->off - frame->is_return) & RESOLVE_JIT_ADDR_MASK) |
			       jit->above};
	if (frame->module == UNWIND_NO_MODULE)
		return (struct profile_frame){.module = PROC_MODULE_UNKNOWN};
	if (frame->module < PROC_MODULE_VDSO)
		return (struct profile_frame){.module = frame->module};
	return (struct profile_frame){.module = frame->module,
				      .off = frame->off - frame->is_return};
}

static struct profile_frame kernel_frame(const struct stacks *s, uint64_t addr)
{
	return s->recorded ? recorded_kernel_frame(s->recorded, addr)
			   : (struct profile_frame){.module = PROC_MODULE_KERNEL, .off = addr};
}

/* What the code that the process makes is called, if any of the NR user frames is of it. */
static struct resolve_jit jit_of(struct stacks *s, const struct process *process,
				 const struct stack_input *input, uint32_t nr)
{
	struct resolve_jit jit = {.module = PROC_MODULE_JIT};
	uint32_t i = 0;

	while (i < nr && s->user[i].module != PROC_MODULE_JIT)
		i++;
	if (i < nr && s->resolver)
		resolve_jit_of(s->resolver, process, input->time_ns, &jit);
	return jit;
}

void stack_path_again(struct stacks *s, const struct process *process,
		      const struct stack_input *input, struct stack_made *made)
{
	struct resolve_jit jit = jit_of(s, process, input, made->nr_user);
	uint32_t nr = 0;

	for (uint32_t i = made->nr_user; i-- > 0;)
		s->path[nr++] = user_frame(&s->user[i], &jit);
	for (uint32_t i = input->nr_kernel_ips; i-- > 0;)
		/* all but the innermost are return addresses */
		s->path[nr++] = kernel_frame(s, input->kernel_ips[i] - (i > 0));
	assert(nr <= s->max_frames + KERNEL_IPS_MAX);
	made->nr = nr;
}

void stack_path(struct stacks *s, const struct process *process, const struct stack_input *input,
		struct stack_made *ret)
{
	struct unwind_result result;

	*ret = (struct stack_made){0};
	user_part(s, process, input, &result, ret);
	ret->nr_user = result.nr_frames;
	ret->end = result.end;
	ret->end_module = result.end_module;
	ret->bytes_used = result.bytes_used;
	stack_path_again(s, process, input, ret);
}
