/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/plt.h"

#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stubs have 16 bytes; in .plt.got without control-flow enforcement 8 (psABI, "Procedure Linkage
 * Table"; ld's elf_x86_64_*_plt tables). */
#define STUB_BYTES       16u
#define SMALL_STUB_BYTES 8u
/* libtorch_cpu has 15,000; relocations of data are not kept. */
#define SLOTS_MAX (4u << 20)

struct slot {
	uint64_t address;
	uint64_t resolver;
	const char *name;
};

struct code {
	uint64_t addr;
	struct span bytes;
};

struct elf_plt {
	VEC(struct slot) slots; /* by address */
	VEC(struct code) code;
};

void elf_plt_free(struct elf_plt *p)
{
	if (!p)
		return;
	vec_release(&p->slots);
	vec_release(&p->code);
	free(p);
}

/* The table of symbols that relocations refer to, with its strings. */
struct names {
	struct span symbols, strings;
};

static int read_names(struct elf_file *f, uint32_t index, struct names *ret)
{
	if (!index || index >= elf_section_count(f))
		return -ENOENT;
	struct elf_section symbols = elf_section_get(f, index);
	if (symbols.link >= elf_section_count(f))
		return -ENOENT;
	struct elf_section strings = elf_section_get(f, symbols.link);
	if (elf_section_data(f, &symbols, &ret->symbols, NULL) < 0 ||
	    elf_section_data(f, &strings, &ret->strings, NULL) < 0)
		return -ENOENT;
	while (ret->strings.size && ret->strings.data[ret->strings.size - 1] != '\0')
		ret->strings.size--;
	return 0;
}

static const char *symbol_name(const struct names *n, uint64_t index)
{
	Elf64_Sym sym;
	if (index >= n->symbols.size / sizeof(sym))
		return NULL;
	memcpy(&sym, n->symbols.data + index * sizeof(sym), sizeof(sym));
	if (sym.st_name >= n->strings.size || !n->strings.data[sym.st_name])
		return NULL;
	return (const char *)n->strings.data + sym.st_name;
}

static int add_relocations(struct elf_plt *p, struct elf_file *f, const struct elf_section *section)
{
	struct names names = { 0 };
	struct span data;

	if (elf_section_data(f, section, &data, NULL) < 0)
		return 0;
	(void)read_names(f, section->link, &names);
	for (size_t i = 0; i < data.size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela rela;
		memcpy(&rela, data.data + i * sizeof(rela), sizeof(rela));
		struct slot slot = { .address = rela.r_offset };
		switch (ELF64_R_TYPE(rela.r_info)) {
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT:
			slot.name = symbol_name(&names, ELF64_R_SYM(rela.r_info));
			if (!slot.name)
				continue;
			break;
		case R_X86_64_IRELATIVE:
			slot.resolver = (uint64_t)rela.r_addend;
			break;
		default:
			continue;
		}
		if (p->slots.len < SLOTS_MAX && vec_push(&p->slots, slot) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_slots(const void *va, const void *vb)
{
	const struct slot *a = va, *b = vb;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int load(struct elf_plt *p, struct elf_file *f)
{
	for (size_t i = 1; i < elf_section_count(f); i++) {
		struct elf_section s = elf_section_get(f, i);
		struct code code = { .addr = s.addr };
		if (s.type == SHT_RELA && (s.flags & SHF_ALLOC) && add_relocations(p, f, &s) < 0)
			return -ENOMEM;
		if (!(s.flags & SHF_EXECINSTR) || strncmp(s.name, ".plt", 4) != 0)
			continue;
		if (elf_section_data(f, &s, &code.bytes, NULL) == 0 && vec_push(&p->code, code) < 0)
			return -ENOMEM;
	}
	if (p->slots.len)
		qsort(p->slots.data, p->slots.len, sizeof(*p->slots.data), compare_slots);
	return 0;
}

int elf_plt_new(struct elf_plt **ret, struct elf_file *f, struct err *err)
{
	CLEANUP(elf_plt_free) struct elf_plt *p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	if (elf_header(f).machine == EM_X86_64 && load(p, f) < 0)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	*ret = TAKE(p);
	return 0;
}

/* "jmp *slot(%rip)", with endbr64 or a bnd prefix before it or not: the slot's address. */
static bool decode(const struct code *c, uint64_t at, uint64_t *ret)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa }, jmp[] = { 0xff, 0x25 };
	const uint8_t *p = c->bytes.data;
	uint64_t pos = at;
	int32_t displacement;

	if (span_contains(c->bytes, pos, 4) && !memcmp(p + pos, endbr64, 4))
		pos += 4;
	if (span_contains(c->bytes, pos, 1) && p[pos] == 0xf2)
		pos++;
	if (!span_contains(c->bytes, pos, 6) || memcmp(p + pos, jmp, 2) != 0)
		return false;
	memcpy(&displacement, p + pos + 2, 4);
	*ret = c->addr + pos + 6 + (uint64_t)(int64_t)displacement;
	return true;
}

static const struct slot *find_slot(const struct elf_plt *p, uint64_t address)
{
	struct slot key = { .address = address };
	if (!p->slots.len)
		return NULL;
	return bsearch(&key, p->slots.data, p->slots.len, sizeof(key), compare_slots);
}

int elf_plt_at(const struct elf_plt *p, uint64_t vaddr, struct elf_plt_stub *ret)
{
	static const uint64_t sizes[] = { SMALL_STUB_BYTES, STUB_BYTES };

	vec_for_each(&p->code, c) {
		if (vaddr < c->addr || vaddr - c->addr >= c->bytes.size)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			uint64_t at = (vaddr - c->addr) & ~(sizes[i] - 1), slot_address;
			if (!decode(c, at, &slot_address))
				continue;
			const struct slot *slot = find_slot(p, slot_address);
			if (!slot)
				continue;
			*ret = (struct elf_plt_stub){
				.start = c->addr + at,
				.size = sizes[i],
				.name = slot->name,
				.resolver = slot->resolver,
			};
			return 0;
		}
	}
	return -ENOENT;
}
