noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	src/base/cleanup.h \
	src/base/confine.c src/base/confine.h \
	src/base/deadline.c src/base/deadline.h \
	src/base/err.c src/base/err.h \
	src/base/hash.c src/base/hash.h \
	src/base/huge.c src/base/huge.h \
	src/base/io.c src/base/io.h \
	src/base/progress.c src/base/progress.h \
	src/base/reader.c src/base/reader.h \
	src/base/runtime.c src/base/runtime.h \
	src/base/short_name.c src/base/short_name.h \
	src/base/sort.c src/base/sort.h \
	src/base/stack.c src/base/stack.h \
	src/base/strings.c src/base/strings.h \
	src/base/text.c src/base/text.h src/base/text_ranges.h \
	src/base/util.h \
	src/base/vec.c src/base/vec.h
libbase_a_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)

EXTRA_DIST += tests/inside.h tests/refuse_calls.h

UNIT_TESTS += tests/test_base_confine
tests_test_base_confine_SOURCES = tests/test_base_confine.c
tests_test_base_confine_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_confine_LDADD = $(LINK_BASE) $(SECCOMP_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_base_hash
tests_test_base_hash_SOURCES = tests/test_base_hash.c
tests_test_base_hash_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_hash_LDADD = $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_base_huge
tests_test_base_huge_SOURCES = tests/test_base_huge.c
tests_test_base_huge_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_huge_LDADD = $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_base_io
tests_test_base_io_SOURCES = tests/test_base_io.c
tests_test_base_io_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_io_LDADD = $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_base_short_name
tests_test_base_short_name_SOURCES = tests/test_base_short_name.c
tests_test_base_short_name_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_short_name_LDADD = $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_base_sort
tests_test_base_sort_SOURCES = tests/test_base_sort.c
tests_test_base_sort_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_sort_LDADD = $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_base_text
tests_test_base_text_SOURCES = tests/test_base_text.c
tests_test_base_text_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_base_text_LDADD = $(LINK_BASE) $(CMOCKA_LIBS)
