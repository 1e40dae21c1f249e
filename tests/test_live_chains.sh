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

. "$top_srcdir/tests/chains_lib.sh"

expect calls '^_start;main;calls;calls_b;calls_c;spin$'
expect alloca '^_start;main;with_alloca;spin$'
expect realigned '^_start;main;realigned;spin$'
expect callback '^_start;main;callback;compare;spin$'
expect signal '^_start;main;in_signal;on_usr1;spin$' 70
expect nested '^_start;main;nested_signals;on_usr2;on_usr1;spin$' 50
expect noreturn '^_start;main;ends_in_call;never_returns;spin$'
expect plt '^_start;main;plt_calls' 60
expect vdso '^_start;main;vdso_calls;__vdso_clock_gettime|^_start;main;vdso_calls' 90 'chains|vdso'
bases()
{
	expected bases '^_start;main;bases;base_[a-z0-9]*$'
	jq -e '[.tree | recurse(.children[]?) | select(.self > 0) | .name | select(test("^base_"))] | unique | length == 15' "$tmp/json" >/dev/null ||
		why="not every register: $(jq -c '[.tree | recurse(.children[]?) | .name | select(test("^base_"))]' "$tmp/json")"
}
look 'chains: bases' bases
expect syscall '^_start;main;system_calls'
expect thread '^thread_main;calls;calls_b;calls_c;spin$'
expect longjmp '^_start;main;long_jumps;jumper;spin$'
expect deep '^_start;main;deep_100(;deep)+;spin$'
expect vfork '^_start;main;vforks' 50
expect vfork-child '^_start;main;vfork_child;calls;calls_b;calls_c;spin$'
expect clone '^cloned;calls;calls_b;calls_c;spin$'
expect context '^coroutine;calls;calls_b;calls_c;spin$'
expect no-cfi-fp '^_start;main;no_cfi_fp;asm_with_fp;spin$'
expect no-cfi '^_start;main;no_cfi;asm_without_fp;spin$'
expect no-cfi-kept '^_start;main;no_cfi_kept;asm_kept$'
expect wrong-cfi '^_start;main;wrong_cfi;asm_interpreter;asm_inside$'
expect jit '^_start;main;jit;run_made;\[jit\]$' 90 'chains|jit'
expect fork '^_start;main;forked;calls;calls_b;calls_c;spin$'
expect memfd '^_start;main;calls;calls_b;calls_c;spin$' 90 'memfd'

deep_in_small_copies()
{
	profile deep --call-graph dwarf,4096 --no-complete
	jq -e '.health | .incomplete.truncated > 0.8 * .user_stacks' "$tmp/json" >/dev/null ||
		why="not truncated: $(jq -c .health.incomplete "$tmp/json")"
}
look 'chains: deep at 4096' deep_in_small_copies
# Signals are raised on the stack of main, which takes its time where entering the kernel is dear.
ends altstack altstack 50
ends altstack-nested altstack 50
ends no-cfi-lost no-cfi
ends jit-lost jit

# Plugins that take turns at one address keep their own names.
plugins()
{
	local p
	profile plugins
	has_path '^plugin_run;in_[ab]$' 50 plugin
	for p in a b; do
		jq -e --arg o "plugin_$p.so" --arg f "in_$p" '[.tree | recurse(.children[]?) | select(.object == $o) | .name] |
			unique | index($f) != null and (map(select(test("^in_") and . != $f)) | length == 0)' "$tmp/json" >/dev/null ||
			why="plugin_$p: $(jq -c '[.tree | recurse(.children[]?) | .object | select(test("plugin"))]' "$tmp/json")"
	done
}
look 'chains: plugins' plugins

# A deleted program is still read through the process.
cp "$tmp/chains" "$tmp/gone"
(cd "$tmp" && exec ./gone calls) &
gone_pid=$!
test_pids="$test_pids $gone_pid"
wait_for 20 runs "$gone_pid" "$tmp/gone"
rm "$tmp/gone"
deleted()
{
	"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 2 -d 0.7 -p $gone_pid >"$tmp/all" || why='it fails'
	tail -n 1 "$tmp/all" >"$tmp/json"
	has_path '^_start;main;calls;calls_b;calls_c;spin$' 90 gone
}
look 'deleted program' deleted

finish
