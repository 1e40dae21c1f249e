/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perf events and their rings for the client: see rings.h. */
#include "config.h"

#include "src/broker/rings.h"

#include "src/base/cleanup.h"
#include "src/base/vec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define KEPT_MAX       16384u
#define RING_PAGES_MAX (1u << 16) /* 256 MB of 4 KB pages */
#define OPEN_SECONDS   2

/*
 * Sampling and counting only: no breakpoints in other processes, no signals to
 * them, and none of the dynamic types, one of which (kprobe) takes a pointer.
 */
static bool attr_is_allowed(const struct perf_event_attr *attr)
{
	if (attr->size < PERF_ATTR_SIZE_VER0 || attr->size > sizeof(*attr))
		return false;
	if (attr->type >= PERF_TYPE_MAX || attr->type == PERF_TYPE_BREAKPOINT)
		return false;
#ifdef PERF_ATTR_SIZE_VER7
	if (attr->sigtrap)
		return false;
#endif
	return true;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * The call waits for a task that is in the middle of exec, and that can last
 * as long as the file system of the program likes. A signal ends the wait.
 */
static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval limit = {.it_value = {.tv_sec = OPEN_SECONDS}}, off = {0};
	struct perf_event_attr copy = *attr;
	int fd;

	if (pid > 0) {
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &limit, NULL);
	}
	fd = (int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		fd = errno == EINTR ? -EBUSY : -errno;
	if (pid > 0)
		setitimer(ITIMER_REAL, &off, NULL);
	return fd;
}

static int map_ring(struct rings *rings, int fd, uint64_t ring_pages)
{
	size_t bytes = (1 + ring_pages) * (size_t)sysconf(_SC_PAGESIZE);
	void *data;
	int r;

	r = vec_reserve(&rings->kept, &rings->cap_kept, rings->nr_kept + 1, KEPT_MAX);
	if (r < 0)
		return r;
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	if (!rings->may_lock) {
		/*
		 * Then the client is as good as the broker, and only the test
		 * for the limit matters: the kernel takes the pages off the
		 * account of the process that unmaps last, so a mapping kept
		 * here would stay on ours for ever.
		 */
		munmap(data, bytes);
		return 0;
	}
	rings->kept[rings->nr_kept++] = (struct ring){.data = data, .bytes = bytes};
	return 0;
}

int rings_open(struct rings *rings, const struct perf_event_attr *attr, pid_t pid, int cpu,
	       uint64_t ring_pages)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (!attr_is_allowed(attr) || pid < -1 || cpu < -1 || ring_pages > RING_PAGES_MAX)
		return -EINVAL;
	fd = open_event(attr, pid, cpu);
	if (fd < 0 || ring_pages == 0)
		return steal_fd(&fd);
	r = map_ring(rings, fd, ring_pages);
	return r < 0 ? r : steal_fd(&fd);
}

void rings_clear(struct rings *rings)
{
	for (size_t i = 0; i < rings->nr_kept; i++)
		munmap(rings->kept[i].data, rings->kept[i].bytes);
	free(rings->kept);
	rings->kept = NULL;
	rings->nr_kept = rings->cap_kept = 0;
}
