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
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EM_CUDA_ 190 /* EM_CUDA: not in every <elf.h> */

static int put_kernel(struct cuda *c, struct cuda_process *p, uint64_t program, uint64_t handle,
		      struct cuda_function *function)
{
	uint64_t *code = hash_get(&p->programs, program);
	struct record record = {
		.type = RECORD_KERNEL,
		.kernel = {
			.id = c->host.number(c->host.data),
			.process = p->process,
			.code_object = code ? (uint32_t)*code : 0,
			.name = function->name,
			.handle = handle,
			.program = program,
		},
	};

	function->record = record.kernel.id;
	return capture_writer_put(c->host.writer, &record);
}

static int set_function(struct cuda_process *p, uint64_t handle,
			const struct cuda_function *function)
{
	uint64_t *known = hash_get(&p->function_index, handle);

	if (known) {
		p->functions.data[*known] = *function;
		return 0;
	}
	if (p->functions.len >= CUDA_FUNCTIONS_MAX)
		return 0;
	if (vec_push(&p->functions, *function) < 0)
		return -ENOMEM;
	return hash_set(&p->function_index, handle, p->functions.len - 1);
}

/* @handle is the function @name of @program. Programs look the same one up again and again, and by
 * several handles: equal ones share one record. */
static int add_function(struct cuda *c, struct cuda_process *p, uint64_t handle, uint64_t program,
			uint32_t name, struct cuda_function *ret)
{
	struct cuda_function function = { .name = name };
	uint64_t key = hash_u64(program) ^ (name ? name : hash_u64(handle));
	uint64_t *known = hash_get(&p->kernels, key);
	int rc = 0;

	if (known)
		function.record = (uint32_t)*known;
	else
		rc = put_kernel(c, p, program, handle, &function);
	if (p->kernels.len >= CUDA_FUNCTIONS_MAX)
		hash_release(&p->kernels);
	if (rc == 0 && !known)
		rc = hash_set(&p->kernels, key, function.record);
	if (rc == 0)
		rc = set_function(p, handle, &function);
	if (rc == 0 && ret)
		*ret = function;
	return rc;
}

int cuda_function_named(struct cuda *c, struct cuda_process *p, uint32_t name,
			struct cuda_function *ret)
{
	/* Its handle is not known; no function has its name's number for one. */
	return add_function(c, p, name, 0, name, ret);
}

int cuda_function(struct cuda *c, struct cuda_process *p, uint64_t handle,
		  struct cuda_function *ret)
{
	uint64_t *known = hash_get(&p->function_index, handle);

	if (known) {
		*ret = p->functions.data[*known];
		c->stats.unnamed += ret->name == 0;
		return 0;
	}
	c->stats.unnamed++;
	if (p->functions.len >= CUDA_FUNCTIONS_MAX) {
		*ret = (struct cuda_function){ 0 };
		return 0;
	}
	return add_function(c, p, handle, 0, 0, ret);
}

int cuda_function_found(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	uint64_t handle = e->value[3];
	uint32_t name;
	int rc;

	if (!handle || (uint32_t)e->value[4] != 0 || !e->text_size)
		return 0;
	rc = capture_writer_bytes(c->host.writer, e->text, e->text_size, &name);
	return rc < 0 ? rc : add_function(c, p, handle, e->value[1], name, NULL);
}

/* A name that the program asked for itself, or that it registered a host function under. */
int cuda_function_told(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	bool is_registered = (e->site->id & SITE_MASK) == SITE_RUNTIME_REGISTER;
	uint64_t handle = is_registered ? e->value[0] : e->value[1];
	uint64_t *known = hash_get(&p->function_index, handle);
	uint32_t name;
	int rc;

	if (!e->text_size || (!is_registered && (uint32_t)e->value[3] != 0) ||
	    (known && p->functions.data[*known].name))
		return 0;
	rc = capture_writer_bytes(c->host.writer, e->text, e->text_size, &name);
	return rc < 0 ? rc : add_function(c, p, handle, 0, name, NULL);
}

int cuda_function_alias(struct cuda *c, struct cuda_process *p, uint64_t alias, uint64_t handle)
{
	uint64_t *known = hash_get(&p->function_index, handle);

	(void)c;
	if (!known || !alias)
		return 0;
	/* A copy: the table may grow under it. */
	struct cuda_function function = p->functions.data[*known];
	return set_function(p, alias, &function);
}

int cuda_module_alias(struct cuda_process *p, uint64_t alias, uint64_t handle)
{
	uint64_t *known = hash_get(&p->programs, handle);

	return known && alias ? hash_set(&p->programs, alias, *known) : 0;
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

/* The image of a module as a CODE_OBJECT record, if it is a cubin: its number, or 0. */
static int put_image(struct cuda *c, struct cuda_process *p, const struct accel_event *e,
		     uint32_t *ret)
{
	struct record_code_object object = { .kind = CODE_OBJECT_CUBIN, .process = p->process };
	uint64_t size = cubin_size(e->text, e->text_size);
	CLEANUP_FREE char *whole = NULL;
	const char *bytes = e->text;
	char name[64];
	int rc;

	*ret = 0;
	if (size == 0 || size > TOLD_IMAGE_MAX)
		return 0;
	if (size > e->text_size) {
		whole = malloc(size);
		if (!whole)
			return -ENOMEM;
		/* The call has returned: a program may have freed it by now. */
		if (c->host.read(c->host.data, p->pid, e->value[1], whole, size) < 0 ||
		    memcmp(whole, e->text, e->text_size) != 0)
			return 0;
		bytes = whole;
	}
	object.id = c->host.number(c->host.data);
	snprintf(name, sizeof(name), "CUDA module 0x%" PRIx64, e->value[2]);
	rc = capture_writer_string(c->host.writer, name, &object.name);
	if (rc == 0)
		rc = capture_writer_code_object(c->host.writer, &object, bytes, size);
	if (rc == 0)
		*ret = object.id;
	return rc;
}

/* A new module may have the address of one that is gone; its functions are new, too. */
static void forget_module(struct cuda_process *p, uint64_t module)
{
	hash_remove(&p->programs, module);
	vec_for_each(&p->functions, it)
		hash_remove(&p->kernels, hash_u64(module) ^ it->name);
}

int cuda_module_loaded(struct cuda *c, struct cuda_process *p, const struct accel_event *e)
{
	uint64_t module = e->value[2];
	uint32_t code;
	int rc;

	if (!module || (uint32_t)e->value[3] != 0)
		return 0;
	if (hash_get(&p->programs, module))
		forget_module(p, module);
	rc = put_image(c, p, e, &code);
	if (p->programs.len >= CUDA_FUNCTIONS_MAX)
		hash_release(&p->programs);
	return rc < 0 ? rc : hash_set(&p->programs, module, code);
}

int cuda_module_unloaded(struct cuda_process *p, const struct accel_event *e)
{
	forget_module(p, e->value[0]);
	return 0;
}
