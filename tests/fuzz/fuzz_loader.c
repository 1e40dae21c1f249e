/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Both ends of the loader's protocol. First byte even: a loader that was taken
 * over answers the engine's client. Odd: a client that was taken over asks the
 * loader. The rest is a row of actions and what they send.
 */
#include "config.h"

#include "src/loader/instructions.h"
#include "src/loader/server.c"
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>

#define ACTIONS_MAX 16

/* Up to LEN bytes of IN over those at OUT. */
static void overlay(struct reader *in, void *out, size_t len)
{
	size_t n = reader_left(in) < len ? reader_left(in) : len;

	if (n > 0)
		memcpy(out, reader_bytes(in, n), n);
}

static void make_pair(int pair[2])
{
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
}

/* --- a lying loader --- */

struct liar {
	int sock;
	struct protocol_request last;
	int output, names;
};

static void liar_stop(struct liar *liar)
{
	int *fds[] = {&liar->sock, &liar->output, &liar->names};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (*fds[i] >= 0)
			close(steal_fd(fds[i]));
}

static int liar_start(void *context, int *ret_sock, pid_t *ret_pid)
{
	struct liar *liar = context;
	int pair[2];

	liar_stop(liar);
	make_pair(pair);
	*ret_sock = pair[0];
	liar->sock = pair[1];
	*ret_pid = 1;
	return 0;
}

static void liar_kill(void *context, pid_t pid)
{
	(void)pid;
	liar_stop(context);
}

static void keep(int *at, int fd)
{
	if (*at >= 0)
		close(*at);
	*at = fd;
}

/* What the client has sent so far. */
static void liar_listen(struct liar *liar)
{
	int fd;

	while (liar->sock >= 0 &&
	       msg_recv(liar->sock, &liar->last, sizeof(liar->last), &fd, MSG_DONTWAIT) > 0) {
		if (fd >= 0 && liar->last.role == PROTOCOL_ROLE_OUTPUT)
			keep(&liar->output, fd);
		else if (fd >= 0 && liar->last.role == PROTOCOL_ROLE_NAMES)
			keep(&liar->names, fd);
		else if (fd >= 0)
			close(fd);
	}
}

static void fill(int fd, const void *data, size_t len)
{
	void *map = fd < 0 || len == 0 ? MAP_FAILED
				       : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return;
	memcpy(map, data, len);
	munmap(map, len);
}

static void liar_reply(struct liar *liar, struct reader *in, uint8_t flags)
{
	struct protocol_reply reply = {
		.version = PROTOCOL_VERSION,
		.kind = liar->last.kind,
		.serial = liar->last.serial,
	};
	bool is_names = reply.kind == PROTOCOL_NAMES || reply.kind == PROTOCOL_KERNEL_NAMES;
	size_t len = reader_u16(in) % 8192;
	struct {
		struct protocol_names head;
		uint8_t rest[8192];
	} bytes = {{.nr = liar->last.nr_offs}, {0}};

	if (is_names && flags & 8) {
		size_t fixed = sizeof(bytes.head) + bytes.head.nr * sizeof(struct protocol_name);

		len = len < fixed ? fixed : len;
		bytes.head.text_bytes = (uint32_t)(len - fixed);
		overlay(in, bytes.rest, len - sizeof(bytes.head));
		for (uint32_t i = 0; i < bytes.head.nr;
		     i++) /* offsets as asked, else all is refused */
			memcpy(bytes.rest + i * sizeof(struct protocol_name), &liar->last.offs[i],
			       8);
	} else {
		overlay(in, &bytes, len);
	}
	reply.output_bytes = len;
	fill(is_names ? liar->names : liar->output, &bytes, len);
	if (!is_names && liar->output >= 0 && flags & 16 &&
	    ftruncate(liar->output, (off_t)len) == 0 && flags & 32)
		fcntl(liar->output, F_ADD_SEALS, PROTOCOL_SEALS);
	if (flags & 64)
		overlay(in, &reply, sizeof(reply));
	msg_send(liar->sock, &reply, sizeof(reply), -1, MSG_DONTWAIT);
}

static void liar_act(struct liar *liar, struct reader *in)
{
	struct protocol_hello hello = {.version = PROTOCOL_VERSION};
	uint8_t flags = reader_u8(in);
	uint8_t raw[512] = {0};
	size_t len;

	liar_listen(liar);
	if (liar->sock < 0)
		return;
	switch (flags % 4) {
	case 0:
		msg_send(liar->sock, &hello, sizeof(hello), -1, MSG_DONTWAIT);
		break;
	case 1:
		len = reader_u16(in) % sizeof(raw) + 1;
		overlay(in, raw, len);
		msg_send(liar->sock, raw, len, flags & 8 ? liar->sock : -1, MSG_DONTWAIT);
		break;
	default:
		liar_reply(liar, in, flags);
	}
}

static void use_reply(const struct loader_reply *reply)
{
	struct instructions instructions;
	const void *map;
	struct table table;
	size_t len;

	must(reply->status < LOADER_STATUS_COUNT && reply->build_id_bytes <= 20);
	must(!strchr(reply->debuglink, '/'));
	for (uint32_t i = 0; i < reply->nr_names; i++) {
		const struct loader_name *name = &reply->names[i];

		must(name->from <= name->off && name->off <= name->last);
		use(name->name ? strlen(name->name) : 0);
		use(name->object ? strlen(name->object) : 0);
	}
	if (reply->blob_fd < 0)
		return;
	if (memfd_map(reply->blob_fd, TABLE_BYTES_MAX, &map, &len) == 0) {
		use((uint64_t)table_open(map, len, &table));
		munmap((void *)(uintptr_t)map, len);
	}
	if (instructions_take(reply->blob_fd, &instructions) == 0)
		instructions_done(&instructions);
	close(reply->blob_fd);
}

static void fuzz_client(struct reader *in)
{
	static const uint64_t offs[] = {0x1000, 0x1234, 0xffffffff81000000};
	struct liar liar = {.sock = -1, .output = -1, .names = -1};
	struct loader_spawner spawner = {liar_start, liar_kill, &liar};
	struct loader_client *client = loader_client_new(&spawner);
	struct loader_reply reply;
	uint64_t time_ns = NS_PER_SEC;

	must(client);
	for (uint32_t module = 0; module < 3; module++) {
		must(loader_add_module(client, module, memory_file("x", 1)) == 0);
		loader_request_names(client, module, offs, ARRAY_SIZE(offs));
		if (module != LOADER_KERNEL) {
			loader_request_table(client, module);
			loader_request_return_addrs(client, module);
			loader_request_code(client, module, offs[0], offs[1]);
		}
	}
	for (int i = 0; i < ACTIONS_MAX && reader_left(in) > 0; i++) {
		loader_tick(client, time_ns);
		liar_act(&liar, in);
		while (loader_next_reply(client, &reply))
			use_reply(&reply);
		time_ns += reader_u16(in) * (NS_PER_MSEC / 8);
	}
	loader_client_free(client);
	liar_stop(&liar);
}

/* --- a lying client --- */

static void client_send(int sock, struct reader *in)
{
	struct protocol_request request = {
		.version = PROTOCOL_VERSION,
		.kind = reader_u8(in) % (PROTOCOL_KIND_COUNT + 1),
		.role = reader_u8(in) % (PROTOCOL_ROLE_COUNT + 1),
		.nr_offs = reader_u8(in),
		.serial = 1,
		.file_key = reader_u8(in) % 3,
		.output_max = 1 << 16,
	};
	uint8_t flags = reader_u8(in);
	size_t len = reader_u16(in);
	int fd = -1;

	if (flags & 1)
		overlay(in, &request, sizeof(request) / 64);
	request.output_max %= 1 << 20;
	overlay(in, request.offs, request.nr_offs % 4 * 8);
	if (flags & 2) {
		uint8_t *file = calloc(1, len + 1);

		must(file);
		overlay(in, file, len);
		fd = memory_file(file, len);
		free(file);
		/* Memory files to be filled are as large as told: a shorter one is a deadly signal. */
		must(request.role == PROTOCOL_ROLE_FILE || ftruncate(fd, 1 << 20) == 0);
	}
	msg_send(sock, &request, flags & 4 ? sizeof(request) : sizeof(request) - 1, fd,
		 MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
}

static void fuzz_server(struct reader *in)
{
	static struct loader_server server;
	int pair[2];

	make_pair(pair);
	server_init(&server);
	for (int i = 0; i < ACTIONS_MAX && reader_left(in) > 0; i++)
		client_send(pair[0], in);
	shutdown(pair[0], SHUT_WR);
	server_run(&server, pair[1]);
	server_done(&server);
	close(pair[0]);
	close(pair[1]);
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
