noinst_LIBRARIES += libproc.a
libproc_a_SOURCES = \
	src/proc/follow.c \
	src/proc/ksyms.c src/proc/ksyms.h \
	src/proc/mapping.c src/proc/mapping.h \
	src/proc/modules.c src/proc/modules.h \
	src/proc/proc.h \
	src/proc/processes.c src/proc/processes.h \
	src/proc/procs.c src/proc/procs.h \
	src/proc/space.c src/proc/space.h \
	src/proc/wants.c
