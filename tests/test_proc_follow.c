/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes as the sideband tells: forks, programs, threads, ends, numbers used again, and /proc in between. */
#include "config.h"

#include "tests/proc_util.h"

#include <stdio.h>
#include <stdlib.h>

static int set_up(void **state)
{
	*state = procs_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	procs_free(*state);
	return 0;
}

static uint64_t live(const struct procs *procs)
{
	struct procs_stats stats;

	procs_stats(procs, &stats);
	return stats.live_processes;
}

static const char shell_maps[] =
	"00400000-00500000 r-xp 00000000 08:01 100                        /bin/sh\n"
	"00600000-00700000 rw-p 00000000 08:01 100                        /bin/sh\n"
	"7f000000-7f100000 r-xp 00002000 08:01 200                        " LIBC "\n";

/* A shell (pid 10) that /proc showed at time 100. */
static void have_shell(struct procs *procs)
{
	assert_int_equal(procs_seen(procs, 10, 5555, "sh", false, 100), 0);
	assert_int_equal(procs_maps_text(procs, 10, shell_maps, sizeof(shell_maps) - 1, 100), 0);
}

static void fork_and_exec_make_another_process(void **state)
{
	struct procs *procs = *state;
	uint32_t shell, child;

	have_shell(procs);
	shell = procs_of_sample(procs, 10, 110)->index;
	do_fork(procs, 10, 20, 120);
	child = procs_of_sample(procs, 20, 121)->index;
	assert_int_not_equal(child, shell);
	assert_string_equal(procs_by_index(procs, child)->comm, "sh");
	assert_string_equal(name_at(procs, 20, 0x400000, 122), "sh");

	do_exec(procs, 20, "gcc", 130);
	do_mmap(procs, 20, 0x10000000, 0x1000, "/usr/bin/gcc", 300, 131);
	assert_int_not_equal(procs_of_sample(procs, 20, 140)->index, child);
	assert_string_equal(procs_of_sample(procs, 20, 140)->comm, "gcc");
	assert_true(procs_of_sample(procs, 20, 140)->has_maps);
	assert_int_equal(module_at(procs, 20, 0x400000, 141), PROC_MODULE_UNKNOWN);
	assert_string_equal(name_at(procs, 20, 0x10000000, 141), "gcc");
	/* What was counted for the child before its exec is the shell's still. */
	assert_string_equal(procs_by_index(procs, child)->comm, "sh");
	assert_true(procs_by_index(procs, child)->is_dead);
	assert_string_equal(name_at(procs, 10, 0x7f000000, 142), "libc.so.6");
}

/* The container of PID, as a sample at TIME_NS sees it, or "". */
static const char *container_at(struct procs *procs, pid_t pid, uint64_t time_ns)
{
	uint32_t number = procs_of_sample(procs, pid, time_ns)->container;

	return number ? procs_container(procs, number)->name : "";
}

static bool asks_for(struct procs *procs, pid_t pid)
{
	uint64_t start_time;
	pid_t asked;

	return procs_next_cgroup_request(procs, &asked, &start_time) && asked == pid;
}

static void containers_are_inherited_and_asked_for_again(void **state)
{
	static const char web[] = "0::/system.slice/web.service\n",
			  db[] = "0::/docker/x/db.service\n";
	const uint64_t second = 1000000000;
	struct procs *procs = *state;

	have_shell(procs);
	assert_false(asks_for(procs, 10)); /* nobody wants to know */
	assert_string_equal(container_at(procs, 10, second), "");
	assert_true(asks_for(procs, 10));
	procs_cgroup_text(procs, 10, web, strlen(web));
	assert_string_equal(container_at(procs, 10, 2 * second - 1000), "web.service");
	assert_false(asks_for(procs, 10));
	/* A child that ends soon is never asked for; one that lives on is, and its program too. */
	do_fork(procs, 10, 20, 3 * second);
	assert_true(asks_for(procs, 10)); /* what children have is to be right */
	assert_string_equal(container_at(procs, 20, 3 * second + 1000), "web.service");
	assert_false(asks_for(procs, 20));
	assert_string_equal(container_at(procs, 20, 4 * second), "web.service");
	assert_true(asks_for(procs, 20));
	do_exec(procs, 20, "gcc", 5 * second);
	assert_string_equal(container_at(procs, 20, 5 * second + 1000), "web.service");
	assert_false(asks_for(procs, 20));
	assert_string_equal(container_at(procs, 20, 6 * second), "web.service");
	assert_true(asks_for(procs, 20));
	procs_cgroup_text(procs, 20, db, strlen(db));
	assert_string_equal(container_at(procs, 20, 6 * second), "db.service");
	assert_string_equal(container_at(procs, 10, 6 * second), "web.service");
	/* It can be moved: somewhen it is asked for again, and an answer of nothing is one. */
	assert_string_equal(container_at(procs, 10, 60 * second), "web.service");
	assert_true(asks_for(procs, 10));
	procs_cgroup_text(procs, 10, "0::/\n", 5);
	assert_string_equal(container_at(procs, 10, 60 * second), "");
	/* Of the dead nothing is asked. */
	assert_string_equal(container_at(procs, 20, 90 * second), "db.service");
	do_exit(procs, 20, 20, 91 * second);
	assert_false(asks_for(procs, 20));
}

/* The user of PID, plus 1, as a sample at TIME_NS sees it. */
static uint32_t user_at(struct procs *procs, pid_t pid, uint64_t time_ns)
{
	return procs_of_sample(procs, pid, time_ns)->user;
}

static void users_are_inherited_and_followed(void **state)
{
	const uint64_t second = 1000000000;
	struct procs *procs = *state;
	uint32_t nr_asked = 0;

	have_shell(procs);
	assert_int_equal(user_at(procs, 10, second), 0);
	assert_true(asks_for(procs, 10));
	procs_user(procs, 10, 0);
	do_fork(procs, 10, 20, second + 1000);
	assert_int_equal(user_at(procs, 20, second + 2000), 0 + 1);
	/* It becomes somebody else, and so is all that it starts after it was asked for. */
	do_exec(procs, 20, "make", second + 3000);
	assert_int_equal(user_at(procs, 20, second + 4000), 0 + 1);
	assert_false(asks_for(procs, 20));
	do_fork(procs, 20, 21, 2 * second);
	assert_true(asks_for(procs, 20)); /* without a sample of it */
	procs_user(procs, 20, 1000);
	do_fork(procs, 20, 22, 2 * second + 1000);
	assert_false(asks_for(procs, 20));
	assert_int_equal(user_at(procs, 22, 2 * second + 2000), 1000 + 1);
	assert_int_equal(
		procs_by_index(procs, procs_of_sample(procs, 10, second + 4000)->index)->user,
		0 + 1);
	/* Of the dead it stays, whatever is told later. */
	do_exit(procs, 22, 22, 2 * second + 3000);
	procs_user(procs, 22, 7);
	assert_int_equal(user_at(procs, 20, 2 * second + 3000), 1000 + 1);
	procs_user(procs, 4711, 7); /* nobody */
	/* Who runs on is asked for with twice the age, at last each half minute. */
	while (asks_for(procs, 10) || asks_for(procs, 20))
		;
	for (uint64_t at = 2 * second; at < 302 * second; at += second / 10) {
		procs_of_sample(procs, 20, at);
		nr_asked += asks_for(procs, 20);
		if (at == 34 * second)
			assert_in_range(nr_asked, 4, 6);
	}
	assert_in_range(nr_asked, 12, 15);
}

static void exec_without_samples_keeps_one_entry(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;

	have_shell(procs);
	for (pid_t pid = 1000; pid < 6000; pid++) {
		do_fork(procs, 10, pid, 200);
		do_exec(procs, pid, "true", 201);
		do_exit(procs, pid, pid, 202);
		if (pid % 100 == 0)
			procs_sweep(procs, 300);
	}
	procs_sweep(procs, 300);
	procs_stats(procs, &stats);
	assert_int_equal(stats.live_processes, 1);
	assert_true(heap_bytes() < 100000);
	/* The first index is still free: none of them had a sample. */
	assert_int_equal(procs_of_sample(procs, 10, 400)->index, 0);
}

static void rename_keeps_the_process(void **state)
{
	struct procs *procs = *state;
	uint32_t index;

	have_shell(procs);
	index = procs_of_sample(procs, 10, 110)->index;
	do_comm(procs, 10, 10, "renamed\033[1m\n", false, 120);
	assert_int_equal(procs_of_sample(procs, 10, 121)->index, index);
	assert_string_equal(procs_by_index(procs, index)->comm, "renamed?[1m?");
	do_comm(procs, 10, 11, "worker", false, 130); /* one thread's own name */
	assert_string_equal(procs_by_index(procs, index)->comm, "renamed?[1m?");
	assert_string_equal(name_at(procs, 10, 0x400000, 131), "sh");
	do_comm(procs, 10, 10, "", false, 140);
	assert_string_equal(procs_by_index(procs, index)->comm, ":10");
}

static void threads_share_and_outlive_the_leader(void **state)
{
	struct procs *procs = *state;
	uint32_t index;

	have_shell(procs);
	do_fork(procs, 10, 30, 110);
	do_thread(procs, 30, 31, 111);
	do_thread(procs, 30, 32, 112);
	index = procs_of_sample(procs, 30, 113)->index;
	assert_int_equal(procs_of_sample(procs, 30, 114)->index, index);
	do_exit(procs, 30, 30, 120); /* the leader */
	do_exit(procs, 30, 31, 121);
	procs_sweep(procs, 1000);
	assert_int_equal(procs_of_sample(procs, 30, 2000)->index, index);
	assert_false(procs_by_index(procs, index)->is_dead);
	assert_string_equal(name_at(procs, 30, 0x400000, 2001), "sh");
	do_exit(procs, 30, 32, 3000); /* the last thread */
	assert_true(procs_by_index(procs, index)->is_dead);
	assert_string_equal(name_at(procs, 30, 0x400000, 3001), "sh"); /* a late sample */
	procs_sweep(procs, 4000);
	assert_string_equal(procs_by_index(procs, index)->comm, "sh");
	assert_int_equal(process_space(procs_by_index(procs, index))->nr_maps, 0);
}

static void threads_of_a_process_found_in_proc(void **state)
{
	struct procs *procs = *state;
	uint32_t index;

	have_shell(procs); /* how many threads it has is not known */
	index = procs_of_sample(procs, 10, 110)->index;
	do_exit(procs, 10, 12, 120);
	assert_false(procs_by_index(procs, index)->is_dead);
	do_exit(procs, 10, 10, 130);
	/* Samples keep it: other threads may live on. */
	for (uint64_t t = 200; t < 2000; t += 100) {
		assert_int_equal(procs_of_sample(procs, 10, t)->index, index);
		procs_sweep(procs, t - 50);
	}
	procs_sweep(procs, 5000);
	assert_int_not_equal(procs_of_sample(procs, 10, 6000)->index, index);
}

static void a_pid_used_again_is_another_process(void **state)
{
	struct procs *procs = *state;
	uint32_t first, second;

	have_shell(procs);
	do_fork(procs, 10, 40, 110);
	do_exec(procs, 40, "one", 111);
	do_mmap(procs, 40, 0x1000, 0x1000, "/bin/one", 301, 112);
	first = procs_of_sample(procs, 40, 113)->index;
	do_exit(procs, 40, 40, 120);
	do_fork(procs, 10, 40, 130); /* before the sweep */
	do_exec(procs, 40, "two", 131);
	second = procs_of_sample(procs, 40, 132)->index;
	assert_int_not_equal(first, second);
	assert_int_equal(module_at(procs, 40, 0x1000, 133), PROC_MODULE_UNKNOWN);
	procs_sweep(procs, 10000);
	assert_string_equal(procs_by_index(procs, first)->comm, "one");
	assert_string_equal(procs_by_index(procs, second)->comm, "two");
	assert_string_equal(procs_of_sample(procs, 40, 10001)->comm, "two");
	/* Without its exit record, too. */
	do_fork(procs, 10, 40, 20000);
	assert_int_not_equal(procs_of_sample(procs, 40, 20001)->index, second);
	assert_int_equal(live(procs), 2);
	/* And when only /proc tells, by its start time. */
	first = procs_of_sample(procs, 10, 20002)->index;
	procs_seen(procs, 10, 7777, "other", false, 30000);
	assert_int_not_equal(procs_of_sample(procs, 10, 30001)->index, first);
	assert_string_equal(procs_by_index(procs, first)->comm, "sh");
}

static void records_older_than_proc_change_nothing_it_showed(void **state)
{
	struct procs *procs = *state;

	/* Attached at 50, scanned and read at 100: the records between come afterwards. */
	have_shell(procs);
	do_fork(procs, 1, 10, 60);
	do_exec(procs, 10, "login", 70);
	do_mmap(procs, 10, 0x400000, 0x100000, "/bin/login", 900, 75);
	do_mmap(procs, 10, 0x7f000000, 0x100000, LIBC, 200, 80);
	do_mmap(procs, 10, 0x7f080000, 0x1000000, "/lib/old.so", 901, 85);
	assert_string_equal(procs_of_sample(procs, 10, 110)->comm, "sh");
	assert_string_equal(name_at(procs, 10, 0x400000, 110), "sh");
	assert_string_equal(name_at(procs, 10, 0x7f0fffff, 110), "libc.so.6");
	/* Where /proc showed nothing an old mapping is better than none. */
	assert_string_equal(name_at(procs, 10, 0x7f100000, 110), "old.so");
	/* A newer one replaces. */
	do_mmap(procs, 10, 0x7f000000, 0x1000, "/lib/new.so", 902, 120);
	assert_string_equal(name_at(procs, 10, 0x7f000000, 121), "new.so");
	assert_string_equal(name_at(procs, 10, 0x7f001000, 121), "libc.so.6");
	do_exit(procs, 10, 10, 90);
	assert_false(procs_of_sample(procs, 10, 130)->is_dead);
}

static void maps_text_keeps_what_came_after_it_was_asked_for(void **state)
{
	struct procs *procs = *state;

	have_shell(procs);
	do_mmap(procs, 10, 0x20000000, 0x1000, "/lib/before.so", 910, 140);
	do_mmap(procs, 10, 0x30000000, 0x1000, "/lib/after.so", 911, 160);
	do_mmap(procs, 10, 0x7f000000, 0x1000, "/lib/over.so", 912, 161);
	/* Asked at 150, answered now: what the text lacks was unmapped before 150, or mapped after. */
	procs_maps_text(procs, 10, shell_maps, sizeof(shell_maps) - 1, 150);
	assert_int_equal(module_at(procs, 10, 0x20000000, 170), PROC_MODULE_UNKNOWN);
	assert_string_equal(name_at(procs, 10, 0x30000000, 170), "after.so");
	assert_string_equal(name_at(procs, 10, 0x7f000000, 170), "over.so");
	assert_string_equal(name_at(procs, 10, 0x7f001000, 170), "libc.so.6");
}

static void maps_text_of_the_program_before_is_refused(void **state)
{
	struct procs *procs = *state;

	have_shell(procs);
	do_exec(procs, 10, "python", 200);
	do_mmap(procs, 10, 0x5000000, 0x1000, "/usr/bin/python", 400, 201);
	procs_maps_text(procs, 10, shell_maps, sizeof(shell_maps) - 1, 190);
	assert_int_equal(module_at(procs, 10, 0x400000, 210), PROC_MODULE_UNKNOWN);
	assert_string_equal(name_at(procs, 10, 0x5000000, 210), "python");
	/* Asked after the exec, though its record comes later: the text is the new program's. */
	procs_maps_text(procs, 10, shell_maps, sizeof(shell_maps) - 1, 300);
	do_exec(procs, 10, "dash", 290);
	assert_string_equal(procs_of_sample(procs, 10, 310)->comm, "dash");
	assert_string_equal(name_at(procs, 10, 0x400000, 310), "sh");
}

static void maps_that_cannot_be_read_leave_what_is_known(void **state)
{
	struct procs *procs = *state;

	have_shell(procs);
	procs_maps_text(procs, 10, NULL, 0, 200);
	procs_maps_text(procs, 10, "", 0, 200);
	assert_string_equal(name_at(procs, 10, 0x400000, 210), "sh");
	procs_maps_text(procs, 99, shell_maps, sizeof(shell_maps) - 1, 200); /* nobody */
}

static void fork_shares_maps_until_they_change(void **state)
{
	struct procs *procs = *state;
	struct procs_stats before, after;
	size_t bytes;

	have_shell(procs);
	for (pid_t pid = 100; pid < 110; pid++)
		do_fork(procs, 10, pid, 200);
	for (pid_t pid = 101; pid < 110; pid++)
		assert_ptr_equal(process_space(procs_of_sample(procs, pid, 201)),
				 process_space(procs_of_sample(procs, 10, 201)));
	do_mmap(procs, 105, 0x1000, 0x1000, "/lib/a.so", 500, 202);
	assert_int_equal(module_at(procs, 10, 0x1000, 203), PROC_MODULE_UNKNOWN);
	assert_int_equal(module_at(procs, 104, 0x1000, 203), PROC_MODULE_UNKNOWN);
	assert_string_equal(name_at(procs, 105, 0x1000, 203), "a.so");
	procs_stats(procs, &before);
	bytes = heap_bytes();
	for (pid_t pid = 1000; pid < 2000; pid++)
		do_fork(procs, 10, pid, 210);
	procs_stats(procs, &after);
	assert_int_equal(after.live_processes, before.live_processes + 1000);
	assert_true(heap_bytes() - bytes < 1000 * 400);
}

/* A recording begins with tasks that ran already: each has its maps told, and none of its parent's. */
static void a_reported_task_inherits_no_maps(void **state)
{
	struct procs *procs = *state;
	struct record record = {.kind = RECORD_FORK,
				.pid = 20,
				.tid = 20,
				.time_ns = 200,
				.fork = {.ppid = 10, .ptid = 10, .has_own_maps = true}};

	have_shell(procs);
	assert_int_equal(procs_apply(procs, &record), 0);
	do_mmap(procs, 20, 0x10000000, 0x1000, "/usr/bin/gcc", 300, 201);
	assert_string_equal(name_at(procs, 20, 0x10000000, 202), "gcc");
	assert_int_equal(module_at(procs, 20, 0x400000, 202), PROC_MODULE_UNKNOWN);
	assert_string_equal(name_at(procs, 10, 0x400000, 202), "sh");
}

static void anonymous_and_special_memory(void **state)
{
	struct procs *procs = *state;
	struct record data = {
		.kind = RECORD_MMAP,
		.pid = 10,
		.tid = 10,
		.time_ns = 130,
		.mmap = {.start = 0x500000,
			 .len = 0x1000,
			 .maj = 8,
			 .min = 1,
			 .ino = 77,
			 .filename = "/data"},
	};
	const struct unwind_space *space;

	have_shell(procs);
	do_mmap(procs, 10, 0x500000, 0x2000, "//anon", 0, 120);
	do_mmap(procs, 10, 0x7fff00000000, 0x2000, "[vdso]", 0, 120);
	do_mmap(procs, 10, 0xffffffffff600000, 0x1000, "[vsyscall]", 0, 120);
	assert_int_equal(module_at(procs, 10, 0x500000, 121), PROC_MODULE_JIT);
	assert_int_equal(module_at(procs, 10, 0x7fff00000000, 121), PROC_MODULE_VDSO);
	assert_int_equal(module_at(procs, 10, 0xffffffffff600000, 121), PROC_MODULE_VSYSCALL);
	/* Offsets in the vDSO are from its image's start, those of code without a file are addresses. */
	space = process_space(procs_of_sample(procs, 10, 122));
	for (uint32_t i = 0; i < space->nr_maps; i++) {
		if (space->maps[i].module->id == PROC_MODULE_VDSO)
			assert_int_equal(space->maps[i].file_off, 0);
		if (space->maps[i].module->id == PROC_MODULE_JIT)
			assert_int_equal(space->maps[i].file_off, 0x500000);
	}
	/* Data mapped over code takes it away. */
	assert_int_equal(procs_apply(procs, &data), 0);
	assert_int_equal(module_at(procs, 10, 0x500000, 131), PROC_MODULE_UNKNOWN);
	assert_int_equal(module_at(procs, 10, 0x501000, 131), PROC_MODULE_JIT);
	/* Text moved to huge pages. */
	do_mmap(procs, 10, 0x400000, 0x100000, "//anon", 0, 140);
	assert_int_equal(module_at(procs, 10, 0x400000, 141), PROC_MODULE_JIT);
}

static void hostile_mappings_do_no_harm(void **state)
{
	struct procs *procs = *state;
	struct record kernel = {
		.kind = RECORD_MMAP,
		.pid = UINT32_MAX,
		.misc = 1,
		.mmap = {.start = 0xffffffff81000000,
			 .len = 0x1000000,
			 .is_exec = true,
			 .filename = "[kernel.kallsyms]_text"},
	};

	have_shell(procs);
	do_mmap(procs, 10, UINT64_MAX - 10, 100, "/lib/wraps.so", 600, 110);
	do_mmap(procs, 10, 0x1000, 0, "/lib/empty.so", 601, 110);
	do_mmap(procs, 10, 0, UINT64_MAX, "/lib/all.so", 602, 111);
	assert_string_equal(name_at(procs, 10, 0x12345, 112), "all.so");
	assert_int_equal(procs_apply(procs, &kernel), 0);
	assert_int_equal(live(procs), 1);
}

static void unknown_processes_want_a_name_and_maps(void **state)
{
	struct procs *procs = *state;
	const struct process *process = procs_of_sample(procs, 77, 500);
	uint64_t start_time;
	pid_t pid;

	assert_string_equal(process->comm, ":77");
	assert_false(process->has_maps);
	assert_true(procs_next_maps_request(procs, 510, &pid, &start_time));
	assert_int_equal(pid, 77);
	/* The scan was asked for before its first sample: it is this process all the same. */
	procs_seen(procs, 77, 4444, "daemon", false, 490);
	process = procs_of_sample(procs, 77, 520);
	assert_string_equal(process->comm, "daemon");
	assert_int_equal(process->start_time, 4444);
	procs_maps_text(procs, 77, shell_maps, sizeof(shell_maps) - 1, 495);
	assert_string_equal(name_at(procs, 77, 0x400000, 530), "sh");
	/* A child of a nameless one has its own number. */
	procs_of_sample(procs, 80, 600);
	do_fork(procs, 80, 81, 610);
	assert_string_equal(procs_of_sample(procs, 81, 620)->comm, ":81");
	assert_false(procs_of_sample(procs, 81, 620)->has_maps);
}

static void kernel_threads_have_no_maps_to_want(void **state)
{
	struct procs *procs = *state;
	uint64_t start_time;
	pid_t pid;

	procs_seen(procs, 2, 1, "kthreadd", true, 100);
	do_fork(procs, 2, 50, 110);
	do_comm(procs, 50, 50, "kworker/u4:1", false, 111);
	assert_true(procs_of_sample(procs, 50, 120)->is_kernel);
	assert_string_equal(procs_of_sample(procs, 0, 120)->comm, "swapper");
	assert_true(procs_of_sample(procs, 0, 120)->is_kernel);
	assert_string_equal(procs_of_sample(procs, -1, 120)->comm, "[exiting]");
	assert_false(procs_next_maps_request(procs, 200, &pid, &start_time));
	/* A kernel thread that starts a program. */
	do_exec(procs, 50, "modprobe", 210);
	assert_false(procs_of_sample(procs, 50, 220)->is_kernel);
}

static void a_scan_ends_what_it_does_not_show(void **state)
{
	struct procs *procs = *state;
	uint32_t lost, kept;

	have_shell(procs);
	procs_seen(procs, 11, 1, "lost", false, 100);
	lost = procs_of_sample(procs, 11, 110)->index;
	kept = procs_of_sample(procs, 10, 110)->index;
	procs_of_sample(procs, 0, 110);
	do_fork(procs, 10, 12, 250); /* after the scan was asked for */
	procs_seen(procs, 10, 5555, "sh", false, 200);
	procs_scanned(procs, 200);
	assert_true(procs_by_index(procs, lost)->is_dead);
	assert_false(procs_by_index(procs, kept)->is_dead);
	assert_false(procs_of_sample(procs, 12, 260)->is_dead);
	assert_false(procs_of_sample(procs, 0, 260)->is_dead);
}

static void names_of_the_dead_are_bounded(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	uint32_t first = UINT32_MAX, last = 0;

	have_shell(procs);
	for (uint32_t i = 0; i < 70000; i++) {
		pid_t pid = (pid_t)(100 + i % 5000);
		uint64_t t = 1000 + i;

		do_fork(procs, 10, pid, t);
		do_exec(procs, pid, "cc1", t);
		last = procs_of_sample(procs, pid, t)->index;
		if (i == 0)
			first = last;
		do_exit(procs, pid, pid, t);
		if (i % 1000 == 0)
			procs_sweep(procs, t);
	}
	procs_sweep(procs, 1000000);
	procs_stats(procs, &stats);
	assert_int_equal(stats.live_processes, 1);
	assert_true(heap_bytes() < 10u << 20);
	assert_string_equal(procs_by_index(procs, first)->comm, "[exited]");
	assert_string_equal(procs_by_index(procs, last)->comm, "cc1");
	assert_string_equal(procs_by_index(procs, last - 65000)->comm, "cc1");
	assert_string_equal(procs_by_index(procs, UINT32_MAX)->comm, "[exited]");
	assert_int_equal(procs_by_index(procs, last)->index, last);
}

/* A process that maps without end: of a second no more is followed than is kept, its maps are read instead. */
static void changes_of_mappings_are_bounded(void **state)
{
	enum { TIMES = 40000 };
	struct procs *procs = *state;
	struct procs_stats stats;
	uint64_t start_time, second = 1000 * NS_PER_SEC;
	pid_t pid;

	have_shell(procs);
	do_fork(procs, 10, 20, second);
	for (uint64_t i = 0; i < TIMES; i++) {
		struct record record =
			mmap_of(20, 0x10000000 + i % 100 * 0x2000, 0x1000, LIBC, 5, second + i);

		record.mmap.file_off = i / 100 * 0x1000;
		assert_int_equal(procs_apply(procs, &record), 0);
	}
	procs_stats(procs, &stats);
	assert_int_equal(stats.maps_skipped, TIMES - 16384);
	assert_int_equal(stats.maps_skipped_pid, 20);
	/* Others do not notice. */
	do_mmap(procs, 10, 0x20000000, 0x1000, LIBC, 5, second + TIMES);
	assert_string_equal(name_at(procs, 10, 0x20000000, second + TIMES), "libc.so.6");
	assert_false(procs_of_sample(procs, 10, second + TIMES)->is_stale);
	/* A sample asks for what has not been followed. What is skipped after the question stays doubtful. */
	assert_true(procs_of_sample(procs, 20, second + TIMES)->is_stale);
	assert_true(procs_next_maps_request(procs, second + TIMES, &pid, &start_time));
	assert_int_equal(pid, 20);
	do_mmap(procs, 20, 0x30000000, 0x1000, LIBC, 5, second + TIMES + 1);
	assert_int_equal(
		procs_maps_text(procs, 20, shell_maps, sizeof(shell_maps) - 1, second + TIMES + 2),
		0);
	assert_true(procs_of_sample(procs, 20, second + TIMES)->is_stale);
	assert_int_equal(module_at(procs, 20, 0x10000000, second + TIMES), PROC_MODULE_UNKNOWN);
	/* In the next second it is followed again. */
	do_mmap(procs, 20, 0x10000000, 0x1000, LIBC, 5, second + 2 * NS_PER_SEC);
	assert_string_equal(name_at(procs, 20, 0x10000000, second + 2 * NS_PER_SEC), "libc.so.6");
}

static void processes_are_bounded(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	uint32_t more;

	have_shell(procs);
	for (pid_t pid = 100; pid < 140000; pid++) {
		do_fork(procs, 10, pid, 200);
		do_comm(procs, pid, pid, "bomb", false, 201);
	}
	procs_stats(procs, &stats);
	assert_int_equal(stats.live_processes, 131072);
	assert_true(heap_bytes() < 48u << 20);
	more = procs_of_sample(procs, 139998, 300)->index;
	assert_string_equal(procs_by_index(procs, more)->comm, "[more]");
	assert_int_equal(procs_of_sample(procs, 139999, 300)->index, more);
	assert_string_equal(procs_of_sample(procs, 10, 301)->comm, "sh");
	do_exec(procs, 139999, "x", 302);
	do_mmap(procs, 139999, 0x1000, 0x1000, LIBC, 5, 303);
	/* When some end there is room again. */
	for (pid_t pid = 100; pid < 200; pid++)
		do_exit(procs, pid, pid, 400);
	procs_sweep(procs, 500);
	do_fork(procs, 10, 139999, 510);
	assert_string_equal(procs_of_sample(procs, 139999, 520)->comm, "sh");
}

/* As a recursing python does: chunks of data, no munmap record. */
static void data_mappings_leave_nothing(void **state)
{
	struct procs *procs = *state;
	struct procs_stats before, after;
	size_t bytes;
	struct record data = {
		.kind = RECORD_MMAP,
		.pid = 10,
		.tid = 10,
		.mmap = {.len = 0x40000, .filename = "//anon"},
	};

	have_shell(procs);
	procs_stats(procs, &before);
	bytes = heap_bytes();
	for (uint64_t i = 0; i < 150000; i++) {
		data.time_ns = 1000 + i;
		data.mmap.start = 0x7e0000000000 - (i % 700) * 0x40000;
		assert_int_equal(procs_apply(procs, &data), 0);
	}
	procs_stats(procs, &after);
	assert_int_equal(after.maps, before.maps);
	assert_int_equal(heap_bytes(), bytes);
}

static void run_time_symbols_come_and_go(void **state)
{
	struct procs *procs = *state;
	struct record record = {
		.kind = RECORD_KSYMBOL,
		.ksymbol = {.addr = 0xffffffffc0001000,
			    .len = 0x100,
			    .name = "bpf_prog_6deef7357e7b4530"},
	};
	uint64_t start = 0;
	char name[32];

	assert_null(procs_ksymbol(procs, 0xffffffffc0001000, NULL));
	assert_int_equal(procs_apply(procs, &record), 0);
	assert_string_equal(procs_ksymbol(procs, 0xffffffffc00010ff, &start),
			    "bpf_prog_6deef7357e7b4530");
	assert_int_equal(start, 0xffffffffc0001000);
	assert_null(procs_ksymbol(procs, 0xffffffffc0001100, NULL));
	assert_null(procs_ksymbol(procs, 0xffffffffc0000fff, NULL));
	record.ksymbol.addr += 0x80; /* the page is used again */
	record.ksymbol.name = "evil\033[2J";
	procs_apply(procs, &record);
	assert_null(procs_ksymbol(procs, 0xffffffffc0001000, NULL));
	assert_string_equal(procs_ksymbol(procs, 0xffffffffc0001080, NULL), "evil?[2J");
	record.ksymbol.is_unregister = true;
	procs_apply(procs, &record);
	assert_null(procs_ksymbol(procs, 0xffffffffc0001080, NULL));
	/* Many, in an order that is not theirs; past the bound the first ones stay. */
	record.ksymbol.is_unregister = false;
	record.ksymbol.name = name;
	for (uint64_t i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "prog_%d", (int)i);
		record.ksymbol.addr = 0xffffffffa0000000 + (i * 7919 % 20000) * 0x100;
		assert_int_equal(procs_apply(procs, &record), 0);
	}
	assert_string_equal(procs_ksymbol(procs, 0xffffffffa0000000 + 7919 * 0x100, NULL),
			    "prog_1");
	assert_null(
		procs_ksymbol(procs, 0xffffffffa0000000 + (19999 * 7919 % 20000) * 0x100, NULL));
}

static uint64_t seed = 3;

static uint32_t pick(uint32_t nr)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % nr;
}

static void check_process(const struct process *process)
{
	const struct unwind_space *space = process_space(process);
	const struct unwind_map *map = unwind_map_from(space, 0);

	for (uint64_t end = 0; map; map = unwind_map_from(space, end)) {
		assert_true(map->start < map->end && end <= map->start);
		assert_non_null(map->module);
		end = map->end;
	}
	assert_true(strlen(process->comm) > 0);
}

/* One thing that can happen, at a time that jumps back now and then as /proc and lost records make it. */
static void something_happens(struct procs *procs, uint64_t time_ns)
{
	static const char *const paths[] = {LIBC, "//anon", "[vdso]", "/bin/sh",
					    "/tmp/x (deleted)"};
	pid_t pid = (pid_t)(10 + pick(12)), other = (pid_t)(10 + pick(12));
	uint32_t path = pick(ARRAY_SIZE(paths));
	struct module_request want;
	uint64_t start_time;
	pid_t wanted;

	switch (pick(16)) {
	case 0:
		if (pid != other)
			do_fork(procs, pid, other, time_ns);
		break;
	case 1:
		do_thread(procs, pid, pid + 100, time_ns);
		break;
	case 2:
		do_exec(procs, pid, "exec", time_ns);
		break;
	case 3:
		do_comm(procs, pid, pid + (pid_t)pick(2), "comm", false, time_ns);
		break;
	case 4:
		do_exit(procs, pid, pid + (pid_t)pick(2) * 100, time_ns);
		break;
	case 5:
		assert_int_equal(procs_seen(procs, pid, pick(4), "seen", pick(8) == 0, time_ns), 0);
		break;
	case 6:
		assert_int_equal(procs_maps_text(procs, pid, pick(4) ? shell_maps : NULL,
						 pick(sizeof(shell_maps)), time_ns),
				 0);
		break;
	case 7:
		if (pick(20) == 0)
			procs_mark_all_stale(procs);
		break;
	case 8:
		if (pick(10) == 0)
			procs_sweep(procs, time_ns - pick(200));
		break;
	case 9:
		if (procs_next_module_request(procs, &want) && pick(2))
			module_failed(procs, procs_module(procs, want.module), STACK_END_NO_FILE,
				      "test", pick(4) > 0);
		break;
	case 10:
		procs_next_maps_request(procs, time_ns * 1000000, &wanted, &start_time);
		break;
	case 11:
		if (pick(20) == 0)
			procs_scanned(procs, time_ns);
		break;
	case 12:
	case 13:
		do_mmap(procs, pid, pick(64) * 0x1000ull, (1 + pick(16)) * 0x1000ull, paths[path],
			path == 1 || path == 2 ? 0 : 100 + pick(50), time_ns);
		break;
	default:
		check_process(procs_of_sample(procs, pid, time_ns));
		break;
	}
}

/* Programs copy their text into huge pages: what stands between two parts of a file is the file's. */
static void text_that_was_moved_keeps_its_file(void **state)
{
	static const char moved[] =
		"00400000-00401000 r--p 00000000 08:01 100                        /bin/sh\n"
		"00401000-00402000 r-xp 00001000 08:01 100                        /bin/sh\n"
		"00402000-00600000 r-xp 00000000 00:00 0 \n"
		"00600000-00800000 r-xp 00000000 00:0f 77                         /anon_hugepage (deleted)\n"
		"00800000-00801000 r--p 00400000 08:01 100                        /bin/sh\n"
		"00801000-00802000 r-xp 00000000 00:00 0 \n"
		"00802000-00803000 r--p 00402000 08:01 200                        " LIBC "\n"
		"00900000-00901000 r--p 00000000 08:01 200                        " LIBC "\n"
		"00901000-00902000 r-xp 00000000 00:00 0 \n"
		"00903000-00904000 r--p 00003000 08:01 200                        " LIBC "\n"
		"00904000-00905000 r-xp 00000000 00:00 0 \n"
		"00905000-00906000 r--p 00006000 08:01 200                        " LIBC "\n";
	struct procs *procs = *state;
	const struct unwind_map *map;
	uint64_t start_time;
	pid_t pid;

	have_shell(procs);
	procs_maps_text(procs, 10, moved, sizeof(moved) - 1, 200);
	assert_string_equal(name_at(procs, 10, 0x402000, 210), "sh");
	assert_string_equal(name_at(procs, 10, 0x7ff000, 210), "sh");
	map = unwind_map_from(process_space(procs_of_sample(procs, 10, 210)), 0x7ff000);
	assert_int_equal(0x7ff000 - map->start + map->file_off, 0x3ff000);
	/* Another file goes on; there is a gap; the file goes on elsewhere in itself. */
	assert_int_equal(module_at(procs, 10, 0x801000, 210), PROC_MODULE_JIT);
	assert_int_equal(module_at(procs, 10, 0x901000, 210), PROC_MODULE_JIT);
	assert_int_equal(module_at(procs, 10, 0x904000, 210), PROC_MODULE_JIT);

	/* A record tells less than that: the maps are read once more. */
	assert_false(procs_of_sample(procs, 10, 220)->is_stale);
	do_mmap(procs, 10, 0x10000000, 0x1000, "//anon", 0, 225);
	assert_false(procs_of_sample(procs, 10, 226)->is_stale);
	do_mmap(procs, 10, 0x402000, 0x1000, "//anon", 0, 230);
	assert_int_equal(module_at(procs, 10, 0x402000, 235), PROC_MODULE_JIT);
	assert_true(procs_next_maps_request(procs, 240, &pid, &start_time) && pid == 10);
	procs_maps_text(procs, 10, moved, sizeof(moved) - 1, 240);
	assert_string_equal(name_at(procs, 10, 0x402000, 250), "sh");
}

static void random_histories_do_no_harm(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	uint32_t named = 0;

	for (uint64_t i = 1; i < 300000; i++) {
		something_happens(procs, 1000 + i - (pick(4) == 0 ? pick(100) : 0));
		if (i % 1000 == 0)
			for (uint32_t index = 0; index < 2000; index++)
				check_process(procs_by_index(procs, index));
	}
	procs_stats(procs, &stats);
	assert_true(stats.live_processes <= 14);
	/* Whatever happened, who was sampled has kept a name. */
	for (uint32_t index = 0; index < 60000; index++)
		named += strcmp(procs_by_index(procs, index)->comm, "[exited]") != 0;
	assert_true(named > 1000);
	for (pid_t pid = 10; pid < 22; pid++)
		do_exit(procs, pid, pid, 10000000);
	procs_mark_all_stale(procs);
	procs_sweep(procs, UINT64_MAX);
	procs_stats(procs, &stats);
	assert_int_equal(stats.live_processes, 0);
	assert_int_equal(stats.maps, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fork_and_exec_make_another_process),
		TEST(exec_without_samples_keeps_one_entry),
		TEST(containers_are_inherited_and_asked_for_again),
		TEST(users_are_inherited_and_followed),
		TEST(rename_keeps_the_process),
		TEST(threads_share_and_outlive_the_leader),
		TEST(threads_of_a_process_found_in_proc),
		TEST(a_pid_used_again_is_another_process),
		TEST(records_older_than_proc_change_nothing_it_showed),
		TEST(maps_text_keeps_what_came_after_it_was_asked_for),
		TEST(maps_text_of_the_program_before_is_refused),
		TEST(maps_that_cannot_be_read_leave_what_is_known),
		TEST(fork_shares_maps_until_they_change),
		TEST(a_reported_task_inherits_no_maps),
		TEST(anonymous_and_special_memory),
		TEST(hostile_mappings_do_no_harm),
		TEST(unknown_processes_want_a_name_and_maps),
		TEST(kernel_threads_have_no_maps_to_want),
		TEST(a_scan_ends_what_it_does_not_show),
		TEST(names_of_the_dead_are_bounded),
		TEST(changes_of_mappings_are_bounded),
		TEST(processes_are_bounded),
		TEST(data_mappings_leave_nothing),
		TEST(text_that_was_moved_keeps_its_file),
		TEST(random_histories_do_no_harm),
		TEST(run_time_symbols_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
