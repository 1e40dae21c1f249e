/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a recording to samples with mappings and tables: see samples.h. */
#include "config.h"

#include "tests/oracle/samples.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/proc/proc.h"
#include "tests/unwind_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#define SPACES_MAX  100000
#define VDSO_BYTES  8192
#define CALLS_TURNS 16

/* perf's register numbers (<asm/perf_regs.h>) by DWARF number. */
static const uint8_t perf_regs[X86_NR_REGS] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
					       17, 18, 19, 20, 21, 22, 23, 8};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void compile(struct samples *s, struct module *module, const struct unwind_elf *e)
{
	uint64_t start_ns = cpu_ns();
	struct cfi_stats stats;
	void *blob;
	size_t len;

	if (cfi_compile(&e->input, &blob, &len, &stats) < 0)
		return;
	s->build_ns += cpu_ns() - start_ns;
	s->files++;
	s->rows += stats.rows;
	s->table_bytes += len;
	for (size_t i = 0; i < e->input.nr_segments; i++)
		s->text_bytes += e->segments[i].bytes;
	/* Plain memory, kept to the end: nothing unmaps it. */
	module->unwind.has_table = table_open(blob, len, &module->unwind.table) == 0 &&
				   table_remember(&module->unwind.table) == 0;
}

static bool open_vdso(struct unwind_elf *e)
{
	void *image = (void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	return image && unwind_elf_open_image(image, VDSO_BYTES, e);
}

static void close_module(const struct module *module, struct unwind_elf *e)
{
	if (module->unwind.id == PROC_MODULE_VDSO)
		elf_end(e->elf);
	else
		unwind_elf_close(e);
}

static bool open_module(const struct module *module, struct unwind_elf *e)
{
	if (module->unwind.id == PROC_MODULE_VDSO)
		return open_vdso(e);
	return module->raw_path && unwind_elf_open(module->raw_path, e);
}

static void make_tables(struct samples *s)
{
	for (uint32_t id = PROC_MODULE_VDSO; id < procs_nr_modules(s->procs); id++) {
		struct module *module = procs_module(s->procs, id);
		struct unwind_elf e;

		module->unwind.state = STACK_END_NO_FILE;
		if (!open_module(module, &e))
			continue;
		compile(s, module, &e);
		close_module(module, &e);
	}
}

/* The return addresses of the files in which a stack needs them. */
static void make_return_addrs(struct samples *s)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_result result;

	for (int turn = 0; turn < CALLS_TURNS; turn++) {
		bool is_done = true;

		for (size_t i = 0; i < s->nr; i++)
			unwind_dwarf(&s->spaces[s->all[i].space].view, &s->all[i].regs,
				     &s->all[i].stack, frames, &result);
		for (uint32_t id = PROC_MODULE_VDSO; id < procs_nr_modules(s->procs); id++) {
			struct unwind_module *m = &procs_module(s->procs, id)->unwind;
			struct unwind_elf e;
			size_t len;
			void *blob;

			if (!m->needs_return_addrs || m->has_return_addrs || m->return_addrs_failed)
				continue;
			is_done = false;
			m->return_addrs_failed = true;
			if (!open_module(procs_module(s->procs, id), &e))
				continue;
			if (cfi_compile_return_addrs(&e.input, &blob, &len) == 0) {
				m->has_return_addrs =
					return_addrs_open(blob, len, &m->return_addrs) == 0;
				m->return_addrs_failed = !m->has_return_addrs;
				s->return_addrs_bytes += len;
			}
			close_module(procs_module(s->procs, id), &e);
		}
		if (is_done)
			return;
	}
}

/* The index of a space with these mappings. */
static int space_of(struct samples *s, const struct unwind_space *view, uint32_t *ret)
{
	const struct unwind_map *map = unwind_map_from(view, 0);
	struct unwind_map *maps = NULL;
	size_t nr = 0, cap = 0;

	for (; map; map = unwind_map_from(view, map->end)) {
		if (vec_reserve(&maps, &cap, nr + 1, UINT32_MAX) < 0)
			break;
		maps[nr++] = *map;
	}
	for (size_t i = s->nr_spaces; !map && i-- > 0;)
		if (s->spaces[i].view.nr_maps == nr &&
		    (nr == 0 || memcmp(s->spaces[i].maps, maps, nr * sizeof(*maps)) == 0)) {
			free(maps);
			*ret = (uint32_t)i;
			return 0;
		}
	if (map || vec_reserve(&s->spaces, &s->cap_spaces, s->nr_spaces + 1, SPACES_MAX) < 0) {
		free(maps);
		return -ENOMEM;
	}
	s->spaces[s->nr_spaces] = (struct space){
		.maps = maps,
		.view = {.maps = maps, .nr_maps = (uint32_t)nr},
	};
	*ret = (uint32_t)s->nr_spaces++;
	return 0;
}

static int add_sample(struct samples *s, const struct record *record)
{
	const struct record_sample *from = &record->sample;
	struct process *process;
	struct sample *to;
	uint8_t *copy;

	if (!from->regs || from->abi != RECORD_ABI_64 || from->stack_bytes == 0)
		return 0;
	process = procs_of_sample(s->procs, (pid_t)record->pid, record->time_ns);
	if (!process || vec_reserve(&s->all, &s->cap, s->nr + 1, SIZE_MAX / sizeof(*to)) < 0)
		return -ENOMEM;
	to = &s->all[s->nr];
	*to = (struct sample){.pid = (int32_t)record->pid,
			      .tid = (int32_t)record->tid,
			      .regs.machine = TABLE_MACHINE_X86_64};
	for (unsigned int i = 0; i < X86_NR_REGS; i++) {
		uint64_t bit = 1ull << perf_regs[i];

		if (from->regs_mask & bit)
			to->regs.r[i] =
				from->regs[__builtin_popcountll(from->regs_mask & (bit - 1))];
	}
	copy = malloc(from->stack_bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, from->stack, from->stack_bytes);
	to->stack =
		(struct unwind_stack){.data = copy,
				      .base = to->regs.r[X86_RSP],
				      .bytes = from->stack_bytes,
				      .is_cut = from->stack_bytes == from->stack_bytes_reserved};
	s->nr++;
	return space_of(s, process_space(process), &to->space);
}

static int read_samples(struct samples *s, struct recording *recording, size_t max)
{
	struct record record;
	int r = 0;

	while (r >= 0 && s->nr < max) {
		r = recording_read(recording);
		while (r >= 0 && s->nr < max && recording_next(recording, &record))
			r = record.kind == RECORD_SAMPLE ? add_sample(s, &record)
							 : procs_apply(s->procs, &record);
		if (recording_is_over(recording))
			break;
	}
	return r < 0 ? r : 0;
}

int samples_load(const char *path, size_t max, struct samples *ret, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct recording *recording;

	*ret = (struct samples){.procs = procs_new()};
	if (!ret->procs)
		return err_set(err, -ENOMEM, "no memory");
	procs_set_recorded(ret->procs);
	r = recording_open(fd, path, &recording, err);
	if (r < 0)
		return r;
	r = read_samples(ret, recording, max);
	recording_close(recording);
	if (r < 0)
		return err_set(err, r, "%s: cannot be read: %s", path, strerror(-r));
	make_tables(ret);
	make_return_addrs(ret);
	return 0;
}

void samples_done(struct samples *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free((void *)(uintptr_t)s->all[i].stack.data);
	for (size_t i = 0; i < s->nr_spaces; i++)
		free(s->spaces[i].maps);
	for (uint32_t id = PROC_MODULE_VDSO; id < procs_nr_modules(s->procs); id++) {
		struct unwind_module *m = &procs_module(s->procs, id)->unwind;

		free((void *)(uintptr_t)m->table.header);
		free((void *)(uintptr_t)m->return_addrs.header);
	}
	free(s->all);
	free(s->spaces);
	procs_free(s->procs);
}

const char *samples_path(const struct samples *s, uint32_t module)
{
	const struct module *m = procs_module(s->procs, module);

	return m->raw_path ? m->raw_path : m->name;
}
