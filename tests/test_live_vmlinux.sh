#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Code of the running kernel, from a file with its build-id: of this machine or of a debug server, where the kernel
# was put when it started. One with another build-id is not believed. Without one it is that of /proc/kcore.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq tmux python3 unshare mount
"$STACKTOP" -b --annotate=x --format=folded 2>&1 | grep -q libcapstone && skip 'built without libcapstone'
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'made for x86-64'
image=$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)
((16#${image:-0} != 0)) || skip 'addresses of the kernel are hidden'
build_id=$(python3 - <<-'EOP'
	import struct
	data = open("/sys/kernel/notes", "rb").read()
	while len(data) >= 12:
	    name, desc, kind = struct.unpack_from("<III", data)
	    at = 12 + (name + 3) // 4 * 4
	    if kind == 3 and data[12:16] == b"GNU\0":
	        print(data[at:at + desc].hex())
	        break
	    data = data[at + (desc + 3) // 4 * 4:]
EOP
)
[ -n "$build_id" ] || skip 'the build-id of the kernel cannot be told'

# A process that is nearly always in the kernel, and the function there that is hottest.
start dd if=/dev/zero of=/dev/null bs=1M
dd_pid=$last_pid
hottest()
{
	"$STACKTOP" -b -n 1 -d 1 -p "$dd_pid" --format=json 2>"$tmp/err" |
		jq -r '[.functions[] | select(.object == "[kernel]" and .self > 0)] | max_by(.self) | .name' >"$tmp/out"
	name=$(cat "$tmp/out")
	addr=$(awk -v name="$name" '$3 == name && NF == 3 { print $1 }' /proc/kallsyms)
	[ "$(wc -w <<<"$addr")" = 1 ] || why="$name is at '$addr': $(cat "$tmp/err")"
}
look 'no hot function of the kernel' hottest || finish
next=$(awk '{ print $1 }' /proc/kallsyms | sort -u | awk -v addr="$addr" '$1 > addr { print; exit }')

# The same place in a kernel that is linked elsewhere: an instruction that is known again, and others up to its end.
offset=$((16#$addr - 16#$image))
cat >"$tmp/kernel.S" <<EOS
	.text
	.globl _text
	_text: ret
	.org $offset
	.globl $name
	.type $name, @function
	$name: movl \$0x5eed1, %eax
	.fill $((16#$next - 16#$addr - 5)), 1, 0x90
	.size $name, $((16#$next - 16#$addr))
	.org $((offset + 0x100000))
	ret
EOS
vmlinux=vmlinux-$(uname -r)
for file in "/boot/$vmlinux" "/lib/modules/$(uname -r)/build/vmlinux"; do
	[ ! -e "$file" ] || skip "the kernel's file is here: $file"
done
# link_kernel BUILD-ID FILE
link_kernel()
{
	(cd "$tmp" && "$CC" -g -nostdlib -static -no-pie -Wl,-e,0 -Wl,-Ttext=0xffffffff90000000 "-Wl,--build-id=0x$1" \
		-o "$2" kernel.S) 2>"$tmp/err"
}
link_kernel "$build_id" "$tmp/own" || skip "cannot link a kernel here: $(cat "$tmp/err")"
link_kernel "${build_id%??}00" "$tmp/other"
marked=$(grep -n 5eed1 "$tmp/kernel.S" | cut -d : -f 1)

# hidden COMMAND...: where no file is in the folder of debug files, and the kernel's memory cannot be read
cat >"$tmp/hidden" <<-'EOF'
	#!/bin/sh
	mount -t tmpfs none /usr/lib/debug || exit 99
	[ ! -e /proc/kcore ] || mount --bind /dev/null /proc/kcore || exit 99
	exec "$@"
EOF
chmod 755 "$tmp/hidden"
hidden=(unshare -m "$tmp/hidden")

# with FILE|'' OPTION...: the listing in $tmp/out, while FILE is the kernel's in a folder of debug files
with()
{
	local file=$1
	shift
	"${hidden[@]}" bash -c '
		mkdir /usr/lib/debug/boot || exit 99
		[ -z "$1" ] || cp "$1" "/usr/lib/debug/boot/$2" || exit 99
		shift 2
		exec "$@"' - "$file" "$vmlinux" env -u XDG_CACHE_HOME -u DEBUGINFOD_URLS "$STACKTOP" -b -n 1 -d 1 \
		-p "$dd_pid" "--annotate=$name" "$@" >"$tmp/out" 2>"$tmp/err"
}
"${hidden[@]}" true 2>/dev/null || skip 'nothing can be mounted here'

# Where it is, its code and its line, and the samples in it.
is_listed()
{
	grep -qE " ${addr} +movl? \\\$0x5eed1, %eax" "$tmp/out" &&
		grep -qE " kernel.S:$marked( |\$)" "$tmp/out" &&
		grep -qE '[0-9] +[0-9a-f]+ +nop .*<-- hottest$' "$tmp/out" || why="$(cat "$tmp/err") $(grep -E "5eed1|hottest" "$tmp/out")"
}
of_this_machine() { with "$tmp/own" && is_listed || why=${why:-$(cat "$tmp/err")}; }
look "code of the kernel's file" of_this_machine && pass "code of the kernel's file"

# The same place again, of a function that has another one inlined, both with their lines.
cat >"$tmp/inlining.c" <<EOS
static inline __attribute__((always_inline)) void inlined_part(void)
{
	__asm__ volatile(".fill $((16#$next - 16#$addr - 1)), 1, 0x90");
}
void outer(void) __asm__("$name");
__attribute__((section(".hot"))) void outer(void)
{
	inlined_part();
}
EOS
printf '\t.text\n\t.globl _text\n_text: ret\n' >"$tmp/begin.S"
(cd "$tmp" && "$CC" -g -O1 -fno-pic -fcf-protection=none -nostdlib -static -no-pie -Wl,-e,0 -Wl,-Ttext=0xffffffff90000000 \
	"-Wl,--section-start=.hot=0x$(printf %x $((0xffffffff90000000 + offset)))" "-Wl,--build-id=0x$build_id" \
	-o inlining begin.S inlining.c) 2>"$tmp/err" || fail 'cannot link a function with an inlined one'
# is_inlined FILE|'' OPTION...
is_inlined()
{
	with "$@" --inline --format=json && jq -e '.functions[] | select(.inlined and .self > 0 and .object == "[kernel]" and
		(.name | startswith("inlined_part")) and (.file | endswith("inlining.c")) and .line == 1)' "$tmp/out" >"$tmp/function" ||
		why="$(cat "$tmp/err") $(jq -c '.functions[] | select(.object == "[kernel]")' "$tmp/out" | head -n 3)"
}
look "inlined functions of the kernel" is_inlined "$tmp/inlining" && pass "inlined functions of the kernel"

with "$tmp/other"
grep -q 5eed1 "$tmp/out" && fail 'code of another kernel'
check "that there is none is said" grep -q "the kernel's vmlinux is not here" "$tmp/err" "$tmp/out"

if "$STACKTOP" --debuginfod=http://127.0.0.1 --version >/dev/null 2>&1; then
	serve
	serve_debug "$build_id" "$tmp/own"
	with ''
	check 'nobody is asked unless that is allowed' test ! -s "$tmp/asked"
	# Also where another kernel's file lies about.
	of_a_server() { with "$tmp/other" "--debuginfod=$url" && is_listed || why=${why:-$(cat "$tmp/err")}; }
	look "code from a server" of_a_server && pass "code from a server"
	serve_debug "$build_id" "$tmp/inlining"
	look "inlined functions from a server" is_inlined "$tmp/other" "--debuginfod=$url" -n 6 &&
		pass "inlined functions from a server"
	serve_debug "$build_id" "$tmp/own"
	of_elfutils() { with '' "--debuginfod=http://127.0.0.1:$port" && is_listed || why=${why:-$(cat "$tmp/err")}; }
	if command -v debuginfod >/dev/null; then
		mkdir "$tmp/real" && cp "$tmp/own" "$tmp/real/vmlinux"
		port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		start env -u DEBUGINFOD_URLS debuginfod -p "$port" -d :memory: -F "$tmp/real" >"$tmp/log" 2>&1
		served() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$1" 2>/dev/null; }
		if wait_for 20 served "http://127.0.0.1:$port/buildid/$build_id/debuginfo"; then
			look "code from elfutils' server" of_elfutils && pass "code from elfutils' server"
		else
			echo "not tested: elfutils' server: $(tail -n 1 "$tmp/log")"
		fi
	fi

	# On the screen it comes where the function is looked at, when the key has allowed it.
	: >"$tmp/asked"
	term_start 110x30 "${hidden[@]}" env -u XDG_CACHE_HOME "DEBUGINFOD_URLS=$url" "$STACKTOP" -p "$dd_pid" -d 0.3
	see "[0-9] $name "
	key /
	key -l "^$name\$"
	key Enter A
	see "the kernel's vmlinux is not here"
	check 'nobody is asked before the key' test ! -s "$tmp/asked"
	key D
	see ' nop$' && key Home
	see "$addr .*5eed1" && pass 'code comes while its function is looked at'
	key q
	term_end 'code of the kernel' 0
fi

# Of the kernel's memory: the instructions of objdump, from the bytes that python takes out of it.
take_memory()
{
	python3 - "$addr" "$next" "$tmp/code" <<-'EOP'
		import struct, sys
		start, end = int(sys.argv[1], 16), int(sys.argv[2], 16)
		core = open("/proc/kcore", "rb")
		head = core.read(64)
		at, count = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<H", head, 56)[0]
		core.seek(at)
		for header in (core.read(56) for _ in range(count)):
		    kind, _, off, vaddr, _, _, size, _ = struct.unpack("<IIQQQQQQ", header)
		    if kind == 1 and vaddr <= start < vaddr + size:
		        break
		else:
		    sys.exit("no segment has it")
		core.seek(off + start - vaddr)
		open(sys.argv[3], "wb").write(core.read(end - start))
	EOP
}
is_objdumps()
{
	unshare -m sh -c 'mount -t tmpfs none /usr/lib/debug && exec "$@"' - env -u XDG_CACHE_HOME -u DEBUGINFOD_URLS \
		"$STACKTOP" -b -n 1 -d 1 -p "$dd_pid" "--annotate=$name" >"$tmp/out" 2>"$tmp/err"
	grep -oE ' ffff[0-9a-f]{12} ' "$tmp/out" | tr -d ' ' >"$tmp/listed"
	cmp "$tmp/listed" "$tmp/objdumped" >"$tmp/difference" 2>&1 && grep -q '[0-9] .*<-- hottest$' "$tmp/out" ||
		why="$(cat "$tmp/err" "$tmp/difference") $(head -n 20 "$tmp/out")"
}
if ! head -c 64 /proc/kcore >/dev/null 2>&1; then
	echo "not tested: code of the kernel's memory: there is no /proc/kcore, or it may not be read"
elif command -v objdump >/dev/null && take_memory 2>"$tmp/err"; then
	objdump -D -b binary -m i386:x86-64 "--adjust-vma=0x$addr" "$tmp/code" |
		sed -nE 's/^ *(ffff[0-9a-f]{12}):\t([^\t]*)\t.*/\1/p' >"$tmp/objdumped"
	look "code of the kernel's memory" is_objdumps && pass "code of the kernel's memory"
else
	fail "the kernel's memory cannot be taken apart: $(cat "$tmp/err")"
fi
finish
