/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demangling with libiberty, through its callback interface: it gives the
 * output in pieces, so a name that would unfold to gigabytes is left by a jump
 * once it is larger than DEMANGLE_OUT_MAX. Its limit on recursion stays on.
 */
#include "config.h"

#include "src/loader/demangle.h"

#include "src/base/short_name.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(HAVE_LIBIBERTY) && defined(HAVE_LIBIBERTY_DEMANGLE_H)
#include <libiberty/demangle.h>
#define DEMANGLE_WITH_LIBIBERTY 1
#elif defined(HAVE_CXA_DEMANGLE)
#define DEMANGLE_WITH_LIBSTDCXX 1
/* libstdc++, C++ ABI section 3.4: there is no header of it for C. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *n, int *status);
#endif

#define D_TYPES_FEW   18u	 /* that a name of D refers to: no more than some MB come of them */
#define D_WRITTEN_MAX (1u << 20) /* of those with more */

struct sink {
	char text[DEMANGLE_OUT_MAX];
	size_t len;
	jmp_buf full;
};

/*
 * How long is the old name of Rust that NAME begins with: "_ZN", components, "17h" and 16 hexadecimal digits, "E". In it are
 * dots, "_$LT$foo..Bar". 0: it is none.
 */
static size_t rust_legacy_bytes(const char *name, size_t len)
{
	static const char hash[] = "17h";
	const size_t hash_bytes = strlen(hash) + 16 + 1;

	if (len < 3 + hash_bytes || strncmp(name, "_ZN", 3) != 0)
		return 0;
	for (size_t at = 3; at + hash_bytes <= len; at++) {
		const char *digits = name + at + strlen(hash);

		if (strncmp(name + at, hash, strlen(hash)) == 0 &&
		    strspn(digits, "0123456789abcdef") == 16 && digits[16] == 'E' &&
		    (at + hash_bytes == len || name[at + hash_bytes] == '.'))
			return at + hash_bytes;
	}
	return 0;
}

#if defined(DEMANGLE_WITH_LIBIBERTY) || defined(DEMANGLE_WITH_LIBSTDCXX)

/* Take TEXT, which is a whole function, without the parameter list at its end. */
static bool sink_take(struct sink *sink, const char *text)
{
	size_t len = strlen(text), depth = 0;

	for (size_t i = len; i > 0 && text[len - 1] == ')'; i--) {
		depth += text[i - 1] == ')';
		depth -= text[i - 1] == '(';
		if (depth == 0) {
			len = i - 1;
			break;
		}
	}
	sink->len = MIN(len, sizeof(sink->text) - 1);
	memcpy(sink->text, text, sink->len);
	return sink->len > 0;
}

#endif

#ifdef DEMANGLE_WITH_LIBIBERTY

static void sink_add(const char *text, size_t len, void *opaque)
{
	struct sink *sink = opaque;
	size_t room = sizeof(sink->text) - 1 - sink->len;

	memcpy(sink->text + sink->len, text, MIN(len, room));
	sink->len += MIN(len, room);
	if (len > room)
		longjmp(sink->full, 1);
}

/* It ends in what its maker ends names in: otherwise it is C++. */
static bool is_rust_legacy(const char *mangled)
{
	size_t len = strlen(mangled);

	return rust_legacy_bytes(mangled, len) == len && len > 0;
}

/* The number behind a `Q` at TEXT: how far back is what it refers to; 0: it is none. */
static size_t d_back(const char *text)
{
	size_t back = 0;

	while (*++text >= 'A' && *text <= 'Z' && back < DEMANGLE_IN_MAX)
		back = back * 26 + (size_t)(*text - 'A');
	return *text >= 'a' && *text <= 'z' ? back * 26 + (size_t)(*text - 'a') : 0;
}

/*
 * A `Q` may refer to a type further in front, which is written out in its place, with those that it refers to in turn:
 * "Hii HQcQd HQeQf ..." doubles with each, and the library has it all in memory. Few of them cannot do much; of many
 * it is counted what they would write, if each type went on up to where it is referred to.
 */
static bool d_is_bearable(const char *mangled)
{
	uint32_t written[DEMANGLE_IN_MAX + 1] = {0}; /* up to each byte of the name */
	size_t len = MIN(strlen(mangled), (size_t)DEMANGLE_IN_MAX);
	unsigned int nr = 0;

	for (size_t i = 0; i < len; i++) {
		size_t back = mangled[i] == 'Q' ? d_back(mangled + i) : 0;
		bool is_type = back > 0 && back <= i &&
			       !(mangled[i - back] >= '0' && mangled[i - back] <= '9');
		uint32_t here = is_type ? written[i] - written[i - back] : 0;

		nr += is_type;
		written[i + 1] = MIN(written[i] + MAX(here, 1u), D_WRITTEN_MAX);
	}
	return nr <= D_TYPES_FEW || written[len] < D_WRITTEN_MAX;
}

static bool demangle_d(const char *mangled, struct sink *sink)
{
	char *text = d_is_bearable(mangled) ? dlang_demangle(mangled, DMGL_NO_OPTS) : NULL;
	bool is_taken = text && sink_take(sink, text);

	free(text);
	return is_taken;
}

static bool demangle_to(const char *mangled, struct sink *sink)
{
	sink->len = 0;
	if (strncmp(mangled, "_D", 2) == 0)
		return demangle_d(mangled, sink);
	if (setjmp(sink->full))
		return true;
	if (strncmp(mangled, "_R", 2) == 0 || is_rust_legacy(mangled))
		return rust_demangle_callback(mangled, DMGL_NO_OPTS, sink_add, sink);
	if (strncmp(mangled, "_Z", 2) == 0)
		return cplus_demangle_v3_callback(mangled, DMGL_ANSI, sink_add, sink);
	return false;
}

#elif defined(DEMANGLE_WITH_LIBSTDCXX)

static bool demangle_to(const char *mangled, struct sink *sink)
{
	bool is_taken;
	int status;
	char *text;

	if (strncmp(mangled, "_Z", 2) != 0)
		return false;
	text = __cxa_demangle(mangled, NULL, NULL, &status);
	is_taken = text && sink_take(sink, text);
	free(text);
	return is_taken;
}

#else

static bool demangle_to(const char *mangled, struct sink *sink)
{
	(void)mangled;
	(void)sink;
	return false;
}

#endif

/* Copy the parts of SUFFIX (".part.0.cold.lto_priv.3") that say something to people. */
static void suffix_keep(const char *suffix, char *out, size_t out_size)
{
	static const char *const dropped[] = {".lto_priv", ".llvm", ".localalias", ".__uniq"};
	size_t len = 0;

	while (*suffix) {
		size_t word = 1 + strcspn(suffix + 1, ".");
		size_t digits = 0;
		bool keep = true;

		if (suffix[word] == '.') {
			digits = strspn(suffix + word + 1, "0123456789");
			if (suffix[word + 1 + digits] != '\0' && suffix[word + 1 + digits] != '.')
				digits = 0;
		}
		for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
			if (strlen(dropped[i]) == word && memcmp(dropped[i], suffix, word) == 0)
				keep = false;
		word += digits ? 1 + digits : 0;
		if (keep && len + word < out_size) {
			memcpy(out + len, suffix, word);
			len += word;
		}
		suffix += word;
	}
	out[len] = '\0';
}

/* A name of Go, as it is written: "example.com/pkg.(*Type).Method", "main.main.func1". */
static bool is_go(const char *name, size_t len)
{
	return memchr(name, '/', len) || memchr(name, '(', len) || memchr(name, '[', len);
}

/* Where the compiler's suffix of NAME begins: names may begin with a dot, but do not contain one, save Go's. */
static size_t suffix_at(const char *name, size_t len)
{
	size_t rust = rust_legacy_bytes(name, len);
	const char *dot = len > 1 && !is_go(name, len) ? memchr(name + 1, '.', len - 1) : NULL;

	if (rust > 0)
		return rust;
	return dot ? (size_t)(dot - name) : len;
}

void name_show(const char *text, size_t len, char *out, size_t out_size)
{
	size_t shown = text_sanitize(text, len, out, out_size);

	/* Cut text gets its mark where its last characters were. */
	if (len >= out_size && shown > 3) {
		shown = text_sanitize(text, len, out, out_size - 3);
		memcpy(out + shown, "...", 4);
	}
}

/* What a function is called stands at the end of its name: rather lose its template arguments. */
static void show_demangled(const char *text, size_t len, char *out, size_t out_size)
{
	char clean[SHORT_NAME_BYTES_MAX], brief[SHORT_NAME_BYTES_MAX];

	if (len < out_size || len >= sizeof(clean)) {
		name_show(text, len, out, out_size);
		return;
	}
	text_sanitize(text, len, clean, sizeof(clean));
	len = short_name(clean, "...", brief, sizeof(brief));
	name_show(brief, len, out, out_size);
}

void demangle(const char *mangled, char *out, size_t out_size)
{
	static const char plt[] = "@plt";
	size_t len = strcspn(mangled, "@"), base;
	char name[DEMANGLE_IN_MAX + 1], suffix[128];
	struct sink sink;

	if (len == 0)
		len = strlen(mangled);
	if (len > DEMANGLE_IN_MAX) {
		name_show(mangled, len, out, out_size);
		return;
	}
	base = suffix_at(mangled, len);
	memcpy(name, mangled, len);
	name[len] = '\0';
	suffix_keep(name + base, suffix, sizeof(suffix) - sizeof(plt));
	if (strcmp(mangled + len, plt) == 0)
		strcat(suffix, plt);
	name[base] = '\0';
	if (!demangle_to(name, &sink)) {
		memcpy(sink.text, name, base);
		sink.len = base;
	}
	memcpy(sink.text + MIN(sink.len, sizeof(sink.text) - sizeof(suffix)), suffix,
	       strlen(suffix));
	sink.len = MIN(sink.len, sizeof(sink.text) - sizeof(suffix)) + strlen(suffix);
	show_demangled(sink.text, sink.len, out, out_size);
}
