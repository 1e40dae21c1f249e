/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the compiler (lower_aarch64.c, synth_aarch64.c) and the steps (aarch64.c) must agree on. */
#ifndef ST_UNWIND_AARCH64_ABI_H
#define ST_UNWIND_AARCH64_ABI_H

#include "unwind/unwind.h"

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
