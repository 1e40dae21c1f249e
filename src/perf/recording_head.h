/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recording has before and after its samples: the file's header with
 * its features, and the records that stand for them in pipe mode. Layouts:
 * tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c.
 */
#ifndef ST_PERF_RECORDING_HEAD_H
#define ST_PERF_RECORDING_HEAD_H

#include "src/base/reader.h"
#include "src/perf/recording_attr.h"
#include "src/perf/recording_file.h"

/* enum perf_user_event_type of tools/perf/lib/include/perf/event.h: records that tools write. */
enum recording_record {
	RECORDING_HEADER_ATTR = 64,
	RECORDING_HEADER_EVENT_TYPE = 65,
	RECORDING_HEADER_TRACING_DATA = 66,
	RECORDING_HEADER_BUILD_ID = 67,
	RECORDING_FINISHED_ROUND = 68,
	RECORDING_AUXTRACE = 71,
	RECORDING_EVENT_UPDATE = 78,
	RECORDING_HEADER_FEATURE = 80,
	RECORDING_COMPRESSED = 81,
	RECORDING_COMPRESSED2 = 83,
};

struct recording_head {
	struct recording_info info;
	struct recording_events events;
	size_t cap_build_ids, path_bytes;
	struct recording_tracepoint *tracepoints; /* names by number, as old perfs wrote them */
	size_t nr_tracepoints, cap_tracepoints;
	uint64_t data_off, data_bytes; /* data_bytes 0: to the end */
	uint64_t end;		       /* of all that the header leads to */
	bool is_cut;		       /* the file ends before its data does */
	struct err note; /* what could not be read although the rest can; code 0: nothing */
};

/*
 * Read the header of FILE, called NAME in messages, and of a file in file mode
 * all that its header leads to. FILE reads from the first record on then.
 * Returns 0 or -errno with a message. HEAD must be zeroed; recording_head_done
 * may be called after an error too.
 */
int recording_head_read(struct recording_head *head, struct recording_file *file, const char *name,
			struct err *err);
void recording_head_done(struct recording_head *head);

/*
 * Take one of the HEADER and EVENT_UPDATE records, as it came (BYTES long).
 * Returns 0, or -errno when it is damaged; records of other types are ignored.
 */
int recording_head_record(struct recording_head *head, uint32_t type, const uint8_t *raw,
			  size_t bytes);

/* --- recording_features.c: each feature is a few bytes of a layout of its own --- */

#define RECORDING_FEATURE_HOSTNAME 3

/* Bytes that are read of a feature; 0: it is not used. */
size_t recording_features_bytes_max(unsigned int feature);

/* Take feature number FEATURE from R. Returns 0 or -EBADMSG; what is not used is ignored. */
int recording_features_take(struct recording_head *head, unsigned int feature, struct reader *r);

/* Take one entry of the table of build-ids, header first. IS_ONE: it is a record of its own. */
int recording_features_build_id(struct recording_head *head, struct reader *r, bool is_one);

void recording_features_done(struct recording_info *info);

#endif
