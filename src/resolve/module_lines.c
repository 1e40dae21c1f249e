/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is inlined at an offset, and lines: asked of the loader in small batches, so that names, which
 * more people look at, do not wait long behind them.
 */
#include "config.h"

#include "src/resolve/resolver.h"

#include <assert.h>

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

void resolve_take_lines(struct resolver *s, const struct loader_reply *reply)
{
	assert(reply->nr_answered <= reply->nr_places);
	if (s->nr_line_batches > 0)
		s->nr_line_batches--;
	for (uint32_t i = 0; i < reply->nr_places; i++)
		report(s, reply->module, &reply->places[i], i >= reply->nr_answered);
}
