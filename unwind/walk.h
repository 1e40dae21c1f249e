/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One walk, for the files that step it: walk.c goes by CFI from frame to frame, walk_code.c by what code without CFI does
 * to return, walk_guess.c says whether a word can be the return address that a step without CFI needs. Each calls only
 * those named after it. Private to unwind/.
 */
#ifndef ST_UNWIND_WALK_H
#define ST_UNWIND_WALK_H

#include "unwind/arch.h"
#include "unwind/code.h"
#include "unwind/unwind.h"

struct walk {
	const struct unwind_space *space;
	const struct unwind_stack *stack;
	const struct unwind_arch *arch;
	const struct unwind_map *last_map;
	struct unwind_cursor cursor;
	struct unwind_piece piece; /* of the stack, that is read: the copy, or ... */
	bool is_in_rest;
	struct unwind_frame *frames;
	uint32_t max_frames;
	struct unwind_result *result;
	/* Where the function left last returns to, as its code shows; 0: that shows no return. */
	uint64_t returned_pc;
	/* The function left last was left by the run of plain steps: its code has to be asked for that. */
	bool has_run;
};

/* Not an end: the walk goes on, or must be done again with more registers. */
enum { WALK_ON = -1, WALK_AGAIN = -2 };

static inline const struct unwind_map *walk_map_of(struct walk *w, uint64_t pc)
{
	const struct unwind_map *map = w->last_map;

	if (map && pc - map->start < map->end - map->start)
		return map;
	map = unwind_map_of(w->space, pc);
	if (map)
		w->last_map = map;
	return map;
}

static inline int walk_end_at(struct walk *w, enum stack_end end,
			      const struct unwind_module *module)
{
	w->result->end_module = module ? module->id : UNWIND_NO_MODULE;
	return (int)end;
}

/* --- walk_code.c --- */

/*
 * From the frame at the cursor, in code of MODULE that no CFI describes, to its caller: by what the code does to return, or by what
 * its maker tells, if that leads to a word after a call. ELSE_END: nothing is known in either way. WALK_ON or the end.
 */
int walk_step_code(struct walk *w, const struct unwind_module *module, enum stack_end else_end);
/* The same in code that Erlang's virtual machine has made, on the stack of one of its processes. */
int walk_step_erlang(struct walk *w, const struct unwind_module *module);

/* --- walk_guess.c --- */

/* A read left the copy: the end of the stack. Was the copy too small, or does the stack go on elsewhere? */
int walk_end_outside(struct walk *w, const struct unwind_module *module);
/* Bytes of code can be had, and are understood. */
bool walk_knows_code(const struct walk *w);
/* Code of which no file tells, and of which the bytes can be had. */
bool walk_is_untold_code(const struct walk *w, const struct unwind_module *module);
/* Does the word that GUESS found in the stack look like a return address? WALK_ON; NO_CFI: no; else the end. */
int walk_check_guess(struct walk *w, const struct step_guess *guess);
/* To the caller where GUESS says it is: of its registers no others are known. */
void walk_take_guess(struct walk *w, const struct step_guess *guess);

#endif
