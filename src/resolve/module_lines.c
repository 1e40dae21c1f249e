/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is inlined at an offset, and lines: asked of the loader in small batches, so that names, which
 * more people look at, do not wait long behind them.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/hash.h"
#include "src/base/vec.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINES_BATCH_MAX	  128u
#define LINES_BATCHES_MAX 2u /* at the loader at once */
#define SPLITS_MAX	  4096u
#define SPLIT_TRIES_MAX	  8u

static void report(struct resolver *s, uint32_t module, const struct loader_place *place,
		   bool later)
{
	s->config.ops->line_came(s->config.context, module, place, later);
}

/* Ask about NR offsets of MODULE. One whose file is closed is opened: then it is asked later. */
static void ask_lines(struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	bool is_kernel = module == PROC_MODULE_KERNEL;
	uint32_t nr_known = proc_is_jit(module) ? resolve_jit_known(s, module, offs, nr) : nr;
	struct file *file = resolver_file(s, module);
	bool is_known = file && (module >= PROC_MODULE_FIRST || proc_is_jit(module) || is_kernel);
	bool is_done = is_known && file->state == FILE_DONE;
	/* Names have been asked for: of a file that is not on its way there is none. */
	bool later = is_known && file->state > FILE_UNSEEN && file->state < FILE_DONE;

	if (is_kernel && is_done) {
		int r = resolve_need_vmlinux(s);

		is_done = r == 0;
		later = r == -EAGAIN;
	}

	/* Of what a process before this one made nothing is known any more. */
	for (uint32_t i = nr_known; i < nr; i++)
		report(s, module, &(struct loader_place){.off = offs[i]}, false);
	nr = nr_known;
	if (nr > 0 && is_done && resolve_is_open(s, module)) {
		if (loader_request_lines(s->loader, module, offs, nr) == 0) {
			s->nr_line_batches++;
			return;
		}
	} else if (is_done) {
		later = !resolve_is_lost(s, module);
	}
	for (uint32_t i = 0; i < nr; i++)
		report(s, module, &(struct loader_place){.off = offs[i]}, later);
}

void resolve_ask_lines(struct resolver *s)
{
	uint64_t offs[LINES_BATCH_MAX];
	uint32_t module, nr;

	while (s->nr_line_batches < LINES_BATCHES_MAX &&
	       (nr = s->config.ops->next_unlined(s->config.context, &module, offs,
						 LINES_BATCH_MAX)) > 0)
		ask_lines(s, module, offs, nr);
}

/* --- files with a part of the debug information --- */

/* Dwz has moved names to another file, which REPLY tells: is that still to come? It is asked for once. */
static bool waits_for_other(struct resolver *s, const struct loader_reply *reply)
{
	struct broker_file_request request;
	struct file *file = &s->files[reply->module];

	if (file->other == OTHER_UNSEEN) {
		procs_find_mapper(s->procs, &file->where);
		request = resolve_request_of(s, reply->module, BROKER_DWZ);
		request.tag |= RESOLVE_TAG_OTHER;
		request.build_id_bytes = reply->build_id_bytes;
		memcpy(request.build_id, reply->build_id, sizeof(request.build_id));
		snprintf(request.name, sizeof(request.name), "%s", reply->debuglink);
		file->other = resolve_ask(s, &request) == 0 ? OTHER_ASKED : OTHER_DONE;
	}
	return file->other == OTHER_ASKED;
}

/* What was split off from units: in FILE.dwp, beside the file or where its debug file may be. False: it has no such name. */
static bool package_request(const struct resolver *s, uint32_t module,
			    struct broker_file_request *ret)
{
	static const char deleted[] = " (deleted)", ending[] = ".dwp";
	const struct file *file = &s->files[module];
	const char *path = procs_module(s->procs, module)->raw_path, *name;
	size_t len;

	*ret = resolve_request_of(s, module, BROKER_DEBUGLINK);
	ret->tag |= RESOLVE_TAG_PACKAGE;
	name = file->is_package_linked ? file->debuglink : path ? strrchr(path, '/') : NULL;
	if (!name || !*name)
		return false;
	name += *name == '/';
	len = strlen(name);
	if (len > strlen(deleted) && strcmp(name + len - strlen(deleted), deleted) == 0)
		len -= strlen(deleted);
	return snprintf(ret->name, sizeof(ret->name), "%.*s%s", (int)len, name, ending) <
	       (int)sizeof(ret->name);
}

static bool waits_for_package(struct resolver *s, uint32_t module)
{
	struct file *file = &s->files[module];
	struct broker_file_request request;

	if (file->package == OTHER_UNSEEN) {
		procs_find_mapper(s->procs, &file->where);
		file->is_package_linked = false;
		file->package =
			package_request(s, module, &request) && resolve_ask(s, &request) == 0
				? OTHER_ASKED
				: OTHER_DONE;
	}
	return file->package == OTHER_ASKED;
}

/* That of MODULE at PATH, made if it is new; NULL: there are too many. */
static struct split *split_of(struct resolver *s, uint32_t module, const char *path)
{
	uint64_t hash = hash_bytes(path, strlen(path)) ^ hash_u64(module);

	for (size_t i = 0; i < s->nr_splits; i++)
		if (s->splits[i].hash == hash)
			return &s->splits[i];
	if (vec_reserve(&s->splits, &s->cap_splits, s->nr_splits + 1, SPLITS_MAX) < 0)
		return NULL;
	s->splits[s->nr_splits] = (struct split){.hash = hash};
	return &s->splits[s->nr_splits++];
}

/* Ask the broker for it: a loader that is new, or had no room, is given it again. False: it does not come. */
static bool waits_for_split(struct resolver *s, uint32_t module, const char *path)
{
	struct split *split = split_of(s, module, path);
	struct broker_file_request request;

	if (!split || split->is_asked || split->nr_tries == SPLIT_TRIES_MAX)
		return split && split->is_asked;
	/* With the next answer. */
	if (s->nr_splits_asked == LOADER_SPLITS_MAX)
		return true;
	procs_find_mapper(s->procs, &s->files[module].where);
	request = resolve_request_of(s, module, BROKER_SPLIT);
	request.tag = module | RESOLVE_TAG_SPLIT |
		      (uint64_t)(split - s->splits) << RESOLVE_TAG_SPLIT_SHIFT;
	snprintf(request.path, sizeof(request.path), "%s", path);
	split->nr_tries++;
	split->is_asked = resolve_ask(s, &request) == 0;
	s->nr_splits_asked += split->is_asked;
	return split->is_asked;
}

static bool waits_for_splits(struct resolver *s, const struct loader_reply *reply)
{
	bool waits = waits_for_package(s, reply->module);

	if (waits)
		return true;
	for (uint32_t i = 0; i < reply->nr_splits; i++)
		waits |= waits_for_split(s, reply->module, reply->splits[i]);
	return waits;
}

/* Parts of the debug information of REPLY's file are elsewhere: are they still to come? */
static bool waits_for_parts(struct resolver *s, const struct loader_reply *reply)
{
	struct file *file = resolver_file(s, reply->module);
	bool waits = false;

	if (!file || reply->module < PROC_MODULE_FIRST || reply->status != LOADER_OK)
		return false;
	if (reply->build_id_bytes > 0)
		waits |= waits_for_other(s, reply);
	if (reply->nr_splits > 0) {
		file->lacks_split = !waits_for_splits(s, reply);
		waits |= !file->lacks_split;
	}
	return waits;
}

/* The file of REPLY is the part that STATE is of. */
static void part_take(struct resolver *s, struct broker_file_reply *reply, enum other_file *state)
{
	*state = OTHER_DONE;
	if (reply->status == 0)
		loader_add_debug(s->loader, (uint32_t)reply->tag, steal_fd(&reply->fd));
}

void resolve_take_other(struct resolver *s, struct broker_file_reply *reply)
{
	struct file *file = resolver_file(s, (uint32_t)reply->tag);

	/* It may have been closed and opened again meanwhile: then it is asked for again. */
	if (file && file->other == OTHER_ASKED)
		part_take(s, reply, &file->other);
}

void resolve_take_package(struct resolver *s, struct broker_file_reply *reply)
{
	struct file *file = resolver_file(s, (uint32_t)reply->tag);
	struct broker_file_request request;

	if (!file || file->package != OTHER_ASKED)
		return;
	if (reply->status < 0 && !file->is_package_linked && file->debuglink[0]) {
		file->is_package_linked = true;
		if (package_request(s, (uint32_t)reply->tag, &request) &&
		    resolve_ask(s, &request) == 0)
			return;
	}
	part_take(s, reply, &file->package);
}

void resolve_take_split(struct resolver *s, struct broker_file_reply *reply)
{
	size_t index = reply->tag >> RESOLVE_TAG_SPLIT_SHIFT;
	struct split *split = index < s->nr_splits ? &s->splits[index] : NULL;

	if (!split || !split->is_asked)
		return;
	split->is_asked = false;
	s->nr_splits_asked--;
	if (reply->status == 0)
		loader_add_split(s->loader, (uint32_t)reply->tag, steal_fd(&reply->fd));
	else
		split->nr_tries = SPLIT_TRIES_MAX;
}

/* --- answers --- */

void resolve_take_lines(struct resolver *s, const struct loader_reply *reply)
{
	bool waits = waits_for_parts(s, reply);

	if (reply->module == LOADER_KERNEL && reply->status == LOADER_NOT_ELF) {
		resolve_vmlinux_is_wrong(s);
		waits = resolve_need_vmlinux(s) == -EAGAIN;
	}
	assert(reply->nr_answered <= reply->nr_places);
	if (s->nr_line_batches > 0)
		s->nr_line_batches--;
	for (uint32_t i = 0; i < reply->nr_places; i++)
		report(s, reply->module, &reply->places[i], waits || i >= reply->nr_answered);
}
