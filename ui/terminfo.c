/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What terminfo knows about leaving the screen, read before curses starts, for
 * the moments when curses cannot. A file of its own, since <term.h> defines
 * hundreds of short names as macros.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/guard.h"

#include <curses.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <term.h>

#define TERM_SHOWN_MAX 64

static const char *capability(const char *name)
{
	/* The old prototype takes the name as writable. */
	return tigetstr((char *)(uintptr_t)name);
}

int restore_prepare(struct restore *restore, int tty_fd, const char *term, struct err *err)
{
	static const char *const names[] = {"sgr0", "rmacs", "cnorm", "rmkx", "rmcup"};
	char shown[TERM_SHOWN_MAX];
	TERMINAL *terminal;
	int problem = 0;

	text_sanitize(term, strlen(term), shown, sizeof(shown));
	*restore = (struct restore){.tty_fd = tty_fd};
	if (tcgetattr(tty_fd, &restore->shell) < 0)
		return err_set(err, -errno, "standard output is not a terminal: %s",
			       strerror(errno));
	if (!*term || setupterm(term, tty_fd, &problem) != OK) {
		err_set(err, -EINVAL, "terminal type '%s' is unknown", shown);
		err_hint(err, "set TERM to a type that this machine knows (xterm, vt100), "
			      "or use --batch");
		return -EINVAL;
	}
	if (!capability("cup")) {
		err_set(err, -EINVAL, "terminal type '%s' cannot place its cursor", shown);
		err_hint(err, "use --batch");
		return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		restore_add(restore, capability(names[i]));
	if (capability("kmous")) /* terminfo has no name for their end */
		restore_add(restore, "\033[?1006l\033[?1000l");
	if (!capability("rmcup"))
		restore_add(restore, "\r\n");
	terminal = cur_term;
	set_curterm(NULL);
	del_curterm(terminal);
	return 0;
}
