#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Where files hide: programs in own mount, pid and user namespaces, on an overlay, in a chroot, deleted, replaced,
# in memory files, with their text moved away from the file, without section headers, of 1 GB, have their names all
# the same; code in what is no ELF file has its file; BPF programs have the kernel's name for them.

. "${top_srcdir:-.}/tests/lib.sh"
need jq unshare chroot
need_sampling
[ "$(id -u)" = 0 ] || skip 'only root can make these places'
id=$$
cat >"$tmp/spin.c" <<-'EOC'
	#include <unistd.h>
	__attribute__((noinline)) void NAME(void) { for (volatile unsigned n = 0; n < 500000; n++) ; }
	int main(void) { for (;;) { NAME(); usleep(10000); } }
EOC
build() { "$CC" -O1 -static "-DNAME=$1" -o "$2" "$tmp/spin.c" || skip 'no compiler'; }
expected=

# The program is in a file system that only its own mount namespace has.
build in_tmpfs "$tmp/tmpfs$id"
mkdir "$tmp/mnt"
start unshare --mount bash -c "mount -t tmpfs none '$tmp/mnt' && cp '$tmp/tmpfs$id' '$tmp/mnt/m$id' &&
	exec '$tmp/mnt/m$id'"
wait_for 10 runs_on "$last_pid" && expected="$expected in_tmpfs"

# The lower and the upper folder of an overlay, in a namespace of its own.
mkdir "$tmp/lower" "$tmp/upper" "$tmp/work" "$tmp/merged"
if unshare --mount mount -t overlay none -o "lowerdir=$tmp/lower,upperdir=$tmp/upper,workdir=$tmp/work" \
	"$tmp/merged" 2>"$tmp/err"; then
	build in_lower "$tmp/lower/l$id"
	start unshare --mount bash -c "mount -t overlay none -o 'lowerdir=$tmp/lower,upperdir=$tmp/upper,workdir=$tmp/work' \
		'$tmp/merged' && exec '$tmp/merged/l$id'"
	expected="$expected in_lower"
else
	echo "no overlay here: $(cat "$tmp/err")"
fi

mkdir "$tmp/root"
build in_chroot "$tmp/root/c$id"
start chroot "$tmp/root" "/c$id"
expected="$expected in_chroot"

if unshare --user --pid --fork true 2>"$tmp/err"; then
	build in_user_ns "$tmp/u$id"
	start unshare --user --map-root-user --pid --fork --kill-child "$tmp/u$id"
	expected="$expected in_user_ns"
else
	echo "no user namespace here: $(cat "$tmp/err")"
fi

build deleted "$tmp/d$id"
start "$tmp/d$id"
wait_for 10 runs "$last_pid" "$tmp/d$id"
rm "$tmp/d$id"
expected="$expected deleted"

# One after the other at the same path.
build version_one "$tmp/v$id"
start "$tmp/v$id"
wait_for 10 runs "$last_pid" "$tmp/v$id"
build version_two "$tmp/next"
mv "$tmp/next" "$tmp/v$id"
start "$tmp/v$id"
expected="$expected version_one version_two"

place() { "$CC" -O1 "-DFUNCTION=$1" "${@:3}" -o "$2" "$top_srcdir/tests/targets/places.c" || skip 'no compiler'; }
place in_memfd "$tmp/memfd"
start "$tmp/memfd" memfd "f$id"
place in_moved "$tmp/moved$id" -Wl,-z,separate-code
start "$tmp/moved$id" moved
expected="$expected in_memfd in_moved"

# Without section headers, and with a hole of 1 GB before them.
place exported "$tmp/whole" -rdynamic
place in_large "$tmp/small" -g
if command -v python3 >/dev/null; then
	python3 - "$tmp/whole" "$tmp/bare$id" "$tmp/small" "$tmp/large$id" <<-'EOP'
		import struct, sys
		def parts(name):
		    data = bytearray(open(name, "rb").read())
		    at, = struct.unpack_from("<Q", data, 40)
		    return data[:at], data[at:]
		head, _ = parts(sys.argv[1])
		struct.pack_into("<Q", head, 40, 0)
		struct.pack_into("<HH", head, 60, 0, 0)
		open(sys.argv[2], "wb").write(head)
		head, sections = parts(sys.argv[3])
		struct.pack_into("<Q", head, 40, 1 << 30)
		with open(sys.argv[4], "wb") as large:
		    large.write(head)
		    large.seek(1 << 30)
		    large.write(sections)
	EOP
	chmod +x "$tmp/bare$id" "$tmp/large$id"
	start "$tmp/bare$id"
	start "$tmp/large$id"
	expected="$expected exported in_large"
fi

# Code in a file that is no ELF file: 1: dec %rdi; jnz 1b; ret
if [ "$(uname -m)" = x86_64 ]; then
	"$CC" -O1 -o "$tmp/mapped" "$top_srcdir/tests/targets/mapped.c" || skip 'no compiler'
	{
		head -c 4096 /dev/zero
		printf '\x48\xff\xcf\x75\xfb\xc3'
	} >"$tmp/raw$id"
	start "$tmp/mapped" "$tmp/raw$id"
	expected="$expected raw$id" # of nothing in it a name is known
fi

named()
{
	"$STACKTOP" --format=json -n 1 -d 1.5 >"$tmp/json" 2>"$tmp/err"
	local name
	for name in $expected; do
		jq -e --arg n "$name" --arg id "$id" '[.functions[] |
			select(.name == $n and .self > 0 and (.object | contains($id)))] | length == 1' \
			"$tmp/json" >/dev/null || why="$why $name"
	done
	[ -z "$why" ] || why="no name:$why: $(cat "$tmp/err") $(jq -c '[.functions[:12][] | [.name, .object]]' "$tmp/json")"
}
look 'every place has its name' named && pass "names in:$expected"

# What is no ELF file tells nothing of frames: its code is followed to its caller.
is_called()
{
	"$STACKTOP" --format=json -n 1 -d 1.5 >"$tmp/json" 2>"$tmp/err"
	jq -e --arg n "raw$id" '[.functions[] | select(.name == "main" and .object == "mapped") | .total] as $main |
		[.functions[] | select(.name == $n) | .self] as $raw | $raw[0] > 0 and $main[0] >= 0.9 * $raw[0]' \
		"$tmp/json" >/dev/null || why="no caller: $(cat "$tmp/err") $(jq -c .health.incomplete "$tmp/json")"
}
[ "$(uname -m)" != x86_64 ] || { look 'code of what is no ELF file' is_called && pass "caller of raw"; }

# What was split off from its unit is where the program in a chroot has it, and root's or its owner's.
cat >"$tmp/split.c" <<-'EOC'
	#include <unistd.h>
	static inline __attribute__((always_inline)) void within(void) { for (volatile unsigned n = 0; n < 500000; n++) ; }
	__attribute__((noinline)) void around(void) { within(); }
	int main(void) { for (;;) { around(); usleep(10000); } }
EOC
mkdir "$tmp/split-root"
split_shows()
{
	"$STACKTOP" -b -n 1 -d 1 --inline -p "$split" >"$tmp/out" 2>"$tmp/err"
	grep -q 'around' "$tmp/out" || why="no samples: $(cat "$tmp/err" "$tmp/out")"
	grep -q 'within (inlined)' "$tmp/out"
}
has_split() { split_shows || why="$why not inlined: $(cat "$tmp/err" "$tmp/out")"; }
has_no_split() { ! split_shows || why="$why inlined: $(cat "$tmp/out")"; }
if (cd "$tmp/split-root" && "$CC" -O2 -g -gsplit-dwarf -static "-fdebug-prefix-map=$tmp/split-root=/" -c "$tmp/split.c" &&
	"$CC" -static -o "s$id" split.o && test -f split.dwo) 2>"$tmp/err"; then
	start chroot "$tmp/split-root" "/s$id"
	split=$last_pid
	look 'split units in a chroot' has_split && pass 'split units in a chroot'
	chown 65534 "$tmp/split-root/split.dwo"
	look "another user's split units" has_no_split && pass "another user's split units"
else
	echo "not tested: split units: $(cat "$tmp/err")"
fi

# A program in the kernel that was there before, and one that comes while stacktop runs.
"$CC" -O1 -o "$tmp/bpf" "$top_srcdir/tests/targets/bpf.c" || skip 'no compiler'
start "$tmp/bpf" "old_$id" >"$tmp/refused"
loaded() { [ -s "$tmp/refused" ] || grep -q "_old_$id\s\[bpf\]" /proc/kallsyms; }
wait_for 20 loaded || fail 'the BPF program is not there'
has_program()
{
	says_last "$tmp/json" '[.functions[] | select(.object == "[bpf]" and .self > 0 and
		(.name | test("^bpf_prog_[0-9a-f]{16}_" + $n + "$")))] | length == 1' --arg n "$1"
}
if [ -s "$tmp/refused" ]; then
	echo "not tested: BPF programs: $(cat "$tmp/refused")"
else
	: >"$tmp/json"
	start "$STACKTOP" -b --format=json -d 0.5 --window 5 >"$tmp/json" 2>"$tmp/err"
	wait_for 40 has_program "old_$id" || fail "no name for a BPF program: $(cat "$tmp/err")"
	start "$tmp/bpf" "new_$id"
	wait_for 40 has_program "new_$id" || fail 'no name for a BPF program that came later'
	pass 'BPF programs'
fi
finish
