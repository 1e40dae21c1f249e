noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
	src/engine/backlog.c \
	src/engine/choices.c \
	src/engine/commands.c \
	src/engine/engine.c src/engine/engine.h \
	src/engine/helpers.c \
	src/engine/internal.h \
	src/engine/recorded.c src/engine/recorded.h \
	src/engine/records.c \
	src/engine/replay.c \
	src/engine/rounds.c \
	src/engine/sample_stack.c \
	src/engine/single_samples.c src/engine/single_samples.h \
	src/engine/snapshots.c \
	src/engine/targets.c \
	src/engine/wait.c

UNIT_TESTS += tests/test_engine_lbr
tests_test_engine_lbr_SOURCES = tests/test_engine_lbr.c tests/perf_bytes.h tests/proc_util.h
tests_test_engine_lbr_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_lbr_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_engine_recorded
tests_test_engine_recorded_SOURCES = tests/test_engine_recorded.c tests/recording_bytes.h
tests_test_engine_recorded_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_engine_recorded_LDADD = $(LINK_ENGINE) $(CMOCKA_LIBS)
