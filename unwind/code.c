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

/* The places in which what was found for KEY may be. */
static struct remembered *places_of(struct unwind_code *code, uint64_t key)
{
	return &code->rules[hash_u64(key) % (CODE_RULES / CODE_WAYS) * CODE_WAYS];
}

/* Is what was found still so? It is if none of the pieces that it was found in has changed. */
static bool is_current(const struct unwind_code *code, struct remembered *known)
{
	if (known->generation == code->generation)
		return true;
	if (known->generation == 0)
		return false;
	for (uint64_t left = known->groups; left; left &= left - 1)
		if (code->changed[__builtin_ctzll(left)] > known->generation)
			return false;
	known->generation = code->generation;
	return true;
}

static const struct remembered *find_known(struct unwind_code *code, uint64_t key)
{
	struct remembered *places = places_of(code, key);

	for (uint32_t i = 0; i < CODE_WAYS; i++)
		if (places[i].key == key)
			return is_current(code, &places[i]) ? &places[i] : NULL;
	return NULL;
}

/* In the place of what was found for it before, or of the oldest. */
static void remember(struct unwind_code *code, const struct remembered *found)
{
	struct remembered *places = places_of(code, found->key);
	uint32_t i = 0;

	while (i < CODE_WAYS - 1 && places[i].key != found->key)
		i++;
	memmove(places + 1, places, i * sizeof(*places));
	places[0] = *found;
}

enum code_answer code_rule_at(struct unwind_code *code, const struct unwind_space *space,
			      uint64_t pc, bool is_exact, struct code_rule *ret)
{
	uint64_t key = pc << 1 | is_exact;
	const struct remembered *known = find_known(code, key);
	enum code_answer answer;

	if (known) {
		*ret = known->rule;
		answer = (enum code_answer)known->answer;
		return answer == CODE_NO ? code_doubt(code, space, pc) : answer;
	}
	code->groups_read = 0;
	answer = code->machine == TABLE_MACHINE_AARCH64
			 ? code_aarch64_find_rule(code, space, pc, is_exact, ret)
			 : code_find_rule(code, space, pc, is_exact, ret);
	if (answer == CODE_PENDING)
		return answer;
	if (code->budget->insns_left == 0) {
		code->budget->nr_given_up++;
		return CODE_NO;
	}
	remember(code, &(struct remembered){.key = key,
					    .groups = code->groups_read,
					    .generation = code->generation,
					    .answer = (uint8_t)answer,
					    .rule = *ret});
	return answer == CODE_NO ? code_doubt(code, space, pc) : answer;
}
