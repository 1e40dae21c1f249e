/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of users: see users.h. */
#include "config.h"

#include "src/engine/users.h"

#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USERS_MAX 4096u /* of a longer file the others have numbers */
#define AGAIN_NS  (10 * NS_PER_SEC)

struct user {
	char name[sizeof(((struct snap_process *)0)->user_name)];
};

struct users {
	const char *path;
	uint64_t due_ns;      /* then it may be read again */
	struct u64map by_uid; /* -> its place in all */
	struct user *all;
	size_t nr, cap;
};

struct users *users_new(const char *path)
{
	struct users *users = calloc(1, sizeof(*users));

	if (users)
		users->path = path;
	return users;
}

struct users *users_free(struct users *users)
{
	if (!users)
		return NULL;
	u64map_done(&users->by_uid);
	free(users->all);
	free(users);
	return NULL;
}

/* Of two names of one user the first is what it is called by. Without memory it has none. */
static void add(struct users *users, const struct passwd *from)
{
	struct user *user;

	if (!from->pw_name[0] || u64map_get(&users->by_uid, from->pw_uid) != U64MAP_NONE ||
	    vec_reserve(&users->all, &users->cap, users->nr + 1, USERS_MAX) < 0 ||
	    u64map_set(&users->by_uid, from->pw_uid, (uint32_t)users->nr) < 0)
		return;
	user = &users->all[users->nr++];
	text_sanitize(from->pw_name, strlen(from->pw_name), user->name, sizeof(user->name));
}

static void read_all_names(struct users *users)
{
	const struct passwd *from;
	FILE *file = fopen(users->path, "re");

	u64map_done(&users->by_uid);
	users->nr = 0;
	if (!file)
		return;
	while (users->nr < USERS_MAX && (from = fgetpwent(file)))
		add(users, from);
	fclose(file);
}

const char *users_name(struct users *users, uint32_t uid, uint64_t time_ns)
{
	uint32_t at = u64map_get(&users->by_uid, uid);

	if (at == U64MAP_NONE && time_ns >= users->due_ns) {
		users->due_ns = time_ns + AGAIN_NS;
		read_all_names(users);
		at = u64map_get(&users->by_uid, uid);
	}
	return at == U64MAP_NONE ? NULL : users->all[at].name;
}

void users_fill(struct users *users, uint32_t user, uint64_t time_ns, struct snap_process *process)
{
	const char *name = user ? users_name(users, user - 1, time_ns) : NULL;

	process->user = user;
	process->user_name[0] = '\0';
	if (name)
		snprintf(process->user_name, sizeof(process->user_name), "%s", name);
	else if (user)
		snprintf(process->user_name, sizeof(process->user_name), "%" PRIu32, user - 1);
}
