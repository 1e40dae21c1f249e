#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The scripts that complete the command line: asked as the shells ask them.

. "${top_srcdir:-.}/tests/lib.sh"

for shell in bash zsh fish; do
	"$STACKTOP" --completion=$shell >"$tmp/$shell" || fail "no completion of $shell"
	# Each long option of --help is in each of them.
	"$STACKTOP" --help | sed -n 's/^ .*--\([a-z-]*\).*/\1/p' | while read -r name; do
		grep -q -w -e "$name" "$tmp/$shell" || echo "$name"
	done >"$tmp/missing"
	[ ! -s "$tmp/missing" ] || fail "the completion of $shell lacks $(tr '\n' ' ' <"$tmp/missing")"
done
[ "$failed" = 0 ] && pass 'every option is in each script'

# bash_says WORD...: what completes the last word, one line
bash_says()
{
	bash -c '
		. "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		compopt() { :; }
		_stacktop; echo "${COMPREPLY[*]}"' - "$tmp/bash" stacktop "$@"
}
# is WHAT EXPECTED GOT
is() { [ "$3" = "$2" ] || fail "$1: '$3' instead of '$2'"; }
mkdir "$tmp/dir" && touch "$tmp/dir/one.data"
is 'a name' '--no-complete --no-color' "$(bash_says --no-co)"
is 'a name that takes a word' '--call-graph=' "$(bash_says --call)"
is 'words behind "="' 'dwarf' "$(bash_says --call-graph = d)"
is 'all words' 'fp dwarf lbr' "$(bash_says --call-graph =)"
is 'words behind a blank' 'json' "$(bash_says --format j)"
is 'a file' "$tmp/dir/one.data" "$(bash_says -i "$tmp/dir/o")"
is 'a process' $$ "$(bash_says -p $$ | tr ' ' '\n' | grep -x $$)"
is 'a command' bash "$(bash_says -- bas | tr ' ' '\n' | grep -x bash | head -n 1)"
is 'nothing for a number' '' "$(bash_says -F 9)"
[ "$failed" = 0 ] && pass bash

if command -v zsh >/dev/null; then
	zsh -n "$tmp/zsh" || fail 'zsh does not read it'
fi
if command -v fish >/dev/null; then
	fish_says() { HOME=$tmp fish -c ". $tmp/fish; complete -C '$1'" | cut -f 1 | tr '\n' ' '; }
	is 'fish, words' '--view=functions ' "$(fish_says 'stacktop --view=fun')"
	is 'fish, a name' '--max-depth ' "$(fish_says 'stacktop --max' | sed 's/=//')"
fi

is 'an unknown shell' 2 "$("$STACKTOP" --completion=ksh >"$tmp/out" 2>&1; echo $?)"
grep -q 'bash, zsh or fish' "$tmp/out" || fail "which shells there are is not said: $(cat "$tmp/out")"
finish
