/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files that targets have mapped executable, and debug files for
 * them: regular ELF files only, found by number, checked against what was asked. And for a
 * recording the files at the paths that it tells, below one folder. Each answers
 * with a descriptor or -errno. Any of these calls may hang; they run on the broker's worker threads.
 */
#ifndef ST_BROKER_FILES_H
#define ST_BROKER_FILES_H

#include "src/broker/broker.h"

/* Answer BROKER_MAPPED, BROKER_DEBUG, BROKER_DWZ and BROKER_DEBUGLINK. */
int files_open_mapped(const struct broker_file_request *request);
int files_open_debug(const struct broker_file_request *request);
int files_open_dwz(const struct broker_file_request *request);
int files_open_debuglink(const struct broker_file_request *request);

/*
 * Answer BROKER_MAPPED of a process that has ended: what stands at the path now,
 * if it has the number of the file that was mapped and has not changed since, and
 * if WHO may read it.
 */
int files_open_left(const struct broker_file_request *request, const struct identity *who);

/* Answer BROKER_PATH, BROKER_DEBUG, BROKER_DWZ and BROKER_DEBUGLINK of a recording, below the folder ROOT (a descriptor). */
int files_open_recorded(int root, const struct broker_file_request *request);

/* Answer BROKER_VMLINUX. */
int files_open_vmlinux(const struct broker_file_request *request);

/*
 * Answer BROKER_SOURCE and BROKER_SPLIT: what is at the path, below ROOT (-1: in this machine's own root), if it is
 * a regular file that is called like source text (SPLIT: an ELF file called like a compiler's), root's or WHO's own, and WHO may read it; root itself (by no sudo) reads what
 * is root's.
 */
int files_open_told(int root, const struct broker_file_request *request,
		    const struct identity *who);

/*
 * Answer BROKER_SPLIT of a file that is mapped by a process whose root is another one than this machine's: from there,
 * if it is root's or of the mapped file's owner.
 */
int files_open_split(const struct broker_file_request *request);

/* --- for tests too --- */

/*
 * What PATH leads to below ROOT, held with O_PATH, or -errno: one component after the other, and no
 * link is followed. Without openat2(2) nothing else stays below ROOT whatever stands on the way.
 */
int files_open_steps(int root, const char *path);
/*
 * Open what HELD (O_PATH) leads to, if it is the ELF file that REQUEST names by device and inode: those
 * by which the kernel records a mapping of it, whatever stat(2) tells. Else -ESTALE.
 */
int files_open_asked(int held, const struct broker_file_request *request);
/* A plain file name: one component, not dots alone, no control bytes, at most MAX bytes with its NUL. */
bool files_is_component(const char *name, size_t max);

#endif
