/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files whose debug or unwind information is made to take long or much memory, and a real, confined loader: it answers or
 * gives up in time, is never killed for it, and stays small. Each of the files was the end of a loader once.
 */
#include "config.h"

#include "tests/loader_faults.h"

#include <dwarf.h>

#define TEXT_OFF   0x1000u
#define TEXT_BYTES 0x100000u
#define TEXT_ADDR  0x401000u
#define MB	   (1u << 20)

/* Kilobytes that a loader may have had at most: what it keeps is bounded by 96 MB for lines, and by 64 MB for names. */
#define PEAK_KB (320u << 10)

enum section { ABBREV, INFO, LINE, RANGES, EH_FRAME, SECTIONS };

struct bytes {
	uint8_t *data;
	size_t nr, cap;
};

struct made {
	struct bytes sections[SECTIONS];
};

static void put(struct bytes *b, const void *data, size_t len)
{
	if (b->nr + len > b->cap) {
		b->cap = 2 * (b->nr + len);
		b->data = realloc(b->data, b->cap);
		assert_non_null(b->data);
	}
	memcpy(b->data + b->nr, data, len);
	b->nr += len;
}

static void put_number(struct bytes *b, uint64_t value, size_t len)
{
	put(b, &value, len);
}

static void put_uleb(struct bytes *b, uint64_t value)
{
	do {
		put_number(b, (value & 0x7f) | (value > 0x7f ? 0x80 : 0), 1);
		value >>= 7;
	} while (value);
}

/* COUNT times the LEN bytes of DATA. */
static void put_often(struct bytes *b, size_t count, const void *data, size_t len)
{
	while (count-- > 0)
		put(b, data, len);
}

/* An abbreviation with NR pairs of attribute and form. */
static void put_abbrev(struct bytes *b, unsigned int code, unsigned int tag, bool has_children,
		       const uint16_t (*pairs)[2], size_t nr)
{
	put_uleb(b, code);
	put_uleb(b, tag);
	put_number(b, has_children, 1);
	for (size_t i = 0; i < nr; i++) {
		put_uleb(b, pairs[i][0]);
		put_uleb(b, pairs[i][1]);
	}
	put_number(b, 0, 2);
}

/* The head of a unit of version 4. Returns its place, for unit_end(). */
static size_t unit_begin(struct bytes *info, uint32_t abbrevs)
{
	size_t at = info->nr;

	put_number(info, 0, 4);
	put_number(info, 4, 2);
	put_number(info, abbrevs, 4);
	put_number(info, 8, 1);
	return at;
}

static void unit_end(struct bytes *info, size_t at)
{
	uint32_t len = (uint32_t)(info->nr - at - 4);

	memcpy(info->data + at, &len, sizeof(len));
}

/* Low address and length. */
static void put_code(struct bytes *info, uint64_t off, uint32_t len)
{
	put_number(info, TEXT_ADDR + off, 8);
	put_number(info, len, 4);
}

static const uint16_t code_pairs[][2] = {
	{DW_AT_low_pc, DW_FORM_addr},
	{DW_AT_high_pc, DW_FORM_data4},
	{DW_AT_stmt_list, DW_FORM_sec_offset},
};

/* A file with the sections of MADE, which are freed. */
static int write_file(struct made *made)
{
	static const char names[] =
		"\0.debug_abbrev\0.debug_info\0.debug_line\0.debug_ranges\0.eh_frame\0.s";
	static const uint32_t name_at[] = {1, 15, 27, 39, 53, 63};
	Elf64_Shdr sections[SECTIONS + 2] = {{0}};
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS + 2,
		.e_shstrndx = SECTIONS + 1,
		.e_shoff = 256,
	};
	Elf64_Phdr phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = TEXT_OFF,
		.p_vaddr = TEXT_ADDR,
		.p_filesz = TEXT_BYTES,
		.p_memsz = TEXT_BYTES,
	};
	struct bytes file = {0};
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	uint8_t *data;

	assert_true(fd >= 0);
	put(&file, &ehdr, sizeof(ehdr));
	put(&file, &phdr, sizeof(phdr));
	while (file.nr < TEXT_OFF + TEXT_BYTES)
		put_number(&file, 0, 8);
	for (int i = 0; i < SECTIONS; i++) {
		struct bytes *from = &made->sections[i];

		sections[i + 1] = (Elf64_Shdr){.sh_name = name_at[i],
					       .sh_type = from->nr ? SHT_PROGBITS : SHT_NULL,
					       .sh_offset = file.nr,
					       .sh_size = from->nr};
		if (from->nr)
			put(&file, from->data, from->nr);
		free(from->data);
	}
	sections[SECTIONS + 1] = (Elf64_Shdr){.sh_name = name_at[SECTIONS],
					      .sh_type = SHT_STRTAB,
					      .sh_offset = file.nr,
					      .sh_size = sizeof(names)};
	put(&file, names, sizeof(names));
	memcpy(file.data + ehdr.e_shoff, sections, sizeof(sections));
	data = file.data;
	for (size_t left = file.nr; left > 0;) {
		ssize_t n = write(fd, data, left);

		assert_true(n > 0);
		data += n;
		left -= (size_t)n;
	}
	free(file.data);
	*made = (struct made){0};
	return fd;
}

static uint64_t peak_kb(pid_t pid)
{
	char name[64], line[256];
	unsigned long long kb = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	file = fopen(name, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %llu", &kb) == 1)
			break;
	fclose(file);
	return kb;
}

/* Until what was asked for is answered, or has been put back so often: then nobody asks any more. */
static void wait_for_answer(struct fixture *f, unsigned int put_back_max)
{
	uint64_t start = now_ns();
	struct loader_stats stats;
	struct loader_reply reply;

	for (;;) {
		struct pollfd poller = {.fd = loader_client_fd(f->client), .events = POLLIN};

		loader_tick(f->client, test_now(f->client));
		if (loader_next_reply(f->client, &reply))
			return;
		loader_stats(f->client, &stats);
		assert_int_equal(stats.restarts, 0);
		if (stats.put_back >= put_back_max)
			loader_drop_module(f->client, BAD);
		if (now_ns() - start > PATIENCE_NS)
			fail_msg("no reply");
		poll(&poller, 1, 10);
	}
}

/* The loader that has looked at it lives, is small, and serves others. */
static void assert_well(struct fixture *f)
{
	uint64_t kb;

	loader_drop_module(f->client, BAD);
	assert_good_still_works(f);
	assert_int_equal(restarts_of(f), 0);
	assert_int_equal(f->spawner.nr_killed, 0);
	kb = peak_kb(f->spawner.pid);
#ifndef __SANITIZE_ADDRESS__
	if (kb > PEAK_KB)
		fail_msg("it has had %llu kB", (unsigned long long)kb);
#endif
	(void)kb;
}

/* Ask for the lines of NR offsets of the file of MADE, EVERY so many bytes of its text, whatever comes of it. */
static void survive(struct fixture *f, struct made *made, uint32_t nr, uint32_t every,
		    unsigned int put_back_max)
{
	uint64_t offs[LOADER_NAMES_MAX];

	for (uint32_t i = 0; i < nr; i++)
		offs[i] = TEXT_OFF + 1 + (uint64_t)i * every;
	assert_int_equal(loader_add_module(f->client, BAD, write_file(made)), 0);
	assert_int_equal(loader_request_lines(f->client, BAD, offs, nr), 0);
	wait_for_answer(f, put_back_max);
	assert_well(f);
}

/* One before those that are used has millions of attributes, and each of many units reads over it. */
static void abbreviations_of_millions_of_attributes(void **state)
{
	static const uint8_t attribute[] = {DW_AT_name, DW_FORM_data1};
	struct made made = {0};

	put_uleb(&made.sections[ABBREV], 1);
	put_uleb(&made.sections[ABBREV], DW_TAG_variable);
	put_number(&made.sections[ABBREV], 0, 1);
	put_often(&made.sections[ABBREV], 32 * MB, attribute, sizeof(attribute));
	put_number(&made.sections[ABBREV], 0, 2);
	put_abbrev(&made.sections[ABBREV], 2, DW_TAG_compile_unit, false, code_pairs, 2);
	put_number(&made.sections[ABBREV], 0, 1);
	for (uint32_t i = 0; i < 500; i++) {
		size_t unit = unit_begin(&made.sections[INFO], 0);

		put_uleb(&made.sections[INFO], 2);
		put_code(&made.sections[INFO], i * 16, 16);
		unit_end(&made.sections[INFO], unit);
	}
	survive(*state, &made, 1, 1, 2);
}

/* A list that does nothing but say what it is relative to, of many functions. */
static void lists_without_ranges(void **state)
{
	static const uint16_t pairs[][2] = {{DW_AT_ranges, DW_FORM_sec_offset}};
	static const uint64_t base[] = {UINT64_MAX, TEXT_ADDR};
	struct made made = {0};
	size_t unit;

	put_abbrev(&made.sections[ABBREV], 1, DW_TAG_compile_unit, true, code_pairs, 2);
	put_abbrev(&made.sections[ABBREV], 2, DW_TAG_subprogram, false, pairs, 1);
	put_number(&made.sections[ABBREV], 0, 1);
	unit = unit_begin(&made.sections[INFO], 0);
	put_uleb(&made.sections[INFO], 1);
	put_code(&made.sections[INFO], 0, TEXT_BYTES);
	for (int i = 0; i < 1000; i++) {
		put_uleb(&made.sections[INFO], 2);
		put_number(&made.sections[INFO], 0, 4);
	}
	put_number(&made.sections[INFO], 0, 1);
	unit_end(&made.sections[INFO], unit);
	put_often(&made.sections[RANGES], 4 * MB, base, sizeof(base));
	survive(*state, &made, 1, 1, 2);
}

/* One row, then what makes none, megabytes of it: each question runs through all that. */
static void line_programs_that_make_no_rows(void **state)
{
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	static const uint8_t end[] = {DW_LNS_fixed_advance_pc, 0xff, 0xff, 0, 1,
				      DW_LNE_end_sequence};
	static const uint8_t silent = DW_LNS_negate_stmt;
	struct made made = {0};
	struct bytes *line = &made.sections[LINE];
	size_t unit;

	put_abbrev(&made.sections[ABBREV], 1, DW_TAG_compile_unit, false, code_pairs, 3);
	put_number(&made.sections[ABBREV], 0, 1);
	unit = unit_begin(&made.sections[INFO], 0);
	put_uleb(&made.sections[INFO], 1);
	put_code(&made.sections[INFO], 0, TEXT_BYTES);
	put_number(&made.sections[INFO], 0, 4);
	unit_end(&made.sections[INFO], unit);
	put_number(line, 0, 4);
	put_number(line, 3, 2);
	put_number(line, 5 + 1 + sizeof(lengths) - 1 + 2, 4);
	put_number(line, 1, 1);	   /* bytes of an instruction */
	put_number(line, 1, 1);	   /* is_stmt */
	put_number(line, 0xfb, 1); /* the least that lines advance */
	put_number(line, 14, 1);   /* and how many steps there are */
	put_number(line, sizeof(lengths) + 1, 1);
	put(line, lengths, sizeof(lengths));
	put_number(line, 0, 2); /* no folders, no files */
	put_number(line, 0x0900, 2);
	put_number(line, DW_LNE_set_address, 1);
	put_number(line, TEXT_ADDR, 8);
	put_number(line, DW_LNS_copy, 1);
	put_often(line, 96 * MB, &silent, 1);
	put(line, end, sizeof(end));
	unit_end(line, 0);
	survive(*state, &made, LOADER_NAMES_MAX, 1, 2);
}

/* Functions inlined in one another, all of one entry that stands for itself and has a name of megabytes. */
static void names_of_megabytes_that_stand_for_themselves(void **state)
{
	static const uint16_t func_pairs[][2] = {{DW_AT_low_pc, DW_FORM_addr},
						 {DW_AT_high_pc, DW_FORM_data4},
						 {DW_AT_abstract_origin, DW_FORM_ref4}};
	static const uint16_t name_pairs[][2] = {{DW_AT_specification, DW_FORM_ref4},
						 {DW_AT_comp_dir, DW_FORM_string},
						 {DW_AT_comp_dir, DW_FORM_string},
						 {DW_AT_comp_dir, DW_FORM_string},
						 {DW_AT_comp_dir, DW_FORM_string}};
	struct made made = {0};
	struct bytes *info = &made.sections[INFO];
	char *name = malloc(32 * MB);
	size_t unit, origin;

	assert_non_null(name);
	memset(name, 'x', 32 * MB);
	name[32 * MB - 1] = '\0';
	put_abbrev(&made.sections[ABBREV], 1, DW_TAG_compile_unit, true, code_pairs, 2);
	put_abbrev(&made.sections[ABBREV], 2, DW_TAG_subprogram, true, func_pairs, 3);
	put_abbrev(&made.sections[ABBREV], 3, DW_TAG_inlined_subroutine, true, func_pairs, 3);
	put_abbrev(&made.sections[ABBREV], 4, DW_TAG_subprogram, false, name_pairs, 5);
	put_number(&made.sections[ABBREV], 0, 1);
	unit = unit_begin(info, 0);
	put_uleb(info, 1);
	put_code(info, 0, TEXT_BYTES);
	origin = info->nr;
	put_uleb(info, 4);
	put_number(info, origin, 4);
	put_often(info, 4, name, 32 * MB);
	for (int i = 0; i < 64; i++) {
		put_uleb(info, i == 0 ? 2 : 3);
		put_code(info, 0, TEXT_BYTES);
		put_number(info, origin, 4);
	}
	put_number(info, 0, 8); /* some of them end */
	unit_end(info, unit);
	free(name);
	survive(*state, &made, 64, 1, 2);
}

/* Tables of abbreviations that lie in one another, one for each unit: little in the file, much in memory. */
static void tables_of_abbreviations_in_one_another(void **state)
{
	struct made made = {0};
	uint32_t every = 64;

	/* Each unit's own entry is the first of its table, and all have the same code. */
	for (uint32_t i = 0; i < 65000; i++)
		put_abbrev(&made.sections[ABBREV], i < 4096 ? 1 : i, DW_TAG_compile_unit, false,
			   code_pairs, 2);
	put_number(&made.sections[ABBREV], 0, 1);
	for (uint32_t i = 0; i < 4096; i++) {
		size_t unit = unit_begin(&made.sections[INFO], i * 9);

		put_uleb(&made.sections[INFO], 1);
		put_code(&made.sections[INFO], i * every, every);
		unit_end(&made.sections[INFO], unit);
	}
	survive(*state, &made, LOADER_NAMES_MAX, every, 4);
}

/* Descriptions that all name the first of millions of zeros as what they have in common. */
static void descriptions_behind_millions_of_zeros(void **state)
{
	struct fixture *f = *state;
	struct made made = {0};
	struct bytes *eh = &made.sections[EH_FRAME];

	put_often(eh, 16 * MB, "\0\0\0\0", 4);
	for (uint32_t i = 0; i < 50000; i++) {
		put_number(eh, 20, 4);
		put_number(eh, eh->nr, 4);
		put_code(eh, i * 16, 16);
		put_number(eh, 0, 4);
	}
	assert_int_equal(loader_add_module(f->client, BAD, write_file(&made)), 0);
	assert_int_equal(loader_request_table(f->client, BAD), 0);
	wait_for_answer(f, 2);
	assert_well(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(abbreviations_of_millions_of_attributes),
		FAULT_TEST(lists_without_ranges),
		FAULT_TEST(line_programs_that_make_no_rows),
		FAULT_TEST(names_of_megabytes_that_stand_for_themselves),
		FAULT_TEST(tables_of_abbreviations_in_one_another),
		FAULT_TEST(descriptions_behind_millions_of_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
