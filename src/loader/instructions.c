/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A listing is checked once, completely, and copied: see instructions.h. */
#include "config.h"

#include "src/loader/instructions.h"

#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/loader/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Take RECORD, which comes at or after FROM and ends before the listing's bound; its text goes to RET's. */
static bool take(const struct protocol_instruction *record, uint64_t from, const char *text,
		 uint32_t text_bytes, struct instructions *ret)
{
	size_t room = LOADER_INSTRUCTION_BYTES_MAX;

	if (record->off < from || record->bytes == 0 || record->off > UINT64_MAX - record->bytes ||
	    record->text >= text_bytes || record->is_call > 1)
		return false;
	ret->all[ret->nr++] = (struct instruction){
		.off = record->off,
		.target = record->target,
		.text = (uint32_t)ret->text_bytes,
		.bytes = record->bytes,
		.is_call = record->is_call != 0,
	};
	ret->text_bytes += 1 + text_sanitize(text + record->text,
					     strnlen(text + record->text,
						     MIN(text_bytes - record->text, room)),
					     ret->text + ret->text_bytes, room);
	return true;
}

int instructions_parse(const void *data, size_t len, struct instructions *ret)
{
	const struct protocol_code *head = data;
	const struct protocol_instruction *records;
	uint64_t from = 0;
	char *text;

	*ret = (struct instructions){0};
	if (len < sizeof(*head) || head->nr > LOADER_INSTRUCTIONS_MAX ||
	    (len - sizeof(*head)) / sizeof(*records) < head->nr ||
	    len - sizeof(*head) - head->nr * sizeof(*records) != head->text_bytes)
		return -EBADMSG;
	records = (const struct protocol_instruction *)(head + 1);
	ret->all = calloc(head->nr + 1ul, sizeof(*ret->all));
	/* Overlapping texts cannot ask for more than so much each; what is not written takes no memory. */
	ret->text = malloc((head->nr + 1ul) * LOADER_INSTRUCTION_BYTES_MAX);
	if (!ret->all || !ret->text) {
		instructions_done(ret);
		return -ENOMEM;
	}
	ret->vaddr = head->vaddr;
	ret->is_cut = head->is_cut != 0;
	for (uint32_t i = 0; i < head->nr; i++) {
		if (!take(&records[i], from, (const char *)(records + head->nr), head->text_bytes,
			  ret)) {
			instructions_done(ret);
			return -EBADMSG;
		}
		from = records[i].off + records[i].bytes;
	}
	text = realloc(ret->text, ret->text_bytes + 1);
	if (text)
		ret->text = text;
	return 0;
}

int instructions_take(int fd, struct instructions *ret)
{
	const void *data;
	size_t len;
	int r = memfd_map(fd, LOADER_CODE_ANSWER_MAX, &data, &len);

	*ret = (struct instructions){0};
	if (r < 0)
		return r;
	r = instructions_parse(data, len, ret);
	munmap((void *)(uintptr_t)data, len);
	return r;
}

void instructions_done(struct instructions *instructions)
{
	free(instructions->all);
	free(instructions->text);
	*instructions = (struct instructions){0};
}
