/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole recording, as a file or (its last byte odd) through a pipe that may end anywhere. */
#include "config.h"

#include "src/perf/recording.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>

#define PIPE_BYTES 65536
#define IDLE_MAX   64

/* A descriptor from which all of DATA can be read without waiting. */
static int open_input(const uint8_t *data, size_t size, bool is_pipe)
{
	int pair[2];

	if (!is_pipe || size > PIPE_BYTES)
		return memory_file(data, size);
	must(pipe2(pair, O_CLOEXEC) == 0);
	must(fcntl(pair[1], F_SETPIPE_SZ, PIPE_BYTES) > 0);
	must(write(pair[1], data, size) == (ssize_t)size);
	close(pair[1]);
	return pair[0];
}

static void use_record(const struct record *r)
{
	const struct record_sample *s = &r->sample;

	if (r->kind == RECORD_MMAP)
		use(strlen(r->mmap.filename));
	else if (r->kind == RECORD_COMM)
		use(strlen(r->comm.comm));
	if (r->kind != RECORD_SAMPLE)
		return;
	use_bytes(s->callchain, s->callchain ? s->nr_callchain * 8 : 0);
	use_bytes(s->stack, s->stack ? s->stack_bytes : 0);
	use_bytes(s->branches, s->branches ? s->nr_branches * sizeof(*s->branches) : 0);
}

static void use_info(const struct recording_info *info)
{
	must(info->nr_events <= RECORDING_EVENTS_MAX);
	for (uint32_t i = 0; i < info->nr_events; i++)
		use(strlen(info->events[i].name));
	for (uint32_t i = 0; i < info->nr_build_ids; i++)
		use(strlen(info->build_ids[i].path));
	use(strlen(info->hostname) + strlen(info->release));
}

static void read_all_records(struct recording *recording)
{
	struct source_stats stats;
	struct record record;
	bool is_bad;

	for (int idle = 0; !recording_is_over(recording) && idle < IDLE_MAX;) {
		int r = recording_read(recording);

		if (r < 0)
			break;
		idle = r == 0 ? idle + 1 : 0;
		while (recording_next(recording, &record)) {
			must(record.kind != RECORD_SAMPLE ||
			     record.sample.event < recording_info(recording)->nr_events);
			use_record(&record);
		}
	}
	use_info(recording_info(recording));
	recording_stats(recording, &stats);
	use(strlen(recording_trouble(recording, &is_bad)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording *recording;
	struct err err = {0};
	bool is_pipe = size > 0 && data[size - 1] % 2;
	int before = free_descriptor(), fd = open_input(data, size, is_pipe);

	if (recording_open(fd, "input", &recording, &err) < 0) {
		must(err.text[0] != '\0' && !strchr(err.text, '\n'));
		must(free_descriptor() == before);
		return 0;
	}
	read_all_records(recording);
	if (recording_rewind(recording) == 0)
		read_all_records(recording);
	recording_close(recording);
	must(free_descriptor() == before);
	return 0;
}
