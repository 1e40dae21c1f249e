/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The settings file of root itself, whose stacktop is another user when it is to be written: a process like the report
 * writer (writer.h) replaces that one file, and what it becomes is not decided by who asks.
 */
#ifndef ST_BROKER_SETTINGS_FILE_H
#define ST_BROKER_SETTINGS_FILE_H

#include <stddef.h>

struct settings_file {
	const char *
		path; /* below the folder of the process, "a/b/config": what folders are missing it makes */
	size_t bytes_max; /* of it, and of the lines */
	/* The whole new file (to be freed) out of TEXT, the old one, and LINES, which were asked for; NULL: they are refused. */
	char *(*merge)(const void *context, const char *text, const char *lines);
	const void *context;
};

/*
 * Replace FILE below DIR, for the lines that MEMFD has, at once or not at all: a link is not followed, and what is there
 * must be a regular file of the user's own. 0, -EINVAL: the lines are refused, or -errno.
 */
int settings_file_replace(int dir, const struct settings_file *file, int memfd);

#endif
