/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words for each runtime: see runtime.h. */
#include "config.h"

#include "src/base/runtime.h"

#include "src/base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *object, *remedy;
} words[] = {
	[RUNTIME_NONE] = {"[jit]", ""},
	[RUNTIME_JAVA] = {"[jit] java", ""}, /* see below */
	[RUNTIME_NODE] = {"[jit] node", "start with --perf-basic-prof"},
	[RUNTIME_DOTNET] = {"[jit] dotnet", "start with DOTNET_PerfMapEnabled=1"},
	[RUNTIME_PYTHON] = {"[jit] python", "start with -X perf (python 3.12)"},
	[RUNTIME_PHP] = {"[jit] php", "start with -d opcache.jit_debug=16"},
	[RUNTIME_RUBY] = {"[jit] ruby", "start with --yjit-perf (ruby 3.3)"},
	[RUNTIME_LUA] = {"[jit] luajit", "build LuaJIT with LUAJIT_USE_PERFTOOLS"},
	[RUNTIME_ERLANG] = {"[jit] erlang", "start with +JPperf true"},
};
_Static_assert(ARRAY_SIZE(words) == RUNTIME_COUNT, "words for each");

const char *runtime_object(enum runtime runtime)
{
	assert(runtime < RUNTIME_COUNT);
	return words[runtime].object;
}

void runtime_remedy(enum runtime runtime, int32_t pid, char *out, uint32_t size)
{
	assert(runtime < RUNTIME_COUNT);
	if (runtime == RUNTIME_JAVA && pid > 0)
		snprintf(out, size, "run: jcmd %" PRId32 " Compiler.perfmap", pid);
	else if (runtime == RUNTIME_JAVA)
		snprintf(out, size, "run: jcmd PID Compiler.perfmap");
	else
		snprintf(out, size, "%s", words[runtime].remedy);
}

const char *runtime_names_state(enum runtime_names state)
{
	static const char *const names[] = {
		[RUNTIME_NAMES_KNOWN] = "known",     [RUNTIME_NAMES_NONE] = "none",
		[RUNTIME_NAMES_FOREIGN] = "foreign", [RUNTIME_NAMES_NO_FILE] = "no-file",
		[RUNTIME_NAMES_OLD] = "old",	     [RUNTIME_NAMES_LATE] = "late",
	};

	return names[state];
}

const char *runtime_map_refusal(enum runtime_names state)
{
	if (state == RUNTIME_NAMES_FOREIGN)
		return "another user's";
	return state == RUNTIME_NAMES_NO_FILE ? "not a regular file" : NULL;
}

void runtime_trouble(enum runtime runtime, enum runtime_names state, int32_t pid, int32_t map_pid,
		     uint64_t age_s, char *out, uint32_t size)
{
	char remedy[64];

	out[0] = '\0';
	runtime_remedy(runtime, pid, remedy, sizeof(remedy));
	switch (state) {
	case RUNTIME_NAMES_KNOWN:
		break;
	case RUNTIME_NAMES_NONE:
		if (remedy[0])
			snprintf(out, size, "no names; %s", remedy);
		break;
	case RUNTIME_NAMES_FOREIGN:
	case RUNTIME_NAMES_NO_FILE:
		snprintf(out, size, "no names: /tmp/perf-%" PRId32 ".map is %s", map_pid,
			 runtime_map_refusal(state));
		break;
	case RUNTIME_NAMES_LATE:
		snprintf(out, size, "tells very much of its code: read on in %" PRIu64 " s", age_s);
		break;
	case RUNTIME_NAMES_OLD:
		if (age_s < 120)
			snprintf(out, size, "names are %" PRIu64 " s old; %s", age_s, remedy);
		else
			snprintf(out, size, "names are %" PRIu64 " min old; %s", age_s / 60,
				 remedy);
		break;
	}
}
