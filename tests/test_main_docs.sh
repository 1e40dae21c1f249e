#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The manual and the README list exactly the options that --help lists; the tests named in docs/CONFORMANCE exist.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

"$STACKTOP" --help >"$dir/help" || exit 1
# "-p, --pid=PID[,...]": the heads of the option lines.
heads()
{
	sed -n 's/^ *\(\(-.\), \)\{0,1\}\(--[a-z][^ ]*\)\(  .*\)\{0,1\}$/\1\3/p' "$1" | sort
}

heads "$dir/help" >"$dir/help.heads"
[ "$(wc -l <"$dir/help.heads")" -ge 15 ] || {
	echo "--help lists hardly any option"
	exit 1
}

# README has the help word for word, indented or not.
sed 's/^    //' "$top_srcdir/README" >"$dir/readme"
while IFS= read -r line; do
	case $line in
	'') continue ;;
	esac
	grep -qxF -e "$line" "$dir/readme" || {
		echo "README lacks this line of --help: $line"
		status=1
	}
done <"$dir/help"

if command -v mandoc >/dev/null; then
	mandoc -Tascii "$top_srcdir/docs/stacktop.1" | sed 's/.\x08//g' >"$dir/manual"
	heads "$dir/manual" >"$dir/manual.heads"
	if ! diff "$dir/help.heads" "$dir/manual.heads"; then
		echo "options of --help (<) and of the manual (>) differ"
		status=1
	fi
else
	echo "no mandoc: the manual is not compared"
fi

# The tests that docs/CONFORMANCE names are there, with the words that it names in them.
sed -n 's/^        \(\(test_\|root_\)[a-z_]* .*\)/\1/p' "$top_srcdir/docs/CONFORMANCE" | tr ';' '\n' |
	while read -r test words; do
		for word in $(echo "$words" | tr ',' ' '); do
			cat "$top_srcdir/tests/$test.c" "$top_srcdir/tests/$test.sh" "$top_srcdir/tests/$test.py" 2>/dev/null |
				grep -q -w -e "$word" || echo "docs/CONFORMANCE: tests/$test has no $word"
		done
	done >"$dir/missing"
[ ! -s "$dir/missing" ] || {
	cat "$dir/missing"
	status=1
}
[ "$(grep -c '^        \(test\|root\)_' "$top_srcdir/docs/CONFORMANCE")" -ge 60 ] || {
	echo "docs/CONFORMANCE names hardly any test"
	status=1
}
exit $status
