/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * See stack_memory.h. Every microsecond between a sample and the look at the rest of its stack lets the thread
 * change it, so what can be known before is kept: the open memory of a process, which is that of one program
 * in one process as long as it is open (it reads as empty once that has ended or executed
 * another), and where its last stack was mapped, for a moment.
 */
#include "config.h"

#include "src/broker/stack_memory.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/proc_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define RANGE_NS (100 * NS_PER_MSEC) /* a mapping is believed to be what it was */
#define IDLE_NS	 (5 * NS_PER_SEC)

static void forget(struct stack_process *p)
{
	if (p->pid != 0) {
		close(p->mem);
		close(p->maps);
	}
	*p = (struct stack_process){0};
}

static struct stack_process *find(struct stack_memory *m, const struct broker_stack *stack)
{
	for (int i = 0; i < STACK_MEMORY_PROCESSES; i++)
		if (m->processes[i].pid == stack->pid &&
		    m->processes[i].start_time == stack->start_time)
			return &m->processes[i];
	return NULL;
}

/* One that is free, or else the one that was used longest ago, free then. */
static struct stack_process *make_room(struct stack_memory *m)
{
	struct stack_process *oldest = &m->processes[0];

	for (int i = 1; i < STACK_MEMORY_PROCESSES; i++)
		if (m->processes[i].used_ns < oldest->used_ns)
			oldest = &m->processes[i];
	forget(oldest);
	return oldest;
}

static int open_process(struct stack_memory *m, const struct broker_stack *stack,
			struct stack_process **ret)
{
	AUTO_CLOSE int dir = proc_dir_open(stack->pid, stack->start_time);
	AUTO_CLOSE int mem = -1;
	AUTO_CLOSE int maps = -1;
	struct stack_process *p;

	if (dir < 0)
		return dir;
	mem = openat(dir, "mem", O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		return proc_error();
	maps = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return proc_error();
	p = make_room(m);
	*p = (struct stack_process){
		.pid = stack->pid,
		.start_time = stack->start_time,
		.mem = steal_fd(&mem),
		.maps = steal_fd(&maps),
	};
	*ret = p;
	return 0;
}

/* Where the mapping of ADDR is, if it could be a stack. */
static int find_range(struct stack_process *p, uint64_t addr, uint64_t time_ns)
{
	int r;

	if (addr >= p->range.start && addr < p->range.end && time_ns < p->range_ns + RANGE_NS)
		return 0;
	p->range_ns = 0;
	if (lseek(p->maps, 0, SEEK_SET) < 0)
		return -errno;
	r = maps_find_stack(p->maps, addr, true, &p->range);
	if (r < 0) {
		p->range = (struct maps_range){0};
		return r;
	}
	p->range_ns = time_ns;
	return 0;
}

/*
 * The guard and the memory, then the guard once more: see BROKER_GUARD_BYTES. The first call goes by the number of the process
 * and is quick; the second one goes by what is open, so that both have read the same program's.
 */
static ssize_t read_process(struct stack_process *p, const struct broker_stack *stack,
			    uint64_t time_ns, uint8_t *to, size_t room)
{
	uint8_t guard[BROKER_GUARD_BYTES];
	struct iovec local, remote[2];
	size_t want;
	ssize_t n;
	int r;

	p->used_ns = time_ns;
	r = find_range(p, stack->guard, time_ns);
	if (r < 0)
		return r;
	if (stack->start >= p->range.end)
		return -ENOENT;
	want = (size_t)(MIN(stack->end, p->range.end) - stack->start);
	if (sizeof(guard) + want > room)
		return -EBUSY;
	remote[0] = (struct iovec){(void *)(uintptr_t)stack->guard, sizeof(guard)};
	remote[1] = (struct iovec){(void *)(uintptr_t)stack->start, want};
	local = (struct iovec){to, sizeof(guard) + want};
	n = process_vm_readv(stack->pid, &local, 1, remote, 2, 0);
	if (n < 0)
		return proc_error();
	if (n <= (ssize_t)sizeof(guard) ||
	    pread(p->mem, guard, sizeof(guard), (off_t)stack->guard) != sizeof(guard) ||
	    memcmp(guard, to, sizeof(guard)) != 0)
		return -EFAULT;
	return n;
}

ssize_t stack_memory_read(struct stack_memory *m, const struct broker_stack *stack,
			  uint64_t time_ns, uint8_t *to, size_t room)
{
	struct stack_process *p;
	ssize_t n;
	int r;

	if (stack->pid <= 0 || stack->end > INT64_MAX || stack->start >= stack->end ||
	    stack->guard > stack->start || stack->end - stack->start > BROKER_STACK_BYTES_MAX)
		return -EINVAL;
	p = find(m, stack);
	n = p ? read_process(p, stack, time_ns, to, room) : -ENOENT;
	if (n >= 0 || n == -EBUSY)
		return n;
	/* Another program may run in it, or another process with its number. */
	if (p)
		forget(p);
	r = open_process(m, stack, &p);
	return r < 0 ? r : read_process(p, stack, time_ns, to, room);
}

void stack_memory_sweep(struct stack_memory *m, uint64_t time_ns)
{
	for (int i = 0; i < STACK_MEMORY_PROCESSES; i++)
		if (m->processes[i].pid != 0 && time_ns > m->processes[i].used_ns + IDLE_NS)
			forget(&m->processes[i]);
}
