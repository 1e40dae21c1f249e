/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbol names as people write them: C++, Rust (both manglings) and D, without
 * parameters, with template arguments. What would unfold to more than anybody reads stays as it is, or is cut.
 */
#ifndef ST_LOADER_DEMANGLE_H
#define ST_LOADER_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_IN_MAX	 4096  /* longer mangled names stay as they are */
#define DEMANGLE_OUT_MAX 16384 /* of which the first OUT_SIZE bytes are shown */

/*
 * Write what to call MANGLED to OUT (OUT_SIZE bytes, at least 8), sanitized and
 * NUL-terminated; a name that is not mangled is copied. Symbol versions ("@GLIBC_2.2.5", but not "@plt") and
 * the link-time optimizer's suffixes are dropped, ".cold", ".part.0",
 * ".constprop.0" and ".isra.0" are kept. A name that is too long is without its arguments, or cut, and
 * ends in "..." then.
 */
void demangle(const char *mangled, char *out, size_t out_size);

/* Write TEXT (LEN bytes) to OUT as it is, sanitized; cut to OUT_SIZE bytes it ends in "...". */
void name_show(const char *text, size_t len, char *out, size_t out_size);

#endif
