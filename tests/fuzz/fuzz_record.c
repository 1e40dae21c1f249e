/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of any format and any content, as a ring or a file may hold them. */
#include "config.h"

#include "src/perf/record.h"
#include "tests/fuzz/fuzz.h"

#include <linux/perf_event.h>

static void use_sample(const struct record_sample *s)
{
	struct callchain_part kernel, user;

	if (s->callchain)
		use_bytes(s->callchain, s->nr_callchain * 8);
	if (s->regs)
		use_bytes(s->regs, (size_t)__builtin_popcountll(s->regs_mask) * 8);
	if (s->stack)
		use_bytes(s->stack, s->stack_bytes);
	if (s->branches)
		use_bytes(s->branches, s->nr_branches * sizeof(*s->branches));
	callchain_split(s->callchain, s->nr_callchain, &kernel, &user);
	use_bytes(kernel.ips, kernel.nr * 8);
	use_bytes(user.ips, user.nr * 8);
}

static void use_record(const struct record *r)
{
	must(r->kind < RECORD_KIND_COUNT);
	if (r->kind == RECORD_SAMPLE)
		use_sample(&r->sample);
	else if (r->kind == RECORD_MMAP)
		use(strlen(r->mmap.filename) + r->mmap.build_id[0]);
	else if (r->kind == RECORD_COMM)
		use(strlen(r->comm.comm));
	else if (r->kind == RECORD_KSYMBOL)
		use(strlen(r->ksymbol.name));
	else if (r->kind == RECORD_CGROUP)
		use(strlen(r->cgroup.path));
	if (r->kind == RECORD_MMAP)
		must(r->mmap.build_id_bytes <= RECORD_BUILD_ID_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(data, size);
	struct record_format format = {
		.sample_type = reader_u64(&in),
		.read_format = reader_u64(&in),
		.branch_sample_type = reader_u64(&in),
		.regs_user_mask = reader_u64(&in),
		.regs_intr_mask = reader_u64(&in),
	};
	uint8_t flags = reader_u8(&in);

	format.sample_id_all = flags & 1;
	format.is_swapped = flags & 4;
	format.mode = (flags >> 3) % STACK_MODE_COUNT;
	while (reader_left(&in) >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		struct record record;
		size_t bytes;
		void *raw;

		memcpy(&header, in.p, sizeof(header));
		bytes = header.size < reader_left(&in) ? header.size : reader_left(&in);
		bytes = bytes < sizeof(header) ? sizeof(header) : bytes;
		raw = exact_copy(reader_bytes(&in, bytes), bytes);
		if (record_decode(&format, raw, bytes, &record) == 0)
			use_record(&record);
		free(raw);
	}
	return 0;
}
