/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is missing is told with its true cause. */
#include "config.h"

#include "src/resolve/resolver.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void kernel_names_are_missed_for_the_true_reason(void **state)
{
	struct file files[LOADER_KERNEL + 1] = {0};
	struct resolver s = {.files = files, .nr_files = LOADER_KERNEL + 1, .origin = &origin_live};
	char text[160];

	(void)state;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text,
		       sizeof(text)); /* nobody has asked yet */
	assert_string_equal(text, "");
	s.kernel_names_missing = true;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text, sizeof(text));
	assert_non_null(strstr(text, "kptr_restrict=0"));
	files[LOADER_KERNEL].trouble = LOADER_TIMED_OUT;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text, sizeof(text));
	assert_string_equal(text, "no kernel names: /proc/kallsyms: timed out");
	files[LOADER_KERNEL].trouble = LOADER_NO_FILES;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text, sizeof(text));
	assert_non_null(strstr(text, "too few file descriptors"));
	files[LOADER_KERNEL].trouble = LOADER_OK;
	s.kernel_trouble = -EACCES;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text, sizeof(text));
	assert_string_equal(text, "no kernel names: /proc/kallsyms: Permission denied");
	s.kernel_trouble = -EMFILE;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text, sizeof(text));
	assert_non_null(strstr(text, "too few file descriptors"));
	assert_non_null(strstr(text, "ulimit -n"));
	assert_null(strstr(text, "kptr_restrict"));
	s.kernel_names_seen = true;
	resolve_notice(&s, RESOLVE_NOTICE_KERNEL, true, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_names_are_missed_for_the_true_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
