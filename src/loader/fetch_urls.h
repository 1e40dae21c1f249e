/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which debuginfod servers are asked: a question of who may learn what runs here. Opens no connection. */
#ifndef ST_LOADER_FETCH_URLS_H
#define ST_LOADER_FETCH_URLS_H

#include "src/base/err.h"

#include <stddef.h>

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
