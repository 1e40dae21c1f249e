/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event attributes: see attr.h. What each kernel version takes: perf_event_open(2). */
#include "config.h"

#include "src/perf/attr.h"

#include "src/base/util.h"

#include <string.h>
#include <time.h>

/* Fields of every record that have the same place in samples and trailers of all events here. */
#define SAMPLE_TYPE_ID \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

#define BRANCHES_MAX	   32
#define SAMPLE_FIXED_BYTES 256 /* header, fixed fields, registers, sizes */

#if defined(__x86_64__)
/* AX BX CX DX SI DI BP SP IP and R8-R15; asking for segment registers is EINVAL. */
const uint64_t attr_regs_mask = 0xff01ff;
const uint32_t attr_sp_word = 7;
#define REG_PC (1u << 8)
#elif defined(__aarch64__)
/* X0-X29, LR, SP, PC */
const uint64_t attr_regs_mask = 0x1ffffffff;
const uint32_t attr_sp_word = 31;
#define REG_PC (1ull << 32)
#else
const uint64_t attr_regs_mask = 0;
const uint32_t attr_sp_word = 0;
#define REG_PC 0
#endif

static void attr_common(struct perf_event_attr *attr, const struct attr_features *features)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->sample_type = SAMPLE_TYPE_ID;
	attr->read_format = PERF_FORMAT_ID;
	if (features->format_lost)
		attr->read_format |= RECORD_READ_LOST;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

static void attr_rate(const struct event_config *config, struct perf_event_attr *attr)
{
	if (config->period) {
		attr->sample_period = config->period;
		/*
		 * Of software events and tracepoints whose samples are to tell how much they stand for
		 * the kernel hands over each single one (perf_swevent_event() in kernel/events/core.c).
		 */
		if (config->period > 1 && !event_is_clock(&config->event))
			attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	} else if (event_is_clock(&config->event)) {
		/* A clock's frequency mode only adapts; its period is nanoseconds and exact. */
		attr->sample_period = NS_PER_SEC / config->freq_hz;
	} else {
		attr->freq = 1;
		attr->sample_freq = config->freq_hz;
	}
}

static void attr_stack(const struct event_config *config, struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->sample_max_stack = (uint16_t)config->max_stack;
	switch (config->mode) {
	case STACK_MODE_DWARF:
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = attr_regs_mask;
		attr->sample_stack_user = config->stack_bytes;
		attr->exclude_callchain_user = !config->has_user_chain;
		break;
	case STACK_MODE_LBR:
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
					   PERF_SAMPLE_BRANCH_NO_FLAGS |
					   PERF_SAMPLE_BRANCH_NO_CYCLES;
		if (config->features.hw_index)
			attr->branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
		/* Where the program was when a sample comes from the kernel. */
		attr->sample_regs_user = REG_PC;
		if (attr->sample_regs_user)
			attr->sample_type |= PERF_SAMPLE_REGS_USER;
		attr->exclude_callchain_user = 1;
		break;
	case STACK_MODE_FP:
	case STACK_MODE_COUNT:
		break;
	}
}

void attr_sampling(const struct event_config *config, uint32_t watermark,
		   struct perf_event_attr *ret)
{
	attr_common(ret, &config->features);
	ret->type = config->event.type;
	ret->config = config->event.config;
	ret->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	ret->precise_ip = config->event.precise & 3;
	attr_rate(config, ret);
	attr_stack(config, ret);
	ret->disabled = 1;
	ret->inherit = config->inherit;
	ret->enable_on_exec = config->enable_on_exec;
	if (config->event.type == PERF_TYPE_TRACEPOINT) {
		/* It fires in the kernel: exclude_kernel would leave nothing of it. */
		ret->exclude_callchain_kernel =
			config->exclude_kernel || config->event.exclude_kernel;
	} else {
		ret->exclude_kernel = config->exclude_kernel || config->event.exclude_kernel;
		ret->exclude_hv = ret->exclude_kernel;
	}
	ret->exclude_user = config->event.exclude_user;
	/* Clocks tick in the idle task too; some hardware PMUs refuse the flag and need it not. */
	ret->exclude_idle = config->event.type == PERF_TYPE_SOFTWARE;
	ret->watermark = 1;
	ret->wakeup_watermark = watermark;
}

/* Nothing is counted, so nothing of the kernel is seen: without that flag it would need privilege. */
static void attr_dummy(const struct attr_features *features, uint32_t watermark,
		       struct perf_event_attr *attr)
{
	attr_common(attr, features);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = watermark;
}

void attr_sideband(const struct attr_features *features, bool inherit, struct perf_event_attr *ret)
{
	/* wakeup_events would count samples only; a watermark of one byte wakes at every record. */
	attr_dummy(features, 1, ret);
	/* Tells whether the event still lives: see event_ring_is_dead. */
	ret->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED;
	ret->inherit = inherit;
	/* No build_id: identity must compare with the device and inode of /proc/PID/maps. */
	ret->mmap = 1;
	ret->mmap2 = 1;
	ret->comm = 1;
	ret->comm_exec = 1;
	ret->task = 1;
	ret->namespaces = features->namespaces;
	ret->ksymbol = features->ksymbol;
}

void attr_ring_holder(uint32_t watermark, struct perf_event_attr *ret)
{
	attr_dummy(&(struct attr_features){0}, watermark, ret);
}

void attr_format(const struct perf_event_attr *attr, enum stack_mode mode,
		 struct record_format *ret)
{
	*ret = (struct record_format){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user_mask = attr->sample_regs_user,
		.period = attr->freq ? 0 : attr->sample_period,
		.sample_id_all = attr->sample_id_all,
		.is_precise = attr->precise_ip > 0 && event_skids(attr->type),
		.mode = mode,
	};
}

bool attr_give_up_feature(const struct perf_event_attr *attr, struct attr_features *features)
{
	if (attr->read_format & RECORD_READ_LOST)
		features->format_lost = false;
	else if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		features->hw_index = false;
	else if (attr->ksymbol)
		features->ksymbol = false;
	else if (attr->namespaces)
		features->namespaces = false;
	else
		return false;
	return true;
}

uint32_t attr_sample_bytes(const struct event_config *config)
{
	uint32_t bytes = SAMPLE_FIXED_BYTES + config->max_stack * (uint32_t)sizeof(uint64_t);

	if (config->mode == STACK_MODE_DWARF)
		bytes += config->stack_bytes;
	if (config->mode == STACK_MODE_LBR)
		bytes += BRANCHES_MAX * (uint32_t)sizeof(struct perf_branch_entry);
	return MIN(bytes, (uint32_t)RECORD_BYTES_MAX);
}
