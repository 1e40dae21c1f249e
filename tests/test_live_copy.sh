#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The size of the stack copy, when none is given: stacks of 50 KB are whole from the first second on, it
# comes down for shallow ones and goes up again for those that come after them, and nothing is
# lost meanwhile. One that is given stays.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

# turns SHALLOW_S DEEP_S: busy on a shallow stack for so many seconds, then on one of 50 KB.
cat >"$tmp/turns.c" <<'END'
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void spin(int seconds)
{
	for (time_t end = time(NULL) + seconds; time(NULL) < end;)
		for (int i = 0; i < 100000; i++)
			sink += i;
}

__attribute__((noinline)) static void level(int left, int seconds)
{
	volatile char frame[480];

	frame[0] = 1;
	if (left > 0)
		level(left - 1, seconds);
	else
		spin(seconds);
	frame[1] = frame[0];
}

int main(int argc, char **argv)
{
	(void)argc;
	spin(atoi(argv[1]));
	level(100, atoi(argv[2]));
	return 0;
}
END
gcc -O1 -fomit-frame-pointer -o "$tmp/turns" "$tmp/turns.c" || skip "gcc cannot build here"

# look_at SHALLOW_S DEEP_S WANTED OPTION...: the last picture of such a run holds WANTED. With sanitizers all costs
# several times as much: no budget may take a part in it.
look_at()
{
	local shallow=$1 deep=$2 wanted=$3
	shift 3
	for _ in 1 2 3; do
		"$STACKTOP" -b --format=json -d 1 --budget 0 "$@" -- "$tmp/turns" "$shallow" "$deep" >"$tmp/all" ||
			fail "exit status $?"
		tail -n 1 "$tmp/all" >"$tmp/json"
		jq -e "$wanted" "$tmp/json" >/dev/null && return 0
	done
	jq -c '[.stack_bytes, .stack_bytes_auto, .notice, .health]' "$tmp/json"
	return 1
}

whole='(.health | .lost == 0 and .dropped == 0 and .complete > 0.98 * .user_stacks)'
check "deep stacks are whole from the start" look_at 0 4 \
	"$whole and .stack_bytes_auto and .stack_bytes == 65528 and
	 [.health.stack_sizes[].reason] == [\"start\"]"
check "it comes down and goes up again" look_at 14 6 \
	".health.lost == 0 and .health.dropped == 0 and .stack_bytes == 65528 and
	 [.health.stack_sizes[].reason] == [\"start\", \"enough\", \"cut\"] and
	 .health.stack_sizes[1].bytes <= 8192 and .health.complete > 0.8 * .health.user_stacks"
check "what is given stays" look_at 0 4 \
	'.stack_bytes == 8192 and (.stack_bytes_auto | not) and .health.stack_sizes_ever == 1 and
	 .health.complete < 0.2 * .health.user_stacks' --call-graph dwarf,8192
finish
