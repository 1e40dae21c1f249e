/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which tasks are sampled when not all are: the threads of named processes, or of this user's. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/engine/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TARGETS_TIMEOUT_NS (2 * NS_PER_SEC)
#define TARGETS_MAX	   65536
#define TARGETS_READ_MAX   (64u << 20)

/* Wait for the answer to REQUEST on an otherwise idle files connection. */
static int ask(struct broker *broker, const struct broker_file_request *request,
	       struct broker_file_reply *ret)
{
	uint64_t until_ns = now_ns() + TARGETS_TIMEOUT_NS;
	int r = broker_file_ask(broker, request);

	if (r < 0)
		return r;
	for (;;) {
		struct pollfd pfd = {.fd = broker_files_fd(broker), .events = POLLIN};
		uint64_t time_ns = now_ns();

		while (broker_file_next(broker, ret)) {
			if (ret->tag == request->tag && ret->kind == request->kind)
				return ret->status;
			if (ret->fd >= 0)
				close(ret->fd);
		}
		if (time_ns >= until_ns)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, (int)((until_ns - time_ns) / NS_PER_MSEC) + 1) < 0 &&
		    errno != EINTR)
			return -errno;
		if (pfd.revents & (POLLHUP | POLLERR) && !(pfd.revents & POLLIN))
			return -EPIPE;
	}
}

/* Read an answer that is an array of elements of ELEM_BYTES. */
static int ask_array(struct broker *broker, const struct broker_file_request *request,
		     size_t elem_bytes, char **ret_data, size_t *ret_nr)
{
	struct broker_file_reply reply = {.fd = -1};
	AUTO_CLOSE int fd = -1;
	size_t len;
	int r = ask(broker, request, &reply);

	fd = reply.fd;
	if (r < 0)
		return r;
	r = read_all(fd, TARGETS_READ_MAX, ret_data, &len);
	if (r < 0)
		return r;
	*ret_nr = len / elem_bytes;
	return 0;
}

struct tid_list {
	pid_t *tids;
	size_t nr, cap;
};

static int add_threads(struct broker *broker, struct tid_list *list, pid_t pid)
{
	struct broker_file_request request = {
		.kind = BROKER_TASKS, .pid = pid, .tag = (uint64_t)pid};
	AUTO_FREE char *data = NULL;
	size_t nr = 0;
	int r = ask_array(broker, &request, sizeof(pid_t), &data, &nr);

	if (r < 0)
		return r;
	r = vec_reserve(&list->tids, &list->cap, list->nr + nr, TARGETS_MAX);
	if (r < 0)
		return r;
	memcpy(list->tids + list->nr, data, nr * sizeof(pid_t));
	list->nr += nr;
	return 0;
}

static int add_own(struct broker *broker, struct tid_list *list)
{
	struct broker_file_request request = {.kind = BROKER_SCAN};
	AUTO_FREE char *data = NULL;
	size_t nr = 0;
	uid_t uid = getuid();
	int r = ask_array(broker, &request, sizeof(struct broker_process), &data, &nr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < nr; i++) {
		struct broker_process p;

		memcpy(&p, data + i * sizeof(p), sizeof(p));
		if (p.uid != uid || p.is_own || p.is_kernel)
			continue;
		r = add_threads(broker, list, p.pid);
		if (r == -E2BIG || r == -ENOMEM || r == -EPIPE)
			return r;
	}
	return 0;
}

int targets_of(struct broker *broker, const pid_t *pids, uint32_t nr_pids, pid_t **ret_tids,
	       uint32_t *ret_nr, struct err *err)
{
	struct tid_list list = {0};
	int r = 0;

	for (uint32_t i = 0; i < nr_pids && r == 0; i++) {
		r = add_threads(broker, &list, pids[i]);
		if (r == -ENOENT || r == -ESRCH)
			r = err_set(err, -ESRCH, "no process %d", (int)pids[i]);
		else if (r < 0)
			r = err_set(err, r, "process %d: cannot list its threads: %s", (int)pids[i],
				    strerror(-r));
	}
	if (!pids) {
		r = add_own(broker, &list);
		if (r < 0)
			err_set(err, r, "cannot list processes: %s", strerror(-r));
	}
	if (r == 0 && list.nr == 0) {
		r = err_set(err, -ESRCH, "this user has no other process to sample");
		err_hint(err, "sample all with sudo, or start a command: stacktop -- COMMAND");
	}
	if (r < 0) {
		free(list.tids);
		return r;
	}
	*ret_tids = list.tids;
	*ret_nr = (uint32_t)list.nr;
	return 0;
}
