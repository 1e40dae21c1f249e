/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for frames: asked of the loader in batches, pending while their file is
 * still on its way, answered by what is known where no answer can come.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PENDING_MAX    (512u << 10) /* as many as a recording's profile has frames */
#define NAMES_PAUSE_NS (NS_PER_SEC / 2)
#define NAMES_MANY_NS  (NS_PER_SEC / 10) /* the pause while there are many */

/* Report NAME, which holds for its offset only unless it HAS_RANGE. */
static void report(struct resolver *s, uint32_t module, struct loader_name *name, bool has_range)
{
	if (!has_range) {
		name->from = 1;
		name->last = 0;
	}
	s->config.ops->name_came(s->config.context, module, name);
}

/* No name for OFF of MODULE, for the reason ERROR. */
static void report_nameless(struct resolver *s, uint32_t module, uint64_t off, int error)
{
	struct loader_name name = {.off = off, .func_off = UINT64_MAX};
	struct file *file = resolver_file(s, module);

	if (file && error == -ENOMEM)
		file->trouble = LOADER_NO_MEMORY;
	if (module == PROC_MODULE_KERNEL && s->origin->kernel_object)
		name.object = s->origin->kernel_object(s, off);
	report(s, module, &name, false);
}

/* BPF programs and trampolines are known from KSYMBOL records, the rest by the loader. */
static uint32_t name_ksymbols(struct resolver *s, uint64_t *addrs, uint32_t nr)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct loader_name name = {.off = addrs[i], .object = "[bpf]"};

		name.name = procs_ksymbol(s->procs, addrs[i], &name.func_off);
		name.func_vaddr = name.func_off;
		if (name.name)
			report(s, PROC_MODULE_KERNEL, &name, false);
		else
			addrs[left++] = addrs[i];
	}
	return left;
}

static void make_pending(struct resolver *s, uint32_t module, const uint64_t *offs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		int r = vec_reserve(&s->pending, &s->cap_pending, s->nr_pending + 1, PENDING_MAX);

		if (r < 0)
			report_nameless(s, module, offs[i], r);
		else
			s->pending[s->nr_pending++] =
				(struct pending_name){.module = module, .off = offs[i]};
	}
}

/* Can names of MODULE still come, now that they cannot be asked for? It is opened for them if need be. */
static bool may_come(struct resolver *s, uint32_t module, struct file *file)
{
	if (proc_is_jit(module))
		return file->state < FILE_DONE;
	if (module != PROC_MODULE_KERNEL && module < PROC_MODULE_VDSO)
		return false;
	if (file->state <= FILE_OPEN && module != PROC_MODULE_KERNEL) {
		/*
		 * Names come after the table, with what it tells of debug files: also where
		 * unwinding needs none, and the file is not even open yet.
		 */
		procs_module(s->procs, module)->unwind.needs_table = true;
		s->has_requests = true;
	}
	if (file->state == FILE_DONE && !file->is_open && !resolve_is_lost(s, module) &&
	    module >= PROC_MODULE_FIRST)
		file->reopens = true;
	return file->state < FILE_DONE || file->reopens;
}

/* What a process before this one made has no name any more. */
static uint32_t leave_old_jit(struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	uint32_t known = resolve_jit_known(s, module, offs, nr);

	for (uint32_t i = known; i < nr; i++)
		report_nameless(s, module, offs[i], 0);
	return known;
}

/* Ask for names of NR offsets of MODULE, or keep or answer them as its file's state says. */
static void ask_names(struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	struct file *file = resolver_file(s, module);
	int r = 0;

	if (module == PROC_MODULE_KERNEL)
		nr = name_ksymbols(s, offs, nr);
	if (proc_is_jit(module))
		nr = leave_old_jit(s, module, offs, nr);
	if (file && file->state == FILE_UNSEEN && s->origin->open)
		s->origin->open(s, module);
	if (nr == 0)
		return;
	assert(nr <= LOADER_NAMES_MAX);
	if (file && file->state == FILE_DONE && resolve_is_open(s, module)) {
		r = loader_request_names(s->loader, module, offs, nr);
		if (r == 0) {
			s->nr_batches++;
			return;
		}
	}
	if (file && may_come(s, module, file)) {
		make_pending(s, module, offs, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		report_nameless(s, module, offs[i], r);
}

/* Ask for the pending names of MODULE. Those that stay pending stand after the others then. */
static void ask_pending_of(struct resolver *s, uint32_t module)
{
	uint64_t offs[LOADER_NAMES_MAX];
	uint32_t nr = 0;
	size_t kept = 0, nr_before = s->nr_pending, nr_again;

	for (size_t i = 0; i < nr_before; i++) {
		if (s->pending[i].module != module) {
			s->pending[kept++] = s->pending[i];
			continue;
		}
		offs[nr++] = s->pending[i].off;
		if (nr == LOADER_NAMES_MAX) {
			ask_names(s, module, offs, nr);
			nr = 0;
		}
	}
	ask_names(s, module, offs, nr);
	nr_again = s->nr_pending - nr_before;
	if (nr_again > 0)
		memmove(s->pending + kept, s->pending + nr_before, nr_again * sizeof(*s->pending));
	assert(s->nr_pending >= nr_before && kept + nr_again <= s->nr_pending);
	s->nr_pending = kept + nr_again;
}

void resolve_ask_pending(struct resolver *s)
{
	while (s->has_settled) { /* asking may settle one more: the kernel, say, when no place has it */
		s->has_settled = false;
		for (uint32_t id = 0; id < s->nr_files; id++) {
			if (!s->files[id].has_settled)
				continue;
			s->files[id].has_settled = false;
			ask_pending_of(s, id);
		}
	}
}

/* A little patience makes few large requests of many small ones. */
void resolve_ask_names(struct resolver *s)
{
	uint64_t offs[LOADER_NAMES_MAX], pause_ns = NAMES_PAUSE_NS;
	uint32_t module, nr;

	/* With a debug file or a perf map that has come, names must wait for the answers that are on their way. */
	if (s->now_ns < s->next_names_ns || s->fetch.came != FETCH_NONE || resolve_jit_is_stale(s))
		return;
	while (s->nr_batches < NAMES_BATCHES_MAX &&
	       (nr = s->config.ops->next_unnamed(s->config.context, &module, offs,
						 LOADER_NAMES_MAX)) > 0) {
		ask_names(s, module, offs, nr);
		if (nr == LOADER_NAMES_MAX)
			pause_ns = NAMES_MANY_NS;
	}
	s->next_names_ns = s->now_ns + pause_ns;
}

/* The kernel's parts are shown as objects of their own. */
static void take_name(struct resolver *s, uint32_t module, const struct loader_name *n)
{
	struct loader_name name = *n;
	char object[80];

	name.object = NULL;
	if (module == PROC_MODULE_KERNEL) {
		s->kernel_names_seen |= n->name != NULL;
		s->kernel_names_missing |= n->name == NULL;
		if (!n->name && s->origin->kernel_object) {
			report_nameless(s, module, n->off, 0);
			return;
		}
		snprintf(object, sizeof(object), "[%s]",
			 n->object && n->object[0] ? n->object : "kernel");
		name.object = object;
		if (!n->name)
			name.func_off = UINT64_MAX;
	}
	if (proc_is_jit(module) && !n->name)
		resolve_jit_nameless(s, module);
	report(s, module, &name, true);
}

/* From another place than the one that REPLY comes from. */
static void ask_again(struct resolver *s, const struct loader_reply *reply)
{
	uint64_t offs[LOADER_NAMES_MAX];
	uint32_t nr = MIN(reply->nr_names, (uint32_t)LOADER_NAMES_MAX);

	for (uint32_t i = 0; i < nr; i++)
		offs[i] = reply->names[i].off;
	ask_names(s, reply->module, offs, nr);
}

void resolve_take_names(struct resolver *s, const struct loader_reply *reply)
{
	struct file *file = resolver_file(s, reply->module);

	if (s->nr_batches > 0)
		s->nr_batches--;
	if (file && reply->status != LOADER_OK)
		file->trouble = reply->status;
	if (file)
		file->is_refused = reply->is_refused;
	if (reply->module == LOADER_KERNEL && s->origin->accepts && !s->origin->accepts(s, reply)) {
		ask_again(s, reply);
		return;
	}
	for (uint32_t i = 0; i < reply->nr_names; i++)
		take_name(s, reply->module, &reply->names[i]);
}
