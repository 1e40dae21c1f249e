/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report writer: a process that writes reports of root's, and nothing else. It is root, so that
 * the files are root's, but has no capability and can reach no file outside its
 * folder; the broker, which opens what targets make, need not be root then.
 */
#ifndef ST_BROKER_WRITER_H
#define ST_BROKER_WRITER_H

#include "src/broker/protocol.h"

/*
 * Serve SOCK until its other end is closed: each request makes one file in the folder DIR.
 * What is being written then is finished. Closes every other descriptor. Returns an exit status.
 */
int writer_main(int dir, int sock);
/* How it gives up everything but making files in DIR; not undone by anything. 0 or -errno. */
int writer_confine(int dir);

#endif
