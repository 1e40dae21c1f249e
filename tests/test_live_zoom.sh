#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The view of processes: two of one program are two rows, and Enter shows the functions of the one under the cursor.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux jq gcc
need_sampling
cat >"$tmp/twins.c" <<-'EOC'
	static volatile unsigned int sink;
	__attribute__((noinline)) void spin_first(void) { for (;;) sink++; }
	__attribute__((noinline)) void spin_second(void) { for (;;) sink += 2; }
	int main(int argc, char **argv) { (void)argv; if (argc > 1) spin_first(); else spin_second(); return 0; }
EOC
gcc -O1 -o "$tmp/twins" "$tmp/twins.c" || skip 'gcc cannot build here'
start "$tmp/twins" first
first=$last_pid
start "$tmp/twins"
second=$last_pid

both_are_there()
{
	"$STACKTOP" -b --view=processes --format=json -n 1 -d 1 -p "$first,$second" >"$tmp/json" 2>"$tmp/err" ||
		why=$(cat "$tmp/err")
	jq -e --argjson first "$first" --argjson second "$second" '(.processes | map(.pid) | sort) ==
		([$first, $second] | sort) and ([.processes[].self] | add) == .total and
		all(.processes[]; .name == "twins" and .complete <= .user_stacks and .user_stacks > 0)' \
		"$tmp/json" >/dev/null || why="$why $(jq -c .processes "$tmp/json")"
}
look 'both in json' both_are_there && pass 'each process has its share'

term_start 100x30 "$STACKTOP" -p "$first,$second"
key 6
see "twins $first " && see "twins $second " && see 'user stacks complete'
key /
key -l "twins $first"
key Enter
key Enter
see "only twins $first: [0-9.]+% of all samples" && see 'spin_first' && pass 'Enter leaves one of them'
see_not 'spin_second'
key BSpace
see 'spin_second' && pass 'and Backspace brings the other back'
key q
wait_for 40 term_ended || fail 'q does not leave'
finish
