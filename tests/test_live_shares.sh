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
		done
	done
done
pids=
for v in $variants; do
	start nice -n 10 "$tmp/$v" # so that who waits for this machine can go on
	pids=$pids,$last_pid
	[[ $v == *-gcc-O2-pie ]] && pie_pid=$last_pid
done

# near NAME PART WHOLE SHARE: PART is SHARE percent of WHOLE (nanoseconds, 250689 per sample)
# within 4.5 standard deviations of a binomial share
near()
{
	awk -v part="$2" -v whole="$3" -v s="$4" 'BEGIN {
		n = whole / 250689; p = n ? 100 * part / whole : 0
		d = 450 * sqrt(s / 100 * (1 - s / 100) / (n + 1))
		exit !(n > 100 && p >= s - d && p <= s + d) }' ||
		fail "$1: $2 of $3, not $4 %"
}

for mode in fp dwarf,4096; do
	# On a busy machine it takes longer until each has been seen often enough for its shares, and its table is there.
	for seconds in 8 16 32; do
		"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 1 -d $seconds --window $seconds -F 3989 --budget 0 --call-graph $mode -p "${pids#,}" \
			>"$tmp/json" 2>"$tmp/err" || fail "$mode: $(cat "$tmp/err")"
		jq -e --argjson programs "$(echo "$variants" | wc -w)" '.health | .samples > $programs * 800 and
			(.incomplete.late // 0) * 100 < .samples and .names_pending == 0' "$tmp/json" >/dev/null && break
	done
	# Functions as "object name self", and callers of three as "object name total
	# largest second": in a prologue the fp chain skips a caller, which makes a false one of few samples.
	jq -r '[.tree | recurse(.children[]?) | select(.self > 0)] | group_by([.object, .name])[] |
			"\(.[0].object) \(.[0].name) \(map(.self) | add)"' "$tmp/json" |
		sort -k1,1 -k3,3nr >"$tmp/functions"
	jq -r 'def walk: . as $n | ([.children[]? | select(.object == $n.object)] | sort_by(-.total)) as $c |
			(if ($c | length) >= 3 then "\(.object) \(.name) \(.total) \($c[0].total) \($c[1].total)" else empty end),
			(.children[]? | walk);
		.tree | walk' "$tmp/json" | sort -k1,1 -k5,5nr >"$tmp/callers"
	for v in $variants; do
		{ read -r n70 s70; read -r n20 s20; read -r n10 s10; } < \
			<(awk -v v="$v" '$1 == v { print $2, $3 }' "$tmp/functions" | head -n 3)
		[ -n "$n10" ] || { fail "$mode $v: not three functions"; continue; }
		sum=$(awk -v v="$v" '$1 == v { s += $3 } END { printf "%.0f", s }' "$tmp/functions")
		near "$mode $v $n70" "$s70" "$sum" 70
		near "$mode $v $n20" "$s20" "$sum" 20
		near "$mode $v $n10" "$s10" "$sum" 10
		case $v in
		*stripped) # no names, but the same three sizes
			[[ $n70 == "$v"+0x* ]] || fail "$mode $v: a stripped function is called $n70" ;;
		*)
			[ "$n70 $n20 $n10" = "work_70 work_20 work_10" ] ||
				fail "$mode $v: names are $n70 $n20 $n10" ;;
		esac
		# In the tree one caller has all three below it.
		read -r caller total largest < <(awk -v v="$v" '$1 == v { print $2, $3, $4 }' "$tmp/callers")
		[ -n "$caller" ] || { fail "$mode $v: no caller of three"; continue; }
		near "$mode $v tree $caller" "$largest" "$total" 70
		[[ $v == *stripped || $caller == dispatch ]] || fail "$mode $v: caller is $caller"
	done
done
pass "functions and tree of $(echo "$variants" | wc -w) programs"

# The same rows as text, in the callers view: dispatch stands below work_70.
# shows VIEW FUNCTION...: all of them, as soon as each has been sampled and named
shows()
{
	local view=$1 f
	shift
	for seconds in 1 3 9; do
		why=
		"$STACKTOP" -b -n 1 -d $seconds -p "$pie_pid" --view "$view" >"$tmp/view" 2>&1 || why=$(cat "$tmp/view")
		for f; do
			grep -q "$f" "$tmp/view" || why="no $f"
		done
		[ -n "$why" ] || return 0
	done
	fail "$view view: $why"
}
shows callers work_70
shows tree main dispatch work_70 work_20 work_10
finish
