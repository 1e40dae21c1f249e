#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The real program on a real terminal with a busy command behind it: first rows, modes, the write
# key, and that nothing is left running and the terminal is whole whatever way it ends.
set -u

"$top_builddir/tests/have_perf" all || exit 77
# shellcheck source=tests/ui_lib.sh
. "$top_srcdir/tests/ui_lib.sh"

cat >"$work/busy.sh" <<'END'
echo $$ >busy.pid
echo written-to-the-terminal
while :; do :; done
END

busy() { ! gone "$(cat "$work/busy.pid")"; }
not_busy() { ! busy; }
# No process of this stacktop is left (its main process has had the pid in the file).
none_left() { ! pgrep -s "$(cat "$work/pid")" && gone "$(cat "$work/pid")"; }

start_real() {
	local size=$1
	shift
	rm -f "$work/busy.pid"
	begin "$size" "$STACKTOP" "$@" -- sh busy.sh
	see complete
	until_true "the command does not run" busy
	until_true "the command is not in the profile" has_row
}

has_row() { screen | tail -n +3 | grep -qE '(dash|bash|busybox|libc)'; }
first_line_tells() { screen | head -n 1 | grep -q "$1"; }
is_restored() { [ "$(stty -g -F "$(mux display-message -p '#{pane_tty}')")" = "$(cat "$work/before")" ]; }
report() { ls "$work"/stacktop-*.txt; }
asked_name() { has '.txt'; }

for size in 80x24 200x50 40x10; do
	start_real $size -d 0.3
	for word in complete lost drop cost; do
		[ $size = 40x10 ] || until_true "$size: the first line does not tell $word" first_line_tells $word
	done
	see_not written-to-the-terminal
	key 3
	see tree
	key q
	see_end 0
	until_true "the command outlives the screen" not_busy
done

# Modes: fp and back; lbr or the reason why not.
start_real 100x24 -d 0.3
key f
until_true "no fp mode" eval 'screen | head -n 1 | grep -qw fp'
key d
until_true "no dwarf mode" eval 'screen | head -n 1 | grep -qw dwarf'
until_true "rows after a switch" has_row

# The write key: offered name, whole, private, and not over another file.
key w
until_true "no name is offered" asked_name
key Enter
until_true "no report" report
see written
file=$(report)
[ "$(stat -c %a "$file")" = 600 ] || fail "report's mode: $(stat -c %a "$file")"
grep -q '^whole run: lost' "$file" || fail "the report has no health lines"
grep -qE '(dash|bash|busybox|libc)' "$file" || fail "the report has no rows"
echo keep >"$work/stacktop-taken.txt"
key w
until_true "no name is offered" asked_name
key C-u
key -l stacktop-taken.txt
key Enter
see "stacktop-taken.txt exists already"
[ "$(cat "$work/stacktop-taken.txt")" = keep ] || fail "a file was overwritten"

# Signals end everything and restore the terminal.
kill -HUP "$(cat "$work/pid")"
see_end 129
until_true "the command outlives SIGHUP" not_busy
until_true "processes are left after SIGHUP" none_left
start_real 80x24 -d 0.3
kill -KILL "$(cat "$work/pid")"
# Its guard restores the terminal just after; "after" may have been taken before that.
until_true "the program has not ended" ended
[ "$(cat "$work/status")" = 137 ] || fail "killed: status $(cat "$work/status")"
until_true "the terminal's modes are not restored" is_restored
until_true "the command outlives a killed stacktop" not_busy
until_true "processes are left after SIGKILL" none_left

# A command that cannot be found: a message, no screen.
begin 80x24 "$STACKTOP" -- no-such-command-here
see_end 127
see 'no-such-command-here: command not found'
echo "$nr_checks checks"
