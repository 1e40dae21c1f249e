#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The table of layers in docs/ARCHITECTURE against every #include: a layer sees only the layers its line names, and
# system headers that belong to one layer stay in it. And the files of one layer against each other: by the symbols
# of their objects no file calls another one that calls it back, be it through a third.
set -u
top=${top_srcdir:-..}
build=${top_builddir:-.}
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

# The circles that may be, LAYER: FILE FILE ... None is left, and no line is added.
cat >"$tmp/known" <<EOF
EOF

# LAYER FILE TYPE SYMBOL: what each object of each layer's library defines (T, D, ...) and uses (U).
while read -r layer _; do
	library=$build/lib$layer.a
	[ -e "$library" ] || library=$build/lib$layer-st.a # a name of its own on the linker's path
	nm -A -P "$library" >"$tmp/nm" || exit 1
	sed -n "s/^[^[]*\[\(lib[^]]*-\)\{0,1\}\([^]]*\)\.o\]: \([^ ]*\) \([A-Z]\).*/$layer \2 \4 \3/p" "$tmp/nm"
done <"$tmp/table" >"$tmp/symbols"

# circles SYMBOLS: the sets of files of one layer that reach each other, in the form of the list.
circles()
{
	awk '
	{ id = $1 " " $2; if (!(id in layer_of)) { layer_of[id] = $1; files[++nr] = id; file_of[id] = $2 } }
	$3 == "U" { uses[++nr_uses] = $1 " " $4; user[nr_uses] = id; next }
	{ defines[$1 " " $4] = id }
	END {
		for (i = 1; i <= nr_uses; i++)
			if (uses[i] in defines)
				reach[user[i], defines[uses[i]]] = 1
		for (k = 1; k <= nr; k++)
			for (i = 1; i <= nr; i++)
				if ((files[i], files[k]) in reach)
					for (j = 1; j <= nr; j++)
						if ((files[k], files[j]) in reach)
							reach[files[i], files[j]] = 1
		for (i = 1; i <= nr; i++) {
			line = ""
			for (j = 1; j <= nr; j++)
				if ((files[i], files[j]) in reach && (files[j], files[i]) in reach) {
					if (j < i)
						break # its line is that of file j
					line = line " " file_of[files[j]]
				}
			if (j > nr && split(line, names, " ") > 1)
				print layer_of[files[i]] ":" line
		}
	}' "$1" | sort
}

# compare KNOWN FOUND: both the same, or print what differs.
compare()
{
	diff "$1" "$2" >"$tmp/diff" && return 0
	sed -n 's/^> /files that call each other in a circle: /p; s/^< /not found any more, take it from the list: /p' "$tmp/diff"
	return 1
}

sort -u "$tmp/symbols" >"$tmp/sorted"
[ "$(grep -c ' U ' "$tmp/sorted")" -gt 1000 ] || { echo "nm shows too few symbols"; exit 1; }
circles "$tmp/sorted" >"$tmp/found"
compare "$tmp/known" "$tmp/found" || exit 1

# This check, too, sees a circle of three files, and a listed one that is gone.
(cat "$tmp/sorted"; printf 'base %s\n' 'x1 T x1_f' 'x1 U x2_f' 'x2 T x2_f' 'x2 U x3_f' 'x3 T x3_f' 'x3 U x1_f') >"$tmp/more"
circles "$tmp/more" >"$tmp/with_made"
(cat "$tmp/known"; echo 'base: x1 x2 x3') | sort >"$tmp/made"
compare "$tmp/made" "$tmp/with_made" || exit 1
if compare "$tmp/known" "$tmp/with_made" >/dev/null || compare "$tmp/made" "$tmp/found" >/dev/null; then
	echo "a circle that is new, or one that is gone, is not noticed"
	exit 1
fi
echo "$(wc -l <"$tmp/found") circles of files, all of them listed"
