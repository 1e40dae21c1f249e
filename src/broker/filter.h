/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system calls that the broker, with its privileges, can still make. */
#ifndef ST_BROKER_FILTER_H
#define ST_BROKER_FILTER_H

/*
 * Filter the system calls of this thread and of all threads and processes that it
 * starts from now on: what is not on the list fails with EPERM. No program can be
 * started, no address connected to, no other process changed. Needs
 * no_new_privs. 0, also when built without seccomp, or -errno.
 */
int filter_enter(void);

#endif
