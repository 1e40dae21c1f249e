# What main is made of, as a library so that tests reach it. main.c alone exits.
noinst_LIBRARIES += libmain.a
libmain_a_SOURCES = \
	src/options.c src/options.h

bin_PROGRAMS += stacktop
stacktop_SOURCES = src/main.c
stacktop_LDADD = libmain.a libui.a libout.a libview.a libengine.a libprofile.a libproc.a \
	libbroker.a libloader.a libunwind-st.a libperf.a libmodel.a libbase.a \
	$(NCURSES_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS) $(LZMA_LIBS) $(SECCOMP_LIBS) $(DEMANGLE_LIBS)

UNIT_TESTS += tests/test_main_options
tests_test_main_options_SOURCES = tests/test_main_options.c
tests_test_main_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_options_LDADD = libmain.a $(LINK_OUT) $(CMOCKA_LIBS)

SCRIPT_TESTS += tests/test_main_docs.sh

UNIT_TESTS += tests/test_main_keys
tests_test_main_keys_SOURCES = tests/test_main_keys.c
tests_test_main_keys_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_keys_LDADD = $(LINK_UI) $(CMOCKA_LIBS)
