/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel's zebin (intel-graphics-compiler, IGC/ZEBinWriter/zebin/spec/elf.md). ET_REL as the compiler makes
 * it: every kernel has a section .text.NAME at address 0, and the DWARF is relocated against symbols
 * ".text.NAME", whose section index is not that of the text; a copy is relocated here so that a kernel's
 * address is its place in the file. ET_EXEC as zetModuleGetDebugInfo() gives it: everything in its place.
 *
 * Of .ze_info, which is YAML as one writer writes it, a few numbers are read, by line.
 */
#include "base/hash.h"
#include "device/disassembler.h"
#include "device/linked.h"
#include "device/notes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_PREFIX ".text."

/* Relocation types, spec table "Relocation Type". */
enum {
	R_ZE_SYM_ADDR = 1,
	R_ZE_SYM_ADDR_32 = 2,
	R_ZE_SYM_ADDR_32_HI = 3,
};

/* Notes of owner "IntelGT". */
enum {
	NT_PRODUCT_FAMILY = 1,
	NT_PRODUCT_CONFIG = 6,
};

struct zebin {
	bool is_linked;
	uint32_t platform; /* IGA's: major << 24 | minor */
	bool is_platform_known;
	uint8_t *debug; /* the relocated copy of the file */
	struct strtab names;
	struct hash facts_of; /* kernel's number in `names` -> index */
	VEC(struct device_facts) facts;
};

static bool zebin_is_mine(struct elf_file *elf)
{
	return elf_header(elf).machine == EM_INTELGT_;
}

static void zebin_close(struct device_object *o)
{
	struct zebin *z = o->state;
	if (!z)
		return;
	strtab_release(&z->names);
	hash_release(&z->facts_of);
	vec_release(&z->facts);
	free(z->debug);
	free(z);
}

/* ---- which device ---- */

/* Product families of NEO's igfxfmid.h, configurations (GMDID) by their major and minor version; IGA's
 * platforms of iga.h. */
static const struct {
	uint32_t family;
	const char *name;
	uint32_t platform;
} families[] = {
	/* as ocloc 22.43 writes them */
	{ 18, "skl", 0x09000000 },
	{ 26, "icl", 0x0b000000 },
	{ 29, "tgl", 0x01000000 },
	{ 30, "rkl", 0x01000000 },
	{ 31, "adl-s", 0x01000000 },
	{ 32, "adl-p", 0x01000000 },
	{ 33, "adl-n", 0x01000000 },
	{ 1210, "dg1", 0x01000000 },
	{ 1250, "xe-hp", 0x01000001 },
	{ 1270, "dg2", 0x01000002 },
	{ 1271, "pvc", 0x01000004 },
	/* from igfxfmid.h */
	{ 1272, "mtl", 0x01000002 },
	{ 1273, "arl", 0x01000002 },
	{ 1274, "bmg", 0x02000000 },
	{ 1275, "lnl", 0x02000000 },
};

static void name_config(struct device_object *o, struct zebin *z, uint32_t config)
{
	unsigned major = config >> 22, minor = config >> 14 & 0xff;
	snprintf(o->arch, sizeof(o->arch), "xe %u.%u", major, minor);
	z->is_platform_known = true;
	if (major == 12)
		z->platform = minor >= 60 && minor < 70 ? 0x01000004
			      : minor >= 55             ? 0x01000002
			      : minor >= 50             ? 0x01000001
							: 0x01000000;
	else if (major == 20)
		z->platform = 0x02000000;
	else if (major == 30)
		z->platform = 0x03000000;
	else
		z->is_platform_known = false;
}

static void name_family(struct device_object *o, struct zebin *z, uint32_t family)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (families[i].family != family)
			continue;
		strcpy(o->arch, families[i].name);
		z->platform = families[i].platform;
		z->is_platform_known = true;
	}
}

static void read_notes(struct device_object *o, struct zebin *z)
{
	struct elf_section s;
	struct span data;
	if (elf_section_find(o->elf, ".note.intelgt.compat", &s) < 0 ||
	    elf_section_data(o->elf, &s, &data, NULL) < 0)
		return;
	struct cursor c = cursor_of(data, NULL);
	struct note n;
	uint32_t value;
	while (note_next(&c, &n)) {
		if (n.owner.size != 8 || memcmp(n.owner.data, "IntelGT", 8) != 0 ||
		    n.desc.size != 4)
			continue;
		memcpy(&value, n.desc.data, 4);
		if (n.type == NT_PRODUCT_CONFIG && value >> 22)
			name_config(o, z, value);
		else if (n.type == NT_PRODUCT_FAMILY && !z->is_platform_known)
			name_family(o, z, value);
	}
}

/* ---- kernels ---- */

/* "key: number" on this line. */
static bool line_number(const char *line, size_t size, const char *key, uint32_t *ret)
{
	size_t n = strlen(key);
	while (size && (*line == ' ' || *line == '-')) {
		line++;
		size--;
	}
	if (size <= n || memcmp(line, key, n) != 0 || line[n] != ':')
		return false;
	uint64_t value = 0;
	for (size_t i = n + 1; i < size && value <= UINT32_MAX; i++) {
		if (line[i] >= '0' && line[i] <= '9')
			value = value * 10 + (uint64_t)(line[i] - '0');
		else if (line[i] != ' ')
			return false;
	}
	*ret = value > UINT32_MAX ? 0 : (uint32_t)value;
	return true;
}

/* "  - name: KERNEL": KERNEL; empty for other lines. */
static struct span item_name(const char *line, size_t size)
{
	static const char key[] = "name:";
	const char *name =
		size >= 4 && !memcmp(line, "  - ", 4) ? memmem(line, size, key, strlen(key)) : NULL;
	if (!name)
		return span_of("", 0);
	name += strlen(key);
	size_t left = size - (size_t)(name - line);
	while (left && (*name == ' ' || *name == '\'')) {
		name++;
		left--;
	}
	while (left && (name[left - 1] == '\'' || name[left - 1] == '\r'))
		left--;
	return span_of(name, left);
}

/* What stands between the name of each kernel and the next, up to "kernels_misc_info:". */
static int read_info(struct device_object *o, struct zebin *z)
{
	struct elf_section s;
	struct span data;

	if (elf_section_find(o->elf, ".ze_info", &s) < 0 ||
	    elf_section_data(o->elf, &s, &data, NULL) < 0)
		return 0;
	const char *p = (const char *)data.data, *end = p + data.size;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t size = newline ? (size_t)(newline - p) : (size_t)(end - p);
		struct span name = item_name(p, size);
		if (size >= 18 && !memcmp(p, "kernels_misc_info:", 18))
			return 0;
		if (name.size) {
			uint32_t id;
			struct device_facts none = { 0 };
			if (strtab_intern(&z->names, name.data, name.size, &id, NULL) < 0 ||
			    vec_push(&z->facts, none) < 0 ||
			    hash_set(&z->facts_of, id, z->facts.len - 1) < 0)
				return -ENOMEM;
		}
		if (z->facts.len) {
			struct device_facts *f = vec_last(&z->facts);
			line_number(p, size, "grf_count", &f->registers);
			line_number(p, size, "simd_size", &f->simd);
			line_number(p, size, "slm_size", &f->shared_bytes);
			line_number(p, size, "spill_size", &f->spill_bytes);
			line_number(p, size, "private_size", &f->private_bytes);
		}
		p += size + 1;
	}
	return 0;
}

static int find_facts(struct zebin *z, const char *kernel, struct device_facts *ret)
{
	uint32_t id;
	if (strtab_add(&z->names, kernel, &id) < 0)
		return -ENOMEM;
	const uint64_t *index = hash_get(&z->facts_of, id);
	if (index)
		*ret = z->facts.data[*index];
	return 0;
}

static const char *symbol_name(struct span names, uint32_t at)
{
	if (at >= names.size || !memchr(names.data + at, 0, names.size - at))
		return "";
	return (const char *)names.data + at;
}

struct symbols {
	struct span data, names;
};

static size_t symbol_count(const struct symbols *t)
{
	return t->data.size / sizeof(Elf64_Sym);
}

static Elf64_Sym symbol_get(const struct symbols *t, size_t index, const char **ret_name)
{
	Elf64_Sym y;
	memcpy(&y, t->data.data + index * sizeof(y), sizeof(y));
	*ret_name = symbol_name(t->names, y.st_name);
	return y;
}

static bool find_symbols(struct device_object *o, struct symbols *ret)
{
	*ret = (struct symbols){ span_of("", 0), span_of("", 0) };
	for (size_t i = 1; i < elf_section_count(o->elf); i++) {
		struct elf_section s = elf_section_get(o->elf, i);
		if (s.type != SHT_SYMTAB || elf_section_data(o->elf, &s, &ret->data, NULL) < 0)
			continue;
		if (s.link && s.link < elf_section_count(o->elf)) {
			struct elf_section names = elf_section_get(o->elf, s.link);
			elf_section_data(o->elf, &names, &ret->names, NULL);
		}
		return true;
	}
	return false;
}

/* Where offset 0 of a text section is, as device.h counts. */
static uint64_t section_base(const struct zebin *z, const struct elf_section *s)
{
	return z->is_linked ? s->addr : s->offset;
}

static int add_functions(struct device_object *o, struct zebin *z)
{
	struct symbols t;
	if (!find_symbols(o, &t))
		return 0;
	for (size_t i = 0; i < symbol_count(&t); i++) {
		const char *name;
		Elf64_Sym y = symbol_get(&t, i, &name);
		if (ELF64_ST_TYPE(y.st_info) != STT_FUNC || !*name || !strcmp(name, "_entry") ||
		    !y.st_shndx || y.st_shndx >= elf_section_count(o->elf))
			continue;
		struct elf_section s = elf_section_get(o->elf, y.st_shndx);
		uint64_t at = z->is_linked ? y.st_value - s.addr : y.st_value;
		if (strncmp(s.name, ".text", 5) != 0 || s.type == SHT_NOBITS || at > s.size ||
		    y.st_size > s.size - at || s.size > o->bytes.size)
			continue;
		struct device_function f = {
			.name = name,
			.offset = section_base(z, &s) + at,
			.size = y.st_size,
			.is_kernel = !strncmp(s.name, TEXT_PREFIX, strlen(TEXT_PREFIX)) &&
				     !strcmp(s.name + strlen(TEXT_PREFIX), name),
		};
		if (f.is_kernel && find_facts(z, name, &f.facts) < 0)
			return -ENOMEM;
		if (object_add_function(o, &f, s.offset + at, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int zebin_open(struct device_object *o, struct err *err)
{
	struct zebin *z = calloc(1, sizeof(*z));
	if (!z)
		return err_set(err, -ENOMEM, "'%s'", o->name);
	o->state = z;
	z->is_linked = elf_header(o->elf).type == ET_EXEC;
	read_notes(o, z);
	if (read_info(o, z) < 0 || add_functions(o, z) < 0)
		return err_set(err, -ENOMEM, "'%s'", o->name);
	return 0;
}

static void zebin_prepare(struct device_object *o)
{
	const struct zebin *z = o->state;
	if (!(o->flags & DEVICE_NO_TEXT) && z->is_platform_known)
		o->disassembler = disassembler_iga(z->platform);
}

/* ---- lines ---- */

/* What a relocation's symbol stands for: the base of the text section of that name; others are offsets in
 * debug sections and stay as they are. */
static uint64_t symbol_base(struct device_object *o, const struct zebin *z, const char *name)
{
	struct elf_section s;
	if (strncmp(name, TEXT_PREFIX, strlen(TEXT_PREFIX)) != 0 ||
	    elf_section_find(o->elf, name, &s) < 0)
		return 0;
	return section_base(z, &s);
}

static void relocate(struct device_object *o, const struct zebin *z, const struct symbols *t,
		     const struct elf_section *table, const struct elf_section *target)
{
	struct span data;
	const char *last = NULL;
	uint64_t base = 0;

	if (elf_section_data(o->elf, table, &data, NULL) < 0 ||
	    !span_contains(o->bytes, target->offset, target->size))
		return;
	for (size_t at = 0; at + sizeof(Elf64_Rela) <= data.size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		const char *name;
		memcpy(&r, data.data + at, sizeof(r));
		uint32_t type = (uint32_t)ELF64_R_TYPE(r.r_info);
		size_t size = type == R_ZE_SYM_ADDR ? 8 : 4;
		if (type < R_ZE_SYM_ADDR || type > R_ZE_SYM_ADDR_32_HI ||
		    ELF64_R_SYM(r.r_info) >= symbol_count(t) || target->size < size ||
		    r.r_offset > target->size - size)
			continue;
		symbol_get(t, ELF64_R_SYM(r.r_info), &name);
		if (name != last)
			base = symbol_base(o, z, name);
		last = name;
		uint64_t value = base + (uint64_t)r.r_addend;
		value = type == R_ZE_SYM_ADDR_32_HI ? value >> 32 : value;
		memcpy(z->debug + target->offset + r.r_offset, &value, size);
	}
}

static struct span zebin_debug(struct device_object *o)
{
	struct zebin *z = o->state;
	struct symbols t;

	if (z->is_linked || !find_symbols(o, &t))
		return o->bytes;
	if (!z->debug)
		z->debug = malloc(o->bytes.size);
	if (!z->debug)
		return o->bytes;
	memcpy(z->debug, o->bytes.data, o->bytes.size);
	for (size_t i = 1; i < elf_section_count(o->elf); i++) {
		struct elf_section s = elf_section_get(o->elf, i);
		if (s.type != SHT_RELA || !s.info || s.info >= elf_section_count(o->elf))
			continue;
		struct elf_section target = elf_section_get(o->elf, s.info);
		if (!strncmp(target.name, ".debug_", 7) && !(target.flags & SHF_COMPRESSED) &&
		    target.type != SHT_NOBITS)
			relocate(o, z, &t, &s, &target);
	}
	return span_of(z->debug, o->bytes.size);
}

/* Bit 29 of the first word, CmptCtrl, says that the instruction is compacted to 8 bytes. Checked with IGA
 * up to Xe-HPC. */
static size_t zebin_length(struct span code, size_t at)
{
	uint32_t word;
	if (code.size - at < 8)
		return 0;
	memcpy(&word, code.data + at, sizeof(word));
	return word >> 29 & 1 ? 8 : 16;
}

static int zebin_list(struct device_object *o, size_t function)
{
	return linked_list(o, function,
			   &(struct linked_how){
				   .length = zebin_length,
				   .step = 8,
				   .debug_bytes = zebin_debug,
				   .target = target_iga,
				   .deduces_inlined = true,
			   });
}

const struct device_ops device_zebin = {
	.format = DEVICE_ZEBIN,
	.is_mine = zebin_is_mine,
	.open = zebin_open,
	.list = zebin_list,
	.prepare = zebin_prepare,
	.close = zebin_close,
	.needs_helper = true,
};
