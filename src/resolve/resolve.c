/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the engine may not open or parse itself comes from here: the broker
 * opens, the loader parses, and the resolver carries descriptors, tables and
 * names between them, proc and the profile. It asks and takes, and never
 * waits; only the first scan of /proc is given a moment.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAPS_TEXT_MAX  (64u << 20)
#define SCAN_BYTES_MAX (64u << 20)
#define RETRY_NS       (NS_PER_SEC / 4)
#define ENOUGH_FILES   4096u
#define MAPS_OF_SCAN   (1ull << 63) /* in the tag of maps asked for by the first scan */

static void take_broker(struct resolver *s);
static void take_scan(struct resolver *s, int fd, uint64_t time_ns, uint64_t until_ns);

static int start_loader(void *context, int *ret_sock, pid_t *ret_pid)
{
	struct engine *engine = context;
	int r = broker_start_loader(engine->broker, ret_sock, ret_pid);

	if (r == 0)
		engine->own_pids[engine->nr_own_pids++ % OWN_PIDS_MAX] = *ret_pid;
	return r;
}

static void kill_loader(void *context, pid_t pid)
{
	struct engine *engine = context;

	broker_kill_loader(engine->broker, pid);
}

int resolve_ask(struct resolver *s, const struct broker_file_request *request)
{
	int r = broker_file_ask(s->engine->broker, request);

	if (r == 0)
		s->nr_asked++;
	return r;
}

/* --- processes --- */

static void ask_maps_of(struct resolver *s, pid_t pid, uint64_t start_time, uint64_t flag)
{
	struct broker_file_request request = {
		.kind = BROKER_MAPS,
		.tag = (uint64_t)pid | flag,
		.pid = pid,
		.start_time = start_time,
	};

	resolve_ask(s, &request);
}

static void ask_maps(struct resolver *s, uint64_t time_ns)
{
	pid_t pid;
	uint64_t start_time;

	while (s->nr_asked < ASKED_MAX &&
	       procs_next_maps_request(s->engine->procs, time_ns, &pid, &start_time))
		ask_maps_of(s, pid, start_time, 0);
}

static void take_maps(struct resolver *s, const struct broker_file_reply *reply)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (reply->status == 0 && read_all(reply->fd, MAPS_TEXT_MAX, &text, &len) < 0)
		text = NULL;
	procs_maps_text(s->engine->procs, (pid_t)(uint32_t)reply->tag, text, len,
			reply->tag & MAPS_OF_SCAN ? s->scan_time_ns : now_ns());
}

/* STATUS: why there is no /proc/kallsyms. */
static void kernel_failed(struct resolver *s, int status)
{
	s->kernel_trouble = status;
	s->files[LOADER_KERNEL].state = FILE_FAILED;
	resolve_release_names(s, LOADER_KERNEL);
}

static void take_reply_of(struct resolver *s, struct broker_file_reply *reply)
{
	switch (reply->kind) {
	case BROKER_MAPS:
		take_maps(s, reply);
		break;
	case BROKER_MAPPED:
	case BROKER_PATH:
		resolve_take_mapped(s, reply);
		break;
	case BROKER_DEBUG:
	case BROKER_DEBUGLINK:
		resolve_take_debug(s, reply);
		break;
	case BROKER_KALLSYMS:
		if (s->files[LOADER_KERNEL].state != FILE_OPENING)
			break;
		if (reply->status == 0 &&
		    loader_add_module(s->loader, LOADER_KERNEL, steal_fd(&reply->fd)) == 0)
			resolve_file_done(s, LOADER_KERNEL);
		else
			kernel_failed(s, reply->status < 0 ? reply->status : -ENOMEM);
		break;
	case BROKER_SCAN:
		if (reply->status == 0)
			take_scan(s, reply->fd, s->rescan_time_ns, 0);
		break;
	case BROKER_TASKS:
	case BROKER_CPUS:
		break;
	}
}

static void take_reply(struct resolver *s, struct broker_file_reply *reply)
{
	if (s->nr_asked > 0)
		s->nr_asked--;
	if (s->engine->recorded && reply->tag == LOADER_KERNEL)
		resolve_take_kernel(s, reply);
	else
		take_reply_of(s, reply);
	if (reply->fd >= 0)
		close(reply->fd);
}

static void take_broker(struct resolver *s)
{
	struct broker_file_reply reply;

	while (broker_file_next(s->engine->broker, &reply))
		take_reply(s, &reply);
}

static void take_loader(struct resolver *s, uint64_t time_ns)
{
	struct loader_reply reply;

	loader_tick(s->loader, time_ns);
	while (loader_next_reply(s->loader, &reply)) {
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
		}
	}
}

/*
 * Let answers come in until fewer than LIMIT are outstanding. Only the first
 * scan may wait; sampling runs already, so the rings must not fill meanwhile.
 */
static void wait_for_answers(struct resolver *s, uint32_t limit, uint64_t until_ns)
{
	while (s->nr_asked >= limit && now_ns() < until_ns) {
		struct pollfd pfd = {.fd = broker_files_fd(s->engine->broker), .events = POLLIN};

		poll(&pfd, 1, 10);
		take_broker(s);
		source_drain(s->engine->source, now_ns());
	}
}

/* Processes of a scan asked for at TIME_NS. UNTIL_NS 0: their maps are asked for when they are needed. */
static void take_scan(struct resolver *s, int fd, uint64_t time_ns, uint64_t until_ns)
{
	AUTO_FREE char *data = NULL;
	size_t len = 0;

	if (read_all(fd, SCAN_BYTES_MAX, &data, &len) < 0)
		return;
	for (size_t at = 0; at + sizeof(struct broker_process) <= len;
	     at += sizeof(struct broker_process)) {
		struct broker_process p;

		memcpy(&p, data + at, sizeof(p));
		if (p.is_own)
			continue;
		p.comm[sizeof(p.comm) - 1] = '\0';
		procs_seen(s->engine->procs, p.pid, p.start_time, p.comm, p.is_kernel, time_ns);
		if (p.is_kernel || !until_ns)
			continue;
		wait_for_answers(s, ASKED_MAX, until_ns);
		if (s->nr_asked < ASKED_MAX)
			ask_maps_of(s, p.pid, p.start_time, MAPS_OF_SCAN);
	}
	procs_scanned(s->engine->procs, time_ns);
}

void resolve_rescan(struct resolver *s, uint64_t time_ns)
{
	struct broker_file_request scan = {.kind = BROKER_SCAN};

	procs_mark_all_stale(s->engine->procs);
	if (resolve_ask(s, &scan) == 0)
		s->rescan_time_ns = time_ns;
}

void resolve_first_scan(struct resolver *s, uint64_t timeout_ns)
{
	struct broker_file_request scan = {.kind = BROKER_SCAN};
	struct broker_file_request kallsyms = {.kind = BROKER_KALLSYMS};
	struct broker_file_reply reply = {.fd = -1};
	uint64_t until_ns = now_ns() + timeout_ns;

	s->scan_time_ns = now_ns();
	if (targets_ask(s->engine->broker, &scan, &reply, timeout_ns) == 0)
		take_scan(s, reply.fd, s->scan_time_ns, until_ns);
	if (reply.fd >= 0)
		close(reply.fd);
	if (resolve_file(s, LOADER_KERNEL) && resolve_ask(s, &kallsyms) == 0)
		s->files[LOADER_KERNEL].state = FILE_OPENING;
	wait_for_answers(s, 1, until_ns);
}

static bool loader_is_asked(const struct resolver *s)
{
	struct loader_stats stats;

	loader_stats(s->loader, &stats);
	return stats.queued > 0;
}

void resolve_step(struct resolver *s, uint64_t time_ns, bool broker_ready, bool loader_ready)
{
	if (broker_ready || s->nr_asked > 0)
		take_broker(s);
	if (s->engine->recorded) {
		resolve_give_up_recorded(s, time_ns);
	} else {
		ask_maps(s, time_ns);
		resolve_ask_modules(s);
	}
	if (loader_ready || loader_is_asked(s))
		take_loader(s, time_ns);
	resolve_close_idle(s, time_ns);
	resolve_fetch_step(s);
	resolve_ask_names(s, time_ns);
	resolve_ask_wants(s);
	loader_tick(s->loader, time_ns);
	if (s->tables_came || time_ns >= s->next_retry_ns) {
		backlog_retry(s->engine->backlog, s->engine,
			      time_ns > GIVE_UP_NS ? time_ns - GIVE_UP_NS : 0);
		s->tables_came = false;
		s->next_retry_ns = time_ns + RETRY_NS;
	}
}

int resolve_loader_fd(const struct resolver *s)
{
	return loader_client_fd(s->loader);
}

/* What helps, where something does. */
static void kernel_notice(int trouble, enum loader_status status, char *out, size_t size)
{
	if (trouble == -EMFILE || trouble == -ENFILE || status == LOADER_NO_FILES)
		snprintf(
			out, size,
			"too few file descriptors for kernel names: ulimit -n %u, then start again",
			ENOUGH_FILES);
	else if (trouble < 0)
		snprintf(out, size, "no kernel names: /proc/kallsyms: %s", strerror(-trouble));
	else if (status != LOADER_OK)
		snprintf(out, size, "no kernel names: /proc/kallsyms: %s",
			 loader_status_text(status));
	else
		snprintf(out, size,
			 "kernel names are hidden: sudo sysctl kernel.kptr_restrict=0, "
			 "then start again");
}

void resolve_kernel_notice(const struct resolver *s, char *out, size_t size)
{
	out[0] = '\0';
	if (s->kernel_names_missing && !s->kernel_names_seen)
		kernel_notice(s->kernel_trouble, s->files[LOADER_KERNEL].trouble, out, size);
}

bool resolve_no_room_seen(const struct resolver *s)
{
	return s->nr_no_room > 0;
}

void resolve_fill_health(const struct resolver *s, struct health *health)
{
	struct loader_stats stats;
	struct procs_stats procs;

	loader_stats(s->loader, &stats);
	procs_stats(s->engine->procs, &procs);
	health->loader_restarts = stats.restarts;
	health->files_put_back = stats.put_back;
	health->files_late = stats.late;
	health->symbols_evicted = stats.symbols_evicted;
	health->symbols_left_out = stats.symbols_left_out;
	health->files_open = s->nr_open;
	health->files_made_room = s->nr_made_room;
	health->files_no_room = s->nr_no_room;
	health->fetched = s->fetch.nr_fetched;
	health->fetch_missing = s->fetch.nr_missing;
	health->fetch_failed = s->fetch.nr_failed;
	health->fetch_pending = s->fetch.nr_wanted + (s->fetch.asked != 0);
	health->tables_bytes = procs.tables_bytes;
	health->tables_rows = s->table_rows;
}

void resolve_cost(const struct resolver *s, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes)
{
	struct loader_stats stats;

	loader_stats(s->loader, &stats);
	*ret_cpu_ns = stats.cpu_ns + s->fetch.cpu_ns;
	*ret_rss_bytes = stats.rss_bytes + s->fetch.rss_bytes;
}

struct resolver *resolver_new(struct engine *engine)
{
	struct loader_spawner spawner = {
		.start = start_loader, .kill = kill_loader, .context = engine};
	struct resolver *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->engine = engine;
	s->fetch.sock = -1;
	resolve_open_init(s);
	s->loader = loader_client_new(&spawner);
	if (!s->loader)
		return resolver_free(s);
	if (!engine->recorded)
		resolve_add_vdso(s);
	return s;
}

struct resolver *resolver_free(struct resolver *s)
{
	if (!s)
		return NULL;
	resolve_fetch_done(s);
	loader_client_free(s->loader);
	free(s->files);
	free(s->held);
	free(s);
	return NULL;
}
