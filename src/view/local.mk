noinst_LIBRARIES += libview.a
libview_a_SOURCES = \
	src/view/view.h
