#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings that others made, frame by frame as others unwound them; and every sample of each event is there."""
import csv
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

DATA = Path(os.environ.get("STACKTOP_TEST_DATA") or Path(os.environ["top_srcdir"]) / "../shared/data")
PROGRAM = os.environ["STACKTOP"]
# A sanitizer takes terabytes of addresses.
ADDRESSES_MAX = None if b"__asan_init" in Path(PROGRAM).read_bytes() else 400000 * 1024
failed = False


def check(is_good, text):
    global failed
    if not is_good:
        print(text)
        failed = True
    return is_good


def stacktop(*args, limit=None):
    """Status, output, errors of a batch run."""
    limits = limit and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    run = subprocess.run([PROGRAM, "-b", *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                         text=True, errors="replace", preexec_fn=limits)
    return run.returncode, run.stdout, run.stderr


class Sample:
    def __init__(self, header):
        words = header.split()
        self.time = next(word[:-1] for word in words if re.fullmatch(r"\d+\.\d+:", word))
        self.end = words[-1]
        self.frames = []  # (address, "name+0xoffset (object)"), innermost first

    def addresses(self):
        return [address for address, _ in self.frames]


def samples_of(recording):
    """--format=samples of a recording."""
    status, out, said = stacktop("--format=samples", "-i", DATA / recording, f"--symfs={DATA / 'symfs'}")
    check(status == 0, f"{recording}: exit status {status}: {said}")
    samples = []
    for line in out.splitlines():
        if line.startswith("\t"):
            samples[-1].frames.append(tuple(line.split(maxsplit=1)))
        elif line:
            samples.append(Sample(line))
    return samples


def is_kernel(address):
    return address.startswith("ffff")


def expected_of(table, exact=False):
    """Time and [(address, name)] of each stack of an expected.frames.tsv, without inline ones. They have the address
    of the call, one below the return address, except the innermost of the user part."""
    for line in (DATA / table).read_text().splitlines():
        columns = line.split("\t")
        frames, callers = [], 0
        for address, name in (frame.split(":", 1) for frame in columns[5].split(" < ")):
            if name.endswith("(inl)"):
                continue
            if not is_kernel(address):
                if callers and not exact:
                    address = f"{int(address, 16) + 1:x}"
                callers += 1
            frames.append((address, name.replace(" ", "")))
        yield columns[3], frames


def compare_stacks(case):
    """Every expected frame is there in its place. More than expected there may be only where the other one came to no
    root: with no stack to unwind, and behind a PLT entry."""
    ours = {sample.time: sample for sample in samples_of(f"stacks/{case}/perf.data")}
    nr = roots = 0
    for time, frames in expected_of(f"stacks/{case}/expected.frames.tsv"):
        nr += 1
        where = f"{case}: at {time}"
        if not check(time in ours, f"{where} is no sample"):
            continue
        have, want = ours[time].addresses(), [address for address, _ in frames]
        if check(have[:len(want)] == want, f"{where} the frames are {have}, not {want}"):
            end = ours[time].end
            check(len(have) == len(want) or end in ("no-stack", "root"), f"{where} too many frames, end {end}")
            roots += end == "root"
    check(nr >= 40, f"{case}: only {nr} stacks are expected")
    check(roots >= nr - 2, f"{case}: {roots} of {nr} are complete")


def compare_names(case, binary):
    """Names, where both are plain words: the same, or another name of the same address."""
    listed = subprocess.run(["nm", DATA / "symfs" / binary], capture_output=True, text=True).stdout
    address_of = {words[2]: words[0] for words in map(str.split, listed.splitlines()) if len(words) == 3}
    if not address_of:
        return
    ours = {sample.time: sample for sample in samples_of(f"stacks/{case}/perf.data")}
    seen = 0
    for time, frames in expected_of(f"stacks/{case}/expected.frames.tsv"):
        for (address, shown), (_, want) in zip(ours[time].frames, frames):
            if not re.fullmatch(r"[a-z_][a-z_0-9]*", want):
                continue
            seen += 1
            have = re.sub(r"\+0x[0-9a-f]+$", "", shown.split()[0])
            check(have == want or (want in address_of and address_of[want] == address_of.get(have)),
                  f"{case}: at {time} {address} is {have}, not {want}")
    check(seen >= 100, f"{case}: only {seen} names were compared")


def compare_branches(case):
    """Branch stacks: the sample, then each call. Which leaf is shown differs between tools: from the callers on. The
    event is precise: where it means an address of the program, the kernel was entered behind it."""
    ours = {sample.time: sample.addresses() for sample in samples_of(f"stacks/{case}/perf.lbr.data")}
    nr = 0
    for time, frames in expected_of(f"stacks/{case}/expected.lbr.frames.tsv", exact=True):
        nr += 1
        have, want = ours[time], [address for address, _ in frames]
        callers = sum(not is_kernel(address) for address in have) - 1
        kernel = 0 if is_kernel(have[0]) else sum(map(is_kernel, want))
        check(have[-callers:] == want[-callers:], f"lbr: at {time} the callers are {have}, not {want}")
        check(callers >= 2 and len(want) - kernel <= len(have) + 1, f"lbr: at {time} frames are missing")
    check(nr == 10, f"lbr: {nr} stacks")


def compare_backtrace(case):
    """Two threads by eu-stack, whose addresses are return addresses. Of the names of one address ours is the plain one."""
    ours = [(address, shown.split("+")[0]) for sample in samples_of(f"stacks/{case}/perf.data")
            for address, shown in sample.frames if "+" in shown]
    text = (DATA / "stacks" / case / "expected.txt").read_text()
    theirs = [(address, re.sub("^__clone$", "clone", name))
              for address, name in re.findall(r"^#\d+ +0x0*([0-9a-f]*) (.*)", text, re.M)]
    check(theirs and ours == theirs, f"backtrace: expected {theirs}, ours {ours}")


def expected_json(case):
    return json.loads((DATA / "stacks" / case / "expected.json").read_text())


def compare_load_bias(case):
    """An image whose addresses are not its offsets; frames 0 to 7 can be known. The expected ones are calls but the
    first: one below, which may change one more digit."""
    ours = samples_of(f"stacks/{case}/perf.data")[0].addresses()
    theirs = [frame["pc"][2:] for frame in expected_json(case)["frames"][:8]]
    check(len(theirs) == 8 and [address[:-1] for address in ours[:8]] == [address[:-1] for address in theirs]
          and ours[0] == theirs[0], f"load bias: {ours}, not {theirs}")


def compare_aarch64(case, end):
    """aarch64, by Android's unwinder: where a file is mapped, and the call (the address returned to is one instruction
    further) in it. The innermost frame is what was sampled."""
    samples, expected = samples_of(f"stacks/{case}/perf.data"), expected_json(case)
    ends = [sample.end for sample in samples]
    check(ends == [end], f"{case}: the end is {ends}, not {end}")
    ours = [frame for sample in samples for frame in sample.frames]
    bases = {name: int(start, 16) for start, _, _, _, name in expected["maps"]}
    check(len(ours) == len(expected["frames"]), f"{case}: {len(ours)} frames, not {len(expected['frames'])}")
    for nr, ((address, shown), frame) in enumerate(zip(ours, expected["frames"])):
        want = bases[frame["where"].split()[0]] + int(frame["rel_pc"], 16) + (4 if nr else 0)
        check(address == f"{want:x}", f"{case}: frame {nr} is {address}, not {want:x}")
        name = re.search(r"\((\w+)\+", frame["where"])
        check(not name or shown.startswith(name[1] + "+"), f"{case}: frame {nr} is in {shown}, not {frame['where']}")


def compare_counts():
    """Every recording: all samples of all events are there, as an independent reader counted them."""
    with open(DATA / "expected.tsv", newline="") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            file, want = row["file"], int(row["samples(probe)"])
            status, out, said = stacktop("--format=json", "-i", DATA / file)
            if not check(status == 0, f"{file}: exit status {status}: {said}"):
                continue
            recording = json.loads(out)["recording"]
            # A record that reads a group is a sample of each of its events.
            if file == "recordings/perf.data.PerfFormatLost":
                want *= 2
            got = sum(event["samples"] for event in recording["events"])
            check(got == want, f"{file}: {got} samples, not {want}")
            check(recording["pipe"] == (row["mode"] == "pipe"), f"{file}: not in {row['mode']} mode")


def refuse_damaged():
    """Damaged ones: one line that says what and where, status 1, little memory and no hang."""
    for file in sorted((DATA / "hostile").iterdir()):
        status, out, said = stacktop("-i", file, limit=ADDRESSES_MAX)
        check(not out, f"{file}: has no sample, and yet: {out[:200]}")
        check(status == 1, f"{file}: exit status {status}: {said}")
        check(said.count("\n") == 1, f"{file}: not one line: {said}")
        check(re.search(r"offset \d", said), f"{file}: does not say where: {said}")


if not (DATA / "stacks").is_dir():
    print(f"no recordings at {DATA}: set STACKTOP_TEST_DATA")
    sys.exit(77)
compare_stacks("vector_static_gcc")
compare_stacks("vector_static_clang")
compare_names("vector_static_clang", "tmp/vector_static_clang_v8.0.1")
compare_branches("vector_static_gcc")
compare_backtrace("backtrace_x86_64")
compare_load_bias("load_bias_ro_rx_x86_64")
compare_aarch64("bad_eh_frame_hdr_arm64", "root")
compare_aarch64("straddle_arm64", "truncated")
compare_counts()
refuse_damaged()
sys.exit(failed)
