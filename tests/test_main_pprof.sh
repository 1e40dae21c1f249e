#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --format=pprof: what strict readers refuse is not in it, it says the same as the json document,
# and so does go tool pprof, if there is one.
. "${top_srcdir:?}/tests/lib.sh" || exit 1
need python3 jq

data=${STACKTOP_TEST_DATA:-$top_srcdir/../shared/data}
read_pprof=$top_srcdir/tests/read_pprof.py

# self_of JSON: as read_pprof.py prints it.
self_of()
{
	jq -r '"TOTAL \(.samples) \(.total)", ([.functions[] | select(.self > 0)] | group_by(.name)[] |
		"\(map(.self) | add) \(.[0].name)")' "$1"
}

# compare NAME ARGUMENT...: a recording, which is the same profile each time
compare()
{
	local name=$1
	shift
	"$STACKTOP" -b "$@" --format=json >"$tmp/json" || fail "$name: json"
	rm -f "$tmp/x.pb.gz"
	"$STACKTOP" -b "$@" --format=pprof -o "$tmp/x.pb.gz" || fail "$name: pprof"
	"$read_pprof" "$tmp/x.pb.gz" | sort >"$tmp/ours" || fail "$name: cannot be read"
	self_of "$tmp/json" | sort | diff - "$tmp/ours" >"$tmp/diff" ||
		fail "$name: json (<) and pprof differ: $(head -n 6 "$tmp/diff")"
	command -v go >/dev/null || return
	GOTOOLCHAIN=local HOME=$tmp PPROF_TMPDIR=$tmp go tool pprof -top -unit=minimum -nodecount=100000 \
		-nodefraction=0 -symbolize=none "$tmp/x.pb.gz" >"$tmp/top" 2>"$tmp/go" || fail "$name: go: $(cat "$tmp/go")"
	awk '/flat%/ { rows = 1; next } rows && $1 + 0 > 0 { v = $1; sub(/ns$/, "", v)
		$1 = $2 = $3 = $4 = $5 = ""; sub(/^ +/, ""); print v, $0 }' "$tmp/top" | sort >"$tmp/theirs"
	grep -v '^TOTAL' "$tmp/ours" | awk '$1 > 0' | sort >"$tmp/wanted"
	# go cuts the arguments of templates out of names.
	cut -d' ' -f1 "$tmp/wanted" | sort -n >"$tmp/wanted.n"
	cut -d' ' -f1 "$tmp/theirs" | sort -n | diff "$tmp/wanted.n" - >"$tmp/diff" ||
		fail "$name: ours (<) and go tool pprof differ: $(head -n 6 "$tmp/diff")"
	[ "$(grep -cxF -f "$tmp/wanted" "$tmp/theirs")" -gt 3 ] || fail "$name: go has other names: $(head -n 3 "$tmp/theirs")"
}

gcc=$data/stacks/vector_static_gcc/perf.data
if [ -f "$gcc" ]; then
	compare "a recording" -i "$gcc" --symfs "$data/symfs"
	"$read_pprof" --facts "$tmp/x.pb.gz" >"$tmp/facts"
	check "cycles are counted" grep -qx 'types samples/count cycles/count default cycles' "$tmp/facts"
	check "the program comes first" grep -q -m 1 '^mapping /.*/vector_static_gcc_v9.1.0 [0-9a-f]\{40\}$' "$tmp/facts"
	check "then the kernel" grep -q '^mapping \[kernel.kallsyms\] ' "$tmp/facts"
	check "who it was" grep -qx 'labels comm=vector_static_gcc_v9.1.0 pid=349054 thread=vector_static_g tid=349054' "$tmp/facts"
	check "the comment tells of losses" grep -q '^comment stacktop .*complete 97.*lost 0, dropped 0' "$tmp/facts"
else
	echo "no recordings at $data: set STACKTOP_TEST_DATA"
fi

"$STACKTOP" --format=pprof -n 2 >"$tmp/out" 2>"$tmp/said"
check "two profiles are refused" test $? -eq 2
if command -v script >/dev/null; then
	script -qec "$STACKTOP --format=pprof" /dev/null >"$tmp/out" 2>&1 </dev/null
	check "a terminal is refused" grep -q 'not for a terminal' "$tmp/out"
fi

if "$top_builddir/tests/have_perf" own >/dev/null; then
	"$STACKTOP" -d 30 --format=pprof -e cpu-clock:u -F 499 -- timeout 1 sh -c 'while :; do :; done' >"$tmp/live"
	check "the command's status" test $? -eq 124
	"$read_pprof" "$tmp/live" >"$tmp/self" || fail "live: cannot be read"
	"$read_pprof" --facts "$tmp/live" >"$tmp/facts"
	check "time is counted" grep -qx 'types samples/count cpu/nanoseconds default cpu' "$tmp/facts"
	check "the period is that of 499 Hz" grep -qx 'period cpu/nanoseconds 2004008' "$tmp/facts"
	# Its user may not be known yet.
	check "the shell is there" grep -qE "^labels comm=sh pid=([0-9]+) thread=sh tid=\\1( user=$(id -un))?\$" "$tmp/facts"
	# shellcheck disable=SC2016
	check "its weight is its samples' time" awk '/^TOTAL/ { exit !($2 > 0 && $3 / $2 > 1.9e6 && $3 / $2 < 2.1e6) }' "$tmp/self"
fi
finish
