#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Threads: those of a process that ran before have their names, in json, pprof and single samples alike; below the
# process on the screen, where Enter shows the functions of one alone; and what is typed finds them.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux jq gcc python3
need_sampling
cat >"$tmp/crew.c" <<-'EOC'
	#define _GNU_SOURCE
	#include <pthread.h>
	#include <stdio.h>
	#include <unistd.h>
	static volatile unsigned int sink;
	__attribute__((noinline)) void spin_reader(void) { for (;;) sink++; }
	__attribute__((noinline)) void spin_writer(void) { for (;;) sink += 2; }
	__attribute__((noinline)) void spin_first(void) { for (;;) sink += 3; }
	static void *reader(void *arg)
	{
		pthread_setname_np(pthread_self(), "reader");
		printf("%d\n", gettid());
		fflush(stdout);
		spin_reader();
		return arg;
	}
	static void *writer(void *arg)
	{
		pthread_setname_np(pthread_self(), "writer");
		printf("%d\n", gettid());
		fflush(stdout);
		spin_writer();
		return arg;
	}
	int main(void)
	{
		pthread_t thread;
		pthread_create(&thread, NULL, reader, NULL);
		pthread_create(&thread, NULL, writer, NULL);
		spin_first();
	}
EOC
gcc -O1 -pthread -o "$tmp/crew" "$tmp/crew.c" || skip 'gcc cannot build here'
start "$tmp/crew" >"$tmp/tids"
pid=$last_pid
both_named() { [ "$(cat "/proc/$pid/task/"*/comm | sort | tr '\n' ' ')" = 'crew reader writer ' ]; }
wait_for 20 both_named || fail 'the threads have no names'
reader=$(grep -lx reader "/proc/$pid/task/"*/comm | cut -d / -f 5)
writer=$(grep -lx writer "/proc/$pid/task/"*/comm | cut -d / -f 5)

in_json()
{
	"$STACKTOP" --view=processes --format=json -n 1 -d 2 -p "$pid" >"$tmp/json" 2>"$tmp/err" || why=$(cat "$tmp/err")
	jq -e --argjson pid "$pid" --argjson r "$reader" --argjson w "$writer" '.total as $total | .processes |
		length == 1 and (.[0] | .self == $total and
			([.threads[] | [.name, .tid]] | sort) == ([["crew", $pid], ["reader", $r], ["writer", $w]] | sort) and
			([.threads[].self] | add) == .self and ([.threads[].user_stacks] | add) == .user_stacks and
			([.threads[].complete] | add) == .complete and all(.threads[]; .self > 0 and .user_stacks > 0))' \
		"$tmp/json" >/dev/null || why="$why $(jq -c .processes "$tmp/json")"
}
look 'json' in_json && pass 'each thread has its name, number and share'

in_functions()
{
	"$STACKTOP" --format=json -n 1 -d 2 -p "$pid" >"$tmp/json" 2>"$tmp/err" || why=$(cat "$tmp/err")
	jq -e '[.functions[] | select(.name | startswith("spin_")) | [.processes, .threads]] == [[1, 1], [1, 1], [1, 1]]' \
		"$tmp/json" >/dev/null || why="$why $(jq -c .functions "$tmp/json")"
	"$STACKTOP" -b --columns=self,threads -n 1 -d 1 -p "$pid" >"$tmp/text" 2>&1
	grep -qE '^ *self% +function +threads$' "$tmp/text" && grep -qE ' spin_reader +1$' "$tmp/text" ||
		why="$why $(head -n 12 "$tmp/text")"
}
look 'functions' in_functions && pass 'each function tells how many threads were in it'

in_text()
{
	"$STACKTOP" -b --view=processes -n 1 -d 2 -p "$pid" >"$tmp/text" 2>"$tmp/err" || why=$(cat "$tmp/err")
	grep -qE " - crew $pid " "$tmp/text" && grep -qE "[├└]─ +reader $reader +[0-9.]+% of [0-9]+\$" "$tmp/text" &&
		grep -qE "[├└]─ +writer $writer " "$tmp/text" && grep -qE "[├└]─ +crew $pid " "$tmp/text" ||
		why="$why $(tail -n 8 "$tmp/text")"
	"$STACKTOP" -b --view=processes --min-percent=90 -n 1 -d 2 -p "$pid" >"$tmp/text" 2>"$tmp/err"
	grep -qE " crew $pid " "$tmp/text" && ! grep -qE " (reader|writer) " "$tmp/text" ||
		why="$why $(tail -n 8 "$tmp/text")"
}
look 'text' in_text && pass 'text has them below their process, down to a share'

labels() { "$top_srcdir/tests/read_pprof.py" --facts "$tmp/pprof" | grep '^labels'; }
in_files()
{
	"$STACKTOP" -d 2 --format=pprof -p "$pid" >"$tmp/pprof" 2>"$tmp/err" || why=$(cat "$tmp/err")
	for one in "$pid crew" "$reader reader" "$writer writer"; do
		labels | grep -q "^labels comm=crew.* pid=$pid thread=${one#* } tid=${one% *} user=$(id -un)\$" ||
			why="$why pprof: no $one: $(labels)"
	done
	"$STACKTOP" -b -n 600 --format=script -p "$pid" >"$tmp/script" 2>"$tmp/err" || why="$why $(cat "$tmp/err")"
	# A sample begins with its thread; the innermost function is on the next line.
	awk -v r="$reader" -v w="$writer" -v p="$pid" '
		/^[^ \t]/ { who = $1; split($2, id, "/"); tid = id[length(id)]; next }
		/spin_reader/ && !(who == "reader" && tid == r) { bad = bad " " who " " tid }
		/spin_writer/ && !(who == "writer" && tid == w) { bad = bad " " who " " tid }
		/spin_first/ && !(who == "crew" && tid == p) { bad = bad " " who " " tid }
		/spin_/ { seen++ }
		END { if (bad || seen < 3) { print seen bad; exit 1 } }' "$tmp/script" >"$tmp/said" ||
		why="$why script: $(cat "$tmp/said") $(head -n 4 "$tmp/script")"
}
look 'files' in_files && pass 'pprof and single samples tell the thread'

term_start 100x30 "$STACKTOP" -p "$pid"
key 6
see "\+ crew $pid "
key +
see "├─ +reader $reader " && see "─ +writer $writer " && see "─ +crew $pid " && pass 'threads are below their process'
key /
key -l "reader $reader"
key Enter
key Enter
see "only thread reader $reader: [0-9.]+% of all samples" && see spin_reader && see_not 'spin_(writer|first)' &&
	pass 'Enter leaves one of them'
key 6
see "[-+] crew $pid +1 +$(id -un) +[0-9.]+% of [0-9]+ *$" && pass 'and its stacks are counted'
key 1
key BSpace
see spin_writer && see spin_first && pass 'and Backspace brings the others back'
key '\'
key -l 't:writer'
key Enter
see 'only t:writer' && see spin_writer && see_not 'spin_(reader|first)' && pass 'a name finds a thread'
key BSpace
key '\'
key -l "!t:$writer"
key Enter
see "without t:$writer" && see spin_reader && see_not spin_writer && pass 'and so does a number'
key q
wait_for 40 term_ended || fail 'q does not leave'
finish
