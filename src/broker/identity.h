/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose work this is: the invoking user behind sudo, and how privileges are given up for good. */
#ifndef ST_BROKER_IDENTITY_H
#define ST_BROKER_IDENTITY_H

#include "src/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

#define IDENTITY_GROUPS_MAX 64

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t groups[IDENTITY_GROUPS_MAX];
	int nr_groups;
	bool was_root; /* started with uid 0 */
	bool by_sudo;  /* SUDO_UID names the invoking user */
};

/*
 * Who the unprivileged processes shall be: SUDO_UID/SUDO_GID when root was
 * reached by sudo, nobody when started by root itself, else the user as is.
 */
int identity_workers(struct identity *ret, struct err *err);
/* Who a started command, and files written, shall belong to: sudo's caller, or the user as is (root stays root). */
int identity_invoker(struct identity *ret, struct err *err);

/*
 * Become WHO for good: groups, uid and gid (real, effective, saved), no
 * capability in any set, no_new_privs, not dumpable. Verified afterwards.
 */
int identity_become(const struct identity *who, struct err *err);
/* For a started command: only the user and groups change, nothing else is forbidden to it. */
int identity_become_command(const struct identity *who, struct err *err);
/*
 * Keep the broker's capabilities only (PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG,
 * CHECKPOINT_RESTORE, IPC_LOCK for rings, SETUID/SETGID/SETPCAP/KILL to start and stop loaders),
 * drop all else from every set. No-op for an ordinary user.
 */
int identity_keep_broker(struct err *err);
/*
 * For the broker of a recording: become sudo's caller WHO (who is marked as no longer root's to
 * make), with CAP_SYSLOG for kernel names alone; called by root itself keep what root needs to read
 * files and start loaders. No-op for an ordinary user.
 */
int identity_keep_reader(struct identity *who, struct err *err);
/*
 * From here on the calling thread opens files as WHO could, without root's rights over them (but
 * still with root's groups); then as itself again. 0, or -EPERM: it cannot.
 */
int identity_files_as(const struct identity *who);
void identity_files_as_self(void);
/* This process may lock memory (map rings) beyond its limits. */
bool identity_has_ipc_lock(void);

#endif
