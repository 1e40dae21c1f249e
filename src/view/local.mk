noinst_LIBRARIES += libview.a
libview_a_SOURCES = \
	src/view/callers.c \
	src/view/columns.c \
	src/view/header.c \
	src/view/rows.c src/view/rows.h \
	src/view/view.c src/view/view.h

UNIT_TESTS += tests/test_view_rows tests/test_view_profile
tests_test_view_rows_SOURCES = tests/test_view_rows.c
tests_test_view_rows_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_rows_LDADD = $(LINK_VIEW) $(CMOCKA_LIBS)
tests_test_view_profile_SOURCES = tests/test_view_profile.c
tests_test_view_profile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_view_profile_LDADD = libview.a $(LINK_PROFILE) $(CMOCKA_LIBS)
