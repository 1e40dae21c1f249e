/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Debug files that this machine does not have, from debuginfod servers by the
 * fetcher process. It asks the network, as slow as that is; here one question
 * is asked, and looked now and then whether the answer has come. Meanwhile the
 * names are those that are known without.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/loader/fetcher.h"
#include "src/resolve/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPLIES_MAX  16 /* in one step */
#define IN_VAIN_MAX  3	/* failures until servers are left alone */
#define PAUSE_NS     (30 * NS_PER_SEC)
#define PAUSE_MAX_NS (600 * NS_PER_SEC)

void resolve_fetch(struct resolver *s, uint32_t module)
{
	const struct module *m = procs_module(s->procs, module);

	if (!s->config.fetch_hosts[0] || s->fetch.is_gone || module < PROC_MODULE_FIRST ||
	    m->build_id_bytes == 0 || s->files[module].fetch_asked)
		return;
	s->files[module].fetch_asked = s->files[module].fetch_waits = true;
	s->fetch.nr_requested++;
}

/* It cannot be started, or has ended: what is still to be fetched cannot come. */
static void give_up(struct resolver *s)
{
	struct fetch *f = &s->fetch;

	f->is_gone = true;
	f->nr_failed += f->nr_requested + (f->asked != 0);
	f->nr_requested = f->asked = 0;
	f->rss_bytes = 0;
	resolve_fetch_done(s);
}

/* The module whose file is fetched next: of those that wait one that is looked at. 0: none waits. */
static uint32_t next_of(const struct resolver *s)
{
	uint32_t best = 0;

	for (uint32_t id = PROC_MODULE_FIRST; id < s->nr_files; id++) {
		if (s->files[id].fetch_waits && s->files[id].is_preferred)
			return id;
		if (s->files[id].fetch_waits && !best)
			best = id;
	}
	return best;
}

static void ask(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	uint32_t id = next_of(s);
	const struct module *m;

	if (!id)
		return;
	m = procs_module(s->procs, id);
	if ((f->sock < 0 && s->config.ops->start_fetcher(s->config.context, &f->sock) < 0) ||
	    fetcher_ask(f->sock, id, m->build_id, m->build_id_bytes) < 0) {
		give_up(s);
		return;
	}
	f->asked_ns = s->now_ns;
	f->done_bytes = 0;
	assert(f->nr_requested > 0 && !f->came);
	s->files[id].fetch_waits = false;
	f->nr_requested--;
	f->asked = id;
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

static void describe(const struct resolver *s, const char *what, struct resolve_download *ret)
{
	const struct fetch *f = &s->fetch;

	*ret = (struct resolve_download){
		.bytes = f->done_bytes,
		.took_ns = s->now_ns - f->asked_ns,
		.what = what,
	};
	snprintf(ret->name, sizeof(ret->name), "%s", procs_module(s->procs, f->asked)->name);
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

	if (f->asked && max > 0)
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

static void take(struct resolver *s, struct fetcher_reply *reply)
{
	struct fetch *f = &s->fetch;
	struct stat st;

	f->cpu_ns = reply->cpu_ns;
	f->rss_bytes = reply->rss_bytes;
	if (reply->status == -EINPROGRESS) {
		f->done_bytes = reply->done_bytes;
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
	if (reply->status == 0 && loader_add_debug(s->loader, f->asked, reply->fd) == 0) {
		f->nr_fetched++;
		f->came = f->asked;
		s->files[f->came].has_fetched = true;
	} else if (reply->status == -ENOENT) {
		f->nr_missing++;
	} else if (reply->status == -ECANCELED) {
		/* It is asked for again when that is allowed again. */
		s->files[f->asked].fetch_waits = true;
		f->nr_requested++;
	} else {
		count_failure(s, reply->status);
	}
	f->asked = 0;
}

void resolve_fetch_step(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	struct fetcher_reply reply;
	int r = 0;

	for (int i = 0; i < REPLIES_MAX && f->asked && r >= 0; i++) {
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
	if (f->came && s->nr_batches == 0) {
		s->config.ops->names_stale(s->config.context, f->came);
		f->came = 0;
		s->next_names_ns = 0;
	}
	if (f->is_allowed && s->now_ns >= f->pause_until_ns && !f->asked && !f->came &&
	    f->nr_requested > 0 && f->all_bytes < RESOLVE_FETCH_BYTES_MAX)
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
	if (!f->is_allowed && f->asked)
		fetcher_cancel(f->sock);
	snprintf(out, size,
		 f->is_allowed ? "debug files come from %s as long as stacktop runs; D stops it"
			       : "no more debug files from %s; D goes on",
		 hosts);
}

/* Bytes and rate are those of the file that is on its way. */
static void tell_progress(const struct resolver *s, char *out, size_t size)
{
	const struct fetch *f = &s->fetch;
	double seconds = (double)(s->now_ns - f->asked_ns) / 1e9;
	double mb = (double)f->done_bytes / 1e6;
	char came[64] = "";

	if (f->done_bytes > 0 && seconds > 0)
		snprintf(came, sizeof(came), ": %.1f MB, %.1f MB/s", mb, mb / seconds);
	snprintf(out, size, "fetching the debug file of %s from %s%s, %u more to come (D stops)",
		 procs_module(s->procs, f->asked)->name, s->config.fetch_hosts, came,
		 f->nr_requested);
}

void resolve_fetch_notice(const struct resolver *s, char *out, size_t size)
{
	const struct fetch *f = &s->fetch;
	const char *hosts = s->config.fetch_hosts;

	if (f->asked)
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
}
