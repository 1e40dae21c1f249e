#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# --when: one archive each time the condition becomes true, none while it stays so, as many as were asked for at most;
# in batch mode and on the screen, as root and as the user of sudo.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux
need_sampling
umask 0 # the mode of a file does not depend on it
mkdir "$tmp/root" "$tmp/user"
chown 65534:65534 "$tmp/user"
chmod 700 "$tmp/user"

# A load that is there or not.
start bash -c 'while :; do :; done'
load=$last_pid
kill -STOP "$load"

archives() { find "$1" -name 'stacktop-*.tar' | wc -l; }
has_archives() { [ "$(archives "$1")" -ge "$2" ]; }
nr_blocks() { grep -c ' event .* samples' "$tmp/out"; }
blocks_more() { [ "$(nr_blocks)" -ge $((before + $1)) ]; }
more_blocks() { before=$(nr_blocks); wait_for 40 blocks_more "$1" || fail 'no more blocks'; }
is_idle() { grep ' event .* samples' "$tmp/out" | tail -n 1 | grep -q ' 0 samples'; }
says() { [ "$(grep -c "$1" "$tmp/said")" -ge "$2" ]; }

# batch FOLDER ENVIRONMENT...: with a condition that comes true three times
batch()
{
	local dir=$1 watcher nr
	shift
	start env -C "$dir" "$@" "$STACKTOP" -b -d 0.3 --window=1.5 -p "$load" --when='samples>0' --when-count=2 >"$tmp/out" 2>"$tmp/said"
	watcher=$last_pid
	wait_for 40 says '^stacktop: watches samples>0$' 1 || fail "it says: $(cat "$tmp/said")"
	for nr in 1 2; do
		more_blocks 1
		wait_for 40 is_idle || fail 'the window does not become empty'
		[ "$(archives "$dir")" = $((nr - 1)) ] || fail "$(archives "$dir") archives before time $nr"
		kill -CONT "$load"
		wait_for 40 says "^stacktop: samples>0: written stacktop-.*tar$" $nr || fail "nothing is written: $(cat "$tmp/said")"
		wait_for 40 has_archives "$dir" $nr || fail "no archive at time $nr"
		more_blocks 5
		[ "$(archives "$dir")" = "$nr" ] || fail "$(archives "$dir") archives while it stays true"
		kill -STOP "$load"
	done
	more_blocks 1
	wait_for 40 is_idle || fail 'the window does not become empty'
	kill -CONT "$load"
	more_blocks 5
	[ "$(archives "$dir")" = 2 ] || fail "more archives than were asked for"
	kill -STOP "$load"
	kill -TERM "$watcher"
	wait "$watcher"
	check 'it ends by the signal' test $? -eq 143
}

batch "$tmp/root" -u SUDO_UID -u SUDO_GID
for file in "$tmp"/root/*.tar; do
	[ "$(stat -c '%u %a' "$file")" = '0 600' ] || fail "$file: $(stat -c '%u %a' "$file")"
	tar -xf "$file" -C "$tmp" || fail "$file is no archive"
	dir=$tmp/$(basename "$file" .tar)
	[ "$(awk 'NF == 0 { list++ } list == 2 && NF { print $1 }' "$dir/README" | sort)" = "$(find "$dir" -type f -printf '%f\n' | sort)" ] ||
		fail "README does not list what is there: $(ls "$dir")"
	grep -q bash "$dir/stacks.folded" || fail "no stack of the load in $file"
	! command -v python3 >/dev/null || "$top_srcdir/tests/read_pprof.py" "$dir/profile.pb.gz" >/dev/null || fail 'no profile of pprof'
done
batch "$tmp/user" SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody
for file in "$tmp"/user/*.tar; do
	[ "$(stat -c '%u %a' "$file")" = '65534 600' ] || fail "$file: $(stat -c '%u %a' "$file")"
done
# Of an event that tells no time the condition is not watched in silence.
start "$STACKTOP" -b -d 0.3 -p "$load" -e page-faults -c 1 --when='cpu>80' >"$tmp/out" 2>"$tmp/said"
wait_for 40 says '^stacktop: cpu>80 cannot be told with -c of page-faults: use -F, or -e cpu-clock$' 1 || fail "it says: $(cat "$tmp/said")"
kill -TERM "$last_pid"
pass 'batch mode'

rm -f "$tmp"/root/*
term_dir=$tmp/root
term_begin 100x24 env -u SUDO_UID -u SUDO_GID "$STACKTOP" -d 0.3 --window=1.5 -p "$load" --when='samples>0' --when='self(no_such)>0'
see 'watches samples>0, self\(no_such\)>0'
[ "$(archives "$tmp/root")" = 0 ] || fail 'an archive without a reason'
kill -CONT "$load"
see 'samples>0: written: stacktop-.*tar' && see 'self\(no_such\)>0: 1 of 10 written'
check 'on the screen' has_archives "$tmp/root" 1
# The write key goes on as ever.
key w
see '^write to '
key Enter
see 'written: stacktop-.*txt'
key q
term_end 'the screen' 0
finish
