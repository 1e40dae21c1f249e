#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Storms of what tasks do: two thousand threads, short processes one after the other, and a process that
# makes twenty thousand executable mappings a second, which do not join. Nothing is lost, stacks are complete
# and have names, and the notices of all of that take a small part of a CPU: with an array that moves for each
# mapping it was a quarter.

. "${top_srcdir:-.}/tests/lib.sh"
need jq gcc
need_sampling

cat >"$tmp/storm.c" <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile unsigned long sink;

__attribute__((noinline)) void storm_work(void)
{
	for (int i = 0; i < 20000; i++)
		sink += i;
}

static void *thread(void *nothing)
{
	for (;;) {
		storm_work();
		usleep(50000);
	}
	return nothing;
}

static void threads(int nr)
{
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&id, &attr, thread, NULL) != 0)
			exit(1);
	pause();
}

static void processes(char *self)
{
	char *argv[] = {self, "once", NULL};
	pid_t pid;

	for (;;)
		if (posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0)
			waitpid(pid, NULL, 0);
}

/* Two files in turn: neighbours are never parts of one mapping. */
static void mappings(char *self, int per_second)
{
	int fds[] = {open(self, O_RDONLY), open("/bin/true", O_RDONLY)};
	enum { PLACES = 4000, STEP = 8192 };
	char *base = mmap(NULL, (size_t)PLACES * STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned int i = 0;;) {
		for (int k = 0; k < per_second / 100; k++, i++)
			if (mmap(base + i * 7919ul % PLACES * STEP, 4096, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_FIXED, fds[i & 1], 0) == MAP_FAILED)
				exit(1);
		storm_work();
		usleep(8000);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	if (strcmp(argv[1], "threads") == 0)
		threads(2000);
	if (strcmp(argv[1], "processes") == 0)
		processes(argv[0]);
	if (strcmp(argv[1], "mappings") == 0)
		mappings(argv[0], 20000);
	for (int i = 0; i < 20; i++)
		storm_work();
	return 0;
}
END
gcc -O1 -pthread -o "$tmp/storm" "$tmp/storm.c" || skip "gcc cannot build here"

# What runs beside it may have stacks that cannot be unwound: only those of the storm must be whole.
in_storm()
{
	start "$tmp/storm" "$1"
	"$STACKTOP" -b --format=json --view=tree --min-percent=0 -n 2 -d 2 >"$tmp/all" 2>"$tmp/err" || why="exit status $?: $(cat "$tmp/err")"
	kill -KILL "$last_pid"
	tail -n 1 "$tmp/all" >"$tmp/json"
	jq -e '.health | .lost_sideband == 0 and .maps_refused == 0 and .lost * 20 < .samples and .dropped * 20 < .samples' \
		"$tmp/json" >/dev/null || why="lost: $(jq -c .health "$tmp/json")"
	jq -e 'def nodes: ., (.children[]? | nodes); [.tree | nodes | select(.name == "main") | nodes | .name] | index("storm_work")' \
		"$tmp/json" >/dev/null || [ "$1" = threads ] || why="storm_work under main is not in the tree"
	jq -e '[.tree | recurse(.children[]?) | .name] | index("storm_work")' "$tmp/json" >/dev/null || why="storm_work has no name"
	jq -e '.health | .own_cpu_stages_s.maps < .elapsed_s * 0.15' "$tmp/json" >/dev/null ||
		why="the sideband costs too much: $(jq -c '.health | .elapsed_s, .own_cpu_stages_s' "$tmp/json")"
}

for storm in threads processes mappings; do
	look "$storm" in_storm $storm && pass "$storm"
done
finish
