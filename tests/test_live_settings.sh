#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The settings file: what is chosen on the screen is written by a key, the next start begins with it, the command
# line goes before it, and batch mode does not know it. As an ordinary user: root has given up its rights by then.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux setpriv
need_sampling
mkdir "$tmp/home"
user=()
bin=$STACKTOP
if [ "$(id -u)" = 0 ]; then
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	[ "$paranoid" -le 2 ] || skip "kernel.perf_event_paranoid is $paranoid"
	cp "$STACKTOP" "$tmp/stacktop"
	bin=$tmp/stacktop
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 "$tmp/home"
fi
start "${user[@]}" bash -c 'while :; do :; done' # something to sample
as=("${user[@]}" env "HOME=$tmp/home" XDG_CONFIG_HOME= "$bin" -p "$last_pid")
file=$tmp/home/.config/stacktop/config

# leave: end the screen, and wait for that
leave()
{
	key q
	wait_for 40 term_ended || fail 'q does not leave'
}

term_start 100x30 "${as[@]}" -d 0.5
key 3
see 'what it calls'
key x
see 'names: in full'
key c C-u
key -l 'self,error'
key Enter
see 'error%'
key O
see "written: $file"
leave
check 'a view, names and the delay are settings' sh -c "
	grep -qx 'view = tree' '$file' && grep -qx 'names = full' '$file' && grep -qx 'delay = 0.5' '$file' &&
	grep -qx 'columns = self,error' '$file' && grep -qx 'call-graph = dwarf' '$file'"
check 'the file is for its user alone' [ "$(stat -c %a "$file")" = 600 ]

sed -i 's/^names = .*/# mine\nnames = long/' "$file"
term_start 100x30 "${as[@]}"
see 'what it calls' && see 'error%' && pass 'the next start begins with them'
see 'config: line 4 is ignored' && pass 'a wrong line is named'
key 2
key O
see 'written: '
leave
check 'other lines stay' sh -c "grep -qx '# mine' '$file' && grep -qx 'view = callers' '$file' && ! grep -q long '$file'"

term_begin 100x30 "${as[@]}" --view=health
see 'How stacks end' && pass 'the command line goes before it'
leave
"${as[@]}" -b -n 1 -d 0.5 --limit=3 >"$tmp/out" 2>"$tmp/err"
check 'batch mode does not know it' grep -q ' Functions of ' "$tmp/out"
[ "$failed" = 0 ] || { cat "$file" "$tmp/err"; head -5 "$tmp/out"; }

# Root itself is another user by then: a process that is root's still writes that one file, where all folders are root's alone.
if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$tmp/root"
	file=$tmp/root/.config/stacktop/config
	as=(env -u SUDO_UID -u SUDO_GID "HOME=$tmp/root" XDG_CONFIG_HOME= "$STACKTOP" -p "$last_pid")
	term_begin 100x30 "${as[@]}"
	see 'total% function'
	[ -e "$tmp/root/.config" ] && fail 'a folder was made before the key'
	key 3
	see 'what it calls'
	key O
	see "written: $file"
	check 'root: the file is root'"'"'s alone' [ "$(stat -c '%u %a %F' "$file")" = '0 600 regular file' ]
	check 'root: and nothing is beside it' [ "$(find "$tmp/root" -type f)" = "$file" ]
	echo '# mine' >>"$file" # meanwhile
	key 2
	see 'its callers'
	key O
	wait_for 40 grep -qx 'view = callers' "$file"
	leave
	check 'root: what stands there stays' sh -c "grep -qx '# mine' '$file' && grep -qx 'view = callers' '$file' &&
		! grep -q 'view = tree' '$file'"
	term_begin 100x30 "${as[@]}"
	see 'its callers' && pass 'root: the next start begins with it'
	mv "$file" "$tmp/root/elsewhere"
	ln -s "$tmp/root/elsewhere" "$file"
	before=$(cat "$tmp/root/elsewhere")
	key O
	see 'cannot write .*/config'
	check 'root: a link is not followed' [ "$before" = "$(cat "$tmp/root/elsewhere")" ]
	leave
	rm "$file"
	chmod 777 "$tmp/root/.config"
	term_begin 100x30 "${as[@]}"
	see 'total% function'
	key O
	see 'only writes to folders that are root'
	leave
	check 'root: folders of others are left alone' [ ! -e "$file" ]
fi
finish
