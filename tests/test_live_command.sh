#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Commands that stacktop starts: as whom and with what they run, that they are
# followed through forks and execs however short they are, how they and
# stacktop end, and that behind a screen they have no terminal.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq tmux setpriv
need_sampling
id=c$$ # in the names of the programs
cd "$tmp" || exit 1
chmod 777 "$tmp"
unset SUDO_UID SUDO_GID SUDO_USER

cat >"$tmp/work.c" <<-'EOF'
	#include <time.h>
	__attribute__((noinline)) void NAME(void)
	{
		struct timespec start, ts; // what came before the exec counts too
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
		do {
			for (volatile int n = 0; n < 10000; n++) ;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		} while ((ts.tv_sec - start.tv_sec) * 1000 + (ts.tv_nsec - start.tv_nsec) / 1000000 < MS);
	}
	int main(void) { NAME(); return 0; }
EOF
# build FILE FUNCTION MS
build() { "$CC" -O1 "-DNAME=$2" "-DMS=$3" -o "$tmp/$1" "$tmp/work.c" || skip 'no compiler'; }

# status WANT WHAT COMMAND...
status()
{
	local want=$1 what=$2 got
	shift 2
	timeout 30 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ $got = "$want" ] || fail "$what: status $got instead of $want: $(cat "$tmp/err")"
}
says() { grep -qE -- "$1" "$tmp/err" || fail "'$1' is not said: $(cat "$tmp/err")"; }

# --- single samples -----------------------------------------------------------------------

# Each function is met for the first time while others are known: its first sample waits for its name.
{
	echo '#include <time.h>'
	for n in $(seq 400); do
		echo "__attribute__((noinline)) void one_of_$n(void) { struct timespec t, e;"
		echo 'clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); do {'
		echo 'for (volatile int n = 0; n < 10000; n++) ; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &e);'
		echo '} while ((e.tv_sec - t.tv_sec) * 1000 + (e.tv_nsec - t.tv_nsec) / 1000000 < 4); }'
	done
	echo 'int main(void) {'
	for n in $(seq 400); do echo "one_of_$n();"; done
	echo 'return 0; }'
} >"$tmp/many.c"
"$CC" -O1 -o "$tmp/many-$id" "$tmp/many.c" || skip 'no compiler'
single_samples()
{
	local nr named
	status 0 'single samples' "$STACKTOP" -b --format=samples -- "./many-$id"
	nr=$(grep -c "^many-$id " "$tmp/out")
	[ "$nr" -ge 200 ] || why="$nr samples of 1.6 s"
	named=$(grep -oE "one_of_[0-9]+\+0x[0-9a-f]+ \(many-$id\)" "$tmp/out" | sed 's/+.*//' | sort -u | wc -l)
	[ "$named" -ge 350 ] || why="$named functions of 400"
	! grep -F "[unknown] (many-$id)" "$tmp/out" || why='names that came too late'
}
look 'single samples' single_samples && pass 'single samples have their names'

# --- exit statuses ------------------------------------------------------------------------

batch=("$STACKTOP" -b -d 0.2 --limit 3)
status 0 'a command that succeeds' "${batch[@]}" -- true
grep -q '^stacktop .* command true ' "$tmp/out" || fail 'no block for a command that ends at once'
grep -q ' ended ' "$tmp/out" || fail 'the last block does not say that it is over'
status 7 'its status' "${batch[@]}" -- sh -c 'exit 7'
status 7 'its status after the last block' "${batch[@]}" -n 1 -- sh -c 'sleep 0.7; exit 7'
status 143 'a signal' "${batch[@]}" -- sh -c 'kill -TERM $$'
status 137 'SIGKILL' "${batch[@]}" -- sh -c 'kill -KILL $$'
status 127 'a missing program' "${batch[@]}" -- ./no-such-program
says '^stacktop: ./no-such-program: command not found$'
status 127 'a program missing in PATH' "${batch[@]}" -- no-such-program
[ ! -s "$tmp/out" ] || fail 'a block for a program that is missing'
echo 'echo' >"$tmp/text"
status 126 'a file that may not be executed' "${batch[@]}" -- ./text
says '^stacktop: ./text: cannot be executed: Permission denied$'
status 126 'a directory' "${batch[@]}" -- ./
printf '#!/no/such/interpreter\n' >"$tmp/script"
chmod 755 "$tmp/script"
status 127 'a missing interpreter' "${batch[@]}" -- ./script
says 'interpreter'
status 2 'no command' "${batch[@]}" --
pass 'exit statuses'

# --- as whom, with what ----------------------------------------------------------------------

# All that a program inherits. Numbers of processes are left out.
cat >"$tmp/inherited" <<-'EOF'
	#!/bin/bash
	id
	pwd
	umask
	ulimit -a
	grep -E '^(Sig(Ign|Blk)|Cap|NoNewPrivs|Seccomp:)' /proc/self/status
	cut -d ' ' -f 18,19,40,41 /proc/self/stat
	cat /proc/self/oom_score_adj
	# without the one of ls itself
	ls -l /proc/self/fd | sed 's/.*[0-9] \([0-9]* ->\)/\1/; /^total/d; /proc\/[0-9]*\/fd/d; s/pipe:.*/pipe/'
	ps -o tty= -p $$
	env | grep -v '^\(_\|SHLVL\)=' | sort
EOF
chmod 755 "$tmp/inherited"

# same WHAT [NAME=VALUE...]: what it inherits is what it would inherit without stacktop
same()
{
	local what=$1
	shift
	env "TERMINFO=$tmp/ti" LOCPATH=/lp DEBUGINFOD_URLS=http://nowhere "$@" "${as[@]}" \
		./inherited >"$tmp/seen" 2>&1 <"$tmp/work.c"
	cp "$tmp/seen" "$tmp/direct"
	env "TERMINFO=$tmp/ti" LOCPATH=/lp DEBUGINFOD_URLS=http://nowhere "$@" \
		"$STACKTOP" -b -n 1 -d 0.2 -o "$tmp/report" -- ./inherited >"$tmp/seen" 2>&1 <"$tmp/work.c"
	cp "$tmp/seen" "$tmp/below"
	rm -f "$tmp/report" "$tmp/seen"
	cmp -s "$tmp/direct" "$tmp/below" || fail "$what: $(diff "$tmp/direct" "$tmp/below")"
	grep -q "TERMINFO=$tmp/ti" "$tmp/below" || fail "$what: the environment is not the caller's"
}
as=()
same 'started by root'
as=(setpriv --reuid=65534 --regid=65534 --groups=65534 env HOME=/nonexistent \
	SHELL=/usr/sbin/nologin USER=nobody LOGNAME=nobody)
if [ "$(getent passwd 65534 | cut -d : -f 1,4,6,7)" = nobody:65534:/nonexistent:/usr/sbin/nologin ]; then
	chmod 1777 "$tmp"
	same 'started by nobody through sudo' SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody
	grep -q '^uid=65534(nobody) gid=65534(nogroup) groups=65534' "$tmp/below" || fail "not nobody: $(head -n 1 "$tmp/below")"
fi
read -r name uid gid <<<"$(other_user)"
if [ -n "$name" ]; then
	env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER="$name" HOME=/root "$STACKTOP" -b -n 1 -d 0.2 -o "$tmp/report" -- \
		sh -c 'id -u; id -g; id -G; echo $HOME; grep CapEff /proc/self/status' >"$tmp/below"
	[ "$(paste -sd ' ' "$tmp/below" | tr '\t' ' ')" = \
		"$uid $gid $(id -G "$name") $(getent passwd "$name" | cut -d : -f 6) CapEff: 0000000000000000" ] ||
		fail "not $name: $(cat "$tmp/below")"
	rm -f "$tmp/report"
fi
[ "$(echo words | "$STACKTOP" -n 1 -d 0.2 -o "$tmp/report" -- cat)" = words ] ||
	fail 'standard input and output are not the caller'"'"'s'
rm -f "$tmp/report"
pass 'identity and surroundings'

# --- followed through forks and execs, however short ------------------------------------------

for i in 1 2 3 4 5 6; do build "$id-short$i" "short_$i" 20; done
build "$id-parent" in_parent 60
cat >"$tmp/run" <<-EOF
	./$id-parent
	for i in 1 2 3; do ./$id-short\$i; done
	(./$id-short4 & wait)
	bash -c 'sh -c ./$id-short5; true'
	exec ./$id-short6
EOF
# a_shells_programs WHO: all of them are told of
a_shells_programs()
{
	env ${1%:*} ${1#*:} "$STACKTOP" -b --format=json -d 10 -- sh run >"$tmp/json" 2>"$tmp/err" ||
		why=$(cat "$tmp/err")
	for i in 1 2 3 4 5 6; do
		jq -e --arg o "$id-short$i" --arg f "short_$i" '[.functions[] |
			select(.object == $o and .name == $f and .processes == 1 and .self > 0)] | length == 1' \
			"$tmp/json" >/dev/null || why="$why, no short_$i"
	done
	# Nothing but the command: it alone was started.
	jq -e '[.functions[] | select(.name == "in_parent")] | length == 1' "$tmp/json" >/dev/null ||
		why="$why, no parent"
	jq -e '.health.complete > 0.8 * .health.user_stacks' "$tmp/json" >/dev/null || why="$why, cut stacks"
	[ -z "$why" ] || why="$why: $(jq -c '[.health, .functions[:12]]' "$tmp/json")"
}
for who in -u:SUDO_UID SUDO_UID=65534:SUDO_GID=65534; do
	look "$who" a_shells_programs "$who"
done
pass 'children and execs'

# --- the way out in batch mode -------------------------------------------------------------------

start "$STACKTOP" -b -d 0.2 --limit 2 -- sh -c 'trap "exit 9" TERM; echo $$ >child; while :; do sleep 0.1; done' >"$tmp/out"
pid=$last_pid
wait_for 20 grep -q '^stacktop' "$tmp/out"
wait_for 20 test -s child
child=$(cat "$tmp/child")
pids=$(family "$pid")
kill -TERM "$pid"
wait_for 20 all_gone "$pid" "$child" || kill -KILL "$pid" "$child" # and fail below
wait "$pid" 2>/dev/null
[ $? = 9 ] || fail 'SIGTERM: the status is not that of the command'
# shellcheck disable=SC2086
wait_for 20 all_gone $pids || fail 'something stays after SIGTERM'
pass 'SIGTERM is passed on'

# --- behind a screen ---------------------------------------------------------------------------------

build "$id-screen" in_screen 100000
cat >"$tmp/behind" <<-EOF
	echo NOISE
	echo NOISE >&2
	echo \$\$ \$(ps -o pgid=,sid=,tty= -p \$\$) >behind.ids
	ls -l /proc/\$\$/fd >behind.fds
	(: </dev/tty) 2>/dev/null && echo terminal >behind.tty
	read -r line && echo read >behind.read
	sleep 1000 &
	./$id-screen
EOF
# screen_starts [NAME=VALUE...]
screen_starts()
{
	rm -f behind.*
	term_start 100x24 env "$@" "$STACKTOP" -d 0.3 -- sh behind
	see 'in_screen'
	see_not NOISE
	command_pids=$(family "$(cut -d ' ' -f 1 behind.ids)")
	[ "$(echo $command_pids | wc -w)" = 3 ] || fail "the command's processes: $command_pids"
}
for who in -u:SUDO_UID SUDO_UID=65534:SUDO_GID=65534; do
	screen_starts ${who%:*} ${who#*:}
	read -r pid pgid sid tty <behind.ids
	[ "$pid $pgid $sid $tty" = "$pid $pid $pid ?" ] || fail "it has a terminal: $(cat behind.ids)"
	[ ! -e behind.tty ] || fail 'it can open the terminal'
	[ ! -e behind.read ] || fail 'it can read the keys'
	[ "$(grep -c -- '-> /dev/null' behind.fds)" = 3 ] || fail "descriptors: $(cat behind.fds)"
	keeper=$(member "$term_pid" stacktop-keeper) || fail 'no keeper'
	for fd in "/proc/$keeper/fd"/*; do
		case $(readlink "$fd") in
		pipe:* | anon_inode:\[pidfd\] | pidfd:*) ;; # our words, and the command
		*) fail "the keeper holds $(readlink "$fd")" ;;
		esac
	done
	pids=$(family "$term_pid")
	key q
	term_end 'a command behind a screen' 0
	# shellcheck disable=SC2086
	wait_for 20 all_gone $command_pids || fail 'the command outlives the screen'
	# shellcheck disable=SC2086
	wait_for 20 all_gone $pids || fail 'something stays'
done
for signal in TERM:143 HUP:129 KILL:137; do
	screen_starts SUDO_UID=65534 SUDO_GID=65534
	pids=$(family "$term_pid")
	kill "-${signal%:*}" "$term_pid"
	term_end "SIG${signal%:*}" "${signal#*:}"
	# shellcheck disable=SC2086
	wait_for 20 all_gone $command_pids $pids || fail "something stays after SIG${signal%:*}"
done
# A stopped command ends too; one that has ended leaves its profile on the screen.
screen_starts -u SUDO_UID
# shellcheck disable=SC2086
kill -STOP $command_pids
key q
term_end 'a stopped command' 0
# shellcheck disable=SC2086
wait_for 20 all_gone $command_pids || fail 'a stopped command stays'
term_start 100x24 "$STACKTOP" -d 0.3 -- "./$id-parent"
see 'ENDED|ended'
see 'in_parent'
key q
term_end 'a command that has ended' 0
term_begin 100x24 "$STACKTOP" -d 0.3 -- ./no-such-program
term_end 'a missing program' 127
see './no-such-program: command not found'
pass 'behind a screen'
finish
