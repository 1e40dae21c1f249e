/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * See settings.h. Root reads the file of who called sudo: only what is that user's own and a
 * regular file is opened, so that nothing else can be seen in a message.
 */
#include "config.h"

#include "src/settings.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/broker/identity.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MODE 0700
#define FILE_MODE   0600
#define NEW_ENDING  ".new" /* of the file that takes the old one's place */
#define SHOWN_MAX   256	   /* bytes of the path in a message */

static const char *shown_path(const char *path, char out[SHOWN_MAX])
{
	text_sanitize(path, strlen(path), out, SHOWN_MAX);
	return out;
}

/* --- where it is --- */

/* The environment is root's after sudo, whoever called it. */
static int path_of_sudo(uid_t uid, char **ret)
{
	const struct passwd *user = getpwuid(uid);

	if (!user || user->pw_dir[0] != '/')
		return -ENOENT;
	return asprintf(ret, "%s/.config/stacktop/config", user->pw_dir) < 0 ? -ENOMEM : 0;
}

int settings_path(char **ret)
{
	const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct identity who;
	struct err err = {0};
	int r;

	*ret = NULL;
	if (identity_invoker(&who, &err) < 0)
		return -ENOENT;
	if (who.by_sudo)
		return path_of_sudo(who.uid, ret);
	/* The specification of base directories: a relative path is to be ignored. */
	if (folder && folder[0] == '/')
		r = asprintf(ret, "%s/stacktop/config", folder);
	else if (home && home[0] == '/')
		r = asprintf(ret, "%s/.config/stacktop/config", home);
	else
		return -ENOENT;
	return r < 0 ? -ENOMEM : 0;
}

/* --- reading --- */

/* A descriptor of the file, -ENOENT: there is none, -EPERM: it is not one to be read. */
static int open_own(const char *path)
{
	AUTO_CLOSE int there = open(path, O_PATH | O_CLOEXEC);
	char self[64];
	struct identity who;
	struct err err = {0};
	struct stat st;
	int fd;

	if (there < 0)
		return -errno;
	if (identity_invoker(&who, &err) < 0 || fstat(there, &st) < 0)
		return -EPERM;
	if (!S_ISREG(st.st_mode) || (st.st_uid != who.uid && st.st_uid != 0) ||
	    (st.st_uid != who.uid && !(st.st_mode & S_IROTH)))
		return -EPERM;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", there);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* All of it as a string that the caller frees. */
static int load(const char *path, char **ret)
{
	AUTO_CLOSE int fd = open_own(path);
	size_t len = 0;
	int r = fd < 0 ? fd : read_all(fd, SETTINGS_BYTES_MAX, ret, &len);

	if (r < 0)
		return r;
	if (strlen(*ret) == len)
		return 0;
	free(*ret);
	*ret = NULL;
	return -EINVAL;
}

static const char *why_not(int code)
{
	switch (-code) {
	case EPERM:
		return "it is not a file of the user's own";
	case EFBIG:
		return "it is too large";
	case EINVAL:
		return "it is no text";
	default:
		return strerror(-code);
	}
}

char *settings_read(const char *path, struct options *ret, struct err *err)
{
	char *text = NULL;
	char shown[SHOWN_MAX];
	int r = load(path, &text);

	if (r == 0)
		settings_apply(text, path, ret, err);
	else if (r != -ENOENT && r != -ENOTDIR)
		err_set(err, r, "%s is ignored: %s", shown_path(path, shown), why_not(r));
	return text;
}

/* --- lines --- */

static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* NAME and VALUE of LINE, which is cut up. False: it has none. */
static bool split(char *line, char **ret_name, char **ret_value)
{
	char *equals = strchr(line, '=');

	if (!equals)
		return false;
	*equals = '\0';
	*ret_name = trim(line);
	*ret_value = trim(equals + 1);
	return **ret_name != '\0';
}

static bool is_empty(const char *line)
{
	line += strspn(line, " \t\r\v\f");
	return *line == '\0' || *line == '#';
}

void settings_apply(char *text, const char *name, struct options *ret, struct err *err)
{
	char shown[SHOWN_MAX], *rest = text, *line;

	for (unsigned int number = 1; (line = strsep(&rest, "\n")) != NULL; number++) {
		struct err wrong = {0};
		char *option, *value;

		if (is_empty(line))
			continue;
		if (!split(line, &option, &value))
			err_set(&wrong, -EINVAL, "'NAME = VALUE' is expected");
		else
			options_set(ret, option, value, &wrong);
		if (wrong.code < 0 && err->code == 0)
			err_set(err, wrong.code, "%s: line %u is ignored: %s",
				shown_path(name, shown), number, wrong.text);
	}
}

/* --- writing --- */

/* How many bytes the name in LINE of LEN bytes has, from *RET_AT on; 0: it has none. */
static size_t name_of(const char *line, size_t len, size_t *ret_at)
{
	const char *equals = memchr(line, '=', len);
	size_t at = 0, end;

	if (!equals)
		return 0;
	end = (size_t)(equals - line);
	while (at < end && isspace((unsigned char)line[at]))
		at++;
	while (end > at && isspace((unsigned char)line[end - 1]))
		end--;
	if (at < end && line[at] == '#')
		return 0;
	*ret_at = at;
	return end - at;
}

/* The last line of TEXT with the name of LINE; NULL: none. */
static const char *find_same(const char *text, const char *line, size_t len)
{
	size_t line_at = 0, line_nr = name_of(line, len, &line_at);
	const char *found = NULL, *end;

	if (line_nr == 0)
		return NULL;
	for (const char *p = text; *p; p = *end ? end + 1 : end) {
		size_t at = 0, nr;

		end = strchrnul(p, '\n');
		nr = name_of(p, (size_t)(end - p), &at);
		if (nr == line_nr && memcmp(p + at, line + line_at, nr) == 0)
			found = p;
	}
	return found;
}

/* The lines of TEXT, with those of OTHER in the place of their last namesakes; or (IS_NEW) those without one in OTHER. */
static void put_lines(FILE *out, const char *text, const char *other, bool is_new)
{
	const char *end;

	for (const char *p = text; *p; p = *end ? end + 1 : end) {
		const char *same;
		size_t len;

		end = strchrnul(p, '\n');
		len = (size_t)(end - p);
		same = find_same(other, p, len);
		if (is_new && same)
			continue;
		/* Of several lines of a name the last is the one that counts. */
		if (!is_new && same && find_same(text, p, len) == p) {
			p = same;
			len = strcspn(p, "\n");
		}
		fprintf(out, "%.*s\n", (int)len, p);
	}
}

char *settings_merge(const char *text, const char *lines)
{
	char *data = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&data, &len);

	if (!out)
		return NULL;
	put_lines(out, text, lines, false);
	put_lines(out, lines, text, true);
	if (fclose(out) == 0)
		return data;
	free(data);
	return NULL;
}

char *settings_merge_checked(const struct options *start, const char *text, const char *lines)
{
	AUTO_FREE char *copy = strdup(lines);
	struct err err = {0};
	struct options o;
	bool is_known;

	if (!copy)
		return NULL;
	options_init(&o);
	settings_apply(copy, "settings", &o, &err);
	is_known = !o.debuginfod ||
		   (start->debuginfod && strcmp(start->debuginfod, o.debuginfod) == 0);
	return err.code == 0 && is_known ? settings_merge(text, lines) : NULL;
}

/* Nobody but root can put anything in the place of what is in there. */
static bool is_roots(int folder)
{
	struct stat st;

	return fstat(folder, &st) == 0 && st.st_uid == 0 &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

int settings_open_folder(const char *path, const char **ret_rest)
{
	AUTO_CLOSE int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *slash;

	if (at < 0)
		return -errno;
	for (path++; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		AUTO_FREE char *name = strndup(path, (size_t)(slash - path));
		int next;

		if (!name)
			return -ENOMEM;
		if (!*name)
			continue;
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 && errno == ENOENT)
			break;
		if (next < 0)
			return -errno;
		close(at);
		at = next;
		if (!is_roots(at))
			return -EPERM;
	}
	*ret_rest = path;
	return steal_fd(&at);
}

/* The folders that PATH is in, as far as they are not there. */
static int make_folders(const char *path)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof(folder))
		return -ENAMETOOLONG;
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - path);

		memcpy(folder, path, len);
		folder[len] = '\0';
		if (mkdir(folder, FOLDER_MODE) < 0 && errno != EEXIST && access(folder, F_OK) < 0)
			return -errno;
	}
	return 0;
}

static int replace(const char *path, const char *text)
{
	char new[PATH_MAX];
	AUTO_CLOSE int fd = -1;
	int r;

	if (snprintf(new, sizeof(new), "%s" NEW_ENDING, path) >= (int)sizeof(new))
		return -ENAMETOOLONG;
	unlink(new); /* of a write that was broken off */
	fd = open(new, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, strlen(text));
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL && errno != ENOSYS)
		r = -errno;
	if (r == 0 && rename(new, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(new);
	return r;
}

static int write_to(const char *path, const char *old, const char *lines)
{
	AUTO_FREE char *text = settings_merge(old ? old : "", lines);

	return text ? replace(path, text) : -ENOMEM;
}

int settings_write(const char *path, const char *lines, struct err *err)
{
	AUTO_FREE char *old = NULL;
	char shown[SHOWN_MAX];
	int r = load(path, &old);

	if (r < 0 && r != -ENOENT) {
		err_set(err, r, "%s stays as it is: %s", shown_path(path, shown), why_not(r));
	} else {
		r = r < 0 ? make_folders(path) : 0;
		if (r == 0)
			r = write_to(path, old, lines);
		if (r < 0)
			err_set(err, r, "cannot write %s: %s", shown_path(path, shown),
				strerror(-r));
	}
	if (r == -EACCES)
		err_hint(
			err,
			"stacktop is not root any more, and only writes to folders that are root's alone: "
			"write it by hand");
	return r;
}
