/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a struct perf_event_attr from an event config, and gives up fields of it
 * that a kernel does not accept. Opens nothing.
 */
#ifndef ST_PERF_ATTR_H
#define ST_PERF_ATTR_H

#include "src/base/stack.h"
#include "src/perf/event.h"
#include "src/perf/record.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What newer kernels or more privileges give; the floor (4.18, no privilege) has none of them. */
struct attr_features {
	bool format_lost; /* 6.0: exact count of lost records by read() */
	bool hw_index;	  /* 5.7: position of branch records */
	bool ksymbol;	  /* 5.1 */
	bool namespaces;  /* 4.12, privileged */
};

#define ATTR_FEATURES_ALL ((struct attr_features){true, true, true, true})

/* How the sampling events of one list are configured. */
struct event_config {
	struct event_spec event;
	uint64_t freq_hz, period; /* exactly one is not 0 */
	uint32_t rate_divisor;	  /* they are what was asked for, so much less often */
	enum stack_mode mode;
	uint32_t stack_bytes;
	bool has_user_chain; /* of dwarf mode: by the kernel, beside the copy */
	uint32_t max_stack;
	bool exclude_kernel;
	bool inherit;
	bool enable_on_exec;
	bool is_sideband; /* no samples, but what tasks do: only inherit and features count */
	struct attr_features features;
};

/* A sampling event, disabled, that wakes its poller every WATERMARK bytes. */
void attr_sampling(const struct event_config *config, uint32_t watermark,
		   struct perf_event_attr *ret);
/* A dummy event, enabled, that records what tasks do and wakes its poller at each record. */
void attr_sideband(const struct attr_features *features, bool inherit, struct perf_event_attr *ret);
/* A dummy event that records nothing and only holds a ring for others. */
void attr_ring_holder(uint32_t watermark, struct perf_event_attr *ret);

/* How to decode what an event of this ATTR writes. */
void attr_format(const struct perf_event_attr *attr, enum stack_mode mode,
		 struct record_format *ret);

/*
 * After EINVAL (or EACCES, which namespaces need a privilege to avoid): give up
 * the youngest of FEATURES that ATTR uses. False when there is none left.
 */
bool attr_give_up_feature(const struct perf_event_attr *attr, struct attr_features *features);

/* Bytes that one sample takes in the ring at most (callchain included). */
uint32_t attr_sample_bytes(const struct event_config *config);

/* PERF_REG_X86_* etc. that unwinding needs. */
extern const uint64_t attr_regs_mask;
/* The stack pointer's place among them. */
extern const uint32_t attr_sp_word;

#endif
