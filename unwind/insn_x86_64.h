/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction of x86-64: how long it is and what it is made of (Intel SDM, volume 2, chapter 2 and appendix A).
 * Knows no address space and no meaning: code_way.c has that. Private to unwind/.
 */
#ifndef ST_UNWIND_INSN_X86_64_H
#define ST_UNWIND_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_BYTES_MAX 15

enum insn_map {
	INSN_MAP_1, /* one byte */
	INSN_MAP_0F,
	INSN_MAP_0F38,
	INSN_MAP_0F3A,
	INSN_MAP_OTHER, /* EVEX's own: vectors only */
};

struct insn {
	uint8_t bytes;
	uint8_t map; /* enum insn_map */
	uint8_t op;
	bool is_vex;	  /* or EVEX */
	bool is_wide;	  /* REX.W */
	bool has_rex;	  /* without one, a byte's registers 4 to 7 are ah, ch, dh and bh */
	bool has_16;	  /* the prefix 66, also as VEX has it */
	bool has_rep;	  /* f2 or f3, also as VEX has them */
	bool has_segment; /* fs or gs: an address is not that of the stack */
	bool has_modrm;
	uint8_t mod, reg,
		rm; /* of modrm, REX.R and REX.B in REG and RM; REG's low bits extend the opcode */
	uint8_t vvvv; /* VEX's third register */
	bool has_sib;
	uint8_t base, index; /* of the SIB byte, with REX; index 4: none */
	bool is_rip_relative, has_no_base;
	int32_t disp; /* EVEX's 8-bit ones are not scaled */
	int64_t imm;  /* sign-extended; of `enter` the first one */
};

/* The instruction that begins at P, of which LEFT bytes are there. False: it is none, or it is cut. */
bool insn_decode(const uint8_t *p, size_t left, struct insn *ret);

/* Does it write general register REG, as far as it is known here? Pushes, pops and calls: their rsp is not counted. */
bool insn_writes(const struct insn *insn, unsigned int reg);

#endif
