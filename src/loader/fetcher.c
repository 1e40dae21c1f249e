/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libdebuginfod's habits that are worked around here (0.188): it retries a
 * silent server, so the retries are off; MAXSIZE is not held without a
 * Content-Length, so the progress function counts, and RLIMIT_FSIZE is a second bound;
 * a server may send it from one place to another for ever, so that is given up; a server that fails
 * looks like one that does not have the file, so that what the library writes for people is read;
 * an error or a cancelled download is remembered as "there is none" for ten
 * minutes, so the cache is our own and made to forget that; an HTML page with
 * status 200 is taken for a debug file, so what comes is looked at. And it
 * brings thirty other libraries along, which start up wherever it is linked (7 ms
 * and 1 MB of each process): only this process loads it.
 */
#include "config.h"

#include "src/loader/fetcher.h"

#include "src/base/cleanup.h"
#include "src/base/confine.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/loader/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef HAVE_DEBUGINFOD
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <poll.h>
#endif

#define TREE_FDS_MAX	8
#define FETCHER_VERSION 0x73746633u

struct fetcher_message {
	uint32_t version;
	int32_t status;
	uint64_t tag;
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	uint8_t pad[3];
	uint64_t cpu_ns, rss_bytes, done_bytes, total_bytes;
	char source[FETCHER_PATH_BYTES_MAX]; /* the path of source text; "": the debug file */
};
_Static_assert(sizeof(struct fetcher_message) == 72 + FETCHER_PATH_BYTES_MAX,
	       "message has padding");

static int ask(int sock, uint64_t tag, const uint8_t *build_id, uint8_t build_id_bytes,
	       const char *path)
{
	struct fetcher_message message = {
		.version = FETCHER_VERSION,
		.tag = tag,
		.build_id_bytes = build_id_bytes,
	};

	if (build_id_bytes == 0 || build_id_bytes > sizeof(message.build_id) ||
	    strlen(path) >= sizeof(message.source))
		return -EINVAL;
	memcpy(message.build_id, build_id, build_id_bytes);
	strcpy(message.source, path);
	return msg_send(sock, &message, sizeof(message), -1, MSG_DONTWAIT);
}

int fetcher_ask(int sock, uint64_t tag, const uint8_t *build_id, uint8_t build_id_bytes)
{
	return ask(sock, tag, build_id, build_id_bytes, "");
}

int fetcher_ask_source(int sock, uint64_t tag, const uint8_t *build_id, uint8_t build_id_bytes,
		       const char *path)
{
	return path[0] == '/' ? ask(sock, tag, build_id, build_id_bytes, path) : -EINVAL;
}

/* A message without a build-id asks for nothing, but a download ends when one comes. */
void fetcher_cancel(int sock)
{
	struct fetcher_message message = {.version = FETCHER_VERSION};

	msg_send(sock, &message, sizeof(message), -1, MSG_DONTWAIT);
}

int fetcher_next(int sock, struct fetcher_reply *ret)
{
	struct fetcher_message message;
	AUTO_CLOSE int fd = -1;
	ssize_t n = msg_recv(sock, &message, sizeof(message), &fd, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return 0;
	if (n != (ssize_t)sizeof(message) || message.version != FETCHER_VERSION ||
	    message.status > 0 || (message.status == 0) != (fd >= 0))
		return n < 0 ? (int)n : n == 0 ? -EPIPE : -EBADMSG;
	*ret = (struct fetcher_reply){
		.tag = message.tag,
		.status = message.status,
		.fd = steal_fd(&fd),
		.cpu_ns = message.cpu_ns,
		.rss_bytes = message.rss_bytes,
		.done_bytes = message.done_bytes,
		.total_bytes = message.total_bytes,
	};
	return 1;
}

/* Only this user may put files there. */
static bool is_own_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, W_OK | X_OK) == 0;
}

static bool cache_of_user(char *path, size_t size)
{
	const char *base = secure_getenv("XDG_CACHE_HOME");
	bool has_base = base && base[0] == '/';
	const struct passwd *user = has_base ? NULL : getpwuid(geteuid());
	int n;

	if (!has_base && !user)
		return false;
	n = snprintf(path, size, "%s%s", has_base ? base : user->pw_dir, has_base ? "" : "/.cache");
	if (n < 0 || (size_t)n + sizeof("/stacktop") > size)
		return false;
	mkdir(path, 0700);
	memcpy(path + n, "/stacktop", sizeof("/stacktop"));
	mkdir(path, 0700);
	return is_own_directory(path);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 && errno != ENOENT ? 1 : 0;
}

/* Remove PATH when the other end of LIFE is gone. Outlives the process by that alone. */
static void tidy_later(const char *path, int life)
{
	char byte;

	prctl(PR_SET_NAME, "stacktop-tidy");
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	nftw(path, remove_entry, TREE_FDS_MAX, FTW_DEPTH | FTW_PHYS);
}

static bool cache_of_process(char *path, size_t size, int sock)
{
	int life[2];
	pid_t pid;

	if ((size_t)snprintf(path, size, "/tmp/stacktop-debuginfod.XXXXXX") >= size ||
	    !mkdtemp(path))
		return false;
	pid = pipe(life) < 0 ? -1 : fork();
	if (pid < 0) {
		rmdir(path);
		return false;
	}
	if (pid == 0) {
		close(sock);
		close(life[1]);
		tidy_later(path, life[0]);
		_exit(0);
	}
	close(life[0]); /* the other end stays open as long as this process is there */
	return true;
}

bool fetch_cache_open(char *path, size_t size, int sock)
{
	return cache_of_user(path, size) || cache_of_process(path, size, sock);
}

#ifdef HAVE_DEBUGINFOD

#define TIMEOUT_S "10"		    /* without 100 KB */
#define BEGIN_NS  (10 * NS_PER_SEC) /* until a server sends the file */
#define MAXTIME_S "120"		    /* of a whole download */
#define TELL_NS	  (NS_PER_SEC / 5)
#define LOG_BYTES 16384 /* the end of what the library writes, with the answers of servers */

/* What is used of libdebuginfod. */
struct library {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_find_debuginfo) *find_debuginfo;
	__typeof__(debuginfod_find_source) *find_source;
	__typeof__(debuginfod_set_progressfn) *set_progressfn;
	__typeof__(debuginfod_set_user_data) *set_user_data;
	__typeof__(debuginfod_get_user_data) *get_user_data;
	__typeof__(debuginfod_get_url) *get_url;
	__typeof__(debuginfod_set_verbose_fd) *set_verbose_fd;
	__typeof__(debuginfod_end) *end;
};

static struct library library; /* the progress function gets no other context */

static bool library_load(void)
{
	const struct {
		const char *name;
		void *at;
	} functions[] = {
		{"debuginfod_begin", &library.begin},
		{"debuginfod_find_debuginfo", &library.find_debuginfo},
		{"debuginfod_find_source", &library.find_source},
		{"debuginfod_set_progressfn", &library.set_progressfn},
		{"debuginfod_set_user_data", &library.set_user_data},
		{"debuginfod_get_user_data", &library.get_user_data},
		{"debuginfod_get_url", &library.get_url},
		{"debuginfod_set_verbose_fd", &library.set_verbose_fd},
		{"debuginfod_end", &library.end},
	};
	void *handle = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *function = handle ? dlsym(handle, functions[i].name) : NULL;

		if (!function)
			return false;
		memcpy(functions[i].at, &function, sizeof(function));
	}
	return true;
}

static bool process_confine(void)
{
	struct rlimit core = {0, 0}, file = {FETCHER_BYTES_MAX, FETCHER_BYTES_MAX};

	signal(SIGXFSZ, SIG_IGN); /* then writing fails, and the download with it */
	signal(SIGPIPE, SIG_IGN);
	return setrlimit(RLIMIT_CORE, &core) == 0 && setrlimit(RLIMIT_FSIZE, &file) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
	       prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

static bool environment_set(const char *cache)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char max[32];

	snprintf(max, sizeof(max), "%llu", FETCHER_BYTES_MAX);
	unsetenv("DEBUGINFOD_VERBOSE");
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_HEADERS_FILE");
	return setenv("DEBUGINFOD_RETRY_LIMIT", "0", 1) == 0 &&
	       setenv("DEBUGINFOD_TIMEOUT", TIMEOUT_S, 1) == 0 &&
	       setenv("DEBUGINFOD_MAXTIME", MAXTIME_S, 1) == 0 &&
	       setenv("DEBUGINFOD_MAXSIZE", max, 1) == 0 &&
	       setenv("DEBUGINFOD_CACHE_PATH", cache, 1) == 0 && urls && urls[0];
}

struct download {
	int sock, log; /* LOG: a memory file, or -1 */
	uint64_t tag;
	uint64_t bytes_max;
	uint64_t began_ns;
	uint64_t told_ns; /* when the engine was told how far it is */
	int stop;	  /* why it is given up, -errno, or 0 */
};

static void account(struct fetcher_message *message)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return;
	message->cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	message->rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

static bool has_room(void)
{
	struct statvfs fs;

	return statvfs(getenv("DEBUGINFOD_CACHE_PATH"), &fs) < 0 ||
	       (uint64_t)fs.f_bavail * fs.f_frsize >= FETCHER_FREE_MIN;
}

static void tell(struct download *download, uint64_t done_bytes, uint64_t total_bytes)
{
	struct fetcher_message message = {
		.version = FETCHER_VERSION,
		.tag = download->tag,
		.status = -EINPROGRESS,
		.done_bytes = done_bytes,
		.total_bytes = total_bytes,
	};

	account(&message);
	msg_send(download->sock, &message, sizeof(message), -1, MSG_DONTWAIT);
}

/*
 * Called a few times per second, and more often with a fast server: tell how much there is, or give it up. Until
 * a server sends the file, DONE is no number of bytes; TOTAL was compared with MAXSIZE.
 */
static int progress(debuginfod_client *client, long done, long total)
{
	struct download *download = library.get_user_data(client);
	struct pollfd poller = {.fd = download->sock, .events = POLLIN};
	bool has_begun = library.get_url(client) != NULL;
	uint64_t done_bytes = has_begun && done > 0 ? (uint64_t)done : 0, time_ns = now_ns();
	bool is_due = time_ns - download->told_ns >= TELL_NS;

	if (poll(&poller, 1, 0) > 0) /* nothing but a cancellation comes meanwhile, or the end */
		download->stop = -ECANCELED;
	else if (done_bytes > download->bytes_max)
		download->stop = -EFBIG;
	else if (!has_begun && time_ns - download->began_ns > BEGIN_NS)
		download->stop = -ETIME;
	else if (is_due && !has_room())
		download->stop = -ENOSPC;
	if (download->stop == 0 && is_due) {
		download->told_ns = time_ns;
		tell(download, done_bytes, has_begun && total > 0 ? (uint64_t)total : 0);
	}
	return download->stop != 0;
}

/*
 * Take the notes "there is none" of BUILD_ID out of the cache, which are empty files: an error and a
 * cancelled download leave them, too.
 */
static void cache_forget(const char *cache, const uint8_t *build_id, uint8_t build_id_bytes)
{
	char path[4200];
	int n = snprintf(path, sizeof(path), "%s/", cache);
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	for (int i = 0; i < build_id_bytes && (size_t)n < sizeof(path); i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", build_id[i]);
	dir = (size_t)n < sizeof(path) ? opendir(path) : NULL;
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

/* Source text has no zero bytes, and is no page that asks who is there. */
static bool is_source(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	size_t at = 0;

	while (n > 0 && at < (size_t)n && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return n > 0 && !memchr(text, 0, (size_t)n) && (at == (size_t)n || text[at] != '<');
}

/* Is FD an ELF file with this build-id, or the text that was asked for? */
static bool is_wanted_file(int fd, const struct fetcher_message *request)
{
	struct elf_file file;
	bool is_wanted;

	if (request->source[0])
		return is_source(fd);
	if (elf_file_open(fd, &file) < 0)
		return false;
	is_wanted = file.build_id_bytes == request->build_id_bytes &&
		    memcmp(file.build_id, request->build_id, request->build_id_bytes) == 0;
	elf_file_close(&file);
	return is_wanted;
}

static void log_clear(int log)
{
	if (log >= 0 && ftruncate(log, 0) == 0)
		lseek(log, 0, SEEK_SET);
}

/* Has no server said that it does not have the file? Lines of the log: "url 0 The requested URL returned error: 500". */
static bool all_failed(int log)
{
	static const char not_there[] = "returned error: 404";
	char text[LOG_BYTES];
	struct stat st;
	ssize_t n;

	if (log < 0 || fstat(log, &st) < 0)
		return false;
	n = pread(log, text, sizeof(text), MAX(st.st_size - (off_t)sizeof(text), 0));
	return n > 0 && !memmem(text, (size_t)n, not_there, strlen(not_there));
}

/* The debug file, or -errno. */
static int fetch(debuginfod_client *client, const struct fetcher_message *request, int log)
{
	AUTO_FREE char *path = NULL;
	int fd;

	log_clear(log);
	fd = request->source[0]
		     ? library.find_source(client, request->build_id, request->build_id_bytes,
					   request->source, &path)
		     : library.find_debuginfo(client, request->build_id, request->build_id_bytes,
					      &path);
	if (fd < 0) {
		cache_forget(getenv("DEBUGINFOD_CACHE_PATH"), request->build_id,
			     request->build_id_bytes);
		return fd == -ENOENT && all_failed(log) ? -EREMOTEIO : fd;
	}
	/* What has just come was written through the same descriptor. */
	if (is_wanted_file(fd, request) && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	/* Or it would be found in the cache the next time. */
	if (path)
		unlink(path);
	close(fd);
	return -EBADMSG;
}

static int serve(struct download *download, debuginfod_client *client)
{
	for (;;) {
		struct fetcher_message message;
		int fd = -1, r = -ENOSYS;
		ssize_t n = msg_recv(download->sock, &message, sizeof(message), &fd, 0);

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			return 0;
		if (n != (ssize_t)sizeof(message) || message.version != FETCHER_VERSION ||
		    message.build_id_bytes > sizeof(message.build_id) ||
		    !memchr(message.source, 0, sizeof(message.source)))
			return 1;
		if (message.build_id_bytes == 0) /* the cancellation of what was there already */
			continue;
		*download = (struct download){
			.sock = download->sock,
			.log = download->log,
			.tag = message.tag,
			.bytes_max =
				message.source[0] ? FETCHER_SOURCE_BYTES_MAX : FETCHER_BYTES_MAX,
			.began_ns = now_ns(),
		};
		if (client)
			r = fetch(client, &message, download->log);
		if (r < 0 && download->stop)
			r = download->stop;
		message.status = r < 0 ? r : 0;
		account(&message);
		n = msg_send(download->sock, &message, sizeof(message), r, 0);
		if (r >= 0)
			close(r);
		if (n < 0)
			return 0;
	}
}

/*
 * What comes from the network is looked at here, by libcurl and by libelf: nothing of the
 * user's is in reach but the cache. What libraries read as they work: certificates, names of
 * hosts and their own settings and modules.
 */
static bool enter_sandbox(const char *cache)
{
	static const char *const readable[] = {
		"/etc",	     "/usr",	     "/lib",	   "/lib64",
		"/bin",	     "/run",	     "/var/run",   "/nix/store",
		"/dev/null", "/dev/urandom", "/proc/self", "/var/lib/ca-certificates",
		NULL,
	};
	int r = confine_files(readable, cache);

	if (r < 0 && r != -ENOSYS && r != -EOPNOTSUPP)
		return false;
	return confine_calls(true) == 0;
}

int fetcher_main(int sock)
{
	struct download download = {.sock = sock, .log = -1};
	debuginfod_client *client = NULL;
	char cache[4096];
	int status;

	if (!process_confine())
		return 1;
	if (fetch_cache_open(cache, sizeof(cache), sock) && environment_set(cache) &&
	    library_load())
		client = library.begin();
	if (client)
		download.log = memfd_create("fetcher", MFD_CLOEXEC);
	if (client && !enter_sandbox(cache))
		return 1;
	if (client) {
		if (download.log >= 0)
			library.set_verbose_fd(client, download.log);
		library.set_progressfn(client, progress);
		library.set_user_data(client, &download);
	}
	status = serve(&download, client);
	if (client)
		library.end(client);
	cleanup_close(&download.log);
	return status;
}

#else

int fetcher_main(int sock)
{
	(void)sock;
	return 1; /* options_parse refuses what would lead here */
}

#endif
