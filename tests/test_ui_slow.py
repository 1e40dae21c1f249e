#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""--max-bytes-per-second: what a pty gets from the screen, by bytes and pictures, with and without a limit."""
import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time

FAKE = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "tests/ui_fake")
SNAPSHOTS = 40
FRAME_MAX = 8192  # bytes of a whole picture of this size, and of what comes before the first one
PATIENCE_S = 120


def count_snapshots(log):
    with open(log, encoding="utf-8") as file:
        return sum(line.startswith("snapshot") for line in file)


def run(limit):
    """Until SNAPSHOTS pictures could have been drawn: the bytes that came, and in how many seconds."""
    log = tempfile.NamedTemporaryFile()
    began = time.monotonic()
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
        os.execv(FAKE, [FAKE, "--log", log.name, "--noise", "--delay", "50", "--max-bytes", str(limit)])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    nr_bytes, last = 0, began
    while count_snapshots(log.name) < SNAPSHOTS:
        if time.monotonic() - began > PATIENCE_S:
            sys.exit(f"only {count_snapshots(log.name)} snapshots in {PATIENCE_S} s")
        if select.select([master], [], [], 0.05)[0]:
            nr_bytes += len(os.read(master, 65536))
            last = time.monotonic()
    os.write(master, b"q")
    try:
        while os.read(master, 65536):
            pass
    except OSError:
        pass  # it has closed the terminal
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        sys.exit(f"limit {limit}: status {status}")
    return nr_bytes, last - began


def not_more_than_the_limit():
    free, free_s = run(0)
    if free < SNAPSHOTS * 200:
        sys.exit(f"hardly anything is drawn: {free} bytes for {SNAPSHOTS} snapshots")
    limit = int(free / free_s / 10)
    slow, slow_s = run(limit)
    print(f"no limit: {free} bytes in {free_s:.1f} s; {limit} bytes a second: {slow} in {slow_s:.1f} s")
    if slow > limit * slow_s + FRAME_MAX:
        sys.exit(f"{slow} bytes in {slow_s:.1f} s are more than {limit} a second")
    if slow < 1000:
        sys.exit(f"nothing is drawn: {slow} bytes")


if not os.access(FAKE, os.X_OK):
    print(f"SKIP: {FAKE} is not built")
    sys.exit(77)
not_more_than_the_limit()
