/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of users, of /etc/passwd alone: a directory service could take seconds to answer, and the engine waits
 * for nobody. Whose name is not there is called by the number, as are the users of containers.
 */
#ifndef ST_ENGINE_USERS_H
#define ST_ENGINE_USERS_H

#include "src/model/snapshot.h"

#include <stdint.h>

struct users;

/* PATH: where the names are; borrowed. NULL: no memory. */
struct users *users_new(const char *path);
struct users *users_free(struct users *users);
/*
 * The name of user UID, sanitized, or NULL. At TIME_NS the file is read if it has not been for ten seconds and the
 * name is not known. Valid until the next call.
 */
const char *users_name(struct users *users, uint32_t uid, uint64_t time_ns);
/* Give PROCESS the user UID (plus 1; 0: not known), by name where there is one. */
void users_fill(struct users *users, uint32_t user, uint64_t time_ns, struct snap_process *process);

#endif
