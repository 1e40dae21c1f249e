/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot of fewer stacks: those through a function, those not through it, those of which a function,
 * an object, a process, a thread, a container or a user has a name. What is left is 100 % of every view and of every
 * file that is written of it; the snapshot says of what (snapshot.narrowed). For example narrowed to "only parse":
 *
 *	main;parse;read 20   main;parse 10   main;draw 70        of 100
 *	main;parse;read 20   main;parse 10                       of  30, 30 % of all
 */
#ifndef ST_VIEW_NARROW_H
#define ST_VIEW_NARROW_H

#include "src/model/snapshot.h"

#define NARROW_STEPS_MAX 16
#define NARROW_TEXT_MAX	 128

enum narrow_kind {
	NARROW_ONLY,
	NARROW_WITHOUT, /* those stacks go that otherwise stay */
	NARROW_HIDE,	/* stacks stay, the functions leave them: collapse.h */
};

struct narrow_step {
	enum narrow_kind kind;
	uint64_t
		func_key; /* stacks through this function, or those merged with this key; 0: by TEXT */
	uint32_t process;  /* of this one (snap_process.index), plus 1; 0: of any */
	bool is_of_thread; /* and of its thread TID */
	int32_t tid;
	uint32_t user; /* of this user's processes (snap_process.user); 0: of any */
	char text
		[NARROW_TEXT_MAX]; /* the name of the function, process, thread or user; or what was typed, see narrow_typed() */
};

struct narrow {
	uint32_t nr;
	struct narrow_step steps[NARROW_STEPS_MAX]; /* all of them hold */
	bool folds_recursion;			    /* collapse.h; of what they leave */
	bool merges_names; /* merge.h; the same, and recursion is of merged ones */
};

/*
 * A step of what a person types: "parse" (functions), "o:libssl" (objects), "p:nginx" (processes),
 * "t:worker" (threads; "t:4711" also the one with this number), "c:docker:3f2a" (containers), "u:postgres" (users;
 * "u:1000" the one with this number alone), "!parse" (without), "-o:libc" (hidden; not of processes, threads,
 * containers and users), each a pattern (pattern.h). False: it is empty, or of no use.
 */
bool narrow_typed(const char *typed, struct narrow_step *ret);

/*
 * Take out of SNAPSHOT all stacks for which a step does not hold, and what is hidden out of the others, and
 * note in it what was done. Returns 0, or -ENOMEM: then no function is hidden, perhaps nothing has changed at
 * all, and nothing is noted.
 */
int narrow_snapshot(struct snapshot *snapshot, const struct narrow *narrow);

#endif
