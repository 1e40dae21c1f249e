/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every process that is forked here does first: descriptors and signals. */
#ifndef ST_BROKER_PROCESS_H
#define ST_BROKER_PROCESS_H

/*
 * Close every descriptor except the NR ones of KEEP; 0, 1 and 2 become
 * /dev/null, so that a pipe's reader does not wait for this process.
 */
void process_close_all_but(const int *keep, int nr);
/*
 * Continue this process, should it be stopped, when the other end of LIFE, a pipe or a socket, is
 * written to, closed, or its holder dies. Who holds it may have no right to send a signal here, nor has
 * the death of a parent then.
 */
void process_continue_at_end(int life);
/* All signals as at the start of a program: default actions, none blocked. */
void process_default_signals(void);

/*
 * Give this session as much of the CPUs as the process's nice value asks for:
 * the scheduler shares them out among sessions first (sched(7), autogroup), and the
 * loader must not take seconds for a table on a busy machine. Without the privilege, or the
 * feature, it stays as it is.
 */
void process_raise_session(void);

#endif
