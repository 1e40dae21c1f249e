/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is inlined at an offset, and lines: asked of the loader in small batches, so that names, which
 * more people look at, do not wait long behind them.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <string.h>

#define LINES_BATCH_MAX	  128u
#define LINES_BATCHES_MAX 2u /* at the loader at once */

static void report(struct resolver *s, uint32_t module, const struct loader_place *place,
		   bool later)
{
	s->config.ops->line_came(s->config.context, module, place, later);
}

/* Ask about NR offsets of MODULE. One whose file is closed is opened: then it is asked later. */
static void ask_lines(struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	uint32_t nr_known = proc_is_jit(module) ? resolve_jit_known(s, module, offs, nr) : nr;
	struct file *file = resolver_file(s, module);
	bool is_known = file && (module >= PROC_MODULE_FIRST || proc_is_jit(module));
	bool is_done = is_known && file->state == FILE_DONE;
	/* Names have been asked for: of a file that is not on its way there is none. */
	bool later = is_known && file->state > FILE_UNSEEN && file->state < FILE_DONE;

	/* Of what a process before this one made nothing is known any more. */
	for (uint32_t i = nr_known; i < nr; i++)
		report(s, module, &(struct loader_place){.off = offs[i]}, false);
	nr = nr_known;
	if (nr > 0 && is_done && resolve_is_open(s, module)) {
		if (loader_request_lines(s->loader, module, offs, nr) == 0) {
			s->nr_line_batches++;
			return;
		}
	} else if (is_done) {
		later = !resolve_is_lost(s, module);
	}
	for (uint32_t i = 0; i < nr; i++)
		report(s, module, &(struct loader_place){.off = offs[i]}, later);
}

void resolve_ask_lines(struct resolver *s)
{
	uint64_t offs[LINES_BATCH_MAX];
	uint32_t module, nr;

	while (s->nr_line_batches < LINES_BATCHES_MAX &&
	       (nr = s->config.ops->next_unlined(s->config.context, &module, offs,
						 LINES_BATCH_MAX)) > 0)
		ask_lines(s, module, offs, nr);
}

/* --- dwz's second file --- */

/* Names are in another file, which REPLY tells: is that still to come? It is asked for by its build-id, once. */
static bool waits_for_other(struct resolver *s, const struct loader_reply *reply)
{
	struct broker_file_request request = {
		.kind = BROKER_DEBUG,
		.tag = reply->module | RESOLVE_TAG_OTHER,
		.build_id_bytes = reply->build_id_bytes,
	};
	struct file *file = resolver_file(s, reply->module);

	if (!file || reply->module < PROC_MODULE_FIRST || reply->status != LOADER_OK ||
	    reply->build_id_bytes == 0)
		return false;
	if (file->other == OTHER_UNSEEN) {
		memcpy(request.build_id, reply->build_id, sizeof(request.build_id));
		file->other = resolve_ask(s, &request) == 0 ? OTHER_ASKED : OTHER_DONE;
	}
	return file->other == OTHER_ASKED;
}

void resolve_take_other(struct resolver *s, struct broker_file_reply *reply)
{
	struct file *file = resolver_file(s, (uint32_t)reply->tag);

	/* It may have been closed and opened again meanwhile: then it is asked for again. */
	if (!file || file->other != OTHER_ASKED)
		return;
	file->other = OTHER_DONE;
	if (reply->status == 0)
		loader_add_debug(s->loader, (uint32_t)reply->tag, steal_fd(&reply->fd));
}

/* --- answers --- */

void resolve_take_lines(struct resolver *s, const struct loader_reply *reply)
{
	bool waits = waits_for_other(s, reply);

	assert(reply->nr_answered <= reply->nr_places);
	if (s->nr_line_batches > 0)
		s->nr_line_batches--;
	for (uint32_t i = 0; i < reply->nr_places; i++)
		report(s, reply->module, &reply->places[i], waits || i >= reply->nr_answered);
}
