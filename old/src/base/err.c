/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages for people: see err.h. Knows nothing of who shows them. */
#include "config.h"

#include "src/base/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

void err_hint(struct err *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
}
