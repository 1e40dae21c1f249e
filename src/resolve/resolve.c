/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolver's steps: answers of the broker and the loader are taken, then more is asked. See resolve.h. */
#include "config.h"

#include "src/resolve/resolve.h"

#include "src/base/io.h"
#include "src/resolve/resolver.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCAN_WAIT_MS 10 /* then the rings are drained, whatever has come */

static void take_reply(struct resolver *s, struct broker_file_reply *reply)
{
	bool is_module = reply->tag != LOADER_KERNEL;

	if (reply->kind == BROKER_CODE && reply->tag & RESOLVE_MADE_CODE)
		resolve_take_made_code(s, reply);
	else if (reply->kind == BROKER_CODE)
		s->config.ops->memory_came(s->config.context, reply);
	else if (reply->kind == BROKER_KCORE)
		resolve_take_kcore(s, reply);
	else if (reply->kind == BROKER_SOURCE)
		s->config.ops->source_came(s->config.context, reply);
	else if (reply->kind == BROKER_PERF_MAP || reply->kind == BROKER_JITDUMP)
		resolve_jit_take_file(s, reply);
	else if (reply->tag & RESOLVE_TAG_OTHER)
		resolve_take_other(s, reply);
	else if (reply->tag & RESOLVE_TAG_PACKAGE)
		resolve_take_package(s, reply);
	else if (reply->tag & RESOLVE_TAG_SPLIT)
		resolve_take_split(s, reply);
	else if (is_module && (reply->kind == BROKER_MAPPED || reply->kind == BROKER_PATH))
		resolve_take_mapped(s, reply);
	else if (is_module && (reply->kind == BROKER_DEBUG || reply->kind == BROKER_DEBUGLINK))
		resolve_take_debug(s, reply);
	else
		s->origin->take(s, reply);
}

static void take_broker(struct resolver *s)
{
	struct broker_file_reply reply;

	while (broker_file_next(s->broker, &reply)) {
		if (s->nr_asked > 0)
			s->nr_asked--;
		take_reply(s, &reply);
		if (reply.fd >= 0)
			close(reply.fd);
	}
}

static void take_loader(struct resolver *s)
{
	struct loader_reply reply;

	loader_tick(s->loader, s->now_ns);
	while (loader_next_reply(s->loader, &reply)) {
		if (proc_is_jit(reply.module))
			resolve_jit_charge(s, reply.module, reply.cpu_ns);
		switch (reply.kind) {
		case LOADER_REPLY_TABLE:
			resolve_take_table(s, &reply);
			break;
		case LOADER_REPLY_RETURN_ADDRS:
			resolve_take_return_addrs(s, &reply);
			break;
		case LOADER_REPLY_NAMES:
			resolve_take_names(s, &reply);
			break;
		case LOADER_REPLY_JIT:
			resolve_jit_take_names(s, &reply);
			break;
		case LOADER_REPLY_JIT_FRAMES:
			resolve_jit_take_frames(s, &reply);
			break;
		case LOADER_REPLY_CODE:
		case LOADER_REPLY_KCORE:
			resolve_take_code(s, &reply);
			break;
		case LOADER_REPLY_LINES:
			resolve_take_lines(s, &reply);
			break;
		}
	}
}

/* Sampling runs already while it waits, so the rings must not fill. */
void resolve_first_scan(struct resolver *s, uint64_t timeout_ns)
{
	uint64_t until_ns = now_ns() + timeout_ns;

	resolve_ask_scan(s, true);
	while ((resolve_ask_scanned(s) || s->nr_asked > 0) && now_ns() < until_ns) {
		struct pollfd pfd = {.fd = broker_files_fd(s->broker), .events = POLLIN};

		poll(&pfd, 1, SCAN_WAIT_MS);
		s->now_ns = now_ns();
		take_broker(s);
		s->config.ops->waiting(s->config.context);
	}
}

void resolve_rescan(struct resolver *s)
{
	procs_mark_all_stale(s->procs);
	resolve_ask_scan(s, false);
}

void resolve_step(struct resolver *s, uint64_t time_ns, bool broker_ready, bool loader_ready)
{
	struct loader_stats loader;

	s->now_ns = time_ns;
	if (broker_ready || s->nr_asked > 0)
		take_broker(s);
	s->origin->step(s);
	loader_stats(s->loader, &loader);
	if (loader_ready || loader.queued > 0)
		take_loader(s);
	resolve_close_idle(s);
	resolve_fetch_step(s);
	resolve_jit_step(s);
	resolve_ask_names(s);
	resolve_ask_requests(s);
	resolve_ask_pending(s);
	resolve_ask_lines(s);
	loader_tick(s->loader, time_ns);
}

bool resolve_is_full(const struct resolver *s)
{
	return s->nr_asked >= ASKED_MAX;
}

int resolve_ask_memory(struct resolver *s, const struct broker_file_request *request)
{
	return resolve_ask(s, request);
}

void resolve_note_request(struct resolver *s)
{
	s->has_requests = true;
}

bool resolve_has_requests(const struct resolver *s)
{
	return s->has_requests;
}

bool resolve_is_working(const struct resolver *s)
{
	for (uint32_t id = PROC_MODULE_VDSO; id < procs_nr_modules(s->procs); id++) {
		const struct unwind_module *m = &procs_module(s->procs, id)->unwind;

		if (m->needs_table && !m->has_table && m->state == STACK_END_PENDING)
			return true;
		if (m->needs_return_addrs && m->has_table && !m->has_return_addrs &&
		    !m->return_addrs_failed)
			return true;
	}
	return false;
}

void resolve_prefer(struct resolver *s, const uint32_t *modules, uint32_t nr)
{
	for (uint32_t id = 0; id < s->nr_files; id++)
		s->files[id].is_preferred = false;
	for (uint32_t i = 0; i < nr; i++) {
		struct file *file = resolver_file(s, modules[i]);

		if (file)
			file->is_preferred = true;
	}
	loader_prefer(s->loader, modules, nr);
}

void resolve_names_now(struct resolver *s)
{
	s->next_names_ns = 0;
}

/* --- what is said of it --- */

static void late_notice(const struct resolver *s, char *out, size_t size)
{
	struct loader_stats stats;
	size_t len = 0;

	loader_stats(s->loader, &stats);
	if (stats.late > 0)
		len = (size_t)snprintf(out, size, "names are late: %u file%s (%s)", stats.late,
				       stats.late > 1 ? "s" : "",
				       procs_module(s->procs, stats.late_module)->name);
	if (stats.restarts > 0 && len < size)
		snprintf(out + len, size - len, "%sthe loader was replaced %" PRIu64 " time%s",
			 len > 0 ? "; " : "", stats.restarts, stats.restarts > 1 ? "s" : "");
}

void resolve_notice(const struct resolver *s, enum resolve_notice which, bool is_broker_well,
		    char *out, size_t size)
{
	out[0] = '\0';
	switch (which) {
	case RESOLVE_NOTICE_BAD:
	case RESOLVE_NOTICE_EXPENSIVE:
		resolve_list_files(s, which, is_broker_well, out, size);
		break;
	case RESOLVE_NOTICE_LATE:
		late_notice(s, out, size);
		break;
	case RESOLVE_NOTICE_NO_ROOM:
		if (s->nr_no_room > 0)
			snprintf(out, size,
				 "too many open files: raise ulimit -n, then start again");
		break;
	case RESOLVE_NOTICE_FETCHES:
		resolve_fetch_notice(s, out, size);
		break;
	case RESOLVE_NOTICE_JIT:
		resolve_jit_notice(s, out, size);
		break;
	case RESOLVE_NOTICE_MISSING:
	case RESOLVE_NOTICE_KERNEL:
		s->origin->notice(s, which, out, size);
		break;
	}
}

void resolve_stats(const struct resolver *s, struct resolve_stats *ret)
{
	const struct fetch *fetch = &s->fetch;

	*ret = (struct resolve_stats){
		.table_rows = s->table_rows,
		.files_open = s->nr_open,
		.files_made_room = s->nr_made_room,
		.files_no_room = s->nr_no_room,
		.files_expensive = resolve_list_files(s, RESOLVE_NOTICE_EXPENSIVE, false, NULL, 0),
		.fetched = fetch->nr_fetched,
		.fetch_missing = fetch->nr_missing,
		.fetch_failed = fetch->nr_failed,
		.fetch_pending = fetch->nr_requested + (fetch->asked != FETCH_NONE) +
				 (fetch->came != FETCH_NONE),
		.fetch_bytes = fetch->all_bytes,
		.fetch_is_allowed = fetch->is_allowed && !fetch->is_gone,
		.fetch_is_full = fetch->all_bytes >= RESOLVE_FETCH_BYTES_MAX,
		.fetch_pause_ns =
			fetch->pause_until_ns > s->now_ns ? fetch->pause_until_ns - s->now_ns : 0,
	};
	loader_stats(s->loader, &ret->loader);
	ret->cpu_ns = ret->loader.cpu_ns + fetch->cpu_ns;
	ret->rss_bytes = ret->loader.rss_bytes + fetch->rss_bytes;
}

/* --- construction --- */

struct resolver *resolver_new(const struct resolve_config *config)
{
	struct resolver *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->procs = config->procs;
	s->broker = config->broker;
	s->loader = config->loader;
	s->origin = config->recording ? &origin_recorded : &origin_live;
	s->now_ns = config->time_ns;
	s->fetch.sock = s->fetch.kernel_fd = -1;
	s->fetch.asked = s->fetch.came = FETCH_NONE;
	s->fetch.is_allowed = !config->fetch_asks;
	resolve_open_init(s);
	resolve_jit_init(s);
	return s;
}

struct resolver *resolver_free(struct resolver *s)
{
	if (!s)
		return NULL;
	resolve_fetch_done(s);
	resolve_jit_done(s);
	free(s->files);
	free(s->pending);
	free(s->splits);
	free(s->scanned);
	free(s);
	return NULL;
}
