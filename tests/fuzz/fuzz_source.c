/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A source file of any content: the first byte says how many lines are wanted, the next ones which. */
#include "config.h"

#include "src/engine/source_lines.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(data, size);
	struct source_lines lines = {0};
	unsigned int nr = reader_u8(&in);
	size_t len;
	void *copy;

	for (unsigned int i = 0; i < nr; i++)
		must(source_lines_want(&lines, reader_u8(&in) % 2, reader_u8(&in)) == 0);
	source_lines_sort(&lines);
	len = reader_left(&in);
	copy = exact_copy(reader_bytes(&in, len), len);
	must(source_lines_fill(&lines, 1, copy, len) == 0);
	for (size_t i = 0; i < lines.nr; i++) {
		uint32_t text = source_lines_find(&lines, lines.all[i].file, lines.all[i].line);

		must(text == lines.all[i].text);
		must(i == 0 || lines.all[i].file > lines.all[i - 1].file ||
		     lines.all[i].line > lines.all[i - 1].line);
		if (text == SOURCE_NONE)
			continue;
		must(lines.all[i].file == 1 && text < lines.text_bytes);
		must(strlen(lines.text + text) < SOURCE_LINE_BYTES_MAX);
	}
	free(copy);
	source_lines_done(&lines);
	return 0;
}
