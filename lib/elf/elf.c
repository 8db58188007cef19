/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf.h"

#include "base/io.h"
#include "elf/inflate.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Headers are copied out of the file as they stand. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ELF reading needs a little-endian host");

struct elf_cached {
	struct span data;
	void *owned;
	bool is_loaded;
};

struct elf_file {
	char *name;
	int fd;            /* -1: the file is in @bytes */
	struct span bytes; /* valid when fd < 0 */
	void *map;         /* what to unmap */
	uint64_t file_bytes;
	struct elf_header header;
	Elf64_Phdr *segments;
	size_t segment_count;
	Elf64_Shdr *sections;
	size_t section_count;
	struct elf_cached *cache; /* by section */
	struct span names;        /* section names, NUL-terminated or empty */
	uint8_t *names_owned;
	bool is_lean;
};

void elf_forget_sections(struct elf_file *f)
{
	for (size_t i = 0; f->cache && i < f->section_count; i++)
		free(f->cache[i].owned);
	free(f->cache);
	free(f->names_owned);
	free(f->sections);
	f->cache = NULL;
	f->names_owned = NULL;
	f->names = span_of(NULL, 0);
	f->sections = NULL;
	f->section_count = 0;
}

void elf_close(struct elf_file *f)
{
	if (!f)
		return;
	elf_forget_sections(f);
	free(f->segments);
	free(f->name);
	if (f->map)
		munmap(f->map, f->file_bytes);
	free(f);
}

int elf_read(const struct elf_file *f, uint64_t offset, void *data, size_t size)
{
	if (offset > f->file_bytes || size > f->file_bytes - offset)
		return -EBADMSG;
	if (!size)
		return 0;
	if (f->fd < 0) {
		memcpy(data, f->bytes.data + offset, size);
		return 0;
	}
	int64_t n = io_pread_full(f->fd, data, size, offset);
	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EBADMSG;
}

static uint64_t section_bytes_max(const struct elf_file *f)
{
	return f->is_lean ? ELF_LEAN_SECTION_BYTES_MAX : ELF_SECTION_BYTES_MAX;
}

/* A view of the file where it is in memory, else a copy that the caller frees through @ret_owned. */
static int elf_fetch(const struct elf_file *f, uint64_t offset, uint64_t size, struct span *ret,
		     uint8_t **ret_owned)
{
	if (offset > f->file_bytes || size > f->file_bytes - offset)
		return -EBADMSG;
	if (f->fd < 0) {
		*ret = span_of(f->bytes.data + offset, size);
		*ret_owned = NULL;
		return 0;
	}
	if (size > section_bytes_max(f))
		return -EFBIG;
	CLEANUP_FREE uint8_t *data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	int rc = elf_read(f, offset, data, size);
	if (rc < 0)
		return rc;
	*ret = span_of(data, size);
	*ret_owned = TAKE(data);
	return 0;
}

/* @count headers of @each bytes, whose stated size must be the real one. */
static int elf_read_table(const struct elf_file *f, uint64_t offset, uint64_t count,
			  uint64_t stated, size_t each, void **ret)
{
	if (!count)
		return 0;
	if (stated != each || count > ELF_SECTIONS_MAX)
		return -EBADMSG;
	if (offset > f->file_bytes || count > (f->file_bytes - offset) / each)
		return -EBADMSG;
	CLEANUP_FREE void *table = malloc(count * each);
	if (!table)
		return -ENOMEM;
	int rc = elf_read(f, offset, table, count * each);
	if (rc < 0)
		return rc;
	*ret = TAKE(table);
	return 0;
}

static int elf_read_ident(struct elf_file *f, Elf64_Ehdr *ret, struct err *err)
{
	uint8_t ident[EI_NIDENT];

	if (elf_read(f, 0, ident, sizeof(ident)) < 0 || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, -EBADMSG, "'%s' is not an ELF file", f->name);
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, -ENOTSUP, "'%s' is not a 64-bit little-endian ELF file",
			       f->name);
	if (elf_read(f, 0, ret, sizeof(*ret)) < 0)
		return err_set(err, -EBADMSG, "'%s': truncated ELF header", f->name);
	f->header = (struct elf_header){
		.type = ret->e_type,
		.machine = ret->e_machine,
		.flags = ret->e_flags,
		.abi_version = ident[EI_ABIVERSION],
		.entry = ret->e_entry,
	};
	return 0;
}

/* Section names are needed for nearly everything and small: read at once. A table without a NUL at
 * its end gives no names rather than no file. */
static int elf_read_names(struct elf_file *f, uint32_t index)
{
	if (index >= f->section_count || f->sections[index].sh_type == SHT_NOBITS)
		return 0;
	const Elf64_Shdr *s = &f->sections[index];
	if (f->is_lean && s->sh_size > ELF_LEAN_NAMES_BYTES_MAX)
		return 0;
	struct span names;
	CLEANUP_FREE uint8_t *owned = NULL;
	int rc = elf_fetch(f, s->sh_offset, s->sh_size, &names, &owned);
	if (rc < 0)
		return rc;
	if (names.size && names.data[names.size - 1] == '\0') {
		f->names = names;
		f->names_owned = TAKE(owned);
	}
	return 0;
}

static int elf_read_headers(struct elf_file *f, struct err *err)
{
	Elf64_Ehdr eh;
	int rc = elf_read_ident(f, &eh, err);
	if (rc < 0)
		return rc;

	/* Counts that do not fit into the header stand in section 0 (gABI, "Sections"). */
	Elf64_Shdr first = { 0 };
	bool has_sections = eh.e_shoff != 0;
	if (has_sections && elf_read(f, eh.e_shoff, &first, sizeof(first)) < 0)
		return err_set(err, -EBADMSG, "'%s': section headers lie outside the file",
			       f->name);
	uint64_t sections = !has_sections ? 0 : eh.e_shnum ? eh.e_shnum : first.sh_size;
	uint64_t segments = eh.e_phnum == PN_XNUM && has_sections ? first.sh_info : eh.e_phnum;
	uint32_t names = eh.e_shstrndx == SHN_XINDEX ? first.sh_link : eh.e_shstrndx;

	if (f->is_lean && segments > ELF_LEAN_SEGMENTS_MAX)
		return err_set(err, -EBADMSG, "'%s': more than %u segments", f->name,
			       ELF_LEAN_SEGMENTS_MAX);
	if (f->is_lean && sections > ELF_LEAN_SECTIONS_MAX)
		sections = 0;
	void *table = NULL;
	rc = elf_read_table(f, eh.e_phoff, segments, eh.e_phentsize, sizeof(Elf64_Phdr), &table);
	if (rc < 0)
		return err_set(err, rc, "'%s': bad program header table", f->name);
	f->segments = table;
	f->segment_count = segments;

	table = NULL;
	rc = elf_read_table(f, eh.e_shoff, sections, eh.e_shentsize, sizeof(Elf64_Shdr), &table);
	if (rc < 0)
		return err_set(err, rc, "'%s': bad section header table", f->name);
	f->sections = table;
	f->section_count = sections;
	f->cache = calloc(sections ? sections : 1, sizeof(*f->cache));
	if (!f->cache)
		return err_set(err, -ENOMEM, "'%s'", f->name);
	rc = elf_read_names(f, names);
	if (rc < 0)
		return err_set(err, rc, "'%s': bad section name table", f->name);
	return 0;
}

static int elf_new(struct elf_file **ret, const char *name, struct err *err)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "'%s'", name);
	f->fd = -1;
	f->name = strdup(name);
	if (!f->name) {
		elf_close(f);
		return err_set(err, -ENOMEM, "'%s'", name);
	}
	*ret = f;
	return 0;
}

int elf_open_memory(struct elf_file **ret, struct span bytes, const char *name, struct err *err)
{
	CLEANUP(elf_close) struct elf_file *f = NULL;
	int rc = elf_new(&f, name, err);
	if (rc < 0)
		return rc;
	f->bytes = bytes;
	f->file_bytes = bytes.size;
	rc = elf_read_headers(f, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(f);
	return 0;
}

int elf_open_fd(struct elf_file **ret, int fd, const char *name, unsigned flags, struct err *err)
{
	struct stat st;
	CLEANUP(elf_close) struct elf_file *f = NULL;
	int rc = elf_new(&f, name, err);
	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot stat '%s'", name);
	/* Devices and pipes could block, or never end. */
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "'%s' is not a regular file", name);
	f->file_bytes = (uint64_t)st.st_size;
	f->is_lean = flags & ELF_OPEN_LEAN;

	if ((flags & ELF_OPEN_MAP) && st.st_size) {
		void *map = mmap(NULL, f->file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			return err_set(err, -errno, "cannot map '%s'", name);
		f->map = map;
		f->bytes = span_of(map, f->file_bytes);
	} else {
		f->fd = fd;
	}
	rc = elf_read_headers(f, err);
	if (rc < 0)
		return rc;
	*ret = TAKE(f);
	return 0;
}

struct elf_header elf_header(const struct elf_file *f)
{
	return f->header;
}

const char *elf_name(const struct elf_file *f)
{
	return f->name;
}

uint64_t elf_file_bytes(const struct elf_file *f)
{
	return f->file_bytes;
}

size_t elf_section_count(const struct elf_file *f)
{
	return f->section_count;
}

struct elf_section elf_section_get(const struct elf_file *f, size_t index)
{
	assert(index < f->section_count);
	const Elf64_Shdr *s = &f->sections[index];
	const char *name = "";
	if (s->sh_name < f->names.size)
		name = (const char *)f->names.data + s->sh_name;
	return (struct elf_section){
		.name = name,
		.index = (uint32_t)index,
		.type = s->sh_type,
		.flags = s->sh_flags,
		.addr = s->sh_addr,
		.offset = s->sh_offset,
		.size = s->sh_size,
		.link = s->sh_link,
		.info = s->sh_info,
	};
}

int elf_section_find(const struct elf_file *f, const char *name, struct elf_section *ret)
{
	for (size_t i = 1; i < f->section_count; i++) {
		struct elf_section s = elf_section_get(f, i);
		if (strcmp(s.name, name) == 0) {
			*ret = s;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_section_data(struct elf_file *f, const struct elf_section *section, struct span *ret,
		     struct err *err)
{
	assert(section->index < f->section_count);
	struct elf_cached *c = &f->cache[section->index];
	if (c->is_loaded) {
		*ret = c->data;
		return 0;
	}

	char what[256];
	snprintf(what, sizeof(what), "'%s': section %s", f->name, section->name);
	struct span data = { 0 };
	CLEANUP_FREE uint8_t *owned = NULL;
	if (section->type != SHT_NOBITS) {
		int rc = elf_fetch(f, section->offset, section->size, &data, &owned);
		if (rc == -EBADMSG)
			return err_set(err, rc, "%s lies outside the file", what);
		if (rc < 0)
			return err_set(err, rc, "%s", what);
	}
	if (section->type != SHT_NOBITS && (section->flags & SHF_COMPRESSED)) {
		uint8_t *inflated;
		size_t size;
		int rc = inflate_section(data, section_bytes_max(f), what, &inflated, &size, err);
		if (rc < 0)
			return rc;
		free(owned);
		owned = inflated;
		data = span_of(inflated, size);
	}
	*c = (struct elf_cached){ .data = data, .owned = TAKE(owned), .is_loaded = true };
	*ret = c->data;
	return 0;
}

size_t elf_segment_count(const struct elf_file *f)
{
	return f->segment_count;
}

struct elf_segment elf_segment_get(const struct elf_file *f, size_t index)
{
	assert(index < f->segment_count);
	const Elf64_Phdr *p = &f->segments[index];
	return (struct elf_segment){
		.type = p->p_type,
		.flags = p->p_flags,
		.offset = p->p_offset,
		.file_bytes = p->p_filesz,
		.vaddr = p->p_vaddr,
		.memory_bytes = p->p_memsz,
		.align = p->p_align,
	};
}
