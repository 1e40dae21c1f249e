/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fetcher against a server of our own that is good, lies, fails or is gone.
 * Nothing leaves this machine.
 */
#include "config.h"

#include "src/loader/fetcher.h"
#include "tests/loader_helpers.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

static const uint8_t wanted_id[20] = {0xab, 1,	2,  3,	4,  5,	6,  7,	8,  9,
				      10,   11, 12, 13, 14, 15, 16, 17, 18, 19};

enum server {
	SERVER_GOOD,
	SERVER_OTHER_FILE,
	SERVER_HTML,
	SERVER_TEXT,
	SERVER_ERROR,
	SERVER_EMPTY, /* it does not have it */
	SERVER_LONG,
	SERVER_DRIP,
	SERVER_RESET,
	SERVER_ASTRAY, /* to where nothing is to be fetched from */
	SERVER_CIRCLE, /* back to itself */
	SERVER_HANG,
	SERVER_ENDLESS,
	SERVER_DEAD
};

struct fixture {
	char *dir;
	pid_t server, fetcher;
	int listener, sock;
};

/* The smallest ELF file with a build-id: a header, one PT_NOTE, the note. */
static size_t elf_make(uint8_t *out, const uint8_t *build_id)
{
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	Elf64_Nhdr nhdr = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};
	Elf64_Phdr phdr = {
		.p_type = PT_NOTE,
		.p_offset = sizeof(ehdr) + sizeof(phdr),
		.p_filesz = sizeof(nhdr) + 4 + 20,
		.p_align = 4,
	};
	uint8_t *p = out;

	p = mempcpy(p, &ehdr, sizeof(ehdr));
	p = mempcpy(p, &phdr, sizeof(phdr));
	p = mempcpy(p, &nhdr, sizeof(nhdr));
	p = mempcpy(p, "GNU", 4);
	p = mempcpy(p, build_id, 20);
	return (size_t)(p - out);
}

static void serve_one(int conn, enum server kind)
{
	static const uint8_t other_id[20] = {0xcd};
	uint8_t body[512] = {0};
	char request[4096] = "", head[256];
	size_t len = 0;
	const char *status = "200 OK";

	if (read(conn, request, sizeof(request) - 1) <= 0)
		return;
	switch (kind) {
	case SERVER_GOOD:
		len = elf_make(body, wanted_id);
		break;
	case SERVER_OTHER_FILE:
		len = elf_make(body, other_id);
		break;
	case SERVER_HTML:
		len = (size_t)sprintf((char *)body, "<html>Please log in</html>");
		break;
	case SERVER_TEXT:
		if (strstr(request, "/source/usr/src/a%20b.c HTTP"))
			len = (size_t)sprintf((char *)body, "int main(void)\n");
		break;
	case SERVER_LONG:
	case SERVER_DRIP:
	case SERVER_ENDLESS:
		break;
	case SERVER_HANG:
		pause();
		break;
	case SERVER_CIRCLE:
		status = "302 Found\r\nLocation: /again";
		break;
	case SERVER_RESET:
		setsockopt(conn, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1},
			   sizeof(struct linger));
		return;
	case SERVER_ASTRAY:
		status = "302 Found\r\nLocation: file:///etc/passwd";
		break;
	case SERVER_EMPTY:
		status = "404 Not Found";
		break;
	case SERVER_ERROR:
	case SERVER_DEAD:
		status = "500 Internal Server Error";
		break;
	}
	if (kind == SERVER_ENDLESS)
		snprintf(head, sizeof(head), "HTTP/1.0 200 OK\r\n\r\n");
	else
		snprintf(head, sizeof(head), "HTTP/1.0 %s\r\nContent-Length: %llu\r\n\r\n", status,
			 kind == SERVER_LONG   ? 1ull << 40
			 : kind == SERVER_DRIP ? 1ull << 20
					       : (unsigned long long)len);
	write_all(conn, head, strlen(head));
	write_all(conn, body, len);
	while (kind == SERVER_DRIP && write_all(conn, body, 1) == 0)
		usleep(100000);
	while ((kind == SERVER_LONG || kind == SERVER_ENDLESS) &&
	       write_all(conn, body, sizeof(body)) == 0)
		;
}

static unsigned short server_start(struct fixture *f, enum server kind)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);

	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(f->listener >= 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&address, &len), 0);
	if (kind == SERVER_DEAD) /* nobody listens */
		return ntohs(address.sin_port);
	assert_int_equal(listen(f->listener, 8), 0);
	f->server = fork();
	if (f->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		for (;;) {
			int conn = accept(f->listener, NULL, NULL);

			serve_one(conn, kind);
			close(conn);
		}
	}
	return ntohs(address.sin_port);
}

static void fetcher_start(struct fixture *f, enum server kind)
{
	struct test_spawner spawner = {.main = fetcher_main};
	char url[256];

	if (!f->dir)
		f->dir = test_dir_new();
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", server_start(f, kind));
	assert_int_equal(setenv("XDG_CACHE_HOME", f->dir, 1), 0);
	assert_int_equal(setenv("DEBUGINFOD_URLS", url, 1), 0);
	test_start(&spawner, &f->sock, &f->fetcher);
}

static void fixture_stop(struct fixture *f)
{
	int status;

	/* The end of the connection is the end of the fetcher. */
	close(f->sock);
	assert_int_equal(waitpid(f->fetcher, &status, 0), f->fetcher);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	if (f->server > 0) {
		kill(f->server, SIGKILL);
		waitpid(f->server, NULL, 0);
	}
	close(f->listener);
	test_run("rm -rf %s", f->dir);
	free(f->dir);
}

static struct fetcher_reply outcome(struct fixture *f, uint64_t tag)
{
	struct pollfd poller = {.fd = f->sock, .events = POLLIN};
	struct fetcher_reply reply;

	do {
		assert_int_equal(poll(&poller, 1, PATIENCE_NS / NS_PER_MSEC), 1);
		assert_int_equal(fetcher_next(f->sock, &reply), 1);
		assert_true(reply.tag == tag);
	} while (reply.status == -EINPROGRESS);
	return reply;
}

static struct fetcher_reply fetch(struct fixture *f, uint64_t tag)
{
	assert_int_equal(fetcher_ask(f->sock, tag, wanted_id, sizeof(wanted_id)), 0);
	return outcome(f, tag);
}

static void assert_fetched(enum server kind, int status)
{
	struct fixture f = {0};
	struct fetcher_reply reply;

	fetcher_start(&f, kind);
	for (uint64_t tag = 7; tag < 9; tag++) { /* the second time maybe from the cache */
		reply = fetch(&f, tag);
		assert_int_equal(reply.status, status);
		assert_int_equal(reply.fd >= 0, status == 0);
		if (reply.fd >= 0)
			close(reply.fd);
	}
	fixture_stop(&f);
}

static void a_good_file_is_handed_over(void **state)
{
	(void)state;
	assert_fetched(SERVER_GOOD, 0);
}

static void a_wrong_file_is_refused(void **state)
{
	(void)state;
	assert_fetched(SERVER_OTHER_FILE, -EBADMSG);
	assert_fetched(SERVER_HTML, -EBADMSG);
}

static struct fetcher_reply fetch_source(enum server kind, char *out, size_t size)
{
	struct fixture f = {0};
	struct fetcher_reply reply;

	fetcher_start(&f, kind);
	assert_int_equal(fetcher_ask_source(f.sock, 7, wanted_id, sizeof(wanted_id), "a.c"),
			 -EINVAL);
	assert_int_equal(
		fetcher_ask_source(f.sock, 7, wanted_id, sizeof(wanted_id), "/usr/src/a b.c"), 0);
	reply = outcome(&f, 7);
	if (reply.fd >= 0) {
		assert_true(read(reply.fd, out, size) > 0);
		close(reply.fd);
	}
	fixture_stop(&f);
	return reply;
}

/* By its path; what is no text, or asks who is there, or has no end is none. */
static void source_is_handed_over(void **state)
{
	char text[64] = "";

	(void)state;
	assert_int_equal(fetch_source(SERVER_TEXT, text, sizeof(text) - 1).status, 0);
	assert_string_equal(text, "int main(void)\n");
	assert_int_equal(fetch_source(SERVER_GOOD, text, sizeof(text)).status, -EBADMSG);
	assert_int_equal(fetch_source(SERVER_HTML, text, sizeof(text)).status, -EBADMSG);
	assert_int_equal(fetch_source(SERVER_EMPTY, text, sizeof(text)).status, -ENOENT);
	assert_int_equal(fetch_source(SERVER_ENDLESS, text, sizeof(text)).status, -EFBIG);
}

/* Whatever the library calls it: nothing is handed over. */
static void assert_refused(enum server kind)
{
	struct fixture f = {0};
	struct fetcher_reply reply;

	fetcher_start(&f, kind);
	reply = fetch(&f, 7);
	assert_true(reply.status < 0 && reply.fd < 0);
	fixture_stop(&f);
}

static void failing_servers_are_survived(void **state)
{
	(void)state;
	assert_fetched(SERVER_ERROR, -EREMOTEIO);
	assert_fetched(SERVER_EMPTY, -ENOENT);
	assert_fetched(SERVER_LONG, -EFBIG);
	assert_fetched(SERVER_DEAD, -ECONNREFUSED);
	assert_refused(SERVER_RESET);
	assert_refused(SERVER_ASTRAY);
}

/* A byte now and then: how many of how many there are is told, and nobody has to wait for the others. */
static void a_download_is_told_of_and_cancelled(void **state)
{
	struct fixture f = {0};
	struct pollfd poller = {.events = POLLIN};
	struct fetcher_reply reply = {0};

	(void)state;
	fetcher_start(&f, SERVER_DRIP);
	poller.fd = f.sock;
	fetcher_cancel(f.sock); /* of nothing */
	for (uint64_t tag = 1; tag < 3; tag++) {
		assert_int_equal(fetcher_ask(f.sock, tag, wanted_id, sizeof(wanted_id)), 0);
		do {
			assert_int_equal(poll(&poller, 1, PATIENCE_NS / NS_PER_MSEC), 1);
			assert_int_equal(fetcher_next(f.sock, &reply), 1);
			assert_int_equal(reply.status, -EINPROGRESS);
		} while (reply.done_bytes < 2);
		assert_int_equal(reply.total_bytes, 1 << 20);
		fetcher_cancel(f.sock);
		while (reply.status == -EINPROGRESS) {
			assert_int_equal(poll(&poller, 1, PATIENCE_NS / NS_PER_MSEC), 1);
			assert_int_equal(fetcher_next(f.sock, &reply), 1);
		}
		assert_int_equal(reply.status, -ECANCELED);
		assert_true(reply.tag == tag && reply.fd < 0);
	}
	fixture_stop(&f);
}

/* All at once, for each takes as long as it is given. */
static void slow_servers_are_given_up(void **state)
{
	static const enum server kinds[] = {SERVER_HANG, SERVER_DRIP, SERVER_CIRCLE};
	struct fixture fixtures[ARRAY_SIZE(kinds)] = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		fetcher_start(&fixtures[i], kinds[i]);
		assert_int_equal(fetcher_ask(fixtures[i].sock, i, wanted_id, sizeof(wanted_id)), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct fetcher_reply reply = outcome(&fixtures[i], i);

		/* Of a circle libcurl may have enough before that. */
		if (kinds[i] == SERVER_CIRCLE)
			assert_true(reply.status < 0 && reply.status != -ENOENT);
		else
			assert_int_equal(reply.status, -ETIME);
		assert_true(reply.fd < 0);
	}
	for (size_t i = ARRAY_SIZE(kinds);
	     i-- > 0;) /* later ones hold the connections of earlier ones */
		fixture_stop(&fixtures[i]);
}

static uint64_t bytes_used(const char *path)
{
	struct statvfs fs;

	assert_int_equal(statvfs(path, &fs), 0);
	return (fs.f_blocks - fs.f_bfree) * fs.f_frsize;
}

/* A body without an end, on a disk that is small: others keep their room, and what came is gone. */
static void a_disk_is_never_filled(void **state)
{
	struct fixture f = {0};
	char size[64];
	struct fetcher_reply reply;

	(void)state;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip();
	f.dir = test_dir_new();
	snprintf(size, sizeof(size), "size=%llu", FETCHER_FREE_MIN + (8ull << 20));
	if (mount("none", f.dir, "tmpfs", 0, size) < 0)
		skip();
	fetcher_start(&f, SERVER_ENDLESS);
	reply = fetch(&f, 7);
	assert_int_equal(reply.status, -ENOSPC);
	assert_true(reply.fd < 0);
	assert_true(bytes_used(f.dir) < 1 << 20);
	assert_int_equal(umount2(f.dir, MNT_DETACH), 0);
	fixture_stop(&f);
}

static bool is_gone(const char *path)
{
	for (int i = 0; i < 2000 && access(path, F_OK) == 0; i++)
		usleep(10000);
	return access(path, F_OK) < 0;
}

/* Without a home (nobody) the files are there as long as the fetcher is, even if it is killed. */
static void a_cache_without_a_home_is_temporary(void **state)
{
	char path[256];
	int ready[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
		if (!fetch_cache_open(path, sizeof(path), -1) ||
		    write_all(ready[1], path, sizeof(path)) < 0)
			_exit(1);
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], path, sizeof(path)), sizeof(path));
	assert_true(strncmp(path, "/tmp/stacktop-debuginfod.", 25) == 0);
	assert_true(test_run("mkdir %s/ab && touch %s/ab/debuginfo", path, path));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	assert_true(is_gone(path));
}

static void assert_urls(const char *variable, const char *asked, const char *urls, int r)
{
	char got[FETCH_URLS_BYTES_MAX];
	struct err err = {0};

	assert_int_equal(setenv("DEBUGINFOD_URLS", variable, 1), 0);
	assert_int_equal(fetch_urls(asked, got, &err), r);
	if (r == 0)
		assert_string_equal(got, urls);
	else
		assert_true(strstr(err.text, "--debuginfod") != NULL);
}

/* What runs here is nobody's business on the way: in the clear only to this host, or where that was typed. */
static void servers_are_chosen_with_care(void **state)
{
	char hosts[128];

	(void)state;
	assert_urls("https://a.example http://b.example", NULL, "https://a.example ", 0);
	assert_urls("http://127.0.0.1:8002\thttp://localhost/x", "",
		    "http://127.0.0.1:8002 http://localhost/x ", 0);
	assert_urls("http://127.0.0.1.example.org", NULL, NULL, -ENOENT);
	assert_urls("http://0.0.0.0:1 ftp://127.0.0.1 https://", NULL, NULL, -ENOENT);
	assert_urls("https://a.example", "http://b.example", "http://b.example ", 0);
	assert_urls("https://a.example", "file:///etc", NULL, -EINVAL);
	assert_urls("https://a.example", "yes", NULL, -EINVAL);
	fetch_urls_hosts("https://me:word@a.example:81/x/y ", hosts, sizeof(hosts));
	assert_string_equal(hosts, "a.example:81");
	fetch_urls_hosts(" http://a http://b\thttp://c", hosts, sizeof(hosts));
	assert_string_equal(hosts, "a and 2 more");
}

static void a_mad_fetcher_is_noticed(void **state)
{
	struct fetcher_reply reply;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fetcher_next(pair[0], &reply), 0);
	assert_int_equal(msg_send(pair[1], "hello", 5, pair[1], 0), 0);
	assert_int_equal(fetcher_next(pair[0], &reply), -EBADMSG);
	assert_int_equal(fetcher_ask(pair[0], 1, wanted_id, 0), -EINVAL);
	close(pair[1]);
	assert_int_equal(fetcher_next(pair[0], &reply), -EPIPE);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_file_is_handed_over),
		cmocka_unit_test(a_wrong_file_is_refused),
		cmocka_unit_test(source_is_handed_over),
		cmocka_unit_test(failing_servers_are_survived),
		cmocka_unit_test(a_download_is_told_of_and_cancelled),
		cmocka_unit_test(slow_servers_are_given_up),
		cmocka_unit_test(a_disk_is_never_filled),
		cmocka_unit_test(a_cache_without_a_home_is_temporary),
		cmocka_unit_test(servers_are_chosen_with_care),
		cmocka_unit_test(a_mad_fetcher_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
