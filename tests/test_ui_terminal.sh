#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The terminal: every size, poor terminals, and every way out. However the
# program ends, the terminal's modes are compared with those before.

. "${top_srcdir:-.}/tests/ui_lib.sh"

pid() { cat "$work/pid"; }
styled() { mux capture-pane -p -e; }
size_is() { [ "$(mux display-message -p '#{pane_width}x#{pane_height}')" = "$1" ]; }
is_alive() { kill -0 "$(pid)" 2>/dev/null; }
state_is() { [[ $(sed 's/.*) //' "/proc/$(pid)/stat" 2>/dev/null) == "$1"* ]]; }
second_of() { pgrep -P "$(guard_of "$1")" -x stacktop-guard2; }
guard_of() { pgrep -P "$1" -x stacktop-guard; }

# A storm of sizes, each redrawn or overtaken by the next, with keys between.
resizing() {
	local w h
	start 80x24 --delay 100 --notice --moves
	for w in 1 2 3 7 20 39 80 133 200 500; do
		for h in 1 2 3 4 5 6 7 8 24 50 200; do
			mux resize-window -x "$w" -y "$h"
			key Down Tab E
		done
		until_true "no size $w" size_is "${w}x200"
		is_alive || fail "died at width $w"
	done
	mux resize-window -x 500 -y 200
	key '?'
	see 'the keys and what'
	mux resize-window -x 1 -y 1
	key q w
	mux resize-window -x 3 -y 20
	key Escape 1 Escape C
	mux resize-window -x 80 -y 24
	see 'leaf_70'
	see 'q:quit'
	key q
	see_end 0
}

# At 80x24 the four counters stand in the first line, whatever their size.
counters() {
	start 80x24 --lost --notice
	for word in 'complete 99.0%' 'lost 123' 'drop 45' 'cost 0.6%'; do
		screen | head -1 | grep -qF "$word" || fail "no '$word' in the first line"
	done
	see 'kernel.kptr_restrict=0'
	# Loss is in another colour, and the hottest function too.
	styled | head -1 | grep -qE $'\033\\[[0-9;]*7[0-9;]*m[^\033]*lost 123' ||
		styled | head -1 | grep -q $'\033\\[3[0-9;]*m.*lost' || fail "loss looks like anything else"
	styled | grep -q $'\033\\[[0-9;]*31[0-9;]*m' || fail "no colour"
	key q
	see_end 0
}

# Without its looks: a character before the row of the cursor, the view, the flame graph's cell.
marks() { screen | grep -qE -- "$1"; }
see_mark() { until_true "nothing but its look marks $1" marks "$2"; }

poor_terminals() {
	local esc=$'\033'

	local how
	for how in NO_COLOR=1 --no-color; do
		if [ "$how" = --no-color ]; then
			begin 80x24 "$fake" --log "$work/log" --lost --no-color
		else
			begin 80x24 env "$how" "$fake" --log "$work/log" --lost
		fi
		see leaf_70
		styled | grep -qE "$esc\\[([0-9;]*;)?(3[1-7]|4[1-7])m" && fail "colour in spite of $how"
		styled | grep -qE "$esc\\[([0-9;]*;)?7m" || fail "nothing marks the row of the cursor"
		see_mark 'the view' '^>1 Functions 2 '
		see_mark 'the cursor' '^>[0-9. ]+ leaf_70'
		key Down
		see_mark 'the cursor' '^>[0-9. ]+ leaf_20'
		key 6
		see_mark 'the cursor' '^>[~0-9. ]+ program'
		key 7
		see_mark 'the cursor' '^> +now +in all '
		key 5
		see_mark 'the cell' '^>all'
		key Up
		see_mark 'the cell' '^>_start'
		key 1
		key c C-u
		key -l object
		key Enter
		see_mark 'the cursor' '^>[a-z_0-9]+ +program'
		key q
		see_end 0
	done

	# What colours say is said without: of the kernel's cells in a flame graph, and those found.
	begin 250x50 env NO_COLOR=1 "$fake" --log "$work/log"
	see leaf_70
	key 5
	see 'nf_h'
	see 'nf_hk'
	key /
	key -l nf_h
	key Enter
	see 'nf_h*'
	key q
	see_end 0

	# On a light background nothing is yellow or cyan.
	begin 80x24 "$fake" --log "$work/log" --lost --notice --theme light
	see leaf_70
	styled | grep -qE "$esc\\[([0-9;]*;)?3[36]m" && fail "yellow or cyan on a light background"
	styled | grep -qE "$esc\\[([0-9;]*;)?34m" || fail "no blue on a light background"
	key q
	see_end 0

	begin 80x24 env TERM=vt100 "$fake" --log "$work/log" --lost
	see leaf_70
	styled | grep -qE "$esc\\[([0-9;]*;)?(3[1-7]|4[1-7])m" && fail "colour on a vt100"
	key Down
	cursor_on leaf_20
	key q
	see_end 0

	# Not one byte that is not ASCII, and the tree is drawn all the same.
	begin 80x24 env LC_ALL=C "$fake" --log "$work/log"
	see leaf_70
	key 3
	see '|-'
	see '??????????????'
	key E
	see 'nf_hook'
	screen | LC_ALL=C grep -q '[^ -~]' && fail "not ASCII in the C locale"
	key q
	see_end 0

	for term in '' no-such-terminal; do
		begin 80x24 env TERM="'$term'" "$fake"
		see 'is unknown'
		see 'use --batch'
		see_end 1
	done
	begin 80x24 env TERM=dumb "$fake"
	see "cannot place its cursor"
	see_end 1
}

# Without an answer from the engine keys are handled all the same.
silent_engine() {
	begin 80x24 "$fake" --silent --log "$work/log"
	see 'collecting ...'
	key 2 3 k e E n w Enter Space
	key '?'
	see 'the keys and what'
	key q
	see_not 'the keys and what'
	key q
	see_end 0
	begin 80x24 "$fake" --empty 40 --log "$work/log"
	see 'collecting ...'
	see leaf_70
	key q
	see_end 0
	start 80x24 --over
	see 'q leaves'
	key q
	see_end 0
}

# in_shell LINE...: the program as a job of a shell that has job control, stopped by Ctrl-Z, and what
# the shell does then. It starts in the foreground: out of the background it would set its modes
# before fg has noted the shell's own (tmux has the signal ignored that would stop it there).
in_shell() {
	{
		printf '%s\n' "sh -c 'echo \$\$ >pid; exec $fake'" 'echo STOPPED' "$@"
	} >"$work/shell.sh"
	begin 80x24 bash -m "$work/shell.sh"
	see leaf_70
	key C-z
}

stopping() {
	in_shell 'stty -g >stopped' 'echo NOTED' 'read word' 'fg >/dev/null'
	see STOPPED
	see NOTED
	state_is T || fail "not stopped"
	cmp -s "$work/before" "$work/stopped" || fail "stopped, but the modes are not restored"
	see_not leaf_70
	key Enter
	see leaf_70
	key Down
	cursor_on leaf_20
	key q
	see_end 0
	# A shell ends a stopped job by the signal and SIGCONT, and keeps the terminal.
	# shellcheck disable=SC2016
	in_shell 'kill %1' 'status=148' \
		'while [ $status = 148 ]; do wait $(cat pid); status=$?; done' 'exit $status'
	see_end 143
	# Stopped from outside, without a chance to restore anything.
	start 80x24
	key Down
	cursor_on leaf_20
	kill -STOP "$(pid)"
	until_true "not stopped" state_is T
	kill -CONT "$(pid)"
	key Up
	cursor_on leaf_70
	key q
	see_end 0
}

signals() {
	local signal

	for signal in HUP:129 INT:130 QUIT:131 TERM:143; do
		start 80x24
		kill -"${signal%:*}" "$(pid)"
		see_end "${signal#*:}"
	done
}

crashes() {
	local signal guard second

	for signal in ABRT:134 SEGV:139; do
		# A sanitizer keeps SIGSEGV for itself.
		[ $signal = SEGV:139 ] && grep -q '^#define SANITIZED' "$top_builddir/config.h" &&
			continue
		start 80x24
		kill -"${signal%:*}" "$(pid)"
		see_end "${signal#*:}"
		see 'please report'
	done
	start 80x24
	until_true "no guard" guard_of "$(pid)" >/dev/null
	guard=$(guard_of "$(pid)")
	kill -KILL "$(pid)"
	until_true "the guard outlives the program" gone "$guard"
	until_true "the terminal's modes are not restored" modes_are_back
	until_true "the screen from before is not back" screen_is_back
	until_true "the program has not ended" ended
	[ "$(cat "$work/status")" = 137 ] || fail "status $(cat "$work/status")"

	# Both at once: a second guard is left.
	start 80x24
	until_true "no second guard" second_of "$(pid)" >/dev/null
	guard=$(second_of "$(pid)")
	kill -STOP "$guard"
	kill -KILL "$(guard_of "$(pid)")" "$(pid)"
	until_true "the second guard stays" gone "$guard"
	until_true "the terminal's modes are not restored by it" modes_are_back
	until_true "the screen from before is not brought back by it" screen_is_back
	until_true "the program has not ended" ended

	# The guard leaves with the program, and the program does without it.
	start 80x24
	until_true "no guard" guard_of "$(pid)" >/dev/null
	guard=$(guard_of "$(pid)")
	kill -KILL "$guard"
	key Down
	cursor_on leaf_20
	key q
	see_end 0
	start 80x24
	until_true "no guard" guard_of "$(pid)" >/dev/null
	guard=$(guard_of "$(pid)")
	second=$(second_of "$(pid)")
	key q
	see_end 0
	until_true "the guard is still there" gone "$guard"
	until_true "the second guard is still there" gone "$second"
}

# Now: the guard and the program's parent learn of its end at the same time, and what the parent
# writes before the guard has brought back the screen is not seen there.
modes_are_back() {
	[ "$(stty -g -F "$(mux display-message -p '#{pane_tty}')")" = "$(cat "$work/before")" ]
}
screen_is_back() { [ "$(mux display-message -p '#{alternate_on}')" = 0 ]; }

# The terminal goes away without a signal to us.
hangup() {
	local pid guard

	start 80x24
	pid=$(pid)
	until_true "no guard" guard_of "$pid" >/dev/null
	guard=$(guard_of "$pid")
	mux kill-server
	until_true "it runs on without a terminal" gone "$pid"
	until_true "the guard runs on without a terminal" gone "$guard"
}

# Where nothing changes, (nearly) nothing is written.
at_rest() {
	local before after first

	start 80x24 --delay 100
	mux pipe-pane -o "cat >>'$work/bytes'"
	key Down
	cursor_on leaf_20
	until_true "no more snapshots" enough_snapshots 20
	before=$(stat -c %s "$work/bytes")
	until_true "no more snapshots" enough_snapshots 60
	after=$(stat -c %s "$work/bytes")
	[ $((after - before)) -lt 1000 ] || fail "$((after - before)) bytes for 40 equal screens"
	key q
	see_end 0
	# Where every figure changes, a screen of 80x24 takes less than a kilobyte.
	start 80x24 --delay 100 --noise
	mux pipe-pane -o "cat >>'$work/noise'"
	until_true "no more snapshots" enough_snapshots 20
	first=$(snapshots)
	before=$(stat -c %s "$work/noise")
	until_true "no more snapshots" enough_snapshots $((first + 40))
	after=$(stat -c %s "$work/noise")
	# What the pipe still held of earlier ones is no more than a few.
	[ $((after - before)) -lt $((($(snapshots) - first + 5) * 1000)) ] ||
		fail "$((after - before)) bytes for $(($(snapshots) - first)) screens"
	key q
	see_end 0
}
snapshots() { grep -c '^snapshot' "$work/log"; }
enough_snapshots() { [ "$(snapshots)" -ge "$1" ]; }

resizing
counters
poor_terminals
silent_engine
stopping
signals
crashes
hangup
at_rest
echo "$nr_checks checks"
