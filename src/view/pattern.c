/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns: see pattern.h. */
#include "config.h"

#include "src/view/pattern.h"

#include <ctype.h>
#include <string.h>

static bool has_capital(const char *text)
{
	for (; *text; text++)
		if (isupper((unsigned char)*text))
			return true;
	return false;
}

void pattern_open(struct pattern *p, const char *text)
{
	*p = (struct pattern){.text = text, .has_capital = has_capital(text)};
	p->is_regex =
		strpbrk(text, "\\^$.[]|()*+?{}") &&
		regcomp(&p->regex, text, REG_EXTENDED | (p->has_capital ? 0 : REG_ICASE)) == 0;
}

void pattern_close(struct pattern *p)
{
	if (p->is_regex)
		regfree(&p->regex);
}

static const char *find_itself(const struct pattern *p, const char *text)
{
	return p->has_capital ? strstr(text, p->text) : strcasestr(text, p->text);
}

bool pattern_finds(const struct pattern *p, const char *text)
{
	return find_itself(p, text) || (p->is_regex && regexec(&p->regex, text, 0, NULL, 0) == 0);
}

const char *pattern_place(const struct pattern *p, const char *text, size_t *ret_len)
{
	const char *at = find_itself(p, text);
	regmatch_t match;

	*ret_len = strlen(p->text);
	if (at || !p->is_regex || regexec(&p->regex, text, 1, &match, 0) != 0)
		return at;
	*ret_len = (size_t)(match.rm_eo - match.rm_so);
	return text + match.rm_so;
}
