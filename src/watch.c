/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence of batch mode: see watch.h. */
#include "config.h"

#include "src/watch.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/bundle.h"
#include "src/out/out.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_MAX_NS  NS_PER_SEC
#define END_STEP_MS 20

void watch_begin(struct watch *w)
{
	char text[ERR_TEXT_MAX];

	trigger_text(w->trigger, text, sizeof(text));
	w->say(text);
}

/* What came of it; -EINPROGRESS: nothing yet. */
static void tell(struct watch *w, int r, const struct err *err)
{
	char text[2 * ERR_TEXT_MAX];

	w->is_writing = r == -EINPROGRESS;
	if (w->is_writing)
		return;
	if (r == 0)
		snprintf(text, sizeof(text), "%s: written %s", w->why, w->name);
	else
		snprintf(text, sizeof(text), "%s: %.*s", w->why, (int)ERR_TEXT_MAX, err->text);
	w->say(text);
}

static int write_archive(struct watch *w, const struct snapshot *s, struct err *err)
{
	AUTO_FREE char *data = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&data, &len);
	int r = stream ? bundle_archive(stream, s, w->name, w->min_pct, w->ascii) : -ENOMEM;

	if (stream && fclose(stream) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0)
		return err_set(err, r, "cannot make the bundle: %s", strerror(-r));
	return report_writer_save(w->writer, w->name, data, len, err);
}

void watch_take(struct watch *w, const struct snapshot *s)
{
	char doubt[ERR_TEXT_MAX];
	struct err err = {0};

	if (trigger_doubt(w->trigger, s, doubt, sizeof(doubt)))
		w->say(doubt);
	if (!trigger_look(w->trigger, s, !w->is_writing))
		return;
	memcpy(w->why, w->trigger->why, sizeof(w->why));
	bundle_name(s, w->name, sizeof(w->name));
	tell(w, write_archive(w, s, &err), &err);
}

bool watch_poll(struct watch *w)
{
	struct err err = {0};

	if (w->is_writing)
		tell(w, report_writer_poll(w->writer, &err), &err);
	return w->is_writing;
}

void watch_end(struct watch *w)
{
	uint64_t until_ns = now_ns() + END_MAX_NS;

	while (watch_poll(w) && now_ns() < until_ns)
		poll(NULL, 0, END_STEP_MS);
}
