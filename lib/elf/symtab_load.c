/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables as they stand in the file: gABI "Symbol Table", versions by the LSB's chapter
 * "Symbol Versioning", .gnu_debugdata as gdb's manual ("MiniDebugInfo") describes it. */
#include "elf/inflate.h"
#include "elf/symtab_internal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Inflated mini-debuginfo: symbols and strings only; libxul's takes 11 MiB. */
#define MINI_BYTES_MAX (64ull << 20)

struct table {
	struct elf_file *file;
	struct elf_section section;
	struct span symbols;
	struct span strings;        /* ends with a NUL, or is empty */
	struct span extended;       /* SHT_SYMTAB_SHNDX: 32-bit section numbers */
	struct span versions;       /* SHT_GNU_versym: one 16-bit number per symbol */
	const char **version_names; /* by number; NULL: not defined here */
	size_t version_count;
};

static int find_type(const struct elf_file *f, uint32_t type, struct elf_section *ret)
{
	for (size_t i = 1; i < elf_section_count(f); i++) {
		struct elf_section s = elf_section_get(f, i);
		if (s.type == type) {
			*ret = s;
			return 0;
		}
	}
	return -ENOENT;
}

/* The string table that @section links to, cut behind its last NUL. */
static int read_strings(struct elf_file *f, const struct elf_section *section, struct span *ret,
			struct err *err)
{
	if (section->link >= elf_section_count(f))
		return err_set(err, -EBADMSG, "'%s': section %s has no string table", elf_name(f),
			       section->name);
	struct elf_section s = elf_section_get(f, section->link);
	int rc = elf_section_data(f, &s, ret, err);
	if (rc < 0)
		return rc;
	while (ret->size && ret->data[ret->size - 1] != '\0')
		ret->size--;
	return 0;
}

static const char *string_at(struct span strings, uint32_t offset)
{
	return offset < strings.size ? (const char *)strings.data + offset : NULL;
}

/* Names of the versions that the file defines, by number. Damage only costs the versions behind it. */
static int read_version_names(struct table *t)
{
	struct elf_section section;
	struct span data, strings;
	size_t at = 0;

	if (find_type(t->file, SHT_GNU_verdef, &section) < 0 ||
	    elf_section_data(t->file, &section, &data, NULL) < 0 ||
	    read_strings(t->file, &section, &strings, NULL) < 0)
		return 0;
	/* Numbers have 15 bits; the count of definitions stands in sh_info and need not be true. */
	size_t count = 1u << 15;
	t->version_names = calloc(count, sizeof(*t->version_names));
	if (!t->version_names)
		return -ENOMEM;
	t->version_count = count;
	for (size_t i = 0; i < count; i++) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
		if (!span_contains(data, at, sizeof(def)))
			break;
		memcpy(&def, data.data + at, sizeof(def));
		if (!span_contains(data, at + def.vd_aux, sizeof(aux)))
			break;
		memcpy(&aux, data.data + at + def.vd_aux, sizeof(aux));
		/* The base definition carries the file's own name, not a version. */
		if (!(def.vd_flags & VER_FLG_BASE))
			t->version_names[def.vd_ndx & (count - 1)] =
				string_at(strings, aux.vda_name);
		if (!def.vd_next)
			break;
		at += def.vd_next;
	}
	return 0;
}

/* "memcpy@@GLIBC_2.14" in a .symtab: name and version apart. */
static int split_version(struct elf_symtab *t, struct elf_symbol *s)
{
	const char *sign = strchr(s->name, '@');
	if (!sign || sign == s->name)
		return 0;
	s->is_default = sign[1] == '@';
	s->version = sign + (s->is_default ? 2 : 1);
	s->name = arena_copy(&t->arena, s->name, (size_t)(sign - s->name));
	return s->name ? 0 : -ENOMEM;
}

static void look_up_version(const struct table *t, size_t index, struct elf_symbol *s)
{
	uint16_t number;
	if (!span_contains(t->versions, index * 2, 2))
		return;
	memcpy(&number, t->versions.data + index * 2, 2);
	/* Bit 15 hides a symbol from linking by its bare name. */
	s->is_default = !(number & 0x8000);
	number &= 0x7fff;
	if (number < t->version_count)
		s->version = t->version_names[number];
}

static bool is_wanted(const Elf64_Sym *sym, const char *name, bool is_code)
{
	if (!name || !*name || sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_COMMON)
		return false;
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_OBJECT:
		/* Linkers define each version as an absolute object without a size. */
		return sym->st_shndx != SHN_ABS || sym->st_size;
	case STT_NOTYPE:
		/* "$x" marks code and data on Arm and RISC-V, ".L" and ".annobin" are the
		 * compiler's own. */
		return is_code && *name != '$' && *name != '.';
	default:
		return false;
	}
}

static int load_one(struct elf_symtab *t, const struct table *table, size_t index)
{
	Elf64_Sym sym;
	memcpy(&sym, table->symbols.data + index * sizeof(sym), sizeof(sym));

	uint32_t section = sym.st_shndx;
	if (section == SHN_XINDEX && span_contains(table->extended, index * 4, 4))
		memcpy(&section, table->extended.data + index * 4, 4);
	uint64_t section_end = 0;
	if (section && section < elf_section_count(table->file)) {
		struct elf_section s = elf_section_get(table->file, section);
		if ((s.flags & SHF_EXECINSTR) &&
		    __builtin_add_overflow(s.addr, s.size, &section_end))
			section_end = 0;
	}
	const char *name = string_at(table->strings, sym.st_name);
	if (!is_wanted(&sym, name, section_end != 0))
		return 0;

	struct symtab_entry entry = {
		.symbol = {
			.name = name,
			.value = sym.st_value,
			.size = sym.st_size,
			.section = section,
			.type = ELF64_ST_TYPE(sym.st_info),
			.bind = ELF64_ST_BIND(sym.st_info),
			.is_default = true,
		},
		.section_end = section_end,
	};
	if (table->versions.size)
		look_up_version(table, index, &entry.symbol);
	else if (split_version(t, &entry.symbol) < 0)
		return -ENOMEM;
	return vec_push(&t->entries, entry);
}

static int load_table(struct elf_symtab *t, struct table *table, struct err *err)
{
	struct elf_section s;
	struct elf_file *f = table->file;

	int rc = elf_section_data(f, &table->section, &table->symbols, err);
	if (rc < 0)
		return rc;
	rc = read_strings(f, &table->section, &table->strings, err);
	if (rc < 0)
		return rc;
	for (size_t i = 1; i < elf_section_count(f); i++) {
		s = elf_section_get(f, i);
		if (s.link != table->section.index)
			continue;
		if (s.type == SHT_SYMTAB_SHNDX)
			(void)elf_section_data(f, &s, &table->extended, NULL);
		if (s.type == SHT_GNU_versym)
			(void)elf_section_data(f, &s, &table->versions, NULL);
	}
	if (table->versions.size && read_version_names(table) < 0)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));

	size_t count = table->symbols.size / sizeof(Elf64_Sym);
	if (count > ELF_SYMBOLS_MAX - t->entries.len)
		return err_set(err, -E2BIG, "'%s': more than %u symbols", elf_name(f),
			       ELF_SYMBOLS_MAX);
	if (vec_reserve(&t->entries, t->entries.len + count) < 0)
		return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	for (size_t i = 1; i < count; i++) {
		if (load_one(t, table, i) < 0)
			return err_set(err, -ENOMEM, "'%s'", elf_name(f));
	}
	return 0;
}

static int load_type(struct elf_symtab *t, struct elf_file *f, uint32_t type, struct err *err)
{
	struct table table = { .file = f };
	if (find_type(f, type, &table.section) < 0)
		return 0;
	int rc = load_table(t, &table, err);
	free(table.version_names);
	return rc;
}

static int load_mini(struct elf_symtab *t, struct elf_file *f, struct err *err)
{
	struct elf_section section;
	struct span data;
	size_t size;

	if (elf_section_find(f, ".gnu_debugdata", &section) < 0)
		return 0;
	int rc = elf_section_data(f, &section, &data, err);
	if (rc < 0)
		return rc;
	char what[256];
	snprintf(what, sizeof(what), "%s: .gnu_debugdata", elf_name(f));
	rc = inflate_xz(data, MINI_BYTES_MAX, what, &t->mini_bytes, &size, err);
	if (rc < 0)
		return rc;
	rc = elf_open_memory(&t->mini, span_of(t->mini_bytes, size), what, err);
	if (rc < 0)
		return rc;
	return load_type(t, t->mini, SHT_SYMTAB, err);
}

int symtab_load(struct elf_symtab *t, struct elf_file *f, struct err *err)
{
	int rc = load_type(t, f, SHT_SYMTAB, err);
	/* Of one that is too large what is exported may still be had. */
	if (rc != -EFBIG && (rc < 0 || t->entries.len))
		return rc;
	rc = load_type(t, f, SHT_DYNSYM, err);
	if (rc < 0)
		return rc;
	/* Damaged mini-debuginfo costs its own names only. */
	rc = load_mini(t, f, err);
	return rc == -ENOMEM ? rc : 0;
}
