/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel answers for one address, or its text is read line by line: see
 * maps.h. Only the path at the end of a line is a target's choice, and nothing
 * after the inode is parsed.
 */
#include "config.h"

#include "src/broker/maps.h"

#include "src/base/cleanup.h"
#include "src/broker/proc_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define QUERIES_MAX    1024	   /* mappings of other files that are passed over in one range */
#define TEXT_BYTES_MAX (16u << 20) /* some 150 000 mappings */
#define LINE_BYTES     128	   /* more than what stands before the path */
#define CHUNK_BYTES    16384

/* linux/fs.h since Linux 6.11, which is newer than some headers. */
struct query {
	uint64_t size, flags, addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	uint64_t ino;
	uint32_t maj, min;
	uint32_t name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
_Static_assert(sizeof(struct query) == 104, "as struct procmap_query");
#define QUERY		  _IOWR('f', 17, struct query)
#define QUERY_READABLE	  0x01u
#define QUERY_WRITABLE	  0x02u
#define QUERY_EXECUTABLE  0x04u
#define QUERY_SHARED	  0x08u
#define QUERY_OR_NEXT	  0x10u
#define QUERY_FILE_BACKED 0x20u

enum kind { ANY_FILE, EXEC_FILE, CODE, STACK };

static const uint64_t query_flags[] = {
	[ANY_FILE] = QUERY_OR_NEXT | QUERY_FILE_BACKED,
	[EXEC_FILE] = QUERY_OR_NEXT | QUERY_FILE_BACKED | QUERY_EXECUTABLE,
	[CODE] = QUERY_OR_NEXT | QUERY_EXECUTABLE,
	[STACK] = QUERY_READABLE | QUERY_WRITABLE,
};

static bool overlaps(const struct maps_range *a, const struct maps_range *b)
{
	return a->start < b->end && b->start < a->end;
}

static bool is_same_file(const struct maps_range *a, const struct maps_range *b)
{
	return a->ino == b->ino && a->maj == b->maj && a->min == b->min;
}

/* WANT without an inode: whatever file is there. */
static bool is_wanted(const struct maps_range *want, const struct maps_range *found)
{
	return overlaps(want, found) && (want->ino == 0 || is_same_file(want, found));
}

/* --- one address --- */

static int find_by_query(int fd, const struct maps_range *want, enum kind kind,
			 struct maps_range *ret)
{
	struct query query = {
		.size = sizeof(query),
		.flags = query_flags[kind],
		.addr = want->start,
	};

	for (int i = 0; i < QUERIES_MAX; i++) {
		if (ioctl(fd, QUERY, &query) < 0)
			return proc_error();
		if (kind == STACK && (query.vma_flags & (QUERY_EXECUTABLE | QUERY_SHARED)))
			return -ENOENT;
		*ret = (struct maps_range){
			.start = query.vma_start,
			.end = query.vma_end,
			.ino = query.ino,
			.maj = query.maj,
			.min = query.min,
		};
		if (is_wanted(want, ret))
			return 0;
		if (ret->end >= want->end)
			return -ENOENT;
		query.addr = ret->end;
	}
	return -EFBIG;
}

/* --- the text --- */

struct text_search {
	const struct maps_range *want;
	enum kind kind;
	struct maps_range *ret;
	char line[LINE_BYTES]; /* its beginning */
	size_t len;
};

static bool has_rights(enum kind kind, const char *perms)
{
	switch (kind) {
	case EXEC_FILE:
		return perms[2] == 'x';
	case STACK:
		return strcmp(perms, "rw-p") == 0;
	default:
		return true;
	}
}

/* 0: it is the one, -ENOENT: none that follows can be, -EAGAIN: the next line. */
static int look_at_line(struct text_search *search)
{
	unsigned long long start, end, ino;
	char perms[8];
	unsigned maj, min;

	search->line[search->len] = '\0';
	search->len = 0;
	if (sscanf(search->line, "%llx-%llx %4s %*x %x:%x %llu", &start, &end, perms, &maj, &min,
		   &ino) != 6)
		return -EPROTO;
	*search->ret =
		(struct maps_range){.start = start, .end = end, .ino = ino, .maj = maj, .min = min};
	if (start >= search->want->end)
		return -ENOENT;
	return has_rights(search->kind, perms) && is_wanted(search->want, search->ret) ? 0
										       : -EAGAIN;
}

static int look_at_text(struct text_search *search, const char *text, size_t nr)
{
	int r = -EAGAIN;

	for (size_t i = 0; i < nr && r == -EAGAIN; i++) {
		if (text[i] == '\n')
			r = look_at_line(search);
		else if (search->len < sizeof(search->line) - 1)
			search->line[search->len++] = text[i];
	}
	return r;
}

static int find_in_text(int fd, const struct maps_range *want, enum kind kind,
			struct maps_range *ret)
{
	struct text_search search = {.want = want, .kind = kind, .ret = ret};
	char chunk[CHUNK_BYTES];

	for (size_t bytes = 0; bytes < TEXT_BYTES_MAX;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		int r;

		if (n < 0)
			return proc_error();
		if (n == 0)
			return -ENOENT;
		r = look_at_text(&search, chunk, (size_t)n);
		if (r != -EAGAIN)
			return r;
		bytes += (size_t)n;
	}
	return -EFBIG;
}

static int find(int fd, const struct maps_range *want, enum kind kind, bool has_query,
		struct maps_range *ret)
{
	int r = has_query ? find_by_query(fd, want, kind, ret) : -ENOTTY;

	/* An older kernel, or a filter of system calls that forbids it. */
	return r == -ENOTTY || r == -EPERM ? find_in_text(fd, want, kind, ret) : r;
}

int maps_find_exec(int fd, const struct maps_range *want, bool has_query, struct maps_range *ret)
{
	return find(fd, want, EXEC_FILE, has_query, ret);
}

int maps_ask_code(int fd, const struct maps_range *want, struct maps_range *ret)
{
	return find_by_query(fd, want, CODE, ret);
}

int maps_find_stack(int fd, uint64_t addr, bool has_query, struct maps_range *ret)
{
	return find(fd, &(struct maps_range){.start = addr, .end = addr + 1}, STACK, has_query,
		    ret);
}

int maps_file_id(int fd, bool has_query, struct maps_range *ret)
{
	AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct maps_range want = {0};
	void *page;
	int r;

	if (maps < 0)
		return -errno;
	page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	want.start = (uint64_t)(uintptr_t)page;
	want.end = want.start + bytes;
	r = find(maps, &want, ANY_FILE, has_query, ret);
	munmap(page, bytes);
	return r;
}
