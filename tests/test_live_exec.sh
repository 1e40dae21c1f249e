#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A program that does nothing but exec itself: a third of its samples come after
# the old program's stack is gone and before the new one's is there. They have no
# user part; no stack is called unreadable, and the others are whole.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

cat >"$tmp/again.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char left[16];

	(void)argc;
	snprintf(left, sizeof(left), "%d", atoi(argv[1]) - 1);
	if (atoi(argv[1]) > 0)
		execl(argv[0], argv[0], left, (char *)NULL);
	return 0;
}
END
gcc -O1 -o "$tmp/again" "$tmp/again.c" || skip "gcc cannot build here"
"$STACKTOP" -b --format=json -n 1 -d 60 -- "$tmp/again" 3000 >"$tmp/json" || fail "exit status $?"
holds() { jq -e "$1" "$tmp/json" >/dev/null; }
holds '.health.samples > 500' || skip 'too busy a machine: hardly a sample'
check "samples in exec have no user part" holds '.health.without_user_part["no-user"] > 0.05 * .health.samples'
check "hardly a stack is unreadable" holds '(.health.incomplete["no-stack"] // 0) < 0.02 * .health.samples'
check "each user stack has one end" \
	holds '.health | .user_stacks == .complete + .live_read + .stitched + ([.incomplete[]] | add // 0)'
[ "$failed" = 0 ] || jq -c .health "$tmp/json"
finish
