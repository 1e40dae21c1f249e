noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	src/model/command.c src/model/command.h \
	src/model/health.h \
	src/model/snapshot.c src/model/snapshot.h \
	src/model/stacks.h

UNIT_TESTS += tests/test_model_channel
tests_test_model_channel_SOURCES = tests/test_model_channel.c
tests_test_model_channel_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_test_model_channel_LDADD = $(LINK_MODEL) $(CMOCKA_LIBS)
