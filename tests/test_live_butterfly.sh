#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The butterfly of a function that two others call, and that calls itself and two more: as text, as json, and what
# cannot be shown.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq gcc
need_sampling
cat >"$tmp/wings.c" <<-'EOC'
	static volatile unsigned int sink;
	#define CALLED __attribute__((noinline, noclone))
	CALLED void spin(void) { for (int i = 0; i < 30000; i++) sink++; }
	CALLED void leaf_first(void) { spin(); sink++; }
	CALLED void leaf_second(void) { spin(); spin(); sink++; }
	CALLED void middle(int again) { if (again) middle(again - 1); leaf_first(); leaf_second(); sink++; }
	CALLED void from_first(void) { middle(0); sink++; }
	CALLED void from_second(void) { middle(3); sink++; }
	int main(void) { for (;;) { from_first(); from_second(); } }
EOC
gcc -O1 -fno-optimize-sibling-calls -o "$tmp/wings" "$tmp/wings.c" || skip 'gcc cannot build here'
start "$tmp/wings"

wings_are_there()
{
	"$STACKTOP" --butterfly=middle --format=json -n 1 -d 2 -p "$last_pid" >"$tmp/json" 2>"$tmp/err" ||
		why=$(cat "$tmp/err")
	jq -e '.butterfly | .name == "middle" and
		([.callers[] | select(.level == 0) | .name] | sort) == ["from_first", "from_second"] and
		([.callers[] | select(.level == 0) | .total] | add) == .total and
		([.callees[] | select(.level == 0 and .name != "[other]") | .name] | sort) ==
			["leaf_first", "leaf_second"] and
		([.callees[] | select(.level == 0) | .total] | add) + .self == .total' "$tmp/json" >/dev/null ||
		why="$why $(jq -c .butterfly "$tmp/json")"
}
look 'both wings' wings_are_there && pass 'callers and callees, each stack once'

text_is_there()
{
	"$STACKTOP" -b --view=butterfly -n 1 -d 1 -p "$last_pid" >"$tmp/text" 2>"$tmp/err" || why=$(cat "$tmp/err")
	awk '/\[callers\]/ { above = 1 } /leaf_second/ { caller = above } / - *spin|  spin/ { own = caller }
		END { exit !own }' "$tmp/text" || why="$why $(cat "$tmp/text")"
}
look 'the hottest, as text' text_is_there && pass 'without a name it is the hottest'

"$STACKTOP" --butterfly=no_such_function -n 1 -d 1 -p "$last_pid" >"$tmp/out" 2>"$tmp/err" &&
	fail 'a function that is not there'
grep -q -- "--butterfly: no function that was sampled has 'no_such_function'" "$tmp/err" ||
	fail "a function that is not there: $(cat "$tmp/err")"
"$STACKTOP" --butterfly=middle --format=folded >"$tmp/out" 2>"$tmp/err" && fail 'folded has no place for it'
"$STACKTOP" --butterfly=middle --annotate=middle >"$tmp/out" 2>"$tmp/err" && fail 'two views at once'
pass 'refusals'
finish
