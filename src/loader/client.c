/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requests, and restarting the loader. Which request comes next is turns.c's.
 * A loader whose answer does not pass answer.c is replaced.
 *
 * A loader counts as started when it has said hello; before that, its death
 * is no file's fault.
 */
#include "config.h"

#include "src/loader/client.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/loader/answer.h"
#include "src/loader/jit_code.h"
#include "src/loader/modules.h"
#include "src/loader/protocol.h"
#include "src/loader/turns.h"
#include "unwind/table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define RESTART_FIRST_NS  (100 * NS_PER_MSEC)
#define RESTART_MAX_NS	  (3200 * NS_PER_MSEC)
#define STARTS_FAILED_MAX 6	      /* in a row; then what is queued is answered as failed */
#define KILLS_MAX	  3	      /* while the same file was in work */
#define PROGRESS_MIN_NS	  NS_PER_MSEC /* CPU time until a deadline that tells work from waiting */

struct loader_client {
	struct loader_spawner spawner;
	int sock;
	pid_t pid;
	bool is_ready; /* it has said hello */
	bool has_started;

	struct loader_modules modules;

	struct queue waiting;
	struct queue answered; /* without a loader, in the order of their answers */
	uint32_t nr_queued;
	struct turns turns;

	struct request *outstanding;
	enum protocol_kind outstanding_kind;
	int output;
	uint64_t serial, last_key;

	uint64_t time_ns, deadline_at_ns, start_at_ns, backoff_ns;
	/* When the loader must have done by all means; its CPU time at the beginning and at the last look. */
	uint64_t give_up_at_ns, begun_cpu_ns, seen_cpu_ns;
	uint32_t starts_failed;
	uint64_t output_max;
	uint64_t kernel_text;
	uint8_t kernel_build_id[20], kernel_build_id_bytes;

	struct loader_stats stats;   /* with what former loaders used */
	struct loader_stats present; /* what the present one uses */

	struct answer_names names; /* of the last NAMES reply */
};

const char *loader_status_text(enum loader_status status)
{
	static const char *const texts[] = {
		[LOADER_OK] = "ok",
		[LOADER_NOT_ELF] = "not ELF or damaged",
		[LOADER_NO_CODE] = "other machine",
		[LOADER_CRASHED] = "crashed the loader",
		[LOADER_TIMED_OUT] = "timed out",
		[LOADER_NO_MEMORY] = "out of memory",
		[LOADER_FAILED] = "could not be read",
		[LOADER_LATE] = "takes long",
		[LOADER_NO_FILES] = "too few file descriptors",
		[LOADER_NOT_BUILT] = "built without libcapstone",
	};

	_Static_assert(ARRAY_SIZE(texts) == LOADER_STATUS_COUNT, "one text per status");
	return (unsigned int)status < LOADER_STATUS_COUNT ? texts[status] : "?";
}

/* --- requests --- */

/* On the heap, owned by whoever has taken it out of a queue. NULL: no memory. */
static struct request *request_new(enum loader_reply_kind kind, uint32_t module,
				   const uint64_t *offs, uint32_t nr)
{
	struct request *request = malloc(sizeof(*request) + nr * sizeof(*offs));

	if (!request)
		return NULL;
	*request = (struct request){.kind = kind, .module = module, .nr_offs = nr, .memory = -1};
	if (nr > 0)
		memcpy(request->offs, offs, nr * sizeof(*offs));
	return request;
}

static void answer_here(struct loader_client *c, struct request *request, enum loader_status status)
{
	request->status = status;
	queue_put(&c->answered, request);
}

/* Answer all that is queued for module ID, or all there is if HAS_ID is false. */
static void answer_queued(struct loader_client *c, bool has_id, uint32_t id,
			  enum loader_status status)
{
	struct request *request = c->waiting.first, *next;

	queue_init(&c->waiting);
	for (; request; request = next) {
		next = request->next;
		if (has_id && request->module != id)
			queue_put(&c->waiting, request);
		else
			answer_here(c, request, status);
	}
}

/* --- modules --- */

int loader_add_module(struct loader_client *c, uint32_t id, int fd)
{
	AUTO_CLOSE int owned = fd;
	struct loader_module *module;
	int r;

	if (fd < 0)
		return -EBADF;
	r = loader_modules_make(&c->modules, id, &module);
	if (r < 0)
		return r;
	*module = (struct loader_module){
		.id = id,
		.owner = turns_owner_of(&c->turns, fd),
		.cpu_first_ns = turns_cpu_first_ns(fd),
		.fd = steal_fd(&owned),
		.file_key = ++c->last_key,
	};
	return 0;
}

int loader_add_jit(struct loader_client *c, uint32_t id, int fd, bool is_next)
{
	struct loader_module *module = is_next ? loader_modules_find(&c->modules, id) : NULL;
	int r = module ? loader_open_again(c, id, fd) : loader_add_module(c, id, fd);

	module = loader_modules_find(&c->modules, id);
	if (r == 0 && module)
		module->is_jit = true;
	return r;
}

void loader_set_kernel_text(struct loader_client *c, uint64_t text)
{
	c->kernel_text = text;
}

void loader_set_kernel_build_id(struct loader_client *c, const uint8_t *build_id, uint8_t bytes)
{
	assert(bytes <= sizeof(c->kernel_build_id));
	memcpy(c->kernel_build_id, build_id, bytes);
	c->kernel_build_id_bytes = bytes;
}

int loader_add_debug(struct loader_client *c, uint32_t id, int fd)
{
	struct loader_module *module = loader_modules_find(&c->modules, id);
	AUTO_CLOSE int owned = fd;

	if (!module)
		return -ENOENT;
	if (module->nr_debug == LOADER_DEBUG_MAX)
		return -ENOSPC;
	module->debug[module->nr_debug++] = steal_fd(&owned);
	return 0;
}

int loader_add_split(struct loader_client *c, uint32_t id, int fd)
{
	struct loader_module *module = loader_modules_find(&c->modules, id);
	AUTO_CLOSE int owned = fd;

	if (!module)
		return -ENOENT;
	if (module->nr_splits == LOADER_SPLITS_MAX)
		return -ENOSPC;
	module->splits[module->nr_splits++] = steal_fd(&owned);
	return 0;
}

static bool is_asked_about(const struct loader_client *c, uint32_t id)
{
	if (c->outstanding && c->outstanding->module == id)
		return true;
	for (const struct request *r = c->waiting.first; r; r = r->next)
		if (r->module == id)
			return true;
	return false;
}

int loader_close_module(struct loader_client *c, uint32_t id)
{
	struct loader_module *module = loader_modules_find(&c->modules, id);

	if (!module)
		return -ENOENT;
	if (is_asked_about(c, id))
		return -EBUSY;
	loader_module_close(module);
	return 0;
}

int loader_open_again(struct loader_client *c, uint32_t id, int fd)
{
	struct loader_module *module = loader_modules_find(&c->modules, id);
	AUTO_CLOSE int owned = fd;

	if (!module)
		return -ENOENT;
	cleanup_close(&module->fd);
	module->fd = steal_fd(&owned);
	return 0;
}

void loader_drop_module(struct loader_client *c, uint32_t id)
{
	if (!loader_modules_find(&c->modules, id))
		return;
	answer_queued(c, true, id, LOADER_FAILED);
	if (c->outstanding && c->outstanding->module == id)
		c->outstanding->is_dropped = true;
	loader_modules_remove(&c->modules, id);
}

/* --- asking --- */

/* MEMORY is the client's from now on, also on failure; -1: none. 0 or -ENOMEM, -ENOENT. */
static int request_put_memory(struct loader_client *c, enum loader_reply_kind kind, uint32_t id,
			      const uint64_t *offs, uint32_t nr, int memory)
{
	AUTO_CLOSE int owned = memory;
	const struct loader_module *module = loader_modules_find(&c->modules, id);
	struct request *request;

	if (!module || module->fd < 0)
		return -ENOENT;
	request = request_new(kind, id, offs, nr);
	if (!request)
		return -ENOMEM;
	request->memory = steal_fd(&owned);
	request->owner = module->owner;
	/* What the kernel says of itself is slow to read and must come. */
	request->cpu_max_ns =
		id == LOADER_KERNEL && kind != LOADER_REPLY_LINES ? 0 : module->cpu_first_ns;
	c->nr_queued++;
	if (module->bad != LOADER_OK)
		answer_here(c, request, module->bad);
	else
		queue_put(&c->waiting, request);
	return 0;
}

static int request_put(struct loader_client *c, enum loader_reply_kind kind, uint32_t id,
		       const uint64_t *offs, uint32_t nr)
{
	return request_put_memory(c, kind, id, offs, nr, -1);
}

int loader_request_table(struct loader_client *c, uint32_t module)
{
	return request_put(c, LOADER_REPLY_TABLE, module, NULL, 0);
}

int loader_request_return_addrs(struct loader_client *c, uint32_t module)
{
	return request_put(c, LOADER_REPLY_RETURN_ADDRS, module, NULL, 0);
}

int loader_request_jit(struct loader_client *c, uint32_t module, uint16_t epoch)
{
	const uint64_t at = epoch;

	return request_put(c, LOADER_REPLY_JIT, module, &at, 1);
}

int loader_request_jit_frames(struct loader_client *c, uint32_t module, const uint64_t *offs,
			      uint32_t nr)
{
	assert(nr <= LOADER_NAMES_MAX);
	return request_put(c, LOADER_REPLY_JIT_FRAMES, module, offs, nr);
}

int loader_request_names(struct loader_client *c, uint32_t module, const uint64_t *offs,
			 uint32_t nr)
{
	assert(nr <= LOADER_NAMES_MAX);
	return request_put(c, LOADER_REPLY_NAMES, module, offs, nr);
}

int loader_request_code(struct loader_client *c, uint32_t module, uint64_t off, uint64_t last)
{
	const uint64_t offs[] = {off, last, 1};

	return request_put(c, LOADER_REPLY_CODE, module, offs, ARRAY_SIZE(offs));
}

int loader_request_made_code(struct loader_client *c, uint32_t id, uint64_t off, uint16_t epoch,
			     int memory, uint64_t base, uint32_t nr_pieces)
{
	const uint64_t offs[] = {off, base, 0, nr_pieces,
				 (off & ((1ull << JIT_EPOCH_SHIFT) - 1)) |
					 (uint64_t)epoch << JIT_EPOCH_SHIFT};

	return request_put_memory(c, LOADER_REPLY_CODE, id, offs, ARRAY_SIZE(offs), memory);
}

int loader_request_kcore(struct loader_client *c, uint64_t address, int memory)
{
	return request_put_memory(c, LOADER_REPLY_KCORE, LOADER_KERNEL, &address, 1, memory);
}

int loader_request_lines(struct loader_client *c, uint32_t module, const uint64_t *offs,
			 uint32_t nr)
{
	assert(nr <= LOADER_NAMES_MAX);
	return request_put(c, LOADER_REPLY_LINES, module, offs, nr);
}

void loader_prefer(struct loader_client *c, const uint32_t *modules, uint32_t nr)
{
	turns_prefer(&c->turns, modules, nr);
}

/* --- the loader's life --- */

struct loader_client *loader_client_new(const struct loader_spawner *spawner)
{
	struct loader_client *c = calloc(1, sizeof(*c));
	struct rlimit limit;

	if (!c)
		return NULL;
	if (answer_names_init(&c->names) < 0) {
		free(c);
		return NULL;
	}
	c->spawner = *spawner;
	c->sock = c->output = -1;
	c->backoff_ns = RESTART_FIRST_NS;
	c->output_max = TABLE_BYTES_MAX;
	/* Sizing a memory file above the limit is a deadly signal. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0)
		c->output_max = MIN(c->output_max, (uint64_t)limit.rlim_cur);
	queue_init(&c->waiting);
	queue_init(&c->answered);
	return c;
}

static void loader_stop(struct loader_client *c)
{
	if (c->pid > 0)
		c->spawner.kill(c->spawner.context, c->pid);
	cleanup_close(&c->sock);
	cleanup_close(&c->output);
	c->sock = c->output = -1;
	c->pid = 0;
	c->is_ready = false;
	c->stats.cpu_ns += c->present.cpu_ns;
	c->stats.symbols_evicted += c->present.symbols_evicted;
	c->stats.symbols_left_out += c->present.symbols_left_out;
	c->present = (struct loader_stats){0};
}

struct loader_client *loader_client_free(struct loader_client *c)
{
	if (!c)
		return NULL;
	loader_stop(c);
	queue_done(&c->waiting);
	queue_done(&c->answered);
	request_free(c->outstanding);
	loader_modules_done(&c->modules);
	turns_done(&c->turns);
	answer_names_done(&c->names);
	free(c);
	return NULL;
}

/* How a loader ended. */
enum loader_end {
	END_CRASHED, /* its last words say so, or it lies: the file in work is bad */
	END_KILLED,  /* by a signal from outside: no file's fault, unless it happens again */
	END_LATE,
};

static void start_later(struct loader_client *c)
{
	c->start_at_ns = c->time_ns + c->backoff_ns;
	c->backoff_ns = MIN(c->backoff_ns * 2, RESTART_MAX_NS);
}

/* What asking has failed with. */
static enum loader_status status_of(int error)
{
	return error == -EMFILE || error == -ENFILE ? LOADER_NO_FILES : LOADER_FAILED;
}

static void start_failed(struct loader_client *c, int error)
{
	start_later(c);
	if (++c->starts_failed >= STARTS_FAILED_MAX)
		answer_queued(c, false, 0, status_of(error));
}

/* CPU time of the loader so far; 0 if it cannot be told. */
static uint64_t loader_cpu_ns(const struct loader_client *c)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(c->pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}

/* From now on the loader has LOADER_DEADLINE_NS for what it does. */
static void deadline_begin(struct loader_client *c)
{
	c->deadline_at_ns = c->time_ns + LOADER_DEADLINE_NS;
	c->give_up_at_ns = c->time_ns + LOADER_PATIENCE_NS;
	c->begun_cpu_ns = c->seen_cpu_ns = loader_cpu_ns(c);
}

/*
 * At the deadline: has the loader worked, but had too little of the CPU to be
 * done? Then the machine is to blame, not the file. One that was stopped or waits
 * for a file has not worked, and one that had half of the CPU was not starved.
 */
static bool loader_is_starved(struct loader_client *c)
{
	uint64_t cpu_ns = loader_cpu_ns(c);
	bool works = cpu_ns >= c->seen_cpu_ns + PROGRESS_MIN_NS;

	c->seen_cpu_ns = cpu_ns;
	return works && cpu_ns - c->begun_cpu_ns < LOADER_DEADLINE_NS / 2 &&
	       c->time_ns < c->give_up_at_ns;
}

static bool loader_is_late(struct loader_client *c)
{
	if (c->pid <= 0 || (c->is_ready && !c->outstanding) || c->time_ns < c->deadline_at_ns)
		return false;
	if (!loader_is_starved(c))
		return true;
	c->deadline_at_ns = c->time_ns + LOADER_DEADLINE_NS;
	return false;
}

static void loader_start(struct loader_client *c)
{
	int sock = -1;
	pid_t pid = 0;
	int r;

	if (c->has_started)
		c->stats.restarts++;
	c->has_started = true;
	r = c->spawner.start(c->spawner.context, &sock, &pid);
	if (r < 0) {
		start_failed(c, r);
		return;
	}
	c->sock = sock;
	c->pid = pid;
	deadline_begin(c);
}

/* Is it answered in a memory file of its own? */
static bool needs_output(const struct request *request)
{
	return request->kind == LOADER_REPLY_TABLE || request->kind == LOADER_REPLY_RETURN_ADDRS ||
	       request->kind == LOADER_REPLY_CODE || request->kind == LOADER_REPLY_KCORE;
}

/* Are debug files looked at for it? */
static bool needs_symbols(const struct request *request)
{
	return request->kind == LOADER_REPLY_NAMES || request->kind == LOADER_REPLY_CODE;
}

/*
 * A listing that fails for the fault STATUS: may it be asked for without lines? Then nobody asks for
 * these any more; the names and the table of the file are not concerned.
 */
static bool request_without_lines(struct loader_module *module, struct request *request,
				  enum loader_status status)
{
	if (request->kind != LOADER_REPLY_CODE || !request->offs[2])
		return false;
	request->offs[2] = 0;
	module->bad_lines = status;
	return true;
}

/*
 * The request that the loader died on: may it be asked again? If the module
 * has debug files, one of them may be at fault; they are forgotten first.
 */
static bool request_may_retry(struct loader_module *module, struct request *request,
			      enum loader_end end, enum loader_status status)
{
	if (end != END_KILLED && request_without_lines(module, request, status))
		return true;
	if (needs_symbols(request) && module->nr_debug > 0) {
		loader_module_close_debug(module);
		return true;
	}
	return end == END_KILLED && ++module->nr_kills < KILLS_MAX;
}

/* MODULE (or NULL: it is gone) is bad: STATUS answers all that is asked about it, unless the fault is in memory. */
static void request_give_up(struct loader_client *c, struct request *request,
			    struct loader_module *module, enum loader_status status)
{
	answer_here(c, request, status);
	if (module && request->kind == LOADER_REPLY_LINES) {
		module->bad_lines = status;
	} else if (module && request->memory < 0) {
		module->bad = status;
		answer_queued(c, true, module->id, status);
	}
}

/* The loader is gone, lies, or is late: replace it, blame the file it had. */
static void loader_fail(struct loader_client *c, enum loader_end end)
{
	enum loader_status status = end == END_LATE ? LOADER_TIMED_OUT : LOADER_CRASHED;
	bool was_ready = c->is_ready;
	struct request *request = steal_ptr(c->outstanding);
	struct loader_module *module = NULL;

	if (request && !request->is_dropped)
		module = loader_modules_find(&c->modules, request->module);
	if (request)
		request->cpu_ns += MAX(loader_cpu_ns(c), c->begun_cpu_ns) - c->begun_cpu_ns;
	loader_stop(c);
	if (!was_ready) {
		start_failed(c, 0);
		return;
	}
	start_later(c);
	if (!request)
		return;
	if (module && request_may_retry(module, request, end, status)) {
		queue_put_back(&c->waiting, request);
		return;
	}
	request_give_up(c, request, module, status);
}

/* --- sending --- */

static int attach(struct loader_client *c, const struct loader_module *module, int fd,
		  enum protocol_role role)
{
	struct protocol_request message = {
		.version = PROTOCOL_VERSION,
		.kind = PROTOCOL_ATTACH,
		.role = role,
		.serial = c->serial,
		.file_key = module->file_key,
	};

	return msg_send(c->sock, &message, sizeof(message), fd, MSG_DONTWAIT);
}

static enum protocol_kind protocol_kind_of(const struct loader_module *module,
					   const struct request *request)
{
	switch (request->kind) {
	case LOADER_REPLY_TABLE:
		return PROTOCOL_TABLE;
	case LOADER_REPLY_RETURN_ADDRS:
		return PROTOCOL_RETURN_ADDRS;
	case LOADER_REPLY_JIT:
		return PROTOCOL_JIT;
	case LOADER_REPLY_JIT_FRAMES:
		return PROTOCOL_JIT_FRAMES;
	case LOADER_REPLY_CODE:
		if (module->is_jit)
			return PROTOCOL_MADE_CODE;
		return request->module == LOADER_KERNEL ? PROTOCOL_KERNEL_CODE : PROTOCOL_CODE;
	case LOADER_REPLY_KCORE:
		return PROTOCOL_KCORE;
	case LOADER_REPLY_LINES:
		if (module->is_jit)
			return PROTOCOL_JIT_LINES;
		return request->module == LOADER_KERNEL ? PROTOCOL_KERNEL_LINES : PROTOCOL_LINES;
	default:
		if (module->is_jit)
			return PROTOCOL_JIT_NAMES;
		return request->module == LOADER_KERNEL ? PROTOCOL_KERNEL_NAMES : PROTOCOL_NAMES;
	}
}

/* A memory file for a table: as large as it may become, without a page in it yet. */
static int output_new(const struct loader_client *c)
{
	AUTO_CLOSE int fd = memfd_create("stacktop-table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)c->output_max) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Send a new loader the file for its names. */
static int names_attach(struct loader_client *c)
{
	struct protocol_request message = {
		.version = PROTOCOL_VERSION,
		.kind = PROTOCOL_ATTACH,
		.role = PROTOCOL_ROLE_NAMES,
		.output_max = MIN(c->output_max, (uint64_t)LOADER_NAMES_BYTES_MAX),
	};
	AUTO_CLOSE int fd = -1;
	int r = answer_names_share(&c->names, message.output_max, &fd);

	return r < 0 ? r : msg_send(c->sock, &message, sizeof(message), fd, MSG_DONTWAIT);
}

/* Send REQUEST and its descriptors under a new serial: half of one that came before is forgotten. */
static int request_send(struct loader_client *c, struct loader_module *module,
			const struct request *request, int output)
{
	bool is_lines = request->kind == LOADER_REPLY_LINES;
	struct protocol_request message = {
		.version = PROTOCOL_VERSION,
		.kind = protocol_kind_of(module, request),
		.nr_offs = request->nr_offs,
		.serial = ++c->serial,
		.file_key = module->file_key,
		.cpu_max_ns = request->cpu_max_ns,
		.output_max = c->output_max,
		.kernel_text = c->kernel_text,
		.kernel_build_id_bytes = c->kernel_build_id_bytes,
	};
	int r = attach(c, module, module->fd, PROTOCOL_ROLE_FILE);

	if (r == 0 && output >= 0)
		r = attach(c, module, output, PROTOCOL_ROLE_OUTPUT);
	if (r == 0 && request->memory >= 0)
		r = attach(c, module, request->memory, PROTOCOL_ROLE_MEMORY);
	for (uint32_t i = 0; i < module->nr_debug && r == 0; i++)
		if (needs_symbols(request) || is_lines)
			r = attach(c, module, module->debug[i], PROTOCOL_ROLE_DEBUG);
	for (uint32_t i = 0; i < module->nr_splits && r == 0 && is_lines; i++)
		r = attach(c, module, module->splits[i], PROTOCOL_ROLE_SPLIT);
	memcpy(message.kernel_build_id, c->kernel_build_id, sizeof(message.kernel_build_id));
	memcpy(message.offs, request->offs, request->nr_offs * sizeof(*request->offs));
	if (r == 0)
		r = (int)msg_send(c->sock, &message, sizeof(message), -1, MSG_DONTWAIT);
	if (r == 0 && is_lines)
		loader_module_close_splits(module);
	return r;
}

static void send_next(struct loader_client *c)
{
	struct request *request = turns_next(&c->turns, &c->waiting);
	AUTO_CLOSE int output = -1;
	struct loader_module *module;
	int r;

	if (!request)
		return;
	module = loader_modules_find(&c->modules, request->module);
	assert(module);
	if (request->kind == LOADER_REPLY_LINES && module->bad_lines != LOADER_OK) {
		answer_here(c, request, module->bad_lines);
		return;
	}
	if (request->kind == LOADER_REPLY_CODE && module->bad_lines != LOADER_OK)
		request->offs[2] = 0;
	if (needs_output(request)) {
		output = output_new(c);
		if (output < 0) {
			answer_here(c, request, status_of(output));
			return;
		}
	}
	r = request_send(c, module, request, output);
	if (r < 0) {
		queue_put_back(&c->waiting, request);
		/* Dead while it was idle: no file's fault, the next loader is asked. */
		if (r != -EAGAIN)
			loader_fail(c, END_KILLED);
		return;
	}
	c->outstanding = request;
	c->outstanding_kind = protocol_kind_of(module, request);
	c->output = steal_fd(&output);
	deadline_begin(c);
}

void loader_client_start(struct loader_client *c, uint64_t time_ns)
{
	c->time_ns = time_ns;
	if (c->pid == 0)
		loader_start(c);
}

void loader_tick(struct loader_client *c, uint64_t time_ns)
{
	bool has_work = c->waiting.first;

	c->time_ns = time_ns;
	if (loader_is_late(c))
		loader_fail(c, END_LATE);
	if (c->pid == 0 && has_work && time_ns >= c->start_at_ns)
		loader_start(c);
	if (c->is_ready && !c->outstanding && has_work)
		send_next(c);
}

/* --- receiving --- */

/* Fill RET from the loader's answer to the outstanding request; false: the loader lies. */
static bool reply_take(struct loader_client *c, const struct protocol_reply *message,
		       struct loader_reply *ret)
{
	const struct request *request = c->outstanding;

	if (!request || !answer_is_sane(message, c->outstanding_kind, c->serial))
		return false;
	if (request->is_dropped) {
		answer_nothing(request, LOADER_FAILED, &c->names, ret);
		return true;
	}
	return answer_take(request, message, &c->output, c->output_max, &c->names, ret) == 0;
}

/* What MESSAGE says of the loader itself; its request is not outstanding any more. */
static struct request *reply_account(struct loader_client *c, const struct protocol_reply *message)
{
	struct request *request = steal_ptr(c->outstanding);
	uint64_t used_ns = message->cpu_ns - MIN(c->present.cpu_ns, message->cpu_ns);

	turns_charge(&c->turns, request->owner, used_ns, c->time_ns);
	request->cpu_ns += used_ns;
	c->present.cpu_ns = message->cpu_ns;
	c->present.rss_bytes = message->rss_bytes;
	c->present.symbols_evicted = message->symbols_evicted;
	c->present.symbols_left_out = message->symbols_left_out;
	c->backoff_ns = RESTART_FIRST_NS;
	cleanup_close(&c->output);
	c->output = -1;
	return request;
}

static void reply_done(struct loader_client *c, const struct protocol_reply *message,
		       struct loader_reply *ret)
{
	struct request *request = reply_account(c, message);
	struct loader_module *module = loader_modules_find(&c->modules, request->module);

	if (module)
		module->nr_kills = 0;
	ret->cpu_ns = request->is_dropped ? 0 : request->cpu_ns;
	request_free(request);
	c->nr_queued--;
}

/* The loader gave up on a file for now: it waits, and may take more time then. */
static bool reply_is_late(struct loader_client *c, const struct protocol_reply *message)
{
	struct request *request = c->outstanding;
	struct loader_module *module;

	if (!request || request->is_dropped || message->status != LOADER_LATE ||
	    !answer_is_sane(message, c->outstanding_kind, c->serial))
		return false;
	request = reply_account(c, message);
	module = loader_modules_find(&c->modules, request->module);
	c->stats.put_back++;
	if (turns_put_off(request)) {
		queue_put(&c->waiting, request);
	} else if (module && request_without_lines(module, request, LOADER_TIMED_OUT)) {
		request->cpu_max_ns = module->cpu_first_ns;
		request->was_late = false;
		queue_put(&c->waiting, request);
	} else {
		request_give_up(c, request, module, LOADER_TIMED_OUT);
	}
	return true;
}

/* The next message, if it is a hello or a good reply. 1: RET is filled; 0: nothing (more) for now. */
static int loader_receive(struct loader_client *c, struct loader_reply *ret)
{
	union {
		struct protocol_hello hello;
		struct protocol_reply reply;
	} message;
	int fd = -1;
	ssize_t n;

	if (c->sock < 0)
		return 0;
	n = msg_recv(c->sock, &message, sizeof(message), &fd, MSG_DONTWAIT);
	/* It ended with a request unread: the error comes before its last words. */
	if (n == -ECONNRESET)
		n = msg_recv(c->sock, &message, sizeof(message), &fd, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return 0;
	if (fd >= 0) {
		close(fd); /* it has none to give */
	} else if (!c->is_ready && n == (ssize_t)sizeof(message.hello) &&
		   message.hello.version == PROTOCOL_VERSION && names_attach(c) == 0) {
		c->is_ready = true;
		c->starts_failed = 0;
		send_next(c);
		return 0;
	} else if (c->is_ready && n == (ssize_t)sizeof(message.reply) &&
		   reply_is_late(c, &message.reply)) {
		send_next(c);
		return 0;
	} else if (c->is_ready && n == (ssize_t)sizeof(message.reply) &&
		   reply_take(c, &message.reply, ret)) {
		reply_done(c, &message.reply, ret);
		send_next(c);
		return 1;
	}
	loader_fail(c, n > 0 ? END_CRASHED : END_KILLED);
	return 0;
}

bool loader_next_reply(struct loader_client *c, struct loader_reply *ret)
{
	struct request *request;

	if (loader_receive(c, ret))
		return true;
	if (!c->answered.first)
		return false;
	request = queue_take(&c->answered, &c->answered.first);
	answer_nothing(request, request->status, &c->names, ret);
	ret->cpu_ns = request->cpu_ns;
	request_free(request);
	c->nr_queued--;
	return true;
}

int loader_client_fd(const struct loader_client *c)
{
	return c->sock;
}

/* Files, not requests: a file may wait for its table and for its return addresses. */
static void count_late(const struct loader_client *c, struct loader_stats *ret)
{
	if (c->outstanding && turns_is_late(c->outstanding)) {
		ret->late++;
		ret->late_module = c->outstanding->module;
	}
	for (const struct request *r = c->waiting.first; r; r = r->next) {
		const struct request *same = c->waiting.first;

		if (!turns_is_late(r))
			continue;
		while (!turns_is_late(same) || same->module != r->module)
			same = same->next;
		if (same != r || (ret->late && r->module == ret->late_module))
			continue;
		if (ret->late++ == 0)
			ret->late_module = r->module;
	}
}

void loader_stats(const struct loader_client *c, struct loader_stats *ret)
{
	*ret = c->stats;
	ret->cpu_ns += c->present.cpu_ns;
	ret->rss_bytes = c->present.rss_bytes;
	ret->symbols_evicted += c->present.symbols_evicted;
	ret->symbols_left_out += c->present.symbols_left_out;
	ret->queued = c->nr_queued;
	count_late(c, ret);
}
