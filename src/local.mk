# What main is made of, as a library so that tests reach it. main.c alone exits.
noinst_LIBRARIES += libmain.a
libmain_a_SOURCES = \
	src/arguments.c src/arguments.h \
	src/batch.c src/batch.h \
	src/bundle.c src/bundle.h \
	src/cgroup.c src/cgroup.h \
	src/choose.c src/choose.h \
	src/completion.c src/completion.h \
	src/input.c src/input.h \
	src/launch.c src/launch.h \
	src/options.c src/options.h \
	src/output.c src/output.h \
	src/process.c src/process.h \
	src/report_writer.c src/report_writer.h \
	src/running.c src/running.h \
	src/session.c src/session.h \
	src/settings.c src/settings.h \
	src/symbol.c src/symbol.h \
	src/watch.c src/watch.h

bin_PROGRAMS += stacktop
stacktop_SOURCES = src/main.c
stacktop_LDADD = libmain.a libui.a libout.a libview.a libengine.a libprofile.a libresolve.a libproc.a \
	libbroker.a libloader.a libunwind-st.a libperf.a libmodel.a libbase.a \
	$(NCURSES_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS) $(LZMA_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS) $(SECCOMP_LIBS) $(DEMANGLE_LIBS) \
	$(CAPSTONE_LIBS)

if COMPLETION
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
bashcompletion_DATA = completion/stacktop
zshcompletion_DATA = completion/_stacktop
fishcompletion_DATA = completion/stacktop.fish
COMPLETIONS = $(bashcompletion_DATA) $(zshcompletion_DATA) $(fishcompletion_DATA)
CLEANFILES += $(COMPLETIONS)
completion/stacktop: stacktop$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./stacktop$(EXEEXT) --completion=bash >$@
completion/_stacktop: stacktop$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./stacktop$(EXEEXT) --completion=zsh >$@
completion/stacktop.fish: stacktop$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./stacktop$(EXEEXT) --completion=fish >$@
endif

UNIT_TESTS += tests/test_main_options
tests_test_main_options_SOURCES = tests/test_main_options.c
tests_test_main_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_options_LDADD = libmain.a $(LINK_OUT) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_settings
tests_test_main_settings_SOURCES = tests/test_main_settings.c
tests_test_main_settings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_settings_LDADD = libmain.a $(LINK_BROKER) $(LINK_OUT) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_running
tests_test_main_running_SOURCES = tests/test_main_running.c
tests_test_main_running_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_running_LDADD = libmain.a $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_cgroup
tests_test_main_cgroup_SOURCES = tests/test_main_cgroup.c
tests_test_main_cgroup_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_cgroup_LDADD = libmain.a $(LINK_OUT) libproc.a $(LINK_BASE) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_output
tests_test_main_output_SOURCES = tests/test_main_output.c
tests_test_main_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_output_LDADD = libmain.a libbroker.a $(LINK_OUT) $(SECCOMP_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_report
tests_test_main_report_SOURCES = tests/test_main_report.c
tests_test_main_report_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_report_LDADD = libmain.a $(LINK_BROKER) $(LINK_OUT) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_main_launch
tests_test_main_launch_SOURCES = tests/test_main_launch.c
tests_test_main_launch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_launch_LDADD = libmain.a $(LINK_BROKER) $(CMOCKA_LIBS)

TEST_HELPERS += tests/have_perf
tests_have_perf_SOURCES = tests/have_perf.c

SCRIPT_TESTS += tests/test_main_batch.sh tests/test_main_bootstrap.sh tests/test_main_bundle.sh tests/test_main_completion.sh tests/test_main_docs.sh \
	tests/test_main_conformance.py tests/test_main_json.sh tests/test_main_peer.sh tests/test_main_pprof.sh \
	tests/test_main_inlined.sh tests/test_main_privileges.sh tests/test_main_recipes.sh tests/test_main_recording.sh tests/test_main_screen.sh tests/test_main_script.sh \
	tests/test_main_speedscope.sh

UNIT_TESTS += tests/test_main_keys
tests_test_main_keys_SOURCES = tests/test_main_keys.c
tests_test_main_keys_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_main_keys_LDADD = $(LINK_UI) $(CMOCKA_LIBS)
