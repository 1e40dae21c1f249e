/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loader's loop: one request, one reply. A request that cannot be answered
 * well is answered with a status; only a broken connection ends the loop.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/cache.h"
#include "src/loader/disassemble.h"
#include "src/loader/elf_file.h"
#include "src/loader/jit_told.h"
#include "src/loader/lines.h"
#include "src/loader/made_code.h"
#include "src/loader/mapped.h"
#include "src/loader/protocol.h"
#include "src/loader/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_STACK_BYTES 65536
#define LARGE_BYTES	 (256u << 10) /* such blocks go back to the system when freed */

/* The descriptors that came for the request with this serial; -1: none. */
struct attached {
	uint64_t serial;
	int file, output, memory;
	int debug[LOADER_DEBUG_MAX];
	int splits[LOADER_SPLITS_MAX];
	uint32_t nr_debug, nr_splits;
};

struct loader_server {
	struct cache cache;
	struct lines lines;
	struct attached attached;
	struct protocol_request request;
	struct protocol_reply reply;
	void *names; /* where names are answered, or NULL */
	size_t names_bytes;
	uint64_t symbols_left_out;
	bool is_refused; /* a part of the file whose symbols were read last */
};

static void attached_clear(struct attached *attached)
{
	cleanup_close(&attached->file);
	cleanup_close(&attached->output);
	cleanup_close(&attached->memory);
	for (uint32_t i = 0; i < attached->nr_debug; i++)
		close(attached->debug[i]);
	for (uint32_t i = 0; i < attached->nr_splits; i++)
		close(attached->splits[i]);
	attached->file = attached->output = attached->memory = -1;
	attached->nr_debug = attached->nr_splits = 0;
}

/* Take FD for what REQUEST says it is; a descriptor that has no place is closed. */
static void attached_add(struct attached *attached, const struct protocol_request *request, int fd)
{
	if (request->serial != attached->serial)
		attached_clear(attached);
	attached->serial = request->serial;
	if (request->role == PROTOCOL_ROLE_FILE && attached->file < 0)
		attached->file = fd;
	else if (request->role == PROTOCOL_ROLE_OUTPUT && attached->output < 0)
		attached->output = fd;
	else if (request->role == PROTOCOL_ROLE_MEMORY && attached->memory < 0)
		attached->memory = fd;
	else if (request->role == PROTOCOL_ROLE_DEBUG && attached->nr_debug < LOADER_DEBUG_MAX)
		attached->debug[attached->nr_debug++] = fd;
	else if (request->role == PROTOCOL_ROLE_SPLIT && attached->nr_splits < LOADER_SPLITS_MAX)
		attached->splits[attached->nr_splits++] = fd;
	else
		close(fd);
}

/* The memory file for all names, FD, is here to stay: without it no request for names can be served. */
static int names_map(struct loader_server *server, uint64_t bytes, int fd)
{
	void *map = MAP_FAILED;

	if (!server->names && bytes <= LOADER_NAMES_BYTES_MAX)
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (server->names || bytes > LOADER_NAMES_BYTES_MAX)
		return 0;
	if (map == MAP_FAILED)
		return -ENOMEM;
	server->names = map;
	server->names_bytes = bytes;
	return 0;
}

static enum loader_status status_of(int error)
{
	switch (error) {
	case 0:
		return LOADER_OK;
	case -ENOEXEC:
		return LOADER_NOT_ELF;
	case -ENOTSUP:
		return LOADER_NO_CODE;
	case -ENOMEM:
		return LOADER_NO_MEMORY;
	case -ETIME:
		return LOADER_LATE;
	case -ENOSYS:
		return LOADER_NOT_BUILT;
	default:
		return LOADER_FAILED;
	}
}

/* Fill the attached memory file (sized by the client) with DATA, for good. */
static int output_fill(struct loader_server *server, const void *data, size_t len)
{
	int fd = server->attached.output;
	void *map;

	if (len > server->request.output_max)
		return -E2BIG;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	memcpy(map, data, len);
	munmap(map, len);
	if (ftruncate(fd, (off_t)len) < 0 || fcntl(fd, F_ADD_SEALS, PROTOCOL_SEALS) < 0)
		return -errno;
	server->reply.output_bytes = len;
	return 0;
}

static void reply_describe(struct protocol_reply *reply, const struct elf_file *file)
{
	memcpy(reply->build_id, file->build_id, sizeof(reply->build_id));
	reply->build_id_bytes = file->build_id_bytes;
	reply->has_symtab = file->has_symtab;
	memcpy(reply->debuglink, file->debuglink, sizeof(reply->debuglink));
}

/*
 * Keep the table that was just answered with: a private mapping of the
 * answer shares its memory with the engine.
 */
static void entry_keep_output(struct loader_server *server, struct cache_entry *entry, size_t len)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, server->attached.output, 0);

	if (map == MAP_FAILED)
		return;
	cache_set_blob(entry, map, len, true);
	/* The check looked at every page; names look at a few. */
	madvise(map, len, MADV_DONTNEED);
}

static int serve_table(struct loader_server *server, bool is_return_addrs)
{
	AUTO_FREE void *blob = NULL;
	struct elf_file file;
	size_t len;
	int r = elf_file_open_packed(server->attached.file, &file);

	if (r < 0)
		return r;
	reply_describe(&server->reply, &file);
	r = elf_code_compile(&file, is_return_addrs, &blob, &len);
	elf_file_close(&file);
	if (r == 0)
		r = output_fill(server, blob, len);
	if (r == 0 && !is_return_addrs)
		entry_keep_output(server, cache_get(&server->cache, server->request.file_key), len);
	return r;
}

static int symbols_add_debugdata(struct loader_server *server, struct symbols *symbols,
				 const struct elf_file *file, const struct table *table)
{
	AUTO_FREE void *image = NULL;
	struct elf_file inner;
	int r = debugdata_open(file, &image, &inner);

	server->is_refused = r == -EFBIG;
	/* Damaged or refused: the other symbols are still good. */
	if (r < 0)
		return r == -ETIME ? r : 0;
	r = symbols_add(symbols, &inner, 0, file, table);
	elf_file_close(&inner);
	return r;
}

static int symbols_collect(struct loader_server *server, struct symbols *symbols,
			   const struct elf_file *file, const struct table *table)
{
	int r = symbols_add(symbols, file, 0, file, table);

	if (r == 0)
		r = symbols_add_debugdata(server, symbols, file, table);
	if (r == 0)
		r = plt_add(symbols, file);
	for (uint32_t i = 0; i < server->attached.nr_debug && r == 0; i++) {
		struct elf_file debug;

		if (!elf_file_open_debug(server->attached.debug[i], file, &debug)) {
			r = deadline_is_over_now() ? -ETIME : 0;
			continue;
		}
		r = symbols_add(symbols, &debug, 1 + i, file, table);
		elf_file_close(&debug);
	}
	if (r == 0)
		r = symbols_finish(symbols);
	server->symbols_left_out += symbols_left_out(symbols);
	return r;
}

static struct cache_files files_of(const struct attached *attached)
{
	struct cache_files files = {.all = {attached->file}, .nr = 1};

	for (uint32_t i = 0; i < attached->nr_debug; i++)
		files.all[files.nr++] = attached->debug[i];
	return files;
}

/* SYMBOLS of FILE, or ERROR, why they could not be collected: returned. */
static int entry_take_symbols(struct cache_entry *entry, struct symbols *symbols, int error,
			      const struct elf_file *file)
{
	if (error < 0) {
		symbols_free(symbols);
		return error;
	}
	symbols_free(entry->symbols);
	entry->symbols = symbols;
	entry->head = *file;
	entry->head.elf = NULL;
	entry->head.image = NULL;
	return 0;
}

/* Fill ENTRY from FILE: the table if it is not there yet, then the symbols. */
static int entry_load(struct loader_server *server, struct cache_entry *entry,
		      const struct elf_file *file)
{
	struct symbols *symbols;
	void *blob;
	size_t len;
	int r;

	if (!entry->blob) {
		r = elf_code_compile(file, false, &blob, &len);
		if (r == 0)
			cache_set_blob(entry, blob, len, false);
		else if (r == -ETIME)
			return r;
	}
	symbols = symbols_new();
	if (!symbols)
		return -ENOMEM;
	server->is_refused = false;
	r = symbols_collect(server, symbols, file, entry->has_table ? &entry->table : NULL);
	if (r == 0)
		entry->is_refused = server->is_refused;
	return entry_take_symbols(entry, symbols, r, file);
}

static int entry_need_symbols(struct loader_server *server, struct cache_entry *entry,
			      const struct cache_files *files)
{
	struct cache_stamp stamps[CACHE_FILES_MAX];
	struct elf_file file;
	int r;

	/* As they are before they are read: what is changed while they are is seen next time. */
	cache_stamps(files, stamps);
	if (entry->symbols && entry->nr_files == files->nr &&
	    memcmp(entry->stamps, stamps, files->nr * sizeof(*stamps)) == 0)
		return 0;
	r = elf_file_open_packed(server->attached.file, &file);
	if (r < 0)
		return r;
	r = entry_load(server, entry, &file);
	elf_file_close(&file);
	entry->nr_files = r < 0 ? 0 : files->nr;
	memcpy(entry->stamps, stamps, files->nr * sizeof(*stamps));
	return r;
}

/* The kernel's own file instead of kallsyms. */
static int vmlinux_load(struct cache_entry *entry, const struct elf_file *file)
{
	bool is_image = file->nr_segments > 0 && !file->is_module;
	struct symbols *symbols = is_image ? symbols_new() : NULL;
	int r;

	if (!symbols)
		return is_image ? -ENOMEM : -ENOEXEC;
	r = symbols_add(symbols, file, 0, file, NULL);
	if (r == 0)
		r = symbols_finish(symbols);
	return entry_take_symbols(entry, symbols, r, file);
}

/* Beside kallsyms, which has no code: that of the debug files which is the kernel's own. */
static int vmlinux_find(struct loader_server *server, struct cache_entry *entry)
{
	const struct protocol_request *request = &server->request;
	const struct attached *attached = &server->attached;
	struct elf_file wanted = {.build_id_bytes = request->kernel_build_id_bytes}, file;
	int r = -ENOEXEC;

	if (entry->symbols)
		return entry->vmlinux < attached->nr_debug ? 0 : -ENOEXEC;
	if (request->kernel_build_id_bytes > sizeof(wanted.build_id) ||
	    !kallsyms_image(entry->kallsyms))
		return -ENOEXEC;
	memcpy(wanted.build_id, request->kernel_build_id, sizeof(wanted.build_id));
	for (uint32_t i = 0; i < attached->nr_debug && r == -ENOEXEC; i++) {
		if (!elf_file_open_debug(attached->debug[i], &wanted, &file))
			continue;
		r = vmlinux_load(entry, &file);
		elf_file_close(&file);
		entry->vmlinux = i;
	}
	return r;
}

static int kernel_load(struct loader_server *server, struct cache_entry *entry)
{
	uint64_t text = server->request.kernel_text, image;
	struct elf_file file;
	int r;

	if (!entry->kallsyms && !(entry->is_vmlinux && entry->symbols)) {
		r = elf_file_open(server->attached.file, &file);
		if (r == 0) {
			r = vmlinux_load(entry, &file);
			entry->is_vmlinux = r == 0;
			elf_file_close(&file);
		} else {
			r = kallsyms_load(server->attached.file, &entry->kallsyms);
		}
		if (r < 0)
			return r;
	}
	image = entry->is_vmlinux ? entry->head.segments[0].vaddr : kallsyms_image(entry->kallsyms);
	entry->kernel_shift = text && image ? text - image : 0;
	if (entry->is_vmlinux)
		reply_describe(&server->reply, &entry->head);
	return 0;
}

/* Take what has come to the perf map or jitdump of the request, at EPOCH. */
static int serve_jit(struct loader_server *server, uint16_t epoch)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	struct protocol_reply *reply = &server->reply;
	int fd = server->attached.file;
	bool has_changed, is_dump = jitdump_is(fd);
	int r;

	if (!entry->jit_code)
		entry->jit_code = jit_code_new();
	if (!entry->jit_code)
		return -ENOMEM;
	r = is_dump ? jitdump_read(&entry->jitdump, fd, entry->jit_code, epoch, &has_changed)
		    : perf_map_read(&entry->perf_map, fd, entry->jit_code, epoch, &has_changed);
	/* What came before the damage holds. */
	if (r < 0 && !(is_dump && r == -EINVAL))
		return r;
	reply->jit_count = jit_code_count(entry->jit_code);
	reply->jit_left_out = jit_code_left_out(entry->jit_code);
	reply->jit_has_changed = has_changed;
	reply->jit_changed_ns = is_dump ? entry->jitdump.changed_ns : 0;
	reply->jit_is_late = is_dump ? entry->jitdump.is_late : entry->perf_map.is_late;
	reply->jit_has_frames = is_dump && entry->jitdump.has_frames;
	return 0;
}

static int serve_jit_frames(struct loader_server *server)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	uint32_t nr = server->request.nr_offs;
	struct code_told *told = server->names;
	int r = entry->jit_code ? 0 : serve_jit(server, 0);

	if (r < 0)
		return r;
	if (server->names_bytes < nr * sizeof(*told))
		return -E2BIG;
	for (uint32_t i = 0; i < nr; i++)
		told[i] = (struct code_told){.key = server->request.offs[i]};
	r = jit_told_frames(entry->jit_code, server->attached.file, told, nr);
	server->reply.output_bytes = nr * sizeof(*told);
	return r;
}

static int names_load(struct loader_server *server, struct cache_entry *entry,
		      const struct cache_files *files)
{
	switch (server->request.kind) {
	case PROTOCOL_KERNEL_NAMES:
		return kernel_load(server, entry);
	case PROTOCOL_JIT_NAMES:
		/* Of a loader that has not read the map: when it has, what has no name is asked again. */
		return entry->jit_code ? 0 : serve_jit(server, 0);
	default:
		return entry_need_symbols(server, entry, files);
	}
}

static int serve_names(struct loader_server *server)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	struct cache_files files = files_of(&server->attached);
	ssize_t len;
	int r;

	r = names_load(server, entry, &files);
	if (r < 0)
		return r;
	server->reply.is_refused = entry->is_refused;
	len = names_build(entry, &files, &server->request, server->names, server->names_bytes);
	if (len < 0)
		return (int)len;
	server->reply.output_bytes = (uint64_t)len;
	return 0;
}

/* How long the function at OFF is that has LAST in it: by its symbol or its FDE, and never only up to LAST. */
static uint64_t code_length(const struct cache_entry *entry, uint64_t off, uint64_t last)
{
	struct symbols_place place = {.last = UINT64_MAX};
	uint64_t start, end, len = last - off + 1;

	if (entry->symbols && symbols_find(entry->symbols, off, &place) && place.start == off)
		len = MAX(len, place.last - off + 1);
	else if (entry->symbols && symbols_find(entry->symbols, last, &place) && place.start == off)
		len = MAX(len, place.last - off + 1);
	if (entry->has_table && table_func_of(&entry->table, off, &start, &end) && start == off)
		len = MAX(len, end - off);
	return len;
}

/* The bytes of the function at OFF, at most LEN, as far as they are code of the file. 0 or -errno. */
static int code_read(int fd, const struct elf_file *head, uint64_t len, struct code_bytes *code,
		     uint8_t *out)
{
	const struct cfi_segment *segment = NULL;
	ssize_t n;

	for (size_t i = 0; i < head->nr_segments && !segment; i++)
		if (code->off - head->segments[i].file_off < head->segments[i].bytes)
			segment = &head->segments[i];
	if (!segment)
		return -EINVAL;
	code->vaddr = code->off - segment->file_off + segment->vaddr;
	len = MIN(len, segment->bytes - (code->off - segment->file_off));
	code->is_cut = len > LOADER_CODE_BYTES_MAX;
	n = pread(fd, out, MIN(len, (uint64_t)LOADER_CODE_BYTES_MAX), (off_t)code->off);
	if (n <= 0)
		return n < 0 ? -errno : -EINVAL;
	code->data = out;
	code->len = (size_t)n;
	return 0;
}

/* The listing of the function at file offset OFF that has LAST in it, by ENTRY, which is of FILES. 0 or -errno. */
static int code_list(struct loader_server *server, const struct cache_entry *entry,
		     const struct cache_files *files, uint64_t off, uint64_t last, void **ret,
		     size_t *ret_len)
{
	const struct protocol_request *request = &server->request;
	struct code_bytes code = {.off = off};
	AUTO_FREE uint8_t *bytes = malloc(LOADER_CODE_BYTES_MAX);
	struct lines_file *lines = NULL;
	int r;

	if (!bytes)
		return -ENOMEM;
	r = code_read(files->all[0], &entry->head, code_length(entry, off, last), &code, bytes);
	if (r < 0)
		return r;
	if (request->offs[2])
		lines = lines_get(&server->lines, request->file_key, files);
	return disassemble(&code, entry, files, lines, ret, ret_len);
}

static int serve_code(struct loader_server *server)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	struct cache_files files = files_of(&server->attached);
	uint64_t off = server->request.offs[0], last = server->request.offs[1];
	AUTO_FREE void *listing = NULL;
	size_t len = 0;
	int r;

	if (server->request.nr_offs != 3 || last < off)
		return -EINVAL;
	r = entry_need_symbols(server, entry, &files);
	if (r == 0)
		r = code_list(server, entry, &files, off, last, &listing, &len);
	return r < 0 ? r : output_fill(server, listing, len);
}

/* From offsets in the file of HEAD to its addresses, in a LISTING that disassemble() has made. */
static void listing_by_address(void *listing, const struct elf_file *head)
{
	const struct protocol_code *code = listing;
	struct protocol_instruction *all =
		(struct protocol_instruction *)((char *)listing + sizeof(*code));

	for (uint32_t i = 0; i < code->nr; i++) {
		uint64_t target = all[i].target;

		elf_file_vaddr_of(head, all[i].off, &all[i].off);
		all[i].target = UINT64_MAX;
		if (target != UINT64_MAX)
			elf_file_vaddr_of(head, target, &all[i].target);
	}
}

/* The kernel's own file: in FILES, and by the addresses that it had when it ran in MOVED. */
static int kernel_file(struct loader_server *server, struct cache_files *files,
		       struct cache_entry *moved)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	uint64_t shift;
	int r = kernel_load(server, entry);

	if (r == 0 && !entry->is_vmlinux)
		r = vmlinux_find(server, entry);
	if (r < 0)
		return r;
	*files = (struct cache_files){.all = {server->attached.file}, .nr = 1};
	shift = entry->kernel_shift;
	if (!entry->is_vmlinux) {
		files->all[0] = server->attached.debug[entry->vmlinux];
		shift += kallsyms_image(entry->kallsyms) - entry->head.segments[0].vaddr;
	}
	*moved = (struct cache_entry){.head = entry->head, .symbols = entry->symbols};
	for (size_t i = 0; i < moved->head.nr_segments; i++)
		moved->head.segments[i].vaddr += shift;
	return 0;
}

static int serve_kernel_code(struct loader_server *server)
{
	struct cache_files files;
	struct cache_entry moved;
	uint64_t off, last;
	AUTO_FREE void *listing = NULL;
	size_t len = 0;
	int r;

	if (server->request.nr_offs != 3)
		return -EINVAL;
	r = kernel_file(server, &files, &moved);
	if (r < 0)
		return r;
	if (!elf_file_off_of(&moved.head, server->request.offs[0], &off) ||
	    !elf_file_off_of(&moved.head, server->request.offs[1], &last) || last < off)
		return -EINVAL;
	r = code_list(server, &moved, &files, off, last, &listing, &len);
	if (r < 0)
		return r;
	listing_by_address(listing, &moved.head);
	return output_fill(server, listing, len);
}

static int serve_made_code(struct loader_server *server)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	AUTO_FREE void *listing = NULL;
	size_t len = 0;
	/* A loader that has not read the map reads it now. */
	int r = entry->jit_code ? 0 : serve_jit(server, 0);

	if (r == 0)
		r = made_code_list(&server->request, entry, server->attached.memory, &listing,
				   &len);
	return r < 0 ? r : output_fill(server, listing, len);
}

static int serve_kcore(struct loader_server *server)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	AUTO_FREE void *listing = NULL;
	size_t len = 0;
	int r = kernel_load(server, entry);

	if (r == 0)
		r = made_code_list_kernel(&server->request, entry, server->attached.memory,
					  &listing, &len);
	return r < 0 ? r : output_fill(server, listing, len);
}

static int serve_lines(struct loader_server *server)
{
	struct attached *attached = &server->attached;
	struct cache_files files = files_of(attached);
	ssize_t len;

	if (attached->nr_splits > 0)
		lines_add_splits(&server->lines, server->request.file_key, &files, attached->splits,
				 attached->nr_splits);
	len = lines_build(&server->lines, &files, &server->request, server->names,
			  server->names_bytes, &server->reply);

	if (len < 0)
		return (int)len;
	server->reply.output_bytes = (uint64_t)len;
	return 0;
}

static int serve_kernel_lines(struct loader_server *server)
{
	struct protocol_request *request = &server->request;
	struct protocol_lines *head = server->names;
	struct protocol_place *places = (struct protocol_place *)(head + 1);
	uint64_t addrs[LOADER_NAMES_MAX];
	struct cache_files files;
	struct cache_entry moved;
	ssize_t len = kernel_file(server, &files, &moved);

	if (len < 0)
		return (int)len;
	memcpy(addrs, request->offs, request->nr_offs * sizeof(*addrs));
	for (uint32_t i = 0; i < request->nr_offs; i++)
		if (!elf_file_off_of(&moved.head, addrs[i], &request->offs[i]))
			request->offs[i] = UINT64_MAX; /* a module's */
	len = lines_build(&server->lines, &files, request, server->names, server->names_bytes,
			  &server->reply);
	if (len < 0)
		return (int)len;
	for (uint32_t i = 0; i < head->nr_places; i++)
		places[i].off = addrs[i];
	server->reply.output_bytes = (uint64_t)len;
	return 0;
}

static int serve_jit_lines(struct loader_server *server)
{
	struct cache_entry *entry = cache_get(&server->cache, server->request.file_key);
	ssize_t len = entry->jit_code ? 0 : serve_jit(server, 0);

	if (len == 0)
		len = lines_build_jit(entry->jit_code, server->attached.file, &server->request,
				      server->names, server->names_bytes);
	if (len < 0)
		return (int)len;
	server->reply.output_bytes = (uint64_t)len;
	return 0;
}

static void reply_account(struct protocol_reply *reply)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		reply->cpu_ns =
			((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) *
				NS_PER_SEC +
			((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) *
				1000;
	reply->rss_bytes = statm_rss_bytes(SANDBOX_STATM_FD);
}

static int serve_kind(struct loader_server *server)
{
	switch (server->request.kind) {
	case PROTOCOL_TABLE:
	case PROTOCOL_RETURN_ADDRS:
		return server->attached.output < 0
			       ? -EINVAL
			       : serve_table(server, server->request.kind == PROTOCOL_RETURN_ADDRS);
	case PROTOCOL_NAMES:
	case PROTOCOL_KERNEL_NAMES:
	case PROTOCOL_JIT_NAMES:
		return server->names ? serve_names(server) : -EINVAL;
	case PROTOCOL_CODE:
		return server->attached.output < 0 ? -EINVAL : serve_code(server);
	case PROTOCOL_KERNEL_CODE:
		return server->attached.output < 0 ? -EINVAL : serve_kernel_code(server);
	case PROTOCOL_MADE_CODE:
		return server->attached.output < 0 ? -EINVAL : serve_made_code(server);
	case PROTOCOL_KCORE:
		return server->attached.output < 0 ? -EINVAL : serve_kcore(server);
	case PROTOCOL_LINES:
		return server->names ? serve_lines(server) : -EINVAL;
	case PROTOCOL_KERNEL_LINES:
		return server->names ? serve_kernel_lines(server) : -EINVAL;
	case PROTOCOL_JIT_LINES:
		return server->names ? serve_jit_lines(server) : -EINVAL;
	case PROTOCOL_JIT_FRAMES:
		return server->names ? serve_jit_frames(server) : -EINVAL;
	case PROTOCOL_JIT:
		return server->request.nr_offs == 1
			       ? serve_jit(server, (uint16_t)server->request.offs[0])
			       : -EINVAL;
	default:
		return -EINVAL;
	}
}

static void serve(struct loader_server *server)
{
	struct protocol_request *request = &server->request;
	struct attached *attached = &server->attached;
	int r = -EINVAL;

	deadline_set(request->cpu_max_ns);
	memset(&server->reply, 0, sizeof(server->reply));
	if (request->serial == attached->serial && attached->file >= 0 && request->file_key != 0 &&
	    request->nr_offs <= LOADER_NAMES_MAX)
		r = serve_kind(server);
	deadline_set(0);
	attached_clear(attached);
	cache_trim(&server->cache);
	lines_trim(&server->lines);
	server->reply.version = PROTOCOL_VERSION;
	server->reply.kind = request->kind;
	server->reply.serial = request->serial;
	server->reply.status = status_of(r);
	server->reply.symbols_evicted = server->cache.evicted;
	server->reply.symbols_left_out = server->symbols_left_out;
	reply_account(&server->reply);
}

static int server_run(struct loader_server *server, int sock)
{
	for (;;) {
		AUTO_CLOSE int fd = -1;
		ssize_t n = msg_recv(sock, &server->request, sizeof(server->request), &fd, 0);
		int r = 0;

		if (n == 0 || n == -ECONNRESET)
			return 0;
		if (n != (ssize_t)sizeof(server->request) ||
		    server->request.version != PROTOCOL_VERSION)
			return n < 0 ? (int)n : -EBADMSG;
		if (server->request.kind != PROTOCOL_ATTACH) {
			serve(server);
			r = msg_send(sock, &server->reply, sizeof(server->reply), -1, 0);
		} else if (fd >= 0 && server->request.role == PROTOCOL_ROLE_NAMES) {
			r = names_map(server, server->request.output_max, steal_fd(&fd));
		} else if (fd >= 0) {
			attached_add(&server->attached, &server->request, steal_fd(&fd));
		}
		if (r < 0)
			return r == -EPIPE || r == -ECONNRESET ? 0 : r;
	}
}

/* --- the end by its own fault --- */

static void last_words(int signal_number)
{
	const struct protocol_crash crash = {
		.version = PROTOCOL_VERSION,
		.signal = (uint32_t)signal_number,
	};

	msg_send(SANDBOX_SOCK_FD, &crash, sizeof(crash), -1, MSG_DONTWAIT);
	_exit(128 + signal_number);
}

/* Of a mapped file a part is gone: it reads as zeros, and the answer says that the file is damaged. */
static void bus_error(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (!mapped_repair(info->si_addr))
		last_words(signal_number);
}

/*
 * A crash is the fault of the file in work, which is bad then; a kill from
 * outside, for want of memory perhaps, is not. The client distinguishes them by this message.
 */
static void set_last_words(void)
{
	static const int signals[] = {
		SIGILL,	 SIGABRT, SIGTRAP, SIGSYS,
#ifndef SANITIZED /* their reports come first */
		SIGSEGV, SIGFPE,
#endif
	};
	static char stack[LAST_STACK_BYTES]; /* the other one may be what overflowed */
	const stack_t last = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = last_words, .sa_flags = SA_ONSTACK | SA_RESETHAND};
	struct sigaction repair = {.sa_sigaction = bus_error, .sa_flags = SA_ONSTACK | SA_SIGINFO};

	if (sigaltstack(&last, NULL) < 0) {
		action.sa_flags &= ~SA_ONSTACK;
		repair.sa_flags &= ~SA_ONSTACK;
	}
	sigaction(SIGBUS, &repair, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

static void server_init(struct loader_server *server)
{
	memset(server, 0, sizeof(*server));
	server->attached.file = server->attached.output = server->attached.memory = -1;
}

static void server_done(struct loader_server *server)
{
	attached_clear(&server->attached);
	cache_done(&server->cache);
	lines_done(&server->lines);
	if (server->names)
		munmap(server->names, server->names_bytes);
}

int loader_main(int sock)
{
	struct protocol_hello hello = {.version = PROTOCOL_VERSION};
	struct loader_server *server = malloc(sizeof(*server));
	int r;

	if (!server)
		return 1;
	server_init(server);
	heap_setup(LARGE_BYTES);
	set_last_words();
	r = sandbox_enter(sock);
	if (r == 0)
		r = msg_send(SANDBOX_SOCK_FD, &hello, sizeof(hello), -1, 0);
	if (r == 0)
		r = server_run(server, SANDBOX_SOCK_FD);
	server_done(server);
	free(server);
	return r == 0 ? 0 : 1;
}
