noinst_LIBRARIES += libloader.a
libloader_a_SOURCES = \
	src/loader/client.h \
	src/loader/loader.h
libloader_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(LZMA_CFLAGS) \
	$(SECCOMP_CFLAGS)
