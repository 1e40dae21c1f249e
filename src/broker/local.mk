noinst_LIBRARIES += libbroker.a
libbroker_a_SOURCES = \
	src/broker/broker.h \
	src/broker/identity.h
