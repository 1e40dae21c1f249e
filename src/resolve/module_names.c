/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for frames: asked of the loader in batches, held while their file is
 * still on its way, answered by what is known where no answer can come.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HELD_MAX       (512u << 10) /* as many as a recording's profile has frames */
#define NAMES_PAUSE_NS (NS_PER_SEC / 2)
#define NAMES_MANY_NS  (NS_PER_SEC / 10) /* the pause while there are many */

static void name_fallback(struct resolver *s, uint32_t module, uint64_t off)
{
	const char *object = NULL;

	if (module == PROC_MODULE_KERNEL && s->engine->recorded)
		object = recorded_kernel_object(s->engine->recorded, off);
	profile_name(s->engine->profile, module, off, UINT64_MAX, 0, NULL, object);
}

/* No name for OFF of MODULE, for the reason ERROR. */
static void give_up(struct resolver *s, uint32_t module, uint64_t off, int error)
{
	struct file *file = resolve_file(s, module);

	if (file && error == -ENOMEM)
		file->trouble = LOADER_NO_MEMORY;
	name_fallback(s, module, off);
}

static void hold(struct resolver *s, uint32_t module, const uint64_t *offs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		int r = vec_reserve(&s->held, &s->cap_held, s->nr_held + 1, HELD_MAX);

		if (r < 0)
			give_up(s, module, offs[i], r);
		else
			s->held[s->nr_held++] = (struct held){.module = module, .off = offs[i]};
	}
}

/* BPF programs and trampolines are known from KSYMBOL records, the rest by the loader. */
static uint32_t name_ksymbols(struct resolver *s, uint64_t *addrs, uint32_t nr)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t start;
		const char *name = procs_ksymbol(s->engine->procs, addrs[i], &start);

		if (name)
			profile_name(s->engine->profile, PROC_MODULE_KERNEL, addrs[i], start, start,
				     name, "[bpf]");
		else
			addrs[left++] = addrs[i];
	}
	return left;
}

/* Ask for names of NR offsets of MODULE, or hold or answer them as its file's state says. */
static void want_names(struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	struct file *file = resolve_file(s, module);
	int r = 0;

	if (module == PROC_MODULE_KERNEL)
		nr = name_ksymbols(s, offs, nr);
	if (file && file->state == FILE_UNSEEN && s->engine->recorded)
		resolve_open_recorded(s, module);
	if (nr == 0)
		return;
	if (file && file->state == FILE_DONE && resolve_is_open(s, module)) {
		r = loader_want_names(s->loader, module, offs, nr);
		if (r == 0) {
			s->nr_batches++;
			return;
		}
	}
	if (file && file->state <= FILE_OPEN && module >= PROC_MODULE_VDSO) {
		/*
		 * Names come after the table, with what it tells of debug files: also where
		 * unwinding wants none, and the file is not even open yet.
		 */
		procs_module(s->engine->procs, module)->unwind.wants_table = true;
		s->engine->look_for_wants = true;
	}
	if (file && file->state == FILE_DONE && !file->is_open && !resolve_is_lost(s, module) &&
	    module >= PROC_MODULE_FIRST && !s->engine->recorded)
		file->wants_open = true;
	if (file && (file->state < FILE_DONE || file->wants_open) &&
	    (module == PROC_MODULE_KERNEL || module >= PROC_MODULE_VDSO)) {
		hold(s, module, offs, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		give_up(s, module, offs[i], r);
}

/* The names of MODULE can be asked for now, or never: let go what was held. */
void resolve_release_names(struct resolver *s, uint32_t module)
{
	uint64_t offs[LOADER_NAMES_MAX];
	uint32_t nr = 0;
	size_t kept = 0, nr_before = s->nr_held, nr_again;

	for (size_t i = 0; i < nr_before; i++) {
		if (s->held[i].module != module) {
			s->held[kept++] = s->held[i];
			continue;
		}
		offs[nr++] = s->held[i].off;
		if (nr == LOADER_NAMES_MAX) {
			want_names(s, module, offs, nr);
			nr = 0;
		}
	}
	want_names(s, module, offs, nr);
	/* Those that have to wait once more stand behind. */
	nr_again = s->nr_held - nr_before;
	if (nr_again > 0)
		memmove(s->held + kept, s->held + nr_before, nr_again * sizeof(*s->held));
	s->nr_held = kept + nr_again;
}

/* A little patience makes few large requests of many small ones. */
void resolve_ask_names(struct resolver *s, uint64_t time_ns)
{
	uint64_t offs[LOADER_NAMES_MAX], pause_ns = NAMES_PAUSE_NS;
	uint32_t module, nr;

	if (time_ns < s->next_names_ns || resolve_fetch_holds_names(s))
		return;
	while (s->nr_batches < NAMES_BATCHES_MAX &&
	       (nr = profile_unnamed(s->engine->profile, &module, offs, LOADER_NAMES_MAX)) > 0) {
		want_names(s, module, offs, nr);
		if (nr == LOADER_NAMES_MAX)
			pause_ns = NAMES_MANY_NS;
	}
	s->next_names_ns = time_ns + pause_ns;
}

void resolve_names_now(struct resolver *s)
{
	s->next_names_ns = 0;
}

static void take_name(struct resolver *s, uint32_t module, const struct loader_name *n)
{
	struct profile *profile = s->engine->profile;
	char object[80];

	if (module == PROC_MODULE_KERNEL && !n->name && s->engine->recorded) {
		name_fallback(s, module, n->off);
		s->kernel_names_missing = true;
		return;
	}
	if (module != PROC_MODULE_KERNEL) {
		profile_name(profile, module, n->off, n->func_off, n->func_vaddr, n->name, NULL);
	} else {
		snprintf(object, sizeof(object), "[%s]",
			 n->object && n->object[0] ? n->object : "kernel");
		profile_name(profile, PROC_MODULE_KERNEL, n->off,
			     n->name ? n->func_off : UINT64_MAX, n->func_vaddr, n->name, object);
		if (n->name)
			s->kernel_names_seen = true;
		else
			s->kernel_names_missing = true;
	}
	profile_name_range(profile, module, n->off, n->from, n->last);
}

/* From another place than the one that REPLY comes from. */
static void want_again(struct resolver *s, const struct loader_reply *reply)
{
	uint64_t offs[LOADER_NAMES_MAX];
	uint32_t nr = MIN(reply->nr_names, (uint32_t)LOADER_NAMES_MAX);

	for (uint32_t i = 0; i < nr; i++)
		offs[i] = reply->names[i].off;
	want_names(s, reply->module, offs, nr);
}

void resolve_take_names(struct resolver *s, const struct loader_reply *reply)
{
	struct file *file = resolve_file(s, reply->module);

	if (s->nr_batches > 0)
		s->nr_batches--;
	if (file && reply->status != LOADER_OK)
		file->trouble = reply->status;
	if (file)
		file->is_refused = reply->is_refused;
	if (reply->module == LOADER_KERNEL && s->engine->recorded &&
	    resolve_kernel_is_wrong(s, reply)) {
		want_again(s, reply);
		return;
	}
	for (uint32_t i = 0; i < reply->nr_names; i++)
		take_name(s, reply->module, &reply->names[i]);
}
