# SPDX-License-Identifier: GPL-3.0-or-later
# Programs with known stacks (tests/targets/chains.c) and what is said of them.
# Source it after lib.sh; $program is the one in $tmp that runs.
# shellcheck shell=bash disable=SC2154

program=chains

# works PID: it is past its start and uses the CPU (30 ms so far), itself or the kernel for it
works() { [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }')" -ge 3 ] 2>/dev/null; }

# Profile scenario $1 into $tmp/json; more arguments go to stacktop. What fails is left in $why.
profile()
{
	local scenario=$1
	shift
	(cd "$tmp" && exec "./$program" "$scenario") &
	scenario_pid=$!
	test_pids="$test_pids $scenario_pid"
	wait_for 20 runs_on "$scenario_pid"
	if [ "$scenario" = fork ] || [ "$scenario" = vfork-child ]; then
		wait_for 20 pgrep -P "$scenario_pid" >/dev/null
		scenario_pid=$(pgrep -P "$scenario_pid")
	fi
	if ! wait_for 20 works "$scenario_pid"; then
		why="$scenario does nothing: $(grep -s State "/proc/$scenario_pid/status" || echo 'it has ended')"
		kill -KILL "$!" 2>/dev/null
		return 1
	fi
	# The second picture has all of the first, and the names had their time on a busy machine.
	"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 2 -d 0.4 -p "$scenario_pid" --call-graph dwarf,65528 "$@" \
		>"$tmp/all" 2>"$tmp/err" || why=$(cat "$tmp/err")
	tail -n 1 "$tmp/all" >"$tmp/json"
	kill -KILL "$!" 2>/dev/null
	wait "$!" 2>/dev/null
	return 0 # not that of what was killed
}

# Share (percent) of the weight whose path, functions of object regex $2 only, is regex $1.
path_share()
{
	jq -r --arg path "$1" --arg object "$2" '. as $doc |
		def kids: if has("continued") then $doc.continued[.continued] else . end | .children[];
		def walk($p): . as $n |
			($p + (if ($n.object // "") | test($object) then [$n.name] else [] end)) as $q |
			(if $n.self > 0 then [$n.self, ($q | join(";"))] else empty end),
			($n | kids | walk($q));
		[.tree | walk([])] | (map(.[0]) | add // 0) as $all |
		(map(select(.[1] | test($path))) | map(.[0]) | add // 0) |
		if $all == 0 then 0 else 100 * . / $all end' "$tmp/json"
}

# expect SCENARIO PATH [MIN%]: most of its stacks are this path and 99 % reach the root, of few all but one (the rest
# may be caught where nobody can tell: in code without CFI that sets up its frame, or while the
# kernel puts the registers of a signal's frame back one after the other)
expect() { look "$program: $1" expected "$@" && pass "$program: $1"; }
expected()
{
	local scenario=$1 ends
	profile "$scenario" || return
	has_path "$2" "${3:-90}" "${4:-$program}"
	# Those of the beginning may still wait for tables and code.
	ends=$(jq -c '.health | (.user_stacks - (.incomplete.pending // 0)) as $ended | [.samples > 5,
		$ended >= .user_stacks * 0.7, .complete >= $ended * '"${least_complete:-0.99}"' - 1, .incomplete]' "$tmp/json")
	[[ $ends == '[true,true,true,'* ]] || why="incomplete: $ends"
}

# has_path REGEX MIN% OBJECT: as path_share; if not, $why says so
has_path()
{
	local share
	share=$(path_share "$1" "$3")
	within "$share" "$2" 100 || why="only $share % are $1: $(path_list) $(jq -c .health.incomplete "$tmp/json")"
}

path_list()
{
	jq -r 'def walk($p): . as $n | ($p + [$n.name]) as $q |
		(if $n.self > 0 then "\($n.self) \($q | join(";"))" else empty end),
		($n.children[]? | walk($q)); [.tree | walk([])] | .[:4][]' "$tmp/json"
}

# ends SCENARIO REASON [MIN%]: so many of its stacks end with this reason, and of those that do not reach the root all but few
ends() { look "$program: $1" ended "$@" && pass "$program: $1 ends with $2"; }
ended()
{
	profile "$1"
	jq -e --arg r "$2" --argjson least "${3:-80}" '.health | .samples > 20 and
		.incomplete[$r] >= .user_stacks * $least / 100 and
		([.incomplete[]] | add) - (.incomplete.pending // 0) <= .incomplete[$r] * 1.02' \
		"$tmp/json" >/dev/null || why="not $2: $(jq -c '.health | [.user_stacks, .incomplete]' "$tmp/json")"
}
