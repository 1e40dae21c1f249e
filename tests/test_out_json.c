/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Documents are valid JSON for a real parser whatever the names hold and
 * however deep the tree is, and say what the snapshot says.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/out/json.h"
#include "src/out/out.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Run FILTER of jq over TEXT, its output in OUT. False: no jq on this machine. */
static bool ask_jq(const char *text, const char *filter, char *out, size_t size)
{
	char path[] = "/tmp/stacktop-json-XXXXXX", command[512];
	int fd = mkstemp(path);
	size_t len;
	FILE *f;

	if (system("command -v jq >/dev/null") != 0) {
		close(fd);
		unlink(path);
		return false;
	}
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	snprintf(command, sizeof(command), "jq -j '%s' %s 2>&1", filter, path);
	f = popen(command, "r");
	assert_non_null(f);
	len = fread(out, 1, size - 1, f);
	out[len] = '\0';
	assert_int_equal(pclose(f), 0);
	unlink(path);
	return true;
}

static void every_string_comes_back_or_is_replaced(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"quote\" back\\slash", "quote\" back\\slash"},
		{"tab\tnewline\nescape\033[0m", "tab\tnewline\nescape\033[0m"},
		{"\x01\x1f\x7f", "\x01\x1f\x7f"},
		{"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		 "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"bad \xff\xfe cut \xe2\x82",
		 "bad \xef\xbf\xbd\xef\xbf\xbd cut \xef\xbf\xbd\xef\xbf\xbd"},
		{"overlong \xc0\xaf surrogate \xed\xa0\x80",
		 "overlong \xef\xbf\xbd\xef\xbf\xbd surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"</script> $(id) `id` %s%n", "</script> $(id) `id` %s%n"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = NULL;
		size_t len;
		struct json json = {.stream = open_memstream(&text, &len)};
		char back[256];

		json_open(&json, NULL, '{');
		json_string(&json, "k", cases[i].in);
		json_close(&json, '}');
		json_flush(&json);
		fclose(json.stream);
		if (!ask_jq(text, ".k", back, sizeof(back)))
			skip();
		assert_string_equal(back, cases[i].out);
	}
}

static void numbers_are_json_numbers(void **state)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	struct json json = {.stream = open_memstream(&text, &len)};

	(void)state;
	json_open(&json, NULL, '[');
	json_u64(&json, NULL, UINT64_MAX);
	json_real(&json, NULL, 1.0 / 3);
	json_real(&json, NULL, -2.5);
	json_real(&json, NULL, -0.0001);
	json_real(&json, NULL, NAN);
	json_real(&json, NULL, INFINITY);
	json_bool(&json, NULL, true);
	json_close(&json, ']');
	json_flush(&json);
	fclose(json.stream);
	assert_string_equal(text, "[18446744073709551615,0.333,-2.500,0.000,null,null,true]");
}

/* main (no self) -> a chain of LEVELS functions called f, each with a brother leaf "hostile". */
static struct snapshot *make_snapshot(uint32_t levels)
{
	static const char names[] = "\0main\0f\0he said \"no\\\x01\"\0libx.so\0host";
	enum { MAIN = 1, F = 6, HOSTILE = 8, OBJECT = 23, HOST = 31 };
	struct snapshot *s = snapshot_new(3, 2 + 2 * levels, sizeof(names));
	uint32_t above = 1;

	assert_non_null(s);
	memcpy(s->text, names, sizeof(names));
	s->hostname = s->kernel = HOST;
	s->total = s->nr_samples = 2ull * levels;
	s->settings.mode = STACK_MODE_DWARF;
	s->settings.stack_bytes = 16384;
	s->settings.freq_asked_hz = 999;
	s->funcs[0] =
		(struct snap_func){.key = 1, .name = MAIN, .object = OBJECT, .total = s->total};
	s->funcs[1] = (struct snap_func){
		.key = 2, .name = F, .object = OBJECT, .self = levels, .total = s->total};
	s->funcs[2] = (struct snap_func){
		.key = 3, .name = HOSTILE, .object = OBJECT, .self = levels, .total = levels};
	s->nodes[0] = (struct snap_node){.parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = 1,
					 .next_sibling = SNAPSHOT_NONE,
					 .total = s->total};
	s->nodes[1] = (struct snap_node){.key = 11,
					 .func = 0,
					 .first_child = 2,
					 .next_sibling = SNAPSHOT_NONE,
					 .total = s->total};
	for (uint32_t i = 0; i < levels; i++) {
		uint32_t f = 2 + 2 * i;

		s->nodes[f] =
			(struct snap_node){.key = 100 + f,
					   .parent = above,
					   .func = 1,
					   .first_child = i + 1 < levels ? f + 2 : SNAPSHOT_NONE,
					   .next_sibling = f + 1,
					   .self = 1,
					   .total = 2ull * (levels - i) - 1};
		s->nodes[f + 1] = (struct snap_node){.key = 100 + f + 1,
						     .parent = above,
						     .func = 2,
						     .first_child = SNAPSHOT_NONE,
						     .next_sibling = SNAPSHOT_NONE,
						     .self = 1,
						     .total = 1};
		above = f;
	}
	return s;
}

static char *write_view(const struct snapshot *s, struct view_query query, size_t *ret_len)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, ret_len);

	assert_non_null(stream);
	assert_int_equal(out_json(stream, s, &query), 0);
	fclose(stream);
	return text;
}

static char *write_document(const struct snapshot *s, size_t *ret_len)
{
	return write_view(s, (struct view_query){.kind = VIEW_FUNCTIONS}, ret_len);
}

static void a_document_says_what_the_snapshot_says(void **state)
{
	struct snapshot *s = make_snapshot(3);
	AUTO_FREE char *text = NULL;
	char out[512];
	size_t len;

	(void)state;
	s->health.samples = 10;
	s->health.user_stacks = 9;
	s->health.complete = s->health.ends[STACK_END_ROOT] = 5;
	s->health.stitched = s->health.ends[STACK_END_STITCHED] = 1;
	s->health.ends[STACK_END_TRUNCATED] = 2;
	s->health.ends[STACK_END_NO_CFI] = 1;
	s->health.ends[STACK_END_KERNEL] = 1;
	s->health.elapsed_ns = 2000000000;
	s->health.own_cpu_ns = 20000000;
	text = write_document(s, &len);
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	if (!ask_jq(text,
		    "[.host, .mode, .freq_asked, .stack_bytes, .health.complete,"
		    " .health.incomplete.truncated, .health.incomplete[\"no-cfi\"],"
		    " (.health.incomplete | length), .health.lost_read, .health.own_cpu_percent,"
		    " (.functions | map(.name)), .functions[1].self, .view, has(\"tree\")] | tojson",
		    out, sizeof(out)))
		skip();
	assert_string_equal(out, "[\"host\",\"dwarf\",999,16384,5,2,1,2,null,1,"
				 "[\"f\",\"he said \\\"no\\\\\\u0001\\\"\",\"main\"],3,"
				 "\"functions\",false]");
	snapshot_free(s);
}

static void a_document_tells_of_its_recording(void **state)
{
	struct snapshot *s = make_snapshot(3);
	AUTO_FREE char *live = write_document(s, &(size_t){0}), *text = NULL;
	char out[512];

	(void)state;
	s->recording = (struct snap_recording){
		.is_recording = true,
		.is_reading = true,
		.file = s->hostname,
		.done_bytes = 5,
		.event = 1,
		.nr_events = 2,
		.events = {{.name = s->hostname, .nr_samples = 1},
			   {.name = s->funcs[1].name, .nr_samples = 6}},
	};
	text = write_document(s, &(size_t){0});
	snapshot_free(s);
	if (!ask_jq(live, ".recording", out, sizeof(out)))
		skip();
	assert_string_equal(out, "null");
	ask_jq(text, "[.window_s, .freq_achieved, .recording] | tojson", out, sizeof(out));
	assert_string_equal(out,
			    "[null,null,{\"file\":\"host\",\"pipe\":false,\"reading\":true,"
			    "\"read_bytes\":5,\"total_bytes\":null,\"trouble\":\"\",\"events\":["
			    "{\"event\":\"host\",\"samples\":1,\"shown\":false},"
			    "{\"event\":\"f\",\"samples\":6,\"shown\":true}],"
			    "\"not_shown\":\"\"}]");
}

static void a_view_has_its_own_rows_only(void **state)
{
	struct snapshot *s = make_snapshot(3);
	AUTO_FREE char *tree =
		write_view(s, (struct view_query){.kind = VIEW_TREE, .min_pct = 40}, &(size_t){0});
	AUTO_FREE char *callers =
		write_view(s, (struct view_query){.kind = VIEW_CALLERS, .min_pct = 40, .limit = 5},
			   &(size_t){0});
	AUTO_FREE char *health =
		write_view(s, (struct view_query){.kind = VIEW_HEALTH}, &(size_t){0});
	char out[512];

	(void)state;
	snapshot_free(s);
	/* main 6, f 5, f 3; hostile 1 each. */
	if (!ask_jq(tree,
		    "[has(\"functions\"), .min_percent, [.tree | recurse(.children[]) |"
		    " [.name, .self, .total]]] | tojson",
		    out, sizeof(out)))
		skip();
	assert_string_equal(out, "[false,40,[[\"[all]\",0,6],[\"main\",0,6],[\"f\",1,5],"
				 "[\"f\",1,3]]]");
	ask_jq(callers, "[has(\"tree\"), [.callers[] | [.level, .name[:2], .self]]] | tojson", out,
	       sizeof(out));
	assert_string_equal(out, "[false,[[0,\"f\",3],[1,\"f\",2],[2,\"[o\",2],[1,\"[o\",1],"
				 "[0,\"he\",3]]]");
	ask_jq(health, "[.view, has(\"tree\"), has(\"functions\"), has(\"health\")] | tojson", out,
	       sizeof(out));
	assert_string_equal(out, "[\"health\",false,false,true]");
}

/* All of a tree is in the document: summed over `tree` and `continued`, no node lost or doubled. */
static void a_deep_tree_is_whole_for_a_shallow_parser(void **state)
{
	static const uint32_t levels[] = {1, 78, 79, 80, 81, 500, 5000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		struct snapshot *s = make_snapshot(levels[i]);
		AUTO_FREE char *text = NULL;
		char out[512], expected[64];
		size_t len;

		text = write_view(s, (struct view_query){.kind = VIEW_TREE}, &len);
		snapshot_free(s);
		if (!ask_jq(text,
			    "def nodes: ., (.children[] | nodes);"
			    "[.tree, .continued[]] | [.[] | nodes] |"
			    "[(map(select(has(\"continued\") | not) | .self) | add),"
			    " (map(select(has(\"continued\"))) | length)] | tojson",
			    out, sizeof(out)))
			skip();
		snprintf(expected, sizeof(expected), "[%u,", 2 * levels[i]);
		assert_memory_equal(out, expected, strlen(expected));
	}
}

static void a_full_device_is_an_error(void **state)
{
	struct view_query query = {.kind = VIEW_FUNCTIONS};
	struct snapshot *s = make_snapshot(3);
	struct view view = {0};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		skip();
	assert_int_equal(out_json(full, s, &query), -ENOSPC);
	clearerr(full);
	assert_int_equal(view_build(&view, s, &query), 0);
	assert_int_equal(out_text(full, s, &view, &query, true), -ENOSPC);
	fclose(full);
	view_done(&view);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_string_comes_back_or_is_replaced),
		cmocka_unit_test(numbers_are_json_numbers),
		cmocka_unit_test(a_document_says_what_the_snapshot_says),
		cmocka_unit_test(a_document_tells_of_its_recording),
		cmocka_unit_test(a_view_has_its_own_rows_only),
		cmocka_unit_test(a_deep_tree_is_whole_for_a_shallow_parser),
		cmocka_unit_test(a_full_device_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
