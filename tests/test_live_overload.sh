#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A rate that takes more than sampling may cost, on CPUs that are busy: it is lowered before it does harm,
# that is said, and stacks are complete and have names. With a given size of the copy it is the same. The
# rate that was asked for comes back only where there is room.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

cat >"$tmp/busy.c" <<'END'
static volatile unsigned long sink;

__attribute__((noinline)) void inner_work(void)
{
	for (int i = 0; i < 100000; i++)
		sink += i;
}

__attribute__((noinline)) void outer_work(void)
{
	inner_work();
	sink++;
}

int main(void)
{
	for (;;)
		outer_work();
}
END
gcc -O1 -fomit-frame-pointer -o "$tmp/busy" "$tmp/busy.c" || skip "gcc cannot build here"
for _ in $(seq $(($(nproc) + 1))); do
	start "$tmp/busy"
done

# Half of the stacks is enough: others use the machine as well, and programs that cannot be unwound. With sanitizers
# stacktop itself may have more than the other half.
own_max=2
! grep -q '^#define SANITIZED' "$top_builddir/config.h" || own_max=1
overloaded()
{
	"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 4 -d 1 "$@" >"$tmp/all" 2>"$tmp/err" || why="exit status $?: $(cat "$tmp/err")"
	tail -n 1 "$tmp/all" >"$tmp/json"
	jq -e '.budget_rate_divisor >= 8 and .freq_asked < 7000 and (.notice | test("budget 5%: 50000 -> [0-9]+ Hz"))' \
		"$tmp/json" >/dev/null || why="not lowered: $(jq -c '[.budget_rate_divisor, .freq_asked, .notice]' "$tmp/json")"
	jq -e '.health | .complete_percent > 50 and .lost * 10 < .samples and .own_samples * '"$own_max"' < .samples' "$tmp/json" >/dev/null ||
		why="not followed: $(jq -c .health "$tmp/json")"
	jq -e 'def nodes: ., (.children[]? | nodes);
		[.tree | nodes | select(.name == "outer_work") | .children[].name] | index("inner_work")' "$tmp/json" >/dev/null ||
		why="inner_work under outer_work is not in the tree"
}

look "a rate that is too high" overloaded -F 50000 && pass "a rate that is too high is lowered"
look "the same with a given size" overloaded -F 50000 --call-graph dwarf,8192 && pass "so it is with a size that was given"

"$STACKTOP" -b -n 1 -d 1 -F 50000 >"$tmp/text" 2>"$tmp/err" || fail "$(cat "$tmp/err")"
check "the header says it" grep -q 'lowered rate/' "$tmp/text"

# Nobody is asked to pay: no budget is in force, and 999 Hz is none that needs one.
"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 1 -d 1 -F 2999 --budget 0 >"$tmp/json" || fail "exit status $?"
check "no budget, nothing is lowered" jq -e '.budget_rate_divisor == 1 and .budget_percent == null and .freq_asked == 2999' "$tmp/json"
finish
