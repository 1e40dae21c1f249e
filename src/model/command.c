/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The channel between the main thread and the engine thread: a ring of
 * commands and a one-slot mailbox of what is visible one way, one of snapshots and one of messages the
 * other way. Atomic exchanges only; no side ever waits for the other.
 */
#include "config.h"

#include "src/model/command.h"

#include "src/base/text.h"
#include "src/model/snapshot.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CHANNEL_COMMANDS 64 /* a power of two */
#define MESSAGE_TEXT_MAX 512

struct channel_message {
	bool is_error;
	char text[MESSAGE_TEXT_MAX];
};

struct channel {
	struct command commands[CHANNEL_COMMANDS];
	_Atomic uint32_t head, tail; /* written by main, by the engine */
	struct snapshot *_Atomic snapshot;
	struct channel_message *_Atomic message;
	struct visible *_Atomic visible;
	atomic_bool has_failed; /* a snapshot */
	int main_fd, engine_fd;
};

struct channel *channel_new(void)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->main_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ch->engine_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ch->main_fd < 0 || ch->engine_fd < 0)
		return channel_free(ch);
	return ch;
}

struct channel *channel_free(struct channel *ch)
{
	if (!ch)
		return NULL;
	snapshot_free(atomic_load(&ch->snapshot));
	free(atomic_load(&ch->message));
	free(atomic_load(&ch->visible));
	if (ch->main_fd >= 0)
		close(ch->main_fd);
	if (ch->engine_fd >= 0)
		close(ch->engine_fd);
	free(ch);
	return NULL;
}

static void wake(int event_fd)
{
	uint64_t one = 1;

	/* It can only fail when the counter is full, and then the reader is awake anyway. */
	if (write(event_fd, &one, sizeof(one)) < 0)
		return;
}

/* Forget what wake() has written so far. */
static void take_wakes(int event_fd)
{
	uint64_t count;

	if (read(event_fd, &count, sizeof(count)) < 0)
		return;
}

int channel_send(struct channel *ch, struct command command)
{
	uint32_t head = atomic_load_explicit(&ch->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&ch->tail, memory_order_acquire);

	if (head - tail >= CHANNEL_COMMANDS)
		return -EAGAIN;
	ch->commands[head % CHANNEL_COMMANDS] = command;
	atomic_store_explicit(&ch->head, head + 1, memory_order_release);
	wake(ch->engine_fd);
	return 0;
}

bool channel_receive(struct channel *ch, struct command *ret_command)
{
	uint32_t tail = atomic_load_explicit(&ch->tail, memory_order_relaxed);

	take_wakes(ch->engine_fd);
	if (tail == atomic_load_explicit(&ch->head, memory_order_acquire))
		return false;
	*ret_command = ch->commands[tail % CHANNEL_COMMANDS];
	atomic_store_explicit(&ch->tail, tail + 1, memory_order_release);
	return true;
}

int channel_tell_visible(struct channel *ch, const struct visible *visible)
{
	struct visible *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *visible;
	free(atomic_exchange(&ch->visible, copy));
	return 0;
}

struct visible *channel_take_visible(struct channel *ch)
{
	return atomic_exchange(&ch->visible, NULL);
}

void channel_post(struct channel *ch, struct snapshot *snapshot)
{
	snapshot_free(atomic_exchange(&ch->snapshot, snapshot));
	wake(ch->main_fd);
}

struct snapshot *channel_take(struct channel *ch)
{
	struct snapshot *snapshot;

	take_wakes(ch->main_fd);
	snapshot = atomic_exchange(&ch->snapshot, NULL);
	/* The descriptor speaks for the messages too: the wake of one that came just now must not be lost. */
	if (atomic_load(&ch->message) || atomic_load(&ch->has_failed))
		wake(ch->main_fd);
	return snapshot;
}

void channel_post_failure(struct channel *ch)
{
	atomic_store(&ch->has_failed, true);
	wake(ch->main_fd);
}

bool channel_take_failure(struct channel *ch)
{
	return atomic_exchange(&ch->has_failed, false);
}

void channel_post_message(struct channel *ch, const char *text, bool is_error)
{
	struct channel_message *message = calloc(1, sizeof(*message));

	if (!message)
		return;
	message->is_error = is_error;
	text_sanitize(text, strlen(text), message->text, sizeof(message->text));
	free(atomic_exchange(&ch->message, message));
	wake(ch->main_fd);
}

bool channel_take_message(struct channel *ch, char *text, uint32_t size, bool *ret_is_error)
{
	struct channel_message *message = atomic_exchange(&ch->message, NULL);

	if (!message)
		return false;
	if (size)
		text_sanitize(message->text, strlen(message->text), text, size);
	*ret_is_error = message->is_error;
	free(message);
	return true;
}

int channel_main_fd(const struct channel *ch)
{
	return ch->main_fd;
}

int channel_engine_fd(const struct channel *ch)
{
	return ch->engine_fd;
}
