# SPDX-License-Identifier: GPL-3.0-or-later
# Real loads for reports and live tests. Source this; each load runs in a
# process group of its own until load_stop.
#
#	load_start NAME    one of $load_names; 0, or 77 when it cannot run here: $load_missing says why
#	load_stop

load_names="gcc clang rustc fio mariadb pg nginx redis sqlite openssl git python python400 node java java_nofp go
	ruby ruby_yjit perl php php_jit lua luajit erlang musl rustabort pypy fpc chromium x264 dav1d"
load_dir=
load_pid=
load_missing=

# load_needs PACKAGE PROGRAM...: each is there, or PACKAGE brings it.
load_needs()
{
	local package=$1 program
	shift
	for program; do
		command -v "$program" >/dev/null && continue
		load_missing="no $program: package $package"
		return 77
	done
}

# What NAME cannot run without; paths of programs that are not in PATH.
load_check()
{
	case $1 in
	gcc) load_needs g++ g++ ;;
	clang) load_needs clang clang++ ;;
	rustc | rustabort) load_needs rustc rustc ;;
	fio) load_needs fio fio && load_needs nbdkit nbdkit ;;
	mariadb)
		PATH=$PATH:/usr/sbin load_needs mariadb-server mariadbd mariadb-install-db mariadb &&
			load_needs sysbench sysbench ;;
	pg)
		load_pg_bin=$(dirname "$(find /usr/lib/postgresql /usr/local -name pgbench -type f \
			-perm -1 2>/dev/null | head -n 1)")
		[ -x "$load_pg_bin/initdb" ] || { load_missing="no pgbench: package postgresql"; return 77; } ;;
	nginx) PATH=$PATH:/usr/sbin load_needs nginx-light nginx && load_needs wrk wrk ;;
	redis) load_needs redis-server redis-server && load_needs redis-tools redis-benchmark ;;
	sqlite) load_needs sqlite3 sqlite3 ;;
	openssl) load_needs openssl openssl ;;
	git) load_needs git git ;;
	python*) [ -x /usr/bin/python3 ] || { load_missing="no python3"; return 77; } ;;
	node) load_needs nodejs node ;;
	java | java_nofp) load_needs openjdk-17-jdk-headless java javac ;;
	go) load_needs golang-go go ;;
	ruby | ruby_yjit) load_needs ruby ruby ;;
	perl) load_needs perl perl ;;
	php | php_jit) load_needs php-cli php ;;
	lua) load_needs lua5.4 lua5.4 ;;
	luajit) load_needs luajit luajit ;;
	erlang) load_needs erlang-base erlc erl ;;
	musl) load_needs musl-tools musl-gcc ;;
	pypy) load_needs pypy3 pypy3 ;;
	fpc) load_needs fpc fpc ;;
	chromium) load_needs chromium chromium ;;
	x264 | dav1d) load_needs ffmpeg ffmpeg ;;
	*) load_missing="no such load"; return 77 ;;
	esac
}

load_start()
{
	load_missing=
	load_check "$1" || return
	load_dir=$(mktemp -d "${TMPDIR:-/tmp}/stacktop-load.XXXXXX") || return 1
	chmod 755 "$load_dir"
	# setsid may fork: the group's leader tells its pid itself.
	setsid bash -c '. "$1"; cd "$2"; echo $$ >pid; "load_$3" "$4"' load "$(readlink -f "${BASH_SOURCE[0]}")" \
		"$load_dir" "$1" "${load_pg_bin:-}" >"$load_dir/log" 2>&1 &
	disown
	until [ -s "$load_dir/pid" ]; do sleep 0.05; done
	load_pid=$(cat "$load_dir/pid")
}

# The pids of $1 and of all below it; some daemons leave their process group.
load_tree()
{
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		load_tree "$child"
	done
}

load_stop()
{
	local tree
	[ -n "$load_pid" ] || return 0
	tree=$(load_tree "$load_pid")
	kill -KILL "$load_pid" # first, it starts the others anew
	# shellcheck disable=SC2086
	kill -TERM $tree 2>/dev/null
	sleep 0.3
	# shellcheck disable=SC2086
	kill -KILL $tree 2>/dev/null
	rm -rf "$load_dir"
	load_pid=
}

# The same again and again, in two folders: two CPUs are to be busy.
twice()
{
	mkdir a b
	(cd a && while :; do "$@"; done) &
	cd b && while :; do "$@"; done
}

# Ten lines with four headers.
source_cc()
{
	cat >t.cc <<-'EOF'
	#include <algorithm>
	#include <map>
	#include <string>
	#include <vector>
	int main() {
		std::map<std::string, std::vector<int>> m;
		for (int i = 0; i < 100; i++) m[std::to_string(i)].push_back(i);
		auto &v = m["7"]; std::sort(v.begin(), v.end());
		return (int)m.size();
	}
	EOF
}
load_gcc() { source_cc; twice g++ -O2 -c -o t.o ../t.cc; }
load_clang() { source_cc; twice clang++ -O2 -c -o t.o ../t.cc; }

load_fio()
{
	while :; do
		nbdkit -U - null 1G --run 'fio --name=t --ioengine=nbd --uri="$uri" --rw=randrw \
			--bs=64k --iodepth=64 --numjobs=4 --time_based --runtime=600 --size=256M'
	done
}

# Recursion in which every level takes C frames.
load_depth()
{
	cat >t.py <<-EOF
	import sys
	sys.setrecursionlimit(100000)
	def f(n):
	    if n == 0:
	        return sum(i * i for i in range(2000))
	    return sum(map(f, [n - 1]))
	while True:
	    f($1)
	EOF
	/usr/bin/python3 t.py &
	/usr/bin/python3 t.py
}
load_python() { load_depth 60; }
load_python400() { load_depth 400; }

load_pg()
{
	bin=$1
	chmod 777 .
	run="env"
	[ "$(id -u)" = 0 ] && run="setpriv --reuid=65534 --regid=65534 --clear-groups"
	HOME=$PWD $run "$bin/initdb" -D pg -A trust -U bench >/dev/null
	$run "$bin/postgres" -D pg -k "$PWD" -c listen_addresses= &
	until $run "$bin/psql" -h "$PWD" -U bench -c 'select 1' postgres >/dev/null 2>&1; do
		sleep 0.2
	done
	$run "$bin/pgbench" -h "$PWD" -U bench -i -s 5 postgres
	while :; do
		$run "$bin/pgbench" -h "$PWD" -U bench -S -c4 -j2 -T 600 postgres
	done
}

# A server's folder must be its user's; it refuses to be root.
as_nobody()
{
	if [ "$(id -u)" = 0 ]; then
		chown -R 65534:65534 .
		HOME=$PWD setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

load_mariadb()
{
	PATH=$PATH:/usr/sbin
	as_nobody mariadb-install-db --no-defaults --datadir="$PWD/db" --auth-root-authentication-method=normal
	as_nobody mariadbd --no-defaults --datadir="$PWD/db" --socket="$PWD/s" --skip-networking \
		--pid-file="$PWD/db.pid" &
	until mariadb --no-defaults -S "$PWD/s" -u root -e 'create database sbtest' 2>/dev/null; do sleep 0.3; done
	set -- --mysql-socket="$PWD/s" --mysql-user=root --db-driver=mysql --tables=2 --table-size=20000 \
		--threads=4 --time=600
	sysbench oltp_read_only "$@" prepare
	while :; do sysbench oltp_read_only "$@" run; done
}

load_nginx()
{
	PATH=$PATH:/usr/sbin
	head -c 4000 /dev/zero | tr '\0' x >index.html
	cat >conf <<-EOF
	daemon off; worker_processes 2; pid $PWD/nginx.pid; error_log $PWD/error;
	events { worker_connections 256; }
	http {
		access_log off; gzip on; gzip_types text/plain; client_body_temp_path $PWD/t1;
		proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3; uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
		server { listen 127.0.0.1:18080; root $PWD; }
	}
	EOF
	nginx -e "$PWD/error" -c "$PWD/conf" &
	while :; do wrk -t1 -c32 -d600 -H 'Accept-Encoding: gzip' http://127.0.0.1:18080/; sleep 0.2; done
}

load_redis()
{
	redis-server --port 0 --unixsocket "$PWD/s" --save '' >/dev/null &
	until [ -S s ]; do sleep 0.1; done
	while :; do redis-benchmark -s "$PWD/s" -n 1000000 -q -P 8 -t get,set,lpush,zadd,lrange_100; done
}

load_sqlite()
{
	twice sqlite3 :memory: "with recursive n(i) as (select 1 union all select i+1 from n where i<2000000)
		select count(*), sum(i % 7), max(length(hex(i))) from n group by i % 11;"
}

load_openssl() { while :; do openssl speed -multi 2 -seconds 2 rsa2048 sha256 aes-256-cbc ecdhp256; done; }

load_git()
{
	git init -q r
	cd r || return
	git config user.email a@b
	git config user.name a
	for i in $(seq 40); do
		for f in $(seq 60); do seq $((i * f)) $((i * f + 400)) >"f$f"; done
		git add .
		git commit -qm "$i"
	done
	(while :; do git -c gc.auto=0 repack -adfq --depth=50; done) &
	while :; do git log -p --stat >/dev/null; git blame f7 >/dev/null; git status; done
}

load_node()
{
	cat >t.js <<-'EOF'
	function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	class Tree { constructor(d) { if (d) { this.l = new Tree(d - 1); this.r = new Tree(d - 1); } }
		count() { return 1 + (this.l ? this.l.count() + this.r.count() : 0); } }
	for (;;) {
		fib(22);
		new Tree(12).count();
		const a = [...Array(3000).keys()].map(i => ({ k: (i * 7919) % 3001, s: 'x' + i }));
		a.sort((p, q) => p.k - q.k);
		JSON.parse(JSON.stringify(a.filter(o => /x.*[13579]$/.test(o.s)))).reduce((s, o) => s + o.k, 0);
		const m = new Map(a.map(o => [o.s, o])); for (const [k] of m) m.delete(k);
	}
	EOF
	node t.js &
	node t.js
}

source_java()
{
	cat >Work.java <<-'EOF'
	import java.util.*;
	import java.util.stream.*;
	public class Work {
		interface Shape { double area(); }
		record Circle(double r) implements Shape { public double area() { return Math.PI * r * r; } }
		record Square(double a) implements Shape { public double area() { return a * a; } }
		static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		static void work() {
			Random random = new Random(7);
			for (;;) {
				fib(24);
				List<Shape> shapes = new ArrayList<>();
				for (int i = 0; i < 3000; i++)
					shapes.add(i % 2 == 0 ? new Circle(i) : new Square(random.nextDouble()));
				double sum = shapes.stream().mapToDouble(Shape::area).sum();
				Map<String, Integer> map = new HashMap<>();
				for (int i = 0; i < 3000; i++) map.merge("k" + i % 97, i, Integer::sum);
				String text = map.entrySet().stream().sorted(Map.Entry.comparingByValue())
					.map(Object::toString).collect(Collectors.joining(","));
				if (text.hashCode() + sum == 1) System.out.println(text);
			}
		}
		public static void main(String[] args) { new Thread(Work::work).start(); work(); }
	}
	EOF
	javac Work.java
}
load_java() { source_java; java -XX:+PreserveFramePointer Work; }
load_java_nofp() { source_java; java Work; }

load_go()
{
	cat >main.go <<-'EOF'
	package main

	import ("crypto/sha256"; "fmt"; "sort"; "strings"; "sync")

	func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
	func work(wg *sync.WaitGroup, id int) {
		defer wg.Done()
		m := map[string]int{}
		for i := 0; i < 2000; i++ { m[fmt.Sprintf("k%d", i*id%97)] += i }
		var keys []string
		for k := range m { keys = append(keys, k) }
		sort.Strings(keys)
		sha256.Sum256([]byte(strings.Repeat(strings.Join(keys, ","), 20)))
		fib(20)
	}
	func main() {
		for { var wg sync.WaitGroup; for i := 1; i < 20; i++ { wg.Add(1); go work(&wg, i) }; wg.Wait() }
	}
	EOF
	HOME=$PWD GO111MODULE=off GOFLAGS='' go build -o t main.go && ./t
}

load_rust_source()
{
	cat >t.rs <<-'EOF'
	use std::collections::HashMap;
	#[inline(never)] fn fib(n: u32) -> u64 { if n < 2 { n as u64 } else { fib(n - 1) + fib(n - 2) } }
	#[inline(never)] fn words(n: usize) -> usize {
		let mut m: HashMap<String, Vec<usize>> = HashMap::new();
		for i in 0..n { m.entry(format!("k{}", i % 97)).or_default().push(i); }
		let mut v: Vec<_> = m.iter().map(|(k, x)| (x.len(), k.clone())).collect();
		v.sort(); v.iter().map(|(n, k)| n + k.len()).sum()
	}
	fn main() { loop { if fib(22) as usize + words(5000) == 1 { println!("1"); } } }
	EOF
}
load_rustc() { load_rust_source; twice rustc -O -o t ../t.rs; }
# Vector code by hand, without CFI: an encoder's and a decoder's.
load_x264() { while :; do ffmpeg -nostdin -v quiet -f lavfi -i testsrc2=s=1280x720:d=60 -c:v libx264 -f null -; done; }
load_dav1d()
{
	ffmpeg -nostdin -v quiet -y -f lavfi -i testsrc2=s=1280x720:d=3 -c:v libsvtav1 t.mkv
	ffmpeg -nostdin -v quiet -stream_loop -1 -c:v libdav1d -i t.mkv -f null -
}
# Its code has no CFI, and there are 225 MB of it.
load_chromium()
{
	cat >t.html <<-'EOF'
	<div id=d></div><canvas id=c width=400 height=400></canvas><script>
	function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	const d = document.getElementById('d'), g = document.getElementById('c').getContext('2d');
	function turn() {
		fib(22);
		d.innerHTML = [...Array(2000).keys()].map(i => '<p>x' + (i * 7919 % 997)).join('');
		d.offsetHeight;
		for (let k = 0; k < 500; k++) { g.beginPath(); g.arc(k % 400, k * 7 % 400, 9, 0, 7); g.fill(); }
		JSON.parse(JSON.stringify([...Array(5000).keys()].map(i => ({ k: 'x' + i })))).sort((p, q) => p.k < q.k ? -1 : 1);
		setTimeout(turn, 0);
	}
	turn();
	</script>
	EOF
	chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$PWD/data" "file://$PWD/t.html"
}

load_pypy()
{
	cat >t.py <<-'EOF'
	def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
	while True:
	    fib(22)
	    h = {}
	    for i in range(20000): h["k%d" % (i % 977)] = h.get("k%d" % (i % 97), 0) + i
	    sorted(h, key=lambda k: (h[k], k))
	EOF
	pypy3 t.py & pypy3 t.py
}

load_fpc()
{
	cat >t.pas <<-'EOF'
	program t; uses sysutils, classes;
	function fib(n: integer): integer;
	begin if n < 2 then fib := n else fib := fib(n - 1) + fib(n - 2); end;
	var l: TStringList; i: integer;
	begin
	  while true do begin
	    l := TStringList.Create;
	    for i := 0 to 5000 do l.Add(Format('k%d', [(i * 7919) mod 5003]));
	    l.Sort; l.Free; fib(20);
	  end;
	end.
	EOF
	fpc -O2 t.pas && { ./t & ./t; }
}

load_rustabort() { load_rust_source; rustc -O -C panic=abort -o t t.rs && { ./t & ./t; }; }

source_ruby()
{
	cat >t.rb <<-'EOF'
	def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
	loop do
	  fib(18)
	  h = Hash.new(0)
	  3000.times { |i| h["k#{i % 97}"] += i }
	  h.sort_by { |k, v| [v, k] }.map { |k, v| k.gsub(/k(\d)/, 'x\\1') + v.to_s }.join(",")
	end
	EOF
}
load_ruby() { source_ruby; ruby t.rb & ruby t.rb; }
load_ruby_yjit() { source_ruby; ruby --yjit t.rb & ruby --yjit t.rb; }

load_perl()
{
	cat >t.pl <<-'EOF'
	sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
	for (;;) { fib(16); my %h; $h{"k" . $_ % 97} += $_ for 1 .. 3000; join ",", map { s/k(\d)/x$1/r } sort { $h{$a} <=> $h{$b} } keys %h; }
	EOF
	perl t.pl &
	perl t.pl
}

source_php()
{
	cat >t.php <<-'EOF'
	<?php function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
	for (;;) { fib(18); $h = []; for ($i = 0; $i < 3000; $i++) { $h["k" . $i % 97] = ($h["k" . $i % 97] ?? 0) + $i; }
		uasort($h, fn($a, $b) => $a <=> $b); preg_replace('/k(\d)/', 'x$1', implode(",", array_keys($h))); }
	EOF
}
load_php() { source_php; php t.php & php t.php; }
php_jit() { php -d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=32M -d opcache.jit=tracing t.php; }
load_php_jit() { source_php; php_jit & php_jit; }

source_lua()
{
	cat >t.lua <<-'EOF'
	local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
	while true do
	  fib(18)
	  local h, keys = {}, {}
	  for i = 1, 3000 do local k = "k" .. i % 97; h[k] = (h[k] or 0) + i end
	  for k in pairs(h) do keys[#keys + 1] = k:gsub("k(%d)", "x%1") end
	  table.sort(keys, function(a, b) return a < b end)
	  table.concat(keys, ",")
	end
	EOF
}
load_lua() { source_lua; lua5.4 t.lua & lua5.4 t.lua; }
load_luajit() { source_lua; luajit t.lua & luajit t.lua; }

load_erlang()
{
	cat >t.erl <<-'EOF'
	-module(t).
	-export([main/0]).
	fib(N) when N < 2 -> N;
	fib(N) -> fib(N - 1) + fib(N - 2).
	words(N) ->
		M = lists:foldl(fun(I, A) -> maps:update_with(I rem 97, fun(X) -> X + I end, I, A) end,
			#{}, lists:seq(1, N)),
		S = lists:sort([{V, integer_to_list(K)} || {K, V} <- maps:to_list(M)]),
		re:replace(lists:join(",", [K || {_, K} <- S]), "(1)", "x", [global, {return, list}]).
	work() -> fib(20), words(3000), work().
	main() -> spawn(fun work/0), work().
	EOF
	erlc t.erl && erl -noshell -s t main
}

load_musl()
{
	cat >t.c <<-'EOF'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	static char text[64];
	static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
	static __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	int main(void) {
		static int a[3000];
		for (unsigned r = 1;; r++) {
			for (int i = 0; i < 3000; i++) a[i] = (int)(r = r * 1103515245 + 12345) >> 8;
			qsort(a, 3000, sizeof(a[0]), compare);
			for (int i = 0; i < 3000; i++) snprintf(text, sizeof(text), "%d %g", a[i], a[i] / 7.0);
			char *p = malloc(strlen(text) + fib(18)); free(p);
		}
	}
	EOF
	musl-gcc -O2 -static -o t t.c && { ./t & ./t; }
}
