noinst_LIBRARIES += libunwind-st.a
libunwind_st_a_SOURCES = \
	unwind/aarch64.c unwind/abi.h \
	unwind/after_call.c \
	unwind/arch.h \
	unwind/cfa.c unwind/cfa.h \
	unwind/chain_join.c unwind/chain_join.h \
	unwind/cfi.c unwind/cfi.h \
	unwind/cfi_parse.c unwind/cfi_parse.h \
	unwind/code.c unwind/code.h unwind/code_pieces.c unwind/code_pieces.h \
	unwind/code_follow.h unwind/code_rules.c unwind/code_rules_aarch64.c unwind/code_told.c \
	unwind/code_way.c unwind/code_way.h \
	unwind/dwarf_op.h \
	unwind/epilogue.c \
	unwind/erlang.c \
	unwind/expr.c \
	unwind/fp.c \
	unwind/fp_compare.c unwind/fp_compare.h \
	unwind/go_table.c \
	unwind/i386.c \
	unwind/insn_x86_64.c unwind/insn_x86_64.h \
	unwind/lbr.c unwind/lbr.h \
	unwind/live_read.c unwind/live_read.h \
	unwind/lower.c unwind/lower.h unwind/lower_aarch64.c unwind/lower_x86.c \
	unwind/map_search.c \
	unwind/return_addrs.c unwind/return_addrs_build.c unwind/return_addrs_format.h \
	unwind/slow_path.c \
	unwind/starts.c \
	unwind/step.h unwind/step_run_x86_64.c \
	unwind/stitch.c unwind/stitch.h \
	unwind/synth.c unwind/synth.h unwind/synth_aarch64.c unwind/synth_x86.c \
	unwind/table.c unwind/table.h unwind/table_format.h \
	unwind/tails.c unwind/tails.h \
	unwind/table_build.c unwind/table_build.h \
	unwind/unwind.h \
	unwind/walk.c unwind/walk.h unwind/walk_code.c unwind/walk_guess.c \
	unwind/x86_64.c

# Those that unwind themselves, or read code, are of x86-64.
if X86_64
UNIT_TESTS += \
	tests/test_unwind_chain_join \
	tests/test_unwind_code \
	tests/test_unwind_shadow \
	tests/test_unwind_singlestep \
	tests/test_unwind_steps \
	tests/test_unwind_stitch \
	tests/test_unwind_tails
endif

UNIT_TESTS += tests/test_unwind_rows
tests_test_unwind_rows_SOURCES = tests/test_unwind_rows.c tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_rows_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_rows_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS)

# Every row of all that this machine runs: some minutes. docs/HACKING tells what it finds.
check-tables: tests/test_unwind_rows$(EXEEXT)
	tests/test_unwind_rows$(EXEEXT) /usr/bin /usr/sbin /usr/lib /usr/lib32
.PHONY: check-tables

tests_test_unwind_steps_SOURCES = tests/test_unwind_steps.c tests/unwind_elf.c tests/unwind_elf.h \
	tests/unwind_self.c tests/unwind_self.h
tests_test_unwind_steps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_steps_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS) -lpthread

tests_test_unwind_singlestep_SOURCES = tests/test_unwind_singlestep.c tests/unwind_elf.c \
	tests/unwind_elf.h tests/unwind_self.c tests/unwind_self.h
tests_test_unwind_singlestep_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_singlestep_LDFLAGS = $(AM_LDFLAGS) -Wl,-z,lazy
tests_test_unwind_singlestep_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS) -lm -ldl

tests_test_unwind_shadow_SOURCES = tests/test_unwind_shadow.c tests/unwind_elf.c \
	tests/unwind_elf.h tests/unwind_self.c tests/unwind_self.h
tests_test_unwind_shadow_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_shadow_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

# Without sanitizers: their start takes millions of instructions.
if X86_64
TEST_HELPERS += tests/stepped
endif
tests_stepped_SOURCES = tests/stepped.c
tests_stepped_CFLAGS =
tests_stepped_LDFLAGS = -Wl,-z,lazy
tests_stepped_LDADD = -lm

TEST_HELPERS += tests/stepped_tasks
tests_stepped_tasks_SOURCES = tests/stepped_tasks.c
tests_stepped_tasks_CFLAGS = -pthread
tests_stepped_tasks_LDFLAGS = -Wl,-z,lazy
tests_stepped_tasks_LDADD =

UNIT_TESTS += tests/test_unwind_cfi
tests_test_unwind_cfi_SOURCES = tests/test_unwind_cfi.c tests/cfi_fixture.c tests/cfi_fixture.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_cfi_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_cfi_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_code_steps
tests_test_unwind_code_steps_SOURCES = tests/test_unwind_code_steps.c tests/cfi_fixture.c tests/cfi_fixture.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_code_steps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_code_steps_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_work
tests_test_unwind_work_SOURCES = tests/test_unwind_work.c tests/cfi_fixture.c tests/cfi_fixture.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_work_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_work_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_entries
tests_test_unwind_entries_SOURCES = tests/test_unwind_entries.c tests/cfi_fixture.c tests/cfi_fixture.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_entries_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_entries_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_go
tests_test_unwind_go_SOURCES = tests/test_unwind_go.c tests/cfi_fixture.c tests/cfi_fixture.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_go_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_go_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_aarch64
tests_test_unwind_aarch64_SOURCES = tests/test_unwind_aarch64.c tests/cfi_fixture.c \
	tests/cfi_fixture.h tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_aarch64_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_aarch64_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_i386
tests_test_unwind_i386_SOURCES = tests/test_unwind_i386.c tests/cfi_fixture.c \
	tests/cfi_fixture.h tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_i386_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_i386_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_table
tests_test_unwind_table_SOURCES = tests/test_unwind_table.c tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_table_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_table_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_lbr
tests_test_unwind_lbr_SOURCES = tests/test_unwind_lbr.c
tests_test_unwind_lbr_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_unwind_lbr_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS)

tests_test_unwind_tails_SOURCES = tests/test_unwind_tails.c tests/unwind_elf.c tests/unwind_elf.h \
	tests/unwind_self.c tests/unwind_self.h
tests_test_unwind_tails_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_tails_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

tests_test_unwind_chain_join_SOURCES = tests/test_unwind_chain_join.c tests/unwind_elf.c tests/unwind_elf.h \
	tests/unwind_self.c tests/unwind_self.h
tests_test_unwind_chain_join_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_chain_join_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

tests_test_unwind_stitch_SOURCES = tests/test_unwind_stitch.c tests/unwind_elf.c tests/unwind_elf.h \
	tests/unwind_self.c tests/unwind_self.h
tests_test_unwind_stitch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_stitch_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

tests_test_unwind_code_SOURCES = tests/test_unwind_code.c tests/code_fixture.c tests/code_fixture.h
tests_test_unwind_code_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_unwind_code_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_unwind_code_aarch64
tests_test_unwind_code_aarch64_SOURCES = tests/test_unwind_code_aarch64.c tests/code_fixture.c tests/code_fixture.h \
	tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_code_aarch64_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_code_aarch64_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_code_of_files
tests_test_unwind_code_of_files_SOURCES = tests/test_unwind_code_of_files.c tests/code_fixture.c \
	tests/code_fixture.h
tests_test_unwind_code_of_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_unwind_code_of_files_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_unwind_erlang
tests_test_unwind_erlang_SOURCES = tests/test_unwind_erlang.c tests/code_fixture.c tests/code_fixture.h
tests_test_unwind_erlang_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_unwind_erlang_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_unwind_code_rows
tests_test_unwind_code_rows_SOURCES = tests/test_unwind_code_rows.c tests/unwind_elf.c tests/unwind_elf.h
tests_test_unwind_code_rows_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBELF_CFLAGS)
tests_test_unwind_code_rows_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/test_unwind_code_told
tests_test_unwind_code_told_SOURCES = tests/test_unwind_code_told.c tests/code_fixture.c \
	tests/code_fixture.h
tests_test_unwind_code_told_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_unwind_code_told_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_unwind_fp_compare
tests_test_unwind_fp_compare_SOURCES = tests/test_unwind_fp_compare.c
tests_test_unwind_fp_compare_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_unwind_fp_compare_LDADD = $(LINK_UNWIND) $(CMOCKA_LIBS)
