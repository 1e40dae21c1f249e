#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# speedscope's own importer opens folded, pprof and script text, warns of nothing, and finds all of the weight.
. "${top_srcdir:?}/tests/lib.sh" || exit 1
need node python3
"$top_builddir/tests/have_perf" own >/dev/null || skip "sampling is not allowed here"
folder=${STACKTOP_TEST_SPEEDSCOPE:-}
[ -n "$folder" ] || ! command -v npm >/dev/null || folder=$(npm root -g)/speedscope
[ -d "$folder/dist/release" ] ||
	skip "no speedscope: npm install -g speedscope, or STACKTOP_TEST_SPEEDSCOPE says where its folder is"

# opened FILE WEIGHT: the weight that it must have; "": any
opened()
{
	local file=$1 wanted=$2 got
	node "$top_srcdir/tests/read_speedscope.js" "$folder" "$file" >"$tmp/read" 2>&1
	case $? in
	0) ;;
	77) skip "this speedscope is built in another way" ;;
	*)
		fail "${file##*/}: $(cat "$tmp/read")"
		return
		;;
	esac
	grep '^warning' "$tmp/read" && fail "${file##*/}: it warns"
	got=$(sed -n 's/^weight //p' "$tmp/read")
	check "${file##*/} is opened" within "$got" "${wanted:-0.001}" "${wanted:-1e300}"
}

load=(timeout 2 sh -c 'while :; do :; done')
"$STACKTOP" -b -d 30 --format=folded -F 499 -- "${load[@]}" >"$tmp/x.folded"
"$STACKTOP" -d 30 --format=pprof -F 499 -- "${load[@]}" >"$tmp/x.pb.gz"
"$STACKTOP" -n 100 --format=script -F 499 -- "${load[@]}" >"$tmp/x.perf"
opened "$tmp/x.folded" "$(awk '{ sum += $NF } END { printf "%d", sum }' "$tmp/x.folded")"
opened "$tmp/x.pb.gz" "$("$top_srcdir/tests/read_pprof.py" "$tmp/x.pb.gz" | awk '/^TOTAL/ { print $3 }')"
opened "$tmp/x.perf" ""
# What it cannot read is told: the reader works.
echo nonsense >"$tmp/wrong.folded"
node "$top_srcdir/tests/read_speedscope.js" "$folder" "$tmp/wrong.folded" >"$tmp/read" 2>&1 && fail "nonsense is opened"
finish
