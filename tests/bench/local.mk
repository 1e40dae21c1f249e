TEST_HELPERS += tests/bench/keys tests/bench/screen
if X86_64
TEST_HELPERS += tests/bench/growth
endif
tests_bench_keys_SOURCES = tests/bench/keys.c tests/bench/made_up.c tests/bench/made_up.h
tests_bench_screen_SOURCES = tests/bench/screen.c tests/bench/made_up.c tests/bench/made_up.h
tests_bench_screen_LDADD = $(LINK_UI) $(LINK_OUT)
tests_bench_keys_LDADD = $(LINK_VIEW)
tests_bench_growth_SOURCES = tests/bench/growth.c tests/oracle/samples.c tests/oracle/samples.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_bench_growth_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_bench_growth_LDADD = $(LINK_PROFILE) $(LINK_PROC) $(LIBELF_LIBS)

# BENCH_PARTS: unwind report growth stages live slowdown keys. Needs root, and a machine with nothing else to do.
EXTRA_DIST += tests/bench/run tests/bench/live tests/bench/slowdown tests/bench/cost docs/BENCHMARKS
BENCH_PARTS =
bench: stacktop$(EXEEXT) tests/bench/growth$(EXEEXT) tests/bench/keys$(EXEEXT) tests/bench/screen$(EXEEXT) tests/oracle/unwinders$(EXEEXT)
	$(srcdir)/tests/bench/run . $(BENCH_PARTS)
.PHONY: bench
