/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory files are the client's own. What was checked must not change any
 * more: a table is sealed, names are copied before they are looked at.
 */
#include "config.h"

#include "src/loader/answer.h"

#include "src/base/cleanup.h"
#include "src/base/text.h"
#include "src/base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many strings of bounded length per name or frame: overlapping ones cannot ask for more. */
#define NAME_STRINGS  3
#define FRAME_STRINGS 3
#define TEXT_BYTES                                                              \
	((size_t)(LOADER_FRAMES_MAX * FRAME_STRINGS + LOADER_SPLITS_TOLD_MAX) * \
	 LOADER_NAME_BYTES_MAX)
_Static_assert(LOADER_NAMES_MAX *NAME_STRINGS <= LOADER_FRAMES_MAX * FRAME_STRINGS, "names fit");

int answer_names_init(struct answer_names *names)
{
	names->text = malloc(TEXT_BYTES);
	return names->text ? 0 : -ENOMEM;
}

static void unshare(struct answer_names *names)
{
	if (names->shared)
		munmap((void *)(uintptr_t)names->shared, names->shared_bytes);
	names->shared = NULL;
	names->shared_bytes = 0;
}

void answer_names_done(struct answer_names *names)
{
	unshare(names);
	free(names->text);
	free(names->copy);
	*names = (struct answer_names){0};
}

int answer_names_share(struct answer_names *names, size_t bytes, int *ret_fd)
{
	AUTO_CLOSE int fd = memfd_create("stacktop-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const void *map;

	unshare(names);
	/* Reading a mapped file that was shortened would be SIGBUS. */
	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -errno;
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	names->shared = map;
	names->shared_bytes = bytes;
	*ret_fd = steal_fd(&fd);
	return 0;
}

bool answer_is_sane(const struct protocol_reply *message, enum protocol_kind kind, uint64_t serial)
{
	if (message->version != PROTOCOL_VERSION || message->serial != serial ||
	    message->kind != kind)
		return false;
	switch (message->status) {
	case LOADER_OK:
	case LOADER_NOT_ELF:
	case LOADER_NO_CODE:
	case LOADER_NO_MEMORY:
	case LOADER_FAILED:
	case LOADER_LATE:
	case LOADER_NOT_BUILT:
		return message->build_id_bytes <= sizeof(message->build_id) &&
		       memchr(message->debuglink, '\0', sizeof(message->debuglink));
	default:
		return false;
	}
}

void answer_nothing(const struct request *request, enum loader_status status,
		    struct answer_names *names, struct loader_reply *ret)
{
	*ret = (struct loader_reply){
		.kind = request->kind,
		.status = status,
		.module = request->module,
		.blob_fd = -1,
	};
	if (!answer_is_text(request->kind))
		return;
	if (request->kind == LOADER_REPLY_JIT_FRAMES) {
		ret->told = names->told;
		ret->nr_told = request->nr_offs;
		for (uint32_t i = 0; i < request->nr_offs; i++)
			names->told[i] =
				(struct code_told){.key = request->offs[i], .answer = CODE_NO};
		return;
	}
	if (request->kind == LOADER_REPLY_LINES) {
		ret->places = names->places;
		ret->nr_places = ret->nr_answered = request->nr_offs;
		for (uint32_t i = 0; i < request->nr_offs; i++)
			names->places[i] = (struct loader_place){.off = request->offs[i]};
		return;
	}
	ret->names = names->all;
	ret->nr_names = request->nr_offs;
	for (uint32_t i = 0; i < request->nr_offs; i++)
		names->all[i] = (struct loader_name){
			.off = request->offs[i],
			.func_off = UINT64_MAX,
			.from = request->offs[i],
			.last = request->offs[i],
		};
}

/* Sanitize the string at AT of TEXT again, into OUT. Returns OUT; *USED counts its bytes. */
static const char *name_copy(const char *text, size_t text_bytes, uint32_t at, char *out,
			     size_t *used)
{
	size_t len = strnlen(text + at, text_bytes - at);

	*used += text_sanitize(text + at, len, out, LOADER_NAME_BYTES_MAX) + 1;
	return out;
}

static bool name_take(const struct protocol_name *record, const char *text, size_t text_bytes,
		      struct loader_name *name, char *out, size_t *used)
{
	if (record->off != name->off || record->from > record->off || record->last < record->off ||
	    (record->name != PROTOCOL_NO_TEXT && record->name >= text_bytes) ||
	    (record->object != PROTOCOL_NO_TEXT && record->object >= text_bytes) ||
	    (record->mangled != PROTOCOL_NO_TEXT && record->mangled >= text_bytes) ||
	    (record->func_off > record->off && record->func_off != UINT64_MAX))
		return false;
	name->func_off = record->func_off;
	name->func_vaddr = record->func_vaddr;
	name->from = record->from;
	name->last = record->last;
	if (record->name != PROTOCOL_NO_TEXT)
		name->name = name_copy(text, text_bytes, record->name, out + *used, used);
	if (record->mangled != PROTOCOL_NO_TEXT)
		name->mangled = name_copy(text, text_bytes, record->mangled, out + *used, used);
	if (record->object != PROTOCOL_NO_TEXT)
		name->object = name_copy(text, text_bytes, record->object, out + *used, used);
	return true;
}

/* Check LEN bytes at DATA completely and copy them to NAMES, which has REQUEST's offsets. */
static int names_take(const struct request *request, const void *data, size_t len,
		      struct answer_names *names)
{
	const struct protocol_names *head = data;
	const struct protocol_name *records;
	size_t fixed, used = 0;

	if (len < sizeof(*head) || head->nr != request->nr_offs)
		return -EBADMSG;
	fixed = sizeof(*head) + head->nr * sizeof(*records);
	if (len < fixed || len - fixed != head->text_bytes)
		return -EBADMSG;
	records = (const struct protocol_name *)((const char *)data + sizeof(*head));
	for (uint32_t i = 0; i < head->nr; i++)
		if (!name_take(&records[i], (const char *)data + fixed, head->text_bytes,
			       &names->all[i], names->text, &used))
			return -EBADMSG;
	return 0;
}

static bool text_take(uint32_t at, const char *text, size_t text_bytes, char *out, size_t *used,
		      const char **ret)
{
	if (at == PROTOCOL_NO_TEXT)
		return true;
	if (at >= text_bytes)
		return false;
	*ret = name_copy(text, text_bytes, at, out + *used, used);
	return true;
}

static bool frame_take(const struct protocol_frame *record, const char *text, size_t text_bytes,
		       struct loader_frame *frame, char *out, size_t *used)
{
	*frame = (struct loader_frame){.line = record->line, .decl_line = record->decl_line};
	return text_take(record->name, text, text_bytes, out, used, &frame->name) &&
	       text_take(record->file, text, text_bytes, out, used, &frame->file) &&
	       text_take(record->decl_file, text, text_bytes, out, used, &frame->decl_file);
}

/* The same as names_take() for lines. RET has as many of the offsets answered as there are. */
static int lines_take(const void *data, size_t len, struct answer_names *names,
		      struct loader_reply *ret)
{
	const struct protocol_lines *head = data;
	const struct protocol_place *places;
	const struct protocol_frame *frames;
	size_t fixed, used = 0;

	if (len < sizeof(*head) || head->nr_places > ret->nr_places ||
	    head->nr_frames > LOADER_FRAMES_MAX || head->nr_splits > LOADER_SPLITS_TOLD_MAX ||
	    (head->nr_places == 0 && ret->nr_places > 0))
		return -EBADMSG;
	fixed = sizeof(*head) + head->nr_places * sizeof(*places) +
		head->nr_frames * sizeof(*frames);
	if (len < fixed || len - fixed != head->text_bytes)
		return -EBADMSG;
	places = (const struct protocol_place *)(head + 1);
	frames = (const struct protocol_frame *)(places + head->nr_places);
	for (uint32_t i = 0; i < head->nr_frames; i++)
		if (!frame_take(&frames[i], (const char *)data + fixed, head->text_bytes,
				&names->frames[i], names->text, &used))
			return -EBADMSG;
	for (uint32_t i = 0; i < head->nr_places; i++) {
		if (places[i].nr > LOADER_CHAIN_MAX || places[i].off != names->places[i].off ||
		    places[i].first > head->nr_frames ||
		    places[i].nr > head->nr_frames - places[i].first)
			return -EBADMSG;
		names->places[i].frames = names->frames + places[i].first;
		names->places[i].nr_frames = places[i].nr;
	}
	for (uint32_t i = 0; i < head->nr_splits; i++)
		if (head->splits[i] == PROTOCOL_NO_TEXT ||
		    !text_take(head->splits[i], (const char *)data + fixed, head->text_bytes,
			       names->text, &used, &names->splits[i]))
			return -EBADMSG;
	ret->splits = names->splits;
	ret->nr_splits = head->nr_splits;
	ret->nr_answered = head->nr_places;
	return 0;
}

/* The same for frames; what they say is checked where it is used. */
static int frames_take(const struct request *request, const void *data, size_t len,
		       struct answer_names *names)
{
	if (len != request->nr_offs * sizeof(*names->told))
		return -EBADMSG;
	memcpy(names->told, data, len);
	for (uint32_t i = 0; i < request->nr_offs; i++)
		if (names->told[i].key != request->offs[i])
			return -EBADMSG;
	return 0;
}

/* Is FD, of at most MAX bytes, cut to BYTES and beyond any change? */
static int output_check(int fd, uint64_t bytes, uint64_t max)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((seals & PROTOCOL_SEALS) != PROTOCOL_SEALS || bytes == 0 || bytes > max ||
	    (uint64_t)st.st_size != bytes)
		return -EBADMSG;
	return 0;
}

/* Copy BYTES that the loader shares, then look at them: the answer to REQUEST, for RET. */
static int names_copy(const struct request *request, uint64_t bytes, struct answer_names *names,
		      struct loader_reply *ret)
{
	int r;

	if (bytes == 0 || bytes > names->shared_bytes)
		return -EBADMSG;
	r = vec_reserve(&names->copy, &names->cap_copy, bytes, names->shared_bytes);
	if (r < 0)
		return r;
	memcpy(names->copy, names->shared, bytes);
	if (request->kind == LOADER_REPLY_LINES)
		return lines_take(names->copy, bytes, names, ret);
	if (request->kind == LOADER_REPLY_JIT_FRAMES)
		return frames_take(request, names->copy, bytes, names);
	return names_take(request, names->copy, bytes, names);
}

static void describe(const struct protocol_reply *message, struct loader_reply *ret)
{
	ret->build_id_bytes = message->build_id_bytes;
	ret->is_refused = message->is_refused != 0;
	ret->has_symtab = message->has_symtab != 0;
	memcpy(ret->build_id, message->build_id, sizeof(ret->build_id));
	text_sanitize(message->debuglink, strlen(message->debuglink), ret->debuglink,
		      sizeof(ret->debuglink));
	if (ret->kind != LOADER_REPLY_LINES && strchr(ret->debuglink, '/'))
		ret->debuglink[0] = '\0';
}

int answer_take(const struct request *request, const struct protocol_reply *message, int *output,
		uint64_t output_max, struct answer_names *names, struct loader_reply *ret)
{
	int r;

	answer_nothing(request, (enum loader_status)message->status, names, ret);
	describe(message, ret);
	if (message->status != LOADER_OK)
		return 0;
	ret->jit = (struct loader_jit){
		.count = message->jit_count,
		.left_out = message->jit_left_out,
		.has_changed = message->jit_has_changed != 0,
		.is_late = message->jit_is_late != 0,
		.has_frames = message->jit_has_frames != 0,
		.changed_ns = message->jit_changed_ns,
	};
	if (request->kind == LOADER_REPLY_JIT)
		return 0;
	if (answer_is_text(request->kind))
		return names_copy(request, message->output_bytes, names, ret);
	r = output_check(*output, message->output_bytes, output_max);
	if (r == 0)
		ret->blob_fd = steal_fd(output);
	return r;
}
