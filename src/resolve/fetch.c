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
#include <unistd.h>

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

static void ask(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	uint32_t id = PROC_MODULE_FIRST;
	const struct module *m;

	while (id < s->nr_files && !s->files[id].fetch_waits)
		id++;
	if (id == s->nr_files)
		return;
	m = procs_module(s->procs, id);
	if ((f->sock < 0 && s->config.ops->start_fetcher(s->config.context, &f->sock) < 0) ||
	    fetcher_ask(f->sock, id, m->build_id, m->build_id_bytes) < 0) {
		give_up(s);
		return;
	}
	assert(f->nr_requested > 0 && !f->came);
	s->files[id].fetch_waits = false;
	f->nr_requested--;
	f->asked = id;
}

static void take(struct resolver *s, struct fetcher_reply *reply)
{
	struct fetch *f = &s->fetch;

	f->cpu_ns = reply->cpu_ns;
	f->rss_bytes = reply->rss_bytes;
	if (reply->status == 0 && loader_add_debug(s->loader, f->asked, reply->fd) == 0) {
		f->nr_fetched++;
		f->came = f->asked;
		s->files[f->came].has_fetched = true;
	} else if (reply->status == -ENOENT) {
		f->nr_missing++;
	} else {
		f->nr_failed++;
	}
	f->asked = 0;
}

void resolve_fetch_step(struct resolver *s)
{
	struct fetch *f = &s->fetch;
	struct fetcher_reply reply;
	int r = 0;

	if (f->asked)
		r = fetcher_next(f->sock, &reply);
	if (r > 0 && reply.tag != f->asked) {
		if (reply.fd >= 0)
			close(reply.fd);
		r = -EBADMSG;
	}
	if (r < 0)
		give_up(s);
	else if (r > 0)
		take(s, &reply);
	if (f->came && s->nr_batches == 0) {
		s->config.ops->names_stale(s->config.context, f->came);
		f->came = 0;
		s->next_names_ns = 0;
	}
	if (!f->asked && !f->came && f->nr_requested > 0)
		ask(s);
}

void resolve_fetch_notice(const struct resolver *s, char *out, size_t size)
{
	const struct fetch *f = &s->fetch;
	const char *hosts = s->config.fetch_hosts;

	if (f->asked)
		snprintf(out, size, "fetching the debug file of %s from %s, %u more to come",
			 procs_module(s->procs, f->asked)->name, hosts, f->nr_requested);
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
