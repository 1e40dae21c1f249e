noinst_LIBRARIES += libloader.a
libloader_a_SOURCES = \
	src/loader/answer.c src/loader/answer.h \
	src/loader/cache.c src/loader/cache.h \
	src/loader/client.c src/loader/client.h \
	src/loader/debugdata.c \
	src/loader/demangle.c src/loader/demangle.h \
	src/loader/elf_bytes.c src/loader/elf_bytes.h \
	src/loader/elf_code.c \
	src/loader/elf_file.c src/loader/elf_file.h \
	src/loader/fetch_urls.c \
	src/loader/fetcher.c src/loader/fetcher.h \
	src/loader/kallsyms.c src/loader/kallsyms.h \
	src/loader/name_rank.c src/loader/name_rank.h \
	src/loader/names.c \
	src/loader/plt.c \
	src/loader/protocol.h \
	src/loader/sandbox.c src/loader/sandbox.h \
	src/loader/server.c \
	src/loader/symbols.c src/loader/symbols.h
libloader_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(LZMA_CFLAGS) \
	$(SECCOMP_CFLAGS) $(DEBUGINFOD_CFLAGS)

UNIT_TESTS += tests/test_loader_cache
tests_test_loader_cache_SOURCES = tests/test_loader_cache.c
tests_test_loader_cache_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_cache_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

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

UNIT_TESTS += tests/test_loader_names
tests_test_loader_names_SOURCES = tests/test_loader_names.c tests/loader_helpers.h
tests_test_loader_names_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_names_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_loader_faults
tests_test_loader_faults_SOURCES = tests/test_loader_faults.c tests/loader_helpers.h
tests_test_loader_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LZMA_CFLAGS)
tests_test_loader_faults_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)

if DEBUGINFOD
UNIT_TESTS += tests/test_loader_fetcher
tests_test_loader_fetcher_SOURCES = tests/test_loader_fetcher.c tests/loader_helpers.h
tests_test_loader_fetcher_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_loader_fetcher_LDADD = $(LINK_LOADER) $(CMOCKA_LIBS)
endif
