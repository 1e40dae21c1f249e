#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Code without call-frame information, in a library that calls nothing, below a
# program that never runs itself: its callers are found, live and in recordings.
# What a recording's stack leads to and is not here ends it as what it is, the
# same in every run: no stack of a recording is late.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/chains_lib.sh"
need jq gcc
[ "$(uname -m)" = x86_64 ] || skip 'the library is x86-64 code'
[ -z "${STACKTOP_TEST_NO_SAMPLING:-}" ] || skip 'asked not to sample'

cat >"$tmp/spin.S" <<'EOS'
	.text
	.globl spin
	.type spin, @function
spin:
	push %rbp
	mov %rsp, %rbp
1:	jmp 1b
	.size spin, . - spin
	.globl spin_below
	.type spin_below, @function
spin_below: # as if called from the address in %rdi
	push %rdi
	push $0
	mov %rsp, %rbp
1:	jmp 1b
	.size spin_below, . - spin_below
	.section .note.GNU-stack,"",@progbits
EOS
cat >"$tmp/main.c" <<'EOS'
#include <stdlib.h>
#include <sys/auxv.h>
void spin(void);
void spin_below(unsigned long pc);
__attribute__((noinline)) void outer(void) { spin(); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		spin_below(getauxval(AT_SYSINFO_EHDR) + 0x400);
	outer();
	return 0;
}
EOS
gcc -shared -nostdlib -o "$tmp/libspin.so" "$tmp/spin.S" 2>/dev/null || skip 'gcc cannot build here'
gcc -O1 -fomit-frame-pointer -o "$tmp/assembly" "$tmp/main.c" -L"$tmp" -lspin -Wl,-rpath,"$tmp" 2>/dev/null ||
	skip 'gcc cannot build here'

callers='_start(;.*)?;main;outer;spin$'

# --- live

program=assembly
if "$STACKTOP" -b -n 1 -d 0.2 >"$tmp/probe" 2>&1 && [ "$(id -u)" = 0 ]; then
	live()
	{
		start "$tmp/assembly"
		"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 2 -d 4 -p "$last_pid" >"$tmp/all" 2>"$tmp/err"
		kill -KILL "$last_pid"
		tail -n 1 "$tmp/all" >"$tmp/json"
		has_path "$callers" 90 '^(assembly|libspin.so)$'
	}
	look 'a leaf of assembly, live' live && pass 'a leaf of assembly, live'
else
	echo "not tested: live: sampling is not allowed here"
fi

# --- recordings

# record NAME ARGUMENT...: a few samples of the program
record()
{
	local file=$tmp/$1.data
	shift
	timeout -s KILL 60 perf record -q -e cpu-clock -F 49 --call-graph dwarf -o "$file" \
		timeout 0.5 "$tmp/assembly" "$@" >"$tmp/err" 2>&1
	[ -s "$file" ]
}
# replay WHAT FILE JQ-CONDITION OPTION...: twice, with the same result
replay()
{
	local what=$1 file=$2 condition=$3
	shift 3
	for run in 1 2; do
		timeout 100 "$STACKTOP" -b --format=json --view=tree --min-percent=0 -i "$file" "$@" >"$tmp/json" 2>"$tmp/err" ||
			fail "$what: exit status $?: $(cat "$tmp/err")"
		jq -e "$condition" "$tmp/json" >/dev/null ||
			fail "$what, run $run: $(jq -c '.health | [.samples, .complete, .incomplete]' "$tmp/json")"
	done
	pass "$what"
}

if ! command -v perf >/dev/null || ! record spin || ! record below vdso; then
	echo "not tested: recordings: no perf here, or it is not allowed to record: $(head -n 1 "$tmp/err" 2>/dev/null)"
	finish
fi
replay 'a leaf of assembly, recorded' "$tmp/spin.data" \
	'.health | .samples > 0 and .complete >= .user_stacks * 0.9 and .incomplete.late == null'
why=
has_path "$callers" 90 '^(assembly|libspin.so)$'
[ -z "$why" ] || fail "a leaf of assembly, recorded: $why"

# The program is not there; its library is.
mkdir -p "$tmp/root$tmp"
cp "$tmp/libspin.so" "$tmp/root$tmp/"
replay 'its program is missing' "$tmp/spin.data" \
	'.health | .samples > 0 and .incomplete["no-file"] >= .user_stacks * 0.9 and .incomplete.late == null' \
	--symfs "$tmp/root"

# Of another kernel, which has a vDSO of its own.
release=$(uname -r)
sed "s/$release/$(tr 0-9 98765432100 <<<"$release")/" "$tmp/below.data" >"$tmp/other.data"
replay 'a vDSO of another machine' "$tmp/other.data" \
	'.health | .samples > 0 and .incomplete["no-file"] >= .user_stacks * 0.9 and .incomplete.late == null'
finish
