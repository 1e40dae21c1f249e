/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bytes of the kernel's memory are handed out: those of a function that kallsyms knows, and no others. */
#include "config.h"

#include "src/broker/broker.h"
#include "src/broker/kcore.h"
#include "tests/broker_fixture.h"

#include <elf.h>
#include <sys/mman.h>

#define KERNEL	     0xffffffff81000000ull
#define MODULES	     0xffffffffc0000000ull
#define SEGMENT	     (1u << 20)
#define SEGMENTS_AT  4096u
#define NR_SEGMENTS  2u
#define LONG_ADDRESS (KERNEL + 0x10000)

static const uint64_t starts[NR_SEGMENTS] = {KERNEL, MODULES};

/* The byte that the core has at ADDRESS. */
static uint8_t byte_at(uint64_t address)
{
	return (uint8_t)(address * 31 + (address >> 12) + (address >> 24));
}

static int file_with(const void *data, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* A core of the kernel's image and of its modules' space. */
static int core_file(void)
{
	static uint8_t image[SEGMENTS_AT + NR_SEGMENTS * SEGMENT];
	Elf64_Ehdr head = {
		.e_type = ET_CORE,
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = NR_SEGMENTS,
	};

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(image, &head, sizeof(head));
	for (uint32_t i = 0; i < NR_SEGMENTS; i++) {
		Elf64_Phdr segment = {
			.p_type = PT_LOAD,
			.p_vaddr = starts[i],
			.p_offset = SEGMENTS_AT + i * SEGMENT,
			.p_memsz = SEGMENT,
			.p_filesz = SEGMENT,
		};

		memcpy(image + sizeof(head) + i * sizeof(segment), &segment, sizeof(segment));
		for (uint32_t at = 0; at < SEGMENT; at++)
			image[segment.p_offset + at] = byte_at(starts[i] + at);
	}
	return file_with(image, sizeof(image));
}

static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000100 T work\n"
			      "ffffffff81000180 t work.cold\n"
			      "ffffffff81000200 d secret\n"
			      "ffffffff81010000 T long_one\n"
			      "ffffffff81100000 R rodata\n"
			      "no symbol at all\n"
			      "ffffffffc0000000 t first\t[one]\n"
			      "ffffffffc0000040 t last\t[one]\n"
			      "ffffffffc0003000 t begin\t[two]\n"
			      "ffffffffc0003100 r words\t[two]\n"
			      "ffffffffc0ffffff t nowhere\t[two]\n";

/* BYTES of what is at ADDRESS are handed out, by CORE and SYMBOLS. */
static void is_read(int core, uint64_t address, uint64_t bytes)
{
	int names = file_with(symbols, sizeof(symbols) - 1), fd;
	const void *map;
	size_t len;

	fd = kcore_code_by(core, names, address);
	assert_true(fd >= 0);
	assert_int_equal(memfd_map(fd, BROKER_KCORE_BYTES_MAX, &map, &len), 0);
	assert_int_equal(len, bytes);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)map)[i], byte_at(address + i));
	munmap((void *)(uintptr_t)map, len);
	close(fd);
	close(names);
}

/* It fails so, of CORE. */
static void is_not_read(int core, uint64_t address, int error)
{
	int names = file_with(symbols, sizeof(symbols) - 1);

	assert_int_equal(kcore_code_by(core, names, address), error);
	close(names);
}

static void code_is_read_up_to_what_is_none(void **state)
{
	int core = core_file();

	(void)state;
	is_read(core, KERNEL + 0x100, 0x100);
	is_read(core, KERNEL + 0x180, 0x80);
	is_read(core, LONG_ADDRESS, BROKER_KCORE_BYTES_MAX);
	/* Behind the last function of a module is another one's memory, or none. */
	is_read(core, MODULES, 0x1000);
	is_read(core, MODULES + 0x40, 0x1000 - 0x40);
	is_read(core, MODULES + 0x3000, 0x100);
	close(core);
}

static void what_is_no_function_is_not_read(void **state)
{
	int core = core_file(), damaged = file_with("\177ELF", 4);

	(void)state;
	is_not_read(core, KERNEL + 0x200, -ENOENT); /* data */
	is_not_read(core, KERNEL + 0x101, -ENOENT); /* not where one begins */
	is_not_read(core, 0, -ENOENT);
	is_not_read(core, MODULES + 0xffffff, -ENOENT); /* the core has nothing there */
	is_not_read(damaged, KERNEL + 0x100, -EINVAL);
	close(core);
	close(damaged);
}

/* Of this machine's kernel, if it may be read: the broker says why not. */
static void the_broker_answers(void **state)
{
	struct broker_file_request request = {.kind = BROKER_KCORE, .start = 1};
	struct broker *broker = start_broker();
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC), none;
	int wanted = fd >= 0 ? -ENOENT : errno == ENOENT ? -ENOSYS : -errno;

	(void)state;
	assert_int_equal(ask_file(broker, &request, &none), wanted);
	if (fd >= 0)
		close(fd);
	broker_stop(broker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_read_up_to_what_is_none),
		cmocka_unit_test(what_is_no_function_is_not_read),
		cmocka_unit_test(the_broker_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
