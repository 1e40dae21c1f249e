#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Debug files from a server on this host: names come while the profile goes on,
# nobody is asked who was not allowed to be, and a server that hangs holds up
# nothing.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq objcopy strip readelf python3
need_sampling
"$STACKTOP" --debuginfod=http://127.0.0.1 --version >/dev/null 2>&1 || {
	check 'a build without it says so' eval \
		"'$STACKTOP' --debuginfod -b 2>&1 | grep -q 'built without debuginfod'"
	finish
}
id=d$$

cat >"$tmp/spin.c" <<-'EOF'
	#include <unistd.h>
	static __attribute__((noinline)) void work(unsigned n) { for (volatile unsigned i = 0; i < n; i++) ; }
	int main(void) { for (;;) { work(500000); usleep(20000); } }
EOF
# stripped NAME FUNCTION: runs without symbols, which stand in $tmp/NAME.debug; its build-id in $build_id
stripped()
{
	"$CC" -O1 -g "-Dwork=$2" -Wl,--build-id -o "$tmp/$1" "$tmp/spin.c" || skip 'no compiler'
	objcopy --only-keep-debug "$tmp/$1" "$tmp/$1.debug"
	strip "$tmp/$1"
	build_id=$(readelf -n "$tmp/$1" | awk '/Build ID/ { print $3 }')
	start "$tmp/$1"
}
stripped "$id-good" in_good
good=$build_id
good_pid=$last_pid
stripped "$id-other" in_other # its debug file will be another one's
other=$build_id
stripped "$id-slow" in_slow
slow=$build_id

serve
serve_held "$good"
serve_held "$slow"
serve_debug "$other" "$tmp/$id-good.debug"

begin()
{
	: >"$tmp/json"
	start env -u XDG_CACHE_HOME "$@" -b --format=json -d 0.3 --window 3 >"$tmp/json" 2>"$tmp/err"
	main=$last_pid
}
says() { tail -n 2 "$tmp/json" | grep '}$' | tail -n 1 | sed 's/,"tree":{.*/}/' | jq -e "$1" >/dev/null 2>&1; }
nr_documents() { wc -l <"$tmp/json"; }
soon()
{
	wait_for 40 says "$1" && return
	fail "$2: $(tail -n 1 "$tmp/json" | jq -c '[.notice, .health, [.functions[] | [.name, .object]][:12]]')"
	tail -n 2 "$tmp/err"
}
end()
{
	local pids
	pids=$(family "$main")
	kill -TERM "$main"
	# shellcheck disable=SC2086
	wait_for 20 all_gone $pids || fail 'something stays'
	wait "$main" 2>/dev/null
}
named() { echo "([.functions[] | select(.object == \"$1\" and .name == \"$2\")] | length == 1)"; }
unnamed_any() { echo "([.functions[] | select(.object == \"$1\" and (.name | startswith(\"$1+0x\")))] | length > 0)"; }
unnamed() { echo "([.functions[] | select(.object == \"$1\")] | length > 0 and all(.[]; .name | startswith(\"$1+0x\")))"; }

# Not asked for: nobody is asked.
begin env "DEBUGINFOD_URLS=$url" "$STACKTOP"
soon "$(unnamed "$id-good")" 'not in the profile'
seen=$(nr_documents)
wait_for 40 eval '[ "$(nr_documents)" -ge $((seen + 4)) ]' || fail 'the profile does not go on'
says '.health.fetched == 0 and (.notice | test("debug file") | not)' || fail 'fetched without permission'
end
check 'nobody is asked unless that is allowed' test ! -s "$tmp/asked"

begin env "DEBUGINFOD_URLS=$url" "$STACKTOP" --debuginfod
soon "$(unnamed "$id-good")" 'no name without the server'
serve_debug "$good" "$tmp/$id-good.debug"
# Also what was named without it is named anew: nothing is left of that.
soon "$(named "$id-good" in_good) and ($(unnamed_any "$id-good") | not)" 'no name from the server'
soon "$(unnamed "$id-other")" 'named by a file that is not its own'
soon '.health.fetched >= 1 and .health.fetch_failed >= 1' 'not counted'
downloaded() { echo "any(.health.downloads[]; .object == \"$1\" and .result == \"$2\" and .bytes >= 0)"; }
soon "$(downloaded "$id-good" came) and $(downloaded "$id-other" 'not that file') and .health.fetch_bytes > 0 and
	(.health.fetch_server | startswith(\"127.0.0.1:\"))" 'the downloads are not told'
wait_for 40 grep -qE '"notice":"[^"]*debug file of [^"]* from 127\.0\.0\.1:[0-9]+' "$tmp/json" || fail 'not told'
# The slow one is asked for at last: everything goes on, and quitting does not wait for it.
wait_for 40 grep -q "$slow" "$tmp/asked" || fail 'the slow one was never asked for'
samples=$(tail -n 1 "$tmp/json" | jq .health.samples)
soon ".health.samples > ${samples:-0} + 20" 'no samples while the server is slow'
member "$main" stacktop-fetch >"$tmp/fetcher" || fail 'no fetcher'
if ldd "$STACKTOP" | grep -q libseccomp && ! grep -q '^#define SANITIZED' "$top_builddir/config.h"; then
	check 'the fetcher has a filter' grep -qE '^Seccomp:\s2$' "/proc/$(cat "$tmp/fetcher")/status"
fi
check 'the fetcher has no privilege' grep -qE '^CapPrm:\s0+$' "/proc/$(cat "$tmp/fetcher")/status"
end
wait_for 5 eval '! ls -d /tmp/stacktop-debuginfod.* 2>/dev/null | grep -q .' || echo 'note: a directory of a fetcher in /tmp'
pass 'names from a server'

# The person's own word counts more than the environment.
begin env -u DEBUGINFOD_URLS "$STACKTOP" "--debuginfod=$url"
soon "$(named "$id-good" in_good)" 'no name from a server that was named'
end
# The server that elfutils has.
served() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$1" 2>/dev/null; }
if command -v debuginfod >/dev/null; then
	stripped "$id-real" in_real
	real_pid=$last_pid
	mkdir "$tmp/real" && mv "$tmp/$id-real.debug" "$tmp/real"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	start env -u DEBUGINFOD_URLS debuginfod -p "$port" -d :memory: -F "$tmp/real" >"$tmp/log" 2>&1
	if wait_for 20 served "http://127.0.0.1:$port/buildid/$build_id/debuginfo"; then
		begin env -u DEBUGINFOD_URLS "$STACKTOP" "--debuginfod=http://127.0.0.1:$port"
		soon "$(named "$id-real" in_real)" "no name from elfutils' server"
		end
		# Its source as well, which is not shown from here: it is another user's.
		if chown 65534 "$tmp/spin.c"; then
			has_source()
			{
				env -u XDG_CACHE_HOME -u DEBUGINFOD_URLS "$STACKTOP" -b -n 1 -d 2 -p "$real_pid" --annotate=in_real \
					"--debuginfod=http://127.0.0.1:$port" >"$tmp/out" 2>"$tmp/err"
				grep -qE 'spin.c:[0-9]+ .*volatile unsigned' "$tmp/out" || why=$(cat "$tmp/err" "$tmp/out")
			}
			look "source from elfutils' server" has_source
			chown 0 "$tmp/spin.c"
		fi
		pass "elfutils' server"
	else
		echo "not tested: elfutils' server: $(tail -n 1 "$tmp/log")"
	fi
else
	echo "not tested: elfutils' server is not there"
fi

# On a screen one line names the server, and nobody is asked before the key has said so.
mux() { tmux -u -L "stacktop-$id" -f /dev/null "$@"; }
screen_has() { mux capture-pane -p | grep -q "$1"; }
if command -v tmux >/dev/null; then
	: >"$tmp/asked"
	# Of one process: on a busy machine the others have more rows than the screen.
	mux new-session -d -x 160 -y 40 "env -u XDG_CACHE_HOME DEBUGINFOD_URLS=$url LC_ALL=C.UTF-8 '$STACKTOP' -d 0.3 --window 3 -p $good_pid"
	wait_for 40 screen_has 'may be at 127.0.0.1:[0-9]*: D asks there' || fail 'the screen does not ask'
	check 'nobody is asked before the key' test ! -s "$tmp/asked"
	mux send-keys D
	wait_for 40 screen_has in_good || fail 'no name after the key'
	mux send-keys D
	wait_for 40 screen_has 'no more debug files from' || fail 'the key does not stop it'
	mux send-keys q
	wait_for 20 eval '! mux list-sessions 2>/dev/null | grep -q .' || fail 'the screen stays'
	mux kill-server 2>/dev/null
fi
if [ -z "$(cat /etc/debuginfod/*.urls 2>/dev/null)" ]; then
	env -u DEBUGINFOD_URLS "$STACKTOP" -b -n 1 --debuginfod >"$tmp/out" 2>&1
	check 'without a server: status 1' test $? = 1
	check 'without a server: told' grep -q 'no server is known' "$tmp/out"
fi
"$STACKTOP" -b -n 1 --debuginfod=nonsense >"$tmp/out" 2>&1
check 'no URL: status 2' test $? = 2
finish
