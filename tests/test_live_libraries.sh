#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What is written in assembly beside the compilers: the dynamic linker's trampolines
# (lazy binding, TLS descriptors), IFUNC resolvers that run before main, coroutines
# of Boost.Context, OpenSSL's ciphers and hashes. Their stacks are complete.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/chains_lib.sh"
need jq gcc
need_sampling
[ "$(uname -m)" = x86_64 ] || skip 'the programs are x86-64 code'

# build LANGUAGE OPTION...: $program from standard input, which finds spin() before it
build()
{
	local language=$1
	shift
	{
		echo 'static __attribute__((noinline, noclone, unused)) void spin(void)'
		echo "{ unsigned long n = ${spins:-100000}; __asm__ volatile(\"1: sub \$1, %0; jnz 1b\" : \"+r\"(n)); }"
		cat
	} >"$tmp/$program.$language"
	g++ -x "$language" "$tmp/$program.$language" -x none -O1 -fomit-frame-pointer -o "$tmp/$program" "$@" \
		2>"$tmp/err" && return
	echo "not tested: $program: cannot be built here: $(head -n 1 "$tmp/err")"
	return 1
}

# Two thousand functions, each called once, by a library that is loaded again and again.
seq 2000 | sed 's/.*/int f&(void) { return &; }/' >"$tmp/many.c"
{
	seq 2000 | sed 's/.*/int f&(void);/'
	echo 'int run(void) { int sum = 0;'
	seq 2000 | sed 's/.*/sum += f&();/'
	echo 'return sum; }'
} >"$tmp/run.c"
gcc -O1 -shared -fPIC -o "$tmp/many.so" "$tmp/many.c" &&
	gcc -O1 -shared -fPIC -Wl,-z,lazy -o "$tmp/lazy.so" "$tmp/run.c" "$tmp/many.so" || skip 'gcc cannot build here'
program=lazy
build c -Wl,--no-as-needed "$tmp/many.so" -Wl,-rpath,"$tmp" -ldl <<'EOF' &&
#include <dlfcn.h>
int main(void)
{
	for (;;) {
		void *library = dlopen("./lazy.so", RTLD_LAZY);
		((int (*)(void))dlsym(library, "run"))();
		dlclose(library);
	}
}
EOF
	expect binding ';main;run;' 40 .

for kind in pie static; do
	program=ifunc-$kind
	build c -$kind <<'EOF' || continue
static void called(void) {}
static void (*resolve(void))(void) { for (;;) spin(); return called; }
void indirect(void) __attribute__((ifunc("resolve")));
int main(void) { indirect(); }
EOF
	# The symbol of the IFUNC itself stands at its resolver.
	expect resolver ';(resolve|indirect);spin$' 90 .
done

# A library's own variables: large ones come from elsewhere than small ones.
for words in 1 100000; do
	program=tls-$words
	build c -ldl <<'EOF' || continue
#include <dlfcn.h>
int main(void)
{
	void *library = dlopen("./tls.so", RTLD_NOW);
	for (;;)
		((void (*)(void))dlsym(library, "run"))();
}
EOF
	echo "static __thread long words[$words]; __attribute__((noinline, noclone)) long *word(void) { return words; }
		void run(void) { for (int i = 0; i < 100000; i++) *(volatile long *)word() = i; }" >"$tmp/tls.c"
	gcc -O1 -w -shared -fPIC -mtls-dialect=gnu2 -o "$tmp/tls.so" "$tmp/tls.c" || continue
	expect descriptor ';main;run;word;' 5 .
done

# A coroutine that is left all the time, and ones that return. glibc's CFI does not tell that its __start_context is never
# called, nor where swapcontext is from the change of its stack on.
program=swaps
spins=100
build c <<'EOF' && expect swapcontext '(^|;)body;leave;swapcontext$' 10 'swaps|libc'
#include <ucontext.h>
static ucontext_t outside, inside;
static char stack[65536];
static __attribute__((noinline, noclone)) void leave(void) { swapcontext(&inside, &outside); __asm__ volatile(""); }
static void body(void) { for (;;) { spin(); leave(); } }
int main(void)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	makecontext(&inside, body, 0);
	for (;;)
		swapcontext(&outside, &inside);
}
EOF
# Where setcontext loads the registers its CFI leads to the context, which is no stack: it ends as bad-cfi there.
program=returns
spins=2000
least_complete=0.95
build c <<'EOF' && expect setcontext '(^|;)__start_context;setcontext$' 2 'returns|libc'
#include <ucontext.h>
static ucontext_t outside, inside;
static char stack[65536];
static void body(int n) { while (n--) spin(); }
int main(void)
{
	for (;;) {
		getcontext(&inside);
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = sizeof(stack);
		inside.uc_link = &outside;
		makecontext(&inside, (void (*)(void))body, 1, 1);
		swapcontext(&outside, &inside);
	}
}
EOF
spins=
least_complete=

program=boost
build c++ -lboost_context <<'EOF' && expect coroutine '(^|;)body[^;]*;spin[^;]*$' 90
#include <boost/context/detail/fcontext.hpp>
using namespace boost::context::detail;
static void body(transfer_t) { for (;;) spin(); }
static char stack[65536];
int main() { jump_fcontext(make_fcontext(stack + sizeof(stack), sizeof(stack), body), nullptr); }
EOF

# OpenSSL's own benchmark, some algorithms in turn.
openssl_speed()
{
	local samples complete
	"$STACKTOP" --format=samples -n 300 -p "$1" >"$tmp/samples" 2>"$tmp/err" || why=$(cat "$tmp/err")
	samples=$(grep -c '^openssl' "$tmp/samples")
	complete=$(grep -c '^openssl.*: root$' "$tmp/samples")
	[ "$samples" = 300 ] && [ "$complete" -ge 297 ] ||
		why="of $samples samples $complete complete: $(grep -A4 '^openssl.*: [^r]' "$tmp/samples" | head -n 20)"
}
if command -v openssl >/dev/null; then
	for algorithm in sha256 '-evp aes-256-gcm' '-evp chacha20-poly1305' ecdhp256; do
		# shellcheck disable=SC2086
		start openssl speed -seconds 30 $algorithm >"$tmp/log" 2>&1
		wait_for 20 works "$last_pid"
		look "openssl $algorithm" openssl_speed "$last_pid" && pass "openssl $algorithm"
		kill -KILL "$last_pid"
		wait "$last_pid" 2>/dev/null
	done
fi
finish
