#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Takes a CPU offline and brings it back while it is being sampled. Needs root
# and a CPU that may go; leaves it online whatever happens.

cpu=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
file=/sys/devices/system/cpu/cpu$cpu/online
if [ ! -w "$file" ]; then
	echo "cpu$cpu cannot be taken offline here (not root, or the only one)"
	exit 77
fi
trap 'echo 1 2>/dev/null >"$file"' EXIT
trap 'exit 1' HUP INT TERM
STACKTOP_TEST_CPU=$cpu "${top_builddir:-.}/tests/test_perf_live"
