#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Names as compilers write them: Rust's old and new ones, Go's, D's, what Swift's look like, and several names at one
# address. Each is of a real program, by the compilers that are here.

. "${top_srcdir:-.}/tests/lib.sh"
need jq objcopy
need_sampling
id=l$$
expected= # OBJECT=NAME
cd "$tmp" || exit 1

# expect OBJECT NAME: the program OBJECT runs, and has that function
expect()
{
	case $expected in *"$1="*) ;; *) start "$tmp/$1" >/dev/null ;; esac
	expected="$expected$1=$2
"
}

cat >spin.rs <<-'EOR'
	mod inner {
	    pub struct Worker { pub sum: u64 }
	    pub trait Work { fn spin(&mut self, n: u64); }
	    impl Work for Worker {
	        #[inline(never)]
	        fn spin(&mut self, n: u64) {
	            for i in 0..n { self.sum = std::hint::black_box(self.sum ^ i); }
	        }
	    }
	    #[inline(never)]
	    pub fn generic<T: Copy>(n: u64, what: T) {
	        for i in 0..n { std::hint::black_box((i, what)); }
	    }
	}
	use inner::Work;
	fn main() {
	    let mut worker = inner::Worker { sum: 0 };
	    loop {
	        worker.spin(300000);
	        inner::generic(300000, 'x');
	        std::thread::sleep(std::time::Duration::from_millis(5));
	    }
	}
EOR
# rust NAME OPTION...
rust() { rustc -O --crate-name spin -o "$@" spin.rs >rustc.log 2>&1; }
if command -v rustc >/dev/null && rust "rs$id"; then
	expect "rs$id" '<spin::inner::Worker as spin::inner::Work>::spin'
	expect "rs$id" 'spin::inner::generic'
	rust "rv$id" -C symbol-mangling-version=v0 || fail "no new names: $(cat rustc.log)"
	expect "rv$id" '<spin::inner::Worker as spin::inner::Work>::spin'
	expect "rv$id" 'spin::inner::generic::<char>'
else
	echo 'not tested: Rust'
fi

cat >spin.go <<-'EOG'
	package main
	import "time"
	type worker struct{ sum uint64 }
	//go:noinline
	func (w *worker) spin(n uint64) { for i := uint64(0); i < n; i++ { w.sum ^= i * w.sum } }
	func main() {
		w := &worker{sum: 3}
		spin := func(n uint64) { for i := uint64(0); i < n; i++ { w.sum += i * w.sum } }
		for { w.spin(1000000); spin(1000000); time.Sleep(5 * time.Millisecond) }
	}
EOG
if command -v go >/dev/null && env HOME="$tmp" GOCACHE="$tmp/go" GO111MODULE=off go build -gcflags=-l -o "go$id" spin.go >go.log 2>&1; then
	expect "go$id" 'main.(*worker).spin'
	expect "go$id" 'main.main.func1'
else
	echo 'not tested: Go'
fi

cat >spin.d <<-'EOD'
	module spin;
	import core.thread, core.time;
	struct Worker {
	    ulong sum;
	    pragma(inline, false) void work(uint n) { for (uint i = 0; i < n; i++) sum ^= i * sum; }
	}
	pragma(inline, false) ulong generic(T)(T n) { ulong sum = 3; for (T i = 0; i < n; i++) sum ^= i * sum; return sum; }
	__gshared ulong all;
	void main() {
	    auto w = Worker(3);
	    for (;;) { w.work(1_000_000); all += generic!uint(1_000_000); Thread.sleep(dur!"msecs"(5)); }
	}
EOD
if command -v gdc >/dev/null && gdc -O1 -o "d$id" spin.d >d.log 2>&1; then
	expect "d$id" 'spin.Worker.work'
	expect "d$id" 'spin.generic!(uint).generic'
else
	echo 'not tested: D'
fi

# Swift's names begin with what are marks of code and data elsewhere.
cat >spin.c <<-'EOC'
	#include <unistd.h>
	#define SPIN for (volatile int n = 0; n < 300000; n++) ;
	__attribute__((noinline)) void swift(void) { SPIN }
	/* One place, several names: the global one, the shorter one, without a version. */
	static __attribute__((noinline, used)) void a_local(void) { SPIN }
	void tied_global(void) __attribute__((alias("a_local")));
	void tied(void) __attribute__((alias("a_local")));
	void ti(void) __attribute__((weak, alias("a_local")));
	void tied_old(void) __attribute__((alias("a_local")));
	__asm__(".symver tied_old,t@OLD_1");
	int main(void) { for (;;) { swift(); a_local(); usleep(5000); } }
EOC
echo 'OLD_1 { };' >versions
"$CC" -O1 -c -o spin.o spin.c && objcopy --redefine-sym 'swift=$s4spin6WorkerC4workyySiF' spin.o &&
	"$CC" -rdynamic -Wl,--version-script=versions -o "c$id" spin.o || skip 'no compiler'
expect "c$id" '$s4spin6WorkerC4workyySiF'
expect "c$id" tied

named()
{
	"$STACKTOP" -b --format=json -n 1 -d 2 >json 2>err
	local line
	while IFS= read -r line; do
		jq -e --arg object "${line%%=*}" --arg name "${line#*=}" \
			'[.functions[] | select(.object == $object and .name == $name and .self > 0)] | length == 1' json >/dev/null ||
			why="$why $line; has $(jq -c --arg object "${line%%=*}" '[.functions[] | select(.object == $object and .self > 0) | .name][:4]' json)"
	done <<<"${expected%
}"
}
look 'names as compilers write them' named && pass "names: $(echo $expected)"
finish
