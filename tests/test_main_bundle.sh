#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --bundle: one folder with all that a picture has, in each format what its reader wants, of the same samples.
. "${top_srcdir:?}/tests/lib.sh" || exit 1
need python3 jq
"$top_builddir/tests/have_perf" own >/dev/null || skip "sampling is not allowed here"

bundle=$tmp/bundle
"$STACKTOP" -d 30 --bundle="$bundle" -F 499 -- timeout 2 sh -c 'while :; do :; done' >"$tmp/out" 2>"$tmp/said"
check "the command's status" test $? -eq 124
[ -s "$tmp/said" ] && fail "it says: $(cat "$tmp/said")"
[ -s "$tmp/out" ] && fail "it writes beside the folder: $(head -n 1 "$tmp/out")"
[ "$(stat -c %a "$bundle")" = 700 ] || fail "the folder is $(stat -c %a "$bundle")"

# The README names each file, and there is no other; each is the person's alone, and has something in it.
awk 'NF == 0 { list++ } list == 2 && NF { print $1 }' "$bundle/README" | sort >"$tmp/named"
(cd "$bundle" && find . -type f -perm 600 -size +0 | sed 's,^\./,,' | sort) | diff "$tmp/named" - || fail "other files (>) than README names (<)"
[ "$(wc -l <"$tmp/named")" -ge 10 ] || fail "hardly any file"

"$top_srcdir/tests/read_pprof.py" "$bundle/profile.pb.gz" >"$tmp/pprof" || fail "no profile of pprof"
"$top_srcdir/tests/read_script.py" <"$bundle/samples.perf" >"$tmp/collapsed" || fail "no text of perf script"
nr=$(awk '/^TOTAL/ { print $2 }' "$tmp/pprof") total=$(awk '/^TOTAL/ { print $3 }' "$tmp/pprof")
check "there are samples" test "$nr" -gt 20
[ "$(jq .samples "$bundle/functions.json")" = "$nr" ] || fail "json has $(jq .samples "$bundle/functions.json") samples, pprof $nr"
[ "$(jq .tree.total "$bundle/tree.json")" = "$total" ] || fail "the tree has another total"
[ "$(awk '{ sum += $NF } END { printf "%d", sum }' "$bundle/stacks.folded")" = "$total" ] || fail "folded has another total"
[ "$(awk '{ nr += $NF } END { print nr }' "$tmp/collapsed")" -ge $((nr * 9 / 10)) ] || fail "few of $nr single samples"
for view in functions callers tree; do
	grep -q '^ *[0-9.]* ' "$bundle/$view.txt" || fail "no rows in $view.txt"
done
check "health is there" grep -q 'How stacks end' "$bundle/health.txt"

"$STACKTOP" --bundle="$bundle" >"$tmp/out" 2>"$tmp/said"
check "nothing is overwritten" grep -q "bundle exists already: nothing written" "$tmp/said"
mkdir "$tmp/there"
ln -s there "$tmp/link"
"$STACKTOP" --bundle="$tmp/link" >"$tmp/out" 2>"$tmp/said" && fail "a link is followed"
[ -z "$(ls "$tmp/there")" ] || fail "files behind a link"
"$STACKTOP" --bundle="$tmp/x" -n 2 >"$tmp/out" 2>"$tmp/said"
check "several pictures are refused" test $? -eq 2
[ -e "$tmp/x" ] && fail "a folder is left"
[ "$(find "$tmp" -name '*.part-*' | wc -l)" = 0 ] || fail "a folder under another name is left"

# cut WHO FOLDER SAYING [NAME=VALUE...]: what finds no room is not there, under no name, and the status tells
cut()
{
	env "${@:4}" "$STACKTOP" -d 0.5 --bundle="$2/half" -F 499 -- timeout 2 sh -c 'while :; do :; done' >"$tmp/out" 2>"$tmp/said"
	check "$1: a bundle without room fails" test $? -eq 1
	check "$1: it says so" grep -q "$3; nothing written" "$tmp/said"
	[ -z "$(ls -A "$2")" ] || fail "$1: left: $(ls -A "$2")"
}
mkdir "$tmp/limited"
(
	ulimit -f 2 && cut 'a limit of the size of files' "$tmp/limited" 'File too large'
	exit "$failed"
) || failed=1
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k,mode=777 none "$tmp/limited" 2>"$tmp/said"; then
	trap 'umount -l "$tmp/limited"; rm -rf "$tmp"' EXIT
	cut 'a full disk, root' "$tmp/limited" 'No space left on device' -u SUDO_UID -u SUDO_GID
	cut 'a full disk, sudo' "$tmp/limited" 'No space left on device' SUDO_UID=65534 SUDO_GID=65534
	mount -o remount,size=8m "$tmp/limited"
	env -u SUDO_UID -u SUDO_GID "$STACKTOP" -d 30 --bundle="$tmp/limited/whole/" -- timeout 1 sh -c 'while :; do :; done' \
		>"$tmp/out" 2>"$tmp/said"
	check 'with room it is there' test -s "$tmp/limited/whole/README"
	check "and root's" [ "$(stat -c '%u %a' "$tmp/limited/whole")" = '0 700' ]
	[ "$(ls -A "$tmp/limited")" = whole ] || fail "beside it: $(ls -A "$tmp/limited")"
else
	echo 'not tested: a full disk'
fi
finish
