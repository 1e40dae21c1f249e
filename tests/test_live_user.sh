#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What an ordinary user gets, and is told: their own processes, with the limits
# and the commands that lift them; a clear message where nothing is allowed;
# and status 2 with the word at fault for what is not understood.

. "${top_srcdir:-.}/tests/lib.sh"
need jq setpriv
[ "$(id -u)" = 0 ] || skip 'needs root, to become two users'
"$top_builddir/tests/have_perf" || skip 'no perf events here'
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
[ "$paranoid" -le 2 ] || skip "kernel.perf_event_paranoid is $paranoid"
umask 022
uid=$((60000 + $$ % 5000)) # a user of our own, so that nothing else is this user's
cp "$STACKTOP" "$tmp/stacktop"
bin=$tmp/stacktop

user=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
lonely=(setpriv --reuid=$((uid + 1)) --regid="$uid" --clear-groups)

cat >"$tmp/spin.c" <<-'EOF'
	#include <unistd.h>
	__attribute__((noinline)) void hot(void) { for (volatile unsigned n = 0; n < 2000000; n++) ; }
	int main(void) { for (;;) { hot(); usleep(5000); } }
EOF
"$CC" -O1 -o "$tmp/user-spin" "$tmp/spin.c" || skip 'no compiler'
cp "$tmp/user-spin" "$tmp/root-spin"
chmod 700 "$tmp/root-spin"
start "${user[@]}" "$tmp/user-spin"
own=$last_pid
start "$tmp/root-spin"
other=$last_pid
wait_for 20 runs "$own" "$tmp/user-spin"
wait_for 20 runs "$other" "$tmp/root-spin"

# refused STATUS REGEX COMMAND...: it ends so, and says so, in few lines and nothing on its output
refused()
{
	local want=$1 regex=$2 status
	shift 2
	timeout 20 "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status = "$want" ] || fail "$*: status $status instead of $want: $(cat "$tmp/err")"
	grep -qE -- "$regex" "$tmp/err" || fail "$*: says '$(cat "$tmp/err")' instead of '$regex'"
	[ "$(wc -l <"$tmp/err")" -le 2 ] || fail "$*: says too much: $(cat "$tmp/err")"
	[ ! -s "$tmp/out" ] || fail "$*: has an output: $(head -n 3 "$tmp/out")"
}

# The second picture has all of the first, and the names had their time on a busy machine.
profile()
{
	local status
	"${user[@]}" timeout 60 "$bin" -b --format=json -n 2 -d 1 "$@" >"$tmp/all" 2>"$tmp/err"
	status=$?
	tail -n 1 "$tmp/all" >"$tmp/json"
	return $status
}

# sees_own ARGUMENT...: this user's function has its name, of enough samples
sees_own()
{
	profile "$@" || why="$(cat "$tmp/err")"
	jq -e '.health.samples > 20 and .health.complete > 0 and
		([.functions[] | select(.object == "user-spin" and .name == "hot" and .self > 0)] | length == 1)' \
		"$tmp/json" >/dev/null || why+=" $(jq -c '[.notice, .health.samples, .functions[:3]]' "$tmp/json")"
}

# sees_roots DELAY ARGUMENT...: the other's function has its name; $why tells what is there instead
sees_roots()
{
	profile -d "$@" || why="$(cat "$tmp/err")"
	jq -e '[.functions[] | select(.object == "root-spin" and .name == "hot" and .self > 0)] | length == 1' \
		"$tmp/json" >/dev/null || why+=" $(jq -c '[.notice, .health.samples, .functions[:3]]' "$tmp/json")"
}

sees_roots_whole()
{
	sees_roots 1 -p "$own,$other"
	jq -e '.health.complete > 0.9 * .health.user_stacks' "$tmp/json" >/dev/null || why+=" $(jq -c .health "$tmp/json")"
}

# says JQ-EXPRESSION WHAT
says() { jq -e "$1" "$tmp/json" >/dev/null || fail "$2: $(jq -c '[.notice, .health.samples, .functions[:3]]' "$tmp/json") $(cat "$tmp/err")"; }

# --- all that is this user's, and nothing else
look 'as a user' sees_own
says '[.functions[] | select(.object == "root-spin")] == []' "another user's process"
if [ "$paranoid" -ge 1 ]; then
	says '.notice | startswith("only this user'"'"'s processes: use sudo for all")' 'limit of processes'
fi
if [ "$paranoid" -ge 2 ]; then
	says '[.functions[] | select(.object == "[kernel]")] == []' 'kernel functions'
	says '.notice | contains("user code only: sudo sysctl kernel.perf_event_paranoid=1 (is 2)")' 'limit of the kernel'
fi
pass "own processes"

look 'own process by pid' sees_own -p "$own"
look 'own process beside another' sees_own -p "$own,$other"
says '.notice | contains("1 task left out, not this user'"'"'s: use sudo")' 'task left out'
says '[.functions[] | select(.object == "root-spin")] == []' "another user's process by pid"
pass 'by pid'

# --- not allowed
[ "$paranoid" -lt 1 ] || refused 1 'not allowed to sample all CPUs .kernel.perf_event_paranoid is [12].' "${user[@]}" "$bin" -n 1 -C 0
refused 1 "not allowed to sample task $other: it is not this user's" "${user[@]}" "$bin" -n 1 -p "$other"
refused 1 "not allowed to sample task $other: it is not this user's" "${user[@]}" "$bin" -n 1 -t "$other"
refused 1 'sudo' "${user[@]}" "$bin" -n 1 -t "$other"
refused 1 'no process 4194303' "${user[@]}" "$bin" -n 1 -p 4194303
refused 1 'no such task: 4194303' "${user[@]}" "$bin" -n 1 -t 4194303
[ "$paranoid" -lt 2 ] || refused 1 "event 'cpu-clock:k': not allowed to sample the kernel" "${user[@]}" "$bin" -n 1 -e cpu-clock:k
refused 1 'no other process to sample' "${lonely[@]}" "$bin" -n 1
refused 1 'stacktop -- COMMAND' "${lonely[@]}" "$bin" -n 1
pass 'refusals'

# --- nothing allowed at all: one message, whoever asks
deny=$top_builddir/tests/deny_perf
"$deny" EPERM true
if [ $? != 77 ]; then
	cp "$deny" "$tmp/deny_perf"
	for error in EPERM:'Operation not permitted' EACCES:'[Pp]ermission denied|not allowed' ENOSYS:'no perf_event_open'; do
		for how in '' "-p $own" '-C 0' '-- true'; do
			# shellcheck disable=SC2086
			refused 1 "${error#*:}" "${user[@]}" "$tmp/deny_perf" "${error%:*}" "$bin" -n 1 $how
			# shellcheck disable=SC2086
			refused 1 "${error#*:}" "$deny" "${error%:*}" "$STACKTOP" -n 1 $how
		done
	done
	refused 1 'even root may not here: a container needs' "$deny" EPERM "$STACKTOP" -n 1
	refused 1 'use sudo' "${user[@]}" "$tmp/deny_perf" EPERM "$bin" -n 1
	pass 'nothing allowed'
fi

# --- usage: the word at fault
refused 2 "-p: 'x12' is not a process id" "$STACKTOP" -p x12
refused 2 "-p: '1,,2' is not a process id" "$STACKTOP" -p 1,,2
refused 2 "-t: '0' is not a thread id" "$STACKTOP" -t 0
refused 2 "-C: '3-1' is not a list of CPUs" "$STACKTOP" -C 3-1
refused 2 'CPU 8000: this machine has no such CPU' "$STACKTOP" -n 1 -C 0,8000
refused 2 'its CPUs are 0 to' "$STACKTOP" -n 1 -C 8000
refused 2 "unknown event 'cycels'" "$STACKTOP" -n 1 -e cycels
refused 2 "did you mean 'cycles'" "$STACKTOP" -n 1 -e cycels
refused 2 "event 'cycles': unknown modifier 'x'" "$STACKTOP" -n 1 -e cycles:x
refused 2 "'sched:a/b'.*without '/'" "$STACKTOP" -n 1 -e sched:a/b
refused 2 "-F: '0' is not a number from" "$STACKTOP" -F 0
refused 2 "--call-graph: 'dwarves' is not fp" "$STACKTOP" --call-graph dwarves
refused 2 "'--bogus'" "$STACKTOP" --bogus
refused 2 "unknown option '-x'" "$STACKTOP" -x
refused 2 'EVENT is missing' "$STACKTOP" -e
refused 2 "write stacktop -- make" "$STACKTOP" make
pass 'usage'

# --- the capabilities that the hint names make an ordinary user see all
recipe=$("${user[@]}" "$bin" -n 1 -p "$other" 2>&1 | sed -n 's/.*chgrp stacktop.*chmod 0750.*setcap \([^ ]*\) .*/\1/p')
[ -n "$recipe" ] || fail 'no recipe for setcap'
cp "$STACKTOP" "$tmp/stacktop-cap"
if setcap "$recipe" "$tmp/stacktop-cap" 2>/dev/null; then
	bin=$tmp/stacktop-cap
	if "${user[@]}" "$bin" --version >/dev/null 2>&1; then # not where the file system has no capabilities
		look 'with capabilities' sees_roots_whole
		look 'with capabilities, all CPUs' sees_roots 5
		says '.notice | contains("only this user") | not' 'with capabilities: a limit'
		pass 'capabilities of the file'

		# They serve sampling alone: what the caller names is opened as the caller.
		mkdir -m 700 "$tmp/roots"
		touch "$tmp/roots/there"
		cp "$STACKTOP" "$tmp/roots-recording"
		chmod 600 "$tmp/roots-recording"
		refused 1 'cannot open .*/roots-recording: Permission denied' "${user[@]}" "$bin" -i "$tmp/roots-recording" -b
		for name in there missing; do # the same, so that nobody learns which there are
			refused 1 "cannot open .*/roots/$name: Permission denied" "${user[@]}" "$bin" -i "$tmp/roots/$name" -b
			refused 1 "cannot open .*/roots/$name: Permission denied" "${user[@]}" "$bin" -i /dev/null --symfs="$tmp/roots/$name" -b
			refused 1 "/roots/$name: Permission denied" "${user[@]}" "$bin" -n 1 -o "$tmp/roots/$name"
			refused 126 "/roots/$name: cannot be executed: Permission denied" "${user[@]}" "$bin" -b -- "$tmp/roots/$name"
		done
		caps=$("${user[@]}" "$bin" -b -d 0.2 -- sed -n 's/^CapPrm:.//p' /proc/self/status 2>/dev/null | head -n 1)
		[ "$caps" = 0000000000000000 ] || fail "a command has capabilities: $caps"
		pass "files of the caller's choice"
	fi
fi

# --- with a set-user-ID bit the variables of sudo would be the caller's to set
cp "$STACKTOP" "$tmp/stacktop-setuid"
chmod 4755 "$tmp/stacktop-setuid"
cp "$(command -v id)" "$tmp/id"
chmod 4755 "$tmp/id"
if [ "$("${user[@]}" "$tmp/id" -u)" = 0 ]; then # the file system heeds the bit
	refused 1 'refuses to run set-user-ID' "${user[@]}" "$tmp/stacktop-setuid" -n 1
	refused 1 'refuses to run set-user-ID' "${user[@]}" env SUDO_UID=1 SUDO_GID=1 "$tmp/stacktop-setuid" -n 1
	refused 1 'refuses to run set-user-ID' "${user[@]}" "$tmp/stacktop-setuid" --version
	# The leak checker traces its own process, which this one does not allow, and sees no options there.
	chmod 2755 "$tmp/stacktop-setuid"
	grep -q '^#define SANITIZED' "$top_builddir/config.h" ||
		refused 1 'refuses to run set-user-ID' "${user[@]}" "$tmp/stacktop-setuid" -n 1
	pass 'set-user-ID'
fi
finish
