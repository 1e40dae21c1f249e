#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The write key of the running program: whose the file is and what is in it,
# that it never goes over or through anything, and that what fails leaves a
# message on the screen and nothing on the disk.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need tmux mount
need_sampling
umask 0 # the mode of a report does not depend on it

umount_all()
{
	umount -l "$tmp/full" "$tmp/sudo-full" 2>/dev/null
	live_cleanup
}
trap umount_all EXIT

# A program with a known chain, as the only thing that is sampled.
cat >"$tmp/chain.c" <<-'EOF'
	#include <unistd.h>
	#define DEEP __attribute__((noinline))
	DEEP void leaf(void) { for (volatile unsigned n = 0; n < 300000; n++) ; }
	DEEP void branch_a(void) { leaf(); __asm__ volatile(""); }
	DEEP void branch_b(void) { leaf(); leaf(); __asm__ volatile(""); }
	int main(void) { for (;;) { branch_a(); branch_b(); usleep(3000); } }
EOF
"$CC" -O1 -o "$tmp/chain" "$tmp/chain.c" || skip 'no compiler'
chmod 755 "$tmp/chain"
start "$tmp/chain"
chain=$last_pid

# begin_in DIRECTORY [NAME=VALUE...]
begin_in()
{
	term_dir=$1
	term_start 120x30 env "${@:2}" "$STACKTOP" -d 0.3 -p "$chain"
	see 'leaf +chain'
	see 'last ([2-9]|10)' # names and tables have come
}

# answer NAME REGEX: press w, type the name (none: as offered), and see what is said
answer()
{
	key w
	see '^write to '
	if [ -n "$1" ]; then
		key C-u
		key -l "$1"
	fi
	key Enter
	see "$2"
}

# nothing_in DIRECTORY EXPECTED...: it holds just these
nothing_in()
{
	local found
	found=$(ls -A "$1" | LC_ALL=C sort | paste -sd ' ')
	[ "$found" = "${*:2}" ] || fail "$1 holds '$found' instead of '${*:2}'"
}

# owned FILE UID: by the user alone, nobody else can read it
owned()
{
	[ "$(stat -c '%u %a %h %F' "$1")" = "$2 600 1 regular file" ] ||
		fail "$1: $(stat -c '%u %a %h %F' "$1") instead of $2 600"
}

# --- what is in it: settings, all rows as folded, at full width, and health -----------------

# The rows of the view, without those of health that follow
rows_of() { sed '1,/^ *self%/d; /^Health$/,$d; /^$/d' "$1"; }
check_report()
{
	local file=$1 nr_rows=$2 word
	head -n 2 "$file" | grep -qE "^stacktop .* pid $chain .* 999 Hz .* dwarf (auto )?[0-9]+K .* complete [0-9.]*%" ||
		fail "report: no settings: $(head -n 2 "$file")"
	grep -qE '^[0-9]{4}-[0-9]{2}-[0-9]{2} .* event (cycles|cpu-clock), [0-9]+ samples' "$file" ||
		fail 'report: no date, event and samples'
	for word in samples lost cost; do
		grep -q "^whole run: $word" "$file" || fail "report: no line on $word"
	done
	grep -qE '^ *now in all - How stacks end$' "$file" || fail 'report: no health'
	LC_ALL=C grep -q '[[:cntrl:]]' "$file" && fail 'report: control characters'
	[ "$(rows_of "$file" | wc -l)" = "$nr_rows" ] ||
		fail "report: $(rows_of "$file" | wc -l) rows, $nr_rows on the screen: $(cat "$file")"
}
# What the screen says of the list: "3/17" at the end of the second line
rows_on_screen() { screen | sed -n '2s,.*[0-9]/\([0-9]*\) *$,\1,p'; }
# Function names with their indent, of the screen or of a report
functions_of() { sed -n 's/^>* *[0-9.]* *[0-9.]* //; s/ *\(chain\|libc.*\|\[.*\]\|ld-.*\)\( .*\)*$//p'; }
shown() { rows_on_screen; screen | sed '1,/self%\|self▾/d; $d'; } # but for what it says below

# Write the frozen view as NAME. Names that the last samples wait for come into it
# even so: the file is one of a screen that was the same BEFORE and after.
write_frozen()
{
	local try
	for try in 1 2 3 4 5; do
		before=$(shown)
		answer "stacktop-$1-$try.txt" "written: stacktop-$1-$try.txt"
		wait_for 20 test -s "$tmp/root/stacktop-$1-$try.txt" || fail "$1: no file"
		mv "$tmp/root/stacktop-$1-$try.txt" "$tmp/root/$1"
		[ "$before" != "$(shown)" ] || return 0
	done
	fail "$1: the frozen screen was another each of $try times"
}

mkdir "$tmp/root" "$tmp/user"
begin_in "$tmp/root" -u SUDO_UID -u SUDO_GID
for view in 1 3 2; do
	key "$view"
	see "^ self"
	[ "$view" = 1 ] || { key E; see 'branch_b'; }
	[ "$view" != 3 ] || { key C; see_not 'branch_b'; key E; see 'branch_b'; }
	key Space
	see FROZEN
	write_frozen "view$view"
	check_report "$tmp/root/view$view" "$(head -n 1 <<<"$before")"
	functions_of <<<"$before" | head -n 12 >"$tmp/on-screen"
	sed '1,/^ *self%/d; /^$/,$d' "$tmp/root/view$view" | functions_of | head -n 12 >"$tmp/in-file"
	grep -q leaf "$tmp/in-file" || fail "view $view: no leaf in the file"
	cmp -s "$tmp/on-screen" "$tmp/in-file" ||
		fail "view $view: the file is not the screen: $(diff "$tmp/on-screen" "$tmp/in-file")"
	key Space
	see live
done
key 3
key C
see_not branch_b
answer stacktop-folded.txt 'written: stacktop-folded.txt'
grep -q 'branch_b' "$tmp/root/stacktop-folded.txt" && fail 'a folded row is in the report'
# The ending of the name chooses another format.
answer stacktop-x.folded 'written: stacktop-x.folded'
wait_for 20 test -s "$tmp/root/stacktop-x.folded" || fail 'no folded stacks'
grep -q '^chain;.*;main;branch_b;leaf [0-9]*$' "$tmp/root/stacktop-x.folded" ||
	fail "folded: $(head -n 3 "$tmp/root/stacktop-x.folded")"
answer stacktop-x.json 'written: stacktop-x.json'
wait_for 20 test -s "$tmp/root/stacktop-x.json" || fail 'no json'
[ "$(wc -l <"$tmp/root/stacktop-x.json") $(head -c 11 "$tmp/root/stacktop-x.json")" = '1 {"version":' ] ||
	fail "json: $(head -c 100 "$tmp/root/stacktop-x.json")"
pass 'what is in a report'
key W
see 'stacktop-[^ ]+\.tar'
key C-u
key -l stacktop-evidence.tar
key Enter
see 'written: stacktop-evidence.tar'
tar -xf "$tmp/root/stacktop-evidence.tar" -C "$tmp" 2>"$tmp/err" || fail "tar: $(cat "$tmp/err")"
[ -s "$tmp/err" ] && fail "tar says: $(cat "$tmp/err")"
check 'the README of an archive lists what is in it' \
	[ "$(awk 'NF == 0 { list++ } list == 2 && NF { print $1 }' "$tmp/stacktop-evidence/README" | sort)" = \
	"$(find "$tmp/stacktop-evidence" -type f -printf '%f\n' | sort)" ]
for file in functions.txt callers.txt tree.txt stacks.folded; do
	grep -q leaf "$tmp/stacktop-evidence/$file" || fail "no leaf in $file"
done
same_samples()
{
	local nr
	nr=$("$top_srcdir/tests/read_pprof.py" "$tmp/stacktop-evidence/profile.pb.gz" | awk '/^TOTAL/ { print $2 }') &&
		"$top_srcdir/tests/read_script.py" <"$tmp/stacktop-evidence/samples.perf" >"$tmp/collapsed" &&
		grep -q '^chain;.*;main;branch_b;leaf [0-9]*$' "$tmp/collapsed" &&
		[ "$(awk '{ nr += $NF } END { print nr }' "$tmp/collapsed")" = "$nr" ]
}
! command -v python3 >/dev/null || check 'a profile of pprof and single samples are of the same' same_samples
check 'and health, and json that is whole' sh -c "grep -q 'How stacks end' '$tmp/stacktop-evidence/health.txt' &&
	[ \$(wc -l <'$tmp/stacktop-evidence/tree.json') = 1 ] && tail -c 3 '$tmp/stacktop-evidence/tree.json' | grep -q '}'"

# --- root itself: its own directory, the file is root's ---------------------------------------

rm "$tmp/root"/*
answer '' "written: stacktop-$(uname -n)-[0-9]{8}-[0-9]{6}.txt"
owned "$tmp/root"/stacktop-*.txt 0
rm "$tmp/root"/stacktop-*.txt
echo kept >"$tmp/root/stacktop-there.txt"
ln -s "$tmp/root/nowhere" "$tmp/root/stacktop-link.txt"
ln -s "$tmp/root/stacktop-there.txt" "$tmp/root/stacktop-link-there.txt"
mkfifo "$tmp/root/stacktop-fifo.txt"
mkdir "$tmp/root/stacktop-folder.txt"
for name in there link link-there fifo folder; do
	answer "stacktop-$name.txt" "stacktop-$name.txt exists already: nothing written"
done
[ "$(cat "$tmp/root/stacktop-there.txt")" = kept ] || fail 'a file was overwritten'
# What a shell, make or cron would read one day is never written as root.
for name in .. .bash_profile Makefile report stacktop-x stacktop-x.sh; do
	answer "$name" "root's reports are called stacktop-NAME"
done
answer "$tmp/elsewhere" 'only into the directory where stacktop was started'
key w
see '^write to '
key Escape
see_not '^write to '
key w
see '^write to '
key C-u
key Enter
see 'not written: no name'
nothing_in "$tmp/root" stacktop-{fifo,folder,link-there,link,there}.txt
nothing_in "$tmp/root/stacktop-folder.txt" ''
key q
term_end root 0
pass 'root'

# --- through sudo: as the caller, who may not write where root may ------------------------------

chown 65534:65534 "$tmp/user"
chmod 700 "$tmp/user"
chmod 755 "$tmp/root"
begin_in "$tmp/user" SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody
answer '' 'written: stacktop-'
owned "$tmp/user"/stacktop-*.txt 65534
rm "$tmp/user"/stacktop-*.txt
answer 'ä report' 'written: ä report'
owned "$tmp/user/ä report" 65534
ln -s "$tmp/user/nowhere" "$tmp/user/link"
answer link 'link exists already: nothing written'
answer "$tmp/root/mine" 'cannot write .*/root/mine: Permission denied; nothing written'
answer nosuch/file 'cannot write nosuch/file: No such file or directory; nothing written'
mkdir -m 777 "$tmp/user/folder"
answer folder/inside 'written: folder/inside'
owned "$tmp/user/folder/inside" 65534
nothing_in "$tmp/user" folder link 'ä report'
key q
term_end sudo 0
pass 'sudo'

# --- no room, and no right --------------------------------------------------------------------

# full DIRECTORY WHO [NAME=VALUE...]
full()
{
	mkdir "$1"
	if ! mount -t tmpfs -o "size=8k,mode=777" none "$1"; then
		echo 'not tested: cannot mount'
		return
	fi
	head -c 8192 /dev/zero >"$1/filled" 2>/dev/null
	begin_in "$1" "${@:3}"
	answer stacktop-report.txt 'cannot write stacktop-report.txt: No space left on device; nothing written'
	nothing_in "$1" filled
	rm "$1/filled"
	mount -o remount,ro "$1"
	answer stacktop-report.txt 'cannot write stacktop-report.txt: Read-only file system; nothing written'
	mount -o remount,rw,size=4m "$1"
	answer stacktop-report.txt 'written: stacktop-report.txt'
	key q
	term_end "$2 on a full disk" 0
	mux kill-server
	umount -l "$1"
	pass "$2 on a full disk"
}
full "$tmp/full" root -u SUDO_UID -u SUDO_GID
full "$tmp/sudo-full" sudo SUDO_UID=65534 SUDO_GID=65534

# batch_full DIRECTORY WHO MODE [NAME=VALUE...]: -o on a full disk leaves nothing, and what is there stays
batch_full()
{
	mkdir -p "$1"
	if ! mount -t tmpfs -o "size=8k,mode=$3" none "$1"; then
		echo 'not tested: cannot mount'
		return
	fi
	head -c 8192 /dev/zero >"$1/filled" 2>/dev/null
	for name in profile ./profile; do
		if (cd "$1" && env "${@:4}" "$STACKTOP" -b -n 2 -d 0.3 -p "$chain" -o "$name") 2>"$tmp/err"; then
			fail "$2 wrote to a full disk"
		fi
		grep -q 'No space left on device' "$tmp/err" || fail "$2 said: $(cat "$tmp/err")"
		nothing_in "$1" filled
	done
	if env "${@:4}" "$STACKTOP" -b -n 1 -d 0.3 -o "$1/filled" 2>"$tmp/err"; then
		fail "$2 wrote over a file"
	fi
	[ "$(stat -c %s "$1/filled")" = 8192 ] || fail "$2 harmed a file that was there"
	umount -l "$1"
	pass "$2: -o on a full disk"
}
batch_full "$tmp/full" root 755 -u SUDO_UID -u SUDO_GID
batch_full "$tmp/sudo-full" sudo 777 SUDO_UID=65534 SUDO_GID=65534

# A directory that only root may write to, and one that is gone.
begin_in "$tmp/root" SUDO_UID=65534 SUDO_GID=65534
answer stacktop-report.txt 'cannot write stacktop-report.txt: Permission denied; nothing written'
key q
term_end 'no right' 0
mkdir "$tmp/removed"
begin_in "$tmp/removed" -u SUDO_UID
rmdir "$tmp/removed"
answer stacktop-report.txt 'cannot write stacktop-report.txt: No such file or directory; nothing written'
key q
term_end 'a directory that is gone' 0
finish
