#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The same known stacks in programs of all builds: by gcc and clang, at a fixed
# place, static, static and moved, with another C library whose code has no
# unwind information, and with none at all.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/chains_lib.sh"
need jq
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the programs are x86-64 code'

source=$top_srcdir/tests/targets/chains.c
flags='-O1 -g -fno-builtin -fomit-frame-pointer -fno-optimize-sibling-calls -pthread'
# build PROGRAM COMPILER [OPTION...]: sets $program; false where that cannot be built here
build()
{
	program=$1
	# shellcheck disable=SC2086
	command -v "$2" >/dev/null && "$2" $flags "${@:3}" -o "$tmp/$1" "$source" -ldl 2>/dev/null && return
	echo "not tested: $1: cannot be built here"
	return 1
}

# What every build must show: plain calls, a signal, one frame that is realigned.
expect_chains()
{
	expect calls '^_start(;.*)?;main;calls;calls_b;calls_c;spin$'
	expect trap '^_start(;.*)?;main;trapped;(__restore_rt;)?on_usr1;spin$' 70
	expect realigned '^_start(;.*)?;main;realigned;spin$'
	expect alloca '^_start(;.*)?;main;with_alloca;spin$'
}

build nopie gcc -no-pie && expect_chains
build static gcc -static && {
	expect_chains
	expect callback '^_start(;.*)?;main;callback;.*compare;spin$'
	expect signal '^_start(;.*)?;main;in_signal;.*on_usr1;spin$' 70
}
build static-pie gcc -static-pie && {
	expect_chains
	expect callback '^_start(;.*)?;main;callback;.*compare;spin$'
}
build clang clang -fno-pie -no-pie && expect_chains
build clang-pie clang -fPIE -pie && expect_chains
# What is not where its address says: the linker puts code, data and headers into pages of their own.
build separate gcc -Wl,-z,separate-code -Wl,-Ttext-segment=0x10000000 -no-pie && expect_chains
build lld clang -fuse-ld=lld -fPIE -pie && expect_chains

# By frame pointers: the C library has none, and its function that calls main is where a chain ends.
by_fp()
{
	profile calls --call-graph fp
	has_path '(^|;)main;calls;calls_b;(calls_c;)?spin$' 90 "$program"
	jq -e '.health | .user_stacks > 20 and .complete > .user_stacks * 0.9' "$tmp/json" >/dev/null ||
		why=$(jq -c .health "$tmp/json")
}
with_fp=${flags/-fomit/-fno-omit}
for kind in gcc 'gcc -static' 'musl-gcc -static'; do
	flags=$with_fp build "fp-${kind// /}" $kind || continue
	look "$program" by_fp && pass "$program"
done

# Without unwind information: musl's own code, of which only the frame of a signal is known, and
# programs, as those of Rust are with panic=abort. What the code does to return tells its frames.
# With -g they would have .debug_frame.
without="-O2 -g0 -fno-asynchronous-unwind-tables -fno-unwind-tables"
for kind in '' -static; do
	build "musl$kind" musl-gcc $kind || continue
	expect calls '(^|;)main;calls;calls_b;calls_c;spin$'
	expect trap '(^|;)main;trapped;(__restore_rt;)?on_usr1;spin$' 70
done
# Rust with panic=abort, whose own code has frame information where the compiler still writes some, or none; its library has.
for kind in '' no; do
	program=rust-abort-tables-${kind:-as-is}
	if ! { command -v rustc >/dev/null && rustc -O -C panic=abort ${kind:+-C force-unwind-tables=no} -o "$tmp/$program" \
		"$top_srcdir/tests/targets/chains.rs"; } >"$tmp/err" 2>&1; then
		echo "not tested: $program: cannot be built here: $(head -n 1 "$tmp/err")"
		continue
	fi
	in_main='(^|;)main;(.*;)?[a-z_]*::main;'
	expect calls "${in_main}(.*::)?calls;[^;]*calls_b;[^;]*calls_c;[^;]*spin$"
	expect callback "${in_main}[^;]*callback;.*calls;[^;]*calls_b;[^;]*calls_c;[^;]*spin$"
	expect thread 'thread_start;.*;[^;]*calls;[^;]*calls_b;[^;]*calls_c;[^;]*spin$'
	expect endless 'thread_start;.*;[^;]*calls;[^;]*calls_b;[^;]*calls_c;[^;]*spin$'
done
# shellcheck disable=SC2086
build without gcc $without -fno-ipa-stack-alignment && {
	expect_chains
	expect endless '(^|;)main;endless;calls;calls_b;calls_c;spin$'
	expect callback '^_start(;.*)?;main;callback;.*compare;spin$'
	expect thread '(^|;)thread_main;calls;calls_b;calls_c;spin$'
}
# Called with the stack not aligned, where gcc knows what the callee needs.
# shellcheck disable=SC2086
build without-alignment gcc $without && {
	expect_chains
	expect callback '^_start(;.*)?;main;callback;.*compare;spin$'
	ends noreturn no-cfi
}
# Functions that begin anywhere: one without a frame is known by the call that leads to it.
# shellcheck disable=SC2086
build without-room gcc $without -Os && {
	expect calls '^_start(;.*)?;main;calls;calls_b;calls_c;spin$'
	ends noreturn no-cfi
}
# shellcheck disable=SC2086
build musl-without musl-gcc -static $without -fno-ipa-stack-alignment && {
	expect endless '(^|;)main;endless;calls;calls_b;calls_c;spin$'
	expect trap '(^|;)main;trapped;(__restore_rt;)?on_usr1;spin$' 70
	expect calls '(^|;)main;calls;calls_b;calls_c;spin$'
	expect callback '(^|;)main;callback;.*compare;spin$'
	expect thread '(^|;)thread_main;calls;calls_b;calls_c;spin$'
}
finish
