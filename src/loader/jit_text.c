/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each runtime has its own way to write a name: see jit_text.h. */
#include "config.h"

#include "src/loader/jit_text.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/loader/jit_code.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ANONYMOUS "(anonymous)"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Where in TEXT (LEN bytes) a last ":123" begins; LEN: there is none. */
static size_t number_at(const char *text, size_t len)
{
	size_t at = len;

	while (at > 0 && isdigit((unsigned char)text[at - 1]))
		at--;
	return at < len && at > 0 && text[at - 1] == ':' ? at - 1 : len;
}

/* The last part of the path, unless it is one of node's own files: "node:internal/fs/utils". */
static const char *file_of(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return begins(path, "node:") || !slash ? path : slash + 1;
}

/* Where the path of "get name /a b/c.js:1:2" begins: at what looks like one, else after the last blank. */
static const char *path_of(const char *text)
{
	static const char *const starts[] = {" /", " file:", " node:", " evalmachine", " webpack"};
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(starts) && !found; i++)
		found = strstr(text, starts[i]);
	return found ? found : strrchr(text, ' ');
}

/* V8: after its kind come the tier and the function, then the file with line and column. */
static bool v8(const char *raw, char *out, size_t size)
{
	static const char *const kinds[] = {"LazyCompile:", "JS:", "Function:", "Script:", "Eval:"};
	char tier[3] = "";
	const char *path;
	size_t len, name_len, line_at;

	for (size_t i = 0;; i++) {
		if (i == ARRAY_SIZE(kinds))
			return false;
		if (begins(raw, kinds[i])) {
			raw += strlen(kinds[i]);
			break;
		}
	}
	if (*raw && strchr("*~^+", *raw))
		snprintf(tier, sizeof(tier), " %c", *raw++);
	path = path_of(raw);
	if (!path) {
		snprintf(out, size, "%s%s", *raw ? raw : ANONYMOUS, tier);
		return true;
	}
	name_len = (size_t)(path - raw);
	path++;
	len = number_at(path, strlen(path));
	line_at = number_at(path, len);
	if (line_at == len) /* there is one number only: the line */
		len = strlen(path);
	snprintf(out, size, "%.*s %.*s%s", name_len ? (int)name_len : (int)strlen(ANONYMOUS),
		 name_len ? raw : ANONYMOUS, (int)(path + len - file_of(path, line_at)),
		 file_of(path, line_at), tier);
	return true;
}

/* "Lcom/foo/Bar;::baz", as agents write it. */
static bool java_descriptor(const char *raw, char *out, size_t size)
{
	const char *end = raw[0] == 'L' ? strstr(raw, ";::") : NULL;
	int n;

	if (!end || memchr(raw, ' ', (size_t)(end - raw)))
		return false;
	n = snprintf(out, size, "%.*s.%s", (int)(end - raw - 1), raw + 1, end + 3);
	for (int i = 0; i < n && i < end - raw - 1 && out[i]; i++)
		if (out[i] == '/')
			out[i] = '.';
	return true;
}

/* "int com.foo.Bar.baz(int)", as HotSpot writes it. */
static bool java_method(const char *raw, char *out, size_t size)
{
	const char *open = strchr(raw, '('), *blank;

	if (!open || raw[strlen(raw) - 1] != ')' || strstr(raw, "::"))
		return false;
	blank = memrchr(raw, ' ', (size_t)(open - raw));
	if (!blank || blank == raw || !memchr(blank, '.', (size_t)(open - blank)) ||
	    memchr(raw, ' ', (size_t)(blank - raw)))
		return false;
	snprintf(out, size, "%.*s", (int)(open - blank - 1), blank + 1);
	return true;
}

static bool python(const char *raw, char *out, size_t size)
{
	const char *path;

	if (!begins(raw, "py::"))
		return false;
	raw += 4;
	path = strstr(raw, ":/");
	if (!path)
		path = strrchr(raw, ':');
	if (!path || path == raw || !path[1])
		return false;
	snprintf(out, size, "%.*s %s", (int)(path - raw), raw, file_of(path + 1, strlen(path + 1)));
	return true;
}

/* "JIT$Bar::baz", or of a trace that begins in line 3 "TRACE-12$Bar::baz$3"; stubs have nothing before their "$". */
static bool php(const char *raw, char *out, size_t size)
{
	const char *name = strchr(raw, '$'), *line;
	size_t len;

	if (!name || !name[1] || name[1] == '$' || (!begins(raw, "JIT$") && !begins(raw, "TRACE-")))
		return false;
	name++;
	line = begins(raw, "TRACE-") ? strrchr(name, '$') : NULL;
	len = line ? (size_t)(line - name) : strlen(name);
	/* What is outside of functions is called by its file. */
	if (name[0] == '/') {
		const char *file = file_of(name, len);

		len -= (size_t)(file - name);
		name = file;
	}
	if (len == 0)
		return false;
	snprintf(out, size, "%.*s%s%s", (int)len, name, line ? ":" : "", line ? line + 1 : "");
	return true;
}

void jit_text(const char *raw, char *out, size_t out_size)
{
	char text[JIT_NAME_MAX + sizeof(ANONYMOUS) + 8];

	if (!v8(raw, text, sizeof(text)) && !java_descriptor(raw, text, sizeof(text)) &&
	    !java_method(raw, text, sizeof(text)) && !python(raw, text, sizeof(text)) &&
	    !php(raw, text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", raw);
	text_sanitize(text, strlen(text), out, out_size);
}
