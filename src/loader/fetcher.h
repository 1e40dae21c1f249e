/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fetcher process asks debuginfod servers for debug files, one at a time,
 * as slowly as networks are. It has the network and a cache directory of its
 * user, no privilege, and no other process waits for it: kill it to cancel.
 *
 * What leaves this machine is the build-id, and of source the path. Who is asked stands in the variable
 * DEBUGINFOD_URLS of the process (fetch_urls.c).
 */
#ifndef ST_LOADER_FETCHER_H
#define ST_LOADER_FETCHER_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FETCHER_BYTES_MAX	 (1ull << 30)	/* of one debug file */
#define FETCHER_SOURCE_BYTES_MAX (8ull << 20)	/* of a file of source text */
#define FETCHER_PATH_BYTES_MAX	 1024u		/* of its path, with its NUL */
#define FETCHER_FREE_MIN	 (256ull << 20) /* bytes that others are left on the disk */

/*
 * Serve requests on SOCK (SOCK_SEQPACKET) until its end. Runs in a process of
 * its own that has already changed its user and dropped its capabilities.
 * Returns an exit status. Answers -ENOSYS to everything when there is no server,
 * no place for a cache or no libdebuginfod on this machine.
 */
int fetcher_main(int sock);

struct fetcher_reply {
	uint64_t tag;
	/*
	 * 0 or -errno: -ENOENT no server has it, -EREMOTEIO they fail, -ETIME too slow, -EFBIG, -ENOSPC the disk is full, -EBADMSG
	 * not that file, -ECANCELED
	 */
	int status;
	/* with -EINPROGRESS, which no one asked for: so much has come, of so much (0: not known) */
	uint64_t done_bytes, total_bytes;
	int fd; /* the file, owned by the receiver, or -1; a debug file is verified again by the loader */
	uint64_t cpu_ns, rss_bytes; /* of the fetcher so far */
};

/* Ask for the debug file of BUILD_ID; never blocks. 0 or -errno (-EAGAIN: later). */
int fetcher_ask(int sock, uint64_t tag, const uint8_t *build_id, uint8_t build_id_bytes);
/*
 * The same for the source text at PATH, as the debug information of BUILD_ID calls it; what comes is text of that server's.
 * -EINVAL: it is not absolute, or too long.
 */
int fetcher_ask_source(int sock, uint64_t tag, const uint8_t *build_id, uint8_t build_id_bytes,
		       const char *path);
/* Give up the file that is on its way: it is answered with -ECANCELED, unless it has come already. */
void fetcher_cancel(int sock);
/* The next answer, if there is one. 1, 0 (none for now) or -errno (the fetcher is gone or mad). */
int fetcher_next(int sock, struct fetcher_reply *ret);

/*
 * A directory of this user's own, mode 0700: $XDG_CACHE_HOME/stacktop or
 * ~/.cache/stacktop, kept from run to run. For a user without a home (nobody, as whom
 * root's work is done) one in /tmp, which is removed after the end of this
 * process, however that comes: a child sees to it, which holds SOCK (the only
 * connection of this process) no longer.
 * False: there is no place.
 */
bool fetch_cache_open(char *path, size_t size, int sock);

/* --- which servers are asked: a question of who may learn what runs here (fetch_urls.c) --- */

#define FETCH_URLS_BYTES_MAX 4096

/*
 * The servers as DEBUGINFOD_URLS takes them, separated by blanks, into
 * URLS. ASKED: as a person typed them, http and https; NULL or "": those of the
 * environment's DEBUGINFOD_URLS, else of the files /etc/debuginfod/NAME.urls (sudo
 * drops the variable), of which only https and this host itself count.
 * 0, -EINVAL (a word of ASKED is no URL) or -ENOENT (there is none), with ERR filled.
 */
int fetch_urls(const char *asked, char urls[FETCH_URLS_BYTES_MAX], struct err *err);

/* The hosts of URLS for people: "debuginfod.debian.net", "a.example and 2 more". Sanitized. */
void fetch_urls_hosts(const char *urls, char *out, size_t size);

#endif
