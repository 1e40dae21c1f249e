/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control groups by name: see cgroup.h. A hierarchy is walked once, its depth and its size are bounded. */
#include "config.h"

#include "src/cgroup.h"

#include "src/arguments.h"
#include "src/base/cleanup.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/proc/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX     32
#define GROUPS_MAX    65536u
#define MEMBERS_MAX   65536u
#define ID_DIGITS_MIN 4
#define SHOWN_MAX     3 /* of several that a word may mean */

/* --- walking --- */

/* A walk over all groups below one; VISIT gets each as the path of the file system, false ends it. */
struct walk {
	bool (*visit)(void *context, const char *path);
	void *context;
	uint32_t nr;
	char path[PATH_MAX];
};

static bool walk_below(struct walk *walk, size_t len, int depth)
{
	struct dirent *entry;
	bool goes_on = true;
	DIR *dir;

	if (walk->nr++ >= GROUPS_MAX || !walk->visit(walk->context, walk->path))
		return false;
	dir = depth < DEPTH_MAX ? opendir(walk->path) : NULL;
	while (dir && goes_on && (entry = readdir(dir)) != NULL) {
		size_t bytes = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    len + bytes + 2 > sizeof(walk->path))
			continue;
		walk->path[len] = '/';
		memcpy(walk->path + len + 1, entry->d_name, bytes + 1);
		goes_on = walk_below(walk, len + 1 + bytes, depth + 1);
		walk->path[len] = '\0';
	}
	if (dir)
		closedir(dir);
	return goes_on;
}

static void walk_groups(const char *top, bool (*visit)(void *context, const char *path),
			void *context)
{
	struct walk *walk = malloc(sizeof(*walk));

	if (!walk)
		return;
	walk->visit = visit;
	walk->context = context;
	walk->nr = 0;
	snprintf(walk->path, sizeof(walk->path), "%s", top);
	walk_below(walk, strlen(walk->path), 0);
	free(walk);
}

/* --- hierarchies --- */

static void add_root(struct cgroup_roots *roots, const char *path)
{
	if (roots->nr < CGROUP_ROOTS_MAX && strlen(path) < sizeof(roots->paths[0]))
		snprintf(roots->paths[roots->nr++], sizeof(roots->paths[0]), "%s", path);
}

static void note_root(struct cgroup_roots *roots, const char *controller, const char *path)
{
	char *out = !controller ? roots->v2 : strcmp(controller, "cpu") == 0 ? roots->v1_cpu : NULL;

	if (out && strlen(path) < sizeof(roots->v2))
		memcpy(out, path, strlen(path) + 1);
}

void cgroup_find_roots(struct cgroup_roots *ret)
{
	static const char *const controllers[] = {NULL, "perf_event", "cpu"};

	*ret = (struct cgroup_roots){0};
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		FILE *mounts = setmntent("/proc/self/mounts", "re");
		const struct mntent *mount;

		while (mounts && (mount = getmntent(mounts)) != NULL) {
			bool is_v2 = strcmp(mount->mnt_type, "cgroup2") == 0;
			bool is_v1 = strcmp(mount->mnt_type, "cgroup") == 0;

			if (controllers[i] ? is_v1 && hasmntopt(mount, controllers[i]) : is_v2) {
				add_root(ret, mount->mnt_dir);
				note_root(ret, controllers[i], mount->mnt_dir);
				break;
			}
		}
		if (mounts)
			endmntent(mounts);
	}
}

/* --- what a word means --- */

static bool is_id(const char *word)
{
	size_t len = strspn(word, "0123456789abcdef");

	return len >= ID_DIGITS_MIN && word[len] == '\0';
}

/* WORD names the container or unit whose group is PATH, of the file system; ROOT is the hierarchy's. */
static bool is_called(const char *root, const char *path, const char *word)
{
	char text[PATH_MAX + 8], unit[CONTAINER_NAME_MAX];
	const char *last = strrchr(path, '/'), *own;
	struct container container;
	int n = snprintf(text, sizeof(text), "0::%s\n", path + strlen(root));

	if (!container_of_text(text, (size_t)n, &container) ||
	    strcmp(container.path, path + strlen(root)) != 0)
		return false;
	own = strchr(container.name, ':');
	snprintf(unit, sizeof(unit), "%s.service", word);
	if (strcmp(container.name, word) == 0 || strcmp(container.name, unit) == 0 ||
	    (own && strcmp(own + 1, word) == 0))
		return true;
	if (!own || !is_id(word))
		return false;
	/* Some of an id's digits, or all of them: it stands at the end of the component. */
	last = strstr(last, own + 1);
	return last && strncmp(last, word, strlen(word)) == 0;
}

struct search {
	const char *root, *word;
	uint32_t nr;
	char found[PATH_MAX];
	char shown[256]; /* the first of several, as paths in the hierarchy */
};

static bool look_at(void *context, const char *path)
{
	struct search *search = context;
	char text[128];

	if (!is_called(search->root, path, search->word))
		return true;
	if (search->nr++ == 0)
		snprintf(search->found, sizeof(search->found), "%s", path);
	if (search->nr <= SHOWN_MAX) {
		const char *own = path + strlen(search->root);

		text_sanitize(own, strlen(own), text, sizeof(text));
		text_append(search->shown, sizeof(search->shown), "%s", text);
	}
	return true;
}

/* The path WORD, in a hierarchy or of the file system, into SEARCH. */
static void find_path(const struct cgroup_roots *roots, struct search *search)
{
	for (int i = 0; i < roots->nr && search->nr == 0; i++) {
		const char *root = roots->paths[i];
		bool is_below = strncmp(search->word, root, strlen(root)) == 0;
		char path[PATH_MAX];

		if (strstr(search->word, "/../") ||
		    snprintf(path, sizeof(path), "%s%s/cgroup.procs", is_below ? "" : root,
			     search->word) >= PATH_MAX)
			return;
		if (access(path, F_OK) < 0)
			continue;
		*strrchr(path, '/') = '\0';
		memcpy(search->found, path, sizeof(path));
		search->nr = 1;
	}
}

static int refuse(const struct cgroup_roots *roots, const struct search *search, struct err *err)
{
	char word[ARG_SHOWN_MAX];

	arg_shown(search->word, word, sizeof(word));
	if (roots->nr == 0)
		return err_set(err, -EINVAL, "--cgroup: no control groups are mounted here");
	if (search->nr > 1)
		err_set(err, -EINVAL, "--cgroup: '%s' is %u control groups: %s%s", word, search->nr,
			search->shown, search->nr > SHOWN_MAX ? " ..." : "");
	else
		err_set(err, -EINVAL, "--cgroup: no control group, container or systemd unit '%s'",
			word);
	if (search->nr > 1)
		err_hint(err, "give the path of one of them");
	else
		err_hint(err, "systemd-cgls lists them, or: find %s -type d", roots->paths[0]);
	return -EINVAL;
}

int cgroup_find(const struct cgroup_roots *roots, const char *word, struct cgroup *ret,
		struct err *err)
{
	AUTO_FREE struct search *search = calloc(1, sizeof(*search));

	*ret = (struct cgroup){.fd = -1};
	if (!search)
		return err_set(err, -ENOMEM, "out of memory");
	search->word = word;
	if (word[0] == '/')
		find_path(roots, search);
	for (int i = 0; word[0] != '/' && i < roots->nr && search->nr == 0; i++) {
		search->root = roots->paths[i];
		walk_groups(search->root, look_at, search);
	}
	if (search->nr != 1)
		return refuse(roots, search, err);
	memcpy(ret->path, search->found, sizeof(ret->path));
	text_sanitize(word, strlen(word), ret->name, sizeof(ret->name));
	ret->fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0)
		return err_set(err, -errno, "--cgroup: cannot open %s: %s", ret->name,
			       strerror(errno));
	return 0;
}

void cgroup_done(struct cgroup *cgroup)
{
	cleanup_close(&cgroup->fd);
}

/* --- members --- */

struct members {
	pid_t *pids;
	size_t nr, cap;
	int trouble;
};

static bool add_members(void *context, const char *path)
{
	struct members *members = context;
	char name[PATH_MAX + 16];
	FILE *file;
	int pid;

	snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	file = fopen(name, "re");
	while (file && members->trouble == 0 && fscanf(file, "%d", &pid) == 1) {
		if (pid <= 0) /* of another pid namespace */
			continue;
		members->trouble =
			vec_reserve(&members->pids, &members->cap, members->nr + 1, MEMBERS_MAX);
		if (members->trouble == 0)
			members->pids[members->nr++] = pid;
	}
	if (file)
		fclose(file);
	return members->trouble == 0;
}

int cgroup_members(const struct cgroup *cgroup, pid_t **ret_pids, uint32_t *ret_nr, struct err *err)
{
	struct members members = {0};

	walk_groups(cgroup->path, add_members, &members);
	if (members.trouble == 0 && members.nr == 0)
		members.trouble = -ESRCH;
	if (members.trouble < 0) {
		free(members.pids);
		return err_set(err, members.trouble, "--cgroup: %s: %s", cgroup->name,
			       members.trouble == -ESRCH ? "it has no process"
							 : "too many processes");
	}
	*ret_pids = members.pids;
	*ret_nr = (uint32_t)members.nr;
	return 0;
}
