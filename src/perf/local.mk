noinst_LIBRARIES += libperf.a
libperf_a_SOURCES = \
	src/perf/attr.c src/perf/attr.h \
	src/perf/cpus.c src/perf/cpus.h \
	src/perf/drain.c src/perf/drain.h \
	src/perf/event.c src/perf/event.h \
	src/perf/event_config.c src/perf/event_config.h \
	src/perf/event_list.c src/perf/event_list.h \
	src/perf/live.c src/perf/live.h \
	src/perf/record.c src/perf/record.h \
	src/perf/recording.c src/perf/recording.h \
	src/perf/recording_attr.c src/perf/recording_attr.h \
	src/perf/recording_features.c \
	src/perf/recording_feed.c src/perf/recording_feed.h \
	src/perf/recording_file.c src/perf/recording_file.h \
	src/perf/recording_head.c src/perf/recording_head.h \
	src/perf/recording_inflate.c src/perf/recording_inflate.h \
	src/perf/recording_internal.h \
	src/perf/recording_streams.c \
	src/perf/recording_take.c \
	src/perf/reorder.c src/perf/reorder.h \
	src/perf/ring.c src/perf/ring.h \
	src/perf/source.h
libperf_a_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)

UNIT_TESTS += tests/test_perf_event
tests_test_perf_event_SOURCES = tests/test_perf_event.c
tests_test_perf_event_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_event_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_live
tests_test_perf_live_SOURCES = tests/test_perf_live.c tests/direct_opener.h
tests_test_perf_live_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_live_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_event_config
tests_test_perf_event_config_SOURCES = tests/test_perf_event_config.c
tests_test_perf_event_config_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_event_config_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_record
tests_test_perf_record_SOURCES = tests/test_perf_record.c tests/perf_bytes.h
tests_test_perf_record_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_record_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_recording
tests_test_perf_recording_SOURCES = tests/test_perf_recording.c tests/recording_bytes.h
tests_test_perf_recording_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_recording_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_recording_damage
tests_test_perf_recording_damage_SOURCES = tests/test_perf_recording_damage.c tests/recording_bytes.h
tests_test_perf_recording_damage_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_recording_damage_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_recording_files
tests_test_perf_recording_files_SOURCES = tests/test_perf_recording_files.c tests/recording_bytes.h
tests_test_perf_recording_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_recording_files_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_recording_order
tests_test_perf_recording_order_SOURCES = tests/test_perf_recording_order.c tests/recording_bytes.h
tests_test_perf_recording_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_recording_order_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_recording_zstd
tests_test_perf_recording_zstd_SOURCES = tests/test_perf_recording_zstd.c tests/recording_bytes.h
tests_test_perf_recording_zstd_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ZSTD_CFLAGS)
tests_test_perf_recording_zstd_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_recordings
tests_test_perf_recordings_SOURCES = tests/test_perf_recordings.c
tests_test_perf_recordings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_recordings_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_ring
tests_test_perf_ring_SOURCES = tests/test_perf_ring.c tests/perf_bytes.h
tests_test_perf_ring_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_ring_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

UNIT_TESTS += tests/test_perf_reorder
tests_test_perf_reorder_SOURCES = tests/test_perf_reorder.c
tests_test_perf_reorder_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_perf_reorder_LDADD = $(LINK_PERF) $(CMOCKA_LIBS)

ROOT_TESTS += tests/root_perf_hotplug.sh
