/* SPDX-License-Identifier: GPL-3.0-or-later */
/* View 2: under each function those who call it, level by level. */
#include "config.h"

#include "ui/state.h"

const struct view_ops view_callers_ops = {
	.kind = VIEW_CALLERS,
	.item_title = "function, below it its callers",
	.request = tree_request,
};
