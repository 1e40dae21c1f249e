/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runtimes that make code while a program runs, and what brings the names of that code. */
#ifndef ST_BASE_RUNTIME_H
#define ST_BASE_RUNTIME_H

#include <stdint.h>

enum runtime {
	RUNTIME_NONE, /* not known */
	RUNTIME_JAVA,
	RUNTIME_NODE,
	RUNTIME_DOTNET,
	RUNTIME_PYTHON,
	RUNTIME_PHP,
	RUNTIME_RUBY,
	RUNTIME_LUA,
	RUNTIME_ERLANG,
	RUNTIME_COUNT,
};

/* How far the code of one process has names. */
enum runtime_names {
	RUNTIME_NAMES_KNOWN,
	RUNTIME_NAMES_NONE,    /* no map, or one without a name */
	RUNTIME_NAMES_FOREIGN, /* its map is another user's */
	RUNTIME_NAMES_NO_FILE, /* what stands in its map's place is no regular file */
	RUNTIME_NAMES_OLD,     /* a snapshot, and code has been made since */
	RUNTIME_NAMES_LATE,    /* it tells so much that it is read now and then */
};
/* As the JSON calls it. */
const char *runtime_names_state(enum runtime_names state);

/* What the row of its nameless code is called: "[jit] node"; of RUNTIME_NONE "[jit]". */
const char *runtime_object(enum runtime runtime);
/*
 * The one thing that brings names for the code of process PID, into OUT: "run: jcmd 4711 Compiler.perfmap",
 * "start with --perf-basic-prof"; "" where nothing is known that does.
 */
void runtime_remedy(enum runtime runtime, int32_t pid, char *out, uint32_t size);
/*
 * The same with what is wrong, "no names; run: jcmd ..."; "" where nothing is, or nothing helps. MAP_PID: the
 * process's number in its own namespace, as in its map's name. AGE_S: of OLD; of LATE, in how many seconds more is
 * read.
 */
void runtime_trouble(enum runtime runtime, enum runtime_names state, int32_t pid, int32_t map_pid,
		     uint64_t age_s, char *out, uint32_t size);
/* Why the map is not taken, "not a regular file"; NULL where it is, or where there is none. */
const char *runtime_map_refusal(enum runtime_names state);

#endif
