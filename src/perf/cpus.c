/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU lists and sysctls: see cpus.h. These are the machine's own files, small and always there. */
#include "config.h"

#include "src/perf/cpus.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define FILE_MAX 65536

static int read_file(const char *path, char **ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	if (fd < 0)
		return -errno;
	return read_all(fd, FILE_MAX, ret, &len);
}

/* One number up to CPUS_MAX; *TEXT moves past it. */
static int parse_cpu(const char **text)
{
	char *end;
	unsigned long cpu = strtoul(*text, &end, 10);

	if (!isdigit((unsigned char)**text) || cpu > CPUS_MAX)
		return -EINVAL;
	*text = end;
	return (int)cpu;
}

int cpus_parse(const char *text, int **ret)
{
	AUTO_FREE int *cpus = NULL;
	size_t nr = 0, cap = 0;

	for (;;) {
		int first = parse_cpu(&text);
		int last = first;

		if (first >= 0 && *text == '-') {
			text++;
			last = parse_cpu(&text);
		}
		if (first < 0 || last < first || (nr > 0 && first <= cpus[nr - 1]))
			return -EINVAL;
		if (vec_reserve(&cpus, &cap, nr + (size_t)(last - first) + 1, CPUS_MAX + 1) < 0)
			return -ENOMEM;
		while (first <= last)
			cpus[nr++] = first++;
		if (*text != ',')
			break;
		text++;
	}
	if (*text == '\n')
		text++;
	if (*text != '\0')
		return -EINVAL;
	*ret = steal_ptr(cpus);
	return (int)nr;
}

int cpus_read(const char *path, int **ret)
{
	AUTO_FREE char *text = NULL;
	int r = read_file(path, &text);

	return r < 0 ? r : cpus_parse(text, ret);
}
