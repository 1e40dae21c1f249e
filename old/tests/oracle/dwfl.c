/* SPDX-License-Identifier: GPL-3.0-or-later */
/* elfutils' unwinder on a copied stack, as perf uses it (tools/perf/util/unwind-libdw.c). */
#include "config.h"

#include "src/base/util.h"
#include "tests/oracle/samples.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

struct state {
	Dwfl *dwfl;
	const struct sample *sample;
	bool is_attached;
};

static bool read_stack(const struct unwind_stack *stack, uint64_t addr, Dwarf_Word *ret)
{
	uint64_t at = addr - stack->base;

	if (stack->bytes < 8 || at > stack->bytes - 8)
		return false;
	memcpy(ret, stack->data + at, 8);
	return true;
}

/* What is not on the stack is read from the file, as perf does. */
static bool read_file(Dwfl *dwfl, uint64_t addr, Dwarf_Word *ret)
{
	Dwarf_Addr bias, at = addr;
	Dwfl_Module *module = dwfl_addrmodule(dwfl, addr);
	Elf_Scn *scn = module ? dwfl_module_address_section(module, &at, &bias) : NULL;
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	if (!data || !data->d_buf || data->d_size < 8 || at > data->d_size - 8)
		return false;
	memcpy(ret, (const char *)data->d_buf + at, 8);
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct state *state = arg;

	return read_stack(&state->sample->stack, addr, result) || read_file(dwfl, addr, result);
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return ((struct state *)arg)->sample->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct state *state = arg;

	return dwfl_thread_state_registers(thread, 0, X86_NR_REGS, state->sample->regs.r);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static int no_debug(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	*ret = NULL;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_debug,
	.section_address = dwfl_offline_section_address,
};

static void *space_new(const struct samples *samples, const struct space *space)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(state->dwfl);
	for (uint32_t i = 0; i < space->view.nr_maps; i++) {
		const struct unwind_map *map = &space->maps[i];
		const char *path = samples_path(samples, map->module->id);
		const struct table *table = &map->module->table;

		if (path[0] != '/' || !map->module->has_table || table_nr_rows(table) == 0)
			continue;
		/* The first executable mapping of a file; where it begins comes from its headers. */
		dwfl_report_elf(state->dwfl, path, path, -1, map->start - map->file_off, false);
	}
	dwfl_report_end(state->dwfl, NULL, NULL);
	return state;
}

static void space_free(void *arg)
{
	struct state *state = arg;

	dwfl_end(state->dwfl);
	free(state);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct opinion *ret = arg;
	bool is_activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &is_activation) || ret->nr == OPINION_FRAMES_MAX)
		return DWARF_CB_ABORT;
	ret->pcs[ret->nr++] = pc;
	return DWARF_CB_OK;
}

static void unwind(void *arg, const struct sample *sample, struct opinion *ret)
{
	struct state *state = arg;

	ret->nr = 0;
	state->sample = sample;
	if (!state->is_attached)
		state->is_attached =
			dwfl_attach_state(state->dwfl, NULL, sample->pid, &thread_callbacks, state);
	ret->is_complete = dwfl_getthread_frames(state->dwfl, sample->pid, take_frame, ret) == 0;
}

const struct unwinder unwinder_dwfl = {"libdwfl", space_new, space_free, unwind};
