#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Code that is made while a program runs, by those that make it: V8, HotSpot's
# interpreter and second compiler with and without frame pointers, LuaJIT, PHP's opcache,
# Ruby's YJIT, Erlang's; and a small JIT whose frames are told in a jitdump alone. Stacks lead through it to the thread's root, and each of the
# calls that the program is known to have open is there; a stack
# that does not get through ends as jit, in such code.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/chains_lib.sh"
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the programs are tried on x86-64 alone'

# Each of them: 31 calls of a function by itself, then a loop.
cat >"$tmp/t.js" <<'EOS'
function spin() { let x = 0; for (let i = 0; i < 20000; i++) x = (x * 31 + i) | 0; return x; }
function down(n) { return n ? down(n - 1) + 1 : spin(); }
for (;;) down(30);
EOS
cat >"$tmp/builtins.js" <<'EOS'
const data = Array.from({ length: 500 }, (_, i) => ({ k: i * 7919 % 1000, s: "x" + i }));
for (;;) JSON.parse(JSON.stringify(data)).sort((a, b) => a.k - b.k).map((o) => [o.s, o.k]);
EOS
cat >"$tmp/Deep.java" <<'EOS'
public class Deep {
	static int spin() { int x = 0; for (int i = 0; i < 20000; i++) x = x * 31 + i; return x; }
	static int down(int n) { return n > 0 ? down(n - 1) + 1 : spin(); }
	public static void main(String[] args) { for (int x = 0;;) x += down(30); }
}
EOS
cat >"$tmp/t.lua" <<'EOS'
local function spin() local x = 0 for i = 1, 20000 do x = (x * 31 + i) % 65536 end return x end
local function down(n) if n == 0 then return spin() end return down(n - 1) + 1 end
while true do down(30) end
EOS
cat >"$tmp/t.php" <<'EOS'
<?php function spin() { $x = 0; for ($i = 0; $i < 20000; $i++) $x = ($x * 31 + $i) & 65535; return $x; }
function down($n) { return $n ? down($n - 1) + 1 : spin(); }
for (;;) down(30);
EOS
cat >"$tmp/t.erl" <<'EOS'
-module(t).
-export([main/0]).
spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 31 + N) rem 65536).
down(0) -> spin(20000, 1);
down(N) -> down(N - 1) + 1.
main() -> down(30), main().
EOS
cat >"$tmp/t.rb" <<'EOS'
def spin = 2000.times { |i| i * 31 }
def down(n) = n == 0 ? spin : down(n - 1)
loop { down(30) }
EOS

# is_warm PID: it has used 0.7 s of CPU, all its threads together; by then the loops are compiled. Or it has ended.
is_warm() { ! kill -0 "$1" 2>/dev/null || [ "$(sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 }')" -ge 70 ]; }

# Of 300 samples: how many there are, complete ones with the outermost frame $1 or any, those that end as jit in
# made code, those that lead through made code and those of them with $2 equal return addresses in a row.
count_stacks()
{
	awk -v root="$1" -v equal="$2" '
		/^[^ \t]/ { nr++; end = $NF; made = same = most = 0; pc = ""; next }
		NF { is_made = /\[jit\]|memfd:vmem/; made += is_made; name = $2; sub(/\+0x.*/, "", name)
		     same = is_made && $1 == pc ? same + 1 : is_made
		     pc = $1; most = same > most ? same : most; next }
		{ complete += end == "root" && (root == "" || name == root); jit += end == "jit" && is_made
		  through += made > 0; whole += made > 0 && most == equal }
		END { print nr + 0, complete + 0, jit + 0, through + 0, whole + 0 }' "$tmp/samples"
}

# through PID ROOT EQUAL: 90 % are complete and lead through made code, with all its calls
through()
{
	local nr complete jit made whole
	"$STACKTOP" --format=samples -n 300 -p "$1" >"$tmp/samples" 2>"$tmp/err" || why=$(cat "$tmp/err")
	read -r nr complete jit made whole < <(count_stacks "$2" "$3")
	[ "$nr" = 300 ] && [ "$complete" -ge 270 ] && [ "$made" -ge 240 ] && [ $((complete + jit)) -ge 297 ] &&
		{ [ "$3" = 0 ] || [ "$whole" -ge $((made * 9 / 10)) ]; } && return
	why="of $nr $complete complete, $jit end as jit, $made through made code, $whole with all calls"
	why="$why: $(head -n 50 "$tmp/samples")"
}

# Nearly all of 300 samples are complete: V8 keeps code in node's file without CFI.
through_builtins()
{
	local nr complete
	"$STACKTOP" --format=samples -n 300 -p "$1" >"$tmp/samples" 2>"$tmp/err" || why=$(cat "$tmp/err")
	read -r nr complete < <(awk '/^[^ \t]/ { nr++; complete += $NF == "root" } END { print nr + 0, complete + 0 }' "$tmp/samples")
	[ "$nr" = 300 ] && [ "$complete" -ge 285 ] && grep -q 'Builtins_.*(node)' "$tmp/samples" && return
	why="of $nr $complete complete: $(awk -v RS= '!/: root\n/' "$tmp/samples" | head -n 50)"
}

# expect_through WHAT ROOT EQUAL COMMAND...
expect_through()
{
	local what=$1 root=$2 equal=$3 pid
	shift 3
	(cd "$tmp" && command -v "$1") >/dev/null || { echo "not tested: $what: no $1"; return; }
	(cd "$tmp" && exec "$@") >"$tmp/log" 2>&1 &
	pid=$!
	test_pids="$test_pids $pid"
	if wait_for 60 is_warm $pid && kill -0 $pid 2>/dev/null; then
		look "$what" through $pid "$root" "$equal" && pass "$what"
	else
		fail "$what: it does not run: $(head -n 3 "$tmp/log")"
	fi
	kill -KILL $pid
	wait $pid 2>/dev/null
}

expect_through node _start 30 node --no-turbo-inlining t.js
if command -v node >/dev/null; then
	node "$tmp/builtins.js" &
	pid=$!
	test_pids="$test_pids $pid"
	wait_for 60 is_warm $pid
	look "node's builtins" through_builtins $pid && pass "node's builtins"
	kill -KILL $pid
	wait $pid 2>/dev/null
fi
if command -v javac >/dev/null && javac -d "$tmp" "$tmp/Deep.java" 2>"$tmp/err"; then
	whole='-XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Deep.*'
	# shellcheck disable=SC2086
	{
		expect_through 'java: interpreter' clone3 32 java -cp . -Xint Deep
		expect_through 'java: C2' clone3 30 java -cp . $whole Deep
		expect_through 'java: C2 with frame pointers' clone3 30 \
			java -cp . -XX:+PreserveFramePointer $whole Deep
	}
else
	echo "not tested: java: no javac"
fi
# These keep no calls of the language on the stack.
expect_through luajit _start 0 luajit t.lua
expect_through php _start 0 php -d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=32M -d opcache.jit=tracing t.php
# Erlang's code lies in a memory file and has a stack for each of its processes, with all calls to the process's end; a frame
# pointer is on it or not. What is written in C has another stack, and health says so.
has_erlang() { erl -noshell -eval 'jit = erlang:system_info(emu_flavor), halt().' >"$tmp/err" 2>&1; }
through_erlang()
{
	local nr complete jit made whole elsewhere
	"$STACKTOP" --format=samples -n 300 -p "$1" >"$tmp/samples" 2>"$tmp/err" || why=$(cat "$tmp/err")
	read -r nr complete jit made whole < <(count_stacks "$2" 30)
	elsewhere=$(grep -c ': altstack$' "$tmp/samples")
	[ "$nr" = 300 ] && [ "$complete" -ge 200 ] && [ $((complete + elsewhere)) -ge 297 ] &&
		[ "$whole" -ge $((complete * 9 / 10)) ] && return
	why="of $nr $complete complete, $elsewhere elsewhere, $jit end as jit, $whole with all calls"
	why="$why: $(head -n 50 "$tmp/samples")"
}
expect_erlang()
{
	local what=$1 root=$2 pid
	shift 2
	(cd "$tmp" && exec erl "$@" -noshell -s t main) &
	pid=$!
	test_pids="$test_pids $pid"
	wait_for 60 is_warm $pid
	look "$what" through_erlang $pid "$root" && pass "$what"
	kill -KILL $pid
	wait $pid 2>/dev/null
}
says_where_c_is()
{
	"$STACKTOP" -b --format=json -n 3 -d 0.5 -p "$1" >"$tmp/out" 2>"$tmp/err"
	tail -n 1 "$tmp/out" | jq -e '.health.faults[0] | .object == "beam.smp" and .reason == "altstack" and
		(.remedy | contains("C that Erlang calls"))' >/dev/null ||
		why=$(tail -n 1 "$tmp/out" | jq -c .health.faults; cat "$tmp/err")
}
if command -v jq >/dev/null && has_erlang && (cd "$tmp" && erlc t.erl); then
	expect_erlang erlang '[unknown]'
	expect_erlang 'erlang: with frame pointers' '' +JPperf true
	start erl -noshell -eval 'F = fun(G) -> lists:sum(lists:seq(1, 100000)), G(G) end, F(F).'
	wait_for 20 runs_on "$last_pid"
	look 'erlang: remedy' says_where_c_is "$last_pid" && pass 'erlang: where C code is'
	kill -KILL "$last_pid"
else
	echo "not tested: erlang: no jq, or no erl with a JIT"
fi
ruby --yjit -e '' 2>/dev/null && expect_through ruby _start 0 ruby --yjit t.rb
check "the small JIT is built" "$CC" -O1 -o "$tmp/small" "$top_srcdir/tests/targets/jit.c"
expect_through 'frames that a jitdump tells' _start 0 ./small frames
expect_lines()
{
	"$STACKTOP" -b -n 2 -d 2 --inline --view=tree -p "$1" >"$tmp/out" 2>"$tmp/err"
	grep -q 'jit_caller .*made_up.mu:8$' "$tmp/out" || why=$(cat "$tmp/err" "$tmp/out")
}
expect_untold()
{
	local nr complete jit
	"$STACKTOP" --format=samples -n 300 -p "$1" >"$tmp/samples" 2>"$tmp/err" || why=$(cat "$tmp/err")
	read -r nr complete jit _ < <(count_stacks _start 0)
	[ "$nr" = 300 ] && [ "$complete" = 0 ] && [ "$jit" -ge 297 ] || why="of $nr $complete complete, $jit end as jit"
}
(cd "$tmp" && exec ./small untold) &
test_pids="$test_pids $!"
wait_for 60 is_warm $!
look 'lines that a jitdump tells' expect_lines $! && pass 'lines that a jitdump tells'
look 'the same, not told' expect_untold $! && pass 'the same, not told'
finish
