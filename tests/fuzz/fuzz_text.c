/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text of others: harmless after the sanitizer, and never wider than allowed; names made short stay so. First byte: columns. */
#include "config.h"

#include "src/base/short_name.h"
#include "src/base/text.h"
#include "tests/fuzz/fuzz.h"

static void check_harmless(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		must(*p >= 0x20 && *p != 0x7f);
		must(p[0] != 0xc2 || p[1] >= 0xa0); /* C1 */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *out, *again, *elided;
	size_t room, len;
	int columns, fit;

	if (size < 2)
		return 0;
	columns = data[0];
	room = (size_t)data[1] * 4 + 1;
	data += 2;
	size -= 2;
	out = malloc(room);
	again = malloc(room);
	elided = malloc(room);
	must(out && again && elided);
	len = text_sanitize((const char *)data, size, out, room);
	must(len < room && strlen(out) == len);
	check_harmless(out);
	must(text_sanitize(out, len, again, room) == len && strcmp(out, again) == 0);
	must(text_width(out) >= 0 && (size_t)text_width(out) <= 2 * len);
	len = text_fit(out, columns, &fit);
	must(fit <= columns && len <= strlen(out));
	for (int keep_end = 0; keep_end < 2; keep_end++) {
		text_elide(out, columns, keep_end, elided, room);
		must(text_width(elided) <= columns);
		check_harmless(elided);
	}
	len = short_name(out, "...", elided, room);
	must(len < room && strlen(elided) == len);
	check_harmless(elided);
	short_name_fit(elided, columns, "...", again, room);
	check_harmless(again);
	free(elided);
	free(again);
	free(out);
	return 0;
}
