/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The container or unit of a process by its control groups: paths as container managers and systemd write them. */
#include "config.h"

#include "src/base/util.h"
#include "src/proc/container.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID             \
	"3f2a91c0de11" \
	"7aa39d8b0c15c8d2ee6a35bd4f51a5d4e6b7c8091a2b3c4d5e6f"

static const struct {
	const char *text, *name, *path;
} cases[] = {
	/* docker, by its own driver and by systemd's; another in it; a systemd in it */
	{"0::/docker/" ID "\n", "docker:3f2a91c0de11", "/docker/" ID},
	{"0::/system.slice/docker-" ID ".scope\n", "docker:3f2a91c0de11",
	 "/system.slice/docker-" ID ".scope"},
	{"0::/docker/bb" ID "/docker/" ID "/init.scope\n", "docker:3f2a91c0de11",
	 "/docker/bb" ID "/docker/" ID},
	{"0::/docker/" ID "/system.slice/nginx.service\n", "docker:3f2a91c0de11", "/docker/" ID},
	/* what a container of its own namespace shows of another */
	{"0::/../" ID "\n", "container:3f2a91c0de11", "/../" ID},
	/* version 1, where docker's groups are in each hierarchy and systemd's own knows the daemon */
	{"12:pids:/docker/" ID "\n4:cpu,cpuacct:/docker/" ID
	 "\n1:name=systemd:/system.slice/containerd.service\n0::/system.slice/containerd.service\n",
	 "docker:3f2a91c0de11", "/docker/" ID},
	/* podman: root's, a user's, the cgroupfs driver; what watches over it is not in it (a name is cut) */
	{"0::/machine.slice/libpod-" ID ".scope/container\n", "podman:3f2a91c0de11",
	 "/machine.slice/libpod-" ID ".scope"},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
	 ".scope/container\n",
	 "podman:3f2a91c0de11",
	 "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope"},
	{"0::/libpod_parent/libpod-" ID "\n", "podman:3f2a91c0de11", "/libpod_parent/libpod-" ID},
	{"0::/machine.slice/libpod-conmon-" ID ".scope\n",
	 "libpod-conmon-3f2a91c0de117aa39d8b0c15c8d2ee6a35bd4f51a5d4e6b7c",
	 "/machine.slice/libpod-conmon-" ID ".scope"},
	/* kubernetes: both drivers, containerd and CRI-O, runc's mixture, a kubelet in docker (kind) */
	{"0::/kubepods/burstable/pod8a3d0c6e-7f3e-4d58-9f0a-5f2c6f1f9d20/" ID "\n",
	 "k8s:3f2a91c0de11", "/kubepods/burstable/pod8a3d0c6e-7f3e-4d58-9f0a-5f2c6f1f9d20/" ID},
	{"0::/kubepods.slice/kubepods-besteffort.slice/"
	 "kubepods-besteffort-pod8a3d0c6e_7f3e_4d58_9f0a_5f2c6f1f9d20.slice/cri-containerd-" ID
	 ".scope\n",
	 "k8s:3f2a91c0de11", NULL},
	{"0::/kubepods.slice/kubepods-pod8a3d0c6e_7f3e.slice/crio-" ID ".scope\n",
	 "k8s:3f2a91c0de11", NULL},
	{"0::/system.slice/containerd.service/kubepods-burstable-pod8a3d.slice:cri-containerd:" ID
	 "\n",
	 "k8s:3f2a91c0de11", NULL},
	{"0::/system.slice/docker-bb" ID ".scope/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-pod8a3d.slice/cri-containerd-" ID ".scope\n",
	 "k8s:3f2a91c0de11", NULL},
	{"0::/kubepods.slice/kubepods-pod8a3d0c6e.slice\n", "kubepods-pod8a3d0c6e.slice", NULL},
	/* containerd by itself */
	{"0::/default/" ID "\n", "containerd:3f2a91c0de11", NULL},
	{"0::/system.slice/nerdctl-" ID ".scope\n", "containerd:3f2a91c0de11", NULL},
	/* lxc, nspawn, virtual machines */
	{"0::/lxc.payload.web1/system.slice/cron.service\n", "lxc:web1", "/lxc.payload.web1"},
	{"0::/lxc/web1/init.scope\n", "lxc:web1", "/lxc/web1"},
	{"0::/lxc.monitor.web1\n", "/lxc.monitor.web1", NULL},
	{"0::/machine.slice/systemd-nspawn@deb\\x2d12.service/payload\n", "machine:deb-12", NULL},
	{"0::/machine.slice/machine-qemu\\x2d1\\x2dwin.scope/libvirt/vcpu0\n", "machine:qemu-1-win",
	 "/machine.slice/machine-qemu\\x2d1\\x2dwin.scope"},
	/* systemd: services, what they divide themselves into, templates, sessions, users' units, slices */
	{"0::/system.slice/nginx.service\n", "nginx.service", "/system.slice/nginx.service"},
	{"0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n",
	 "postgresql@15-main.service", NULL},
	{"0::/system.slice/foo.service/worker/bar.service\n", "foo.service",
	 "/system.slice/foo.service"},
	{"0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope", NULL},
	{"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", "uid1000:init.scope",
	 NULL},
	{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
	 "app-org.gnome.Terminal.slice/vte-spawn-1.scope/x\n",
	 "uid1000:vte-spawn-1.scope",
	 "/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/"
	 "vte-spawn-1.scope"},
	{"0::/init.scope\n", "init.scope", "/init.scope"},
	{"0::/system.slice\n", "system.slice", "/system.slice"},
	{"10:memory:/x\n9:cpu:/\n1:name=systemd:/system.slice/cron.service\n0::/\n", "cron.service",
	 "/system.slice/cron.service"},
	/* nobody's convention; a group that is gone */
	{"0::/batch/night\n", "/batch/night", "/batch/night"},
	{"0::/system.slice/gone.service (deleted)\n", "gone.service", "/system.slice/gone.service"},
	/* the root, other controllers alone, and what is no such text */
	{"0::/\n", NULL, NULL},
	{"4:memory:/somewhere\n1:cpu:/\n0::/\n", NULL, NULL},
	{"", NULL, NULL},
	{"0:\n::\n0::relative\n\n", NULL, NULL},
};

static void paths_have_their_names(void **state)
{
	struct container container;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool found = container_of_text(cases[i].text, strlen(cases[i].text), &container);

		if (found != (cases[i].name != NULL))
			fail_msg("%s: %s", cases[i].text, found ? container.name : "nothing");
		if (!found)
			continue;
		assert_string_equal(container.name, cases[i].name);
		if (cases[i].path)
			assert_string_equal(container.path, cases[i].path);
	}
}

static void the_cpu_controller_has_its_own_path(void **state)
{
	static const char hybrid[] =
		"4:cpu,cpuacct:/docker/" ID "/inner\n0::/system.slice/d.service\n";
	static const char unified[] = "0::/system.slice/d.service/worker\n";
	struct container container;

	(void)state;
	assert_true(container_of_text(hybrid, strlen(hybrid), &container));
	assert_string_equal(container.cpu_path, "/docker/" ID);
	assert_true(container.is_cpu_v1);
	assert_true(container_of_text(unified, strlen(unified), &container));
	assert_string_equal(container.cpu_path, "/system.slice/d.service");
	assert_false(container.is_cpu_v1);
}

static void hostile_names_are_harmless(void **state)
{
	static const char escape[] = "0::/\033[2Jevil.service\n";
	static char long_text[20000] = "0::/";
	struct container container;

	(void)state;
	assert_true(container_of_text(escape, strlen(escape), &container));
	assert_string_equal(container.name, "?[2Jevil.service");
	memset(long_text + 4, 'a', sizeof(long_text) - 5);
	assert_true(container_of_text(long_text, strlen(long_text), &container));
	assert_int_equal(strlen(container.name), CONTAINER_NAME_MAX - 1);
	assert_int_equal(strlen(container.path), CONTAINER_PATH_MAX - 1);
	/* Cut anywhere, nothing is read beyond the end. */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t len = 0; len < strlen(cases[i].text); len++) {
			char *copy = malloc(len + 1);

			assert_non_null(copy);
			memcpy(copy + 1, cases[i].text, len);
			container_of_text(copy + 1, len, &container);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_have_their_names),
		cmocka_unit_test(the_cpu_controller_has_its_own_path),
		cmocka_unit_test(hostile_names_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
