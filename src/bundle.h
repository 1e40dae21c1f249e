/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The evidence in one folder: what all views show, and the same for other
 * programs. The folder and its files, whose names are fixed, are made at the start, by who
 * may make them; afterwards their descriptors are needed, and somebody who gives it its name when it
 * is whole: until then it is called NAME.part-PID. What does not become whole is removed.
 */
#ifndef ST_BUNDLE_H
#define ST_BUNDLE_H

#include "src/base/err.h"
#include "src/model/snapshot.h"

#include <stdbool.h>
#include <stdio.h>

struct bundle;

/* Make the folder that becomes NAME, which must not exist, mode 0700, and its files. -errno with ERR: nothing that was made stays. */
int bundle_open(const char *name, struct bundle **ret, struct err *err);
/* This process gives up its rights: another one names or removes the folder in the end (writer.h). 0 or -errno. */
int bundle_start_writer(struct bundle *bundle);
/* Append single samples. 0 or -errno. */
int bundle_add_samples(struct bundle *bundle, const struct snap_samples *samples);
/* What a view or a format has to say of SNAPSHOT, which has its stacks by address, to each file. MIN_PCT is of the trees. 0 or -errno. */
int bundle_write(struct bundle *bundle, const struct snapshot *snapshot, double min_pct,
		 bool ascii);
/* NAME asks for an archive: it ends in BUNDLE_ENDING, behind something. */
#define BUNDLE_ENDING ".tar"
bool bundle_is_archive(const char *name);
/* The name of the archive for SNAPSHOT: "stacktop-HOST-20261121-170448.tar". */
void bundle_name(const struct snapshot *snapshot, char *out, size_t size);
/*
 * The same as a tar archive of a folder called like the file NAME, without single samples, and without a profile of
 * pprof if the snapshot has no stacks by address or is narrowed, which those are not. 0 or -errno.
 */
int bundle_archive(FILE *stream, const struct snapshot *snapshot, const char *name, double min_pct,
		   bool ascii);
/*
 * Put it on the disk and give it its name; if anything of it has failed (HAS_FAILED: elsewhere), or nothing was written,
 * remove it. Frees it; NULL is done. 0, or -errno with ERR: nothing is left.
 */
int bundle_close(struct bundle *bundle, bool has_failed, struct err *err);

#endif
