/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes, threads and maps, read from /proc: see proc_dir.h. */
#include "config.h"

#include "src/broker/proc_dir.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/broker/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROCESSES_MAX	 (1u << 20)
#define TASKS_MAX	 (1u << 22)
#define THREADS_MAX	 16384u /* names are read, one by one */
#define MAPS_BYTES_MAX	 (64u << 20)
#define CGROUP_BYTES_MAX (256u << 10) /* a path of 4 KB in each of some hierarchies */
#define STAT_BYTES_MAX	 1024
#define PF_KTHREAD	 0x00200000 /* linux/sched.h; field 9 of stat is visible to all */
#define FIELD_FLAGS	 9
#define FIELD_STARTTIME	 22

int proc_error(void)
{
	return errno == ESRCH ? -ENOENT : -errno;
}

/* The next number of a line of words apart by one space; false at its end. */
static bool next_number(const char **p, const char *end, uint64_t *ret)
{
	uint64_t value = 0;

	while (*p < end && **p == ' ')
		(*p)++;
	if (*p == end)
		return false;
	if (**p == '-')
		(*p)++;
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++)
		value = value * 10 + (uint64_t)(**p - '0');
	*ret = value;
	return *p == end || **p == ' ' || **p == '\n';
}

bool proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
{
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);
	const char *end = text + len, *p;
	uint64_t value = 0;

	*ret = (struct proc_stat){0};
	if (!open || !close || close < open)
		return false;
	memcpy(ret->comm, open + 1, MIN((size_t)(close - open - 1), sizeof(ret->comm) - 1));
	p = close + 1;
	if (end - p < 3 || p[0] != ' ')
		return false;
	p += 2; /* field 3, the state, is a letter */
	for (int field = 4; field <= FIELD_STARTTIME; field++) {
		if (!next_number(&p, end, &value))
			return false;
		if (field == FIELD_FLAGS)
			ret->is_kernel = value & PF_KTHREAD;
	}
	ret->start_time = value;
	return true;
}

/* NAME is "stat" or "PID/stat". The owner of the file in *RET_UID if that is wanted. */
static int stat_read(int dir, const char *name, struct proc_stat *ret, uint32_t *ret_uid)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char text[STAT_BYTES_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return proc_error();
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return proc_error();
	if (!proc_stat_parse(text, (size_t)n, ret))
		return -EPROTO;
	if (!ret_uid)
		return 0;
	if (fstat(fd, &st) < 0)
		return proc_error();
	*ret_uid = st.st_uid;
	return 0;
}

int proc_dir_open(pid_t pid, uint64_t start_time)
{
	AUTO_CLOSE int dir = -1;
	struct proc_stat stat;
	char path[32];
	int r;

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return proc_error();
	if (start_time != 0) {
		r = stat_read(dir, "stat", &stat, NULL);
		if (r < 0)
			return r;
		if (stat.start_time != start_time)
			return -ESTALE;
	}
	return steal_fd(&dir);
}

void proc_uid(pid_t pid, uint64_t start_time, uint32_t *ret_uid)
{
	AUTO_CLOSE int dir = proc_dir_open(pid, start_time);
	struct stat st;

	if (dir >= 0 && fstat(dir, &st) == 0)
		*ret_uid = st.st_uid;
}

/* A name in /proc that is a pid, else 0. */
static pid_t parse_pid(const char *name)
{
	char *end;
	unsigned long value = strtoul(name, &end, 10);

	return name[0] < '1' || name[0] > '9' || *end || value > INT32_MAX ? 0 : (pid_t)value;
}

struct proc_scan {
	struct broker_process *processes;
	size_t nr, cap;
};

static int scan_add(struct proc_scan *scan, int proc, pid_t pid)
{
	struct broker_process *process;
	struct proc_stat stat;
	char name[32];
	uint32_t uid;
	int r;

	snprintf(name, sizeof(name), "%d/stat", pid);
	if (stat_read(proc, name, &stat, &uid) < 0)
		return 0; /* ended since */
	r = vec_reserve(&scan->processes, &scan->cap, scan->nr + 1, PROCESSES_MAX);
	if (r < 0)
		return r;
	process = &scan->processes[scan->nr++];
	*process = (struct broker_process){
		.pid = pid,
		.uid = uid,
		.start_time = stat.start_time,
		.is_kernel = stat.is_kernel,
	};
	memcpy(process->comm, stat.comm, sizeof(process->comm));
	return 0;
}

int proc_scan(bool (*is_own)(void *context, pid_t pid), void *context)
{
	struct proc_scan scan = {0};
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int r = 0;

	if (!proc)
		return -errno;
	while (r == 0 && (entry = readdir(proc)) != NULL) {
		pid_t pid = parse_pid(entry->d_name);

		if (pid == 0)
			continue;
		r = scan_add(&scan, dirfd(proc), pid);
		if (r == 0 && scan.nr > 0 && scan.processes[scan.nr - 1].pid == pid)
			scan.processes[scan.nr - 1].is_own = is_own(context, pid);
	}
	closedir(proc);
	if (r == 0)
		r = memfd_sealed("stacktop-scan", scan.processes,
				 scan.nr * sizeof(*scan.processes));
	free(scan.processes);
	return r;
}

/* What is found below /proc/PID/task: their ids, or (WANTS_NAMES) names too. */
struct task_list {
	bool wants_names;
	pid_t *tids;
	struct broker_thread *threads;
	size_t nr, cap;
};

/* A thread that ends meanwhile is left out. */
static int add_thread(struct task_list *list, int tasks, pid_t tid)
{
	struct broker_thread thread = {.tid = tid};
	AUTO_CLOSE int fd = -1;
	char path[32];
	ssize_t n;
	int r;

	snprintf(path, sizeof(path), "%d/comm", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, thread.comm, sizeof(thread.comm));
	if (n <= 0)
		return 0;
	thread.comm[n - 1] = '\0'; /* instead of the line's end */
	r = vec_reserve(&list->threads, &list->cap, list->nr + 1, SIZE_MAX);
	if (r == 0)
		list->threads[list->nr++] = thread;
	return r;
}

static int add_task(struct task_list *list, int tasks, pid_t tid)
{
	int r;

	if (list->wants_names)
		return list->nr < THREADS_MAX ? add_thread(list, tasks, tid) : 0;
	r = vec_reserve(&list->tids, &list->cap, list->nr + 1, TASKS_MAX);
	if (r == 0)
		list->tids[list->nr++] = tid;
	return r;
}

static int list_tasks(pid_t pid, uint64_t start_time, struct task_list *list)
{
	AUTO_CLOSE int dir = proc_dir_open(pid, start_time);
	struct dirent *entry;
	int task, r = 0;
	DIR *tasks;

	if (dir < 0)
		return dir;
	task = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (task < 0)
		return proc_error();
	tasks = fdopendir(task);
	if (!tasks) {
		close(task);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(tasks)) != NULL) {
		pid_t tid = parse_pid(entry->d_name);

		if (tid != 0)
			r = add_task(list, task, tid);
	}
	closedir(tasks);
	return r == 0 && list->nr == 0 ? -ENOENT : r;
}

int proc_tasks(pid_t pid, uint64_t start_time)
{
	struct task_list list = {0};
	int r = list_tasks(pid, start_time, &list);

	if (r == 0)
		r = memfd_sealed("stacktop-tasks", list.tids, list.nr * sizeof(*list.tids));
	free(list.tids);
	return r;
}

int proc_threads(pid_t pid, uint64_t start_time)
{
	struct task_list list = {.wants_names = true};
	int r = list_tasks(pid, start_time, &list);

	if (r == 0)
		r = memfd_sealed("stacktop-threads", list.threads, list.nr * sizeof(*list.threads));
	free(list.threads);
	return r;
}

/* The text of the file NAME of a process, copied as it is; at most MAX bytes. */
static int copy_text(pid_t pid, uint64_t start_time, const char *name, size_t max)
{
	AUTO_CLOSE int dir = proc_dir_open(pid, start_time);
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	size_t len;
	int r;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return proc_error();
	r = read_all(fd, max, &text, &len);
	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	return memfd_sealed("stacktop-text", text, len);
}

/*
 * The kernel gives at most a page per read, so that a process with many mappings is not held up for
 * the whole of it.
 */
int proc_maps(pid_t pid, uint64_t start_time)
{
	return copy_text(pid, start_time, "maps", MAPS_BYTES_MAX);
}

int proc_cgroup(pid_t pid, uint64_t start_time)
{
	return copy_text(pid, start_time, "cgroup", CGROUP_BYTES_MAX);
}
