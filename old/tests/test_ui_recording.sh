#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The screen over a recording: how far it is read, breaking that off, choosing
# an event, and keys that a recording cannot obey.

. "${top_srcdir:-.}/tests/ui_lib.sh"

events() {
	key v
	see 'Events of this recording'
	see '1000 * event-0'
	see 'event-2'
	key Down
	key Down
	key Down # stays at the last one
	key Up
	key Enter
	see_command 'event 1'
	see_not 'Events of'
	key v
	see '1001 * event-1'
	# The one that is shown is not asked for again; other keys go back.
	key Enter
	see_not 'Events of'
	key v
	see 'Events of'
	key End
	key q
	see_not 'Events of'
	[ "$(grep -c '^event' "$work/log")" -eq 1 ] || fail "an event was asked for twice"
}

refusals() {
	local k
	for k in f ] [ Space z; do
		key "$k"
		see 'a recording is shown whole'
		key Up
		see_not 'a recording is shown whole'
	done
	see_not FROZEN
	[ "$(grep -cE '^(mode|stack_bytes|freeze|zero) ' "$work/log")" -eq 5 ] ||
		fail "a key was not answered by the engine"
}

for size in 80x24 200x50 40x10; do
	# While it is read.
	start "$size" --delay 100 --recording 20000 --events 3
	see 'reading'
	if [ "$size" = 40x10 ]; then
		see 'min left  Esc:stop'
	else
		see 'recorded perf.data'
		see '[....'
		see 'of 20.0 GB'
		see 'min left  Esc:stop'
	fi
	has_not 'live' || fail "a recording is not live"
	events
	key q
	see_command 'stop 0'
	see 'reading was stopped'
	see_not 'Esc:stop'
	see leaf_70
	has_not FROZEN || fail "frozen by stopping"
	key q
	see_end 0

	# When it is read.
	start "$size" --delay 100 --recording 2 --events 3 --trouble
	see_not 'reading'
	see 'cut in the middle of a record'
	[ "$size" = 40x10 ] || see 'v:events'
	has_not 'freeze' || fail "a key is offered that a recording cannot obey"
	refusals
	key q
	see_end 0
	echo "$size: a recording"
done

# Escape and Ctrl-C stop the reading too, the second Ctrl-C the program.
start 80x24 --delay 100 --recording 20000
key Escape
see_command 'stop 0'
see 'only the first'
key Escape
see leaf_70
key q
see_end 0
start 80x24 --delay 100 --recording 20000 --pipe
see 'recorded pipe'
see 'MB so far'
key C-c
see_command 'stop 0'
see 'reading was stopped after'
key C-c
see_end 130

# One event, or live: there is nothing to choose.
start 80x24 --delay 100 --recording 1 --events 1
key v
see 'there is one event only: event-0'
key q
see_end 0
start 80x24 --delay 100
key v
see 'there is one event only: cpu-clock'
see_not 'v:events'
key q
see_end 0
echo "$nr_checks checks"
