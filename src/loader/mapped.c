/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of mappings is global, since a signal handler has no other way to it. */
#include "config.h"

#include "src/loader/mapped.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	uintptr_t start;
	size_t bytes; /* 0: free */
	bool was_cut;
};

static volatile struct place places[MAPPED_MAX];

static volatile struct place *place_of(uintptr_t addr)
{
	for (size_t i = 0; i < MAPPED_MAX; i++)
		if (addr - places[i].start < places[i].bytes)
			return &places[i];
	return NULL;
}

static volatile struct place *place_free(void)
{
	for (size_t i = 0; i < MAPPED_MAX; i++)
		if (places[i].bytes == 0)
			return &places[i];
	return NULL;
}

int mapped_open(int fd, struct mapped *ret)
{
	volatile struct place *place = place_free();
	struct stat st;
	void *map;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -ENOEXEC;
	if (!place)
		return -EMFILE;
	/* libelf changes the headers of sections that it unpacks. */
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		   fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	place->start = (uintptr_t)map;
	place->was_cut = false;
	place->bytes = (size_t)st.st_size;
	*ret = (struct mapped){.data = map, .bytes = (size_t)st.st_size};
	return 0;
}

void mapped_close(struct mapped *mapped)
{
	volatile struct place *place;

	if (!mapped->data)
		return;
	place = place_of((uintptr_t)mapped->data);
	assert(place);
	place->bytes = 0;
	munmap(mapped->data, mapped->bytes);
	*mapped = (struct mapped){0};
}

bool mapped_repair(const void *addr)
{
	volatile struct place *place = place_of((uintptr_t)addr);
	uintptr_t from, end;

	if (!place)
		return false;
	from = (uintptr_t)addr & ~(uintptr_t)(getpagesize() - 1);
	end = place->start + place->bytes;
	place->was_cut = true;
	/* Not seen by any lock or allocator: a plain system call. */
	return mmap((void *)from, end - from, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

bool mapped_was_cut(const struct mapped *mapped)
{
	const volatile struct place *place = place_of((uintptr_t)mapped->data);

	return place && place->was_cut;
}
