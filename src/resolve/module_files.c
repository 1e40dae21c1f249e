/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of each module's file, what is asked of the broker about it,
 * and how far it has come. Debug files of this machine too: they are the last
 * thing that a file waits for.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/vec.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BAD_FILES_NAMED 3 /* the others are counted */

const char resolve_another_build[] = "another build-id";
const char resolve_hangs[] = "its file system hangs";

struct file *resolver_file(struct resolver *s, uint32_t module)
{
	if (module >= s->nr_files) {
		size_t need = (size_t)module + 1;

		if (vec_reserve(&s->files, &s->cap_files, need, UINT32_MAX / 2) < 0)
			return NULL;
		memset(s->files + s->nr_files, 0, (need - s->nr_files) * sizeof(*s->files));
		s->nr_files = need;
	}
	return &s->files[module];
}

/* --- what is asked of the broker --- */

int resolve_ask(struct resolver *s, const struct broker_file_request *request)
{
	int r = broker_file_ask(s->broker, request);

	if (r == 0)
		s->nr_asked++;
	return r;
}

/*
 * Example: process 12 maps libz.so.1, inode 77 of
 * device 8:1, at 7f10..7f2a, and its table said that build-id ab12 belongs to libz.so.1.debug:
 *
 *	MAPPED      tag 9, process 12 started at 5021, 7f10..7f2a, inode 77 of 8:1, seen at 3.2 s
 *	DEBUG       tag 9, build-id ab12
 *	DEBUGLINK   tag 9, name libz.so.1.debug, beside what MAPPED tells
 *
 * Each kind reads its own fields only, so all are filled in that are known.
 */
struct broker_file_request resolve_request_of(const struct resolver *s, uint32_t module,
					      enum broker_file_kind kind)
{
	const struct module *m = procs_module(s->procs, module);
	const struct file *file = &s->files[module];
	struct broker_file_request request = {
		.kind = kind,
		.tag = module,
		.pid = file->where.pid,
		.start_time = file->where.start_time,
		.start = file->where.start,
		.end = file->where.end,
		.ino = file->where.ino,
		.maj = file->where.maj,
		.min = file->where.min,
		.seen_ns = file->where.seen_ns,
		.build_id_bytes = m->build_id_bytes,
	};

	_Static_assert(sizeof(request.build_id) == sizeof(m->build_id), "one length of build-ids");
	assert(module >= PROC_MODULE_FIRST && m->build_id_bytes <= sizeof(m->build_id));
	memcpy(request.build_id, m->build_id, sizeof(request.build_id));
	snprintf(request.name, sizeof(request.name), "%s", file->debuglink);
	if (m->raw_path)
		snprintf(request.path, sizeof(request.path), "%s", m->raw_path);
	return request;
}

int resolve_ask_mapped(struct resolver *s, uint32_t module)
{
	struct broker_file_request request = resolve_request_of(s, module, BROKER_MAPPED);

	s->files[module].asked_ns = s->now_ns;
	return resolve_ask(s, &request);
}

/* --- how far it has come --- */

void resolve_settle(struct resolver *s, uint32_t module, enum file_state state)
{
	assert(module < s->nr_files && (state == FILE_DONE || state == FILE_FAILED));
	s->files[module].state = state;
	s->files[module].reopens = false;
	s->files[module].has_settled = s->has_settled = true;
}

void resolve_file_done(struct resolver *s, uint32_t module)
{
	resolve_settle(s, module, FILE_DONE);
	s->has_requests = true; /* for its return addresses perhaps, which come last */
}

void resolve_file_failed(struct resolver *s, uint32_t module, enum stack_end end, const char *why,
			 bool retry)
{
	module_failed(s->procs, procs_module(s->procs, module), end, why, retry);
	s->config.ops->table_came(s->config.context); /* stacks need not wait for it any longer */
	if (retry)
		s->files[module].state = FILE_UNSEEN;
	else
		resolve_settle(s, module, FILE_FAILED);
}

/* --- debug files of this machine --- */

static void ask_debug(struct resolver *s, uint32_t module, enum broker_file_kind kind)
{
	struct broker_file_request request = resolve_request_of(s, module, kind);

	s->files[module].state = FILE_DEBUG;
	if (resolve_ask(s, &request) == 0)
		return;
	/* Without one the names are as good as they get. */
	resolve_file_done(s, module);
	resolve_fetch(s, module);
}

static void ask_debuglink(struct resolver *s, uint32_t module)
{
	if (s->files[module].debuglink[0]) {
		ask_debug(s, module, BROKER_DEBUGLINK);
		return;
	}
	resolve_file_done(s, module);
	resolve_fetch(s, module);
}

void resolve_ask_debug(struct resolver *s, uint32_t module)
{
	if (procs_module(s->procs, module)->build_id_bytes > 0)
		ask_debug(s, module, BROKER_DEBUG);
	else
		ask_debuglink(s, module);
}

void resolve_take_debug(struct resolver *s, struct broker_file_reply *reply)
{
	uint32_t module = (uint32_t)reply->tag;

	if (module >= s->nr_files || s->files[module].state != FILE_DEBUG)
		return;
	s->files[module].has_debug = reply->status == 0;
	if (reply->status == 0) {
		loader_add_debug(s->loader, module, steal_fd(&reply->fd));
		resolve_file_done(s, module);
	} else if (reply->kind == BROKER_DEBUG) {
		ask_debuglink(s, module);
	} else {
		resolve_file_done(s, module);
		resolve_fetch(s, module);
	}
}

/* --- what a person should know of them --- */

bool resolve_is_jitdump(const char *name)
{
	size_t digits = strncmp(name, "jit-", 4) == 0 ? strspn(name + 4, "0123456789") : 0;

	return digits > 0 && strcmp(name + 4 + digits, ".dump") == 0;
}

/* Why module ID has no names although there is a file, or NULL. */
static const char *trouble_of(const struct resolver *s, uint32_t id, bool is_broker_well)
{
	const struct file *file = &s->files[id];
	const char *why = procs_module(s->procs, id)->why;

	if (id < PROC_MODULE_FIRST)
		return NULL;
	if (why == resolve_another_build || why == resolve_hangs)
		return why;
	if (file->is_refused)
		return "packed tighter than any real one";
	switch (file->trouble) {
	case LOADER_CRASHED:
	case LOADER_TIMED_OUT:
	case LOADER_NO_MEMORY:
		return loader_status_text(file->trouble);
	default:
		break;
	}
	if (file->state == FILE_OPENING && is_broker_well &&
	    s->now_ns > file->asked_ns + RESOLVE_GIVE_UP_NS)
		return resolve_hangs;
	return NULL;
}

uint32_t resolve_list_files(const struct resolver *s, enum resolve_notice which,
			    bool is_broker_well, char *out, size_t size)
{
	bool is_bad = which == RESOLVE_NOTICE_BAD;
	uint32_t nr = 0;
	size_t len = 0;

	for (uint32_t id = PROC_MODULE_VDSO; id < s->nr_files; id++) {
		const struct module *m = procs_module(s->procs, id);
		const char *why = is_bad ? trouble_of(s, id, is_broker_well) : NULL;

		if ((is_bad ? !why : !m->unwind.table.is_expensive) || ++nr > BAD_FILES_NAMED ||
		    len >= size)
			continue;
		len += (size_t)snprintf(out + len, size - len, "%s%s%s%s%s", nr > 1 ? ", " : "",
					m->name, why ? " (" : "", why ? why : "", why ? ")" : "");
	}
	if (nr > BAD_FILES_NAMED && len < size)
		snprintf(out + len, size - len, " and %u more", nr - BAD_FILES_NAMED);
	return nr;
}

uint32_t resolve_bad_files(const struct resolver *s, bool is_broker_well,
			   struct resolve_bad_file *ret, uint32_t max)
{
	uint32_t nr = 0;

	for (uint32_t id = s->nr_files; id-- > PROC_MODULE_FIRST;) {
		const struct module *m = procs_module(s->procs, id);
		const char *why = trouble_of(s, id, is_broker_well);

		if (!why && !m->unwind.has_table && !resolve_is_jitdump(m->name) &&
		    (m->unwind.state == STACK_END_NO_FILE || m->unwind.state == STACK_END_BAD_FILE))
			why = m->why;
		if (!why && m->unwind.table.is_expensive)
			why = "its unwind information takes too long";
		if (!why && s->files[id].lacks_split)
			why = "neither its .dwp nor .dwo files are there: nothing is known to be inlined";
		if (!why)
			continue;
		if (nr < max)
			ret[nr] = (struct resolve_bad_file){.module = id, .why = why};
		nr++;
	}
	return nr;
}
