#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# 32-bit x86 programs on a 64-bit kernel: the same known stacks as of others, through the
# system calls and signal frames of their own vDSO, live and from a recording.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/chains_lib.sh"
need jq
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the programs are x86 code'

source=$top_srcdir/tests/targets/chains.c
flags='-m32 -O1 -g -fno-builtin -fno-optimize-sibling-calls -pthread'
# build PROGRAM OPTION...: sets $program
build()
{
	program=$1
	# shellcheck disable=SC2086
	gcc $flags "${@:2}" -o "$tmp/$1" "$source" -ldl 2>"$tmp/err"
}
build m32 -fomit-frame-pointer || skip "gcc cannot build 32-bit programs: $(head -n 1 "$tmp/err")"
echo 'int main(void) { return 0; }' | gcc -m32 -x c -o "$tmp/runs" - && "$tmp/runs" 2>/dev/null ||
	skip 'this kernel runs no 32-bit programs'

start='^_start(;.*)?;main'
expect calls "$start;calls;calls_b;calls_c;spin\$"
expect realigned "$start;realigned;spin\$"
expect deep "$start;deep_100(;deep)+;spin\$"
expect callback "$start;callback;qsort;.*compare;spin\$" 90 'm32|libc'
expect plt "$start;plt_calls(;abs(@plt)?)?\$" 80 'm32|libc'
# A thread begins in clone, which is a root; new ones are seen in the middle of it.
expect thread '^thread_main;calls;calls_b;calls_c;spin$'
# No task of it runs for long: some kernels hardly sample it.
profile threads
if jq -e '.health.samples > 20' "$tmp/json" >/dev/null; then
	expect threads "$start;new_threads\$|^\$" 90
else
	echo 'not tested: threads: hardly a sample'
fi
# What enters the kernel goes through the vDSO, and so does the return from a signal.
expect syscall "$start;system_calls;getppid;__kernel_vsyscall(;.*)?\$" 70 'm32|libc|vdso'
expect signal "$start;in_signal;__kernel_vsyscall;__kernel_sigreturn;on_usr1;spin\$" 60 'm32|vdso'
expect nested "$start;nested_signals;.*;on_usr2;.*;on_usr1;spin\$" 30 'm32|vdso'
ends altstack altstack 50

# Without any CFI of its own: by frame pointers, to words of 4 bytes after a call.
build m32-nocfi -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-exceptions &&
	expect calls 'main;calls;calls_b;(calls_c;)?spin$'
build m32-static -fomit-frame-pointer -static &&
	expect signal "$start;in_signal;.*on_usr1;spin\$" 60

# By frame pointers: the C library has none, and its function that calls main is where a chain ends.
by_fp()
{
	profile calls --call-graph fp
	# gcc gives a leaf no frame, so the leaf's caller is not in the chain
	has_path 'main;calls;calls_b;(calls_c;)?spin$' 90 m32-fp
	jq -e '.health | .user_stacks > 20 and .complete > .user_stacks * 0.9' "$tmp/json" >/dev/null ||
		why=$(jq -c .health "$tmp/json")
}
build m32-fp -fno-omit-frame-pointer && look m32-fp by_fp && pass m32-fp

# In one recording with a 64-bit program, as perf makes it.
recorded()
{
	program=m32
	local pid32
	start "$tmp/m32" signal
	pid32=$last_pid
	start "$tmp/m64" calls
	wait_for 20 works "$pid32"
	wait_for 20 works "$last_pid"
	perf record -q -F 499 -p "$pid32,$last_pid" --call-graph dwarf,16384 -o "$tmp/data" -- sleep 1 >/dev/null 2>"$tmp/err"
	kill -KILL "$pid32" "$last_pid" 2>/dev/null
	wait "$pid32" "$last_pid" 2>/dev/null
	"$STACKTOP" -b --format=json --view=tree --min-percent=0 -i "$tmp/data" >"$tmp/json" 2>"$tmp/err" || why=$(cat "$tmp/err")
	jq -e '.health | .user_stacks > 20 and .complete > .user_stacks * 0.9' "$tmp/json" >/dev/null ||
		why=$(jq -c .health "$tmp/json")
	jq -r '[.. | objects | select(.object == "m32") | .name] | unique | .[]' "$tmp/json" | grep -qx in_signal ||
		why='no 32-bit stack'
}
if command -v perf >/dev/null; then
	gcc ${flags#-m32} -o "$tmp/m64" "$source" -ldl && look recorded recorded && pass recorded
fi
finish
