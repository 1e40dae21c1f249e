/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Debug files that this machine does not have, from debuginfod servers by the
 * fetcher process. It asks the network, as slow as that is; here one question
 * is asked, and looked now and then whether the answer has come. Meanwhile the
 * names are those that are known without.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/progress.h"
#include "src/base/util.h"
#include "src/loader/fetcher.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPLIES_MAX  16 /* in one step */
#define IN_VAIN_MAX  3	/* failures until servers are left alone */
#define PAUSE_NS     (30 * NS_PER_SEC)
#define PAUSE_MAX_NS (600 * NS_PER_SEC)

/* How long MODULE's build-id is, and where it stands; 0: there is none, or no file. */
static uint8_t build_id_of(const struct resolver *s, uint32_t module, const uint8_t **ret)
{
	const struct module *m = procs_module(s->procs, module);

	if (module == LOADER_KERNEL) {
		*ret = s->fetch.kernel_build_id;
		return s->fetch.kernel_build_id_bytes;
	}
	*ret = m->build_id;
	return module >= PROC_MODULE_FIRST ? m->build_id_bytes : 0;
}

void resolve_fetch(struct resolver *s, uint32_t module)
{
	const uint8_t *build_id;

	if (!s->config.fetch_hosts[0] || s->fetch.is_gone ||
	    build_id_of(s, module, &build_id) == 0 || s->files[module].fetch_asked)
		return;
	s->files[module].fetch_asked = s->files[module].fetch_waits = true;
	s->fetch.nr_requested++;
}

void resolve_fetch_kernel_id(struct resolver *s, const uint8_t *build_id, uint8_t bytes)
{
	struct fetch *f = &s->fetch;

	assert(bytes <= sizeof(f->kernel_build_id));
	memcpy(f->kernel_build_id, build_id, bytes);
	f->kernel_build_id_bytes = bytes;
}

bool resolve_fetches(const struct resolver *s, uint32_t module)
{
	const struct fetch *f = &s->fetch;

	return f->is_allowed && !f->is_gone &&
	       (s->files[module].fetch_waits || (f->asked == module && !f->source));
}

/* --- source text --- */

int resolve_fetch_source(struct resolver *s, uint32_t module, const char *path, uint64_t tag)
{
	struct fetch *f = &s->fetch;
	struct wanted_source source = {.module = module, .tag = tag};
	const uint8_t *build_id;

	if (!s->config.fetch_hosts[0] || !f->is_allowed || f->is_gone ||
	    build_id_of(s, module, &build_id) == 0)
		return -ENOTSUP;
	if (f->nr_sources == RESOLVE_SOURCES_MAX)
		return -EAGAIN;
	source.path = strdup(path);
	if (!source.path)
		return -ENOMEM;
	f->sources[f->nr_sources++] = source;
	return 0;
}

/* The first of those that wait; its path is the caller's to free. */
static struct wanted_source source_take(struct fetch *f)
{
	struct wanted_source first = f->sources[0];

	assert(f->nr_sources > 0);
	memmove(f->sources, f->sources + 1, --f->nr_sources * sizeof(*f->sources));
	return first;
}

void resolve_forget_sources(struct resolver *s)
{
	while (s->fetch.nr_sources > 0)
		free(source_take(&s->fetch).path);
}

/* There is no more to come of what was asked for. */
static void source_came(struct resolver *s, uint64_t tag, int status, int fd)
{
	struct broker_file_reply reply = {
		.kind = BROKER_SOURCE, .tag = tag, .status = status, .fd = fd};
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		reply.bytes = (uint64_t)st.st_size;
	s->config.ops->source_came(s->config.context, &reply);
}

/* --- asking --- */

/* It cannot be started, or has ended: what is still to be fetched cannot come. */
static void give_up(struct resolver *s)
{
	struct fetch *f = &s->fetch;

	f->is_gone = true;
	f->nr_failed += f->nr_requested + (f->asked != FETCH_NONE);
	f->nr_requested = 0;
	f->asked = FETCH_NONE;
	f->rss_bytes = 0;
	resolve_fetch_done(s);
}

/* The module whose file is fetched next: of those that wait one that is looked at. FETCH_NONE: none waits. */
static uint32_t next_of(const struct resolver *s)
{
	uint32_t best = FETCH_NONE;

	for (uint32_t id = 0; id < s->nr_files; id++) {
		if (s->files[id].fetch_waits && s->files[id].is_preferred)
			return id;
		if (s->files[id].fetch_waits && best == FETCH_NONE)
			best = id;
	}
	return best;
}

/* The debug file that is fetched next. 0: there is none; or -errno. */
static int ask_debug(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	uint32_t id = next_of(s);
	const uint8_t *build_id;
	uint8_t bytes = build_id_of(s, id, &build_id);
	int r = id != FETCH_NONE ? fetcher_ask(f->sock, id, build_id, bytes) : 0;

	if (r < 0 || id == FETCH_NONE)
		return r;
	assert(f->nr_requested > 0 && f->came == FETCH_NONE);
	s->files[id].fetch_waits = false;
	f->nr_requested--;
	f->asked = id;
	return 0;
}

/* The source text that is fetched next, which a person looks at: it goes before debug files. 0: there is none; or -errno. */
static int ask_source(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	struct wanted_source source;
	const uint8_t *build_id;
	uint8_t bytes;
	int r;

	if (f->nr_sources == 0)
		return 0;
	source = source_take(f);
	bytes = build_id_of(s, source.module, &build_id);
	r = fetcher_ask_source(f->sock, source.module, build_id, bytes, source.path);
	if (r == 0) {
		f->asked = source.module;
		f->source_tag = source.tag;
		f->source = source.path;
		return 0;
	}
	source_came(s, source.tag, r, -1);
	free(source.path);
	return r == -EINVAL ? 0 : r;
}

static void ask(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	int r = 0;

	if (f->sock < 0)
		r = s->config.ops->start_fetcher(s->config.context, &f->sock);
	if (r == 0)
		r = ask_source(s);
	if (r == 0 && f->asked == FETCH_NONE)
		r = ask_debug(s);
	if (r < 0)
		give_up(s);
	f->asked_ns = s->now_ns;
	f->done_bytes = f->total_bytes = 0;
}

/* What came of the file that was asked for. */
static const char *outcome(int status)
{
	switch (status) {
	case 0:
		return "came";
	case -EBADMSG:
		return "not that file";
	case -EFBIG:
		return "too large";
	case -ENOSPC:
		return "the disk is full";
	case -ETIME:
	case -ETIMEDOUT:
		return "too slow";
	case -ECANCELED:
		return "stopped";
	default:
		return "failed";
	}
}

/* Of what is fetched: the source file, or whose debug file it is. */
static const char *name_of(const struct resolver *s)
{
	const struct fetch *f = &s->fetch;

	return f->source ? strrchr(f->source, '/') + 1 : procs_module(s->procs, f->asked)->name;
}

static void describe(const struct resolver *s, const char *what, struct resolve_download *ret)
{
	const struct fetch *f = &s->fetch;

	*ret = (struct resolve_download){
		.bytes = f->done_bytes,
		.took_ns = s->now_ns - f->asked_ns,
		.what = what,
	};
	snprintf(ret->name, sizeof(ret->name), "%s", name_of(s));
}

/* Not of files that no server has: of most of them that is so. */
static void note_download(struct resolver *s, int status)
{
	struct fetch *f = &s->fetch;

	f->nr_downloads = MIN(f->nr_downloads + 1, RESOLVE_DOWNLOADS_MAX);
	memmove(f->downloads + 1, f->downloads, (f->nr_downloads - 1) * sizeof(*f->downloads));
	describe(s, outcome(status), &f->downloads[0]);
}

uint32_t resolve_downloads(const struct resolver *s, struct resolve_download *ret, uint32_t max)
{
	const struct fetch *f = &s->fetch;
	uint32_t nr = 0;

	if (f->asked != FETCH_NONE && max > 0)
		describe(s, "on its way", &ret[nr++]);
	for (uint32_t i = 0; i < f->nr_downloads && nr < max; i++)
		ret[nr++] = f->downloads[i];
	return nr;
}

/* Servers that hang or fail: they are left alone for a while, each time for longer. */
static void count_failure(struct resolver *s, int status)
{
	struct fetch *f = &s->fetch;
	uint64_t pause_ns = PAUSE_NS;

	f->nr_failed++;
	if (status == -EBADMSG || status == -EFBIG || status == -ENOSPC) /* they are not to blame */
		return;
	f->nr_in_vain++;
	if (f->nr_in_vain < IN_VAIN_MAX)
		return;
	for (uint32_t i = IN_VAIN_MAX; i < f->nr_in_vain && pause_ns < PAUSE_MAX_NS; i++)
		pause_ns *= 2;
	f->pause_until_ns = s->now_ns + pause_ns;
}

/* What came of the debug file that was asked for. True: it is there. */
static bool take_debug(struct resolver *s, struct fetcher_reply *reply)
{
	struct fetch *f = &s->fetch;

	if (reply->status == -ECANCELED) {
		/* It is asked for again when that is allowed again. */
		s->files[f->asked].fetch_waits = true;
		f->nr_requested++;
	}
	if (reply->status < 0)
		return false;
	s->files[f->asked].has_fetched = true;
	if (f->asked == LOADER_KERNEL && s->vmlinux.is_needed) {
		s->vmlinux.is_there = loader_add_debug(s->loader, f->asked, reply->fd) == 0;
		return s->vmlinux.is_there; /* the names stay what they are */
	}
	if (f->asked == LOADER_KERNEL)
		f->kernel_fd = reply->fd;
	else if (loader_add_debug(s->loader, f->asked, reply->fd) < 0)
		return false;
	f->came = f->asked;
	return true;
}

/* The same for source text. */
static bool take_source(struct resolver *s, struct fetcher_reply *reply)
{
	struct fetch *f = &s->fetch;

	source_came(s, f->source_tag, reply->status, reply->fd);
	cleanup_close(&reply->fd);
	free(steal_ptr(f->source));
	return reply->status == 0;
}

static void take(struct resolver *s, struct fetcher_reply *reply)
{
	struct fetch *f = &s->fetch;
	struct stat st;
	bool is_there;

	f->cpu_ns = reply->cpu_ns;
	f->rss_bytes = reply->rss_bytes;
	if (reply->status == -EINPROGRESS) {
		f->done_bytes = reply->done_bytes;
		f->total_bytes = reply->total_bytes;
		return;
	}
	if (reply->status == 0 && fstat(reply->fd, &st) == 0) {
		f->done_bytes = (uint64_t)st.st_size;
		f->all_bytes += f->done_bytes;
	}
	if (reply->status != -ENOENT)
		note_download(s, reply->status);
	if (reply->status == 0 || reply->status == -ENOENT)
		f->nr_in_vain = 0;
	is_there = f->source ? take_source(s, reply) : take_debug(s, reply);
	if (is_there)
		f->nr_fetched++;
	else if (reply->status == -ENOENT)
		f->nr_missing++;
	else if (reply->status != -ECANCELED)
		count_failure(s, reply->status);
	f->asked = FETCH_NONE;
}

/* The kernel's own file: as if the last place had had it where it was looked for. */
static void take_kernel(struct resolver *s)
{
	struct broker_file_reply reply = {
		.kind = BROKER_PATH, .tag = LOADER_KERNEL, .fd = s->fetch.kernel_fd};

	s->fetch.kernel_fd = -1;
	s->files[LOADER_KERNEL].state = FILE_OPENING;
	s->origin->take(s, &reply);
	cleanup_close(&reply.fd);
}

void resolve_fetch_step(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	struct fetcher_reply reply;
	int r = 0;

	for (int i = 0; i < REPLIES_MAX && f->asked != FETCH_NONE && r >= 0; i++) {
		r = fetcher_next(f->sock, &reply);
		if (r == 0)
			break;
		if (r > 0 && reply.tag != f->asked) {
			if (reply.fd >= 0)
				close(reply.fd);
			r = -EBADMSG;
		}
		if (r > 0)
			take(s, &reply);
	}
	if (r < 0)
		give_up(s);
	if (f->came != FETCH_NONE && s->nr_batches == 0) {
		if (f->came == LOADER_KERNEL)
			take_kernel(s);
		s->config.ops->names_stale(s->config.context, f->came);
		f->came = FETCH_NONE;
		s->next_names_ns = 0;
	}
	if (f->is_allowed && s->now_ns >= f->pause_until_ns && f->asked == FETCH_NONE &&
	    f->came == FETCH_NONE && f->nr_requested + f->nr_sources > 0 &&
	    f->all_bytes < RESOLVE_FETCH_BYTES_MAX)
		ask(s);
}

void resolve_fetch_switch(struct resolver *s, char *out, size_t size)
{
	struct fetch *f = &s->fetch;
	const char *hosts = s->config.fetch_hosts;

	if (!hosts[0]) {
		snprintf(out, size, "no debuginfod server is known: start with --debuginfod=URL");
		return;
	}
	f->is_allowed = !f->is_allowed;
	f->was_declined = !f->is_allowed;
	f->nr_in_vain = 0;
	f->pause_until_ns = 0;
	if (!f->is_allowed && f->asked != FETCH_NONE)
		fetcher_cancel(f->sock);
	snprintf(out, size,
		 f->is_allowed ? "debug files come from %s as long as stacktop runs; D stops it"
			       : "no more debug files from %s; D goes on",
		 hosts);
}

/* Bytes, rate and time are those of the file that is on its way. */
static void tell_progress(const struct resolver *s, char *out, size_t size)
{
	const struct fetch *f = &s->fetch;
	char came[128] = "", text[120];

	if (f->done_bytes > 0)
		snprintf(came, sizeof(came), ": %s",
			 progress_text(f->done_bytes, f->total_bytes, s->now_ns - f->asked_ns, text,
				       sizeof(text)));
	snprintf(out, size, "fetching %s %s from %s%s, %u more to come (D stops)",
		 f->source ? "the source" : "the debug file of", name_of(s), s->config.fetch_hosts,
		 came, f->nr_requested + f->nr_sources);
}

void resolve_fetch_notice(const struct resolver *s, char *out, size_t size)
{
	const struct fetch *f = &s->fetch;
	const char *hosts = s->config.fetch_hosts;

	if (f->asked != FETCH_NONE)
		tell_progress(s, out, size);
	else if (hosts[0] && !f->is_allowed && (f->was_declined || f->nr_requested == 0))
		return;
	else if (hosts[0] && !f->is_allowed)
		snprintf(out, size, "names of %u file%s may be at %s: D asks there, by build-id",
			 f->nr_requested, f->nr_requested > 1 ? "s" : "", hosts);
	else if (!f->is_gone && s->now_ns < f->pause_until_ns)
		snprintf(out, size, "%s failed %u times: left alone for %.0f s", hosts,
			 f->nr_in_vain, (double)(f->pause_until_ns - s->now_ns) / 1e9);
	else if (f->is_gone)
		snprintf(out, size, "no debug files from %s: the fetcher process is gone", hosts);
	else if (hosts[0])
		snprintf(out, size,
			 "debug files from %s: %llu came, %llu are not there, %llu failed", hosts,
			 (unsigned long long)f->nr_fetched, (unsigned long long)f->nr_missing,
			 (unsigned long long)f->nr_failed);
}

/* The end of its connection is the end of a fetcher that is idle; the broker sees to others. */
void resolve_fetch_done(struct resolver *s)
{
	if (s->fetch.sock >= 0)
		close(s->fetch.sock);
	s->fetch.sock = -1;
	cleanup_close(&s->fetch.kernel_fd);
	s->fetch.kernel_fd = -1;
	free(steal_ptr(s->fetch.source));
	resolve_forget_sources(s);
}
