/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers to ask: see fetcher.h. What a variable or a file says is not trusted as far as what was typed. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/loader/fetcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define URLS_DIR  "/etc/debuginfod"
#define SHOWN_MAX 128

static const char blanks[] = " \t\n";

/* A server that may learn which files run here: over TLS, or none but this host. */
static bool is_private(const char *url, size_t len)
{
	static const char *const allowed[] = {"https://", "http://127.0.0.1", "http://localhost",
					      "http://[::1]"};

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		size_t n = strlen(allowed[i]);

		if (len > n && strncmp(url, allowed[i], n) == 0 &&
		    (i == 0 || url[n] == ':' || url[n] == '/'))
			return true;
	}
	return false;
}

static bool is_http(const char *url, size_t len)
{
	return (len > 8 && strncmp(url, "https://", 8) == 0) ||
	       (len > 7 && strncmp(url, "http://", 7) == 0);
}

/* Append those of TEXT's words to URLS that IS_GOOD; the first other one, or NULL. */
static const char *add_words(char urls[FETCH_URLS_BYTES_MAX], const char *text,
			     bool (*is_good)(const char *url, size_t len))
{
	const char *bad = NULL;

	while (*(text += strspn(text, blanks))) {
		size_t len = strcspn(text, blanks), have = strlen(urls);

		if (is_good(text, len) && have + len + 2 < FETCH_URLS_BYTES_MAX)
			snprintf(urls + have, FETCH_URLS_BYTES_MAX - have, "%.*s ", (int)len, text);
		else if (!bad)
			bad = text;
		text += len;
	}
	return bad;
}

/* What the variable is set to for login shells. */
static void add_system(char urls[FETCH_URLS_BYTES_MAX])
{
	DIR *dir = opendir(URLS_DIR);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), text_len;
		AUTO_CLOSE int fd = -1;
		AUTO_FREE char *text = NULL;

		if (len < 5 || strcmp(entry->d_name + len - 5, ".urls") != 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && read_all(fd, FETCH_URLS_BYTES_MAX, &text, &text_len) == 0)
			add_words(urls, text, is_private);
	}
	if (dir)
		closedir(dir);
}

int fetch_urls(const char *asked, char urls[FETCH_URLS_BYTES_MAX], struct err *err)
{
	const char *environment = secure_getenv("DEBUGINFOD_URLS"), *bad;
	char shown[SHOWN_MAX];

	urls[0] = '\0';
	if (asked && asked[0]) {
		bad = add_words(urls, asked, is_http);
		if (bad) {
			text_sanitize(bad, strcspn(bad, blanks), shown, sizeof(shown));
			return err_set(err, -EINVAL,
				       "--debuginfod: '%s' is not a URL like "
				       "https://debuginfod.elfutils.org",
				       shown);
		}
	} else if (environment) {
		add_words(urls, environment, is_private);
	} else {
		add_system(urls);
	}
	if (urls[0])
		return 0;
	err_set(err, -ENOENT,
		"--debuginfod: no server is known: neither DEBUGINFOD_URLS nor " URLS_DIR
		" names one with https");
	err_hint(err, "write --debuginfod=URL");
	return -ENOENT;
}

void fetch_urls_hosts(const char *urls, char *out, size_t size)
{
	const char *first = urls + strspn(urls, blanks), *host = strstr(first, "://");
	const char *at;
	unsigned int nr = 0;
	size_t len;

	for (const char *p = first; *p; p += strspn(p, blanks)) {
		p += strcspn(p, blanks);
		nr++;
	}
	host = host ? host + 3 : first;
	len = strcspn(host, "/ \t\n");
	at = memrchr(host, '@', len); /* a password may stand before it */
	if (at) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	len = text_sanitize(host, len, out, size);
	if (nr > 1 && len < size)
		snprintf(out + len, size - len, " and %u more", nr - 1);
}
