/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sideband records for the tests of the proc layer, a word each. */
#ifndef ST_TESTS_PROC_UTIL_H
#define ST_TESTS_PROC_UTIL_H

#include "src/base/util.h"
#include "src/proc/proc.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LIBC "/usr/lib/libc.so.6"

static inline void do_fork(struct procs *procs, pid_t ppid, pid_t pid, uint64_t time_ns)
{
	struct record record = {
		.kind = RECORD_FORK,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)pid,
		.time_ns = time_ns,
		.fork = {.ppid = (uint32_t)ppid, .ptid = (uint32_t)ppid},
	};

	assert_int_equal(procs_apply(procs, &record), 0);
}

/* Thread MAKER of PID makes thread TID. */
static inline void do_thread_of(struct procs *procs, pid_t pid, pid_t maker, pid_t tid,
				uint64_t time_ns)
{
	struct record record = {
		.kind = RECORD_FORK,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.time_ns = time_ns,
		.fork = {.ppid = (uint32_t)pid, .ptid = (uint32_t)maker},
	};

	assert_int_equal(procs_apply(procs, &record), 0);
}

static inline void do_thread(struct procs *procs, pid_t pid, pid_t tid, uint64_t time_ns)
{
	do_thread_of(procs, pid, pid, tid, time_ns);
}

static inline void do_comm(struct procs *procs, pid_t pid, pid_t tid, const char *comm,
			   bool is_exec, uint64_t time_ns)
{
	struct record record = {
		.kind = RECORD_COMM,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.time_ns = time_ns,
		.comm = {.is_exec = is_exec, .comm = comm},
	};

	assert_int_equal(procs_apply(procs, &record), 0);
}

static inline void do_exec(struct procs *procs, pid_t pid, const char *comm, uint64_t time_ns)
{
	do_comm(procs, pid, pid, comm, true, time_ns);
}

static inline void do_exit(struct procs *procs, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct record record = {
		.kind = RECORD_EXIT,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)tid,
		.time_ns = time_ns,
	};

	assert_int_equal(procs_apply(procs, &record), 0);
}

/* An executable mapping of the file with inode INO (0: anonymous). */
static inline struct record mmap_of(pid_t pid, uint64_t start, uint64_t len, const char *path,
				    uint64_t ino, uint64_t time_ns)
{
	return (struct record){
		.kind = RECORD_MMAP,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)pid,
		.time_ns = time_ns,
		.misc = 2,
		.mmap =
			{
				.start = start,
				.len = len,
				.maj = ino ? 8 : 0,
				.min = ino ? 1 : 0,
				.ino = ino,
				.is_exec = true,
				.filename = path,
			},
	};
}

static inline void do_mmap(struct procs *procs, pid_t pid, uint64_t start, uint64_t len,
			   const char *path, uint64_t ino, uint64_t time_ns)
{
	struct record record = mmap_of(pid, start, len, path, ino, time_ns);

	assert_int_equal(procs_apply(procs, &record), 0);
}

/* The module at ADDR in the maps of PID, or PROC_MODULE_UNKNOWN. */
static inline uint32_t module_at(struct procs *procs, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	const struct unwind_space *space = process_space(procs_of_sample(procs, pid, time_ns));
	const struct unwind_map *map = unwind_map_of(space, addr);

	return map ? map->module->id : PROC_MODULE_UNKNOWN;
}

static inline const char *name_at(struct procs *procs, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	return procs_module(procs, module_at(procs, pid, addr, time_ns))->name;
}

/* What is allocated. */
static inline size_t heap_bytes(void)
{
#ifdef __GLIBC__
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

#endif
