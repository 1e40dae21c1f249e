/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch records and stacks that are joined with the thread's last ones, from
 * a recording that may hold anything: few different addresses and threads, so
 * that they meet.
 */
#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "unwind/lbr.h"
#include "unwind/stitch.h"
#include "unwind/unwind.h"

#define ENTRIES_MAX 80
#define SITES_MAX   48

static void branches(struct lbr *lbr, struct reader *in)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_module module = {.state = STACK_END_NO_FILE};
	struct unwind_map map = {0x100, 0x200, 0, &module};
	struct unwind_space space = {.maps = &map, .nr_maps = 1};
	uint8_t who = reader_u8(in), slot = reader_u8(in);
	size_t nr = reader_u8(in) % (ENTRIES_MAX + 1);
	struct lbr_entry *entries = calloc(nr + 1, sizeof(*entries));
	uint64_t sites[SITES_MAX];
	struct unwind_result result;
	enum stack_end cut;
	uint32_t got;

	must(entries);
	for (size_t i = 0; i < nr; i++) {
		entries[i].from = 0x100u + reader_u8(in);
		entries[i].to = 0x100u + reader_u8(in);
	}
	got = lbr_sites(lbr,
			&(struct lbr_sample){who & 3, who >> 2 & 7, entries, nr,
					     slot & 128 ? LBR_NO_SLOT : slot},
			sites, who >> 5 ? SITES_MAX : 3, &cut);
	must(got <= SITES_MAX && cut < STACK_END_COUNT);
	unwind_lbr(&space, sites, got, cut, frames, &result);
	must(result.nr_frames <= UNWIND_FRAMES_MAX && result.end < STACK_END_COUNT);
	if (who & 16)
		lbr_forget(lbr, who >> 2 & 7);
	free(entries);
}

static void stacks(struct stitch *stitch, struct reader *in, uint64_t time_ns)
{
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	uint8_t who = reader_u8(in);
	struct unwind_result result = {
		.nr_frames = reader_u16(in) % (UNWIND_FRAMES_MAX + 1),
		.end = reader_u8(in) % STACK_END_COUNT,
		.end_module = UNWIND_NO_MODULE,
	};

	for (uint32_t i = 0; i < result.nr_frames; i++)
		frames[i] =
			(struct unwind_frame){.pc = 1 + reader_u8(in) % 2,
					      .sp = 0x7000 - 16 * (uint64_t)(result.nr_frames - i),
					      .is_return = i > 0};
	stitch_stack(stitch, &(struct tail_thread){who & 3, who >> 2 & 7, who & 1}, time_ns, frames,
		     &result);
	must(result.nr_frames <= UNWIND_FRAMES_MAX && result.end < STACK_END_COUNT);
	if (who & 128)
		stitch_forget(stitch, who >> 2 & 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(data, size);
	static struct lbr *lbr;
	static struct stitch *stitch;
	uint64_t time_ns = 1;

	if (!lbr) {
		lbr = lbr_new();
		stitch = stitch_new(UNWIND_FRAMES_MAX, tails_new());
		must(lbr && stitch);
	}
	lbr_clear(lbr);
	stitch_clear(stitch);
	while (reader_left(&in) > 0) {
		branches(lbr, &in);
		stacks(stitch, &in, time_ns);
		time_ns += reader_u16(&in) * 100000ull;
	}
	return 0;
}
