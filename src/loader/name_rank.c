/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The more important property has the higher bit of the rank; the length has the lowest ones. */
#include "config.h"

#include "src/loader/name_rank.h"

#include "src/base/util.h"

#include <string.h>

#define UNDERSCORES_MAX 15u
#define LENGTH_MAX	0xffffu

/* From the best to the worst: each outweighs all that follow. */
#define RANK_UNSIZED	 (1u << 26)
#define RANK_LABEL	 (1u << 25)
#define RANK_MARKER	 (1u << 24)
#define RANK_LOCAL	 (1u << 23)
#define RANK_OLD	 (1u << 22)
#define RANK_VERSIONED	 (1u << 21)
#define RANK_UNDERSCORES 17 /* four bits from here */
#define RANK_WEAK	 (1u << 16)

static bool begins_with(const char *name, size_t len, const char *prefix)
{
	size_t prefix_len = strlen(prefix);

	return len >= prefix_len && memcmp(name, prefix, prefix_len) == 0;
}

static bool ends_with(const char *name, size_t len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	return len > suffix_len && memcmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

static bool is_exactly(const char *name, size_t len, const char *other)
{
	return len == strlen(other) && memcmp(name, other, len) == 0;
}

/* Where the kernel's parts begin and end, and functions under the name that early code calls them by. */
static bool is_marker(const char *name, size_t len)
{
	return len > 0 && name[0] == '_' &&
	       (is_exactly(name, len, "_text") || is_exactly(name, len, "_stext") ||
		ends_with(name, len, "_start") || ends_with(name, len, "_end") ||
		begins_with(name, len, "__pi_"));
}

/* Assemblers mark what is code and what is data: "$x", "$d.12", "$xrv64i2p1". Swift's names begin so as well: "$s4main". */
static bool is_mapping(const char *name, size_t len)
{
	return len >= 2 && name[0] == '$' && strchr("adtx", name[1]) &&
	       (len == 2 || name[2] == '.' || begins_with(name, len, "$xrv"));
}

bool name_is_of_function(const char *name, size_t len)
{
	return len > 0 && !is_mapping(name, len) && !begins_with(name, len, ".L") &&
	       !begins_with(name, len, "__pfx_");
}

static uint32_t underscores_of(const char *name, size_t len)
{
	uint32_t nr = 0;

	/* It distinguishes the vDSO's functions from those of the C library that call them. */
	if (begins_with(name, len, "__vdso_"))
		return 0;
	while (nr < MIN(len, (size_t)UNDERSCORES_MAX) && name[nr] == '_')
		nr++;
	return nr;
}

uint32_t name_rank(const struct name_traits *traits, const char *name, size_t len)
{
	uint32_t rank = (uint32_t)MIN(len, (size_t)LENGTH_MAX);

	rank |= underscores_of(name, len) << RANK_UNDERSCORES;
	rank |= traits->is_sized ? 0 : RANK_UNSIZED;
	rank |= traits->is_label ? RANK_LABEL : 0;
	rank |= traits->is_old ? RANK_OLD : 0;
	rank |= traits->binding == NAME_LOCAL ? RANK_LOCAL : 0;
	rank |= traits->binding == NAME_WEAK ? RANK_WEAK : 0;
	rank |= is_marker(name, len) ? RANK_MARKER : 0;
	rank |= memchr(name, '@', len) ? RANK_VERSIONED : 0;
	return rank;
}
