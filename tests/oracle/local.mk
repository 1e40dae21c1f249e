# Other unwinders on the same samples; "make bench" and "make check-stacks" use them.
if X86_64
TEST_HELPERS += tests/oracle/unwinders
endif
tests_oracle_unwinders_SOURCES = tests/oracle/unwinders.c \
	tests/oracle/dwfl.c tests/oracle/libunwind.c \
	tests/oracle/samples.c tests/oracle/samples.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_oracle_unwinders_CFLAGS = $(AM_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(LIBUNWIND_CFLAGS)
tests_oracle_unwinders_LDADD = $(LINK_PROC) $(LIBDW_LIBS) $(LIBELF_LIBS) $(LIBUNWIND_LIBS)

EXTRA_DIST += tests/oracle/check-stacks docs/CONFORMANCE
check-stacks: tests/oracle/unwinders$(EXEEXT)
	UNWINDERS=tests/oracle/unwinders$(EXEEXT) $(srcdir)/tests/oracle/check-stacks
.PHONY: check-stacks
