/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The header of a recording: see recording_head.h. A file without events
 * cannot be read; a feature that is damaged is noted and left out.
 */
#include "config.h"

#include "src/perf/recording_head.h"

#include "src/base/cleanup.h"
#include "src/base/reader.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define PIPE_HEADER_BYTES     16
#define FILE_HEADER_BYTES     104
#define FILE_HEADER_BYTES_OLD 72 /* without the bits of features */
#define FEATURE_WORDS	      4
#define FEATURES_MAX	      (64 * FEATURE_WORDS)
#define SECTION_BYTES	      16 /* offset, size */
#define ATTR_BYTES_MAX	      4096

#define HEADER_BYTES	    8 /* of a record */
#define TRACEPOINTS_MAX	    4096
#define TRACEPOINT_NAME_MAX 64
#define EVENT_UPDATE_NAME   2

struct section {
	uint64_t off, bytes;
};

struct recording_tracepoint {
	uint64_t id;
	char name[TRACEPOINT_NAME_MAX];
};

struct file_header {
	uint64_t bytes, attr_bytes;
	struct section attrs, data, event_types;
	uint64_t features[FEATURE_WORDS];
};

void recording_head_done(struct recording_head *head)
{
	recording_events_done(&head->events);
	recording_features_done(&head->info);
	free(head->tracepoints);
	head->tracepoints = NULL;
}

/* --- events --- */

static void sync_events(struct recording_head *head)
{
	head->info.events = head->events.events;
	head->info.nr_events = (uint32_t)head->events.nr;
}

static void name_tracepoint(struct recording_head *head, uint32_t event,
			    const struct recording_tracepoint *tracepoint)
{
	const struct recording_event *known = &head->events.events[event];

	assert(event < head->events.nr);
	if (known->type == PERF_TYPE_TRACEPOINT && known->config == tracepoint->id)
		recording_events_name(&head->events, event, tracepoint->name,
				      sizeof(tracepoint->name));
}

static int add_tracepoint(struct recording_head *head, struct reader *r)
{
	struct recording_tracepoint tracepoint = {.id = reader_u64(r)};
	size_t len = MIN(reader_left(r), sizeof(tracepoint.name)); /* records end with the name */
	const uint8_t *name = reader_bytes(r, len);
	int e;

	if (!name)
		return -EBADMSG;
	e = vec_reserve(&head->tracepoints, &head->cap_tracepoints, head->nr_tracepoints + 1,
			TRACEPOINTS_MAX);
	if (e < 0)
		return e == -E2BIG ? 0 : e;
	memcpy(tracepoint.name, name, len);
	head->tracepoints[head->nr_tracepoints++] = tracepoint;
	for (uint32_t i = 0; i < head->events.nr; i++)
		name_tracepoint(head, i, &tracepoint);
	return 0;
}

/* An attr of at most BYTES. Returns its event or -errno; *RET_BYTES: its own size. */
static int add_event(struct recording_head *head, const uint8_t *attr, size_t bytes,
		     uint32_t *ret_bytes)
{
	int event = recording_events_add(&head->events, attr, bytes, ret_bytes);

	if (event < 0)
		return event;
	assert((size_t)event + 1 == head->events.nr && *ret_bytes <= bytes);
	sync_events(head);
	for (size_t i = 0; i < head->nr_tracepoints; i++)
		name_tracepoint(head, (uint32_t)event, &head->tracepoints[i]);
	return event;
}

static int add_ids(struct recording_head *head, struct reader *r, uint32_t event)
{
	while (reader_left(r) >= sizeof(uint64_t)) {
		int e = recording_events_add_id(&head->events, reader_u64(r), event);

		if (e < 0)
			return e;
	}
	return 0;
}

/* --- records of pipe mode --- */

static int take_attr(struct recording_head *head, const uint8_t *raw, size_t bytes)
{
	struct reader ids;
	uint32_t attr_bytes;
	int event = add_event(head, raw + HEADER_BYTES, bytes - HEADER_BYTES, &attr_bytes);

	if (event < 0)
		return event;
	ids = reader_of(raw + HEADER_BYTES + attr_bytes, bytes - HEADER_BYTES - attr_bytes);
	ids.swap = head->events.is_swapped;
	return add_ids(head, &ids, (uint32_t)event);
}

static int take_update(struct recording_head *head, struct reader *r)
{
	uint64_t type = reader_u64(r);
	uint32_t event = u64map_get(&head->events.ids, reader_u64(r));

	if (type == EVENT_UPDATE_NAME && event != U64MAP_NONE)
		recording_events_name(&head->events, event, (const char *)r->p, reader_left(r));
	return r->bad ? -EBADMSG : 0;
}

int recording_head_record(struct recording_head *head, uint32_t type, const uint8_t *raw,
			  size_t bytes)
{
	struct reader r = reader_of(raw, bytes);

	r.swap = head->events.is_swapped;
	reader_skip(&r, HEADER_BYTES);
	switch (type) {
	case RECORDING_HEADER_ATTR:
		return take_attr(head, raw, bytes);
	case RECORDING_HEADER_EVENT_TYPE:
		return add_tracepoint(head, &r);
	case RECORDING_HEADER_BUILD_ID:
		/* An entry of that table begins with a record's header. */
		r.p = raw;
		return recording_features_build_id(head, &r, true);
	case RECORDING_EVENT_UPDATE:
		return take_update(head, &r);
	case RECORDING_HEADER_FEATURE: {
		uint64_t feature = reader_u64(&r);

		return r.bad || feature >= FEATURES_MAX
			       ? -EBADMSG
			       : recording_features_take(head, (unsigned int)feature, &r);
	}
	default:
		return 0;
	}
}

/* --- file mode --- */

static struct section read_section(struct reader *r)
{
	struct section section = {.off = reader_u64(r)};

	section.bytes = reader_u64(r);
	return section;
}

static bool section_is_inside(const struct section *section, const struct recording_file *file)
{
	return section->off <= file->bytes && section->bytes <= file->bytes - section->off;
}

/* A whole section into the heap. */
static int load_section(struct recording_head *head, struct recording_file *file,
			const struct section *section, size_t max, uint8_t **ret)
{
	AUTO_FREE uint8_t *data = NULL;
	ssize_t n;

	if (!section_is_inside(section, file))
		return -EBADMSG;
	head->end = MAX(head->end, section->off + section->bytes);
	if (section->bytes > max)
		return -E2BIG;
	data = malloc((size_t)section->bytes + 1);
	if (!data)
		return -ENOMEM;
	n = recording_file_read(file, section->off, data, (size_t)section->bytes);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n != section->bytes)
		return -EBADMSG;
	*ret = steal_ptr(data);
	return 0;
}

/* The bits are an array of the writer's longs: of 32 bits, its halves trade places when swapped. */
static void read_feature_bits(struct reader *r, uint64_t *bits)
{
	for (size_t i = 0; i < FEATURE_WORDS; i++)
		bits[i] = reader_u64(r);
	if (!r->swap || bits[0] & 1ull << RECORDING_FEATURE_HOSTNAME)
		return;
	if (!(bits[0] & 1ull << (32 + RECORDING_FEATURE_HOSTNAME)))
		return;
	for (size_t i = 0; i < FEATURE_WORDS; i++)
		bits[i] = bits[i] << 32 | bits[i] >> 32;
}

static int load_ids(struct recording_head *head, struct recording_file *file,
		    const struct section *ids, uint32_t event)
{
	AUTO_FREE uint8_t *data = NULL;
	struct reader r;
	int e = load_section(head, file, ids, (size_t)RECORDING_IDS_MAX * sizeof(uint64_t), &data);

	if (e < 0)
		return e;
	r = reader_of(data, (size_t)ids->bytes);
	r.swap = head->events.is_swapped;
	return add_ids(head, &r, event);
}

static int load_attrs(struct recording_head *head, struct recording_file *file,
		      const struct file_header *header, const char *name, struct err *err)
{
	AUTO_FREE uint8_t *data = NULL;
	size_t step = (size_t)header->attr_bytes;
	int e;

	if (header->attr_bytes < RECORDING_ATTR_BYTES_MIN + SECTION_BYTES ||
	    header->attr_bytes > ATTR_BYTES_MAX)
		return err_set(err, -EBADMSG,
			       "%s: damaged: descriptions of events of %" PRIu64
			       " bytes each, told at offset 16",
			       name, header->attr_bytes);
	e = load_section(head, file, &header->attrs, RECORDING_EVENTS_MAX * step, &data);
	if (e == -E2BIG)
		return err_set(err, e, "%s: more than %d events", name, RECORDING_EVENTS_MAX);
	if (e < 0 || header->attrs.bytes < step)
		return err_set(err, e < 0 ? e : -EBADMSG,
			       "%s: damaged: no description of an event at offset %" PRIu64, name,
			       header->attrs.off);
	for (size_t off = 0; off + step <= header->attrs.bytes; off += step) {
		struct reader r = reader_of(data + off + step - SECTION_BYTES, SECTION_BYTES);
		uint32_t attr_bytes;
		struct section ids;
		int event = add_event(head, data + off, step - SECTION_BYTES, &attr_bytes);

		r.swap = head->events.is_swapped;
		ids = read_section(&r);
		e = event < 0 ? event : load_ids(head, file, &ids, (uint32_t)event);
		if (e == -E2BIG)
			return err_set(err, e, "%s: more than %u ids of events", name,
				       RECORDING_IDS_MAX);
		if (e < 0)
			return err_set(err, e,
				       "%s: damaged description of an event at offset %" PRIu64,
				       name, header->attrs.off + off);
	}
	return 0;
}

/* A table after the data has the place of each feature, in the order of their bits. */
static void load_features(struct recording_head *head, struct recording_file *file,
			  const struct file_header *header, const char *name)
{
	uint64_t at = header->data.off + header->data.bytes;

	for (unsigned int feature = 0; feature < FEATURES_MAX; feature++) {
		uint8_t entry[SECTION_BYTES];
		AUTO_FREE uint8_t *data = NULL;
		struct section section;
		struct reader r;
		int e;

		if (!(header->features[feature / 64] >> feature % 64 & 1))
			continue;
		if (recording_file_read(file, at, entry, sizeof(entry)) != sizeof(entry)) {
			err_set(&head->note, -EBADMSG,
				"%s: the header's features at offset %" PRIu64 " are cut off", name,
				at);
			return;
		}
		r = reader_of(entry, sizeof(entry));
		r.swap = head->events.is_swapped;
		section = read_section(&r);
		at += SECTION_BYTES;
		e = load_section(head, file, &section, recording_features_bytes_max(feature),
				 &data);
		if (e == -E2BIG && recording_features_bytes_max(feature) == 0)
			continue;
		if (e == 0) {
			r = reader_of(data, (size_t)section.bytes);
			r.swap = head->events.is_swapped;
			e = recording_features_take(head, feature, &r);
		}
		if (e < 0)
			err_set(&head->note, e,
				"%s: the header's feature %u at offset %" PRIu64 " is damaged",
				name, feature, section.off);
	}
	head->end = MAX(head->end, at);
	/* Less than a number is how a writer rounds its size up. */
	if (head->note.code == 0 && file->bytes >= head->end + sizeof(uint64_t))
		head->info.trailing_bytes = file->bytes - head->end;
}

/* Of a pipe all before the data has to be read, used or not. */
static int reach_data(struct recording_file *file, uint64_t data_off, const char *name,
		      struct err *err)
{
	uint8_t last;

	if (file->is_regular || data_off == 0 ||
	    recording_file_read(file, data_off - 1, &last, 1) == 1)
		return 0;
	return err_set(err, -EBADMSG, "%s: damaged: no records at offset %" PRIu64, name, data_off);
}

static int load_file(struct recording_head *head, struct recording_file *file, const char *name,
		     struct err *err)
{
	uint8_t raw[FILE_HEADER_BYTES] = {0};
	struct reader r = reader_of(raw, sizeof(raw));
	struct file_header header = {0};
	AUTO_FREE uint8_t *types = NULL;
	uint64_t data_end;
	ssize_t n;
	int e;

	n = recording_file_read(file, 0, raw, sizeof(raw));
	if (n < FILE_HEADER_BYTES_OLD)
		return err_set(err, -EBADMSG, "%s: damaged: the header is cut off at offset %zd",
			       name, n);
	r.swap = head->events.is_swapped;
	reader_skip(&r, sizeof(uint64_t));
	header.bytes = reader_u64(&r);
	header.attr_bytes = reader_u64(&r);
	header.attrs = read_section(&r);
	header.data = read_section(&r);
	header.event_types = read_section(&r);
	if (header.bytes >= FILE_HEADER_BYTES)
		read_feature_bits(&r, header.features);
	if (header.data.off > file->bytes ||
	    __builtin_add_overflow(header.data.off, header.data.bytes, &data_end))
		return err_set(err, -EBADMSG,
			       "%s: damaged: records at offset %" PRIu64
			       ", but the file has %" PRIu64 " bytes",
			       name, header.data.off, file->bytes);
	if (load_section(head, file, &header.event_types,
			 TRACEPOINTS_MAX * sizeof(*head->tracepoints), &types) == 0) {
		struct reader t = reader_of(types, (size_t)header.event_types.bytes);

		t.swap = r.swap;
		while (reader_left(&t) > 0 && add_tracepoint(head, &t) == 0)
			;
	}
	e = load_attrs(head, file, &header, name, err);
	if (e < 0)
		return e;
	e = reach_data(file, header.data.off, name, err);
	if (e < 0)
		return e;
	head->data_off = header.data.off;
	head->data_bytes = header.data.bytes;
	head->is_cut = header.data.bytes == 0 || data_end > file->bytes;
	if (!file->is_regular)
		err_set(&head->note, -ESPIPE,
			"%s: what stands behind the data of a recording in file mode is not read "
			"from a pipe: give the file's name",
			name);
	else if (!head->is_cut)
		load_features(head, file, &header, name);
	file->next = header.data.off;
	file->end = header.data.bytes == 0 ? UINT64_MAX : data_end;
	assert(file->next <= file->end);
	return 0;
}

/* --- both modes --- */

/* PERFILE2's own bytes tell the order; the older PERFFILE leaves it to the header's size. */
static int read_magic(const uint8_t *raw, bool *ret_is_swapped, uint64_t *ret_bytes)
{
	static const char magic[8] = "PERFILE2", swapped[8] = "2ELIFREP", old[8] = "PERFFILE";
	bool is_native = memcmp(raw, __BYTE_ORDER == __LITTLE_ENDIAN ? magic : swapped, 8) == 0;
	bool is_swapped = memcmp(raw, __BYTE_ORDER == __LITTLE_ENDIAN ? swapped : magic, 8) == 0;
	uint64_t bytes;

	memcpy(&bytes, raw + sizeof(magic), sizeof(bytes));
	if (!is_native && !is_swapped) {
		if (memcmp(raw, old, sizeof(old)) != 0)
			return -EBADMSG;
		is_swapped = bytes > UINT32_MAX;
	}
	*ret_is_swapped = is_swapped;
	*ret_bytes = is_swapped ? __builtin_bswap64(bytes) : bytes;
	return 0;
}

int recording_head_read(struct recording_head *head, struct recording_file *file, const char *name,
			struct err *err)
{
	uint8_t raw[PIPE_HEADER_BYTES];
	ssize_t n = recording_file_read(file, 0, raw, sizeof(raw));
	uint64_t bytes;

	if (n < 0)
		return err_set(err, (int)n, "%s: %s", name, strerror((int)-n));
	if (n == 0)
		return err_set(err, -ENODATA, "%s: is empty", name);
	if (n < PIPE_HEADER_BYTES || read_magic(raw, &head->events.is_swapped, &bytes) < 0)
		return err_set(err, -EBADMSG, "%s: is not a recording of perf (offset 0)", name);
	head->info.is_swapped = head->events.is_swapped;
	head->info.is_pipe = bytes == PIPE_HEADER_BYTES;
	if (head->info.is_pipe) {
		head->data_off = PIPE_HEADER_BYTES;
		file->next = PIPE_HEADER_BYTES;
		return 0;
	}
	if (bytes < FILE_HEADER_BYTES_OLD || bytes > ATTR_BYTES_MAX)
		return err_set(err, -EBADMSG,
			       "%s: damaged: a header of %" PRIu64 " bytes, told at offset 8", name,
			       bytes);
	return load_file(head, file, name, err);
}
