/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mappings of files as the kernel records them: by which device and inode, and
 * with which rights. Opens no file of a target. Runs on the broker's worker
 * threads.
 */
#ifndef ST_BROKER_MAPS_H
#define ST_BROKER_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* A range of addresses and the file that is mapped there: /proc/PID/maps, MMAP2 records. */
struct maps_range {
	uint64_t start, end, ino;
	uint32_t maj, min;
};

/*
 * The first executable mapping in [WANT->start, WANT->end) of WANT's file, of the process whose maps
 * file is open at FD; HAS_QUERY: the kernel answers for one address (PROCMAP_QUERY, Linux 6.11), else
 * the text is read, up to a bound. 0, -ENOENT: there is none, -EFBIG: not found within the bound, or
 * another -errno.
 */
int maps_find_exec(int fd, const struct maps_range *want, bool has_query, struct maps_range *ret);

/*
 * The first executable mapping in [WANT->start, WANT->end), of a file or not, of which the kernel answers. As
 * maps_find_exec else; -ENOTTY or -EPERM: it does not.
 */
int maps_ask_code(int fd, const struct maps_range *want, struct maps_range *ret);

/*
 * The mapping that holds ADDR and could be a stack: readable, writable, private and not executable. As
 * maps_find_exec else.
 */
int maps_find_stack(int fd, uint64_t addr, bool has_query, struct maps_range *ret);

/*
 * Device and inode by which the kernel records mappings of the file open at FD, into RET (stat(2)
 * tells other devices on btrfs and overlayfs). The file is mapped here to see it; nothing is read of
 * it. 0 or -errno.
 */
int maps_file_id(int fd, bool has_query, struct maps_range *ret);

#endif
