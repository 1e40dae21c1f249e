noinst_LIBRARIES += libbroker.a
libbroker_a_SOURCES = \
	src/broker/broker.h \
	src/broker/children.c src/broker/children.h \
	src/broker/broker.c \
	src/broker/files.c src/broker/files.h \
	src/broker/filter.c src/broker/filter.h \
	src/broker/identity.c src/broker/identity.h \
	src/broker/maps.c src/broker/maps.h \
	src/broker/jit_files.c src/broker/jit_files.h \
	src/broker/kcore.c src/broker/kcore.h \
	src/broker/code_memory.c src/broker/code_memory.h \
	src/broker/pool.c src/broker/pool.h \
	src/broker/settings_file.c src/broker/settings_file.h \
	src/broker/proc_dir.c src/broker/proc_dir.h \
	src/broker/stack_memory.c src/broker/stack_memory.h \
	src/broker/stack_readers.c src/broker/stack_readers.h \
	src/broker/thread.c src/broker/thread.h \
	src/broker/writer.c src/broker/writer.h \
	src/broker/broker_main.c src/broker/broker_main.h
libbroker_a_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)

EXTRA_DIST += tests/broker_fixture.h tests/broker_programs.h

UNIT_TESTS += tests/test_broker_control
tests_test_broker_control_SOURCES = tests/test_broker_control.c
tests_test_broker_control_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_control_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_code_memory
tests_test_broker_code_memory_SOURCES = tests/test_broker_code_memory.c
tests_test_broker_code_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_code_memory_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_files
tests_test_broker_files_SOURCES = tests/test_broker_files.c
tests_test_broker_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_files_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_debug_files
tests_test_broker_debug_files_SOURCES = tests/test_broker_debug_files.c
tests_test_broker_debug_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_debug_files_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_by_path
tests_test_broker_by_path_SOURCES = tests/test_broker_by_path.c
tests_test_broker_by_path_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_by_path_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_hang
tests_test_broker_hang_SOURCES = tests/test_broker_hang.c
tests_test_broker_hang_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_hang_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_identity
tests_test_broker_identity_SOURCES = tests/test_broker_identity.c
tests_test_broker_identity_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_identity_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_jit_files
tests_test_broker_jit_files_SOURCES = tests/test_broker_jit_files.c
tests_test_broker_jit_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_jit_files_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_kcore
tests_test_broker_kcore_SOURCES = tests/test_broker_kcore.c
tests_test_broker_kcore_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_kcore_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_memory
tests_test_broker_memory_SOURCES = tests/test_broker_memory.c
tests_test_broker_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_memory_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_answers
tests_test_broker_answers_SOURCES = tests/test_broker_answers.c
tests_test_broker_answers_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_answers_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_inside
tests_test_broker_inside_SOURCES = tests/test_broker_inside.c
tests_test_broker_inside_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_inside_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_broker_writer
tests_test_broker_writer_SOURCES = tests/test_broker_writer.c
tests_test_broker_writer_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_broker_writer_LDADD = $(LINK_BROKER) $(CMOCKA_LIBS)

# The test that uses it skips without.
if FUSE
TEST_HELPERS += tests/fuse_hang
tests_fuse_hang_SOURCES = tests/fuse_hang.c
tests_fuse_hang_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS)
tests_fuse_hang_LDADD = $(FUSE_LIBS)
endif
