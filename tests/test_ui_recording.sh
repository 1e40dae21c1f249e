#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The screen over a recording: how far it is read, breaking that off, choosing
# an event, and keys that a recording has no use for.

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
	until_true "no character marks the event under the cursor" eval "screen | grep -q '^> *1001   event-1'"
	key Enter
	see_command 'event 1'
	see_not 'Events of'
	# The list is made anew each time: once the event is shown it has the star.
	until_true "event 1 is not shown" star_has_moved
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

star_has_moved() {
	key v
	see 'Events of'
	has '1001 * event-1' && return
	key Escape
	see_not 'Events of'
	return 1
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
	see 'broken off'
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
	has_not 'freeze' || fail "a key is offered that a recording has no use for"
	refusals
	key q
	see_end 0
	echo "$size: a recording"
done

# Escape and Ctrl-C stop the reading too, the second Ctrl-C the program.
start 80x24 --delay 100 --recording 20000
key Escape
see_command 'stop 0'
see 'broken off'
key Escape
see leaf_70
key q
see_end 0
start 80x24 --delay 100 --recording 20000 --pipe
see 'recorded standard input'
see 'MB so far'
key C-c
see_command 'stop 0'
see 'broken off'
key C-c
see_end 130

# One event, or live: there is nothing to choose.
start 80x24 --delay 100 --recording 1 --events 1
see_not 'Esc:stop'
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

# The real program over recordings made elsewhere.
data=$(realpath -m "${STACKTOP_TEST_DATA:-$top_srcdir/../shared/data}")
if ! [ -e "$data/recordings/perf.data.hw_and_sw-3.4" ]; then
	echo "$nr_checks checks; no recordings to try the real program on"
	exit 0
fi

# refused TEXT KEY...: each key says why it has no effect
refused() {
	local k text=$1
	shift
	for k; do
		key "$k"
		see "$text"
		key Up
		see_not "$text"
	done
}

for size in 80x24 200x50; do
	begin "$size" "$STACKTOP" -i "$data/stacks/vector_static_gcc/perf.data" --symfs "$data/symfs"
	see __cos_fma
	see 'perf.data'
	see 'complete 97.7%'
	refused 'stacks were recorded as dwarf' f d l
	refused 'stack copies' [ ]
	refused 'there is no window' Space z
	key 3
	key E
	see __libc_start_main
	see __hypot_finite
	key w
	key C-u
	key -l "stacktop-$size.folded"
	key Enter
	see "written: stacktop-$size.folded"
	grep -q '^vector_static_gcc_v9.1.0;_start;__libc_start_main;main;__cos_fma [0-9]*$' "$work/stacktop-$size.folded" ||
		fail "folded stacks of a recording: $(head -n 3 "$work/stacktop-$size.folded")"
	key q
	see_end 0

	begin "$size" "$STACKTOP" -i "$data/recordings/perf.data.hw_and_sw-3.4"
	see '98.92'
	see '4734 of 4941 samples are of this event: -e 1 (cycles)'
	see 'v:events'
	refused 'stacks were recorded as fp' f
	refused 'no stack copies' ]
	key v
	see '207   cycles'
	see '4734 * cpu-clock'
	key Home
	key Enter
	see '73.43'
	see_not '98.92'
	see '207 of 4941 samples are of this event: -e 3 (cpu-clock)'
	key q
	see_end 0
done

# A pipe that stays open: what came so far is shown when the reading is stopped.
cat >"$work/pipe.sh" <<-END
	exec 3< <(cat '$data/recordings/perf.data.piped.hw_and_sw-3.4'; exec sleep 1000)
	'$STACKTOP' -i - <&3 3<&-
	status=\$?
	kill \$!
	exit \$status
END
begin 80x24 bash "$work/pipe.sh"
see 'recorded standard input'
see '456 KB so far'
key q
see '4082 of 4275 samples'
see_not 'Esc:stop'
see 'the rest is not shown'
key v
see 'Events of this'
key Home
key Enter
see 'cannot be read again'
key q
see_end 0
echo "$nr_checks checks"
