/* SPDX-License-Identifier: Apache-2.0 */
/* From a site to an offset in a library file. */
#include "accel/site.h"
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* The first basic block and, for branches back into it, what follows: API functions are small. */
#define CODE_BYTES_MAX 4096

int site_resolve(const struct probe_site *site, struct elf_file *elf, struct elf_symtab *symbols,
		 struct probe_place *ret, uint64_t *ret_offset, struct err *err)
{
	CLEANUP_FREE uint8_t *code = NULL;
	struct elf_symbol symbol;
	struct probe_place place;
	uint64_t offset;
	size_t size;
	int rc;

	rc = elf_symtab_find(symbols, site->symbol, &symbol);
	/* An indirect function is called once, by the dynamic linker, to choose the real one. */
	if (rc == 0 && symbol.type != STT_FUNC)
		rc = -ENOENT;
	if (rc < 0)
		return err_set(err, rc, "'%s' has no function '%s'", elf_name(elf), site->symbol);
	rc = elf_vaddr_to_offset(elf, symbol.value, &offset);
	if (rc < 0)
		return err_set(err, -EBADMSG, "%s: function '%s' lies outside the file",
			       elf_name(elf), site->symbol);
	size = symbol.size < CODE_BYTES_MAX ? symbol.size : CODE_BYTES_MAX;
	code = malloc(size + 1);
	if (!code)
		return err_set(err, -ENOMEM, "cannot read function '%s'", site->symbol);
	rc = elf_read(elf, offset, code, size);
	if (rc < 0)
		return err_set(err, rc, "%s: cannot read function '%s'", elf_name(elf),
			       site->symbol);
	rc = site_choose(site, elf_header(elf).machine, span_of(code, size), &place);
	if (rc < 0)
		return err_set(err, rc, "'%s' is for a machine without probe support here",
			       elf_name(elf));
	*ret = place;
	*ret_offset = offset + place.skip;
	return 0;
}
