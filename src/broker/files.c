/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Targets' files by number, and a recording's by path: see files.h. Each file is first held with O_PATH,
 * which opens nothing, so that a FIFO or a device is never opened at all; it is
 * opened for reading, through /proc/self/fd, when it turned out to be a regular
 * file with the right inode.
 *
 * Modules are shared by all processes, known by the device and inode of the
 * kernel's own records. So a file is handed out only if the kernel records it so:
 * who may mount file systems of his own can choose inodes, but no device.
 *
 * A recording's paths were made by whoever made the recording; the broker has no more rights than
 * who asked then. By path go too the files of processes that are gone, as the workers could open them.
 */
#include "config.h"

#include "src/broker/files.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/maps.h"
#include "src/broker/proc_dir.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define DELETED	      " (deleted)" /* what the kernel adds to the path of an unlinked file */
#define BUILD_ID_MIN  2
#define CTIME_STEP_NS (10 * NS_PER_MSEC) /* times of files are those of the last tick */

/* Where debug files are: by build-id, and by name in relation to the folder of the file (as gdb). */
#define DEBUG_DIR      "/usr/lib/debug"
#define DWZ_DIR	       DEBUG_DIR "/.dwz/"
#define DEBUG_PATH_MAX (sizeof(DWZ_DIR) + sizeof(((struct broker_file_request *)NULL)->name))

static const struct {
	const char *before, *after;
} debug_places[] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_DIR, "/"}};

int files_open_steps(int root, const char *path)
{
	AUTO_CLOSE int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	if (at < 0)
		return -errno;
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");
		int next;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		if (strcmp(name, "..") == 0)
			return -EXDEV;
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(at);
		at = next;
	}
	return steal_fd(&at);
}

/*
 * The same by openat2(2), with RESOLVE of it, where that can be had: the kernel has it since Linux 5.6,
 * and the broker's filter lets it through only where nothing can be written to.
 */
static int open_beneath(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return files_open_steps(root, path);
	return fd < 0 ? -errno : fd;
}

/* Is PATH that of a kernel module, which may be packed? */
static bool is_module(const char *path)
{
	static const char *const ends[] = {".ko.xz", ".ko.zst", ".ko.gz"};
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (len > strlen(ends[i]) && strcmp(path + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* By its first bytes: who asks shall not get at the content of other files. */
static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* Open what HELD (O_PATH) leads to. A descriptor, -EINVAL: no regular file, or -errno. */
static int open_regular(int held)
{
	struct stat st;
	char path[32];
	int fd;

	if (fstat(held, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The same; -ENOEXEC: no ELF. */
static int open_held(int held)
{
	AUTO_CLOSE int fd = open_regular(held);

	if (fd < 0)
		return fd;
	return is_elf(fd) ? steal_fd(&fd) : -ENOEXEC;
}

int files_open_asked(int held, const struct broker_file_request *request)
{
	AUTO_CLOSE int fd = -1;
	struct maps_range id;
	struct stat st;
	int r;

	if (fstat(held, &st) < 0)
		return -errno;
	if (st.st_ino != request->ino)
		return -ESTALE;
	fd = open_held(held);
	if (fd < 0)
		return fd;
	r = maps_file_id(fd, true, &id);
	if (r < 0)
		return r;
	if (id.ino != request->ino || id.maj != request->maj || id.min != request->min)
		return -ESTALE;
	return steal_fd(&fd);
}

/*
 * Without the privilege for map_files (CAP_CHECKPOINT_RESTORE) its links can
 * be read but not followed: look for the same file by the path that they
 * tell, in the process's own root, then for the executable, which has a link
 * that its owner may follow even when the file is deleted.
 */
static int open_by_path(int dir, const char *entry, const struct broker_file_request *request)
{
	AUTO_CLOSE int root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int held = -1;
	AUTO_CLOSE int exe = -1;
	char path[PATH_MAX];
	ssize_t n;
	int r = -ESTALE;

	n = readlinkat(dir, entry, path, sizeof(path) - 1);
	if (n < 0)
		return proc_error();
	path[n] = '\0';
	if (root >= 0 && path[0] == '/') {
		held = open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		if (held >= 0)
			r = files_open_asked(held, request);
		if (held >= 0 && r != -ESTALE)
			return r;
	}
	exe = openat(dir, "exe", O_PATH | O_CLOEXEC);
	if (exe >= 0)
		return files_open_asked(exe, request);
	return held >= 0 ? -ESTALE : -EACCES;
}

static int open_entry(int dir, const char *entry, const struct broker_file_request *request)
{
	AUTO_CLOSE int held = openat(dir, entry, O_PATH | O_CLOEXEC);

	if (held < 0 && (errno == EPERM || errno == EACCES))
		return open_by_path(dir, entry, request);
	return held < 0 ? proc_error() : files_open_asked(held, request);
}

/* The program that the process runs, if that is the file of REQUEST. -ENOENT: it is not. */
static int open_program(int dir, const struct broker_file_request *request, char *entry,
			size_t size)
{
	AUTO_CLOSE int exe = openat(dir, "exe", O_PATH | O_CLOEXEC);
	int r = exe < 0 ? -ENOENT : files_open_asked(exe, request);

	snprintf(entry, size, "exe");
	return r == -ESTALE ? -ENOENT : r;
}

/*
 * Open the file that REQUEST names, if the process of DIR has it mapped
 * executable in that range now, or runs it and has moved its text from there; ENTRY becomes its
 * name under DIR. Mappings are split and joined after they were reported, so the one that is there now counts.
 */
static int open_mapped(int dir, const struct broker_file_request *request, char *entry, size_t size)
{
	const struct maps_range want = {
		.start = request->start,
		.end = request->end,
		.ino = request->ino,
		.maj = request->maj,
		.min = request->min,
	};
	AUTO_CLOSE int maps = -1;
	struct maps_range found;
	int r;

	if (request->start >= request->end || request->ino == 0)
		return -EINVAL;
	maps = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return proc_error();
	r = maps_find_exec(maps, &want, true, &found);
	if (r == -ENOENT)
		return open_program(dir, request, entry, size);
	if (r < 0)
		return r;
	snprintf(entry, size, "map_files/%llx-%llx", (unsigned long long)found.start,
		 (unsigned long long)found.end);
	return open_entry(dir, entry, request);
}

int files_open_mapped(const struct broker_file_request *request)
{
	AUTO_CLOSE int dir = proc_dir_open(request->pid, request->start_time);
	char entry[64];

	return dir < 0 ? dir : open_mapped(dir, request, entry, sizeof(entry));
}

/* The path by REQUEST's build-id; false: it has none that could be. */
static bool debug_path(const struct broker_file_request *request, char *path, size_t size)
{
	int len = snprintf(path, size, DEBUG_DIR "/.build-id/");

	if (request->build_id_bytes < BUILD_ID_MIN ||
	    request->build_id_bytes > sizeof(request->build_id))
		return false;
	for (size_t i = 0; i < request->build_id_bytes; i++)
		len += snprintf(path + len, size - (size_t)len, i == 0 ? "%02x/" : "%02x",
				request->build_id[i]);
	snprintf(path + len, size - (size_t)len, ".debug");
	return true;
}
_Static_assert(sizeof(DEBUG_DIR "/.build-id/xx/.debug") +
			       2 * sizeof(((struct broker_file_request *)NULL)->build_id) <=
		       DEBUG_PATH_MAX,
	       "the path by build-id fits");

bool files_is_component(const char *name, size_t max)
{
	size_t len = strnlen(name, max);

	if (len == 0 || len == max)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
			return false;
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The path by REQUEST's name in dwz's folder; false: it has none that stays there. */
static bool dwz_path(const struct broker_file_request *request, char *path, size_t size)
{
	const char *name = request->name, *end = memchr(name, '\0', sizeof(request->name));
	char part[NAME_MAX + 1];

	if (!end)
		return false;
	snprintf(path, size, DWZ_DIR "%s", name);
	for (size_t len; name <= end; name += len + 1) {
		len = strcspn(name, "/");
		snprintf(part, sizeof(part), "%.*s", (int)len, name);
		if (!files_is_component(part, sizeof(part)))
			return false;
	}
	return true;
}

/*
 * Is a debug file (DEBUG, held at HELD) the choice of the owner of the file SELF? All users see the
 * names that come from it, and its path is the choice of whoever mapped the file.
 */
static bool is_owners(int held, const struct stat *debug, const struct stat *self)
{
	struct statfs fs;

	if ((debug->st_uid != 0 && debug->st_uid != self->st_uid) || debug->st_mode & S_IWOTH)
		return false;
	/* Owners in FUSE are what its server says: good for the same server's files. */
	return debug->st_dev == self->st_dev ||
	       (fstatfs(held, &fs) == 0 && fs.f_type != FUSE_SUPER_MAGIC);
}

/* One candidate: the owner's regular file below ROOT, no link on the way, and not SELF, the mapped one. */
static int open_candidate(int root, const char *path, const struct stat *self)
{
	AUTO_CLOSE int held = -1;
	struct stat st;

	/*
	 * The kernel's path of a mapped file has no links in it. One on the
	 * way here would be put there to have another's file opened.
	 */
	held = open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	if (held < 0)
		return held;
	if (fstat(held, &st) < 0)
		return -errno;
	if ((st.st_dev == self->st_dev && st.st_ino == self->st_ino) || !is_owners(held, &st, self))
		return -ENOENT;
	return open_held(held);
}

/* The folder of the mapped file as the process sees it, without a slash at its end. */
static int mapped_folder(int dir, const char *entry, char *folder, size_t size)
{
	ssize_t n = readlinkat(dir, entry, folder, size - 1);
	char *slash;

	if (n < 0)
		return proc_error();
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (folder[0] != '/' || !slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/*
 * The folders that the process of DIR sees are root's or SELF's owner's choice. In a user namespace
 * any user can mount anything anywhere: there only files of the process's own user are believed.
 */
static bool is_view_owners(int dir, const struct stat *self)
{
	struct stat process, theirs, ours;

	if (fstatat(dir, "ns/user", &theirs, 0) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
	    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		return true;
	return fstat(dir, &process) == 0 && process.st_uid == self->st_uid;
}

/*
 * The root directory of the process that maps the file of REQUEST executable, as one in which debug
 * files of that file may be looked for; SELF becomes what the file is. -ENOENT: they may not.
 */
static int open_view(const struct broker_file_request *request, struct stat *self)
{
	AUTO_CLOSE int dir = proc_dir_open(request->pid, request->start_time);
	AUTO_CLOSE int file = -1;
	int root;
	char entry[64];

	if (dir < 0)
		return dir;
	file = open_mapped(dir, request, entry, sizeof(entry));
	if (file < 0)
		return file;
	if (fstat(file, self) < 0)
		return -errno;
	if (!is_view_owners(dir, self))
		return -ENOENT;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? proc_error() : root;
}

/* In this machine's own root the folder of PATH is root's; a container may bring its own debug files along. */
static int open_debug(const struct broker_file_request *request, const char *path)
{
	AUTO_CLOSE int held = open(path, O_PATH | O_CLOEXEC);
	AUTO_CLOSE int root = -1;
	struct stat self;

	if (held >= 0)
		return open_held(held);
	root = open_view(request, &self);
	return root < 0 ? -ENOENT : open_candidate(root, path, &self);
}

int files_open_debug(const struct broker_file_request *request)
{
	char path[DEBUG_PATH_MAX];

	return debug_path(request, path, sizeof(path)) ? open_debug(request, path) : -EINVAL;
}

int files_open_dwz(const struct broker_file_request *request)
{
	char path[DEBUG_PATH_MAX];
	int r = files_open_debug(request);

	return r < 0 && dwz_path(request, path, sizeof(path)) ? open_debug(request, path) : r;
}

/* Files that are made up as they are read are none that a program was mapped from. */
static bool is_made_up(int fd)
{
	static const long types[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (fs.f_type == types[i])
			return true;
	return false;
}

static int open_path(int root, const char *path)
{
	AUTO_CLOSE int held = open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	if (held < 0)
		return held;
	if (is_made_up(held))
		return -EINVAL;
	return is_module(path) ? open_regular(held) : open_held(held);
}

/*
 * The debug file that REQUEST names, of the file SELF, which lies in FOLDER, below ROOT. SELF NULL: of
 * the file at a recording's path.
 */
static int open_beside(int root, const char *folder, const struct broker_file_request *request,
		       const struct stat *self)
{
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(debug_places) && r < 0; i++) {
		char path[2 * PATH_MAX];
		int n = snprintf(path, sizeof(path), "%s%s%s%s", debug_places[i].before, folder,
				 debug_places[i].after, request->name);

		if (n < 0 || n >= (int)sizeof(path))
			continue;
		if (self)
			r = open_candidate(root, path, self);
		else if (strcmp(path, request->path) != 0)
			r = open_path(root, path);
	}
	return r;
}

int files_open_debuglink(const struct broker_file_request *request)
{
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int file = -1;
	AUTO_CLOSE int own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int root = -1;
	char entry[64], folder[PATH_MAX];
	struct stat self;
	int r;

	if (!files_is_component(request->name, sizeof(request->name)))
		return -EINVAL;
	dir = proc_dir_open(request->pid, request->start_time);
	if (dir < 0)
		return dir;
	file = open_mapped(dir, request, entry, sizeof(entry));
	if (file < 0)
		return file;
	if (fstat(file, &self) < 0)
		return -errno;
	r = mapped_folder(dir, entry, folder, sizeof(folder));
	if (r < 0)
		return r;
	r = open_beside(own_root, folder, request, &self);
	if (r >= 0 || !is_view_owners(dir, &self))
		return r < 0 ? -ENOENT : r;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return proc_error();
	r = open_beside(root, folder, request, &self);
	return r < 0 ? -ENOENT : r;
}

/* --- by path --- */

/*
 * HELD has not changed since the file was mapped. While it was mapped its number
 * could not become another file's, and a file that got it later is younger.
 */
static bool is_unchanged(const struct stat *st, uint64_t seen_ns)
{
	struct timespec wall;
	int64_t changed_ns, wall_ns;

	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ns = (int64_t)wall.tv_sec * (int64_t)NS_PER_SEC + wall.tv_nsec;
	changed_ns = (int64_t)st->st_ctim.tv_sec * (int64_t)NS_PER_SEC + st->st_ctim.tv_nsec;
	return changed_ns < wall_ns - (int64_t)(now_ns() - seen_ns) - (int64_t)CTIME_STEP_NS;
}

static int open_left(const struct broker_file_request *request, const struct identity *who)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int held = -1;
	struct stat st;

	if (root < 0)
		return -errno;
	held = open_beneath(root, request->path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (held < 0)
		return held;
	if (fstat(held, &st) < 0)
		return -errno;
	if (!is_unchanged(&st, request->seen_ns))
		return -ESTALE;
	/* Root's groups are no reason. */
	if (!(st.st_mode & S_IROTH) && st.st_uid != who->uid)
		return -EACCES;
	return is_made_up(held) ? -EINVAL : files_open_asked(held, request);
}

/* The path of REQUEST, if it is one: absolute, and ended within its room. */
static bool has_path(const struct broker_file_request *request)
{
	return request->path[0] == '/' && memchr(request->path, '\0', sizeof(request->path));
}

int files_open_left(const struct broker_file_request *request, const struct identity *who)
{
	int r;

	if (!has_path(request) || request->ino == 0 || request->seen_ns == 0 ||
	    request->seen_ns > now_ns())
		return -ENOENT;
	r = identity_files_as(who);
	if (r == 0)
		r = open_left(request, who);
	identity_files_as_self();
	return r;
}

static int open_path_debug(int root, const struct broker_file_request *request)
{
	char path[DEBUG_PATH_MAX];

	return debug_path(request, path, sizeof(path)) ? open_path(root, path) : -EINVAL;
}

static int open_path_dwz(int root, const struct broker_file_request *request)
{
	char path[DEBUG_PATH_MAX];
	int r = open_path_debug(root, request);

	return r < 0 && dwz_path(request, path, sizeof(path)) ? open_path(root, path) : r;
}

static int open_path_debuglink(int root, const struct broker_file_request *request)
{
	char folder[PATH_MAX];

	if (!has_path(request) || !files_is_component(request->name, sizeof(request->name)))
		return -EINVAL;
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(request->path, '/') - request->path),
		 request->path);
	return open_beside(root, folder, request, NULL);
}

int files_open_recorded(int root, const struct broker_file_request *request)
{
	if (request->kind == BROKER_DEBUG)
		return open_path_debug(root, request);
	if (request->kind == BROKER_DWZ)
		return open_path_dwz(root, request);
	if (request->kind == BROKER_DEBUGLINK)
		return open_path_debuglink(root, request);
	return request->kind == BROKER_PATH && has_path(request) ? open_path(root, request->path)
								 : -EINVAL;
}

/* --- the kernel's own file --- */

int broker_vmlinux_path(uint32_t place, const char *release, char *out, size_t size)
{
	static const struct {
		const char *before, *after; /* the release */
	} places[] = {
		{"/boot/vmlinux-", ""},
		{"/usr/lib/debug/boot/vmlinux-", ""},
		{"/usr/lib/debug/lib/modules/", "/vmlinux"},
		{"/lib/modules/", "/build/vmlinux"},
	};
	int n;

	if (place >= ARRAY_SIZE(places))
		return -ERANGE;
	n = snprintf(out, size, "%s%s%s", places[place].before, release, places[place].after);
	return files_is_component(release, size) && n < (int)size ? 0 : -EINVAL;
}

int files_open_vmlinux(const struct broker_file_request *request)
{
	AUTO_CLOSE int held = -1;
	char path[PATH_MAX];
	struct utsname uts;
	int r = uname(&uts) < 0 ? -errno : 0;

	if (r == 0)
		r = broker_vmlinux_path((uint32_t)MIN(request->start, (uint64_t)UINT32_MAX),
					uts.release, path, sizeof(path));
	if (r < 0)
		return r;
	held = open(path, O_PATH | O_CLOEXEC);
	return held < 0 ? -errno : open_held(held);
}

/* --- what debug information tells: source text, split units --- */

/* Is PATH, without links in it, called like source text? C++ calls some of its headers by a word alone. */
static bool is_called_like_source(const char *path)
{
	static const char *const endings[] = {
		"c",	 "h",	"cc",  "hh",  "cpp", "hpp", "cxx", "hxx", "c++", "h++",	 "C",
		"H",	 "inl", "inc", "ipp", "tcc", "tpp", "icc", "def", "ixx", "cppm", "cu",
		"cuh",	 "s",	"S",   "asm", "rs",  "go",  "d",   "di",  "zig", "nim",	 "v",
		"swift", "m",	"mm",  "f",   "for", "f77", "f90", "f95", "f03", "f08",	 "F",
		"F90",	 "adb", "ads", "pas", "pp",  "ml",  "hs",  "y",	  "l",	 "vala", "cr",
	};
	static const char headers[] = "/usr/include/";
	const char *name = strrchr(path, '/'), *dot = name ? strrchr(name, '.') : NULL;

	if (!dot)
		return strncmp(path, headers, strlen(headers)) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (strcmp(dot + 1, endings[i]) == 0)
			return true;
	return false;
}

/* The same of a file that a compiler has made. */
static bool is_called_like_split(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".dwo") == 0 || strcmp(dot, ".o") == 0);
}

/* The path is a program's word: what it leads to must look like what is asked for by its own name, and be trusted. */
static int open_told(int root, const struct broker_file_request *request, uid_t owner)
{
	bool is_source = request->kind == BROKER_SOURCE;
	AUTO_CLOSE int held = -1;
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	held = root < 0
		       ? open(request->path, O_PATH | O_CLOEXEC)
		       : open_beneath(root, request->path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (held < 0)
		return root < 0 ? -errno : held;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || fstat(held, &st) < 0)
		return -errno;
	path[n] = '\0';
	if (!(is_source ? is_called_like_source(path) : is_called_like_split(path)) ||
	    is_made_up(held))
		return -EINVAL;
	if (st.st_uid != 0 && st.st_uid != owner)
		return -EACCES;
	return is_source ? open_regular(held) : open_held(held);
}

int files_open_split(const struct broker_file_request *request)
{
	AUTO_CLOSE int root = -1;
	struct stat self, theirs, ours;

	if (!has_path(request) || !is_called_like_split(request->path))
		return -EINVAL;
	root = open_view(request, &self);
	if (root < 0)
		return root;
	if (fstat(root, &theirs) < 0 || stat("/", &ours) < 0)
		return -errno;
	if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		return -ENOENT;
	return open_candidate(root, request->path, &self);
}

int files_open_told(int root, const struct broker_file_request *request, const struct identity *who)
{
	bool is_root_itself = who->was_root && !who->by_sudo;
	int r;

	if (!has_path(request))
		return -EINVAL;
	if (is_root_itself)
		return open_told(root, request, 0);
	r = identity_files_as(who);
	if (r == 0)
		r = open_told(root, request, who->uid);
	identity_files_as_self();
	return r;
}
