/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queues of requests, and which one the loader gets next. Tables, the kernel's names and other names take
 * turns, so that tables come first and nothing starves; what took too long already comes after all others. Whose
 * files took least of the loader's time lately is served first, and before them what is looked at. Knows no loader.
 */
#ifndef ST_LOADER_TURNS_H
#define ST_LOADER_TURNS_H

#include "src/base/hash.h"
#include "src/loader/answer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNERS_MAX 64 /* further ones share the last place */

/* Also what it owns; NULL: nothing. */
void request_free(struct request *request);

struct queue {
	struct request *first, **last;
};

void queue_init(struct queue *queue);
/* Free all that is in it. */
void queue_done(struct queue *queue);
void queue_put(struct queue *queue, struct request *request);
/* To its front. */
void queue_put_back(struct queue *queue, struct request *request);
/* Take out the one that *AT leads to. */
struct request *queue_take(struct queue *queue, struct request **at);

/* Zeroed is a beginning. */
struct turns {
	uint32_t tables_in_row, others_in_row;
	bool was_kernel;
	/* Whose files these are, and what they took of the loader's time lately. */
	uid_t owners[OWNERS_MAX];
	uint64_t cpu_ns[OWNERS_MAX];
	uint32_t nr_owners;
	uint64_t halved_ns;
	struct u64map preferred; /* modules */
};

void turns_done(struct turns *turns);
/*
 * What is asked about these MODULES, NR of them, goes before all that takes turns with it, whoever owns the file, and
 * names wait for one table at most. Replaces those before; without memory some are left out.
 */
void turns_prefer(struct turns *turns, const uint32_t *modules, uint32_t nr);

/* The place of FD's owner, made if he is new. */
uint32_t turns_owner_of(struct turns *turns, int fd);
/* The loader has used USED_NS of CPU time for OWNER. Old use counts less and less. */
void turns_charge(struct turns *turns, uint32_t owner, uint64_t used_ns, uint64_t time_ns);
/* How much of its CPU time a request about the file open as FD may take at first. */
uint64_t turns_cpu_first_ns(int fd);
/* REQUEST has taken all that it might: it may take twice as much after all others. False: it has had the last. */
bool turns_put_off(struct request *request);
/* Has it taken too long before, so that all others go first? */
bool turns_is_late(const struct request *request);
/* Take the next one out of QUEUE, or NULL: it is empty. */
struct request *turns_next(struct turns *turns, struct queue *queue);

#endif
