/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the code that processes make while they run. Each process that stacks lead through such code of
 * has a module of its own, whose offsets are addresses with the epoch above them (src/loader/jit_code.h). Its
 * perf map is looked for by the broker as long as samples come, and read by the loader when it has grown or
 * is another one; then frames without a name are asked for again.
 *
 *	what came                              epoch   what is done
 *	a stack of 4711 with made code         1       broker: its map; until then its frames have no name
 *	no such file                                   a look every half a second, a notice names the remedy
 *	a file of 9 MB                                 loader: read it, at epoch 1
 *	5012 names, nothing changed            1       frames without a name are asked for
 *	it is 9.1 MB; 20 names, one at the             new frames are of epoch 2, those of epoch 1 keep
 *	place of another                       2       their names
 *
 * What one process tells may take a second of the loader's time at once, and a five-hundredth of it in the long
 * run, which all of them share: a file that is written anew all the time is read now and then.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS (NS_PER_SEC / 2)
#define LOOK_DUMP_NS \
	(NS_PER_SEC / 10) /* it tells when code was made: the sooner it is read, the truer */
#define TRIES_MAX 64	  /* of a jitdump, by turns with a perf map */
#define KEEP_NS	  (10 * NS_PER_SEC) /* a process without samples keeps its module for so long */
#define RECENT_NS (2 * NS_PER_SEC)
#define CREDIT_NS \
	((int64_t)NS_PER_SEC) /* for a process at once; half of what is left for new ones */
#define CREDIT_OF 500u	      /* then one part of the time in so many */
#define OLD_S	  15	      /* a snapshot of the names is called old, if some are missing */
#define FEW	  4	      /* stacks in a look: not worth a notice */
#define TAG_SHIFT 32	      /* of the number of a slot's owners, in the tag of a request */

_Static_assert(RESOLVE_JIT_ADDR_MASK == (1ull << JIT_EPOCH_SHIFT) - 1, "one layout of offsets");

static uint32_t module_of(const struct resolver *s, const struct jit *jit)
{
	return PROC_MODULE_JIT_FIRST + (uint32_t)(jit - s->jits.all);
}

/* A free slot, or that of the process without samples for the longest time; NULL: all are in use. */
static struct jit *choose(struct resolver *s, uint64_t time_ns)
{
	struct jit *oldest = &s->jits.all[0];

	if (s->jits.nr < PROC_JIT_MAX)
		return &s->jits.all[s->jits.nr];
	for (uint32_t i = 1; i < PROC_JIT_MAX; i++)
		if (s->jits.all[i].used_ns < oldest->used_ns)
			oldest = &s->jits.all[i];
	return time_ns < oldest->used_ns + KEEP_NS ? NULL : oldest;
}

/* Put the place of the jitdump that PROCESS has mapped into REQUEST. False: it has none. */
static bool find_dump(const struct process *process, struct broker_file_request *request)
{
	const struct unwind_space *space = process_space(process);

	for (const struct unwind_map *map = unwind_map_from(space, 0); map;
	     map = unwind_map_from(space, map->end)) {
		const struct module *module = (const struct module *)map->module;

		if (!module || module->unwind.id < PROC_MODULE_FIRST ||
		    !resolve_is_jitdump(module->name))
			continue;
		request->kind = BROKER_JITDUMP;
		request->start = map->start;
		request->end = map->end;
		request->ino = module->ino;
		return true;
	}
	return false;
}

void resolve_jit_init(struct resolver *s)
{
	s->jits.credit_ns = 2 * CREDIT_NS;
	s->jits.paid_ns = s->now_ns;
}

static struct jit *jit_new(struct resolver *s, const struct process *process, uint64_t time_ns)
{
	struct jit *jit = choose(s, time_ns);
	struct broker_file_request dump;
	uint32_t slot, module;
	struct file *file;

	if (!jit) {
		s->jits.nr_refused++;
		return NULL;
	}
	slot = (uint32_t)(jit - s->jits.all);
	module = module_of(s, jit);
	file = resolver_file(s, module);
	if (!file || u64map_set(&s->jits.by_process, process->index, slot) < 0)
		return NULL;
	if (slot == s->jits.nr)
		s->jits.nr++;
	else
		u64map_remove(&s->jits.by_process, jit->process);
	loader_drop_module(s->loader, module);
	*file = (struct file){.state = FILE_OPENING};
	*jit = (struct jit){
		.process = process->index,
		.runtime = process_runtime(process),
		.nr_owners = jit->nr_owners + 1,
		.epoch = (uint16_t)(jit->epoch + 1),
		.first_epoch = (uint16_t)(jit->epoch + 1),
		.status = -EAGAIN,
		.map_pid = process->pid,
		.may_tell = find_dump(process, &dump),
		.credit_ns = s->jits.credit_ns / 2,
	};
	s->jits.credit_ns -= jit->credit_ns;
	s->config.ops->jit_began(s->config.context, module, jit->runtime);
	return jit;
}

/* A change is seen a little after it was made; samples of before it may still come. */
static uint16_t epoch_of(const struct jit *jit, uint64_t time_ns)
{
	bool is_before = time_ns < jit->changed_ns && jit->epoch != jit->first_epoch;

	return (uint16_t)(jit->epoch - is_before);
}

bool resolve_jit_of(struct resolver *s, const struct process *process, uint64_t time_ns,
		    struct resolve_jit *ret)
{
	uint32_t slot = u64map_get(&s->jits.by_process, process->index);
	struct jit *jit = slot == U64MAP_NONE ? jit_new(s, process, time_ns) : &s->jits.all[slot];

	if (!jit)
		return false;
	if (time_ns > jit->used_ns)
		jit->used_ns = time_ns;
	jit->nr_stacks++;
	*ret = (struct resolve_jit){
		.module = module_of(s, jit),
		.above = (uint64_t)epoch_of(jit, time_ns) << JIT_EPOCH_SHIFT,
	};
	return true;
}

/* --- the map --- */

/* The first look has not brought names: frames are answered without them, until there are some. */
static void have_none(struct resolver *s, const struct jit *jit)
{
	uint32_t module = module_of(s, jit);

	if (s->files[module].state < FILE_DONE)
		resolve_settle(s, module, FILE_FAILED);
}

/* It is known now whether JIT tells what frames look like. */
static void settle_frames(struct resolver *s, struct jit *jit)
{
	if (jit->may_tell || jit->has_frames)
		s->config.ops->frames_came(s->config.context, jit->process, NULL, 0);
	jit->may_tell = false;
}

static void ask_map(struct resolver *s, struct jit *jit)
{
	const struct process *process = procs_by_index(s->procs, jit->process);
	struct broker_file_request request = {
		.kind = BROKER_PERF_MAP,
		.tag = (uint64_t)jit->nr_owners << TAG_SHIFT | module_of(s, jit),
		.pid = process->pid,
		.start_time = process->start_time,
	};

	if (jit->is_dump)
		jit->is_dump = find_dump(process, &request);
	if (!jit->is_dump && jit->nr_tries > 0) /* it is not there any more */
		settle_frames(s, jit);
	jit->next_look_ns = s->now_ns + (jit->is_dump ? LOOK_DUMP_NS : LOOK_NS);
	jit->looked_ns = s->now_ns;
	jit->recent = jit->recent / 2 + jit->nr_stacks;
	jit->nr_stacks = 0;
	jit->is_asked = !process->is_dead && resolve_ask(s, &request) == 0;
	if (!jit->is_asked) {
		have_none(s, jit);
		settle_frames(s, jit);
	}
}

static void read_on(struct resolver *s, struct jit *jit)
{
	jit->is_reading = loader_request_jit(s->loader, module_of(s, jit), jit->epoch) == 0;
	if (!jit->is_reading) {
		have_none(s, jit);
		settle_frames(s, jit);
	}
}

static bool is_read(const struct jit *jit, const struct broker_file_reply *reply)
{
	return jit->has_file && reply->dev == jit->dev && reply->ino == jit->ino &&
	       reply->bytes == jit->bytes && reply->mtime_ns == jit->mtime_ns;
}

void resolve_jit_take_file(struct resolver *s, struct broker_file_reply *reply)
{
	uint32_t slot = (uint32_t)reply->tag - PROC_MODULE_JIT_FIRST;
	struct jit *jit = slot < s->jits.nr ? &s->jits.all[slot] : NULL;

	if (!jit || reply->tag >> TAG_SHIFT != jit->nr_owners)
		return;
	jit->is_asked = false;
	jit->status = reply->status;
	if (reply->kind == BROKER_PERF_MAP)
		jit->refusal = reply->status;
	if (reply->pid > 0)
		jit->map_pid = reply->pid;
	/* A jitdump may lag behind by what its writer has not written out: only without a perf map. */
	if (reply->status < 0 && !jit->has_file && jit->nr_tries < TRIES_MAX) {
		jit->nr_tries++;
		jit->is_dump = reply->kind == BROKER_PERF_MAP;
	}
	if (jit->may_tell && jit->is_dump) /* stacks wait for it */
		jit->next_look_ns = s->now_ns;
	else if (jit->may_tell && (reply->status < 0 || reply->kind == BROKER_PERF_MAP))
		settle_frames(s, jit);
	if (reply->status < 0)
		have_none(s, jit);
	if (reply->status < 0 || (is_read(jit, reply) && !jit->has_more))
		return;
	jit->dev = reply->dev;
	jit->ino = reply->ino;
	jit->bytes = reply->bytes;
	jit->mtime_ns = reply->mtime_ns;
	if (loader_add_jit(s->loader, module_of(s, jit), steal_fd(&reply->fd), jit->has_file) < 0) {
		have_none(s, jit);
		settle_frames(s, jit);
		return;
	}
	jit->has_file = true;
	read_on(s, jit);
}

void resolve_jit_take_names(struct resolver *s, const struct loader_reply *reply)
{
	struct jit *jit = &s->jits.all[reply->module - PROC_MODULE_JIT_FIRST];

	jit->is_reading = false;
	if (reply->status != LOADER_OK) {
		jit->has_file = false; /* it is taken anew at the next look */
		have_none(s, jit);
		settle_frames(s, jit);
		return;
	}
	if (s->files[reply->module].state != FILE_DONE)
		resolve_settle(s, reply->module, FILE_DONE);
	jit->epoch = (uint16_t)(jit->epoch + reply->jit.has_changed);
	if (reply->jit.has_changed)
		jit->changed_ns = reply->jit.changed_ns ? reply->jit.changed_ns : s->now_ns;
	jit->is_stale |= reply->jit.has_changed || reply->jit.count != jit->count;
	jit->has_frames = reply->jit.has_frames;
	settle_frames(s, jit);
	jit->count = reply->jit.count;
	jit->left_out = reply->jit.left_out;
	jit->has_more = reply->jit.is_late;
	if (jit->has_more && jit->credit_ns >= 0)
		read_on(s, jit);
}

/* --- what it may cost --- */

void resolve_jit_charge(struct resolver *s, uint32_t module, uint64_t cpu_ns)
{
	s->jits.all[module - PROC_MODULE_JIT_FIRST].credit_ns -=
		(int64_t)MIN(cpu_ns, 60 * NS_PER_SEC);
}

static bool is_used(const struct resolver *s, const struct jit *jit)
{
	return s->now_ns < jit->used_ns + KEEP_NS;
}

static uint32_t nr_used(const struct resolver *s)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->jits.nr; i++)
		nr += is_used(s, &s->jits.all[i]);
	return nr;
}

/* What has come since the last step, for those that are used and, as much again, for new ones. */
static void give_credit(struct resolver *s)
{
	struct jits *jits = &s->jits;
	uint32_t nr = nr_used(s);
	int64_t ns;

	ns = (int64_t)((s->now_ns - MIN(jits->paid_ns, s->now_ns)) / CREDIT_OF);
	jits->paid_ns += (uint64_t)ns * CREDIT_OF;
	jits->credit_ns = MIN(jits->credit_ns + ns, 2 * CREDIT_NS);
	for (uint32_t i = 0; i < jits->nr; i++)
		if (is_used(s, &jits->all[i]))
			jits->all[i].credit_ns = MIN(jits->all[i].credit_ns + ns / nr, CREDIT_NS);
}

/* --- frames --- */

bool resolve_jit_tells(const struct resolver *s, uint32_t index, uint64_t time_ns,
		       uint64_t *ret_above)
{
	uint32_t slot = u64map_get(&s->jits.by_process, index);
	const struct jit *jit = slot == U64MAP_NONE ? NULL : &s->jits.all[slot];

	if (!jit || (!jit->has_frames && !jit->may_tell))
		return false;
	*ret_above = (uint64_t)epoch_of(jit, time_ns) << JIT_EPOCH_SHIFT;
	return true;
}

int resolve_ask_frames(struct resolver *s, uint32_t index, const uint64_t *keys, uint32_t nr)
{
	uint32_t slot = u64map_get(&s->jits.by_process, index);

	if (slot == U64MAP_NONE)
		return -ENOENT;
	if (s->jits.all[slot].may_tell)
		return -EAGAIN;
	return loader_request_jit_frames(s->loader, PROC_MODULE_JIT_FIRST + slot, keys, nr);
}

void resolve_jit_take_frames(struct resolver *s, const struct loader_reply *reply)
{
	const struct jit *jit = &s->jits.all[reply->module - PROC_MODULE_JIT_FIRST];

	if (reply->nr_told > 0)
		s->config.ops->frames_came(s->config.context, jit->process, reply->told,
					   reply->nr_told);
}

uint32_t resolve_jit_known(const struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr)
{
	const struct jit *jit = &s->jits.all[module - PROC_MODULE_JIT_FIRST];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint16_t age = (uint16_t)(jit->epoch - (uint16_t)(offs[i] >> JIT_EPOCH_SHIFT)),
			 age_max = (uint16_t)(jit->epoch - jit->first_epoch);
		uint64_t off = offs[i];

		if (age > age_max)
			continue;
		offs[i] = offs[kept];
		offs[kept++] = off;
	}
	return kept;
}

void resolve_jit_step(struct resolver *s)
{
	give_credit(s);
	for (uint32_t i = 0; i < s->jits.nr; i++) {
		struct jit *jit = &s->jits.all[i];

		if (!jit->is_asked && !jit->is_reading && s->now_ns >= jit->next_look_ns &&
		    jit->nr_stacks > 0 && jit->credit_ns >= 0 && s->nr_asked < ASKED_MAX)
			ask_map(s, jit);
		if (jit->is_stale && s->nr_batches == 0) {
			jit->is_stale = false;
			jit->nr_nameless = 0;
			s->config.ops->more_names(s->config.context, module_of(s, jit));
			s->next_names_ns = 0;
		}
	}
}

void resolve_jit_nameless(struct resolver *s, uint32_t module)
{
	s->jits.all[module - PROC_MODULE_JIT_FIRST].nr_nameless++;
}

bool resolve_jit_is_stale(const struct resolver *s)
{
	for (uint32_t i = 0; i < s->jits.nr; i++)
		if (s->jits.all[i].is_stale)
			return true;
	return false;
}

void resolve_jit_done(struct resolver *s)
{
	u64map_done(&s->jits.by_process);
}

/* --- what is said of it --- */

/* How old the names of JIT are, in seconds. */
static uint64_t age_of(const struct jit *jit)
{
	struct timespec wall;
	int64_t age_ns;

	clock_gettime(CLOCK_REALTIME, &wall);
	age_ns = (int64_t)wall.tv_sec * (int64_t)NS_PER_SEC + wall.tv_nsec - jit->mtime_ns;
	return age_ns > 0 ? (uint64_t)age_ns / NS_PER_SEC : 0;
}

/* Java writes its map when it is told to, others as they go. */
static enum runtime_names state_of(const struct resolver *s, const struct jit *jit,
				   uint64_t *ret_age_s)
{
	*ret_age_s = 0;
	if (jit->credit_ns < 0 && (jit->count == 0 || jit->has_more || jit->nr_nameless > 0)) {
		*ret_age_s = (uint64_t)-jit->credit_ns * CREDIT_OF * nr_used(s) / NS_PER_SEC + 1;
		return RUNTIME_NAMES_LATE;
	}
	if (jit->count == 0 && jit->refusal == -EACCES)
		return RUNTIME_NAMES_FOREIGN;
	if (jit->count == 0 && jit->refusal == -EINVAL)
		return RUNTIME_NAMES_NO_FILE;
	if (jit->count == 0)
		return RUNTIME_NAMES_NONE;
	if (jit->runtime != RUNTIME_JAVA)
		return RUNTIME_NAMES_KNOWN;
	*ret_age_s = age_of(jit);
	return *ret_age_s >= OLD_S && jit->nr_nameless > 0 ? RUNTIME_NAMES_OLD
							   : RUNTIME_NAMES_KNOWN;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct resolve_jit_process *a = left, *b = right;

	return a->stacks > b->stacks ? -1 : a->stacks < b->stacks;
}

uint32_t resolve_jits(const struct resolver *s, struct resolve_jit_process *ret, uint32_t max)
{
	struct resolve_jit_process all[PROC_JIT_MAX] = {0};
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->jits.nr; i++) {
		const struct jit *jit = &s->jits.all[i];

		if (jit->status == -EAGAIN || s->now_ns > jit->used_ns + RECENT_NS ||
		    procs_by_index(s->procs, jit->process)->is_dead)
			continue;
		all[nr] = (struct resolve_jit_process){
			.process = jit->process,
			.runtime = jit->runtime,
			.stacks = jit->recent + jit->nr_stacks,
			.map_pid = jit->map_pid,
			.names = jit->count,
			.left_out = jit->left_out,
		};
		all[nr].state = state_of(s, jit, &all[nr].age_s);
		nr++;
	}
	qsort(all, nr, sizeof(*all), compare_stacks);
	nr = MIN(nr, max);
	memcpy(ret, all, nr * sizeof(*ret));
	return nr;
}

void resolve_jit_notice(const struct resolver *s, char *out, size_t size)
{
	struct resolve_jit_process all[PROC_JIT_MAX];
	uint32_t nr = resolve_jits(s, all, PROC_JIT_MAX);
	char trouble[96] = "";

	for (uint32_t i = 0; i < nr && all[i].stacks >= FEW && !trouble[0]; i++) {
		const struct process *process = procs_by_index(s->procs, all[i].process);

		runtime_trouble(all[i].runtime, all[i].state, process->pid, all[i].map_pid,
				all[i].age_s, trouble, sizeof(trouble));
		if (trouble[0])
			snprintf(out, size, "%s %d: %s", process->comm, process->pid, trouble);
	}
	if (!trouble[0] && s->jits.nr_refused > 0)
		snprintf(out, size, "more than %d processes make code: some have no names",
			 PROC_JIT_MAX);
}
