#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Which user a process is: in json, in the view of processes and in pprof, also of one that changes its user
# while it runs.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq setpriv
need_sampling
[ "$(id -u)" = 0 ] || skip 'needs root: processes of two users'
id=$$

cat >"$tmp/spin.c" <<-'EOC'
	#include <stdlib.h>
	#include <sys/stat.h>
	#include <unistd.h>
	__attribute__((noinline)) void spin(void) { for (volatile unsigned n = 0; n < 500000; n++) ; }
	/* UID FILE: becomes this user once FILE is there. */
	int main(int argc, char **argv)
	{
		struct stat st;
		int waits = argc > 2;
		for (;;) {
			spin();
			if (waits && stat(argv[2], &st) == 0) {
				waits = 0;
				if (setuid((uid_t)atoi(argv[1])) < 0)
					return 1;
			}
		}
	}
EOC
"$CC" -O1 -o "$tmp/spin" "$tmp/spin.c" || skip 'no compiler'
chmod 755 "$tmp"
for name in admin guest turns later; do
	cp "$tmp/spin" "$tmp/$name$id"
	chmod 755 "$tmp/$name$id"
done
# A number that no user of this machine has, as users of containers have.
nameless=3999999
while getent passwd "$nameless" >/dev/null; do nameless=$((nameless + 1)); done
nobody=$(getent passwd 65534 | cut -d : -f 1)
[ -n "$nobody" ] && [ "$(getent passwd 0 | cut -d : -f 1)" = root ] || skip 'no users root and 65534'

start "$tmp/admin$id"
start setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/guest$id"
start "$tmp/turns$id" "$nameless" "$tmp/now"

in_json()
{
	"$STACKTOP" --view=processes --format=json -n 1 -d 1 >"$tmp/json" 2>"$tmp/err"
	jq -e "[.processes[] | select(.name | test(\"^(admin|guest|turns)$id\")) | [.name, .user, .uid]] | sort ==
		[[\"admin$id\", \"root\", 0], [\"guest$id\", \"$nobody\", 65534], [\"turns$id\", $1, $2]]" "$tmp/json" >/dev/null ||
		why="$(cat "$tmp/err") $(jq -c '.processes[:8][] | [.name, .user, .uid]' "$tmp/json")"
}
look 'json' in_json '"root"' 0 && pass 'json tells the user of each process'

in_text()
{
	"$STACKTOP" -b --view=processes -n 1 -d 1 >"$tmp/text" 2>&1
	grep -qE 'threads +user( |$)' "$tmp/text" && grep -qE " admin$id [0-9]+ +1 root( |\$)" "$tmp/text" &&
		grep -qE " guest$id [0-9]+ +1 $nobody( |\$)" "$tmp/text" ||
		why=$(head -n 12 "$tmp/text")
}
look 'text' in_text && pass 'the view of processes has a column of users'

in_pprof()
{
	"$STACKTOP" --format=pprof -n 1 -d 1 -o "$tmp/pprof" >"$tmp/err" 2>&1
	"$top_srcdir/tests/read_pprof.py" --facts "$tmp/pprof" >"$tmp/facts" 2>&1
	grep '^labels' "$tmp/facts" | grep "admin$id" | grep -q root &&
		grep '^labels' "$tmp/facts" | grep "guest$id" | grep -q "$nobody" || why=$(head -n 5 "$tmp/facts")
}
if command -v python3 >/dev/null; then
	look 'pprof' in_pprof && pass 'pprof has a label of users'
fi

# The cursor comes to a row of the guest, when its rows have come into the picture.
on_guest()
{
	key /
	key -l "guest$id"
	key Enter
	wait_for 3 has "^> *[0-9]+\.[0-9]+ .*guest$id"
}
to_guest()
{
	local try
	for try in 1 2 3; do
		on_guest && return
	done
	fail 'the cursor does not come to the guest'
	show_screen
	return 1
}

# The key u, on a row of processes and of functions, and what is typed.
if command -v tmux >/dev/null; then
	term_start 80x24 "$STACKTOP" -d 1
	key 6
	see "guest$id [0-9]+ +(1 +)?$nobody" && see "admin$id [0-9]+ +(1 +)?root" && pass 'users are there at 80 columns'
	key /
	key -l "guest$id"
	key Enter
	key u
	see "only u:$nobody: [0-9.]+% of all" && see "guest$id " && see_not "admin$id " && pass 'u leaves the user of a process'
	key BSpace
	see_not 'only u:' && see "admin$id " && see "guest$id " && pass 'Backspace brings the others back'
	key 1
	see "spin +guest$id" && see "spin +admin$id"
	to_guest && key u
	see "only u:$nobody: [0-9.]+% of all" && see "spin +guest$id" && see_not "spin +admin$id" &&
		pass 'and that of a function which one user runs'
	key BSpace
	see_not 'only u:'
	key '\'
	key -l 'u:0'
	key Enter
	see 'only u:0: ' && see "spin +admin$id" && see_not "spin +guest$id" && pass 'a number is one user'
	key BSpace
	key '\'
	key -l "!u:$nobody"
	key Enter
	see "without u:$nobody: " && see "spin +admin$id" && see_not "spin +guest$id" && pass 'all users but one'
	key q
	term_end 'narrowed to users' 0
fi

# A process that has run for a while becomes somebody else, while stacktop looks on.
start "$STACKTOP" --view=processes --format=json -d 1 >"$tmp/stream" 2>"$tmp/err"
watcher=$last_pid
# is_last NAME USER: as whom the last picture shows it
is_last() { says_last "$tmp/stream" '[.processes[] | select(.name == $name) | .user] == [$user]' --arg name "$1$id" --arg user "$2"; }
shown() { tail -n 2 "$tmp/stream" | jq -c '.processes[:8][] | [.name, .user]' 2>&1 | tail -n 8; }
wait_for 20 is_last turns root || {
	fail "the process that turns: $(shown) $(cat "$tmp/err")"
	finish
}
touch "$tmp/now"
start setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/later$id"
wait_for 60 is_last turns "$nameless" && pass 'a process that changes its user is followed' ||
	fail "not followed: $(shown)"
wait_for 20 is_last later "$nobody" && pass 'one that is started as another user is known' ||
	fail "not known: $(shown)"
kill "$watcher"
wait "$watcher" 2>/dev/null
look 'json after it' in_json "\"$nameless\"" "$nameless" && pass 'and known by number where it has no name'
finish
