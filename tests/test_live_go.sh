#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Go: functions without a frame, assembly, code on the scheduler's stack, calls to
# and from C, in programs with and without symbols, fixed and moved. Stacks reach
# their goroutine's or thread's first function, or end as what they are: on
# another stack than their caller. Their rows are libdw's.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc go
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the table of functions is read for x86-64 alone'

export GOCACHE=$tmp/cache GO111MODULE=off GOFLAGS='' HOME=$tmp CGO_ENABLED=1
# build NAME OPTION...
build() { go build -o "$tmp/$1" "${@:2}" "$top_srcdir/tests/targets/chains.go" 2>"$tmp/err"; }
build chains || skip "go cannot build here: $(tail -n 1 "$tmp/err")"

. "$top_srcdir/tests/chains_lib.sh"

main='^runtime.goexit[^;]*;runtime.main;main.main;'
expect leaf "${main}main.outer;main.middle;main.leaf$"
expect goroutine '^runtime.goexit[^;]*;main.main.func1;main.outer;main.middle;main.leaf$'
expect moves "${main}main.moves;runtime.memmove$"
expect hashes "${main}main.hashes;crypto/sha256.Sum256;.*crypto/sha256.block[^;]*$"
expect callback "${main}main.roundTrip;.*runtime.cgocall;runtime.systemstack_switch[^;]*;runtime.cgocallback[^;]*;.*goCallback;main.outer;main.middle;main.leaf$"
# The vDSO is called on the scheduler's stack, from the goroutine's.
expect_two()
{
	profile "$1"
	has_path "$2" "$3" "$program"
	jq -e '.health | .samples > 20 and .complete + .incomplete.altstack >= .user_stacks * 0.99' "$tmp/json" \
		>/dev/null || why="incomplete: $(jq -c .health.incomplete "$tmp/json")"
}
elsewhere() { look "$program: $1" expect_two "$@" && pass "$program: $1"; }
elsewhere clocks "${main}main.clocks|^(time.now|runtime.nanotime1|runtime.walltime)" 90
elsewhere garbage '^runtime.(systemstack|gcBgMarkWorker.func2)[^;]*;runtime\.|main.grow;runtime.newobject;|main.grow$' 60
elsewhere switches '^runtime.(mcall|systemstack|morestack|goexit|mstart)[^;]*;(runtime|main)\.' 90
elsewhere c '^runtime.asmcgocall[^;]*;c_calls;c_spin$' 50

# Most of what goes on on the goroutine's stack is completed by the kernel's chain, which is asked for once such stacks
# are seen: the run-time system's work has its callers, with the one that left the goroutine's stack.
joined()
{
	profile garbage -n 8
	has_path "main.grow;runtime.newobject;runtime.mallocgc;.*;runtime.[^;]+;runtime.systemstack[^;]*;runtime" 0.1 "$program"
	jq -e '.health | .joined > 0 and .complete >= .user_stacks * 0.9' "$tmp/json" >/dev/null ||
		why="incomplete: $(jq -c .health "$tmp/json")"
}
look "$program: joined" joined && pass "$program: garbage has its callers"

# Without symbols the same stacks are found by the same table; moved, it is found elsewhere.
bare()
{
	profile "$1"
	jq -e '.health | .samples > 20 and .complete >= .user_stacks * 0.99' "$tmp/json" >/dev/null ||
		why="incomplete: $(jq -c .health "$tmp/json")"
}
program=stripped
build stripped -ldflags='-s -w' && for scenario in leaf hashes; do
	look "stripped: $scenario" bare $scenario && pass "stripped: $scenario"
done
program=pie
build pie -buildmode=pie && {
	expect leaf "${main}main.outer;main.middle;main.leaf$"
	expect callback "${main}main.roundTrip;.*goCallback;main.outer;main.middle;main.leaf$"
}

# Rows and libdw's, made from .debug_frame.
"$top_builddir/tests/test_unwind_rows" "$tmp/chains" >"$tmp/rows" 2>&1 || fail "rows: $(tail -n 12 "$tmp/rows")"
grep -q '[1-9][0-9][0-9][0-9] checked' "$tmp/rows" && pass "$(grep ' checked' "$tmp/rows" | tail -n 1)" ||
	fail "rows: $(tail -n 2 "$tmp/rows")"
finish
