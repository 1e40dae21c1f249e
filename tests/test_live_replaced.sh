#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Files that become others while stacktop runs: a program that is replaced by another build, a debug file that is cut
# off when it is half read, a library that is written anew again and again under those who have it mapped. What ran
# keeps its names, what comes has its own, and nothing of it brings a loader down.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq objcopy strip
need_sampling
id=r$$

# What runs at first, and what runs after a signal: of that nothing was asked before.
cat >"$tmp/spin.c" <<-'EOC'
	#include <signal.h>
	#include <unistd.h>
	static volatile sig_atomic_t is_second;
	static void on_signal(int sig) { (void)sig; is_second = 1; }
	static inline __attribute__((always_inline)) void turn(int nr) { for (volatile int n = 0; n < nr; n++) ; }
	__attribute__((noinline)) void FIRST(void) { turn(400000); }
	__attribute__((noinline)) void SECOND(void) { turn(500000); }
	int main(void)
	{
		signal(SIGUSR1, on_signal);
		for (;;) {
			if (is_second) SECOND(); else FIRST();
			usleep(10000);
		}
	}
EOC
# build FILE FIRST SECOND [OPTION...]
build() { "$CC" -O1 -g "-DFIRST=$2" "-DSECOND=$3" "${@:4}" -o "$1" "$tmp/spin.c" || skip 'no compiler'; }

: >"$tmp/json"
start "$STACKTOP" -b --inline --format=json -d 0.5 --window 5 >"$tmp/json" 2>"$tmp/err"
main=$last_pid
soon() { wait_for 60 says_last "$tmp/json" "$1" || fail "$2: $(tail -n 1 "$tmp/json" | jq -c "[.notice, .health.loader_restarts, [.functions[] | select(.object | endswith(\"$id\")) | [.object, .name]]]")"; }
named() { echo "([.functions[] | select(.object == \"$1\" and .name == \"$2\" and .self + .total > 0)] | length == 1)"; }
well='.health.loader_restarts == 0'

# --- a program ------------------------------------------------------------------------

build "$tmp/p$id" old_first old_second
build "$tmp/next" new_first new_second -DOTHER -falign-functions=64
start "$tmp/p$id"
old=$last_pid
soon "$(named "p$id" old_first)" 'a program has no names'
mv "$tmp/next" "$tmp/p$id"
start "$tmp/p$id"
kill -USR1 "$old"
soon "$(named "p$id" old_second) and $(named "p$id" new_first) and $well" 'two builds at one path are not told apart'
kill -KILL "$old"
pass 'a program that is replaced'

# --- a debug file ---------------------------------------------------------------------

# It is mapped by the loader when the first lines are asked for, and gone when the next ones are.
build "$tmp/d$id" kept_first kept_second
objcopy --only-keep-debug "$tmp/d$id" "$tmp/d$id.debug"
strip "$tmp/d$id"
(cd "$tmp" && objcopy --add-gnu-debuglink="d$id.debug" "d$id")
build "$tmp/e$id" other_first other_second
inlined() { echo "([.functions[] | select(.object == \"$1\" and (.name | test(\"^turn\")))] | length == 1)"; }
start "$tmp/d$id"
cut=$last_pid
soon "$(named "d$id" kept_first) and $(inlined "d$id")" 'nothing is inlined by a debug file'
: >"$tmp/d$id.debug"
kill -USR1 "$cut"
start "$tmp/e$id"
# The new function's name was in what is gone, so it goes by its place.
placed() { echo "any(.functions[]; .object == \"$1\" and .self > 0 and (.name | startswith(\"$1+0x\")))"; }
soon "$(placed "d$id") and ($(named "d$id" kept_second) | not)" 'a name out of a debug file that is empty'
soon "$(inlined "e$id") and $well" 'a debug file that was cut off harms others'
pass 'a debug file that is cut off'

# --- a library ------------------------------------------------------------------------

cat >"$tmp/load.c" <<-'EOC'
	#include <dlfcn.h>
	int main(int argc, char **argv)
	{
		void *library = dlopen(argv[argc - 1], RTLD_NOW);
		void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : 0;
		while (work)
			work();
		return 1;
	}
EOC
cat >"$tmp/work.c" <<-'EOC'
	__attribute__((noinline)) void NAME(void) { for (volatile int n = 0; n < 500000; n++) ; }
	void work(void) { NAME(); }
EOC
"$CC" -O1 -o "$tmp/l$id" "$tmp/load.c" -ldl || skip 'no compiler'
for name in one two last; do
	"$CC" -O1 -g -shared -fPIC "-DNAME=in_$name" -o "$tmp/$name" "$tmp/work.c" || skip 'no compiler'
done
library=$tmp/lib$id.so
nr_documents() { grep -c '}$' "$tmp/json"; }
has_more() { [ "$(nr_documents)" -ge $((seen + 2)) ]; }
for turn in 1 2 3 4 5 6 7 8; do
	# The same file, written anew: who has it mapped dies of that sooner or later.
	cat "$tmp/one" >"$library"
	start "$tmp/l$id" "$library" 2>/dev/null
	wait_for 20 grep -q "lib$id" "/proc/$last_pid/maps"
	[ $((turn % 2)) = 1 ] || : >"$library"
	cat "$tmp/two" >"$library"
	start "$tmp/l$id" "$library" 2>/dev/null
	seen=$(nr_documents)
	wait_for 40 has_more || fail 'the profile does not go on'
	truncate -s 5000 "$library"
done 2>/dev/null
rm "$library"
cp "$tmp/last" "$library"
start "$tmp/l$id" "$library"
soon "$(named "lib$id.so" in_last) and $well" 'a library that was written anew has no names, or a loader is gone'
pass 'a library that is written anew'

kill -TERM "$main"
wait "$main" 2>/dev/null
finish
