#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The table of layers in docs/ARCHITECTURE against every #include: a layer sees only the layers its line names, and
# system headers that belong to one layer stay in it.
set -u
top=${top_srcdir:-..}
doc=$top/docs/ARCHITECTURE
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

sed -n '/^<!-- layers -->$/,/^<!-- \/layers -->$/p' "$doc" |
	awk '/^ / && $1 != "layer"' >"$tmp/table"
if [ "$(wc -l <"$tmp/table")" -lt 10 ]; then
	echo "no table of layers in $doc"
	exit 1
fi

# FILE HEADER KIND: every include of the sources, KIND quoted or system.
(cd "$top" && find src unwind ui -name '*.[ch]' -exec grep -H '^[[:space:]]*#[[:space:]]*include' {} +) |
	sed -n 's/^\([^:]*\):[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1 \2 quoted/p
		s/^\([^:]*\):[[:space:]]*#[[:space:]]*include[[:space:]]*<\([^>]*\)>.*/\1 \2 system/p' >"$tmp/includes"

# check TABLE INCLUDES: print what is wrong; exit 1 if anything is.
check()
{
	awk '
	function layer_of(path,   folder, best, layer) {
		best = ""
		for (folder in layer_at)
			if (index(path, folder "/") == 1 && length(folder) > length(best))
				best = folder
		return best == "" ? "" : layer_at[best]
	}
	function bad(text) { print text; wrong = 1 }
	function matches(header, pattern) {
		if (pattern ~ /\/\*$/)
			return index(header, substr(pattern, 1, length(pattern) - 1)) == 1
		return header == pattern
	}
	NR == FNR {
		layer_at[$2] = $1
		if ($3 == "all")
			for (l in known)
				sees[$1, l] = 1
		else if ($3 != "-") {
			n = split($3, names, ",")
			for (i = 1; i <= n; i++) {
				if (!(names[i] in known))
					bad("table: " $1 " sees " names[i] ", which does not stand above it")
				sees[$1, names[i]] = 1
			}
		}
		for (i = 4; i <= NF; i++)
			if ($i != "-") {
				owners[$i] = 1
				may[$1, $i] = 1
			}
		known[$1] = 1
		next
	}
	{
		from = layer_of($1)
		if (from == "")
			bad($1 ": in no layer")
	}
	$3 == "quoted" && $2 != "config.h" {
		to = layer_of($2)
		if (to == "")
			bad($1 ": \"" $2 "\" is not written from the top folder")
		else if (to != from && !((from, to) in sees))
			bad($1 ": " from " must not see " to " (" $2 ")")
		count++
	}
	$3 == "system" {
		for (p in owners)
			if (matches($2, p) && !((from, p) in may))
				bad($1 ": <" $2 "> belongs to another layer")
	}
	END {
		if (count < 10)
			bad("found only " count + 0 " includes")
		exit wrong
	}' "$1" "$2"
}

if ! check "$tmp/table" "$tmp/includes"; then
	exit 1
fi

# The check itself sees an upward include, one that is not from the top, and a stray system header.
for line in 'src/base/x.c src/model/y.h quoted' 'src/proc/x.c src/engine/y.h quoted' 'ui/x.c src/proc/proc.h quoted' \
	'src/base/x.c text.h quoted' 'src/view/x.c curses.h system' 'src/broker/x.c elfutils/libdw.h system' \
	'nowhere/x.c src/base/err.h quoted'; do
	(cat "$tmp/includes"; echo "$line") >"$tmp/more"
	if check "$tmp/table" "$tmp/more" >/dev/null; then
		echo "not noticed: $line"
		exit 1
	fi
done
echo "$(wc -l <"$tmp/includes") includes keep to the table"
