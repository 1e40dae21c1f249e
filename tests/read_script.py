#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads text of perf script by the expressions that stackcollapse-perf.pl, speedscope and Firefox Profiler have.

Each must find every sample and every frame. Prints folded stacks with the number of samples of each.
"""
import collections
import re
import sys

COLLAPSE_HEAD = re.compile(r"^(\S+\s*?\S*?)\s+(\d+)/(\d+)")
SPEEDSCOPE_HEAD = re.compile(r"^(\S.+?)\s+(\d+)(?:/?(\d+))?\s+")
SPEEDSCOPE_TIME = re.compile(r"\s+(\d+\.\d+):\s+")
SPEEDSCOPE_EVENT = re.compile(r"(\S+):\s*$")
FIREFOX_TIME = re.compile(r"^(.*)\s+([\d.]+):")
FIREFOX_HEAD = re.compile(r"^(.*)\s+(?:(\d+)/)?(\d+)\b")
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((\S*)\)")

text = sys.stdin.read()
events, folded = set(), collections.Counter()
assert text.endswith("\n\n"), "the last sample is not whole"
for block in text[:-2].split("\n\n"):
    head, *frames = block.split("\n")
    collapse, speedscope = COLLAPSE_HEAD.match(head), SPEEDSCOPE_HEAD.match(head)
    assert collapse and speedscope and collapse.groups()[1:] == speedscope.groups()[1:], head
    before = FIREFOX_TIME.match(head)
    firefox = before and FIREFOX_HEAD.match(before[1])
    assert firefox and firefox[1].strip() == speedscope[1].strip() == collapse[1].strip(), head
    assert SPEEDSCOPE_TIME.search(head) and float(before[2]) == float(SPEEDSCOPE_TIME.search(head)[1]), head
    events.add(SPEEDSCOPE_EVENT.search(head)[1])
    stack = [collapse[1].strip().replace(" ", "_")]
    for line in reversed(frames):
        frame = FRAME.match(line)
        assert frame, line
        kernel = "_[k]" if "kallsyms" in frame[3] else ""
        stack.append(re.sub(r"\+0x[0-9a-f]+$", "", frame[2]) + kernel)
    folded[";".join(stack)] += 1
assert len(events) == 1, f"events {events}: readers take the first one only"
for stack, nr in sorted(folded.items()):
    print(stack, nr)
