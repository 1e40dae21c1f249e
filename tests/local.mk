# Tests that do not belong to one layer. Each layer's own unit tests stand in its fragment.

SCRIPT_TESTS += \
	tests/test_layers.sh \
	tests/test_live_annotate.sh \
	tests/test_live_vmlinux.sh \
	tests/test_live_assembly.sh \
	tests/test_live_builds.sh \
	tests/test_live_chains.sh \
	tests/test_live_command.sh \
	tests/test_live_container.sh \
	tests/test_live_copy.sh \
	tests/test_live_cut.sh \
	tests/test_live_debuginfod.sh \
	tests/test_live_exec.sh \
	tests/test_live_expensive.sh \
	tests/test_live_faults.sh \
	tests/test_live_files.sh \
	tests/test_live_go.sh \
	tests/test_live_health.sh \
	tests/test_live_jit.sh \
	tests/test_live_menu.sh \
	tests/test_live_names.sh \
	tests/test_live_i386.sh \
	tests/test_live_overload.sh \
	tests/test_live_languages.sh \
	tests/test_live_libraries.sh \
	tests/test_live_places.sh \
	tests/test_live_processes.sh \
	tests/test_live_replaced.sh \
	tests/test_live_rest.sh \
	tests/test_live_shares.sh \
	tests/test_live_short.sh \
	tests/test_live_servers.sh \
	tests/test_live_settings.sh \
	tests/test_live_stitch.sh \
	tests/test_live_storms.sh \
	tests/test_live_templates.sh \
	tests/test_live_user.sh \
	tests/test_live_when.sh \
	tests/test_live_write.sh \
	tests/test_live_butterfly.sh tests/test_live_zoom.sh \
	tests/test_live_threads.sh \
	tests/test_live_users.sh

ROOT_TESTS += tests/root_settings.sh tests/root_sudo.sh

TEST_HELPERS += tests/deny_perf
tests_deny_perf_SOURCES = tests/deny_perf.c

TEST_HELPERS += tests/admin_perf
tests_admin_perf_SOURCES = tests/admin_perf.c
tests_admin_perf_LDADD = $(LINK_BASE)

# Every allocation fails once; the shim is preloaded, so it is no program.
EXTRA_DIST += tests/check_oom.py tests/fail_alloc.c
CLEANFILES += tests/fail_alloc.so
tests/fail_alloc.so: $(srcdir)/tests/fail_alloc.c
	@$(MKDIR_P) tests
	$(AM_V_CC)$(CC) -O1 -g -Wall -Wextra -shared -fPIC -o $@ $(srcdir)/tests/fail_alloc.c -ldl
check-oom: stacktop$(EXEEXT) tests/fail_alloc.so
	OOM_TRIES='$(OOM_TRIES)' $(srcdir)/tests/check_oom.py ./stacktop$(EXEEXT) tests/fail_alloc.so; s=$$?; test $$s = 77 || exit $$s
.PHONY: check-oom

# No function that the program does not use.
EXTRA_DIST += tests/check_unused.sh
unused_cppflags = $(CPPFLAGS) $(AM_CPPFLAGS) $(NCURSES_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(LZMA_CFLAGS) \
	$(ZLIB_CFLAGS) $(ZSTD_CFLAGS) $(SECCOMP_CFLAGS) $(DEBUGINFOD_CFLAGS) $(CAPSTONE_CFLAGS)
unused_libs = $(NCURSES_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS) $(LZMA_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS) $(SECCOMP_LIBS) \
	$(DEMANGLE_LIBS) $(CAPSTONE_LIBS) $(LIBS)
check-unused: config.h
	@CC='$(CC)' CPPFLAGS='$(unused_cppflags)' LIBS='$(unused_libs)' top_srcdir='$(top_srcdir)' \
		$(srcdir)/tests/check_unused.sh
.PHONY: check-unused

EXTRA_DIST += \
	tests/chains_lib.sh \
	tests/lib.sh \
	tests/live-report \
	tests/on-kernel \
	tests/cut_recording.py \
	tests/read_pprof.py \
	tests/read_script.py \
	tests/read_speedscope.js \
	tests/recipes_server.py \
	tests/live_lib.sh \
	tests/loads.sh \
	tests/serve_files.py \
	tests/targets/bpf.c \
	tests/targets/chains.c \
	tests/targets/chains.go \
	tests/targets/chains.rs \
	tests/targets/cut.c \
	tests/targets/deep.c \
	tests/targets/hot_loop.c \
	tests/targets/files.c \
	tests/targets/jit.c \
	tests/targets/mapped.c \
	tests/targets/places.c \
	tests/targets/remaps.c \
	tests/targets/shares.c
