noinst_LIBRARIES += libview.a
libview_a_SOURCES = \
	src/view/annotate.c src/view/annotate.h \
	src/view/baseline.c src/view/baseline.h \
	src/view/baseline_rows.c \
	src/view/butterfly.c \
	src/view/callers.c \
	src/view/columns.c \
	src/view/containers.c \
	src/view/flame.c src/view/flame.h \
	src/view/functions.c \
	src/view/header.c \
	src/view/health.c src/view/health.h \
	src/view/merge.c src/view/merge.h \
	src/view/narrow.c src/view/narrow.h \
	src/view/collapse.c src/view/collapse.h \
	src/view/pattern.c src/view/pattern.h \
	src/view/processes.c src/view/processes.h \
	src/view/remedy.c src/view/remedy.h \
	src/view/rows.c src/view/rows.h \
	src/view/table.c \
	src/view/tree.c \
	src/view/users.c \
	src/view/view.c src/view/view.h \
	src/view/when.c src/view/when.h

UNIT_TESTS += tests/test_view_baseline
tests_test_view_baseline_SOURCES = tests/test_view_baseline.c
tests_test_view_baseline_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_baseline_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_view_containers
tests_test_view_containers_SOURCES = tests/test_view_containers.c
tests_test_view_containers_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_containers_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_view_rows tests/test_view_profile
tests_test_view_rows_SOURCES = tests/test_view_rows.c
tests_test_view_rows_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_rows_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)
tests_test_view_profile_SOURCES = tests/test_view_profile.c
tests_test_view_profile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_profile_LDADD = libview.a $(LINK_PROFILE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_view_flame tests/test_view_narrow
tests_test_view_narrow_SOURCES = tests/test_view_narrow.c
tests_test_view_narrow_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_narrow_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)
tests_test_view_flame_SOURCES = tests/test_view_flame.c
tests_test_view_flame_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_flame_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_view_annotate
tests_test_view_annotate_SOURCES = tests/test_view_annotate.c
tests_test_view_annotate_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_annotate_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_view_health
tests_test_view_health_SOURCES = tests/test_view_health.c
tests_test_view_health_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_health_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_view_when
tests_test_view_when_SOURCES = tests/test_view_when.c
tests_test_view_when_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_when_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)
