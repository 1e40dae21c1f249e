/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broker keeps exactly its privileges, its loaders none; everybody ends when they should. */
#include "config.h"

#include "tests/broker_fixture.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE, IPC_LOCK */
#define BROKER_CAPS                                                                               \
	(1ull << 38 | 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYSLOG | \
	 1ull << 40 | 1ull << CAP_IPC_LOCK)
#define RING_PAGES 2048

static void broker_keeps_its_privileges_only(void **state)
{
	struct broker *broker = start_broker();
	pid_t pid = broker_pid(broker);
	uint64_t mine = status_hex(getpid(), "CapPrm"), cpu_ns, rss_bytes;
	bool is_strict = sysctl_read("/proc/sys/kernel/perf_event_paranoid", 0) > 2;
	/* For opening events, where the kernel wants it; at no other time. */
	uint64_t aside = is_strict ? mine & 1ull << CAP_SYS_ADMIN : 0;
	char name[64];

	(void)state;
	/* An answer: it is set up now. */
	assert_int_equal(broker_usage(broker, &cpu_ns, &rss_bytes), 0);
	assert_true(rss_bytes > 0);
	assert_int_equal(status_hex(pid, "CapEff"), mine & BROKER_CAPS);
	assert_int_equal(status_hex(pid, "CapPrm"), (mine & BROKER_CAPS) | aside);
	assert_int_equal(status_hex(pid, "CapInh"), 0);
	assert_int_equal(status_hex(pid, "CapAmb"), 0);
	if (geteuid() == 0) {
		assert_int_equal(status_hex(pid, "CapBnd"), 0);
		status_field(pid, "Uid", name, sizeof(name));
		assert_null(strstr(name, "\t0"));
		assert_int_not_equal(name[0], '0');
	}
	assert_int_equal(status_hex(pid, "NoNewPrivs"), 1);
	status_field(pid, "Name", name, sizeof(name));
	assert_string_equal(name, "stacktop-broker");
	broker_stop(broker);
	assert_true(await_end(pid));
}

/* The terminal's keys reach main alone: an own session, and no signal ends the broker. */
static void broker_ignores_the_terminal(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE};
	struct broker *broker = start_broker();
	uint64_t cpu_ns, rss_bytes;

	(void)state;
	assert_int_equal(broker_usage(broker, &cpu_ns, &rss_bytes), 0);
	assert_int_equal(getsid(broker_pid(broker)), broker_pid(broker));
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal_child(broker_pid(broker), signals[i]);
	assert_int_equal(broker_usage(broker, &cpu_ns, &rss_bytes), 0);
	broker_stop(broker);
}

/* What was open in main is not open in the broker: only sockets, a pipe, a signalfd, /dev/null, and /proc/kcore where there is one. */
static void broker_closes_descriptors(void **state)
{
	int secret = open("/dev/null", O_RDWR | O_CLOEXEC), nr_open = 0;
	int kcore = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	uint64_t cpu_ns, rss_bytes;
	struct broker *broker;
	char path[64];

	(void)state;
	assert_true(dup2(secret, 200) == 200);
	broker = start_broker();
	assert_int_equal(broker_usage(broker, &cpu_ns, &rss_bytes), 0);
	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", broker_pid(broker), fd);
		nr_open += faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	if (geteuid() == 0)
		assert_int_equal(nr_open, 3 + 3 + 1 + 1 + (kcore >= 0));
	close(secret);
	close(kcore);
	close(200);
	broker_stop(broker);
}

static void loader_has_no_privilege(void **state)
{
	struct broker *broker = start_broker();
	struct identity workers;
	char text[64], uids[64];
	int sock, fd;
	pid_t pid;

	(void)state;
	assert_int_equal(identity_workers(&workers, NULL), 0);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), 0);
	assert_int_equal(msg_send(sock, "hello", 5, -1, 0), 0);
	assert_int_equal(msg_recv(sock, text, sizeof(text), &fd, 0), 5);
	assert_memory_equal(text, "hello", 5);

	snprintf(text, sizeof(text), "%u\t%u\t%u\t%u", workers.uid, workers.uid, workers.uid,
		 workers.uid);
	status_field(pid, "Uid", uids, sizeof(uids));
	assert_string_equal(uids, text);
	assert_int_equal(status_hex(pid, "CapEff"), 0);
	assert_int_equal(status_hex(pid, "CapPrm"), 0);
	assert_int_equal(status_hex(pid, "NoNewPrivs"), 1);
	if (geteuid() == 0) {
		assert_true(workers.uid != 0);
		assert_int_equal(status_hex(pid, "CapBnd"), 0);
		/* nothing but its connection and /dev/null */
		for (int other = 3, nr = 0; other < 256; other++) {
			snprintf(text, sizeof(text), "/proc/%d/fd/%d", pid, other);
			nr += faccessat(AT_FDCWD, text, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
			assert_true(nr <= 1);
		}
	}
	close(sock);
	assert_true(await_end(pid));
	broker_stop(broker);
}

static void loader_is_killed_on_demand_only(void **state)
{
	struct broker *broker = start_broker();
	pid_t stranger = start_sleeper(), pid;
	char text[8], status[64];
	int sock, fd;

	(void)state;
	assert_int_equal(broker_start_loader(broker, &sock, &pid), 0);
	/*
	 * Own processes only: a test must not ask for -1, since a broker with
	 * the fault looked for here would kill the whole machine.
	 */
	broker_kill_loader(broker, stranger);
	broker_kill_loader(broker, getpid());
	usleep(50000);
	status_field(stranger, "State", status, sizeof(status));
	assert_true(status[0] == 'S' || status[0] == 'R');
	status_field(pid, "State", status, sizeof(status));
	assert_true(status[0] == 'S' || status[0] == 'R');
	broker_kill_loader(broker, pid);
	assert_int_equal(msg_recv(sock, text, sizeof(text), &fd, 0), 0);
	assert_true(await_end(pid));
	close(sock);
	end_child(stranger);
	broker_stop(broker);
}

/* Many start and end; at the bound one is refused, and room comes back. */
static void loaders_are_bounded(void **state)
{
	struct broker *broker = start_broker();
	int socks[16], sock, r = -1;
	pid_t pids[16], pid;

	(void)state;
	for (int i = 0; i < 16; i++)
		assert_int_equal(broker_start_loader(broker, &socks[i], &pids[i]), 0);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), -EAGAIN);
	for (int i = 0; i < 16; i++) {
		broker_kill_loader(broker, pids[i]);
		close(socks[i]);
	}
	for (int i = 0; i < PATIENCE_MS / 10 && r < 0; i++) {
		r = broker_start_loader(broker, &sock, &pid);
		if (r < 0)
			usleep(10000);
	}
	assert_int_equal(r, 0);
	close(sock);
	broker_stop(broker);
}

#if defined(HAVE_SECCOMP) && !defined(SANITIZED)
/* What is forbidden to the broker is forbidden to what it forks: so a child can tell. */
static int forbidden_main(int sock)
{
	static const long calls[][6] = {
		{SYS_execve, (long)"/bin/true"},
		{SYS_execveat, -1, (long)"/bin/true"},
		{SYS_socket, AF_UNIX, SOCK_STREAM},
		{SYS_connect, -1},
		{SYS_bind, -1},
		{SYS_socketpair, AF_INET, SOCK_STREAM},
		{SYS_ptrace, PTRACE_ATTACH, 0x7fffffff},
		{SYS_process_vm_writev, 1},
		{SYS_setns, -1},
		{SYS_unshare, 0},
		{SYS_mount, 0},
		{SYS_bpf, 0},
		{SYS_keyctl, 0},
		{SYS_init_module, 0},
		{SYS_pidfd_send_signal, -1},
	};
	char done = 1;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const long *c = calls[i];

		if (syscall(c[0], c[1], c[2], c[3], c[4], c[5]) != -1 || errno != EPERM)
			done = (char)-i;
	}
	return msg_send(sock, &done, 1, -1, 0) < 0;
}

static void broker_can_start_and_reach_nothing(void **state)
{
	struct broker_config config = {.loader_main = forbidden_main};
	struct broker *broker = NULL;
	struct err err = {0};
	char done = 0;
	int sock, fd;
	pid_t pid;

	(void)state;
	assert_int_equal(identity_workers(&config.workers, &err), 0);
	assert_int_equal(broker_start(&config, &broker, &err), 0);
	assert_int_equal(status_hex(broker_pid(broker), "Seccomp"), 2);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), 0);
	assert_int_equal(msg_recv(sock, &done, 1, &fd, 0), 1);
	assert_int_equal(done, 1);
	close(sock);
	broker_stop(broker);
}
#endif

/* The one process with the network: no privilege, and its connection is given away once. */
static void fetcher_is_handed_over_once(void **state)
{
	struct broker_config config = {.loader_main = echo_main, .fetcher_main = echo_main};
	struct broker *broker = start_broker();
	struct err err = {0};
	pid_t pid, other;
	int sock, fd;
	char text[8];

	(void)state;
	assert_int_equal(broker_take_fetcher(broker, &sock, &pid), -ENOENT);
	broker_stop(broker);
	assert_int_equal(identity_workers(&config.workers, &err), 0);
	assert_int_equal(broker_start(&config, &broker, &err), 0);
	assert_int_equal(broker_take_fetcher(broker, &sock, &pid), 0);
	assert_int_equal(msg_send(sock, "hello", 5, -1, 0), 0);
	assert_int_equal(msg_recv(sock, text, sizeof(text), &fd, 0), 5);
	assert_int_equal(status_hex(pid, "CapPrm"), 0);
	assert_int_equal(status_hex(pid, "NoNewPrivs"), 1);
	assert_int_equal(broker_take_fetcher(broker, &fd, &other), -ENOENT);
	close(sock);
	assert_true(await_end(pid));
	broker_stop(broker);
}

static int client_with_loader(void *arg)
{
	struct broker *broker = start_broker();
	pid_t pids[2] = {broker_pid(broker)};
	int sock;

	if (broker_start_loader(broker, &sock, &pids[1]) < 0)
		return 1;
	if (geteuid() == 0) {
		struct identity workers;

		if (identity_workers(&workers, NULL) < 0 || identity_become(&workers, NULL) < 0)
			return 2;
	}
	if (write(*(int *)arg, pids, sizeof(pids)) != sizeof(pids))
		return 3;
	kill(getpid(), SIGKILL);
	return 4;
}

static void all_end_with_the_client(void **state)
{
	pid_t pids[2];
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(in_child(client_with_loader, &ends[1]), -1);
	assert_int_equal(read(ends[0], pids, sizeof(pids)), sizeof(pids));
	assert_true(await_end(pids[0]));
	assert_true(await_end(pids[1]));
	close(ends[0]);
	close(ends[1]);
}

static void client_survives_the_broker(void **state)
{
	const struct broker_file_request request = {.kind = BROKER_SCAN};
	const struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE};
	struct broker *broker = start_broker();
	struct broker_file_reply reply;
	uint64_t cpu_ns, rss_bytes;
	pid_t pid, loader;
	int sock;

	(void)state;
	assert_int_equal(broker_start_loader(broker, &sock, &loader), 0);
	signal_child(broker_pid(broker), SIGSTOP);
	assert_int_equal(broker_file_ask(broker, &request), 0);
	signal_child(broker_pid(broker), SIGKILL);
	assert_int_equal(waitpid(broker_pid(broker), NULL, 0), broker_pid(broker));

	assert_int_equal(broker_usage(broker, &cpu_ns, &rss_bytes), -EPIPE);
	assert_int_equal(broker_perf_open(broker, &attr, -1, 0, 0), -EPIPE);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), -EPIPE);
	broker_perf_mapped(broker);
	broker_kill_loader(broker, 1);
	assert_false(broker_file_next(broker, &reply));
	assert_int_equal(broker_files_fd(broker), -1);
	assert_int_equal(broker_file_ask(broker, &request), -EPIPE);
	assert_true(await_end(loader));
	broker_stop(broker);
	close(sock);
}

/* Whoever has stopped the broker: it ends with its client, and its loaders with it. */
static void a_stopped_broker_ends_with_its_client(void **state)
{
	struct broker *broker = start_broker();
	pid_t loader, pid = broker_pid(broker);
	int sock;

	(void)state;
	assert_int_equal(broker_start_loader(broker, &sock, &loader), 0);
	signal_child(loader, SIGSTOP);
	signal_child(pid, SIGSTOP);
	broker_stop(broker);
	assert_true(await_end(pid));
	assert_true(await_end(loader));
	close(sock);
}

static int count_own_fds(void)
{
	int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* A stopped broker costs one limit; then nobody waits, and its late answers are taken for what they are. */
static void client_lives_with_a_stopped_broker(void **state)
{
	struct broker *broker = start_broker();
	uint64_t cpu_ns, rss_bytes, before_ns;
	int sock, nr_fds = count_own_fds(), nr_watches = 0;
	pid_t pid;

	(void)state;
	broker_set_limit(broker, 300);
	assert_int_equal(broker_watch(broker, &cpu_ns, &rss_bytes), BROKER_WELL);
	assert_true(rss_bytes > 0);
	signal_child(broker_pid(broker), SIGSTOP);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), -ETIMEDOUT);
	while (broker_watch(broker, &cpu_ns, &rss_bytes) != BROKER_SILENT && nr_watches++ < 1000)
		usleep(10000);
	assert_true(nr_watches < 1000);
	broker_set_limit(broker, 60000);
	before_ns = now_ns();
	for (int i = 0; i < 100; i++) {
		assert_int_equal(broker_start_loader(broker, &sock, &pid), -ETIMEDOUT);
		broker_kill_loader(broker, 1);
		broker_perf_mapped(broker);
	}
	assert_true(now_ns() - before_ns < 30 * NS_PER_SEC); /* not a hundred limits */

	signal_child(broker_pid(broker), SIGCONT);
	while (broker_watch(broker, &cpu_ns, &rss_bytes) != BROKER_WELL && nr_watches++ < 2000)
		usleep(10000);
	assert_true(nr_watches < 2000);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), 0);
	close(sock);
	assert_true(await_end(pid));
	assert_int_equal(count_own_fds(), nr_fds);

	/* Silent, then gone: that is another message. */
	signal_child(broker_pid(broker), SIGSTOP);
	broker_set_limit(broker, 10);
	while (broker_watch(broker, &cpu_ns, &rss_bytes) != BROKER_SILENT && nr_watches++ < 3000)
		usleep(10000);
	assert_int_equal(broker_start_loader(broker, &sock, &pid), -ETIMEDOUT);
	signal_child(broker_pid(broker), SIGKILL);
	assert_int_equal(waitpid(broker_pid(broker), NULL, 0), broker_pid(broker));
	assert_int_equal(broker_start_loader(broker, &sock, &pid), -EPIPE);
	assert_int_equal(broker_watch(broker, &cpu_ns, &rss_bytes), BROKER_GONE);
	broker_stop(broker);
}

/* --- perf events -------------------------------------------------------------- */

static const struct perf_event_attr cpu_clock = {
	.size = sizeof(cpu_clock),
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.sample_period = 10000000,
	.sample_type = PERF_SAMPLE_IP,
	.disabled = 1,
};

static int first_cpu_event(struct broker *broker, size_t ring_pages)
{
	return broker_perf_open(broker, &cpu_clock, -1, 0, ring_pages);
}

/* In a child: nobody, no capability, 64 KB of locked memory. */
static int map_large_ring(void *arg)
{
	const struct identity nobody = {.uid = NOBODY, .gid = NOBODY, .was_root = true};
	size_t bytes = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	struct rlimit limit = {65536, 65536};
	struct broker *broker = arg;
	int own, fd;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0 || identity_become(&nobody, NULL) < 0)
		return 1;
	own = first_cpu_event(broker, 0);
	fd = first_cpu_event(broker, RING_PAGES);
	if (own < 0 || fd < 0)
		return 2;
	/* Its own allowance is not enough ... */
	if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0) != MAP_FAILED ||
	    errno != EPERM)
		return 3;
	/* ... and is not asked for what the broker mapped before. */
	if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		return 4;
	broker_perf_mapped(broker);
	return 0;
}

static void ring_is_mapped_without_privilege(void **state)
{
	struct broker *broker = start_broker();
	int fd = first_cpu_event(broker, 1);

	(void)state;
	if (geteuid() != 0 || fd < 0) {
		broker_stop(broker);
		skip();
	}
	close(fd);
	broker_perf_mapped(broker);
	assert_int_equal(in_child(map_large_ring, broker), 0);
	broker_stop(broker);
}

static void bad_events_are_refused(void **state)
{
	struct broker *broker = start_broker();
	struct perf_event_attr attr = cpu_clock;

	(void)state;
	attr.size = sizeof(attr) + 8;
	assert_int_equal(broker_perf_open(broker, &attr, -1, 0, 0), -EINVAL);
	attr.size = 8;
	assert_int_equal(broker_perf_open(broker, &attr, -1, 0, 0), -EINVAL);
	attr = cpu_clock;
	attr.type = PERF_TYPE_BREAKPOINT;
	assert_int_equal(broker_perf_open(broker, &attr, getpid(), -1, 0), -EINVAL);
	attr.type = PERF_TYPE_MAX + 1; /* where kprobes and the like are */
	assert_int_equal(broker_perf_open(broker, &attr, -1, 0, 0), -EINVAL);
	assert_int_equal(broker_perf_open(broker, &cpu_clock, -2, 0, 0), -EINVAL);
	assert_int_equal(broker_perf_open(broker, &cpu_clock, -1, -2, 0), -EINVAL);
	assert_int_equal(broker_perf_open(broker, &cpu_clock, -1, 0, SIZE_MAX), -EINVAL);
	broker_stop(broker);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broker_keeps_its_privileges_only),
		cmocka_unit_test(broker_ignores_the_terminal),
		cmocka_unit_test(broker_closes_descriptors),
		cmocka_unit_test(loader_has_no_privilege),
		cmocka_unit_test(loader_is_killed_on_demand_only),
		cmocka_unit_test(loaders_are_bounded),
		cmocka_unit_test(fetcher_is_handed_over_once),
#if defined(HAVE_SECCOMP) && !defined(SANITIZED)
		cmocka_unit_test(broker_can_start_and_reach_nothing),
#endif
		cmocka_unit_test(all_end_with_the_client),
		cmocka_unit_test(client_survives_the_broker),
		cmocka_unit_test(a_stopped_broker_ends_with_its_client),
		cmocka_unit_test(client_lives_with_a_stopped_broker),
		cmocka_unit_test(ring_is_mapped_without_privilege),
		cmocka_unit_test(bad_events_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return run_as_both(run);
}
