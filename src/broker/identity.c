/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Users, groups and capabilities. Called while a process is single-threaded,
 * but for identity_files_as():
 * by main before it starts anything, by the broker at its start, and by each
 * loader between fork and its first foreign byte. Capabilities go by two raw
 * system calls, since a library would be larger than the task.
 *
 * The broker works as the user whom its loaders work as, so that it needs no
 * right to change users or to signal others': with that right it could become
 * root's uid again, whose files need no capability to be written to.
 */
#include "config.h"

#include "src/broker/identity.h"

#include "src/base/io.h"
#include "src/base/util.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than some headers: Linux 5.8 and 5.9. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define CAP_BIT(cap) (UINT64_C(1) << (cap))
#define CAPS_MAX     64
#define NOBODY_ID    65534
#define OWN_USER     "stacktop" /* a system user of ours, where the machine has one */

static const uint64_t broker_caps = CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_SYS_PTRACE) |
				    CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_SYSLOG) |
				    CAP_BIT(CAP_CHECKPOINT_RESTORE) | CAP_BIT(CAP_IPC_LOCK);

static const uint64_t over_files = CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_DAC_OVERRIDE);

struct caps {
	uint64_t effective, permitted, inheritable;
};

#define HEADER (&(struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3})

static int caps_get(struct caps *ret)
{
	struct __user_cap_data_struct d[2] = {0};

	if (syscall(SYS_capget, HEADER, d) < 0)
		return -errno;
	ret->effective = d[0].effective | (uint64_t)d[1].effective << 32;
	ret->permitted = d[0].permitted | (uint64_t)d[1].permitted << 32;
	ret->inheritable = d[0].inheritable | (uint64_t)d[1].inheritable << 32;
	return 0;
}

static int caps_set(const struct caps *caps)
{
	struct __user_cap_data_struct d[2];

	for (int i = 0; i < 2; i++) {
		d[i].effective = (uint32_t)(caps->effective >> (32 * i));
		d[i].permitted = (uint32_t)(caps->permitted >> (32 * i));
		d[i].inheritable = (uint32_t)(caps->inheritable >> (32 * i));
	}
	return syscall(SYS_capset, HEADER, d) < 0 ? -errno : 0;
}

/*
 * Take everything but KEEP from the bounding set. Needs CAP_SETPCAP; without
 * it there is nothing to take that no_new_privs does not forbid as well.
 */
static void caps_bound(uint64_t keep)
{
	for (int cap = 0; cap < CAPS_MAX; cap++) {
		if (keep & CAP_BIT(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return; /* EPERM, or EINVAL after the kernel's last one */
	}
}

/* A plain decimal id: no sign, no space, and not the value that means "no change". */
static bool parse_id(const char *text, uint32_t *ret)
{
	unsigned long value;

	if (!text || !isdigit((unsigned char)text[0]) || strlen(text) > 10 ||
	    strspn(text, "0123456789") != strlen(text))
		return false;
	value = strtoul(text, NULL, 10);
	if (value >= UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* With a set-user-ID bit the variables that say who called (SUDO_UID) would be set by that user. */
static int refuse_set_id(struct err *err)
{
	if (getuid() == geteuid() && getgid() == getegid())
		return 0;
	err_set(err, -EPERM, "refuses to run set-user-ID or set-group-ID");
	err_hint(err, "remove the bit: sudo chmod ug-s \"$(command -v stacktop)\"; then use sudo");
	return -EPERM;
}

int identity_take_up(void)
{
	struct caps caps;
	int r = caps_get(&caps);

	if (r < 0)
		return r;
	caps.effective = caps.permitted;
	return caps_set(&caps);
}

int identity_set_aside(void)
{
	struct caps caps;
	int r = caps_get(&caps);

	if (r < 0 || geteuid() == 0) /* root's are the caller's own */
		return r;
	caps.effective = 0;
	return caps_set(&caps);
}

int identity_begin(struct err *err)
{
	int r = identity_set_aside();

	if (r < 0)
		return err_set(err, r, "cannot set capabilities aside: %s", strerror(-r));
	return refuse_set_id(err);
}

static int identity_of_self(struct identity *ret, struct err *err)
{
	int n;

	*ret = (struct identity){.uid = getuid(), .gid = getgid(), .was_root = geteuid() == 0};
	n = getgroups(IDENTITY_GROUPS_MAX, ret->groups);
	if (n < 0 && errno != EINVAL) /* EINVAL: more groups than are kept here */
		return err_set(err, -errno, "cannot read the groups of this process: %s",
			       strerror(errno));
	ret->nr_groups = MAX(n, 0);
	return 0;
}

/* Sudo's caller, by the variables that sudo sets. False: not reached by sudo. */
static bool identity_of_sudo(struct identity *ret)
{
	const struct passwd *pw;
	uint32_t uid, gid;

	/* Who is not root could have set the variables to anybody. */
	if (geteuid() != 0 || !parse_id(getenv("SUDO_UID"), &uid) || uid == 0)
		return false;
	pw = getpwuid(uid);
	if (!parse_id(getenv("SUDO_GID"), &gid)) {
		if (!pw)
			return false;
		gid = pw->pw_gid;
	}
	*ret = (struct identity){.uid = uid, .gid = gid, .was_root = true, .by_sudo = true};
	ret->nr_groups = 1;
	ret->groups[0] = gid;
	if (pw) {
		int n = IDENTITY_GROUPS_MAX;

		/* -1: the user has more; the first ones are filled in all the same */
		if (getgrouplist(pw->pw_name, gid, ret->groups, &n) < 0)
			n = IDENTITY_GROUPS_MAX;
		ret->nr_groups = n;
	}
	return true;
}

/* A user whom no other service works as, or else the one whom many do. */
static void identity_of_nobody(struct identity *ret)
{
	const struct passwd *pw = getpwnam(OWN_USER);

	if (!pw || pw->pw_uid == 0 || pw->pw_gid == 0)
		pw = getpwnam("nobody");
	*ret = (struct identity){.uid = NOBODY_ID, .gid = NOBODY_ID, .was_root = true};
	if (pw && pw->pw_uid != 0 && pw->pw_gid != 0) {
		ret->uid = pw->pw_uid;
		ret->gid = pw->pw_gid;
	}
}

int identity_workers(struct identity *ret, struct err *err)
{
	if (geteuid() != 0)
		return identity_of_self(ret, err);
	if (!identity_of_sudo(ret))
		identity_of_nobody(ret);
	return 0;
}

int identity_invoker(struct identity *ret, struct err *err)
{
	if (identity_of_sudo(ret))
		return 0;
	return identity_of_self(ret, err);
}

static bool has_groups(const struct identity *who)
{
	gid_t groups[IDENTITY_GROUPS_MAX];
	int n = getgroups(IDENTITY_GROUPS_MAX, groups);

	if (n != who->nr_groups)
		return false;
	/* The kernel keeps them in its own order. */
	for (int i = 0; i < n; i++) {
		int j = 0;

		while (j < n && who->groups[j] != groups[i])
			j++;
		if (j == n)
			return false;
	}
	return true;
}

static int change_user(const struct identity *who, struct err *err)
{
	bool is_self = who->uid == getuid() && who->uid == geteuid() && who->gid == getgid() &&
		       who->gid == getegid();

	/* Only root can change groups; an ordinary user keeps their own. */
	if (!(is_self && (!who->was_root || has_groups(who))) &&
	    setgroups((size_t)who->nr_groups, who->groups) < 0)
		return err_set(err, -errno, "cannot set the groups of uid %u: %s", who->uid,
			       strerror(errno));
	if (setresgid(who->gid, who->gid, who->gid) < 0)
		return err_set(err, -errno, "cannot change to gid %u: %s", who->gid,
			       strerror(errno));
	if (setresuid(who->uid, who->uid, who->uid) < 0)
		return err_set(err, -errno, "cannot change to uid %u: %s", who->uid,
			       strerror(errno));
	return 0;
}

/* What identity_become promises, read back from the kernel. */
static bool is_for_good(const struct identity *who)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;
	struct caps caps;

	if (getresuid(&ruid, &euid, &suid) < 0 || getresgid(&rgid, &egid, &sgid) < 0 ||
	    caps_get(&caps) < 0)
		return false;
	if (ruid != who->uid || euid != who->uid || suid != who->uid)
		return false;
	if (rgid != who->gid || egid != who->gid || sgid != who->gid)
		return false;
	if (caps.effective || caps.permitted || caps.inheritable)
		return false;
	if (who->uid != 0 && setresuid((uid_t)-1, 0, (uid_t)-1) == 0)
		return false;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_DUMPABLE) == 0;
}

int identity_become(const struct identity *who, struct err *err)
{
	const struct caps none = {0};
	int r;

	/* First, while CAP_SETPCAP is still there. */
	caps_bound(0);
	r = change_user(who, err);
	if (r < 0)
		return r;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r = caps_set(&none);
	if (r < 0)
		return err_set(err, r, "cannot drop capabilities: %s", strerror(-r));
	/* Last: a change of credentials sets dumpable anew. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_set(err, -errno, "cannot give up privileges: %s", strerror(errno));
	if (!is_for_good(who))
		return err_set(err, -EPERM, "privileges are not gone after giving them up");
	return 0;
}

int identity_drop(struct err *err)
{
	struct identity self;
	int r = identity_of_self(&self, err);

	return r < 0 ? r : identity_become(&self, err);
}

int identity_become_command(const struct identity *who, struct err *err)
{
	const struct caps none = {0};
	int r;

	if (who->by_sudo)
		return change_user(who, err);
	if (who->was_root) /* root stays what it is, with all it may do */
		return 0;
	r = caps_set(&none); /* those of stacktop's own file */
	return r < 0 ? err_set(err, r, "cannot drop capabilities: %s", strerror(-r)) : 0;
}

/* Become WHO and keep, of the capabilities that are there, only those in KEEP, and these in force but for ASIDE. */
static int keep_as(const struct identity *who, uint64_t keep, uint64_t aside, struct err *err)
{
	struct caps caps;
	int r;

	/* First, while CAP_SETPCAP is still there. What is bounded counts at exec alone. */
	caps_bound(0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "cannot keep capabilities: %s", strerror(errno));
	r = change_user(who, err);
	if (r < 0)
		return r;
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r = caps_get(&caps);
	if (r < 0)
		return err_set(err, r, "cannot read capabilities: %s", strerror(-r));
	caps.permitted &= keep;
	caps.effective = caps.permitted & ~aside;
	caps.inheritable = 0;
	r = caps_set(&caps);
	if (r < 0)
		return err_set(err, r, "cannot drop capabilities: %s", strerror(-r));
	return 0;
}

/*
 * Kernels of Debian and Ubuntu know levels of kernel.perf_event_paranoid above those of Linux, which are their default:
 * there perf_event_open(2) wants CAP_SYS_ADMIN, and CAP_PERFMON is not enough.
 */
static bool events_need_admin(void)
{
	return sysctl_read(PARANOID_PATH, 0) > PARANOID_LINUX_MAX;
}

int identity_keep_broker(const struct identity *who, struct err *err)
{
	uint64_t keep = broker_caps, aside = 0;

	/* Before Linux 5.8 the rights of CAP_PERFMON, and of CHECKPOINT_RESTORE, were part of CAP_SYS_ADMIN. */
	if (prctl(PR_CAPBSET_READ, CAP_PERFMON, 0, 0, 0) < 0)
		keep |= CAP_BIT(CAP_SYS_ADMIN);
	else if (events_need_admin())
		keep |= aside = CAP_BIT(CAP_SYS_ADMIN);
	return keep_as(who, keep, aside, err);
}

bool identity_take_admin(void)
{
	struct caps caps;

	if (caps_get(&caps) < 0 || !(caps.permitted & ~caps.effective & CAP_BIT(CAP_SYS_ADMIN)))
		return false;
	caps.effective |= CAP_BIT(CAP_SYS_ADMIN);
	return caps_set(&caps) == 0;
}

void identity_leave_admin(void)
{
	struct caps caps;

	if (caps_get(&caps) < 0)
		return;
	caps.effective &= ~CAP_BIT(CAP_SYS_ADMIN);
	caps_set(&caps);
}

int identity_keep_reader(const struct identity *who, struct err *err)
{
	uint64_t keep = 0;

	/* Only root's rights are kept: a recording is the caller's own matter. */
	if (who->was_root)
		keep |= CAP_BIT(CAP_SYSLOG);
	if (who->was_root && !who->by_sudo)
		keep |= CAP_BIT(CAP_DAC_READ_SEARCH);
	return keep_as(who, keep, 0, err);
}

int identity_files_as(const struct identity *who)
{
	struct caps caps;
	int r = caps_get(&caps);

	if (r < 0)
		return r;
	if (geteuid() != who->uid || getegid() != who->gid)
		return -EPERM;
	caps.effective &= ~over_files;
	return caps_set(&caps);
}

void identity_files_as_self(void)
{
	struct caps caps;

	if (caps_get(&caps) < 0)
		return;
	caps.effective |= caps.permitted & over_files;
	caps_set(&caps);
}

bool identity_has_ipc_lock(void)
{
	struct caps caps;

	return caps_get(&caps) == 0 && caps.effective & CAP_BIT(CAP_IPC_LOCK);
}
