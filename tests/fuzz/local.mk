# Fuzz targets: built only by "make fuzz", in a build of their own with clang.
FUZZ_TARGETS = \
	tests/fuzz/fuzz_broker \
	tests/fuzz/fuzz_cfi \
	tests/fuzz/fuzz_code \
	tests/fuzz/fuzz_jit \
	tests/fuzz/fuzz_instructions \
	tests/fuzz/fuzz_debug \
	tests/fuzz/fuzz_lbr \
	tests/fuzz/fuzz_loader \
	tests/fuzz/fuzz_options \
	tests/fuzz/fuzz_proc \
	tests/fuzz/fuzz_record \
	tests/fuzz/fuzz_recording \
	tests/fuzz/fuzz_source \
	tests/fuzz/fuzz_table \
	tests/fuzz/fuzz_text
EXTRA_PROGRAMS += $(FUZZ_TARGETS) tests/fuzz/fuzz_seeds
fuzz_link = $(AM_LDFLAGS) -fsanitize=fuzzer

tests_fuzz_fuzz_broker_SOURCES = tests/fuzz/fuzz_broker.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_broker_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_broker_LDADD = $(LINK_BROKER)
tests_fuzz_fuzz_cfi_SOURCES = tests/fuzz/fuzz_cfi.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_cfi_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_cfi_LDADD = $(LINK_LOADER)
tests_fuzz_fuzz_code_SOURCES = tests/fuzz/fuzz_code.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_code_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_code_LDADD = $(LINK_UNWIND)
tests_fuzz_fuzz_jit_SOURCES = tests/fuzz/fuzz_jit.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_jit_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_jit_LDADD = $(LINK_LOADER)
tests_fuzz_fuzz_instructions_SOURCES = tests/fuzz/fuzz_instructions.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_instructions_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_instructions_LDADD = $(LINK_LOADER)
tests_fuzz_fuzz_debug_SOURCES = tests/fuzz/fuzz_debug.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_debug_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_debug_LDADD = $(LINK_LOADER)
tests_fuzz_fuzz_lbr_SOURCES = tests/fuzz/fuzz_lbr.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_lbr_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_lbr_LDADD = $(LINK_UNWIND)
tests_fuzz_fuzz_loader_SOURCES = tests/fuzz/fuzz_loader.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_loader_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_loader_LDADD = $(LINK_LOADER)
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_options_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_options_LDADD = libmain.a $(LINK_OUT)
tests_fuzz_fuzz_proc_SOURCES = tests/fuzz/fuzz_proc.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_proc_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_proc_LDADD = libbroker.a $(LINK_PROC) $(LINK_LOADER)
tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_record_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_record_LDADD = $(LINK_PERF)
tests_fuzz_fuzz_recording_SOURCES = tests/fuzz/fuzz_recording.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_recording_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_recording_LDADD = $(LINK_PERF)
tests_fuzz_fuzz_source_SOURCES = tests/fuzz/fuzz_source.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_source_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_source_LDADD = $(LINK_ENGINE)
tests_fuzz_fuzz_table_SOURCES = tests/fuzz/fuzz_table.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_table_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_table_LDADD = $(LINK_UNWIND)
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_text_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_text_LDADD = $(LINK_BASE)
tests_fuzz_fuzz_seeds_SOURCES = tests/fuzz/fuzz_seeds.c tests/fuzz/fuzz.h tests/unwind_elf.c tests/unwind_elf.h
tests_fuzz_fuzz_seeds_LDADD = $(LINK_UNWIND) $(LIBELF_LIBS)

EXTRA_DIST += tests/fuzz/run

# libFuzzer is clang's. The build is kept, and so is what each target has learned.
FUZZ_CC = clang
FUZZ_SECONDS = 30
fuzz-build/Makefile:
	@command -v clang >/dev/null || { echo 'make fuzz needs clang' >&2; exit 1; }
	$(MKDIR_P) fuzz-build
	cd fuzz-build && $(abs_top_srcdir)/configure -q CC='$(FUZZ_CC)' CFLAGS='-O1 -g' \
		--enable-sanitizers=fuzzer-no-link,address,undefined
fuzz: fuzz-build/Makefile
	$(MAKE) -C fuzz-build $(FUZZ_TARGETS) tests/fuzz/fuzz_seeds
	$(srcdir)/tests/fuzz/run fuzz-build $(FUZZ_SECONDS)
.PHONY: fuzz
