/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of this machine: known by what processes have mapped, opened as soon
 * as they are mapped, by the broker from a process that maps them. What is
 * mapped is read from /proc where no record has shown it. The kernel's names are
 * in /proc/kallsyms.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_TEXT_MAX	  (64u << 20)
#define CGROUP_TEXT_MAX	  (1u << 20)
#define THREADS_BYTES_MAX (1u << 20)
#define SCAN_BYTES_MAX	  (64u << 20)
#define ENOUGH_FILES	  4096u
#define OF_FIRST_SCAN	  (1ull << 63) /* in the tag of the first scan, and of maps asked for by it */

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

static void take_maps(struct resolver *s, const struct broker_file_reply *reply)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (reply->status == 0 && read_all(reply->fd, MAPS_TEXT_MAX, &text, &len) < 0)
		text = NULL;
	procs_maps_text(s->procs, (pid_t)(uint32_t)reply->tag, text, len,
			reply->tag & OF_FIRST_SCAN ? s->scan_ns : s->now_ns);
}

static void take_cgroup(struct resolver *s, const struct broker_file_reply *reply)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (reply->status == 0 && read_all(reply->fd, CGROUP_TEXT_MAX, &text, &len) == 0)
		procs_cgroup_text(s->procs, (pid_t)reply->tag, text, len);
	if (reply->status == 0 && reply->uid != BROKER_UID_UNKNOWN)
		procs_user(s->procs, (pid_t)reply->tag, reply->uid);
}

static void take_threads(struct resolver *s, const struct broker_file_reply *reply)
{
	AUTO_FREE char *data = NULL;
	struct broker_thread thread;
	size_t len = 0;

	if (reply->status < 0 || read_all(reply->fd, THREADS_BYTES_MAX, &data, &len) < 0)
		return;
	for (size_t at = 0; len - at >= sizeof(thread); at += sizeof(thread)) {
		memcpy(&thread, data + at, sizeof(thread));
		thread.comm[sizeof(thread.comm) - 1] = '\0';
		procs_thread_seen(s->procs, (pid_t)reply->tag, thread.tid, thread.comm);
	}
}

void resolve_ask_scan(struct resolver *s, bool first)
{
	struct broker_file_request scan = {.kind = BROKER_SCAN, .tag = first ? OF_FIRST_SCAN : 0};
	struct broker_file_request kallsyms = {.kind = BROKER_KALLSYMS, .tag = LOADER_KERNEL};
	uint64_t time_ns = now_ns(); /* before it is asked for: what it shows is at least as new */

	if (resolve_ask(s, &scan) == 0)
		*(first ? &s->scan_ns : &s->rescan_ns) = time_ns;
	if (first && resolver_file(s, LOADER_KERNEL) && resolve_ask(s, &kallsyms) == 0)
		s->files[LOADER_KERNEL].state = FILE_OPENING;
}

/* The process at *AT of a scan's answer, which is moved on. False: there is no other. */
static bool next_scanned(const char *data, size_t len, size_t *at, struct broker_process *ret)
{
	if (len - *at < sizeof(*ret))
		return false;
	memcpy(ret, data + *at, sizeof(*ret));
	ret->comm[sizeof(ret->comm) - 1] = '\0';
	*at += sizeof(*ret);
	return true;
}

static void take_scan(struct resolver *s, const struct broker_file_reply *reply)
{
	bool is_first = reply->tag & OF_FIRST_SCAN;
	uint64_t asked_ns = is_first ? s->scan_ns : s->rescan_ns;
	AUTO_FREE char *data = NULL;
	struct broker_process p;
	size_t len = 0, at = 0;

	if (reply->status < 0 || read_all(reply->fd, SCAN_BYTES_MAX, &data, &len) < 0)
		return;
	while (next_scanned(data, len, &at, &p))
		if (!p.is_own) {
			procs_seen(s->procs, p.pid, p.start_time, p.comm, p.is_kernel, asked_ns);
			procs_user(s->procs, p.pid, p.uid);
		}
	procs_scanned(s->procs, asked_ns);
	/* After another scan maps are asked for when a sample needs them. */
	if (is_first) {
		s->scanned = steal_ptr(data);
		s->scanned_bytes = len;
	}
}

bool resolve_ask_scanned(struct resolver *s)
{
	struct broker_process p;

	while (s->nr_asked < ASKED_MAX) {
		if (!next_scanned(s->scanned, s->scanned_bytes, &s->scanned_at, &p))
			return false;
		if (!p.is_own && !p.is_kernel)
			ask_maps_of(s, p.pid, p.start_time, OF_FIRST_SCAN);
	}
	return true;
}

/* --- what is asked for in each step --- */

static void ask_modules(struct resolver *s)
{
	struct module_request where;

	while (s->nr_asked < ASKED_MAX && procs_next_module_request(s->procs, &where)) {
		struct file *file = resolver_file(s, where.module);

		if (!file)
			return;
		file->where = where;
		file->state = FILE_OPENING;
		if (resolve_ask_mapped(s, where.module) < 0)
			resolve_file_failed(s, where.module, STACK_END_NO_FILE,
					    "the broker is gone", false);
	}
}

static void ask_cgroups(struct resolver *s)
{
	struct broker_file_request request = {.kind = BROKER_CGROUP};

	while (s->nr_asked < ASKED_MAX &&
	       procs_next_cgroup_request(s->procs, &request.pid, &request.start_time)) {
		request.tag = (uint64_t)request.pid;
		resolve_ask(s, &request);
	}
}

static void ask_threads(struct resolver *s)
{
	struct broker_file_request request = {.kind = BROKER_THREADS};

	while (s->nr_asked < ASKED_MAX &&
	       procs_next_threads_request(s->procs, &request.pid, &request.start_time)) {
		request.tag = (uint64_t)request.pid;
		resolve_ask(s, &request);
	}
}

static void live_step(struct resolver *s)
{
	uint64_t start_time;
	pid_t pid;

	while (s->nr_asked < ASKED_MAX &&
	       procs_next_maps_request(s->procs, s->now_ns, &pid, &start_time))
		ask_maps_of(s, pid, start_time, 0);
	ask_modules(s);
	ask_cgroups(s);
	ask_threads(s);
}

/* Files are opened as soon as they are mapped; the vDSO, which is none, when a stack leads there. */
static void live_open(struct resolver *s, uint32_t id)
{
	if (id == PROC_MODULE_VDSO || id == PROC_MODULE_VDSO32)
		resolve_add_vdso(s, id);
}

/* --- the kernel --- */

static void take_kallsyms(struct resolver *s, struct broker_file_reply *reply)
{
	if (s->files[LOADER_KERNEL].state != FILE_OPENING)
		return;
	if (reply->status == 0 &&
	    loader_add_module(s->loader, LOADER_KERNEL, steal_fd(&reply->fd)) == 0) {
		s->vmlinux.is_needed = true;
		resolve_file_done(s, LOADER_KERNEL);
	} else {
		s->kernel_trouble = reply->status < 0 ? reply->status : -ENOMEM;
		resolve_settle(s, LOADER_KERNEL, FILE_FAILED);
	}
}

static void live_take(struct resolver *s, struct broker_file_reply *reply)
{
	if (reply->kind == BROKER_MAPS)
		take_maps(s, reply);
	else if (reply->kind == BROKER_CGROUP)
		take_cgroup(s, reply);
	else if (reply->kind == BROKER_THREADS)
		take_threads(s, reply);
	else if (reply->kind == BROKER_SCAN)
		take_scan(s, reply);
	else if (reply->kind == BROKER_KALLSYMS)
		take_kallsyms(s, reply);
	else if (reply->kind == BROKER_DEBUG || reply->kind == BROKER_VMLINUX)
		resolve_take_vmlinux(s, reply);
}

/* Why there are no kernel names, and what helps, where something does. */
static void live_notice(const struct resolver *s, enum resolve_notice which, char *out, size_t size)
{
	int trouble = s->kernel_trouble;
	enum loader_status status;

	if (which != RESOLVE_NOTICE_KERNEL || !s->kernel_names_missing || s->kernel_names_seen)
		return;
	status = s->files[LOADER_KERNEL].trouble;
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

const struct origin origin_live = {
	.step = live_step,
	.open = live_open,
	.take = live_take,
	.notice = live_notice,
};
