#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A recording made here with frame pointers, read by stacktop and by perf: the
# sum of each function is the same, to the nanosecond. Of an address with several
# names each may choose another; what has no name is summed by object.

. "${top_srcdir:-.}/tests/lib.sh"
need perf jq gcc
gcc -O1 -fno-omit-frame-pointer -o "$tmp/shares" "$top_srcdir/tests/targets/shares.c" ||
	skip "gcc cannot build here"
cat >"$tmp/work" <<-EOF
	timeout 1 $tmp/shares
	gcc -O2 -c -o $tmp/shares.o $top_srcdir/tests/targets/shares.c
	head -c 20000000 /dev/zero | md5sum
	true
EOF
perf record -q -g -e cpu-clock -F 1999 -o "$tmp/data" -- sh "$tmp/work" >"$tmp/err" 2>&1 ||
	skip "perf record: $(tail -n 1 "$tmp/err")"

# From "sum|object|name" lines to "object|sum|name", each object and name once.
sums()
{
	awk -F '|' '
		{
			object = $2
			name = $3
			gsub(/^ +| +$/, "", object)
			sub(/ +$/, "", name)
			sub(/^\[[.k]\] /, "", name)
			sub(/^\[kernel.kallsyms\]/, "[kernel]", object)
			sub(/\(.*/, "", name) # C++: the arguments
			if (name ~ /@plt$/)
				name = "?" # stubs of some programs have no name in perf
			sub(/@.*/, "", name) # the version
			if (name ~ /^0x[0-9a-f]+$/ || index(name, object "+0x") == 1 || name == object)
				name = "?"
			if ($1 > 0)
				sum[object "|" name] += $1
		}
		END {
			for (key in sum) {
				split(key, part, "|")
				printf "%s|%.0f|%s\n", part[1], sum[key], part[2]
			}
		}' | sort
}

perf report -i "$tmp/data" --no-children --no-inline --stdio -q -g none -F period,dso,sym -t '|' \
	2>/dev/null | sums >"$tmp/theirs"
"$STACKTOP" -i "$tmp/data" -b --format=json >"$tmp/json" 2>"$tmp/err" ||
	fail "stacktop cannot read it: $(cat "$tmp/err")"
jq -r '.functions[] | select(.self > 0) | "\(.self)|\(.object)|\(.name)"' "$tmp/json" | sums >"$tmp/ours"

total=$(awk -F '|' '{ sum += $2 } END { printf "%.0f", sum }' "$tmp/theirs")
check "all samples are there" [ "$(jq .total "$tmp/json")" = "$total" ]
check "there are many functions" [ "$(wc -l <"$tmp/theirs")" -gt 30 ]
check "work_70 is one of them" grep -q '^shares|[0-9]*|work_70$' "$tmp/ours"

# What is left are other names of the same functions: the same sums in the same objects.
comm -23 "$tmp/theirs" "$tmp/ours" >"$tmp/their-names"
comm -13 "$tmp/theirs" "$tmp/ours" >"$tmp/our-names"
check "the sums are the same" cmp <(cut -d'|' -f1,2 "$tmp/their-names" | sort) \
	<(cut -d'|' -f1,2 "$tmp/our-names" | sort)
# Most of libc's functions have several.
check "nearly all have one name" \
	[ $(($(grep -vc '^libc\.so' "$tmp/our-names") * 20)) -le $(($(grep -vc '^libc\.so' "$tmp/ours") + 40)) ]
[ "$failed" = 0 ] || {
	diff "$tmp/theirs" "$tmp/ours"
	jq -c '[.notice, (.health | .loader_restarts, .names_pending, .bad_files, .files_late, .symbols_left_out,
		.symbols_evicted, .maps_refused, .own_cpu_stages_s)]' "$tmp/json"
}
finish
