#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A document of the real machine: a real parser takes it, docs/JSON describes exactly its fields, its sums agree.
set -u

command -v jq >/dev/null || {
	echo "no jq"
	exit 77
}
"$top_builddir/tests/have_perf" all || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# On a machine with nothing to do there is nothing to show.
(while :; do /bin/true; done) &
busy=$!
"$STACKTOP" --format=json -n 2 -d 0.5 >"$dir/out" || exit 1
for view in callers tree butterfly; do
	"$STACKTOP" --format=json -n 1 -d 0.5 --view=$view --min-percent=0 >"$dir/$view" || exit 1
done
kill $busy
wait $busy 2>/dev/null
lines=$(wc -l <"$dir/out")
[ "$lines" -eq 2 ] || {
	echo "$lines lines for two documents"
	exit 1
}

# Every field, once: those of documents, health, functions and nodes.
jq -r '[keys_unsorted, (.health | keys_unsorted), (.functions, .callers | .[0]? // {} | keys_unsorted), (.tree // {}, .butterfly // {} | keys_unsorted)]
	| flatten | .[]' "$dir/out" "$dir/callers" "$dir/tree" "$dir/butterfly" | sort -u >"$dir/written"
sed -n '/^Machine and settings/,/^Example/p' "$top_srcdir/docs/JSON" | grep -oE '[a-z][a-z_]*' |
	sort -u >"$dir/words"
missing=$(comm -23 "$dir/written" "$dir/words")
[ -z "$missing" ] || {
	echo "docs/JSON lacks:" $missing
	status=1
}
# The first column of docs/JSON: all of them are written.
sed -n '/^Machine and settings/,/^Example/p' "$top_srcdir/docs/JSON" |
	sed -n 's/^\([a-z][a-z_, ]*\)\( .*\)\{0,1\}$/\1/p' | sed 's/   *.*//' | tr -d ' ' | tr ',' '\n' |
	grep -xE '[a-z_]+' | grep -v '^user$' | sort -u >"$dir/described"
extra=$(comm -13 "$dir/written" "$dir/described")
[ -z "$extra" ] || {
	echo "docs/JSON describes what is not written:" $extra
	status=1
}

expect()
{
	[ "$(jq -s "all(.[]; $2)" "$dir/${3:-out}")" = true ] || {
		echo "not so: $1"
		status=1
	}
}
expect "the tree holds all weight" '.tree.total == .total' tree
expect "a tree is no list of functions" 'has("functions") | not' tree
expect "functions are no tree" 'has("tree") | not'
expect "callees and the function itself have its total" \
	'.butterfly | .total == .self + ([.callees[] | select(.level == 0) | .total] | add // 0)' butterfly
expect "callers have what ends in the first ones" '.total == ([.callers[] | select(.level == 0) | .self] | add)' callers
expect "parts of a node do not exceed it" \
	'[.tree | recurse(.children[]?) | .total >= .self + ([.children[]?.total] | add // 0) - 0.001] | all' tree
expect "self weights add up to the whole" \
	'([.functions[].self] | add // 0) as $sum | $sum <= .total'
expect "no function has more than the whole" '. as $d | all(.functions[]; .total <= $d.total and .self <= .total)'
expect "each user stack is complete, live-read, stitched or incomplete" \
	'.health | .user_stacks == .complete + .live_read + .stitched + ([.incomplete[]] | add // 0)'
expect "each sample has a user part or a reason for none" \
	'.health | .samples == .user_stacks + ([.without_user_part[]] | add // 0)'
expect "each sample is of a CPU" '.health | .per_cpu_other == 0 and ([.per_cpu[].samples] | add) == .samples'
expect "each lost record is of a CPU" '.health | ([.per_cpu[].lost] | add) == .lost + .lost_sideband'
expect "no ring is more than full" 'all(.health.per_cpu[]; .fill_percent <= 100)'
expect "each stage of now is told" '.health.stages_now | map(.stage) | length == 12 and index("kernel") != null'
expect "the memory of rings is known" '.health.memory_bytes | .rings > 0 and .log > 0 and .tree > 0 and .broker > 0'
expect "numbers are numbers" \
	'[.time, .freq_achieved, .cpus, .health.samples, .health.own_cpu_percent, .health.rss_bytes] | all(type == "number")'

# Beside programs that come and go, which gives kernel threads some work: those are counted apart. Of
# stacktop itself, by a name that no other one has, nothing is in the profile but its cost.
own=own-$$
cp "$STACKTOP" "$dir/$own"
while :; do /bin/true; done &
load=$!
"$dir/$own" --format=json -n 8 -d 0.5 >"$dir/out"
kill $load
wait $load 2>/dev/null
[ "$(jq -s --arg own "$own" 'last.health.own_samples > 0 and
	all(.[]; [.functions[].object] | index($own) | not)' \
	"$dir/out")" = true ] || {
	echo "stacktop's own samples are in the profile, or were not counted apart"
	status=1
}
[ "$(jq -s 'last.health.without_user_part.kernel > 0' "$dir/out")" = true ] || {
	echo "no kernel thread: $(tail -n 1 "$dir/out" | jq -c .health.without_user_part)"
	status=1
}
# Of a target that does nothing there is little to do.
sleep 30 &
"$STACKTOP" --format=json -n 2 -d 1.1 -p $! >"$dir/out" || status=1
kill $!
expect "the engine's stages are part of the cost" \
	'.health | ([.own_cpu_stages_s[]] | add) <= .own_cpu_s + 0.05'
exit $status
