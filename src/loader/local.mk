noinst_LIBRARIES += libloader.a
libloader_a_SOURCES = \
	src/loader/answer.c src/loader/answer.h \
	src/loader/cache.c src/loader/cache.h \
	src/loader/client.c src/loader/client.h \
	src/loader/debug_abbrevs.c src/loader/debug_abbrevs.h \
	src/loader/debug_file.c src/loader/debug_file.h \
	src/loader/debug_info.c src/loader/debug_info.h \
	src/loader/debug_lines.c src/loader/debug_lines.h \
	src/loader/debug_program.c src/loader/debug_program.h \
	src/loader/debug_ranges.c src/loader/debug_ranges.h \
	src/loader/debug_scopes.c src/loader/debug_scopes.h \
	src/loader/debug_split.c src/loader/debug_split.h \
	src/loader/debug_unit.c src/loader/debug_unit.h \
	src/loader/debugdata.c \
	src/loader/demangle.c src/loader/demangle.h \
	src/loader/disassemble.c src/loader/disassemble.h \
	src/loader/dynamic.c src/loader/dynamic.h \
	src/loader/elf_bytes.c src/loader/elf_bytes.h \
	src/loader/elf_code.c \
	src/loader/elf_file.c src/loader/elf_file.h \
	src/loader/fetch_urls.c \
	src/loader/fetcher.c src/loader/fetcher.h \
	src/loader/instructions.c src/loader/instructions.h \
	src/loader/jit_code.c src/loader/jit_code.h \
	src/loader/jit_text.c src/loader/jit_text.h \
	src/loader/jit_told.c src/loader/jit_told.h \
	src/loader/jitdump.c src/loader/jitdump.h \
	src/loader/kallsyms.c src/loader/kallsyms.h \
	src/loader/name_rank.c src/loader/name_rank.h \
	src/loader/lines.c src/loader/lines.h \
	src/loader/made_code.c src/loader/made_code.h \
	src/loader/mapped.c src/loader/mapped.h \
	src/loader/modules.c src/loader/modules.h \
	src/loader/names.c \
	src/loader/packed_file.c \
	src/loader/perf_map.c src/loader/perf_map.h \
	src/loader/plt.c \
	src/loader/protocol.h \
	src/loader/sandbox.c src/loader/sandbox.h \
	src/loader/server.c \
	src/loader/symbols.c src/loader/symbols.h \
	src/loader/turns.c src/loader/turns.h
libloader_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(LZMA_CFLAGS) \
	$(ZLIB_CFLAGS) $(ZSTD_CFLAGS) \
	$(SECCOMP_CFLAGS) $(DEBUGINFOD_CFLAGS) $(CAPSTONE_CFLAGS)

UNIT_TESTS += tests/test_loader_cache
tests_test_loader_cache_SOURCES = tests/test_loader_cache.c
tests_test_loader_cache_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_cache_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_jit
tests_test_loader_jit_SOURCES = tests/test_loader_jit.c
tests_test_loader_jit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_jit_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_text
tests_test_loader_text_SOURCES = tests/test_loader_text.c
tests_test_loader_text_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_text_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_symbols
tests_test_loader_symbols_SOURCES = tests/test_loader_symbols.c tests/loader_elf.h \
	tests/loader_helpers.h
tests_test_loader_symbols_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_symbols_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_turns
tests_test_loader_turns_SOURCES = tests/test_loader_turns.c tests/loader_elf.h \
	tests/loader_helpers.h
tests_test_loader_turns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_turns_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_code
tests_test_loader_code_SOURCES = tests/test_loader_code.c tests/loader_helpers.h
tests_test_loader_code_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -g
tests_test_loader_code_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_names
tests_test_loader_names_SOURCES = tests/test_loader_names.c tests/loader_helpers.h
tests_test_loader_names_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_names_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_lies
tests_test_loader_lies_SOURCES = tests/test_loader_lies.c tests/loader_faults.h tests/loader_helpers.h
tests_test_loader_lies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_lies_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_faults
tests_test_loader_faults_SOURCES = tests/test_loader_faults.c tests/loader_faults.h \
	tests/loader_helpers.h
tests_test_loader_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LZMA_CFLAGS)
tests_test_loader_faults_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_hostile
tests_test_loader_hostile_SOURCES = tests/test_loader_hostile.c tests/loader_faults.h \
	tests/loader_helpers.h
tests_test_loader_hostile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_hostile_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

if DEBUGINFOD
UNIT_TESTS += tests/test_loader_fetcher
tests_test_loader_fetcher_SOURCES = tests/test_loader_fetcher.c tests/loader_helpers.h
tests_test_loader_fetcher_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_fetcher_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)
endif

# Compared with addr2line.
SCRIPT_TESTS += tests/test_loader_inlined.py
TEST_HELPERS += tests/lines_of
tests_lines_of_SOURCES = tests/lines_of.c
tests_lines_of_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS)
tests_lines_of_LDADD = $(LINK_LOADER)

UNIT_TESTS += tests/test_loader_program
tests_test_loader_program_SOURCES = tests/test_loader_program.c
tests_test_loader_program_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_program_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_lines
tests_test_loader_lines_SOURCES = tests/test_loader_lines.c tests/loader_helpers.h
tests_test_loader_lines_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_lines_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)
