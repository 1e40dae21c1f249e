#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The commands of docs/EXPORT, as they stand there but for how long they take: each does what it is for. Servers, other
# machines and flamegraph.pl have stand-ins that refuse what the real ones would.

. "${top_srcdir:?}/tests/lib.sh" || exit 1
need python3 curl tar
need_sampling
export HOME=$tmp PPROF_TMPDIR=$tmp GOTOOLCHAIN=local # where curl and go look for settings
mkdir "$tmp/bin" "$tmp/blocks" "$tmp/work" "$tmp/server"
PATH=$tmp/bin:$PATH
cd "$tmp/work" || exit 1

stand_in()
{
	cat >"${tmp:?}/bin/$1"
	chmod +x "$tmp/bin/$1"
}
ln -s "$STACKTOP" "$tmp/bin/stacktop"
stand_in sudo <<-'END'
	#!/bin/sh
	[ "$1" != -n ] || shift
	exec env -u SUDO_UID -u SUDO_GID "$@"
END
stand_in ssh <<-'END'
	#!/bin/sh
	shift
	exec sh -c "$*"
END
stand_in flamegraph.pl <<-'END'
	#!/usr/bin/awk -f
	!/^[^;]+(;[^;]+)* [0-9]+$/ { print "no folded stack: " $0 >"/dev/stderr"; wrong = 1; exit 1 }
	{ frames[$1] } END { print "<svg>"; for (frame in frames) print frame; exit wrong }
END

# Each run of indented lines is a block: blocks/NUMBER, its heading in blocks/NUMBER.heading
awk -v dir="$tmp/blocks" '
	/^[-=]+$/ { heading = last }
	{ last = $0 }
	/^$/ { blank = 1; next }
	/^    / {
		if (!inside || blank && heading != whose) { nr++; whose = heading; print heading >(dir "/" nr ".heading") }
		inside = 1; blank = 0
		print substr($0, 5) >(dir "/" nr)
		next
	}
	{ inside = blank = 0 }' "$top_srcdir/docs/EXPORT"
nr_blocks=$(find "$tmp/blocks" -name '*.heading' | wc -l)
done_blocks=

# recipe HEADING TEXT: run the next block of it that has TEXT; its output is in $tmp/out, what it says in $tmp/said
recipe()
{
	local nr
	for ((nr = 1; nr <= nr_blocks; nr++)); do
		[ "$(cat "$tmp/blocks/$nr.heading")" = "$1" ] && grep -qF -- "$2" "$tmp/blocks/$nr" || continue
		done_blocks="$done_blocks $nr"
		sed -E '/stacktop/s/ -d 10/ -d 1/; s/ -n 20000/ -n 50/; /-http=/d' "$tmp/blocks/$nr" >"$tmp/block.sh"
		bash -u "$tmp/block.sh" >"$tmp/out" 2>"$tmp/said" </dev/null && return
		fail "$1: status $?: $(head -n 3 "$tmp/said")"
		return
	done
	fail "docs/EXPORT has no block with '$2' below '$1'"
}

python3 "$top_srcdir/tests/recipes_server.py" "$tmp/server" 2>"$tmp/server/said" &
test_pids="$test_pids $!"
wait_for 30 test -s "$tmp/server/port" || {
	fail "no server: $(cat "$tmp/server/said")"
	finish
}
echo "connect-to = \"::127.0.0.1:$(cat "$tmp/server/port")\"" >"$tmp/.curlrc"
unset http_proxy HTTP_PROXY ALL_PROXY all_proxy
start bash -c 'while :; do :; done'

# opens FILE: as a profile of pprof with samples in it
opens() { "$top_srcdir/tests/read_pprof.py" "$1" 2>&1 | grep -q '^TOTAL [1-9]'; }

recipe 'All of one picture, for whoever looks at it later' --bundle
check 'a bundle' sh -c 'tar tzf evidence.tar.gz | grep -qx evidence/README'

command -v go >/dev/null || stand_in go </dev/null
recipe 'go tool pprof' 'x.pb.gz'
check 'a profile of pprof' opens x.pb.gz
cp x.pb.gz before.pb.gz
cp x.pb.gz after.pb.gz
recipe 'go tool pprof' -diff_base
printf 'a;f 30\na;g 60\na;h x 10\n' >before.folded
printf 'a;f 20\na;b;f 20\na;h x 60\n' >after.folded
recipe 'go tool pprof' after.folded
printf '+50.00 h x\n+10.00 f\n-60.00 g\n' | diff - changes >"$tmp/diff" || fail "what grew and shrank: $(cat "$tmp/diff")"

recipe 'speedscope, flame graphs' --format=script
check 'text of perf script' test -n "$("$top_srcdir/tests/read_script.py" <x.perf)"
recipe 'speedscope, flame graphs' flamegraph.pl
check 'a flame graph' grep -q bash x.svg
rm x.perf
recipe 'Firefox Profiler, with threads and times' --format=script
check 'fifty samples' test "$(grep -c '^[^[:space:]]' x.perf)" = 50
printf 'sh 1/1 1.000000: 1 cpu-clock: \n\nsh 1/1 1.000001: 1 cpu-clock: \n\t1 f+0x1 (x)\n\n' >x.perf
recipe Perfetto x.txt
check 'samples without frames are left out' test "$(cat x.txt)" = "$(tail -n 3 x.perf)"

recipe Pyroscope curl
check 'Pyroscope gets a profile' opens "$tmp/server/pyroscope"
name='' from=0 until=0
read -r name from until <"$tmp/server/pyroscope.labels"
check 'with its name' test "$name" = stacktop
check 'and its times' test $((until - from)) = 10 -a "$((from + 3600))" -gt "$(date +%s)"
recipe Parca curl
check 'Parca gets a profile' opens "$tmp/server/parca"
printf '__name__ process_cpu\nnode %s\n' "$(uname -n)" | diff - "$tmp/server/parca.labels" >"$tmp/diff" || fail "labels: $(cat "$tmp/diff")"
[ ! -e "$tmp/server/refused" ] || fail "refused: $(cat "$tmp/server/refused")"
curl -s --fail --data-binary @x.pb.gz 'http://parca:7070/profiles' && fail 'the server takes anything'

recipe 'Several machines' ssh
for host in a b c; do
	check "$host is in the graph" grep -q "^$host;bash" all.svg
done

# What is not run here is known.
for ((nr = 1; nr <= nr_blocks; nr++)); do
	[[ " $done_blocks " == *" $nr "* ]] || grep -q -- --when "$tmp/blocks/$nr" || fail "not tried: $(cat "$tmp/blocks/$nr")"
done
finish
