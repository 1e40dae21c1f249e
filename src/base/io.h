/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls that several layers need, with their retries and their errors
 * as negative errno: whole reads, sealed memory files, messages with
 * descriptors, time.
 */
#ifndef ST_BASE_IO_H
#define ST_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in nanoseconds. Not for unwind/, profile/ and view/: they take time as an argument. */
uint64_t now_ns(void);

/* CPU time of this thread. Reading it is a system call. */
uint64_t thread_cpu_ns(void);

/* Resident bytes by a /proc/PID/statm that is open at FD; 0: not known. */
uint64_t statm_rss_bytes(int fd);
/* Close the descriptors FIRST to LAST. May be called after a fork with threads. */
void close_fds(unsigned int first, unsigned int last);
/* A pidfd of process PID, or -1: this kernel (before 5.3) has none. */
int pidfd_hold(pid_t pid);

/*
 * Read up to MAX bytes from FD to its end into a new heap block with a NUL
 * after it. On success *RET_DATA is owned by the caller and *RET_LEN set.
 * Returns 0, -errno, or -EFBIG when there are more than MAX bytes.
 */
int read_all(int fd, size_t max, char **ret_data, size_t *ret_len);

/* The number in a file of /proc/sys, or FALLBACK. */
int64_t sysctl_read(const char *path, int64_t fallback);
/* The level that limits perf_event_open(2), and the highest one that Linux itself knows: distributions' kernels have more. */
#define PARANOID_PATH	   "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_LINUX_MAX 2

/* Write all LEN bytes. Returns 0 or -errno. */
int write_all(int fd, const void *data, size_t len);

/*
 * A new memory file with this content, sealed against every change, at offset
 * 0, close-on-exec. Returns the descriptor or -errno.
 */
int memfd_sealed(const char *name, const void *data, size_t len);

/*
 * Map a memory file read-only after checking that it is sealed against
 * shrinking and writing (else a hostile sender could take the pages away) and
 * not larger than MAX bytes. Returns 0 and the mapping in *RET_DATA, *RET_LEN
 * (munmap it), or -errno (-EPERM: not sealed; -EFBIG: too large).
 */
int memfd_map(int fd, size_t max, const void **ret_data, size_t *ret_len);

/*
 * Send one message of LEN bytes with descriptor FD (-1: none) over a
 * SOCK_SEQPACKET socket. FLAGS: MSG_DONTWAIT or 0. Returns 0 or -errno.
 */
int msg_send(int sock, const void *data, size_t len, int fd, int flags);

/*
 * Receive one message into DATA (at most MAX bytes) and its descriptor, if it
 * has one, into *RET_FD (close-on-exec, owned by the caller; else -1).
 * Returns the length (> 0), 0 at the end of the connection, or -errno
 * (-EMSGSIZE when the message is longer than MAX).
 */
ssize_t msg_recv(int sock, void *data, size_t max, int *ret_fd, int flags);

#endif
