noinst_LIBRARIES += libout.a
libout_a_SOURCES = \
	src/out/document.c \
	src/out/folded.c \
	src/out/json.c src/out/json.h \
	src/out/out.h \
	src/out/pprof.c \
	src/out/proto.c src/out/proto.h \
	src/out/report.c \
	src/out/samples.c \
	src/out/save.c
libout_a_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)

UNIT_TESTS += tests/test_out_folded tests/test_out_json tests/test_out_report \
	tests/test_out_samples tests/test_out_save
tests_test_out_json_SOURCES = tests/test_out_json.c
tests_test_out_json_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_out_json_LDADD = $(LINK_OUT) $(CMOCKA_LIBS)
tests_test_out_save_SOURCES = tests/test_out_save.c
tests_test_out_save_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_out_save_LDADD = $(LINK_OUT) $(CMOCKA_LIBS)
tests_test_out_report_SOURCES = tests/test_out_report.c
tests_test_out_report_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_out_report_LDADD = $(LINK_OUT) $(CMOCKA_LIBS)
tests_test_out_folded_SOURCES = tests/test_out_folded.c
tests_test_out_folded_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_out_folded_LDADD = $(LINK_OUT) $(CMOCKA_LIBS)
tests_test_out_samples_SOURCES = tests/test_out_samples.c
tests_test_out_samples_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_out_samples_LDADD = $(LINK_OUT) $(CMOCKA_LIBS)
