/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a frame's address where a call returns to? Of a file by its table of return addresses, of made code by its bytes. */
#include "config.h"

#include "unwind/code.h"
#include "unwind/unwind.h"

bool unwind_is_after_call(const struct unwind_space *space, const struct unwind_frame *frame,
			  bool *ret_asked)
{
	const struct unwind_map *map = unwind_map_of(space, frame->pc - 1);
	struct unwind_module *module = map ? map->module : NULL;

	if (!module)
		return false;
	if (unwind_is_untold(module) && space->code)
		return code_is_return(space->code, space, frame->pc) == CODE_YES;
	if (module->has_return_addrs)
		return return_addrs_has(&module->return_addrs, frame->off);
	if (module->has_table && !module->return_addrs_failed)
		*ret_asked = module->needs_return_addrs = true;
	return false;
}
