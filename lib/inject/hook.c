/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/hook.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SLOT_OF_CALL R_X86_64_JUMP_SLOT
#define SLOT_OF_DATA R_X86_64_GLOB_DAT
#else
#define SLOT_OF_CALL R_AARCH64_JUMP_SLOT
#define SLOT_OF_DATA R_AARCH64_GLOB_DAT
#endif

struct search {
	const struct hook *hooks;
	size_t count;
	const char *const *except;
	const char *library; /* looked for: then nothing is changed */
	char found[4096];
	bool is_release;
	unsigned long long changes; /* how often libraries had come or gone */
};

/* As of the last time that hook_lead() looked at all of them: large programs have some 100,000 pointers. */
static unsigned long long led_changes;

/* What of an object's dynamic section is of use. */
struct object {
	const struct dl_phdr_info *info;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * tables[2];
	size_t counts[2];
	uintptr_t read_only, read_only_end; /* after relocation */
	uintptr_t start, end;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static void read_dynamic(struct object *o, const ElfW(Dyn) * d)
{
	size_t bytes[2] = { 0, 0 };

	for (; d->d_tag != DT_NULL; d++) {
		/* glibc has relocated them, but those of the vDSO. */
		const void *at = (const void *)(uintptr_t)d->d_un.d_ptr;
		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = at;
			break;
		case DT_STRTAB:
			o->names = at;
			break;
		case DT_RELA:
			o->tables[0] = at;
			break;
		case DT_RELASZ:
			bytes[0] = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o->tables[1] = at;
			break;
		case DT_PLTRELSZ:
			bytes[1] = d->d_un.d_val;
			break;
		default:
			break;
		}
	}
	for (int i = 0; i < 2; i++)
		o->counts[i] = o->tables[i] ? bytes[i] / sizeof(ElfW(Rela)) : 0;
}

static bool read_object(struct object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	*o = (struct object){ .info = info, .start = UINTPTR_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		if (p->p_type == PT_GNU_RELRO) {
			o->read_only = at;
			o->read_only_end = at + p->p_memsz;
		}
		if (p->p_type != PT_LOAD)
			continue;
		o->start = at < o->start ? at : o->start;
		o->end = at + p->p_memsz > o->end ? at + p->p_memsz : o->end;
	}
	if (!dynamic)
		return false;
	read_dynamic(o, dynamic);
	return o->symbols && o->names && (uintptr_t)o->symbols >= o->start;
}

static void set_slot(const struct object *o, void **slot, void *value)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot & ~(page - 1);
	bool is_protected = (uintptr_t)slot >= o->read_only && (uintptr_t)slot < o->read_only_end;

	if (is_protected && mprotect((void *)at, page, PROT_READ | PROT_WRITE) < 0)
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (is_protected)
		mprotect((void *)at, page, PROT_READ);
}

static void visit_slot(const struct search *s, const struct object *o, const ElfW(Rela) * r)
{
	const char *name = o->names + o->symbols[ELF64_R_SYM(r->r_info)].st_name;
	void **slot = (void **)(o->info->dlpi_addr + r->r_offset), *value;

	for (size_t i = 0; i < s->count; i++) {
		const struct hook *h = &s->hooks[i];
		if (!h->real || !h->ours || strcmp(h->name, name) != 0)
			continue;
		value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		/* Where another tool's function is, it stays; a call that was not made yet leads into the object
		 * itself, to the linker. */
		bool is_unbound = (uintptr_t)value >= o->start && (uintptr_t)value < o->end;
		if (s->is_release && value == h->ours)
			set_slot(o, slot, h->real);
		if (!s->is_release && (value == h->real || is_unbound))
			set_slot(o, slot, h->ours);
		return;
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	const char *name = base_name(info->dlpi_name);
	struct object o;

	(void)size;
	s->changes = info->dlpi_adds + info->dlpi_subs;
	if (!s->library && !s->is_release && s->changes == led_changes)
		return 1;
	if (s->library) {
		if (begins_with(name, s->library) && strlen(info->dlpi_name) < sizeof(s->found))
			strcpy(s->found, info->dlpi_name);
		return s->found[0] != '\0';
	}
	for (const char *const *except = s->except; except && *except; except++)
		if (begins_with(name, *except))
			return 0;
	if (!read_object(&o, info))
		return 0;
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < o.counts[t]; i++) {
			uint64_t type = ELF64_R_TYPE(o.tables[t][i].r_info);
			if (type == SLOT_OF_CALL || type == SLOT_OF_DATA)
				visit_slot(s, &o, &o.tables[t][i]);
		}
	return 0;
}

/* Not ours, but what comes behind: another tool's before the library's own. */
static void *find_real(const struct hook *h, void *library)
{
	void *real = dlsym(RTLD_NEXT, h->name);

	if (!real)
		real = dlsym(RTLD_DEFAULT, h->name);
	if ((!real || real == h->ours) && library)
		real = dlsym(library, h->name);
	return real == h->ours ? NULL : real;
}

void hook_find(struct hook *hooks, size_t count, const char *library)
{
	struct search s = { .library = library };
	void *handle;

	dl_iterate_phdr(visit, &s);
	handle = s.found[0] ? dlopen(s.found, RTLD_NOW | RTLD_NOLOAD) : NULL;
	for (size_t i = 0; i < count; i++)
		__atomic_store_n(&hooks[i].real, find_real(&hooks[i], handle), __ATOMIC_RELEASE);
	/* It stays for as long as whoever calls it. */
	if (handle)
		dlclose(handle);
}

void hook_lead(const struct hook *hooks, size_t count, const char *const *except)
{
	struct search s = { .hooks = hooks, .count = count, .except = except };

	dl_iterate_phdr(visit, &s);
	led_changes = s.changes;
}

void hook_release(const struct hook *hooks, size_t count)
{
	struct search s = { .hooks = hooks, .count = count, .is_release = true };

	dl_iterate_phdr(visit, &s);
	led_changes = 0;
}
