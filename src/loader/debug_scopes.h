/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of one unit, and what was inlined into one function: each found in one pass over the
 * entries, which jumps over what is not looked for.
 */
#ifndef ST_LOADER_DEBUG_SCOPES_H
#define ST_LOADER_DEBUG_SCOPES_H

#include "src/loader/debug_ranges.h"

struct debug_func {
	uint32_t die;		     /* as an offset in the unit */
	bool has_inlined;	     /* INLINED has all, not only what holds ASKED */
	uint64_t asked;		     /* an address; 0: none was asked for, or time was up */
	struct debug_ranges inlined; /* index: an entry, as DIE */
};

struct debug_scopes {
	bool has_funcs; /* those at the top of the unit and in namespaces, and what is found beside */
	bool is_deep;	/* and those within others */
	struct debug_ranges ranges; /* index: into funcs */
	struct debug_func *funcs;
	size_t nr_funcs, cap_funcs;
	size_t inlined_bytes;
};

void debug_scopes_done(struct debug_scopes *scopes);
size_t debug_scopes_bytes(const struct debug_scopes *scopes);

/*
 * The function of UNIT that holds ADDR, in *RET, or NULL. 0, -ENOMEM, -ETIME; SCOPES is then as it was. Of a damaged unit
 * there is what came before the damage.
 */
int debug_scopes_func(struct debug_scopes *scopes, const struct debug_unit *unit,
		      const struct debug_text *text, uint64_t addr, struct debug_func **ret);
/*
 * Find what was inlined into FUNC at ADDR. Of most functions one address is asked for: only when there is another one
 * all that is inlined is found, and kept. As above.
 */
int debug_scopes_inlined(struct debug_scopes *scopes, const struct debug_unit *unit,
			 const struct debug_text *text, struct debug_func *func, uint64_t addr);

#endif
