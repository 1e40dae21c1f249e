#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Where files hide: programs in own mount, pid and user namespaces, on an overlay, in a chroot, deleted, have
# their names all the same.

. "${top_srcdir:-.}/tests/lib.sh"
need jq unshare chroot
need_sampling
[ "$(id -u)" = 0 ] || skip 'only root can make these places'
id=$$
cat >"$tmp/spin.c" <<-'EOC'
	__attribute__((noinline)) void NAME(void) { for (volatile unsigned n = 0; n < 500000; n++) ; }
	int main(void) { for (;;) NAME(); }
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
finish
