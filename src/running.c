/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running processes: see running.h. */
#include "config.h"

#include "src/running.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX  65536
#define STAT_MAX       1024
#define NAME_BYTES_MAX 64
#define WORDS_MAX      (MENU_TEXT_MAX - NAME_BYTES_MAX - 1)

struct process {
	int32_t pid;
	uint64_t ticks, began_ticks;
};

struct list {
	struct process *processes; /* by pid */
	size_t nr, cap;
	uint64_t time_ns;
};

struct running {
	struct list now, before;
	struct menu_item *items;
	size_t cap_items;
};

struct running *running_new(void)
{
	return calloc(1, sizeof(struct running));
}

struct running *running_free(struct running *r)
{
	if (!r)
		return NULL;
	free(r->now.processes);
	free(r->before.processes);
	free(r->items);
	free(r);
	return NULL;
}

/* --- one process --- */

/* proc(5): the name has brackets around it and may have any in it; of the fields behind it these count. */
bool running_parse(const char *line, char *name, size_t size, uint64_t *ret_ticks,
		   uint64_t *ret_began_ticks)
{
	const char *first = strchr(line, '('), *last = strrchr(line, ')');
	unsigned long long user, kernel, began;

	if (!first || !last || last < first ||
	    sscanf(last + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
		   &user, &kernel, &began) != 3)
		return false;
	text_sanitize(first + 1, (size_t)(last - first) - 1, name, size);
	*ret_ticks = user + kernel;
	*ret_began_ticks = began;
	return true;
}

/* At most SIZE - 1 bytes of /proc/PID/FILE and a NUL; how many. */
static size_t read_start(int32_t pid, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/%s", pid, file);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? -1 : read(fd, out, size - 1);
	out[MAX(n, (ssize_t)0)] = '\0';
	return (size_t)MAX(n, (ssize_t)0);
}

/* "nginx  nginx -g daemon off;"; of the kernel's own "[kworker/0:1]". */
static void put_text(int32_t pid, const char *name, char *out, size_t size)
{
	char words[WORDS_MAX], clean[WORDS_MAX];
	size_t len = read_start(pid, "cmdline", words, sizeof(words));

	for (size_t i = 0; i < len; i++)
		words[i] = words[i] == '\0' ? ' ' : words[i];
	text_sanitize(words, len, clean, sizeof(clean));
	if (len)
		snprintf(out, size, "%-15s %s", name, clean);
	else
		snprintf(out, size, "[%s]", name);
}

static const struct process *find(const struct list *list, const struct process *process)
{
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (list->processes[at].pid < process->pid)
			low = at + 1;
		else
			high = at;
	}
	return low < list->nr && list->processes[low].pid == process->pid &&
			       list->processes[low].began_ticks == process->began_ticks
		       ? &list->processes[low]
		       : NULL;
}

/* Since the last look; of what was not there then, since it began. */
static double cpu_of(const struct running *r, const struct process *process)
{
	const struct process *before = find(&r->before, process);
	double per_s = (double)sysconf(_SC_CLK_TCK), since_s;
	struct timespec up;

	if (before && r->now.time_ns > r->before.time_ns) {
		since_s = (double)(r->now.time_ns - r->before.time_ns) / (double)NS_PER_SEC;
		return 100 * (double)(process->ticks - MIN(before->ticks, process->ticks)) / per_s /
		       since_s;
	}
	clock_gettime(CLOCK_BOOTTIME, &up);
	since_s = (double)up.tv_sec - (double)process->began_ticks / per_s;
	return since_s < 1 ? 0 : 100 * (double)process->ticks / per_s / since_s;
}

/* --- all of them --- */

static int by_pid(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_cpu(const void *left, const void *right)
{
	const struct menu_item *a = left, *b = right;

	if (a->cpu_pct < b->cpu_pct || a->cpu_pct > b->cpu_pct)
		return a->cpu_pct < b->cpu_pct ? 1 : -1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int add(struct running *r, int32_t pid)
{
	struct process process = {.pid = pid};
	struct menu_item *item;
	char line[STAT_MAX], name[NAME_BYTES_MAX];

	read_start(pid, "stat", line, sizeof(line));
	if (pid == getpid() || pid == getppid() ||
	    !running_parse(line, name, sizeof(name), &process.ticks, &process.began_ticks))
		return 0; /* it has ended */
	if (vec_reserve(&r->now.processes, &r->now.cap, r->now.nr + 1, PROCESSES_MAX) < 0 ||
	    vec_reserve(&r->items, &r->cap_items, r->now.nr + 1, PROCESSES_MAX) < 0)
		return -ENOMEM;
	item = &r->items[r->now.nr];
	*item = (struct menu_item){.pid = pid, .cpu_pct = cpu_of(r, &process)};
	put_text(pid, name, item->text, sizeof(item->text));
	r->now.processes[r->now.nr++] = process;
	return 0;
}

int running_read(struct running *r, const struct menu_item **ret)
{
	struct list oldest = r->before;
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	int status = 0;

	if (!proc)
		return -errno;
	r->before = r->now;
	r->now = oldest;
	r->now.nr = 0;
	r->now.time_ns = now_ns();
	while (status == 0 && r->now.nr < PROCESSES_MAX && (entry = readdir(proc)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]))
			status = add(r, (int32_t)strtol(entry->d_name, NULL, 10));
	closedir(proc);
	if (status < 0)
		return status;
	if (r->now.nr) {
		qsort(r->now.processes, r->now.nr, sizeof(*r->now.processes), by_pid);
		qsort(r->items, r->now.nr, sizeof(*r->items), by_cpu);
	}
	*ret = r->items;
	return (int)r->now.nr;
}
