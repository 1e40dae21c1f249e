/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose work this is: the user who called sudo, and how privileges are given up for good. */
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
 * The first thing a program does. Capabilities that come from its file, and not from its caller,
 * are set aside: everything is opened with the caller's own rights until the broker takes them up
 * (identity_keep_broker). -EPERM: set-user-ID or set-group-ID, which is refused.
 */
int identity_begin(struct err *err);
/* Capabilities that were set aside come into force; and are set aside again. Root's own stay. 0 or -errno. */
int identity_take_up(void);
int identity_set_aside(void);

/*
 * Who the unprivileged processes shall be: SUDO_UID/SUDO_GID when root was
 * reached by sudo; the user "stacktop" where there is one, or nobody, when started by root itself;
 * else the user as is.
 */
int identity_workers(struct identity *ret, struct err *err);
/* Who a started command, and files written, shall belong to: sudo's caller, or the user as is (root stays root). */
int identity_invoker(struct identity *ret, struct err *err);

/*
 * Become WHO for good: groups, uid and gid (real, effective, saved), no
 * capability in any set, no_new_privs, not dumpable. Verified afterwards.
 */
int identity_become(const struct identity *who, struct err *err);
/* The same as the user that this process is: root stays root, but without any capability. */
int identity_drop(struct err *err);
/* For a started command: the user, the groups, and no capabilities that are stacktop's; nothing is forbidden to it. */
int identity_become_command(const struct identity *who, struct err *err);
/*
 * For the broker: become WHO, the user whom loaders are, and keep only PERFMON, SYS_PTRACE,
 * DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE, and IPC_LOCK for rings, as far as they are there
 * (before Linux 5.8 also SYS_ADMIN; and where kernel.perf_event_paranoid is above 2, which Linux does not know: aside,
 * for identity_take_admin()).
 */
int identity_keep_broker(const struct identity *who, struct err *err);
/*
 * For perf_event_open(2) in the calling thread: CAP_SYS_ADMIN comes into force if it is aside. True: it was, and
 * identity_leave_admin() is to set it aside again.
 */
bool identity_take_admin(void);
void identity_leave_admin(void);
/*
 * For the broker of a recording: become WHO and keep what the caller had: root by sudo
 * CAP_SYSLOG for kernel names alone, root itself DAC_READ_SEARCH as well, all others nothing.
 */
int identity_keep_reader(const struct identity *who, struct err *err);
/*
 * From here on the calling thread opens files as WHO could, whom the process must have become,
 * without capabilities over files; then with them again. 0, or -EPERM: it cannot.
 */
int identity_files_as(const struct identity *who);
void identity_files_as_self(void);
/* This process may lock memory (map rings) beyond its limits. */
bool identity_has_ipc_lock(void);

#endif
