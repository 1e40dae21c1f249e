noinst_LIBRARIES += libresolve.a
libresolve_a_SOURCES = \
	src/resolve/fetch.c \
	src/resolve/jit.c \
	src/resolve/module_code.c \
	src/resolve/module_files.c \
	src/resolve/module_lines.c \
	src/resolve/module_names.c \
	src/resolve/module_tables.c \
	src/resolve/open_files.c \
	src/resolve/origin_live.c \
	src/resolve/origin_recorded.c \
	src/resolve/resolve.c src/resolve/resolve.h \
	src/resolve/resolver.h \
	src/resolve/vdso.c \
	src/resolve/vmlinux.c

UNIT_TESTS += tests/test_resolve_notice
tests_test_resolve_notice_SOURCES = tests/test_resolve_notice.c
tests_test_resolve_notice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_resolve_notice_LDADD = $(LINK_RESOLVE) $(CMOCKA_LIBS)
