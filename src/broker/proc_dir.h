/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc tells about processes in the kernel's own words: numbers, names
 * of threads, the text of maps. Runs on the broker's worker threads.
 */
#ifndef ST_BROKER_PROC_DIR_H
#define ST_BROKER_PROC_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char comm[16];
	uint64_t start_time; /* clock ticks since boot */
	bool is_kernel;
};

/* Parse the text of /proc/PID/stat (its comm may hold anything). False: not such a text. */
bool proc_stat_parse(const char *text, size_t len, struct proc_stat *ret);

/*
 * /proc/PID as a descriptor for openat, if the process is the one started at
 * START_TIME (0: whoever it is), else -ESTALE or -ENOENT. The descriptor stays
 * with this process: when the pid is used again, it leads nowhere (ESRCH), so
 * one check is enough.
 */
int proc_dir_open(pid_t pid, uint64_t start_time);
/* The user (effective) of process PID that began at START_TIME (0: any), into *RET_UID; left as it is when that is gone. */
void proc_uid(pid_t pid, uint64_t start_time, uint32_t *ret_uid);
/* errno of a call on something in a process's directory; a process that ended is -ENOENT. */
int proc_error(void);

/* Sealed memory files; a descriptor or -errno. IS_OWN tells stacktop's own processes. */
int proc_scan(bool (*is_own)(void *context, pid_t pid), void *context);
int proc_tasks(pid_t pid, uint64_t start_time);
int proc_threads(pid_t pid, uint64_t start_time);
int proc_maps(pid_t pid, uint64_t start_time);
int proc_cgroup(pid_t pid, uint64_t start_time);

#endif
