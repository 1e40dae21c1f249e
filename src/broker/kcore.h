/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code of the kernel that runs, out of /proc/kcore, which has all of its memory: only what kallsyms says is code is
 * handed out. It is as it runs, with what was patched into it. Runs on the broker's worker threads.
 */
#ifndef ST_BROKER_KCORE_H
#define ST_BROKER_KCORE_H

#include <stdint.h>

/*
 * Call while privileged: who opens it decides whether it may be read. The descriptor or -errno: -ENOSYS this
 * kernel has none, -EACCES, -EPERM it is not for this user, or locked down.
 */
int kcore_open(void);

/*
 * Answer BROKER_KCORE by the descriptor of kcore_open(): a sealed memory file with the bytes from ADDRESS on, where
 * a function begins, up to the first symbol that is not code or not of the same kernel module, and to the end of its page
 * where nothing of these follows; at most BROKER_KCORE_BYTES_MAX. -ENOENT: no function begins there, or it has
 * no memory; -errno.
 */
int kcore_code(int kcore, uint64_t address);

/* --- for tests too --- */

/* The same by the text of kallsyms in the file KALLSYMS. */
int kcore_code_by(int kcore, int kallsyms, uint64_t address);

#endif
