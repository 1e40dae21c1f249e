#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Whose a process is: the container or unit of its control group, beside its functions and in json. Groups
# are made where that is allowed, below a name of this test's own, and removed.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq
need_sampling
id=$$

# The hierarchy that knows containers: version 2, perhaps beside version 1.
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
v1_perf=$(awk '$3 == "cgroup" && $4 ~ /(^|,)perf_event(,|$)/ { print $2; exit }' /proc/mounts)
v1_cpu=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$v2" ] || skip 'no cgroup2 is mounted'
scope=docker-$(printf 'c0ffee%058x' "$id").scope
name=docker:c0ffee000000
unit=stacktop-test-$id.service
made=
make_group()
{
	mkdir "$1" 2>/dev/null || return 1
	made="$1 $made"
}
# A group with processes cannot be removed: they are ended first.
leave_groups()
{
	local pid
	for pid in $test_pids; do kill -KILL "$pid" 2>/dev/null; done
	wait 2>/dev/null
	# shellcheck disable=SC2086
	[ -z "$made" ] || rmdir $made
	live_cleanup
}
trap leave_groups EXIT
make_group "$v2/$unit" || skip "no group can be made below $v2"
make_group "$v2/$scope" || skip "no group can be made below $v2"
if [ -n "$v1_cpu" ]; then
	make_group "$v1_cpu/$unit"
	make_group "$v1_cpu/$scope"
fi

cat >"$tmp/spin.c" <<-'EOC'
	__attribute__((noinline)) void NAME(void) { for (volatile unsigned n = 0; n < 500000; n++) ; }
	int main(void) { for (;;) NAME(); }
EOC
# run FUNCTION GROUP: in that group, a program that spends its time in this function
run()
{
	"$CC" -O1 "-DNAME=$1" -o "$tmp/$1$id" "$tmp/spin.c" || skip 'no compiler'
	start "$tmp/$1$id"
	[ -z "$2" ] && return
	echo "$last_pid" >"$v2/$2/cgroup.procs" || skip "no process can be put into $v2/$2"
	[ -z "$v1_cpu" ] || echo "$last_pid" >"$v1_cpu/$2/cgroup.procs"
}
run serve "$unit"
run query "$scope"
run nobody ''

container_of() { echo "[.functions[] | select(.name == \"$1\" and .object == \"$1$id\") | .container]"; }
shows()
{
	"$STACKTOP" --format=json -n 1 -d 1 "$@" >"$tmp/json" 2>"$tmp/err"
	jq -e "$(container_of serve) == [\"$unit\"] and $(container_of query) == [\"$name\"]
		and $(container_of nobody) != [\"$unit\"]" "$tmp/json" >/dev/null &&
		jq -e --arg n "$name" --arg c "/$scope" --arg u "$unit" '.total as $all | .containers |
			(map(select(.container == $n and (.cgroup | endswith($c)) and .processes == 1)) | length == 1) and
			(map(select(.container == $u)) | length == 1 and .[0].weight < $all)' "$tmp/json" >/dev/null ||
		why="$(cat "$tmp/err") $(jq -c '[.containers, (.functions[:8][] | [.name, .container])]' "$tmp/json")"
}
look 'json tells the container of each function' shows

text_shows()
{
	"$STACKTOP" -b -n 1 -d 1 >"$tmp/text" 2>&1
	grep -qE "procs container" "$tmp/text" && grep -qE " serve .*serve$id +1 $unit\$" "$tmp/text" &&
		grep -qE " query .*query$id +1 $name\$" "$tmp/text" ||
		why=$(head -n 12 "$tmp/text")
}
look 'the text has a column of containers' text_shows

# The key @ on a row of processes.
if command -v tmux >/dev/null; then
	term_start 120x40 "$STACKTOP" -d 0.5
	key 6
	see "serve$id [0-9]+ .*\.service" && see "query$id [0-9]+ "
	key /
	key -l "query$id"
	key Enter
	key @
	see "only c:$name: " && see_not "serve$id " && see "query$id " && pass '@ leaves the container of a process'
	key BSpace
	see "serve$id "
	key /
	key -l "serve$id"
	key Enter
	key @
	see "only c:$unit: " && see_not "query$id " && pass 'and that of another'
	key q
	term_end '@ on a process' 0
fi

# only GROUP: nothing but what runs there, by the events of the group
only()
{
	"$STACKTOP" --format=json -n 1 -d 1 "--cgroup=$1" >"$tmp/json" 2>"$tmp/err"
	jq -e '([.functions[] | select(.name == "query")] | length == 1) and .samples > 0 and
		([.functions[] | select(.name == "serve" or .name == "nobody")] | length == 0) and
		(.target | startswith("cgroup"))' "$tmp/json" >/dev/null ||
		why="--cgroup=$1: $(cat "$tmp/err") $(jq -c '[.target, .samples, (.functions[:8][] | .name)]' "$tmp/json")"
}
for word in "/$scope" "$v2/$scope" "$name" "c0ffee0000$(printf '%054x' "$id")"; do
	look "--cgroup=$word" only "$word"
done
# A hierarchy that perf events are not in: the processes that are there now.
by_processes()
{
	only "$1"
	jq -e '.target | endswith("by its processes of now")' "$tmp/json" >/dev/null ||
		why="$why not told: $(jq -c .target "$tmp/json")"
}
if [ -n "$v1_cpu" ]; then
	look 'by processes' by_processes "$v1_cpu/$scope" && pass 'by processes'
fi
"$STACKTOP" -b -n 1 --cgroup=no-such-group >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q "no control group, container or systemd unit 'no-such-group'" "$tmp/out" ||
	fail "no such group: $(cat "$tmp/out")"
pass 'a group that is not there is refused'

# A recording says it where perf was asked for control groups.
recorded()
{
	perf record -a -g --all-cgroups -o "$tmp/data" sleep 1 >"$tmp/out" 2>&1
	"$STACKTOP" -b -i "$tmp/data" --format=json >"$tmp/json" 2>"$tmp/err"
	jq -e "$(container_of serve) == [\"$unit\"] and $(container_of query) == [\"$name\"]
		and $(container_of nobody) != [\"$unit\"]" "$tmp/json" >/dev/null ||
		why="$(cat "$tmp/err") $(jq -c '[.containers, (.functions[:8][] | [.name, .container])]' "$tmp/json")"
}
# perf takes the paths of the hierarchy that its events are in.
if ! command -v perf >/dev/null || ! perf record --all-cgroups -o "$tmp/data" true >"$tmp/out" 2>&1; then
	echo "not tested: no recording with control groups can be made: $(tail -n 1 "$tmp/out")"
elif [ -n "$v1_perf" ]; then
	echo 'not tested: perf events are in a hierarchy of their own'
else
	look 'a recording tells the container of each function' recorded && pass 'recorded'
fi

# A group that may use a tenth of a CPU, where its limit can be set: what holds it up is told.
limit=
if [ -n "$v1_cpu" ] && echo 10000 >"$v1_cpu/$unit/cpu.cfs_quota_us" 2>/dev/null; then
	limit=$v1_cpu
elif echo '10000 100000' >"$v2/$unit/cpu.max" 2>/dev/null; then
	limit=$v2
fi
throttled()
{
	"$STACKTOP" --format=json -n 1 -d 4 >"$tmp/json" 2>"$tmp/err"
	jq -e --arg u "$unit" --arg n "$name" '
		(.containers[] | select(.container == $u) |
			.throttled_periods > 0 and .throttled_periods <= .cpu_periods and .throttled_cpu_s > 0) and
		(.containers[] | select(.container == $n) | .throttled_periods == 0) and
		(.notice | contains($u + " is throttled by its CPU limit in "))' "$tmp/json" >/dev/null ||
		why="$(cat "$tmp/err") $(jq -c '[.notice, .containers]' "$tmp/json")"
}
if [ -n "$limit" ]; then
	look 'a CPU limit that holds its group up is told' throttled
else
	echo "no CPU limit can be set below $v2: that part is left out"
fi

# -u: programs of two users.
user=$(getent passwd | awk -F: '$3 >= 1000 && $3 < 60000 { print $1; exit }')
user=${user:-nobody}
cp "$tmp/nobody$id" "$tmp/users$id" && chmod 755 "$tmp/users$id"
if command -v setpriv >/dev/null && [ "$(id -u)" = 0 ]; then
	start setpriv --reuid "$user" --clear-groups "$tmp/users$id"
	wait_for 20 runs "$last_pid" "$tmp/users$id"
	of_user()
	{
		"$STACKTOP" --format=json -n 1 -d 1 -u "$1" >"$tmp/json" 2>"$tmp/err"
		jq -e --arg o "users$id" '([.functions[] | select(.name == "nobody") | .object] == [$o]) and
			([.functions[] | select(.name == "serve" or .name == "query")] | length == 0)' \
			"$tmp/json" >/dev/null ||
			why="-u $1: $(cat "$tmp/err") $(jq -c '[.functions[:8][] | [.name, .object]]' "$tmp/json")"
	}
	look '-u NAME' of_user "$user"
	look '-u NUMBER' of_user "$(id -u "$user")"
fi
"$STACKTOP" -b -n 1 -u "no-such-$id" >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q "there is no user 'no-such-$id'" "$tmp/out" || fail "no such user: $(cat "$tmp/out")"
pass 'a user that is not there is refused'
finish
