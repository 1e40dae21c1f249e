/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See user_chain.h. */
#include "config.h"

#include "src/engine/user_chain.h"

#include "src/base/util.h"

#define ELSEWHERE_MIN	    3 /* one or two may be anything */
#define ELSEWHERE_PER_MILLE 2
#define VAIN_SECONDS	    30
#define OFF_MIN_NS	    (60 * NS_PER_SEC)
#define OFF_MAX_NS	    (3600 * NS_PER_SEC)

void user_chain_note(struct user_chain *c, bool is_elsewhere, bool is_joined)
{
	c->nr++;
	c->nr_elsewhere += is_elsewhere;
	c->nr_joined += is_joined;
}

bool user_chain_decide(struct user_chain *c, uint64_t time_ns)
{
	bool was_wanted = c->is_wanted;

	if (c->nr_joined > 0)
		c->off_ns = 0;
	c->nr_vain = was_wanted && c->nr_joined == 0 ? c->nr_vain + 1 : 0;
	if (c->nr_vain >= VAIN_SECONDS) {
		c->is_wanted = false;
		c->off_ns = MIN(MAX(2 * c->off_ns, OFF_MIN_NS), OFF_MAX_NS);
		c->off_until_ns = time_ns + c->off_ns;
	} else if (!was_wanted && time_ns >= c->off_until_ns && c->nr_elsewhere >= ELSEWHERE_MIN) {
		c->is_wanted = c->nr_elsewhere * 1000ull > (uint64_t)c->nr * ELSEWHERE_PER_MILLE;
	}
	c->nr = c->nr_elsewhere = c->nr_joined = 0;
	return c->is_wanted != was_wanted;
}
