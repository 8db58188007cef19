/* SPDX-License-Identifier: Apache-2.0 */
/* A file of any bytes: everything that lib/elf can be asked about it, and what must hold. */
#include "elf/debug.h"
#include "elf/functions.h"
#include "elf/plt.h"
#include "elf/symtab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_symbols(struct elf_file *elf)
{
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	struct elf_symbol s, found;

	if (elf_symtab_new(&t, elf, NULL) < 0)
		return;
	for (size_t i = 0; i < elf_symtab_count(t) && i < 1000; i++) {
		s = elf_symtab_get(t, i);
		require(*s.name);
		if (!strchr(s.name, '@')) /* which would ask for a version */
			require(elf_symtab_find(t, s.name, &found) == 0 &&
				!strcmp(s.name, found.name));
		if (elf_symtab_at(t, s.value, &found) == 0)
			require(found.value <= s.value && found.size > s.value - found.value);
	}
}

static void check_code(struct elf_file *elf)
{
	CLEANUP(elf_functions_free) struct elf_functions *functions = NULL;
	CLEANUP(elf_plt_free) struct elf_plt *plt = NULL;
	struct elf_plt_stub stub;
	struct elf_debug_link link;
	struct elf_debug_alt alt;
	uint64_t start, end;

	if (elf_functions_new(&functions, elf, NULL) < 0 || elf_plt_new(&plt, elf, NULL) < 0)
		return;
	for (uint64_t at = 0; at < 0x1000; at++) {
		if (elf_functions_at(functions, at, &start, &end) == 0)
			require(start <= at && at < end);
		if (elf_plt_at(plt, at, &stub) == 0)
			require(stub.start <= at && at - stub.start < stub.size);
	}
	if (elf_debug_link(elf, &link) == 0)
		require(*link.name && !strchr(link.name, '/'));
	if (elf_debug_alt(elf, &alt) == 0)
		require(alt.build_id.size && strlen(alt.path) < sizeof(alt.path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;
	struct elf_build_id id;
	struct span bytes;
	uint64_t where, back;

	if (elf_open_memory(&elf, span_of(data, size), "fuzz", NULL) < 0)
		return 0;
	if (elf_build_id(elf, &id) == 0)
		require(id.size > 0 && id.size <= ELF_BUILD_ID_MAX);
	for (size_t i = 0; i < elf_segment_count(elf); i++) {
		struct elf_segment p = elf_segment_get(elf, i);
		if (elf_vaddr_to_offset(elf, p.vaddr, &where) == 0)
			(void)elf_offset_to_vaddr(elf, where, &back);
	}
	for (size_t i = 0; i < elf_section_count(elf) && i < 100; i++) {
		struct elf_section s = elf_section_get(elf, i);
		if (elf_section_data(elf, &s, &bytes, NULL) == 0 && bytes.size)
			require(bytes.data[0] + bytes.data[bytes.size - 1] >= 0);
	}
	check_symbols(elf);
	check_code(elf);
	return 0;
}
