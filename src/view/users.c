/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which user ran a function. Only asked for by a key, so that nothing is kept of it. */
#include "config.h"

#include "src/view/view.h"

#include <stdlib.h>

uint32_t view_users(const struct snapshot *s, uint32_t func, const struct snap_process **ret)
{
	bool *has_func = calloc(s->nr_nodes, sizeof(*has_func));
	const struct snap_process *process = NULL;
	uint32_t nr = 0;

	*ret = NULL;
	if (!has_func)
		return 0;
	/* Parents stand before their children. */
	for (uint32_t i = 1; i < s->nr_nodes; i++)
		has_func[i] = s->nodes[i].func == func || has_func[s->nodes[i].parent];
	for (uint32_t i = 0; i < s->nr_shares && nr < 2; i++) {
		if (!has_func[s->shares[i].node])
			continue;
		process = &s->processes[s->shares[i].process];
		nr += !*ret || process->user != (*ret)->user;
		if (!*ret || process->user)
			*ret = process;
	}
	free(has_func);
	return nr;
}
