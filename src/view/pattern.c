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
	p->is_regex = strpbrk(text, "\\^$.[]|()*+?{}") &&
		      regcomp(&p->regex, text,
			      REG_EXTENDED | REG_NOSUB | (p->has_capital ? 0 : REG_ICASE)) == 0;
}

void pattern_close(struct pattern *p)
{
	if (p->is_regex)
		regfree(&p->regex);
}

bool pattern_finds(const struct pattern *p, const char *text)
{
	if (p->has_capital ? strstr(text, p->text) : strcasestr(text, p->text))
		return true;
	return p->is_regex && regexec(&p->regex, text, 0, NULL, 0) == 0;
}
