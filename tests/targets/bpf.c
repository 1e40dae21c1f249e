/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A BPF program that counts, loaded into the kernel and run there for ever, by bpf(2) alone.
 * Usage: bpf NAME (at most 15 characters). Ends with 77 and the reason where that is not allowed.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS	 50000 /* of the program's loop: the verifier walks through all of them */
#define REPEATS	 100   /* of the program in one system call */
#define DATA_MIN 64    /* it is a filter of packets, of which this is one */

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(const char *name)
{
	/* r0 = 0; do r0 += 1; while (r0 < ROUNDS); return r0 */
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = BPF_REG_0, .off = -2, .imm = ROUNDS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	static char license[] = "GPL";
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = sizeof(code) / sizeof(code[0]);
	attr.license = (uint64_t)(uintptr_t)license;
	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return bpf(BPF_PROG_LOAD, &attr);
}

static int run(int program)
{
	static char data[DATA_MIN];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)program;
	attr.test.data_in = (uint64_t)(uintptr_t)data;
	attr.test.data_size_in = sizeof(data);
	attr.test.repeat = REPEATS;
	return bpf(BPF_PROG_TEST_RUN, &attr);
}

int main(int argc, char **argv)
{
	int program = load(argc > 1 ? argv[1] : "counts");

	if (program < 0 || run(program) < 0) {
		printf("%s\n", strerror(errno));
		return 77;
	}
	for (;;) {
		if (run(program) < 0)
			return 1;
		usleep(10000); /* there are others */
	}
}
