/* SPDX-License-Identifier: Apache-2.0 */
#include "space.h"

#include "base/io.h"
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#define MAPS_MAX (16u << 20)

static void *read_memory(pid_t pid, uint64_t address, size_t size)
{
	void *copy = malloc(size);
	struct iovec local = { copy, size }, remote = { (void *)(uintptr_t)address, size };

	if (copy && process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)size) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* The number of the object, known or new. */
static size_t object_number(struct live_space *s, pid_t pid, const struct proc_mapping *m)
{
	struct live_object o = { .fd = -1 };
	char path[1024];

	snprintf(o.path, sizeof(o.path), "%.*s", (int)m->path.size, (const char *)m->path.data);
	for (size_t i = 1; i < s->objects.len; i++)
		if (!strcmp(s->objects.data[i].path, o.path))
			return i;
	if (!strcmp(o.path, "[vdso]")) {
		o.bytes = read_memory(pid, m->start, m->end - m->start);
		if (o.bytes)
			elf_open_memory(&o.elf, span_of(o.bytes, m->end - m->start), o.path, NULL);
	} else if (o.path[0] == '/') {
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, o.path);
		o.fd = open(path, O_RDONLY | O_CLOEXEC);
		if (o.fd >= 0)
			elf_open_fd(&o.elf, o.fd, o.path, ELF_OPEN_MAP, NULL);
	}
	if (o.elf)
		unwind_table_build(o.elf, &o.table, NULL, NULL);
	return vec_push(&s->objects, o) < 0 ? 0 : s->objects.len - 1;
}

static int add_mapping(struct live_space *s, pid_t pid, const struct proc_mapping *m)
{
	struct unwind_mapping mapping = { .start = m->start, .end = m->end };
	size_t number = object_number(s, pid, m);
	const struct live_object *o = &s->objects.data[number];
	uint64_t vaddr;

	if (o->table.rows && elf_offset_to_vaddr(o->elf, o->bytes ? 0 : m->offset, &vaddr) == 0) {
		mapping.table = (uint32_t)number;
		mapping.base = m->start - vaddr + o->table.base;
		mapping.pages = o->table.pages;
	}
	return vec_push(&s->mappings, mapping);
}

int live_space_update(struct live_space *s, pid_t pid)
{
	char path[64];
	char *text;
	size_t size;
	struct proc_mapping m;
	struct lines lines;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	rc = io_read_file(path, MAPS_MAX, &text, &size);
	if (rc < 0)
		return rc;
	if (s->maps && size == s->maps_size && !memcmp(s->maps, text, size)) {
		free(text);
		return 0;
	}
	free(s->maps);
	s->maps = text;
	s->maps_size = size;
	s->mappings.len = 0;
	if (!s->objects.len && vec_push(&s->objects, (struct live_object){ .fd = -1 }) < 0)
		return -ENOMEM;
	lines = lines_of(span_of(text, size), "maps");
	while ((rc = proc_maps_next(&lines, &m, NULL)) > 0)
		if (m.is_executable && (rc = add_mapping(s, pid, &m)) < 0)
			return rc;
	s->known.len = 0;
	vec_for_each(&s->objects, o)
		if (vec_push(&s->known, (struct unwind_object){ o->table.rows ? &o->table : NULL,
								o->elf }) < 0)
			return -ENOMEM;
	s->space = (struct unwind_space){ s->mappings.data, s->mappings.len, s->known.data,
					  s->known.len };
	return rc < 0 ? rc : 1;
}

void live_space_release(struct live_space *s)
{
	vec_for_each(&s->objects, o) {
		unwind_table_release(&o->table);
		elf_close(o->elf);
		free(o->bytes);
		if (o->fd >= 0)
			close(o->fd);
	}
	vec_release(&s->objects);
	vec_release(&s->mappings);
	vec_release(&s->known);
	free(s->maps);
	memset(s, 0, sizeof(*s));
}

bool live_space_is_anonymous(const struct live_space *s, uint64_t address)
{
	struct lines lines = lines_of(span_of(s->maps, s->maps_size), "maps");
	struct proc_mapping m;

	while (proc_maps_next(&lines, &m, NULL) > 0) {
		if (address >= m.start && address < m.end)
			return m.is_executable && !m.inode && !m.path.size;
	}
	return false;
}

const char *live_space_name(const struct live_space *s, uint64_t address, char text[256])
{
	const struct unwind_mapping *m = unwind_space_find(&s->space, address);
	const struct live_object *o = m && m->table ? &s->objects.data[m->table] : NULL;

	if (!o) {
		snprintf(text, 256, "%s 0x%" PRIx64, m ? "[no table]" : "[nothing]", address);
		return text;
	}
	const char *slash = strrchr(o->path, '/');
	snprintf(text, 256, "%s+0x%" PRIx64, slash ? slash + 1 : o->path,
		 address - m->base + o->table.base);
	return text;
}
