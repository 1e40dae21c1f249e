/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk asks of code that is made at run time, and the rules that were found for places in it: see code.h. */
#include "config.h"

#include "src/base/util.h"
#include "unwind/code_pieces.h"
#include "unwind/return_addrs_format.h"

#include <string.h>

#define CALL_MAX	  7 /* bytes of a near call without prefixes but REX */
#define CALL_DIRECT	  0xe8
#define CALL_DIRECT_BYTES 5

/*
 * HotSpot's interpreter pushes the address of what goes on after a call: code that first takes its
 * stack pointer from its own frame, `mov rsp, [rbp + disp8]`.
 */
static bool is_return_entry(const uint8_t *p, size_t bytes)
{
	return bytes >= 4 && p[0] == 0x48 && p[1] == 0x8b && p[2] == 0x65 && p[3] >= 0x80;
}

/* Do the bytes before END, at PC, look like a near call of code that there is? */
static bool is_after_call(const struct unwind_space *space, uint64_t pc, const uint8_t *end)
{
	int32_t rel;

	memcpy(&rel, end - sizeof(rel), sizeof(rel));
	if (end[-CALL_DIRECT_BYTES] == CALL_DIRECT &&
	    unwind_map_of(space, pc + (uint64_t)(int64_t)rel))
		return true;
	for (size_t bytes = 2; bytes <= CALL_MAX; bytes++)
		if (indirect_call_bytes(end - bytes, bytes) == bytes)
			return true;
	return false;
}

enum code_answer code_is_return(struct unwind_code *code, const struct unwind_space *space,
				uint64_t pc)
{
	uint8_t text[CALL_MAX + 4];
	bool is_pending = false;
	size_t got;

	if (code->machine == TABLE_MACHINE_AARCH64)
		return code_aarch64_is_return(code, space, pc);
	if (pc < CALL_MAX)
		return CODE_NO;
	got = code_fetch(code, space, pc - CALL_MAX, text, sizeof(text), &is_pending);
	if ((got >= CALL_MAX && is_after_call(space, pc, text + CALL_MAX)) ||
	    (got == sizeof(text) && is_return_entry(text + CALL_MAX, 4)))
		return CODE_YES;
	return is_pending ? CODE_PENDING : code_doubt(code, space, pc);
}

enum code_answer code_call_target(struct unwind_code *code, const struct unwind_space *space,
				  uint64_t pc, uint64_t *ret_target)
{
	uint8_t text[CALL_DIRECT_BYTES];
	bool is_pending = false;
	int32_t rel;

	if (code->machine == TABLE_MACHINE_AARCH64)
		return code_aarch64_call_target(code, space, pc, ret_target);
	if (pc < sizeof(text) || code_fetch(code, space, pc - sizeof(text), text, sizeof(text),
					    &is_pending) < sizeof(text))
		return is_pending ? CODE_PENDING : CODE_NO;
	memcpy(&rel, text + 1, sizeof(rel));
	*ret_target = pc + (uint64_t)(int64_t)rel;
	return text[0] == CALL_DIRECT ? CODE_YES : CODE_NO;
}

enum code_answer code_rule_at(struct unwind_code *code, const struct unwind_space *space,
			      uint64_t pc, bool is_exact, struct code_rule *ret)
{
	uint64_t key = pc << 1 | is_exact;
	struct remembered *known = &code->rules[hash_u64(key) % CODE_RULES];
	enum code_answer answer;

	if (known->key == key && known->generation == code->generation) {
		*ret = known->rule;
		answer = (enum code_answer)known->answer;
		return answer == CODE_NO ? code_doubt(code, space, pc) : answer;
	}
	answer = code->machine == TABLE_MACHINE_AARCH64
			 ? code_aarch64_find_rule(code, space, pc, is_exact, ret)
			 : code_find_rule(code, space, pc, is_exact, ret);
	if (answer == CODE_PENDING)
		return answer;
	if (code->budget->insns_left == 0) {
		code->budget->nr_given_up++;
		return CODE_NO;
	}
	*known = (struct remembered){.key = key,
				     .generation = code->generation,
				     .answer = (uint8_t)answer,
				     .rule = *ret};
	return answer == CODE_NO ? code_doubt(code, space, pc) : answer;
}
