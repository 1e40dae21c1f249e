/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The broker's main thread: answers what does not hang, hands what may hang to
 * threads, and is always back at its poll, so that the end of the client is
 * the end of everything at once. Every request is checked here as if the
 * client were an enemy: it reads what targets make.
 *
 * Rings of perf events are mapped here first, so that the broker's allowance of locked memory
 * (CAP_IPC_LOCK) counts and not the client's: the kernel takes no account of a second mapping.
 */
#include "config.h"

#include "src/broker/broker_main.h"

#include "src/base/cleanup.h"
#include "src/base/confine.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/broker/children.h"
#include "src/broker/code_memory.h"
#include "src/broker/files.h"
#include "src/broker/filter.h"
#include "src/broker/jit_files.h"
#include "src/broker/kcore.h"
#include "src/broker/pool.h"
#include "src/broker/proc_dir.h"
#include "src/broker/stack_readers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define STATUS_FAILED  71 /* EX_OSERR */
#define KEPT_MAX       16384u
#define RING_PAGES_MAX (1u << 16) /* 256 MB of 4 KB pages */
#define OPEN_SECONDS   2

struct broker_ring {
	void *data;
	size_t bytes;
};

struct rings {
	struct broker_ring *kept; /* mapped here until the client has them */
	size_t nr_kept, cap_kept;
	bool may_lock; /* has CAP_IPC_LOCK */
	int cgroup_fd; /* -1: none */
};

struct broker_server {
	struct broker_config config;
	struct server_socks socks;
	pid_t self, client;
	int child_fd; /* signalfd: a child ended */
	struct rings rings;
	struct children children;
	int fetcher_sock; /* until it is handed over, else -1 */
	pid_t fetcher;
	int kcore; /* see kcore_open() */
	struct worker_pool *pool;
	struct stack_readers *readers; /* NULL: of a recording there is no memory to read */
};

/* --- files, on the worker threads ------------------------------------------ */

static bool is_own(void *context, pid_t pid)
{
	const struct broker_server *server = context;

	return pid == server->self || pid == server->client || children_has(&server->children, pid);
}

/* Who opens it decides whether the addresses in it are real. */
static int open_kallsyms(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A process may have ended before its turn came. */
static int open_mapped(struct broker_server *server, const struct broker_file_request *request)
{
	int fd = files_open_mapped(request), left;

	if (fd != -ENOENT && fd != -ESTALE)
		return fd;
	left = files_open_left(request, &server->config.workers);
	return left < 0 ? fd : left;
}

/* Of a program in a container as it sees it, first. */
static int open_told(struct broker_server *server, const struct broker_file_request *request)
{
	bool is_recorded = server->config.is_recorded;
	int fd = is_recorded || request->kind != BROKER_SPLIT ? -ENOENT : files_open_split(request);

	return fd >= 0 ? fd
		       : files_open_told(is_recorded ? server->config.root_fd : -1, request,
					 &server->config.workers);
}

static int open_file(struct broker_server *server, const struct broker_file_request *request,
		     pid_t *ret_pid)
{
	if (request->kind == BROKER_SOURCE || request->kind == BROKER_SPLIT)
		return open_told(server, request);
	if (server->config.is_recorded && request->kind != BROKER_KALLSYMS)
		return files_open_recorded(server->config.root_fd, request);
	switch (request->kind) {
	case BROKER_SCAN:
		return proc_scan(is_own, server);
	case BROKER_TASKS:
		return proc_tasks(request->pid, request->start_time);
	case BROKER_THREADS:
		return proc_threads(request->pid, request->start_time);
	case BROKER_MAPS:
		return proc_maps(request->pid, request->start_time);
	case BROKER_CGROUP:
		return proc_cgroup(request->pid, request->start_time);
	case BROKER_CODE:
		return is_own(server, request->pid) ? -EACCES : code_memory(request, now_ns());
	case BROKER_MAPPED:
		return open_mapped(server, request);
	case BROKER_DEBUG:
		return files_open_debug(request);
	case BROKER_DWZ:
		return files_open_dwz(request);
	case BROKER_DEBUGLINK:
		return files_open_debuglink(request);
	case BROKER_PERF_MAP:
		return is_own(server, request->pid) ? -EACCES
						    : jit_files_open_map(request, ret_pid);
	case BROKER_JITDUMP:
		return is_own(server, request->pid) ? -EACCES : jit_files_open_dump(request);
	case BROKER_KALLSYMS:
		return open_kallsyms();
	case BROKER_VMLINUX:
		return files_open_vmlinux(request);
	case BROKER_KCORE:
		return server->kcore < 0 ? server->kcore
					 : kcore_code(server->kcore, request->start);
	default:
		return -EINVAL;
	}
}

static void work(void *context, const struct broker_file_request *request,
		 struct broker_file_reply *reply)
{
	int fd = open_file(context, request, &reply->pid);
	struct stat st;

	if (fd < 0) {
		reply->status = fd;
		return;
	}
	if (fstat(fd, &st) < 0) {
		reply->status = -errno;
		close(fd);
		return;
	}
	reply->fd = fd;
	reply->dev = st.st_dev;
	reply->ino = st.st_ino;
	reply->bytes = (uint64_t)st.st_size;
	reply->mtime_ns = (int64_t)st.st_mtim.tv_sec * (int64_t)NS_PER_SEC + st.st_mtim.tv_nsec;
	reply->uid = st.st_uid;
	if (request->kind == BROKER_CGROUP)
		reply->uid = BROKER_UID_UNKNOWN;
	if (request->kind == BROKER_MAPPED || request->kind == BROKER_CGROUP)
		proc_uid(request->pid, request->start_time, &reply->uid);
}

/* --- events and their rings ------------------------------------------------------ */

/*
 * Sampling and counting only: no breakpoints in other processes, no signals to
 * them, and none of the dynamic types, one of which (kprobe) takes a pointer.
 */
static bool attr_is_allowed(const struct perf_event_attr *attr)
{
	if (attr->size < PERF_ATTR_SIZE_VER0 || attr->size > sizeof(*attr))
		return false;
	if (attr->type >= PERF_TYPE_MAX || attr->type == PERF_TYPE_BREAKPOINT)
		return false;
#ifdef PERF_ATTR_SIZE_VER7
	if (attr->sigtrap)
		return false;
#endif
	return true;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * The call waits for a task that is in the middle of exec, and that can last
 * as long as the file system of the program likes. A signal ends the wait.
 */
static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval limit = {.it_value = {.tv_sec = OPEN_SECONDS}}, off = {0};
	struct perf_event_attr copy = *attr;
	bool was_aside;
	int fd;

	if (pid > 0) {
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &limit, NULL);
	}
	was_aside = identity_take_admin();
	fd = (int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC | flags);
	if (fd < 0)
		fd = errno == EINTR ? -EBUSY : -errno;
	if (was_aside)
		identity_leave_admin();
	if (pid > 0)
		setitimer(ITIMER_REAL, &off, NULL);
	return fd;
}

static int map_ring(struct rings *rings, int fd, uint64_t ring_pages)
{
	size_t bytes = (1 + ring_pages) * (size_t)sysconf(_SC_PAGESIZE);
	void *data;
	int r;

	r = vec_reserve(&rings->kept, &rings->cap_kept, rings->nr_kept + 1, KEPT_MAX);
	if (r < 0)
		return r;
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	if (!rings->may_lock) {
		/*
		 * Then the client is as good as the broker, and only the test
		 * for the limit matters: the kernel takes the pages off the
		 * account of the process that unmaps last, so a mapping kept
		 * here would stay on ours for ever.
		 */
		munmap(data, bytes);
		return 0;
	}
	rings->kept[rings->nr_kept++] = (struct broker_ring){.data = data, .bytes = bytes};
	return 0;
}

/* perf_event_open(2) with checked arguments; see broker_perf_open. The descriptor or -errno. */
static int rings_open(struct rings *rings, const struct perf_event_attr *attr, pid_t pid, int cpu,
		      uint64_t ring_pages)
{
	bool is_cgroup = pid == BROKER_PID_CGROUP && rings->cgroup_fd >= 0;
	AUTO_CLOSE int fd = -1;
	int r;

	if (!attr_is_allowed(attr) || (pid < -1 && !is_cgroup) || cpu < -1 ||
	    ring_pages > RING_PAGES_MAX)
		return -EINVAL;
	fd = open_event(attr, is_cgroup ? rings->cgroup_fd : pid, cpu,
			is_cgroup ? PERF_FLAG_PID_CGROUP : 0);
	if (fd < 0 || ring_pages == 0)
		return steal_fd(&fd);
	r = map_ring(rings, fd, ring_pages);
	return r < 0 ? r : steal_fd(&fd);
}

/* The client has mapped all rings opened so far. */
static void rings_clear(struct rings *rings)
{
	for (size_t i = 0; i < rings->nr_kept; i++)
		munmap(rings->kept[i].data, rings->kept[i].bytes);
	free(rings->kept);
	rings->kept = NULL;
	rings->nr_kept = rings->cap_kept = 0;
}

/* --- control ---------------------------------------------------------------- */

/* At the start, once: later the broker and what it forks could not reach the network. */
static int start_fetcher(struct broker_server *server)
{
	const struct broker_config *config = &server->config;

	server->fetcher_sock = -1;
	if (!config->fetcher_main)
		return 0;
	return children_start(&server->children, "stacktop-fetch", &config->workers,
			      config->fetcher_main, &server->fetcher_sock, &server->fetcher);
}

static int hand_over_fetcher(struct broker_server *server, int *ret_fd, pid_t *ret_pid)
{
	if (server->fetcher_sock < 0)
		return -ENOENT;
	*ret_fd = steal_fd(&server->fetcher_sock);
	*ret_pid = server->fetcher;
	return 0;
}

static int usage(struct control_reply *reply)
{
	AUTO_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	struct timespec cpu;

	if (fd < 0 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) < 0)
		return -errno;
	reply->cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_SEC + (uint64_t)cpu.tv_nsec;
	reply->rss_bytes = statm_rss_bytes(fd);
	return 0;
}

/* Fills REPLY; a descriptor to send along or -1. */
static int control_answer(struct broker_server *server, const struct control_request *request,
			  struct control_reply *reply)
{
	int fd = -1, r = 0;

	switch (request->kind) {
	case CONTROL_PERF_OPEN:
		fd = server->config.is_recorded
			     ? -EPERM
			     : rings_open(&server->rings, &request->attr, request->pid,
					  request->cpu, request->ring_pages);
		r = MIN(fd, 0);
		break;
	case CONTROL_PERF_MAPPED:
		rings_clear(&server->rings);
		break;
	case CONTROL_START_LOADER:
		r = children_start(&server->children, "stacktop-loader", &server->config.workers,
				   server->config.loader_main, &fd, &reply->pid);
		break;
	case CONTROL_FETCHER:
		r = hand_over_fetcher(server, &fd, &reply->pid);
		break;
	case CONTROL_KILL:
		children_kill(&server->children, request->pid);
		break;
	case CONTROL_USAGE:
		r = usage(reply);
		break;
	default:
		r = -EINVAL;
	}
	reply->status = r;
	return r < 0 ? -1 : fd;
}

/* False: the client is gone. */
static bool on_control(struct broker_server *server)
{
	struct control_request request;
	struct control_reply reply = {0};
	AUTO_CLOSE int fd = -1;
	ssize_t n = msg_recv(server->socks.control, &request, sizeof(request), &fd, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return true;
	if (fd >= 0 || n != sizeof(request))
		return false;
	fd = control_answer(server, &request, &reply);
	return msg_send(server->socks.control, &reply, sizeof(reply), fd, MSG_DONTWAIT) == 0;
}

static bool on_files(struct broker_server *server)
{
	struct broker_file_request request;
	AUTO_CLOSE int fd = -1;
	ssize_t n = msg_recv(server->socks.files, &request, sizeof(request), &fd, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return true;
	if (fd >= 0 || n != sizeof(request))
		return false;
	pool_add(server->pool, &request);
	return true;
}

static void on_child(struct broker_server *server)
{
	struct signalfd_siginfo info;

	while (read(server->child_fd, &info, sizeof(info)) > 0)
		;
	children_reap(&server->children);
}

static bool start_threads(struct broker_server *server)
{
	const struct stack_readers_config readers = {
		.sock = server->socks.stacks,
		.areas = server->socks.areas,
		.is_own = is_own,
		.context = server,
	};

	server->pool = pool_new(work, server, server->socks.files);
	if (!server->pool || server->config.is_recorded)
		return server->pool;
	server->readers = stack_readers_new(&readers);
	return server->readers;
}

/* Look after the threads. Returns in how many milliseconds to look again, -1: when something is asked for. */
static int tick(struct broker_server *server)
{
	uint64_t time_ns = now_ns();
	int pool_ms = pool_tick(server->pool, time_ns);
	int readers_ms = server->readers ? stack_readers_tick(server->readers, time_ns) : -1;

	return pool_ms < 0 || readers_ms < 0 ? MAX(pool_ms, readers_ms) : MIN(pool_ms, readers_ms);
}

/* --- start and end ---------------------------------------------------------- */

static void serve(struct broker_server *server)
{
	bool is_alive = true;

	while (is_alive) {
		int timeout_ms = tick(server);
		struct pollfd fds[] = {
			{.fd = server->socks.control, .events = POLLIN},
			{.fd = pool_has_room(server->pool) ? server->socks.files : -1,
			 .events = POLLIN},
			{.fd = server->child_fd, .events = POLLIN},
		};

		if (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (fds[0].revents)
			is_alive = on_control(server);
		if (is_alive && fds[1].revents)
			is_alive = on_files(server);
		if (fds[2].revents)
			on_child(server);
	}
}

/*
 * The terminal's signals are for the client: the broker follows its end, and
 * must be there while the client tidies up. Children's ends come as SIGCHLD.
 */
static int set_up_signals(void)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGTSTP,
				      SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2};
	sigset_t chld;
	int fd;

	child_default_signals();
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	fd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int broker_give_up(const struct broker_config *config)
{
	int r = config->is_recorded ? identity_keep_reader(&config->workers, NULL)
				    : identity_keep_broker(&config->workers, NULL);

	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return -errno;
	return 0;
}

/*
 * Landlock would also keep the broker from looking into processes, which is its work while
 * it samples; there the filter alone forbids writing.
 */
int broker_confine(const struct broker_config *config)
{
	return filter_enter(config->is_recorded && confine_no_writing() == 0);
}

int broker_main(const struct broker_config *config, const struct server_socks *socks, pid_t client)
{
	const int keep[] = {socks->control,
			    socks->files,
			    socks->stacks,
			    socks->life,
			    config->is_recorded ? config->root_fd : -1,
			    config->has_cgroup ? config->cgroup_fd : -1};
	static struct broker_server server; /* worker threads use it until the process ends */

	server.config = *config;
	server.socks = *socks;
	server.client = client;
	/* Who parses what targets make has no business with their stacks. */
	madvise(socks->areas, BROKER_AREAS_BYTES, MADV_DONTFORK);
	server.self = getpid();
	setsid();
	if (!config->is_recorded)
		child_raise_session();
	child_close_all_but(keep, ARRAY_SIZE(keep));
	child_continue_at_end(socks->life);
	server.child_fd = set_up_signals();
	server.kcore = config->is_recorded ? -ENOSYS : kcore_open();
	if (server.child_fd < 0 || broker_give_up(config) < 0)
		return STATUS_FAILED;
	server.rings.cgroup_fd = config->has_cgroup ? config->cgroup_fd : -1;
	server.rings.may_lock = identity_has_ipc_lock();
	prctl(PR_SET_NAME, "stacktop-broker");
	/* Quicker than the end of the connections, where the client's user allows it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != client)
		return STATUS_FAILED;
	if (start_fetcher(&server) < 0 || broker_confine(config) < 0)
		return STATUS_FAILED;
	if (!start_threads(&server))
		return STATUS_FAILED;
	serve(&server);
	children_kill_all(&server.children);
	return 0;
}
