/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What goes over the two connections: one fixed-size struct per message, in
 * each direction. Both ends are the same program, so there are no versions;
 * the server still checks every field, since the client may have been taken
 * over by what it reads. Files requests and replies are the structs of
 * broker.h themselves.
 */
#ifndef ST_BROKER_PROTOCOL_H
#define ST_BROKER_PROTOCOL_H

#include "src/broker/broker.h"

#include <linux/perf_event.h>
#include <stdint.h>

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

#endif
