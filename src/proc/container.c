/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the text of /proc/PID/cgroup to a name: see container.h. A line is "ID:CONTROLLERS:PATH"; that of
 * version 2 has ID 0 and no controllers, one of version 1 "name=systemd" or a list with "cpu" in it. Others
 * say nothing more. Container managers write (ID: 64 hexadecimal digits):
 *
 *	docker       /docker/ID  /system.slice/docker-ID.scope
 *	podman       .../libpod-ID.scope[/container]  /libpod_parent/libpod-ID
 *	kubernetes   /kubepods/burstable/podUID/ID  .../kubepods-podUID.slice/cri-containerd-ID.scope  .../crio-ID.scope
 *	containerd   /NAMESPACE/ID  .../nerdctl-ID.scope
 *	lxc          /lxc/NAME  /lxc.payload.NAME/...
 *	nspawn, VMs  /machine.slice/machine-NAME.scope  .../systemd-nspawn@NAME.service
 *
 * and runc, where the two ways to name a group are mixed up, SLICE:PREFIX:ID. The innermost container counts:
 * what it has inside (a systemd of its own) is its own affair. Names of pods stand in no path.
 */
#include "config.h"

#include "src/proc/container.h"

#include "src/base/text.h"
#include "src/base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ID_DIGITS      64
#define ID_SHOWN       12
#define COMPONENTS_MAX 64 /* looked at: a path of more is cut */
#define LINES_MAX      64

/* How much a path tells. */
enum rank { RANK_ROOT, RANK_PATH, RANK_SLICE, RANK_UNIT, RANK_CONTAINER };

struct word { /* a stretch of the text */
	const char *at;
	size_t len;
};

struct finding {
	enum rank rank;
	char name[CONTAINER_NAME_MAX];
	struct word path; /* down to what the name means */
};

static bool word_is(struct word word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.at, text, word.len) == 0;
}

static bool word_begins(struct word word, const char *text)
{
	return word.len > strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

static bool word_ends(struct word word, const char *text)
{
	size_t len = strlen(text);

	return word.len > len && memcmp(word.at + word.len - len, text, len) == 0;
}

/* WORD without FRONT characters at its start and BACK at its end. */
static struct word word_cut(struct word word, size_t front, size_t back)
{
	return (struct word){word.at + front, word.len - front - back};
}

static void set_name(struct finding *finding, enum rank rank, const char *prefix, struct word word)
{
	int n = snprintf(finding->name, sizeof(finding->name), "%s", prefix);

	finding->rank = rank;
	text_sanitize(word.at, word.len, finding->name + n, sizeof(finding->name) - (size_t)n);
}

/* --- containers --- */

static bool ends_in_id(struct word word)
{
	if (word.len < ID_DIGITS)
		return false;
	for (size_t i = word.len - ID_DIGITS; i < word.len; i++)
		if (!isdigit((unsigned char)word.at[i]) && (word.at[i] < 'a' || word.at[i] > 'f'))
			return false;
	return true;
}

/* What manages the container: by what stands before its id, in the component or above it. */
static const char *manager_of(struct word before, struct word parent, bool is_pod)
{
	static const struct {
		const char *before, *manager;
	} by_prefix[] = {
		{"docker-", "docker:"},	     {"libpod-", "podman:"},
		{"nerdctl-", "containerd:"}, {"cri-containerd-", "containerd:"},
		{"crio-", "crio:"},	     {"libpod-payload-", "podman:"},
	};
	static const struct {
		const char *parent, *manager;
	} by_parent[] = {
		{"docker", "docker:"}, {"moby", "docker:"},	  {"default", "containerd:"},
		{"lxc", "lxc:"},       {"buildkit", "buildkit:"}, {"garden", "garden:"},
	};

	if (is_pod)
		return "k8s:";
	for (size_t i = 0; i < ARRAY_SIZE(by_prefix); i++)
		if (word_is(before, by_prefix[i].before))
			return by_prefix[i].manager;
	for (size_t i = 0; before.len == 0 && i < ARRAY_SIZE(by_parent); i++)
		if (word_is(parent, by_parent[i].parent))
			return by_parent[i].manager;
	return "container:";
}

static bool find_by_id(struct word word, struct word parent, bool is_pod, struct finding *ret)
{
	struct word before;

	if (word_ends(word, ".scope"))
		word = word_cut(word, 0, strlen(".scope"));
	if (!ends_in_id(word))
		return false;
	before = word_cut(word, 0, ID_DIGITS);
	/* The process that watches over a container is not in it. */
	if (word_ends(before, "conmon-"))
		return false;
	/* Some 64 digits in the middle of a name are not an id. */
	if (before.len > 0 && before.at[before.len - 1] != '-' && before.at[before.len - 1] != ':')
		return false;
	set_name(ret, RANK_CONTAINER, manager_of(before, parent, is_pod),
		 (struct word){word.at + before.len, ID_SHOWN});
	return true;
}

/* systemd writes characters that a unit's name cannot have as "\x2d". */
static void set_unescaped(struct finding *finding, const char *prefix, struct word word)
{
	char text[CONTAINER_NAME_MAX];
	size_t nr = 0;

	for (size_t i = 0; i < word.len && nr < sizeof(text); nr++) {
		unsigned int code = 0;
		char digits[3];

		text[nr] = word.at[i++];
		if (text[nr] != '\\' || word.len - i < 3 || word.at[i] != 'x')
			continue;
		memcpy(digits, word.at + i + 1, 2);
		digits[2] = '\0';
		if (!isxdigit((unsigned char)digits[0]) || sscanf(digits, "%2x", &code) != 1)
			continue;
		text[nr] = (char)code;
		i += 3;
	}
	set_name(finding, RANK_CONTAINER, prefix, (struct word){text, nr});
}

static bool find_by_name(struct word word, struct word parent, struct finding *ret)
{
	static const char payload[] = "lxc.payload.", nspawn[] = "systemd-nspawn@",
			  machine[] = "machine-";

	if (word_begins(word, payload))
		set_name(ret, RANK_CONTAINER, "lxc:", word_cut(word, strlen(payload), 0));
	else if (word_is(parent, "lxc") || word_is(parent, "lxc.payload"))
		set_name(ret, RANK_CONTAINER, "lxc:", word);
	else if (word_begins(word, nspawn) && word_ends(word, ".service"))
		set_unescaped(ret, "machine:", word_cut(word, strlen(nspawn), strlen(".service")));
	else if (word_begins(word, machine) && word_ends(word, ".scope"))
		set_unescaped(ret, "machine:", word_cut(word, strlen(machine), strlen(".scope")));
	else
		return false;
	return true;
}

/* --- units --- */

static bool is_unit(struct word word)
{
	static const char *const suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (word_ends(word, suffixes[i]))
			return true;
	return false;
}

/*
 * The outermost unit below the slices; what a unit divides itself into is its own affair. A user's manager is a
 * unit that has units: MANAGER is its user then.
 */
static void take_unit(struct word word, struct word *manager, struct finding *ret)
{
	static const char user[] = "user@";
	char prefix[32];

	if (ret->rank < RANK_UNIT && word_ends(word, ".slice")) {
		set_name(ret, RANK_SLICE, "", word);
	} else if (manager->len > 0 && is_unit(word)) {
		snprintf(prefix, sizeof(prefix), "uid%.*s:", (int)MIN(manager->len, (size_t)20),
			 manager->at);
		set_name(ret, RANK_UNIT, prefix, word);
		*manager = (struct word){0};
	} else if (ret->rank < RANK_UNIT && is_unit(word)) {
		set_name(ret, RANK_UNIT, "", word);
		if (word_begins(word, user) && word_ends(word, ".service"))
			*manager = word_cut(word, strlen(user), strlen(".service"));
	} else {
		return;
	}
	ret->path.len = (size_t)(word.at + word.len - ret->path.at);
}

/* --- one path --- */

static bool next_component(struct word path, size_t *at, struct word *ret)
{
	while (*at < path.len && path.at[*at] == '/')
		(*at)++;
	*ret = (struct word){path.at + *at, 0};
	while (*at < path.len && path.at[*at] != '/') {
		(*at)++;
		ret->len++;
	}
	return ret->len > 0;
}

static bool is_of_pods(struct word word)
{
	return word_is(word, "kubepods") || word_begins(word, "kubepods.") ||
	       word_begins(word, "kubepods-") || word_begins(word, "kubelet-kubepods");
}

/* What PATH says. */
static void look_at_path(struct word path, struct finding *ret)
{
	struct word word, parent = {0}, manager = {0};
	struct finding container = {0};
	bool is_pod = false;
	size_t at = 0;
	int nr = 0;

	*ret = (struct finding){.path = path};
	for (; nr < COMPONENTS_MAX && next_component(path, &at, &word); nr++) {
		is_pod |= is_of_pods(word);
		if (find_by_id(word, parent, is_pod, &container) ||
		    find_by_name(word, parent, &container))
			container.path = (struct word){path.at, at};
		else
			take_unit(word, &manager, ret);
		parent = word;
	}
	if (container.rank == RANK_CONTAINER)
		*ret = container;
	else if (ret->rank == RANK_ROOT && nr > 0)
		set_name(ret, RANK_PATH, "", path);
}

/* --- the text --- */

/* CONTROLLERS, with commas between them, has WHICH. */
static bool has_controller(struct word controllers, const char *which)
{
	size_t from = 0;

	for (size_t i = 0; i <= controllers.len; i++) {
		if (i < controllers.len && controllers.at[i] != ',')
			continue;
		if (word_is((struct word){controllers.at + from, i - from}, which))
			return true;
		from = i + 1;
	}
	return false;
}

/* The next line as its controllers and its path. False: there is none. */
static bool next_line(const char **text, size_t *len, struct word *controllers, struct word *path)
{
	while (*len > 0) {
		const char *end = memchr(*text, '\n', *len);
		size_t bytes = end ? (size_t)(end - *text) : *len;
		struct word line = {*text, bytes};
		const char *first = memchr(line.at, ':', line.len), *second;

		*text += end ? bytes + 1 : bytes;
		*len -= end ? bytes + 1 : bytes;
		second = first ? memchr(first + 1, ':', (size_t)(line.at + line.len - first - 1))
			       : NULL;
		if (!second)
			continue;
		*controllers = (struct word){first + 1, (size_t)(second - first - 1)};
		*path = (struct word){second + 1, (size_t)(line.at + line.len - second - 1)};
		if (path->len == 0 || path->at[0] != '/')
			continue;
		if (word_ends(*path, " (deleted)"))
			*path = word_cut(*path, 0, strlen(" (deleted)"));
		return true;
	}
	return false;
}

static void copy_path(struct word path, char *out)
{
	size_t len = MIN(path.len, (size_t)CONTAINER_PATH_MAX - 1);

	memcpy(out, path.at, len);
	out[len] = '\0';
}

static bool take_finding(const struct finding *finding, struct container *ret)
{
	if (finding->rank == RANK_ROOT)
		return false;
	memcpy(ret->name, finding->name, sizeof(ret->name));
	copy_path(finding->path, ret->path);
	return true;
}

bool container_of_path(const char *path, struct container *ret)
{
	struct finding finding;

	*ret = (struct container){0};
	look_at_path((struct word){path, strlen(path)}, &finding);
	return take_finding(&finding, ret);
}

bool container_of_text(const char *text, size_t len, struct container *ret)
{
	struct finding best = {0}, finding;
	struct word controllers, path;

	*ret = (struct container){0};
	for (int nr = 0; nr < LINES_MAX && next_line(&text, &len, &controllers, &path); nr++) {
		bool is_cpu = has_controller(controllers, "cpu"), is_v2 = controllers.len == 0;

		if (!is_cpu && !is_v2 && !word_is(controllers, "name=systemd"))
			continue;
		look_at_path(path, &finding);
		if (is_cpu || (is_v2 && !ret->is_cpu_v1)) {
			ret->is_cpu_v1 = is_cpu;
			copy_path(finding.path, ret->cpu_path);
		}
		/* Version 2 stands last, and is what counts where several say as much. */
		if (finding.rank > best.rank || (is_v2 && finding.rank == best.rank))
			best = finding;
	}
	return take_finding(&best, ret);
}
