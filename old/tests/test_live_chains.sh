#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Known stacks are shown as they are: calls, alloca, realigned frames,
# callbacks, signals, noreturn calls, PLT, vDSO, threads, longjmp, deep
# recursion, code without CFI, generated code, plugins at reused addresses,
# fork without exec, memory files, deleted files. Each stack reaches its root,
# or ends with the one reason that is right.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

gcc -O1 -g -fno-builtin -fomit-frame-pointer -fno-optimize-sibling-calls -pthread \
	-o "$tmp/chains" "$top_srcdir/tests/targets/chains.c" -ldl || skip "gcc cannot build here"
for p in a b; do
	printf 'void plugin_run(void);\n__attribute__((noinline)) static void in_%s(void)
	{ unsigned long n = 5000; __asm__ volatile("1: sub $1, %%0; jnz 1b" : "+r"(n)); }
	void plugin_run(void) { in_%s(); __asm__ volatile("" ::: "memory"); }\n' $p $p |
		gcc -x c -O1 -fPIC -shared -o "$tmp/plugin_$p.so" - || skip "gcc cannot build a library"
done

# Profile scenario $1 into $tmp/json; more arguments go to stacktop.
profile()
{
	local scenario=$1
	shift
	(cd "$tmp" && exec ./chains "$scenario") &
	scenario_pid=$!
	test_pids="$test_pids $scenario_pid"
	sleep 0.2
	[ "$scenario" != fork ] || scenario_pid=$(pgrep -P "$scenario_pid")
	"$STACKTOP" -b --format=json -n 1 -d 1 -p "$scenario_pid" --call-graph dwarf,65528 "$@" \
		>"$tmp/json" 2>"$tmp/err" || fail "$scenario: $(cat "$tmp/err")"
	kill -KILL "$!" 2>/dev/null
	wait "$!" 2>/dev/null
}

# Share (percent) of the weight whose path, functions of object regex $2 only, is regex $1.
path_share()
{
	jq -r --arg path "$1" --arg object "$2" '. as $doc |
		def kids: if has("continued") then $doc.continued[.continued] else . end | .children[];
		def walk($p): . as $n |
			($p + (if ($n.object // "") | test($object) then [$n.name] else [] end)) as $q |
			(if $n.self > 0 then [$n.self, ($q | join(";"))] else empty end),
			($n | kids | walk($q));
		[.tree | walk([])] | (map(.[0]) | add // 0) as $all |
		(map(select(.[1] | test($path))) | map(.[0]) | add // 0) |
		if $all == 0 then 0 else 100 * . / $all end' "$tmp/json"
}

# expect SCENARIO PATH [MIN%]: most of its stacks are this path and 99 % reach the root (the rest
# may be caught where nobody can tell: in code without CFI that sets up its frame, or while the
# kernel puts the registers of a signal's frame back one after the other)
expect()
{
	local scenario=$1 path=$2 min=${3:-90} object=${4:-chains} share ends
	profile "$scenario"
	share=$(path_share "$path" "$object")
	within "$share" "$min" 100 || fail "$scenario: only $share % are $path: $(path_list)"
	ends=$(jq -c '.health | [.samples > 5, .complete >= .user_stacks * 0.99, .incomplete]' "$tmp/json")
	[[ $ends == '[true,true,'* ]] || fail "$scenario: incomplete: $ends"
	pass "$scenario"
}

path_list()
{
	jq -r 'def walk($p): . as $n | ($p + [$n.name]) as $q |
		(if $n.self > 0 then "\($n.self) \($q | join(";"))" else empty end),
		($n.children[]? | walk($q)); [.tree | walk([])] | .[:4][]' "$tmp/json"
}

# ends SCENARIO REASON: its stacks end with this reason, and it alone
ends()
{
	profile "$1"
	jq -e --arg r "$2" '.health | .samples > 20 and .incomplete[$r] >= .user_stacks * 0.8' \
		"$tmp/json" >/dev/null || fail "$1: not $2: $(jq -c .health.incomplete "$tmp/json")"
	pass "$1 ends with $2"
}

expect calls '^_start;main;calls;calls_b;calls_c;spin$'
expect alloca '^_start;main;with_alloca;spin$'
expect realigned '^_start;main;realigned;spin$'
expect callback '^_start;main;callback;compare;spin$'
expect signal '^_start;main;in_signal;on_usr1;spin$' 70
expect nested '^_start;main;nested_signals;on_usr2;on_usr1;spin$' 70
expect noreturn '^_start;main;ends_in_call;never_returns;spin$'
expect plt '^_start;main;plt_calls' 60
expect vdso '^_start;main;vdso_calls;__vdso_clock_gettime|^_start;main;vdso_calls' 90 'chains|vdso'
expect syscall '^_start;main;system_calls'
expect thread '^thread_main;calls;calls_b;calls_c;spin$'
expect longjmp '^_start;main;long_jumps;jumper;spin$'
expect deep '^_start;main;deep_100(;deep)+;spin$'
expect vfork '^_start;main;vforks' 50
expect no-cfi-fp '^_start;main;no_cfi_fp;asm_with_fp;spin$'
expect fork '^_start;main;forked;calls;calls_b;calls_c;spin$'
expect memfd '^_start;main;calls;calls_b;calls_c;spin$' 90 'memfd'

profile deep --call-graph dwarf,4096
jq -e '.health | .incomplete.truncated > 0.8 * .user_stacks' "$tmp/json" >/dev/null ||
	fail "deep at 4096: not truncated: $(jq -c .health.incomplete "$tmp/json")"
ends altstack altstack
ends no-cfi no-cfi
ends jit jit

# Plugins that take turns at one address keep their own names.
profile plugins
within "$(path_share '^plugin_run;in_[ab]$' plugin)" 50 100 || fail "plugins: $(path_list)"
for p in a b; do
	jq -e --arg o "plugin_$p.so" --arg f "in_$p" '[.functions[] | select(.object == $o)] |
		(map(select(.name == $f)) | length == 1) and
		(map(select(.name | test("^in_") and . != $f)) | length == 0)' "$tmp/json" >/dev/null ||
		fail "plugin_$p: $(jq -c '[.functions[] | select(.object | test("plugin"))]' "$tmp/json")"
done

# A deleted program is still read through the process.
cp "$tmp/chains" "$tmp/gone"
(cd "$tmp" && exec ./gone calls) &
gone_pid=$!
test_pids="$test_pids $gone_pid"
sleep 0.2
rm "$tmp/gone"
"$STACKTOP" -b --format=json -n 1 -d 1 -p $gone_pid >"$tmp/json"
within "$(path_share '^_start;main;calls;calls_b;calls_c;spin$' gone)" 90 100 ||
	fail "deleted program: $(path_list)"

finish
