/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The settings file, $XDG_CONFIG_HOME/stacktop/config or ~/.config/stacktop/config: lines
 * "NAME = VALUE", where NAME is a long option and VALUE its argument, or yes and no. '#' begins a
 * comment. By sudo it is that of the user who called. Read for the screen, written by one of its
 * keys. What the names mean is the business of options.h.
 */
#ifndef ST_SETTINGS_H
#define ST_SETTINGS_H

#include "src/base/err.h"
#include "src/options.h"

/* At most so many bytes are read of it. */
#define SETTINGS_BYTES_MAX 65536u

/*
 * The file of the user whose work this is. Returns 0 with a heap string, or -ENOENT: nobody knows
 * where; -ENOMEM.
 */
int settings_path(char **ret);

/*
 * Change *RET by the lines of the file PATH, of which each is that of an option (options_set). A
 * line that is wrong is left out; *ERR names the first. So is a file that is not the user's own or
 * is too large. No file: nothing is changed. Returns the text that *RET may point into, for the caller to free, or NULL.
 */
char *settings_read(const char *path, struct options *ret, struct err *err);

/* The same of TEXT, which is cut up, from a file called NAME. */
void settings_apply(char *text, const char *name, struct options *ret, struct err *err);

/*
 * TEXT, the whole of a file, with the LINES of which each takes the place of the last of its name
 * or comes at the end; all others stay as they are. Returns a heap string, NULL: no memory.
 */
char *settings_merge(const char *text, const char *lines);

/*
 * Make the file PATH, and its folders, with LINES merged into what it has. It is replaced at once or
 * stays as it was. Returns 0, or -errno with a message.
 */
int settings_write(const char *path, const char *lines, struct err *err);

/*
 * The folder that PATH, root's, is in, or as much of it as there is, open; *RET_REST is the rest of PATH. -errno, -EPERM:
 * one of these folders is not root's alone, so that others could have made it lead elsewhere.
 */
int settings_open_folder(const char *path, const char **ret_rest);

/*
 * As settings_merge() for LINES of whoever, after START, the options of this run: NULL as well if one of them is no setting, or names
 * servers that START does not.
 */
char *settings_merge_checked(const struct options *start, const char *text, const char *lines);

#endif
