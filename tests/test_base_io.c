/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sealed memory files, also where the kernel is an older one. */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "tests/refuse_calls.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* As Linux before 6.7 of a memory file that is sealed against writing: no shared mapping, not even to read. */
static int refuse_shared_mappings(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return refuse_calls(code, ARRAY_SIZE(code));
}

static int map_it(int fd)
{
	const void *data;
	size_t len;

	if (refuse_shared_mappings() < 0)
		return 77;
	if (memfd_map(fd, 100, &data, &len) < 0)
		return 1;
	return len == 6 && memcmp(data, "stacks", 6) == 0 ? 0 : 2;
}

static void a_sealed_file_is_mapped_by_older_kernels_too(void **state)
{
	int fd = memfd_sealed("test", "stacks", 6), status;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	pid = fork();
	if (pid == 0)
		_exit(map_it(fd));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void what_is_not_sealed_is_not_mapped(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const void *data;
	size_t len;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "stacks", 6), 6);
	assert_int_equal(memfd_map(fd, 100, &data, &len), -EPERM);
	close(fd);
	fd = memfd_sealed("test", "stacks", 6);
	assert_int_equal(memfd_map(fd, 5, &data, &len), -EFBIG);
	close(fd);
}

static void a_setting_is_read(void **state)
{
	(void)state;
	assert_true(sysctl_read("/proc/sys/kernel/pid_max", -1) > 1);
	assert_int_equal(sysctl_read("/proc/sys/kernel/ostype", -1), -1);
	assert_int_equal(sysctl_read("/proc/sys/kernel/there_is_no_such", -7), -7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sealed_file_is_mapped_by_older_kernels_too),
		cmocka_unit_test(what_is_not_sealed_is_not_mapped),
		cmocka_unit_test(a_setting_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
