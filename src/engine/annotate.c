/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One function by its instructions: these come once from the loader and stay, as the source
 * lines that they are from come once from their files; the samples in them are the window's and are new with
 * each snapshot.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/engine/internal.h"
#include "src/engine/source_lines.h"
#include "src/loader/instructions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_TRIES_MAX 5
#define TAG_SHIFT      32 /* of the annotation's number in the tag of a request for source */
#define TAG_FETCHED    (1u << 31) /* the file is asked for of servers; below it is its number */

struct annotation {
	uint64_t key;
	struct profile_func func;
	bool is_asked; /* at the loader */
	bool is_made; /* code that a process makes: FUNC's module is that process's, offsets are addresses */
	uint32_t nr_tries; /* of made code, which changes as it is read */
	bool is_there;	   /* INSTRUCTIONS are */
	const char *why;   /* they never will be; else NULL */
	struct instructions instructions;
	uint32_t number; /* tells what was asked for it from what was for others */
	/* source files: those that have been asked for, of those without an answer, and until when they are waited for */
	uint32_t nr_asked, nr_awaited;
	uint64_t source_until_ns;
	struct source_lines lines;
	struct profile_addresses addresses; /* of the last snapshot */
};

/* One may still come, and is asked for as long as this is so. */
static const char no_vmlinux[] =
	"the kernel's vmlinux is not here: install its debug package, or use debuginfod";
static const char not_in_vmlinux[] =
	"not in the kernel's vmlinux: code of a module, or made while it ran";

void annotate_done(struct engine *engine)
{
	struct annotation *a = engine->annotation;

	engine->annotation = NULL;
	if (!a)
		return;
	resolve_forget_sources(engine->resolver);
	instructions_done(&a->instructions);
	source_lines_done(&a->lines);
	free(a->addresses.all);
	free(a);
}

void annotate_choose(struct engine *engine, uint64_t key)
{
	if (engine->annotation && engine->annotation->key == key && !engine->annotation->why)
		return;
	annotate_done(engine);
	if (key == 0)
		return;
	/* Without memory there is no annotation: main asks again. */
	engine->annotation = calloc(1, sizeof(*engine->annotation));
	if (!engine->annotation)
		return;
	engine->annotation->key = key;
	engine->annotation->number = ++engine->nr_annotations;
}

/* --- source --- */

/* Say which lines will be shown. Without memory there are none. */
static void want_lines(struct annotation *a)
{
	const struct instructions *in = &a->instructions;
	int r = 0;

	for (uint32_t i = 0; i < in->nr && r == 0; i++)
		if (in->all[i].line > 0)
			r = source_lines_want(&a->lines, in->all[i].file, in->all[i].line);
	if (r < 0)
		source_lines_done(&a->lines);
	source_lines_sort(&a->lines);
	a->source_until_ns = now_ns() + RESOLVE_GIVE_UP_NS;
}

/* Ask for the files that have not been asked for, as far as the broker has room. */
static void ask_source(struct engine *engine, struct annotation *a)
{
	const struct instructions *in = &a->instructions;

	for (; a->nr_asked < in->nr_files; a->nr_asked++) {
		int r = resolve_ask_source(engine->resolver, in->text + in->files[a->nr_asked],
					   (uint64_t)a->number << TAG_SHIFT | a->nr_asked);

		if (r == -EAGAIN)
			return;
		a->nr_awaited += r == 0;
	}
}

/* Text that comes later than a file may hang is shown as well, but not waited for. */
static bool awaits_source(const struct annotation *a)
{
	return (a->nr_asked < a->instructions.nr_files || a->nr_awaited > 0) &&
	       now_ns() < a->source_until_ns;
}

/* What is not on this machine may be at a server. */
static bool fetch_source(struct engine *engine, struct annotation *a, uint64_t tag)
{
	const struct instructions *in = &a->instructions;
	uint32_t file = (uint32_t)tag;

	return !(tag & TAG_FETCHED) && file < in->nr_files &&
	       resolve_fetch_source(engine->resolver, a->func.module, in->text + in->files[file],
				    tag | TAG_FETCHED) == 0;
}

void annotate_take_source(struct engine *engine, const struct broker_file_reply *reply)
{
	struct annotation *a = engine->annotation;
	AUTO_FREE char *data = NULL;
	size_t len;

	if (!a || reply->tag >> TAG_SHIFT != a->number || a->nr_awaited == 0)
		return;
	if (reply->status < 0 && fetch_source(engine, a, reply->tag))
		return;
	a->nr_awaited--;
	/* What cannot be read is shown by its file and line alone, as is what there is no memory for. */
	if (reply->status == 0 && reply->bytes <= SOURCE_FILE_BYTES_MAX &&
	    read_all(reply->fd, SOURCE_FILE_BYTES_MAX, &data, &len) == 0)
		source_lines_fill(&a->lines, (uint32_t)reply->tag & ~TAG_FETCHED, data, len);
}

/* --- instructions --- */

/* The offset in the code: without the epoch of code that a process makes. */
static uint64_t code_off(const struct annotation *a, uint64_t off)
{
	return a->is_made ? off & RESOLVE_JIT_ADDR_MASK : off;
}

/* The instruction that holds OFF, or SNAPSHOT_NONE. */
static uint32_t instruction_at(const struct instructions *in, uint64_t off)
{
	uint32_t after = (uint32_t)search_first(in->nr, i, in->all[i].off > off);

	if (after == 0 || off - in->all[after - 1].off >= in->all[after - 1].bytes)
		return SNAPSHOT_NONE;
	return after - 1;
}

/*
 * What was asked for another function of the file is told from what was asked for this one by where it begins;
 * of code that a process makes, by the place that was asked for.
 */
static bool is_answer(const struct annotation *a, const struct instructions *in)
{
	if (a->is_made)
		return instruction_at(in, code_off(a, a->func.off)) != SNAPSHOT_NONE;
	return in->nr > 0 && in->all[0].off == a->func.off;
}

/* There are no instructions of FUNC. */
static const char *why_no_code(const struct profile_func *func, enum loader_status status)
{
	if (status == LOADER_NO_CODE)
		return "code of a machine that is not disassembled";
	if (func->is_kernel && status == LOADER_FAILED)
		return not_in_vmlinux;
	return func->is_kernel && status == LOADER_NOT_ELF ? no_vmlinux
							   : loader_status_text(status);
}

void annotate_take(struct engine *engine, uint32_t module, enum loader_status status,
		   struct instructions *instructions)
{
	struct annotation *a = engine->annotation;

	if (!a || !a->is_asked || a->func.module != module || a->is_there)
		return;
	if (status == LOADER_OK && !is_answer(a, instructions))
		return;
	a->is_asked = false;
	if (status == LOADER_FAILED && a->is_made) {
		if (++a->nr_tries >= MADE_TRIES_MAX)
			a->why = "its code cannot be read, or is not there any more";
		return;
	}
	if (status != LOADER_OK) {
		a->why = why_no_code(&a->func, status);
		return;
	}
	a->instructions = *instructions;
	*instructions = (struct instructions){0};
	a->is_there = true;
	want_lines(a);
}

static const char *why_not(const struct profile_func *func, int error)
{
	switch (error) {
	case -ENOENT:
		if (proc_is_jit(func->module))
			return "made at run time, and no names are known (see 7, health)";
		return func->is_kernel ? no_vmlinux : "its file could not be read";
	case -ESTALE:
		return "its file is gone";
	case -ENOTSUP:
		return "code that was made at run time, of which nothing is known";
	case -ENOMEM:
		return "out of memory";
	default:
		return "where it begins is not known";
	}
}

/*
 * The place in the code that a process makes which has most samples; of those of the present epoch, if there are
 * such: older ones may be of code that has gone. NULL: the samples are in no such code.
 */
static const struct profile_address *made_place(const struct annotation *a)
{
	const struct profile_address *best = NULL;

	for (size_t i = 0; i < a->addresses.nr; i++) {
		const struct profile_address *address = &a->addresses.all[i];
		uint64_t epoch = address->off & ~RESOLVE_JIT_ADDR_MASK;
		uint64_t best_epoch = best ? best->off & ~RESOLVE_JIT_ADDR_MASK : 0;

		if (proc_is_jit(address->module) &&
		    (!best || epoch > best_epoch ||
		     (epoch == best_epoch && address->weight > best->weight)))
			best = address;
	}
	return best;
}

/* Ask for the instructions, if they are to be had. ADDRESSES are up to date. */
static void ask(struct engine *engine, struct annotation *a)
{
	const struct profile_address *made;
	uint64_t last;
	int r;

	if (a->is_there || a->is_asked || (a->why && a->why != no_vmlinux))
		return;
	if (!profile_find_func(engine->profile, a->key, &a->func)) {
		a->why = "it is not in the profile any more";
		return;
	}
	made = made_place(a);
	a->is_made = made != NULL;
	if (made) {
		a->func.module = made->module;
		a->func.off = made->off;
	}
	last = a->addresses.nr && !made ? a->addresses.all[a->addresses.nr - 1].off : a->func.off;
	r = resolve_ask_code(engine->resolver, a->func.module, a->func.off, MAX(last, a->func.off));
	a->is_asked = r == 0;
	a->why = r < 0 && r != -EAGAIN ? why_not(&a->func, r) : NULL;
}

static struct snap_instruction snap_of(const struct annotation *a, const struct instruction *from)
{
	const struct instructions *in = &a->instructions;
	struct snap_instruction ret = {
		.addr = from->off - in->all[0].off + in->vaddr,
		.target = SNAPSHOT_NONE,
		.text = from->text,
		.source = SNAPSHOT_NONE,
	};
	uint32_t source = SOURCE_NONE;

	if (from->line > 0) {
		ret.file = in->files[from->file];
		ret.line = from->line;
		source = source_lines_find(&a->lines, from->file, from->line);
	}
	if (source != SOURCE_NONE) /* that text follows the instructions' */
		ret.source = (uint32_t)in->text_bytes + source;
	if (from->target == UINT64_MAX)
		return ret;
	if (!from->is_call)
		ret.target = instruction_at(in, from->target);
	if (ret.target != SNAPSHOT_NONE && in->all[ret.target].off != from->target)
		ret.target = SNAPSHOT_NONE;
	/* A jump to another function is a call that does not come back. Made code goes by its names. */
	if (a->is_made)
		return ret;
	if (from->is_call || instruction_at(in, from->target) == SNAPSHOT_NONE)
		ret.callee = profile_func_key(a->func.module, from->target);
	return ret;
}

static void fill(const struct annotation *a, struct snap_annotation *ret)
{
	const struct instructions *in = &a->instructions;

	for (uint32_t i = 0; i < in->nr; i++)
		ret->instructions[i] = snap_of(a, &in->all[i]);
	if (in->nr > 0)
		memcpy(ret->text, in->text, in->text_bytes);
	if (a->lines.text_bytes > 0)
		memcpy(ret->text + in->text_bytes, a->lines.text, a->lines.text_bytes);
	ret->is_cut = in->is_cut;
	for (size_t i = 0; i < a->addresses.nr; i++) {
		const struct profile_address *address = &a->addresses.all[i];
		bool is_here = !a->is_made || address->module == a->func.module;
		uint32_t at =
			is_here ? instruction_at(in, code_off(a, address->off)) : SNAPSHOT_NONE;

		ret->total += address->weight;
		if (at == SNAPSHOT_NONE) {
			ret->elsewhere += address->weight;
			continue;
		}
		ret->instructions[at].weight += address->weight;
		ret->instructions[at].samples += address->samples;
	}
}

struct snap_annotation *annotate_snapshot(struct engine *engine)
{
	struct annotation *a = engine->annotation;
	struct snap_annotation *ret;

	if (profile_addresses(engine->profile, a->key, &a->addresses) < 0)
		return NULL;
	ask(engine, a);
	ask_source(engine, a);
	ret = snap_annotation_new(a->instructions.nr,
				  (uint32_t)(a->instructions.text_bytes + a->lines.text_bytes));
	if (!ret)
		return NULL;
	ret->key = a->key;
	ret->state = a->is_there ? SNAP_CODE_READY : a->why ? SNAP_CODE_NONE : SNAP_CODE_PENDING;
	ret->awaits_source = awaits_source(a);
	if (a->why)
		snprintf(ret->why, sizeof(ret->why), "%s", a->why);
	fill(a, ret);
	return ret;
}
