/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a command for which perf_event_open(2) fails with EACCES unless the thread that calls it has CAP_SYS_ADMIN
 * in force, as on kernels of Debian and Ubuntu at the levels of kernel.perf_event_paranoid that only they know.
 * Usage: admin_perf COMMAND [ARGUMENT...]
 */
#include "config.h"

#include "src/base/io.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_admin(uint32_t tid)
{
	unsigned long long effective = 0;
	char path[32], line[256];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	status = fopen(path, "re");
	if (!status)
		return false;
	while (fgets(line, sizeof(line), status) && sscanf(line, "CapEff: %llx", &effective) != 1)
		;
	fclose(status);
	return effective >> CAP_SYS_ADMIN & 1;
}

/* Decide on each call, until nobody is left who could make one. */
static void supervise(int listener)
{
	struct pollfd pfd = {.fd = listener, .events = POLLIN};

	while (poll(&pfd, 1, -1) >= 0 && !(pfd.revents & POLLHUP)) {
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp answer = {0};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (errno != EINTR && errno != ENOENT)
				return;
			continue;
		}
		answer.id = call.id;
		if (has_admin(call.pid))
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		else
			answer.error = -EACCES;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

int main(int argc, char **argv)
{
	int socks[2], listener;
	char byte;

	if (argc < 2) {
		fprintf(stderr, "usage: admin_perf COMMAND...\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return 77;
	if (fork() == 0) {
		close(socks[0]);
		if (msg_recv(socks[1], &byte, 1, &listener, 0) == 1 && listener >= 0) {
			close(socks[1]);
			supervise(listener);
		}
		return 0;
	}
	close(socks[1]);
	listener = filter();
	if (listener < 0 || msg_send(socks[0], "l", 1, listener, 0) < 0) {
		perror("admin_perf: no seccomp here");
		return 77;
	}
	close(socks[0]);
	close(listener);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
