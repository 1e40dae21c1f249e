/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions of x86-64 taken apart: see insn_x86_64.h. Never reads beyond what it is given. */
#include "config.h"

#include "unwind/insn_x86_64.h"

#include "src/base/util.h"

#include <string.h>

#define NO_INDEX 4

struct bytes {
	const uint8_t *p, *end;
	bool is_cut; /* sticky */
};

static uint8_t take_u8(struct bytes *b)
{
	if (b->p == b->end) {
		b->is_cut = true;
		return 0;
	}
	return *b->p++;
}

static int64_t take_signed(struct bytes *b, unsigned int bytes)
{
	uint64_t value = 0;

	if ((size_t)(b->end - b->p) < bytes) {
		b->is_cut = true;
		return 0;
	}
	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)b->p[i] << (8 * i);
	b->p += bytes;
	if (bytes == 0 || bytes == 8)
		return (int64_t)value;
	return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/* --- which opcodes have what: one bit each --- */

static bool has_bit(const uint32_t *bits, uint8_t op)
{
	return bits[op / 32] >> (op % 32) & 1;
}

/* clang-format off */
static const uint32_t modrm_1[8] = {
	0x0f0f0f0f, 0x0f0f0f0f, 0x00000000, 0x00000a08, /* 63, 69, 6b */
	0x0000fffb, 0x00000000, 0xff0f00c3, 0xc0c00000, /* 80, 81, 83-8f; c0 c1 c6 c7 d0-d3 d8-df; f6 f7 fe ff */
};
static const uint32_t invalid_1[8] = {
	0xc0c040c0, 0x80808080, 0x00000000, 0x00000007, /* 06 07 0e 16 17 1e 1f; 27 2f 37 3f; 60-62 */
	0x04000004, 0x00000000, 0x00704000, 0x00000400, /* 82 9a; ce d4-d6; ea */
};
static const uint32_t no_modrm_0f[8] = {
	0x00004be0, 0x00ff0000, 0x00000000, 0x00800000, /* 05-09 0b 0e; 30-37; 77 */
	0x0000ffff, 0x00000707, 0x0000ff00, 0x00000000, /* 80-8f; a0-a2 a8-aa; c8-cf */
};
static const uint32_t imm8_0f[8] = {
	0x00000000, 0x00000000, 0x00000000, 0x000f0000, /* 70-73 */
	0x00000000, 0x04001010, 0x00000074, 0x00000000, /* a4 ac ba; c2 c4 c5 c6 */
};
/* clang-format on */

/* Bytes of the immediate of a one-byte opcode. */
static unsigned int imm_bytes_1(const struct insn *insn)
{
	unsigned int full = insn->has_16 ? 2 : 4, op = insn->op;

	if (op < 0x40)
		return (op & 7) == 4 ? 1 : (op & 7) == 5 ? full : 0;
	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xb0 && op <= 0xb7) || (op >= 0xe0 && op <= 0xe7))
		return 1;
	if (op >= 0xb8 && op <= 0xbf)
		return insn->is_wide ? 8 : full;
	switch (op) {
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xeb:
		return 1;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
		return full;
	case 0xe8:
	case 0xe9:
		return 4;
	case 0xc2:
		return 2;
	case 0xf6:
		return (insn->reg & 6) == 0 ? 1 : 0;
	case 0xf7:
		return (insn->reg & 6) == 0 ? full : 0;
	default:
		return 0;
	}
}

static unsigned int imm_bytes(const struct insn *insn)
{
	if (insn->map == INSN_MAP_1)
		return imm_bytes_1(insn);
	if (insn->map == INSN_MAP_0F3A)
		return 1;
	if (insn->map != INSN_MAP_0F)
		return 0;
	if (insn->op >= 0x80 && insn->op <= 0x8f && !insn->is_vex)
		return 4;
	return has_bit(imm8_0f, insn->op) ? 1 : 0;
}

/* --- parts --- */

struct prefixes {
	uint8_t rex;
	bool has_67;
};

/* The legacy prefixes and REX; returns the first byte after them. */
static uint8_t take_prefixes(struct bytes *b, struct insn *insn, struct prefixes *ret)
{
	for (;;) {
		uint8_t byte = take_u8(b);

		switch (byte) {
		case 0x66:
			insn->has_16 = true;
			continue;
		case 0x67:
			ret->has_67 = true;
			continue;
		case 0xf2:
		case 0xf3:
			insn->has_rep = true;
			continue;
		case 0x64:
		case 0x65:
			insn->has_segment = true;
			continue;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			if (!b->is_cut)
				continue;
			return byte;
		default:
			if ((byte & 0xf0) != 0x40)
				return byte;
			ret->rex = byte;
			insn->has_rex = true;
			return take_u8(b);
		}
	}
}

/* c5, c4 or 62 and what follows; REX as its inverted bits say. */
static uint8_t take_vex(struct bytes *b, uint8_t first, struct insn *insn,
			struct prefixes *prefixes)
{
	uint8_t p0 = take_u8(b), p1 = first == 0xc5 ? p0 : take_u8(b);
	unsigned int map = first == 0xc5 ? 1 : p0 & (first == 0x62 ? 7 : 31);

	if (first == 0x62)
		take_u8(b);
	insn->is_vex = true;
	prefixes->rex = (uint8_t)((~p0 >> 5 & 4) | (first == 0xc5 ? 0 : (~p0 >> 5 & 3)));
	insn->is_wide = first != 0xc5 && p1 >> 7;
	insn->has_16 = (p1 & 3) == 1;
	insn->has_rep = (p1 & 3) > 1;
	insn->vvvv = ~p1 >> 3 & 15;
	insn->map = map == 0 || map > INSN_MAP_0F3A ? INSN_MAP_OTHER : (uint8_t)map;
	return take_u8(b);
}

static void take_modrm(struct bytes *b, const struct prefixes *prefixes, struct insn *insn)
{
	uint8_t byte = take_u8(b), sib;
	uint8_t low = byte & 7;

	insn->has_modrm = true;
	insn->mod = byte >> 6;
	insn->reg = (uint8_t)((byte >> 3 & 7) | (prefixes->rex & 4 ? 8 : 0));
	insn->rm = (uint8_t)(low | (prefixes->rex & 1 ? 8 : 0));
	if (insn->mod == 3)
		return;
	insn->base = insn->rm;
	if (low == 4) {
		sib = take_u8(b);
		insn->has_sib = true;
		low = sib & 7;
		insn->base = (uint8_t)(low | (prefixes->rex & 1 ? 8 : 0));
		insn->index = (uint8_t)((sib >> 3 & 7) | (prefixes->rex & 2 ? 8 : 0));
		insn->has_no_base = insn->mod == 0 && low == 5;
	} else {
		insn->is_rip_relative = insn->mod == 0 && low == 5;
	}
	if (insn->mod == 1)
		insn->disp = (int32_t)take_signed(b, 1);
	else if (insn->mod == 2 || insn->is_rip_relative || insn->has_no_base)
		insn->disp = (int32_t)take_signed(b, 4);
}

/* The opcode with its map; false: there is none such. */
static bool take_opcode(struct bytes *b, struct insn *insn, struct prefixes *prefixes)
{
	uint8_t byte = take_prefixes(b, insn, prefixes);

	insn->is_wide = prefixes->rex >> 3 & 1;
	if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) {
		insn->op = take_vex(b, byte, insn, prefixes);
		return true;
	}
	insn->op = byte;
	if (byte != 0x0f)
		return !has_bit(invalid_1, byte);
	insn->map = INSN_MAP_0F;
	insn->op = take_u8(b);
	if (insn->op == 0x38 || insn->op == 0x3a) {
		insn->map = insn->op == 0x38 ? INSN_MAP_0F38 : INSN_MAP_0F3A;
		insn->op = take_u8(b);
	}
	return true;
}

static bool has_modrm(const struct insn *insn)
{
	if (insn->map == INSN_MAP_1)
		return has_bit(modrm_1, insn->op);
	if (insn->map == INSN_MAP_0F)
		return insn->is_vex ? insn->op != 0x77 : !has_bit(no_modrm_0f, insn->op);
	return true;
}

bool insn_decode(const uint8_t *p, size_t left, struct insn *ret)
{
	struct bytes b = {.p = p, .end = p + MIN(left, (size_t)INSN_BYTES_MAX)};
	struct prefixes prefixes = {0};

	memset(ret, 0, sizeof(*ret));
	ret->index = NO_INDEX;
	if (!take_opcode(&b, ret, &prefixes))
		return false;
	if (has_modrm(ret))
		take_modrm(&b, &prefixes, ret);
	else
		ret->rm = (uint8_t)((ret->op & 7) | (prefixes.rex & 1 ? 8 : 0));
	if (ret->map == INSN_MAP_1 && ret->op >= 0xa0 && ret->op <= 0xa3) {
		take_signed(&b, prefixes.has_67 ? 4 : 8);
	} else if (ret->map == INSN_MAP_1 && ret->op == 0xc8) {
		ret->imm = take_signed(&b, 2);
		take_u8(&b);
	} else {
		ret->imm = take_signed(&b, imm_bytes(ret));
	}
	ret->bytes = (uint8_t)(b.p - p);
	return !b.is_cut;
}

/* --- what is written --- */

/* Of the one-byte map, with modrm: is REG or is RM written? */
static bool writes_reg_1(const struct insn *insn)
{
	uint8_t op = insn->op;

	return (op < 0x38 && (op & 7) >= 2 && (op & 7) <= 3) || op == 0x63 || op == 0x69 ||
	       op == 0x6b || op == 0x86 || op == 0x87 || op == 0x8a || op == 0x8b || op == 0x8d;
}

static bool writes_rm_1(const struct insn *insn)
{
	uint8_t op = insn->op, ext = insn->reg & 7;

	switch (op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return ext != 7;
	case 0xf6:
	case 0xf7:
		return ext == 2 || ext == 3;
	case 0xfe:
	case 0xff:
		return ext <= 1;
	default:
		return (op < 0x38 && (op & 7) <= 1) || (op >= 0x86 && op <= 0x89) || op == 0x8c ||
		       op == 0x8f || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
		       (op >= 0xd0 && op <= 0xd3);
	}
}

static bool writes_1(const struct insn *insn, unsigned int reg)
{
	uint8_t op = insn->op;

	if (insn->has_modrm)
		return (writes_reg_1(insn) && insn->reg == reg) ||
		       (writes_rm_1(insn) && insn->mod == 3 && insn->rm == reg);
	if ((op >= 0x58 && op <= 0x5f) || (op >= 0x91 && op <= 0x97) || op >= 0xb8)
		return op < 0xc0 && insn->rm == reg;
	return false;
}

static bool writes_0f(const struct insn *insn, unsigned int reg)
{
	uint8_t op = insn->op;
	bool reg_is = insn->reg == reg, rm_is = insn->mod == 3 && insn->rm == reg;

	if (op == 0x50 || op == 0xd7 || op == 0xc5 || ((op == 0x2c || op == 0x2d) && insn->has_rep))
		return reg_is; /* from a vector register */
	if (op == 0x7e)
		return rm_is && !insn->has_rep;
	if (insn->is_vex)
		return false;
	if (op >= 0xc8 && op <= 0xcf)
		return insn->rm == reg;
	if (op == 0xc0 || op == 0xc1)
		return reg_is || rm_is;
	if (op == 0x02 || op == 0x03 || (op >= 0x40 && op <= 0x4f) || op == 0xaf ||
	    (op >= 0xb6 && op <= 0xb8) || (op >= 0xbc && op <= 0xbf))
		return reg_is;
	return rm_is && ((op >= 0x90 && op <= 0x9f) || op == 0xa4 || op == 0xa5 || op == 0xab ||
			 op == 0xac || op == 0xad || op == 0xb0 || op == 0xb1 || op == 0xb3 ||
			 (op == 0xba && (insn->reg & 7) > 4) || op == 0xbb || op == 0xc7);
}

/* Of general registers a byte is written. */
static bool is_of_bytes(const struct insn *insn)
{
	uint8_t op = insn->op;

	if (insn->map == INSN_MAP_0F)
		return !insn->is_vex && ((op >= 0x90 && op <= 0x9f) || op == 0xb0 || op == 0xc0);
	return insn->map == INSN_MAP_1 && insn->has_modrm && (op & 1) == 0 && op != 0x8c;
}

bool insn_writes(const struct insn *insn, unsigned int reg)
{
	if (is_of_bytes(insn) && !insn->has_rex && reg >= 4)
		return false;
	switch (insn->map) {
	case INSN_MAP_1:
		return writes_1(insn, reg);
	case INSN_MAP_0F:
		return writes_0f(insn, reg);
	case INSN_MAP_0F38: /* movbe, crc32, and BMI, of which the second operand is written by some */
		return insn->op >= 0xf0 && insn->op <= 0xf7 &&
		       (insn->reg == reg || (insn->is_vex && insn->vvvv == reg &&
					     (insn->op == 0xf3 || insn->op == 0xf6)));
	case INSN_MAP_0F3A:
		return (insn->op == 0xf0 && insn->reg == reg) ||
		       (insn->op >= 0x14 && insn->op <= 0x17 && insn->mod == 3 && insn->rm == reg);
	default:
		return false;
	}
}
