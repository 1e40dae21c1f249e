#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What stacks end in is told with what helps, in the health view and in json: a
# program that is built without CFI, and code that a Java machine makes and
# nobody can follow. And how good frame pointers are: of a program that is built
# with them, without, and with functions at the end that leave theirs out.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the programs are x86-64 code'
id=h$$ # in the names of the programs: other tests run at the same time

# Functions that nothing describes, with a frame that nothing leads out of.
cat >"$tmp/bare.S" <<'EOS'
	.text
	.globl main
main:	xor %ebp, %ebp
	sub $56, %rsp
1:	jmp 1b
	.section .note.GNU-stack,"",@progbits
EOS
# sub $56, %rsp; lea 0f(%rip), %rax; 0: jmp *%rax: where it goes on is for nobody to see.
cat >"$tmp/java.c" <<'EOS'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\x48\x83\xec\x38\x48\x8d\x05\x00\x00\x00\x00\xff\xe0", 13);
	((void (*)(void))code)();
	return 0;
}
EOS
mkdir "$tmp/$id"
gcc -o "$tmp/$id-bare" "$tmp/bare.S" || skip 'gcc cannot build here'
gcc -O1 -o "$tmp/$id/java" "$tmp/java.c" || skip 'gcc cannot build here'
start "$tmp/$id-bare"
bare=$last_pid
start "$tmp/$id/java"
java=$last_pid

told()
{
	# Of these alone: with another java there would be no pid.
	"$STACKTOP" -b --format=json -n 2 -d 1 -p "$bare,$java" 2>"$tmp/err" | sed 's/,"functions":.*/}/' | tail -n 1 >"$tmp/json"
	fault="$(jq -c ".health.faults[] | select(.object == \"$id-bare\")" "$tmp/json")"
	jq -e '.reason == "no-cfi" and .processes == null and .stacks >= .stacks_now and .stacks_now > 0 and
		(.remedy | test("without .eh_frame"))' >/dev/null <<<"$fault" ||
		why="a program without CFI: $fault; $(jq -c '.health | [.incomplete, .faults]' "$tmp/json")"
	fault="$(jq -c ".health.faults[] | select(.pid == $java)" "$tmp/json")"
	jq -e '.object == "java" and .reason == "jit" and .processes == 1 and
		(.remedy | test("PreserveFramePointer"))' >/dev/null <<<"$fault" ||
		why="$why; a Java machine's code: $fault"
	jq -e ".health.processes[] | select(.name == \"$id-bare\") | .user_stacks > 0 and .complete == 0" \
		"$tmp/json" >/dev/null || why="$why; the process: $(jq -c .health.processes "$tmp/json")"
	jq -e '.health | (.now | .user_stacks == .complete + .live_read + .stitched +
		([.incomplete[]] | add // 0)) and .now.user_stacks <= .user_stacks' "$tmp/json" >/dev/null ||
		why="$why; the window: $(jq -c '.health | [.now, .user_stacks]' "$tmp/json")"
	# What has ended early and what the faults tell of is the same.
	jq -e '.health | ([.incomplete | to_entries[] | select(.key != "pending") | .value] | add) ==
		([.faults[].stacks] | add) + .faults_other' "$tmp/json" >/dev/null ||
		why="$why; sums: $(jq -c '.health | [.incomplete, .faults, .faults_other]' "$tmp/json")"
}
look 'json' told
[ "$failed" = 0 ] && pass 'faults in json'

shown()
{
	"$STACKTOP" -b --view=health -n 1 -d 2 -p "$bare,$java" >"$tmp/text" 2>"$tmp/err"
	grep -qE "[0-9.]+% +[0-9.]+% +$id-bare: no-cfi +no CFI: built without .eh_frame" "$tmp/text" ||
		why="no line of $id-bare: $(cat "$tmp/text")"
	grep -qE "java $java: jit +restart it with -XX:\+PreserveFramePointer" "$tmp/text" ||
		why="$why; no line of java: $(cat "$tmp/text")"
}
look 'the view' shown
[ "$failed" = 0 ] && pass 'faults in the view'

cat >"$tmp/calls.c" <<'EOS'
volatile unsigned long x;
__attribute__((noinline)) void leaf(void) { for (unsigned i = 0; i < 20000000; i++) x++; }
__attribute__((noinline)) void third(void) { leaf(); x++; }
__attribute__((noinline)) void second(void) { third(); x++; }
__attribute__((noinline)) void first(void) { second(); x++; }
int main(void) { for (;;) first(); }
EOS
# build NAME OPTION...
build() { gcc -O1 "${@:2}" -o "$tmp/$id-$1" "$tmp/calls.c" || skip 'gcc cannot build here'; }
build with -O0
build leafless -fno-omit-frame-pointer
build without -fomit-frame-pointer
pids=
for program in with leafless without; do
	start "$tmp/$id-$program"
	pids=$pids,$last_pid
done

compared()
{
	"$STACKTOP" -b --format=json -n 2 -d 1.5 -p "${pids#,}" 2>"$tmp/err" | sed 's/,"functions":.*/}/' |
		tail -n 1 >"$tmp/json"
	# An interrupt in the first or last instructions of a function is seldom here: a loop has nearly all.
	jq -e --arg id "$id" '.health.frame_pointers |
		def of(name): .objects[] | select(.object == $id + "-" + name);
		(of("with") | .equal > 9 * (.stacks - .equal)) and
		(of("leafless") | .skips > 9 * (.stacks - .skips) and .parts > 0) and
		(of("without") | .equal == 0 and .stacks > 0) and
		.stacks == .equal + .shorter + .skips + .wrong' "$tmp/json" >/dev/null ||
		why="$(jq -c .health.frame_pointers "$tmp/json") $(cat "$tmp/err")"
}
look 'frame pointers' compared
[ "$failed" = 0 ] && pass 'frame pointers'
finish
