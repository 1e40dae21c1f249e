/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the compiler (lower_x86_64.c) and the steps (x86_64.c) must agree on. */
#ifndef ST_UNWIND_X86_64_ABI_H
#define ST_UNWIND_X86_64_ABI_H

#include "unwind/unwind.h"

/* Where a signal's ucontext has the registers (psABI, <sys/ucontext.h>): from its start. */
#define X86_UCONTEXT_GREGS 40

/* The callee-saved registers that have a slot in a table's saved[], in order; rbp has its own. */
static const uint8_t x86_saved_regs[] = {X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};

/* saved[5]: bit i is set where slot i counts from rbp, as in realigned frames. */
#define X86_SAVED_FROM_FP sizeof(x86_saved_regs)

#endif
