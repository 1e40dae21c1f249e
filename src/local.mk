# What main is made of, as a library so that tests reach it. main.c alone exits.
noinst_LIBRARIES += libmain.a
libmain_a_SOURCES = \
	src/arguments.c src/arguments.h \
	src/batch.c src/batch.h \
	src/input.c src/input.h \
	src/launch.c src/launch.h \
	src/options.c src/options.h \
	src/output.c src/output.h \
	src/process.c src/process.h \
	src/report_writer.c src/report_writer.h \
	src/session.c src/session.h

bin_PROGRAMS += stacktop
stacktop_SOURCES = src/main.c
stacktop_LDADD = libmain.a libui.a libout.a libview.a libengine.a libprofile.a libresolve.a libproc.a \
	libbroker.a libloader.a libunwind-st.a libperf.a libmodel.a libbase.a \
	$(NCURSES_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS) $(LZMA_LIBS) $(ZSTD_LIBS) $(SECCOMP_LIBS) $(DEMANGLE_LIBS)

UNIT_TESTS += tests/test_main_options
tests_test_main_options_SOURCES = tests/test_main_options.c
tests_test_main_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_options_LDADD = libmain.a $(LINK_OUT) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_output
tests_test_main_output_SOURCES = tests/test_main_output.c
tests_test_main_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_output_LDADD = libmain.a libbroker.a $(LINK_OUT) $(SECCOMP_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_launch
tests_test_main_launch_SOURCES = tests/test_main_launch.c
tests_test_main_launch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_launch_LDADD = libmain.a $(LINK_BROKER) $(CMOCKA_LIBS)

TEST_HELPERS += tests/have_perf
tests_have_perf_SOURCES = tests/have_perf.c

SCRIPT_TESTS += tests/test_main_batch.sh tests/test_main_bootstrap.sh tests/test_main_docs.sh \
	tests/test_main_conformance.py tests/test_main_json.sh tests/test_main_peer.sh tests/test_main_privileges.sh \
	tests/test_main_recording.sh tests/test_main_screen.sh tests/test_main_script.sh

UNIT_TESTS += tests/test_main_keys
tests_test_main_keys_SOURCES = tests/test_main_keys.c
tests_test_main_keys_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_keys_LDADD = $(LINK_UI) $(CMOCKA_LIBS)
