noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	src/model/command.c src/model/command.h \
	src/model/health.c src/model/health.h \
	src/model/snapshot.c src/model/snapshot.h
