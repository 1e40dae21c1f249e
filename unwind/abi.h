/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the compiler (lower_*.c, synth_*.c) and the steps (x86_64.c, i386.c, aarch64.c) must agree on. */
#ifndef ST_UNWIND_ABI_H
#define ST_UNWIND_ABI_H

#include "unwind/unwind.h"

/* Where a signal's ucontext has the registers (psABI, <sys/ucontext.h>): from its start. */
#define X86_UCONTEXT_GREGS 40

/*
 * The callee-saved registers that have a slot in a table's saved[], in order; the frame pointer
 * has its own. In the slot after the last, bit i is set where slot i counts from
 * the frame pointer, as in realigned frames.
 */
static const uint8_t x86_saved_regs[] = {X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
static const uint8_t i386_saved_regs[] = {I386_EBX, I386_ESI, I386_EDI};

/*
 * Where a signal frame has the interrupted x0, from its stack pointer: struct
 * rt_sigframe (arch/arm64/kernel/signal.c) is a siginfo of 128 bytes and a
 * ucontext, whose sigcontext begins at 176 with the fault address. sp and pc
 * follow x30.
 */
#define A64_SIGNAL_REGS (128 + 176 + 8)

#define A64_INSN_BYTES 4

/* Instructions are little endian whatever the data is. */
static inline uint32_t a64_insn(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* `mov x8,#139; svc #0`: the return from a signal handler. */
static const uint8_t a64_sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

#endif
