/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass from left to right. Whether a bracket holds arguments or is a part of the
 * name says the character before it:
 *
 *	foo<int>	after a word: arguments, cut
 *	<T as U>::f	at the start of a type: a part of the name, stays; within it the same holds
 *	bar(int)::f	after a word: arguments, cut
 *	main.(*T).f	not after a word: stays
 *
 * Arguments are skipped with a stack of open brackets: in them '<' and '>' may also
 * be less, greater and arrows, and a bracket that closes an outer one closes all in it.
 */
#include "config.h"

#include "src/base/short_name.h"

#include "src/base/text.h"
#include "src/base/util.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NESTING_MAX 64 /* deeper ones are skipped to the end of the name */

struct shortener {
	const char *in;
	size_t len, at; /* of IN; what is looked at */
	const char *mark;
	char *out;
	size_t size, used;
	size_t type_end;    /* where a type of what is returned may end in OUT, 0: nowhere */
	unsigned int depth; /* of brackets that stay */
	bool is_operator;   /* its symbol has just been copied: arguments may follow */
	bool is_conversion; /* the blanks after "operator" end no type */
	bool ends_in_args;  /* template arguments, or parameters, were the last that was read */
};

/* Copies whole characters only, and nothing more after the first that has no room. */
static void put(struct shortener *s, const char *text, size_t len)
{
	if (s->used + len >= s->size) {
		len = s->size - 1 - s->used;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
		s->size = s->used + len + 1;
	}
	memcpy(s->out + s->used, text, len);
	s->used += len;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool begins(const struct shortener *s, size_t at, const char *word)
{
	size_t len = strlen(word);

	return s->len - at >= len && memcmp(s->in + at, word, len) == 0;
}

/* The bytes of "operator" and its symbol at AT, or 0. The symbol may be a bracket. */
static size_t operator_at(const struct shortener *s, size_t at)
{
	/* Those with brackets; a longer one before its beginning. */
	static const char *const symbols[] = {
		"()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">"};
	size_t len = strlen("operator");

	if (!begins(s, at, "operator") || (at > 0 && is_word(s->in[at - 1])) ||
	    (at + len < s->len && is_word(s->in[at + len])))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		if (begins(s, at + len, symbols[i]))
			return len + strlen(symbols[i]);
	return len + strspn(s->in + at + len, "+-*/%^&|~!=,");
}

static char closing(char c)
{
	return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '>';
}

/* Where the bracket at AT is closed, just after that; the end if it is not. */
static size_t skip_brackets(const struct shortener *s, size_t at)
{
	char open[NESTING_MAX]; /* what closes them */
	size_t nr = 0, outer;

	while (at < s->len) {
		char c = s->in[at];
		size_t word = c == 'o' ? operator_at(s, at) : 0;

		if (word) {
			at += word;
			continue;
		}
		/* In arguments a type stands before '<', and ')' only before less. */
		if (nr > 0 && c == '<' && s->in[at - 1] == ')') {
			at += strspn(s->in + at, "<=");
			continue;
		}
		at++;
		if (c == '(' || c == '[' || c == '{' || c == '<') {
			if (nr == NESTING_MAX)
				return s->len;
			open[nr++] = closing(c);
			continue;
		}
		if (c != ')' && c != ']' && c != '}' && c != '>')
			continue;
		if (c == '>' && (open[nr - 1] != '>' || s->in[at - 2] == '-'))
			continue; /* greater, or an arrow */
		for (outer = nr; outer > 0 && open[outer - 1] == '>' && c != '>';)
			outer--; /* it was less */
		if (outer > 0 && open[outer - 1] == c)
			nr = outer - 1;
		if (nr == 0)
			return at;
	}
	return s->len;
}

/* Skip what C++ says of a member after its parameters. */
static void skip_qualifiers(struct shortener *s)
{
	static const char *const words[] = {" const", " volatile", " noexcept", " &&", " &"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t end = s->at + strlen(words[i]);

		if (begins(s, s->at, words[i]) && (end == s->len || !is_word(s->in[end])))
			s->at = end;
	}
}

/* "<int>", "[int]" (Go) or "!(int)" (D) with MARK in place of what is in it; "[...]" stays. */
static void cut_arguments(struct shortener *s)
{
	size_t end = skip_brackets(s, s->at);
	char last = closing(s->in[s->at]);

	if (begins(s, s->at, "[abi:")) {
		s->at = end;
		return;
	}
	put(s, s->in + s->at, 1);
	if (begins(s, s->at, "[...]"))
		put(s, "...", 3);
	else if (end - s->at > 2)
		put(s, s->mark, strlen(s->mark));
	put(s, &last, 1);
	s->at = end;
	s->ends_in_args = last == '>' || s->ends_in_args;
}

/* "decltype (a+b)" as one word. False: none is here. */
static bool cut_decltype(struct shortener *s)
{
	size_t word = strlen("decltype"), at = s->at + word;

	if (!begins(s, s->at, "decltype") || (s->at > 0 && is_word(s->in[s->at - 1])))
		return false;
	at += at < s->len && s->in[at] == ' ';
	if (at == s->len || s->in[at] != '(')
		return false;
	put(s, s->in + s->at, word);
	s->at = at;
	cut_arguments(s);
	return true;
}

/* The operator that is here, and the blank before its arguments. False: none is here. */
static bool copy_operator(struct shortener *s)
{
	size_t len = operator_at(s, s->at);

	if (len == 0)
		return false;
	put(s, s->in + s->at, len);
	s->at += len;
	s->is_operator = true;
	s->is_conversion = len == strlen("operator");
	if (!s->is_conversion && begins(s, s->at, " <")) {
		put(s, " ", 1);
		s->at++;
	}
	return true;
}

static void copy_character(struct shortener *s)
{
	char c = s->in[s->at];
	size_t bytes = 1;

	if (c == '(' || c == '<' || c == '[' || c == '{')
		s->depth++;
	else if ((c == ')' || c == '>' || c == ']' || c == '}') && s->depth > 0 &&
		 !(c == '>' && s->at > 0 && s->in[s->at - 1] == '-'))
		s->depth--;
	else if (c == ' ' && s->depth == 0 && !s->is_conversion)
		s->type_end = s->used + 1;
	if (c == ':' && s->depth == 0)
		s->is_conversion = false;
	while (s->at + bytes < s->len && ((unsigned char)s->in[s->at + bytes] & 0xc0) == 0x80)
		bytes++;
	put(s, s->in + s->at, bytes);
	s->at += bytes;
}

static void step(struct shortener *s)
{
	char c = s->in[s->at], before = s->at > 0 ? s->in[s->at - 1] : ' ';
	bool is_after = is_word(before) || before == '>' || before == ']' || before == '}' ||
			before == '\'' || before == ')' || before == '!' || s->is_operator;

	if (cut_decltype(s) || copy_operator(s))
		return;
	s->ends_in_args = s->ends_in_args && c == '(';
	if (c == '(' && is_after && before != '!') {
		s->at = skip_brackets(s, s->at);
		skip_qualifiers(s);
		s->ends_in_args = true;
	} else if (c == '<' && (is_after || (s->at > 1 && before == ':')))
		cut_arguments(s);
	else if ((c == '[' && is_after) || (c == '(' && before == '!'))
		cut_arguments(s);
	else
		copy_character(s);
	s->is_operator = false;
}

/* Drop what a template function returns: "void " of "void f<...>". */
static void drop_type(struct shortener *s)
{
	static const char *const kept[] = {" to ",
					   " for "}; /* "thunk to f<...>" is another function */

	if (!s->ends_in_args || s->type_end == 0 || s->type_end >= s->used)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		size_t len = strlen(kept[i]);

		if (s->type_end >= len && memcmp(s->out + s->type_end - len, kept[i], len) == 0)
			return;
	}
	memmove(s->out, s->out + s->type_end, s->used - s->type_end);
	s->used -= s->type_end;
}

size_t short_name(const char *name, const char *mark, char *out, size_t out_size)
{
	struct shortener s = {
		.in = name,
		.len = strnlen(name, SHORT_NAME_BYTES_MAX),
		.mark = mark,
		.out = out,
		.size = out_size,
	};

	while (s.at < s.len)
		step(&s);
	drop_type(&s);
	s.out[s.used] = '\0';
	return s.used;
}

/* --- narrow columns --- */

/* What compilers append to a name is no part of its own: "f.cold", "f.constprop.0". */
static bool is_suffix(const char *text)
{
	static const char *const words[] = {"cold", "part", "constprop", "isra", "func", "plt"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	return !(is_word(*text) || *text == '(') || (*text >= '0' && *text <= '9');
}

/* Where the name goes on after its first namespace, package or folder; NULL: it has no more. */
static const char *next_part(const char *text)
{
	unsigned int depth = 0;

	for (const char *p = text; *p && (*p != ' ' || depth > 0); p++) {
		if (*p == '(' || *p == '<' || *p == '[' || *p == '{')
			depth++;
		else if ((*p == ')' || *p == '>' || *p == ']' || *p == '}') && depth > 0)
			depth--;
		if (depth > 0 || p == text)
			continue;
		if (strncmp(p, "operator", 8) == 0 && !is_word(p[8]) && !is_word(p[-1]))
			return NULL;
		if (p[0] == ':' && p[1] == ':' && p[2])
			return p + 2;
		if (p[0] == '/' && p[1])
			return p + 1;
		if (p[0] == '.' && !is_suffix(p + 1))
			return p + 1;
	}
	return NULL;
}

/* "<Vec<...> as Debug>::fmt" of "<alloc::vec::Vec<...> as core::fmt::Debug>::fmt" into OUT. */
static void drop_paths_of_types(const char *text, char *out, size_t out_size)
{
	size_t used = 0;
	int depth = 0;
	bool is_head = *text == '<';

	for (; *text && used + 1 < out_size; text++) {
		if (is_head && used > 0 && text[0] == ':' && text[1] == ':' &&
		    is_word(out[used - 1])) {
			while (used > 0 && is_word(out[used - 1]))
				used--;
			text++;
			continue;
		}
		depth += *text == '<';
		depth -= *text == '>' && used > 0 && out[used - 1] != '-';
		is_head = is_head && depth > 0;
		out[used++] = *text;
	}
	out[used] = '\0';
}

void short_name_fit(const char *text, int columns, const char *mark, char *out, size_t out_size)
{
	char head[SHORT_NAME_BYTES_MAX];
	const char *rest = text, *next, *separator = "";
	int taken = 0; /* columns of mark and separator */

	if (*text == '<' && text_width(text) > columns) {
		drop_paths_of_types(text, head, sizeof(head));
		text = rest = head;
	}
	while (taken + text_width(rest) > columns && (next = next_part(rest)) != NULL) {
		rest = next;
		separator = rest[-1] == ':' ? "::" : rest[-1] == '/' ? "/" : ".";
		taken = text_width(mark) + (int)strlen(separator);
	}
	snprintf(out, out_size, "%s%s%s", rest > text ? mark : "", separator, rest);
}
