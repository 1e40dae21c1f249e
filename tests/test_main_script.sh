#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --format=samples says of every sample what perf script says: who, where, when,
# how much, and of recorded callchains each address. Recordings made elsewhere,
# and one made here.
set -u

command -v perf >/dev/null || {
	echo "no perf"
	exit 77
}
data=${STACKTOP_TEST_DATA:-$top_srcdir/../shared/data}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
perf() { command perf --buildid-dir "$dir/perf-files" "$@"; } # and not the user's
failures=0
nr_files=0
nr_samples=0

# joined OURS: a sample per line, "COMM PID/TID [CPU] TIME: PERIOD ADDR...".
# OURS (0 or 1): the head ends in a reason instead of a single address. Of user
# addresses perf shows where they are in the file: only their place in the page is
# the same.
joined()
{
	awk -v ours="$1" '
		function place(addr) { return length(addr) == 16 && addr ~ /^f/ ? addr : substr("00" addr, length(addr)) }
		function flush() { if (head != "") print head addrs; head = addrs = "" }
		/^$/ { flush(); next }
		/^\t/ { addrs = addrs " " place($1); next }
		{
			flush()
			gsub(/ +/, " ")
			sub(/^ /, "")
			match($0, /: [0-9]+ /)
			head = substr($0, 1, RSTART + RLENGTH - 2)
			if (!ours && $NF !~ /:$/)
				addrs = " " place($NF)
		}
		END { flush() }'
}

# perf_script FILE: with the CPU, where it was recorded.
perf_script()
{
	perf script -i "$1" --ns --no-inline --max-stack 4096 -F comm,pid,tid,cpu,time,period,event,ip 2>/dev/null ||
		perf script -i "$1" --ns --no-inline --max-stack 4096 -F comm,pid,tid,time,period,event,ip 2>/dev/null
}

# compare NAME FILE: event by event. Stacks that must be unwound first are another test.
compare()
{
	local name=$1 file=$2 event nr=0 what='s/$//'

	perf_script "$file" >"$dir/perf"
	[ -s "$dir/perf" ] || return
	perf evlist -v -i "$file" 2>/dev/null | grep -q STACK_USER && what='s/\(: [0-9]*\) .*/\1/'
	nr_files=$((nr_files + 1))
	for event in $(perf evlist -i "$file" 2>/dev/null | grep -v '^#'); do
		nr=$((nr + 1))
		# perf's parts do not agree on modifiers.
		awk -v event=" ${event%:[a-zA-Z]*}[: ]" '/^\t/ || /^$/ { if (take) print; next }
			{ take = $0 ~ event; if (take) print }' "$dir/perf" |
			joined 0 | sed "$what" | sort >"$dir/theirs"
		"$STACKTOP" -i "$file" -e "$nr" --format=samples 2>"$dir/err" >"$dir/out"
		joined 1 <"$dir/out" | sed "$what; s/ \[-\]//" >"$dir/in-order"
		sort "$dir/in-order" >"$dir/ours"
		sed 's/.* \([0-9]*\.[0-9]*\): .*/\1/' "$dir/in-order" | sort -c -s -n || {
			echo "$name, $event: not in the order of time"
			failures=$((failures + 1))
		}
		nr_samples=$((nr_samples + $(wc -l <"$dir/ours")))
		if ! cmp -s "$dir/theirs" "$dir/ours"; then
			echo "$name, $event: perf (<) has $(wc -l <"$dir/theirs"), we have $(wc -l <"$dir/ours")"
			diff "$dir/theirs" "$dir/ours" | cut -c 1-160 | head -n 8
			failures=$((failures + 1))
		fi
	done
}

for file in "$data"/recordings/* "$data"/stacks/*/perf.data; do
	[ -e "$file" ] && compare "${file#"$data/"}" "$file"
done
# A loss has no place in these lines: it is told beside them.
if perf record -q -m 1 -F 4000 --call-graph dwarf,65000 -e cpu-clock -a -o "$dir/lossy" -- sleep 0.5 >/dev/null 2>&1 &&
	perf report -D -i "$dir/lossy" 2>/dev/null | grep -aq 'PERF_RECORD_LOST:'; then
	for format in folded samples; do
		"$STACKTOP" -i "$dir/lossy" --format=$format 2>&1 >/dev/null |
			grep -q 'not all is in the output: lost [1-9]' || {
			echo "$format: a loss is not told"
			failures=$((failures + 1))
		}
	done
else
	echo "no loss: not tested that it is told"
fi

# What perf records for itself besides is no event to choose.
if perf record -q -a -e cpu-clock -o "$dir/all" -- sleep 0.2 >/dev/null 2>&1; then
	nr=$("$STACKTOP" -i "$dir/all" --format=json | grep -o '"shown":' | wc -l)
	[ "$nr" -eq 1 ] || {
		echo "$nr events to choose from instead of cpu-clock"
		failures=$((failures + 1))
	}
fi

# A fixed period stands in the event alone, not in its samples.
for how in '-F 499 -g' '-c 2000000 -e cpu-clock'; do
	# shellcheck disable=SC2016,SC2086
	perf record -q $how -o "$dir/here" -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' \
		>/dev/null 2>&1 || continue
	compare "recorded here, $how" "$dir/here"
done
[ "$nr_files" -gt 0 ] || {
	echo "no recording that perf reads"
	exit 77
}
echo "$nr_samples samples of $nr_files recordings"
[ "$failures" -eq 0 ]
