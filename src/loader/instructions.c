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

_Static_assert(INSTRUCTIONS_FILES_MAX == LOADER_CODE_FILES_MAX, "one number of files");

/* Append the string at AT of TEXT to RET's, where it is at *RET_AT. False: it is not in TEXT. */
static bool take_text(uint32_t at, const char *text, uint32_t text_bytes, struct instructions *ret,
		      uint32_t *ret_at)
{
	size_t room = LOADER_INSTRUCTION_BYTES_MAX;

	if (at >= text_bytes)
		return false;
	*ret_at = (uint32_t)ret->text_bytes;
	ret->text_bytes +=
		1 + text_sanitize(text + at, strnlen(text + at, MIN(text_bytes - at, room)),
				  ret->text + ret->text_bytes, room);
	return true;
}

/* Take RECORD, which comes at or after FROM and ends before the listing's bound; its text goes to RET's. */
static bool take(const struct protocol_instruction *record, uint64_t from, const char *text,
		 uint32_t text_bytes, struct instructions *ret)
{
	struct instruction *instruction = &ret->all[ret->nr++];

	if (record->off < from || record->bytes == 0 || record->off > UINT64_MAX - record->bytes ||
	    record->is_call > 1 || (record->line > 0 && record->file >= ret->nr_files))
		return false;
	*instruction = (struct instruction){
		.off = record->off,
		.target = record->target,
		.line = record->line,
		.file = record->file,
		.bytes = record->bytes,
		.is_call = record->is_call != 0,
	};
	return take_text(record->text, text, text_bytes, ret, &instruction->text);
}

static bool take_files(const struct protocol_code *head, const char *text, struct instructions *ret)
{
	for (; ret->nr_files < head->nr_files; ret->nr_files++)
		if (!take_text(head->files[ret->nr_files], text, head->text_bytes, ret,
			       &ret->files[ret->nr_files]))
			return false;
	return true;
}

static bool take_all(const struct protocol_code *head, struct instructions *ret)
{
	const struct protocol_instruction *records =
		(const struct protocol_instruction *)(head + 1);
	const char *text = (const char *)(records + head->nr);
	uint64_t from = 0;

	if (!take_files(head, text, ret))
		return false;
	for (uint32_t i = 0; i < head->nr; i++) {
		if (!take(&records[i], from, text, head->text_bytes, ret))
			return false;
		from = records[i].off + records[i].bytes;
	}
	return true;
}

int instructions_parse(const void *data, size_t len, struct instructions *ret)
{
	const struct protocol_code *head = data;
	size_t record_bytes = sizeof(struct protocol_instruction);
	char *text;

	*ret = (struct instructions){0};
	if (len < sizeof(*head) || head->nr > LOADER_INSTRUCTIONS_MAX ||
	    head->nr_files > LOADER_CODE_FILES_MAX ||
	    (len - sizeof(*head)) / record_bytes < head->nr ||
	    len - sizeof(*head) - head->nr * record_bytes != head->text_bytes)
		return -EBADMSG;
	ret->all = calloc(head->nr + 1ul, sizeof(*ret->all));
	/* Overlapping texts cannot ask for more than so much each; what is not written takes no memory. */
	ret->text = malloc((head->nr + head->nr_files + 1ul) * LOADER_INSTRUCTION_BYTES_MAX);
	if (!ret->all || !ret->text) {
		instructions_done(ret);
		return -ENOMEM;
	}
	ret->vaddr = head->vaddr;
	ret->is_cut = head->is_cut != 0;
	if (!take_all(head, ret)) {
		instructions_done(ret);
		return -EBADMSG;
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
