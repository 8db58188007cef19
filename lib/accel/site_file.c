/* SPDX-License-Identifier: Apache-2.0 */
/* From a site to an offset in a library file. */
#include "accel/site.h"
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* The first basic block and, for branches back into it, what follows: API functions are small. */
#define CODE_BYTES_MAX 4096

struct site_file {
	struct elf_file *elf;
	struct elf_symtab *symbols;
};

int site_file_open(struct site_file **ret, int fd, const char *name, struct err *err)
{
	CLEANUP(site_file_close) struct site_file *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return err_set(err, -ENOMEM, "cannot read '%s'", name);
	rc = elf_open_fd(&f->elf, fd, name, ELF_OPEN_LEAN, err);
	if (rc < 0)
		return rc;
	rc = elf_symtab_new(&f->symbols, f->elf, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(f);
	return 0;
}

void site_file_close(struct site_file *f)
{
	if (!f)
		return;
	elf_symtab_free(f->symbols);
	elf_close(f->elf);
	free(f);
}

/* The first bytes of a function, @ret_size of them, at @ret_offset of the file. */
static int read_code(struct site_file *f, const struct probe_site *site, uint8_t *code,
		     size_t *ret_size, uint64_t *ret_offset, struct err *err)
{
	const char *name = elf_name(f->elf);
	struct elf_symbol symbol;
	uint64_t offset;
	int rc;

	rc = elf_symtab_find(f->symbols, site->symbol, &symbol);
	/* An indirect function is called once, by the dynamic linker, to choose the real one. */
	if (rc == 0 && symbol.type != STT_FUNC)
		rc = -ENOENT;
	if (rc < 0)
		return err_set(err, rc, "'%s' has no function '%s'", name, site->symbol);
	rc = elf_vaddr_to_offset(f->elf, symbol.value, &offset);
	if (rc < 0)
		return err_set(err, -EBADMSG, "%s: function '%s' lies outside the file", name,
			       site->symbol);
	size_t size = symbol.size < CODE_BYTES_MAX ? symbol.size : CODE_BYTES_MAX;
	rc = elf_read(f->elf, offset, code, size);
	if (rc < 0)
		return err_set(err, rc, "%s: cannot read function '%s'", name, site->symbol);
	*ret_size = size;
	*ret_offset = offset;
	return 0;
}

int site_resolve(struct site_file *f, const struct probe_site *site, struct probe_place *ret,
		 uint64_t *ret_offset, struct err *err)
{
	uint8_t code[CODE_BYTES_MAX];
	struct probe_place place;
	uint64_t offset = 0;
	size_t size = 0;
	int rc;

	rc = read_code(f, site, code, &size, &offset, err);
	if (rc < 0)
		return rc;
	rc = site_choose(site, elf_header(f->elf).machine, span_of(code, size), &place);
	if (rc < 0)
		return err_set(err, rc, "'%s' is for a machine without probe support here",
			       elf_name(f->elf));
	*ret = place;
	*ret_offset = offset + place.skip;
	return 0;
}

int site_counter(struct site_file *f, const struct probe_site *site, uint64_t *ret_offset,
		 struct err *err)
{
	const char *name = elf_name(f->elf);
	struct elf_symbol symbol;

	*ret_offset = 0;
	if (!site->counter)
		return 0;
	if (elf_symtab_find(f->symbols, site->counter, &symbol) < 0 || symbol.size != 2 ||
	    elf_vaddr_to_offset(f->elf, symbol.value, ret_offset) < 0)
		return err_set(err, -EBADMSG, "'%s' has no counter '%s'", name, site->counter);
	return 0;
}
