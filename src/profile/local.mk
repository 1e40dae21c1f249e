noinst_LIBRARIES += libprofile.a
libprofile_a_SOURCES = \
	src/profile/profile.h
