#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Functions of the program that it does not use, or that only tests use. Each source is compiled once more without
# optimization (an inlined function would seem unused) and with a section for each function; the linker prints the
# sections that it leaves out. Takes seconds. "make check-unused" sets CC, CPPFLAGS, LIBS and top_srcdir, in the
# folder of config.h.
set -u
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# Words of CC, CPPFLAGS and LIBS are meant to split.
export tmp CC CPPFLAGS top_srcdir
# shellcheck disable=SC2016
(cd "$top_srcdir" && find src ui unwind -name '*.c') | xargs -P "$(nproc)" -I FILE sh -c '
	mkdir -p "$tmp/$(dirname FILE)" && $CC -w -std=gnu17 -O0 -ffunction-sections -fdata-sections -DHAVE_CONFIG_H \
		-DNCURSES_NOMACROS -I. $CPPFLAGS -c "$top_srcdir/FILE" -o "$tmp/FILE.o" || exit 255' || exit 1
find "$tmp" -name '*.o' >"$tmp/objects"
# shellcheck disable=SC2086
LC_ALL=C $CC @"$tmp/objects" -Wl,--gc-sections,--print-gc-sections -o "$tmp/stacktop" $LIBS >"$tmp/said" 2>&1 || {
	cat "$tmp/said"
	exit 1
}
grep -q "removing unused section" "$tmp/said" || { echo "this linker does not print what it leaves out"; exit 77; }
sed -n "s|.*unused section '\.text\.\([^']*\)' in file '$tmp/\(.*\)\.o'.*|\2 \1|p" "$tmp/said" | sort >"$tmp/found"
[ -s "$tmp/found" ] || exit 0
sed 's/^/unused: /' "$tmp/found"
exit 1
