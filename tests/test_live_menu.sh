#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# -p without a number: a menu of what runs, narrowed as one types; the process under the cursor is profiled, or none.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux
need_sampling

cp "$(command -v bash)" "$tmp/menu-busy"
cp "$(command -v sleep)" "$tmp/menu-idle"
start "$tmp/menu-busy" -c 'while :; do :; done'
busy=$last_pid
# No process has such a number.
start "$tmp/menu-idle" 9000001
idle=$last_pid
start "$tmp/menu-idle" 9000002

ask='^Which process'
for size in 80x24 60x12 200x50; do
	term_begin "$size" "$STACKTOP" -d 0.5 -p
	see "$ask"
	key -l menu-
	see "^>? *$busy +[0-9.]+ menu-busy"
	see "^>? *$idle +0.0 menu-idle"
	key -l 'idle.*900000(1|3)'
	see_not menu-busy
	see_not 9000002
	see "^>? *$idle +0.0 menu-idle"
	key C-u
	key -l "no such process"
	see 'no process with that in its name'
	key Enter
	see "$ask"
	key C-u
	key -l "$busy"
	see "^> *$busy +[0-9.]+ menu-busy"
	key Enter
	see 'self'
	see "menu-busy"
	[ "$size" = 60x12 ] || see "pid $busy|object"
	key q
	term_end "$size" 0
done

# Another option may follow.
term_begin 80x24 "$STACKTOP" -p -F 99
see "$ask"
key -l "$busy"
see "^> *$busy +[0-9.]+ menu-busy"
key Enter
see ' 99 Hz'
key q
term_end '-p -F 99' 0

# Away from the busiest by a key, and out by Esc, q and a signal.
term_begin 80x24 "$STACKTOP" -p
see "$ask"
key -l 'menu-idle 9000'
key Up
key C-u
key q # nothing is typed
term_end 'q' 0
term_begin 80x24 "$STACKTOP" -p
see "$ask"
key -l xq
see '^process: xq'
key Escape
term_end 'Esc' 0
term_begin 80x24 "$STACKTOP" -p
see "$ask"
key C-c
term_end 'Ctrl-C' 130

"$STACKTOP" -p >"$tmp/out" 2>"$tmp/said"
check 'without a screen it is refused' test $? -eq 2
check 'and that is said' grep -q '^stacktop: -p: PID\[,...\] is missing: a menu of processes is for a screen$' "$tmp/said"
finish
