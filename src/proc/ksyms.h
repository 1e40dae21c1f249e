/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel symbols that come and go while the kernel runs (BPF programs,
 * trampolines): /proc/kallsyms is read once and does not know them.
 */
#ifndef ST_PROC_KSYMS_H
#define ST_PROC_KSYMS_H

#include <stddef.h>
#include <stdint.h>

#define KSYMS_MAX 16384u

struct ksym {
	uint64_t start, end;
	char name[64]; /* sanitized */
};

struct ksyms { /* zeroed: empty; sorted, not overlapping */
	struct ksym *syms;
	size_t nr_syms, cap_syms;
};

void ksyms_done(struct ksyms *ksyms);
/* Replaces what overlaps. At KSYMS_MAX nothing is added. 0 or -ENOMEM. */
int ksyms_add(struct ksyms *ksyms, uint64_t start, uint64_t len, const char *name);
void ksyms_remove(struct ksyms *ksyms, uint64_t start, uint64_t len);
/* The symbol that holds ADDR, or NULL; valid until the next change. */
const struct ksym *ksyms_find(const struct ksyms *ksyms, uint64_t addr);

#endif
