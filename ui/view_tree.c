/* SPDX-License-Identifier: GPL-3.0-or-later */
/* View 3: the call tree, from the root down. */
#include "config.h"

#include "ui/state.h"

const struct view_ops view_tree_ops = {
	.kind = VIEW_TREE,
	.item_title = "function, below it what it calls",
	.request = tree_request,
};
