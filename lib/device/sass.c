/* SPDX-License-Identifier: Apache-2.0 */
#include "device/sass.h"

#include "base/parse.h"
#include "device/nvdisasm.h"
#include "device/target.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Objects of less code are written whole, as starting the disassembler takes 0.2 s; of others a section at a
 * time. 1 MB takes 0.8 s. */
#define WHOLE_BYTES_MAX   (256u << 10)
#define SECTION_BYTES_MAX (8u << 20)
/* Instructions of some 20 constants have 150. */
#define TEXT_BYTES 512u

struct sass_name {
	uint16_t opcode, first, last;
	const char *name;
};

static const struct sass_name sass_names[] = {
#include "base/bisect.h"
#include "device/sass_table.h"
};

void sass_release(struct sass *s)
{
	hash_release(&s->asked);
	hash_release(&s->text_of);
}

/* ABI version 7 (CUDA 12 and before) has it in bits 0 to 7 of e_flags, 8 in 8 to 15. */
unsigned sass_version(const struct device_object *o)
{
	struct elf_header h = elf_header(o->elf);
	return (h.abi_version >= 8 ? h.flags >> 8 : h.flags) & 0xff;
}

/* ---- what NVIDIA's disassembler writes ---- */

/* The sections that it is given, one behind the other. */
struct piece {
	uint64_t offset; /* in the object */
	size_t at;       /* in what it is given */
	struct span code;
};

struct pieces {
	VEC(struct piece) list;
	size_t size;
};

static int add_piece(struct device_object *o, struct sass *s, uint32_t section, struct pieces *p)
{
	struct elf_section header = elf_section_get(o->elf, section);
	struct piece piece = { .offset = header.offset, .at = p->size };

	if (hash_get(&s->asked, section))
		return 0;
	if (hash_set(&s->asked, section, 1) < 0)
		return -ENOMEM;
	if (elf_section_data(o->elf, &header, &piece.code, NULL) < 0 ||
	    piece.code.size % SASS_BYTES)
		return 0;
	p->size += piece.code.size;
	return vec_push(&p->list, piece);
}

static bool is_code(const struct elf_section *s)
{
	return !strncmp(s->name, ".text", 5) && s->type == SHT_PROGBITS;
}

static int choose_pieces(struct device_object *o, struct sass *s, uint32_t section,
			 struct pieces *p)
{
	uint64_t all = 0;
	int rc = add_piece(o, s, section, p);

	for (size_t i = 1; i < elf_section_count(o->elf); i++) {
		struct elf_section other = elf_section_get(o->elf, i);
		if (is_code(&other) && all <= WHOLE_BYTES_MAX)
			all = other.size <= WHOLE_BYTES_MAX ? all + other.size : UINT64_MAX;
	}
	for (size_t i = 1; i < elf_section_count(o->elf) && all <= WHOLE_BYTES_MAX && !rc; i++) {
		struct elf_section other = elf_section_get(o->elf, i);
		if (is_code(&other))
			rc = add_piece(o, s, (uint32_t)i, p);
	}
	return rc;
}

/* Where in the object the place @at of what it was given is; the last piece asked about comes in @hint. */
static bool find_offset(const struct pieces *p, uint64_t at, size_t *hint, uint64_t *ret)
{
	for (size_t n = 0; n < p->list.len; n++) {
		size_t i = (*hint + n) % p->list.len;
		const struct piece *piece = &p->list.data[i];
		if (at >= piece->at && at - piece->at < piece->code.size) {
			*hint = i;
			*ret = piece->offset + (at - piece->at);
			return true;
		}
	}
	return false;
}

/* "BRA 0x620", "CALL.REL.NOINC 0x690": places in what it was given. Those of CALL.ABS and JMP are filled in
 * when the code is loaded. */
static bool has_target(const char *text)
{
	static const char *const names[] = { "BRA", "BSSY", "CALL.REL", "BREAK", "WARPSYNC" };
	if (*text == '@')
		text += strcspn(text, " ");
	text += *text == ' ';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t size = strlen(names[i]);
		if (!strncmp(text, names[i], size) && !isalnum((unsigned char)text[size]))
			return true;
	}
	return false;
}

/* Make the target a place in the function, or in another, as people count. */
static void write_target(const struct device_object *o, const struct pieces *p, uint64_t from,
			 size_t hint, char *text, size_t size)
{
	char *number = strrchr(text, ' ');
	uint64_t at, to;
	size_t own;

	if (!number || strncmp(number, " 0x", 3) != 0 || !has_target(text) ||
	    parse_u64(number + 3, 16, &at) < 0 || !find_offset(p, at, &hint, &to) ||
	    object_function_at(o, from, &own) < 0)
		return;
	target_write(o, own, to, number + 1, size - (size_t)(number + 1 - text));
}

/* A line is the address as a C comment, then the instruction and a semicolon. @text gets the latter with single
 * blanks. */
static bool read_line(const char *line, const char *end, uint64_t *ret_at, char *text, size_t size)
{
	while (line < end && *line == ' ')
		line++;
	if (end - line < 4 || line[0] != '/' || line[1] != '*')
		return false;
	line += 2;
	if (parse_digits(&line, end, 16, ret_at) < 0 || end - line < 2 || line[0] != '*' ||
	    line[1] != '/')
		return false;
	line += 2;
	const char *semicolon = memrchr(line, ';', (size_t)(end - line));
	end = semicolon ? semicolon : end;
	size_t n = 0;
	for (; line < end && n + 1 < size; line++) {
		if (*line != ' ' || (n && text[n - 1] != ' '))
			text[n++] = *line;
	}
	while (n && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
	return n;
}

static int take_text(struct device_object *o, struct sass *s, const struct pieces *p,
		     const char *answer, size_t size)
{
	const char *end = answer + size;
	size_t hint = 0;

	for (const char *line = answer; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline ? newline : end;
		char text[TEXT_BYTES];
		uint64_t at, offset;
		uint32_t id;
		if (read_line(line, stop, &at, text, sizeof(text)) &&
		    find_offset(p, at, &hint, &offset)) {
			write_target(o, p, offset, hint, text, sizeof(text));
			if (object_string(o, text, &id) < 0 ||
			    hash_set(&s->text_of, offset, id) < 0)
				return -ENOMEM;
		}
		line = stop + 1;
	}
	return 0;
}

static int run(struct device_object *o, struct sass *s, const struct pieces *p)
{
	char arch[16];
	CLEANUP_FREE char *answer = NULL;
	CLEANUP_FREE uint8_t *code = malloc(p->size);
	size_t size;

	if (!code)
		return -ENOMEM;
	vec_for_each(&p->list, piece)
		memcpy(code + piece->at, piece->code.data, piece->code.size);
	snprintf(arch, sizeof(arch), "SM%u", sass_version(o));
	if (nvdisasm_run(arch, span_of(code, p->size), &answer, &size) < 0) {
		s->has_failed = true;
		return 0;
	}
	return take_text(o, s, p, answer, size);
}

int sass_ask(struct device_object *o, struct sass *s, uint32_t section)
{
	struct pieces p = { .size = 0 };

	if (!o->uses_nvdisasm || s->has_failed || hash_get(&s->asked, section))
		return 0;
	int rc = choose_pieces(o, s, section, &p);
	if (!rc && p.size && p.size <= SECTION_BYTES_MAX)
		rc = run(o, s, &p);
	vec_release(&p.list);
	return rc;
}

/* ---- our own table ---- */

/* Architectures that share their operations; 11 is a later name of one of the tens. */
static unsigned family(unsigned sm)
{
	return sm / 10 == 11 ? 10 : sm / 10;
}

/* NULL also where the number is another operation's in other families: no name is better than a wrong one. */
static const char *mnemonic(uint16_t opcode, unsigned sm)
{
	size_t at = bisect(ARRAY_SIZE(sass_names), i, sass_names[i].opcode < opcode);
	const char *found = NULL;
	for (; at < ARRAY_SIZE(sass_names) && sass_names[at].opcode == opcode; at++) {
		const struct sass_name *n = &sass_names[at];
		if (family(sm) >= family(n->first) && family(sm) <= family(n->last) &&
		    (!found || n->first <= sm))
			found = n->name;
	}
	return found;
}

/* "@!P0 BRA": bits 12 to 14 are the predicate, 7 is "always"; bit 15 negates. */
int sass_text(struct device_object *o, const struct sass *s, uint64_t offset, struct span code,
	      uint32_t *ret)
{
	const uint64_t *known = hash_get(&s->text_of, offset);
	uint16_t low;
	char text[64];

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	memcpy(&low, code.data, sizeof(low));
	const char *name = mnemonic(low & 0xfff, sass_version(o));
	unsigned predicate = low >> 12 & 7;
	if (!name)
		return 0;
	if (predicate == 7)
		snprintf(text, sizeof(text), "%s%s", low >> 15 ? "@!PT " : "", name);
	else
		snprintf(text, sizeof(text), "@%sP%u %s", low >> 15 ? "!" : "", predicate, name);
	return object_string(o, text, ret);
}
