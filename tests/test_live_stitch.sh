#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A recursion far deeper than the copy of the stack: its stacks are completed
# from those before them, each call in its place, and are called stitched.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

gcc -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/deep" \
	"$top_srcdir/tests/targets/deep.c" || skip "gcc cannot build here"

# The stacks of the bottom, "WEIGHT LEVELS" each: how many levels stand between main and bottom.
bottoms()
{
	awk '/;bottom;spin/ && /main;level/ {
		weight = $NF
		print weight, gsub(/;level/, "")
	}' "$tmp/folded"
}

# A machine that is busy elsewhere may leave the program unseen for many levels: then another time.
for try in 1 2 3; do
	"$STACKTOP" -b --format=json -n 1 -d 20 --call-graph dwarf,16384 -- "$tmp/deep" >"$tmp/json" ||
		fail "json: exit status $?"
	stitched=$(jq '.health | .stitched > 0.5 * .user_stacks' "$tmp/json")
	[ "$stitched" = true ] && break
done
check "most stacks are stitched (try $try)" [ "$stitched" = true ]
holds() { jq -e "$1" "$tmp/json" >/dev/null; }
check "each user stack has one end" \
	holds '.health | .user_stacks == .complete + .live_read + .stitched + ([.incomplete[]] | add // 0)'
check "what is stitched is not complete" holds '.health | .complete < 0.5 * .user_stacks'

for try in 1 2 3; do
	"$STACKTOP" -b --format=folded -n 1 -d 20 --call-graph dwarf,16384 -- "$tmp/deep" >"$tmp/folded" ||
		fail "folded: exit status $?"
	bottoms >"$tmp/bottoms"
	[ -s "$tmp/bottoms" ] && break
done
check "stacks go from main to the bottom" [ -s "$tmp/bottoms" ]
check "through each of the 400 levels" awk '$2 != 400 { bad = 1 } END { exit bad }' "$tmp/bottoms"
[ "$failed" = 0 ] || { cut -c1-300 "$tmp/folded" | head -5; jq -c .health "$tmp/json"; }
finish
