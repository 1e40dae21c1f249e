/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locking a helper process in before it reads its first foreign byte. What is
 * left: computing, memory without new code, reading the descriptors it is
 * given, and talking on its socket.
 */
#ifndef ST_LOADER_SANDBOX_H
#define ST_LOADER_SANDBOX_H

#define SANDBOX_SOCK_FD	 3 /* where sandbox_enter puts the two descriptors that stay */
#define SANDBOX_STATM_FD 4

/*
 * Confine this process: SOCK moves to SANDBOX_SOCK_FD, every other descriptor
 * is closed (0 to 2 become /dev/null), limits are set, and system calls
 * filtered, where it was built with seccomp. On failure (-errno) the
 * process must end without serving anything.
 */
int sandbox_enter(int sock);

#endif
