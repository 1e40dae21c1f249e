#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Shorten the stack copies of a recording by perf record --call-graph dwarf, as if the kernel
had been asked for fewer bytes; or compare what came of such a recording with the truth.

    cut_recording.py cut IN OUT BYTES
    cut_recording.py compare TRUTH CUT    two outputs of stacktop --format=samples

The format: tools/perf/Documentation/perf.data-file-format.txt and linux/perf_event.h. Only files
of this machine's byte order with one event, as perf record writes them.
"""
import struct
import sys

SAMPLE = 9
HEADER = struct.Struct("<8s8Q32s")  # magic, size, attr_size, three sections, features
ATTR_SAMPLE_TYPE, ATTR_SAMPLE_REGS_USER = 24, 80
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS, STACK = (
    1 << n for n in range(14)
)
IDENTIFIER = 1 << 16
WORDS = (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD)


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def cut_sample(record, kind, regs_mask, nr_bytes):
    """The record with at most nr_bytes of stack; as it is if it has none."""
    if kind & (READ | RAW | BRANCH):
        sys.exit("cut_recording: samples have fields that are not known here")
    at = 8 + 8 * sum(1 for word in WORDS if kind & word)
    if kind & CALLCHAIN:
        at += 8 + 8 * u64(record, at)
    if kind & REGS:
        at += 8 + (8 * bin(regs_mask).count("1") if u64(record, at) else 0)
    size = u64(record, at)
    if size <= nr_bytes:
        return record
    stack = record[at + 8 : at + 8 + nr_bytes]
    used = min(u64(record, at + 8 + size), nr_bytes)
    rest = record[at + 8 + size + 8 :]
    body = record[8:at] + struct.pack("<Q", nr_bytes) + stack + struct.pack("<Q", used) + rest
    return record[:6] + struct.pack("<H", 8 + len(body)) + body


def cut(source, target, nr_bytes):
    data = open(source, "rb").read()
    head = list(HEADER.unpack_from(data))
    if head[0] != b"PERFILE2":
        sys.exit("cut_recording: not a perf.data file of this byte order")
    attrs_at, data_at, data_bytes = head[3], head[5], head[6]
    kind = u64(data, attrs_at + ATTR_SAMPLE_TYPE)
    regs_mask = u64(data, attrs_at + ATTR_SAMPLE_REGS_USER)
    records, at = [], data_at
    while at < data_at + data_bytes:
        what, _, size = struct.unpack_from("<IHH", data, at)
        record = data[at : at + size]
        records.append(cut_sample(record, kind, regs_mask, nr_bytes) if what == SAMPLE else record)
        at += size
    body = b"".join(records)
    head[6] = len(body)
    # What follows the data, the features, moves by what was cut.
    moved = data_bytes - len(body)
    features = bytearray(data[data_at + data_bytes :])
    for i in range(bin(int.from_bytes(head[9], "little")).count("1")):
        struct.pack_into("<Q", features, 16 * i, u64(features, 16 * i) - moved)
    with open(target, "wb") as out:
        out.write(HEADER.pack(*head) + data[HEADER.size : data_at] + body + bytes(features))


def samples(path):
    """(why it ends, its frames from the innermost out), in order."""
    for text in open(path, encoding="utf-8").read().split("\n\n"):
        lines = text.strip("\n").split("\n")
        if lines == [""]:
            continue
        yield lines[0].split()[-1], [line.split()[1].split("+")[0] for line in lines[1:]]


def compare(truth, cut_one):
    """How many that are whole in truth were stitched, to the same functions and to others."""
    right = wrong = 0
    for (end, frames), (cut_end, cut_frames) in zip(samples(truth), samples(cut_one)):
        if end == "root" and cut_end == "stitched":
            right += frames == cut_frames
            wrong += frames != cut_frames
    print(right, wrong)


if __name__ == "__main__":
    if sys.argv[1] == "cut":
        cut(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        compare(sys.argv[2], sys.argv[3])
