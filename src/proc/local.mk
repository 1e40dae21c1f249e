noinst_LIBRARIES += libproc.a
libproc_a_SOURCES = \
	src/proc/proc.h
