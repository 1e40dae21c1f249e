#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings that others made, frame by frame as others unwound them; and every sample of each event is there.
set -u

data=${STACKTOP_TEST_DATA:-$top_srcdir/../shared/data}
[ -d "$data/stacks" ] || {
	echo "no recordings at $data: set STACKTOP_TEST_DATA"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

fail()
{
	echo "$*"
	status=1
}

# samples RECORDING: --format=samples of it, into $dir/samples
samples()
{
	timeout 60 "$STACKTOP" -b --format=samples -i "$1" --symfs="$data/symfs" \
		>"$dir/samples" 2>"$dir/said" </dev/null || fail "$1: exit status $?: $(cat "$dir/said")"
}

# The samples as lines "time end addr addr ...", innermost first; -v names=1: with the functions.
lines()
{
	awk "$@" '
	/^[^\t]/ && NF { sub(/:$/, "", $0); n = split($0, w, " ")
		for (i = 1; i <= n && w[i] !~ /^[0-9]+\.[0-9]+:$/; i++)
			;
		sub(/:$/, "", w[i]); line = w[i] " " w[n] }
	/^\t/ { name = $2; sub(/\+0x[0-9a-f]+$/, "", name) # plain ones have no spaces
		line = line " " $1 (names ? "=" name : "") }
	/^$/ { if (line != "") print line; line = "" }
	END { if (line != "") print line }' "$dir/samples"
}

# Frames of expected.frames.tsv, as "time addr ...", without inline ones. They have the address of the
# call, one below the return address, except the innermost of the user part; names if -v names=1.
expected()
{
	file=$1
	shift
	awk -F '\t' "$@" '
	function up(hex,  i, c, d) {
		for (i = length(hex); i > 0; i--) {
			c = substr(hex, i, 1)
			d = index("0123456789abcdef", c)
			hex = substr(hex, 1, i - 1) substr("0123456789abcdef0", d + 1, 1) substr(hex, i + 1)
			if (c != "f")
				break
		}
		return hex
	}
	{
		n = split($6, frames, / < /); line = $4; callers = 0
		for (i = 1; i <= n; i++) {
			at = index(frames[i], ":"); addr = substr(frames[i], 1, at - 1)
			name = substr(frames[i], at + 1)
			if (name ~ /\(inl\)$/)
				continue
			if (addr !~ /^ffff/ && callers++ && !exact)
				addr = up(addr)
			gsub(/ /, "", name)
			line = line " " addr (names ? "=" name : "")
		}
		print line
	}' "$file"
}

# Every expected frame is there in its place. More than expected there may be only where the other
# one came to no root: with no stack to unwind, and behind a PLT entry.
compare_stacks()
{
	samples "$data/stacks/$1/perf.data"
	lines >"$dir/ours"
	expected "$data/stacks/$1/expected.frames.tsv" >"$dir/theirs"
	awk -v case="$1" '
	NR == FNR { ours[$1] = $0; next }
	{
		nr++
		n = split(ours[$1], a, " "); m = split($0, b, " ")
		if (n < 2) { print case ": no sample at " $1; bad++; next }
		for (i = 2; i <= m; i++)
			if (a[i + 1] != b[i]) {
				print case ": at " $1 " frame " i - 2 " is " a[i + 1] ", not " b[i]
				bad++
				next
			}
		if (n - 2 > m - 1 && a[2] != "no-stack" && a[2] != "root") {
			print case ": at " $1 " " n - m - 1 " frames too many, end " a[2]
			bad++
		}
		roots += a[2] == "root"
	}
	END {
		if (nr < 40) { print case ": only " nr " stacks are expected"; bad++ }
		if (roots < nr - 2) { print case ": " roots " of " nr " are complete"; bad++ }
		exit bad > 0
	}' "$dir/ours" "$dir/theirs" || status=1
}

compare_stacks vector_static_gcc
compare_stacks vector_static_clang

# Names, where both are plain words: the same, or another name of the same address.
compare_names()
{
	nm "$data/symfs/$2" 2>/dev/null | awk '{ print $3, $1 }' >"$dir/symbols"
	[ -s "$dir/symbols" ] || return
	samples "$data/stacks/$1/perf.data"
	lines -v names=1 >"$dir/ours"
	expected "$data/stacks/$1/expected.frames.tsv" -v names=1 >"$dir/theirs"
	awk -v case="$1" '
	FILENAME ~ /symbols$/ { addr[$1] = $2; next }
	FILENAME ~ /ours$/ { ours[$1] = $0; next }
	{
		split(ours[$1], a, " "); m = split($0, b, " ")
		for (i = 2; i <= m; i++) {
			split(a[i + 1], x, "="); split(b[i], y, "=")
			if (y[2] !~ /^[a-z_][a-z_0-9]*$/)
				continue
			seen++
			if (x[2] != y[2] && !(y[2] in addr && addr[y[2]] == addr[x[2]])) {
				print case ": at " $1 " " x[1] " is " x[2] ", not " y[2]
				bad++
			}
		}
	}
	END {
		if (seen < 100) { print case ": only " seen " names were compared"; bad++ }
		exit bad > 0
	}' "$dir/symbols" "$dir/ours" "$dir/theirs" || status=1
}

compare_names vector_static_clang tmp/vector_static_clang_v8.0.1

# Branch stacks: the sample, then each call. Which leaf is shown differs between tools: from the callers on.
# The event is precise: where it means an address of the program, the kernel was entered behind it.
samples "$data/stacks/vector_static_gcc/perf.lbr.data"
lines >"$dir/ours"
expected "$data/stacks/vector_static_gcc/expected.lbr.frames.tsv" -v exact=1 >"$dir/theirs"
awk '
NR == FNR { ours[$1] = $0; next }
{
	nr++
	n = split(ours[$1], a, " "); m = split($0, b, " "); callers = -1; kernel = 0
	for (i = 3; i <= n; i++)
		callers += a[i] !~ /^ffff/
	for (i = 2; i <= m && a[3] !~ /^ffff/; i++)
		kernel += b[i] ~ /^ffff/
	for (i = 0; i < callers; i++)
		if (a[n - i] != b[m - i]) {
			print "lbr: at " $1 " the frame " i " from the root is " a[n - i] ", not " b[m - i]
			bad++
			next
		}
	if (callers < 2 || m - kernel > n) { print "lbr: at " $1 " frames are missing"; bad++ }
}
END { if (nr != 10) print "lbr: " nr " stacks"; exit bad > 0 || nr != 10 }' \
	"$dir/ours" "$dir/theirs" || status=1

# Two threads by eu-stack, whose addresses are return addresses. Of the names of one address ours is the plain one.
samples "$data/stacks/backtrace_x86_64/perf.data"
sed -n 's/^\t *\([0-9a-f]*\) \([^+]*\)+.*/\1 \2/p' "$dir/samples" >"$dir/ours"
sed -n 's/^#[0-9]*  0x0*\([0-9a-f]*\) \(.*\)/\1 \2/p' \
	"$data/stacks/backtrace_x86_64/expected.txt" | sed 's/ __clone$/ clone/' >"$dir/theirs"
diff "$dir/theirs" "$dir/ours" >"$dir/diff" || fail "backtrace: expected (<) and ours (>) differ:" \
	"$(cat "$dir/diff")"

# An image whose addresses are not its offsets; frames 0 to 7 can be known.
samples "$data/stacks/load_bias_ro_rx_x86_64/perf.data"
lines | head -n 1 | tr ' ' '\n' | sed '1,2d' >"$dir/ours"
sed -n 's/.*"pc": "0x\([0-9a-f]*\)".*/\1/p' \
	"$data/stacks/load_bias_ro_rx_x86_64/expected.json" | head -n 8 >"$dir/theirs"
awk '
function low(hex) { return substr(hex, 1, length(hex) - 1) }
NR == FNR { ours[FNR] = $1; next }
# The expected ones are calls but the first: one below, which may change one more digit.
$1 != ours[FNR] && low($1) != low(ours[FNR]) { print "load bias: " ours[FNR] ", not " $1; bad++ }
END { exit bad > 0 || FNR != 8 }' "$dir/ours" "$dir/theirs" || fail "load bias: wrong frames"

# aarch64, by Android's unwinder: where a file is mapped, and the call (the address returned to is one
# instruction further) in it. The innermost frame is what was sampled.
compare_aarch64()
{
	local json="$data/stacks/$1/expected.json" tab frames=0 rel where addr name base want
	tab=$(printf '\t')
	samples "$data/stacks/$1/perf.data"
	lines | awk '{ print $2 }' >"$dir/end"
	[ "$(cat "$dir/end")" = "$2" ] || fail "$1: the end is $(cat "$dir/end"), not $2"
	sed -n "s/^\t *\([0-9a-f]*\) \(.*\)/\1$tab\2/p" "$dir/samples" >"$dir/ours"
	sed -n 's/.*"rel_pc": "\(.*\)",/\1/p' "$json" >"$dir/rel"
	sed -n 's/.*"where": "\([^"]*\)".*/\1/p' "$json" >"$dir/where"
	tr -d ' \n' <"$json" | grep -o '\["0x[^]]*\]' >"$dir/maps" # ["start","end","r-xp","offset","name"]
	paste "$dir/rel" "$dir/where" "$dir/ours" >"$dir/frames"
	while IFS=$tab read -r rel where addr name; do
		base=$(sed -n "s/.*\[\"0x\([0-9a-f]*\)\",.*,\"${where%% *}\".*/\1/p" "$dir/maps")
		[[ $base && $rel ]] || { fail "$1: not known where frame $frames should be"; return; }
		want=$((0x$base + 0x$rel))
		[ $frames -gt 0 ] && want=$((want + 4))
		[ "$addr" = "$(printf %x $want)" ] || fail "$1: frame $frames is $addr, not $(printf %x $want)"
		[[ $where =~ \(([A-Za-z_0-9]+)\+ && $name != "${BASH_REMATCH[1]}+"* ]] &&
			fail "$1: frame $frames is in $name, not $where"
		frames=$((frames + 1))
	done <"$dir/frames"
	[ $frames -eq "$(grep -c '"n":' "$json")" ] || fail "$1: $frames frames"
	[ "$(wc -l <"$dir/ours")" -eq $frames ] || fail "$1: more frames than expected"
}

compare_aarch64 bad_eh_frame_hdr_arm64 root
compare_aarch64 straddle_arm64 truncated

# Every recording: all samples of all events are there, as an independent reader counted them.
tab=$(printf '\t')
while IFS=$tab read -r file _ mode _ _ _ nr _; do
	[ "$file" = file ] && continue
	timeout 60 "$STACKTOP" -b --format=json -i "$data/$file" >"$dir/json" 2>"$dir/said" </dev/null ||
		fail "$file: exit status $?: $(cat "$dir/said")"
	got=$(grep -o '"event":"[^"]*","samples":[0-9]*' "$dir/json" | sed 's/.*://' |
		awk '{ nr += $1 } END { print nr + 0 }')
	# A record that reads a group is a sample of each of its events.
	[ "$file" = recordings/perf.data.PerfFormatLost ] && nr=$((2 * nr))
	[ "$got" = "$nr" ] || fail "$file: $got samples, not $nr"
	pipe=false
	[ "$mode" = pipe ] && pipe=true
	grep -q "\"pipe\":$pipe" "$dir/json" || fail "$file: not in $mode mode"
done <"$data/expected.tsv"

# A sanitizer takes terabytes of addresses.
limit=400000
grep -q __asan_init "$STACKTOP" && limit=unlimited

# Damaged ones: one line that says what and where, status 1, little memory and no hang.
for file in "$data"/hostile/*; do
	(
		ulimit -v $limit
		exec timeout 60 "$STACKTOP" -b -i "$file"
	) >"$dir/out" 2>"$dir/said" </dev/null
	got=$?
	[ ! -s "$dir/out" ] || fail "$file: has no sample, and yet: $(head -n 3 "$dir/out")"
	[ $got -eq 1 ] || fail "$file: exit status $got: $(cat "$dir/said")"
	[ "$(wc -l <"$dir/said")" -eq 1 ] || fail "$file: not one line: $(cat "$dir/said")"
	grep -q 'offset [0-9]' "$dir/said" || fail "$file: does not say where: $(cat "$dir/said")"
done
exit $status
