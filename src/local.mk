bin_PROGRAMS += stacktop
stacktop_SOURCES = src/main.c
stacktop_LDADD = libui.a libout.a libview.a libengine.a libprofile.a libproc.a libbroker.a \
	libloader.a libunwind-st.a libperf.a libmodel.a libbase.a \
	$(NCURSES_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS) $(LZMA_LIBS) $(SECCOMP_LIBS) $(DEMANGLE_LIBS)
