/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions of a function, asked of the loader once its file is there; and the text that they are from. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/loader/instructions.h"
#include "src/loader/protocol.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>

_Static_assert(BROKER_KCORE_BYTES_MAX <= LOADER_CODE_BYTES_MAX,
	       "what is read of a function is listed");

#define MADE_BEFORE 4u /* pieces of memory before the one that has the place */
_Static_assert(MADE_BEFORE < LOADER_PIECES_MAX, "there is room for it");

/* Have the broker read the memory around OFF, an address with its epoch. */
static int ask_made_code(struct resolver *s, uint32_t module, uint64_t off)
{
	const struct jit *jit = &s->jits.all[module - PROC_MODULE_JIT_FIRST];
	const struct process *process = procs_by_index(s->procs, jit->process);
	uint64_t addr = off & RESOLVE_JIT_ADDR_MASK,
		 back = (uint64_t)MADE_BEFORE * BROKER_PIECE_BYTES;
	struct broker_file_request request = {
		.kind = BROKER_CODE,
		.pid = process->pid,
		.start_time = process->start_time,
		.nr_pieces = LOADER_PIECES_MAX,
	};

	if (process->is_dead)
		return -ESTALE;
	if (s->nr_asked >= ASKED_MAX)
		return -EAGAIN;
	addr -= addr % BROKER_PIECE_BYTES;
	s->made.module = module;
	s->made.off = off;
	s->made.base = addr > back ? addr - back : 0;
	s->made.nr_pieces = request.nr_pieces;
	request.tag = RESOLVE_MADE_CODE | ++s->made.number;
	for (uint32_t i = 0; i < request.nr_pieces; i++)
		request.pieces[i] = s->made.base + (uint64_t)i * BROKER_PIECE_BYTES;
	return resolve_ask(s, &request);
}

/* There is no code of the function of MODULE that was asked for. */
static void no_code(struct resolver *s, uint32_t module, enum loader_status status)
{
	struct instructions nothing = {0};

	s->config.ops->code_came(s->config.context, module, status, &nothing);
}

void resolve_take_made_code(struct resolver *s, struct broker_file_reply *reply)
{
	const struct jit *jit = &s->jits.all[s->made.module - PROC_MODULE_JIT_FIRST];
	int r = reply->status;

	if ((uint32_t)reply->tag != s->made.number)
		return;
	if (r == 0)
		r = loader_request_made_code(s->loader, s->made.module, s->made.off, jit->epoch,
					     steal_fd(&reply->fd), s->made.base, s->made.nr_pieces);
	if (r < 0)
		no_code(s, s->made.module, LOADER_FAILED);
}

/*
 * Have the broker read the function at ADDRESS of the kernel's memory. -ENOENT: it cannot be had, this one or
 * any.
 */
static int ask_kcore(struct resolver *s, uint64_t address)
{
	struct broker_file_request request = {.kind = BROKER_KCORE, .start = address};

	if (s->config.recording || s->kcore.is_refused || s->kcore.failed == address)
		return -ENOENT;
	if (s->nr_asked >= ASKED_MAX)
		return -EAGAIN;
	s->kcore.address = address;
	request.tag = ++s->kcore.number;
	return resolve_ask(s, &request);
}

void resolve_take_kcore(struct resolver *s, struct broker_file_reply *reply)
{
	int r = reply->status;

	if (reply->tag != s->kcore.number)
		return;
	if (r == 0)
		r = loader_request_kcore(s->loader, s->kcore.address, steal_fd(&reply->fd));
	else
		s->kcore.is_refused = r == -ENOSYS || r == -EACCES || r == -EPERM;
	if (r == 0)
		return;
	if (r != -EBUSY)
		s->kcore.failed = s->kcore.address;
	no_code(s, LOADER_KERNEL, s->vmlinux.is_there ? LOADER_FAILED : LOADER_NOT_ELF);
}

/*
 * Ask for code of the kernel. Its file, which also tells lines, has the names of a recorded one; beside kallsyms it is
 * looked for now, and where there is none the kernel's memory has to do.
 */
static int ask_kernel_code(struct resolver *s, uint64_t off, uint64_t last)
{
	int r = resolve_need_vmlinux(s);

	s->kcore.wanted = off;
	if (r == -ENOENT)
		return ask_kcore(s, off);
	return r < 0 ? r : loader_request_code(s->loader, LOADER_KERNEL, off, last);
}

/* What REPLY says is not in the kernel's file, as code of its modules is not: is it asked for elsewhere now? */
static bool is_asked_elsewhere(struct resolver *s, const struct loader_reply *reply)
{
	return reply->kind == LOADER_REPLY_CODE && reply->module == LOADER_KERNEL &&
	       reply->status == LOADER_FAILED && ask_kcore(s, s->kcore.wanted) == 0;
}

int resolve_ask_code(struct resolver *s, uint32_t module, uint64_t off, uint64_t last)
{
	bool is_kernel = module == PROC_MODULE_KERNEL;
	bool is_image = module == PROC_MODULE_VDSO || module == PROC_MODULE_VDSO32;
	struct file *file = resolver_file(s, module);

	if (module < PROC_MODULE_FIRST && !is_image && !proc_is_jit(module) && !is_kernel)
		return -ENOTSUP;
	if (off == UINT64_MAX)
		return -EINVAL;
	if (!file || file->state == FILE_FAILED)
		return -ENOENT;
	if (proc_is_jit(module))
		return file->state == FILE_DONE ? ask_made_code(s, module, off) : -EAGAIN;
	if (is_kernel)
		return file->state == FILE_DONE ? ask_kernel_code(s, off, last) : -EAGAIN;
	if (file->state != FILE_DONE) { /* what names ask for brings it there */
		procs_module(s->procs, module)->unwind.needs_table = true;
		s->has_requests = true;
		return -EAGAIN;
	}
	if (resolve_is_open(s, module))
		return loader_request_code(s->loader, module, off, last);
	return resolve_is_lost(s, module) ? -ESTALE : -EAGAIN;
}

void resolve_take_code(struct resolver *s, const struct loader_reply *reply)
{
	AUTO_CLOSE int fd = reply->blob_fd;
	struct instructions instructions = {0};
	enum loader_status status = reply->status;
	int r = status == LOADER_OK ? instructions_take(fd, &instructions) : 0;

	if (r < 0)
		status = r == -ENOMEM ? LOADER_NO_MEMORY : LOADER_FAILED;
	if (reply->module == LOADER_KERNEL && status == LOADER_NOT_ELF)
		resolve_vmlinux_is_wrong(s);
	if (is_asked_elsewhere(s, reply))
		return;
	if (reply->kind == LOADER_REPLY_KCORE && status != LOADER_OK)
		s->kcore.failed = s->kcore.address;
	s->config.ops->code_came(s->config.context, reply->module, status, &instructions);
	instructions_done(&instructions);
}

int resolve_ask_source(struct resolver *s, const char *path, uint64_t tag)
{
	struct broker_file_request request = {.kind = BROKER_SOURCE, .tag = tag};
	int n = snprintf(request.path, sizeof(request.path), "%s", path);

	if (path[0] != '/' || n >= (int)sizeof(request.path))
		return -EINVAL;
	return s->nr_asked >= ASKED_MAX ? -EAGAIN : resolve_ask(s, &request);
}
