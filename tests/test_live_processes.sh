#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Who stacktop's processes are and what they may do, read from /proc: started
# by root, by root through sudo for one user and for another, with a screen and
# in batch mode. And that none of them stays, however stacktop ends.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux setpriv
need_sampling

# DAC_READ_SEARCH IPC_LOCK SYS_PTRACE SYSLOG PERFMON CHECKPOINT_RESTORE
broker_caps=$((1 << 2 | 1 << 14 | 1 << 19 | 1 << 34 | 1 << 38 | 1 << 40))

# SYS_ADMIN, where the kernel wants that for events.
kept_aside=0
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || kept_aside=$((1 << 21))

field() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" | tr -s '\t ' ' ' | sed 's/ $//'; }

# is PID FIELD VALUE
is()
{
	local value
	value=$(field "$1" "$2")
	[ "$value" = "$3" ] || fail "$who: $(cat "/proc/$1/comm"): $2 is '$value' instead of '$3'"
}

# unprivileged PID UID GID GROUPS: no capability at all, now and for ever
unprivileged()
{
	local set
	is "$1" Uid "$2 $2 $2 $2"
	is "$1" Gid "$3 $3 $3 $3"
	is "$1" Groups "$4"
	is "$1" NoNewPrivs 1
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		is "$1" $set 0000000000000000
	done
}

# is_other FD LINK: the descriptor has become another one since it was LINK
is_other() { [ "$(readlink "$1")" != "$2" ]; }

# check_broker PID UID GID GROUPS: not root, but with capabilities
check_broker()
{
	local set value fd link flags
	is "$1" Uid "$2 $2 $2 $2"
	is "$1" Gid "$3 $3 $3 $3"
	is "$1" Groups "$4"
	is "$1" NoNewPrivs 1
	is "$1" CapBnd 0000000000000000
	[ -z "$has_filter" ] || is "$1" Seccomp 2
	is "$1" CapInh 0000000000000000
	is "$1" CapAmb 0000000000000000
	for set in CapPrm CapEff; do
		value=$((16#$(field "$1" $set)))
		[ "$set" = CapEff ] || value=$((value & ~kept_aside))
		[ $((value & ~broker_caps)) = 0 ] || fail "$who: broker: $set has more than it needs: $value"
		[ $((value >> 38 & 1)) = 1 ] || fail "$who: broker: no CAP_PERFMON in $set"
	done
	for fd in "/proc/$1/fd"/*; do
		link=$(readlink "$fd")
		# With sanitizers it keeps standard error for their reports.
		[ "${fd##*/}" = 2 ] && grep -q '^#define SANITIZED' "$top_builddir/config.h" && continue
		case $link in
		/dev/null | socket:* | anon_inode:\[signalfd\] | anon_inode:\[perf_event\]) ;;
		/memfd:* | '') ;; # on their way to main
		*)
			# Files on their way to main, or held to be looked at. Not to be written to.
			flags=$((8#$(sed -n 's/^flags:[[:space:]]*//p' "/proc/$1/fdinfo/${fd##*/}" 2>/dev/null || echo 0)))
			[ $((flags & 3)) = 0 ] || is_other "$fd" "$link" || fail "$who: broker may write to $link"
			;;
		esac
	done
}

# check_writer PID FOLDER: what writes for root is root, and has the one folder: no other file, and no capability.
check_writer()
{
	local set fd
	is "$1" Uid '0 0 0 0'
	is "$1" NoNewPrivs 1
	[ -z "$has_filter" ] || is "$1" Seccomp 2
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		is "$1" $set 0000000000000000
	done
	[ "$(readlink "/proc/$1/root")" = "$2" ] || fail "$who: writer sees $(readlink "/proc/$1/root")"
	for fd in "/proc/$1/fd"/*; do
		case $(readlink "$fd") in
		/dev/null | socket:* | "$2") ;;
		*) [ "${fd##*/}" = 2 ] || fail "$who: writer holds $(readlink "$fd")" ;;
		esac
	done
}

# Main holds no file of another program but read-only ones, on their way to a loader; it maps none.
check_files()
{
	local pid=$1 fd link flags
	for fd in "/proc/$pid/fd"/*; do
		link=$(readlink "$fd")
		flags=$((8#$(sed -n 's/^flags:[[:space:]]*//p' "/proc/$pid/fdinfo/${fd##*/}" 2>/dev/null || echo 0)))
		case $link in
		/dev/pts/* | /dev/null | socket:* | pipe:* | anon_inode:* | /memfd:* | /proc/kallsyms | '') ;;
		"$tmp"/*.out | "$tmp"/*.err) ;; # standard output and error
		/proc/*) fail "$who: main holds $link" ;;
		*)
			[ $((flags & 3)) = 0 ] || is_other "$fd" "$link" || fail "$who: main may write to $link"
			[ -f "$fd" ] || is_other "$fd" "$link" || fail "$who: main holds $link, no regular file"
			;;
		esac
	done
	grep -q "$tmp/spin" "/proc/$pid/maps" && fail "$who: main has mapped a target's file"
}

# The same user must not be able to look into these processes: they hold files of others.
check_closed_to()
{
	local pid
	for pid in "${@:3}"; do
		setpriv --reuid="$1" --regid="$2" --clear-groups ls "/proc/$pid/fd" >/dev/null 2>&1 &&
			fail "$who: uid $1 can look into $(cat "/proc/$pid/comm")"
	done
}

# check_family PID UID GID GROUPS [guard]
check_family()
{
	local main=$1 broker loader guard
	wait_for 10 member "$main" stacktop-loader >/dev/null || fail "$who: no loader"
	broker=$(member "$main" stacktop-broker) || fail "$who: no broker"
	loader=$(member "$main" stacktop-loader)
	unprivileged "$main" "$2" "$3" "$4"
	unprivileged "$loader" "$2" "$3" "$4"
	# It has its name before its filter.
	[ -z "$has_seccomp" ] || wait_for 20 eval '[ "$(field "$loader" Seccomp)" = 2 ]' || is "$loader" Seccomp 2
	[ -z "$has_filter" ] || is "$main" Seccomp 2
	check_broker "$broker" "$2" "$3" "$4"
	check_files "$main"
	check_closed_to "$2" "$3" "$main" "$broker" "$loader"
	if [ -n "${5:-}" ]; then
		wait_for 20 member "$main" stacktop-guard >/dev/null || fail "$who: no guard"
		guard=$(member "$main" stacktop-guard)
		unprivileged "$guard" "$2" "$3" "$4"
		[ -z "$has_filter" ] || is "$guard" Seccomp 2
		check_closed_to "$2" "$3" "$guard"
		if [[ $who == @(root|'root with a user of ours'),* ]]; then
			check_writer "$(member "$main" stacktop-writer)" "$term_dir"
			# $XDG_CONFIG_HOME is in there, and not made yet
			check_writer "$(member "$main" stacktop-config)" "$tmp"
		elif member "$main" stacktop-writer >/dev/null || member "$main" stacktop-config >/dev/null; then
			fail "$who: there is a writer"
		fi
	fi
}

has_seccomp=$(ldd "$STACKTOP" | grep libseccomp)
has_filter=$has_seccomp
grep -q '^#define SANITIZED' "$top_builddir/config.h" && has_filter=
groups_of() { id -G "$1" | tr -s ' ' '\n' | sort -n | paste -sd ' '; }

# A target whose file nobody else has.
cat >"$tmp/spin.c" <<-'EOF'
	#include <unistd.h>
	int main(void) { for (volatile unsigned n = 0;; n++) if (n % 1000000 == 0) usleep(5000); }
EOF
"$CC" -O1 -o "$tmp/spin" "$tmp/spin.c" 2>/dev/null || cp "$(command -v yes)" "$tmp/spin"
start "$tmp/spin" >/dev/null

# batch_as WHO UID GID GROUPS [NAME=VALUE...]
batch_as()
{
	local uid=$2 gid=$3 groups=$4 pid pids
	who="$1, batch"
	start env "${@:5}" "$STACKTOP" -b -d 0.2 >"$tmp/batch.out" 2>"$tmp/batch.err"
	pid=$last_pid
	wait_for 10 test -s "$tmp/batch.out" || fail "$who: no output: $(cat "$tmp/batch.err")"
	check_family "$pid" "$uid" "$gid" "$groups"
	pids=$(family "$pid")
	kill -TERM "$pid"
	wait_for 20 all_gone $pids || fail "$who: something stays after SIGTERM"
	pass "$who"
}

# run_as, the same: in batch mode and on a screen
run_as()
{
	local uid=$2 gid=$3 groups=$4 pids
	batch_as "$@"
	who="$1, screen"
	term_start 100x30 env "${@:5}" "$STACKTOP" -d 0.5
	check_family "$term_pid" "$uid" "$gid" "$groups" guard
	pids=$(family "$term_pid")
	key q
	term_end "$who: q" 0
	wait_for 20 all_gone $pids || fail "$who: something stays after q"
	pass "$who"
}

own=$(getent passwd stacktop >/dev/null && echo stacktop || echo nobody)
nobody=$(id -u "$own" 2>/dev/null || echo 65534)
nogroup=$(id -g "$own" 2>/dev/null || echo 65534)
run_as root "$nobody" "$nogroup" '' -u SUDO_UID -u SUDO_GID -u SUDO_USER
run_as 'sudo from nobody' 65534 65534 "$(groups_of 65534 2>/dev/null || echo 65534)" \
	SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody
read -r name uid gid <<<"$(other_user)"
[ -z "$name" ] || run_as "sudo from an ordinary user" "$uid" "$gid" "$(groups_of "$name")" \
	"SUDO_UID=$uid" "SUDO_GID=$gid" "SUDO_USER=$name"
# A number without a name is a user as well; root through sudo is just root.
batch_as 'sudo from a user without a name' 54321 54322 54322 SUDO_UID=54321 SUDO_GID=54322
# What no sudo sets is not believed.
batch_as 'sudo from root' "$nobody" "$nogroup" '' SUDO_UID=0 SUDO_GID=0 SUDO_USER=root
batch_as 'sudo from -1' "$nobody" "$nogroup" '' SUDO_UID=4294967295 SUDO_GID=4294967295

# A user of stacktop's own, where the machine has one: what other services work as cannot reach it.
if command -v unshare >/dev/null && unshare -m true 2>/dev/null; then
	getent passwd | grep -v '^stacktop:' >"$tmp/passwd"
	echo 'stacktop:x:54323:54324::/nonexistent:/usr/sbin/nologin' >>"$tmp/passwd"
	cat >"$tmp/with-user" <<-EOF
		#!/bin/sh
		mount --bind "$tmp/passwd" /etc/passwd || exit 9
		exec "$STACKTOP" "\$@"
	EOF
	chmod 755 "$tmp/with-user"
	who='root with a user of ours, screen'
	term_start 100x30 env -u SUDO_UID -u SUDO_GID unshare -m "$tmp/with-user" -d 0.5
	check_family "$term_pid" 54323 54324 '' guard
	key q
	term_end "$who: q" 0
	pass "$who"
fi

# Where the kernel wants CAP_SYS_ADMIN for events, and says so by a level that Linux does not know, as Debian's and
# Ubuntu's do, the broker has it for opening them and at no other time.
cat >"$tmp/at-level" <<-EOF
	#!/bin/sh
	echo "\$1" >"$tmp/level"
	mount --bind "$tmp/level" /proc/sys/kernel/perf_event_paranoid || exit 9
	shift
	exec "\$@"
EOF
chmod 755 "$tmp/at-level"
at_level=(unshare -m "$tmp/at-level") # LEVEL COMMAND...
admin=$top_builddir/tests/admin_perf
wanted=$("${at_level[@]}" 7 cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)
if [ "$wanted" = 7 ] && "$admin" true 2>/dev/null; then
	who='root, where events need CAP_SYS_ADMIN'
	start "${at_level[@]}" 3 "$admin" "$STACKTOP" -b -d 0.2 >"$tmp/admin.out" 2>"$tmp/admin.err"
	wait_for 20 test -s "$tmp/admin.out" || fail "$who: nothing is sampled: $(cat "$tmp/admin.err")"
	broker=$(member "$last_pid" stacktop-broker) || fail "$who: no broker"
	[ $((16#$(field "$broker" CapPrm) >> 21 & 1)) = 1 ] || fail "$who: the broker has not kept it"
	[ $((16#$(field "$broker" CapEff) & ~broker_caps)) = 0 ] || fail "$who: it is in force: $(field "$broker" CapEff)"
	kill "$last_pid"
	"${at_level[@]}" 2 "$admin" "$STACKTOP" -b -n 1 -d 0.2 >"$tmp/admin.out" 2>"$tmp/admin.err" &&
		fail "CAP_SYS_ADMIN is there at a level that Linux knows"
	grep -q 'not allowed to sample' "$tmp/admin.err" || fail "it is not told: $(cat "$tmp/admin.err")"
	pass "$who"
fi

# Main, broker, loader, two guards and two writers: beside a loader that is being replaced there are fewer.
are_seven()
{
	pids=$(family "$term_pid")
	[ "$(echo $pids | wc -w)" = 7 ]
}

# ends WHAT STATUS COMMAND...: the command makes stacktop on a screen end with it
ends()
{
	local what=$1 status=$2 pids
	shift 2
	term_start 80x24 env -u SUDO_UID "$STACKTOP" -d 0.5
	wait_for 10 member "$term_pid" stacktop-loader >/dev/null || fail "$what: no loader"
	wait_for 20 are_seven || fail "$what: not seven processes: $pids"
	"$@"
	term_end "$what" "$status"
	wait_for 20 all_gone $pids || fail "$what: left running: $(ps -o pid,comm -p "$(echo $pids | tr ' ' ,)")"
	pass "ends by $what"
}
send() { kill "-$1" "$term_pid"; }
ends SIGTERM 143 send TERM
ends SIGHUP 129 send HUP
ends SIGINT 130 send INT
ends Ctrl-C 130 key C-c
ends SIGKILL 137 send KILL

# The terminal itself vanishes: nobody is left to restore it for, and nothing stays.
term_start 80x24 "$STACKTOP" -d 0.5
pids=$(family "$term_pid")
mux kill-server
wait_for 20 all_gone $pids || fail "something stays when the terminal is gone"

for signal in TERM:143 HUP:129 INT:130 KILL:137; do
	start "$STACKTOP" -b -d 0.2 >"$tmp/end.out"
	pid=$last_pid
	wait_for 10 member "$pid" stacktop-loader >/dev/null
	pids=$(family "$pid")
	kill "-${signal%:*}" "$pid"
	wait "$pid" 2>/dev/null
	status=$?
	[ $status = "${signal#*:}" ] || fail "batch: status $status after SIG${signal%:*}"
	wait_for 20 all_gone $pids || fail "batch: something stays after SIG${signal%:*}"
done
pass 'ends of batch mode'

# Variables that lead libraries to files, and to the network, are not followed with privileges.
if command -v strace >/dev/null; then
	mkdir -p "$tmp/evil/t" "$tmp/evil/x"
	term_begin 80x24 strace -f -o "$tmp/trace" -e trace=openat,open,access,stat,newfstatat,readlink,connect \
		env -u SUDO_UID "TERMINFO=$tmp/evil" "TERMINFO_DIRS=$tmp/evil" "TERMCAP=$tmp/evil/cap" \
		"TERMPATH=$tmp/evil/path" "LOCPATH=$tmp/evil" "NLSPATH=$tmp/evil/%N" \
		"DEBUGINFOD_URLS=http://127.0.0.1:9" "DEBUGINFOD_CACHE_PATH=$tmp/evil" "$STACKTOP" -d 0.5
	see 'self' 30
	key q
	wait_for 15 term_ended || fail 'environment: it does not end'
	grep -q '"stacktop' "$tmp/trace" || grep -q terminfo "$tmp/trace" || fail 'environment: nothing traced'
	grep "$tmp/evil\|sin_addr\|sin6_addr" "$tmp/trace" | grep -v execve |
		grep . && fail 'environment: a variable is followed'
	pass 'environment'
fi
# What its processes take is not in the profile, those that are started after sampling has begun neither.
term_start 120x60 "$STACKTOP" -F 9000 -d 0.5
for name in stacktop-guard stacktop-guard2; do
	wait_for 20 member "$term_pid" $name >"$tmp/guard" || fail "no $name"
	guards="${guards:+$guards|}$name $(head -n 1 "$tmp/guard"):"
done
key 7
see 'How stacks end'
see 'What they end in|Processes'
has "$guards" && fail "$guards in the profile"
key q
term_end 'own samples' 0
pass 'no guard in the profile'
finish
