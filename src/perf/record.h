/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One perf record, decoded. Source of every layout: <linux/perf_event.h>, the
 * comment at enum perf_event_type. Decoding copies nothing: pointers lead into
 * the raw record, which is 8-aligned and stays until the next drain.
 */
#ifndef ST_PERF_RECORD_H
#define ST_PERF_RECORD_H

#include "src/base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_BYTES_MAX    65536 /* header.size is a u16 */
#define RECORD_BUILD_ID_MAX 20
#define RECORD_TYPE_CGROUP  19 /* PERF_RECORD_CGROUP, since 5.7 */
/* From here on types are what tools write into files, without a trailer. */
#define RECORD_TYPE_TOOLS 64

enum record_kind {
	RECORD_SAMPLE,
	RECORD_MMAP, /* MMAP and MMAP2 */
	RECORD_COMM,
	RECORD_FORK,
	RECORD_EXIT,
	RECORD_NAMESPACES,
	RECORD_KSYMBOL,
	RECORD_CGROUP,
	RECORD_LOST,
	RECORD_LOST_SAMPLES,
	RECORD_THROTTLE,
	RECORD_UNTHROTTLE,
	RECORD_OTHER, /* known by size only: skipped */
	RECORD_KIND_COUNT,
};

/* PERF_SAMPLE_REGS_ABI_*: NONE 0, 32 1, 64 2. */
enum record_abi { RECORD_ABI_NONE, RECORD_ABI_32, RECORD_ABI_64 };

#define RECORD_CPUMODE_KERNEL 1 /* PERF_RECORD_MISC_KERNEL */
#define RECORD_CPUMODE_USER   2 /* PERF_RECORD_MISC_USER */

struct record_branch { /* struct perf_branch_entry */
	uint64_t from, to, flags;
};

struct record_sample {
	enum stack_mode mode; /* of the event that took it */
	uint32_t event;	      /* which of a recording's events; 0 live */
	uint8_t cpumode;      /* PERF_RECORD_MISC_CPUMODE_MASK: 1 kernel, 2 user ... */
	bool is_precise;      /* ip is of the instruction that caused it, not of the interrupt */
	uint8_t group_words;  /* from one member of GROUP to the next */
	uint16_t nr_group;    /* 0: it is no group, or does not tell its ids */
	uint64_t ip, addr, period;
	const uint64_t *group;	   /* of a group that is read: value, id of each member */
	const uint64_t *callchain; /* with PERF_CONTEXT_* words, checked by callchain_split */
	uint64_t nr_callchain;
	enum record_abi abi;	       /* of the registers */
	uint64_t regs_mask;	       /* bit n: register n of <asm/perf_regs.h> is present */
	const uint64_t *regs;	       /* popcount(regs_mask) words in bit order; NULL: abi NONE */
	const uint8_t *stack;	       /* copied stack bytes from the user stack pointer up */
	uint32_t stack_bytes;	       /* valid bytes: min(dyn_size, size) */
	uint32_t stack_bytes_reserved; /* size word: stack_bytes == this may mean truncated */
	const struct record_branch *branches;
	uint64_t nr_branches;
	uint64_t branch_hw_idx; /* UINT64_MAX: not recorded */
	uint64_t cgroup;	/* number of the control group, 0: not recorded */
};

struct record_mmap {
	uint64_t start, len, file_off;
	uint32_t maj, min; /* 0 when the record carries a build-id */
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_bytes; /* 0: none */
	bool is_exec;
	const char *filename; /* raw text of the kernel, NUL-terminated: not sanitized */
};

struct record {
	enum record_kind kind;
	uint32_t type; /* PERF_RECORD_*, for RECORD_OTHER */
	uint16_t misc;
	uint32_t pid, tid;
	uint64_t time_ns; /* 0: unknown */
	uint32_t cpu;	  /* UINT32_MAX: unknown */
	uint64_t id;	  /* event id, 0: unknown */
	union {
		struct record_sample sample;
		struct record_mmap mmap;
		struct {
			bool is_exec;
			const char *comm; /* raw, NUL-terminated */
		} comm;
		struct {
			uint32_t ppid, ptid;
			bool has_own_maps; /* of a task that ran already: not its parent's */
		} fork;			   /* FORK and EXIT */
		struct {
			uint64_t addr;
			uint32_t len;
			uint16_t ksym_type; /* PERF_RECORD_KSYMBOL_TYPE_* */
			bool is_unregister;
			const char *name; /* raw, NUL-terminated */
		} ksymbol;
		struct {
			uint64_t number;
			const char *path; /* in its hierarchy; raw, NUL-terminated */
		} cgroup;
		struct {
			uint64_t count;
		} lost; /* LOST and LOST_SAMPLES */
	};
};

/* PERF_FORMAT_LOST: younger than the oldest headers to build with */
#define RECORD_READ_LOST (1u << 4)

/* What is needed to decode the records of one event. */
struct record_format {
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t regs_user_mask, regs_intr_mask;
	uint64_t period; /* of samples that do not tell theirs; 0: not known */
	bool sample_id_all;
	bool is_precise; /* attr.precise_ip > 0, and it is an event that skids */
	bool is_swapped; /* of the other byte order, but for the header */
	enum stack_mode mode;
};

/*
 * Decode RAW (one whole record, header first, BYTES long, 8-aligned) into
 * *RET. Returns 0, -EBADMSG when it contradicts itself (sizes past its end),
 * and never reads outside RAW whatever it holds. With is_swapped the arrays in RAW
 * are turned in place: it must be writable, and is decoded once.
 */
int record_decode(const struct record_format *format, const void *raw, size_t bytes,
		  struct record *ret);

/*
 * Split a callchain at its context words. KERNEL and USER get pointers into
 * CHAIN and counts, innermost first, without the context words (either may be
 * 0). Guest and hypervisor parts and whatever follows an unknown context word
 * are left out; PERF_CONTEXT_USER_DEFERRED's cookie is not an address.
 */
struct callchain_part {
	const uint64_t *ips;
	uint64_t nr;
};
void callchain_split(const uint64_t *chain, uint64_t nr, struct callchain_part *kernel,
		     struct callchain_part *user);

#endif
