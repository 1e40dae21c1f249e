#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Who the processes are, what they may do, and what is left when one of them is killed.
set -u

[ "$(id -u)" -eq 0 ] || {
	echo "needs root"
	exit 77
}
"$top_builddir/tests/have_perf" all || exit 77
dir=$(mktemp -d)
chmod 755 "$dir"
main=
trap '[ -z "$main" ] || kill -KILL $main 2>/dev/null; rm -rf "$dir"' EXIT
failures=0

check()
{
	what=$1
	shift
	if ! "$@"; then
		echo "FAILED: $what"
		failures=$((failures + 1))
	fi
}

# wait_for COMMAND...: up to 20 seconds
wait_for()
{
	tries=200
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

field() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" | cut -f1; }
child_of() { pgrep -P "$1" -x "$2" | head -n 1; }
has_child() { [ -n "$(child_of "$1" "$2")" ]; }
blocks() { grep -c '^whole run: samples' "$dir/out"; }
has_blocks() { [ "$(blocks)" -ge "$1" ]; }
is_gone() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2>/dev/null; }

# It has its name before its filter.
ready()
{
	broker=$(child_of $main stacktop-broker)
	loader=$(child_of "${broker:-0}" stacktop-loader)
	[ -n "$loader" ] && [ "$(field "$loader" Seccomp)" = 2 ]
}

# start ENVIRONMENT...: sets main, broker, loader
start()
{
	env "$@" "$STACKTOP" -b -d 0.2 --limit 5 >"$dir/out" 2>"$dir/err" &
	main=$!
	wait_for has_blocks 1 || echo "no block: $(cat "$dir/err")"
	wait_for ready
	check "there is a broker" [ -n "$broker" ]
	check "there is a loader" [ -n "$loader" ]
}

# unprivileged NAME PID UID
unprivileged()
{
	check "$1 runs as $3, not $(field "$2" Uid)" [ "$(field "$2" Uid)" = "$3" ]
	for set in CapPrm CapEff CapInh CapAmb; do
		check "$1: $set is empty" [ "$(field "$2" $set)" = 0000000000000000 ]
	done
	check "$1: no new privileges" [ "$(field "$2" NoNewPrivs)" = 1 ]
}

own=$(getent passwd stacktop >/dev/null && echo stacktop || echo nobody)
nobody=$(id -u $own)
group=$(id -g $own)

# By sudo: as the caller. By root itself: as nobody.
for by in "SUDO_UID=4242 SUDO_GID=4242" "-u SUDO_UID -u SUDO_GID"; do
	uid=$nobody
	[ "${by#SUDO}" = "$by" ] || uid=4242
	# shellcheck disable=SC2086
	start $by
	unprivileged main $main $uid
	unprivileged loader "$loader" $uid
	check "loader: system calls are filtered" [ "$(field "$loader" Seccomp)" = 2 ]
	# PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE and IPC_LOCK
	# at most; SYS_ADMIN, DAC_OVERRIDE, SETUID and all others are gone or, as the first may be, not in force.
	check "broker is not root but $(field "$broker" Uid)" [ "$(field "$broker" Uid)" = $uid ]
	check "broker keeps $(field "$broker" CapEff) only" \
		[ $((0x$(field "$broker" CapEff) & ~0x14400084004)) -eq 0 ]
	check "broker: no new privileges" [ "$(field "$broker" NoNewPrivs)" = 1 ]
	for task in /proc/$main/task/*; do
		check "every thread of main runs as $uid" \
			[ "$(sed -n 's/^Uid:[[:space:]]*//p' "$task/status" | cut -f1)" = $uid ]
	done
	kill -TERM $main
	wait $main
	check "SIGTERM is 143" [ $? -eq 143 ]
	check "the broker ends with main" wait_for is_gone "$broker"
	check "the loader ends with main" wait_for is_gone "$loader"
done

# A killed loader is replaced and counted, and the blocks go on.
start -u SUDO_UID
kill -KILL "$loader"
seen=$(blocks)
check "blocks go on without a loader" wait_for has_blocks $((seen + 3))
check "another loader starts" wait_for has_child "$broker" stacktop-loader
check "and is counted" wait_for grep -q 'loader restarts [1-9]' "$dir/out"
# A killed main process leaves nothing behind.
kill -KILL $main
wait $main
loader=$(child_of "$broker" stacktop-loader)
check "the broker ends with a killed main" wait_for is_gone "$broker"
check "and so does the loader" wait_for is_gone "${loader:-$broker}"

# Files belong to whom sudo was called by; a directory of root's is not theirs to write in.
mkdir "$dir/theirs" "$dir/roots"
chown "$nobody:$group" "$dir/theirs"
cd "$dir/theirs" || exit 1
SUDO_UID=$nobody SUDO_GID=$group "$STACKTOP" -n 1 -d 0.2 -o report 2>"$dir/err"
check "-o by sudo is the caller's: $(cat "$dir/err")" [ "$(stat -c %u:%a report)" = "$nobody:600" ]
cd "$dir/roots" || exit 1
SUDO_UID=$nobody SUDO_GID=$group "$STACKTOP" -n 1 -d 0.2 -o report 2>"$dir/err"
check "-o by sudo cannot write where the caller cannot" [ $? -eq 1 ]
check "and says so" grep -q 'Permission denied' "$dir/err"
env -u SUDO_UID "$STACKTOP" -n 1 -d 0.2 -o report
check "-o by root itself is root's" [ "$(stat -c %u:%a report)" = 0:600 ]
main=
[ "$failures" -eq 0 ]
