#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Recordings with whole stacks, and the same with copies cut short: what is stitched there is what
# the whole ones show, or not one in a thousand is not.

. "${top_srcdir:-.}/tests/lib.sh"
need perf python3 g++ timeout
need_sampling

cut_recording() { python3 "$top_srcdir/tests/cut_recording.py" "$@"; }
cat >"$tmp/code.cc" <<-EOF
	#include <functional>
	#include <iostream>
	#include <map>
	#include <regex>
	int main() { std::map<int, std::regex> m; std::function<int()> f; std::cout << m.size(); }
EOF
cat >"$tmp/deep.py" <<EOF
def f(n):
    return sum(map(f, [n - 1])) if n else sum(i * i for i in range(2000))
while True:
    f(60)
EOF
for program in deep cut; do
	gcc -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/$program" \
		"$top_srcdir/tests/targets/$program.c" || skip 'gcc cannot build here'
done

# compare NAME COMMAND...: sums into $right, $wrong
compare()
{
	local name=$1 bytes r w
	shift
	perf record -q --call-graph dwarf,65528 -e cpu-clock -F 997 -o "$tmp/data" -- timeout 2 "$@" \
		>/dev/null 2>"$tmp/err"
	[ -s "$tmp/data" ] || skip "perf record: $(tail -n 1 "$tmp/err")"
	"$STACKTOP" -i "$tmp/data" --format=samples >"$tmp/truth" 2>/dev/null
	for bytes in 16384 8192 4096 2048 1024; do
		cut_recording cut "$tmp/data" "$tmp/short" $bytes
		"$STACKTOP" -i "$tmp/short" --format=samples >"$tmp/stitched" 2>/dev/null
		read -r r w < <(cut_recording compare "$tmp/truth" "$tmp/stitched")
		echo "$name, $bytes bytes: $r right, $w wrong"
		right=$((right + r)) wrong=$((wrong + w))
	done
}

right=0 wrong=0
compare gcc g++ -O2 -c -o /dev/null "$tmp/code.cc"
compare python python3 "$tmp/deep.py"
compare deep "$tmp/deep"
# The inner parts of its stacks do not tell who called: they must not be believed.
compare change "$tmp/cut" change 1000
check "$right are right" [ "$right" -gt 500 ]
check "$wrong are wrong" [ $((wrong * 1000)) -le "$right" ]
finish
