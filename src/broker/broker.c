/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The client's side of the connections, for the engine thread: control waits for its answer,
 * files and stacks never do.
 */
#include "config.h"

#include "src/broker/broker.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/broker/broker_main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define QUEUED_MAX 65536u
/*
 * Control requests take microseconds. Only a broker that is stopped, or killed
 * while one of its threads cannot die, leaves the connection open and silent.
 * Before sampling begins nothing is lost by waiting on a busy machine.
 */
#define LIMIT_AT_START_MS 10000
#define SILENT_NS	  NS_PER_SEC

enum area_state { AREA_FREE, AREA_ASKED, AREA_LOST };

struct broker {
	pid_t pid;
	int control;			   /* -1: gone */
	int limit_ms;			   /* for one answer */
	uint64_t nr_sent, nr_answered;	   /* control requests; answers come in order */
	uint64_t waiting_ns;		   /* since when for the oldest answer missing */
	uint64_t watch;			   /* of nr_sent: the one that asked for usage, 0: none */
	uint64_t cpu_ns, rss_bytes;	   /* by the last answer */
	int files;			   /* -1: gone */
	struct broker_file_request *queue; /* what the connection had no room for yet */
	size_t head, nr_queued, cap_queue; /* elements before HEAD are sent */
	int stacks;			   /* -1: gone */
	uint8_t *areas;			   /* of the batches, shared with the broker */
	enum area_state area_states[BROKER_AREAS];
	int life; /* never written to: its end continues a stopped broker */
};

static void close_conn(int *fd)
{
	if (*fd >= 0)
		close(steal_fd(fd));
}

static void close_all(struct broker *broker)
{
	close_conn(&broker->control);
	close_conn(&broker->files);
	close_conn(&broker->stacks);
	close_conn(&broker->life);
	if (broker->areas)
		munmap(broker->areas, BROKER_AREAS_BYTES);
	broker->areas = NULL;
}

/* Memory that both have; not what they start later. */
static int map_areas(struct broker *broker)
{
	void *areas = mmap(NULL, BROKER_AREAS_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (areas == MAP_FAILED)
		return -errno;
	broker->areas = areas;
	return 0;
}

static int start_server(struct broker *broker, const struct broker_config *config)
{
	int control[2] = {-1, -1}, files[2] = {-1, -1}, stacks[2] = {-1, -1}, life[2] = {-1, -1};
	int r = map_areas(broker);
	pid_t client = getpid();

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, stacks) < 0 ||
	    pipe2(life, O_CLOEXEC) < 0 || (broker->pid = fork()) < 0)
		r = -errno;
	else if (broker->pid == 0)
		_exit(broker_main(config,
				  &(struct server_socks){control[1], files[1], stacks[1],
							 broker->areas, life[0]},
				  client));
	close_conn(&control[1]);
	close_conn(&files[1]);
	close_conn(&stacks[1]);
	close_conn(&life[0]);
	broker->control = control[0];
	broker->files = files[0];
	broker->stacks = stacks[0];
	broker->life = life[1];
	return r;
}

int broker_start(const struct broker_config *config, struct broker **ret, struct err *err)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	uint64_t cpu_ns, rss_bytes;
	int r = -ENOMEM;

	if (!broker)
		goto fail;
	broker->control = broker->files = broker->stacks = broker->life = -1;
	broker->limit_ms = LIMIT_AT_START_MS;
	r = start_server(broker, config);
	if (r < 0)
		goto fail;
	/* The first answer tells that it is ready: privileges kept and dropped as they should be. */
	if (broker_usage(broker, &cpu_ns, &rss_bytes) < 0) {
		waitpid(broker->pid, NULL, 0);
		broker_stop(broker);
		return err_set(err, -EPIPE, "the broker process ended at its start");
	}
	broker->cpu_ns = cpu_ns;
	broker->rss_bytes = rss_bytes;
	*ret = broker;
	return 0;
fail:
	if (broker)
		close_all(broker);
	free(broker);
	return err_set(err, r, "cannot start the broker process: %s", strerror(-r));
}

struct broker *broker_stop(struct broker *broker)
{
	if (!broker)
		return NULL;
	close_all(broker);
	waitpid(broker->pid, NULL, WNOHANG);
	free(broker->queue);
	free(broker);
	return NULL;
}

pid_t broker_pid(const struct broker *broker)
{
	return broker->pid;
}

/* --- control ---------------------------------------------------------------- */

void broker_set_limit(struct broker *broker, int limit_ms)
{
	broker->limit_ms = limit_ms;
}

/* The next answer and what came with it, if there is one. 1, 0: none yet, or -EPIPE: gone for good. */
static int take_answer(struct broker *broker, struct control_reply *reply, int *ret_fd)
{
	ssize_t n;

	*ret_fd = -1;
	if (broker->control < 0)
		return -EPIPE;
	n = msg_recv(broker->control, reply, sizeof(*reply), ret_fd, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return 0;
	if (n == -EMSGSIZE) { /* no room for the descriptor here: RLIMIT_NOFILE */
		reply->status = -EMFILE;
	} else if (n != sizeof(*reply) || broker->nr_answered == broker->nr_sent) {
		if (*ret_fd >= 0)
			close(steal_fd(ret_fd));
		close_conn(&broker->control);
		return -EPIPE;
	}
	broker->nr_answered++;
	broker->waiting_ns = now_ns();
	if (broker->nr_answered == broker->watch && n == sizeof(*reply) && reply->status == 0) {
		broker->cpu_ns = reply->cpu_ns;
		broker->rss_bytes = reply->rss_bytes;
	}
	return 1;
}

/* Take the answers to requests that have been given up. */
static void take_old_answers(struct broker *broker)
{
	struct control_reply reply;
	int fd;

	while (broker->nr_answered < broker->nr_sent && take_answer(broker, &reply, &fd) == 1) {
		if (fd >= 0)
			close(fd);
	}
}

static bool is_silent(const struct broker *broker)
{
	return broker->control >= 0 && broker->nr_answered < broker->nr_sent &&
	       now_ns() > broker->waiting_ns + SILENT_NS;
}

/* 0, -ETIMEDOUT: it does not even read, or -EPIPE. */
static int send_request(struct broker *broker, const struct control_request *request)
{
	int r;

	if (broker->control < 0)
		return -EPIPE;
	r = msg_send(broker->control, request, sizeof(*request), -1, MSG_DONTWAIT);
	if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM)
		return -ETIMEDOUT;
	if (r < 0) {
		close_conn(&broker->control);
		return -EPIPE;
	}
	if (broker->nr_answered == broker->nr_sent)
		broker->waiting_ns = now_ns();
	broker->nr_sent++;
	return 0;
}

/* Send, and wait for the answer. 0, -ETIMEDOUT, or -EPIPE: gone, then and ever after. */
static int exchange(struct broker *broker, const struct control_request *request,
		    struct control_reply *reply, int *ret_fd)
{
	uint64_t until_ns = now_ns() + (uint64_t)broker->limit_ms * NS_PER_MSEC, time_ns, mine;
	int r;

	*ret_fd = -1;
	take_old_answers(broker);
	if (is_silent(broker))
		return -ETIMEDOUT;
	r = send_request(broker, request);
	if (r < 0)
		return r;
	mine = broker->nr_sent;
	for (;;) {
		struct pollfd pfd = {.fd = broker->control, .events = POLLIN};

		r = take_answer(broker, reply, ret_fd);
		if (r < 0)
			return r;
		if (r == 1 && broker->nr_answered == mine)
			return 0;
		if (*ret_fd >= 0)
			close(steal_fd(ret_fd));
		time_ns = now_ns();
		if (time_ns >= until_ns)
			return -ETIMEDOUT;
		if (r == 0)
			poll(&pfd, 1, (int)((until_ns - time_ns) / NS_PER_MSEC) + 1);
	}
}

/* The status of the answer, -ETIMEDOUT or -EPIPE. */
static int ask(struct broker *broker, const struct control_request *request,
	       struct control_reply *reply, int *ret_fd)
{
	int r;

	memset(reply, 0, sizeof(*reply));
	r = exchange(broker, request, reply, ret_fd);
	r = r < 0 ? r : MIN(reply->status, 0);
	if (r < 0 && *ret_fd >= 0) /* a failure has none */
		close(steal_fd(ret_fd));
	return r;
}

/* What needs no answer. */
static void tell(struct broker *broker, const struct control_request *request)
{
	take_old_answers(broker);
	send_request(broker, request);
}

int broker_perf_open(struct broker *broker, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     size_t ring_pages)
{
	const struct control_request request = {
		.kind = CONTROL_PERF_OPEN,
		.pid = pid,
		.cpu = cpu,
		.ring_pages = ring_pages,
		.attr = *attr,
	};
	struct control_reply reply;
	int fd, r = ask(broker, &request, &reply, &fd);

	if (r < 0)
		return r;
	return fd >= 0 ? fd : -EPROTO;
}

void broker_perf_mapped(struct broker *broker)
{
	tell(broker, &(struct control_request){.kind = CONTROL_PERF_MAPPED});
}

static int take_child(struct broker *broker, enum control_kind kind, int *ret_sock, pid_t *ret_pid)
{
	const struct control_request request = {.kind = kind};
	struct control_reply reply;
	int fd, r = ask(broker, &request, &reply, &fd);

	if (r < 0)
		return r;
	if (fd < 0)
		return -EPROTO;
	*ret_sock = fd;
	*ret_pid = reply.pid;
	return 0;
}

int broker_start_loader(struct broker *broker, int *ret_sock, pid_t *ret_pid)
{
	return take_child(broker, CONTROL_START_LOADER, ret_sock, ret_pid);
}

int broker_take_fetcher(struct broker *broker, int *ret_sock, pid_t *ret_pid)
{
	return take_child(broker, CONTROL_FETCHER, ret_sock, ret_pid);
}

void broker_kill_loader(struct broker *broker, pid_t pid)
{
	tell(broker, &(struct control_request){.kind = CONTROL_KILL, .pid = pid});
}

enum broker_state broker_watch(struct broker *broker, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes)
{
	take_old_answers(broker);
	*ret_cpu_ns = broker->cpu_ns;
	*ret_rss_bytes = broker->control < 0 ? 0 : broker->rss_bytes;
	if (broker->control >= 0 && broker->nr_answered >= broker->watch &&
	    send_request(broker, &(struct control_request){.kind = CONTROL_USAGE}) == 0)
		broker->watch = broker->nr_sent;
	if (broker->control < 0)
		return BROKER_GONE;
	return is_silent(broker) ? BROKER_SILENT : BROKER_WELL;
}

int broker_usage(struct broker *broker, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes)
{
	const struct control_request request = {.kind = CONTROL_USAGE};
	struct control_reply reply;
	int fd, r = ask(broker, &request, &reply, &fd);

	if (r < 0)
		return r;
	if (fd >= 0) /* nor has this answer */
		close(fd);
	*ret_cpu_ns = reply.cpu_ns;
	*ret_rss_bytes = reply.rss_bytes;
	return 0;
}

/* --- files ------------------------------------------------------------------ */

/* Send what is queued as far as there is room. 0, or -EPIPE. */
static int send_queued(struct broker *broker)
{
	while (broker->head < broker->nr_queued) {
		int r = msg_send(broker->files, &broker->queue[broker->head],
				 sizeof(*broker->queue), -1, MSG_DONTWAIT);

		if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM)
			return 0;
		if (r < 0) {
			close_conn(&broker->files);
			return -EPIPE;
		}
		broker->head++;
	}
	broker->head = broker->nr_queued = 0;
	return 0;
}

int broker_file_ask(struct broker *broker, const struct broker_file_request *request)
{
	int r;

	if (broker->files < 0)
		return -EPIPE;
	if (broker->head > 0 && broker->nr_queued == broker->cap_queue) {
		broker->nr_queued -= broker->head;
		memmove(broker->queue, broker->queue + broker->head,
			broker->nr_queued * sizeof(*broker->queue));
		broker->head = 0;
	}
	r = vec_reserve(&broker->queue, &broker->cap_queue, broker->nr_queued + 1, QUEUED_MAX);
	if (r < 0)
		return -ENOMEM;
	broker->queue[broker->nr_queued++] = *request;
	return send_queued(broker);
}

bool broker_file_next(struct broker *broker, struct broker_file_reply *ret)
{
	ssize_t n;
	int fd;

	if (broker->files < 0 || send_queued(broker) < 0)
		return false;
	memset(ret, 0, sizeof(*ret));
	n = msg_recv(broker->files, ret, sizeof(*ret), &fd, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return false;
	if (n == -EMSGSIZE) { /* no room for the descriptor here: RLIMIT_NOFILE */
		ret->status = -EMFILE;
		ret->fd = -1;
		return true;
	}
	if (n != sizeof(*ret)) {
		if (fd >= 0)
			close(fd);
		close_conn(&broker->files);
		return false;
	}
	ret->fd = fd;
	return true;
}

int broker_files_fd(const struct broker *broker)
{
	return broker->files;
}

/* --- stacks ----------------------------------------------------------------- */

static uint32_t count_areas(const struct broker *broker, enum area_state state)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < BROKER_AREAS; i++)
		nr += broker->area_states[i] == state;
	return nr;
}

/* The area for another batch; BROKER_AREAS: none. */
static uint32_t free_area(const struct broker *broker)
{
	uint32_t area = 0;

	if (count_areas(broker, AREA_ASKED) == BROKER_BATCHES)
		return BROKER_AREAS;
	while (area < BROKER_AREAS && broker->area_states[area] != AREA_FREE)
		area++;
	return area;
}

bool broker_stacks_room(const struct broker *broker)
{
	return broker->stacks >= 0 && free_area(broker) < BROKER_AREAS;
}

uint32_t broker_stacks_lost(const struct broker *broker)
{
	return count_areas(broker, AREA_LOST);
}

int broker_stacks_ask(struct broker *broker, struct broker_stacks_request *request)
{
	int r;

	if (broker->stacks < 0)
		return -EPIPE;
	request->batch = free_area(broker);
	if (request->batch == BROKER_AREAS)
		return -EAGAIN;
	r = msg_send(broker->stacks, request, sizeof(*request), -1, MSG_DONTWAIT);
	if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM)
		return -EAGAIN;
	if (r < 0) {
		close_conn(&broker->stacks);
		return -EPIPE;
	}
	broker->area_states[request->batch] = AREA_ASKED;
	return 0;
}

/* What was asked for, and within its area; or an area that was lost, with nothing in it. */
static bool is_sensible(const struct broker *broker, const struct broker_stacks_reply *reply)
{
	if (reply->batch >= BROKER_AREAS || broker->area_states[reply->batch] == AREA_FREE ||
	    reply->nr > BROKER_BATCH_STACKS)
		return false;
	if (broker->area_states[reply->batch] == AREA_LOST)
		return reply->nr == 0 && !reply->is_hung;
	for (uint32_t i = 0; i < reply->nr; i++)
		if (reply->stacks[i].at > BROKER_BATCH_BYTES ||
		    reply->stacks[i].bytes > BROKER_BATCH_BYTES - reply->stacks[i].at)
			return false;
	return true;
}

bool broker_stacks_next(struct broker *broker, struct broker_stacks_reply *ret, uint8_t **ret_data)
{
	ssize_t n;
	int fd;

	if (broker->stacks < 0)
		return false;
	n = msg_recv(broker->stacks, ret, sizeof(*ret), &fd, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return false;
	if (fd >= 0)
		close(fd);
	if (n != sizeof(*ret) || !is_sensible(broker, ret)) {
		close_conn(&broker->stacks);
		return false;
	}
	broker->area_states[ret->batch] = ret->is_hung ? AREA_LOST : AREA_FREE;
	*ret_data = broker->areas + (size_t)ret->batch * BROKER_BATCH_BYTES;
	return true;
}

int broker_stacks_fd(const struct broker *broker)
{
	return broker->stacks;
}
