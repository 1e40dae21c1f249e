/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a word of --cgroup means: in a folder that is laid out like a hierarchy of control groups. */
#include "config.h"

#include "src/base/util.h"
#include "src/cgroup.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ID "3f2a91c0de117aa39d8b0c15c8d2ee6a35bd4f51a5d4e6b7c8091a2b3c4d5e6f"
#define OTHER_ID       \
	"3f2a00000000" \
	"7aa39d8b0c15c8d2ee6a35bd4f51a5d4e6b7c8091a2b3c4d5e6f"

static char top[] = "/tmp/stacktop-test-cgroup-XXXXXX";
static struct cgroup_roots roots;

/* The group PATH, with PROCS in it. */
static void make_group(const char *path, const char *procs)
{
	char name[PATH_MAX];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", top, path);
	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(name, sizeof(name), "%s%s/cgroup.procs", top, path);
	file = fopen(name, "w");
	assert_non_null(file);
	fputs(procs, file);
	fclose(file);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	make_group("/system.slice", "");
	make_group("/system.slice/nginx.service", "12\n13\n");
	make_group("/system.slice/nginx.service/worker", "14\n0\n");
	make_group("/system.slice/empty.service", "");
	make_group("/system.slice/docker-" ID ".scope", "20\n");
	make_group("/docker", "");
	make_group("/docker/" OTHER_ID, "21\n");
	make_group("/a.slice", "");
	make_group("/a.slice/twice.service", "");
	make_group("/b.slice", "");
	make_group("/b.slice/twice.service", "");
	roots.nr = 1;
	snprintf(roots.paths[0], sizeof(roots.paths[0]), "%s", top);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void words_find_their_group(void **state)
{
	static const struct {
		const char *word, *path;
	} cases[] = {
		{"nginx.service", "/system.slice/nginx.service"},
		{"nginx", "/system.slice/nginx.service"},
		{"/system.slice/nginx.service", "/system.slice/nginx.service"},
		{"/system.slice/nginx.service/worker", "/system.slice/nginx.service/worker"},
		{"system.slice", "/system.slice"},
		{"docker:3f2a91c0de11", "/system.slice/docker-" ID ".scope"},
		{"3f2a91c0de11", "/system.slice/docker-" ID ".scope"},
		{"3f2a9", "/system.slice/docker-" ID ".scope"},
		{ID, "/system.slice/docker-" ID ".scope"},
		{"3f2a0", "/docker/" OTHER_ID},
	};
	struct cgroup cgroup;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cgroup_find(&roots, cases[i].word, &cgroup, &err) < 0)
			fail_msg("%s: %s", cases[i].word, err.text);
		assert_string_equal(cgroup.path + strlen(top), cases[i].path);
		assert_true(cgroup.fd >= 0);
		cgroup_done(&cgroup);
	}
}

static void what_finds_nothing_or_several_says_so(void **state)
{
	static const struct {
		const char *word, *why;
	} cases[] = {
		{"apache", "no control group, container or systemd unit 'apache'"},
		{"3f2", "no control group, container or systemd unit '3f2'"}, /* too few digits */
		{"/no/such", "'/no/such'"},
		{"/system.slice/../../etc", "no control group"},
		{"wor\033ker", "'wor?ker'"},
		{"3f2a", "'3f2a' is 2 control groups: "},
		{"twice.service", "'twice.service' is 2 control groups: "},
	};
	const struct cgroup_roots none = {0};
	struct cgroup cgroup;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cgroup_find(&roots, cases[i].word, &cgroup, &err), -EINVAL);
		if (!strstr(err.text, cases[i].why) || !err.hint[0])
			fail_msg("%s: %s (%s)", cases[i].word, err.text, err.hint);
	}
	assert_non_null(strstr(err.text, "/a.slice/twice.service"));
	assert_int_equal(cgroup_find(&none, "nginx", &cgroup, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no control groups are mounted"));
}

static void members_are_those_of_all_groups_below(void **state)
{
	struct cgroup cgroup;
	uint32_t nr = 0;
	struct err err;
	pid_t *pids;

	(void)state;
	assert_int_equal(cgroup_find(&roots, "nginx", &cgroup, &err), 0);
	assert_int_equal(cgroup_members(&cgroup, &pids, &nr, &err), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(pids[0] + pids[1] + pids[2], 12 + 13 + 14);
	free(pids);
	cgroup_done(&cgroup);
	assert_int_equal(cgroup_find(&roots, "empty", &cgroup, &err), 0);
	assert_int_equal(cgroup_members(&cgroup, &pids, &nr, &err), -ESRCH);
	assert_non_null(strstr(err.text, "it has no process"));
	cgroup_done(&cgroup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_find_their_group),
		cmocka_unit_test(what_finds_nothing_or_several_says_so),
		cmocka_unit_test(members_are_those_of_all_groups_below),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
