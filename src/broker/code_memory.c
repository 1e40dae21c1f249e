/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that a process has made, read from its memory: see code_memory.h. What is not mapped executable
 * at that moment, by the process's own maps, is not handed out. Both are read through descriptors of the
 * process that was asked for, so that no other one is read that has got its number meanwhile.
 */
#include "config.h"

#include "src/broker/code_memory.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/maps.h"
#include "src/broker/pool.h"
#include "src/broker/proc_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES     4096u
#define PAGES	       (BROKER_PIECE_BYTES / PAGE_BYTES)
#define MAPS_BYTES_MAX (16u << 20) /* some 150 000 mappings */
#define LINE_HEAD      64	   /* more than a line's addresses and permissions */

#define READS_PER_SEC 128u
#define CPU_PER_SEC   (50 * NS_PER_MSEC) /* what a read takes more is owed */
#define AT_A_TIME     2u
#define SLOW_NS	      (100 * NS_PER_MSEC) /* a read takes some milliseconds: this one may hang */
#define OF_USER_MAX   2u		  /* slow ones: nothing is read of that user's */
#define READS_MAX     8u /* slow ones and others; each keeps one of the pool's threads */

struct code_read {
	pid_t pid;
	uint32_t uid;	   /* whose process it is */
	uint64_t since_ns; /* 0: none */
};

static struct {
	pthread_mutex_t lock;
	uint64_t second_ns; /* the second that is counted */
	uint64_t owed_ns;   /* CPU time that was taken, less CPU_PER_SEC for each second since */
	uint32_t reads;
	struct code_read all[READS_MAX];
} running = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(READS_MAX <= POOL_THREADS_MAX / 2, "files are opened meanwhile");
_Static_assert(PAGES <= 32, "a mask has a bit for each");

/* Note which pages of the pieces lie in the executable mapping [START, END). */
static void note_mapping(const struct broker_file_request *request, uint64_t start, uint64_t end,
			 uint32_t *masks)
{
	for (uint32_t i = 0; i < request->nr_pieces; i++) {
		uint64_t piece = request->pieces[i];

		if (piece >= end || piece + BROKER_PIECE_BYTES <= start)
			continue;
		for (uint32_t page = 0; page < PAGES; page++) {
			uint64_t at = piece + page * PAGE_BYTES;

			if (at >= start && at + PAGE_BYTES <= end)
				masks[i] |= 1u << page;
		}
	}
}

/* By the answers of Linux 6.11: a process may have tens of thousands of mappings. */
static int note_by_asking(int maps, const struct broker_file_request *request, uint32_t *masks)
{
	for (uint32_t i = 0; i < request->nr_pieces; i++) {
		struct maps_range want = {.end = request->pieces[i] + BROKER_PIECE_BYTES};
		struct maps_range found = {.end = request->pieces[i]};
		int r;

		do {
			want.start = found.end;
			r = maps_ask_code(maps, &want, &found);
			if (r == 0)
				note_mapping(request, found.start, found.end, masks);
		} while (r == 0 && found.end < want.end);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

static int note_by_text(int maps, const struct broker_file_request *request, uint32_t *masks)
{
	const char *at, *end, *newline;
	AUTO_FREE char *text = NULL;
	size_t len;
	int r = read_all(maps, MAPS_BYTES_MAX, &text, &len);

	if (r < 0)
		return r;
	end = text + len;
	for (at = text; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		unsigned long long from, to;
		char head[LINE_HEAD + 1], perms[8];
		size_t head_len = MIN((size_t)(newline - at), (size_t)LINE_HEAD);

		memcpy(head, at, head_len);
		head[head_len] = '\0';
		if (sscanf(head, "%llx-%llx %4s", &from, &to, perms) == 3 && perms[2] == 'x')
			note_mapping(request, from, to, masks);
	}
	return 0;
}

/* Note in MASKS which pages of the pieces are mapped executable. */
static int note_executable(int maps, const struct broker_file_request *request, uint32_t *masks)
{
	int r = note_by_asking(maps, request, masks);

	return r == -ENOTTY || r == -EPERM ? note_by_text(maps, request, masks) : r;
}

/* With the lock held: may another read be begun in this second? */
static bool spend(uint64_t time_ns)
{
	uint64_t seconds = (time_ns - MIN(running.second_ns, time_ns)) / NS_PER_SEC;

	if (seconds > 0) {
		running.second_ns = time_ns;
		running.reads = 0;
		running.owed_ns -= MIN(running.owed_ns, seconds * CPU_PER_SEC);
	}
	return running.owed_ns < CPU_PER_SEC && running.reads++ < READS_PER_SEC;
}

/*
 * With the lock held: a place for a read of PID's, which is UID's; NULL: not now. Pages of FUSE, NFS or
 * userfaultfd may never come: a read that takes long leaves its process alone, and does not stand in the way of
 * others, but for those of a user who has several.
 */
static struct code_read *place_for(pid_t pid, uint32_t uid, uint64_t time_ns)
{
	uint32_t nr_quick = 0, nr_of_user = 0;
	struct code_read *place = NULL;

	for (uint32_t i = 0; i < READS_MAX; i++) {
		struct code_read *other = &running.all[i];
		bool is_slow = other->since_ns && time_ns >= other->since_ns + SLOW_NS;

		if (!other->since_ns)
			place = other;
		else if (other->pid == pid)
			return NULL;
		nr_quick += other->since_ns && !is_slow;
		nr_of_user += is_slow && other->uid == uid;
	}
	return nr_quick < AT_A_TIME && nr_of_user < OF_USER_MAX ? place : NULL;
}

/* NULL: too many at once, or in this second. */
static struct code_read *begin(const struct broker_file_request *request, uint64_t time_ns)
{
	uint32_t uid = BROKER_UID_UNKNOWN;
	struct code_read *read;

	proc_uid(request->pid, request->start_time, &uid);
	pthread_mutex_lock(&running.lock);
	read = spend(time_ns) ? place_for(request->pid, uid, time_ns) : NULL;
	if (read)
		*read = (struct code_read){.pid = request->pid, .uid = uid, .since_ns = time_ns};
	pthread_mutex_unlock(&running.lock);
	return read;
}

static void end(struct code_read *read, uint64_t taken_ns)
{
	pthread_mutex_lock(&running.lock);
	read->since_ns = 0;
	running.owed_ns += taken_ns;
	pthread_mutex_unlock(&running.lock);
}

static int open_in(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? proc_error() : fd;
}

/* The pages that MASK has of the piece at ADDR; those that cannot be read leave it. */
static void read_piece(int mem, uint64_t addr, uint8_t *to, uint32_t *mask)
{
	for (uint32_t page = 0; page < PAGES; page++) {
		uint32_t at = page * PAGE_BYTES;

		if (*mask >> page & 1 &&
		    pread(mem, to + at, PAGE_BYTES, (off_t)(addr + at)) != PAGE_BYTES) {
			memset(to + at, 0, PAGE_BYTES);
			*mask &= ~(1u << page);
		}
	}
}

static bool is_sensible(const struct broker_file_request *request)
{
	if (request->nr_pieces == 0 || request->nr_pieces > BROKER_PIECES_MAX)
		return false;
	for (uint32_t i = 0; i < request->nr_pieces; i++)
		if (request->pieces[i] % BROKER_PIECE_BYTES ||
		    request->pieces[i] > INT64_MAX - BROKER_PIECE_BYTES)
			return false;
	return true;
}

static int read_code(const struct broker_file_request *request)
{
	AUTO_CLOSE int dir = -1, mem = -1, maps = -1;
	AUTO_FREE uint8_t *answer = NULL;
	uint32_t *masks;
	uint8_t *pieces;
	int r;

	dir = proc_dir_open(request->pid, request->start_time);
	if (dir < 0)
		return dir;
	mem = open_in(dir, "mem");
	if (mem < 0)
		return mem;
	maps = open_in(dir, "maps");
	if (maps < 0)
		return maps;
	answer = calloc(1, BROKER_PIECES_BYTES(request->nr_pieces));
	if (!answer)
		return -ENOMEM;
	masks = (uint32_t *)(void *)answer;
	pieces = answer + request->nr_pieces * sizeof(*masks);
	r = note_executable(maps, request, masks);
	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	for (uint32_t i = 0; i < request->nr_pieces; i++)
		read_piece(mem, request->pieces[i], pieces + (size_t)i * BROKER_PIECE_BYTES,
			   &masks[i]);
	return memfd_sealed("stacktop-code", answer, BROKER_PIECES_BYTES(request->nr_pieces));
}

int code_memory(const struct broker_file_request *request, uint64_t time_ns)
{
	uint64_t begin_ns = thread_cpu_ns();
	struct code_read *read;
	int r;

	if (!is_sensible(request))
		return -EINVAL;
	read = begin(request, time_ns);
	if (!read)
		return -EBUSY;
	r = read_code(request);
	end(read, thread_cpu_ns() - begin_ns);
	return r;
}
