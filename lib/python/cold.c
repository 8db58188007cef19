/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gcc moves what it takes to be executed seldom out of a function, into a part whose name ends in
 * ".cold" and which a stripped file does not name (CPython 3.11 and 3.12 of several distributions:
 * up to 56 KB of the interpreter's loop). It is found as the function that the loop jumps into and
 * which jumps back into the middle of the loop: no two functions do that.
 *
 * Jumps are looked for at each byte, without decoding: what is no jump goes anywhere, and so hardly
 * ever to the same function and back.
 */
#include "python/find.h"

#include "elf/functions.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* The loop has 40 to 80 KB of code. */
#define CODE_BYTES_MAX (1u << 20)
/* Jumps back that make it sure. */
#define JUMPS_MIN 2

struct code {
	uint64_t start;
	struct span bytes;
};

static int read_code(struct elf_file *elf, uint64_t start, uint64_t end, uint8_t **memory,
		     struct code *ret)
{
	if (end <= start || end - start > CODE_BYTES_MAX)
		return -EFBIG;
	uint8_t *bytes = malloc(end - start);
	if (!bytes)
		return -ENOMEM;
	if (elf_read_vaddr(elf, start, bytes, end - start) < 0) {
		free(bytes);
		return -EBADMSG;
	}
	*memory = bytes;
	*ret = (struct code){ start, span_of(bytes, end - start) };
	return 0;
}

/* Where the jump at @at goes that is 0f 8x (jcc) or e9 (jmp) with a distance of 32 bits. */
static bool jump_at(const struct code *c, size_t at, uint64_t *ret)
{
	const uint8_t *p = c->bytes.data + at;
	size_t size, left = c->bytes.size - at;
	int32_t distance;

	if (left >= 6 && p[0] == 0x0f && (p[1] & 0xf0) == 0x80)
		size = 6;
	else if (left >= 5 && p[0] == 0xe9)
		size = 5;
	else
		return false;
	memcpy(&distance, p + size - 4, 4);
	*ret = c->start + at + size + (uint64_t)(int64_t)distance;
	return true;
}

static unsigned count_jumps(const struct code *from, uint64_t start, uint64_t end)
{
	unsigned count = 0;
	uint64_t target;

	for (size_t i = 0; i < from->bytes.size; i++)
		count += jump_at(from, i, &target) && target >= start && target < end;
	return count;
}

/* Whether the function that @vaddr is in is the loop's other part. */
static bool is_part(struct elf_file *elf, const struct elf_functions *functions,
		    const struct code *loop, uint64_t vaddr, struct python_range *ret)
{
	CLEANUP_FREE uint8_t *memory = NULL;
	uint64_t start, end;
	struct code part;

	if (elf_functions_at(functions, vaddr, &start, &end) < 0 || vaddr >= end ||
	    start == loop->start)
		return false;
	if (read_code(elf, start, end, &memory, &part) < 0 ||
	    count_jumps(&part, loop->start + 1, loop->start + loop->bytes.size) < JUMPS_MIN)
		return false;
	*ret = (struct python_range){ .start = start, .end = end };
	return true;
}

/* Targets looked at in full; the part is the most frequent one, so among the first. */
#define TRIES_MAX 256

bool python_find_cold(struct elf_file *elf, uint64_t start, uint64_t end, struct python_range *ret)
{
	CLEANUP(elf_functions_free) struct elf_functions *functions = NULL;
	CLEANUP_FREE uint8_t *memory = NULL;
	struct code loop;
	struct err err;
	uint64_t target;
	unsigned tries = 0;

	if (elf_header(elf).machine != EM_X86_64 || elf_functions_new(&functions, elf, &err) < 0 ||
	    read_code(elf, start, end, &memory, &loop) < 0)
		return false;
	for (size_t i = 0; i < loop.bytes.size && tries < TRIES_MAX; i++) {
		if (!jump_at(&loop, i, &target) || (target >= start && target < end))
			continue;
		tries++;
		if (is_part(elf, functions, &loop, target, ret))
			return true;
	}
	return false;
}
