/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loader process: parses everything that somebody else controls. It gets
 * open descriptors and fills memory files that the client made; it opens
 * nothing, holds no privilege, and may crash or be killed at any time.
 */
#ifndef ST_LOADER_LOADER_H
#define ST_LOADER_LOADER_H

/*
 * Serve requests on SOCK until its end. Runs in a process of its own that has
 * already changed its user and dropped its capabilities; confines itself
 * (seccomp, RLIMIT_AS, RLIMIT_FSIZE 0, RLIMIT_CORE 0, no_new_privs) before the
 * first request. Returns an exit status.
 */
int loader_main(int sock);

#endif
