/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The terminal, by newterm(): initscr() would end the program by itself on an
 * unknown terminal. See screen.h.
 */
#include "config.h"

#include "ui/screen.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "ui/keys.h"
#include "ui/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ESCAPE_DELAY_MS 25
/* The same for a key's sequence that has begun: a slow link may bring it in parts. */
#define SEQUENCE_DELAY_MS 300
#define SEQUENCE_MAX	  32

/* A terminal may claim any size; this is a wall of them. */
#define LINES_MAX   1000
#define COLUMNS_MAX 2000

#define FRAME_CHUNK_BYTES 4096

struct look {
	short dark, light; /* the colour on such a background, -1: the terminal's own */
	attr_t colour, mono;
};

/*
 * No two that must be told apart by their colour are red and green: people who see no difference there see one
 * between yellow, cyan, blue and magenta. More and less have these two, beside their signs. On a light background yellow and cyan are too pale.
 */
static const struct look looks[STYLE_COUNT] = {
	[STYLE_NORMAL] = {-1, -1, A_NORMAL, A_NORMAL},
	[STYLE_HEADER] = {-1, -1, A_BOLD, A_BOLD},
	[STYLE_TAB] = {-1, -1, A_NORMAL, A_NORMAL},
	[STYLE_TAB_HERE] = {-1, -1, A_BOLD | A_REVERSE, A_BOLD | A_REVERSE},
	[STYLE_TITLE] = {COLOR_CYAN, COLOR_BLUE, A_UNDERLINE, A_UNDERLINE},
	[STYLE_SORTED] = {COLOR_CYAN, COLOR_BLUE, A_BOLD | A_UNDERLINE, A_BOLD | A_UNDERLINE},
	[STYLE_HOT] = {COLOR_RED, COLOR_RED, A_BOLD, A_BOLD},
	[STYLE_WARM] = {COLOR_YELLOW, COLOR_MAGENTA, A_NORMAL, A_NORMAL},
	[STYLE_LESS] = {COLOR_GREEN, COLOR_GREEN, A_NORMAL, A_NORMAL},
	[STYLE_KERNEL] = {COLOR_CYAN, COLOR_BLUE, A_NORMAL, A_NORMAL},
	[STYLE_DIM] = {-1, -1, A_DIM, A_NORMAL},
	[STYLE_CURSOR] = {-1, -1, A_REVERSE, A_REVERSE},
	[STYLE_MATCH] = {-1, -1, A_UNDERLINE | A_BOLD, A_UNDERLINE | A_BOLD},
	[STYLE_KEY] = {COLOR_CYAN, COLOR_BLUE, A_BOLD, A_BOLD},
	[STYLE_NOTICE] = {COLOR_YELLOW, COLOR_MAGENTA, A_BOLD, A_BOLD},
	[STYLE_FLAME_ALL] = {-1, -1, A_REVERSE, A_REVERSE},
	[STYLE_FLAME_USER] = {COLOR_YELLOW, COLOR_YELLOW, A_REVERSE, A_REVERSE},
	[STYLE_FLAME_KERNEL] = {COLOR_CYAN, COLOR_CYAN, A_REVERSE, A_REVERSE},
	[STYLE_FLAME_JIT] = {COLOR_BLUE, COLOR_BLUE, A_REVERSE, A_REVERSE},
	[STYLE_FLAME_MATCH] = {COLOR_MAGENTA, COLOR_MAGENTA, A_REVERSE | A_BOLD,
			       A_REVERSE | A_UNDERLINE},
	[STYLE_FLAME_CURSOR] = {COLOR_RED, COLOR_RED, A_REVERSE | A_BOLD, A_BOLD | A_UNDERLINE},
	[STYLE_WARNING] = {COLOR_RED, COLOR_RED, A_BOLD | A_REVERSE, A_BOLD | A_REVERSE},
};

static void set_styles(struct screen *screen, enum view_theme theme)
{
	const char *environment = getenv("NO_COLOR"); /* https://no-color.org */
	bool colour = theme != VIEW_THEME_MONO && !(environment && *environment) && has_colors() &&
		      start_color() == OK && use_default_colors() == OK;

	screen->has_colour = colour;
	for (int i = 0; i < STYLE_COUNT; i++) {
		const struct look *look = &looks[i];
		short foreground = theme == VIEW_THEME_LIGHT ? look->light : look->dark;

		screen->styles[i] = colour ? look->colour : look->mono;
		screen->pairs[i] = 0;
		if (colour && foreground >= 0 && init_pair((short)(i + 1), foreground, -1) == OK)
			screen->pairs[i] = (short)(i + 1);
	}
}

static int open_input(struct screen *screen, struct err *err)
{
	screen->input = NULL;
	screen->input_fd = STDIN_FILENO;
	if (isatty(STDIN_FILENO))
		return 0;
	screen->input = fopen("/dev/tty", "re");
	if (!screen->input) {
		err_set(err, -errno, "no terminal to read keys from: %s", strerror(errno));
		err_hint(err, "use --batch");
		return err ? err->code : -ENOTTY;
	}
	screen->input_fd = fileno(screen->input);
	return 0;
}

static void close_input(struct screen *screen)
{
	if (screen->input)
		fclose(screen->input);
	screen->input = NULL;
}

/*
 * curses writes to standard output whatever it is. While it draws, that is a file in memory: what came into it is
 * counted and goes to the terminal, which is another descriptor then.
 */
static int open_frame(struct screen *screen, struct err *err)
{
	screen->output_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	screen->frame_fd = memfd_create("frame", MFD_CLOEXEC);
	if (screen->output_fd >= 0 && screen->frame_fd >= 0)
		return 0;
	return err_set(err, -errno, "cannot count what is sent: %s", strerror(errno));
}

static void close_frame(struct screen *screen)
{
	if (screen->output_fd > STDERR_FILENO)
		close(screen->output_fd);
	if (screen->frame_fd >= 0)
		close(screen->frame_fd);
	screen->frame_fd = -1;
}

static uint64_t send_frame(struct screen *screen)
{
	char chunk[FRAME_CHUNK_BYTES];
	off_t len = 0;
	ssize_t n;

	while ((n = pread(screen->frame_fd, chunk, sizeof(chunk), len)) > 0) {
		if (write_all(screen->output_fd, chunk, (size_t)n) < 0)
			break; /* the terminal is gone: the loop will see that */
		len += n;
	}
	if (ftruncate(screen->frame_fd, 0) == 0)
		lseek(screen->frame_fd, 0, SEEK_SET);
	return (uint64_t)len;
}

uint64_t screen_refresh(struct screen *screen)
{
	bool counts = screen->frame_fd >= 0 && dup2(screen->frame_fd, STDOUT_FILENO) >= 0;

	wrefresh(stdscr);
	if (!counts)
		return 0;
	while (dup2(screen->output_fd, STDOUT_FILENO) < 0 && errno == EINTR)
		;
	return send_frame(screen);
}

static void note_size(struct screen *screen)
{
	screen->lines = getmaxy(stdscr);
	screen->columns = getmaxx(stdscr);
}

static void set_modes(void)
{
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
}

/*
 * What terminals send for keys that the cursor and the views need, where TERM describes another one:
 * Home and End of PuTTY as an xterm, of an xterm within tmux.
 */
static void define_keys(void)
{
	static const struct {
		const char *sequence;
		int key;
	} keys[] = {
		{"\033[1~", KEY_HOME}, {"\033[7~", KEY_HOME},  {"\033[H", KEY_HOME},
		{"\033OH", KEY_HOME},  {"\033[4~", KEY_END},   {"\033[8~", KEY_END},
		{"\033[F", KEY_END},   {"\033OF", KEY_END},    {"\033[A", KEY_UP},
		{"\033[B", KEY_DOWN},  {"\033[C", KEY_RIGHT},  {"\033[D", KEY_LEFT},
		{"\033OA", KEY_UP},    {"\033OB", KEY_DOWN},   {"\033OC", KEY_RIGHT},
		{"\033OD", KEY_LEFT},  {"\033[5~", KEY_PPAGE}, {"\033[6~", KEY_NPAGE},
		{"\033OP", KEY_F(1)},  {"\033[11~", KEY_F(1)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (key_defined(keys[i].sequence) == 0)
			define_key(keys[i].sequence, keys[i].key);
	}
}

int screen_open(struct screen *screen, enum view_theme theme, bool counts, struct err *err)
{
	const char *term = getenv("TERM");
	int ret;

	*screen = (struct screen){.output_fd = STDOUT_FILENO, .frame_fd = -1, .guard.sock = -1};
	screen->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	ret = open_input(screen, err);
	if (ret < 0)
		return ret;
	if (counts)
		ret = open_frame(screen, err);
	if (ret < 0)
		goto fail;
	ret = restore_prepare(&screen->restore, screen->output_fd, term ? term : "", err);
	if (ret < 0)
		goto fail;
	guard_start(&screen->guard, &screen->restore); /* without one, only kill -9 is worse */
	signals_on_crash(&screen->restore, &screen->guard);
	screen->term = newterm(NULL, stdout, screen->input ? screen->input : stdin);
	if (!screen->term) {
		ret = err_set(err, -EINVAL, "this terminal cannot show a screen");
		err_hint(err, "use --batch");
		signals_on_crash(NULL, NULL);
		goto fail;
	}
	set_escdelay(ESCAPE_DELAY_MS);
	set_modes();
	define_keys();
	guard_arm(&screen->guard, screen->output_fd);
	set_styles(screen, theme);
	note_size(screen);
	return 0;
fail:
	guard_stop(&screen->guard);
	close_frame(screen);
	close_input(screen);
	return ret;
}

static void leave_curses(struct screen *screen)
{
	curs_set(1);
	endwin();
	signals_on_crash(NULL, NULL);
	guard_disarm(&screen->guard);
}

void screen_close(struct screen *screen)
{
	if (!screen->term)
		return;
	/* In the background the modes are somebody else's, and touching them would stop us. */
	if (!screen->is_suspended && screen_is_ours(screen)) {
		leave_curses(screen);
		/* Whatever curses believes, the modes are what they were. */
		tcsetattr(screen->output_fd, TCSADRAIN, &screen->restore.shell);
	}
	signals_on_crash(NULL, NULL);
	guard_stop(&screen->guard);
	delscreen(screen->term);
	screen->term = NULL;
	close_frame(screen);
	close_input(screen);
}

bool screen_is_ours(const struct screen *screen)
{
	pid_t foreground = tcgetpgrp(screen->output_fd);

	return foreground < 0 || foreground == getpgrp();
}

void screen_resize(struct screen *screen)
{
	struct winsize size;

	if (ioctl(screen->output_fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return;
	resizeterm(MIN((int)size.ws_row, LINES_MAX), MIN((int)size.ws_col, COLUMNS_MAX));
	note_size(screen);
}

void screen_suspend(struct screen *screen)
{
	leave_curses(screen);
	screen->is_suspended = true;
}

void screen_resume(struct screen *screen)
{
	/* The shell may have changed what was the terminal's own state. */
	reset_prog_mode();
	/* curses would do so only when it reads a key: too late for that key. */
	keypad(stdscr, TRUE);
	screen->is_suspended = false;
	signals_on_crash(&screen->restore, &screen->guard);
	guard_arm(&screen->guard, screen->output_fd);
	screen_resize(screen);
	clearok(curscr, TRUE);
	curs_set(0);
}

bool screen_set_mouse(struct screen *screen, bool is_on)
{
	mmask_t wanted = is_on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0;

	(void)screen;
	mouseinterval(0); /* a click is told at once */
	return mousemask(wanted, NULL) == wanted && (!is_on || has_mouse());
}

struct mouse screen_mouse(struct screen *screen)
{
	struct mouse ret = {.kind = MOUSE_NOTHING};
	MEVENT event;

	(void)screen;
	if (getmouse(&event) != OK)
		return ret;
	ret.line = event.y;
	ret.column = event.x;
	if (event.bstate & BUTTON1_PRESSED)
		ret.kind = MOUSE_CLICK;
	else if (event.bstate & BUTTON4_PRESSED)
		ret.kind = MOUSE_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		ret.kind = MOUSE_WHEEL_DOWN;
	return ret;
}

static void push_back(int ret, wint_t key)
{
	if (ret == KEY_CODE_YES)
		ungetch((int)key);
	else if (ret == OK)
		unget_wch((wchar_t)key);
}

/*
 * After an escape: a sequence of a key that nobody knows (ECMA-48: parameters up to a final byte; "ESC O" and a letter,
 * "ESC [ [" and a letter) is dropped, or its characters would be keys. False: there is none, it was the key Esc.
 */
static bool drop_sequence(void)
{
	wint_t first = 0, key = 0;
	int ret = wget_wch(stdscr, &first), nr = 0;

	if (ret != OK || (first != '[' && first != 'O')) {
		push_back(ret, first);
		return false;
	}
	wtimeout(stdscr, SEQUENCE_DELAY_MS);
	ret = wget_wch(stdscr, &key);
	if (ret == OK && key == '[')
		wget_wch(stdscr, &key);
	else
		while (ret == OK && key >= ' ' && key < '@' && ++nr < SEQUENCE_MAX)
			ret = wget_wch(stdscr, &key);
	nodelay(stdscr, TRUE);
	return true;
}

bool screen_key(struct screen *screen, int *ret_key, bool *ret_is_code)
{
	wint_t key = 0;
	int ret;

	(void)screen;
	/* nodelay and keypad: ERR when nothing waits. The screen itself is refreshed by us. */
	ret = wget_wch(stdscr, &key);
	if (ret == ERR)
		return false;
	if (ret == OK && key == KEY_ESCAPE && drop_sequence())
		key = 0;
	*ret_is_code = ret == KEY_CODE_YES;
	*ret_key = (int)key;
	return true;
}
