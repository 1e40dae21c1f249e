/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files that targets have mapped, and debug files for them: regular
 * files only, found by number, checked against what was asked. Any of these
 * calls may hang; they run on the broker's worker threads.
 */
#ifndef ST_BROKER_FILES_H
#define ST_BROKER_FILES_H

#include "src/broker/broker.h"

/* Answer BROKER_MAPPED, BROKER_DEBUG and BROKER_DEBUGLINK: a descriptor or -errno. */
int files_open_mapped(const struct broker_file_request *request);
int files_open_debug(const struct broker_file_request *request);
int files_open_debuglink(const struct broker_file_request *request);

/* A plain file name: one component, not dots alone, no control bytes, at most MAX bytes with its NUL. */
bool files_is_component(const char *name, size_t max);

#endif
