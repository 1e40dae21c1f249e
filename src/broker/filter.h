/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system calls that the broker, with its privileges, can still make. */
#ifndef ST_BROKER_FILTER_H
#define ST_BROKER_FILTER_H

#include <stdbool.h>

/*
 * Filter the system calls of this thread and of all threads and processes that it
 * starts from now on: what is not on the list fails with EPERM. No file is opened for
 * writing, made or removed, no program started, no memory made executable, no socket made
 * but pairs of own processes, no namespace entered. HAS_OPENAT2: that call is allowed, whose
 * flags a filter cannot see, since Landlock forbids writing already; else it
 * fails with ENOSYS. Needs no_new_privs. 0, also when built without seccomp, or -errno.
 */
int filter_enter(bool has_openat2);

/* How the report writer creates a file, and no other way is open to it. */
#define WRITER_OPEN_FLAGS (O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC)
#define WRITER_MODE	  0600

/* How the writer of settings opens a folder, and the file that is there. */
#define SETTINGS_FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define SETTINGS_READ_FLAGS   (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)

/*
 * The same for the report writer: messages, one kind of new file, its content, its removal and its name. HAS_SETTINGS:
 * files are read and folders made as well.
 */
int filter_enter_writer(bool has_settings);

#endif
