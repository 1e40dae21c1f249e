/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code made at run time: what holds where and since when, perf maps, and how names are written. */
#include "config.h"

#include "src/base/util.h"
#include "src/loader/jit_code.h"
#include "src/loader/jit_text.h"
#include "src/loader/jit_told.h"
#include "src/loader/jitdump.h"
#include "src/loader/perf_map.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t at(uint16_t epoch, uint64_t addr)
{
	return (uint64_t)epoch << JIT_EPOCH_SHIFT | addr;
}

static void note(struct jit_code *code, uint64_t start, uint64_t bytes, const char *name)
{
	assert_true(jit_code_note(code, start, bytes, name, strlen(name), 0));
}

static const char *name_at(const struct jit_code *code, uint16_t epoch, uint64_t addr)
{
	struct jit_place place;

	if (!jit_code_find(code, at(epoch, addr), &place))
		return "";
	assert_true(place.from <= at(epoch, addr) && at(epoch, addr) <= place.last);
	return place.name;
}

static void a_place_has_a_name(void **state)
{
	struct jit_code *code = jit_code_new();
	struct jit_place place;

	(void)state;
	note(code, 0x2000, 0x10, "b");
	note(code, 0x1000, 0x100, "a");
	assert_false(jit_code_commit(code, 7, false));
	assert_int_equal(jit_code_count(code), 2);
	assert_string_equal(name_at(code, 7, 0x1000), "a");
	assert_string_equal(name_at(code, 7, 0x10ff), "a");
	assert_string_equal(name_at(code, 7, 0x1100), "");
	assert_string_equal(name_at(code, 7, 0xfff), "");
	assert_string_equal(name_at(code, 7, 0x200f), "b");
	assert_true(jit_code_find(code, at(7, 0x1080), &place));
	assert_true(place.from == at(7, 0x1000) && place.last == at(7, 0x10ff));
	jit_code_free(code);
}

static void what_is_told_later_holds_for_what_had_no_name(void **state)
{
	struct jit_code *code = jit_code_new();

	(void)state;
	note(code, 0x1000, 0x100, "a");
	jit_code_commit(code, 9, false);
	assert_string_equal(name_at(code, 4, 0x1000), "a");
	jit_code_free(code);
}

static void an_address_used_again_has_each_name_in_its_time(void **state)
{
	struct jit_code *code = jit_code_new();

	(void)state;
	note(code, 0x1000, 0x100, "old");
	assert_false(jit_code_commit(code, 1, false));
	note(code, 0x1080, 0x100, "new");
	assert_true(jit_code_commit(code, 1, false));
	assert_string_equal(name_at(code, 1, 0x1080), "old");
	assert_string_equal(name_at(code, 2, 0x1080), "new");
	assert_string_equal(name_at(code, 1, 0x1010), "old");
	assert_string_equal(name_at(code, 2, 0x1010), "");    /* overwritten in part: it is gone */
	assert_string_equal(name_at(code, 1, 0x1150), "new"); /* nothing was known there */
	note(code, 0x1000, 0x100, "newest");
	assert_true(jit_code_commit(code, 2, false));
	assert_string_equal(name_at(code, 1, 0x1080), "old");
	assert_string_equal(name_at(code, 2, 0x1080), "new");
	assert_string_equal(name_at(code, 3, 0x1080), "newest");
	jit_code_free(code);
}

static void moved_code_has_its_name_at_both_places(void **state)
{
	struct jit_code *code = jit_code_new();

	(void)state;
	note(code, 0x1000, 0x100, "f");
	jit_code_commit(code, 1, false);
	note(code, 0x3000, 0x100, "f");
	note(code, 0x1000, 0x100, "g");
	assert_true(jit_code_commit(code, 1, false));
	assert_string_equal(name_at(code, 1, 0x1000), "f");
	assert_string_equal(name_at(code, 2, 0x1000), "g");
	assert_string_equal(name_at(code, 2, 0x3000), "f");
	jit_code_free(code);
}

static void epochs_go_round(void **state)
{
	struct jit_code *code = jit_code_new();

	(void)state;
	note(code, 0x1000, 0x100, "old");
	jit_code_commit(code, JIT_EPOCH_MAX, false);
	note(code, 0x1000, 0x100, "new");
	assert_true(jit_code_commit(code, JIT_EPOCH_MAX, false));
	assert_string_equal(name_at(code, JIT_EPOCH_MAX, 0x1000), "old");
	assert_string_equal(name_at(code, 0, 0x1000), "new");
	jit_code_free(code);
}

static void what_cannot_be_is_left_out(void **state)
{
	struct jit_code *code = jit_code_new();

	(void)state;
	assert_false(jit_code_note(code, 0x1000, 0, "empty", 5, 0));
	assert_false(jit_code_note(code, 1ull << 47, 16, "kernel", 6, 0));
	assert_false(jit_code_note(code, 0x1000, 1ull << 40, "all", 3, 0));
	assert_int_equal(jit_code_left_out(code), 3);
	assert_false(jit_code_commit(code, 0, false));
	jit_code_free(code);
}

/* --- perf maps --- */

struct map_file {
	int fd;
	struct perf_map map;
	struct jit_code *code;
};

static int map_setup(void **state)
{
	struct map_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->fd = memfd_create("map", MFD_CLOEXEC);
	f->code = jit_code_new();
	*state = f;
	return f->fd < 0 || !f->code ? -1 : 0;
}

static int map_teardown(void **state)
{
	struct map_file *f = *state;

	close(f->fd);
	jit_code_free(f->code);
	free(f);
	return 0;
}

static void append(struct map_file *f, const char *text)
{
	assert_int_equal(lseek(f->fd, 0, SEEK_END) < 0, 0);
	assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
}

static bool read_map(struct map_file *f, uint16_t epoch)
{
	bool has_changed;

	assert_int_equal(perf_map_read(&f->map, f->fd, f->code, epoch, &has_changed), 0);
	return has_changed;
}

static void lines_are_read_with_and_without_0x(void **state)
{
	struct map_file *f = *state;

	append(f, "1000 10 a name with blanks\n"
		  "0x00002000 0x0000000000000020 int Deep.down(int)\n"
		  "# a comment\n\nx y z\n3000\n4000 10\n4000 10 \n5000 zz bad\n"
		  "ffffffffffffffffff 10 too large\n6000 10 last\r\n");
	assert_false(read_map(f, 0));
	assert_int_equal(jit_code_count(f->code), 3);
	assert_string_equal(name_at(f->code, 0, 0x100f), "a name with blanks");
	assert_string_equal(name_at(f->code, 0, 0x201f), "int Deep.down(int)");
	assert_string_equal(name_at(f->code, 0, 0x6000), "last");
}

static void a_map_that_grows_is_read_on(void **state)
{
	struct map_file *f = *state;

	append(f, "1000 10 a\n2000 1");
	assert_false(read_map(f, 0));
	assert_int_equal(jit_code_count(f->code), 1);
	append(f, "0 b\n");
	assert_false(read_map(f, 0));
	assert_string_equal(name_at(f->code, 0, 0x2000), "b");
	append(f, "1000 10 c\n");
	assert_true(read_map(f, 0));
	assert_string_equal(name_at(f->code, 0, 0x1000), "a");
	assert_string_equal(name_at(f->code, 1, 0x1000), "c");
}

static void a_map_that_is_written_anew_is_all_there_is(void **state)
{
	struct map_file *f = *state;

	append(f, "1000 10 stays\n2000 10 goes\n");
	read_map(f, 0);
	assert_int_equal(ftruncate(f->fd, 0), 0);
	append(f, "1000 10 stays\n3000 10 comes\n4000 10 and more of it\n");
	assert_true(read_map(f, 0));
	assert_string_equal(name_at(f->code, 1, 0x1000), "stays");
	assert_string_equal(name_at(f->code, 0, 0x2000), "goes");
	assert_string_equal(name_at(f->code, 1, 0x2000), "");
	assert_string_equal(name_at(f->code, 1, 0x3000), "comes");
	/* The same again: nothing changes. */
	assert_int_equal(ftruncate(f->fd, 0), 0);
	append(f, "5000 10 new\n1000 10 stays\n3000 10 comes\n4000 10 and more of it\n");
	assert_false(read_map(f, 1));
	assert_int_equal(jit_code_count(f->code), 4);
}

enum { NR_MANY = 500000, NR_AGAIN = 50000, MANY_AT = 0x10000000 };

static const char *many_name(char out[128], int i, const char *what)
{
	snprintf(out, 128, "LazyCompile:*%s%d /srv/app/lib/file%d.js:%d:14", what, i, i / 100,
		 i % 1000);
	return out;
}

/* Lines for NR functions called WHAT, 64 bytes each; they are read at EPOCH. True: something has been replaced. */
static bool read_many(struct map_file *f, int nr, const char *what, uint16_t epoch)
{
	FILE *out = fdopen(dup(f->fd), "a");
	bool has_changed = false;
	char name[128];

	assert_non_null(out);
	for (int i = 0; i < nr; i++)
		fprintf(out, "%x 40 %s\n", MANY_AT + i * 64, many_name(name, i, what));
	fclose(out);
	do
		has_changed |= read_map(f, epoch);
	while (f->map.is_late);
	return has_changed;
}

static void half_a_million_names_take_less_than_50_mb(void **state)
{
	struct map_file *f = *state;
	char name[128];

	assert_false(read_many(f, NR_MANY, "function", 0));
	assert_int_equal(jit_code_count(f->code), NR_MANY);
	assert_int_equal(jit_code_left_out(f->code), 0);
	assert_true(jit_code_bytes(f->code) < 50 << 20);
	for (int i = 0; i < NR_MANY; i++)
		assert_string_equal(name_at(f->code, 0, MANY_AT + (uint64_t)i * 64 + i % 64),
				    many_name(name, i, "function"));
	/* Other functions come to the places of some: each name is true in its time. */
	assert_true(read_many(f, NR_AGAIN, "other", 0));
	assert_int_equal(jit_code_count(f->code), NR_MANY);
	for (int i = 0; i < NR_AGAIN; i++) {
		uint64_t addr = MANY_AT + (uint64_t)i * 64 + i % 64;

		assert_string_equal(name_at(f->code, 0, addr), many_name(name, i, "function"));
		assert_string_equal(name_at(f->code, 1, addr), many_name(name, i, "other"));
	}
	assert_string_equal(name_at(f->code, 1, MANY_AT + (uint64_t)NR_AGAIN * 64),
			    many_name(name, NR_AGAIN, "function"));
	assert_true(jit_code_bytes(f->code) < 50 << 20);
	/* The same names over and over take no more. */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ftruncate(f->fd, 0), 0);
		append(f, i % 2 ? "1000 10 a\n" : "1000 10 b\n");
		read_map(f, (uint16_t)(i + 1));
	}
	assert_true(jit_code_bytes(f->code) < 50 << 20);
}

/* --- jitdumps, as perf's jitdump-specification.txt has them --- */

static void append_bytes(struct map_file *f, const void *data, size_t bytes)
{
	assert_true(lseek(f->fd, 0, SEEK_END) >= 0);
	assert_int_equal(write(f->fd, data, bytes), bytes);
}

static void begin_dump(struct map_file *f)
{
	const uint32_t head[] = {0x4a695444, 1, 40, 62, 0, 4711, 0, 0, 0, 0};

	append_bytes(f, head, sizeof(head));
}

/* A record of code that is loaded, at TIME_NS and BYTES of code behind its name. */
static void append_load(struct map_file *f, uint64_t time_ns, uint64_t addr, uint64_t bytes,
			const char *name)
{
	struct {
		uint32_t id, bytes;
		uint64_t time_ns;
		uint32_t pid, tid;
		uint64_t vma, addr, code_bytes, index;
	} record = {.time_ns = time_ns, .vma = addr, .addr = addr, .code_bytes = bytes};
	char code[4096] = {0};

	assert_true(bytes <= sizeof(code));
	record.bytes = (uint32_t)(sizeof(record) + strlen(name) + 1 + bytes);
	append_bytes(f, &record, sizeof(record));
	append_bytes(f, name, strlen(name) + 1);
	append_bytes(f, code, bytes);
}

static void append_move(struct map_file *f, uint64_t time_ns, uint64_t from, uint64_t to,
			uint64_t bytes)
{
	struct {
		uint32_t id, bytes;
		uint64_t time_ns;
		uint32_t pid, tid;
		uint64_t vma, from, to, code_bytes, index;
	} record = {.id = 1,
		    .bytes = sizeof(record),
		    .time_ns = time_ns,
		    .vma = to,
		    .from = from,
		    .to = to,
		    .code_bytes = bytes};

	append_bytes(f, &record, sizeof(record));
}

static bool read_dump(struct map_file *f, struct jitdump *dump, uint16_t epoch)
{
	bool has_changed;

	assert_int_equal(jitdump_read(dump, f->fd, f->code, epoch, &has_changed), 0);
	return has_changed;
}

static void loads_and_moves_have_their_time(void **state)
{
	static const uint32_t line[] = {2, 16, 0, 0}; /* JIT_CODE_DEBUG_INFO, passed over */
	struct map_file *f = *state;
	struct jitdump dump = {0};

	begin_dump(f);
	assert_true(jitdump_is(f->fd));
	append_load(f, 100, 0x1000, 0x100, "JS:*work /srv/app.js:2:14");
	append_bytes(f, line, sizeof(line));
	append_load(f, 110, 0x2000, 0x100, "g");
	assert_false(read_dump(f, &dump, 0));
	assert_int_equal(jit_code_count(f->code), 2);
	assert_string_equal(name_at(f->code, 0, 0x10ff), "JS:*work /srv/app.js:2:14");
	/* The same again changes nothing; another one does, from its time on. */
	append_load(f, 190, 0x2000, 0x100, "g");
	assert_false(read_dump(f, &dump, 0));
	append_load(f, 200, 0x2000, 0x80, "h");
	append_move(f, 210, 0x1000, 0x3000, 0x100);
	assert_true(read_dump(f, &dump, 0));
	assert_int_equal(dump.changed_ns, 200);
	assert_string_equal(name_at(f->code, 0, 0x2000), "g");
	assert_string_equal(name_at(f->code, 1, 0x2000), "h");
	assert_string_equal(name_at(f->code, 0, 0x1000), "JS:*work /srv/app.js:2:14");
	assert_string_equal(name_at(f->code, 1, 0x1000), "");
	assert_string_equal(name_at(f->code, 1, 0x30ff), "JS:*work /srv/app.js:2:14");
}

static void code_that_is_loaded_and_moved_at_once_is_found(void **state)
{
	struct map_file *f = *state;
	struct jitdump dump = {0};

	begin_dump(f);
	append_load(f, 100, 0x1000, 0x100, "f");
	append_move(f, 110, 0x1000, 0x3000, 0x100);
	append_move(f, 120, 0x9000, 0xa000, 0x100); /* nobody told of that */
	read_dump(f, &dump, 0);
	assert_string_equal(name_at(f->code, 0, 0x3000), "f");
	assert_string_equal(name_at(f->code, 0, 0x1000), "");
	assert_string_equal(name_at(f->code, 0, 0xa000), "");
}

/* Of a program that ran for long all is read at once: its collector moves what was loaded long before. */
static void code_that_is_moved_long_after_it_was_loaded_is_found(void **state)
{
	enum { NR = 2000 };
	struct map_file *f = *state;
	struct jitdump dump = {0};
	char name[16];

	begin_dump(f);
	append_load(f, 50, 0x1000, 0x100, "stale");
	read_dump(f, &dump, 0);
	for (uint64_t i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		append_load(f, 100 + i, 0x1000 + i * 0x100, 0x100, name);
	}
	for (uint64_t i = 0; i < NR; i++)
		append_move(f, 9000 + i, 0x1000 + i * 0x100, 0x900000 + i * 0x100, 0x100);
	append_move(f, 19000, 0x900000 + 7 * 0x100, 0x9000000, 0x100);
	read_dump(f, &dump, 1);
	for (uint64_t i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		assert_string_equal(name_at(f->code, 2, 0x900010 + i * 0x100), i == 7 ? "" : name);
		assert_string_equal(name_at(f->code, 2, 0x1010 + i * 0x100), "");
	}
	assert_string_equal(name_at(f->code, 2, 0x9000010), "f7");
}

static void a_dump_may_begin_with_a_move(void **state)
{
	struct map_file *f = *state;
	struct jitdump dump = {0};

	begin_dump(f);
	append_move(f, 120, 0x9000, 0xa000, 0x100);
	assert_false(read_dump(f, &dump, 0));
	assert_int_equal(jit_code_count(f->code), 0);
}

static void half_a_record_waits_for_its_rest(void **state)
{
	struct map_file *f = *state;
	struct jitdump dump = {0};
	off_t whole;

	begin_dump(f);
	append_load(f, 100, 0x1000, 0x100, "f");
	whole = lseek(f->fd, 0, SEEK_END);
	append_load(f, 110, 0x2000, 0x100, "g");
	assert_int_equal(ftruncate(f->fd, whole + 70), 0);
	read_dump(f, &dump, 0);
	assert_int_equal(jit_code_count(f->code), 1);
	assert_int_equal(ftruncate(f->fd, whole), 0);
	append_load(f, 110, 0x2000, 0x100, "g");
	read_dump(f, &dump, 0);
	assert_string_equal(name_at(f->code, 0, 0x2000), "g");
}

static void a_damaged_dump_ends_there(void **state)
{
	static const uint32_t damaged[] = {0, 3, 0, 0};
	struct map_file *f = *state;
	struct jitdump dump = {0};
	bool has_changed;

	append(f, "1000 10 a perf map\n and no dump at all, however long it is\n");
	assert_false(jitdump_is(f->fd));
	assert_int_equal(ftruncate(f->fd, 0), 0);
	begin_dump(f);
	append_load(f, 100, 0x1000, 0x100, "f");
	append_bytes(f, damaged, sizeof(damaged));
	append_load(f, 110, 0x2000, 0x100, "g");
	assert_int_equal(jitdump_read(&dump, f->fd, f->code, 0, &has_changed), -EINVAL);
	assert_string_equal(name_at(f->code, 0, 0x1000), "f");
	assert_string_equal(name_at(f->code, 0, 0x2000), "");
}

/* --- frames --- */

/* Of 38 bytes of code: `push rbp; sub rsp, 32` and back at 32 and 36, beginning 72 bytes before the pointer to them. */
static const uint8_t eh_frame[] = {
	20, 0,	  0,	0,    0,    0,	  0,  0,    1,	'z', 'R',  0,	 1,  0x78, 16,
	1,  0x1b, 12,	7,    8,    0x90, 1,  0,    0,	28,  0,	   0,	 0,  28,   0,
	0,  0,	  0xb8, 0xff, 0xff, 0xff, 38, 0,    0,	0,   0,	   0x41, 14, 16,   0x86,
	2,  0x44, 14,	48,   0x5f, 14,	  16, 0x41, 14, 8,   0xc6, 0,	 0,  0,	   0,
};
#define HEADER_BYTES 8

/* A record that tells of the frames of the code that follows, BYTES of them, with a header behind it. */
static void append_frames(struct map_file *f, const uint8_t *frames, uint64_t bytes)
{
	const struct {
		uint32_t id, bytes;
		uint64_t time_ns, data_bytes, header_bytes, mapped_bytes;
	} record = {4, (uint32_t)(40 + bytes + HEADER_BYTES), 0, bytes + HEADER_BYTES, HEADER_BYTES,
		    0};
	const char header[HEADER_BYTES] = {0};

	append_bytes(f, &record, sizeof(record));
	append_bytes(f, frames, bytes);
	append_bytes(f, header, sizeof(header));
}

static struct code_told told_at(const struct map_file *f, uint16_t epoch, uint64_t addr)
{
	struct code_told told = {.key = at(epoch, addr)};

	assert_int_equal(jit_told_frames(f->code, f->fd, &told, 1), 0);
	assert_int_equal(told.key, at(epoch, addr));
	return told;
}

static void assert_cfa(const struct map_file *f, uint16_t epoch, uint64_t addr, int32_t cfa_off)
{
	struct code_told told = told_at(f, epoch, addr);

	assert_int_equal(told.answer, cfa_off ? CODE_YES : CODE_NO);
	assert_int_equal(told.cfa_off, cfa_off);
	assert_int_equal(told.cfa_by_fp, 0);
}

static void frames_are_told(void **state)
{
	struct map_file *f = *state;
	struct jitdump dump = {0};

	begin_dump(f);
	append_load(f, 90, 0x900, 40, "untold");
	read_dump(f, &dump, 0);
	assert_false(dump.has_frames);
	append_frames(f, eh_frame, 0); /* by frame pointers: nothing is told */
	append_load(f, 100, 0x1000, 38, "by frame pointers");
	read_dump(f, &dump, 0);
	assert_false(dump.has_frames);
	append_frames(f, eh_frame, sizeof(eh_frame));
	append_load(f, 110, 0x2000, 38, "told");
	append_load(f, 120, 0x3000, 38, "untold");
	read_dump(f, &dump, 0);
	assert_true(dump.has_frames);
	assert_cfa(f, 0, 0x900, 0);
	assert_cfa(f, 0, 0x1000, 0);
	assert_cfa(f, 0, 0x2000, 8);
	assert_cfa(f, 0, 0x2001, 16);
	assert_cfa(f, 0, 0x2005, 48);
	assert_cfa(f, 0, 0x201f, 48);
	assert_cfa(f, 0, 0x2025, 8);
	assert_cfa(f, 0, 0x2026, 0);
	assert_cfa(f, 0, 0x3000, 0);
	assert_int_equal(told_at(f, 0, 0x2000).fp_how, CODE_FP_SAME);
	assert_int_equal(told_at(f, 0, 0x2005).fp_how, CODE_FP_AT_CFA);
	assert_int_equal(told_at(f, 0, 0x2005).fp_off, -16);

	/* It moves, and code of which nothing is told comes to its place. */
	append_move(f, 130, 0x2000, 0x4000, 38);
	append_load(f, 140, 0x2000, 38, "another");
	assert_true(read_dump(f, &dump, 0));
	assert_cfa(f, 0, 0x2005, 48);
	assert_cfa(f, 1, 0x2005, 0);
	assert_cfa(f, 1, 0x4005, 48);
}

static void frames_that_cannot_be_are_not_told(void **state)
{
	uint8_t damaged[sizeof(eh_frame)];
	struct map_file *f = *state;
	struct jitdump dump = {0};
	struct {
		uint32_t id, bytes;
		uint64_t time_ns, data_bytes, header_bytes, mapped_bytes;
	} record = {4, sizeof(record), 0, 8, 0, 8};

	begin_dump(f);
	/* Its length is not in it; then a header that is larger than all. */
	append_bytes(f, &record, sizeof(record));
	append_load(f, 100, 0x1000, 38, "a");
	record.data_bytes = 0;
	record.header_bytes = 8;
	append_bytes(f, &record, sizeof(record));
	append_load(f, 100, 0x2000, 38, "b");
	memcpy(damaged, eh_frame, sizeof(damaged));
	damaged[8] = 99; /* the version */
	append_frames(f, damaged, sizeof(damaged));
	append_load(f, 100, 0x3000, 38, "c");
	read_dump(f, &dump, 0);
	for (uint64_t addr = 0x1000; addr <= 0x3000; addr += 0x1000)
		assert_cfa(f, 0, addr, 0);
	/* Somebody has shortened the file. */
	append_frames(f, eh_frame, sizeof(eh_frame));
	append_load(f, 110, 0x5000, 38, "d");
	read_dump(f, &dump, 0);
	assert_cfa(f, 0, 0x5000, 8);
	assert_int_equal(ftruncate(f->fd, 100), 0);
	assert_cfa(f, 0, 0x5000, 0);
}

/* --- lines --- */

struct line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

/* A record of the lines of the code that follows; SAID of them are said to be in it. */
static void append_lines(struct map_file *f, const struct line *lines, size_t nr, uint64_t said)
{
	struct {
		uint32_t id, bytes;
		uint64_t time_ns, addr, nr;
	} record = {2, sizeof(record), 0, 0, said};

	for (size_t i = 0; i < nr; i++)
		record.bytes += (uint32_t)(16 + strlen(lines[i].file) + 1);
	append_bytes(f, &record, sizeof(record));
	for (size_t i = 0; i < nr; i++) {
		const uint32_t numbers[] = {lines[i].line, 3};

		append_bytes(f, &lines[i].addr, sizeof(lines[i].addr));
		append_bytes(f, numbers, sizeof(numbers));
		append_bytes(f, lines[i].file, strlen(lines[i].file) + 1);
	}
}

/* LINE 0: it is not known. */
static void assert_line(const struct map_file *f, uint16_t epoch, uint64_t addr, const char *file,
			uint32_t line)
{
	struct jit_lines lines = {0};
	const char *got = "";
	uint32_t number = 0;

	assert_int_equal(jit_told_line(&lines, f->code, f->fd, at(epoch, addr), &got, &number),
			 line > 0);
	assert_int_equal(number, line);
	assert_string_equal(got, file);
	jit_lines_done(&lines);
}

static void lines_are_told(void **state)
{
	static const struct line lines[] = {
		{0x2000, 7, "/srv/app.js"},
		{0x2010, 9, "\xff"},
		{0x2008, 8, "\xff"},
		{0x2010, 10, "/srv/lib.js"},
	};
	struct map_file *f = *state;
	struct jitdump dump = {0};

	begin_dump(f);
	append_lines(f, lines, ARRAY_SIZE(lines), ARRAY_SIZE(lines));
	append_frames(f, eh_frame, sizeof(eh_frame));
	append_load(f, 100, 0x2000, 38, "told");
	append_load(f, 110, 0x3000, 38, "untold");
	read_dump(f, &dump, 0);
	assert_line(f, 0, 0x2000, "/srv/app.js", 7);
	assert_line(f, 0, 0x2007, "/srv/app.js", 7);
	assert_line(f, 0, 0x2008, "/srv/app.js", 8);
	assert_line(f, 0, 0x2025, "/srv/lib.js", 10);
	assert_line(f, 0, 0x3000, "", 0);
	assert_cfa(f, 0, 0x2005, 48); /* both are told */
	append_move(f, 130, 0x2000, 0x4000, 38);
	read_dump(f, &dump, 0);
	assert_line(f, 1, 0x4009, "/srv/app.js", 8);
	assert_line(f, 1, 0x2009, "", 0);
	assert_line(f, 0, 0x2009, "/srv/app.js", 8);
}

static void lines_that_cannot_be_are_not_told(void **state)
{
	static const struct line no_file[] = {{0x1000, 7, "\xff"}}, above[] = {{0x2001, 7, "a.js"}},
				 fewer[] = {{0x3000, 7, "a.js"}, {0x3001, 8, "a.js"}};
	struct map_file *f = *state;
	struct jitdump dump = {0};

	begin_dump(f);
	append_lines(f, no_file, 1, 1);
	append_load(f, 100, 0x1000, 38, "the file before is none");
	append_lines(f, above, 1, 1);
	append_load(f, 100, 0x2000, 38, "begins later");
	append_lines(f, fewer, 2, UINT64_MAX);
	append_load(f, 100, 0x3000, 38, "more are said");
	append_lines(f, fewer, 2, 1);
	append_load(f, 100, 0x3000 + 64, 38, "fewer are said, of another place");
	read_dump(f, &dump, 0);
	assert_line(f, 0, 0x1000, "", 0);
	assert_line(f, 0, 0x2000, "", 0);
	assert_line(f, 0, 0x2001, "a.js", 7);
	assert_line(f, 0, 0x3002, "a.js", 8);
	assert_line(f, 0, 0x3042, "a.js", 7);
	assert_int_equal(ftruncate(f->fd, 80), 0);
	assert_line(f, 0, 0x3002, "", 0);
}

/* --- names --- */

static void names_are_written_as_people_know_them(void **state)
{
	static const char *const names[][2] = {
		{"LazyCompile:*work /srv/app.js:2:14", "work app.js:2 *"},
		{"JS:~get size /srv/a b/c d.js:20:1", "get size c d.js:20 ~"},
		{"JS:^ /srv/app.js:2:14", "(anonymous) app.js:2 ^"},
		{"JS:+work file:///srv/app.mjs:2:14", "work app.mjs:2 +"},
		{"Function:work app.js:7", "work app.js:7"},
		{"JS:*next node:internal/fs/utils:12:3", "next node:internal/fs/utils:12 *"},
		{"Script:~ /srv/app.js:1:1", "(anonymous) app.js:1 ~"},
		{"Builtin:ArrayMap", "Builtin:ArrayMap"},
		{"Lcom/foo/Bar;::baz", "com.foo.Bar.baz"},
		{"int com.foo.Bar.baz(int, java.lang.String[])", "com.foo.Bar.baz"},
		{"void [App] Foo::Bar(int)[Tier1]", "void [App] Foo::Bar(int)[Tier1]"},
		{"StubRoutines (1)", "StubRoutines (1)"},
		{"Interpreter", "Interpreter"},
		{"py::work:/srv/app.py", "work app.py"},
		{"JIT$Bar::baz", "Bar::baz"},
		{"TRACE-12$Bar::baz$3", "Bar::baz:3"},
		{"TRACE-7$/srv/a$b.php$4", "a$b.php:4"},
		{"JIT$/srv/app.php", "app.php"},
		{"JIT$$trace_exit", "JIT$$trace_exit"},
		{"TRACE-7$/$4", "TRACE-7$/$4"},
		{"TRACE-7$4", "4"},
		{"TRACE-", "TRACE-"},
		{"JIT$", "JIT$"},
		{"JS:", "(anonymous)"},
		{"JS:*", "(anonymous) *"},
		{"JS:*a ", "a  *"},
		{"L;::", "."},
		{"evil\033[2J", "evil?[2J"},
		{"", ""},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		jit_text(names[i][0], out, sizeof(out));
		assert_string_equal(out, names[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_has_a_name),
		cmocka_unit_test(what_is_told_later_holds_for_what_had_no_name),
		cmocka_unit_test(an_address_used_again_has_each_name_in_its_time),
		cmocka_unit_test(moved_code_has_its_name_at_both_places),
		cmocka_unit_test(epochs_go_round),
		cmocka_unit_test(what_cannot_be_is_left_out),
		cmocka_unit_test_setup_teardown(lines_are_read_with_and_without_0x, map_setup,
						map_teardown),
		cmocka_unit_test_setup_teardown(a_map_that_grows_is_read_on, map_setup,
						map_teardown),
		cmocka_unit_test_setup_teardown(a_map_that_is_written_anew_is_all_there_is,
						map_setup, map_teardown),
		cmocka_unit_test_setup_teardown(half_a_million_names_take_less_than_50_mb,
						map_setup, map_teardown),
		cmocka_unit_test_setup_teardown(loads_and_moves_have_their_time, map_setup,
						map_teardown),
		cmocka_unit_test_setup_teardown(code_that_is_loaded_and_moved_at_once_is_found,
						map_setup, map_teardown),
		cmocka_unit_test_setup_teardown(
			code_that_is_moved_long_after_it_was_loaded_is_found, map_setup,
			map_teardown),
		cmocka_unit_test_setup_teardown(a_dump_may_begin_with_a_move, map_setup,
						map_teardown),
		cmocka_unit_test_setup_teardown(half_a_record_waits_for_its_rest, map_setup,
						map_teardown),
		cmocka_unit_test_setup_teardown(a_damaged_dump_ends_there, map_setup, map_teardown),
		cmocka_unit_test_setup_teardown(frames_are_told, map_setup, map_teardown),
		cmocka_unit_test_setup_teardown(frames_that_cannot_be_are_not_told, map_setup,
						map_teardown),
		cmocka_unit_test_setup_teardown(lines_are_told, map_setup, map_teardown),
		cmocka_unit_test_setup_teardown(lines_that_cannot_be_are_not_told, map_setup,
						map_teardown),
		cmocka_unit_test(names_are_written_as_people_know_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
