/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of code that runtimes make, as people know them. Any text gets some name.
 *
 *	LazyCompile:*work /srv/app.js:2:14	work app.js:2 *		(the tier: * ~ ^ +)
 *	Lcom/foo/Bar;::baz			com.foo.Bar.baz
 *	int com.foo.Bar.baz(int)		com.foo.Bar.baz
 *	py::work:/srv/app.py			work app.py
 */
#ifndef ST_LOADER_JIT_TEXT_H
#define ST_LOADER_JIT_TEXT_H

#include <stddef.h>

/* Write what to call RAW to OUT (OUT_SIZE bytes, at least 8), sanitized and NUL-terminated. */
void jit_text(const char *raw, char *out, size_t out_size);

#endif
