/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What comes back from a loader, checked as if an attacker had sent it, for
 * one may have. A wrong byte anywhere is -EBADMSG: then the loader must go.
 */
#ifndef ST_LOADER_ANSWER_H
#define ST_LOADER_ANSWER_H

#include "src/loader/client.h"
#include "src/loader/protocol.h"

#include <stdbool.h>
#include <stdint.h>

/* What the client was asked for, in a queue. */
struct request {
	struct request *next;
	enum loader_reply_kind kind;
	uint32_t module;
	enum loader_status status; /* of one that is answered without a loader */
	bool is_dropped;	   /* its module went away while the loader worked on it */
	uint32_t owner;		   /* of its file: a number of the client's */
	uint64_t cpu_max_ns;	   /* that the loader may take for it; 0: without a bound */
	bool was_late;		   /* it has taken that once, and waits for all others */
	uint64_t cpu_ns;	   /* that it has taken so far */
	int memory;		   /* with the code to list, its own; -1: that is in a file */
	uint32_t nr_offs;
	uint64_t offs[];
};

/* Is such an answer in the file that all names share? */
static inline bool answer_is_text(enum loader_reply_kind kind)
{
	return kind == LOADER_REPLY_NAMES || kind == LOADER_REPLY_LINES ||
	       kind == LOADER_REPLY_JIT_FRAMES;
}

/* The names, or the lines, of one answer, in memory of our own. */
struct answer_names {
	struct loader_name all[LOADER_NAMES_MAX];
	struct loader_place places[LOADER_NAMES_MAX];
	struct loader_frame frames[LOADER_FRAMES_MAX];
	const char *splits[LOADER_SPLITS_TOLD_MAX];
	struct code_told told[LOADER_NAMES_MAX];
	char *text;
	const void *shared; /* what the present loader fills, or NULL */
	size_t shared_bytes;
	char *copy; /* of that, where it cannot change any more */
	size_t cap_copy;
};

int answer_names_init(struct answer_names *names); /* 0 or -ENOMEM */
void answer_names_done(struct answer_names *names);
/* A memory file of BYTES for the names of another loader: *RET_FD is to be sent to it. 0 or -errno. */
int answer_names_share(struct answer_names *names, size_t bytes, int *ret_fd);

/* Is MESSAGE a possible reply to the request of this KIND and SERIAL? Its texts end, its counts fit. */
bool answer_is_sane(const struct protocol_reply *message, enum protocol_kind kind, uint64_t serial);

/* Fill RET for REQUEST without an answer: nothing is known. Names point into NAMES. */
void answer_nothing(const struct request *request, enum loader_status status,
		    struct answer_names *names, struct loader_reply *ret);

/*
 * Fill RET from the sane reply MESSAGE to REQUEST. *OUTPUT is the memory file
 * (of at most OUTPUT_MAX bytes) that the loader filled with a table, cut to
 * size and sealed: it is handed on. 0, -EBADMSG, -errno.
 */
int answer_take(const struct request *request, const struct protocol_reply *message, int *output,
		uint64_t output_max, struct answer_names *names, struct loader_reply *ret);

#endif
