/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completion scripts: see completion.h. What can stand behind an option follows
 * from its row: its words, or what its argument is called. Behind "--" stands a
 * command, which the shell completes as if it stood alone.
 */
#include "config.h"

#include "src/completion.h"

#include "src/base/util.h"

#include <string.h>

#define SHORT_MAX 64 /* bytes of a help text beside its option */

/* What an argument is, by the word that stands for it in --help. */
enum argument_kind { KIND_NONE, KIND_WORDS, KIND_OTHER, KIND_FILE, KIND_FOLDER, KIND_PROCESS };

static const char *word_of(const struct options_row *row, int i)
{
	return row->name_of ? row->name_of(i) : NULL;
}

static enum argument_kind kind_of(const struct options_row *row)
{
	static const struct {
		const char *argument;
		enum argument_kind kind;
	} kinds[] = {
		{"FILE", KIND_FILE},
		{"DIR", KIND_FOLDER},
		{"PID[,...]", KIND_PROCESS},
	};

	if (!row->argument)
		return KIND_NONE;
	if (word_of(row, 0))
		return KIND_WORDS;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(row->argument, kinds[i].argument) == 0)
			return kinds[i].kind;
	return KIND_OTHER;
}

static bool is_optional(const struct options_row *row)
{
	return row->argument && row->argument[0] == '[';
}

static void print_words(const struct options_row *row, FILE *stream)
{
	for (int i = 0; word_of(row, i); i++)
		fprintf(stream, "%s%s", i ? " " : "", word_of(row, i));
}

/* What of the help fits beside a name: up to a bracket, in whole words. A backslash before QUOTED characters. */
static void print_short(const char *help, const char *quoted, FILE *stream)
{
	size_t len = strcspn(help, "(;[");

	if (len > SHORT_MAX)
		for (len = SHORT_MAX; help[len] != ' ' && len > 0;)
			len--;
	while (len > 0 && strchr(" ,:", help[len - 1]))
		len--;
	for (size_t i = 0; i < len; i++) {
		if (strchr(quoted, help[i]))
			putc('\\', stream);
		putc(help[i], stream);
	}
}

/* --- bash --- */

static void print_bash_case(const struct options_row *row, FILE *stream)
{
	static const char *const replies[] = {
		[KIND_OTHER] = "return ;;",
		[KIND_FILE] =
			"compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;",
		[KIND_FOLDER] =
			"compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;",
		[KIND_PROCESS] =
			"COMPREPLY=($(compgen -W \"$(cd /proc && echo [1-9]*)\" -- \"$cur\")); "
			"return ;;",
	};
	enum argument_kind kind = kind_of(row);

	if (kind == KIND_NONE || is_optional(row))
		return;
	fputs("\t", stream);
	if (row->letter)
		fprintf(stream, "-%c | ", row->letter);
	fprintf(stream, "--%s) ", row->name);
	if (kind == KIND_WORDS) {
		fputs("COMPREPLY=($(compgen -W '", stream);
		print_words(row, stream);
		fputs("' -- \"$cur\")); return ;;\n", stream);
	} else {
		fprintf(stream, "%s\n", replies[kind]);
	}
}

static void print_bash(FILE *stream)
{
	struct options_row row;

	/* Bash takes "--view=tree" apart at the "=". */
	fputs("# bash completion for stacktop\n"
	      "_stacktop()\n"
	      "{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} i\n"
	      "\n"
	      "\tCOMPREPLY=()\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	      "\t\t\tdeclare -F _command_offset >/dev/null && _command_offset $((i + 1)) && return\n"
	      "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\tif [[ $cur == = ]]; then\n"
	      "\t\tcur=\n"
	      "\telif [[ $option == = ]]; then\n"
	      "\t\toption=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\tcase $option in\n",
	      stream);
	for (size_t i = 0; options_row(i, &row); i++)
		print_bash_case(&row, stream);
	fputs("\tesac\n"
	      "\tCOMPREPLY=($(compgen -W '--",
	      stream);
	for (size_t i = 0; options_row(i, &row); i++)
		fprintf(stream, " --%s%s", row.name, row.argument && !is_optional(&row) ? "=" : "");
	fputs("' -- \"$cur\"))\n"
	      "\t[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
	      "}\n"
	      "complete -F _stacktop stacktop\n",
	      stream);
}

/* --- zsh --- */

static void print_zsh_argument(const struct options_row *row, FILE *stream)
{
	static const char *const actions[] = {
		[KIND_OTHER] = " ",
		[KIND_FILE] = "_files",
		[KIND_FOLDER] = "_directories",
		[KIND_PROCESS] = "_pids",
	};
	enum argument_kind kind = kind_of(row);

	if (kind == KIND_NONE)
		return;
	/* The word for people: what stands before a bracket. */
	fprintf(stream, "%s:", is_optional(row) ? ":" : "");
	fwrite(row->argument, 1, is_optional(row) ? 0 : strcspn(row->argument, "["), stream);
	putc(':', stream);
	if (kind == KIND_WORDS) {
		putc('(', stream);
		print_words(row, stream);
		putc(')', stream);
	} else {
		fputs(actions[kind], stream);
	}
}

static void print_zsh(FILE *stream)
{
	struct options_row row;

	fputs("#compdef stacktop\n_arguments -s -S \\\n", stream);
	for (size_t i = 0; options_row(i, &row); i++) {
		const char *equals = row.argument ? (is_optional(&row) ? "=-" : "=") : "";

		if (row.letter)
			fprintf(stream, "\t'(-%c --%s)'{-%c%s,--%s%s}'[", row.letter, row.name,
				row.letter, row.argument ? "+" : "", row.name, equals);
		else
			fprintf(stream, "\t'--%s%s[", row.name, equals);
		print_short(row.help, "[]:\\", stream);
		putc(']', stream);
		print_zsh_argument(&row, stream);
		fputs("' \\\n", stream);
	}
	fputs("\t'(-)1: :_command_names -e' '*:: :_normal'\n", stream);
}

/* --- fish --- */

static void print_fish(FILE *stream)
{
	static const char *const arguments[] = {
		[KIND_OTHER] = "-x",
		[KIND_FILE] = "-r -F",
		[KIND_FOLDER] = "-x -a '(__fish_complete_directories)'",
		[KIND_PROCESS] = "-x -a '(__fish_complete_pids)'",
	};
	struct options_row row;

	fputs("complete -c stacktop -f\n"
	      "complete -c stacktop -n '__fish_seen_subcommand_from --' "
	      "-x -a '(__fish_complete_subcommand)'\n",
	      stream);
	for (size_t i = 0; options_row(i, &row); i++) {
		enum argument_kind kind = kind_of(&row);

		fputs("complete -c stacktop", stream);
		if (row.letter)
			fprintf(stream, " -s %c", row.letter);
		fprintf(stream, " -l %s", row.name);
		if (kind == KIND_WORDS) {
			fputs(" -x -a '", stream);
			print_words(&row, stream);
			putc('\'', stream);
		} else if (kind != KIND_NONE && !is_optional(&row)) {
			fprintf(stream, " %s", arguments[kind]);
		}
		fputs(" -d '", stream);
		print_short(row.help, "'\\", stream);
		fputs("'\n", stream);
	}
}

void completion_print(enum options_shell shell, FILE *stream)
{
	static void (*const print[])(FILE *) = {
		[OPTIONS_BASH] = print_bash,
		[OPTIONS_ZSH] = print_zsh,
		[OPTIONS_FISH] = print_fish,
	};

	print[shell](stream);
}
