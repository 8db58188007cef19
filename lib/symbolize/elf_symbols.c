/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_symbols.h"

#include "dwarf/debug_info.h"
#include "elf/functions.h"
#include "elf/plt.h"
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct elf_symbols {
	unsigned flags;
	int fd, debug_fd, alt_fd; /* borrowed */
	struct elf_file *file, *debug, *alt;
	struct elf_symtab *symtab;
	struct elf_functions *functions;
	struct elf_plt *plt;
	struct debug_info *alt_info; /* closed after @info, which refers to it */
	struct debug_info *info;
	struct debug_place place;
	struct symbol_line lines[DEBUG_LINES_MAX];
	char made[SYMBOL_NAME_BYTES_MAX]; /* a name that the file does not have */
};

_Static_assert(DEBUG_LINES_MAX <= SYMBOL_LINES_MAX, "a place fits into a symbol");

int elf_symbols_open(struct elf_symbols **ret, int fd, const char *name, unsigned flags,
		     struct err *err)
{
	CLEANUP(elf_symbols_close) struct elf_symbols *e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "'%s'", name);
	e->flags = flags;
	e->fd = fd;
	e->debug_fd = e->alt_fd = -1;
	int rc = elf_open_fd(&e->file, fd, name, flags & ELF_SYMBOLS_MAP ? ELF_OPEN_MAP : 0, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(e);
	return 0;
}

void elf_symbols_close(struct elf_symbols *e)
{
	if (!e)
		return;
	debug_info_close(e->info);
	debug_info_close(e->alt_info);
	elf_plt_free(e->plt);
	elf_functions_free(e->functions);
	elf_symtab_free(e->symtab);
	elf_close(e->alt);
	elf_close(e->debug);
	elf_close(e->file);
	free(e);
}

static bool has_section(const struct elf_file *f, const char *name)
{
	struct elf_section s;
	return f && elf_section_find(f, name, &s) == 0 && s.type != SHT_NOBITS;
}

static bool has_dwarf(const struct elf_file *f)
{
	/* .zdebug_info: compressed as GNU tools did until 2015; libdw reads it. */
	return has_section(f, ".debug_info") || has_section(f, ".zdebug_info");
}

bool elf_symbols_want_debug(struct elf_symbols *e, struct elf_symbols_wanted *ret)
{
	struct elf_debug_link link;
	bool want_lines = (e->flags & ELF_SYMBOLS_LINES) && !has_dwarf(e->file);

	memset(ret, 0, sizeof(*ret));
	if (has_section(e->file, ".symtab") && !want_lines)
		return false;
	if (elf_build_id(e->file, &ret->build_id) < 0)
		ret->build_id.size = 0;
	if (elf_debug_link(e->file, &link) == 0)
		memcpy(ret->name, link.name, sizeof(ret->name));
	return ret->build_id.size || *ret->name;
}

static int open_other(struct elf_symbols *e, int fd, const char *what, struct elf_file **ret,
		      struct err *err)
{
	char name[256];
	snprintf(name, sizeof(name), "%s: %s", elf_name(e->file), what);
	return elf_open_fd(ret, fd, name, e->flags & ELF_SYMBOLS_MAP ? ELF_OPEN_MAP : 0, err);
}

int elf_symbols_add_debug(struct elf_symbols *e, int fd, struct err *err)
{
	CLEANUP(elf_close) struct elf_file *debug = NULL;
	int rc = open_other(e, fd, "debug file", &debug, err);
	if (rc < 0)
		return rc;
	if (e->debug || !elf_debug_matches(e->file, debug))
		return err_set(err, -ENOENT, "'%s' is of another build", elf_name(debug));
	e->debug = TAKE(debug);
	e->debug_fd = fd;
	return 0;
}

/* The file whose DWARF is used; NULL. */
static struct elf_file *dwarf_file(struct elf_symbols *e)
{
	if (has_dwarf(e->file))
		return e->file;
	return has_dwarf(e->debug) ? e->debug : NULL;
}

bool elf_symbols_want_alt(struct elf_symbols *e, struct elf_symbols_wanted *ret)
{
	struct elf_debug_alt alt;
	struct elf_file *f = e->flags & ELF_SYMBOLS_LINES ? dwarf_file(e) : NULL;

	memset(ret, 0, sizeof(*ret));
	if (!f || elf_debug_alt(f, &alt) < 0)
		return false;
	ret->build_id = alt.build_id;
	memcpy(ret->path, alt.path, sizeof(ret->path));
	return true;
}

int elf_symbols_add_alt(struct elf_symbols *e, int fd, struct err *err)
{
	struct elf_symbols_wanted wanted;
	struct elf_build_id id;
	CLEANUP(elf_close) struct elf_file *alt = NULL;
	int rc = open_other(e, fd, "dwz file", &alt, err);
	if (rc < 0)
		return rc;
	if (e->alt || !elf_symbols_want_alt(e, &wanted) || elf_build_id(alt, &id) < 0 ||
	    id.size != wanted.build_id.size || memcmp(id.bytes, wanted.build_id.bytes, id.size))
		return err_set(err, -ENOENT, "'%s' is of another build", elf_name(alt));
	e->alt = TAKE(alt);
	e->alt_fd = fd;
	return 0;
}

static int load_symtab(struct elf_symbols *e, struct err *err)
{
	if (!has_section(e->file, ".symtab") && has_section(e->debug, ".symtab")) {
		int rc = elf_symtab_new(&e->symtab, e->debug, err);
		if (rc == -ENOMEM)
			return rc;
		if (rc == 0 && elf_symtab_count(e->symtab))
			return 0;
		elf_symtab_free(TAKE(e->symtab));
	}
	return elf_symtab_new(&e->symtab, e->file, err);
}

/* Compressed bytes that ELF_SYMBOLS_CHEAP has nothing against: 1 ms. Debian's debug file of the C library
 * has 2.3 MB, and with its other sections takes 36 ms. */
#define CHEAP_BYTES (64u << 10)

static bool is_costly(const struct elf_file *f)
{
	struct elf_section s;

	if (elf_section_find(f, ".zdebug_info", &s) < 0 &&
	    (elf_section_find(f, ".debug_info", &s) < 0 || !(s.flags & SHF_COMPRESSED)))
		return false;
	return s.size > CHEAP_BYTES;
}

static void load_dwarf(struct elf_symbols *e)
{
	struct elf_file *f = dwarf_file(e);
	unsigned flags = e->flags & ELF_SYMBOLS_MAP ? DEBUG_INFO_MAP : 0;

	if (!f || !(e->flags & ELF_SYMBOLS_LINES) || (e->flags & ELF_SYMBOLS_CHEAP && is_costly(f)))
		return;
	if (debug_info_open_fd(&e->info, f == e->file ? e->fd : e->debug_fd, elf_name(f), flags,
			       NULL) < 0)
		return;
	if (e->alt &&
	    debug_info_open_fd(&e->alt_info, e->alt_fd, elf_name(e->alt), flags, NULL) == 0)
		debug_info_set_alt(e->info, e->alt_info);
}

int elf_symbols_load(struct elf_symbols *e, struct err *err)
{
	int rc = load_symtab(e, err);
	if (rc < 0)
		return rc;
	load_dwarf(e);
	rc = elf_plt_new(&e->plt, e->file, err);
	return rc < 0 ? rc : elf_functions_new(&e->functions, e->file, err);
}

bool elf_symbols_have_lines(const struct elf_symbols *e)
{
	return e->info != NULL;
}

/* Frames of the DWARF into @ret, outermost first; the outermost name comes from the symbol table where
 * there is one, because DWARF does not name clones and has no linkage names of static functions. */
static void take_place(struct elf_symbols *e, struct symbol *ret)
{
	const char *name = ret->count ? e->lines[0].name : NULL;

	ret->count = 0;
	for (size_t i = 0; i < e->place.count; i++) {
		const struct debug_line *from = &e->place.lines[i];
		struct symbol_line to = {
			.name = !i && name ? name : from->name,
			.file = from->file,
			.line = from->line,
			.column = from->column,
		};
		if (to.name)
			e->lines[ret->count++] = to;
	}
	if (!name) {
		ret->start = e->place.start;
		ret->size = e->place.size;
	}
}

/* "memcpy@plt": a stub that calls it. */
static int name_stub(struct elf_symbols *e, uint64_t vaddr, struct symbol *ret)
{
	struct elf_plt_stub stub;
	struct elf_symbol s;
	if (elf_plt_at(e->plt, vaddr, &stub) < 0)
		return -ENOENT;
	if (!stub.name && elf_symtab_at(e->symtab, stub.resolver, &s) == 0)
		stub.name = s.name;
	if (!stub.name)
		return -ENOENT;
	snprintf(e->made, sizeof(e->made), "%s@plt", stub.name);
	e->lines[0] = (struct symbol_line){ .name = e->made };
	ret->start = stub.start;
	ret->size = stub.size;
	ret->count = 1;
	return 0;
}

static int name_function(struct elf_symbols *e, uint64_t vaddr, struct symbol *ret)
{
	uint64_t start, end;
	if (elf_functions_at(e->functions, vaddr, &start, &end) < 0)
		return -ENOENT;
	const char *slash = strrchr(elf_name(e->file), '/');
	snprintf(e->made, sizeof(e->made), "%.255s+0x%" PRIx64,
		 slash ? slash + 1 : elf_name(e->file), start);
	e->lines[0] = (struct symbol_line){ .name = e->made };
	ret->start = start;
	ret->size = end - start;
	ret->count = 1;
	return 0;
}

int elf_symbols_at(struct elf_symbols *e, uint64_t vaddr, bool want_lines, uint64_t deadline_ns,
		   struct symbol *ret)
{
	struct symbol symbol = { .lines = e->lines };
	struct elf_symbol s;

	if (elf_symtab_at(e->symtab, vaddr, &s) == 0) {
		e->lines[0] = (struct symbol_line){ .name = s.name };
		symbol.start = s.value;
		symbol.size = s.size;
		symbol.count = 1;
	}
	if (want_lines && e->info) {
		int rc = debug_info_at(e->info, vaddr, deadline_ns, &e->place);
		if (rc == 0)
			take_place(e, &symbol);
		else if (rc != -ENOENT)
			return rc;
	}
	if (!symbol.count && name_stub(e, vaddr, &symbol) < 0 &&
	    name_function(e, vaddr, &symbol) < 0)
		return -ENOENT;
	*ret = symbol;
	return 0;
}
