/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reader of a perf.data file or pipe, from whatever perf wrote it.
 * Bytes of the file are hostile. Knows no path: the descriptor is given, and
 * what the recording says of files is handed on as text.
 *
 * Format: tools/perf/Documentation/perf.data-file-format.txt and
 * tools/perf/util/header.h in the kernel's sources.
 */
#ifndef ST_PERF_RECORDING_H
#define ST_PERF_RECORDING_H

#include "src/base/err.h"
#include "src/perf/source.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORDING_EVENTS_MAX 1024 /* events by attr, not by id; a file with more is refused */
#define RECORDING_TEXT_MAX   256
#define RECORDING_FILES_MAX  4096 /* of a directory, a file for each CPU's ring */

struct recording;

/* What unwinding has to know of the machine; others show their callchains. */
enum recording_arch {
	RECORDING_ARCH_UNKNOWN, /* not recorded: taken from the registers' ABI if at all */
	RECORDING_ARCH_X86_64,
	RECORDING_ARCH_I386,
	RECORDING_ARCH_AARCH64,
	RECORDING_ARCH_ARM,
	RECORDING_ARCH_OTHER,
};

struct recording_event {
	char name[64]; /* sanitized: "cycles", "cpu-clock:u", "raw 0x1a8" ... */
	struct record_format format;
	uint32_t type; /* perf_event_attr.type and .config */
	uint64_t config;
	bool is_freq;
	uint64_t freq_or_period; /* Hz if is_freq */
	uint32_t stack_bytes;	 /* attr.sample_stack_user */
	bool is_inherited;	 /* by tasks, each of which counts for itself */
	bool is_dummy;		 /* side band only: never has samples of its own */
	uint64_t nr_samples;	 /* read so far */
};

/* A build-id that the recording gives to a file by its path. */
struct recording_build_id {
	bool is_kernel;
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_bytes;
	const char *path; /* raw, NUL-terminated: not sanitized; lives as long as the recording */
};

/* All text is sanitized; "" and 0 where the recording does not say. */
struct recording_info {
	bool is_pipe, is_swapped; /* written in pipe mode; in the other byte order */
	enum recording_arch arch;
	char hostname[RECORDING_TEXT_MAX], release[RECORDING_TEXT_MAX], machine[RECORDING_TEXT_MAX];
	uint32_t cpus_online;
	bool is_compressed;
	bool is_directory; /* perf record --threads: samples are in files of their own beside it */
	struct recording_event *events; /* in the file's order */
	uint32_t nr_events;
	struct recording_build_id *build_ids;
	uint32_t nr_build_ids;
	uint64_t trailing_bytes; /* rubbish after the last record */
};

/*
 * Read the headers of FD (file or pipe; owned by the recording from here on,
 * also on error). NAME is what messages call it, sanitized by the caller.
 * Returns 0 or -errno with one line in ERR that says what is wrong at which
 * offset: -EBADMSG not a perf.data file or damaged, -ENODATA empty,
 * -EPROTONOSUPPORT compressed and built without libzstd, -EISDIR, -ENOMEM ...
 * With a pipe this waits for the header.
 */
int recording_open(int fd, const char *name, struct recording **ret, struct err *err);
/*
 * The file NUMBER of a recording in a directory (DIRECTORY/data.NUMBER of perf
 * record --threads), whose file "data" was opened; before anything is read. FD is
 * owned by the recording from here on, also on error; -1: the file is missing,
 * which recording_trouble() tells at the end. Returns 0 or -errno with a message:
 * -EINVAL no regular file, -E2BIG more than RECORDING_FILES_MAX, -ENOMEM.
 */
int recording_add_file(struct recording *recording, int fd, uint32_t number, struct err *err);
void recording_close(struct recording *recording);

/*
 * What is known by now: in pipe mode events and features come on the way, and
 * an array may move with the next recording_read.
 */
const struct recording_info *recording_info(const struct recording *recording);

/*
 * Read the next part, at most some MB. Returns a number above 0, or 0 with nothing
 * read: a pipe has nothing now (poll recording_fd) or all is over. Invalidates
 * records that were handed out.
 */
int recording_read(struct recording *recording);
/*
 * The next record in time order, up to where the file's rounds (FINISHED_ROUND)
 * or a bounded window allow it; false: no more before the next recording_read.
 * Older records that come later are counted as late_records. record_sample.event
 * tells the event.
 */
bool recording_next(struct recording *recording, struct record *ret);
/* No more will be read: what was read is handed over to the last record. */
void recording_stop(struct recording *recording);
void recording_stats(const struct recording *recording, struct source_stats *ret);
bool recording_is_over(const struct recording *recording);
/* To poll for POLLIN while not over, or -1: a regular file is always ready. */
int recording_fd(const struct recording *recording);
/* Bytes read so far, and in all (0: a pipe, not known). */
void recording_progress(const struct recording *recording, uint64_t *ret_done, uint64_t *ret_total);

/*
 * After the end: why it came early, as one line ("cut in the middle of a
 * record at offset 1234: ..."), or "". IS_BAD: no record could be read, or
 * the file contradicts itself, so that the exit status must be 1.
 */
const char *recording_trouble(const struct recording *recording, bool *ret_is_bad);

/*
 * How many samples each event has in the first MAX_BYTES, to COUNTS, which has
 * room for RECORDING_EVENTS_MAX; then start again. -ESPIPE for a pipe.
 */
int recording_count(struct recording *recording, uint64_t max_bytes, uint64_t *counts);
/* The same of what is read already and not yet handed over. */
void recording_count_ahead(const struct recording *recording, uint64_t *counts);

/* Start again from the first record (another event is to be shown). -ESPIPE for a pipe. */
int recording_rewind(struct recording *recording);

#endif
