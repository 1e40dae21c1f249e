# ST_ADD_FLAGS(VARIABLE, FLAGS)
# Add each of FLAGS to VARIABLE if the compiler takes it.
AC_DEFUN([ST_ADD_FLAGS], [
	AC_LANG_PUSH([C])
	for st_flag in $2; do
		AC_MSG_CHECKING([whether $CC accepts $st_flag])
		st_saved="$CFLAGS"
		CFLAGS="$CFLAGS -Werror $st_flag"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
			[AC_MSG_RESULT([yes]); $1="[$]$1 $st_flag"],
			[AC_MSG_RESULT([no])])
		CFLAGS="$st_saved"
	done
	AC_LANG_POP([C])
])

# ST_PTHREAD
# Find what threads need at link time (nothing since glibc 2.34).
AC_DEFUN([ST_PTHREAD], [
	AC_SEARCH_LIBS([pthread_create], [pthread], [],
		[AC_MSG_ERROR([no POSIX threads])])
])
