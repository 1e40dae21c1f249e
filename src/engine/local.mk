noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
	src/engine/engine.h
