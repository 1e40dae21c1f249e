/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the person asks of the engine, as plain structs through one bounded
 * queue, and what he looks at; and what the engine answers: snapshots and one-line messages. All but
 * the commands go through a one-slot mailbox each. One producer and one consumer per direction.
 */
#ifndef ST_MODEL_COMMAND_H
#define ST_MODEL_COMMAND_H

#include "src/base/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct snapshot;

enum command_kind {
	COMMAND_SNAPSHOT,    /* build one and post it; value: 1 with its stacks by address */
	COMMAND_MODE,	     /* value: enum stack_mode */
	COMMAND_STACK_BYTES, /* value: bytes */
	COMMAND_STACK_AUTO,  /* the size of the stack copy finds itself */
	COMMAND_FREEZE,	     /* value: 1 freeze the window, 0 live again */
	COMMAND_SHOW, /* value: freeze the window where it ends then, CLOCK_MONOTONIC; later than now: live */
	COMMAND_ZERO,	  /* the window starts now */
	COMMAND_WINDOW,	  /* value: nanoseconds */
	COMMAND_EVENT,	  /* value: snap_event.choice of the event to show */
	COMMAND_ANNOTATE, /* value: snap_func.key of the function to annotate in snapshots, 0: none */
	COMMAND_INLINES, /* value: 1 inlined functions are frames of their own, 0 they are not */
	COMMAND_SAMPLES, /* value: hand over single samples with each snapshot, see below */
	COMMAND_FETCH,	 /* allow to fetch debug files from the network, or stop it */
	COMMAND_STOP,	 /* read no more of the recording: show what came so far */
	COMMAND_QUIT,
};

/* Of COMMAND_SAMPLES: none; those that have all their names; all, as they are. */
enum { COMMAND_SAMPLES_NONE, COMMAND_SAMPLES_NAMED, COMMAND_SAMPLES_ALL };

struct command {
	enum command_kind kind;
	uint64_t value;
};

/* What is on the screen: the functions of its rows, by snap_func.key, in any order. */
#define VISIBLE_MAX 512u /* of more the first ones */
struct visible {
	uint32_t nr;
	uint64_t keys[VISIBLE_MAX];
};

/* Both directions between the main thread and the engine thread. */
struct channel;

struct channel *channel_new(void);
struct channel *channel_free(struct channel *channel); /* both threads are done with it */

/* Main thread: queue a command and wake the engine. -EAGAIN when the queue is full. */
int channel_send(struct channel *channel, struct command command);
/*
 * Main thread: from now on this is on the screen, so what is not known of it goes before all else. Wakes nobody: the
 * engine looks when it has a round. -ENOMEM: what was there before still counts.
 */
int channel_tell_visible(struct channel *channel, const struct visible *visible);
/* Main thread: the newest snapshot since the last call, or NULL. The caller owns it. */
struct snapshot *channel_take(struct channel *channel);
/* Main thread: the newest message since the last call into TEXT; false if there is none. */
bool channel_take_message(struct channel *channel, char *text, uint32_t size, bool *ret_is_error);
/* Main thread: has a snapshot failed for want of memory since the last call? None is on its way then. */
bool channel_take_failure(struct channel *channel);
/* Main thread: a descriptor that is readable when there may be something to take. */
int channel_main_fd(const struct channel *channel);

/* Engine thread: the next command; false if there is none. */
bool channel_receive(struct channel *channel, struct command *ret_command);
/* Engine thread: the newest of channel_tell_visible() since the last call, for the caller to free, or NULL. */
struct visible *channel_take_visible(struct channel *channel);
/* Engine thread: hand over a snapshot; an older one not yet taken is freed. */
void channel_post(struct channel *channel, struct snapshot *snapshot);
/* Engine thread: there is no memory for the snapshot that main waits for. Needs none itself. */
void channel_post_failure(struct channel *channel);
/* Engine thread: one line for the person ("lbr: this CPU has no ..."); it is sanitized here. */
void channel_post_message(struct channel *channel, const char *text, bool is_error);
/* Engine thread: a descriptor that is readable when there may be commands. */
int channel_engine_fd(const struct channel *channel);

#endif
