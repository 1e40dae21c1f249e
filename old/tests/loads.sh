# SPDX-License-Identifier: GPL-3.0-or-later
# Real loads for reports and live tests. Source this; each load runs in a
# process group of its own until load_stop.
#
#	load_start gcc|fio|python|python400|pg|shares    0, or 77 when it cannot run here
#	load_stop

load_dir=
load_pid=

load_start()
{
	load_dir=$(mktemp -d "${TMPDIR:-/tmp}/stacktop-load.XXXXXX") || return 1
	chmod 755 "$load_dir"
	case $1 in
	gcc) command -v g++ >/dev/null || return 77 ;;
	fio) command -v fio >/dev/null && command -v nbdkit >/dev/null || return 77 ;;
	python*) [ -x /usr/bin/python3 ] || return 77 ;;
	pg) load_pg_bin=$(dirname "$(find /usr/lib/postgresql /usr/local -name pgbench -type f \
		-perm -1 2>/dev/null | head -n 1)")
		[ -x "$load_pg_bin/initdb" ] || return 77 ;;
	esac
	# setsid may fork: the group's leader tells its pid itself.
	setsid bash -c '. "$1"; cd "$2"; echo $$ >pid; "load_$3" "$4"' load "$(readlink -f "${BASH_SOURCE[0]}")" \
		"$load_dir" "$1" "${load_pg_bin:-}" >"$load_dir/log" 2>&1 &
	disown
	until [ -s "$load_dir/pid" ]; do sleep 0.05; done
	load_pid=$(cat "$load_dir/pid")
}

# The pids of $1 and of all below it; some daemons leave their process group.
load_tree()
{
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		load_tree "$child"
	done
}

load_stop()
{
	local tree
	[ -n "$load_pid" ] || return 0
	tree=$(load_tree "$load_pid")
	kill -KILL "$load_pid" # first, it starts the others anew
	# shellcheck disable=SC2086
	kill -TERM $tree 2>/dev/null
	sleep 0.3
	# shellcheck disable=SC2086
	kill -KILL $tree 2>/dev/null
	rm -rf "$load_dir"
	load_pid=
}

# Two loops of a compiler on ten lines with four headers.
load_gcc()
{
	cat >t.cc <<-'EOF'
	#include <algorithm>
	#include <map>
	#include <string>
	#include <vector>
	int main() {
		std::map<std::string, std::vector<int>> m;
		for (int i = 0; i < 100; i++) m[std::to_string(i)].push_back(i);
		auto &v = m["7"]; std::sort(v.begin(), v.end());
		return (int)m.size();
	}
	EOF
	(while :; do g++ -O2 -c -o a.o t.cc; done) &
	while :; do g++ -O2 -c -o b.o t.cc; done
}

load_fio()
{
	while :; do
		nbdkit -U - null 1G --run 'fio --name=t --ioengine=nbd --uri="$uri" --rw=randrw \
			--bs=64k --iodepth=64 --numjobs=4 --time_based --runtime=600 --size=256M'
	done
}

# Recursion in which every level takes C frames.
load_depth()
{
	cat >t.py <<-EOF
	import sys
	sys.setrecursionlimit(100000)
	def f(n):
	    if n == 0:
	        return sum(i * i for i in range(2000))
	    return sum(map(f, [n - 1]))
	while True:
	    f($1)
	EOF
	/usr/bin/python3 t.py &
	/usr/bin/python3 t.py
}
load_python() { load_depth 60; }
load_python400() { load_depth 400; }

load_pg()
{
	bin=$1
	chmod 777 .
	run="env"
	[ "$(id -u)" = 0 ] && run="setpriv --reuid=65534 --regid=65534 --clear-groups"
	HOME=$PWD $run "$bin/initdb" -D pg -A trust -U bench >/dev/null
	$run "$bin/postgres" -D pg -k "$PWD" -c listen_addresses= &
	until $run "$bin/psql" -h "$PWD" -U bench -c 'select 1' postgres >/dev/null 2>&1; do
		sleep 0.2
	done
	$run "$bin/pgbench" -h "$PWD" -U bench -i -s 5 postgres
	while :; do
		$run "$bin/pgbench" -h "$PWD" -U bench -S -c4 -j2 -T 600 postgres
	done
}
