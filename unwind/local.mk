noinst_LIBRARIES += libunwind-st.a
libunwind_st_a_SOURCES = \
	unwind/cfi.h \
	unwind/table.h \
	unwind/unwind.h
