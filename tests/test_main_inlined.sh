#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A recording with --inline: inlined functions are there when its report is written, also if their names
# are in the second file of dwz, which is found by its build-id or in dwz's folder, and if they were split off.
. "$top_srcdir/tests/lib.sh"

need perf
cat >"$tmp/shop.h" <<'EOS'
struct basket { unsigned items[64]; };
static inline __attribute__((always_inline)) unsigned weigh(struct basket *b, unsigned by)
{
	unsigned sum = 0;
	for (volatile unsigned i = 0; i < 100000; i++)
		sum += b->items[i & 63] * by;
	return sum;
}
EOS
for name in sell trade; do
	cat >"$tmp/$name.c" <<EOS
#include "shop.h"
static struct basket b;
__attribute__((noinline)) unsigned $name(unsigned n) { return weigh(&b, n) + 1; }
int main(void)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < 1500; i++)
		sum += $name(i);
	return sum == 0;
}
EOS
	${CC:-cc} -O2 -g -o "$tmp/$name" "$tmp/$name.c" || skip "cannot build the program"
done

recorded() { perf record -q -e cpu-clock:u -F 200 -o "$tmp/recording" "$1" >"$tmp/said" 2>&1 || skip "perf cannot record: $(cat "$tmp/said")"; }
batch() { "$STACKTOP" -i "$tmp/recording" --inline -b "$@" >"$tmp/out" 2>"$tmp/err"; }
shows() { grep -q "$1" "$tmp/out"; }

recorded "$tmp/sell"
batch
check "inlined functions of a recording are shown" shows 'weigh (inlined).* shop.h:'

# Of a unit that was split there are lines and symbols, and what is inlined if there is a .dwo file or a package.
dwp=$(command -v llvm-dwp || command -v dwp)
if [ -n "$dwp" ] && (cd "$tmp" && ${CC:-cc} -O2 -gdwarf-4 -gsplit-dwarf -o split sell.c && "$dwp" -e split -o package) 2>"$tmp/said"; then
	recorded "$tmp/split"
	batch
	check "what is inlined comes from the .dwo file" shows 'weigh (inlined).* shop.h:'
	# Of more units than go to the loader at once.
	nr=30
	echo 'int main(void) { unsigned sum = 0; for (unsigned i = 0; i < 200; i++) {' >"$tmp/many.c"
	for i in $(seq $nr); do
		cat >"$tmp/unit$i.c" <<EOS
#include "shop.h"
static struct basket b;
__attribute__((noinline)) unsigned deal$i(unsigned n) { return weigh(&b, n) + 1; }
EOS
		echo "extern unsigned deal$i(unsigned); sum += deal$i(i);" >>"$tmp/many.c"
	done
	echo '} return sum == 0; }' >>"$tmp/many.c"
	(cd "$tmp" && ${CC:-cc} -O2 -w -g -gsplit-dwarf -o many many.c unit*.c) || fail "cannot build a program of many units"
	recorded "$tmp/many"
	batch --format=folded
	deals=$(grep -o 'deal[0-9]*;weigh' "$tmp/out" | sort -u | wc -l)
	all=$(grep -o 'deal[0-9]*' "$tmp/out" | sort -u | wc -l)
	[ "$all" -gt 12 ] || fail "only $all units have samples"
	check "what is inlined comes from $all .dwo files" [ "$deals" -eq "$all" ]
	rm -f "$tmp"/*.dwo
	recorded "$tmp/split"
	batch
	check "a split program has its symbols" shows 'sell'
	shows 'weigh (inlined)' && fail "what is inlined is in a file which is not there"
	batch --format=json
	check "that file is named" jq -e 'any(.health.bad_files[]; .object == "split" and (.why | contains(".dwp")))' "$tmp/out"
	cp "$tmp/package" "$tmp/split.dwp"
	batch
	check "what is inlined comes from the package" shows 'weigh (inlined).* shop.h:'
else
	echo "no package of split units: $(cat "$tmp/said")"
fi

command -v dwz >/dev/null || { echo "no dwz: its second file is left out"; finish; }
dwz -m "$tmp/common" "$tmp/sell" "$tmp/trade" 2>"$tmp/said" || skip "dwz: $(cat "$tmp/said")"
id=$(readelf -n "$tmp/common" | awk '/Build ID/ { print $3 }')
rest=${id#??}
folder="$tmp/root/usr/lib/debug/.build-id/${id%"$rest"}"
mkdir -p "$folder" "$tmp/root$tmp"
recorded "$tmp/sell"
cp "$tmp/sell" "$tmp/root$tmp/"
batch --symfs "$tmp/root"
shows 'weigh' && fail "a name that is in a file which is not there"
cp "$tmp/common" "$folder/$rest.debug"
batch --symfs "$tmp/root"
check "names come from the second file" shows 'weigh (inlined).* shop.h:'

# The same by the path that distributions give it.
rm "$folder/$rest.debug"
place=/usr/lib/debug/.dwz/machine/package.debug
for name in sell trade; do
	${CC:-cc} -O2 -g -o "$tmp/$name" "$tmp/$name.c"
done
dwz -m "$tmp/common" -M "$place" "$tmp/sell" "$tmp/trade" 2>"$tmp/said" || skip "dwz: $(cat "$tmp/said")"
mkdir -p "$tmp/root${place%/*}"
recorded "$tmp/sell"
cp "$tmp/sell" "$tmp/root$tmp/"
cp "$tmp/trade" "$tmp/root$place"
batch --symfs "$tmp/root"
shows 'weigh' && fail "a name out of a file with another build-id"
cp "$tmp/common" "$tmp/root$place"
batch --symfs "$tmp/root"
check "names come from the second file in dwz's folder" shows 'weigh (inlined).* shop.h:'
finish
