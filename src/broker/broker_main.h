/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broker process itself: its main thread, from fork to _exit. */
#ifndef ST_BROKER_BROKER_MAIN_H
#define ST_BROKER_BROKER_MAIN_H

#include "src/broker/broker.h"

/* The server's ends of the connections. */
struct server_socks {
	int control, files;
	int life; /* a pipe: nobody writes into it, and it ends with the client */
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
