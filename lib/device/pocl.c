/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared object that POCL makes of one kernel K for one size of its work groups: functions
 * _pocl_kernel_K, _pocl_kernel_K_workgroup (the one that runs) and, before 4.0,
 * _pocl_kernel_K_workgroup_fast; others are functions of the program. Seen with 3.1 and 6.0.
 *
 * 3.1 gives the _workgroup functions no lines, unless told not to optimise. 4.0 and later write the
 * chain K_workgroup, K, K (the wrappers), then the program's own: what counts begins at the last K.
 */
#include "device/disassembler.h"
#include "device/linked.h"
#include "elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define POCL_PREFIX "_pocl_kernel_"

static const char *const suffixes[] = { "_workgroup_fast", "_workgroup", "" };

static bool is_host_machine(const struct elf_file *elf)
{
	uint16_t machine = elf_header(elf).machine;
	return machine == EM_X86_64 || machine == EM_AARCH64;
}

/* K of a _workgroup function's name; empty when it is none. */
static struct span workgroup_kernel(const char *name)
{
	size_t size = strlen(name), prefix = strlen(POCL_PREFIX);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(suffixes); i++) {
		size_t suffix = strlen(suffixes[i]);
		if (size > prefix + suffix && !strcmp(name + size - suffix, suffixes[i]))
			return span_of(name + prefix, size - prefix - suffix);
	}
	return span_of("", 0);
}

/* The file's kernel. A kernel may itself be called "..._workgroup": then K is the longest. */
static struct span find_kernel(const struct elf_symtab *t)
{
	struct span best = span_of("", 0);
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		struct elf_symbol s = elf_symtab_get(t, i);
		if (strncmp(s.name, POCL_PREFIX, strlen(POCL_PREFIX)) != 0)
			continue;
		struct span k = workgroup_kernel(s.name);
		if (k.size > best.size)
			best = k;
	}
	return best;
}

static bool is_wrapper(const char *name, struct span kernel)
{
	if (strlen(name) == kernel.size && !memcmp(name, kernel.data, kernel.size))
		return true;
	size_t prefix = strlen(POCL_PREFIX);
	if (strncmp(name, POCL_PREFIX, prefix) != 0 || strlen(name) < prefix + kernel.size ||
	    memcmp(name + prefix, kernel.data, kernel.size) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!strcmp(name + prefix + kernel.size, suffixes[i]))
			return true;
	}
	return false;
}

static bool pocl_is_mine(struct elf_file *elf)
{
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	if (!is_host_machine(elf) || elf_symtab_new(&t, elf, NULL) < 0)
		return false;
	return find_kernel(t).size;
}

static int add_symbol(struct device_object *o, const struct elf_symbol *s, struct span kernel)
{
	uint64_t at;
	bool is_own = is_wrapper(s->name, kernel);
	const char *k = o->state;

	/* What the linker and libgcc put into every shared object is nobody's kernel. */
	if (s->type != STT_FUNC || !s->size || !strcmp(s->name, "_init") ||
	    !strcmp(s->name, "_fini") || elf_vaddr_to_offset(o->elf, s->value, &at) < 0)
		return 0;
	return object_add_function(o,
				   &(struct device_function){
					   .name = is_own ? k : s->name,
					   .kernel = k,
					   .offset = s->value,
					   .size = s->size,
					   .is_kernel = is_own,
				   },
				   at, 0);
}

static int pocl_open(struct device_object *o, struct err *err)
{
	CLEANUP(elf_symtab_free) struct elf_symtab *t = NULL;
	int rc = elf_symtab_new(&t, o->elf, err);
	if (rc < 0)
		return rc;
	struct span kernel = find_kernel(t);
	o->state = arena_copy(&o->arena, kernel.data, kernel.size);
	if (!o->state)
		return err_set(err, -ENOMEM, "'%s'", o->name);
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		struct elf_symbol s = elf_symtab_get(t, i);
		if (add_symbol(o, &s, kernel) < 0)
			return err_set(err, -ENOMEM, "'%s'", o->name);
	}
	strcpy(o->arch, elf_header(o->elf).machine == EM_AARCH64 ? "aarch64" : "x86-64");
	return 0;
}

static void pocl_prepare(struct device_object *o)
{
	if (o->flags & DEVICE_NO_TEXT)
		return;
	bool is_arm = elf_header(o->elf).machine == EM_AARCH64;
	o->disassembler = disassembler_llvm(is_arm ? "aarch64-linux-gnu" : "x86_64-linux-gnu", "");
}

static size_t pocl_trim(const struct device_object *o, const struct function *f,
			struct chain_line *lines, size_t count)
{
	struct span kernel = span_of(o->state, strlen(o->state));
	size_t drop = 0;

	(void)f;
	while (drop + 1 < count &&
	       is_wrapper(strtab_text(&o->strings, lines[drop + 1].name), kernel))
		drop++;
	if (drop) {
		uint32_t name = lines[0].name;
		memmove(lines, lines + drop, (count - drop) * sizeof(*lines));
		lines[0].name = name;
	}
	return count - drop;
}

static size_t arm_length(struct span code, size_t at)
{
	return code.size - at >= 4 ? 4 : 0;
}

static int pocl_list(struct device_object *o, size_t function)
{
	bool is_arm = elf_header(o->elf).machine == EM_AARCH64;
	struct linked_how how = {
		.length = is_arm ? arm_length : NULL,
		.step = is_arm ? 4 : 1,
		.trim = pocl_trim,
		.target = is_arm ? target_arm : target_x86,
	};
	return linked_list(o, function, &how);
}

const struct device_ops device_pocl = {
	.format = DEVICE_POCL,
	.is_mine = pocl_is_mine,
	.open = pocl_open,
	.list = pocl_list,
	.prepare = pocl_prepare,
	.needs_helper = true,
};
