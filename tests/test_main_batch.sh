#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Batch mode on the real machine: blocks, exit statuses, commands, broken pipes, files.
set -u

"$top_builddir/tests/have_perf" all || exit 77
top_srcdir=$(cd "$top_srcdir" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

# check WHAT CONDITION...: the condition is a command.
check()
{
	what=$1
	shift
	if ! "$@"; then
		echo "FAILED: $what"
		failures=$((failures + 1))
	fi
}

# status_of COMMAND...: run it, its exit status in $status.
status_of()
{
	"$@" >out 2>err
	status=$?
}

blocks()
{
	grep -c '^whole run: samples' "$1"
}

status_of "$STACKTOP" -b -n 2 -d 0.3
check "two blocks asked for, $(blocks out) written" [ "$(blocks out)" -eq 2 ]
check "exit status of -n is $status" [ "$status" -eq 0 ]

status_of "$STACKTOP" -d 0.3 -n 1 --view=tree --limit=5
check "no terminal on standard output is batch mode" [ "$(blocks out)" -eq 1 ]

# A command: its output, its status, one block at its end.
status_of "$STACKTOP" -b -d 60 -- sh -c 'echo from the command; exit 7'
check "the command's exit status 7 is handed on, not $status" [ "$status" -eq 7 ]
check "the command has standard output" grep -q '^from the command$' out
check "one last block, $(blocks out) written" [ "$(blocks out)" -eq 1 ]
# shellcheck disable=SC2016
status_of "$STACKTOP" -b -d 60 -- sh -c 'kill -KILL $$'
check "a killed command is 137, not $status" [ "$status" -eq 137 ]
status_of "$STACKTOP" -b -- no-such-command-here
check "a command not found is 127, not $status" [ "$status" -eq 127 ]
check "and is named" grep -q 'no-such-command-here: command not found' err
check "and nothing is shown" [ ! -s out ]
status_of "$STACKTOP" -b -- /etc/passwd
check "a file that is no program is 126, not $status" [ "$status" -eq 126 ]

# What a busy command does is its profile.
status_of "$STACKTOP" -b -d 60 --view=functions -- \
	timeout 2 sh -c 'while :; do :; done'
check "a killed busy loop is 124, not $status" [ "$status" -eq 124 ]
check "its program is in the profile" grep -qE ' (dash|bash|busybox|sh)' out

# Programs that take turns: what was not there in the block before is more. Of the first block nobody can tell.
status_of "$STACKTOP" -b -d 0.5 --window 0.5 --columns=self,trend,samples -- sh -c 'for i in 1 2 3; do
	timeout 0.6 sh -c "while :; do :; done"; timeout 0.6 gzip -c </dev/zero >/dev/null; done'
check "no row is more than in the block before" grep -qE '^ *[0-9.]+ \+  +[0-9]+ ' out
check "a row of the first block has a trend" \
	[ -z "$(sed '1,/^ self%/d; /^$/,$d' out | grep -vE '^ *[0-9.]+ {4}[ ~0-9]{6}[0-9] ')" ]

# Folded stacks: lines that a flame graph takes, with the command's name in front.
status_of "$STACKTOP" -d 60 --format=folded -- timeout 1 sh -c 'while :; do :; done'
check "folded stacks of a command: 124, not $status" [ "$status" -eq 124 ]
check "a busy shell is there by its name" grep -qE '^sh;.+ [0-9]+$' out
check "lines that are no folded stacks: $(grep -vE '^[^;]+(;[^;]+)* [0-9]+$' out | head -n 3)" \
	[ -z "$(grep -vE '^[^;]+(;[^;]+)* [0-9]+$' out)" ]
check "stacks that stand there twice" [ -z "$(sed 's/ [0-9]*$//' out | sort | uniq -d)" ]
status_of "$STACKTOP" -n 3 -d 0.2 --format=folded
check "an empty line between refreshes" [ "$(grep -c '^$' out)" -eq 2 ]

# Single samples: as many as asked for, whole blocks, none whose stack still waits. An idle machine has few.
sh -c 'while :; do :; done' &
busy=$!
status_of "$STACKTOP" -n 300 --format=samples
kill $busy
check "status of 300 samples is $status" [ "$status" -eq 0 ]
check "$(grep -c '^$' out) samples of 300" [ "$(grep -c '^$' out)" -eq 300 ]
heads='^.+ -?[0-9]+/-?[0-9]+ \[[0-9]{3,}\] [0-9]+\.[0-9]{9}: [0-9]+ [^ ]+: [a-z-]+$'
check "$(grep -cE "$heads" out) heads of 300" [ "$(grep -cE "$heads" out)" -eq 300 ]
frames='^	 *[0-9a-f]{1,16} ([^ ].*\+0x[0-9a-f]+|\[unknown\]) \(.+\)$'
check "no line besides: $(grep -vE "^\$|$heads|$frames" out | head -n 3)" \
	[ -z "$(grep -vE "^\$|$heads|$frames" out)" ]
check "stacks that are not final" [ -z "$(grep ': pending$' out)" ]
# The first ones wait for the tables of their files, some longer than others.
grep -oE ' [0-9]+\.[0-9]{9}: ' out >in-order
check "not in the order of their times" sort -c -s -n in-order
for _ in 1 2 3; do
	status_of "$STACKTOP" --format=samples -- timeout 1 sh -c 'while :; do :; done'
	grep -qE '^sh [0-9]+/[0-9]+ .*: root$' out && break # else the tables came too late
done
check "samples of a command: 124, not $status" [ "$status" -eq 124 ]
check "its stacks reach the root" grep -qE '^sh [0-9]+/[0-9]+ .*: root$' out
status_of "$STACKTOP" -F 499 -n 300 --format=script -- timeout 2 sh -c 'while :; do :; done'
"$top_srcdir/tests/read_script.py" <out >collapsed 2>err
check "text for readers of perf script: $(tail -n 1 err)" grep -qE '^sh;.* [0-9]+$' collapsed
# A command may be over before the tables of its files have come.
for _ in 1 2 3; do
	status_of "$STACKTOP" --format=samples -F 9999 -- sh -c ':'
	grep -q '^sh ' out && break
done
check "samples of a short command: 0, not $status" [ "$status" -eq 0 ]
check "and there are some" grep -q '^sh ' out

# Its events are all open: the thread that works on their samples runs.
samples() { grep -qsx engine /proc/"$1"/task/*/comm; }
until_samples()
{
	for _ in $(seq 400); do
		samples "$1" && return
		sleep 0.05
	done
}

# Signals: a last block, unless the machine is too busy for seconds, then the signal's status.
for _ in 1 2 3; do
	"$STACKTOP" -b -d 60 >out 2>err &
	pid=$!
	until_samples $pid
	kill -TERM $pid
	wait $pid
	status=$?
	[ "$(blocks out)" -eq 0 ] || break
done
check "SIGTERM is 143, not $status" [ "$status" -eq 143 ]
check "and writes a last block" [ "$(blocks out)" -eq 1 ]

# A target that ends.
sleep 1000 &
target=$!
"$STACKTOP" -b -d 60 -p $target >out 2>err &
pid=$!
until_samples $pid
kill $target
wait $pid
status=$?
check "ends with its target (status $status)" [ "$status" -eq 0 ]
check "with a last block" [ "$(blocks out)" -eq 1 ]
status_of "$STACKTOP" -b -p 4194303
check "no such process is 1, not $status" [ "$status" -eq 1 ]
check "and is named" grep -q 4194303 err

# A reader that goes: quiet, at once, though the next block is a minute away.
(
	timeout 30 "$STACKTOP" -b -d 0.2 2>pipe.err
	echo $? >pipe.status
) | head -n 1 >/dev/null
check "a broken pipe is a quiet end: $(cat pipe.status) '$(cat pipe.err)'" \
	[ "$(cat pipe.status)$(cat pipe.err)" = 0 ]

# Files: new ones only, private.
status_of "$STACKTOP" -n 1 -d 0.3 -o report
check "-o writes" [ "$(blocks report)" -eq 1 ]
check "-o is private: $(stat -c %a report)" [ "$(stat -c %a report)" = 600 ]
echo keep >existing
status_of "$STACKTOP" -n 1 -d 0.3 -o existing
check "-o never overwrites" [ "$status:$(cat existing)" = 1:keep ]
check "and says so: $(cat err)" grep -q 'existing exists already' err
ln -s elsewhere link
status_of "$STACKTOP" -n 1 -d 0.3 -o link
check "-o follows no link" [ "$status" -eq 1 ]
check "-o created nothing behind a link" [ ! -e elsewhere ]
status_of "$STACKTOP" -n 1 -d 0.3 -o /dev/null
check "-o /dev/null is no file that exists: $status $(cat err)" [ "$status" -eq 0 ]
status_of "$STACKTOP" -n 1 -d 0.3 -p 4194303 -o never
check "a run that fails leaves no -o file of any size" [ ! -s never ]
if [ -w /dev/full ]; then
	"$STACKTOP" -n 1 -d 0.3 -b >/dev/full 2>err
	status=$?
	check "a full device is 1, not $status" [ "$status" -eq 1 ]
	check "and is told: $(cat err)" grep -q 'No space left' err
fi

[ "$failures" -eq 0 ]
