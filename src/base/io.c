/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls with retries: see io.h. */
#include "config.h"

#include "src/base/io.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FD_MAX		 65536u /* where closing one by one stops */
#define SYSCTL_BYTES_MAX 4096u
#define MEMFD_SEALS	 (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t thread_cpu_ns(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t statm_rss_bytes(int fd)
{
	unsigned long long pages;
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[MAX(n, 0)] = '\0';
	return sscanf(text, "%*u %llu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void close_fds(unsigned int first, unsigned int last)
{
	if (first > last)
		return;
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	for (unsigned int fd = first; fd <= MIN(last, FD_MAX); fd++) /* before Linux 5.9 */
		close((int)fd);
}

int pidfd_hold(pid_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

int read_all(int fd, size_t max, char **ret_data, size_t *ret_len)
{
	AUTO_FREE char *data = NULL;
	size_t len = 0, cap = 0;

	for (;;) {
		ssize_t n;
		int r = vec_reserve(&data, &cap, len + 4096, max + 4096);

		if (r < 0)
			return r == -E2BIG ? -EFBIG : r;
		n = read(fd, data + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	data[len] = '\0';
	*ret_data = steal_ptr(data);
	*ret_len = len;
	return 0;
}

int64_t sysctl_read(const char *path, int64_t fallback)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	long long value;
	size_t len;
	char *end;

	if (fd < 0 || read_all(fd, SYSCTL_BYTES_MAX, &text, &len) < 0)
		return fallback;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno || end == text ? fallback : value;
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int memfd_sealed(const char *name, const void *data, size_t len)
{
	AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, data, len);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, MEMFD_SEALS) < 0)
		return -errno;
	return steal_fd(&fd);
}

int memfd_map(int fd, size_t max, const void **ret_data, size_t *ret_len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *data;

	if (seals < 0)
		return -errno;
	if ((seals & MEMFD_SEALS) != MEMFD_SEALS)
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0)
		return -ENODATA;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	/*
	 * Private: of what is sealed against writing Linux before 6.7 maps nothing shared, even to read. The
	 * pages are the same.
	 */
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*ret_data = data;
	*ret_len = (size_t)st.st_size;
	return 0;
}

int msg_send(int sock, const void *data, size_t len, int fd, int flags)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	while (sendmsg(sock, &msg, flags | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/*
 * Take the one descriptor that MSG may carry. There is room for a second one
 * in its control buffer (it is rounded up), so a hostile sender can have it
 * installed: then both are closed. -EMSGSIZE if the message is not whole.
 */
static int msg_take_fd(struct msghdr *msg, int *ret_fd)
{
	bool is_whole = !(msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	int fds[2] = {-1, -1};
	size_t nr = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		nr = nr < 2 ? nr : 2;
		memcpy(fds, CMSG_DATA(cmsg), nr * sizeof(int));
	}
	if (is_whole && nr <= 1) {
		*ret_fd = fds[0];
		return 0;
	}
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return -EMSGSIZE;
}

ssize_t msg_recv(int sock, void *data, size_t max, int *ret_fd, int flags)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = data, .iov_len = max};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n;
	int r;

	*ret_fd = -1;
	do
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r = msg_take_fd(&msg, ret_fd);
	return r < 0 ? r : n;
}
