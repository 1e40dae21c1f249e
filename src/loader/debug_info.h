/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the debug information of a file (DWARF 2 to 5) says of an address: which functions were
 * inlined there into which, and the lines. Knows no protocol and demangles nothing. Everything in
 * the file is hostile.
 *
 * To look through a unit from its top for each address would take seconds for a screen. Here
 * there are three levels, each made when it is first needed and kept as long as there is room:
 *
 *	the file       the sorted ranges of its units, from their own entries (.debug_aranges is
 *	               not there with clang, and incomplete elsewhere)
 *	a unit         the sorted ranges of its functions, in one pass that jumps over what is in
 *	               them (debug_scopes.h), and marks in its line table (debug_lines.h)
 *	a function     the ranges of what was inlined into it, sorted by depth
 *
 * Example: 0x4a10 is in unit 7, there in main(), whose inlined functions are
 *
 *	depth 1   0x4a00..0x4a40  run     called at main.c:31
 *	depth 2   0x4a08..0x4a18  hash    called at run.h:12
 *
 * and line 3 of hash.h: the answer is hash hash.h:3, run run.h:12, main main.c:31.
 */
#ifndef ST_LOADER_DEBUG_INFO_H
#define ST_LOADER_DEBUG_INFO_H

#include "src/loader/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUG_INFO_CHAIN_MAX 64 /* functions at one address; outer ones beyond are left out */

/* A function at an address. Texts are as they are in the file, valid until the next question. */
struct debug_frame {
	const char *name; /* mangled where the file has it so; NULL: it says none */
	/* Where in this function: of the innermost where the code is from, of others the call. */
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
	/* where the function is written */
	const char *decl_file;
	uint32_t decl_line;
};

struct debug_info;

/*
 * Open the debug information in the file that FD is open on; FD need not stay open. CODE, whose
 * addresses these are, says where there is code. 0; -ENOENT: there is none in it; -EFBIG: unpacked
 * it is too large; -ENOEXEC, -ENOMEM, -errno.
 */
int debug_info_open(int fd, const struct elf_file *code, struct debug_info **ret);
/*
 * The build-id of the file to which parts of it were moved (.gnu_debugaltlink, by dwz), in *RET, and where that
 * was, in *RET_PATH, both of the file's memory. The id's length, or 0: there is no such file.
 */
size_t debug_info_other_id(const struct debug_info *info, const void **ret, const char **ret_path);
/* FD is open on that file. Without it names are missing. 0 or as debug_info_open(). */
int debug_info_add_other(struct debug_info *info, int fd);
struct debug_info *debug_info_free(struct debug_info *info);

/*
 * FD is open on the package of what was split off from its units (.dwp). 0; -ENOENT: it is none; or as
 * debug_info_open().
 */
int debug_info_add_package(struct debug_info *info, int fd);
/* The same of a file with a single one (.dwo). Beyond a number of them the one used longest ago is closed. */
int debug_info_add_split(struct debug_info *info, int fd);
/*
 * A unit that was looked into since the question number SINCE is a skeleton, and what was split off from it is not
 * there: nothing is known to be inlined. It is the one number INDEX of these, and its path is put into OUT. False: there are no more.
 */
bool debug_info_lacks_split(const struct debug_info *info, uint64_t since, size_t index, char *out,
			    size_t size);
/* How many questions there were. */
uint64_t debug_info_uses(const struct debug_info *info);

/*
 * What is at the address VADDR of the file, innermost first. Returns how many: 0: nothing
 * is known; -ETIME (what was found so far is kept: ask again), -ENOMEM, -EBADMSG (damaged).
 * A single frame may have no name: only the line is known.
 */
int debug_info_at(struct debug_info *info, uint64_t vaddr,
		  struct debug_frame frames[DEBUG_INFO_CHAIN_MAX]);

/* The same for the line alone: 1 with FRAME's file and line, 0: not known. */
int debug_info_line(struct debug_info *info, uint64_t vaddr, struct debug_frame *frame);

/* How much memory it holds, without the mapped file and what of it is unpacked. */
size_t debug_info_bytes(const struct debug_info *info);
size_t debug_info_unpacked_bytes(const struct debug_info *info);
/* Forget of units that were not used lately what was found in them, until it holds at most MAX bytes. */
void debug_info_trim(struct debug_info *info, size_t max);

#endif
