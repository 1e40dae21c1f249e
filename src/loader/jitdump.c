/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of a jitdump: see jitdump.h. Code bytes are passed over. */
#include "config.h"

#include "src/loader/jitdump.h"

#include "src/base/deadline.h"
#include "src/base/util.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	       0x4a695444u /* "JiTD", of this byte order */
#define VERSION_MAX    1u
#define HEAD_BYTES_MAX 4096u
#define FILE_BYTES_MAX (4ull << 30)
#define RECORDS_ONCE   (1u << 17)

#define TOLD_MAX 4u /* records before the one of the code that they are of */

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_DEBUG = 2, RECORD_UNWINDING = 4 };

struct dump_head {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t time_ns, flags;
};
_Static_assert(sizeof(struct dump_head) == 40, "as it is written");

struct record_head {
	uint32_t id, bytes;
	uint64_t time_ns;
};

struct record_load {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t vma, addr, code_bytes, index; /* then the name, with its NUL, then the code */
};

struct record_move {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t vma, old_addr, new_addr, code_bytes, index;
};

struct record_debug {
	struct record_head head;
	uint64_t addr, nr; /* then the entries */
};

struct record_unwinding {
	struct record_head head;
	uint64_t bytes, header_bytes, mapped_bytes; /* then .eh_frame, then .eh_frame_hdr */
};
_Static_assert(sizeof(struct record_load) == 56 && sizeof(struct record_move) == 64 &&
		       sizeof(struct record_debug) == 32 && sizeof(struct record_unwinding) == 40,
	       "as they are written");

/* All of BYTES at AT. */
static bool read_whole(int fd, void *to, size_t bytes, uint64_t at)
{
	return pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool read_head(int fd, struct dump_head *ret)
{
	return read_whole(fd, ret, sizeof(*ret), 0) && ret->magic == MAGIC &&
	       ret->version <= VERSION_MAX && ret->bytes >= sizeof(*ret) &&
	       ret->bytes <= HEAD_BYTES_MAX;
}

bool jitdump_is(int fd)
{
	struct dump_head head;

	return read_head(fd, &head);
}

/* At TIME_NS other code went away. */
static void note_change(struct jitdump *dump, uint64_t time_ns)
{
	if (dump->changed_ns == 0 || time_ns < dump->changed_ns)
		dump->changed_ns = time_ns;
}

/* The bytes of .eh_frame in the record of BYTES at AT; 0: it has none. */
static uint64_t frames_of(int fd, uint64_t at, uint32_t bytes)
{
	struct record_unwinding record;

	if (bytes < sizeof(record) || !read_whole(fd, &record, sizeof(record), at) ||
	    record.bytes > bytes - sizeof(record) || record.header_bytes > record.bytes)
		return 0;
	return record.bytes - record.header_bytes;
}

/* The record of BYTES at AT has lines. */
static void lines_of(int fd, uint64_t at, uint32_t bytes, struct jitdump_load *ret)
{
	struct record_debug record;

	if (bytes <= sizeof(record) || !read_whole(fd, &record, sizeof(record), at))
		return;
	ret->lines_at = at + sizeof(record);
	ret->lines_bytes = bytes - sizeof(record);
	ret->nr_lines = record.nr;
}

/* The record of BYTES at AT tells of the next code. */
static void take_told(struct jitdump *dump, int fd, uint64_t at, const struct record_head *head)
{
	bool has_frames = head->id == RECORD_UNWINDING && frames_of(fd, at, head->bytes) > 0;

	/* Without them it says only that its frames have frame pointers. */
	if (head->id == RECORD_UNWINDING && !has_frames)
		return;
	dump->has_frames |= has_frames;
	if (!dump->told_at)
		dump->told_at = at;
}

bool jitdump_load_at(int fd, uint64_t record, struct jitdump_load *ret)
{
	*ret = (struct jitdump_load){0};
	for (unsigned int i = 0; i <= TOLD_MAX; i++) {
		struct record_load load;
		struct record_head *head = &load.head;

		if (!read_whole(fd, head, sizeof(*head), record) || head->bytes < sizeof(*head))
			return false;
		if (head->id == RECORD_LOAD) {
			if (!read_whole(fd, &load, sizeof(load), record))
				return false;
			ret->addr = load.addr;
			ret->bytes = load.code_bytes;
			return true;
		}
		if (head->id == RECORD_UNWINDING) {
			ret->frames_at = record + sizeof(struct record_unwinding);
			ret->frames_bytes = frames_of(fd, record, head->bytes);
		} else if (head->id == RECORD_DEBUG) {
			lines_of(fd, record, head->bytes, ret);
		}
		record += head->bytes;
	}
	return false;
}

/* The record of BYTES at AT: code was put somewhere. */
static void take_load(struct jitdump *dump, int fd, uint64_t at, uint32_t bytes,
		      struct jit_code *code)
{
	uint64_t told_at = dump->told_at;
	struct record_load record;
	char name[JIT_NAME_MAX];
	size_t len;

	dump->told_at = 0;
	if (bytes <= sizeof(record) || !read_whole(fd, &record, sizeof(record), at))
		return;
	len = MIN(bytes - sizeof(record), sizeof(name));
	if (!read_whole(fd, name, len, at + sizeof(record)) || !name[0])
		return;
	if (jit_code_replaces(code, record.addr, record.code_bytes, name, len))
		note_change(dump, record.head.time_ns);
	jit_code_note(code, record.addr, record.code_bytes, name, len, told_at);
}

static void take_move(struct jitdump *dump, int fd, uint64_t at, uint32_t bytes,
		      struct jit_code *code)
{
	struct record_move record;

	if (bytes >= sizeof(record) && read_whole(fd, &record, sizeof(record), at) &&
	    jit_code_note_move(code, record.old_addr, record.new_addr, record.code_bytes))
		note_change(dump, record.head.time_ns);
}

/* Whole records from DUMP's place up to END. */
static int read_on(struct jitdump *dump, int fd, struct jit_code *code, uint64_t end)
{
	uint32_t nr = 0;

	while (end - dump->done >= sizeof(struct record_head)) {
		struct record_head head;

		if (nr++ == RECORDS_ONCE || deadline_is_over()) {
			dump->is_late = true;
			return 0;
		}
		if (!read_whole(fd, &head, sizeof(head), dump->done))
			return -EIO;
		if (head.bytes < sizeof(head))
			return -EINVAL;
		if (head.bytes > end - dump->done) /* it is still being written */
			return 0;
		if (head.id == RECORD_LOAD)
			take_load(dump, fd, dump->done, head.bytes, code);
		else if (head.id == RECORD_MOVE)
			take_move(dump, fd, dump->done, head.bytes, code);
		else if (head.id == RECORD_DEBUG || head.id == RECORD_UNWINDING)
			take_told(dump, fd, dump->done, &head);
		dump->done += head.bytes;
	}
	return 0;
}

int jitdump_read(struct jitdump *dump, int fd, struct jit_code *code, uint16_t epoch,
		 bool *ret_changed)
{
	struct dump_head head;
	struct stat st;
	uint64_t end;
	int r;

	*ret_changed = false;
	dump->is_late = false;
	dump->changed_ns = 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !read_head(fd, &head))
		return -EINVAL;
	end = MIN((uint64_t)st.st_size, FILE_BYTES_MAX);
	if (dump->done == 0)
		dump->done = head.bytes;
	if (dump->done > end)
		return 0;
	r = read_on(dump, fd, code, end);
	*ret_changed = jit_code_commit(code, epoch, false);
	return r;
}
