/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder or an archive of all that there is to write: see bundle.h. One table says which files there are and what writes them. */
#include "config.h"

#include "src/bundle.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/broker/writer.h"
#include "src/out/out.h"
#include "src/view/view.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MODE 0700
#define FILE_MODE   0600
#define END_MAX_MS  5000 /* a disk that hangs is not waited for any longer */

/* What a file is written from. */
struct part {
	const struct snapshot *snapshot;
	struct view_query query;
	bool ascii;
	bool is_archive;
};

static int put_readme(FILE *stream, const struct part *part);

static int put_text(FILE *stream, const struct part *part)
{
	struct view view = {0};
	int r = view_build(&view, part->snapshot, &part->query);

	if (r == 0)
		r = out_text(stream, part->snapshot, &view, &part->query, part->ascii);
	view_done(&view);
	return r;
}

static int put_json(FILE *stream, const struct part *part)
{
	return out_json(stream, part->snapshot, &part->query);
}

static int put_folded(FILE *stream, const struct part *part)
{
	return out_folded(stream, part->snapshot);
}

static int put_pprof(FILE *stream, const struct part *part)
{
	return out_pprof(stream, part->snapshot);
}

/* Of a window: a folder gets those of the whole run, as they come. */
static int put_samples(FILE *stream, const struct part *part)
{
	return out_script_stacks(stream, part->snapshot);
}

static const struct {
	const char *name, *what;
	enum view_kind view;
	int (*put)(FILE *stream, const struct part *part);
} files[] = {
	{"README", "this list, and what was sampled", VIEW_FUNCTIONS, put_readme},
	{"functions.txt", "functions, as on the screen", VIEW_FUNCTIONS, put_text},
	{"callers.txt", "who calls them", VIEW_CALLERS, put_text},
	{"tree.txt", "the call tree", VIEW_TREE, put_text},
	{"butterfly.txt", "callers and callees of the function with most self weight",
	 VIEW_BUTTERFLY, put_text},
	{"health.txt", "what was lost, where stacks end, what it cost", VIEW_HEALTH, put_text},
	{"processes.txt", "the processes, the busiest first", VIEW_PROCESSES, put_text},
	{"functions.json", "machine, settings, health and functions (docs/JSON)", VIEW_FUNCTIONS,
	 put_json},
	{"tree.json", "the same with the call tree", VIEW_TREE, put_json},
	{"stacks.folded", "for flamegraph.pl, inferno, speedscope", VIEW_FUNCTIONS, put_folded},
	{"profile.pb.gz", "for go tool pprof, Pyroscope, Parca, speedscope", VIEW_FUNCTIONS,
	 put_pprof},
	{"samples.perf", "single samples with their times, for profiler.firefox.com, speedscope",
	 VIEW_FUNCTIONS, put_samples},
};

/* Snapshots for the screen seldom have stacks by address, which are never narrowed. */
static bool is_in_archive(size_t file, const struct snapshot *snapshot)
{
	bool has_stacks = snapshot->stacks && !snapshot->narrowed[0];

	if (files[file].put == put_pprof)
		return has_stacks;
	return files[file].put != put_samples || (has_stacks && snapshot->stacks->nr_moments > 0);
}

static int put_readme(FILE *stream, const struct part *part)
{
	const struct snapshot *s = part->snapshot;
	char line[1024];

	errno = 0;
	view_header(s, 0, part->ascii, line, sizeof(line));
	fprintf(stream, "stacktop " PACKAGE_VERSION " on %s, %s\n\n%s\n",
		snapshot_text(s, s->hostname), snapshot_text(s, s->kernel), line);
	if (*snapshot_text(s, s->settings.notice))
		fprintf(stream, "%s\n", snapshot_text(s, s->settings.notice));
	fprintf(stream, "%" PRIu64 " samples in %.3f s, of %s\n\n", s->nr_samples,
		(double)(s->window_end_ns - MIN(s->window_start_ns, s->window_end_ns)) / 1e9,
		snapshot_text(s, s->settings.target));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!part->is_archive || is_in_archive(i, s))
			fprintf(stream, "%-16s %s\n", files[i].name, files[i].what);
	return out_end(stream);
}

struct bundle {
	FILE *streams[ARRAY_SIZE(files)];
	const char *file_names[ARRAY_SIZE(files)];
	const char *name;	     /* as given */
	char *base, *part;	     /* without its parent; what it is called until it is whole */
	int parent;		     /* the folder that it is in */
	struct writer_output folder; /* in there */
	int writer_sock;	     /* of the process that may name and remove it; -1: we may */
	bool is_written;
};

/* Make the files in FOLDER. */
static int make_files(int folder, struct bundle *bundle)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_CLOSE int fd =
			openat(folder, files[i].name,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

		if (fd < 0)
			return -errno;
		bundle->streams[i] = fdopen(fd, "w");
		if (!bundle->streams[i])
			return -ENOMEM;
		steal_fd(&fd);
	}
	return 0;
}

/* The folder that was just made in PARENT, and no other that came in its place. -errno. */
static int open_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return fd;
	close(fd);
	return -EPERM;
}

static struct bundle *bundle_free(struct bundle *bundle)
{
	if (!bundle)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (bundle->streams[i])
			fclose(bundle->streams[i]);
	if (bundle->folder.fd >= 0)
		close(bundle->folder.fd);
	if (bundle->parent >= 0)
		close(bundle->parent);
	if (bundle->writer_sock >= 0)
		close(bundle->writer_sock);
	free(bundle->base);
	free(bundle->part);
	free(bundle);
	return NULL;
}

static struct bundle *bundle_new(const char *name)
{
	struct bundle *bundle = calloc(1, sizeof(*bundle));

	if (!bundle)
		return NULL;
	bundle->name = name;
	bundle->parent = bundle->folder.fd = bundle->writer_sock = -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		bundle->file_names[i] = files[i].name;
	return bundle;
}

/* "a/b/" is "b" in "a"; the parent is opened. 0 or -errno. */
static int split_name(struct bundle *bundle)
{
	size_t end = strlen(bundle->name), begin;
	AUTO_FREE char *parent = NULL;

	while (end > 0 && bundle->name[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && bundle->name[begin - 1] != '/';)
		begin--;
	parent = begin ? strndup(bundle->name, begin) : strdup(".");
	bundle->base = strndup(bundle->name + begin, end - begin);
	if (!parent || !bundle->base ||
	    asprintf(&bundle->part, "%s.part-%d", bundle->base, getpid()) < 0)
		return -ENOMEM;
	bundle->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return bundle->parent < 0 ? -errno : 0;
}

static int make_folder(struct bundle *bundle)
{
	struct stat there;

	/* Only to answer early; the renaming is what refuses. */
	if (!*bundle->base ||
	    fstatat(bundle->parent, bundle->base, &there, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	if (errno != ENOENT || mkdirat(bundle->parent, bundle->part, FOLDER_MODE) < 0)
		return -errno;
	bundle->folder = (struct writer_output){
		.fd = open_folder(bundle->parent, bundle->part),
		.name = bundle->part,
		.whole_name = bundle->base,
		.files = bundle->file_names,
		.nr_files = ARRAY_SIZE(bundle->file_names),
	};
	return MIN(bundle->folder.fd, 0);
}

int bundle_open(const char *name, struct bundle **ret, struct err *err)
{
	struct bundle *bundle = bundle_new(name);
	int r = bundle ? split_name(bundle) : -ENOMEM;

	if (r == 0)
		r = make_folder(bundle);
	if (r == 0) {
		r = make_files(bundle->folder.fd, bundle);
		if (r < 0)
			writer_remove(bundle->parent, &bundle->folder);
	}
	if (r < 0) {
		bundle_free(bundle);
		return out_save_error(r, name, err);
	}
	*ret = bundle;
	return 0;
}

int bundle_start_writer(struct bundle *bundle)
{
	return writer_start(bundle->parent, &bundle->folder, &bundle->writer_sock);
}

int bundle_add_samples(struct bundle *bundle, const struct snap_samples *samples)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
		if (files[i].put == put_samples)
			r = out_script(bundle->streams[i], samples, UINT64_MAX);
	return r;
}

static struct part part_of(const struct snapshot *snapshot, size_t file, double min_pct, bool ascii)
{
	bool opens = view_opens_in_text(files[file].view);

	return (struct part){
		.snapshot = snapshot,
		.query = {.kind = files[file].view,
			  .opens_all = opens,
			  .min_pct = opens ? min_pct : 0},
		.ascii = ascii,
	};
}

int bundle_write(struct bundle *bundle, const struct snapshot *snapshot, double min_pct, bool ascii)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++) {
		struct part part = part_of(snapshot, i, min_pct, ascii);

		if (files[i].put != put_samples)
			r = files[i].put(bundle->streams[i], &part);
	}
	bundle->is_written = r == 0;
	return r;
}

/* File systems that cannot sync say EINVAL, which is no loss. */
static int close_file(FILE *stream)
{
	int r = 0;

	errno = 0;
	if (fflush(stream) != 0 || ferror(stream) ||
	    (fsync(fileno(stream)) < 0 && errno != EINVAL && errno != ENOSYS))
		r = errno ? -errno : -EIO;
	if (fclose(stream) != 0 && r == 0)
		r = errno ? -errno : -EIO;
	return r;
}

/* All files are on the disk: 0, or the first -errno. */
static int close_files(struct bundle *bundle)
{
	int first = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r = close_file(bundle->streams[i]);

		bundle->streams[i] = NULL;
		if (first == 0)
			first = r;
	}
	return first;
}

/* The folder gets its name, or goes. */
static int end_folder(const struct bundle *bundle, bool is_whole)
{
	int r;

	if (bundle->writer_sock < 0) {
		if (is_whole)
			return writer_finish(bundle->parent, &bundle->folder);
		writer_remove(bundle->parent, &bundle->folder);
		return 0;
	}
	r = is_whole ? writer_ask_whole(bundle->writer_sock)
		     : writer_ask(bundle->writer_sock, "", -1);
	return r < 0 ? r : writer_answer(bundle->writer_sock, END_MAX_MS);
}

int bundle_close(struct bundle *bundle, bool has_failed, struct err *err)
{
	int r;

	if (!bundle)
		return 0;
	r = close_files(bundle);
	if (r == 0 && !bundle->is_written)
		r = -ECANCELED;
	if (r == 0 && !has_failed)
		r = end_folder(bundle, true);
	if (r < 0 || has_failed)
		end_folder(bundle, false);
	if (r < 0 && !has_failed)
		out_save_error(r, bundle->name, err);
	bundle_free(bundle);
	return has_failed ? 0 : r;
}

/* --- as an archive --- */

#define TAR_BLOCK   512
#define SECONDS_MAX 077777777777ull /* that its field holds */

/* POSIX.1-2017, pax: "ustar Interchange Format". Numbers are octal text. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], rest[247];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is a block");

static void put_header(FILE *stream, const char *folder, const char *name, size_t len,
		       int64_t wall_ns)
{
	struct tar_header header = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
	unsigned char *bytes = (unsigned char *)&header;
	unsigned int sum = 0;

	snprintf(header.name, sizeof(header.name), "%.80s/%.18s", folder, name);
	snprintf(header.mode, sizeof(header.mode), "%07o", FILE_MODE);
	snprintf(header.uid, sizeof(header.uid), "%07o", 0);
	snprintf(header.gid, sizeof(header.gid), "%07o", 0);
	snprintf(header.size, sizeof(header.size), "%011zo", len);
	snprintf(header.mtime, sizeof(header.mtime), "%011llo",
		 (unsigned long long)MAX(wall_ns, (int64_t)0) / NS_PER_SEC & SECONDS_MAX);
	memset(header.checksum, ' ', sizeof(header.checksum));
	for (size_t i = 0; i < sizeof(header); i++)
		sum += bytes[i];
	snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
	fwrite(&header, sizeof(header), 1, stream);
}

static int put_member(FILE *stream, const char *folder, size_t file, const struct part *part)
{
	static const char zeros[TAR_BLOCK];
	AUTO_FREE char *data = NULL;
	size_t len = 0;
	FILE *content = open_memstream(&data, &len);
	int r = content ? files[file].put(content, part) : -ENOMEM;

	if (content && fclose(content) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	put_header(stream, folder, files[file].name, len, part->snapshot->wall_ns);
	fwrite(data, 1, len, stream);
	fwrite(zeros, 1, align_up(len, TAR_BLOCK) - len, stream);
	return 0;
}

bool bundle_is_archive(const char *name)
{
	size_t len = strlen(name), ending = strlen(BUNDLE_ENDING);

	return len > ending && strcmp(name + len - ending, BUNDLE_ENDING) == 0;
}

void bundle_name(const struct snapshot *s, char *out, size_t size)
{
	char *ending;

	out_report_name(snapshot_text(s, s->hostname), s->wall_ns, out, size);
	ending = strrchr(out, '.');
	if (ending)
		snprintf(ending, size - (size_t)(ending - out), BUNDLE_ENDING);
}

int bundle_archive(FILE *stream, const struct snapshot *snapshot, const char *name, double min_pct,
		   bool ascii)
{
	static const char end[2 * TAR_BLOCK];
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	char folder[81];
	int r = 0;

	snprintf(folder, sizeof(folder), "%.*s",
		 (int)MIN(strlen(base) - strlen(BUNDLE_ENDING), sizeof(folder) - 1), base);
	errno = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0 && !ferror(stream); i++) {
		struct part part = part_of(snapshot, i, min_pct, ascii);

		part.is_archive = true;
		if (is_in_archive(i, snapshot))
			r = put_member(stream, folder, i, &part);
	}
	fwrite(end, sizeof(end), 1, stream);
	return r < 0 ? r : out_end(stream);
}
