/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel symbols of the run time in one sorted array: see ksyms.h. */
#include "config.h"

#include "src/proc/ksyms.h"

#include "src/base/text.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ksyms_done(struct ksyms *ksyms)
{
	free(ksyms->syms);
	*ksyms = (struct ksyms){0};
}

/* The first symbol that ends above ADDR. */
static size_t ksyms_search(const struct ksyms *ksyms, uint64_t addr)
{
	size_t low = 0, high = ksyms->nr_syms;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ksyms->syms[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct ksym *ksyms_find(const struct ksyms *ksyms, uint64_t addr)
{
	size_t i = ksyms_search(ksyms, addr);

	return i < ksyms->nr_syms && ksyms->syms[i].start <= addr ? &ksyms->syms[i] : NULL;
}

void ksyms_remove(struct ksyms *ksyms, uint64_t start, uint64_t len)
{
	size_t first = ksyms_search(ksyms, start), last = first;
	uint64_t end;

	if (__builtin_add_overflow(start, len, &end))
		end = UINT64_MAX;
	while (last < ksyms->nr_syms && ksyms->syms[last].start < end)
		last++;
	if (first == last)
		return;
	memmove(ksyms->syms + first, ksyms->syms + last,
		(ksyms->nr_syms - last) * sizeof(*ksyms->syms));
	ksyms->nr_syms -= last - first;
}

int ksyms_add(struct ksyms *ksyms, uint64_t start, uint64_t len, const char *name)
{
	struct ksym sym = {.start = start};
	size_t i;
	int r;

	if (len == 0 || __builtin_add_overflow(start, len, &sym.end))
		return 0;
	ksyms_remove(ksyms, start, len);
	r = vec_reserve(&ksyms->syms, &ksyms->cap_syms, ksyms->nr_syms + 1, KSYMS_MAX);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	text_sanitize(name, strlen(name), sym.name, sizeof(sym.name));
	i = ksyms_search(ksyms, start);
	memmove(ksyms->syms + i + 1, ksyms->syms + i, (ksyms->nr_syms - i) * sizeof(*ksyms->syms));
	ksyms->syms[i] = sym;
	ksyms->nr_syms++;
	return 0;
}
