noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
	src/engine/annotate.c \
	src/engine/backlog.c \
	src/engine/budget.c src/engine/budget.h \
	src/engine/choices.c \
	src/engine/code.c \
	src/engine/commands.c \
	src/engine/containers.c \
	src/engine/copy_size.c src/engine/copy_size.h \
	src/engine/engine.c src/engine/engine.h \
	src/engine/entries.c src/engine/entries.h \
	src/engine/faults.c src/engine/faults.h \
	src/engine/own_pids.c src/engine/own_pids.h \
	src/engine/fp_counts.c src/engine/fp_counts.h \
	src/engine/helpers.c \
	src/engine/internal.h \
	src/engine/kernel_cost.h \
	src/engine/reads.c src/engine/reads.h \
	src/engine/recorded.c src/engine/recorded.h \
	src/engine/overload.c \
	src/engine/records.c \
	src/engine/replay.c \
	src/engine/rest.c \
	src/engine/rounds.c \
	src/engine/sample_stack.c \
	src/engine/single_samples.c src/engine/single_samples.h \
	src/engine/snapshots.c \
	src/engine/source_lines.c src/engine/source_lines.h \
	src/engine/targets.c \
	src/engine/trials.c \
	src/engine/throttle.c src/engine/throttle.h \
	src/engine/user_chain.c src/engine/user_chain.h \
	src/engine/users.c src/engine/users.h \
	src/engine/wait.c

UNIT_TESTS += tests/test_engine_lbr
tests_test_engine_lbr_SOURCES = tests/test_engine_lbr.c tests/perf_bytes.h tests/proc_util.h
tests_test_engine_lbr_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_lbr_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_recorded
tests_test_engine_recorded_SOURCES = tests/test_engine_recorded.c tests/recording_bytes.h
tests_test_engine_recorded_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_recorded_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_budget
tests_test_engine_budget_SOURCES = tests/test_engine_budget.c
tests_test_engine_budget_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_budget_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_entries
tests_test_engine_entries_SOURCES = tests/test_engine_entries.c
tests_test_engine_entries_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_entries_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_user_chain
tests_test_engine_user_chain_SOURCES = tests/test_engine_user_chain.c
tests_test_engine_user_chain_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_user_chain_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_users
tests_test_engine_users_SOURCES = tests/test_engine_users.c
tests_test_engine_users_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_users_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_throttle
tests_test_engine_throttle_SOURCES = tests/test_engine_throttle.c
tests_test_engine_throttle_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_throttle_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_copy_size
tests_test_engine_copy_size_SOURCES = tests/test_engine_copy_size.c
tests_test_engine_copy_size_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_copy_size_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_own_pids
tests_test_engine_own_pids_SOURCES = tests/test_engine_own_pids.c
tests_test_engine_own_pids_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_own_pids_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_faults
tests_test_engine_faults_SOURCES = tests/test_engine_faults.c
tests_test_engine_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_faults_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_source_lines
tests_test_engine_source_lines_SOURCES = tests/test_engine_source_lines.c
tests_test_engine_source_lines_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_source_lines_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_reads
tests_test_engine_reads_SOURCES = tests/test_engine_reads.c
tests_test_engine_reads_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_reads_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)
