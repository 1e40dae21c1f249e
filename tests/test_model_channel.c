/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channel keeps the order of commands, the newest snapshot and the newest message. */
#include "config.h"

#include "src/base/util.h"
#include "src/model/command.h"
#include "src/model/snapshot.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

static void the_queue_is_bounded(void **state)
{
	struct channel *ch = channel_new();
	struct command command;
	uint64_t sent = 0, got = 0;

	(void)state;
	assert_non_null(ch);
	assert_false(is_readable(channel_engine_fd(ch)));
	for (int round = 0; round < 5; round++) {
		while (channel_send(ch, (struct command){COMMAND_WINDOW, sent}) == 0)
			sent++;
		assert_int_equal(channel_send(ch, (struct command){COMMAND_QUIT, 0}), -EAGAIN);
		assert_true(sent - got >= 16);
		assert_true(is_readable(channel_engine_fd(ch)));
		while (channel_receive(ch, &command))
			assert_int_equal(command.value, got++);
		assert_int_equal(got, sent);
		assert_false(is_readable(channel_engine_fd(ch)));
	}
	channel_free(ch);
}

static void the_newest_snapshot_wins(void **state)
{
	struct channel *ch = channel_new();
	struct snapshot *a = snapshot_new(1, 1, 1), *b = snapshot_new(2, 2, 2);

	(void)state;
	assert_null(channel_take(ch));
	channel_post(ch, a);
	channel_post(ch, b); /* frees the first */
	assert_true(is_readable(channel_main_fd(ch)));
	assert_ptr_equal(channel_take(ch), b);
	assert_null(channel_take(ch));
	assert_false(is_readable(channel_main_fd(ch)));
	channel_post(ch, b); /* frees it with the channel */
	channel_free(ch);
}

static void a_message_is_not_slept_over(void **state)
{
	struct channel *ch = channel_new();
	char text[600], small[8];
	bool is_error;

	(void)state;
	assert_false(channel_take_message(ch, text, sizeof(text), &is_error));
	channel_post_message(ch, "first", false);
	channel_post_message(ch, "second \033[2J", true);
	assert_null(channel_take(ch));
	assert_true(is_readable(channel_main_fd(ch)));
	assert_true(channel_take_message(ch, text, sizeof(text), &is_error));
	assert_string_equal(text, "second ?[2J");
	assert_true(is_error);
	assert_null(channel_take(ch));
	assert_false(is_readable(channel_main_fd(ch)));
	memset(text, 'x', sizeof(text));
	memcpy(text + 4, "\xe2\x82\xac", 3);
	text[sizeof(text) - 1] = '\0';
	channel_post_message(ch, text, false);
	assert_true(channel_take_message(ch, small, 6, &is_error));
	assert_string_equal(small, "xxxx"); /* the character that does not fit is left out whole */
	channel_free(ch);
}

static void the_newest_of_what_is_visible_wins(void **state)
{
	struct channel *ch = channel_new();
	struct visible rows = {.nr = 1, .keys = {7}}, *taken;

	(void)state;
	assert_null(channel_take_visible(ch));
	assert_int_equal(channel_tell_visible(ch, &rows), 0);
	rows.keys[0] = 8;
	assert_int_equal(channel_tell_visible(ch, &rows), 0);
	rows.keys[0] = 9; /* a copy was made */
	taken = channel_take_visible(ch);
	assert_int_equal(taken->nr, 1);
	assert_int_equal(taken->keys[0], 8);
	free(taken);
	assert_null(channel_take_visible(ch));
	channel_tell_visible(ch, &rows); /* is freed with the channel */
	channel_free(ch);
}

#define NR_COMMANDS 50000

static void *engine(void *arg)
{
	struct channel *ch = arg;
	struct command command;
	uint64_t expected = 0;

	while (expected < NR_COMMANDS) {
		if (!channel_receive(ch, &command)) {
			sched_yield();
			continue;
		}
		if (command.value != expected)
			return (void *)1;
		expected++;
		if (expected % 16 == 0)
			channel_post(ch, snapshot_new(1, 1, 1));
		if (expected % 64 == 0)
			channel_post_message(ch, "busy", false);
	}
	return NULL;
}

/* Each side on its thread: nothing is lost, doubled or out of order. */
static void threads_agree(void **state)
{
	struct channel *ch = channel_new();
	char text[32];
	bool is_error;
	pthread_t thread;
	void *failed;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, engine, ch), 0);
	for (uint64_t i = 0; i < NR_COMMANDS;) {
		if (channel_send(ch, (struct command){COMMAND_SNAPSHOT, i}) == 0)
			i++;
		else
			sched_yield();
		snapshot_free(channel_take(ch));
		channel_take_message(ch, text, sizeof(text), &is_error);
	}
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	channel_free(ch);
}

static void a_snapshot_is_one_block(void **state)
{
	struct snapshot *s = snapshot_new(3, 5, 7);

	(void)state;
	assert_int_equal(s->nr_funcs, 3);
	assert_int_equal(s->nr_nodes, 5);
	assert_int_equal(s->nr_text, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(s->text[i], 0);
	assert_true((char *)&s->funcs[3] <= (char *)s->nodes);
	assert_true((char *)&s->nodes[5] <= s->text);
	snapshot_free(s);
	snapshot_free(NULL);
	s = snapshot_new(0, 0, 0);
	assert_string_equal(snapshot_text(s, 0), "");
	snapshot_free(s);
}

/* Whether it is the first one, or stands in memory that another one has had, smaller or larger. */
static void text_of_a_snapshot_is_not_in_the_next(void **state)
{
	static const uint32_t sizes[] = {1000, 1000, 900, 1100, 1, 5000, 5000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t nr = sizes[i];
		struct snapshot *s = snapshot_new(nr, nr, nr);

		for (uint32_t k = 0; k < nr; k++)
			assert_int_equal(s->text[k], 0);
		memset(s->funcs, 0x5a, nr * sizeof(*s->funcs));
		memset(s->nodes, 0x5a, nr * sizeof(*s->nodes));
		memset(s->text, 0x5a, nr);
		snapshot_free(s);
	}
}

static void complete_is_a_share_of_user_stacks(void **state)
{
	struct health health = {0};

	(void)state;
	assert_true(health_complete_pct(&health) == 100.0);
	health.user_stacks = 8;
	health.complete = 6;
	assert_true(health_complete_pct(&health) == 75.0);
	for (int i = 0; i < HEALTH_STAGE_COUNT; i++)
		assert_true(strlen(health_stage_name((enum health_stage)i)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_queue_is_bounded),
		cmocka_unit_test(the_newest_snapshot_wins),
		cmocka_unit_test(a_message_is_not_slept_over),
		cmocka_unit_test(the_newest_of_what_is_visible_wins),
		cmocka_unit_test(threads_agree),
		cmocka_unit_test(a_snapshot_is_one_block),
		cmocka_unit_test(text_of_a_snapshot_is_not_in_the_next),
		cmocka_unit_test(complete_is_a_share_of_user_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
