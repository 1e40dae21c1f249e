#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A program of known shares (70/20/10 below one caller) shows these within
# sampling error in all views, for fp and dwarf, -O0 and -O2, PIE, non-PIE,
# static and stripped, gcc and clang. All variants run at once below one profile.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

src=$top_srcdir/tests/targets/shares.c
variants=
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for opt in O0 O2; do
		for kind in pie nopie static stripped; do
			case $kind in
			pie) flags="-fPIE -pie" ;;
			nopie) flags="-fno-pie -no-pie" ;;
			static) flags=-static ;;
			stripped) flags=-s ;;
			esac
			name=sh$$-$cc-$opt-$kind
			# shellcheck disable=SC2086
			$cc -$opt -fno-omit-frame-pointer $flags -o "$tmp/$name" "$src" ||
				skip "$cc $flags cannot build here"
			variants="$variants $name"
			start "$tmp/$name"
		done
	done
done

# near NAME PERCENT SAMPLES SHARE: within 4.5 standard deviations of a binomial share
near()
{
	awk -v p="$2" -v n="$3" -v s="$4" 'BEGIN {
		d = 450 * sqrt(s / 100 * (1 - s / 100) / n)
		exit !(n > 100 && p >= s - d && p <= s + d) }' ||
		fail "$1: $2 % of $3 samples, not $4 %"
}

for mode in fp dwarf,4096; do
	"$STACKTOP" -b --format=json -n 1 -d 12 --window 12 -F 4000 --call-graph $mode \
		>"$tmp/json" 2>"$tmp/err" || fail "$mode: $(cat "$tmp/err")"
	for v in $variants; do
		# In functions: name -> self; stripped ones have no names, but the same three sizes.
		jq -r --arg v "$v" '
			[.functions[] | select(.object == $v and .self > 0)] | sort_by(-.self) as $f |
			([$f[].self] | add) as $sum |
			($f[:3][] | "\(.name) \(100 * .self / $sum) \($sum / 250000 | floor)")' \
			"$tmp/json" >"$tmp/functions"
		[ "$(wc -l <"$tmp/functions")" = 3 ] || { fail "$mode $v: not three functions"; continue; }
		{ read -r n70 p70 s; read -r n20 p20 s; read -r n10 p10 s; } <"$tmp/functions"
		near "$mode $v $n70" "$p70" "$s" 70
		near "$mode $v $n20" "$p20" "$s" 20
		near "$mode $v $n10" "$p10" "$s" 10
		case $v in
		*stripped)
			[[ $n70 == "$v"+0x* ]] || fail "$mode $v: a stripped function is called $n70" ;;
		*)
			[ "$n70 $n20 $n10" = "work_70 work_20 work_10" ] ||
				fail "$mode $v: names are $n70 $n20 $n10" ;;
		esac
		# In the tree: one caller has all three below it. Its total is their sum.
		jq -r --arg v "$v" '
			[.tree | .. | objects | select(.object? == $v and (.children? | length) >= 3)] |
			sort_by(-.total) | .[0] // empty |
			([.children[] | select(.object == $v)] | sort_by(-.total) | .[:3]) as $c |
			"\(.name) \(100 * $c[0].total / .total) \(.total / 250000 | floor)"' \
			"$tmp/json" >"$tmp/tree"
		read -r caller p s <"$tmp/tree" || { fail "$mode $v: no caller of three"; continue; }
		near "$mode $v tree $caller" "$p" "$s" 70
		[[ $v == *stripped || $caller == dispatch ]] || fail "$mode $v: caller is $caller"
	done
done
pass "functions and tree of $(echo "$variants" | wc -w) programs"

# The same rows as text, in the callers view: dispatch stands below work_70.
pid=$(pgrep -f "$tmp/sh$$-gcc-O2-pie")
"$STACKTOP" -b -n 1 -d 3 -p "$pid" --view callers >"$tmp/callers" 2>&1 || fail "callers: $(cat "$tmp/callers")"
grep -q 'work_70' "$tmp/callers" || fail "callers view: no work_70"
"$STACKTOP" -b -n 1 -d 3 -p "$pid" --view tree >"$tmp/tree" 2>&1 || fail "tree: $(cat "$tmp/tree")"
for f in main dispatch work_70 work_20 work_10; do
	grep -q "$f" "$tmp/tree" || fail "tree view: no $f"
done
finish
