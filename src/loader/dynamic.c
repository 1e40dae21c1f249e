/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dynamic section names addresses. How many symbols there are stands nowhere but in the hash tables: the older
 * kind says it, of the newer one (DT_GNU_HASH) it is the end of the last chain. That one has, after
 * four numbers, a filter, the first symbol of each bucket, and a hash for each symbol from the first one in it
 * on, whose lowest bit ends a chain.
 */
#include "config.h"

#include "src/loader/dynamic.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/loader/elf_bytes.h"

#include <gelf.h>
#include <string.h>

#define DYNAMIC_BYTES_MAX 65536u
#define ENTRIES_MAX	  (4u << 20)
#define HASH_BYTES_MAX	  (64u << 20)

/* What the dynamic section says: addresses, 0: nothing. */
struct dynamic {
	uint64_t symbols, strings, strings_bytes, versions, hash, gnu_hash;
};

static bool off_of(const struct elf_file *file, uint64_t vaddr, uint64_t *ret)
{
	size_t nr = 0;

	if (vaddr == 0 || elf_getphdrnum(file->elf, &nr) < 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return false;
		if (phdr.p_type != PT_LOAD || vaddr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		*ret = vaddr - phdr.p_vaddr + phdr.p_offset;
		return *ret < file->file_bytes;
	}
	return false;
}

/* --- the dynamic section --- */

static bool find_section(const struct elf_file *file, struct elf_bytes *ret)
{
	size_t nr = 0;

	if (elf_getphdrnum(file->elf, &nr) < 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return false;
		if (phdr.p_type == PT_DYNAMIC)
			return elf_bytes_open_range(file, phdr.p_offset,
						    MIN(phdr.p_filesz, DYNAMIC_BYTES_MAX),
						    ret) == 0;
	}
	return false;
}

static void take_entry(struct dynamic *dynamic, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_SYMTAB:
		dynamic->symbols = value;
		break;
	case DT_STRTAB:
		dynamic->strings = value;
		break;
	case DT_STRSZ:
		dynamic->strings_bytes = value;
		break;
	case DT_VERSYM:
		dynamic->versions = value;
		break;
	case DT_HASH:
		dynamic->hash = value;
		break;
	case DT_GNU_HASH:
		dynamic->gnu_hash = value;
		break;
	default:
		break;
	}
}

static uint32_t word(const struct elf_file *file, uint32_t raw)
{
	return file->swap ? __builtin_bswap32(raw) : raw;
}

/* The entry at place I: two words of 4 or 8 bytes. False: it is the last one. */
static bool read_entry(const struct elf_file *file, struct elf_bytes *bytes, uint64_t i,
		       uint64_t *ret_tag, uint64_t *ret_value)
{
	uint64_t wide[2];
	uint32_t narrow[2];

	if (file->is_64) {
		if (!elf_bytes_read(bytes, i * sizeof(wide), wide, sizeof(wide)))
			return false;
		*ret_tag = file->swap ? __builtin_bswap64(wide[0]) : wide[0];
		*ret_value = file->swap ? __builtin_bswap64(wide[1]) : wide[1];
	} else {
		if (!elf_bytes_read(bytes, i * sizeof(narrow), narrow, sizeof(narrow)))
			return false;
		*ret_tag = word(file, narrow[0]);
		*ret_value = word(file, narrow[1]);
	}
	return *ret_tag != DT_NULL;
}

static bool read_section(const struct elf_file *file, struct dynamic *ret)
{
	struct elf_bytes bytes;
	uint64_t tag, value;

	*ret = (struct dynamic){0};
	if (!find_section(file, &bytes))
		return false;
	for (uint64_t i = 0; read_entry(file, &bytes, i, &tag, &value); i++)
		take_entry(ret, tag, value);
	elf_bytes_close(&bytes);
	return ret->symbols && ret->strings && ret->strings_bytes;
}

/* --- how many --- */

struct hash_table {
	const struct elf_file *file;
	struct elf_bytes bytes;
};

static bool hash_open(struct hash_table *hash, const struct elf_file *file, uint64_t vaddr)
{
	uint64_t off;

	hash->file = file;
	return off_of(file, vaddr, &off) &&
	       elf_bytes_open_range(file, off, HASH_BYTES_MAX, &hash->bytes) == 0;
}

static bool hash_word(struct hash_table *hash, uint64_t at, uint32_t *ret)
{
	uint32_t raw;

	if (deadline_is_over() || !elf_bytes_read(&hash->bytes, at, &raw, sizeof(raw)))
		return false;
	*ret = word(hash->file, raw);
	return true;
}

/* "buckets, symbols, ..." */
static uint64_t count_by_hash(struct hash_table *hash)
{
	uint32_t nr;

	return hash_word(hash, sizeof(nr), &nr) ? nr : 0;
}

static uint64_t count_by_gnu_hash(struct hash_table *hash)
{
	uint32_t nr_buckets, first, nr_filter, bucket, last = 0, chain = 0;
	uint64_t buckets, chains, nr;

	if (!hash_word(hash, 0, &nr_buckets) || !hash_word(hash, 4, &first) ||
	    !hash_word(hash, 8, &nr_filter))
		return 0;
	buckets = 16 + (uint64_t)nr_filter * (hash->file->is_64 ? 8 : 4);
	chains = buckets + (uint64_t)nr_buckets * 4;
	for (uint64_t at = buckets; at < chains; at += 4) {
		if (!hash_word(hash, at, &bucket))
			return 0;
		last = MAX(last, bucket);
	}
	if (last < first)
		return first;
	for (nr = last; !(chain & 1); nr++)
		if (nr >= ENTRIES_MAX || !hash_word(hash, chains + (nr - first) * 4, &chain))
			return 0;
	return nr;
}

static uint64_t count(const struct elf_file *file, const struct dynamic *dynamic)
{
	struct hash_table hash;
	uint64_t nr = 0;

	if (dynamic->hash && hash_open(&hash, file, dynamic->hash)) {
		nr = count_by_hash(&hash);
		elf_bytes_close(&hash.bytes);
	} else if (dynamic->gnu_hash && hash_open(&hash, file, dynamic->gnu_hash)) {
		nr = count_by_gnu_hash(&hash);
		elf_bytes_close(&hash.bytes);
	}
	return MIN(nr, (uint64_t)ENTRIES_MAX);
}

bool dynamic_symbols_find(const struct elf_file *file, struct dynamic_symbols *ret)
{
	struct dynamic dynamic;

	*ret = (struct dynamic_symbols){0};
	if (file->fd < 0 || !read_section(file, &dynamic) ||
	    !off_of(file, dynamic.symbols, &ret->entries_off) ||
	    !off_of(file, dynamic.strings, &ret->strings_off))
		return false;
	ret->strings_bytes = dynamic.strings_bytes;
	off_of(file, dynamic.versions, &ret->versions_off);
	ret->nr_entries = count(file, &dynamic);
	return ret->nr_entries > 0;
}
