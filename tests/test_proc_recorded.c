/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In a recording a file is its path and what else is told of it; nothing of this machine is asked. */
#include "config.h"

#include "tests/proc_util.h"

#include <errno.h>

static int set_up(void **state)
{
	struct procs *procs = procs_new();

	if (procs)
		procs_set_recorded(procs);
	*state = procs;
	return procs ? 0 : -1;
}

static int tear_down(void **state)
{
	procs_free(*state);
	return 0;
}

static void map_build(struct procs *procs, pid_t pid, uint64_t start, const char *path,
		      uint8_t build_id)
{
	struct record record = {
		.kind = RECORD_MMAP,
		.pid = (uint32_t)pid,
		.tid = (uint32_t)pid,
		.mmap = {.start = start,
			 .len = 0x1000,
			 .is_exec = true,
			 .build_id = {build_id},
			 .build_id_bytes = 20,
			 .filename = path},
	};

	assert_int_equal(procs_apply(procs, &record), 0);
}

static const struct module *sampled_module(struct procs *procs, pid_t pid, uint64_t pc)
{
	const struct process *process = procs_of_sample(procs, pid, 0);
	const struct unwind_map *map = unwind_map_of(process_space(process), pc);

	assert_non_null(map);
	return procs_module(procs, map->module->id);
}

static void a_path_alone_is_a_file(void **state)
{
	struct procs *procs = *state;
	const struct module *a;

	do_mmap(procs, 10, 0x1000, 0x1000, "/lib/\x1b[mliba.so", 0, 0);
	do_mmap(procs, 10, 0x3000, 0x1000, "/lib/libb.so", 0, 0);
	do_mmap(procs, 11, 0x9000, 0x1000, "/lib/\x1b[mliba.so", 0, 5);
	do_mmap(procs, 11, 0xb000, 0x1000, "//anon", 0, 6);
	do_mmap(procs, 11, 0xd000, 0x1000, "[heap]", 0, 6);
	do_mmap(procs, 11, 0xf7f2d000, 0x2000, "[vdso]", 0, 6);
	do_mmap(procs, 11, 0x7fff00000000, 0x2000, "[vdso]", 0, 6);
	a = sampled_module(procs, 10, 0x1000);
	assert_ptr_equal(a, sampled_module(procs, 11, 0x9000));
	assert_ptr_not_equal(a, sampled_module(procs, 10, 0x3000));
	/* Opened by what was told, shown without what a terminal would obey. */
	assert_string_equal(a->raw_path, "/lib/\x1b[mliba.so");
	assert_string_equal(a->name, "?[mliba.so");
	assert_int_equal(a->unwind.state, STACK_END_PENDING);
	assert_int_equal(sampled_module(procs, 11, 0xb000)->unwind.id, PROC_MODULE_JIT);
	assert_int_equal(sampled_module(procs, 11, 0xd000)->unwind.id, PROC_MODULE_JIT);
	assert_int_equal(sampled_module(procs, 11, 0xf7f2d000)->unwind.id, PROC_MODULE_VDSO32);
	assert_int_equal(sampled_module(procs, 11, 0x7fff00000000)->unwind.id, PROC_MODULE_VDSO);
}

static void what_contradicts_is_another_file(void **state)
{
	struct procs *procs = *state;

	map_build(procs, 10, 0x1000, LIBC, 1);
	map_build(procs, 10, 0x3000, LIBC, 2);
	map_build(procs, 11, 0x1000, LIBC, 1);
	map_build(procs, 11, 0x3000, "/opt/libc.so.6", 1);
	assert_ptr_equal(sampled_module(procs, 10, 0x1000), sampled_module(procs, 11, 0x1000));
	assert_ptr_not_equal(sampled_module(procs, 10, 0x1000), sampled_module(procs, 10, 0x3000));
	assert_ptr_not_equal(sampled_module(procs, 10, 0x1000), sampled_module(procs, 11, 0x3000));
	assert_int_equal(sampled_module(procs, 10, 0x3000)->build_id[0], 2);
	assert_true(sampled_module(procs, 10, 0x3000)->reported_build_id);

	do_mmap(procs, 10, 0x5000, 0x1000, "/bin/prog", 7, 0);
	do_mmap(procs, 10, 0x7000, 0x1000, "/bin/prog", 8, 0);
	do_mmap(procs, 11, 0x5000, 0x1000, "/bin/prog", 7, 0);
	assert_ptr_equal(sampled_module(procs, 10, 0x5000), sampled_module(procs, 11, 0x5000));
	assert_ptr_not_equal(sampled_module(procs, 10, 0x5000), sampled_module(procs, 10, 0x7000));
}

static void nothing_of_this_machine_is_asked(void **state)
{
	struct procs *procs = *state;
	struct module_request want;
	uint64_t start_time;
	pid_t pid;

	procs_of_sample(procs, 4711, 1);
	do_mmap(procs, 4711, 0x1000, 0x1000, LIBC, 9, 2);
	procs_mark_stale(procs, 4711);
	procs_mark_all_stale(procs);
	procs_of_sample(procs, 4711, 3);
	assert_false(procs_next_maps_request(procs, 1000 * NS_PER_SEC, &pid, &start_time));
	assert_false(procs_next_module_request(procs, &want));
}

/* Another event: the processes begin anew, the files stay as they are. */
static void a_second_reading_finds_the_same_files(void **state)
{
	struct procs *procs = *state;
	uint32_t nr, id;

	do_exec(procs, 10, "first", 1);
	do_mmap(procs, 10, 0x1000, 0x1000, LIBC, 9, 2);
	id = sampled_module(procs, 10, 0x1000)->unwind.id;
	do_exec(procs, 10, "second", 3);
	nr = procs_nr_modules(procs);
	procs_restart(procs);
	assert_string_equal(procs_of_sample(procs, 10, 1)->comm, ":10");
	do_exec(procs, 10, "first", 1);
	do_mmap(procs, 10, 0x1000, 0x1000, LIBC, 9, 2);
	assert_string_equal(procs_of_sample(procs, 10, 2)->comm, "first");
	assert_int_equal(sampled_module(procs, 10, 0x1000)->unwind.id, id);
	assert_int_equal(procs_nr_modules(procs), nr);
}

/* The kernel keeps 15 bytes of a name; the path of the program has all of it. */
static void long_names_are_whole(void **state)
{
	struct procs *procs = *state;
	const struct process *process;

	do_exec(procs, 10, "long_process_na", 1);
	do_mmap(procs, 10, 0x1000, 0x1000, "/opt/long_process_name_of_mine", 0, 2);
	do_mmap(procs, 10, 0x3000, 0x1000, "/lib/libc.so.6", 0, 3);
	process = procs_of_sample(procs, 10, 4);
	assert_string_equal(process->comm, "long_process_name_of_mine");
	/* Another name, or one that was not cut, is what it is. */
	do_exec(procs, 11, "script_of_mine.", 1);
	do_mmap(procs, 11, 0x1000, 0x1000, "/usr/bin/python3", 0, 2);
	assert_string_equal(procs_of_sample(procs, 11, 4)->comm, "script_of_mine.");
	do_exec(procs, 12, "short", 1);
	do_mmap(procs, 12, 0x1000, 0x1000, "/usr/bin/short_and_long", 0, 2);
	assert_string_equal(procs_of_sample(procs, 12, 4)->comm, "short");
	do_comm(procs, 10, 10, "renamed", false, 5);
	assert_string_equal(procs_of_sample(procs, 10, 6)->comm, "renamed");
	/* No longer than is kept of it. */
	do_exec(procs, 13, "aaaaaaaaaaaaaaa", 1);
	do_mmap(procs, 13, 0x1000, 0x1000,
		"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		0, 2);
	assert_in_range(strlen(procs_of_sample(procs, 13, 4)->comm), 32, PROC_NAME_MAX - 1);
}

/* By the number of its control group, which a record has told; of others nothing is known. */
static void samples_say_their_container(void **state)
{
	struct procs *procs = *state;
	struct record record = {
		.kind = RECORD_CGROUP,
		.cgroup = {.number = 7, .path = "/system.slice/web\033.service/worker"},
	};
	struct process *process = procs_of_sample(procs, 10, 0);

	assert_int_equal(procs_apply(procs, &record), 0);
	record.cgroup.number = 1;
	record.cgroup.path = "/";
	assert_int_equal(procs_apply(procs, &record), 0);
	procs_sampled_in(procs, process, 8);
	assert_null(procs_container(procs, process->container));
	procs_sampled_in(procs, process, 7);
	assert_string_equal(procs_container(procs, process->container)->name, "web?.service");
	procs_sampled_in(procs, process, 8);
	assert_string_equal(procs_container(procs, process->container)->name, "web?.service");
	procs_sampled_in(procs, process, 1);
	assert_null(procs_container(procs, process->container));
	/* Any number of groups in a file is memory of its maker's choice. */
	record.cgroup.path = "/x.slice";
	for (uint64_t i = 0; i < 100000; i++) {
		record.cgroup.number = 100 + i;
		assert_int_equal(procs_apply(procs, &record), 0);
	}
	procs_sampled_in(procs, process, 100);
	assert_string_equal(procs_container(procs, process->container)->name, "x.slice");
	procs_sampled_in(procs, process, 1);
	procs_sampled_in(procs, process, 100 + 99999);
	assert_null(procs_container(procs, process->container));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_path_alone_is_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_contradicts_is_another_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nothing_of_this_machine_is_asked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_second_reading_finds_the_same_files, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(long_names_are_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(samples_say_their_container, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
