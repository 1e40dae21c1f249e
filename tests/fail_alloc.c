/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded before the program, it lets one allocation of one of its processes
 * fail: FAIL_ALLOC=FILE:ROLE:NUMBER[:libraries]. FILE has a struct fail_alloc
 * (tests/check_oom.py knows its layout) and is shared by all processes of the
 * run; number 0 only counts. A role is a process by the name that it gives
 * itself; until then it is "start", after a fork "child". "threads" are those
 * that are not a process's first, together. Counted are calls by the program and
 * by the C library on its behalf, or with "libraries" those of all others.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ROLES	   16
#define ROLE_BYTES 16
#define DEPTH	   16
#define EARLY	   16384 /* bytes for what dlsym() may want before it has told where malloc is */

struct fail_alloc {
	atomic_uint has_failed;
	uint32_t nr_stack;
	uint64_t program; /* where it is loaded: addresses below are relative to it */
	uint64_t stack[DEPTH];
	struct {
		char name[ROLE_BYTES];
		atomic_uint max; /* the most that one process or thread asked for */
	} roles[ROLES];
};

struct range {
	uintptr_t start, end;
};

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	int (*getattr)(pthread_t, pthread_attr_t *);
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
} real;

/* NSS of glibc 2.36 dies of some failures (an assertion in nss_database.c): let it be. */
static struct {
	struct passwd *(*by_name)(const char *);
	struct passwd *(*by_uid)(uid_t);
} nss;

/* Of the leak sanitizer, if there is one. */
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);

static struct fail_alloc *shared;
static struct range program, libc;
static char wanted_role[ROLE_BYTES];
static unsigned int wanted;
static bool of_libraries;
static char leader_role[ROLE_BYTES] = "start";
static atomic_uint nr_leader, nr_threads;
static _Alignas(16) char early[EARLY];
static size_t nr_early;

#define THREAD static __thread __attribute__((tls_model("initial-exec")))
THREAD bool is_thread; /* not the first of its process */
THREAD bool is_inside;

/* What the C library and its parts do for themselves neither fails nor leaks. */
static void enter_library(void)
{
	is_inside = true;
	if (__lsan_disable)
		__lsan_disable();
}

static void leave_library(void)
{
	if (__lsan_enable)
		__lsan_enable();
	is_inside = false;
}

static bool is_in(const struct range *range, const void *addr)
{
	return (uintptr_t)addr >= range->start && (uintptr_t)addr < range->end;
}

static void note_max(const char *role, unsigned int nr)
{
	for (int i = 0; i < ROLES; i++) {
		unsigned int max;

		if (shared->roles[i].name[0] == '\0')
			memcpy(shared->roles[i].name, role, ROLE_BYTES);
		if (strncmp(shared->roles[i].name, role, ROLE_BYTES) != 0)
			continue;
		max = atomic_load(&shared->roles[i].max);
		while (nr > max && !atomic_compare_exchange_weak(&shared->roles[i].max, &max, nr))
			;
		return;
	}
}

static void note_stack(void)
{
	void *stack[DEPTH];
	int nr = backtrace(stack, DEPTH);

	for (int i = 0; i < nr; i++)
		shared->stack[i] = (uint64_t)(uintptr_t)stack[i];
	shared->nr_stack = (uint32_t)nr;
}

/* Shall this one fail? */
static bool fails(const void *caller)
{
	static const char threads[ROLE_BYTES] = "threads";
	const char *role = is_thread ? threads : leader_role;
	bool is_ours = is_in(&program, caller) || is_in(&libc, caller), ret = false;
	unsigned int nr;

	if (!shared || is_inside || is_ours == of_libraries)
		return false;
	is_inside = true;
	nr = 1 + atomic_fetch_add(is_thread ? &nr_threads : &nr_leader, 1);
	note_max(role, nr);
	if (nr == wanted && strncmp(role, wanted_role, ROLE_BYTES) == 0 &&
	    atomic_exchange(&shared->has_failed, 1) == 0) {
		note_stack();
		ret = true;
	}
	is_inside = false;
	if (ret)
		errno = ENOMEM;
	return ret;
}

/* --- what is preloaded --- */

static void find_real(void)
{
	*(void **)&real.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&real.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&real.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&real.free = dlsym(RTLD_NEXT, "free");
	*(void **)&real.mmap = dlsym(RTLD_NEXT, "mmap");
	*(void **)&real.prctl = dlsym(RTLD_NEXT, "prctl");
	*(void **)&nss.by_name = dlsym(RTLD_NEXT, "getpwnam");
	*(void **)&nss.by_uid = dlsym(RTLD_NEXT, "getpwuid");
	*(void **)&real.getattr = dlsym(RTLD_NEXT, "pthread_getattr_np");
	*(void **)&real.create = dlsym(RTLD_NEXT, "pthread_create");
}

static void *alloc_early(size_t bytes)
{
	void *ret = early + nr_early;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > sizeof(early) - nr_early)
		abort();
	nr_early += bytes;
	return ret;
}

static void *alloc(size_t bytes)
{
	static bool is_finding;

	if (!real.malloc && !is_finding) {
		is_finding = true;
		find_real();
	}
	return real.malloc ? real.malloc(bytes) : alloc_early(bytes);
}

void *malloc(size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : alloc(bytes);
}

void *calloc(size_t nr, size_t bytes)
{
	if (fails(__builtin_return_address(0)))
		return NULL;
	if (real.calloc)
		return real.calloc(nr, bytes);
	return alloc_early(nr * bytes); /* zeros already */
}

void *realloc(void *old, size_t bytes)
{
	if (fails(__builtin_return_address(0)))
		return NULL;
	return old || !real.realloc ? real.realloc(old, bytes) : alloc(bytes);
}

void *reallocarray(void *old, size_t nr, size_t bytes)
{
	size_t all;

	if (fails(__builtin_return_address(0)) || __builtin_mul_overflow(nr, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return real.realloc(old, all);
}

void free(void *ptr)
{
	if ((char *)ptr >= early && (char *)ptr < early + sizeof(early))
		return;
	if (ptr)
		real.free(ptr);
}

static char *copy(const char *text, size_t len, const void *caller)
{
	char *ret = fails(caller) ? NULL : alloc(len + 1);

	if (ret) {
		memcpy(ret, text, len);
		ret[len] = '\0';
	}
	return ret;
}

char *strdup(const char *text)
{
	return copy(text, strlen(text), __builtin_return_address(0));
}

char *strndup(const char *text, size_t max)
{
	return copy(text, strnlen(text, max), __builtin_return_address(0));
}

void *mmap(void *addr, size_t bytes, int protection, int flags, int fd, off_t off)
{
	if (fails(__builtin_return_address(0)))
		return MAP_FAILED;
	if (!real.mmap)
		find_real();
	return real.mmap(addr, bytes, protection, flags, fd, off);
}

struct passwd *getpwnam(const char *name)
{
	struct passwd *ret;

	enter_library();
	ret = nss.by_name(name);
	leave_library();
	return ret;
}

struct passwd *getpwuid(uid_t uid)
{
	struct passwd *ret;

	enter_library();
	ret = nss.by_uid(uid);
	leave_library();
	return ret;
}

/* A sanitizer asks at each thread's start, and takes no "no" for an answer. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	bool was_inside = is_inside;
	int r;

	is_inside = true;
	r = real.getattr(thread, attr);
	is_inside = was_inside;
	return r;
}

/* --- who is who --- */

int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_NAME && !is_thread) {
		strncpy(leader_role, (const char *)arg[0], ROLE_BYTES - 1);
		atomic_store(&nr_leader, 0);
	}
	return real.prctl(option, arg[0], arg[1], arg[2], arg[3]);
}

struct start {
	void *(*routine)(void *);
	void *context;
};

static void *run_thread(void *context)
{
	struct start start = *(struct start *)context;

	real.free(context);
	is_thread = true;
	return start.routine(start.context);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
		   void *context)
{
	struct start *start = real.malloc(sizeof(*start));
	int r;

	if (!start)
		return EAGAIN;
	*start = (struct start){.routine = routine, .context = context};
	r = real.create(thread, attr, run_thread, start);
	if (r != 0)
		real.free(start);
	return r;
}

static void after_fork(void)
{
	is_thread = false;
	atomic_store(&nr_leader, 0);
	atomic_store(&nr_threads, 0);
	strcpy(leader_role, "child");
}

static int note_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	int *nr = context;
	struct range *range = (*nr)++ == 0 ? &program : &libc;

	(void)bytes;
	if (range == &libc && !strstr(info->dlpi_name, "libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
			*range = (struct range){info->dlpi_addr + segment->p_vaddr,
						info->dlpi_addr + segment->p_vaddr +
							segment->p_memsz};
	}
	if (range == &program)
		shared->program = info->dlpi_addr;
	return 0;
}

static __attribute__((constructor)) void begin(void)
{
	const char *config = getenv("FAIL_ALLOC");
	char file[256], how[16] = "";
	void *map, *stack[1];
	int fd, nr = 0;

	if (!real.malloc)
		find_real();
	/* What is run by us is not the program. */
	unsetenv("LD_PRELOAD");
	if (!config ||
	    sscanf(config, "%255[^:]:%15[^:]:%u:%15s", file, wanted_role, &wanted, how) < 3)
		return;
	of_libraries = strcmp(how, "libraries") == 0;
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		abort();
	map = real.mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	enter_library();
	backtrace(stack, 1); /* loads what it needs */
	leave_library();
	pthread_atfork(NULL, NULL, after_fork);
	is_inside = true;
	shared = map;
	dl_iterate_phdr(note_object, &nr);
	is_inside = false;
}
