/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of functions as people say them: std::sort<...> for std::sort<int*, long>,
 * and ...::sort<...> where even that is too wide. Pure functions of text; they know
 * how C++, Rust, D, Go and Java write names, and nothing of where these come from.
 */
#ifndef ST_BASE_SHORT_NAME_H
#define ST_BASE_SHORT_NAME_H

#include <stddef.h>

#define SHORT_NAME_BYTES_MAX 4096 /* of which no more is looked at */

/*
 * Copy NAME (demangled, sanitized) to OUT (OUT_SIZE bytes, > 0) without arguments and with MARK for
 * the contents of template arguments: "f<MARK>" for "f<int>(long)". Operators, conversions,
 * "(anonymous namespace)", "{lambda#1}", Rust's "<T as Trait>" and Go's "(*T)" stay; what is no such
 * name stays as it is. Never longer than NAME by more than MARK for each bracket in it; cut at a
 * character where OUT ends. Returns the length.
 */
size_t short_name(const char *name, const char *mark, char *out, size_t out_size);

/*
 * Copy TEXT, which short_name() made, to OUT so that it takes at most COLUMNS if it can: the outer namespaces,
 * packages or folders leave one after the other, with MARK in their place. What stands last never
 * leaves, so it may be wider still.
 */
void short_name_fit(const char *text, int columns, const char *mark, char *out, size_t out_size);

#endif
