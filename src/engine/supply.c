/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the engine may not open or parse itself comes from here: the broker
 * opens, the loader parses, and this file carries descriptors, tables and
 * names between them, proc and the profile. It asks and takes, and never
 * waits; only the first scan of /proc is given a moment.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/engine/internal.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPS_TEXT_MAX	  (64u << 20)
#define SCAN_BYTES_MAX	  (64u << 20)
#define CALLS_BYTES_MAX	  (64u << 20)
#define ASKED_MAX	  64 /* requests at the broker at once */
#define NAMES_BATCHES_MAX 16 /* names requests at the loader at once: tables go first */
#define HELD_MAX	  16384
#define VDSO_BYTES_MAX	  65536
#define GIVE_UP_NS	  (3 * NS_PER_SEC) /* a sample waits so long for a table */
#define RETRY_NS	  (NS_PER_SEC / 4)
#define MAPS_OF_SCAN	  (1ull << 63) /* in the tag of maps asked for by the first scan */
#define NAMES_PAUSE_NS	  (NS_PER_SEC / 2)
#define NAMES_MANY_NS	  (NS_PER_SEC / 10) /* the pause while there are many */
#define BAD_FILES_NAMED	  2		    /* the others are counted */

/* How far a module has come on its way from a mapping to a name. */
enum file_state {
	FILE_UNSEEN,
	FILE_OPENING, /* asked the broker for the mapped file */
	FILE_OPEN,    /* the loader could read it; nobody wants its table yet */
	FILE_TABLE,   /* asked the loader for its table */
	FILE_DEBUG,   /* asked the broker for a debug file */
	FILE_DONE,    /* names can be asked for */
	FILE_FAILED,  /* there will be no names */
};

struct file {
	enum file_state state;
	bool calls_asked;
	enum loader_status trouble; /* the last answer of the loader on it, LOADER_OK: none bad */
	uint64_t asked_ns;	    /* when the broker was asked to open it */
	struct module_want want;    /* where it was mapped, for the debuglink */
	char debuglink[256];
};

/* Offsets whose module cannot be asked for names yet. */
struct held {
	uint32_t module;
	uint64_t off;
};

static void take_broker(struct supply *s);
static void take_scan(struct supply *s, int fd, uint64_t time_ns, uint64_t until_ns);

struct supply {
	struct engine *engine;
	struct loader_client *loader;
	struct file *files; /* by module id */
	size_t nr_files, cap_files;
	struct held *held;
	size_t nr_held, cap_held;
	uint32_t nr_asked;   /* at the broker */
	uint32_t nr_batches; /* names at the loader */
	bool tables_came;    /* since the backlog was last tried */
	bool kernel_names_seen, kernel_names_missing;
	uint64_t scan_time_ns, rescan_time_ns, next_retry_ns, next_names_ns;
	uint64_t table_rows;
};

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

static struct file *file_of(struct supply *s, uint32_t module)
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

static int ask(struct supply *s, const struct broker_file_request *request)
{
	int r = broker_file_ask(s->engine->broker, request);

	if (r == 0)
		s->nr_asked++;
	return r;
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

static void add_vdso(struct supply *s)
{
	struct file *file = file_of(s, PROC_MODULE_VDSO);
	int fd = vdso_image();

	if (!file || fd < 0) {
		module_failed(s->engine->procs, procs_module(s->engine->procs, PROC_MODULE_VDSO),
			      STACK_END_NO_FILE, "no vDSO here", false);
		return;
	}
	if (loader_add_module(s->loader, PROC_MODULE_VDSO, fd) == 0)
		file->state = FILE_OPEN;
}

/* --- names --- */

static void name_fallback(struct supply *s, uint32_t module, uint64_t off)
{
	profile_name(s->engine->profile, module, off, UINT64_MAX, 0, NULL, NULL);
}

static void hold(struct supply *s, uint32_t module, const uint64_t *offs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (vec_reserve(&s->held, &s->cap_held, s->nr_held + 1, HELD_MAX) < 0)
			name_fallback(s, module, offs[i]);
		else
			s->held[s->nr_held++] = (struct held){.module = module, .off = offs[i]};
	}
}

/* BPF programs and trampolines are known from KSYMBOL records, the rest by the loader. */
static uint32_t name_ksymbols(struct supply *s, uint64_t *addrs, uint32_t nr)
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
static void want_names(struct supply *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	struct file *file = file_of(s, module);

	if (module == PROC_MODULE_KERNEL)
		nr = name_ksymbols(s, offs, nr);
	if (nr == 0)
		return;
	if (file && file->state == FILE_DONE &&
	    loader_want_names(s->loader, module, offs, nr) == 0) {
		s->nr_batches++;
		return;
	}
	if (file && file->state == FILE_OPEN) {
		/* Names come after the table, with what it tells of debug files. */
		procs_module(s->engine->procs, module)->unwind.wants_table = true;
		s->engine->look_for_wants = true;
	}
	if (file && file->state < FILE_DONE &&
	    (module == PROC_MODULE_KERNEL || module >= PROC_MODULE_VDSO)) {
		hold(s, module, offs, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		name_fallback(s, module, offs[i]);
}

/* The names of MODULE can be asked for now, or never: let go what was held. */
static void release_held(struct supply *s, uint32_t module)
{
	uint64_t offs[LOADER_NAMES_MAX];
	uint32_t nr = 0;
	size_t kept = 0;

	for (size_t i = 0; i < s->nr_held; i++) {
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
	s->nr_held = kept;
	want_names(s, module, offs, nr);
}

/* A little patience makes few large requests of many small ones. */
static void ask_names(struct supply *s, uint64_t time_ns)
{
	uint64_t offs[LOADER_NAMES_MAX], pause_ns = NAMES_PAUSE_NS;
	uint32_t module, nr;

	if (time_ns < s->next_names_ns)
		return;
	while (s->nr_batches < NAMES_BATCHES_MAX &&
	       (nr = profile_unnamed(s->engine->profile, &module, offs, LOADER_NAMES_MAX)) > 0) {
		want_names(s, module, offs, nr);
		if (nr == LOADER_NAMES_MAX)
			pause_ns = NAMES_MANY_NS;
	}
	s->next_names_ns = time_ns + pause_ns;
}

void supply_names_now(struct supply *s)
{
	s->next_names_ns = 0;
}

static void take_name(struct supply *s, uint32_t module, const struct loader_name *n)
{
	struct profile *profile = s->engine->profile;
	char object[80];

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

static void take_names(struct supply *s, const struct loader_reply *reply)
{
	struct file *file = file_of(s, reply->module);

	if (s->nr_batches > 0)
		s->nr_batches--;
	if (file && reply->status != LOADER_OK)
		file->trouble = reply->status;
	for (uint32_t i = 0; i < reply->nr_names; i++)
		take_name(s, reply->module, &reply->names[i]);
}

/* --- files --- */

static void file_done(struct supply *s, uint32_t module)
{
	s->files[module].state = FILE_DONE;
	release_held(s, module);
}

static void file_failed(struct supply *s, uint32_t module, enum stack_end end, const char *why,
			bool retry)
{
	struct engine *engine = s->engine;

	module_failed(engine->procs, procs_module(engine->procs, module), end, why, retry);
	s->files[module].state = retry ? FILE_UNSEEN : FILE_FAILED;
	s->tables_came = true; /* who waits for it need not wait longer */
	if (!retry)
		release_held(s, module);
}

static bool ask_modules(struct supply *s)
{
	struct module_want want;
	bool asked = false;

	while (s->nr_asked < ASKED_MAX && procs_next_module_want(s->engine->procs, &want)) {
		struct broker_file_request request = {
			.kind = BROKER_MAPPED,
			.tag = want.module,
			.pid = want.pid,
			.start_time = want.start_time,
			.start = want.start,
			.end = want.end,
			.ino = want.ino,
			.maj = want.maj,
			.min = want.min,
		};
		struct file *file = file_of(s, want.module);

		if (!file)
			return asked;
		asked = true;
		file->want = want;
		file->state = FILE_OPENING;
		file->asked_ns = now_ns();
		if (ask(s, &request) < 0)
			file_failed(s, want.module, STACK_END_NO_FILE, "the broker is gone", false);
	}
	return asked;
}

static void take_mapped(struct supply *s, struct broker_file_reply *reply)
{
	uint32_t module = (uint32_t)reply->tag;

	if (module >= s->nr_files || s->files[module].state != FILE_OPENING)
		return;
	if (reply->status < 0) {
		bool gone = reply->status == -ENOENT || reply->status == -ESRCH ||
			    reply->status == -ESTALE;

		file_failed(s, module, STACK_END_NO_FILE,
			    gone ? "its process was gone" : "could not be opened", gone);
		return;
	}
	s->files[module].state = FILE_OPEN;
	s->engine->look_for_wants = true;
	if (loader_add_module(s->loader, module, steal_fd(&reply->fd)) < 0)
		file_failed(s, module, STACK_END_NO_FILE, "out of memory", false);
}

/* Ask for a debug file by build-id (first) or debuglink; without either the names are as good as they get. */
static void ask_debug(struct supply *s, uint32_t module, enum broker_file_kind kind)
{
	const struct module *m = procs_module(s->engine->procs, module);
	struct file *file = &s->files[module];
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
		.build_id_bytes = m->build_id_bytes,
	};
	bool known = kind == BROKER_DEBUG ? m->build_id_bytes > 0 : file->debuglink[0] != '\0';

	if (!known && kind == BROKER_DEBUG) {
		ask_debug(s, module, BROKER_DEBUGLINK);
		return;
	}
	memcpy(request.build_id, m->build_id, sizeof(request.build_id));
	snprintf(request.name, sizeof(request.name), "%s", file->debuglink);
	file->state = FILE_DEBUG;
	if (!known || ask(s, &request) < 0)
		file_done(s, module);
}

static void take_debug(struct supply *s, struct broker_file_reply *reply)
{
	uint32_t module = (uint32_t)reply->tag;

	if (module >= s->nr_files || s->files[module].state != FILE_DEBUG)
		return;
	if (reply->status < 0 && reply->kind == BROKER_DEBUG) {
		ask_debug(s, module, BROKER_DEBUGLINK);
		return;
	}
	if (reply->status == 0)
		loader_add_debug(s->loader, module, steal_fd(&reply->fd));
	file_done(s, module);
}

static void take_table(struct supply *s, struct loader_reply *reply)
{
	struct module *m = procs_module(s->engine->procs, reply->module);
	AUTO_CLOSE int fd = reply->blob_fd;
	struct file *file = file_of(s, reply->module);
	const void *blob = NULL;
	size_t len = 0;
	int r = -EBADMSG;

	if (!m || !file || file->state != FILE_TABLE)
		return;
	s->tables_came = true;
	if (reply->status == LOADER_OK && memfd_map(fd, TABLE_BYTES_MAX, &blob, &len) == 0)
		r = module_ready(m, blob, len);
	if (r < 0 && reply->status != LOADER_NO_CODE) {
		if (blob)
			munmap((void *)(uintptr_t)blob, len);
		file->trouble = reply->status;
		file_failed(s, reply->module, STACK_END_BAD_FILE, loader_status_text(reply->status),
			    false);
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
		file_done(s, reply->module);
	else
		ask_debug(s, reply->module, BROKER_DEBUG);
}

static void take_calls(struct supply *s, struct loader_reply *reply)
{
	struct module *m = procs_module(s->engine->procs, reply->module);
	AUTO_CLOSE int fd = reply->blob_fd;
	const void *blob = NULL;
	size_t len = 0;

	if (!m)
		return;
	s->tables_came = true;
	if (reply->status == LOADER_OK && memfd_map(fd, CALLS_BYTES_MAX, &blob, &len) == 0 &&
	    module_calls_ready(m, blob, len) == 0)
		return;
	if (blob)
		munmap((void *)(uintptr_t)blob, len);
	m->unwind.calls_failed = true;
}

static void ask_wants_of(struct supply *s, uint32_t id)
{
	struct unwind_module *m = &procs_module(s->engine->procs, id)->unwind;
	struct file *file = &s->files[id];

	if (file->state == FILE_OPEN && m->wants_table) {
		file->state = FILE_TABLE;
		if (loader_want_table(s->loader, id) < 0)
			file_failed(s, id, STACK_END_BAD_FILE, "out of memory", false);
	}
	if (file->state >= FILE_DEBUG && m->wants_calls && !file->calls_asked) {
		file->calls_asked = true;
		if (loader_want_calls(s->loader, id) < 0)
			m->calls_failed = true;
	}
}

/*
 * Unwinding says by flags in a module that a stack leads into it. Files are
 * opened as soon as they are mapped, since a process may end; their tables are
 * built for those that stacks lead to, which are few of them.
 */
static void ask_wants(struct supply *s)
{
	if (!s->engine->look_for_wants)
		return;
	s->engine->look_for_wants = false;
	for (uint32_t id = PROC_MODULE_VDSO; id < s->nr_files; id++)
		ask_wants_of(s, id);
}

/* --- processes --- */

static void ask_maps_of(struct supply *s, pid_t pid, uint64_t start_time, uint64_t flag)
{
	struct broker_file_request request = {
		.kind = BROKER_MAPS,
		.tag = (uint64_t)pid | flag,
		.pid = pid,
		.start_time = start_time,
	};

	ask(s, &request);
}

static bool ask_maps(struct supply *s, uint64_t time_ns)
{
	pid_t pid;
	uint64_t start_time;
	bool asked = false;

	while (s->nr_asked < ASKED_MAX &&
	       procs_next_maps_want(s->engine->procs, time_ns, &pid, &start_time)) {
		ask_maps_of(s, pid, start_time, 0);
		asked = true;
	}
	return asked;
}

static void take_maps(struct supply *s, const struct broker_file_reply *reply)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (reply->status == 0 && read_all(reply->fd, MAPS_TEXT_MAX, &text, &len) < 0)
		text = NULL;
	procs_maps_text(s->engine->procs, (pid_t)(uint32_t)reply->tag, text, len,
			reply->tag & MAPS_OF_SCAN ? s->scan_time_ns : now_ns());
}

static void take_reply(struct supply *s, struct broker_file_reply *reply)
{
	if (s->nr_asked > 0)
		s->nr_asked--;
	switch (reply->kind) {
	case BROKER_MAPS:
		take_maps(s, reply);
		break;
	case BROKER_MAPPED:
		take_mapped(s, reply);
		break;
	case BROKER_DEBUG:
	case BROKER_DEBUGLINK:
		take_debug(s, reply);
		break;
	case BROKER_KALLSYMS:
		if (reply->status == 0 &&
		    loader_add_module(s->loader, LOADER_KERNEL, steal_fd(&reply->fd)) == 0)
			file_done(s, LOADER_KERNEL);
		else
			s->files[LOADER_KERNEL].state = FILE_FAILED;
		break;
	case BROKER_SCAN:
		if (reply->status == 0)
			take_scan(s, reply->fd, s->rescan_time_ns, 0);
		break;
	case BROKER_TASKS:
	case BROKER_CPUS:
		break;
	}
	if (reply->fd >= 0)
		close(reply->fd);
}

static void take_broker(struct supply *s)
{
	struct broker_file_reply reply;

	while (broker_file_next(s->engine->broker, &reply))
		take_reply(s, &reply);
}

static void take_loader(struct supply *s, uint64_t time_ns)
{
	struct loader_reply reply;

	loader_tick(s->loader, time_ns);
	while (loader_next_reply(s->loader, &reply)) {
		switch (reply.kind) {
		case LOADER_REPLY_TABLE:
			take_table(s, &reply);
			break;
		case LOADER_REPLY_CALLS:
			take_calls(s, &reply);
			break;
		case LOADER_REPLY_NAMES:
			take_names(s, &reply);
			break;
		}
	}
}

/*
 * Let answers come in until fewer than LIMIT are outstanding. Only the first
 * scan may wait; sampling runs already, so the rings must not fill meanwhile.
 */
static void wait_for_answers(struct supply *s, uint32_t limit, uint64_t until_ns)
{
	while (s->nr_asked >= limit && now_ns() < until_ns) {
		struct pollfd pfd = {.fd = broker_files_fd(s->engine->broker), .events = POLLIN};

		poll(&pfd, 1, 10);
		take_broker(s);
		source_drain(live_source(s->engine->live), now_ns());
	}
}

/* Processes of a scan asked for at TIME_NS. UNTIL_NS 0: their maps are asked for when they are needed. */
static void take_scan(struct supply *s, int fd, uint64_t time_ns, uint64_t until_ns)
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

void supply_rescan(struct supply *s, uint64_t time_ns)
{
	struct broker_file_request scan = {.kind = BROKER_SCAN};

	procs_mark_dirty(s->engine->procs);
	if (ask(s, &scan) == 0)
		s->rescan_time_ns = time_ns;
}

void supply_first_scan(struct supply *s, uint64_t timeout_ns)
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
	if (file_of(s, LOADER_KERNEL) && ask(s, &kallsyms) == 0)
		s->files[LOADER_KERNEL].state = FILE_OPENING;
	wait_for_answers(s, 1, until_ns);
}

static bool loader_is_asked(const struct supply *s)
{
	struct loader_stats stats;

	loader_stats(s->loader, &stats);
	return stats.queued > 0;
}

bool supply_step(struct supply *s, uint64_t time_ns, bool broker_ready, bool loader_ready)
{
	bool asked;

	if (broker_ready || s->nr_asked > 0)
		take_broker(s);
	asked = ask_maps(s, time_ns);
	asked |= ask_modules(s);
	if (loader_ready || loader_is_asked(s))
		take_loader(s, time_ns);
	ask_names(s, time_ns);
	ask_wants(s);
	loader_tick(s->loader, time_ns);
	if (s->tables_came || time_ns >= s->next_retry_ns) {
		backlog_retry(s->engine->backlog, s->engine,
			      time_ns > GIVE_UP_NS ? time_ns - GIVE_UP_NS : 0);
		s->tables_came = false;
		s->next_retry_ns = time_ns + RETRY_NS;
	}
	return asked;
}

int supply_loader_fd(const struct supply *s)
{
	return loader_client_fd(s->loader);
}

bool supply_kernel_names_hidden(const struct supply *s)
{
	return s->kernel_names_missing && !s->kernel_names_seen;
}

/* Why module ID has no names although there is a file, or NULL. */
static const char *trouble_of(const struct supply *s, uint32_t id, uint64_t time_ns)
{
	const struct file *file = &s->files[id];

	switch (file->trouble) {
	case LOADER_CRASHED:
	case LOADER_TIMED_OUT:
		return loader_status_text(file->trouble);
	default:
		break;
	}
	/* Without a broker no open is answered. */
	if (file->state == FILE_OPENING && s->engine->broker_state == BROKER_WELL &&
	    time_ns > file->asked_ns + GIVE_UP_NS)
		return "its file system hangs";
	return NULL;
}

void supply_bad_files(const struct supply *s, char *out, size_t size)
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

void supply_fill_health(const struct supply *s, struct health *health)
{
	struct loader_stats stats;
	struct procs_stats procs;

	loader_stats(s->loader, &stats);
	procs_stats(s->engine->procs, &procs);
	health->loader_restarts = stats.restarts;
	health->tables_bytes = procs.tables_bytes;
	health->tables_rows = s->table_rows;
}

void supply_cost(const struct supply *s, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes)
{
	struct loader_stats stats;

	loader_stats(s->loader, &stats);
	*ret_cpu_ns = stats.cpu_ns;
	*ret_rss_bytes = stats.rss_bytes;
}

struct supply *supply_new(struct engine *engine)
{
	struct loader_spawner spawner = {
		.start = start_loader, .kill = kill_loader, .context = engine};
	struct supply *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->engine = engine;
	s->loader = loader_client_new(&spawner);
	if (!s->loader)
		return supply_free(s);
	add_vdso(s);
	return s;
}

struct supply *supply_free(struct supply *s)
{
	if (!s)
		return NULL;
	loader_client_free(s->loader);
	free(s->files);
	free(s->held);
	free(s);
	return NULL;
}
