#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each allocation of a replay, a live run and a screen start fails once.

Every process of stacktop counts its own allocations (tests/fail_alloc.c): number
n of the main process, of the engine's thread, of the broker and of the loader
fails, n = 1, 2, and so on until there are no more. Then either the run ends with
status 1 and a message, or it goes on and says what a run without failures says,
or says what it could not do. Nothing crashes, hangs or, in a build with
-fsanitize=address, leaks.

usage: check_oom.py STACKTOP SHIM [SCENARIO [ROLE NUMBER]]
"""
import concurrent.futures
import difflib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

PROGRAM = r"""
#include <time.h>
static volatile unsigned sink;
static unsigned inner(unsigned n) { for (unsigned i = 0; i < 100000; i++) sink += i ^ n; return sink; }
static unsigned outer(unsigned n) { return inner(n) + 1; }
int main(int argc, char **argv)
{
	(void)argv;
	for (time_t end = time(0) + 1; argc > 1 || time(0) <= end;)
		sink += outer(sink);
}
"""
SHARED_BYTES = 4096
ROLES_AT = 16 + 16 * 8
TIMEOUT_S = 30
TRIES_MAX = int(os.environ.get("OOM_TRIES") or 400)  # of one scenario: beyond that, every second or third
LIVE_TRIES_MAX = min(TRIES_MAX, 120)
# What differs from run to run.
NOISE = re.compile(rb"^whole run: cost .*|^stacktop .*|^\d{4}-\d\d-\d\d .*", re.M)

TELLING = re.compile(rb'"dropped":[1-9]|'
                     rb"^whole recording: .*|no names from .*|the loader was replaced|unreadable [1-9]|functions left out [1-9]|[^ ]+\+0x[0-9a-f]+|\[\.\.\.\]", re.M)


class Result:
    def __init__(self):
        self.status = None
        self.out = b""
        self.said = b""
        self.hangs = False
        self.failed = False
        self.stack = []
        self.roles = {}
        self.reports = b""


class Lab:
    """Where it is tried: the program, the shim, what is recorded."""

    def __init__(self, program, shim, folder):
        self.program, self.shim, self.folder = program, shim, folder
        with open(program, "rb") as file:
            self.is_asan = b"__asan_init" in file.read()
        self.serial = 0

    def environment(self, place, role, number, libraries):
        env = dict(os.environ, LD_PRELOAD=self.shim, TERM="xterm", LC_ALL="C",
                   FAIL_ALLOC=f"{place}/shared:{role}:{number}" + (":libraries" if libraries else ""))
        if self.is_asan:
            env["ASAN_OPTIONS"] = f"verify_asan_link_order=0:log_path={place}/asan:exitcode=99"
            env["LSAN_OPTIONS"] = f"suppressions={self.folder}/suppressions:print_suppressions=0"
            env["UBSAN_OPTIONS"] = "print_stacktrace=1"
        return env

    def run(self, scenario, role="none", number=0, libraries=False):
        place = tempfile.mkdtemp(dir=self.folder)
        os.chmod(place, 0o777)  # the helpers may be other users
        with open(f"{place}/shared", "wb") as file:
            file.write(bytes(SHARED_BYTES))
        env = self.environment(place, role, number, libraries)
        if scenario.is_screen and self.is_asan:
            env["ASAN_OPTIONS"] += ":fast_unwind_on_malloc=0"  # suppressions need whole stacks
        result = Result()
        argv = [self.program] + scenario.argv
        if scenario.is_screen:
            run_screen(argv, env, scenario.marker, result)
        else:
            run_batch(argv, env, result)
        with open(f"{place}/shared", "rb") as file:
            self.read_shared(file.read(), result)
        for name in sorted(os.listdir(place)):
            if name.startswith("asan"):
                with open(f"{place}/{name}", "rb") as file:
                    result.reports += file.read()
        shutil.rmtree(place)
        return result

    @staticmethod
    def read_shared(data, result):
        failed, nr, base = struct.unpack_from("<IIQ", data)
        result.failed = bool(failed)
        result.stack = [addr - base for addr in struct.unpack_from(f"<{nr}Q", data, 16)]
        for i in range(16):
            name, most = struct.unpack_from("<16sI", data, ROLES_AT + 20 * i)
            if name[0]:
                result.roles[name.rstrip(b"\0").decode()] = most

    def where(self, result):
        """The stack of the allocation that failed, its frames in the program."""
        addrs = [hex(addr - 1) for addr in result.stack if 0 < addr < 1 << 32]
        if not addrs or not shutil.which("addr2line"):
            return "?"
        said = subprocess.run(["addr2line", "-f", "-s", "-i", "-e", self.program] + addrs,
                              capture_output=True, text=True, check=False).stdout.split("\n")
        return " < ".join(f"{name} ({line})" for name, line in zip(said[::2], said[1::2]))


def run_batch(argv, env, result):
    process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        result.out, result.said = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        result.hangs = True
        process.kill()
        result.out, result.said = process.communicate()
    result.status = process.returncode


def run_screen(argv, env, marker, result):
    """Until the marker stands on it; then quit it by its key."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    start, asked = time.monotonic(), 0
    while True:
        now = time.monotonic()
        if now > asked + 2 and (marker.search(result.out) or now > start + TIMEOUT_S / 2):
            result.hangs = not marker.search(result.out)
            asked = now
            os.write(terminal, b"q")  # the first may only end the reading
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            data = os.read(terminal, 65536) if ready else None
        except OSError:
            data = b""
        if data == b"":
            break
        result.out += data or b""
        if now > start + TIMEOUT_S:
            result.hangs = True
            os.kill(pid, signal.SIGKILL)
            break
    result.status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    result.said = result.out
    os.close(terminal)


class Scenario:
    """One way to run it. Its output is as without a failure, or at least weighs the same."""

    def __init__(self, name, argv, roles, marker=None, is_exact=False, weigh=None):
        self.name, self.argv, self.roles, self.marker = name, argv, roles, marker
        self.is_screen, self.is_exact, self.weigh = marker is not None, is_exact, weigh
        self.wanted = None

    def tells(self, result):
        """It says what it lacks: a message, stacks that end otherwise, a notice, a place or [...] for a name."""
        return (result.said or
                TELLING.findall(result.out) != TELLING.findall(self.wanted))

    def wrong(self, result):
        """What is not as it should be after an allocation has failed; None: nothing."""
        if result.reports:
            return "a sanitizer reports:\n" + result.reports.decode(errors="replace")
        if result.hangs:
            return "it hangs"
        if result.status == 1:
            return None if b"stacktop: " in result.said else "status 1 without a message"
        if result.status != 0:
            return f"status {result.status}"
        wanted, got = NOISE.sub(b"", self.wanted), NOISE.sub(b"", result.out)
        if self.is_exact and got != wanted and not self.tells(result):
            return "other output, and nothing is said of it:\n" + difference(wanted, got)
        if self.weigh and not self.tells(result) and self.weigh(result.out) != self.weigh(self.wanted):
            return "samples are missing, and nothing is said of it"
        return None


def difference(wanted, got):
    ours, theirs = wanted.decode(errors="replace").split("\n"), got.decode(errors="replace").split("\n")
    return "\n".join(line[:200] for line in list(difflib.unified_diff(ours, theirs, lineterm="", n=0))[2:30])


def build_recording(folder):
    """A program of our own making, and a recording of it in several forms; None without perf."""
    with open(f"{folder}/work.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([os.environ.get("CC", "cc"), "-O0", "-g", "-o", f"{folder}/work", f"{folder}/work.c"],
                   check=True)
    if not shutil.which("perf"):
        return False
    for name, how in (("dwarf", ["--call-graph", "dwarf,1024"]), ("fp", ["-g", "-z"])):
        made = subprocess.run(["perf", "record", "-q", "-F", "29", "-e", "cpu-clock:u"] + how +
                              ["-o", f"{folder}/{name}.data", f"{folder}/work"],
                              capture_output=True, check=False)
        if made.returncode != 0:
            return False
    return True


def scenarios(folder, live):
    recorded = ["-b", "-i", f"{folder}/dwarf.data"]
    main = ("start", "threads")
    # What the helpers do is the same for all formats.
    yield Scenario("text", recorded + ["--view=tree"], None, is_exact=True)
    yield Scenario("json", ["-b", "-i", f"{folder}/fp.data", "--format=json"], main,
                   weigh=lambda out: json.loads(out)["total"])
    yield Scenario("folded", recorded + ["--format=folded"], ("start",),
                   weigh=lambda out: sum(int(line.split()[-1]) for line in out.splitlines()))
    yield Scenario("samples", recorded + ["--format=samples"], main,
                   weigh=lambda out: sum(line == b"" for line in out.splitlines()))
    yield Scenario("screen", ["-i", f"{folder}/dwarf.data"], main, marker=re.compile(rb"100\.0|memory"))
    if live:
        yield Scenario("live", ["-b", "-n", "1", "-d", "0.2", "-p", str(live)], None)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    program, shim = (os.path.abspath(name) for name in sys.argv[1:3])
    only = sys.argv[3:]
    folder = tempfile.mkdtemp(prefix="stacktop-oom.")
    os.chmod(folder, 0o755)
    target = None
    try:
        lab = Lab(program, shim, folder)
        with open(f"{folder}/suppressions", "w", encoding="utf-8") as file:
            # What ncurses has begun when it fails is its own.
            file.write("leak:libncursesw\nleak:libtinfo\n")
        if not build_recording(folder):
            print("SKIP: perf is not there or may not record")
            return 77
        target = subprocess.Popen([f"{folder}/work", "forever"])
        return check(lab, folder, target.pid, only)
    finally:
        if target:
            target.kill()
        shutil.rmtree(folder)


def check(lab, folder, live, only):
    nr, bad, start = 0, 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for scenario in scenarios(folder, live):
            if only and only[0] != scenario.name:
                continue
            first = lab.run(scenario)
            if first.status != 0 or first.reports or first.hangs:
                print(f"{scenario.name}: not even without a failure: status {first.status}\n"
                      f"{first.said.decode(errors='replace')}{first.reports.decode(errors='replace')}")
                bad += 1
                continue
            scenario.wanted = first.out
            tries = [(role, n) for role, most in first.roles.items() for n in range(1, most + 1)
                     if not scenario.roles or role in scenario.roles]
            most = LIVE_TRIES_MAX if scenario.name == "live" else TRIES_MAX
            if len(tries) > most:
                tries = tries[::len(tries) // most + 1]
            if len(only) == 3:
                tries = [(only[1], int(only[2]))]
            for (role, n), result in zip(tries, pool.map(lambda it: lab.run(scenario, *it), tries)):
                nr += result.failed
                why = scenario.wrong(result) if result.failed else None
                if why:
                    bad += 1
                    print(f"FAIL: {scenario.name}, {role} {n}: {why}\n    at {lab.where(result)}\n"
                          f"    said: {result.said[-300:].decode(errors='replace')!r}")
                elif len(only) == 3:
                    print(f"status {result.status} at {lab.where(result)}\n{result.out[-3000:].decode()}{result.said.decode()}")
            print(f"{scenario.name}: {len(tries)} allocations of {first.roles}, "
                  f"{time.monotonic() - start:.0f} s")
    print(f"{nr} allocations failed, {bad} times wrongly")
    return 1 if bad or not nr else 0


if __name__ == "__main__":
    sys.exit(main())
