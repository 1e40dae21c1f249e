noinst_LIBRARIES += libperf.a
libperf_a_SOURCES = \
	src/perf/event.h \
	src/perf/live.h \
	src/perf/record.h \
	src/perf/source.h
