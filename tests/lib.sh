# SPDX-License-Identifier: GPL-3.0-or-later
# What the test scripts share. Source it first: . "$top_srcdir/tests/lib.sh"
# shellcheck shell=bash disable=SC2034

set -u
top_srcdir=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd)
top_builddir=$(cd "${top_builddir:-$top_srcdir/build}" && pwd)
STACKTOP=${STACKTOP:-$top_builddir/stacktop}
CC=${CC:-cc}
failed=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/stacktop-test.XXXXXX")
chmod 755 "$tmp"
test_pids=

# End what was started with `start`, and remove the scratch directory.
cleanup()
{
	local pid
	for pid in $test_pids; do
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
# Screens begin as they are made, not as whoever runs the tests likes them.
export XDG_CONFIG_HOME=$tmp/no-settings
trap 'exit 130' INT TERM

# perf keeps copies of the files that it meets in the user's home, and takes names from there.
if command -v perf >/dev/null; then
	perf() { command perf --buildid-dir "$tmp/perf-files" "$@"; }
fi

skip()
{
	echo "SKIP: $*"
	exit 77
}

fail()
{
	echo "FAIL: $*"
	failed=1
}

pass() { echo "ok: $*"; }

# check WHAT COMMAND...: passes when the command does
check()
{
	local what=$1
	shift
	if "$@"; then pass "$what"; else fail "$what"; fi
}

finish() { exit "$failed"; }

need()
{
	local tool
	for tool; do
		[ -n "$(type -P "$tool")" ] || skip "$tool is not installed"
	done
}

# jq -e, for which no document at all meets no condition: some versions of it end with 0 then.
jq()
{
	local said status
	[ "$1" = -e ] || { command jq "$@"; return; }
	said=$(command jq "$@")
	status=$?
	[ -n "$said" ] || [ $status -ne 0 ] || return 4
	printf '%s\n' "$said"
	return $status
}

# Sampling all CPUs must be allowed.
need_sampling()
{
	[ -z "${STACKTOP_TEST_NO_SAMPLING:-}" ] || skip 'asked not to sample'
	"$STACKTOP" -b -n 1 -d 0.2 >"$tmp/probe" 2>&1 ||
		skip "sampling is not allowed here: $(head -n 1 "$tmp/probe")"
	[ "$(id -u)" = 0 ] || skip "needs root: sampling of all CPUs"
}

# Start a command in the background that cleanup ends.
start()
{
	"$@" &
	last_pid=$!
	test_pids="$test_pids $last_pid"
}

# wait_for SECONDS COMMAND...: true as soon as the command is. What it waits for may run on a
# crowded machine, which has twice the time; not more, whatever the command itself takes.
wait_for()
{
	local end=$((SECONDS + 2 * $1))
	shift
	while ! "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# look WHAT COMMAND...: the command looks at something that runs and leaves in $why
# what is not as it should be. A machine that was too busy for it is looked at again.
look()
{
	local what=$1 try
	shift
	for try in 1 2 3; do
		why=
		"$@"
		[ -n "$why" ] || return 0
	done
	fail "$what: $why"
	return 1
}

# runs PID FILE: it has come to run that file
runs() { [ "$(readlink "/proc/$1/exe")" = "$2" ]; }
# runs_on PID: it is past this shell
runs_on() { ! runs "$1" "$(readlink "/proc/$$/exe")"; }

# says_last FILE CONDITION [ARGUMENT OF JQ...]: the last whole document of FILE, without its tree, meets it.
says_last()
{
	local file=$1 condition=$2
	shift 2
	tail -n 2 "$file" | grep '}$' | tail -n 1 | sed 's/,"tree":{.*/}/' |
		jq -e -s "$@" "length == 1 and (.[0] | $condition)" >/dev/null 2>&1
}

# within VALUE LOW HIGH (decimals allowed)
within() { awk -v v="$1" -v l="$2" -v h="$3" 'BEGIN { exit !(v >= l && v <= h) }'; }
