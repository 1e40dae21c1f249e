#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The real sudo: an ordinary user profiles the whole machine, what is parsed is
# parsed as that user, and what is written belongs to them. Adds a rule to
# /etc/sudoers.d for a moment.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need sudo setpriv jq tmux
[ "$(id -u)" = 0 ] || skip 'needs root'
need_sampling
read -r name uid gid <<<"$(other_user)"
[ -n "$name" ] || skip 'no ordinary user on this machine'
[ -d /etc/sudoers.d ] || skip 'no /etc/sudoers.d'
rule=/etc/sudoers.d/stacktop-test-$$
trap 'rm -f "$rule"; live_cleanup' EXIT
cp "$STACKTOP" "$tmp/stacktop"
echo "$name ALL=(root) NOPASSWD: $tmp/stacktop" >"$rule"
chmod 440 "$rule"
user=(setpriv --reuid="$uid" --regid="$gid" --init-groups env "HOME=$tmp/home" "USER=$name" "LOGNAME=$name")
mkdir "$tmp/home" "$tmp/out"
chown "$uid:$gid" "$tmp/home" "$tmp/out"
"${user[@]}" sudo -n "$tmp/stacktop" --version >/dev/null 2>"$tmp/err" || skip "sudo: $(head -n 1 "$tmp/err")"

cat >"$tmp/spin.c" <<-'EOF'
	#include <unistd.h>
	__attribute__((noinline)) void of_another(void) { for (volatile unsigned n = 0; n < 500000; n++) ; }
	int main(void) { for (;;) { of_another(); usleep(20000); } }
EOF
"$CC" -O1 -o "$tmp/spin-$$" "$tmp/spin.c" || skip 'no compiler'
chmod 700 "$tmp/spin-$$" # root's alone
start "$tmp/spin-$$"

# sees_all FILE: root's program has its name
sees_all() { grep '}$' "$1" | jq -e -s --arg o "spin-$$" 'any(.[]; [.functions[] |
	select(.object == $o and .name == "of_another")] | length == 1)' >/dev/null 2>&1; }
of() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" | cut -f1; }

cd "$tmp/out" || exit 1
start "${user[@]}" sudo -n "$tmp/stacktop" -d 0.3 --format=json -o "$tmp/out/out" 2>"$tmp/err"
wait_for 20 sees_all "$tmp/out/out" || fail "another user's program has no name: $(cat "$tmp/err")"
for who in stacktop stacktop-loader; do
	pid=$(member "$last_pid" $who) || fail "no process $who"
	[ "$(of "$pid" Uid)" = "$uid" ] || fail "$who runs as $(of "$pid" Uid)"
	[ "$(of "$pid" CapPrm)" = 0000000000000000 ] || fail "$who has capabilities"
done
[ "$(stat -c '%u %g %a' "$tmp/out/out")" = "$uid $gid 600" ] ||
	fail "the output belongs to $(stat -c '%u %g %a' "$tmp/out/out")"
pid=$(member "$last_pid" stacktop)
pids=$(family "$pid")
kill -TERM "$pid"
# shellcheck disable=SC2086
wait_for 10 all_gone $pids || fail 'something stays'
pass 'batch'

term_dir=$tmp/out
term_start 100x30 "${user[@]}" sudo -n "$tmp/stacktop" -d 0.3
key w
see 'stacktop-'
key Enter
wait_for 10 eval 'ls "$tmp/out"/stacktop-*.txt >/dev/null 2>&1' || fail 'no report'
[ "$(stat -c '%u %g %a' "$tmp"/out/stacktop-*.txt)" = "$uid $gid 600" ] ||
	fail "the report belongs to $(stat -c '%u %g %a' "$tmp"/out/stacktop-*.txt)"
key q
term_end 'screen' 0
pass 'screen'

# A command is the user's again.
"${user[@]}" sudo -n "$tmp/stacktop" -b -d 0.3 -- sh -c "id -u >'$tmp/out/id'; exit 7" >/dev/null 2>&1
[ $? = 7 ] || fail 'not the status of the command'
[ "$(cat "$tmp/out/id")" = "$uid" ] || fail "the command ran as $(cat "$tmp/out/id")"
pass 'command'
finish
