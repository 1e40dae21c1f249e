noinst_LIBRARIES += libout.a
libout_a_SOURCES = \
	src/out/out.h
