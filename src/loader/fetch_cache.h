/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the fetcher keeps what it downloads. Knows nothing of servers. */
#ifndef ST_LOADER_FETCH_CACHE_H
#define ST_LOADER_FETCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A directory of this user's own, mode 0700: $XDG_CACHE_HOME/stacktop or
 * ~/.cache/stacktop, kept from run to run. For a user without a home (nobody, as whom
 * root's work is done) one in /tmp, which is removed after the end of this
 * process, however that comes: a child sees to it, which holds SOCK (the only
 * connection of this process) no longer.
 * False: there is no place.
 */
bool fetch_cache_open(char *path, size_t size, int sock);

/*
 * Take the note "there is none" of BUILD_ID out of the cache: an error and a
 * cancelled download leave it, too.
 */
void fetch_cache_forget(const char *path, const uint8_t *build_id, uint8_t build_id_bytes);

#endif
