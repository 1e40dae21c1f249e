#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# --annotate: the samples of a known loop are in the loop, of a program with
# and without symbols, also when its file has been removed; what cannot be
# shown is a message and an exit status.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq gcc objdump readelf strip tmux python3
"$STACKTOP" -b --annotate=x --format=folded 2>&1 | grep -q libcapstone && skip "built without libcapstone"
need_sampling

mkdir "$tmp/source"
cp "$top_srcdir/tests/targets/hot_loop.c" "$tmp/source/"
(cd "$tmp" && gcc -O1 -g -o hot source/hot_loop.c) || skip "gcc cannot build here"
division=$(grep -n ' / by' "$tmp/source/hot_loop.c" | cut -d: -f1)

# run PROGRAM OPTION...: a block of it, in $tmp/out; the program runs as long as that takes.
run()
{
	local program=$1 pid status
	shift
	"$program" &
	pid=$!
	"$STACKTOP" -b -n 1 -d 2 -p "$pid" "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	kill "$pid"
	wait "$pid" 2>/dev/null
	return $status
}

objdump -d --no-show-raw-insn --disassemble=hot_divide "$tmp/hot" |
	awk '$1 ~ /^[0-9a-f]+:$/ { sub(":", "", $1); print $1, $2 }' >"$tmp/expected"
start=$(head -n 1 "$tmp/expected" | cut -d' ' -f1)

# The loop goes from the target of its last jump back to that jump.
first='' last=''
while read -r address name target _; do
	[[ $name == j* && $target =~ ^[0-9a-f]+$ ]] && ((16#$target < 16#${address%:})) &&
		first=$((16#$target)) last=$((16#${address%:}))
done < <(objdump -d --no-show-raw-insn --disassemble=hot_divide "$tmp/hot")

run "$tmp/hot" --annotate=hot_divide --format=json || fail "json: exit status $?: $(cat "$tmp/err")"
jq -r '.annotation.instructions[] | "\(.address) \(.text)"' "$tmp/out" |
	while read -r address name _; do printf '%x %s\n' "$address" "$name"; done >"$tmp/listed"
check "the instructions are where objdump has them" \
	cmp <(cut -d' ' -f1 "$tmp/expected") <(cut -d' ' -f1 "$tmp/listed")
check "the function is named" jq -e '.annotation.name == "hot_divide"' "$tmp/out"
check "nearly all samples are in instructions" jq -e '.annotation | .elsewhere * 100 < .total' "$tmp/out"
check "their weights add up to the function's own" \
	jq -e '([.annotation.instructions[].weight] | add) + .annotation.elsewhere == .annotation.total and
		([.functions[] | select(.name == "hot_divide")][0].self == .annotation.total)' "$tmp/out"
check "nine of ten samples are in the loop, from $first to $last" \
	jq -e --argjson first "${first:-0}" --argjson last "${last:-0}" \
	'([.annotation.instructions[] | select(.address >= $first and .address <= $last) | .weight] | add) >
		0.9 * .annotation.total' "$tmp/out"


# Text of source is not waited for as long as a starved machine may need for it.
division_has_its_line()
{
	run "$tmp/hot" --annotate=hot_divide --format=json || why=$(cat "$tmp/err")
	jq -e --argjson line "${division:-0}" '[.annotation.instructions[] | select(.text | test("div")) | .line == $line and
			(.file | endswith("/source/hot_loop.c")) and (.source // "" | test("/ by"))] | all and length > 0' \
		"$tmp/out" >/dev/null || why="$why $(jq -c '.annotation.instructions[] | select(.text | test("div"))' "$tmp/out")"
}
source_stands_between()
{
	run "$tmp/hot" --annotate=divide || why=$(cat "$tmp/err")
	grep -qE " hot_loop.c:$division  .*/ by" "$tmp/out" || why="$why $(grep hot_loop "$tmp/out")"
}
look "the division is of its source line" division_has_its_line && pass "the division is of its source line"
look "its source stands between" source_stands_between && pass "its source stands between"

run "$tmp/hot" --annotate=divide || fail "text: exit status $?: $(cat "$tmp/err")"
check "text has a head, and marks the hottest once" \
	awk '/^hot_divide in hot, .* of the window/ { head = 1 } /<-- hottest$/ { hot++ } END { exit !(head && hot == 1) }' "$tmp/out"
check "and the division" grep -qE ' [0-9a-f]+ .*div' "$tmp/out"

# Text that is not root's own is not shown to root, by what link ever; file and line are.
mv "$tmp/source/hot_loop.c" "$tmp/source/other.key"
ln -s other.key "$tmp/source/hot_loop.c"
run "$tmp/hot" --annotate=divide || fail "no text: exit status $?: $(cat "$tmp/err")"
check "a line whose text is not to be had" grep -qE " hot_loop.c:$division\$" "$tmp/out"
grep -q '/ by' "$tmp/out" && fail "text of a file that is not called like source"
mv -f "$tmp/source/other.key" "$tmp/source/hot_loop.c"

# Nor is text of another user's; a debug server may have it.
if "$STACKTOP" --debuginfod=http://127.0.0.1 --version >/dev/null 2>&1 && chown 65534 "$tmp/source/hot_loop.c"; then
	serve
	build_id=$(readelf -n "$tmp/hot" | awk '/Build ID/ { print $3 }')
	mkdir -p "$tmp/served/buildid/$build_id/source$tmp/source"
	sed 's|/ by.*|& /* as it is served */|' "$tmp/source/hot_loop.c" \
		>"$tmp/served/buildid/$build_id/source$tmp/source/hot_loop.c"
	source_is_fetched()
	{
		run "$tmp/hot" --annotate=divide "$@" || why=$(cat "$tmp/err")
		grep -qE " hot_loop.c:$division  .*as it is served" "$tmp/out" || why="$why $(grep hot_loop "$tmp/out") $(cat "$tmp/asked")"
	}
	run "$tmp/hot" --annotate=divide
	check "nobody is asked for source unless that is allowed" test ! -s "$tmp/asked"
	look "source from a server" source_is_fetched "--debuginfod=$url" && pass "source from a server"
	chown 0 "$tmp/source/hot_loop.c"
fi

# Without symbols the function goes by where it begins, and its file may be gone.
strip -o "$tmp/bare" "$tmp/hot"
cp "$tmp/bare" "$tmp/kept"
"$tmp/bare" &
bare=$!
wait_for 10 grep -q bare "/proc/$bare/comm"
rm "$tmp/bare"
"$STACKTOP" -b -n 1 -d 2 -p "$bare" --annotate="+0x$start" >"$tmp/out" 2>"$tmp/err" ||
	fail "stripped and gone: exit status $?: $(cat "$tmp/err")"
kill "$bare"
wait "$bare" 2>/dev/null
check "a stripped file that was removed" grep -q '<-- hottest$' "$tmp/out"

run "$tmp/hot" --annotate=no_such_function && fail "a function that is not there"
check "what is not there is said" grep -q "no function that was sampled has 'no_such_function'" "$tmp/err"
[ -s "$tmp/out" ] && fail "a block without a function"
"$STACKTOP" -b --annotate=x --format=folded >"$tmp/out" 2>"$tmp/err" && fail "folded has no place for it"
check "folded has no place for it" grep -q 'exclude each other' "$tmp/err"
[ "$failed" = 0 ] || head -40 "$tmp/out"

# Code that is made at run time, from the memory of the process; when it has moved, from where it is.
made_has_its_loop()
{
	"$STACKTOP" -b -n 1 -d 2 --window=1 -p "$jit" --annotate="$1" --format=json >"$tmp/out" 2>"$tmp/err" || why=$(cat "$tmp/err")
	jq -e '.annotation | [.instructions[] | .text | split(" ")[0]] == ["movq", "decq", "jne", "retq"] and
		.instructions[2].target == .instructions[1].address and .elsewhere * 2 < .total' "$tmp/out" >/dev/null ||
		why="$why $(jq -c .annotation "$tmp/out")"
}
made_has_no_names()
{
	"$STACKTOP" -b -n 1 -d 2 -p "$jit" '--annotate=[jit]' >"$tmp/out" 2>"$tmp/err"
	grep -q 'no instructions: made at run time, and no names are known' "$tmp/out" || why=$(cat "$tmp/err" "$tmp/out")
}
if [ "$(uname -m)" = x86_64 ] && gcc -O1 -o "$tmp/jit" "$top_srcdir/tests/targets/jit.c"; then
	start "$tmp/jit"
	jit=$last_pid
	trap 'rm -f "/tmp/perf-$jit.map"; live_cleanup' EXIT
	look "made code" made_has_its_loop jit_first && pass "made code"
	kill -USR1 "$jit"
	wait_for 20 grep -q jit_second "/tmp/perf-$jit.map"
	look "made code that has moved" made_has_its_loop jit_first && pass "made code that has moved"
	look "made code in its place" made_has_its_loop jit_second && pass "made code in its place"
	rm "/tmp/perf-$jit.map"
	look "made code without names" made_has_no_names && pass "made code without names"
	kill -KILL "$jit"
fi

# On the screen: opened on a row, with the cursor on the hottest, and left again.
"$tmp/hot" &
hot=$!
term_start 100x30 "$STACKTOP" -p "$hot"
see '^> *[0-9.]+ +[0-9.]+ hot_divide '
key A
see '<-- hottest' && see 'hot_divide in hot, .*skid'
key / j n e Enter
see '/jne'
mux resize-window -x 60 -y 12
see 'hot_divide in hot, [0-9.]+% of the window$'
key Home
see ' hot_loop.c:[0-9]+  [^ ].*\.\.$'
mux resize-window -x 100 -y 30
key H
see '[0-9]+/[0-9]+' && see ' retq?$'
key Enter
see 'calls no function'
key Escape
see 'total%' && see_not '<-- hottest'
key q
wait_for 20 term_ended || fail "q does not leave"
kill "$hot"
wait "$hot" 2>/dev/null
finish
