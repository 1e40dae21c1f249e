#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Programs that live for 20 ms have their names, each a file that was never
# seen before, beside a loop that starts one known program after the other.

. "${top_srcdir:-.}/tests/lib.sh"
need jq
need_sampling

cat >"$tmp/short.c" <<-'EOF'
	#include <time.h>
	__attribute__((noinline)) void in_short(void) { for (volatile unsigned n = 0; n < 1000; n++) ; }
	int main(void)
	{
		struct timespec start, now;
		clock_gettime(CLOCK_MONOTONIC, &start);
		do {
			in_short();
			clock_gettime(CLOCK_MONOTONIC, &now);
		} while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 20000000);
	}
EOF
"$CC" -O1 -o "$tmp/short" "$tmp/short.c" || skip 'no compiler'
count=12
for i in $(seq $count); do
	cp "$tmp/short" "$tmp/s$$-$i"
done
(while :; do /bin/true; done) &
test_pids="$test_pids $!"
start "$STACKTOP" -b --format=json -d 0.3 --window 60 -o "$tmp/json" 2>"$tmp/err"
stacktop_pid=$last_pid
# next_document [NR]: so many more documents are there
next_document()
{
	local nr
	nr=$(($(wc -l <"$tmp/json") + ${1-1}))
	wait_for 20 eval '[ "$(wc -l <"$tmp/json")" -ge $nr ]' || fail "no document: $(cat "$tmp/err")"
}
wait_for 20 test -s "$tmp/json" || fail "no document: $(cat "$tmp/err")"
for i in $(seq $count); do
	"$tmp/s$$-$i"
	next_document
done
next_document 4 # until the last names are there
kill -TERM "$stacktop_pid"
wait "$stacktop_pid"

# On a busy machine some get no sample, and a file may be asked for a moment too late.
tail -n 1 "$tmp/json" | jq -r --arg id "s$$-" '[.functions[] | select(.object | startswith($id))] |
	"\(map(.object) | unique | length) \(map(select(.name == "in_short") | .object) | unique | length)"' >"$tmp/seen"
read -r seen named <"$tmp/seen"
echo "of $count programs $seen were sampled, $named have names"
[ "$seen" -ge 6 ] || skip 'too busy a machine: most programs got no sample'
[ "$named" -ge $((seen * 2 / 3)) ] || fail 'short programs have no names'
finish
