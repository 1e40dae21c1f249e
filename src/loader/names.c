/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A name is right, or there is none: nothing is named after what merely stands nearest. */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/loader/cache.h"
#include "src/loader/demangle.h"
#include "src/loader/jit_text.h"
#include "src/loader/protocol.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define OBJECT_BYTES_MAX 64 /* a kernel module's name: MODULE_NAME_LEN is 56 */

struct answer {
	const struct cache_files *files;
	struct protocol_names *head;
	struct protocol_name *records;
	char *text;
};

/* The name of RECORD is what SHOW makes of MANGLED, which goes along if it is another one. */
static void put_name(struct answer *answer, const char *mangled, struct protocol_name *record,
		     void (*show)(const char *mangled, char *out, size_t out_size))
{
	uint32_t at = answer->head->text_bytes;

	record->name = at;
	show(mangled, answer->text + at, LOADER_NAME_BYTES_MAX);
	at += (uint32_t)strlen(answer->text + at) + 1;
	if (strcmp(mangled, answer->text + record->name) != 0) {
		record->mangled = at;
		name_show(mangled, strlen(mangled), answer->text + at, LOADER_NAME_BYTES_MAX);
		at += 1 + (uint32_t)strlen(answer->text + at);
	}
	answer->head->text_bytes = at;
}

static void file_name(const struct cache_entry *entry, struct answer *answer,
		      struct protocol_name *record)
{
	struct symbols_place place = {.last = UINT64_MAX};
	char mangled[SYMBOLS_NAME_BYTES_MAX];
	bool is_found = entry->symbols && symbols_find(entry->symbols, record->off, &place);
	uint64_t end, vaddr = 0;

	if (!is_found) {
		if (!entry->has_table ||
		    !table_func_of(&entry->table, record->off, &place.start, &end))
			return;
		place.from = MAX(place.from, place.start);
		place.last = MIN(place.last, end - 1);
	}
	record->func_off = place.start;
	record->from = place.from;
	record->last = place.last;
	elf_file_vaddr_of(&entry->head, record->func_off, &vaddr);
	record->func_vaddr = vaddr;
	if (!is_found || symbols_text(entry->symbols, place.name, answer->files->all,
				      answer->files->nr, mangled) < 0)
		return;
	put_name(answer, mangled, record, demangle);
}

static void kernel_name(const struct cache_entry *entry, struct answer *answer,
			struct protocol_name *record)
{
	struct kallsyms_function function;
	uint64_t shift = entry->kernel_shift;

	/* Modules do not move along with the image. */
	if (!kallsyms_find(entry->kallsyms, record->off - shift, &function) ||
	    (shift && function.object[0]))
		return;
	record->func_off = record->func_vaddr = function.start + shift;
	/* Between the symbols of modules there is room for code that kallsyms does not know yet. */
	if (function.object[0] == '\0') {
		record->from = function.start + shift;
		record->last = function.end + shift - 1;
	}
	put_name(answer, function.name, record, demangle);
	record->object = answer->head->text_bytes;
	answer->head->text_bytes +=
		1 + (uint32_t)text_sanitize(function.object, strlen(function.object),
					    answer->text + record->object, OBJECT_BYTES_MAX);
}

/* The kernel's own file: by its addresses as they would be there. */
static void vmlinux_name(const struct cache_entry *entry, struct answer *answer,
			 struct protocol_name *record)
{
	struct protocol_name found = *record;
	uint64_t addr = record->off;

	if (!elf_file_off_of(&entry->head, addr - entry->kernel_shift, &found.off))
		return;
	found.from = found.last = found.off;
	file_name(entry, answer, &found);
	if (found.name == PROTOCOL_NO_TEXT || found.func_off > found.off)
		return;
	record->func_off = record->func_vaddr = addr - (found.off - found.func_off);
	record->from = addr - (found.off - found.from);
	record->last = addr + (found.last - found.off);
	record->name = found.name;
	record->mangled = found.mangled;
	record->object = answer->head->text_bytes;
	answer->text[answer->head->text_bytes++] = '\0';
}

/* Its function is known by its name alone: the same one is made again, at other addresses. */
static void jit_name(const struct cache_entry *entry, struct answer *answer,
		     struct protocol_name *record)
{
	struct jit_place place;

	if (!jit_code_find(entry->jit_code, record->off, &place))
		return;
	record->from = place.from;
	record->last = place.last;
	put_name(answer, place.name, record, jit_text);
}

ssize_t names_build(const struct cache_entry *entry, const struct cache_files *files,
		    const struct protocol_request *request, void *out, size_t out_bytes)
{
	uint32_t nr = request->nr_offs;
	size_t fixed = sizeof(struct protocol_names) + nr * sizeof(struct protocol_name);
	struct answer answer = {.files = files, .head = out};

	assert(nr <= LOADER_NAMES_MAX);
	if (out_bytes < fixed + nr * (size_t)(2 * LOADER_NAME_BYTES_MAX + OBJECT_BYTES_MAX))
		return -E2BIG;
	answer.records = (struct protocol_name *)(answer.head + 1);
	answer.text = (char *)out + fixed;
	*answer.head = (struct protocol_names){.nr = nr};
	for (uint32_t i = 0; i < nr; i++) {
		answer.records[i] = (struct protocol_name){
			.off = request->offs[i],
			.func_off = UINT64_MAX,
			.from = request->offs[i],
			.last = request->offs[i],
			.name = PROTOCOL_NO_TEXT,
			.object = PROTOCOL_NO_TEXT,
			.mangled = PROTOCOL_NO_TEXT,
		};
		if (entry->jit_code)
			jit_name(entry, &answer, &answer.records[i]);
		else if (entry->is_vmlinux)
			vmlinux_name(entry, &answer, &answer.records[i]);
		else if (entry->kallsyms)
			kernel_name(entry, &answer, &answer.records[i]);
		else
			file_name(entry, &answer, &answer.records[i]);
	}
	return (ssize_t)(fixed + answer.head->text_bytes);
}
