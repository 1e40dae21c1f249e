noinst_LIBRARIES += libui.a
libui_a_SOURCES = \
	ui/ui.h
libui_a_CPPFLAGS = $(AM_CPPFLAGS) $(NCURSES_CFLAGS) -DNCURSES_NOMACROS
