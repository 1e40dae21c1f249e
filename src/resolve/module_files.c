/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF files on their way from a mapping to a table: opened by the broker,
 * compiled by the loader, joined by a debug file if there is one.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/resolve/resolver.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define RETURN_ADDRS_BYTES_MAX (64u << 20)
#define VDSO_BYTES_MAX	       65536
#define BAD_FILES_NAMED	       3 /* the others are counted */

struct file *resolve_file(struct resolver *s, uint32_t module)
{
	if (module >= s->nr_files) {
		size_t want = (size_t)module + 1;

		if (vec_reserve(&s->files, &s->cap_files, want, UINT32_MAX / 2) < 0)
			return NULL;
		memset(s->files + s->nr_files, 0, (want - s->nr_files) * sizeof(*s->files));
		s->nr_files = want;
	}
	return &s->files[module];
}

/* --- the vDSO: the same image in every 64-bit process, so our own will do --- */

static int vdso_image(void)
{
	/* From our own auxiliary vector: the kernel's word, not a target's. */
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	Elf64_Ehdr header;
	uint64_t bytes;

	if (!image)
		return -ENOENT;
	memcpy(&header, image, sizeof(header));
	bytes = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	if (bytes > VDSO_BYTES_MAX)
		return -EFBIG;
	return memfd_sealed("vdso", image, bytes);
}

void resolve_add_vdso(struct resolver *s)
{
	struct file *file = resolve_file(s, PROC_MODULE_VDSO);
	int fd = vdso_image();

	if (file && fd >= 0 && loader_add_module(s->loader, PROC_MODULE_VDSO, fd) == 0) {
		file->state = FILE_OPEN;
	} else if (file) {
		resolve_file_failed(s, PROC_MODULE_VDSO, STACK_END_NO_FILE, "no vDSO here", false);
	} else {
		module_failed(s->engine->procs, procs_module(s->engine->procs, PROC_MODULE_VDSO),
			      STACK_END_NO_FILE, "no vDSO here", false);
	}
}

/* --- files --- */

void resolve_file_done(struct resolver *s, uint32_t module)
{
	s->files[module].state = FILE_DONE;
	s->files[module].wants_open = false;
	s->engine->look_for_wants = true;
	resolve_release_names(s, module);
}

void resolve_file_failed(struct resolver *s, uint32_t module, enum stack_end end, const char *why,
			 bool retry)
{
	struct engine *engine = s->engine;

	module_failed(engine->procs, procs_module(engine->procs, module), end, why, retry);
	s->files[module].state = retry ? FILE_UNSEEN : FILE_FAILED;
	s->tables_came = true; /* who waits for it need not wait longer */
	if (!retry)
		resolve_release_names(s, module);
}

/* What to ask the broker of KIND about the file of MODULE, by the process that has it mapped. */
static struct broker_file_request request_of(const struct resolver *s, uint32_t module,
					     enum broker_file_kind kind)
{
	const struct module *m = procs_module(s->engine->procs, module);
	const struct file *file = &s->files[module];
	struct broker_file_request request = {
		.kind = kind,
		.tag = module,
		.pid = file->want.pid,
		.start_time = file->want.start_time,
		.start = file->want.start,
		.end = file->want.end,
		.ino = file->want.ino,
		.maj = file->want.maj,
		.min = file->want.min,
		.seen_ns = file->want.seen_ns,
		.build_id_bytes = m->build_id_bytes,
	};

	memcpy(request.build_id, m->build_id, sizeof(request.build_id));
	snprintf(request.name, sizeof(request.name), "%s", file->debuglink);
	if (m->raw_path)
		snprintf(request.path, sizeof(request.path), "%s", m->raw_path);
	return request;
}

int resolve_ask_mapped(struct resolver *s, uint32_t module)
{
	struct broker_file_request request = request_of(s, module, BROKER_MAPPED);

	s->files[module].asked_ns = now_ns();
	return resolve_ask(s, &request);
}

void resolve_ask_modules(struct resolver *s)
{
	struct module_request want;

	while (s->nr_asked < ASKED_MAX && procs_next_module_request(s->engine->procs, &want)) {
		struct file *file = resolve_file(s, want.module);

		if (!file)
			return;
		file->want = want;
		file->state = FILE_OPENING;
		if (resolve_ask_mapped(s, want.module) < 0)
			resolve_file_failed(s, want.module, STACK_END_NO_FILE, "the broker is gone",
					    false);
	}
}

/* The file of MODULE did not come: STATUS tells why. */
static void not_opened(struct resolver *s, uint32_t module, enum broker_file_kind kind, int status)
{
	bool gone = status == -ENOENT || status == -ESRCH || status == -ESTALE;

	if (status == -ENOEXEC) {
		s->files[module].trouble = LOADER_NOT_ELF;
		resolve_file_failed(s, module, STACK_END_BAD_FILE,
				    loader_status_text(LOADER_NOT_ELF), false);
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
	s->engine->look_for_wants = true;
	if (loader_add_module(s->loader, module, steal_fd(&reply->fd)) < 0)
		resolve_file_failed(s, module, STACK_END_NO_FILE, "out of memory", false);
	else
		resolve_opened(s, module, reply);
}

/* Ask for a debug file by build-id (first) or debuglink; without either the names are as good as they get. */
static void ask_debug(struct resolver *s, uint32_t module, enum broker_file_kind kind)
{
	const struct module *m = procs_module(s->engine->procs, module);
	struct file *file = &s->files[module];
	struct broker_file_request request = request_of(s, module, kind);
	bool known = kind == BROKER_DEBUG ? m->build_id_bytes > 0 : file->debuglink[0] != '\0';

	if (!known && kind == BROKER_DEBUG) {
		ask_debug(s, module, BROKER_DEBUGLINK);
		return;
	}
	file->state = FILE_DEBUG;
	if (!known || resolve_ask(s, &request) < 0) {
		resolve_file_done(s, module);
		resolve_fetch(s, module);
	}
}

void resolve_ask_debug(struct resolver *s, uint32_t module)
{
	ask_debug(s, module, BROKER_DEBUG);
}

void resolve_take_debug(struct resolver *s, struct broker_file_reply *reply)
{
	uint32_t module = (uint32_t)reply->tag;

	if (module >= s->nr_files || s->files[module].state != FILE_DEBUG)
		return;
	if (reply->status < 0 && reply->kind == BROKER_DEBUG) {
		ask_debug(s, module, BROKER_DEBUGLINK);
		return;
	}
	s->files[module].has_debug = reply->status == 0;
	if (reply->status == 0)
		loader_add_debug(s->loader, module, steal_fd(&reply->fd));
	resolve_file_done(s, module);
	if (reply->status < 0)
		resolve_fetch(s, module);
}

void resolve_take_table(struct resolver *s, struct loader_reply *reply)
{
	struct module *m = procs_module(s->engine->procs, reply->module);
	AUTO_CLOSE int fd = reply->blob_fd;
	struct file *file = resolve_file(s, reply->module);
	const void *blob = NULL;
	size_t len = 0;
	int r = -EBADMSG;

	if (!m || !file || file->state != FILE_TABLE)
		return;
	s->tables_came = true;
	if (s->engine->recorded && !resolve_is_recorded(s, m, reply)) {
		loader_drop_module(s->loader, reply->module);
		resolve_file_failed(s, reply->module, STACK_END_NO_FILE, resolve_another_build,
				    false);
		return;
	}
	if (reply->status == LOADER_OK && memfd_map(fd, TABLE_BYTES_MAX, &blob, &len) == 0)
		r = module_ready(m, blob, len);
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
		module_failed(s->engine->procs, m, STACK_END_ARCH,
			      loader_status_text(reply->status), false);
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
	struct module *m = procs_module(s->engine->procs, reply->module);
	AUTO_CLOSE int fd = reply->blob_fd;
	const void *blob = NULL;
	size_t len = 0;

	if (!m)
		return;
	s->tables_came = true;
	if (reply->status == LOADER_OK && memfd_map(fd, RETURN_ADDRS_BYTES_MAX, &blob, &len) == 0 &&
	    module_return_addrs_ready(m, blob, len) == 0)
		return;
	if (blob)
		munmap((void *)(uintptr_t)blob, len);
	m->unwind.return_addrs_failed = true;
}

static void ask_return_addrs_of(struct resolver *s, uint32_t id)
{
	struct unwind_module *m = &procs_module(s->engine->procs, id)->unwind;
	struct file *file = &s->files[id];

	if (file->state == FILE_DONE && !resolve_is_open(s, id)) {
		m->return_addrs_failed = resolve_is_lost(s, id);
		return;
	}
	file->return_addrs_asked = true;
	if (loader_want_return_addrs(s->loader, id) < 0)
		m->return_addrs_failed = true;
}

static void ask_wants_of(struct resolver *s, uint32_t id)
{
	struct unwind_module *m = &procs_module(s->engine->procs, id)->unwind;
	struct file *file = &s->files[id];
	/* No process of the recording had it any more, and its table was dropped: now one has. */
	bool was_dropped =
		file->state >= FILE_DEBUG && !m->has_table && m->state == STACK_END_PENDING;

	if ((file->state == FILE_UNSEEN || was_dropped) && m->wants_table && s->engine->recorded)
		resolve_open_recorded(s, id);
	if (file->state == FILE_DONE && file->wants_open && resolve_is_open(s, id))
		resolve_file_done(s, id);
	if (file->state == FILE_OPEN && m->wants_table && resolve_is_open(s, id)) {
		file->state = FILE_TABLE;
		if (loader_want_table(s->loader, id) < 0)
			resolve_file_failed(s, id, STACK_END_BAD_FILE, "out of memory", false);
	}
	if (file->state >= FILE_DEBUG && m->needs_return_addrs && !file->return_addrs_asked)
		ask_return_addrs_of(s, id);
}

/*
 * Unwinding says by flags in a module that a stack leads into it. Files are
 * opened as soon as they are mapped, since a process may end; their tables are
 * built for those that stacks lead to, which are few of them.
 */
void resolve_ask_wants(struct resolver *s)
{
	if (!s->engine->look_for_wants)
		return;
	s->engine->look_for_wants = false;
	/* A recording's files are not seen before they are wanted. */
	if (s->engine->recorded && !resolve_file(s, procs_nr_modules(s->engine->procs) - 1))
		return;
	for (uint32_t id = PROC_MODULE_VDSO; id < s->nr_files; id++)
		ask_wants_of(s, id);
}

bool resolve_is_working(const struct resolver *s)
{
	for (uint32_t id = PROC_MODULE_VDSO; id < procs_nr_modules(s->engine->procs); id++) {
		const struct unwind_module *m = &procs_module(s->engine->procs, id)->unwind;

		if (m->wants_table && !m->has_table && m->state == STACK_END_PENDING)
			return true;
		if (m->needs_return_addrs && m->has_table && !m->has_return_addrs &&
		    !m->return_addrs_failed)
			return true;
	}
	return false;
}

/* --- what became of them --- */

/* Why module ID has no names although there is a file, or NULL. */
static const char *trouble_of(const struct resolver *s, uint32_t id, uint64_t time_ns)
{
	const struct file *file = &s->files[id];
	const char *why = procs_module(s->engine->procs, id)->why;

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
	/* Without a broker no open is answered. */
	if (file->state == FILE_OPENING && s->engine->broker_state == BROKER_WELL &&
	    time_ns > file->asked_ns + GIVE_UP_NS)
		return resolve_hangs;
	return NULL;
}

void resolve_bad_files(const struct resolver *s, char *out, size_t size)
{
	uint64_t time_ns = now_ns();
	uint32_t nr = 0;
	size_t len = 0;

	out[0] = '\0';
	for (uint32_t id = PROC_MODULE_FIRST; id < s->nr_files; id++) {
		const char *why = trouble_of(s, id, time_ns);

		if (!why || ++nr > BAD_FILES_NAMED || len >= size)
			continue;
		len += (size_t)snprintf(out + len, size - len, "%s%s (%s)", nr > 1 ? ", " : "",
					procs_module(s->engine->procs, id)->name, why);
	}
	if (nr > BAD_FILES_NAMED && len < size)
		snprintf(out + len, size - len, " and %u more", nr - BAD_FILES_NAMED);
}

uint32_t resolve_expensive_files(const struct resolver *s, char *out, size_t size)
{
	uint32_t nr = 0;
	size_t len = 0;

	out[0] = '\0';
	for (uint32_t id = PROC_MODULE_VDSO; id < s->nr_files; id++) {
		const struct module *m = procs_module(s->engine->procs, id);

		if (!m->unwind.table.is_expensive || ++nr > BAD_FILES_NAMED || len >= size)
			continue;
		len += (size_t)snprintf(out + len, size - len, "%s%s", nr > 1 ? ", " : "", m->name);
	}
	if (nr > BAD_FILES_NAMED && len < size)
		snprintf(out + len, size - len, " and %u more", nr - BAD_FILES_NAMED);
	return nr;
}

void resolve_late_files(const struct resolver *s, char *out, size_t size)
{
	const struct module *module = NULL;
	struct loader_stats stats;
	size_t len = 0;

	out[0] = '\0';
	loader_stats(s->loader, &stats);
	if (stats.late > 0)
		module = procs_module(s->engine->procs, stats.late_module);
	if (module)
		len = (size_t)snprintf(out, size, "names are late: %u file%s (%s)", stats.late,
				       stats.late > 1 ? "s" : "", module->name);
	if (stats.restarts > 0 && len < size)
		snprintf(out + len, size - len, "%sthe loader was replaced %" PRIu64 " time%s",
			 len > 0 ? "; " : "", stats.restarts, stats.restarts > 1 ? "s" : "");
}
