/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report for the client, on a thread of its own: a disk may hang. */
#ifndef ST_BROKER_SAVE_H
#define ST_BROKER_SAVE_H

#include "src/broker/protocol.h"

/*
 * Copy MEMFD (owned by this call from now on) to a new file in DIR and answer
 * on SOCK, later or, when no thread can be had, at once.
 */
void save_start(int dir, const struct save_request *request, int memfd, int sock);
/* Answer one request with STATUS: 0 or -errno. */
void save_reply(int sock, int status);

#endif
