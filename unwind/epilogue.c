/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the few instructions that aarch64 epilogues are made of: see
 * lower.h. Whatever else stands there, CFI is believed. Source: Arm ARM, C4.1
 * (encodings).
 */
#include "config.h"

#include "unwind/abi.h"
#include "unwind/lower.h"

#define REG_SP 31

/* A load from the stack: where, which registers, and how much sp grows by it. */
struct load {
	bool has_x29, has_x30;
	int32_t off, grows;
};

static int32_t sign_extend(uint32_t value, unsigned int bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* ldp of x, d or q registers from sp. */
static bool decode_pair(uint32_t insn, struct load *ret)
{
	bool is_x = insn >> 24 == 0xa8 || insn >> 24 == 0xa9;
	bool is_d = insn >> 24 == 0x6c || insn >> 24 == 0x6d;
	bool is_q = insn >> 24 == 0xac || insn >> 24 == 0xad;
	uint32_t a = insn & 31, b = insn >> 10 & 31, form = insn >> 22 & 7;
	int32_t imm = sign_extend(insn >> 15 & 0x7f, 7) * (is_q ? 16 : 8);

	if ((!is_x && !is_d && !is_q) || (insn >> 5 & 31) != REG_SP || (form != 3 && form != 5))
		return false;
	*ret = (struct load){
		.has_x29 = is_x && (a == A64_X29 || b == A64_X29),
		.has_x30 = is_x && (a == A64_X30 || b == A64_X30),
		.off = form == 5 ? imm : 0,
		.grows = form == 3 ? imm : 0,
	};
	return true;
}

/* ldr of an x or d register from sp. */
static bool decode_single(uint32_t insn, struct load *ret)
{
	bool is_x = insn >> 24 == 0xf8 || insn >> 24 == 0xf9;
	uint32_t reg = insn & 31;

	if ((insn >> 5 & 31) != REG_SP)
		return false;
	*ret = (struct load){.has_x29 = is_x && reg == A64_X29, .has_x30 = is_x && reg == A64_X30};
	if ((insn & 0xfbc00000u) == 0xf9400000u)
		ret->off = (int32_t)(insn >> 10 & 0xfff) * 8;
	else if ((insn & 0xfbe00c00u) == 0xf8400400u)
		ret->grows = sign_extend(insn >> 12 & 0x1ff, 9);
	else
		return false;
	return true;
}

static bool decode_load(uint32_t insn, struct load *ret)
{
	return decode_pair(insn, ret) || decode_single(insn, ret);
}

/* add sp,sp,#imm; autiasp, autibsp: how much sp grows. */
static bool decode_other(uint32_t insn, int32_t *ret_grows)
{
	*ret_grows = 0;
	if ((insn & 0xff8003ffu) == 0x910003ffu)
		*ret_grows = (int32_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
	else if (insn != 0xd50323bfu && insn != 0xd50323ffu)
		return false;
	return true;
}

/* ret, retaa, retab; or a jump to another function: b, br. */
static bool is_exit(uint32_t insn)
{
	return insn == 0xd65f03c0u || insn == 0xd65f0bffu || insn == 0xd65f0fffu ||
	       (insn & 0xfc000000u) == 0x14000000u || (insn & 0xfffffc1fu) == 0xd61f0000u;
}

/* The instructions after LOAD, at CODE, up to the exit; *ret_grows by all of them, LOAD too. */
static bool read_tail(const uint8_t *code, size_t bytes, const struct load *load,
		      struct epilogue *ret, int32_t *ret_grows)
{
	int32_t total = load->grows;

	for (ret->nr_insns = 0; ret->nr_insns < EPILOGUE_INSNS_MAX; code += A64_INSN_BYTES) {
		struct load next;
		uint32_t insn;
		int32_t grows;

		if (bytes < A64_INSN_BYTES)
			return false;
		insn = a64_insn(code);
		bytes -= A64_INSN_BYTES;
		ret->cfa_off[ret->nr_insns++] = total;
		if (is_exit(insn))
			break;
		if (decode_load(insn, &next) && !next.has_x29 && !next.has_x30)
			grows = next.grows;
		else if (!decode_other(insn, &grows))
			return false;
		total += grows;
		if (ret->nr_insns == EPILOGUE_INSNS_MAX)
			return false;
	}
	for (unsigned int i = 0; i < ret->nr_insns; i++)
		ret->cfa_off[i] = total - ret->cfa_off[i];
	*ret_grows = total;
	return true;
}

/* How much sp must grow from LOAD on, if ROW is right up to there. */
static bool frame_left(const struct cfa_row *row, const struct load *load, int64_t *ret)
{
	if (row->cfa.kind != REG_VAL_OFFSET)
		return false;
	*ret = row->cfa.off;
	if (row->cfa_reg == A64_X29) /* which points at what is loaded */
		*ret += load->off;
	return row->cfa_reg == A64_X29 || row->cfa_reg == A64_SP;
}

bool epilogue_next(const struct cfa_row *row, const uint8_t *code, size_t bytes, size_t *at,
		   struct epilogue *ret)
{
	bool saves_x29 = row->regs[A64_X29].kind == REG_OFFSET;

	for (; bytes - *at >= 2 * (size_t)A64_INSN_BYTES; *at += A64_INSN_BYTES) {
		size_t tail = *at + A64_INSN_BYTES;
		struct load load;
		int32_t grows;
		int64_t left;

		if (!decode_load(a64_insn(code + *at), &load) || !load.has_x30)
			continue;
		if (load.has_x29 != saves_x29 || !frame_left(row, &load, &left))
			continue;
		if (!read_tail(code + tail, bytes - tail, &load, ret, &grows) || grows != left)
			continue;
		ret->at = tail;
		*at = tail + ret->nr_insns * (size_t)A64_INSN_BYTES;
		return true;
	}
	return false;
}
