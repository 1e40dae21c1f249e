/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One open file for each that was asked about lately. See lines.h. */
#include "config.h"

#include "src/loader/lines.h"

#include "src/base/deadline.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/loader/demangle.h"
#include "src/loader/jit_told.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define STRINGS_PER_FRAME 3
#define NAMES_KNOWN	  512u /* in an answer, of more some are written again */

_Static_assert(DEBUG_INFO_CHAIN_MAX == LOADER_CHAIN_MAX, "one length of chains");

/* --- files --- */

static void file_forget(struct lines_file *file)
{
	debug_info_free(file->info);
	*file = (struct lines_file){0};
}

void lines_done(struct lines *lines)
{
	for (size_t i = 0; i < LINES_FILES_MAX; i++)
		file_forget(&lines->files[i]);
}

static struct lines_file *oldest_of(struct lines *lines)
{
	struct lines_file *oldest = &lines->files[0];

	for (size_t i = 1; i < LINES_FILES_MAX; i++)
		if (lines->files[i].last_use < oldest->last_use)
			oldest = &lines->files[i];
	return oldest;
}

void lines_trim(struct lines *lines)
{
	size_t sum = 0, unpacked = 0;

	/* From the one used last on: what does not fit beside those is forgotten. */
	for (uint64_t before = UINT64_MAX;;) {
		struct lines_file *next = NULL;
		size_t bytes;

		for (size_t i = 0; i < LINES_FILES_MAX; i++) {
			struct lines_file *file = &lines->files[i];

			if (file->info && file->last_use < before &&
			    (!next || file->last_use > next->last_use))
				next = file;
		}
		if (!next)
			return;
		before = next->last_use;
		debug_info_trim(next->info, LINES_BYTES_MAX - sum);
		bytes = debug_info_bytes(next->info);
		unpacked += debug_info_unpacked_bytes(next->info);
		/* The one used last stays: it is in use, and its own bounds hold. */
		if (sum > 0 && (bytes > LINES_BYTES_MAX - sum || unpacked > LINES_UNPACKED_MAX))
			file_forget(next);
		else
			sum += MIN(bytes, LINES_BYTES_MAX - sum);
	}
}

/* Is FD open on the file with this build-id? */
static bool has_id(int fd, const void *id, size_t bytes)
{
	struct elf_file elf;
	bool is_it;

	if (elf_file_open(fd, &elf) < 0)
		return false;
	is_it = elf.build_id_bytes == bytes && memcmp(elf.build_id, id, bytes) == 0;
	elf_file_close(&elf);
	return is_it;
}

/* Distributions have such files in one folder, .dwz, and tell the path from the root or from the file: what follows it. */
static void other_name(const char *path, char *out, size_t size)
{
	static const char folder[] = ".dwz/";
	const char *at = strstr(path, folder);
	size_t len;

	out[0] = '\0';
	if (!at || (at > path && at[-1] != '/'))
		return;
	at += strlen(folder);
	len = strlen(at);
	/* One that is not harmless as it is would not be found under the changed name. */
	if (len >= size || text_sanitize(at, len, out, size) != len || memcmp(at, out, len) != 0)
		out[0] = '\0';
}

/* Debug information that was moved to another file: is it one of FILES? */
static void other_find(struct lines_file *file, const struct cache_files *files)
{
	const char *path;
	const void *id;
	size_t bytes = debug_info_other_id(file->info, &id, &path);

	if (bytes == 0 || bytes > sizeof(file->other_id))
		return;
	for (unsigned int i = 1; i < files->nr; i++)
		if (has_id(files->all[i], id, bytes) &&
		    debug_info_add_other(file->info, files->all[i]) == 0)
			return;
	memcpy(file->other_id, id, bytes);
	file->other_id_bytes = (uint8_t)bytes;
	other_name(path, file->other_name, sizeof(file->other_name));
}

/* What was split off from units: is its package one of FILES? */
static void package_find(struct lines_file *file, const struct cache_files *files)
{
	for (unsigned int i = 1; i < files->nr; i++)
		if (debug_info_add_package(file->info, files->all[i]) == 0)
			return;
}

/* The debug files first: what a program keeps itself beside them is less. */
static int info_open(struct lines_file *file, const struct cache_files *files,
		     const struct elf_file *elf)
{
	int r = -ENOENT;

	for (unsigned int i = 1; i < files->nr && r < 0; i++) {
		struct elf_file debug;

		if (!elf_file_open_debug(files->all[i], elf, &debug)) {
			if (deadline_is_over_now())
				return -ETIME;
			continue;
		}
		elf_file_close(&debug);
		r = debug_info_open(files->all[i], elf, &file->info);
	}
	return r < 0 ? debug_info_open(files->all[0], elf, &file->info) : r;
}

static int file_open(struct lines_file *file, const struct cache_files *files)
{
	struct elf_file elf;
	int r = elf_file_open(files->all[0], &elf);

	if (r < 0)
		return r;
	r = info_open(file, files, &elf);
	if (r == 0) {
		other_find(file, files);
		package_find(file, files);
	}
	file->head = elf;
	file->head.elf = NULL;
	elf_file_close(&elf);
	return r;
}

/* Files are mapped whole, and together they may be more than the loader may hold: then it is this one alone. */
static int file_open_alone(struct lines *lines, struct lines_file *file,
			   const struct cache_files *files)
{
	for (size_t i = 0; i < LINES_FILES_MAX; i++)
		if (&lines->files[i] != file)
			file_forget(&lines->files[i]);
	return file_open(file, files);
}

struct lines_file *lines_get(struct lines *lines, uint64_t key, const struct cache_files *files)
{
	struct cache_stamp stamps[CACHE_FILES_MAX];
	struct lines_file *file = NULL;

	cache_stamps(files, stamps);
	for (size_t i = 0; i < LINES_FILES_MAX; i++)
		if (lines->files[i].key == key)
			file = &lines->files[i];
	if (!file || file->nr_files != files->nr ||
	    memcmp(file->stamps, stamps, files->nr * sizeof(*stamps)) != 0) { /* opened anew */
		if (!file)
			file = oldest_of(lines);
		file_forget(file);
		file->key = key;
		file->nr_files = files->nr;
		memcpy(file->stamps, stamps, sizeof(stamps));
		file->error = file_open(file, files);
		if (file->error == -ENOMEM)
			file->error = file_open_alone(lines, file, files);
	}
	file->last_use = ++lines->uses;
	return file;
}

void lines_add_splits(struct lines *lines, uint64_t key, const struct cache_files *files,
		      const int *fds, uint32_t nr)
{
	struct lines_file *file = lines_get(lines, key, files);

	for (uint32_t i = 0; i < nr && file->info; i++)
		debug_info_add_split(file->info, fds[i]);
}

/* Another time there may be more time, or more memory: it is to be tried again. */
static bool is_passing(int error)
{
	return error == -ETIME || error == -ENOMEM;
}

int lines_at(struct lines_file *file, uint64_t off, struct debug_frame *frame)
{
	uint64_t vaddr;
	int r = file->error;

	if (r == 0 && file->info && elf_file_vaddr_of(&file->head, off, &vaddr)) {
		debug_info_trim(file->info, LINES_BYTES_MAX);
		r = debug_info_line(file->info, vaddr, frame);
	}
	if (is_passing(file->error))
		file_forget(file);
	return r < 0 && !is_passing(r) ? 0 : r;
}

/* --- answers --- */

/* A name that is in the answer's text. */
struct put_name {
	const char *mangled; /* as it is in the file: by its place; NULL: none */
	uint32_t at;
};

struct answer {
	struct protocol_lines *head;
	struct protocol_place *places;
	struct protocol_frame frames[LOADER_FRAMES_MAX];
	char *text; /* at the end of the room, moved to its place at last */
	size_t text_max;
	struct put_name names[NAMES_KNOWN]; /* by the hash of their places */
};

/* What was written at the end of the text stays there. */
static uint32_t text_keep(struct answer *answer)
{
	uint32_t at = answer->head->text_bytes;

	answer->head->text_bytes += (uint32_t)strlen(answer->text + at) + 1;
	return at;
}

static uint32_t put_path(struct answer *answer, const char *path)
{
	if (!path)
		return PROTOCOL_NO_TEXT;
	text_sanitize(path, strnlen(path, LOADER_NAME_BYTES_MAX),
		      answer->text + answer->head->text_bytes, LOADER_NAME_BYTES_MAX);
	return text_keep(answer);
}

/* Addresses of one function have its name, and what is inlined in many places has one: it is demangled once. */
static uint32_t put_name(struct answer *answer, const char *mangled)
{
	struct put_name *name = &answer->names[hash_u64((uintptr_t)mangled) % NAMES_KNOWN];

	if (!mangled)
		return PROTOCOL_NO_TEXT;
	if (name->mangled != mangled) {
		demangle(mangled, answer->text + answer->head->text_bytes, LOADER_NAME_BYTES_MAX);
		*name = (struct put_name){.mangled = mangled, .at = text_keep(answer)};
	}
	return name->at;
}

static void put_frame(struct answer *answer, const struct debug_frame *from)
{
	answer->frames[answer->head->nr_frames++] = (struct protocol_frame){
		.name = put_name(answer, from->name),
		.file = put_path(answer, from->file),
		.decl_file = put_path(answer, from->decl_file),
		.line = from->line,
		.decl_line = from->decl_line,
	};
}

static bool has_room(const struct answer *answer)
{
	return answer->head->nr_frames + DEBUG_INFO_CHAIN_MAX <= LOADER_FRAMES_MAX &&
	       answer->head->text_bytes +
			       DEBUG_INFO_CHAIN_MAX * STRINGS_PER_FRAME * LOADER_NAME_BYTES_MAX <=
		       answer->text_max;
}

/* What is at OFF. 0, or why the whole answer fails. */
static int put_place(struct answer *answer, struct lines_file *file, uint64_t off)
{
	struct protocol_place *place = &answer->places[answer->head->nr_places];
	struct debug_frame frames[DEBUG_INFO_CHAIN_MAX];
	uint64_t vaddr;
	int nr = 0;

	if (file->info && elf_file_vaddr_of(&file->head, off, &vaddr)) {
		debug_info_trim(file->info, LINES_BYTES_MAX);
		nr = debug_info_at(file->info, vaddr, frames);
	}
	/* Damage in one unit says nothing of the others. */
	if (nr < 0 && nr != -EBADMSG && nr != -E2BIG)
		return nr;
	*place = (struct protocol_place){.off = off, .first = answer->head->nr_frames};
	for (int i = 0; i < nr; i++)
		put_frame(answer, &frames[i]);
	place->nr = answer->head->nr_frames - place->first;
	answer->head->nr_places++;
	return 0;
}

/* Where what was split off from units should be, of those that were looked into since the question number SINCE. */
static void put_splits(struct answer *answer, const struct debug_info *info, uint64_t since)
{
	char path[LOADER_NAME_BYTES_MAX];
	struct protocol_lines *head = answer->head;

	while (head->nr_splits < LOADER_SPLITS_TOLD_MAX &&
	       head->text_bytes + LOADER_NAME_BYTES_MAX <= answer->text_max &&
	       debug_info_lacks_split(info, since, head->nr_splits, path, sizeof(path)))
		head->splits[head->nr_splits++] = put_path(answer, path);
}

/* Everything to its place, without room between. */
static size_t answer_join(struct answer *answer)
{
	size_t frames_bytes = answer->head->nr_frames * sizeof(*answer->frames);
	char *at = (char *)(answer->places + answer->head->nr_places);

	memmove(at, answer->frames, frames_bytes);
	memmove(at + frames_bytes, answer->text, answer->head->text_bytes);
	return (size_t)(at + frames_bytes + answer->head->text_bytes - (char *)answer->head);
}

/* Room for an answer in OUT, of OUT_BYTES; false: that is too little. */
static bool answer_begin(struct answer *answer, void *out, size_t out_bytes)
{
	size_t fixed = sizeof(struct protocol_lines) +
		       LOADER_NAMES_MAX * sizeof(struct protocol_place) +
		       LOADER_FRAMES_MAX * sizeof(struct protocol_frame);

	if (out_bytes < fixed)
		return false;
	answer->head = out;
	answer->places = (struct protocol_place *)(answer->head + 1);
	answer->text = (char *)out + fixed;
	answer->text_max = out_bytes - fixed;
	*answer->head = (struct protocol_lines){0};
	memset(answer->names, 0, sizeof(answer->names));
	return has_room(answer);
}

ssize_t lines_build(struct lines *lines, const struct cache_files *files,
		    const struct protocol_request *request, void *out, size_t out_bytes,
		    struct protocol_reply *reply)
{
	struct lines_file *file = lines_get(lines, request->file_key, files);
	uint64_t since = file->info ? debug_info_uses(file->info) : 0;
	struct answer answer;

	assert(request->nr_offs <= LOADER_NAMES_MAX);
	if (file->error < 0 && file->error != -ENOENT) {
		int error = file->error;

		if (is_passing(error))
			file_forget(file);
		return error;
	}
	if (!answer_begin(&answer, out, out_bytes))
		return -E2BIG;
	for (uint32_t i = 0; i < request->nr_offs && has_room(&answer); i++) {
		int r = put_place(&answer, file, request->offs[i]);

		if (r < 0 && i > 0)
			break; /* those before it are good */
		if (r < 0)
			return r;
	}
	memcpy(reply->build_id, file->other_id, sizeof(reply->build_id));
	reply->build_id_bytes = file->other_id_bytes;
	memcpy(reply->debuglink, file->other_name, sizeof(file->other_name));
	if (file->info)
		put_splits(&answer, file->info, since);
	return (ssize_t)answer_join(&answer);
}

ssize_t lines_build_jit(const struct jit_code *code, int fd, const struct protocol_request *request,
			void *out, size_t out_bytes)
{
	struct jit_lines lines = {0};
	struct answer answer;
	int r = 0;

	assert(request->nr_offs <= LOADER_NAMES_MAX);
	if (!answer_begin(&answer, out, out_bytes))
		return -E2BIG;
	for (uint32_t i = 0; i < request->nr_offs && has_room(&answer); i++) {
		struct protocol_place *place = &answer.places[answer.head->nr_places];
		struct debug_frame frame = {0};

		r = jit_told_line(&lines, code, fd, request->offs[i], &frame.file, &frame.line);
		if (r < 0)
			break;
		*place = (struct protocol_place){.off = request->offs[i],
						 .first = answer.head->nr_frames,
						 .nr = (uint32_t)r};
		if (r > 0)
			put_frame(&answer, &frame);
		answer.head->nr_places++;
	}
	jit_lines_done(&lines);
	return r < 0 && answer.head->nr_places == 0 ? r : (ssize_t)answer_join(&answer);
}
