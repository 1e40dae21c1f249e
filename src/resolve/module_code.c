/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions of a function, asked of the loader once its file is there; and the text that they are from. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/loader/instructions.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>

int resolve_ask_code(struct resolver *s, uint32_t module, uint64_t off, uint64_t last)
{
	bool is_image = module == PROC_MODULE_VDSO || module == PROC_MODULE_VDSO32;
	struct file *file = resolver_file(s, module);

	if (module < PROC_MODULE_FIRST && !is_image)
		return -ENOTSUP;
	if (off == UINT64_MAX)
		return -EINVAL;
	if (!file || file->state == FILE_FAILED)
		return -ENOENT;
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
