/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading CIEs and FDEs: see cfi_parse.h. The section is walked entry by entry
 * from its first byte; .eh_frame_hdr is not consulted. Zero lengths in the
 * middle (a crtend.o linked in early) are stepped over. Sources: DWARF 5
 * section 6.4.1; LSB 5.0 "Exception Frames" for the augmentations, for the
 * 4-byte CIE pointer whatever the length's form, and for DW_EH_PE_*.
 */
#include "config.h"

#include "unwind/cfi_parse.h"

#include "src/base/deadline.h"
#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CIES_MAX	 (4u << 20)
#define FDES_MAX	 (16u << 20)
#define READ_BYTES	 (1u << 20)
#define AUGMENTATION_MAX 32

enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_APPLICATION = 0x70,
	PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

struct scan {
	const struct cfi_input *input;
	const struct cfi_section *section;
	bool is_eh;
	struct cfi_frames *frames;
	struct u64map cie_at; /* section offset to index in frames->cies */
};

/* One entry: its identifier or CIE pointer is read, the rest is in `body`. */
struct entry {
	uint64_t at; /* of the length field, from the section's start */
	bool is_cie;
	uint64_t cie_at; /* of an FDE */
	bool is_64;
	struct reader body;
};

const struct cfi_segment *cfi_segment_of(const struct cfi_input *input, uint64_t vaddr)
{
	for (size_t i = 0; i < input->nr_segments; i++)
		if (vaddr - input->segments[i].vaddr < input->segments[i].bytes)
			return &input->segments[i];
	return NULL;
}

int cfi_text_read(const struct cfi_input *input, const struct cfi_segment *seg, uint64_t *last,
		  uint64_t at)
{
	if (at - *last < READ_BYTES)
		return 0;
	if (input->text_was_read)
		input->text_was_read(seg->text + *last, at - *last);
	*last = at;
	return deadline_is_over_now() ? -ETIME : 0;
}

static uint64_t pointer_value(struct reader *r, uint8_t format, enum table_machine machine)
{
	switch (format) {
	case PE_ULEB128:
		return reader_uleb(r);
	case PE_SLEB128:
		return (uint64_t)reader_sleb(r);
	case PE_UDATA2:
		return reader_u16(r);
	case PE_SDATA2:
		return (uint64_t)(int16_t)reader_u16(r);
	case PE_UDATA4:
		return reader_u32(r);
	case PE_SDATA4:
		return (uint64_t)(int32_t)reader_u32(r);
	case PE_ABSPTR:
		return table_word_bytes(machine) == 4 ? reader_u32(r) : reader_u64(r);
	case PE_UDATA8:
	case PE_SDATA8:
		return reader_u64(r);
	default:
		r->bad = true;
		return 0;
	}
}

uint64_t cfi_pointer(struct reader *r, uint8_t enc, uint64_t vaddr, enum table_machine machine)
{
	uint64_t value = pointer_value(r, enc & PE_FORMAT, machine);

	if (enc & PE_INDIRECT)
		r->bad = true; /* the address is only in the running process */
	if ((enc & PE_APPLICATION) == PE_PCREL)
		value += vaddr;
	else if (enc & PE_APPLICATION)
		r->bad = true; /* relative to a base that only the running process knows */
	return table_word_bytes(machine) == 4 ? (uint32_t)value : value;
}

static uint64_t reader_vaddr(const struct scan *s, const struct reader *r)
{
	return s->section->vaddr + (uint64_t)(r->p - s->section->data);
}

/* The personality routine is of no interest, but what comes after it is. */
static void skip_personality(const struct scan *s, struct reader *r)
{
	unsigned int addr_bytes = table_word_bytes(s->input->machine);
	uint8_t enc = reader_u8(r);

	if (enc == PE_OMIT)
		return;
	if ((enc & PE_APPLICATION) == PE_ALIGNED) {
		uint64_t vaddr = reader_vaddr(s, r);

		reader_skip(r, align_up(vaddr, addr_bytes) - vaddr);
		reader_skip(r, addr_bytes);
		return;
	}
	pointer_value(r, enc & PE_FORMAT, s->input->machine);
}

/* The letters after 'z' and their data. */
static void parse_z(const struct scan *s, struct reader *r, const char *letters,
		    struct cfi_cie *cie)
{
	uint64_t bytes = reader_uleb(r);
	const uint8_t *data = reader_bytes(r, bytes);
	struct reader aug = *r;

	if (!data)
		return;
	aug.p = data;
	aug.end = data + bytes;
	cie->has_augmentation_data = true;
	for (; *letters; letters++) {
		switch (*letters) {
		case 'P':
			skip_personality(s, &aug);
			break;
		case 'L':
			reader_skip(&aug, 1);
			break;
		case 'R':
			cie->pointer_enc = reader_u8(&aug);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* aarch64: return addresses are signed with key B */
		case 'G': /* aarch64: tagged stack */
			break;
		default:
			cie->is_bad = true;
			return;
		}
	}
	cie->is_bad |= aug.bad;
}

/* A few letters: entries that lie in one another would all be read to the end of an endless text. */
static const char *read_augmentation(struct reader *r)
{
	const char *text = (const char *)r->p;
	size_t left = MIN(reader_left(r), (size_t)AUGMENTATION_MAX), len = strnlen(text, left);

	reader_skip(r, len + 1);
	return len < left ? text : NULL;
}

static void parse_cie(const struct scan *s, struct reader *r, struct cfi_cie *cie)
{
	unsigned int addr_bytes = table_word_bytes(s->input->machine);
	uint8_t version = reader_u8(r);
	const char *augmentation = read_augmentation(r);

	if (!augmentation || (version != 1 && version != 3 && version != 4)) {
		cie->is_bad = true;
		return;
	}
	if (strcmp(augmentation, "eh") == 0) /* gcc 2: a pointer to its own tables */
		reader_skip(r, addr_bytes);
	if (version == 4) /* with the size of addresses and of segment selectors */
		cie->is_bad |= reader_u8(r) != addr_bytes || reader_u8(r) != 0;
	cie->code_align = reader_uleb(r);
	cie->data_align = reader_sleb(r);
	cie->ra_reg = version == 1 ? reader_u8(r) : (uint32_t)MIN(reader_uleb(r), UINT32_MAX);
	if (augmentation[0] == 'z')
		parse_z(s, r, augmentation + 1, cie);
	else if (augmentation[0] && strcmp(augmentation, "eh") != 0)
		cie->is_bad = true;
	cie->insns = r->p;
	cie->insns_bytes = (uint32_t)reader_left(r);
	cie->is_bad |= r->bad;
}

/* Read the header of the entry at R. False: the section cannot be followed further. */
static bool entry_next(const struct scan *s, struct reader *r, struct entry *e)
{
	uint64_t bytes, id_at, id, id_of_cie;

	do {
		e->at = (uint64_t)(r->p - s->section->data);
		bytes = reader_u32(r);
	} while (bytes == 0 && !r->bad);
	e->is_64 = bytes == UINT32_MAX;
	if (e->is_64)
		bytes = reader_u64(r);
	if (r->bad || bytes > reader_left(r))
		return false;
	e->body = *r;
	e->body.end = r->p + bytes;
	r->p += bytes;
	id_at = (uint64_t)(e->body.p - s->section->data);
	if (s->is_eh || !e->is_64) {
		id = reader_u32(&e->body);
		id_of_cie = s->is_eh ? 0 : UINT32_MAX;
	} else {
		id = reader_u64(&e->body);
		id_of_cie = UINT64_MAX;
	}
	e->is_cie = id == id_of_cie;
	e->cie_at = s->is_eh ? id_at - id : id;
	return true;
}

static int cie_add(struct scan *s, uint64_t at, struct reader body, uint32_t *ret_idx)
{
	struct cfi_frames *f = s->frames;
	int r = vec_reserve(&f->cies, &f->cap_cies, f->nr_cies + 1, CIES_MAX);

	if (r == 0)
		r = u64map_set(&s->cie_at, at, (uint32_t)f->nr_cies);
	if (r < 0)
		return r;
	f->cies[f->nr_cies] = (struct cfi_cie){0};
	parse_cie(s, &body, &f->cies[f->nr_cies]);
	*ret_idx = (uint32_t)f->nr_cies++;
	return 0;
}

/* The CIE at section offset AT, parsed the first time it is named. -ENOENT: there is none. */
static int cie_find(struct scan *s, uint64_t at, uint32_t *ret_idx)
{
	struct reader r = reader_of(s->section->data, s->section->bytes), length;
	struct entry e;

	*ret_idx = u64map_get(&s->cie_at, at);
	if (*ret_idx != U64MAP_NONE)
		return 0;
	r.swap = s->input->swap;
	reader_skip(&r, at);
	/* Each of many may name the first of millions of zeros: they are not passed here. */
	length = r;
	if (reader_u32(&length) == 0 || !entry_next(s, &r, &e) || e.at != at || !e.is_cie)
		return -ENOENT;
	return cie_add(s, at, e.body, ret_idx);
}

/* The part of [START, END) that lies in the segment of AT; virtual addresses. False: there is none. */
static bool place_fde(const struct scan *s, uint64_t start, uint64_t at, uint64_t end,
		      struct cfi_fde *fde)
{
	const struct cfi_segment *seg = at < end ? cfi_segment_of(s->input, at) : NULL;

	if (!seg)
		return false;
	fde->shift = seg->vaddr - seg->file_off;
	fde->begin = start - fde->shift;
	fde->start = at - fde->shift;
	fde->end = MIN(end, seg->vaddr + seg->bytes) - fde->shift;
	return true;
}

int cfi_frames_add(struct cfi_frames *f, const struct cfi_fde *fde, size_t max)
{
	int r = vec_reserve(&f->fdes, &f->cap_fdes, f->nr_fdes + 1, max);

	if (r == 0)
		f->fdes[f->nr_fdes++] = *fde;
	return r;
}

/* False: this description is of no use. */
static bool parse_fde(const struct scan *s, const struct cfi_cie *cie, struct reader *r,
		      struct cfi_fde *fde, uint64_t *ret_end)
{
	uint64_t start, bytes;

	if (cie->is_bad)
		return false;
	start = cfi_pointer(r, cie->pointer_enc, reader_vaddr(s, r), s->input->machine);
	bytes = pointer_value(r, cie->pointer_enc & PE_FORMAT, s->input->machine);
	if (cie->has_augmentation_data)
		reader_skip(r, reader_uleb(r));
	if (r->bad || start == 0 || bytes == 0)
		return false;
	*ret_end = start + MIN(bytes, UINT64_MAX - start);
	if (!place_fde(s, start, start, *ret_end, fde))
		return false;
	fde->insns = r->p;
	fde->insns_bytes = (uint32_t)reader_left(r);
	return true;
}

static int fde_add(struct scan *s, struct entry *e)
{
	struct cfi_frames *f = s->frames;
	struct cfi_fde fde = {0};
	int r = cie_find(s, e->cie_at, &fde.cie);
	uint64_t end = 0;

	if (r == -ENOENT || (r == 0 && !parse_fde(s, &f->cies[fde.cie], &e->body, &fde, &end))) {
		f->nr_skipped++;
		return 0;
	}
	if (r < 0)
		return r;
	/* One for each segment that it reaches into: they may lie apart in the file. */
	do {
		r = cfi_frames_add(f, &fde, FDES_MAX);
	} while (r == 0 && place_fde(s, fde.begin + fde.shift, fde.end + fde.shift, end, &fde));
	return r;
}

int cfi_scan(const struct cfi_input *input, const struct cfi_section *section, bool is_eh,
	     struct cfi_frames *frames)
{
	struct scan s = {.input = input, .section = section, .is_eh = is_eh, .frames = frames};
	struct reader r;
	struct entry e;
	int ret = 0;

	if (!section->data)
		return 0;
	if (section->bytes > UINT32_MAX)
		return -E2BIG;
	r = reader_of(section->data, section->bytes);
	r.swap = input->swap;
	while (ret == 0 && entry_next(&s, &r, &e)) {
		if (!e.is_cie)
			ret = fde_add(&s, &e);
		if (deadline_is_over())
			ret = -ETIME;
	}
	u64map_done(&s.cie_at);
	return ret;
}

void cfi_frames_done(struct cfi_frames *frames)
{
	free(frames->cies);
	free(frames->fdes);
	*frames = (struct cfi_frames){0};
}
