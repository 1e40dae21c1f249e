/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files that targets have mapped executable, and debug files for
 * them: regular ELF files only, found by number, checked against what was asked.
 * Any of these calls may hang; they run on the broker's worker threads.
 */
#ifndef ST_BROKER_FILES_H
#define ST_BROKER_FILES_H

#include "src/broker/broker.h"

/* Answer BROKER_MAPPED, BROKER_DEBUG and BROKER_DEBUGLINK: a descriptor or -errno. */
int files_open_mapped(const struct broker_file_request *request);
int files_open_debug(const struct broker_file_request *request);
int files_open_debuglink(const struct broker_file_request *request);

/* --- what by_path.c shares --- */

/*
 * What PATH leads to below ROOT, held with O_PATH, or -errno: one component after the other, and no
 * link is followed. Without openat2(2) nothing else stays below ROOT whatever stands on the way.
 */
int files_open_steps(int root, const char *path);
/*
 * The same by openat2(2), with RESOLVE of it, where that can be had: the kernel has it since Linux 5.6,
 * and the broker's filter lets it through only where nothing can be written to.
 */
int files_open_beneath(int root, const char *path, uint64_t resolve);
/* Open what HELD (O_PATH) leads to. A descriptor, -EINVAL: no regular file, -ENOEXEC: no ELF, or -errno. */
int files_open_held(int held);
/*
 * The same, if it is the file that REQUEST names by device and inode: those by which the kernel
 * records a mapping of it, whatever stat(2) tells. Else -ESTALE.
 */
int files_open_asked(int held, const struct broker_file_request *request);

/* Where debug files are: by build-id, and by name in relation to the folder of the file (as gdb). */
#define FILES_DEBUG_DIR	     "/usr/lib/debug"
#define FILES_DEBUG_PATH_MAX 96
#define FILES_DEBUG_PLACES   3
extern const struct files_debug_place {
	const char *before, *after;
} files_debug_places[FILES_DEBUG_PLACES];
/* The path by REQUEST's build-id; false: it has none that could be. */
bool files_debug_path(const struct broker_file_request *request, char *path, size_t size);

/* A plain file name: one component, not dots alone, no control bytes, at most MAX bytes with its NUL. */
bool files_is_component(const char *name, size_t max);

#endif
