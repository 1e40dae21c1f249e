#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Bad files and bad moments: what cannot be read, or must not be, costs its own
# names and nothing else; a loader that is killed or stopped is replaced; without
# a broker the profile goes on; what a stopped stacktop misses is counted.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq xz objcopy strip mkfifo unshare
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the loop in a file is x86-64 code'
id=f$$ # in the names of the programs: other tests run at the same time

umount_all()
{
	umount -l "$tmp/fuse-open" "$tmp/fuse-read" 2>/dev/null
	live_cleanup
}
trap umount_all EXIT

cat >"$tmp/spin.c" <<-'EOF'
	#include <unistd.h>
	#ifndef WORK
	#define WORK 500000
	#endif
	__attribute__((noinline)) void NAME(void) { for (volatile unsigned n = 0; n < WORK; n++) ; }
	int main(void) { for (;;) { NAME(); usleep(20000); } }
EOF
# build FILE FUNCTION [OPTION...]
build() { "$CC" -O1 "-DNAME=$2" "${@:3}" -o "$tmp/$1" "$tmp/spin.c" || skip 'no compiler'; }
# The last document, without its large end, the tree.
last() { tail -n 2 "$tmp/json" | grep '}$' | tail -n 1 | sed 's/,"tree":{.*/}/'; }
nr_documents() { wc -l <"$tmp/json"; }
# says JQ-EXPRESSION WHAT: of the last document
says() { last | jq -e "$1" >/dev/null || fail "$2: $(last | jq -c '[.notice, .health, .functions[:8]]')"; }
# document_says JQ-EXPRESSION: of the newest one while more come
document_says() { last 2>/dev/null | jq -e "$1" >/dev/null 2>&1; }
soon()
{
	local until=$((SECONDS + 2 * ${3:-20}))
	while ! document_says "$1"; do
		if [ $SECONDS -ge $until ]; then
			says "$1" "$2"
			return
		fi
		sleep 0.1
	done
}
# function FILE NAME: it is in the profile with this name
function_of() { echo "[.functions[] | select(.object == \"$1\" and .name == \"$2\" and .self > 0)] | length == 1"; }

begin()
{
	: >"$tmp/json"
	start "$STACKTOP" -b --format=json -d 0.5 --window 5 >"$tmp/json" 2>"$tmp/err"
	main=$last_pid
	wait_for 20 document_says '.health.samples > 0' || fail "no document: $(cat "$tmp/err")"
}

# The screen's other half ends at once, with the status of the signal.
end()
{
	local status pids
	pids=$(family "$main")
	kill -TERM "$main"
	wait_for 20 all_gone "$main" || fail "$1: does not end"
	wait "$main" 2>/dev/null
	status=$?
	[ $status = 143 ] || fail "$1: status $status"
	# shellcheck disable=SC2086
	wait_for 20 all_gone $pids || fail "$1: something stays"
}

# --- files -----------------------------------------------------------------------

build "$id-well" in_well
start "$tmp/$id-well"

# 300 MB of zeros where a small symbol table should be.
build "$id-bomb" in_bomb
strip "$tmp/$id-bomb"
head -c 300000000 /dev/zero | xz -0 -T0 >"$tmp/bomb.xz"
objcopy --add-section .gnu_debugdata="$tmp/bomb.xz" "$tmp/$id-bomb"
start "$tmp/$id-bomb"

# Deleted, replaced by another program, and by a FIFO, while they run.
for how in gone other fifo; do
	build "$id-$how" "in_$how"
	start "$tmp/$id-$how"
	wait_for 20 runs "$last_pid" "$tmp/$id-$how" || fail "$how does not run"
done
build "$id-wrong" in_wrong
# Run from another root, and from a mount that only the process has.
mkdir "$tmp/root" "$tmp/mount"
build "root/$id-root" in_root -static || build "root/$id-root" in_root
build "mount-source" in_mount
start chroot "$tmp/root" "/$id-root"
start unshare -m bash -c "mount -t tmpfs none '$tmp/mount' && cp '$tmp/mount-source' '$tmp/mount/$id-mount' &&
	cd / && exec '$tmp/mount/$id-mount'"

# A loop in what is no ELF file, what begins like one, and what was cut short; its code does not tell the way out:
# mov %rsp,%rax; sub $1,%rdi; jnz; mov %rax,%rsp; ret
"$CC" -O1 -o "$tmp/mapped" "$top_srcdir/tests/targets/mapped.c"
loop() { printf '\x48\x89\xe0\x48\x83\xef\x01\x75\xfa\x48\x89\xc4\xc3' | dd of="$tmp/$1" bs=1 seek=4096 conv=notrunc status=none; }
head -c 8192 /dev/urandom >"$tmp/$id-noise"
{ printf '\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0'; head -c 8168 /dev/urandom; } >"$tmp/$id-header"
head -c 9000 "$(command -v bash)" >"$tmp/$id-short"
for file in noise header short; do
	loop "$id-$file"
	start "$tmp/mapped" "$tmp/$id-$file"
done

# Two file systems that hang: one at open, one at read. A program that has worked for a while needs
# nothing more from its own.
works() { runs_on "$1" && [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 12)" -ge 5 ]; }
has_fuse=
if [ -x "$top_builddir/tests/fuse_hang" ] && [ -w /dev/fuse ]; then
	build large in_fuse
	head -c 8000000 /dev/urandom >"$tmp/padding" # headers far from what is mapped, and not in the page cache
	objcopy --add-section .padding="$tmp/padding" "$tmp/large"
	for how in open read; do
		mkdir "$tmp/fuse-$how"
		start env FUSE_HANG_PROGRAM="$tmp/large" "$top_builddir/tests/fuse_hang" -f -o allow_other "$tmp/fuse-$how" 2>/dev/null
		eval "fuse_$how=$last_pid"
		wait_for 10 test -x "$tmp/fuse-$how/program" || break
		(exec -a "$id-fuse-$how" "$tmp/fuse-$how/program") &
		test_pids="$test_pids $!"
		wait_for 20 works "$!" || fail "a program of a file system of ours does not run"
		has_fuse=$how
	done
fi
if [ "$has_fuse" = read ]; then
	kill -USR1 "$fuse_open"
	kill -USR2 "$fuse_read"
	# Another profiler on this machine may have read all of it meanwhile: out of memory with it.
	dd if="/proc/${test_pids##* }/exe" iflag=nocache count=0 status=none
	timeout 1 tail -c 64 "/proc/${test_pids##* }/exe" >/dev/null 2>&1 && has_fuse=cached
fi
rm "$tmp/$id-gone" "$tmp/$id-fifo"
mkfifo "$tmp/$id-fifo"
mv "$tmp/$id-wrong" "$tmp/$id-other"

begin
soon "$(function_of "$id-well" in_well)" 'a good program has no names'
soon "$(function_of "$id-gone" in_gone)" 'a deleted program has no names'
soon "$(function_of "$id-other" in_other)" 'a replaced program has no names, or wrong ones'
soon "$(function_of "$id-fifo" in_fifo)" 'a program replaced by a FIFO has no names'
soon "$(function_of "$id-root" in_root)" 'a program in a chroot has no names'
soon "$(function_of "$id-mount" in_mount)" 'a program in a mount namespace has no names'
for file in bomb noise header short; do
	soon "[.functions[] | select(.object == \"$id-$file\" and .self > 0)] |
		length >= 1 and all(.[]; .name | startswith(\"$id-$file\"))" "$file: not in the profile"
done
soon '.health.modules_bad >= 3' 'bad files are not counted'
soon "any(.health.bad_files[]; .object == \"$id-noise\" and .why != \"\")" 'a bad file is not told in health'
pass 'bad files'

if [ "$has_fuse" = read ] || [ "$has_fuse" = cached ]; then
	soon '.notice | test("program \\(its file system hangs\\)")' 'hanging open not told' 20
	if [ "$has_fuse" = read ]; then
		soon '.notice | test("program \\(timed out\\)")' 'hanging read not told' 30
		soon '.health.loader_restarts >= 1' 'no restart after a hanging read'
	else
		echo 'not tested: a hanging read, the file was read before'
	fi
	soon "$(function_of "$id-well" in_well)" 'a good program lost its names'
	# The file system hangs, and a program that starts now has its names all the same.
	build "$id-late" in_late
	start "$tmp/$id-late"
	soon "$(function_of "$id-late" in_late)" 'no names beside file systems that hang'
	pass 'file systems that hang'
else
	echo 'not tested: no FUSE here'
fi
end 'bad files'
umount -l "$tmp/fuse-open" "$tmp/fuse-read" 2>/dev/null
# shellcheck disable=SC2086
kill -KILL $test_pids 2>/dev/null
wait 2>/dev/null
test_pids=

# --- /proc that is slow to be read: what is sampled while stacktop starts waits for the maps of its process ---

if command -v strace >/dev/null && strace -e inject=openat:delay_enter=1 true 2>/dev/null; then
	echo 'int main(void) { for (volatile unsigned n = 0;; n++) ; }' >"$tmp/busy.c"
	"$CC" -O1 -o "$tmp/busy" "$tmp/busy.c" || skip 'no compiler'
	# Where few processes are there to be read.
	slow_start()
	{
		unshare -pf --mount-proc bash -c '
			"$1" &
			strace -f -o /dev/null -P maps -e trace=openat -e inject=openat:delay_enter=700000 \
				timeout 30 "$2" -b --format=json -n 4 -d 1 -p $!
			kill $!' - "$tmp/busy" "$STACKTOP" >"$tmp/json" 2>"$tmp/err"
		document_says '.health | .complete > 100 and (.incomplete["no-map"] // 0) == 0' ||
			why="$(last | jq -c .health) $(cat "$tmp/err")"
	}
	look '/proc is slow' slow_start && pass '/proc is slow'
fi

# --- the loader, killed and stopped --------------------------------------------------

build "$id-well" in_well -DWORK=20000000 # something to lose
start "$tmp/$id-well"
begin
restarts=0
for i in 1 2 3 4; do
	loader=
	wait_for 20 eval "loader=\$(member $main stacktop-loader)" || fail 'no loader any more'
	kill -KILL "$loader"
	build "$id-new$i" "in_new$i" # something for the next one to do
	start "$tmp/$id-new$i"
	restarts=$((restarts + 1))
	soon ".health.loader_restarts >= $restarts" 'a killed loader is not replaced'
done
for i in 1 2 3 4; do
	soon "$(function_of "$id-new$i" "in_new$i")" 'no names after loaders were killed'
done
soon "$(function_of "$id-well" in_well)" 'names are lost with a loader'
says '.health.loader_restarts == 4' 'restarts are counted wrongly'

loader=$(member "$main" stacktop-loader)
kill -STOP "$loader"
build "$id-stop" in_stop
start "$tmp/$id-stop"
soon '.health.loader_restarts >= 5' 'a stopped loader is not replaced' 30
build "$id-after" in_after
start "$tmp/$id-after"
soon "$(function_of "$id-after" in_after)" 'no names after a loader was stopped'
wait_for 20 all_gone "$loader" || fail 'the stopped loader stays'
pass 'loaders killed and stopped'

# --- main stopped for a while: what did not fit into the rings is counted, twice the same ------

# From outside there is no telling when the rings are full: that they have overflowed shows afterwards.
for seconds in 2 4 8; do
	kill -STOP "$main"
	sleep "$seconds"
	kill -CONT "$main"
	wait_for 5 document_says '.health.lost > 0' && break
done
soon '.health.lost > 0' 'nothing is lost in eight seconds'
soon '.health.lost == .health.lost_read' 'the two counts of losses differ'
says '.health.dropped == 0' 'dropped'
pass 'main stopped'

# --- the broker, stopped and killed -----------------------------------------------------

broker=$(member "$main" stacktop-broker)
kill -STOP "$broker"
soon '.notice | startswith("the broker process does not answer")' 'a stopped broker is not told'
seen=$(last | jq .health.samples)
documents=$(nr_documents)
wait_for 20 eval "[ \$(nr_documents) -gt $((documents + 2)) ]" || fail 'no document without a broker'
says ".health.samples > $seen" 'no samples without a broker'
soon "$(function_of "$id-well" in_well)" 'names are lost with a broker'
kill -CONT "$broker"
soon '.notice | startswith("the broker") | not' 'the broker answers again, and that is not told'
build "$id-again" in_again
start "$tmp/$id-again"
soon "$(function_of "$id-again" in_again)" 'no names after the broker was stopped'

kill -KILL "$broker"
soon '.notice | startswith("the broker process is gone")' 'a killed broker is not told'
seen=$(last | jq .health.samples)
soon ".health.samples > $seen + 50" 'no samples after the broker was killed'
soon "$(function_of "$id-well" in_well)" 'names are lost with the broker'
end 'without a broker'

begin
broker=$(member "$main" stacktop-broker)
kill -STOP "$broker"
kill -TERM "$main"
wait_for 20 all_gone "$main" || fail 'does not end beside a stopped broker'
wait_for 20 all_gone "$broker" || fail 'a stopped broker stays behind'
pass 'broker stopped and killed'

# --- the same on a screen: keys are handled, the way out is open --------------------------------

if command -v tmux >/dev/null; then
	term_start 100x30 "$STACKTOP" -d 0.3 --window 5
	see "in_well"
	broker=$(member "$term_pid" stacktop-broker)
	loader=$(member "$term_pid" stacktop-loader)
	kill -STOP "$broker" "$loader"
	see 'the broker process does not answer'
	key f
	see 'no events can be opened: the broker does not answer'
	key 3
	see 'total▾ function'
	kill -KILL "$broker"
	see 'the broker process is gone'
	key f
	see 'no events can be opened: the broker process is gone'
	key 1
	see "in_well"
	key q
	term_end 'screen without a broker' 0
	wait_for 20 all_gone "$broker" "$loader" || fail 'a stopped loader stays'
	pass 'screen'
fi
finish
