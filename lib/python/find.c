/* SPDX-License-Identifier: Apache-2.0 */
#include "python/find.h"

#include "elf/symtab.h"
#include "python/offsets.h"

#include <errno.h>
#include <string.h>

static const char loop_name[] = "_PyEval_EvalFrameDefault";
static const char tail_name[] = "_TAIL_CALL_";

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * PY_VERSION_HEX. Since 3.11 a constant tells; before, what each minor version added to the functions
 * that it exports (Doc/data/stable_abi.dat: "PyIter_Send, 3.10"; Doc/c-api: "versionadded").
 */
static uint32_t version_of(struct elf_file *elf, struct elf_symtab *symbols)
{
	static const struct {
		const char *name;
		uint32_t version;
	} added[] = {
		{ "PyIter_Send", 0x030a00f0 },
		{ "PyFrame_GetBack", 0x030900f0 },
		{ "PyCode_NewWithPosOnlyArgs", 0x030800f0 },
	};
	struct elf_symbol symbol;
	uint32_t version;

	if (elf_symtab_find(symbols, "Py_Version", &symbol) == 0 &&
	    elf_read_vaddr(elf, symbol.value, &version, sizeof(version)) == 0)
		return version;
	for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
		if (elf_symtab_find(symbols, added[i].name, &symbol) == 0)
			return added[i].version;
	}
	return 0x03000000;
}

static int find_layout(struct python_binary *b, struct elf_file *elf, struct elf_symtab *symbols,
		       struct err *err)
{
	uint32_t version = version_of(elf, symbols);
	uint8_t bytes[PYTHON_DEBUG_OFFSETS_BYTES];

	if (version >> 16 < 0x030d)
		return python_layout_known(&b->layout, version, err);
	int rc = elf_read_vaddr(elf, b->runtime, bytes, sizeof(bytes));
	if (rc < 0)
		return err_set(err, rc, "%s: _PyRuntime is not in the file", elf_name(elf));
	return python_layout_parse(&b->layout, span_of(bytes, sizeof(bytes)), err);
}

static int by_start(const void *a, const void *b)
{
	const struct python_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The function, the parts of it that the compiler put elsewhere, and those it jumps to. */
static int find_loops(struct python_binary *b, struct elf_file *elf, struct elf_symtab *symbols)
{
	struct python_range cold, whole = { 0 };
	bool has_part = false;

	for (size_t i = 0; i < elf_symtab_count(symbols); i++) {
		struct elf_symbol s = elf_symtab_get(symbols, i);
		bool is_inner = has_prefix(s.name, tail_name);
		if (!s.size || (!is_inner && !has_prefix(s.name, loop_name)))
			continue;
		const char *rest = s.name + strlen(is_inner ? tail_name : loop_name);
		if (!is_inner && *rest && *rest != '.')
			continue;
		if (s.value + s.size < s.value)
			continue;
		struct python_range range = { s.value, s.value + s.size, is_inner };
		if (!is_inner && !*rest)
			whole = range;
		has_part |= strstr(rest, ".cold") != NULL;
		if (vec_push(&b->loops, range) < 0)
			return -ENOMEM;
	}
	if (whole.start && !has_part && python_find_cold(elf, whole.start, whole.end, &cold) &&
	    vec_push(&b->loops, cold) < 0)
		return -ENOMEM;
	if (b->loops.len)
		qsort(b->loops.data, b->loops.len, sizeof(*b->loops.data), by_start);
	return 0;
}

int python_binary_find(struct python_binary *ret, struct elf_file *elf, struct err *err)
{
	CLEANUP(python_binary_release) struct python_binary b = { 0 };
	CLEANUP(elf_symtab_free) struct elf_symtab *symbols = NULL;
	struct elf_section section;
	struct elf_symbol runtime, type;

	/* The section is there since 3.11, also in a file that exports nothing. */
	if (elf_section_find(elf, ".PyRuntime", &section) < 0 && !python_exports(elf, "_PyRuntime"))
		return 0;
	int rc = elf_symtab_new(&symbols, elf, err);
	if (rc < 0)
		return rc;
	if (elf_symtab_find(symbols, "_PyRuntime", &runtime) < 0)
		return 0;
	b.runtime = runtime.value;
	if (elf_symtab_find(symbols, "PyCode_Type", &type) == 0)
		b.code_type = type.value;
	rc = find_layout(&b, elf, symbols, err);
	if (rc < 0)
		return rc;
	rc = find_loops(&b, elf, symbols);
	if (rc < 0)
		return err_set(err, rc, "no memory for a Python");
	*ret = b;
	b = (struct python_binary){ 0 };
	return 1;
}

void python_binary_release(struct python_binary *b)
{
	vec_release(&b->loops);
}

const struct python_range *python_binary_loop(const struct python_binary *b, uint64_t vaddr)
{
	for (size_t i = 0; i < b->loops.len && b->loops.data[i].start <= vaddr; i++) {
		if (vaddr < b->loops.data[i].end)
			return &b->loops.data[i];
	}
	return NULL;
}
