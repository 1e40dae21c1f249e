/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From an open file to its unwind table, and to its return addresses (the
 * places after calls) where a stack is walked without unwind information.
 * Files are opened as soon as they are mapped, since a process may end; their
 * tables are built for those that a stack leads into, which are few of them.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/huge.h"
#include "src/base/io.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define RETURN_ADDRS_BYTES_MAX (64u << 20)

/* The process is closed, not the file: others may have it mapped. */
static void refused(struct resolver *s, uint32_t module)
{
	bool is_asked = module_refused(s->procs, procs_module(s->procs, module),
				       s->files[module].where.pid, "could not be opened");

	s->config.ops->table_came(s->config.context);
	if (is_asked)
		s->files[module].state = FILE_UNSEEN;
	else
		resolve_settle(s, module, FILE_FAILED);
}

/* The file of MODULE did not come: STATUS tells why. */
static void not_opened(struct resolver *s, uint32_t module, enum broker_file_kind kind, int status)
{
	bool gone = status == -ENOENT || status == -ESRCH || status == -ESTALE;

	if (status == -ENOEXEC) {
		s->files[module].trouble = LOADER_NOT_ELF;
		resolve_file_failed(s, module, STACK_END_BAD_FILE,
				    loader_status_text(LOADER_NOT_ELF), false);
	} else if (kind == BROKER_MAPPED && (status == -EACCES || status == -EPERM)) {
		refused(s, module);
	} else if (kind == BROKER_PATH) {
		resolve_file_failed(s, module, STACK_END_NO_FILE,
				    gone ? "not found" : "could not be opened", false);
	} else {
		resolve_file_failed(s, module, STACK_END_NO_FILE,
				    gone ? "its process was gone" : "could not be opened", gone);
	}
}

void resolve_take_mapped(struct resolver *s, struct broker_file_reply *reply)
{
	uint32_t module = (uint32_t)reply->tag;

	if (module >= s->nr_files ||
	    (s->files[module].state != FILE_OPENING && s->files[module].state != FILE_AGAIN))
		return;
	if (reply->kind == BROKER_MAPPED &&
	    (reply->status == -EMFILE ||
	     (reply->status == -EBUSY && s->files[module].state == FILE_AGAIN))) {
		resolve_no_room(s, module, reply->status);
		return;
	}
	if (s->files[module].state == FILE_AGAIN) {
		resolve_take_again(s, reply);
		return;
	}
	if (reply->status < 0) {
		not_opened(s, module, reply->kind, reply->status);
		return;
	}
	s->files[module].state = FILE_OPEN;
	s->has_requests = true;
	if (loader_add_module(s->loader, module, steal_fd(&reply->fd)) < 0)
		resolve_file_failed(s, module, STACK_END_NO_FILE, "out of memory", false);
	else
		resolve_opened(s, module, reply);
}

void resolve_take_table(struct resolver *s, struct loader_reply *reply)
{
	struct module *m = procs_module(s->procs, reply->module);
	AUTO_CLOSE int fd = reply->blob_fd;
	struct file *file = resolver_file(s, reply->module);
	const void *blob = NULL;
	size_t len = 0;
	int r = -EBADMSG;

	if (!file || file->state != FILE_TABLE)
		return;
	assert(m->unwind.id == reply->module && !m->unwind.has_table);
	s->config.ops->table_came(s->config.context);
	if (s->origin->accepts && !s->origin->accepts(s, reply)) {
		loader_drop_module(s->loader, reply->module);
		resolve_file_failed(s, reply->module, STACK_END_NO_FILE, resolve_another_build,
				    false);
		return;
	}
	if (reply->status == LOADER_OK && memfd_map(fd, TABLE_BYTES_MAX, &blob, &len) == 0) {
		huge_move(&blob, len);
		r = module_ready(m, blob, len);
	}
	if (r < 0 && reply->status != LOADER_NO_CODE) {
		if (blob)
			munmap((void *)(uintptr_t)blob, len);
		file->trouble = reply->status;
		resolve_file_failed(
			s, reply->module, STACK_END_BAD_FILE,
			r == -E2BIG ? module_too_large : loader_status_text(reply->status), false);
		return;
	}
	if (r == 0) {
		s->table_rows += table_nr_rows(&m->unwind.table);
	} else {
		module_failed(s->procs, m, STACK_END_ARCH, loader_status_text(reply->status),
			      false);
	}
	m->build_id_bytes = reply->build_id_bytes;
	memcpy(m->build_id, reply->build_id, sizeof(m->build_id));
	snprintf(file->debuglink, sizeof(file->debuglink), "%s", reply->debuglink);
	if (reply->has_symtab || reply->module < PROC_MODULE_FIRST)
		resolve_file_done(s, reply->module);
	else
		resolve_ask_debug(s, reply->module);
}

void resolve_take_return_addrs(struct resolver *s, struct loader_reply *reply)
{
	struct module *m = procs_module(s->procs, reply->module);
	AUTO_CLOSE int fd = reply->blob_fd;
	const void *blob = NULL;
	size_t len = 0;

	s->config.ops->table_came(s->config.context);
	if (reply->status == LOADER_OK && memfd_map(fd, RETURN_ADDRS_BYTES_MAX, &blob, &len) == 0 &&
	    module_return_addrs_ready(m, blob, len) == 0)
		return;
	if (blob)
		munmap((void *)(uintptr_t)blob, len);
	m->unwind.return_addrs_failed = true;
}

static void ask_return_addrs_of(struct resolver *s, uint32_t id)
{
	struct unwind_module *m = &procs_module(s->procs, id)->unwind;
	struct file *file = &s->files[id];

	if (file->state == FILE_DONE && !resolve_is_open(s, id)) {
		m->return_addrs_failed = resolve_is_lost(s, id);
		return;
	}
	file->return_addrs_asked = true;
	if (loader_request_return_addrs(s->loader, id) < 0)
		m->return_addrs_failed = true;
}

static void ask_requests_of(struct resolver *s, uint32_t id)
{
	struct unwind_module *m = &procs_module(s->procs, id)->unwind;
	struct file *file = &s->files[id];
	/* No process of the recording had it any more, and its table was dropped: now one has. */
	bool was_dropped =
		file->state >= FILE_DEBUG && !m->has_table && m->state == STACK_END_PENDING;

	if ((file->state == FILE_UNSEEN || was_dropped) && m->needs_table && s->origin->open)
		s->origin->open(s, id);
	if (file->state == FILE_DONE && file->reopens && resolve_is_open(s, id))
		resolve_file_done(s, id);
	if (file->state == FILE_OPEN && m->needs_table && resolve_is_open(s, id)) {
		file->state = FILE_TABLE;
		if (loader_request_table(s->loader, id) < 0)
			resolve_file_failed(s, id, STACK_END_BAD_FILE, "out of memory", false);
	}
	if (file->state >= FILE_DEBUG && m->needs_return_addrs && !file->return_addrs_asked)
		ask_return_addrs_of(s, id);
}

void resolve_ask_requests(struct resolver *s)
{
	if (!s->has_requests)
		return;
	s->has_requests = false;
	if (!resolver_file(s, procs_nr_modules(s->procs) - 1))
		return;
	for (uint32_t id = PROC_MODULE_VDSO; id < s->nr_files; id++)
		ask_requests_of(s, id);
}
