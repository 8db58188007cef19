/* SPDX-License-Identifier: Apache-2.0 */
#include "device/notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

bool note_next(struct cursor *c, struct note *ret)
{
	uint32_t owner, desc;

	if (cursor_u32(c, &owner, NULL) < 0 || cursor_u32(c, &desc, NULL) < 0 ||
	    cursor_u32(c, &ret->type, NULL) < 0 || cursor_bytes(c, owner, &ret->owner, NULL) < 0)
		return false;
	cursor_skip(c, -owner & 3, NULL);
	if (cursor_bytes(c, desc, &ret->desc, NULL) < 0)
		return false;
	cursor_skip(c, -desc & 3, NULL);
	return true;
}

/* ---- MessagePack (github.com/msgpack/msgpack, spec.md) ---- */

enum pack_type {
	PACK_OTHER, /* no contents that are of use here */
	PACK_NUMBER,
	PACK_TEXT,
	PACK_ARRAY, /* @value items */
	PACK_MAP,   /* @value pairs */
};

struct pack {
	enum pack_type type;
	uint64_t value;
	struct span text;
};

static int pack_number(struct cursor *c, unsigned bytes, uint64_t *ret)
{
	struct span s;
	uint64_t value = 0;
	int rc = cursor_bytes(c, bytes, &s, NULL);
	for (size_t i = 0; rc == 0 && i < s.size; i++) /* big endian */
		value = value << 8 | s.data[i];
	*ret = value;
	return rc;
}

/* Codes 0xc0 to 0xdf. */
static int pack_coded(struct cursor *c, uint8_t code, struct pack *ret)
{
	uint64_t size = 0;
	int rc = 0;

	if (code >= 0xcc && code <= 0xd3) { /* uint 8 to 64, int 8 to 64 */
		ret->type = code <= 0xcf ? PACK_NUMBER : PACK_OTHER;
		return pack_number(c, 1u << ((code - 0xcc) & 3), &ret->value);
	}
	if (code >= 0xdc) { /* array and map, of 16 and 32 bits */
		ret->type = code >= 0xde ? PACK_MAP : PACK_ARRAY;
		return pack_number(c, code & 1 ? 4 : 2, &ret->value);
	}
	if (code >= 0xd9) { /* str 8 to 32 */
		ret->type = PACK_TEXT;
		rc = pack_number(c, 1u << (code - 0xd9), &size);
		return rc ? rc : cursor_bytes(c, size, &ret->text, NULL);
	}
	if (code >= 0xd4) { /* fixext of 1 to 16, and its type */
		size = 1 + (1u << (code - 0xd4));
	} else if (code == 0xca || code == 0xcb) { /* float, double */
		size = code == 0xca ? 4 : 8;
	} else if (code >= 0xc7) { /* ext, and its type */
		rc = pack_number(c, 1u << (code - 0xc7), &size);
		size++;
	} else if (code >= 0xc4) { /* bin */
		rc = pack_number(c, 1u << (code - 0xc4), &size);
	}
	return rc ? rc : cursor_skip(c, size, NULL);
}

static int pack_next(struct cursor *c, struct pack *ret)
{
	uint8_t code;
	int rc = cursor_u8(c, &code, NULL);

	*ret = (struct pack){ PACK_OTHER, 0, span_of("", 0) };
	if (rc)
		return rc;
	if (code >= 0xc0 && code < 0xe0)
		return pack_coded(c, code, ret);
	if (code >= 0xe0) /* negative fixint */
		return 0;
	ret->type = code < 0x80   ? PACK_NUMBER
		    : code < 0x90 ? PACK_MAP
		    : code < 0xa0 ? PACK_ARRAY
				  : PACK_TEXT;
	ret->value = code < 0x80 ? code : code & 15;
	return code < 0xa0 ? 0 : cursor_bytes(c, code & 31, &ret->text, NULL);
}

/* Past the rest of an item, whose head was read. */
static int pack_skip(struct cursor *c, const struct pack *head)
{
	struct pack p = *head;
	uint64_t left = 0;

	for (;;) {
		/* Each takes a byte at least: more than there are bytes is damage. */
		uint64_t more = p.type == PACK_MAP     ? 2 * p.value
				: p.type == PACK_ARRAY ? p.value
						       : 0;
		left += more;
		if (left > cursor_left(c))
			return -EBADMSG;
		if (!left--)
			return 0;
		int rc = pack_next(c, &p);
		if (rc)
			return rc;
	}
}

static bool is_text(const struct pack *p, const char *text)
{
	return p->type == PACK_TEXT && p->text.size == strlen(text) &&
	       !memcmp(p->text.data, text, p->text.size);
}

/* ---- the metadata ---- */

/* One item of "amdhsa.kernels". */
static int read_kernel(struct amdgpu_spills *s, struct cursor *c)
{
	struct pack map, key, value;
	struct span symbol = span_of("", 0);
	uint64_t spills = 0;
	uint32_t id;

	int rc = pack_next(c, &map);
	if (rc || map.type != PACK_MAP)
		return rc ? rc : pack_skip(c, &map);
	for (uint64_t i = 0; i < map.value; i++) {
		if (pack_next(c, &key) < 0 || pack_next(c, &value) < 0)
			return -EBADMSG;
		if (is_text(&key, ".symbol"))
			symbol = value.text;
		else if (is_text(&key, ".vgpr_spill_count") && value.type == PACK_NUMBER)
			spills = value.value;
		rc = key.type == PACK_TEXT ? pack_skip(c, &value) : -EBADMSG;
		if (rc)
			return rc;
	}
	if (symbol.size < 3) /* "K.kd" */
		return 0;
	if (strtab_intern(&s->kernels, symbol.data, symbol.size - 3, &id, NULL) < 0 ||
	    hash_set(&s->registers, id, spills < UINT32_MAX ? spills : 0) < 0)
		return -ENOMEM;
	return 0;
}

static int read_metadata(struct amdgpu_spills *s, struct span desc)
{
	struct cursor c = cursor_of(desc, NULL);
	struct pack map, key, value;

	if (pack_next(&c, &map) < 0 || map.type != PACK_MAP)
		return 0;
	for (uint64_t i = 0; i < map.value; i++) {
		if (pack_next(&c, &key) < 0 || pack_next(&c, &value) < 0)
			return 0;
		if (!is_text(&key, "amdhsa.kernels") || value.type != PACK_ARRAY) {
			if (pack_skip(&c, &value) < 0)
				return 0;
			continue;
		}
		for (uint64_t k = 0; k < value.value; k++) {
			int rc = read_kernel(s, &c);
			if (rc)
				return rc == -ENOMEM ? rc : 0;
		}
	}
	return 0;
}

#define NT_AMDGPU_METADATA 32

int amdgpu_spills_read(struct amdgpu_spills *s, struct elf_file *elf)
{
	struct elf_section section;
	struct span data;
	struct note n;

	if (elf_section_find(elf, ".note", &section) < 0 ||
	    elf_section_data(elf, &section, &data, NULL) < 0)
		return 0;
	struct cursor c = cursor_of(data, NULL);
	while (note_next(&c, &n)) {
		if (n.type == NT_AMDGPU_METADATA && n.owner.size == 7 &&
		    !memcmp(n.owner.data, "AMDGPU", 7))
			return read_metadata(s, n.desc);
	}
	return 0;
}

void amdgpu_spills_release(struct amdgpu_spills *s)
{
	strtab_release(&s->kernels);
	hash_release(&s->registers);
}

int amdgpu_spills_find(struct amdgpu_spills *s, const char *kernel, uint32_t *ret)
{
	uint32_t id;
	if (strtab_add(&s->kernels, kernel, &id) < 0)
		return -ENOMEM;
	const uint64_t *found = hash_get(&s->registers, id);
	*ret = found ? (uint32_t)*found : 0;
	return 0;
}
