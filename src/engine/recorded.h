/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recording as the engine sees it: a source that hands over the samples of
 * one event, and what a snapshot says of the whole. Reads nothing of this
 * machine. The loop that reads it through is replay.c.
 */
#ifndef ST_ENGINE_RECORDED_H
#define ST_ENGINE_RECORDED_H

#include "src/base/err.h"
#include "src/engine/choices.h"
#include "src/model/snapshot.h"
#include "src/perf/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct recorded; /* a struct source first */

struct recorded_config {
	struct recording *recording; /* owned by the recorded source from then on, also on error */
	const char *file;	     /* as given, sanitized */
	const char *event; /* by name or number from 1 on; NULL: the one with the most samples */
};

/*
 * -ENOENT with a message that lists the events when none is called so. In pipe mode the events may
 * come later: then recorded_trouble() tells.
 */
int recorded_new(const struct recorded_config *config, struct recorded **ret, struct err *err);
struct source *recorded_source(struct recorded *recorded);
const struct recording_info *recorded_info(const struct recorded *recorded);

/*
 * Show EVENT instead, a choice of choices.h, from the beginning of the recording. 0, -EALREADY (it is shown),
 * or another -errno with a message.
 */
int recorded_show(struct recorded *recorded, uint32_t event, struct err *err);
/* All is handed over. */
bool recorded_is_over(const struct recorded *recorded);

/* The name of the file or kernel part that the kernel maps at ADDR ("[nf_tables]"), or NULL; sanitized. */
const char *recorded_kernel_object(const struct recorded *recorded, uint64_t addr);
/* Where the kernel's symbol _text (or _stext) was; 0: not told. */
uint64_t recorded_kernel_text(const struct recorded *recorded);
/* The build-id that the recording gives to the file at PATH (of the kernel: NULL), or NULL. */
const struct recording_build_id *recorded_build_id(const struct recorded *recorded,
						   const char *path);

/* Why the recording ended early or is not what was asked for, or ""; IS_BAD: it counts as a failure. */
const char *recorded_trouble(const struct recorded *recorded, bool *ret_is_bad);
/* At the end: how many samples are not shown, and the option that shows them; or "". */
void recorded_notice(const struct recorded *recorded, char *out, size_t size);
/* Everything but text into RET. */
void recorded_fill(const struct recorded *recorded, struct snap_recording *ret);
const char *recorded_event_name(const struct recorded *recorded, uint32_t choice);
const char *recorded_file(const struct recorded *recorded);

#endif
