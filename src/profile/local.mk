noinst_LIBRARIES += libprofile.a
libprofile_a_SOURCES = \
	src/profile/activity.c src/profile/activity.h \
	src/profile/addresses.c \
	src/profile/build.c src/profile/build.h \
	src/profile/build_merge.c \
	src/profile/build_processes.c \
	src/profile/build_stacks.c \
	src/profile/call_tree.c src/profile/call_tree.h \
	src/profile/frames.c src/profile/frames.h \
	src/profile/garbage.c \
	src/profile/id_table.c src/profile/id_table.h \
	src/profile/inlines.c src/profile/inlines.h \
	src/profile/log.c src/profile/log.h \
	src/profile/parts.h \
	src/profile/preferred.c \
	src/profile/profile.c src/profile/profile.h \
	src/profile/thread_ids.c src/profile/thread_ids.h \
	src/profile/weights.c \
	src/profile/window.c

UNIT_TESTS += tests/test_profile_model tests/test_profile_snapshot
tests_test_profile_model_SOURCES = tests/test_profile_model.c
tests_test_profile_model_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_profile_model_LDADD = $(LINK_PROFILE) $(CMOCKA_LIBS)
tests_test_profile_snapshot_SOURCES = tests/test_profile_snapshot.c
tests_test_profile_snapshot_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_profile_snapshot_LDADD = $(LINK_PROFILE) $(CMOCKA_LIBS)
