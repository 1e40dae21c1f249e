/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any command line, and any condition of --when: taken, or refused with one line. Words end with a newline. And any
 * line of a /proc/PID/stat.
 */
#include "config.h"

#include "src/options.h"
#include "src/running.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *argv[WORDS_MAX + 2] = {(char[]){"stacktop"}};
	struct options defaults, options;
	struct err err = {0};
	uint64_t ticks, began;
	struct when when;
	char name[32];
	int argc = 1, r;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *rest = text, *word; (word = strsep(&rest, "\n")) && argc <= WORDS_MAX;)
		argv[argc++] = word;
	options_init(&defaults);
	r = options_parse(argc, argv, &defaults, &options, &err);
	if (r == 0) {
		must(options.window_ns > 0 && options.delay_ns > 0);
		must((options.freq_hz != 0) != (options.period != 0) ||
		     options.action != OPTIONS_RUN);
	} else {
		must(err.code == r && err.text[0] != '\0' && !strchr(err.text, '\n'));
	}
	options_done(&options);
	memcpy(text, data, size);
	err = (struct err){0};
	r = when_parse("--when", text, &when, &err);
	running_parse(text, name, sizeof(name), &ticks, &began);
	must(r == 0 ? when.number >= 0 : err.code == r && !strchr(err.text, '\n'));
	free(text);
	return 0;
}
