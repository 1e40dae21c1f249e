/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list keeps the cursor on its item and on the screen; the prompt keeps its text whole; keys mean one thing. */
#include "config.h"

#include "src/base/util.h"
#include "src/model/snapshot.h"
#include "ui/keys.h"
#include "ui/list.h"
#include "ui/prompt.h"
#include "ui/ui.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NR_FUNCS  50
#define KEY_OF(i) (1000u + (i))

/* Functions with these weights below one root, the functions called "f00" ... */
static struct snapshot *snapshot_of(const uint64_t *weights, uint32_t nr)
{
	struct snapshot *s = snapshot_new(nr, nr + 1, 1 + nr * 4);

	assert_non_null(s);
	s->nodes[0] = (struct snap_node){
		.parent = SNAPSHOT_NONE,
		.func = SNAPSHOT_NONE,
		.first_child = 1,
		.next_sibling = SNAPSHOT_NONE,
	};
	for (uint32_t i = 0; i < nr; i++) {
		snprintf(s->text + 1 + i * 4, 4, "f%02u", i % 100);
		s->funcs[i] = (struct snap_func){
			.key = KEY_OF(i),
			.name = 1 + i * 4,
			.self = weights[i],
			.total = weights[i],
			.is_named = true,
		};
		s->nodes[i + 1] = (struct snap_node){
			.key = KEY_OF(i),
			.parent = 0,
			.func = i,
			.first_child = SNAPSHOT_NONE,
			.next_sibling = i + 1 < nr ? i + 2 : SNAPSHOT_NONE,
			.self = weights[i],
			.total = weights[i],
		};
		s->total += weights[i];
	}
	return s;
}

static void build(struct list *list, const uint64_t *weights, uint32_t nr)
{
	const struct view_query query = {
		.kind = VIEW_FUNCTIONS,
		.sort = VIEW_SORT_SELF,
		.fold = list->fold,
	};
	struct snapshot *s = snapshot_of(weights, nr);

	assert_int_equal(list_build(list, s, &query), 0);
	snapshot_free(s);
}

static void descending(uint64_t *weights, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		weights[i] = 1000 - i;
}

static bool cursor_is_visible(const struct list *list)
{
	return list->cursor >= list->top && list->cursor < list->top + list->height;
}

static void cursor_follows_its_item(void **state)
{
	uint64_t weights[NR_FUNCS];
	struct list list;

	(void)state;
	descending(weights, NR_FUNCS);
	assert_int_equal(list_init(&list), 0);
	list_set_height(&list, 10);
	build(&list, weights, NR_FUNCS);
	list_go(&list, 3);
	assert_int_equal(list_row(&list)->key, KEY_OF(3));
	weights[3] = 1; /* to the very end */
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list.cursor, NR_FUNCS - 1);
	assert_int_equal(list_row(&list)->key, KEY_OF(3));
	assert_true(cursor_is_visible(&list));
	weights[3] = 5000; /* to the very top */
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list.cursor, 0);
	assert_int_equal(list.top, 0);
	list_done(&list);
}

static void cursor_nobody_moved_stays_on_top(void **state)
{
	uint64_t weights[NR_FUNCS];
	struct list list;

	(void)state;
	descending(weights, NR_FUNCS);
	assert_int_equal(list_init(&list), 0);
	build(&list, weights, NR_FUNCS);
	weights[7] = 5000;
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list_row(&list)->key, KEY_OF(7));
	list_go(&list, 0); /* now it is chosen */
	weights[8] = 6000;
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list_row(&list)->key, KEY_OF(7));
	list_release(&list);
	assert_int_equal(list_row(&list)->key, KEY_OF(8));
	list_done(&list);
}

static void other_rows_are_shown_from_the_first_one(void **state)
{
	uint64_t weights[NR_FUNCS];
	struct list list;

	(void)state;
	descending(weights, NR_FUNCS);
	assert_int_equal(list_init(&list), 0);
	list_set_height(&list, 10);
	build(&list, weights, NR_FUNCS);
	list_go(&list, 20);
	weights[20] = 995; /* to the sixth place */
	list_from_top(&list);
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list.top, 0);
	assert_int_equal(list_row(&list)->key, KEY_OF(20));
	weights[20] = 1; /* that was only for once: it is followed again */
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list_row(&list)->key, KEY_OF(20));
	assert_true(list.top > 0);
	list_from_top(&list);
	build(&list, weights, NR_FUNCS);
	assert_int_equal(list.top, 0);
	assert_int_equal(list.cursor, 0);
	list_done(&list);
}

static void lost_item_leaves_the_cursor_in_place(void **state)
{
	uint64_t weights[NR_FUNCS];
	struct list list;

	(void)state;
	descending(weights, NR_FUNCS);
	assert_int_equal(list_init(&list), 0);
	list_set_height(&list, 10);
	build(&list, weights, NR_FUNCS);
	list_go(&list, 40);
	build(&list, weights, 5);
	assert_int_equal(list.cursor, 4);
	assert_true(cursor_is_visible(&list));
	build(&list, weights, 0);
	assert_null(list_row(&list));
	list_go(&list, 17);
	assert_null(list_row(&list));
	build(&list, weights, NR_FUNCS);
	assert_non_null(list_row(&list));
	list_done(&list);
}

static void every_height_shows_the_cursor(void **state)
{
	uint64_t weights[NR_FUNCS];
	struct list list;

	(void)state;
	descending(weights, NR_FUNCS);
	assert_int_equal(list_init(&list), 0);
	build(&list, weights, NR_FUNCS);
	for (uint32_t height = 0; height <= 2 * NR_FUNCS; height += 3) {
		for (int64_t to = -5; to < NR_FUNCS + 5; to += 4) {
			list_go(&list, to);
			list_set_height(&list, height);
			assert_true(cursor_is_visible(&list));
			assert_true(list.top == 0 || list.top + list.height <= NR_FUNCS);
		}
	}
	list_done(&list);
}

static void chains_belong_to_their_subtree(void **state)
{
	/* a (b (c (d e)) f) g, where c continues b's chain */
	struct view_row rows[] = {
		{.key = 'a', .depth = 0},
		{.key = 'b', .depth = 1},
		{.key = 'c', .depth = 1, .is_chain = true},
		{.key = 'd', .depth = 2},
		{.key = 'e', .depth = 2},
		{.key = 'f', .depth = 1},
		{.key = 'g', .depth = 0},
	};
	const struct view view = {.rows = rows, .nr_rows = ARRAY_SIZE(rows)};
	static const int64_t parents[] = {-1, 0, 1, 2, 2, 0, -1};
	static const uint32_t ends[] = {6, 5, 5, 4, 5, 6, 7};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(list_parent(&view, i), parents[i]);
		assert_int_equal(list_subtree_end(&view, i), ends[i]);
	}
}

static void type(struct prompt *prompt, const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(prompt_key(prompt, (unsigned char)*keys, false), PROMPT_GOES_ON);
}

static void prompt_edits_whole_characters(void **state)
{
	struct prompt prompt = {0};

	(void)state;
	prompt_open(&prompt, PROMPT_SEARCH, "");
	type(&prompt, "ab");
	prompt_key(&prompt, 0xe9, false);   /* é */
	prompt_key(&prompt, 0x65e5, false); /* 日 */
	assert_string_equal(prompt.text, "ab\u00e9\u65e5");
	prompt_key(&prompt, KEY_BACKSPACE, true);
	assert_string_equal(prompt.text, "ab\u00e9");
	prompt_key(&prompt, KEY_LEFT, true);
	type(&prompt, "x");
	assert_string_equal(prompt.text, "abx\u00e9");
	prompt_key(&prompt, KEY_HOME, true);
	prompt_key(&prompt, KEY_DC, true);
	prompt_key(&prompt, KEY_END, true);
	prompt_key(&prompt, 0x7f, false);
	assert_string_equal(prompt.text, "bx");
	for (int i = 0; i < 5; i++)
		prompt_key(&prompt, KEY_BACKSPACE, true);
	assert_string_equal(prompt.text, "");
	prompt_key(&prompt, KEY_DC, true);
	prompt_key(&prompt, KEY_RIGHT, true);
	assert_int_equal(prompt.at, 0);
}

static void prompt_takes_nothing_harmful(void **state)
{
	static const int bad[] = {0,	  1,	  7,	  '\t',	    0x80,     0x9b,
				  0x202e, 0x200b, 0xd800, 0x10ffff, 0x110000, -1};
	struct prompt prompt = {0};

	(void)state;
	prompt_open(&prompt, PROMPT_SAVE, "evil\x1b]0;x\a\xff name");
	assert_null(strpbrk(prompt.text, "\x1b\a\xff"));
	prompt_open(&prompt, PROMPT_SEARCH, "");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		prompt_key(&prompt, bad[i], false);
	assert_string_equal(prompt.text, "");
	for (int i = 0; i < 2 * PROMPT_TEXT_MAX; i++)
		prompt_key(&prompt, 0x65e5, false);
	assert_true(prompt.len < sizeof(prompt.text));
	assert_int_equal(prompt.len % 3, 0);
	assert_int_equal(strlen(prompt.text), prompt.len);
}

static void prompt_remembers_what_was_accepted(void **state)
{
	struct prompt prompt = {0};

	(void)state;
	prompt_open(&prompt, PROMPT_SEARCH, "");
	type(&prompt, "first");
	assert_int_equal(prompt_key(&prompt, '\r', false), PROMPT_ACCEPTED);
	assert_int_equal(prompt.kind, PROMPT_NONE);
	assert_string_equal(prompt.text, "first");
	prompt_open(&prompt, PROMPT_SEARCH, "");
	type(&prompt, "second");
	assert_int_equal(prompt_key(&prompt, 0x1b, false), PROMPT_CANCELLED);
	prompt_open(&prompt, PROMPT_SEARCH, "");
	prompt_key(&prompt, KEY_UP, true);
	assert_string_equal(prompt.text, "first");
	prompt_open(&prompt, PROMPT_SAVE, "name");
	prompt_key(&prompt, KEY_UP, true);
	assert_string_equal(prompt.text, "name");
}

static void keys_of_other_releases_are_silent(void **state)
{
	static const char later[] = "p8";

	(void)state;
	for (size_t i = 0; later[i]; i++) {
		char word[2] = {later[i], '\0'};

		assert_int_equal(keys_request(later[i], false), REQUEST_NONE);
		for (size_t j = 0; j < ui_nr_keys; j++)
			assert_string_not_equal(ui_keys[j].keys, word);
	}
	assert_int_equal(keys_request(KEY_UP, false), REQUEST_NONE);
	assert_int_equal(keys_request('q', true), REQUEST_NONE);
	assert_int_equal(keys_request(0, false), REQUEST_NONE);
	assert_int_equal(keys_request(-1, false), REQUEST_NONE);
	assert_int_equal(keys_request(INT32_MIN, true), REQUEST_NONE);
}

/* Each key that help shows does something, and stands there once. */
static void keys_in_the_help_do_something(void **state)
{
	bool seen[128] = {false};

	(void)state;
	for (size_t i = 0; i < ui_nr_keys; i++) {
		char words[32], *rest = words, *word;

		assert_true(strlen(ui_keys[i].help) > 0 && strlen(ui_keys[i].group) > 0);
		snprintf(words, sizeof(words), "%s", ui_keys[i].keys);
		while ((word = strsep(&rest, " ")) != NULL) {
			if (strlen(word) != 1)
				continue;
			assert_int_not_equal(keys_request(word[0], false), REQUEST_NONE);
			assert_false(seen[(unsigned char)word[0]]);
			seen[(unsigned char)word[0]] = true;
		}
	}
	assert_int_equal(keys_request(' ', false), REQUEST_FREEZE);
	assert_int_equal(keys_request(KEY_F(1), true), REQUEST_HELP);
	assert_int_equal(keys_request('\t', false), REQUEST_VIEW_NEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cursor_follows_its_item),
		cmocka_unit_test(cursor_nobody_moved_stays_on_top),
		cmocka_unit_test(other_rows_are_shown_from_the_first_one),
		cmocka_unit_test(lost_item_leaves_the_cursor_in_place),
		cmocka_unit_test(every_height_shows_the_cursor),
		cmocka_unit_test(chains_belong_to_their_subtree),
		cmocka_unit_test(prompt_edits_whole_characters),
		cmocka_unit_test(prompt_takes_nothing_harmful),
		cmocka_unit_test(prompt_remembers_what_was_accepted),
		cmocka_unit_test(keys_of_other_releases_are_silent),
		cmocka_unit_test(keys_in_the_help_do_something),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
