#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The same known stacks in programs of all builds: by gcc and clang, at a fixed
# place, static, static and moved, with another C library whose code has no
# unwind information, and 32-bit programs, which are told to be what they are.

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

# musl's own code has no unwind information: a stack is told up to there, through
# the frame of a signal that its trampoline makes, and is not called complete.
musl()
{
	profile trap
	has_path ';?main;trapped;(__restore_rt;)?on_usr1;spin$' 70 "$program"
	profile calls
	has_path ';?main;calls;calls_b;calls_c;spin$' 90 "$program"
	jq -e '.health | .samples > 20 and .complete + ([.incomplete[]] | add // 0) == .user_stacks' \
		"$tmp/json" >/dev/null || why=$(jq -c .health "$tmp/json")
}
for kind in '' -static; do
	build "musl$kind" musl-gcc $kind || continue
	look "$program" musl && pass "$program"
done

# 32-bit programs are not unwound, and that is the reason told; what runs has its name.
# By frame pointers the kernel's chain is as good as any.
flags=${flags/-fomit/-fno-omit}
m32()
{
	ended calls arch
	jq -e '[.functions[] | select(.object == "m32" and .name == "spin" and .self > 0)] | length == 1' \
		"$tmp/json" >/dev/null || why="no name: $(jq -c '.functions[:5]' "$tmp/json")"
	profile calls --call-graph fp
	# gcc gives a leaf no frame, so the leaf's caller is not in the chain
	has_path 'main;calls;calls_b;(calls_c;)?spin$' 90 m32
}
build m32 gcc -m32 && look m32 m32 && pass m32
finish
