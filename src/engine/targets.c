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

/* Wait for the answer to REQUEST on an otherwise idle files connection: an array in memory. */
static int ask_array(struct broker *broker, const struct broker_file_request *request,
		     char **ret_data, size_t *ret_bytes)
{
	uint64_t until_ns = now_ns() + TARGETS_TIMEOUT_NS, time_ns;
	int r = broker_file_ask(broker, request);

	if (r < 0)
		return r;
	while ((time_ns = now_ns()) < until_ns) {
		struct pollfd pfd = {.fd = broker_files_fd(broker), .events = POLLIN};
		struct broker_file_reply reply;

		while (broker_file_next(broker, &reply)) {
			AUTO_CLOSE int fd = reply.fd;

			if (reply.tag != request->tag || reply.kind != request->kind)
				continue;
			return reply.status < 0
				       ? reply.status
				       : read_all(fd, TARGETS_READ_MAX, ret_data, ret_bytes);
		}
		if (poll(&pfd, 1, (int)((until_ns - time_ns) / NS_PER_MSEC) + 1) < 0 &&
		    errno != EINTR)
			return -errno;
		if (pfd.revents & (POLLHUP | POLLERR) && !(pfd.revents & POLLIN))
			return -EPIPE;
	}
	return -ETIMEDOUT;
}

struct tid_list {
	pid_t *tids;
	size_t nr, cap;
};

static int add_tids(struct tid_list *list, const void *tids, size_t nr)
{
	int r = vec_reserve(&list->tids, &list->cap, list->nr + nr, TARGETS_MAX);

	if (r == 0 && nr > 0)
		memcpy(list->tids + list->nr, tids, nr * sizeof(pid_t));
	list->nr += r == 0 ? nr : 0;
	return r;
}

static int add_threads(struct broker *broker, struct tid_list *list, pid_t pid)
{
	struct broker_file_request request = {
		.kind = BROKER_TASKS, .pid = pid, .tag = (uint64_t)pid};
	AUTO_FREE char *data = NULL;
	size_t bytes = 0;
	int r = ask_array(broker, &request, &data, &bytes);

	return r < 0 ? r : add_tids(list, data, bytes / sizeof(pid_t));
}

static int add_user(struct broker *broker, struct tid_list *list, uid_t uid)
{
	struct broker_file_request request = {.kind = BROKER_SCAN};
	AUTO_FREE char *data = NULL;
	size_t bytes = 0;
	int r = ask_array(broker, &request, &data, &bytes);

	if (r < 0)
		return r;
	for (size_t i = 0; i < bytes / sizeof(struct broker_process); i++) {
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

int targets_of(struct broker *broker, const struct engine_config *config, pid_t **ret_tids,
	       uint32_t *ret_nr, struct err *err)
{
	struct tid_list list = {0};
	int r = 0;

	for (uint32_t i = 0; !config->own_tasks && i < config->nr_pids && r == 0; i++) {
		int pid = (int)config->pids[i];

		r = add_threads(broker, &list, pid);
		if ((r == -ENOENT || r == -ESRCH) && config->pids_may_end)
			r = 0;
		else if (r == -ENOENT || r == -ESRCH)
			r = err_set(err, -ESRCH, "no process %d", pid);
		else if (r < 0)
			r = err_set(err, r, "process %d: cannot list its threads: %s", pid,
				    strerror(-r));
	}
	if (config->own_tasks || config->by_user) {
		r = add_user(broker, &list, config->by_user ? config->user : getuid());
		if (r < 0)
			err_set(err, r, "cannot list processes: %s", strerror(-r));
	}
	if (r == 0 && list.nr == 0 && config->by_user)
		r = err_set(err, -ESRCH, "user %u has no process to sample", config->user);
	if (r == 0 && list.nr == 0) {
		r = err_set(err, -ESRCH, "this user has no other process to sample");
		err_hint(err, "sample all with sudo, or start a command: stacktop -- COMMAND");
	}
	if (r == 0 && add_tids(&list, config->live.tids, config->live.nr_tids) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		free(list.tids);
		return r;
	}
	*ret_tids = list.tids;
	*ret_nr = (uint32_t)list.nr;
	return 0;
}
