#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Debug servers that hang or fail, beside a screen: keys answer while fifty files are wanted of one that never says
# a word, one that fails is left alone and named. Names that come from a good one come where the rows are: the cursor
# stays on its function. What the key has allowed is a setting.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq tmux strip objcopy readelf python3 setpriv
need_sampling
"$STACKTOP" --debuginfod=http://127.0.0.1 --version >/dev/null 2>&1 || skip 'built without debuginfod'
id=s$$
nr_files=50

# A program with fifty libraries, of which each has a function that nothing names.
cat >"$tmp/part.c" <<-'EOC'
	#ifndef TURNS
	#define TURNS 100000
	#endif
	static __attribute__((noinline)) void work(void) { for (volatile unsigned n = 0; n < TURNS; n++) ; }
	void part(void) { work(); }
EOC
cat >"$tmp/many.c" <<-'EOC'
	#include <dlfcn.h>
	#include <stdio.h>
	#include <unistd.h>
	int main(int argc, char **argv)
	{
		void (*parts[100])(void);
		char path[4096];
		int nr;
		for (nr = 0; nr < 100; nr++) {
			snprintf(path, sizeof(path), "%s/part%d.so", argv[argc - 1], nr);
			void *library = dlopen(path, RTLD_NOW);
			if (!library)
				break;
			*(void **)&parts[nr] = dlsym(library, "part");
		}
		for (;;) {
			for (int i = 0; i < nr; i++)
				parts[i]();
			usleep(2000);
		}
	}
EOC
"$CC" -O1 -fPIC -c -o "$tmp/part.o" "$tmp/part.c" || skip 'no compiler'
"$CC" -O1 -fPIC -DTURNS=20000 -c -o "$tmp/light.o" "$tmp/part.c"
build_id() { printf '%040x' $(($$ * 100 + $1 + 1)); }
for i in $(seq 0 $((nr_files - 1))); do
	object=part.o
	[ "$i" != 0 ] || object=light.o
	"$CC" -shared -s "-Wl,--build-id=0x$(build_id "$i")" -o "$tmp/part$i.so" "$tmp/$object"
done
"$CC" -O1 -o "$tmp/many$id" "$tmp/many.c" -ldl || skip 'no compiler'
start "$tmp/many$id" "$tmp"
many=$last_pid

serve

# --- one that never answers -----------------------------------------------------------

term_start 160x40 env -u XDG_CACHE_HOME "$STACKTOP" -d 0.3 --window 3 -p "$many" "--debuginfod=$url/hangs"
see 'fetching the debug file of [^ ]+ from 127.0.0.1:[0-9]+, 4[0-9] more to come'
# The number before a view's name on the line of views is its key.
view_key() { screen | grep -oE "[0-9] $1" | cut -d ' ' -f 1; }
for view in "Processes [0-9.]+ +many$id $many" 'Health How stacks end' 'Functions self.* total%' \
	'Health How stacks end'; do
	key "$(view_key "${view%% *}")"
	see "${view#* }" || break
done
key / && key 'not there' && key Enter
see ': 0 came, 0 not there, [0-9]+ failed, 4[0-9] to come' && pass 'keys answer while fifty files are wanted'
# It is left alone by now, perhaps: allowed anew, it is asked at once.
key D
see 'no more debug files from 127.0.0.1'
key D
see 'fetching the debug file of'
key D
ends_with() { key End && has "$1"; }
wait_for 40 ends_with '\.so +stopped' || { fail 'no download was stopped'; show_screen; }
[ "$failed" = 1 ] || pass 'a download is cancelled by a key'
key q
term_end 'a server that hangs' 0

# --- one that takes its time ------------------------------------------------------------

# The lightest library is the last of the process's map, for it was loaded first. When nothing but its stacks is shown its file
# is asked for before the others.
: >"$tmp/asked"
: >"$tmp/served/hold"
term_start 160x24 env -u XDG_CACHE_HOME "$STACKTOP" -d 0.3 --window 3 -p "$many" "--debuginfod=$url/slowly"
see 'fetching the debug file of [^ ]+ from 127.0.0.1:[0-9]+, 4[0-9] more to come'
key '\' o:part0.so Enter
see 'only o:part0.so'
see '[0-9] part.* part0.so'
rm "$tmp/served/hold"
wait_for 40 grep -q "$(build_id 0)" "$tmp/asked" || fail 'it is never asked for'
place=$(grep -n "$(build_id 0)" "$tmp/asked" | head -n 1 | cut -d : -f 1)
[ "${place:-99}" -le 10 ] && pass 'what is on the screen is asked for first' || fail "it is asked for as number $place"
key q
term_end 'a server that takes its time' 0

# --- one that fails -------------------------------------------------------------------

: >"$tmp/json"
start env -u XDG_CACHE_HOME "$STACKTOP" -b --format=json -d 0.3 --window 3 -p "$many" \
	"--debuginfod=$url/fails" >"$tmp/json" 2>"$tmp/err"
main=$last_pid
says() { says_last "$tmp/json" "$1"; }
wait_for 40 says '.health.fetch_state == "failed: left alone" and .health.fetch_failed == 3 and
	.health.fetch_missing == 0 and .health.fetch_pause_s > 0 and .health.fetch_pending >= 40 and
	(.notice | test("127.0.0.1:[0-9]+ failed 3 times: left alone for"))' ||
	fail "not left alone: $(tail -n 1 "$tmp/json" | jq -c '[.notice, .health]')"
check 'a server that fails is left alone' [ "$(grep -c '^/fails' "$tmp/asked")" = 3 ]
kill -TERM "$main"
wait "$main" 2>/dev/null

# --- one that has a recorded kernel -----------------------------------------------------

# Its names, by the recorded build-id, where it was at the time; nothing of it is on this machine.
recording=${STACKTOP_TEST_DATA:-$top_srcdir/../shared/data}/stacks/vector_static_gcc/perf.data
cat >"$tmp/kernel.S" <<-'EOS'
	.text
	.org 0x6c800
	.globl recorded_place
	.type recorded_place, @function
	recorded_place: ret
	.size recorded_place, 0x200
	.org 0xc00000
	ret
EOS
kernel_id=2366ff9353522874bfb9e58d3452bb73aaf47841
if [ ! -f "$recording" ]; then
	echo 'not tested: no recording of another kernel'
elif "$CC" -nostdlib -static -no-pie -Wl,-e,0 -Wl,-Ttext=0xffffffff81000000 "-Wl,--build-id=0x$kernel_id" \
	-o "$tmp/vmlinux" "$tmp/kernel.S" 2>"$tmp/err"; then
	mkdir "$tmp/nothing"
	serve_debug "$kernel_id" "$tmp/vmlinux"
	: >"$tmp/asked"
	term_start 100x30 env -u XDG_CACHE_HOME "DEBUGINFOD_URLS=$url" "$STACKTOP" -i "$recording" --symfs "$tmp/nothing"
	see 'names of [0-9]+ files? may be at 127.0.0.1'
	check 'nobody is asked for a kernel before the key' test ! -s "$tmp/asked"
	key D
	key / C-u
	key -l recorded_place
	key Enter
	see '[0-9] recorded_place +\[kernel\]' && pass 'a recorded kernel from a server'
	key q
	term_end 'a recorded kernel' 0
	# A batch run waits for it, however slow it is.
	env -u XDG_CACHE_HOME "$STACKTOP" -b -i "$recording" --symfs "$tmp/nothing" "--debuginfod=$url/slowly" --format=folded \
		>"$tmp/out" 2>"$tmp/err"
	check 'a batch run waits for a recorded kernel' grep -q recorded_place "$tmp/out"
else
	echo "not tested: cannot link a kernel here: $(cat "$tmp/err")"
fi

[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || {
	echo 'not tested: only root may sample here'
	finish
}

# --- one that has it ------------------------------------------------------------------

cat >"$tmp/good.c" <<-'EOC'
	#include <unistd.h>
	#define WORK for (volatile unsigned n = 0; n < 300000; n++) ;
	static __attribute__((noinline)) void in_first(void) { WORK WORK WORK }
	static __attribute__((noinline)) void in_second(void) { WORK WORK }
	static __attribute__((noinline)) void in_third(void) { WORK }
	int main(void) { for (;;) { in_first(); in_second(); in_third(); usleep(5000); } }
EOC
"$CC" -O1 -g -Wl,--build-id -o "$tmp/good$id" "$tmp/good.c" || skip 'no compiler'
objcopy --only-keep-debug "$tmp/good$id" "$tmp/debug"
strip "$tmp/good$id"
# As an ordinary user: root has given up its rights over the settings file by then.
mkdir "$tmp/home"
cp "$STACKTOP" "$tmp/stacktop"
as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
chown 65534:65534 "$tmp/home"
start "${as[@]}" "$tmp/good$id"
as+=(env "HOME=$tmp/home" XDG_CONFIG_HOME= XDG_CACHE_HOME= "DEBUGINFOD_URLS=$url" "$tmp/stacktop" -d 0.3 --window 3 -p "$last_pid")
# The row under the cursor is in reverse video.
cursor_is_on() { mux capture-pane -pe | grep -E $'^\e\\[[0-9;]*7m' | grep -qE "$1"; }
has_three() { [ "$(screen | grep -cE "[1-9][0-9]\.[0-9]+ +good$id\+0x")" = 3 ]; }
term_start 100x30 "${as[@]}"
see 'names of 1 file may be at 127.0.0.1'
# Shares of the first samples may stand in any order.
see 'last 3 s' && wait_for 40 has_three && key Down
wait_for 40 cursor_is_on " [23][0-9]\.[0-9]+ +good$id\+0x" || { fail 'the cursor is not on the second row'; show_screen; }
serve_debug "$(readelf -n "$tmp/good$id" | awk '/Build ID/ { print $3 }')" "$tmp/debug"
key D
see in_first && see in_third
wait_for 40 cursor_is_on ' in_second ' && pass 'the cursor stays while names come' ||
	{ fail 'the cursor has left its function'; mux capture-pane -pe | head -20; }
key O
see 'written: '
check 'what was allowed is a setting' grep -qx 'debuginfod = on' "$tmp/home/.config/stacktop/config"
key q
term_end 'a good server' 0
: >"$tmp/asked"
rm -rf "$tmp/home/.cache"
term_start 100x30 "${as[@]}"
see in_first && check 'the next start asks without the key' grep -q '^/buildid' "$tmp/asked"
key q
term_end 'the next start' 0

# The last block of a batch run waits for it, for longer than for what comes from this machine.
rm -rf "$tmp/home/.cache"
: >"$tmp/asked"
: >"$tmp/served/hold"
: >"$tmp/out"
start "${as[@]}" -b -n 1 "--debuginfod=$url/slowly" --format=folded >"$tmp/out" 2>"$tmp/err"
batch=$last_pid
wait_for 40 grep -q '^/slowly/buildid' "$tmp/asked"
sleep 4
kill -0 "$batch" 2>/dev/null || fail 'the last block has not waited'
rm "$tmp/served/hold"
wait "$batch" 2>/dev/null
check 'the last block has the names of a server' grep -q ';in_first' "$tmp/out"
finish
