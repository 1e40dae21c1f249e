/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of a recording: opened by their paths when a stack first leads
 * into them, used only if their build-id is the recorded one. What is this
 * machine's own (the vDSO, the kernel's names) is used only where the
 * recording's is the same.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct recording_build_id *build_id_of(const struct resolver *s, const char *path)
{
	return s->config.recording->build_id(s->config.recording->context, path);
}

/* --- build-ids --- */

/* Is it the build-id RECORDED, which older perfs fill up with zeros if it is short? */
static bool is_build(const struct recording_build_id *recorded, const uint8_t *id, uint8_t bytes)
{
	uint8_t left[RECORD_BUILD_ID_MAX] = {0}, right[RECORD_BUILD_ID_MAX] = {0};

	memcpy(left, recorded->build_id, MIN(recorded->build_id_bytes, (uint8_t)sizeof(left)));
	memcpy(right, id, MIN(bytes, (uint8_t)sizeof(right)));
	return recorded->build_id_bytes > 0 && bytes > 0 && memcmp(left, right, sizeof(left)) == 0;
}

/* Is the file that REPLY, with its table, tells of the recorded one, as far as that can be known? */
static bool accepts_table(struct resolver *s, const struct loader_reply *reply)
{
	const struct module *m = procs_module(s->procs, reply->module);
	const char *path = m->raw_path ? m->raw_path : m->path; /* the vDSO has no file */
	bool is_vdso32 = reply->module == PROC_MODULE_VDSO32;
	/* perf tells the two apart in its list alone. */
	const struct recording_build_id *recorded = build_id_of(s, is_vdso32 ? "[vdso32]" : path);
	struct recording_build_id mapped = {.build_id_bytes = m->build_id_bytes};

	if (reply->status != LOADER_OK && reply->status != LOADER_NO_CODE)
		return true; /* bad in any case, and that is said */
	memcpy(mapped.build_id, m->build_id, sizeof(mapped.build_id));
	if (m->reported_build_id) /* by its mapping */
		recorded = &mapped;
	if (recorded)
		return is_build(recorded, reply->build_id, reply->build_id_bytes);
	s->nr_unverified += m->raw_path != NULL;
	return true;
}

bool resolve_is_own_kernel(const struct resolver *s)
{
	const struct recording_build_id *recorded = build_id_of(s, NULL);
	const struct recording_info *info = s->config.recording->info;
	struct recording_build_id own;
	struct utsname uts;

	if (recorded)
		return resolve_own_kernel(&own) &&
		       is_build(recorded, own.build_id, own.build_id_bytes);
	return info->release[0] && info->hostname[0] && uname(&uts) == 0 &&
	       strcmp(info->release, uts.release) == 0 && strcmp(info->hostname, uts.nodename) == 0;
}

/* --- opening --- */

static void open_file(struct resolver *s, uint32_t id)
{
	const struct module *m = procs_module(s->procs, id);
	struct broker_file_request request = {.kind = BROKER_PATH, .tag = id};

	if (!m->raw_path) {
		resolve_file_failed(s, id, STACK_END_NO_FILE, "has no path", false);
		return;
	}
	snprintf(request.path, sizeof(request.path), "%s", m->raw_path);
	s->files[id].state = FILE_OPENING;
	if (resolve_ask(s, &request) < 0)
		resolve_file_failed(s, id, STACK_END_NO_FILE, "the broker is gone", false);
}

/* Every kernel brings its own vDSO along. */
static void open_vdso(struct resolver *s, uint32_t id)
{
	const struct recording_info *info = s->config.recording->info;
	struct utsname uts;

	if (info->arch == RECORDING_ARCH_X86_64 && uname(&uts) == 0 &&
	    strcmp(info->release, uts.release) == 0 && strcmp(info->machine, uts.machine) == 0)
		resolve_add_vdso(s, id);
	else
		resolve_file_failed(s, id, STACK_END_NO_FILE, "another kernel's", false);
}

/* Where the kernel's names may be, the first that is there and right. */
enum kernel_try {
	KERNEL_KALLSYMS, /* of the kernel that runs, if it is the recorded one */
	KERNEL_BUILD_ID,
	KERNEL_PATHS, /* by its release, and then the other places */
};

/* What to ask for at the TRY: 0; -ENOENT: nothing; -ERANGE: nothing, and at none after it. */
static int kernel_request(const struct resolver *s, uint32_t try, struct broker_file_request *ret)
{
	const struct recording_build_id *recorded = build_id_of(s, NULL);

	*ret = (struct broker_file_request){.tag = LOADER_KERNEL};
	switch (try) {
	case KERNEL_KALLSYMS:
		ret->kind = BROKER_KALLSYMS;
		return resolve_is_own_kernel(s) ? 0 : -ENOENT;
	case KERNEL_BUILD_ID:
		if (!recorded)
			return -ENOENT;
		ret->kind = BROKER_DEBUG;
		memcpy(ret->build_id, recorded->build_id, sizeof(ret->build_id));
		ret->build_id_bytes = recorded->build_id_bytes;
		return 0;
	default:
		ret->kind = BROKER_PATH;
		return broker_vmlinux_path(try - KERNEL_PATHS, s->config.recording->info->release,
					   ret->path, sizeof(ret->path));
	}
}

/* Ask for the next place. */
static void open_kernel(struct resolver *s)
{
	const struct recording_build_id *recorded = build_id_of(s, NULL);
	struct file *file = &s->files[LOADER_KERNEL];
	struct broker_file_request request;
	int r;

	while ((r = kernel_request(s, s->kernel_try, &request)) != -ERANGE) {
		s->kernel_try++;
		if (r == 0 && resolve_ask(s, &request) == 0) {
			file->state = FILE_OPENING;
			file->asked_ns = s->now_ns;
			return;
		}
	}
	resolve_settle(s, LOADER_KERNEL, FILE_FAILED);
	if (recorded) {
		resolve_fetch_kernel_id(s, recorded->build_id, recorded->build_id_bytes);
		resolve_fetch(s, LOADER_KERNEL);
	}
}

static void recorded_take(struct resolver *s, struct broker_file_reply *reply)
{
	if (reply->tag != LOADER_KERNEL)
		return;
	if (s->files[LOADER_KERNEL].state != FILE_OPENING) {
		resolve_take_vmlinux(s, reply);
		return;
	}
	s->vmlinux.is_needed = reply->kind == BROKER_KALLSYMS;
	loader_set_kernel_text(s->loader, *s->config.recording->kernel_text);
	if (reply->status == 0 &&
	    loader_add_module(s->loader, LOADER_KERNEL, steal_fd(&reply->fd)) == 0)
		resolve_file_done(s, LOADER_KERNEL);
	else
		open_kernel(s);
}

/* Are the names in REPLY the recorded kernel's? If not the next place is looked at. */
static bool accepts_kernel(struct resolver *s, const struct loader_reply *reply)
{
	const struct recording_build_id *recorded = build_id_of(s, NULL);
	bool is_kallsyms = reply->build_id_bytes == 0; /* the broker's own, known to be right */

	if (reply->status == LOADER_OK &&
	    (is_kallsyms || !recorded ||
	     is_build(recorded, reply->build_id, reply->build_id_bytes)))
		return true;
	if (s->files[LOADER_KERNEL].state == FILE_DONE) {
		loader_drop_module(s->loader, LOADER_KERNEL);
		open_kernel(s);
	}
	return false;
}

static bool recorded_accepts(struct resolver *s, const struct loader_reply *reply)
{
	return reply->module == LOADER_KERNEL ? accepts_kernel(s, reply) : accepts_table(s, reply);
}

static const char *recorded_kernel_object(const struct resolver *s, uint64_t addr)
{
	return s->config.recording->kernel_object(s->config.recording->context, addr);
}

static void recorded_open(struct resolver *s, uint32_t id)
{
	s->files[id].asked_ns = s->now_ns;
	if (id == PROC_MODULE_KERNEL) {
		open_kernel(s);
	} else if (id == PROC_MODULE_VDSO || id == PROC_MODULE_VDSO32) {
		open_vdso(s, id);
	} else if (id >= PROC_MODULE_FIRST) {
		procs_module(s->procs, id)->unwind.needs_table = true;
		s->has_requests = true;
		open_file(s, id);
	}
}

/* Nothing waits for ever: opens that hang have failed. */
static void recorded_step(struct resolver *s)
{
	if (s->nr_asked == 0 || s->now_ns < s->next_give_up_ns)
		return;
	s->next_give_up_ns = s->now_ns + NS_PER_SEC / 4;
	for (uint32_t id = 0; id < s->nr_files; id++) {
		struct file *file = &s->files[id];

		if (s->now_ns < file->asked_ns + RESOLVE_GIVE_UP_NS)
			continue;
		if (file->state == FILE_DEBUG)
			resolve_file_done(s, id);
		else if (file->state == FILE_OPENING && id == PROC_MODULE_KERNEL)
			open_kernel(s);
		else if (file->state == FILE_OPENING)
			resolve_file_failed(s, id, STACK_END_NO_FILE, resolve_hangs, false);
	}
}

/* --- what is said of them --- */

static void recorded_notice(const struct resolver *s, enum resolve_notice which, char *out,
			    size_t size)
{
	uint32_t nr_missing = 0;
	size_t len = 0;

	if (which != RESOLVE_NOTICE_MISSING)
		return;
	for (uint32_t id = PROC_MODULE_FIRST; id < s->nr_files; id++) {
		const struct module *m = procs_module(s->procs, id);

		nr_missing += s->files[id].state == FILE_FAILED &&
			      m->unwind.state == STACK_END_NO_FILE &&
			      m->why != resolve_another_build && m->why != resolve_hangs;
	}
	if (nr_missing > 0)
		len = (size_t)snprintf(out, size, "%u file%s not found: --symfs=DIR says where",
				       nr_missing, nr_missing > 1 ? "s" : "");
	if (s->kernel_try > 0 && s->files[LOADER_KERNEL].state == FILE_FAILED && len < size)
		len += (size_t)snprintf(out + len, size - len,
					"%sanother kernel, and no vmlinux of it: no kernel names",
					len ? "; " : "");
	if (s->nr_unverified > 0 && len < size)
		snprintf(out + len, size - len,
			 "%sthe recording has no build-id of %u file%s: taken as found here",
			 len ? "; " : "", s->nr_unverified, s->nr_unverified > 1 ? "s" : "");
}

const struct origin origin_recorded = {
	.step = recorded_step,
	.open = recorded_open,
	.accepts = recorded_accepts,
	.take = recorded_take,
	.kernel_object = recorded_kernel_object,
	.notice = recorded_notice,
};
