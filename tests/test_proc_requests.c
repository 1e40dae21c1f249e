/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of the outside: each file once, from a process that lives; maps seldom; failures with patience. */
#include "config.h"

#include "src/base/io.h"
#include "tests/proc_util.h"
#include "tests/unwind_elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS NS_PER_MSEC

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

static void have_process(struct procs *procs, pid_t pid)
{
	assert_int_equal(procs_seen(procs, pid, (uint64_t)pid * 10, "prog", false, 100), 0);
}

static void drop_maps_requests(struct procs *procs, uint64_t time_ns)
{
	uint64_t start_time;
	pid_t pid;

	while (procs_next_maps_request(procs, time_ns, &pid, &start_time))
		;
}

static void each_file_is_wanted_once_the_newest_first(void **state)
{
	struct procs *procs = *state;
	struct module_request want;

	have_process(procs, 10);
	have_process(procs, 11);
	do_mmap(procs, 10, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	do_mmap(procs, 10, 0x3000, 0x1000, LIBC, 2, 201);
	do_mmap(procs, 11, 0x5000, 0x1000, "/lib/a.so", 1, 202);
	do_mmap(procs, 11, 0x8000, 0x1000, "//anon", 0, 203);

	assert_true(procs_next_module_request(procs, &want));
	assert_string_equal(procs_module(procs, want.module)->name, "a.so");
	assert_int_equal(want.pid, 11); /* the newer one lives longer */
	assert_int_equal(want.start_time, 110);
	assert_int_equal(want.start, 0x5000);
	assert_int_equal(want.end, 0x6000);
	assert_int_equal(want.ino, 1);
	assert_int_equal(want.maj, 8);
	assert_int_equal(want.min, 1);
	assert_true(procs_next_module_request(procs, &want));
	assert_string_equal(procs_module(procs, want.module)->name, "libc.so.6");
	assert_false(procs_next_module_request(procs, &want));
	/* Handed out: not again while the answer is due. */
	do_mmap(procs, 11, 0x20000, 0x1000, LIBC, 2, 204);
	assert_false(procs_next_module_request(procs, &want));
	assert_int_equal(procs_module(procs, want.module)->unwind.state, STACK_END_PENDING);
}

/* What is worth hurrying for: new files, not those on their way, there, or failed for good. */
static void new_files_are_seen_beforehand(void **state)
{
	struct procs *procs = *state;
	struct record file = mmap_of(10, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	struct record anon = mmap_of(10, 0x1000, 0x1000, "//anon", 0, 200);
	struct record data = mmap_of(10, 0x1000, 0x1000, "/lib/b.so", 2, 200);
	struct record comm = {.kind = RECORD_COMM, .pid = 10, .tid = 10};
	struct module_request want;
	struct procs_stats stats;

	data.mmap.is_exec = false;
	have_process(procs, 10);
	assert_true(procs_would_request(procs, &file));
	assert_true(procs_would_request(procs, &file)); /* asking changes nothing */
	assert_false(procs_would_request(procs, &anon));
	assert_false(procs_would_request(procs, &data));
	assert_false(procs_would_request(procs, &comm));
	procs_stats(procs, &stats);
	assert_int_equal(stats.modules, 0);
	assert_int_equal(procs_apply(procs, &file), 0);
	assert_true(procs_next_module_request(procs, &want));
	assert_false(procs_would_request(procs, &file));
	module_failed(procs, procs_module(procs, want.module), STACK_END_NO_FILE, "gone", true);
	assert_true(procs_would_request(procs, &file));
	module_failed(procs, procs_module(procs, want.module), STACK_END_BAD_FILE, "bad", false);
	assert_false(procs_would_request(procs, &file));
}

static void identity_is_device_inode_and_generation(void **state)
{
	struct procs *procs = *state;
	struct record record = {
		.kind = RECORD_MMAP,
		.pid = 10,
		.tid = 10,
		.misc = 2,
		.time_ns = 200,
		.mmap = {.start = 0x1000,
			 .len = 0x1000,
			 .maj = 8,
			 .min = 1,
			 .ino = 5,
			 .ino_generation = 70,
			 .is_exec = true,
			 .filename = "/lib/a.so"},
	};
	uint32_t first;

	have_process(procs, 10);
	procs_maps_text(procs, 10, "1000-2000 r-xp 0 08:01 5 /lib/a.so\n", 35, 150);
	first = module_at(procs, 10, 0x1000, 160);
	assert_true(first >= PROC_MODULE_FIRST);
	procs_apply(procs, &record); /* /proc did not tell the generation: the same file */
	assert_int_equal(module_at(procs, 10, 0x1000, 210), first);
	record.mmap.ino_generation = 71; /* the inode was used again */
	procs_apply(procs, &record);
	assert_int_not_equal(module_at(procs, 10, 0x1000, 210), first);
	record.mmap.ino_generation = 70;
	procs_apply(procs, &record);
	assert_int_equal(module_at(procs, 10, 0x1000, 210), first);
	record.mmap.min = 2; /* another device */
	procs_apply(procs, &record);
	assert_int_not_equal(module_at(procs, 10, 0x1000, 210), first);
	assert_int_equal(procs_nr_modules(procs), PROC_MODULE_FIRST + 3);
}

/* The file system is gone, and its number may be another's. */
static void a_retired_module_is_not_found_again(void **state)
{
	struct procs *procs = *state;
	uint32_t first, second;

	have_process(procs, 10);
	have_process(procs, 11);
	do_mmap(procs, 10, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	first = module_at(procs, 10, 0x1000, 210);
	procs_mark_mapped(procs, false);
	assert_true(procs_module(procs, first)->is_mapped);
	do_mmap(procs, 10, 0x1000, 0x1000, LIBC, 2, 220);
	procs_mark_mapped(procs, false);
	assert_false(procs_module(procs, first)->is_mapped);
	module_retire(procs_module(procs, first));
	do_mmap(procs, 11, 0x1000, 0x1000, "/lib/a.so", 1, 230);
	second = module_at(procs, 11, 0x1000, 240);
	assert_int_not_equal(second, first);
	assert_true(procs_module(procs, second)->is_mapped);
	do_mmap(procs, 10, 0x5000, 0x1000, "/lib/a.so", 1, 250);
	assert_int_equal(module_at(procs, 10, 0x5000, 260), second);
}

static void records_with_a_build_id_go_by_it(void **state)
{
	struct procs *procs = *state;
	struct record record = {
		.kind = RECORD_MMAP,
		.pid = 10,
		.tid = 10,
		.misc = 2,
		.time_ns = 200,
		.mmap = {.start = 0x1000,
			 .len = 0x1000,
			 .is_exec = true,
			 .filename = "/lib/a.so",
			 .build_id = {1, 2, 3},
			 .build_id_bytes = 20},
	};
	uint32_t first;

	have_process(procs, 10);
	procs_apply(procs, &record);
	first = module_at(procs, 10, 0x1000, 210);
	assert_int_equal(procs_module(procs, first)->build_id_bytes, 20);
	assert_int_equal(procs_module(procs, first)->build_id[2], 3);
	record.mmap.filename = "/mnt/same.so";
	procs_apply(procs, &record);
	assert_int_equal(module_at(procs, 10, 0x1000, 210), first);
	record.mmap.build_id[19] = 9;
	procs_apply(procs, &record);
	assert_int_not_equal(module_at(procs, 10, 0x1000, 210), first);
}

static void a_file_whose_process_ended_is_asked_of_another(void **state)
{
	struct procs *procs = *state;
	struct module_request want;

	have_process(procs, 10);
	do_mmap(procs, 10, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	do_fork(procs, 10, 20, 210);
	do_exit(procs, 10, 10, 220);
	assert_true(procs_next_module_request(procs, &want));
	assert_int_equal(want.pid, 20); /* the child inherited it */
	assert_int_equal(want.start, 0x1000);

	/* Nobody has it any more: where it was, and when, is all that can be told. */
	do_fork(procs, 20, 21, 230);
	do_exec(procs, 21, "short", 231);
	do_mmap(procs, 21, 0x9000, 0x1000, "/tmp/short", 3, 232);
	do_exit(procs, 21, 21, 233);
	assert_true(procs_next_module_request(procs, &want));
	assert_int_equal(want.pid, 21);
	assert_int_equal(want.seen_ns, 232);
	assert_int_equal(procs_nr_modules(procs), PROC_MODULE_FIRST + 2);
	assert_string_equal(procs_module(procs, PROC_MODULE_FIRST + 1)->raw_path, "/tmp/short");
	/* The reason stands in the module until somebody maps it anew. */
	module_failed(procs, procs_module(procs, want.module), STACK_END_NO_FILE, "gone", true);
	assert_false(procs_next_module_request(procs, &want));
	assert_int_equal(procs_module(procs, PROC_MODULE_FIRST + 1)->unwind.state,
			 STACK_END_NO_FILE);
	assert_non_null(procs_module(procs, PROC_MODULE_FIRST + 1)->why);
	do_mmap(procs, 20, 0x9000, 0x1000, "/tmp/short", 3, 240);
	assert_int_equal(procs_module(procs, PROC_MODULE_FIRST + 1)->unwind.state,
			 STACK_END_PENDING);
	assert_null(procs_module(procs, PROC_MODULE_FIRST + 1)->why);
	assert_true(procs_next_module_request(procs, &want));
	assert_int_equal(want.pid, 20);
}

/* One that nobody may look into does not keep its files from those that others map. */
static void files_of_closed_processes_are_asked_for_elsewhere(void **state)
{
	struct procs *procs = *state;
	struct module_request want;

	for (pid_t pid = 10; pid < 40; pid++) {
		have_process(procs, pid);
		do_mmap(procs, pid, 0x1000, 0x1000, "/lib/a.so", 1, 200);
		do_mmap(procs, pid, 0x3000, 0x1000, "/lib/b.so", 2, 201);
	}
	/* All but one are closed, which is seen when they are asked. */
	for (int tries = 0; tries < 60 && procs_next_module_request(procs, &want); tries++) {
		if (want.pid != 25)
			assert_true(module_refused(procs, procs_module(procs, want.module),
						   want.pid, "closed"));
	}
	assert_int_equal(want.pid, 25);
	assert_false(procs_next_module_request(procs, &want));

	/* One that a closed process alone has mapped may come when another maps it. */
	do_mmap(procs, 11, 0x5000, 0x1000, "/lib/c.so", 3, 210);
	assert_true(procs_next_module_request(procs, &want));
	assert_int_equal(want.pid, 11);
	assert_false(module_refused(procs, procs_module(procs, want.module), 11, "closed"));
	assert_int_equal(procs_module(procs, want.module)->unwind.state, STACK_END_NO_FILE);
	assert_false(procs_next_module_request(procs, &want));
	do_mmap(procs, 25, 0x5000, 0x1000, "/lib/c.so", 3, 220);
	assert_true(procs_next_module_request(procs, &want));
	assert_int_equal(want.pid, 25);
}

static void failures_are_tried_elsewhere_a_few_times(void **state)
{
	struct procs *procs = *state;
	struct module_request want;
	struct module *module = NULL;
	int tries = 0;

	for (pid_t pid = 10; pid < 40; pid++) {
		have_process(procs, pid);
		do_mmap(procs, pid, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	}
	while (procs_next_module_request(procs, &want)) {
		pid_t tried = want.pid;

		tries++;
		assert_true(tries < 10);
		module = procs_module(procs, want.module);
		module_failed(procs, module, STACK_END_NO_FILE, "gone", true);
		if (procs_next_module_request(procs, &want)) {
			assert_int_not_equal(want.pid, tried);
			tries++;
			module_failed(procs, module, STACK_END_NO_FILE, "gone", true);
		}
	}
	assert_in_range(tries, 3, 8);
	assert_non_null(module);
	assert_int_equal(module->unwind.state, STACK_END_NO_FILE);
	assert_string_equal(module->why, "gone");

	/* Then from new mappings, ever more seldom. */
	tries = 0;
	for (int i = 0; i < 20000; i++) {
		do_mmap(procs, 10, 0x100000 + (uint64_t)i * 0x2000, 0x1000, "/lib/a.so", 1, 300);
		while (procs_next_module_request(procs, &want)) {
			tries++;
			module_failed(procs, module, STACK_END_NO_FILE, "gone", true);
		}
	}
	assert_in_range(tries, 8, 60);
}

static void a_final_failure_is_final(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	struct module_request want;

	have_process(procs, 10);
	do_mmap(procs, 10, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	assert_true(procs_next_module_request(procs, &want));
	module_failed(procs, procs_module(procs, want.module), STACK_END_BAD_FILE, "not ELF",
		      false);
	do_mmap(procs, 10, 0x9000, 0x1000, "/lib/a.so", 1, 201);
	assert_false(procs_next_module_request(procs, &want));
	assert_int_equal(procs_module(procs, want.module)->unwind.state, STACK_END_BAD_FILE);
	procs_stats(procs, &stats);
	assert_int_equal(stats.modules, 1);
	assert_int_equal(stats.modules_bad, 1);

	/* A memfd that is no ELF is a program's own code. */
	do_mmap(procs, 10, 0x20000, 0x1000, "/memfd:doublemapper (deleted)", 2, 210);
	assert_true(procs_next_module_request(procs, &want));
	module_failed(procs, procs_module(procs, want.module), STACK_END_BAD_FILE, "not ELF",
		      false);
	assert_int_equal(procs_module(procs, want.module)->unwind.state, STACK_END_JIT);

	/* Code of another machine is unwound nowhere here, and its file is good. */
	do_mmap(procs, 10, 0x30000, 0x1000, "/lib32/a.so", 3, 220);
	assert_true(procs_next_module_request(procs, &want));
	module_failed(procs, procs_module(procs, want.module), STACK_END_ARCH, "other machine",
		      false);
	procs_stats(procs, &stats);
	assert_int_equal(stats.modules, 3);
	assert_int_equal(stats.modules_bad, 1);
}

static void a_bad_table_is_refused_and_stays_the_callers(void **state)
{
	struct procs *procs = *state;
	struct module_request want;
	struct module *module;
	void *blob = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	have_process(procs, 10);
	do_mmap(procs, 10, 0x1000, 0x1000, "/lib/a.so", 1, 200);
	assert_true(procs_next_module_request(procs, &want));
	module = procs_module(procs, want.module);
	assert_int_equal(module_ready(module, blob, 4096), -EBADMSG);
	assert_false(module->unwind.has_table);
	assert_int_equal(module->unwind.state, STACK_END_PENDING);
	assert_int_equal(module_return_addrs_ready(module, blob, 4096), -EBADMSG);
	assert_true(module->unwind.return_addrs_failed);
	assert_int_equal(munmap(blob, 4096), 0);
	module_failed(procs, module, STACK_END_BAD_FILE, "damaged table", false);
	assert_int_equal(module->unwind.state, STACK_END_BAD_FILE);
}

/* A copy of BLOB as it comes from the loader: a mapping of its own. */
static const void *mapped(const void *blob, size_t len)
{
	void *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(copy != MAP_FAILED);
	memcpy(copy, blob, len);
	return copy;
}

/* The table of the file at PATH, or false: this machine's code is not unwound yet. */
static bool compile(const char *path, void **ret_blob, size_t *ret_len)
{
	struct unwind_elf elf;
	struct cfi_stats stats;
	bool is_good = unwind_elf_open(path, &elf) &&
		       cfi_compile(&elf.input, ret_blob, ret_len, &stats) == 0;

	unwind_elf_close(&elf);
	return is_good;
}

/* Files that are mapped all the time, made so that their tables fill the memory. */
static void the_largest_table_goes_when_all_are_too_large(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	struct module_request request;
	struct module *module = NULL, *largest = NULL;
	size_t len = 0, large_len = 0, nr_made = 0;
	void *blob = NULL, *large = NULL;
	int fd, r = 0;
	Dl_info libc;

	assert_true(dladdr((const void *)(uintptr_t)qsort, &libc) != 0);
	if (!compile("/proc/self/exe", &blob, &len) || !compile(libc.dli_fname, &large, &large_len))
		skip();
	assert_true(large_len > len);
	fd = memfd_sealed("table", blob, len); /* the same pages again and again */
	have_process(procs, 10);
	do_mmap(procs, 10, 0x5000, 0x1000, "/lib/large.so", 9, 150);
	assert_true(procs_next_module_request(procs, &request));
	largest = procs_module(procs, request.module);
	assert_int_equal(module_ready(largest, mapped(large, large_len), large_len), 0);
	while (r == 0 && nr_made < 60000) {
		const void *table = NULL;
		size_t bytes = 0;

		if (nr_made % 8000 == 0)
			have_process(procs, 11 + (pid_t)(nr_made / 8000));
		do_mmap(procs, 11 + (pid_t)(nr_made / 8000), 0x10000 + 0x1000 * nr_made, 0x1000,
			"/lib/x.so", 1000 + nr_made, 200 + nr_made);
		nr_made++;
		assert_true(procs_next_module_request(procs, &request));
		module = procs_module(procs, request.module);
		assert_int_equal(memfd_map(fd, len, &table, &bytes), 0);
		r = module_ready(module, table, bytes);
		if (r < 0)
			munmap((void *)(uintptr_t)table, bytes);
	}
	assert_int_equal(r, -E2BIG);
	assert_false(module->unwind.has_table);
	/* The large one has made room for some, and is not asked for again. */
	assert_false(largest->unwind.has_table);
	assert_int_equal(largest->unwind.state, STACK_END_BAD_FILE);
	assert_string_equal(largest->why, module_too_large);
	do_mmap(procs, 10, 0x5000, 0x1000, "/lib/large.so", 9, 900000);
	assert_false(procs_next_module_request(procs, &request));
	procs_stats(procs, &stats);
	assert_in_range(stats.tables_bytes, (256u << 20) - len, 256u << 20);
	close(fd);
	free(blob);
	free(large);
}

static void tables_come_and_go_when_nobody_maps_the_file(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	struct module_request want;
	struct module *module, *first = NULL;
	size_t len = 0, nr_made = 0;
	char path[64];
	void *blob = NULL;

	if (!compile("/proc/self/exe", &blob, &len))
		skip();

	have_process(procs, 10);
	have_process(procs, 11);
	do_mmap(procs, 11, 0x5000, 0x1000, "/lib/kept.so", 9, 150);
	assert_true(procs_next_module_request(procs, &want));
	first = procs_module(procs, want.module);
	assert_int_equal(module_ready(first, mapped(blob, len), len), 0);
	assert_true(first->unwind.has_table);
	assert_true(table_nr_rows(&first->unwind.table) > 0);
	/* Programs that run once each, until their tables weigh too much. */
	do {
		snprintf(path, sizeof(path), "/tmp/conftest-%zu", nr_made++);
		do_mmap(procs, 10, 0x1000, 0x1000, path, 1000 + nr_made, 200 + nr_made);
		assert_true(procs_next_module_request(procs, &want));
		module = procs_module(procs, want.module);
		assert_int_equal(module_ready(module, mapped(blob, len), len), 0);
		procs_sweep(procs, 100);
		procs_stats(procs, &stats);
		assert_true(stats.tables_bytes <= (48u << 20));
	} while (stats.tables_dropped == 0 && nr_made < 60000);
	/* What somebody maps has kept its table, the others wait to be mapped anew. */
	assert_true(stats.tables_dropped >= nr_made - 1);
	assert_int_equal(stats.tables_bytes, 2 * len);
	assert_true(first->unwind.has_table);
	assert_true(module->unwind.has_table);
	assert_false(procs_next_module_request(procs, &want));
	do_mmap(procs, 10, 0x9000, 0x1000, "/tmp/conftest-0", 1001, 900000);
	assert_true(procs_next_module_request(procs, &want));
	assert_string_equal(procs_module(procs, want.module)->name, "conftest-0");
	assert_false(procs_module(procs, want.module)->unwind.has_table);
	free(blob);
}

static void files_are_bounded(void **state)
{
	struct procs *procs = *state;
	struct procs_stats stats;
	struct module_request want;
	char path[64];
	uint32_t nr = 0;

	have_process(procs, 10);
	for (uint64_t i = 1; i <= 70000; i++) {
		snprintf(path, sizeof(path), "/tmp/conftest-%d", (int)i);
		do_mmap(procs, 10, 0x10000000, 0x1000, path, 1000 + i, i * MS);
	}
	assert_int_equal(procs_nr_modules(procs), 65536);
	assert_string_equal(name_at(procs, 10, 0x10000000, 80000 * MS), "[more files]");
	/* Known ones are still found, and all can be asked for once. */
	do_mmap(procs, 10, 0x10000000, 0x1000, "/tmp/conftest-5", 1005, 90000 * MS);
	assert_string_equal(name_at(procs, 10, 0x10000000, 90001 * MS), "conftest-5");
	while (procs_next_module_request(procs, &want))
		nr++;
	assert_int_equal(nr, 65535 - PROC_MODULE_FIRST);
	procs_stats(procs, &stats);
	assert_true(heap_bytes() < 40u << 20);
}

static void new_processes_are_read_at_once_then_seldom(void **state)
{
	struct procs *procs = *state;
	uint64_t start_time = 0;
	pid_t pid = 0;
	int asked = 0;

	have_process(procs, 10);
	assert_true(procs_next_maps_request(procs, 1000 * MS, &pid, &start_time));
	assert_int_equal(pid, 10);
	assert_int_equal(start_time, 100);
	assert_false(procs_next_maps_request(procs, 1001 * MS, &pid, &start_time));
	/* Never readable, always sampled: ten samples a millisecond for a minute. */
	for (uint64_t t = 1001; t < 61000; t++) {
		procs_of_sample(procs, 10, t * MS);
		if (procs_next_maps_request(procs, t * MS, &pid, &start_time)) {
			asked++;
			procs_maps_text(procs, 10, NULL, 0, t * MS);
		}
	}
	assert_in_range(asked, 4, 12);
}

static void after_a_loss_only_sampled_processes_are_read(void **state)
{
	struct procs *procs = *state;
	static const char text[] = "1000-2000 r-xp 0 08:01 5 /lib/a.so\n";
	struct procs_stats stats;
	uint64_t start_time;
	pid_t pid;

	for (pid = 10; pid < 20; pid++) {
		have_process(procs, pid);
		procs_maps_text(procs, pid, text, sizeof(text) - 1, 100 * MS);
	}
	drop_maps_requests(procs, 100 * MS);
	procs_of_sample(procs, 12, 150 * MS);
	assert_false(procs_next_maps_request(procs, 150 * MS, &pid, &start_time));
	procs_mark_all_stale(procs);
	assert_false(procs_next_maps_request(procs, 1000 * MS, &pid, &start_time));
	procs_of_sample(procs, 13, 1000 * MS);
	procs_of_sample(procs, 15, 1000 * MS);
	procs_of_sample(procs, 13, 1000 * MS);
	assert_true(procs_next_maps_request(procs, 1000 * MS, &pid, &start_time));
	assert_int_equal(pid, 13);
	assert_true(procs_next_maps_request(procs, 1000 * MS, &pid, &start_time));
	assert_int_equal(pid, 15);
	assert_false(procs_next_maps_request(procs, 1000 * MS, &pid, &start_time));

	/* Another loss between question and answer: the answer does not settle it. */
	procs_mark_all_stale(procs);
	procs_maps_text(procs, 13, text, sizeof(text) - 1, 1000 * MS);
	assert_true(procs_of_sample(procs, 13, 1100 * MS)->is_stale);
	assert_false(
		procs_next_maps_request(procs, 1100 * MS, &pid, &start_time)); /* 250 ms apart */
	assert_true(procs_next_maps_request(procs, 1300 * MS, &pid, &start_time));
	procs_maps_text(procs, 13, text, sizeof(text) - 1, 1300 * MS);
	assert_false(procs_of_sample(procs, 13, 1400 * MS)->is_stale);
	procs_stats(procs, &stats);
	assert_int_equal(stats.maps_reread, 2);
}

static void an_answer_is_as_old_as_its_question(void **state)
{
	struct procs *procs = *state;
	static const char text[] = "1000-2000 r-xp 0 08:01 5 /lib/a.so\n";
	uint64_t start_time;
	pid_t pid;

	have_process(procs, 10);
	assert_true(procs_next_maps_request(procs, 1000, &pid, &start_time));
	/* Perhaps after /proc was read: the answer, whenever it comes, does not speak of it. */
	do_mmap(procs, 10, 0x9000, 0x1000, "/lib/b.so", 6, 1500);
	procs_maps_text(procs, 10, text, sizeof(text) - 1, 2000);
	assert_string_equal(name_at(procs, 10, 0x9000, 2100), "b.so");
	assert_string_equal(name_at(procs, 10, 0x1000, 2100), "a.so");
}

static void a_stale_process_is_read_again(void **state)
{
	struct procs *procs = *state;
	static const char text[] = "1000-2000 r-xp 0 08:01 5 /lib/a.so\n";
	uint64_t start_time;
	pid_t pid;
	int asked = 0;

	have_process(procs, 10);
	procs_maps_text(procs, 10, text, sizeof(text) - 1, 100 * MS);
	drop_maps_requests(procs, 100 * MS);
	/* A program with code where no mapping is, at each sample of a minute. */
	for (uint64_t t = 1000; t < 61000; t++) {
		procs_of_sample(procs, 10, t * MS);
		procs_mark_stale(procs, 10);
		if (procs_next_maps_request(procs, t * MS, &pid, &start_time)) {
			asked++;
			procs_maps_text(procs, 10, text, sizeof(text) - 1, t * MS);
		}
	}
	assert_in_range(asked, 20, 40);
	procs_mark_stale(procs, 999);
}

static void many_wanting_processes_are_all_served(void **state)
{
	struct procs *procs = *state;
	uint64_t start_time, t;
	bool seen[1000] = {false};
	int nr = 0;
	pid_t pid;

	for (pid = 1; pid < 1000; pid++)
		procs_of_sample(procs, pid, 100 * MS);
	for (t = 100; t < 110; t++)
		while (procs_next_maps_request(procs, t * MS, &pid, &start_time)) {
			assert_false(seen[pid]);
			seen[pid] = true;
			nr++;
		}
	assert_int_equal(nr, 999);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_file_is_wanted_once_the_newest_first),
		TEST(new_files_are_seen_beforehand),
		TEST(identity_is_device_inode_and_generation),
		TEST(a_retired_module_is_not_found_again),
		TEST(records_with_a_build_id_go_by_it),
		TEST(a_file_whose_process_ended_is_asked_of_another),
		TEST(failures_are_tried_elsewhere_a_few_times),
		TEST(a_final_failure_is_final),
		TEST(a_bad_table_is_refused_and_stays_the_callers),
		TEST(tables_come_and_go_when_nobody_maps_the_file),
		TEST(the_largest_table_goes_when_all_are_too_large),
		TEST(files_are_bounded),
		TEST(new_processes_are_read_at_once_then_seldom),
		TEST(after_a_loss_only_sampled_processes_are_read),
		TEST(an_answer_is_as_old_as_its_question),
		TEST(a_stale_process_is_read_again),
		TEST(files_of_closed_processes_are_asked_for_elsewhere),
		TEST(many_wanting_processes_are_all_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
