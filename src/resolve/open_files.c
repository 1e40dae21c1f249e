/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files stay open. A descriptor keeps a deleted program's space and a file
 * system mounted, and there are not many of them: a file about which
 * nothing has been asked for a while is closed, and the oldest ones of the user who has most of
 * them when there are too many. What is known of it stays; it is opened again,
 * from a process that maps it, when there is something to ask.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#define IDLE_NS	     (10 * NS_PER_SEC)
#define LOOK_NS	     NS_PER_SEC	      /* how often for files that are idle */
#define MAPPED_NS    (5 * NS_PER_SEC) /* how often for what processes map */
#define LOST_NS	     (2 * NS_PER_SEC)
#define NO_ROOM_NS   NS_PER_SEC /* the pause after an open that found no descriptor free */
#define LIMIT_SHARE  4		/* of the limit of descriptors; rings and answers need the others */
#define OPEN_MAX_MIN 16u
#define OPEN_MAX_MAX 4096u
#define BATCH_SHARE  8 /* of what may be open is closed at once, so that looking for it is seldom */

void resolve_open_init(struct resolver *s)
{
	struct rlimit limit;
	uint64_t max = OPEN_MAX_MAX;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		max = MIN(max, (uint64_t)limit.rlim_cur / LIMIT_SHARE);
	s->open_max = MAX((uint32_t)max, OPEN_MAX_MIN);
}

/* What a debug server sent cannot be asked for again. */
static bool may_close(const struct resolver *s, uint32_t id)
{
	const struct file *file = &s->files[id];

	return id >= PROC_MODULE_FIRST && file->is_open && !file->has_fetched &&
	       (file->state == FILE_UNSEEN || file->state == FILE_OPEN ||
		file->state == FILE_DONE || file->state == FILE_FAILED);
}

/*
 * Its device has no number of its own (tmpfs, overlayfs, btrfs): once it is unmounted, another one gets
 * the number. A file that is held open keeps it mounted.
 */
static bool is_anonymous(struct resolver *s, uint32_t id)
{
	const struct module *m = procs_module(s->procs, id);

	return m->maj == 0 && m->ino != 0;
}

static bool close_file(struct resolver *s, uint32_t id)
{
	if (loader_close_module(s->loader, id) < 0)
		return false;
	if (is_anonymous(s, id))
		module_retire(procs_module(s->procs, id));
	assert(s->nr_open > 0 && s->files[id].is_open);
	s->files[id].is_open = false;
	s->nr_open--;
	return true;
}

/* --- too many --- */

struct candidate {
	uint32_t id, uid;
	uint64_t used_ns;
};

/* By user, the oldest first. */
static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* The longest run of one user among NR sorted ones: where it begins; its length in *RET_NR. */
static size_t find_most(const struct candidate *all, size_t nr, size_t *ret_nr)
{
	size_t best = 0, start = 0;

	*ret_nr = 0;
	for (size_t i = 0; i < nr; i++) {
		if (all[i].uid != all[start].uid)
			start = i;
		if (i + 1 - start > *ret_nr) {
			*ret_nr = i + 1 - start;
			best = start;
		}
	}
	return best;
}

static void make_room(struct resolver *s)
{
	AUTO_FREE struct candidate *all = calloc(s->nr_open + 1, sizeof(*all));
	size_t nr = 0, first, nr_user;

	if (!all)
		return;
	for (uint32_t id = 0; id < s->nr_files && nr < s->nr_open; id++)
		if (may_close(s, id))
			all[nr++] = (struct candidate){
				.id = id,
				.uid = s->files[id].uid,
				.used_ns = s->files[id].used_ns,
			};
	qsort(all, nr, sizeof(*all), compare);
	first = find_most(all, nr, &nr_user);
	nr = MIN(nr_user, (size_t)s->open_max / BATCH_SHARE + 1);
	for (size_t i = first; i < first + nr; i++)
		s->nr_made_room += close_file(s, all[i].id);
}

/* --- one file --- */

void resolve_opened(struct resolver *s, uint32_t module, const struct broker_file_reply *reply)
{
	struct file *file = &s->files[module];

	if (reply->kind == BROKER_PATH) { /* of a recording: it stays open */
		file->is_open = true;
		return;
	}
	s->nr_open += !file->is_open;
	file->is_open = true;
	file->lost_until_ns = 0;
	file->reopens = false;
	file->other = file->package = OTHER_UNSEEN;
	file->uid = reply->uid;
	file->used_ns = s->now_ns;
	file->dev = reply->dev;
	file->ino = reply->ino;
	file->bytes = reply->bytes;
	file->mtime_ns = reply->mtime_ns;
	if (s->nr_open > s->open_max)
		make_room(s);
}

/* The file that REPLY is of has not changed since MODULE was first read. */
static bool is_same(const struct file *file, const struct broker_file_reply *reply)
{
	return file->dev == reply->dev && file->ino == reply->ino && file->bytes == reply->bytes &&
	       file->mtime_ns == reply->mtime_ns;
}

bool resolve_is_lost(const struct resolver *s, uint32_t module)
{
	return s->files[module].lost_until_ns > s->now_ns;
}

bool resolve_is_open(struct resolver *s, uint32_t module)
{
	struct file *file = &s->files[module];

	file->used_ns = s->now_ns;
	if (file->is_open || module < PROC_MODULE_FIRST)
		return true;
	if (resolve_is_lost(s, module))
		return false;
	procs_find_mapper(s->procs, &file->where);
	if (s->now_ns >= s->no_room_until_ns && resolve_ask_mapped(s, module) == 0)
		file->state = file->state == FILE_DONE ? FILE_AGAIN : FILE_OPENING;
	else
		s->has_requests = true;
	return false;
}

void resolve_no_room(struct resolver *s, uint32_t module, int status)
{
	struct file *file = &s->files[module];

	if (status == -EMFILE) {
		s->nr_no_room++;
		make_room(s);
	}
	s->no_room_until_ns = s->now_ns + NO_ROOM_NS;
	/* As if it had been open: it is asked for when there is something to ask. */
	file->reopens = file->state == FILE_AGAIN;
	file->state = file->state == FILE_AGAIN ? FILE_DONE : FILE_OPEN;
	s->has_requests = true;
}

void resolve_take_again(struct resolver *s, struct broker_file_reply *reply)
{
	uint32_t module = (uint32_t)reply->tag;
	struct file *file = &s->files[module];

	if (reply->status < 0 || !is_same(file, reply) ||
	    loader_open_again(s->loader, module, steal_fd(&reply->fd)) < 0) {
		file->lost_until_ns = s->now_ns + LOST_NS;
		resolve_file_done(s, module);
		return;
	}
	assert(!file->is_open);
	resolve_opened(s, module, reply);
	if (file->has_debug)
		resolve_ask_debug(s, module);
	else
		resolve_file_done(s, module);
}

void resolve_close_idle(struct resolver *s)
{
	uint64_t time_ns = s->now_ns;

	/* Names that wait may be those of files which cannot be opened again. */
	if (time_ns < s->next_look_ns || s->nr_batches >= NAMES_BATCHES_MAX)
		return;
	s->next_look_ns = time_ns + LOOK_NS;
	if (time_ns >= s->next_mapped_ns) {
		procs_mark_mapped(s->procs, false);
		s->next_mapped_ns = time_ns + MAPPED_NS;
	}
	for (uint32_t id = PROC_MODULE_FIRST; id < s->nr_files && s->nr_open > 0; id++)
		if (may_close(s, id) && time_ns > s->files[id].used_ns + IDLE_NS &&
		    !(is_anonymous(s, id) && procs_module(s->procs, id)->is_mapped))
			close_file(s, id);
}
