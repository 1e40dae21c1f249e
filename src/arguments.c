/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict reading of numbers, times, names and lists: see arguments.h. Knows no option. */
#include "config.h"

#include "src/arguments.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *arg_shown(const char *word, char *out, size_t size)
{
	text_sanitize(word, strlen(word), out, size);
	return out;
}

/* Decimal digits only, MIN to MAX. */
static bool read_number(const char *word, size_t len, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(word[i] - '0'), &value))
			return false;
	}
	if (value < min || value > max)
		return false;
	*ret = value;
	return true;
}

int arg_number(const char *option, const char *word, uint64_t min, uint64_t max, uint64_t *ret,
	       struct err *err)
{
	char text[ARG_SHOWN_MAX];

	if (read_number(word, strlen(word), min, max, ret))
		return 0;
	return err_set(err, -EINVAL, "%s: '%s' is not a number from %llu to %llu", option,
		       arg_shown(word, text, sizeof(text)), (unsigned long long)min,
		       (unsigned long long)max);
}

/* Seconds with up to nine decimals: "2", "0.5", ".5". */
static bool read_seconds(const char *word, uint64_t *ret_ns)
{
	size_t whole = strcspn(word, "."), decimals;
	uint64_t seconds = 0, ns = 0;

	decimals = word[whole] == '.' ? strlen(word + whole + 1) : 0;
	if ((whole == 0 && decimals == 0) || decimals > 9)
		return false;
	if (whole > 0 && !read_number(word, whole, 0, UINT32_MAX, &seconds))
		return false;
	if (decimals > 0 && !read_number(word + whole + 1, decimals, 0, UINT32_MAX, &ns))
		return false;
	for (size_t i = decimals; i < 9; i++)
		ns *= 10;
	*ret_ns = seconds * NS_PER_SEC + ns;
	return true;
}

int arg_seconds(const char *option, const char *word, uint64_t min_ns, uint64_t max_ns,
		uint64_t *ret_ns, struct err *err)
{
	char text[ARG_SHOWN_MAX];
	uint64_t ns;

	if (read_seconds(word, &ns) && ns >= min_ns && ns <= max_ns) {
		*ret_ns = ns;
		return 0;
	}
	return err_set(err, -EINVAL, "%s: '%s' is not a number of seconds from %g to %g", option,
		       arg_shown(word, text, sizeof(text)), (double)min_ns / 1e9,
		       (double)max_ns / 1e9);
}

int arg_percent(const char *option, const char *word, double *ret, struct err *err)
{
	char text[ARG_SHOWN_MAX];
	uint64_t billionths;

	if (read_seconds(word, &billionths) && billionths <= 100 * NS_PER_SEC) {
		*ret = (double)billionths / 1e9;
		return 0;
	}
	return err_set(err, -EINVAL, "%s: '%s' is not a number of percent from 0 to 100", option,
		       arg_shown(word, text, sizeof(text)));
}

int arg_name(const char *option, const char *word, const char *(*name_of)(int), unsigned int *ret,
	     struct err *err)
{
	char text[ARG_SHOWN_MAX], names[ARG_SHOWN_MAX] = "";
	size_t used = 0;

	for (int i = 0; name_of(i); i++) {
		if (strcmp(word, name_of(i)) == 0) {
			*ret = (unsigned int)i;
			return 0;
		}
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 i == 0		  ? ""
					 : name_of(i + 1) ? ", "
							  : " or ",
					 name_of(i));
		used = MIN(used, sizeof(names) - 1);
	}
	return err_set(err, -EINVAL, "%s: '%s' is not %s", option,
		       arg_shown(word, text, sizeof(text)), names);
}

/* --- lists of numbers --- */

struct ids {
	int *ids;
	size_t nr_ids, cap_ids;
};

static int by_value(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* "12" or, where ranges are allowed, "3-7": LEN bytes at WORD. */
static int add_ids(struct ids *ids, const struct arg_list *list, const char *word, size_t len)
{
	const char *dash = list->ranges ? memchr(word, '-', len) : NULL;
	size_t first_len = dash ? (size_t)(dash - word) : len;
	uint64_t first, last;

	if (!read_number(word, first_len, list->min, list->max, &first))
		return -EINVAL;
	last = first;
	if (dash && !read_number(dash + 1, len - first_len - 1, first, list->max, &last))
		return -EINVAL;
	for (uint64_t id = first; id <= last; id++) {
		int r = vec_reserve(&ids->ids, &ids->cap_ids, ids->nr_ids + 1, ARG_IDS_MAX);

		if (r < 0)
			return r;
		ids->ids[ids->nr_ids++] = (int)id;
	}
	return 0;
}

static void sort_ids(struct ids *list)
{
	size_t kept = 0;

	qsort(list->ids, list->nr_ids, sizeof(*list->ids), by_value);
	for (size_t i = 0; i < list->nr_ids; i++) {
		if (kept == 0 || list->ids[i] != list->ids[kept - 1])
			list->ids[kept++] = list->ids[i];
	}
	list->nr_ids = kept;
}

int arg_ids(const char *option, const struct arg_list *list, const char *word, int **ret_ids,
	    uint32_t *ret_nr_ids, struct err *err)
{
	struct ids ids = {.ids = *ret_ids, .nr_ids = *ret_nr_ids, .cap_ids = *ret_nr_ids};
	const char *p = word;
	char text[ARG_SHOWN_MAX];
	int r;

	do {
		size_t len = strcspn(p, ",");

		r = add_ids(&ids, list, p, len);
		if (r < 0)
			break;
		p += len;
	} while (*p++ == ',');
	if (r == 0)
		sort_ids(&ids);
	*ret_ids = ids.ids;
	*ret_nr_ids = (uint32_t)ids.nr_ids;
	if (r == -E2BIG)
		return err_set(err, -EINVAL, "%s: more than %d numbers", option, ARG_IDS_MAX);
	if (r == -EINVAL)
		return err_set(err, r, "%s: '%s' is not %s", option,
			       arg_shown(word, text, sizeof(text)), list->what);
	if (r < 0)
		return err_set(err, r, "%s: %s", option, strerror(-r));
	return 0;
}
