noinst_LIBRARIES += libproc.a
libproc_a_SOURCES = \
	src/proc/container.c src/proc/container.h \
	src/proc/containers.c \
	src/proc/follow.c \
	src/proc/mapping.c src/proc/mapping.h \
	src/proc/modules.c src/proc/modules.h \
	src/proc/proc.h \
	src/proc/processes.c src/proc/processes.h \
	src/proc/procs.c src/proc/procs.h \
	src/proc/space.c src/proc/space.h \
	src/proc/requests.c \
	src/proc/runtime.c \
	src/proc/threads.c src/proc/threads.h

UNIT_TESTS += tests/test_proc_space
tests_test_proc_space_SOURCES = tests/test_proc_space.c
tests_test_proc_space_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_space_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_container
tests_test_proc_container_SOURCES = tests/test_proc_container.c
tests_test_proc_container_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_container_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_mapping
tests_test_proc_mapping_SOURCES = tests/test_proc_mapping.c
tests_test_proc_mapping_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_mapping_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_follow
tests_test_proc_follow_SOURCES = tests/test_proc_follow.c tests/proc_util.h
tests_test_proc_follow_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_follow_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_threads
tests_test_proc_threads_SOURCES = tests/test_proc_threads.c tests/proc_util.h
tests_test_proc_threads_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_threads_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_requests
tests_test_proc_requests_SOURCES = tests/test_proc_requests.c tests/proc_util.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_proc_requests_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_proc_requests_LDADD = $(LINK_PROC) $(LIBELF_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_live
tests_test_proc_live_SOURCES = tests/test_proc_live.c tests/direct_opener.h
tests_test_proc_live_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_live_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_proc_recorded
tests_test_proc_recorded_SOURCES = tests/test_proc_recorded.c tests/proc_util.h
tests_test_proc_recorded_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_proc_recorded_LDADD = $(LINK_PROC) $(CMOCKA_LIBS)
