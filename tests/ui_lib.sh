# SPDX-License-Identifier: GPL-3.0-or-later
# For the screen tests: ui_fake in a terminal of its own (a private tmux
# server), keys into it, what stands on it. Always waits for a marker, never for
# a time. Sourced by bash scripts.

fake=$(cd "${top_builddir:-.}" && pwd)/tests/ui_fake
work=$(mktemp -d "${TMPDIR:-/tmp}/stacktop-ui.XXXXXX") || exit 99
socket=stacktop-ui-$$-0
nr_servers=0
nr_checks=0
export LC_ALL=C.UTF-8
unset NO_COLOR TMUX

command -v tmux >/dev/null || { echo "skipped: no tmux"; rm -rf "$work"; exit 77; }
[ -x "$fake" ] || { echo "skipped: $fake is not built"; rm -rf "$work"; exit 77; }

mux() { tmux -u -L "$socket" -f /dev/null "$@"; }

finish() {
	mux kill-server 2>/dev/null
	rm -rf "$work" "${TMUX_TMPDIR:-/tmp}/tmux-$(id -u)/stacktop-ui-$$-"*
}
trap finish EXIT

fail() {
	echo "FAILED: $*"
	echo "--- the screen ---"
	mux capture-pane -p 2>/dev/null
	echo "--- commands ---"
	tail -5 "$work/log" 2>/dev/null
	exit 1
}

# begin WIDTHxHEIGHT COMMAND...: run it in a new terminal; its exit status goes
# to status, the terminal's modes before and after it to before and after.
begin() {
	local size=$1
	shift
	# A server that is about to exit would take the new session with it.
	mux kill-server 2>/dev/null
	nr_servers=$((nr_servers + 1))
	socket=stacktop-ui-$$-$nr_servers
	rm -f "$work"/{log,status,before,after,pid}
	: >"$work/log"
	cat >"$work/run.sh" <<-END
		cd '$work'
		stty -g >before
		(sh -c 'echo \$\$ >pid; exec "\$@"' sh $*)
		echo \$? >status
		stty -g >after
		echo END-OF-RUN
		exec sleep 1000
	END
	mux new-session -d -x "${size%x*}" -y "${size#*x}" "exec bash $work/run.sh"
}

# start WIDTHxHEIGHT [OPTION...]: ui_fake, until its first rows are there.
start() {
	local size=$1
	shift
	begin "$size" "$fake" --log "$work/log" "$@"
	see leaf_70
}

screen() { mux capture-pane -p; }
key() { mux send-keys "$@"; }

# until_true WHAT COMMAND...: wait for it, fail after a long time.
until_true() {
	local what=$1 i
	shift
	for ((i = 0; i < 1000; i++)); do
		"$@" 2>/dev/null && { nr_checks=$((nr_checks + 1)); return 0; }
		sleep 0.03
	done
	fail "$what"
}

# Ended; that its new parent may be slow to notice is not our matter.
gone() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	[[ ${stat##*) } == Z* ]]
}

has() { screen | grep -qF -- "$1"; }
has_not() { ! screen | grep -qF -- "$1"; }
see() { until_true "'$1' is not on the screen" has "$1"; }
see_not() { until_true "'$1' is still on the screen" has_not "$1"; }

# The row of the cursor: the reverse one below the tabs.
cursor_line() {
	mux capture-pane -p -e | awk 'NR > 2 && /\033\[([0-9;]*;)?7m/ { print; exit }' |
		sed 's/\x1b\[[0-9;]*m//g'
}
cursor_is() { [[ $(cursor_line) == *"$1"* ]]; }
cursor_on() { until_true "the cursor is not on '$1'" cursor_is "$1"; }

sent() { grep -qxF -- "$1" "$work/log"; }
see_command() { until_true "command '$1' was not sent" sent "$1"; }

ended() { [ -s "$work/status" ] && [ -s "$work/after" ]; }
# The program has left with STATUS and the terminal is as it was.
see_end() {
	until_true "the program has not ended" ended
	[ "$(cat "$work/status")" = "$1" ] || fail "status $(cat "$work/status") instead of $1"
	cmp -s "$work/before" "$work/after" || fail "the terminal's modes are not restored"
	see END-OF-RUN
}
