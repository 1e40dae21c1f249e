/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file of the kernel that runs here. Its names come from /proc/kallsyms, which has no code: for that its own
 * file is looked for by its build-id and by its release, and then, where servers may be asked, there. All
 * that are found are debug files of kallsyms; the loader takes the one with the right build-id.
 *
 *	what is asked for                     what came
 *	/sys/kernel/notes                     build-id 48dc...
 *	broker: a debug file by it            none
 *	broker: vmlinux-6.1.0-18 in /boot ... one, which is added to kallsyms
 *	loader: the code at ffffffff8112c340  it is of another build: none of the files is the kernel's
 *	the fetcher: by the build-id          it comes, and is added
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/resolve/resolver.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NOTES_PATH	"/sys/kernel/notes"
#define NOTES_BYTES_MAX 65536
#define FILES_MAX	2 /* of this machine: there is room for one from the network then */

/* The GNU build-id among ELF notes. False: there is none. */
static bool build_id_of_notes(const uint8_t *data, size_t len, struct recording_build_id *ret)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		uint64_t name_at = at + sizeof(head), desc_at, end;

		memcpy(&head, data + at, sizeof(head));
		desc_at = name_at + align_up(head.n_namesz, 4);
		end = desc_at + align_up(head.n_descsz, 4);
		if (end > len)
			return false;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    memcmp(data + name_at, "GNU", 4) == 0 &&
		    head.n_descsz <= sizeof(ret->build_id)) {
			memcpy(ret->build_id, data + desc_at, head.n_descsz);
			ret->build_id_bytes = (uint8_t)head.n_descsz;
			return true;
		}
		at = end;
	}
	return false;
}

bool resolve_own_kernel(struct recording_build_id *ret)
{
	AUTO_CLOSE int fd = open(NOTES_PATH, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *notes = NULL;
	size_t len = 0;

	*ret = (struct recording_build_id){0};
	return fd >= 0 && read_all(fd, NOTES_BYTES_MAX, &notes, &len) == 0 &&
	       build_id_of_notes((const uint8_t *)notes, len, ret);
}

/* --- looking for it --- */

/* No file of this machine is it. */
static void find_elsewhere(struct resolver *s)
{
	s->vmlinux.is_there = false;
	resolve_fetch(s, LOADER_KERNEL);
}

static void ask_place(struct resolver *s, struct broker_file_request *request)
{
	request->tag = LOADER_KERNEL;
	s->vmlinux.nr_awaited += resolve_ask(s, request) == 0;
}

/* What to ask for at PLACE, which may be that of a recording's --symfs. False: there are no more places. */
static bool place_request(const struct resolver *s, uint32_t place, struct broker_file_request *ret)
{
	struct utsname uts;

	*ret = (struct broker_file_request){.kind = BROKER_VMLINUX, .start = place};
	if (!s->config.recording)
		return broker_vmlinux_path(place, "", ret->path, sizeof(ret->path)) != -ERANGE;
	ret->kind = BROKER_PATH;
	return uname(&uts) == 0 &&
	       broker_vmlinux_path(place, uts.release, ret->path, sizeof(ret->path)) == 0;
}

static void ask(struct resolver *s)
{
	struct broker_file_request request = {.kind = BROKER_DEBUG};
	struct vmlinux *v = &s->vmlinux;
	struct recording_build_id id;

	_Static_assert(sizeof(id.build_id) == sizeof(request.build_id), "one length of build-ids");
	v->is_asked = true;
	v->asked_ns = s->now_ns;
	if (!resolve_own_kernel(&id))
		return;
	loader_set_kernel_build_id(s->loader, id.build_id, id.build_id_bytes);
	resolve_fetch_kernel_id(s, id.build_id, id.build_id_bytes);
	memcpy(request.build_id, id.build_id, sizeof(request.build_id));
	request.build_id_bytes = id.build_id_bytes;
	ask_place(s, &request);
	for (uint32_t place = 0; place_request(s, place, &request); place++)
		ask_place(s, &request);
	if (v->nr_awaited == 0)
		find_elsewhere(s);
}

int resolve_need_vmlinux(struct resolver *s)
{
	struct vmlinux *v = &s->vmlinux;

	if (!v->is_needed) /* the names are from it */
		return 0;
	if (!v->is_asked && s->nr_asked > ASKED_MAX / 2)
		return -EAGAIN;
	if (!v->is_asked)
		ask(s);
	if (v->nr_awaited > 0 && s->now_ns < v->asked_ns + RESOLVE_GIVE_UP_NS)
		return -EAGAIN;
	if (v->is_there)
		return 0;
	return resolve_fetches(s, LOADER_KERNEL) ? -EAGAIN : -ENOENT;
}

void resolve_take_vmlinux(struct resolver *s, struct broker_file_reply *reply)
{
	struct vmlinux *v = &s->vmlinux;

	if (v->nr_awaited == 0)
		return;
	v->nr_awaited--;
	if (reply->status == 0 && v->nr_files < FILES_MAX &&
	    loader_add_debug(s->loader, LOADER_KERNEL, steal_fd(&reply->fd)) == 0) {
		v->nr_files++;
		v->is_there = true;
	}
	if (v->nr_awaited == 0 && !v->is_there)
		find_elsewhere(s);
}

void resolve_vmlinux_is_wrong(struct resolver *s)
{
	if (s->vmlinux.is_there)
		find_elsewhere(s);
}
