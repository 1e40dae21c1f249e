noinst_LIBRARIES += libui.a
libui_a_SOURCES = \
	ui/act.c \
	ui/annotate.c \
	ui/butterfly.c \
	ui/compare.c ui/draw.c ui/draw.h \
	ui/events.c \
	ui/flame.c \
	ui/guard.c ui/guard.h \
	ui/help.c \
	ui/keys.c ui/keys.h \
	ui/layout.c \
	ui/list.c ui/list.h \
	ui/menu.c ui/menu.h \
	ui/mouse.c \
	ui/narrow.c \
	ui/past.c \
	ui/progress.c \
	ui/prompt.c ui/prompt.h \
	ui/row.c \
	ui/screen.c ui/screen.h \
	ui/signals.c ui/signals.h \
	ui/state.c ui/state.h \
	ui/terminfo.c \
	ui/tree.c \
	ui/ui.c ui/ui.h \
	ui/views.c \
	ui/visible.c \
	ui/write.c
libui_a_CPPFLAGS = $(AM_CPPFLAGS) $(NCURSES_CFLAGS) -DNCURSES_NOMACROS

# The screen on top of a made-up engine, for tests in a terminal multiplexer.
TEST_HELPERS += tests/ui_fake
tests_ui_fake_SOURCES = tests/ui_fake.c
tests_ui_fake_LDADD = $(LINK_UI)

SCRIPT_TESTS += tests/test_ui_keys.sh tests/test_ui_recording.sh tests/test_ui_slow.py tests/test_ui_terminal.sh
EXTRA_DIST += tests/ui_lib.sh

UNIT_TESTS += tests/test_ui_list
tests_test_ui_list_SOURCES = tests/test_ui_list.c
tests_test_ui_list_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(NCURSES_CFLAGS) -DNCURSES_NOMACROS
tests_test_ui_list_LDADD = $(LINK_UI) $(CMOCKA_LIBS)
