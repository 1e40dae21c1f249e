/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kinds and names of mappings, and the lines of /proc/PID/maps: see mapping.h.
 * The kernel escapes newlines in a path there, so a line is a line; everything
 * else in a path is the target's choice.
 */
#include "config.h"

#include "src/proc/mapping.h"

#include "src/base/text.h"
#include "src/base/util.h"

#include <string.h>

#define PATH_BYTES_MAX 4096 /* PATH_MAX of the kernel: longer paths come as "//toolong" */
#define PIECES_MAX     8    /* of one text, in memory of different kinds */

static bool path_starts(const struct mapping *mapping, const char *prefix)
{
	size_t len = strlen(prefix);

	return mapping->path_len >= len && memcmp(mapping->path, prefix, len) == 0;
}

static bool path_is(const struct mapping *mapping, const char *path)
{
	return mapping->path_len == strlen(path) && path_starts(mapping, path);
}

/* A path that leads somewhere, not one of the kernel's stand-ins. */
static bool is_openable(const struct mapping *mapping)
{
	return path_starts(mapping, "/") && !path_starts(mapping, "//") &&
	       mapping->path_len < PATH_BYTES_MAX;
}

enum mapping_kind mapping_kind(const struct mapping *mapping)
{
	/* Memory that the kernel backs with an inode of its own, of no use to a reader of ELF. */
	static const char *const no_file[] = {
		"//anon", "/dev/zero", "/SYSV", "SYSV", "/anon_hugepage", "anon_inode:", "/[aio]",
	};

	if (path_is(mapping, "[vdso]"))
		return mapping->end <= UINT32_MAX ? MAPPING_VDSO32 : MAPPING_VDSO;
	if (path_is(mapping, "[vsyscall]"))
		return MAPPING_VSYSCALL;
	for (size_t i = 0; i < ARRAY_SIZE(no_file); i++)
		if (path_starts(mapping, no_file[i]))
			return MAPPING_JIT;
	if (mapping->is_recorded)
		return is_openable(mapping) ? MAPPING_FILE : MAPPING_JIT;
	if (mapping->ino == 0 && mapping->build_id_bytes == 0)
		return MAPPING_JIT;
	return MAPPING_FILE;
}

/* --- lines --- */

struct cursor {
	const char *p, *end;
	bool is_bad; /* sticky */
};

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 99;
}

static uint64_t take_number(struct cursor *c, unsigned int base)
{
	const char *first = c->p;
	uint64_t value = 0;

	for (; c->p < c->end && (unsigned int)digit_value(*c->p) < base; c->p++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_value(*c->p), &value))
			c->is_bad = true;
	if (c->p == first)
		c->is_bad = true;
	return value;
}

static void take_char(struct cursor *c, char want)
{
	if (c->p < c->end && *c->p == want)
		c->p++;
	else
		c->is_bad = true;
}

/* "start-end perms offset major:minor inode    path" */
static bool parse_line(const char *line, size_t len, struct mapping *ret)
{
	struct cursor c = {.p = line, .end = line + len};
	uint64_t maj, min;

	*ret = (struct mapping){0};
	ret->start = take_number(&c, 16);
	take_char(&c, '-');
	ret->end = take_number(&c, 16);
	take_char(&c, ' ');
	if (c.is_bad || c.end - c.p < 4)
		return false;
	ret->is_exec = c.p[2] == 'x';
	c.p += 4;
	take_char(&c, ' ');
	ret->file_off = take_number(&c, 16);
	take_char(&c, ' ');
	maj = take_number(&c, 16);
	take_char(&c, ':');
	min = take_number(&c, 16);
	take_char(&c, ' ');
	ret->ino = take_number(&c, 10);
	if (c.is_bad || maj > UINT32_MAX || min > UINT32_MAX || ret->start >= ret->end)
		return false;
	ret->maj = (uint32_t)maj;
	ret->min = (uint32_t)min;
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	ret->path = c.p;
	ret->path_len = (size_t)(c.end - c.p);
	return true;
}

bool mapping_next_line(const char **text, size_t *len, struct mapping *ret)
{
	const char *newline;

	while (*len > 0 && (newline = memchr(*text, '\n', *len))) {
		const char *line = *text;
		size_t line_len = (size_t)(newline - line);

		*text += line_len + 1;
		*len -= line_len + 1;
		if (parse_line(line, line_len, ret))
			return true;
	}
	return false;
}

/* --- text that was moved --- */

/* Does FILE go on after END, in one of the next lines, as if it had never been interrupted? */
static bool file_goes_on(const struct mapping *file, uint64_t end, const char *text, size_t len)
{
	struct mapping next;

	for (int i = 0; i < PIECES_MAX && mapping_next_line(&text, &len, &next); i++) {
		if (next.start != end)
			return false;
		end = next.end;
		if (mapping_kind(&next) == MAPPING_FILE)
			return next.ino == file->ino && next.maj == file->maj &&
			       next.min == file->min &&
			       next.file_off - file->file_off == next.start - file->start;
	}
	return false;
}

void mapping_find_copy(struct mapping_chain *chain, const char *text, size_t len,
		       struct mapping *mapping)
{
	enum mapping_kind kind = mapping_kind(mapping);
	struct mapping copy = chain->file;

	if (kind == MAPPING_FILE) {
		*chain = (struct mapping_chain){.file = *mapping, .end = mapping->end};
		return;
	}
	if (mapping->start != chain->end) {
		*chain = (struct mapping_chain){0};
		return;
	}
	chain->end = mapping->end;
	if (kind != MAPPING_JIT || !mapping->is_exec || chain->file.ino == 0 ||
	    !file_goes_on(&chain->file, mapping->end, text, len))
		return;
	copy.file_off += mapping->start - copy.start;
	copy.start = mapping->start;
	copy.end = mapping->end;
	copy.is_exec = copy.is_copy = true;
	*mapping = copy;
}

/* --- names --- */

/* The kernel's stand-ins for a path that it could not give. */
static bool stand_in(const struct mapping *mapping, char *name, size_t name_size)
{
	static const struct {
		const char *path, *name;
	} names[] = {
		{"//toolong", "[long path]"},
		{"//enomem", "[no name]"},
		{"", "[no name]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (path_is(mapping, names[i].path)) {
			text_sanitize(names[i].name, strlen(names[i].name), name, name_size);
			return true;
		}
	return false;
}

void mapping_names(const struct mapping *mapping, char *name, size_t name_size, char *path,
		   size_t path_size)
{
	static const char deleted[] = " (deleted)";
	char whole[PATH_BYTES_MAX + 1];
	const char *tail, *raw = mapping->path;
	size_t len = MIN(mapping->path_len, (size_t)PATH_BYTES_MAX);
	size_t whole_len = text_sanitize(raw, len, whole, sizeof(whole));

	/* Cut at the front, then go on to the start of a character. */
	tail = whole + (whole_len < path_size ? 0 : whole_len - path_size + 1);
	while (((unsigned char)*tail & 0xc0) == 0x80)
		tail++;
	text_sanitize(tail, strlen(tail), path, path_size);

	if (stand_in(mapping, name, name_size))
		return;
	if (len > sizeof(deleted) - 1 &&
	    memcmp(raw + len - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
		len -= sizeof(deleted) - 1;
	tail = memrchr(raw, '/', len);
	tail = tail ? tail + 1 : raw;
	if (tail == raw + len) /* "/": nothing after the last slash */
		tail = raw;
	if (text_sanitize(tail, len - (size_t)(tail - raw), name, name_size) == 0)
		text_sanitize("[no name]", 9, name, name_size);
}
