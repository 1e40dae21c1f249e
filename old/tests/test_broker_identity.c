/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sudo's caller is who they are, nobody else can pretend, and privileges given up stay so. */
#include "config.h"

#include "tests/broker_fixture.h"

#include <pwd.h>

static void set_sudo(const char *uid, const char *gid)
{
	if (uid)
		setenv("SUDO_UID", uid, 1);
	else
		unsetenv("SUDO_UID");
	if (gid)
		setenv("SUDO_GID", gid, 1);
	else
		unsetenv("SUDO_GID");
}

static void workers_are_sudos_caller(void **state)
{
	struct identity who;

	(void)state;
	if (geteuid() != 0)
		skip();
	set_sudo("123456", "234567");
	assert_int_equal(identity_workers(&who, NULL), 0);
	assert_int_equal(who.uid, 123456);
	assert_int_equal(who.gid, 234567);
	assert_int_equal(who.nr_groups, 1);
	assert_int_equal(who.groups[0], 234567);
	assert_true(who.was_root && who.by_sudo);
	assert_int_equal(identity_invoker(&who, NULL), 0);
	assert_int_equal(who.uid, 123456);
}

static void groups_come_from_the_user_database(void **state)
{
	const struct passwd *pw = getpwnam("daemon");
	struct identity who;
	char uid[16];
	bool has_gid = false;

	(void)state;
	if (geteuid() != 0 || !pw)
		skip();
	snprintf(uid, sizeof(uid), "%u", pw->pw_uid);
	set_sudo(uid, NULL);
	assert_int_equal(identity_workers(&who, NULL), 0);
	pw = getpwnam("daemon");
	assert_int_equal(who.uid, pw->pw_uid);
	assert_int_equal(who.gid, pw->pw_gid);
	for (int i = 0; i < who.nr_groups; i++)
		has_gid = has_gid || who.groups[i] == pw->pw_gid;
	assert_true(has_gid);
}

static void nonsense_of_sudo_is_nobody(void **state)
{
	static const char *const uids[] = {NULL,    "",	   "0",	   "-1",	 "12x",
					   " 12",   "+12", "0x10", "4294967295", "99999999999",
					   "1000\n"};
	struct identity who;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
		set_sudo(uids[i], "1000");
		assert_int_equal(identity_workers(&who, NULL), 0);
		assert_int_equal(who.uid, NOBODY);
		assert_false(who.by_sudo);
		assert_int_equal(who.nr_groups, 0);
		assert_int_equal(identity_invoker(&who, NULL), 0);
		assert_int_equal(who.uid, 0);
	}
}

static void ordinary_user_is_not_sudos_caller(void **state)
{
	struct identity who;

	(void)state;
	if (geteuid() == 0)
		skip();
	set_sudo("1", "1");
	assert_int_equal(identity_workers(&who, NULL), 0);
	assert_int_equal(who.uid, getuid());
	assert_int_equal(who.gid, getgid());
	assert_false(who.was_root || who.by_sudo);
}

static int become(void *arg)
{
	struct identity who;
	char text[64];

	(void)arg;
	set_sudo("123456", "234567");
	if (identity_workers(&who, NULL) < 0 || identity_become(&who, NULL) < 0)
		return 1;
	if (status_hex(getpid(), "CapEff") || status_hex(getpid(), "CapPrm") ||
	    status_hex(getpid(), "CapInh") || status_hex(getpid(), "CapAmb"))
		return 2;
	if (status_hex(getpid(), "NoNewPrivs") != 1 || prctl(PR_GET_DUMPABLE) != 0)
		return 3;
	if (getuid() != who.uid || geteuid() != who.uid || getegid() != who.gid)
		return 4;
	if (geteuid() != 123456)
		return 0;
	status_field(getpid(), "Groups", text, sizeof(text));
	if (strncmp(text, "234567", 6) != 0 || status_hex(getpid(), "CapBnd") != 0)
		return 5;
	return setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 ? 6 : 0;
}

static void privileges_are_given_up_for_good(void **state)
{
	(void)state;
	assert_int_equal(in_child(become, NULL), 0);
}

static int become_somebody_else(void *arg)
{
	const struct identity root = {.uid = 0, .gid = 0};
	struct err err = {0};

	(void)arg;
	return identity_become(&root, &err) == -EPERM && strstr(err.text, "uid 0") ? 0 : 1;
}

static void failure_is_told(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip();
	assert_int_equal(in_child(become_somebody_else, NULL), 0);
}

static int become_command(void *arg)
{
	struct identity who;

	(void)arg;
	set_sudo(NULL, NULL);
	if (identity_invoker(&who, NULL) < 0 || identity_become_command(&who, NULL) < 0)
		return 1;
	if (geteuid() != 0)
		return 2;
	set_sudo("123456", "234567");
	if (identity_invoker(&who, NULL) < 0 || identity_become_command(&who, NULL) < 0)
		return 3;
	if (getuid() != 123456 || geteuid() != 123456 || getgid() != 234567)
		return 4;
	if (status_hex(getpid(), "CapPrm") != 0)
		return 5;
	/* nothing else is forbidden: sudo in the command still works */
	return status_hex(getpid(), "NoNewPrivs") == 0 ? 0 : 6;
}

static void command_has_the_callers_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(in_child(become_command, NULL), 0);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_are_sudos_caller),
		cmocka_unit_test(groups_come_from_the_user_database),
		cmocka_unit_test(nonsense_of_sudo_is_nobody),
		cmocka_unit_test(ordinary_user_is_not_sudos_caller),
		cmocka_unit_test(privileges_are_given_up_for_good),
		cmocka_unit_test(failure_is_told),
		cmocka_unit_test(command_has_the_callers_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return run_as_both(run);
}
