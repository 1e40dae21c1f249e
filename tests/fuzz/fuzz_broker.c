/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Both ends of the broker's protocol: answers of any kind to the client, and
 * requests of any kind to what opens files. Events, children and reports are
 * left out: they would do to this machine what they say.
 */
#include "config.h"

#include "src/broker/broker.c"
#include "src/broker/files.h"
#include "tests/fuzz/fuzz.h"

#define MESSAGES_MAX 12

/* The first LEN bytes of a message are the input's, as far as it goes. */
static void send_some(int sock, struct reader *in, size_t whole)
{
	uint8_t message[1024] = {0};
	uint8_t flags = reader_u8(in);
	size_t len = flags & 1 ? whole : reader_u16(in) % sizeof(message) + 1;
	size_t n = MIN(len, whole);
	int fd = flags & 2 ? memory_file("x", 1) : -1;

	n = MIN(n, reader_left(in));
	if (n > 0)
		memcpy(message, reader_bytes(in, n), n);
	msg_send(sock, message, len, fd, MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
}

static void use_files(struct broker *broker)
{
	const struct broker_file_request request = {.kind = BROKER_SCAN, .tag = 1};
	struct broker_file_reply reply;

	broker_file_ask(broker, &request);
	while (broker_file_next(broker, &reply)) {
		use(reply.tag);
		if (reply.fd >= 0)
			close(reply.fd);
	}
}

static void use_control(struct broker *broker)
{
	struct perf_event_attr attr = {0};
	uint64_t cpu_ns, rss_bytes;
	int fd = broker_perf_open(broker, &attr, -1, 0, 1), sock;
	pid_t pid;

	if (fd >= 0)
		close(fd);
	if (broker_start_loader(broker, &sock, &pid) == 0)
		close(sock);
	must(broker_usage(broker, &cpu_ns, &rss_bytes) <= 0);
	broker_kill_loader(broker, 1);
	use(broker_watch(broker, &cpu_ns, &rss_bytes));
}

static void use_stacks(struct broker *broker)
{
	struct broker_stacks_request request = {.nr = 1};
	struct broker_stacks_reply reply;
	uint8_t *data;

	broker_stacks_ask(broker, &request);
	while (broker_stacks_next(broker, &reply, &data))
		for (uint32_t i = 0; i < reply.nr; i++) {
			must(reply.stacks[i].at <= BROKER_BATCH_BYTES - reply.stacks[i].bytes);
		}
}

static void fuzz_client(struct reader *in)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	int control[2], files[2], stacks[2];

	must(broker);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control) == 0);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, files) == 0);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, stacks) == 0);
	*broker = (struct broker){.pid = getpid(),
				  .control = control[0],
				  .files = files[0],
				  .stacks = stacks[0],
				  .life = -1};
	must(map_areas(broker) == 0);
	for (int i = 0; i < MESSAGES_MAX && reader_left(in) > 0; i++) {
		switch (reader_u8(in) % 6) {
		case 0:
			send_some(control[1], in, sizeof(struct control_reply));
			break;
		case 1:
			send_some(files[1], in, sizeof(struct broker_file_reply));
			break;
		case 2:
			use_control(broker);
			break;
		case 3:
			send_some(stacks[1], in, sizeof(struct broker_stacks_reply));
			break;
		case 4:
			use_stacks(broker);
			break;
		default:
			use_files(broker);
		}
	}
	broker_stop(broker);
	close(control[1]);
	close(files[1]);
	close(stacks[1]);
}

static void fuzz_server(struct reader *in)
{
	static int (*const opens[])(const struct broker_file_request *) = {
		files_open_mapped, files_open_debug, files_open_debuglink};
	struct broker_file_request request = {0};
	const uint8_t *p;
	size_t n;
	int fd;

	n = MIN(sizeof(request), reader_left(in));
	p = reader_bytes(in, n);
	if (p)
		memcpy(&request, p, n);
	request.pid = getpid();
	fd = opens[request.kind % ARRAY_SIZE(opens)](&request);
	if (fd >= 0)
		close(fd);
	if (files_is_component(request.name, sizeof(request.name)))
		must(!strchr(request.name, '/') && request.name[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(data, size);
	int before = free_descriptor();

	if (reader_u8(&in) % 2)
		fuzz_server(&in);
	else
		fuzz_client(&in);
	must(free_descriptor() == before);
	return 0;
}
