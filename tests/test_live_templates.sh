#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Names of C++ with some hundred characters: at 80 columns the row says which function it is, x shows them in
# full and mangled, and then as one row that says how many functions it is.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need g++ tmux
need_sampling

cat >"$tmp/sorts.cc" <<'EOS'
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
using deep = std::vector<std::map<std::string, std::vector<std::map<int, std::string>>>>;
template <typename T, typename Context> struct item { T value; };
template <typename T, typename Context> struct before {
	bool operator()(const item<T, Context> &a, const item<T, Context> &b) const { return a.value < b.value; }
};
template <typename T> static void once(unsigned seed)
{
	std::vector<item<T, deep>> all(20000);
	for (auto &i : all)
		i.value = (T)(seed = seed * 1664525 + 1013904223);
	std::sort(all.begin(), all.end(), before<T, deep>());
}
int main()
{
	for (unsigned seed = 1;; seed++) {
		once<int>(seed);
		once<unsigned long>(seed);
		once<float>(seed);
	}
}
EOS
g++ -O1 -fno-inline -g -o "$tmp/sorts" "$tmp/sorts.cc" || skip 'g++ cannot build here'
start "$tmp/sorts"
sorts=$last_pid

# name FORM: the rows of the loop of std::sort in that form
rows()
{
	"$STACKTOP" -b -n 1 -d 2 -p "$sorts" --names="$1" >"$tmp/out" 2>"$tmp/err" || why=$(cat "$tmp/err")
	grep "__introsort_loop" "$tmp/out" >"$tmp/rows"
}

three_are_apart()
{
	rows full
	[ "$(wc -l <"$tmp/rows")" = 3 ] || why="$(wc -l <"$tmp/rows") rows in full"
	awk 'length($0) < 300 { exit 1 }' "$tmp/rows" || why="a name of less than 300 characters"
	rows short
	[ "$(grep -c 'std::__introsort_loop<…> ' "$tmp/rows")" = 3 ] || why="short: $(head -4 "$tmp/rows")"
}

three_are_one()
{
	rows merged
	[ "$(wc -l <"$tmp/rows")" = 1 ] && grep -q 'std::__introsort_loop<…> (3 merged) ' "$tmp/rows" ||
		why="merged: $(head -4 "$tmp/rows")"
}

look "three functions of one short name" three_are_apart && pass "three functions of one short name"
look "merged" three_are_one && pass "merged to one row"

term_start 80x24 "$STACKTOP" -p "$sorts"
key 3
see 'std::__introsort_loop<…>'
key x x
see ' _ZSt16__intro'
key x
see 'std::__introsort_loop<…> \(3 merged\)'
key 1
see 'std::.*<…> \(3 merged\)'
# The cursor may follow something that is one function, which the machine did when it was first shown.
key / i n t r o s o r t Enter
key A
see 'x shows each of them'
key x
see_not 'merged'
key q
term_end "q" 0
finish
