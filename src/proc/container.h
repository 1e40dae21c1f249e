/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose a process is: the container or systemd unit that its control groups tell of. Parses the text
 * of /proc/PID/cgroup (cgroups(7)), whose paths are chosen by who made the groups; opens nothing.
 */
#ifndef ST_PROC_CONTAINER_H
#define ST_PROC_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_NAME_MAX 64
#define CONTAINER_PATH_MAX 512 /* with its NUL; of a longer path the outer part */

struct container {
	/*
	 * Sanitized: "docker:3f2a91c0de11" (also podman, k8s, containerd, crio, lxc, machine), the unit
	 * "nginx.service" ("uid1000:foo.service": of that user's manager), a slice, or of a group
	 * that nobody named the path itself
	 */
	char name[CONTAINER_NAME_MAX];
	char path[CONTAINER_PATH_MAX]; /* its group, raw, absolute: "/system.slice/nginx.service" */
	char cpu_path[CONTAINER_PATH_MAX]; /* the same where the cpu controller is */
	bool is_cpu_v1;			   /* which is then in its own hierarchy */
};

/* The container of the process whose cgroup file is TEXT. False: the root group, or no such text. */
bool container_of_text(const char *text, size_t len, struct container *ret);
/* That of the control group PATH; where its cpu controller is, is not known. False: the root group. */
bool container_of_path(const char *path, struct container *ret);

#endif
