/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test program as its own target: see unwind_self.h. */
#include "config.h"

#include "tests/unwind_self.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "tests/unwind_elf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#define PAGE_BYTES 4096

static bool compile(struct self *self, struct unwind_elf *e, size_t i, bool with_calls)
{
	struct unwind_module *m = &self->modules[i];
	struct cfi_stats stats;
	size_t len;

	m->id = (uint32_t)i;
	m->has_table = cfi_compile(&e->input, &self->blobs[i], &len, &stats) == 0 &&
		       table_open(self->blobs[i], len, &m->table) == 0 &&
		       table_remember(&m->table) == 0;
	if (with_calls)
		m->has_return_addrs =
			cfi_compile_return_addrs(&e->input, &self->return_addrs[i], &len) == 0 &&
			return_addrs_open(self->return_addrs[i], len, &m->return_addrs) == 0;
	return m->has_table && m->has_return_addrs == with_calls;
}

static bool load_vdso(struct self *self, pid_t pid, const struct unwind_map *map, size_t i,
		      bool with_calls)
{
	size_t bytes = map->end - map->start;
	AUTO_FREE void *image = malloc(bytes);
	struct iovec local = {image, bytes}, remote = {(void *)(uintptr_t)map->start, bytes};
	struct unwind_elf e;
	bool ok;

	if (!image || process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)bytes ||
	    !unwind_elf_open_image(image, bytes, &e))
		return false;
	ok = compile(self, &e, i, with_calls);
	elf_end(e.elf);
	return ok;
}

static struct unwind_module *module_for(struct self *self, pid_t pid, const char *path,
					const struct unwind_map *map, bool with_calls)
{
	struct unwind_elf e;
	size_t i = 0;
	bool ok;

	for (; i < SELF_MAPS_MAX && self->paths[i][0]; i++)
		if (strcmp(self->paths[i], path) == 0)
			return &self->modules[i];
	if (i == SELF_MAPS_MAX)
		return NULL;
	snprintf(self->paths[i], sizeof(self->paths[i]), "%s", path);
	self->modules[i].id = (uint32_t)i;
	if (strcmp(path, "[vdso]") == 0)
		return load_vdso(self, pid, map, i, with_calls) ? &self->modules[i] : NULL;
	if (path[0] != '/') {
		self->modules[i].state = STACK_END_JIT;
		return &self->modules[i];
	}
	if (!unwind_elf_open(path, &e))
		return NULL;
	ok = compile(self, &e, i, with_calls);
	unwind_elf_close(&e);
	return ok ? &self->modules[i] : NULL;
}

bool self_load_of(struct self *self, pid_t pid, bool with_calls)
{
	AUTO_FCLOSE FILE *f = NULL;
	char line[512], perms[8], path[256];
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	ok = f;
	self->space = (struct unwind_space){.maps = self->maps};
	while (ok && fgets(line, sizeof(line), f)) {
		struct unwind_map map;

		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s",
			   &map.start, &map.end, perms, &map.file_off, path) < 4)
			return false;
		if (perms[2] != 'x')
			continue;
		if (path[0] == '\0')
			strcpy(path, "[anon]");
		map.module = module_for(self, pid, path, &map, with_calls);
		ok = map.module && self->space.nr_maps < SELF_MAPS_MAX;
		if (ok)
			self->maps[self->space.nr_maps++] = map;
	}
	return ok;
}

bool self_load(struct self *self, bool with_calls)
{
	memset(self, 0, sizeof(*self));
	return self_load_of(self, getpid(), with_calls);
}

uint32_t self_bring_code(struct self *self, struct unwind_code *code, uint64_t time_ns)
{
	uint64_t addrs[16];
	uint32_t nr = unwind_code_next(code, time_ns, addrs, ARRAY_SIZE(addrs));

	for (uint32_t i = 0; i < nr; i++) {
		static uint8_t bytes[CODE_PIECE_BYTES];
		uint32_t pages = 0;

		for (uint32_t page = 0; page < CODE_PIECE_PAGES; page++) {
			uint64_t at = addrs[i] + page * CODE_PAGE_BYTES;

			if (!unwind_map_of(&self->space, at))
				continue;
			memcpy(bytes + page * CODE_PAGE_BYTES, (const void *)(uintptr_t)at,
			       CODE_PAGE_BYTES);
			pages |= 1u << page;
		}
		unwind_code_put(code, addrs[i], bytes, pages);
	}
	return nr;
}

void self_unload(struct self *self)
{
	for (size_t i = 0; i < SELF_MAPS_MAX; i++) {
		table_forget(&self->modules[i].table);
		free(self->blobs[i]);
		free(self->return_addrs[i]);
	}
}

struct unwind_module *self_module_of(struct self *self, const void *pc)
{
	const struct unwind_map *map = unwind_map_of(&self->space, (uintptr_t)pc);

	return map ? map->module : NULL;
}

/* By the kernel, not by memcpy: the guard areas of sanitizers are stack like any other. */
void shot_copy_stack(struct shot *shot, uint64_t addr, size_t max)
{
	size_t want = MIN(max, (size_t)SELF_STACK_BYTES);
	struct iovec local = {shot->bytes, want}, remote[SELF_STACK_BYTES / PAGE_BYTES + 1];
	size_t nr = 0, at = 0;
	ssize_t copied;

	/* Page by page: the call stops at the first piece that is not mapped. */
	for (; at < want; at += remote[nr++].iov_len) {
		size_t left = PAGE_BYTES - (addr + at) % PAGE_BYTES;

		remote[nr].iov_base = (void *)(uintptr_t)(addr + at);
		remote[nr].iov_len = MIN(left, want - at);
	}
	copied = process_vm_readv(getpid(), &local, 1, remote, nr, 0);
	shot->stack = (struct unwind_stack){.data = shot->bytes,
					    .base = addr,
					    .bytes = copied > 0 ? (uint64_t)copied : 0,
					    .is_cut = copied == (ssize_t)want};
}

void shot_from_ucontext(struct shot *shot, const ucontext_t *uc, size_t max)
{
	static const int order[X86_NR_REGS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	shot->regs.machine = TABLE_MACHINE_X86_64;
	for (int i = 0; i < X86_NR_REGS; i++)
		shot->regs.r[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	shot_copy_stack(shot, shot->regs.r[X86_RSP], max);
}

static _Unwind_Reason_Code add_to_chain(struct _Unwind_Context *context, void *arg)
{
	struct shot *shot = arg;

	/* It ends with 0, the caller of the root. */
	if (shot->nr_chain < SELF_CHAIN_MAX && _Unwind_GetIP(context))
		shot->chain[shot->nr_chain++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static inline __attribute__((always_inline)) void take_registers(uint64_t *r)
{
	__asm__ volatile("mov %%rax, 0(%0)\n\t"
			 "mov %%rdx, 8(%0)\n\t"
			 "mov %%rcx, 16(%0)\n\t"
			 "mov %%rbx, 24(%0)\n\t"
			 "mov %%rsi, 32(%0)\n\t"
			 "mov %%rdi, 40(%0)\n\t"
			 "mov %%rbp, 48(%0)\n\t"
			 "mov %%rsp, 56(%0)\n\t"
			 "mov %%r8, 64(%0)\n\t"
			 "mov %%r9, 72(%0)\n\t"
			 "mov %%r10, 80(%0)\n\t"
			 "mov %%r11, 88(%0)\n\t"
			 "mov %%r12, 96(%0)\n\t"
			 "mov %%r13, 104(%0)\n\t"
			 "mov %%r14, 112(%0)\n\t"
			 "mov %%r15, 120(%0)\n\t"
			 "lea 0f(%%rip), %%rax\n\t"
			 "mov %%rax, 128(%0)\n"
			 "0:"
			 :
			 : "r"(r)
			 : "rax", "memory");
}

void shoot_no_chain(struct shot *shot)
{
	take_registers(shot->regs.r);
	shot_copy_stack(shot, shot->regs.r[X86_RSP], SELF_STACK_BYTES);
	shot->nr_chain = 0;
}

void shoot(struct shot *shot)
{
	take_registers(shot->regs.r);
	shot_copy_stack(shot, shot->regs.r[X86_RSP], SELF_STACK_BYTES);
	shot->nr_chain = 0;
	_Unwind_Backtrace(add_to_chain, shot);
	/* The first is this function itself, at another instruction. */
	if (shot->nr_chain > 0)
		memmove(shot->chain, shot->chain + 1, --shot->nr_chain * sizeof(shot->chain[0]));
}
