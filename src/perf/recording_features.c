/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header's features: see recording_head.h. Numbers and layouts: tools/perf/util/header.h, .c. */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/perf/recording_head.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX	   (64u << 10)
#define TABLE_BYTES_MAX	   (16u << 20)
#define BUILD_IDS_MAX	   65536
#define PATH_BYTES_MAX	   4096
#define PATH_BYTES_ALL_MAX (16u << 20)

#define MISC_BUILD_ID_SIZE (1u << 15) /* PERF_RECORD_MISC_BUILD_ID_SIZE: its length is recorded */
#define BUILD_ID_ROOM	   24	      /* id, its length, padding */
#define BUILD_ID_BYTES_MIN 8

/* A length, and so many bytes with a NUL among them. */
static const char *read_string(struct reader *r, size_t *ret_len)
{
	uint32_t len = reader_u32(r);
	const char *text = (const char *)reader_bytes(r, len);

	*ret_len = text ? strnlen(text, len) : 0;
	return text;
}

static int take_text(struct reader *r, char *out)
{
	size_t len;
	const char *text = read_string(r, &len);

	if (!text)
		return -EBADMSG;
	text_sanitize(text, len, out, RECORDING_TEXT_MAX);
	return 0;
}

static int take_hostname(struct recording_head *head, struct reader *r)
{
	return take_text(r, head->info.hostname);
}

static int take_release(struct recording_head *head, struct reader *r)
{
	return take_text(r, head->info.release);
}

static int take_arch(struct recording_head *head, struct reader *r)
{
	static const struct {
		const char *prefix;
		enum recording_arch arch;
	} archs[] = {
		{"x86_64", RECORDING_ARCH_X86_64}, {"amd64", RECORDING_ARCH_X86_64},
		{"i386", RECORDING_ARCH_I386},	   {"i486", RECORDING_ARCH_I386},
		{"i586", RECORDING_ARCH_I386},	   {"i686", RECORDING_ARCH_I386},
		{"x86", RECORDING_ARCH_I386},	   {"aarch64", RECORDING_ARCH_AARCH64},
		{"arm64", RECORDING_ARCH_AARCH64}, {"arm", RECORDING_ARCH_ARM},
	};
	int e = take_text(r, head->info.machine);

	if (e < 0 || head->info.machine[0] == '\0')
		return e;
	head->info.arch = RECORDING_ARCH_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		if (strncmp(head->info.machine, archs[i].prefix, strlen(archs[i].prefix)) == 0) {
			head->info.arch = archs[i].arch;
			break;
		}
	}
	return 0;
}

static int take_cpus(struct recording_head *head, struct reader *r)
{
	uint32_t online;

	reader_skip(r, sizeof(uint32_t)); /* available */
	online = reader_u32(r);
	if (r->bad)
		return -EBADMSG;
	head->info.cpus_online = online;
	return 0;
}

/* For each event its attr, its name and its ids; by an id, or by its place, it is known here. */
static int take_event_names(struct recording_head *head, struct reader *r)
{
	uint32_t nr = reader_u32(r), attr_bytes = reader_u32(r);

	for (uint32_t i = 0; i < nr && !r->bad; i++) {
		uint32_t event = nr == head->events.nr ? i : U64MAP_NONE;
		const char *name;
		uint32_t nr_ids;
		size_t len;

		reader_skip(r, attr_bytes);
		nr_ids = reader_u32(r);
		name = read_string(r, &len);
		for (uint32_t j = 0; j < nr_ids && !r->bad; j++) {
			uint32_t by_id = u64map_get(&head->events.ids, reader_u64(r));

			if (by_id != U64MAP_NONE)
				event = by_id;
		}
		if (!r->bad && event < head->events.nr)
			recording_events_name(&head->events, event, name, len);
	}
	return r->bad ? -EBADMSG : 0;
}

static int take_compressed(struct recording_head *head, struct reader *r)
{
	(void)r;
	head->info.is_compressed = true;
	return 0;
}

static int take_directory(struct recording_head *head, struct reader *r)
{
	(void)r; /* its version */
	head->info.is_directory = true;
	return 0;
}

/* --- build-ids --- */

/* Older perfs do not say how long an id is and fill it up with zeros. */
static uint8_t build_id_bytes(const uint8_t *room, uint16_t misc)
{
	uint8_t bytes = RECORD_BUILD_ID_MAX;

	if (misc & MISC_BUILD_ID_SIZE)
		return MIN(room[RECORD_BUILD_ID_MAX], bytes);
	while (bytes > BUILD_ID_BYTES_MIN && memcmp(room + bytes - 4, "\0\0\0", 4) == 0)
		bytes -= 4;
	return bytes;
}

static int keep_build_id(struct recording_head *head, const struct recording_build_id *build_id,
			 size_t path_len)
{
	struct recording_info *info = &head->info;
	size_t nr = info->nr_build_ids;
	char *path;
	int e;

	if (path_len > PATH_BYTES_MAX || head->path_bytes + path_len > PATH_BYTES_ALL_MAX)
		return 0;
	e = vec_reserve(&info->build_ids, &head->cap_build_ids, nr + 1, BUILD_IDS_MAX);
	if (e < 0)
		return e == -E2BIG ? 0 : e;
	path = strndup(build_id->path, path_len);
	if (!path)
		return -ENOMEM;
	head->path_bytes += path_len;
	info->build_ids[nr] = *build_id;
	info->build_ids[nr].path = path;
	info->nr_build_ids++;
	return 0;
}

int recording_features_build_id(struct recording_head *head, struct reader *r, bool is_one)
{
	struct recording_build_id build_id = {0};
	const uint8_t *start = r->p, *room;
	uint16_t misc, bytes;
	size_t path_room;

	reader_skip(r, sizeof(uint32_t));
	misc = reader_u16(r);
	bytes = reader_u16(r);
	reader_skip(r, sizeof(uint32_t)); /* pid: of a guest kernel, or -1 */
	room = reader_bytes(r, BUILD_ID_ROOM);
	if (!room || bytes < r->p - start || bytes - (r->p - start) > (ptrdiff_t)reader_left(r) ||
	    (is_one && r->end != start + bytes))
		return -EBADMSG;
	build_id.is_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	build_id.build_id_bytes = build_id_bytes(room, misc);
	assert(build_id.build_id_bytes <= sizeof(build_id.build_id));
	memcpy(build_id.build_id, room, build_id.build_id_bytes);
	build_id.path = (const char *)r->p;
	path_room = (size_t)(start + bytes - r->p);
	reader_skip(r, path_room);
	assert(r->p == start + bytes); /* where the next one begins */
	return keep_build_id(head, &build_id, strnlen(build_id.path, path_room));
}

static int take_build_ids(struct recording_head *head, struct reader *r)
{
	while (reader_left(r) > 0) {
		int e = recording_features_build_id(head, r, false);

		if (e < 0)
			return e;
	}
	return 0;
}

void recording_features_done(struct recording_info *info)
{
	for (uint32_t i = 0; i < info->nr_build_ids; i++)
		free((void *)(uintptr_t)info->build_ids[i].path);
	free(info->build_ids);
	info->build_ids = NULL;
	info->nr_build_ids = 0;
}

/* --- by number --- */

static const struct {
	size_t bytes_max;
	int (*take)(struct recording_head *head, struct reader *r);
} features[] = {
	[2] = {TABLE_BYTES_MAX, take_build_ids},
	[RECORDING_FEATURE_HOSTNAME] = {TEXT_BYTES_MAX, take_hostname},
	[4] = {TEXT_BYTES_MAX, take_release},
	[6] = {TEXT_BYTES_MAX, take_arch},
	[7] = {TEXT_BYTES_MAX, take_cpus},
	[12] = {TABLE_BYTES_MAX, take_event_names},
	[24] = {TEXT_BYTES_MAX, take_directory},
	[27] = {TEXT_BYTES_MAX, take_compressed},
};

size_t recording_features_bytes_max(unsigned int feature)
{
	return feature < ARRAY_SIZE(features) ? features[feature].bytes_max : 0;
}

int recording_features_take(struct recording_head *head, unsigned int feature, struct reader *r)
{
	if (feature >= ARRAY_SIZE(features) || !features[feature].take)
		return 0;
	return features[feature].take(head, r);
}
