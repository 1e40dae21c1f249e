#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stacks that the copy has cut off: their rest is read from the process while it runs. A program whose
# stacks are not what they seem is not believed, and --no-complete leaves all as they are.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq gcc setpriv
need_sampling
gcc -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/cut" \
	"$top_srcdir/tests/targets/cut.c" || skip "gcc cannot build here"

# profile OPTION...: the last of the pictures of $pid into $tmp/json
profile()
{
	"$STACKTOP" -b --format=json -d 0.5 -p "$pid" --call-graph dwarf,8192 "$@" >"$tmp/all" 2>"$tmp/err" ||
		why=$(cat "$tmp/err")
	tail -n 1 "$tmp/all" >"$tmp/json"
}
holds() { jq -e "$1" "$tmp/json" >/dev/null || why="not $1: $(jq -c .health "$tmp/json")"; }

start "$tmp/cut" steady
pid=$last_pid
read_live()
{
	profile -n 6
	holds '.health | .live_read > 20 and .complete == 0'
	holds '.health | .user_stacks == .complete + .live_read + .stitched + ([.incomplete[]] | add // 0)'
}
look 'live reads' read_live && pass 'the rest of stacks is read'
as_they_are()
{
	profile -n 2 --no-complete
	holds '.health | .live_read == 0 and .stitched == 0 and .incomplete.truncated > 20'
}
look '--no-complete' as_they_are && pass 'or not'

# A thread is known after eight reads, 50 ms apart. What was read of it before is believed as well.
first_reads()
{
	"$STACKTOP" --format=samples -n 1000 -p "$pid" --call-graph dwarf,8192 >"$tmp/samples" 2>"$tmp/err" ||
		why=$(cat "$tmp/err")
	first=$(awk '/cpu-clock:/ { if (!from) from = $4 + 0; nr += $NF == "live-read" && $4 - from < 0.35 }
		END { print nr + 0 }' "$tmp/samples")
	[ "$first" -gt 10 ] || why="$first live reads in the first third of a second"
}
look 'the first reads' first_reads && pass 'and what was read before the thread was known'
kill "$pid"

# Each process lives too short to be known: that its program is known has to do.
start "$tmp/cut" brief
pid=$last_pid
read_brief()
{
	profile -n 12
	holds '.health | .live_read > 50 and .complete < .live_read'
}
look 'live reads of short processes' read_brief && pass 'of short processes too'
kill "$pid"

# A recursion of megabytes ends at the bound that was asked for, and each of its frames is the right one.
deepest() { awk '/;deep/ { n = gsub(/deep/, "deep"); if (n > most) most = n } END { print most + 0 }' "$tmp/folded"; }
bounded()
{
	profile -n 12 --max-depth="$1"
	holds '.health | .incomplete.depth > 20 and (.incomplete["bad-ra"] // 0) == 0'
	"$STACKTOP" -b --format=folded -n 1 -d 6 -p "$pid" --call-graph dwarf,8192 --max-depth="$1" \
		>"$tmp/folded" 2>"$tmp/err" || why=$(cat "$tmp/err")
	[ "$(deepest)" = $(($1 - 1)) ] || why="$(deepest) levels in stacks of $1: $(cut -c1-200 "$tmp/folded")"
}
start bash -c 'ulimit -s 20000 && exec "$0" deep 150000' "$tmp/cut"
pid=$last_pid
for depth in 1024 4096 16384; do
	look "--max-depth=$depth" bounded $depth && pass "--max-depth=$depth"
done
kill "$pid"

# The copy ends where the stack has a page that was never touched, however large it may be; and what lies between it and
# the caller's return address, which may be more than is read of a stack, is not needed.
start "$tmp/cut" hole
pid=$last_pid
over_a_hole()
{
	profile -n 8 --call-graph dwarf,65528
	holds '.health | .live_read > 20'
}
look 'a page that was never touched' over_a_hole && pass 'over a page that was never touched'
kill "$pid"

# Nothing of it can be proven where the bytes before that page change; but the page is there once it was read.
start "$tmp/cut" buffer
pid=$last_pid
page_comes()
{
	profile -n 8 --call-graph dwarf,65528
	holds '.health | .now | .user_stacks > 100 and .complete * 10 > .user_stacks * 9'
}
look 'a page in a buffer' page_comes && pass 'stacks with a large buffer are whole once its pages were read'
kill "$pid"

# Each sample of each CPU needs a read, for no copy reaches over a frame of a megabyte: most of them are made.
large=()
for _ in $(seq "$(nproc)"); do
	start "$tmp/cut" large
	large+=("$last_pid")
done
pid=$(IFS=,; echo "${large[*]}")
most_are_read()
{
	profile -n 8
	holds '.health | .now | .user_stacks > 100 and .live_read * 2 > .user_stacks'
}
look 'a frame of a megabyte' most_are_read && pass 'most stacks over a frame of a megabyte'
kill "${large[@]}"

# Right and wrong completions: the innermost function tells who has called.
count_wrong()
{
	awk -v RS= '
		/spin_a/ && /by_a/ || /spin_b/ && /by_b/ { right++ }
		/spin_a/ && /by_b/ || /spin_b/ && /by_a/ { wrong++ }
		END { print wrong + 0, right + 0, NR }' "$tmp/samples"
}
changing()
{
	"$STACKTOP" --format=samples -n 2000 -p "$pid" --call-graph dwarf,8192 >"$tmp/samples" 2>"$tmp/err" ||
		why=$(cat "$tmp/err")
	read -r wrong right nr < <(count_wrong)
	[ "$nr" -ge 2000 ] && [ $((wrong * 1000)) -le "$nr" ] || why="$wrong wrong, $right right of $nr"
}
for usec in 100 10000; do
	start "$tmp/cut" change $usec
	pid=$last_pid
	look "changes within $usec us" changing && pass "changes within $usec us: $wrong wrong of $nr"
	kill "$pid"
done

# Nor is a program that changes its stacks in processes that do not live long.
start bash -c 'while :; do timeout 0.3 "$0" change 1000; done' "$tmp/cut"
pid=$last_pid
look 'short lives that change' changing && pass "short lives that change: $wrong wrong of $nr"
kill "$pid"

reads() { tail -n 2 "$tmp/all" | grep '}$' | tail -n 1 | sed 's/,"tree":{.*/}/' | jq .health.live_read; }
reads_on() { says_last "$tmp/all" ".health.live_read >= $1 + 50"; }

# Pages of a process that never come hang one read of it for good, and no other process's.
beside_silent()
{
	local steady silent='' sampling before
	start "$tmp/cut" steady
	steady=$last_pid
	for _ in 1 2 3 4; do
		start "$tmp/cut" silent
		silent=$silent,$last_pid
	done
	: >"$tmp/all" # what is in it must not be taken for what this stacktop tells
	"$STACKTOP" -b --format=json -d 0.5 -n 1000 -p "$steady$silent" --call-graph dwarf,8192 >"$tmp/all" 2>"$tmp/err" &
	sampling=$!
	test_pids="$test_pids $sampling"
	wait_for 60 says_last "$tmp/all" \
		".health | .reads_hung >= 4 and .reads_stopped == false and
		([.unreadable[] | select(.hung) | .pid] | sort) == ([${silent#,}] | sort)" ||
		why="they are not named: $(tail -n 1 "$tmp/all" | jq -c '.health | [.reads_hung, .unreadable]') $(cat "$tmp/err")"
	before=$(reads)
	wait_for 60 reads_on "$before" || why="$why; $(reads) reads after $before"
	kill ${silent//,/ }
	wait_for 60 says_last "$tmp/all" '.health | .reads_hung == 0 and .unreadable == []' ||
		why="$why; they hang on: $(tail -n 1 "$tmp/all" | jq -c '.health | [.reads_hung, .unreadable]')"
	kill "$sampling" "$steady"
	wait "$sampling" 2>/dev/null
}
"$tmp/cut" silent &
silent=$!
sleep 0.2
if kill "$silent" 2>/dev/null; then
	look 'a process beside one that hangs reads' beside_silent && pass 'a process beside one that hangs reads'
else
	echo 'left out: userfaultfd is not allowed here'
fi

# A process that nobody may look into any more is named, and does not keep the one beside it from being read.
uid=$((60000 + $$ % 5000)) # a user of our own, whose processes the broker may read without any capability
user=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
beside_closed()
{
	local open closed sampling before
	start "${user[@]}" "$tmp/cut" steady
	open=$last_pid
	start "${user[@]}" "$tmp/cut" closing
	closed=$last_pid
	wait_for 20 runs "$open" "$tmp/cut"
	wait_for 20 runs "$closed" "$tmp/cut"
	: >"$tmp/all"
	env SUDO_UID="$uid" SUDO_GID="$uid" setpriv --bounding-set=-sys_ptrace "$STACKTOP" -b --format=json \
		-d 0.5 -n 1000 -p "$open,$closed" --call-graph dwarf,8192 >"$tmp/all" 2>"$tmp/err" &
	sampling=$!
	test_pids="$test_pids $sampling"
	if ! wait_for 60 reads_on 0; then
		why="nothing is read: $(cat "$tmp/err")"
	else
		kill -USR1 "$closed"
		wait_for 60 says_last "$tmp/all" \
			".health | .reads_refused > 0 and .unreadable_other == 0 and [.unreadable[] | .pid] == [$closed]" ||
			why="it is not named: $(tail -n 1 "$tmp/all" | jq -c '.health | [.reads_refused, .unreadable]')"
		before=$(reads)
		wait_for 60 reads_on "$before" || why="$why; $(reads) reads after $before"
	fi
	kill "$sampling" "$open" "$closed"
	wait "$sampling" 2>/dev/null
}
look 'a readable process beside another' beside_closed && pass 'a readable process beside another'
finish
