/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel's part of sampling takes from the sampled CPUs: the interrupt and the copying. No
 * clock counts it for stacktop; it falls to whatever program was interrupted. So it is an estimate.
 *
 * Measured with a program that is pinned to a CPU and reads the time stamp counter in a loop, while
 * cpu-clock at 2000 Hz samples it with registers and a copy of a stack that is deep enough: the gaps
 * in which the ring's head moved, their tenth percentile. 2-CPU virtual machine (AMD EPYC), Linux 6.18:
 *
 *	stack copied	4 KB	8 KB	16 KB	32 KB	64 KB
 *	gap, us		13.9	15.3	16.2	20.0	22.8
 *
 * Programming the timer again leaves the virtual machine, which is most of it: without a hypervisor it is less.
 */
#ifndef ST_ENGINE_KERNEL_COST_H
#define ST_ENGINE_KERNEL_COST_H

#include <stdint.h>

#define KERNEL_COST_SAMPLE_NS 13500 /* of CPU time for each sample ... */
#define KERNEL_COST_BYTE_PS   150   /* ... and for each byte of user stack that it has with it */

/* CPU time in ns that SAMPLES with STACK_BYTES of user stacks in all took. */
static inline uint64_t kernel_cost_ns(uint64_t samples, uint64_t stack_bytes)
{
	return samples * KERNEL_COST_SAMPLE_NS + stack_bytes / 1000 * KERNEL_COST_BYTE_PS;
}

#endif
