#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A program whose unwind information never ends, a thousand frames deep: it is
# named, its stacks end early, the others are as they were, and stacktop lives.
# A real-time thread that does not rest loses its priority, and that is told.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the program is x86-64 code'
id=x$$ # in the names of the programs: other tests run at the same time

# All 15 registers by expressions that jump to themselves.
cat >"$tmp/hostile.S" <<'EOS'
	.text
	.globl hostile
	.type hostile, @function
hostile:
	.cfi_startproc
	.irp reg, 0,1,2,3,4,5,6,8,9,10,11,12,13,14,15
	.cfi_escape 0x10, \reg, 3, 0x2f, 0xfd, 0xff
	.endr
	dec %edi
	jz 1f
	call hostile
1:	jmp 1b
	.cfi_endproc
	.size hostile, . - hostile
	.section .note.GNU-stack,"",@progbits
EOS
cat >"$tmp/main.c" <<'EOS'
void hostile(int levels);
int main(void) { hostile(1000); return 0; }
EOS
cat >"$tmp/honest.c" <<'EOS'
#include <unistd.h>
__attribute__((noinline)) void in_honest(void) { for (volatile unsigned n = 0; n < 2000000; n++) ; }
int main(void) { for (;;) { in_honest(); usleep(5000); } }
EOS
gcc -O1 -o "$tmp/$id-hostile" "$tmp/main.c" "$tmp/hostile.S" 2>/dev/null || skip 'gcc cannot build here'
gcc -O1 -o "$tmp/$id-honest" "$tmp/honest.c" || skip 'gcc cannot build here'
start "$tmp/$id-honest"
for _ in $(seq "$(nproc)"); do
	start "$tmp/$id-hostile"
done

# says JQ-EXPRESSION WHAT: of the last picture
says() { tail -n 1 "$tmp/json" | jq -e "$1" >/dev/null || why="$2: $(tail -n 1 "$tmp/json" | jq -c '[.notice, .health, .functions[:5]]')"; }
never_ending()
{
	local status=0
	"$STACKTOP" -b --format=json -n 12 -d 1 >"$tmp/json" 2>"$tmp/err" || status=$?
	[ $status = 0 ] || fail "stacktop ended with status $status: $(cat "$tmp/err")"
	[ "$(wc -l <"$tmp/json")" = 12 ] || fail "$(wc -l <"$tmp/json") pictures instead of 12"
	says '.health.incomplete.expensive > 0' 'no stack is told to be expensive'
	says '.health.incomplete["bad-cfi"] == null' 'what is expensive is told to be bad'
	says '.health.modules_expensive >= 1' 'the file is not counted'
	says ".notice | test(\"stacks end early in .*$id-hostile.*: its unwind information takes too long\")" 'the file is not named'
	says "[.functions[] | select(.object == \"$id-honest\" and .name == \"in_honest\" and .self > 0)] | length == 1" \
		'another program is not in the profile'
}
look 'unwind information that never ends' never_ending
[ "$failed" = 0 ] && pass 'unwind information that never ends'

# --- the limit of real time, down to a tick

# Pictures of the stacktop before must not be taken for those of the next: whoever starts one empties $tmp/json.
has_pictures() { [ "$(wc -l <"$tmp/json")" -ge "$1" ]; }
is_realtime() { ps -L -o cls= -p "$main" | grep -q RR; }
begin() { # LIMIT in microseconds, OPTION...
	: >"$tmp/json"
	(
		ulimit -S -R "$1"
		shift
		exec "$STACKTOP" -b --format=json -d 0.5 "$@" >"$tmp/json" 2>"$tmp/err"
	) &
	main=$!
	test_pids="$test_pids $main"
	wait_for 20 has_pictures 1 || fail "no picture: $(cat "$tmp/err")"
}
begin 5000000
if is_realtime; then
	kill -KILL "$main"
	# What the rings have collected while it stood still is worked on without a rest, and must take
	# longer than two ticks: many samples, of which the rings hold a second.
	begin 1 -F 20000 --budget 0 --call-graph fp
	told()
	{
		kill -STOP "$main"
		sleep 1
		kill -CONT "$main"
		sleep 0.5
		tail -n 2 "$tmp/json" | grep '}$' | tail -n 1 |
			jq -e '.notice | test("no real-time priority any more")' >/dev/null 2>&1
	}
	wait_for 60 told || fail "a lost priority is not told: $(tail -n 1 "$tmp/json" | jq -c .notice)"
	is_realtime && fail 'the runaway has its priority still'
	seen=$(wc -l <"$tmp/json")
	wait_for 20 has_pictures $((seen + 2)) || fail 'no picture without real time'
	[ "$failed" = 0 ] && pass 'the limit of real time'
	kill -KILL "$main"

	# Where the hard limit, which kills, leaves no room for a warning there is no real time.
	for limit in 600000 60000000; do
		: >"$tmp/json"
		(
			ulimit -R $limit
			exec "$STACKTOP" -b --format=json -d 0.5 >"$tmp/json" 2>"$tmp/err"
		) &
		main=$!
		test_pids="$test_pids $main"
		wait_for 20 has_pictures 2 || fail "no picture: $(cat "$tmp/err")"
		if is_realtime; then echo real-time; else echo normal; fi
		kill -KILL "$main"
	done >"$tmp/classes"
	[ "$(tr '\n' ' ' <"$tmp/classes")" = 'normal real-time ' ] || fail "below hard limits: $(cat "$tmp/classes")"
	[ "$failed" = 0 ] && pass 'a hard limit of real time'
else
	echo 'not tested: the limit of real time: none is given here'
fi
finish
