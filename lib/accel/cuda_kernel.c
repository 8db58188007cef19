/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and functions. What a function is called is told when it is looked up by name; one that
 * was looked up before the recording keeps no name here, and readers take the one of the host's stub
 * that launched it. Code is kept where it comes as a cubin; what comes as a fat binary is for
 * readers to find in the file that it lies in.
 */
#include "accel/cuda.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define EM_CUDA_ 190 /* EM_CUDA: not in every <elf.h> */

int cuda_function(struct cuda *c, struct cuda_process *p, uint64_t handle, struct kernel *ret)
{
	const struct kernel_facts facts = { .handle = handle };
	const struct kernel *known = kernel_table_get(&p->functions, handle);

	c->stats.unnamed += !known || !known->name;
	if (!known && !kernel_table_is_full(&p->functions))
		return kernel_table_add(&p->functions, &facts, ret);
	*ret = known ? *known : (struct kernel){ 0 };
	return 0;
}

static int add_function(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
			struct kernel_facts facts)
{
	struct kernel function;
	int rc = capture_writer_bytes(c->host.writer, e->text, e->text_size, &facts.name);

	return rc < 0 ? rc : kernel_table_add(&p->functions, &facts, &function);
}

int cuda_function_found(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	const struct kernel_facts facts = { .handle = e->value[3], .module = e->value[1] };

	if (!facts.handle || (uint32_t)e->value[4] != 0 || !e->text_size)
		return 0;
	return add_function(c, p, e, facts);
}

/* A name that the program asked for itself, or that it registered a host function under. */
int cuda_function_told(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	bool is_registered = (e->site->id & SITE_MASK) == SITE_RUNTIME_REGISTER;
	const struct kernel_facts facts = { .handle = e->value[is_registered ? 0 : 1] };
	const struct kernel *known = kernel_table_get(&p->functions, facts.handle);

	if (!e->text_size || (!is_registered && (uint32_t)e->value[3] != 0) ||
	    (known && known->name))
		return 0;
	return add_function(c, p, e, facts);
}

int cuda_function_alias(struct cuda_process *p, uint64_t alias, uint64_t handle)
{
	const struct kernel *known = kernel_table_get(&p->functions, handle);

	if (!known)
		return 0;
	/* A copy: the table may grow under it. */
	struct kernel function = *known;
	return kernel_table_set(&p->functions, alias, &function);
}

/* How many bytes the cubin takes that begins with @bytes; 0: it is none. */
static uint64_t cubin_size(const void *bytes, size_t size)
{
	Elf64_Ehdr header;
	uint64_t sections, segments;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_CUDA_ ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shoff > TOLD_IMAGE_MAX ||
	    header.e_phoff > TOLD_IMAGE_MAX)
		return 0;
	/* Its two tables are what comes last, in either order. */
	sections = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	segments = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
	return sections > segments ? sections : segments;
}

int cuda_module_loaded(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	uint64_t module = e->value[2], size = cubin_size(e->text, e->text_size);
	CLEANUP_FREE char *whole = NULL;
	const char *bytes = e->text;

	if (!module || (uint32_t)e->value[3] != 0)
		return 0;
	if (size > TOLD_IMAGE_MAX)
		size = 0;
	if (size > e->text_size) {
		whole = malloc(size);
		if (!whole)
			return -ENOMEM;
		/* The call has returned: a program may have freed it by now. */
		if (c->host.read(c->host.data, p->pid, e->value[1], whole, size) < 0 ||
		    memcmp(whole, e->text, e->text_size) != 0)
			size = 0;
		bytes = whole;
	}
	return kernel_table_module(&p->functions, module, size ? CODE_OBJECT_CUBIN : 0,
				   span_of(bytes, size));
}
