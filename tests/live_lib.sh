# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of the whole program on a real screen and of its processes. Source
# it after lib.sh. The terminal is one of a private tmux server; what runs in it
# is told by files in $tmp/term: pid, status, before and after (stty -g).
# shellcheck shell=bash disable=SC2154

term=$tmp/term
tmux_socket=stacktop-live-$$-0
nr_terms=0

mux() { tmux -u -L "$tmux_socket" -f /dev/null "$@"; }

live_cleanup()
{
	mux kill-server 2>/dev/null
	rm -f "${TMUX_TMPDIR:-/tmp}/tmux-$(id -u)/stacktop-live-$$-"*
	cleanup
}
trap live_cleanup EXIT

# A user of this machine that is neither root nor nobody: "name uid gid", or nothing.
other_user() { getent passwd | awk -F: '$3 >= 1000 && $3 < 60000 { print $1, $3, $4; exit }'; }

# term_begin WIDTHxHEIGHT COMMAND...: in a new terminal, in the directory $term_dir.
term_dir=$tmp
term_begin()
{
	local size=$1
	shift
	# A server that is about to exit would take the new session with it.
	mux kill-server 2>/dev/null
	nr_terms=$((nr_terms + 1))
	tmux_socket=stacktop-live-$$-$nr_terms
	rm -rf "$term"
	mkdir "$term"
	{
		echo "cd '$term_dir' || exit 1"
		echo "stty -g >'$term/before'"
		echo "( echo \$BASHPID >'$term/pid'; exec $(printf '%q ' "$@") )"
		echo "echo \$? >'$term/status'"
		echo "stty -g >'$term/after'"
		echo "echo END-OF-RUN"
		echo "exec sleep 1000"
	} >"$term/run.sh"
	LC_ALL=C.UTF-8 mux new-session -d -x "${size%x*}" -y "${size#*x}" "exec bash '$term/run.sh'"
	wait_for 10 test -s "$term/pid" || fail "no terminal"
	term_pid=$(cat "$term/pid")
}

# The same with stacktop, until its first rows are there. Options before it: env NAME=VALUE ...
term_start()
{
	term_begin "$@"
	see 'self'
}

screen() { mux capture-pane -p; }
key() { mux send-keys "$@"; }
has() { screen | grep -qE -- "$1"; }
has_not() { ! screen | grep -qE -- "$1"; }

show_screen()
{
	echo "--- the screen ---"
	screen | sed 's/ *$//' | awk 'NF'
	echo "---"
}

# see REGEX [SECONDS], see_not REGEX: wait until it is on the screen, or is not.
see()
{
	wait_for "${2:-40}" has "$1" && return 0
	fail "'$1' is not on the screen"
	show_screen
	return 1
}
see_not()
{
	wait_for 40 has_not "$1" && return 0
	fail "'$1' is still on the screen"
	show_screen
	return 1
}

term_ended() { [ -s "$term/status" ] && [ -s "$term/after" ]; }

term_is_restored()
{
	[ "$(stty -g -F "$(mux display-message -p '#{pane_tty}')")" = "$(cat "$term/before")" ]
}

term_is_normal() { [ "$(mux display -p '#{alternate_on}')" = 0 ]; }

# term_end WHAT STATUS: the program ends with it, and the terminal is as it was.
term_end()
{
	if ! wait_for 40 term_ended; then
		fail "$1: it has not ended"
		return 1
	fi
	if [ "$(cat "$term/status")" != "$2" ]; then
		fail "$1: status $(cat "$term/status") instead of $2"
		show_screen
	fi
	# After SIGKILL it is the guard that restores them, a moment after the shell has looked.
	wait_for 20 term_is_restored || fail "$1: the terminal's modes are not restored"
	[ "$2" = 137 ] || cmp -s "$term/before" "$term/after" ||
		fail "$1: the terminal's modes are restored late"
	# Then the shell may have spoken before the guard has put its screen back.
	if [ "$2" = 137 ]; then
		wait_for 20 term_is_normal || fail "$1: the terminal does not show the shell's screen"
	else
		wait_for 20 has END-OF-RUN || fail "$1: the terminal does not show the shell's screen"
	fi
}

# serve: a server of the files below $tmp/served, see serve_files.py. Its address in $url, what it was asked in $tmp/asked.
serve()
{
	mkdir -p "$tmp/served"
	: >"$tmp/asked"
	start python3 "$top_srcdir/tests/serve_files.py" "$tmp/served" "$tmp/port" "$tmp/asked"
	wait_for 20 test -s "$tmp/port" || skip 'no HTTP server here'
	url=http://127.0.0.1:$(cat "$tmp/port")
}
# serve_debug BUILD-ID FILE: it has this as the debug file of that. serve_held BUILD-ID: it has one, but does not get to
# the end of it before serve_debug has said what it is.
serve_debug()
{
	local to=$tmp/served/buildid/$1/debuginfo
	mkdir -p "${to%/*}"
	cp "$2" "$to.new"
	[ ! -p "$to" ] || timeout 80 cp "$2" "$to" || fail "nobody asked for $2"
	mv -f "$to.new" "$to"
}
serve_held() { mkdir -p "$tmp/served/buildid/$1" && mkfifo "$tmp/served/buildid/$1/debuginfo"; }

# Every process below PID, and itself: "pid comm" a line, parents first.
family_names()
{
	ps -e -o pid=,ppid=,comm= | awk -v root="$1" '
		{ parent[$1] = $2; name[$1] = $3; order[NR] = $1 }
		function is_below(pid,   n) {
			for (n = 0; pid in parent && n < 20; n++) {
				if (pid == root)
					return 1
				pid = parent[pid]
			}
			return 0
		}
		END { for (i = 1; i <= NR; i++) if (is_below(order[i])) print order[i], name[order[i]] }'
}
family() { family_names "$1" | cut -d ' ' -f 1; }

# Of PID's family, the one whose name is $2.
member() { family_names "$1" | awk -v name="$2" '$2 == name { print $1; found = 1; exit } END { exit !found }'; }

# None of the pids is a process any more (a zombie is none).
all_gone()
{
	local pid state
	for pid; do
		state=$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null) || continue
		[ -z "$state" ] || [ "$state" = Z ] || return 1
	done
}
