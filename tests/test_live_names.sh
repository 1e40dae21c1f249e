#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Names of code that is made while a program runs: of a small JIT, by perf map and by jitdump, that moves a function and puts another
# one in its place, of node with --perf-basic-prof, of php with opcache.jit_debug, of a java that is told to write its map while
# it is looked at; and what is said where there is no map.

. "${top_srcdir:-.}/tests/lib.sh"
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the small JIT makes code of x86-64'

maps=
# shellcheck disable=SC2086
trap 'rm -f $maps; cleanup' EXIT

# begin COMMAND...: it runs in $tmp, as $last_pid; its map is removed at the end
begin()
{
	(cd "$tmp" && exec "$@") >"$tmp/log" 2>&1 &
	last_pid=$!
	test_pids="$test_pids $last_pid"
	maps="$maps /tmp/perf-$last_pid.map"
}

# end_last: it is not to run beside what comes next
end_last()
{
	kill -KILL "$last_pid"
	wait "$last_pid" 2>/dev/null
}

# is_warm PID: it has used 0.7 s of CPU, all its threads together
is_warm() { [ "$(sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 }')" -ge 70 ]; }

# samples_of PID COUNT: so many samples of it in $tmp/samples
samples_of()
{
	"$STACKTOP" --format=samples -n "$2" -p "$1" >"$tmp/samples" 2>"$tmp/err" || why=$(cat "$tmp/err")
}

# leaves NAME: how many samples have it as their innermost frame
leaves() { awk -v name="$1" '/^[^ \t]/ { first = 1; next } first { first = 0; nr += index($0, " " name "+0x") > 0 } END { print nr + 0 }' "$tmp/samples"; }

# named OBJECT: percent of the frames of made code that have a name
named() { awk -v object="($1)" 'index($0, object) { nr++; named += !/\[unknown\]/ } END { print nr ? int(100 * named / nr) : 0 }' "$tmp/samples"; }

# --- a small JIT ---

# weight NAME BLOCK: of the stacks that lead through it, in a block of the folded stacks
weight() { awk -v RS= -F'\n' -v name=";$1" -v block="$2" 'NR == block { for (i = 1; i <= NF; i++) if (index($i, name)) { n = split($i, words, " "); sum += words[n] } } END { printf "%.0f\n", sum }' "$tmp/folded"; }
# Blocks are apart by an empty line: there are more than so many.
blocks() { [ "$(grep -c "^$" "$tmp/folded")" -ge "$1" ]; }

# Sampled before the change, an address keeps its name; sampled after it, it has the other one.
used_again()
{
	local before after second reader
	begin "$tmp/small" "$@"
	wait_for 20 runs "$last_pid" "$tmp/small"
	: >"$tmp/folded"
	"$STACKTOP" -b -n 3 -d 2 --window=60 -p "$last_pid" --format=folded >"$tmp/folded" 2>"$tmp/err" &
	reader=$!
	test_pids="$test_pids $reader"
	wait_for 60 blocks 1
	kill -USR1 "$last_pid"
	wait $reader
	before=$(weight jit_first 2)
	after=$(weight jit_first 3)
	second=$(weight jit_second 3)
	[ "$before" -gt 0 ] && [ "$(weight jit_second 2)" = 0 ] && [ "$second" -gt 0 ] &&
		[ "$after" -ge "$before" ] ||
		why="jit_first $before, then $after and jit_second $second: $(cat "$tmp/err")"
	end_last
}
check "the small JIT is built" "$CC" -O1 -o "$tmp/small" "$top_srcdir/tests/targets/jit.c"
look "an address that is used again" used_again && pass "an address that is used again"
look "by a jitdump" used_again dump && pass "by a jitdump"

# --- what is no map, and one that is written anew all the time ---

# says CONDITION: of the only process with made code, at some time within a minute
says()
{
	: >"$tmp/out"
	"$STACKTOP" -b -n 60 -d 1 -p "$last_pid" --format=json >"$tmp/out" 2>"$tmp/err" &
	test_pids="$test_pids $!"
	wait_for 90 said "$1" || why="never $1: $(tail -c 3000 "$tmp/out" | grep -o '"made_code":[^]]*]')"
	kill $! 2>/dev/null
	wait $! 2>/dev/null
}
said() { jq -e "select(.health.made_code[0] | $1) | true" "$tmp/out" 2>/dev/null | grep -q true; }

# is_refused STATE REASON: so is the map of the small JIT, in its line and among the files that are refused
is_refused()
{
	says ".state == \"$1\" and .remedy == \"no names: /tmp/perf-$last_pid.map is $2\""
	[ -n "$why" ] || jq -e -s "any(.[].health.bad_files[]; .object == \"/tmp/perf-$last_pid.map\" and .why == \"$2\")" \
		"$tmp/out" >/dev/null 2>&1 || why="not among the bad files: $(grep -o '"bad_files":[^]]*]' "$tmp/out" | tail -n 1)"
}

# in_its_place COMMAND...: makes something else of the map of a small JIT, PATH among its arguments
in_its_place()
{
	begin "$tmp/small"
	wait_for 20 test -s "/tmp/perf-$last_pid.map"
	rm "/tmp/perf-$last_pid.map"
	"${@//PATH//tmp/perf-$last_pid.map}" || why="cannot: $*"
	[ -n "$why" ] || is_refused no-file 'not a regular file'
	rm -rf "/tmp/perf-$last_pid.map"
	end_last
}

# Anybody may put a map there for a process that has none.
of_another_user()
{
	begin "$tmp/small"
	wait_for 20 test -s "/tmp/perf-$last_pid.map"
	chown nobody "/tmp/perf-$last_pid.map"
	is_refused foreign "another user's"
	end_last
}

# More than a second's reading, and no name of what runs: what comes next waits, and that is said.
always_new()
{
	begin "$tmp/small"
	wait_for 20 test -s "/tmp/perf-$last_pid.map"
	awk 'BEGIN { for (i = 0; i < 450000; i++) printf "%x 10 name%d\n", 268435456 + 16 * i, i }' >"$tmp/names"
	for ((i = 0; ; i++)); do
		{ echo "1000 10 number$i" && cat "$tmp/names"; } >"$tmp/new"
		mv "$tmp/new" "/tmp/perf-$last_pid.map"
		sleep 0.3
	done &
	test_pids="$test_pids $!"
	local writer=$!
	says '.state == "late" and .names > 440000 and (.remedy | test("read on in [0-9]+ s"))'
	kill "$writer"
	wait "$writer" 2>/dev/null
	rm -f "$tmp/names" "/tmp/perf-$last_pid.map"
	end_last
}
if command -v jq >/dev/null; then
	look "a FIFO" in_its_place mkfifo PATH && pass "a FIFO in place of a map"
	look "a folder" in_its_place mkdir PATH && pass "a folder in place of a map"
	look "a link" in_its_place ln -s /dev/zero PATH && pass "a link in place of a map"
	if mknod "$tmp/zero" c 1 5 2>/dev/null; then
		look "a device" in_its_place mknod PATH c 1 5 && pass "a device in place of a map"
	else
		echo 'not tested: no device can be made'
	fi
	look "another user's map" of_another_user && pass "another user's map"
	look "a map that is always new" always_new && pass "a map that is always new"
else
	echo 'not tested: jq is not there'
fi

# --- node ---

cat >"$tmp/t.js" <<'EOS'
function spin() { let x = 0; for (let i = 0; i < 20000; i++) x = (x * 31 + i) | 0; return x; }
function down(n) { return n ? down(n - 1) + 1 : spin(); }
for (;;) down(30);
EOS

# expect_names OBJECT LEAF: nearly all frames have names, and the innermost is LEAF
expect_names()
{
	samples_of "$last_pid" 300
	[ "$(named "$1")" -ge 95 ] && [ "$(leaves "$2")" -ge 200 ] ||
		why="$(named "$1") % have names, $(leaves "$2") are in $2: $(head -n 12 "$tmp/samples")"
}

# expect_remedy WORDS: without a map there is a row for the runtime, and the one thing that helps is said
expect_remedy()
{
	"$STACKTOP" -b -n 1 -d 2 -p "$last_pid" >"$tmp/out" 2>"$tmp/err"
	grep -q "$last_pid: no names; $1" "$tmp/out" && grep -qF "$2" "$tmp/out" ||
		why="not '$1', or no row '$2': $(head -n 9 "$tmp/out")"
}

if command -v node >/dev/null; then
	begin node --perf-basic-prof --no-turbo-inlining t.js
	wait_for 60 is_warm "$last_pid"
	look "node's functions" expect_names '[jit] node' 'spin t.js:1 *' && pass "node's functions"
	end_last
	begin node t.js
	wait_for 60 is_warm "$last_pid"
	look "node without a map" expect_remedy 'start with --perf-basic-prof' '[jit] node' && pass "node without a map"
	end_last
else
	echo 'not tested: node is not there'
fi

# --- php ---

cat >"$tmp/t.php" <<'EOS'
<?php function spin() { $x = 0; for ($i = 0; $i < 20000; $i++) $x = ($x * 31 + $i) & 65535; return $x; }
function down($n) { return $n ? down($n - 1) + 1 : spin(); }
for (;;) down(30);
EOS
if php -m 2>/dev/null | grep -q OPcache; then
	begin php -d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=32M -d opcache.jit=1205 -d opcache.jit_debug=16 t.php
	wait_for 60 is_warm "$last_pid"
	look "php's functions" expect_names '[jit] php' spin && pass "php's functions"
	end_last
else
	echo 'not tested: php with OPcache is not there'
fi

# --- java ---

cat >"$tmp/Deep.java" <<'EOS'
public class Deep {
	static int spin() { int x = 0; for (int i = 0; i < 20000; i++) x = x * 31 + i; return x; }
	static int down(int n) { return n > 0 ? down(n - 1) + 1 : spin(); }
	public static void main(String[] args) { for (int x = 0;;) x += down(30); }
}
EOS
if command -v javac >/dev/null && javac -d "$tmp" "$tmp/Deep.java" 2>"$tmp/err"; then
	begin java -XX:+PreserveFramePointer -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Deep.\* -cp . Deep
	wait_for 60 is_warm "$last_pid"
	look "java without a map" expect_remedy "run: jcmd $last_pid Compiler.perfmap" '[jit] java' && pass "java without a map"
	if jcmd "$last_pid" Compiler.perfmap >"$tmp/log" 2>&1; then
		look "java's methods" expect_names '[jit] java' Deep.spin && pass "java's methods"
	else
		echo "not tested: java's map: $(tail -n 1 "$tmp/log")"
	fi
	end_last
else
	echo 'not tested: javac is not there'
fi
finish
