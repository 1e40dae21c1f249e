#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every key of the table at three sizes: what it changes on the screen, and what
# it sends to the engine.

. "${top_srcdir:-.}/tests/ui_lib.sh"

views() {
	see 'Functions'
	key 2
	see 'callers'
	key 3
	see 'what it calls'
	key 1
	see_not 'what it calls'
	key Tab
	see 'callers'
	key Tab
	see 'what it calls'
	key Tab
	see 'callers, the function'
	key Tab
	see_not 'what it calls'
	key Tab
	see 'How stacks end'
	key Tab
	see_not 'How stacks end'
	key Tab
	see callers
	key 1
	cursor_on leaf_70
}

columns() {
	key c C-u
	key -l 'error,size'
	key Enter
	see 'columns are self, trend'
	key c C-u
	key -l 'error'
	key Enter
	see 'error%'
	see_not '55.45'
	key c C-u Enter
	see '55.45'
	see_not 'error%'
	# Rows of other things, and the flame graph, have columns of their own.
	for view in 5 6 7; do
		key $view c
		see 'columns are chosen where'
		key Escape
		see_not 'columns are chosen'
	done
	key 1
}

row_is() { screen | grep -qE -- "^>? *$1"; }

# Rows of which it cannot be chance beside the last refresh; of two that change places each goes both ways.
trends() {
	key c C-u
	key -l 'self,trend'
	key Enter
	see '+-'
	until_true "mover_a does not grow" row_is '[0-9.]+ [+]  mover_a'
	until_true "mover_a does not shrink" row_is '[0-9.]+ -  mover_a'
	until_true "leaf_70 is not as it was" row_is '[0-9.]+    leaf_70'
	key c C-u Enter
	see_not '+-'
}

# The function under the cursor, then the one that Enter chooses, and back; narrowed like any view.
butterfly() {
	key Down
	cursor_on leaf_20
	key 4
	cursor_on leaf_20
	see '[callers]'
	key Up
	cursor_on work
	key Enter
	cursor_on work
	see leaf_70
	see main
	key Down
	cursor_on leaf_70
	key o
	see 'only leaf_70'
	see_not leaf_20
	# What was done last is undone first.
	key BSpace
	see_not 'only leaf_70'
	see leaf_20
	key BSpace
	cursor_on leaf_20
	key Escape
	key 1
	key Escape
	cursor_on leaf_70
}

health() {
	key 7
	see 'How stacks end'
	see '99.0%   complete'
	# A narrow screen has no room for remarks. Of a name that is cut the reason stays whole.
	if [ "$size" != 40x10 ]; then
		see 'restart it with -XX:+PreserveFramePointer'
		see ': truncated '
	fi
	cursor_on 'How stacks end'
	key s
	see 'health has its own order'
	key 6 s
	see 'process, thread▾'
	key S
	see_not 'process, thread▾'
	# Keys that are about no row do not choose one: the list still begins at its top.
	key 2
	cursor_on leaf_70
	key s
	cursor_on deep_99
	key S
	cursor_on leaf_70
	key 7
	# Where nothing is sorted, the baseline says which views have the change.
	key b
	[ "$size" = 40x10 ] || see '1, 2 and 3 show the change, b ends it'
	key b
	see 'no baseline any more'
	key Enter
	see_not '99.0%   complete'
	key Enter
	see '99.0%   complete'
	key /
	key -l 'preserveframe'
	key Enter
	cursor_on 'fakejava'
	key Escape
	key 1
	cursor_on leaf_70
}

moving() {
	key Down
	cursor_on leaf_20
	key End
	until_true "End did not leave leaf_20" cursor_not leaf_20
	key Home
	cursor_on leaf_70
	# Of other terminals than TERM says.
	for k in $'\033[F' $'\033OF' $'\033[8~'; do
		key -l "$k"
		until_true "End did not leave leaf_70" cursor_not leaf_70
		key -l $'\033[H'
		cursor_on leaf_70
	done
	key Up
	cursor_on leaf_70
	key NPage
	until_true "PgDn did not move" cursor_not leaf_70
	key PPage
	cursor_on leaf_70
	# Long names scroll sideways.
	key Right
	see_not leaf_70
	key Left
	see leaf_70
	# Escape lets go of the row.
	key Down
	cursor_on leaf_20
	key Escape
	cursor_on leaf_70
}
cursor_not() { local line; line=$(cursor_line); [[ -n $line && $line != *"$1"* ]]; }

# The screen's delay has passed at least twice.
some_snapshots() {
	local nr
	nr=$(grep -c '^snapshot' "$work/log")
	until_true "no more snapshots are asked for" more_snapshots $((nr + $1))
}
more_snapshots() { [ "$(grep -c '^snapshot' "$work/log")" -ge "$1" ]; }

sorting() {
	see 'self▾'
	key s
	see 'total▾'
	key s
	see 'function▾'
	key s
	# The column of objects may have no room.
	see_not 'function▾'
	key S
	see 'function▾'
	key s
	see_not 'function▾'
	key s
	see 'self▾'
}
searching() {
	key /
	key -l 'leaf_10'
	key Enter
	cursor_on leaf_10
	key Escape
	# An expression; small letters stand for both cases, a capital for itself.
	key /
	key -l '^leaf_[13]0$|^no_such'
	key Enter
	cursor_on leaf_10
	key Escape
	key /
	key -l 'Leaf_10'
	key Enter
	see 'not found: Leaf_10'
	key Escape
	key /
	# The first row is found as well, where nobody has put the cursor on it; then it is the next one.
	key -l 'leaf_'
	key Enter
	cursor_on leaf_70
	key n
	cursor_on leaf_20
	key n
	cursor_on leaf_10
	key N
	cursor_on leaf_20
	# Up brings the last one back, the cursor keys edit, Esc cancels.
	key /
	key Up
	key -l zzx
	key BSpace
	key Left
	key Home
	key End
	key -l y
	see '/leaf_zzy'
	key Escape
	see_not '/leaf_zzy'
	key /
	key -l 'no such name'
	key Enter
	see 'not found: no such name'
	key Escape
	# Into folded subtrees.
	key 3
	key /
	key -l 'vfs_read'
	key Enter
	cursor_on vfs_read
	key C
	key Escape
	key 1
	cursor_on leaf_70
}

folding() {
	key 3
	see 'what it calls'
	key C
	see_not leaf_70
	key Escape
	key E
	see leaf_70
	key C
	see_not leaf_70
	key e
	see leaf_70
	key e
	see_not leaf_70
	key Enter
	see main
	key Enter
	see_not main
	key +
	see main
	key -
	see_not main
	key Right
	see main
	key Right
	cursor_on main
	key Left
	key Left
	see_not ' main'
	key E
	key /
	key -l leaf_20
	key Enter
	cursor_on leaf_20
	key C
	key Escape
	key 1
	see_not 'what it calls'
	# Enter on a function shows who calls it.
	key Down
	cursor_on leaf_20
	key Enter
	cursor_on leaf_20
	see work
	key C
	key Escape
	key 1
	key Escape
	# One that only calls is in no list of what stacks end in.
	key /
	key -l '^work$'
	key Enter
	cursor_on work
	key Enter
	see '[callers]'
	cursor_on work
	see 'it only calls'
	key Escape
	key 1
	key Escape
}

kernel() {
	key /
	key -l nf_hook
	key Enter
	cursor_on nf_hook
	# Where no column of objects tells the kernel, a mark does.
	[ "$size" != 40x10 ] || cursor_on 'nf_hook [k]'
	key k
	see 'kernel off'
	until_true "a kernel function is still there" cursor_not nf_hook
	key n
	see 'not found: nf_hook'
	key k
	see_not 'kernel off'
	key n
	cursor_on nf_hook
	key Escape
}

engine_keys() {
	key f
	see_command 'mode 0'
	see 'fp'
	key d
	see_command 'mode 1'
	key l
	see_command 'mode 2'
	see 'lbr: this CPU keeps no'
	key ]
	see_command 'stack_bytes 32768'
	key ]
	see_command 'stack_bytes 65528'
	key ]
	see 'the largest already'
	key [
	key [
	key [
	see_command 'stack_bytes 8192'
	key [
	see_command 'stack_bytes 4096'
	key [
	see 'the smallest already'
	key Space
	see_command 'freeze 1'
	see 'FROZEN'
	key Space
	see_command 'freeze 0'
	see_not 'FROZEN'
	# Two at once: the second does not wait to see what the first has done.
	key Space Space
	see_not 'FROZEN'
	key z
	see_command 'zero 0'
}

# shown NUMBER: the time in ms that was asked for so many "show" commands before the last
shown() { sed -n 's/^show \([0-9]*\)......$/\1/p' "$work/log" | tail -n $(($1 + 1)) | head -n 1; }
# asked NUMBER KEY: another window is asked for, NUMBER times in all
asked() { until_true "no other time is asked for by $2" has_shown "$1"; }
has_shown() { [ "$(grep -c '^show ' "$work/log")" = "$1" ]; }
moved() { [ $(($(shown 0) - $(shown 1))) = "$1" ] || fail "$2: $(shown 1) to $(shown 0)"; }

# The busiest second is within the window, which has an end on either side.
has_ends() { screen | grep -qE '\[[^]]*█[^]]*\]'; }

past() {
	key '^'
	asked 1 '^'
	see FROZEN
	# A fixed strip: as many columns as fit, a minute of it and what has passed since.
	see '█'
	until_true 'the window has no ends on the strip' has_ends
	key '^'
	asked 2 '^'
	moved 15000 'the second spike is 15 s after the first'
	key '<'
	asked 3 '<'
	key '<'
	asked 4 '<'
	moved -5000 'back half a window'
	key '>'
	asked 5 '>'
	moved 5000 'forward half a window'
	key '{'
	see_command 'window 5000000000'
	asked 6 '{'
	moved -2500 'the middle of the window stays'
	key '}'
	see_command 'window 10000000000'
	asked 7 '}'
	moved 2500 'the middle of the window stays'
	key '('
	asked 8 '('
	[ "$(shown 0)" -lt "$(shown 1)" ] || fail 'not to the oldest samples'
	key '<'
	asked 9 '<'
	moved 0 'before the oldest samples'
	key ')'
	see_command 'show 18446744073709551615'
	see_not FROZEN
	key t
	see_not '█'
}

narrowing() {
	# On the narrowest screen the first words say enough.
	cursor_on leaf_70
	key o
	see 'only leaf_70'
	[ "$size" = 40x10 ] || see '55.45% of all samples'
	see_not leaf_20
	key X
	see 'without leaf_70'
	see 'no stack is left'
	key BSpace
	see_not 'without'
	cursor_on leaf_70
	key BSpace
	see_not 'only leaf_70'
	see leaf_20
	key '\'
	key -l 'o:libc|kernel'
	# As it is typed.
	see_not leaf_20
	key Enter
	see 'only o:libc|kernel'
	[ "$size" = 40x10 ] || see '2.97% of all samples'
	key 3
	see start_thread
	see_not leaf_70
	key O
	see 'no file for settings'
	key b
	see 'compared with'
	see 'change'
	key b
	see 'no baseline any more'
	see_not 'change'
	# Files are of the same stacks.
	key w
	key C-u
	key -l "narrow-$size.txt"
	key Enter
	see 'written'
	key 1
	key BSpace
	see leaf_70
	key '\'
	key -l '!work'
	see_not leaf_70
	key Escape
	see leaf_70
	see_not 'without'
	# Once it is there Esc takes it back, after the search and the cursor.
	key '\'
	key -l '!work'
	key Enter
	see 'without work'
	key /
	key -l 'main'
	key Enter
	cursor_on main
	key Escape
	see_not /main
	see 'without work'
	key Escape
	see_not 'without'
	cursor_on leaf_70
	# Not what was done by a key on a row.
	key o
	see 'only leaf_70'
	key Escape Escape Escape /
	key -l 'no such name'
	key Enter
	see 'not found'
	see 'only leaf_70'
	key Escape BSpace
	see_not 'only leaf_70'
	# On the flame graph the function is that of the cursor there.
	key 5 Home
	see '100.00% total'
	key Up Up
	see '95.05% total'
	key X
	see 'without main'
	key Home
	see '100.00% total  0.00% self  all'
	key BSpace
	see_not 'without main'
	key '\'
	key -l 'no_such_name'
	see 'no stack is left'
	key Escape
	see '100.00% total'
	key Escape
	see 'what it calls'
	key 1
	cursor_on leaf_70
}

flame() {
	# Keys of another view say of which.
	key 1 I
	see 'are of the flame graph'
	key H
	see 'H is of the instructions'
	for k in + - e E C; do
		key k
		see 'kernel off'
		key k "$k"
		see 'nothing is folded here: Enter shows'
	done
	key BSpace
	see 'nothing is narrowed'
	key 5
	see '100.00% total  0.00% self  all'
	# What there is to say of keys that do nothing on it; the rows behind it stay as they are.
	key n
	see 'nothing to search for'
	key s
	see 'its own order'
	key E
	see 'nothing is folded here: Enter zooms'
	key End
	see '55.45% total  55.45% self'
	key NPage
	see '100.00% total  0.00% self  all'
	key PPage
	see_not '100.00% total'
	key Home
	see '100.00% total  0.00% self  all'
	key Up
	see '99.01% total  0.00% self  _start'
	key Up
	see '95.05% total  0.00% self  main'
	# The widest callee, and back.
	key Up
	see '79.21% total'
	key Down
	see '95.05% total'
	key '#'
	see 'found 95.05%'
	key /
	key -l 'leaf_70'
	key Enter
	see 'found 55.45%'
	key n
	see '55.45% total  55.45% self'
	# Zoomed in, what was found is all there is; Esc goes out of the zoom, the search, the graph.
	key Enter
	key Up
	see '55.45% total  55.45% self'
	key Escape
	key Escape
	see_not 'found'
	key I
	see '55.45% total'
	key Up
	see '79.21% total'
	key Up
	see '95.05% total'
	key I
	key Escape
	see 'what it calls'
	key 1
	see_not 'what it calls'
	cursor_on leaf_70
}

writing() {
	rm -f "$work"/stacktop-* "$work"/mine.txt "$work"/slow
	key w
	see 'fakehost-20261121-170448.txt'
	key Enter
	see 'written: '
	[ -s "$work/stacktop-fakehost-20261121-170448.txt" ] || fail "no report was written"
	grep -q '^leaf_70$' "$work/stacktop-fakehost-20261121-170448.txt" || fail "no rows in it"
	grep -q '::operator\[\]_END$' "$work/stacktop-fakehost-20261121-170448.txt" ||
		fail "names are cut in it"
	key w
	see 'write to'
	key Enter
	see 'cannot write'
	key w
	key C-u
	key -l 'mine.txx'
	key BSpace
	key -l t
	key Enter
	see 'written: mine.txt'
	[ -s "$work/mine.txt" ] || fail "no report under the name typed in"
	key w
	key C-u
	key -l "slow"
	key Enter
	see 'the disk is full'
	# The name that W offers is no more than an offer.
	key W
	see 'fakehost-20261121-170448.tar'
	key C-u
	key -l "$size.txt"
	key Enter
	see "written: $size.txt"
	grep -q '^leaf_70$' "$work/$size.txt" || fail "no rows in the text of W"
	# What takes long says how far it is, leaves the screen as it is, and ends when it is told to.
	key w C-u
	key -l x.endless
	key Enter
	see '4.1 MB of 8.2 MB'
	see 'Esc:stop'
	key w
	see 'still writing x.endless'
	key Down
	cursor_on leaf_20
	see '4.1 MB of 8.2 MB'
	key Escape
	see 'the disk is full'
	cursor_on leaf_20
	key Escape
	cursor_on leaf_70
	# The ending of the name chooses the format; the rest is text.
	key w
	key C-u
	key -l "$size.kept"
	key Enter
	see "written: $size.kept"
	grep -qE '^kept functions [0-9]+ program$' "$work/$size.kept" || fail "no other format"
	key w
	see 'write to'
	key Escape
	see_not 'write to'
}

helping() {
	for k in '?' h F1; do
		key "$k"
		see 'the keys and what'
		key Down
		key PPage
		key q
		see_not 'the keys and what'
	done
	# Long texts go on in the next line.
	key h
	[ "$size" != 80x24 ] || see $'Enter zooms, Esc goes\n              back'
	key End
	see 'a function of a without'
	see 'the file'
	key Escape
	see_not 'the keys and'
}

# Short, in full, mangled, and short again.
names() {
	key x
	see 'names: in full'
	key x
	see 'names: as their files'
	key x
	see 'names: short'
}

# Keys of later releases and of nobody say nothing.
unknown() {
	local before after
	key Space
	see FROZEN
	some_snapshots 2
	before=$(screen)
	key p i A 8 y F5 M-y C-t
	# Sequences that are no key of this terminal, whose letters are keys: F17, Shift-Tab, F5 of the console.
	key -l $'\033[31~'
	key -l $'\033[1;9Z'
	key -l $'\033[[E'
	key -l $'\033Ok'
	# In parts, as a slow link brings them.
	for part in $'\033[' '33' '~' $'\033[' A; do
		key -l "$part"
		sleep 0.1
	done
	some_snapshots 2
	after=$(screen)
	[ "$before" = "$after" ] || fail "an unknown key changed the screen"
	nr_checks=$((nr_checks + 1))
	key Space
	see_not FROZEN
}

modes_are_restored() {
	[ "$(stty -g -F "$(mux display-message -p '#{pane_tty}')")" = "$(cat "$work/before")" ]
}

# Over a slow link pictures are left out; the one that is there is what a redraw of everything gives.
slow_link() {
	local shown
	start 80x24 --noise --delay 50 --max-bytes 1500
	key 3
	see 'what it calls'
	key E
	key 1
	key Space
	see FROZEN
	see_not 'what it calls'
	shown=$(screen | tail -n +2) # its first line has a clock
	key C-l
	key k
	see 'kernel off'
	key k
	see_not 'kernel off'
	[ "$shown" = "$(screen | tail -n +2)" ] || fail "not what it was before it was drawn anew: $shown"
	nr_checks=$((nr_checks + 1))
	key q
	see_end 0
	# What is stopped in between comes back, and a crash leaves the terminal as it was.
	start 80x24 --noise --delay 50 --max-bytes 1500
	kill -SEGV "$(cat "$work/pid")"
	until_true "the program has not ended" ended
	# By the guard, perhaps a moment after the shell has looked.
	until_true "the terminal's modes are not restored" modes_are_restored
	see END-OF-RUN
}

for size in 80x24 200x50 40x10; do
	start "$size" --delay 100
	views
	health
	moving
	sorting
	searching
	folding
	kernel
	names
	engine_keys
	past
	flame
	butterfly
	columns
	narrowing
	writing
	helping
	unknown
	key C-l
	see leaf_70
	key q
	see_end 0
	echo "$size: every key"
done

# A butterfly begins at its function, also where all lists had to begin at their tops before.
start 80x24 --delay 100
key o
see 'only leaf_70'
key BSpace
see_not 'only leaf_70'
key Down
cursor_on leaf_20
key 4
see '[callers]'
cursor_on leaf_20
key q
see_end 0

# A remark is cut where there is little room for it, and can be scrolled.
start 60x12 --delay 100
key 7
see 'restart it with'
key Right
key Right
key Right
key Right
see 'FramePointer'
key q
see_end 0

# What a prompt takes is said where there is room for it.
start 60x12 --delay 100
key w
see 'write to (.txt .json .folded .tar): '
key Escape
key q
see_end 0
start 80x24 --delay 100
key '\'
see 't:thread'
key Escape
key q
see_end 0

# The cursor follows its item while rows change places.
start 80x24 --delay 100 --moves
key /
key -l mover_a
key Enter
cursor_on mover_a
some_snapshots 6
cursor_on mover_a
key Escape
cursor_on leaf_70
trends
key q
see_end 0

# The mouse is the terminal's until it is asked for, and again when it is not, or the program is gone.
mouse_is() { [ "$(mux display-message -p '#{mouse_standard_flag}')" = "$1" ]; }
# mouse BUTTON LINE COLUMN, from 0 on: as a terminal tells it
mouse() {
	local place="$1;$(($3 + 1));$(($2 + 1))"
	key -l $'\033'"[<${place}M"
	[ "$1" != 0 ] || key -l $'\033'"[<${place}m" # let go
}
line_of() { screen | grep -nF -- "$1" | head -n 1 | cut -d: -f1; }
click() { # WORD: in the middle of it
	local line column
	line=$(line_of "$1")
	[ -n "$line" ] || fail "no '$1' to click at"
	column=$(screen | sed -n "${line}p" | awk -v w="$1" '{ print index($0, w) }')
	mouse 0 $((line - 1)) "$column"
}
# clicked WORD TEXT: at a busy machine a click may come as single keys
clicked() {
	click "$1"
	sleep 0.3
	screen | grep -qF -- "$2"
}
with_mouse() {
	begin "$1" env TERM=xterm-256color "$fake" --log "$work/log" --delay 100
	see leaf_70
	until_true "the mouse is not the terminal's" mouse_is 0
	key M
	see 'mouse on'
	until_true "the mouse is not on" mouse_is 1
	click leaf_10
	cursor_on leaf_10
	mouse 65 5 5
	until_true "the wheel does not move" cursor_not leaf_10
	mouse 64 5 5
	cursor_on leaf_10
	click '3 Call'
	see 'what it calls'
	click '1 Func'
	see_not 'what it calls'
	cursor_on leaf_10
	key 5
	see '% total'
	until_true "a click on leaf_20 does not choose it" clicked leaf_20 'self  leaf_20'
	key Escape
	key /
	mouse 0 5 5
		key Escape
	key M
	see 'mouse off'
	until_true "the mouse is still on" mouse_is 0
	key M
	until_true "the mouse is not on" mouse_is 1
	if [ "$2" = 0 ]; then key q; else kill "-$2" "$(cat "$work/pid")"; fi
	until_true "the program has not ended" ended
	until_true "the mouse is not given back" mouse_is 0
}
with_mouse 120x40 0
with_mouse 120x40 KILL
with_mouse 120x40 SEGV

slow_link
start 80x24
key C-c
see_end 130
echo "$nr_checks checks"
