/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broker process itself: its main thread, from fork to _exit. */
#ifndef ST_BROKER_BROKER_MAIN_H
#define ST_BROKER_BROKER_MAIN_H

#include "src/broker/broker.h"

/*
 * What goes over the control connection: one fixed-size struct per message, in each direction. Both
 * ends are the same program, so there are no versions; the server still checks every field, since
 * the client may have been taken over by what it reads. Files requests and replies are the
 * structs of broker.h themselves.
 */
enum control_kind {
	CONTROL_PERF_OPEN,
	CONTROL_PERF_MAPPED,
	CONTROL_START_LOADER,
	CONTROL_FETCHER,
	CONTROL_KILL,
	CONTROL_USAGE,
};

struct control_request {
	uint32_t kind;
	int32_t pid;
	int32_t cpu;
	uint32_t pad;
	uint64_t ring_pages;
	struct perf_event_attr attr;
};

struct control_reply {
	int32_t status; /* 0 or -errno */
	int32_t pid;
	uint64_t cpu_ns, rss_bytes;
};

#define BROKER_AREAS_BYTES ((size_t)BROKER_AREAS * BROKER_BATCH_BYTES)

/* The server's ends of the connections. */
struct server_socks {
	int control, files, stacks;
	uint8_t *areas; /* of the stacks: memory that is shared with the client */
	int life;	/* a pipe that is never written to: it ends with the client */
};

/*
 * The two steps by which the broker gives up what it does not need: first to be root and
 * what capabilities allow, then files and system calls. Not undone by anything. 0 or -errno.
 */
int broker_give_up(const struct broker_config *config);
int broker_confine(const struct broker_config *config);

/*
 * Serve until the client is gone; what runs in the child of broker_start.
 * Closes every other descriptor and gives up what it does not need. Returns an
 * exit status; the caller then ends with _exit, which waits for no thread.
 */
int broker_main(const struct broker_config *config, const struct server_socks *socks, pid_t client);

#endif
