/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libdebuginfod's habits that are worked around here (0.188): it retries a
 * silent server, so the retries are off; MAXSIZE is not held without a
 * Content-Length, so the progress function counts, with RLIMIT_FSIZE behind it;
 * an error or a cancelled download is remembered as "there is none" for ten
 * minutes, so the cache is our own and made to forget that; an HTML page with
 * status 200 is taken for a debug file, so what comes is looked at.
 */
#include "config.h"

#include "src/loader/fetcher.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/loader/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_DEBUGINFOD
#include <elfutils/debuginfod.h>
#endif

#define FETCHER_VERSION 0x73746631u

struct fetcher_message {
	uint32_t version;
	int32_t status;
	uint64_t tag;
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	uint8_t pad[3];
};
_Static_assert(sizeof(struct fetcher_message) == 40, "message has padding");

int fetcher_ask(int sock, uint64_t tag, const uint8_t *build_id, uint8_t build_id_bytes)
{
	struct fetcher_message message = {
		.version = FETCHER_VERSION,
		.tag = tag,
		.build_id_bytes = build_id_bytes,
	};

	if (build_id_bytes == 0 || build_id_bytes > sizeof(message.build_id))
		return -EINVAL;
	memcpy(message.build_id, build_id, build_id_bytes);
	return msg_send(sock, &message, sizeof(message), -1, MSG_DONTWAIT);
}

int fetcher_next(int sock, struct fetcher_reply *ret)
{
	struct fetcher_message message;
	int fd = -1;
	ssize_t n = msg_recv(sock, &message, sizeof(message), &fd, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return 0;
	if (n != (ssize_t)sizeof(message) || message.version != FETCHER_VERSION ||
	    message.status > 0 || (message.status == 0) != (fd >= 0)) {
		if (fd >= 0)
			close(fd);
		return n < 0 ? (int)n : n == 0 ? -EPIPE : -EBADMSG;
	}
	*ret = (struct fetcher_reply){.tag = message.tag, .status = message.status, .fd = fd};
	return 1;
}

#ifdef HAVE_DEBUGINFOD

#define URLS_DIR       "/etc/debuginfod"
#define URLS_BYTES_MAX 4096
#define TIMEOUT_S      "10"  /* without 100 KB */
#define MAXTIME_S      "120" /* of a whole download */

/* A server that may learn which files run here: over TLS, or none but this host. */
static bool url_is_allowed(const char *url, size_t len)
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

/* Append the allowed ones of TEXT's words to URLS. */
static void urls_add(char urls[URLS_BYTES_MAX], const char *text)
{
	static const char blanks[] = " \t\n";

	while (*(text += strspn(text, blanks))) {
		size_t len = strcspn(text, blanks), have = strlen(urls);

		if (url_is_allowed(text, len) && have + len + 2 < URLS_BYTES_MAX)
			snprintf(urls + have, URLS_BYTES_MAX - have, "%.*s ", (int)len, text);
		text += len;
	}
}

/* sudo drops DEBUGINFOD_URLS, so the files that set it for login shells are read here. */
static void urls_add_system(char urls[URLS_BYTES_MAX])
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
		if (fd >= 0 && read_all(fd, URLS_BYTES_MAX, &text, &text_len) == 0)
			urls_add(urls, text);
	}
	if (dir)
		closedir(dir);
}

static bool urls_set(void)
{
	const char *own = secure_getenv("DEBUGINFOD_URLS");
	char urls[URLS_BYTES_MAX] = "";

	if (own)
		urls_add(urls, own);
	else
		urls_add_system(urls);
	return urls[0] && setenv("DEBUGINFOD_URLS", urls, 1) == 0;
}

/* ~/.cache/stacktop of the user that we run as. */
static bool cache_set(void)
{
	const char *base = secure_getenv("XDG_CACHE_HOME");
	const struct passwd *user = base && base[0] == '/' ? NULL : getpwuid(getuid());
	char path[4096];
	int n;

	if (base && base[0] == '/')
		n = snprintf(path, sizeof(path), "%s", base);
	else
		n = snprintf(path, sizeof(path), "%s/.cache", user ? user->pw_dir : "/nonexistent");
	if (n < 0 || (size_t)n + sizeof("/stacktop") > sizeof(path))
		return false;
	mkdir(path, 0700);
	memcpy(path + n, "/stacktop", sizeof("/stacktop"));
	if ((mkdir(path, 0700) < 0 && errno != EEXIST) || access(path, W_OK) < 0)
		return false;
	return setenv("DEBUGINFOD_CACHE_PATH", path, 1) == 0;
}

static bool process_confine(void)
{
	struct rlimit core = {0, 0}, file = {FETCHER_BYTES_MAX, FETCHER_BYTES_MAX};

	signal(SIGXFSZ, SIG_IGN); /* then writing fails, and the download with it */
	signal(SIGPIPE, SIG_IGN);
	return setrlimit(RLIMIT_CORE, &core) == 0 && setrlimit(RLIMIT_FSIZE, &file) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

static bool environment_set(void)
{
	char max[32];

	snprintf(max, sizeof(max), "%llu", FETCHER_BYTES_MAX);
	unsetenv("DEBUGINFOD_VERBOSE");
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_HEADERS_FILE");
	return setenv("DEBUGINFOD_RETRY_LIMIT", "0", 1) == 0 &&
	       setenv("DEBUGINFOD_TIMEOUT", TIMEOUT_S, 1) == 0 &&
	       setenv("DEBUGINFOD_MAXTIME", MAXTIME_S, 1) == 0 &&
	       setenv("DEBUGINFOD_MAXSIZE", max, 1) == 0 && urls_set() && cache_set();
}

/* Called a few times per second: stop when it is too much, or when nobody wants it any more. */
static int progress(debuginfod_client *client, long done, long total)
{
	const int *sock = debuginfod_get_user_data(client);
	struct pollfd poller = {.fd = *sock};

	if (done > 0 && (uint64_t)done > FETCHER_BYTES_MAX)
		return 1;
	(void)total; /* MAXSIZE looks at that, and says so in its error */
	return poll(&poller, 1, 0) > 0 && (poller.revents & (POLLHUP | POLLERR));
}

/* Is FD an ELF file with this build-id? */
static bool is_wanted_file(int fd, const struct fetcher_message *request)
{
	struct elf_file file;
	bool is_wanted;

	if (elf_file_open(fd, &file) < 0)
		return false;
	is_wanted = file.build_id_bytes == request->build_id_bytes &&
		    memcmp(file.build_id, request->build_id, request->build_id_bytes) == 0;
	elf_file_close(&file);
	return is_wanted;
}

/* Take the note "there is none" out of the cache: an error and a cancelled download leave it, too. */
static void failure_forget(const struct fetcher_message *request)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH");
	char path[4200];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/", cache);

	for (int i = 0; i < request->build_id_bytes && (size_t)n < sizeof(path); i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", request->build_id[i]);
	if ((size_t)n < sizeof(path))
		n += snprintf(path + n, sizeof(path) - (size_t)n, "/debuginfo");
	if ((size_t)n < sizeof(path) && lstat(path, &st) == 0 && st.st_size == 0)
		unlink(path);
}

/* The debug file, or -errno. */
static int fetch(debuginfod_client *client, const struct fetcher_message *request)
{
	AUTO_FREE char *path = NULL;
	int fd = debuginfod_find_debuginfo(client, request->build_id, request->build_id_bytes,
					   &path);

	if (fd < 0) {
		failure_forget(request);
		return fd;
	}
	if (is_wanted_file(fd, request))
		return fd;
	/* Or it would be found in the cache the next time. */
	if (path)
		unlink(path);
	close(fd);
	return -EBADMSG;
}

static int serve(int sock, debuginfod_client *client)
{
	for (;;) {
		struct fetcher_message message;
		int fd = -1, r = -ENOSYS;
		ssize_t n = msg_recv(sock, &message, sizeof(message), &fd, 0);

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			return 0;
		if (n != (ssize_t)sizeof(message) || message.version != FETCHER_VERSION ||
		    message.build_id_bytes == 0 ||
		    message.build_id_bytes > sizeof(message.build_id))
			return 1;
		if (client)
			r = fetch(client, &message);
		message.status = r < 0 ? r : 0;
		n = msg_send(sock, &message, sizeof(message), r, 0);
		if (r >= 0)
			close(r);
		if (n < 0)
			return 0;
	}
}

int fetcher_main(int sock)
{
	debuginfod_client *client = NULL;
	int status;

	if (!process_confine())
		return 1;
	if (environment_set())
		client = debuginfod_begin();
	if (client) {
		debuginfod_set_progressfn(client, progress);
		debuginfod_set_user_data(client, &sock);
	}
	status = serve(sock, client);
	if (client)
		debuginfod_end(client);
	return status;
}

#else

int fetcher_main(int sock)
{
	struct fetcher_message message;
	int fd = -1;

	while (msg_recv(sock, &message, sizeof(message), &fd, 0) == (ssize_t)sizeof(message)) {
		if (fd >= 0)
			close(fd);
		message.status = -ENOSYS;
		if (msg_send(sock, &message, sizeof(message), -1, 0) < 0)
			break;
	}
	return 0;
}

#endif
