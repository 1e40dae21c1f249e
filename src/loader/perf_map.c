/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of perf maps: see perf_map.h. A line that is none is passed over. */
#include "config.h"

#include "src/loader/perf_map.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES    (256u << 10) /* a longer line is none */
#define AT_ONCE_BYTES  (64ull << 20)
#define FILE_BYTES_MAX (512ull << 20)

/* The hexadecimal number at *AT, after blanks, with or without 0x; *AT is moved behind it. */
static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at, *first;
	uint64_t value = 0;

	while (p < end && *p == ' ')
		p++;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (first = p; p < end; p++) {
		int digit = *p >= '0' && *p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10;

		if (digit < 0 || digit > 15 || (digit > 9 && (*p | 0x20) < 'a'))
			break;
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	if (p == first || p == end || *p != ' ')
		return false;
	*at = p;
	*ret = value;
	return true;
}

static void take_line(const char *line, const char *end, struct jit_code *code)
{
	uint64_t start, bytes;

	if (!take_hex(&line, end, &start) || !take_hex(&line, end, &bytes))
		return;
	while (line < end && *line == ' ')
		line++;
	while (line < end && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (line < end)
		jit_code_note(code, start, bytes, line, (size_t)(end - line), 0);
}

/* All whole lines of TEXT. Returns how many bytes they are. */
static size_t take_lines(const char *text, size_t len, struct jit_code *code)
{
	const char *at = text, *end = text + len, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		take_line(at, newline, code);
		at = newline + 1;
	}
	return (size_t)(at - text);
}

static ssize_t read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	ssize_t n = pread(fd, to, bytes, (off_t)at);

	return n < 0 ? -errno : n;
}

/* The last bytes before AT, as many as are kept. */
static int read_last(int fd, uint64_t at, uint8_t *to)
{
	size_t bytes = MIN(at, (uint64_t)PERF_MAP_SEEN_BYTES);

	memset(to, 0, PERF_MAP_SEEN_BYTES);
	return read_at(fd, to, bytes, at - bytes) == (ssize_t)bytes ? 0 : -EIO;
}

/* Does the file begin with what has been read of it? */
static bool goes_on(const struct perf_map *map, int fd)
{
	uint8_t first[PERF_MAP_SEEN_BYTES] = {0}, last[PERF_MAP_SEEN_BYTES];
	size_t nr_first = MIN(map->done, (uint64_t)PERF_MAP_SEEN_BYTES);

	return read_at(fd, first, nr_first, 0) == (ssize_t)nr_first &&
	       memcmp(first, map->first, nr_first) == 0 && read_last(fd, map->done, last) == 0 &&
	       memcmp(last, map->last, sizeof(last)) == 0;
}

static int read_on(struct perf_map *map, int fd, struct jit_code *code, uint64_t end)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);

	if (!chunk)
		return -ENOMEM;
	while (map->done < end && !deadline_is_over_now()) {
		ssize_t n =
			read_at(fd, chunk, MIN(end - map->done, (uint64_t)CHUNK_BYTES), map->done);
		size_t used;

		if (n <= 0)
			return (int)n;
		used = take_lines(chunk, (size_t)n, code);
		if (used == 0 && (size_t)n == CHUNK_BYTES)
			used = (size_t)n;
		if (used == 0)
			return 0; /* a line that is still being written */
		map->done += used;
	}
	map->is_late = map->done < end;
	return 0;
}

int perf_map_read(struct perf_map *map, int fd, struct jit_code *code, uint16_t epoch,
		  bool *ret_changed)
{
	bool is_anew = false;
	struct stat st;
	uint64_t all, end;
	int r;

	*ret_changed = false;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size < map->done || !goes_on(map, fd)) {
		*map = (struct perf_map){0};
		is_anew = true;
	}
	all = MIN((uint64_t)st.st_size, FILE_BYTES_MAX);
	end = MIN(all, map->done + AT_ONCE_BYTES);
	map->is_late = false;
	r = read_on(map, fd, code, end);
	map->is_late |= r == 0 && end < all;
	/* Of one that is written anew and only half there it is not known what is gone. */
	*ret_changed = jit_code_commit(code, epoch, is_anew && r == 0 && !map->is_late);
	if (map->done > 0 && (read_at(fd, map->first, MIN(map->done, sizeof(map->first)), 0) < 0 ||
			      read_last(fd, map->done, map->last) < 0))
		*map = (struct perf_map){0};
	return r;
}
