/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scope-bound release of local resources, for cold code. A constructor that
 * builds an object uses one `fail:` label instead; never both in one function.
 */
#ifndef ST_BASE_CLEANUP_H
#define ST_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *ptr_to_ptr)
{
	free(*(void **)ptr_to_ptr);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Free the heap block that a local pointer holds when it goes out of scope. */
#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
/* Close a local descriptor (-1: none) when it goes out of scope. */
#define AUTO_CLOSE __attribute__((cleanup(cleanup_close)))
/* Close a local stdio stream when it goes out of scope. */
#define AUTO_FCLOSE __attribute__((cleanup(cleanup_fclose)))

/* Hand a descriptor on: the local is left empty. */
static inline int steal_fd(int *fd)
{
	int ret = *fd;

	*fd = -1;
	return ret;
}

/* Hand a pointer on: the local is left empty. */
#define steal_ptr(p)                     \
	({                               \
		__typeof__(p) _pp = (p); \
		(p) = NULL;              \
		_pp;                     \
	})

#endif
