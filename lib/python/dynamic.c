/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look into DT_GNU_HASH. Each file that a target maps is asked for a symbol; reading all symbols
 * of all of PyTorch's libraries took a hundred times as long as this.
 *
 * The table: number of buckets, first symbol, Bloom words, shift; Bloom filter; for each bucket its
 * first symbol; for each symbol its hash, whose lowest bit is set in the last one of a bucket. (There
 * is no standard; bfd's elflink.c writes it, glibc's dl-lookup.c reads it.)
 */
#include "python/find.h"

#include <elf.h>
#include <string.h>

struct dynamic {
	uint64_t hash, symbols, strings;
};

/* A file's dynamic section has about 40 entries: one read. */
#define DYNAMIC_READ 64
#define DYNAMIC_MAX  1024

/* False at the end of the section. */
static bool take_entries(const Elf64_Dyn *entries, size_t count, struct dynamic *ret)
{
	for (size_t i = 0; i < count; i++) {
		if (entries[i].d_tag == DT_NULL)
			return false;
		if (entries[i].d_tag == DT_GNU_HASH)
			ret->hash = entries[i].d_un.d_ptr;
		else if (entries[i].d_tag == DT_SYMTAB)
			ret->symbols = entries[i].d_un.d_ptr;
		else if (entries[i].d_tag == DT_STRTAB)
			ret->strings = entries[i].d_un.d_ptr;
	}
	return true;
}

static bool read_dynamic(struct elf_file *elf, struct dynamic *ret)
{
	Elf64_Dyn entries[DYNAMIC_READ];

	for (size_t i = 0; i < elf_segment_count(elf); i++) {
		struct elf_segment s = elf_segment_get(elf, i);
		if (s.type != PT_DYNAMIC)
			continue;
		uint64_t left = s.file_bytes / sizeof(*entries);
		for (uint64_t at = 0; at < DYNAMIC_MAX && left; at += DYNAMIC_READ) {
			size_t count = left < DYNAMIC_READ ? (size_t)left : DYNAMIC_READ;
			left -= count;
			if (elf_read(elf, s.offset + at * sizeof(*entries), entries,
				     count * sizeof(*entries)) < 0 ||
			    !take_entries(entries, count, ret))
				break;
		}
		return ret->hash && ret->symbols && ret->strings;
	}
	return false;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool is_named(struct elf_file *elf, const struct dynamic *d, uint32_t index,
		     const char *name)
{
	char text[64];
	Elf64_Sym symbol;
	size_t size = strlen(name) + 1;

	return size <= sizeof(text) &&
	       elf_read_vaddr(elf, d->symbols + (uint64_t)index * sizeof(symbol), &symbol,
			      sizeof(symbol)) == 0 &&
	       elf_read_vaddr(elf, d->strings + symbol.st_name, text, size) == 0 &&
	       !memcmp(text, name, size);
}

/* Symbols in a bucket; linkers keep it at about two. */
#define CHAIN_MAX 1024

static bool find_in_chain(struct elf_file *elf, const struct dynamic *d, uint64_t chains,
			  uint32_t first, uint32_t index, const char *name)
{
	uint32_t hash = gnu_hash(name), other;

	for (uint32_t i = 0; index >= first && i < CHAIN_MAX && index + i >= index; i++) {
		if (elf_read_vaddr(elf, chains + 4ull * (index + i - first), &other, 4) < 0)
			return false;
		if ((other | 1) == (hash | 1) && is_named(elf, d, index + i, name))
			return true;
		if (other & 1)
			return false;
	}
	return false;
}

bool python_exports(struct elf_file *elf, const char *name)
{
	uint32_t hash = gnu_hash(name), head[4], index; /* buckets, first, words, shift */
	struct dynamic d = { 0 };
	uint64_t word;

	if (!read_dynamic(elf, &d) || elf_read_vaddr(elf, d.hash, head, sizeof(head)) < 0 ||
	    !head[0] || !head[2] || head[3] > 31)
		return false;
	uint64_t bloom = d.hash + sizeof(head);
	uint64_t mask = 1ull << hash % 64 | 1ull << (hash >> head[3]) % 64;
	if (elf_read_vaddr(elf, bloom + 8ull * (hash / 64 % head[2]), &word, sizeof(word)) < 0 ||
	    (word & mask) != mask)
		return false;
	uint64_t buckets = bloom + 8ull * head[2];
	if (elf_read_vaddr(elf, buckets + 4ull * (hash % head[0]), &index, sizeof(index)) < 0)
		return false;
	return find_in_chain(elf, &d, buckets + 4ull * head[0], head[1], index, name);
}
