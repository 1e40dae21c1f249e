#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Files that are held open are bounded: thousands that one process maps cost no
# other program its names, a program that has ended and is deleted gives its
# space back, and a file that was closed is opened again when names are wanted.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq
need_sampling
id=o$$ # in the names of the programs: other tests run at the same time
nr_files=2000
limit=160 # descriptors of stacktop, of which a quarter is for files

# What runs in the first seconds, and what runs after a signal: a name that nobody asked for until then.
cat >"$tmp/spin.c" <<-'EOC'
	#include <signal.h>
	#include <stdlib.h>
	#include <unistd.h>
	static volatile sig_atomic_t is_second;
	static void on_signal(int sig) { (void)sig; is_second = 1; }
	#define WORK for (volatile unsigned n = 0; n < 500000; n++) ;
	__attribute__((noinline)) void NAME(void) { WORK }
	__attribute__((noinline)) void second(void) { WORK }
	int main(void)
	{
		signal(SIGUSR1, on_signal);
		for (;;) {
			if (is_second) second(); else NAME();
			usleep(20000);
		}
	}
EOC
build() { "$CC" -O1 "-DNAME=$2" -o "$tmp/$1" "$tmp/spin.c" || skip 'no compiler'; }
"$CC" -O1 -o "$tmp/files" "$top_srcdir/tests/targets/files.c" || skip 'no compiler'

last() { tail -n 2 "$tmp/json" | grep '}$' | tail -n 1 | sed 's/,"tree":{.*/}/'; }
says() { last 2>/dev/null | jq -e "$1" >/dev/null 2>&1; }
soon()
{
	wait_for 60 says "$1" || fail "$2: $(last | jq -c '[.notice, .health, .functions[:5]]')"
}
function_of() { echo "[.functions[] | select(.object == \"$1\" and .name == \"$2\")] | length == 1"; }

# descriptors PATTERN: how many of them, in all of stacktop's processes, lead to it
descriptors()
{
	local pid
	for pid in $(family "$main"); do
		find "/proc/$pid/fd" -lname "$1" 2>/dev/null
	done | wc -l
}
has_no_descriptor() { [ "$(descriptors "$1")" = 0 ]; }

mkdir "$tmp/many"
: >"$tmp/json"
start bash -c "ulimit -n $limit; exec '$STACKTOP' -b --format=json -d 0.5 --window 5" >"$tmp/json" 2>"$tmp/err"
main=$last_pid
wait_for 20 says '.health.samples > 0' || fail "no document: $(cat "$tmp/err")"

# --- more files than descriptors ----------------------------------------------------

start "$tmp/files" "$nr_files" "$tmp/many" >"$tmp/mapped"
files=$last_pid
wait_for 60 test -s "$tmp/mapped" || fail 'the files are not mapped'
soon ".health.modules >= $nr_files" 'the files are not seen'
soon '.health.files_made_room > 0' 'no file made room for others'
build "$id-new" in_new
start "$tmp/$id-new"
soon "$(function_of "$id-new" in_new)" 'a new program has no names'
check 'few of many files are held open' test "$(descriptors "$tmp/many/*")" -le $((limit / 2))
soon ".health.files_open < $limit / 2" 'too many files are open'

# --- what nobody asks about is closed -----------------------------------------------------

kill -KILL "$files"
wait_for 60 has_no_descriptor "$tmp/many/*" || fail 'files that nobody asks about stay open'
build "$id-gone" in_gone
start "$tmp/$id-gone"
soon "$(function_of "$id-gone" in_gone)" 'a program has no names'
rm "$tmp/$id-gone"
kill -KILL "$last_pid"
wait_for 60 has_no_descriptor "$tmp/$id-gone*" || fail 'a deleted program that has ended keeps its space'
pass 'deleted programs'

# --- and comes back -----------------------------------------------------------------------

build "$id-back" in_first
start "$tmp/$id-back"
back=$last_pid
soon "$(function_of "$id-back" in_first)" 'a program has no names'
# Of a file system without a device (tmpfs, overlay, btrfs) it is held as long as it is mapped.
if grep -q " 00:.*/$id-back" "/proc/$back/maps"; then
	echo 'not tested: a file is closed while it is mapped'
else
	wait_for 60 has_no_descriptor "$tmp/$id-back" || fail 'a file is open that nobody asks about'
fi
rm "$tmp/$id-back"
kill -USR1 "$back"
soon "$(function_of "$id-back" second)" 'no names from a file that was closed'
pass 'closed files'

kill -TERM "$main"
wait "$main" 2>/dev/null
finish
