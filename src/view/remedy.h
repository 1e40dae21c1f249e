/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a stack's end means, and what a person can do about it, in a few words each: one table. */
#ifndef ST_VIEW_REMEDY_H
#define ST_VIEW_REMEDY_H

#include "src/model/snapshot.h"

/* What END means: "longer than the copy". */
const char *remedy_meaning(enum stack_end end);
/* What makes FAULT of snapshot S go away, or what it comes from where nothing does. Of a recording that is to record anew. */
const char *remedy_of(const struct snapshot *s, const struct health_fault *fault);

#endif
