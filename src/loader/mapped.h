/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that are mapped and not read: debug information is hundreds of megabytes, of
 * which a question looks at a few pages. Its owner may cut such a file off at any time;
 * what is not there any more reads as zeros then, instead of ending the loader. Knows
 * nothing of what is in the files. One thread.
 */
#ifndef ST_LOADER_MAPPED_H
#define ST_LOADER_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

#define MAPPED_MAX 128 /* files at once */

struct mapped {
	void *data; /* private: writing to it changes no file */
	size_t bytes;
};

/*
 * Map all of the regular file that FD is open on, which need not stay open. 0,
 * -ENOEXEC (no file with bytes in it), -ENOMEM (no address space), -EMFILE (too many), -errno.
 */
int mapped_open(int fd, struct mapped *ret);
/* A zeroed struct is closed already. */
void mapped_close(struct mapped *mapped);

/*
 * From a handler of SIGBUS for address ADDR: if it is in a mapped file, that one reads as
 * zeros from there on. False: it is not, and the signal is to be deadly.
 */
bool mapped_repair(const void *addr);
/* Has that happened to MAPPED? */
bool mapped_was_cut(const struct mapped *mapped);

#endif
