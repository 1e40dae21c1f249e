#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inlined functions and lines at random addresses, as eu-addr2line -i and llvm-addr2line -i say them.

Each row of BUILDS is a program built in another way. An address counts as right if one of the two says the
same names and lines from the innermost to the outermost, and as common if both do. Where they differ from each other
one of them is wrong, and docs/CONFORMANCE says which. Arguments: only the builds that are finished in these ways."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LINES_OF = Path(os.environ["top_builddir"]).resolve() / "tests/lines_of"
NR_ADDRS = int(os.environ.get("NR_ADDRS", "400"))

HEADER = """
#include <algorithm>
#include <cstdint>
namespace shop {
struct item { uint32_t price, count; };
template <typename T> static inline T mix(T x) { x ^= x >> 15; x *= 0x2c1b3c6du; x ^= x >> 12; return x; }
struct basket {
	item items[64];
	struct by_price { bool operator()(const item &a, const item &b) const { return mix(a.price) < mix(b.price); } };
	uint32_t total() const {
		uint32_t sum = 0;
		for (const item &i : items) {
			uint32_t price = mix(i.price);
			if (price & 1)
				sum += price * i.count;
		}
		return sum;
	}
	void order() { std::sort(items, items + 64, by_price()); }
};
uint32_t pay(basket &b, uint32_t money);
}
"""
MAIN = """
#include "shop.h"
static inline __attribute__((always_inline)) void fill(shop::basket &b, uint32_t seed) {
	for (auto &i : b.items) i = {shop::mix(seed++), seed % 7};
}
__attribute__((noinline)) static uint32_t never_called_if_unused(uint32_t x) { return shop::mix(x) / 3; }
uint32_t left_out(uint32_t x) { return never_called_if_unused(x) + shop::mix(x + 1); }
int main(int argc, char **) {
	static shop::basket b;
	uint32_t sum = 0;
	for (int i = 0; i < argc + 9; i++) {
		auto once = [&](uint32_t by) { fill(b, by); b.order(); sum += shop::pay(b, by) + b.total(); };
		once((uint32_t)i);
	}
	return (int)(sum & 63);
}
"""
PAY = """
#include "shop.h"
namespace shop {
namespace { uint32_t discount(const basket &b, uint32_t money) { return money > b.total() ? mix(money) : money / 2; } }
uint32_t pay(basket &b, uint32_t money) {
	uint32_t best = 0;
	for (uint32_t n = 0; n < 8; n++) {
		best = std::max(best, discount(b, money + n));
		b.items[n].count += best;
		std::push_heap(b.items, b.items + 32 + n, basket::by_price());
	}
	b.order();
	return best;
}
}
"""

# name, tool, flags, what is done to the program afterwards, least percentage of addresses that are right
BUILDS = [
    ("gcc, DWARF 4", "g++", "-gdwarf-4", None),
    ("gcc, DWARF 5", "g++", "-gdwarf-5", None),
    ("gcc, left out by the linker", "g++", "-g -ffunction-sections -Wl,--gc-sections", None),
    ("gcc, LTO", "g++", "-g -flto", None),
    ("gcc, dwz of two files", "g++", "-g", "dwz"),
    ("gcc, debug file", "g++", "-g", "debug"),
    ("gcc, compressed", "g++", "-g -gz=zlib", None),
    ("clang, DWARF 4", "clang++", "-gdwarf-4", None),
    ("clang, DWARF 5", "clang++", "-gdwarf-5", None),
    ("clang, LTO", "clang++", "-g -flto -fuse-ld=lld", None),
    ("clang, left out by lld", "clang++", "-g -ffunction-sections -fuse-ld=lld -Wl,--gc-sections", None),
    ("gcc, DWARF 4, split", "g++", "-gdwarf-4 -gsplit-dwarf", "split"),
    ("gcc, DWARF 5, split", "g++", "-gdwarf-5 -gsplit-dwarf", "split"),
    ("clang, DWARF 4, split", "clang++", "-gdwarf-4 -gsplit-dwarf", "split"),
    ("clang, DWARF 5, split", "clang++", "-gdwarf-5 -gsplit-dwarf", "split"),
    ("gcc, DWARF 4, .dwp", "g++", "-gdwarf-4 -gsplit-dwarf", "dwp"),
    ("clang, DWARF 4, .dwp", "clang++", "-gdwarf-4 -gsplit-dwarf", "llvm-dwp"),
    ("clang, DWARF 5, .dwp", "clang++", "-gdwarf-5 -gsplit-dwarf", "llvm-dwp"),
]
failed = False


def run(*args, text=None, cwd=None, check=True):
    return subprocess.run(list(map(str, args)), input=text, cwd=cwd, capture_output=True, text=True, check=check).stdout


def build(folder, tool, flags):
    for name, text in ("shop.h", HEADER), ("main.cc", MAIN), ("pay.cc", PAY):
        (folder / name).write_text(text)
    program = folder / "program"
    run(tool, "-O2", *flags.split(), "-o", program, "main.cc", "pay.cc", cwd=folder)
    return program


def finish(program, how):
    """The files to read besides the program's own."""
    if how == "dwz":
        other = program.with_name("other")
        shutil.copy(program, other)
        run("dwz", "-m", program.with_name("common"), program, other)
        return [program, program.with_name("common")]
    if how in ("dwp", "llvm-dwp"):
        run(how, "-e", program, "-o", f"{program}.dwp", cwd=program.parent)
        return [program, f"{program}.dwp"]
    if how == "split":
        return [program, *sorted(program.parent.glob("*.dwo"))]
    if how == "debug":
        debug = program.with_name("program.debug")
        run("objcopy", "--only-keep-debug", program, debug)
        run("objcopy", "--strip-debug", "--add-gnu-debuglink", debug, program)
        return [debug]
    return []


def text_of(program):
    for line in run("readelf", "-SW", program).splitlines():
        found = re.search(r"\] \.text +\S+ +(\w+) +\w+ +(\w+)", line)
        if found:
            return int(found[1], 16), int(found[2], 16)
    raise ValueError("no .text")


def chains(text):
    """Address to its list of (name, file:line); an address stands on a line of its own."""
    found, at = {}, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            at = found.setdefault(int(line, 16), [])
        else:
            at.append(line)
    return {addr: [(name_of(rows[i]), place_of(rows[i + 1])) for i in range(0, len(rows) - 1, 2)]
            for addr, rows in found.items()}


def name_of(line):
    """Of the outermost function the others prefer the symbol, with the compiler's suffix."""
    return re.sub(r"\.(isra|part|constprop|cold|lto_priv|llvm)\b.*", "", line.split(" inlined at ")[0])


def place_of(line):
    line = re.sub(r" \(discriminator.*", "", line)
    path, _, number = re.sub(r"^(.*?:\d+|.*?:\?):\d+$", r"\1", line).rpartition(":")
    return f"{os.path.basename(path)}:{number.replace('?', '0')}"


def names(chain):
    return [name for name, _ in chain]


def is_same(ours, theirs, plain):
    """gcc gives no mangled names to what it splits off, and the others print the symbol of the outermost function."""
    return ours == theirs or (len(ours) == len(theirs) and ours[:-1] == theirs[:-1] and ours[-1][1] == theirs[-1][1] and
                              ours[-1][0] in plain.get(theirs[-1][0], ""))


def plain_names(*answers):
    mangled = sorted({chain[-1][0] for answer in answers for chain in answer.values()})
    return dict(zip(mangled, run("c++filt", text="\n".join(mangled)).splitlines()))


def compare(title, program, files, how):
    global failed
    start, size = text_of(program)
    addrs = {start + random.randrange(size) for _ in range(NR_ADDRS)}
    asked = "".join(f"{addr:#x}\n" for addr in addrs)
    ours = chains(run(LINES_OF, program, *files, text=asked))
    # What was forgotten is found again.
    if chains(run(LINES_OF, "--trim", program, *files, text=asked)) != ours:
        print(f"{title}: not the same with little memory")
        failed = True
    elf = chains(run("eu-addr2line", "-a", "-f", "-i", "-e", program, text=asked, check=False))
    llvm = chains(run("llvm-addr2line", "-a", "-f", "-i", "-e", program, text=asked))
    plain = plain_names(elf, llvm) if how in ("dwp", "split") else {}
    count = dict.fromkeys(("eu", "llvm", "either", "known"), 0)
    wrong = []
    for addr in addrs:
        # Of code without debug information the others say the symbol, which is not asked for here.
        if ours[addr] == [("??", "??:0")]:
            count["known"] += elf[addr][0][1] != "??:0"
            is_right = elf[addr][0][1] == "??:0" or llvm[addr][0][1] == "??:0"
            count["either"] += is_right
            continue
        is_eu, is_llvm = is_same(ours[addr], elf[addr], plain), is_same(ours[addr], llvm[addr], plain)
        count["eu"] += is_eu
        count["llvm"] += is_llvm
        count["known"] += 1
        count["either"] += is_eu or is_llvm
        if not is_eu and not is_llvm:
            wrong.append(addr)
    nr = len(addrs)
    deepest = max(len(chain) for chain in ours.values())
    print(f"{title}: {nr} addresses, {count['known']} known, up to {deepest} functions at one; "
          f"as eu-addr2line {count['eu']}, as llvm-addr2line {count['llvm']}, as one of them {count['either']}")
    for addr in wrong[:4]:
        print(f"  {addr:#x}\n    ours {ours[addr]}\n    eu   {elf[addr]}\n    llvm {llvm[addr]}")
    if count["either"] < nr * 0.99 or count["known"] < nr * 0.7 or deepest < 4:
        failed = True


def main():
    missing = [tool for tool in ("g++", "eu-addr2line", "llvm-addr2line", "objcopy") if not shutil.which(tool)]
    if missing:
        print("no", *missing)
        sys.exit(77)
    random.seed(os.environ.get("SEED", "lines"))
    for title, tool, flags, how in BUILDS:
        if sys.argv[1:] and how not in sys.argv[1:]:
            continue
        needs = [tool] + ([how] if how in ("dwz", "dwp", "llvm-dwp") else []) + (["ld.lld"] if "lld" in flags else [])
        if not all(map(shutil.which, needs)):
            print(f"{title}: left out, no {' or '.join(needs)}")
            continue
        with tempfile.TemporaryDirectory(prefix="stacktop-lines-") as folder:
            program = build(Path(folder), tool, flags)
            compare(title, program, finish(program, how), how)
    sys.exit(failed)


main()
