#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A recording instead of the running machine: which files it takes, pipes, events, what is refused, how it ends.
. "${top_srcdir:?}/tests/lib.sh" || exit 1

data=${STACKTOP_TEST_DATA:-$top_srcdir/../shared/data}
gcc=$data/stacks/vector_static_gcc/perf.data
[ -f "$gcc" ] || skip "no recordings at $data: set STACKTOP_TEST_DATA"

# batch ARGUMENT...: run to the end; output, messages and status in $tmp.
batch()
{
	timeout 60 "$STACKTOP" -b "$@" >"$tmp/out" 2>"$tmp/said"
	status=$?
}

expect_status()
{
	[ $status -eq "$1" ] || fail "$2: exit status $status, not $1: $(cat "$tmp/said")"
}

# says WHAT FILE TEXT
says()
{
	grep -qF -e "$3" "$2" || fail "$1 does not say '$3': $(cat "$2")"
}

# --- one block, and the same one every time

batch -i "$gcc" --symfs "$data/symfs"
expect_status 0 "a recording"
[ "$(grep -c '^ self%' "$tmp/out")" -eq 1 ] || fail "not exactly one block"
says "the block" "$tmp/out" "__cos_fma"
says "the block" "$tmp/out" "complete 43"
for format in json folded samples; do
	batch -i "$gcc" --symfs "$data/symfs" --format=$format
	expect_status 0 "--format=$format"
	sed 's/"time":[0-9.]*//; s/"health":.*"total"//' "$tmp/out" >"$tmp/once"
	batch -i "$gcc" --symfs "$data/symfs" --format=$format
	sed 's/"time":[0-9.]*//; s/"health":.*"total"//' "$tmp/out" |
		cmp -s - "$tmp/once" || fail "--format=$format differs from one run to the next"
done
[ "$(grep -c '^[^	]' "$tmp/once")" -eq 45 ] || fail "not 45 single samples"
pass "a recording is shown once, and the same way every time"

# Trees are open by themselves.
batch -i "$gcc" --symfs "$data/symfs" --view=callers
grep -A3 '^ 37.81 - __cos_fma ' "$tmp/out" | sed 's/ *vector.*//' >"$tmp/opened"
printf ' 37.81 - __cos_fma\n 37.81 └─- main\n 37.81   - __libc_start_main\n 37.81     _start\n' |
	diff - "$tmp/opened" || fail "callers are not shown"
batch -i "$gcc" --symfs "$data/symfs" --view=callers --min-percent=30
[ "$(grep -c '^ *[0-9.]*  \[other\]$\|^ *[0-9.]* *\[other\]$' "$tmp/out")" -eq 1 ] || fail "not one rest: $(tail -n 6 "$tmp/out")"
grep -q __sin_fma "$tmp/out" && fail "21 % are shown with --min-percent=30"
pass "trees are open down to a share"

# The readers of perf script find all samples in their text.
batch -i "$gcc" --symfs "$data/symfs" --format=script
"$top_srcdir/tests/read_script.py" <"$tmp/out" >"$tmp/collapsed" || fail "text that is not perf script's"
[ "$(awk '{ nr += $NF } END { print nr }' "$tmp/collapsed")" -eq 45 ] || fail "not 45 samples as perf script"
grep -q '^vector_static_g;_start;__libc_start_main;main;__cos_fma [0-9]*$' "$tmp/collapsed" ||
	fail "no stack of main: $(head -n 3 "$tmp/collapsed")"
says "a frame of the kernel" "$tmp/collapsed" "[unknown]_[k]"
pass "samples as perf script writes them"

# --- files

batch -i "$gcc"
expect_status 0 "without its files"
says "what is missing" "$tmp/out" "1 file not found"
grep -q __cos_fma "$tmp/out" && fail "names without a file"

program=$(cd "$data/symfs" && find home -type f -name 'vector_static_gcc*' | head -n 1)
other=$(cd "$data/symfs" && find tmp -type f -name 'vector_static_clang*' | head -n 1)
for path in $(cd "$data/symfs" && find home -type f -name 'vector_static_gcc*'); do
	mkdir -p "$tmp/wrong/$(dirname "$path")"
	cp "$data/symfs/$other" "$tmp/wrong/$path"
done
batch -i "$gcc" --symfs "$tmp/wrong"
expect_status 0 "with another file"
says "a file that is not the recorded one" "$tmp/out" "$(basename "$program") (another build-id)"
grep -qE '^ *[0-9.]+ +[0-9.]+ +(main|__cos_fma) ' "$tmp/out" && fail "names of another file"
says "stacks into it" "$tmp/out" "no-file 43"

# A FIFO without a writer hangs whoever opens it.
rm -rf "$tmp/wrong"
for path in $(cd "$data/symfs" && find home -type f -name 'vector_static_gcc*'); do
	mkdir -p "$tmp/wrong/$(dirname "$path")"
	mkfifo "$tmp/wrong/$path"
done
batch -i "$gcc" --symfs "$tmp/wrong"
expect_status 0 "with a FIFO in place of its file"
says "stacks into it" "$tmp/out" "no-file 43"
pass "files are used only if they are the recorded ones"

# --- the kernel: its own file, with the recorded build-id, where it was at the time

cat >"$tmp/kernel.S" <<'EOS'
	.text
	.org 0x6c800
	.globl recorded_place
	.type recorded_place, @function
recorded_place:
	ret
	.size recorded_place, 0x200
	.org 0x237700
	.globl recorded_leaf
	.type recorded_leaf, @function
recorded_leaf:
	.fill 0x2d, 1, 0x90
	jmp recorded_leaf
	.size recorded_leaf, 0x2f
	.org 0xc00000
	ret
EOS
vmlinux="vmlinux-5.3.0-arch1-1-ARCH"
link_kernel()
{
	$CC -nostdlib -static -no-pie -Wl,-e,0 -Wl,-Ttext=0xffffffff81000000 \
		-Wl,--build-id=0x2366ff9353522874bfb9e58d3452bb73aaf478"$1" -o "$2" "$tmp/kernel.S"
}
mkdir -p "$tmp/kernel/boot" "$tmp/kernel/usr/lib/debug/boot"
if link_kernel 42 "$tmp/kernel/boot/$vmlinux" 2>"$tmp/said"; then
	batch -i "$gcc" --symfs "$tmp/kernel" --format=samples
	grep -q recorded_place "$tmp/out" && fail "names of another kernel"
	# The next place is looked at, too.
	link_kernel 41 "$tmp/kernel/usr/lib/debug/boot/$vmlinux"
	batch -i "$gcc" --symfs "$tmp/kernel" --format=samples
	says "a kernel address" "$tmp/out" "ffffffffb8a6c896 recorded_place+0x96 ([kernel])"
	pass "the kernel's names are those of its own file"
	batch -i "$gcc" --symfs "$tmp/kernel" --annotate=recorded_leaf
	if ! grep -q 'built without libcapstone' "$tmp/said" "$tmp/out"; then
		says "its first instruction, where it was" "$tmp/out" "ffffffffb8c37700"
		grep -qE '^ 100\.0 +1 ffffffffb8c3772d .*jmp 0xffffffffb8c37700  <-- hottest$' "$tmp/out" ||
			fail "the sample is not where it was: $(cat "$tmp/said" "$tmp/out")"
		pass "the kernel's instructions are those of its own file"
	fi
else
	echo "cannot link a kernel here: $(cat "$tmp/said")"
fi

# --- events

several=$data/recordings/perf.data.hw_and_sw-3.4
batch -i "$several" -e cpu-clock --format=json
expect_status 0 "-e cpu-clock"
says "the event" "$tmp/out" '"samples":4734,"shown":true'
batch -i "$several" -e 3 --format=json
says "event number 3" "$tmp/out" '"samples":4734,"shown":true'
batch -i "$several" -e branch-misses
expect_status 0 "an event without samples"
says "the notice" "$tmp/out" "0 of 4941 samples are of this event: -e 3 (cpu-clock)"
batch -i "$several"
says "the fullest event" "$tmp/out" "cpu-clock, 4734 samples"
says "what is not shown" "$tmp/out" "4734 of 4941 samples are of this event: -e 1 (cycles)"
for format in folded samples; do
	batch -i "$several" -e 2 --format=$format
	expect_status 0 "an event without samples"
	[ -s "$tmp/out" ] && fail "$format of an event without samples: $(head -n 3 "$tmp/out")"
	says "$format of nothing" "$tmp/said" "0 of 4941 samples are of this event: -e 3 (cpu-clock)"
	[ "$(wc -l <"$tmp/said")" -eq 1 ] || fail "$format of nothing: not one line: $(cat "$tmp/said")"
	# Its events and two mappings: a recording in which nothing happened.
	head -c 2992 "$data/recordings/perf.data.piped.ctx_switch_namespaces-4.14" >"$tmp/empty"
	batch -i "$tmp/empty" --format=$format
	[ -s "$tmp/out" ] && fail "$format of an empty recording: $(head -n 3 "$tmp/out")"
	[ -s "$tmp/said" ] || fail "$format of an empty recording: not a word"
done
batch -i "$several" -e nonsense
expect_status 2 "an unknown event"
says "the refusal" "$tmp/said" "no event 'nonsense' in $several, which has 1 cycles, 2 branch-misses"
batch -i - -e nonsense <"$data/recordings/perf.data.piped.target-3.4"
expect_status 1 "an unknown event in a pipe"
says "the refusal" "$tmp/said" "no event 'nonsense' in standard input"
pass "events are chosen by name and number"

# --- pipes

piped=$data/recordings/perf.data.piped.target-3.4
half=$(($(stat -c %s "$piped") / 8 * 7)) # mappings come first
# has_read BYTES: the last block tells of at least so many
has_read()
{
	[ "$(sed -n 's/.*"read_bytes":\([0-9]*\).*/\1/p' "$tmp/out" | tail -n 1)" -ge "$1" ] 2>/dev/null
}
mkfifo "$tmp/fifo"
from_fifo() { exec timeout 60 "$STACKTOP" -b -i - "$@" <"$tmp/fifo"; }
start from_fifo -d 0.1 --format=json >"$tmp/out" 2>"$tmp/said"
exec 3>"$tmp/fifo"
head -c $half "$piped" >&3
wait_for 30 has_read $((half - 1000)) || fail "the first part of a pipe is not read"
tail -c +$((half + 1)) "$piped" >&3
exec 3>&-
wait "$last_pid"
status=$?
expect_status 0 "a pipe that grows"
says "a pipe that grows" "$tmp/out" '"samples":1414,"shown":true'
# shellcheck disable=SC2002 # a pipe, not a file that could be read twice
# Whoever looks on sees how much was read, and nothing of that when it is over.
if command -v script >/dev/null; then
	mkfifo "$tmp/slow"
	printf '%q -b -i - <%q >%q\n' "$STACKTOP" "$tmp/slow" "$tmp/out" >"$tmp/reading.sh"
	start script -qefc "sh $tmp/reading.sh" "$tmp/seen" >/dev/null </dev/null
	exec 8>"$tmp/slow"
	head -c 100000 "$gcc" >&8
	wait_for 30 grep -q 'standard input: .* so far.*Ctrl-C:stop' "$tmp/seen" || fail "no progress is shown: $(cat "$tmp/seen")"
	tail -c +100001 "$gcc" >&8
	exec 8>&-
	wait "$last_pid" || fail "with progress: exit status $?"
	says "the block after it" "$tmp/out" " 45 samples"
	tr -d '\n\r' <"$tmp/seen" | grep -q "stop$(printf '\033')\[K$(printf '\033')\[K" || fail "progress stays: $(cat -v "$tmp/seen")"
fi
cat "$gcc" | timeout 60 "$STACKTOP" -b -i - --format=samples >"$tmp/out" 2>"$tmp/said"
status=$?
expect_status 0 "file mode from a pipe"
[ "$(grep -c '^[^	]' "$tmp/out")" -eq 45 ] || fail "file mode from a pipe: not 45 samples"
says "what is missing then" "$tmp/said" "give the file's name"
# Broken off: what came so far is shown.
start timeout 60 "$STACKTOP" -b -d 0.1 -i "$tmp/fifo" --format=json >"$tmp/out" 2>"$tmp/said"
exec 3>"$tmp/fifo"
head -c 60000 "$piped" >&3 # the events, but no sample of them
wait_for 30 has_read 50000 || fail "the beginning of a pipe is not read"
says "a pipe before its first sample" "$tmp/out" '"event":"cycles","target"'
tail -c +60001 "$piped" | head -c $((half - 60000)) >&3
wait_for 30 has_read $((half - 1000)) || fail "a pipe is not read to where it has come"
kill -INT "$(pgrep -o -P "$last_pid")"
wait "$last_pid"
status=$?
exec 3>&-
expect_status 130 "an interrupted pipe"
tail -n 1 "$tmp/out" |
	grep -q '"trouble":"[^"]*broken off[^"]*","events":.{"event":"[^"]*","samples":[1-9]' ||
	fail "nothing of what was read: $(cat "$tmp/said") $(tail -n 1 "$tmp/out" | head -c 1500)"
start from_fifo -d 0.2 >"$tmp/out" 2>"$tmp/said"
exec 3>"$tmp/fifo"
head -c $half "$piped" >&3
wait_for 30 grep -q '^read [0-9]* bytes so far$' "$tmp/out" || fail "text does not say how much of a pipe is read"
exec 3>&-
wait "$last_pid"
pass "pipes are followed, and may be broken off"

# --- privileges: whoever called sudo, and nothing beside kernel names

if [ "$(id -u)" = 0 ]; then
	chmod 600 "$tmp/fifo"
	start env SUDO_UID=65534 SUDO_GID=65534 timeout 60 "$STACKTOP" -b -i "$tmp/fifo" >"$tmp/out" 2>"$tmp/said"
	exec 3>"$tmp/fifo"
	head -c $half "$piped" >&3
	child=
	wait_for 10 eval 'child=$(pgrep -P "$last_pid") && broker=$(pgrep -P "$child" -x stacktop-broker)'
	for pid in $child $broker; do
		grep -q "^Uid:	65534	65534	65534	65534$" "/proc/$pid/status" ||
			fail "$(cat "/proc/$pid/comm") is not who called sudo"
	done
	grep -q '^CapPrm:	0000000400000000$' "/proc/$broker/status" ||
		fail "the broker of a recording has $(grep CapPrm "/proc/$broker/status")"
	exec 3>&-
	wait "$last_pid" || fail "exit status $? with sudo: $(cat "$tmp/said")"
	pass "a recording takes no privileges"
fi

# --- a directory: its file "data", and data.0, data.1 ... for each CPU

mkdir "$tmp/directory"
batch -i "$tmp/directory"
expect_status 1 "an empty directory"
says "an empty directory" "$tmp/said" "$tmp/directory: is a directory, but none of perf record"
cp "$gcc" "$tmp/directory/data"
: >"$tmp/directory/data.0"
: >"$tmp/directory/data.json"
batch -i "$tmp/directory" --format=samples
expect_status 0 "a directory"
[ "$(grep -c '^[^	]' "$tmp/out")" -eq 45 ] || fail "a directory: not 45 samples"
[ -s "$tmp/said" ] && fail "a directory: $(cat "$tmp/said")"
: >"$tmp/directory/data.2"
batch -i "$tmp/directory" --format=samples
expect_status 0 "a directory with a gap"
says "a file that is missing" "$tmp/said" "$tmp/directory/data.1: is missing"
[ "$(grep -c '^[^	]' "$tmp/out")" -eq 45 ] || fail "a directory with a gap: not 45 samples"
mkfifo "$tmp/directory/data.1"
batch -i "$tmp/directory"
expect_status 1 "a FIFO in a directory"
says "a FIFO in a directory" "$tmp/said" "cannot open $tmp/directory/data.1: is no regular file"
rm "$tmp/directory/data.1"
printf 'what is no record, whoever reads it' >"$tmp/directory/data.1"
batch -i "$tmp/directory"
expect_status 1 "a damaged file in a directory"
says "a damaged file" "$tmp/said" "$tmp/directory/data.1: damaged at offset 0"
: >"$tmp/directory/data.4096"
batch -i "$tmp/directory"
expect_status 1 "too many files"
says "too many files" "$tmp/said" "more than 4096 files"
rm "$tmp/directory/data.4096"
: >"$tmp/directory/data.70"
(ulimit -n 100 && batch -i "$tmp/directory"; exit "$status")
status=$?
expect_status 1 "more files than may be open"
says "more files than may be open" "$tmp/said" "71 files, of 100 that this program may have open"
pass "a directory is read with all its files"

# --- what is cut or no recording

head -c $(($(stat -c %s "$gcc") * 3 / 4)) "$gcc" >"$tmp/cut"
batch -i "$tmp/cut" --symfs "$data/symfs"
says "a cut file" "$tmp/said" "cut"
says "a cut file" "$tmp/said" "offset"
says "what came before" "$tmp/out" "__cos_fma"
for bad in /dev/null "$tmp" "$tmp/missing" "$0"; do
	batch -i "$bad"
	expect_status 1 "-i $bad"
	[ -s "$tmp/out" ] && fail "-i $bad: a block"
	[ "$(wc -l <"$tmp/said")" -eq 1 ] || fail "-i $bad: not one line: $(cat "$tmp/said")"
done
batch -i "$gcc" --symfs "$tmp/missing"
expect_status 1 "--symfs of nothing"
batch -i "$gcc" -p 1
expect_status 2 "-i with -p"
pass "what cannot be shown is said in a line"

# --- a recording of this machine

if ! command -v perf >/dev/null || ! perf record -q -e cpu-clock -o "$tmp/try" true 2>/dev/null; then
	echo "no perf that can record here: the rest is not tested"
	exit $failed
fi
cat >"$tmp/deep.c" <<'EOC'
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void innermost(unsigned long n) { while (n--) sum += n; }
__attribute__((noinline)) void middle(unsigned long n) { innermost(n); sum++; }
__attribute__((noinline)) void outermost(unsigned long n) { middle(n); sum++; }
int main(int argc, char **argv) { outermost(strtoul(argv[argc - 1], NULL, 10)); return 0; }
EOC
$CC -O1 -fomit-frame-pointer -o "$tmp/deep" "$tmp/deep.c" || fail "cannot compile"
perf record -q -F 499 -e cpu-clock --call-graph dwarf,4096 -o "$tmp/own" -- "$tmp/deep" 300000000 2>/dev/null
batch -i "$tmp/own" --format=folded
expect_status 0 "a recording of perf"
grep -q '^deep;_start;.*main;outermost;middle;innermost [0-9]' "$tmp/out" ||
	fail "not the stack that was there: $(sort -t ' ' -k 2 "$tmp/out" | tail -n 3)"
batch -i "$tmp/own" --format=json
counted=$(perf script -i "$tmp/own" -F time 2>/dev/null | grep -c '[0-9]')
says "as many samples as perf script" "$tmp/out" "\"samples\":$counted,\"shown\":true"
pass "a recording of this machine's perf"

# A file for each CPU, since perf 5.17. Whoever may record no CPU as a whole records two processes.
for compress in "" -z; do
	rm -rf "$tmp/threads"
	# shellcheck disable=SC2086 # $compress may be nothing
	if ! perf record -q --threads $compress -F 499 -e cpu-clock -g -o "$tmp/threads" -- \
		sh -c '"$0" 100000000 & "$0" 100000000; wait' "$tmp/deep" 2>"$tmp/said" ||
		[ ! -e "$tmp/threads/data.0" ]; then
		echo "no perf record --threads $compress here: $(head -n 1 "$tmp/said")"
		continue
	fi
	counted=$(perf script -i "$tmp/threads" -F time 2>/dev/null | grep -c '[0-9]')
	batch -i "$tmp/threads" --format=json
	expect_status 0 "perf record --threads $compress"
	says "as many samples as perf script" "$tmp/out" "\"samples\":$counted,\"shown\":true"
	says "of all files in order" "$tmp/out" '"late_records":0'
	[ "$counted" -gt 0 ] || fail "no samples in $(ls -l "$tmp/threads")"
	batch -i "$tmp/threads" --format=folded
	grep -q '^deep;.*innermost [0-9]' "$tmp/out" || fail "not the program: $(tail -n 3 "$tmp/out")"
	batch -i "$tmp/threads/data"
	expect_status 1 "the file data alone"
	says "the file data alone" "$tmp/said" "give the directory"
	pass "a recording of perf record --threads $compress"
done

# A file system that hangs hangs nothing else.
if [ -x "$top_builddir/tests/fuse_hang" ] && [ -w /dev/fuse ]; then
	mkdir "$tmp/fuse"
	start env FUSE_HANG_PROGRAM="$tmp/deep" "$top_builddir/tests/fuse_hang" -f -o allow_other "$tmp/fuse"
	fuse=$last_pid
	if wait_for 10 test -x "$tmp/fuse/program"; then
		perf record -q -F 499 -e cpu-clock --call-graph dwarf,4096 -o "$tmp/own" -- \
			"$tmp/fuse/program" 100000000 2>/dev/null
		kill -USR1 "$fuse"
		wait_for 20 test -e "$tmp/fuse/hangs"
		batch -i "$tmp/own"
		expect_status 0 "a file system that hangs"
		says "a file system that hangs" "$tmp/out" "no names from program (its file system hangs)"
		pass "a file system that hangs hangs nothing"
	else
		echo "no FUSE here"
	fi
	kill "$fuse" 2>/dev/null
	wait_for 20 umount -l "$tmp/fuse" 2>/dev/null
fi
exit $failed
