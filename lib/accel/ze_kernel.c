/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and kernels. What a kernel is called is told when it is made. What a module was made from is kept; where its
 * code went only the library inside a target can tell.
 */
#include "accel/ze.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EM_INTELGT_   205 /* EM_INTELGT: in <elf.h> since glibc 2.36 */
#define FORMAT_SPIRV  0   /* ZE_MODULE_FORMAT_IL_SPIRV */
#define FORMAT_NATIVE 1   /* ZE_MODULE_FORMAT_NATIVE */

static int put_kernel(struct ze *z, struct ze_process *p, uint64_t module, uint64_t handle,
		      struct ze_kernel *kernel)
{
	uint64_t *code = hash_get(&p->modules, module);
	struct record record = {
		.type = RECORD_KERNEL,
		.kernel = {
			.id = z->host.number(z->host.data),
			.process = p->process,
			.code_object = code ? (uint32_t)*code : 0,
			.name = kernel->name,
			.handle = handle,
			.program = module,
		},
	};

	kernel->record = record.kernel.id;
	return capture_writer_put(z->host.writer, &record);
}

static int set_kernel(struct ze_process *p, uint64_t handle, const struct ze_kernel *kernel)
{
	uint64_t *known = hash_get(&p->kernel_index, handle);

	if (known) {
		p->kernels.data[*known] = *kernel;
		return 0;
	}
	if (p->kernels.len >= ZE_KERNELS_MAX)
		return 0;
	if (vec_push(&p->kernels, *kernel) < 0)
		return -ENOMEM;
	return hash_set(&p->kernel_index, handle, p->kernels.len - 1);
}

/* @handle is the function @name of @module. Programs make kernels again and again: equal ones share one record. */
static int add_kernel(struct ze *z, struct ze_process *p, uint64_t handle, uint64_t module,
		      uint32_t name, struct ze_kernel *ret)
{
	struct ze_kernel kernel = { .name = name };
	uint64_t key = hash_u64(module) ^ (name ? name : hash_u64(handle));
	uint64_t *known = hash_get(&p->records, key);
	int rc = 0;

	if (known)
		kernel.record = (uint32_t)*known;
	else
		rc = put_kernel(z, p, module, handle, &kernel);
	if (p->records.len >= ZE_KERNELS_MAX)
		hash_release(&p->records);
	if (rc == 0 && !known)
		rc = hash_set(&p->records, key, kernel.record);
	if (rc == 0)
		rc = set_kernel(p, handle, &kernel);
	if (rc == 0 && ret)
		*ret = kernel;
	return rc;
}

int ze_kernel(struct ze *z, struct ze_process *p, uint64_t handle, struct ze_kernel *ret)
{
	uint64_t *known = hash_get(&p->kernel_index, handle);

	if (known) {
		*ret = p->kernels.data[*known];
		z->stats.unnamed += ret->name == 0;
		return 0;
	}
	z->stats.unnamed++;
	if (p->kernels.len >= ZE_KERNELS_MAX) {
		*ret = (struct ze_kernel){ 0 };
		return 0;
	}
	return add_kernel(z, p, handle, 0, 0, ret);
}

int ze_kernel_created(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	uint64_t handle = e->value[3];
	uint32_t name;
	int rc;

	if (!handle || (uint32_t)e->value[4] != 0 || !e->text_size)
		return 0;
	rc = capture_writer_bytes(z->host.writer, e->text, e->text_size, &name);
	return rc < 0 ? rc : add_kernel(z, p, handle, e->value[0], name, NULL);
}

/* What a module was made from; 0: nothing that we know. */
static uint32_t module_kind(const struct accel_event *e)
{
	Elf64_Ehdr header;

	if (e->value[0] == FORMAT_SPIRV)
		return CODE_OBJECT_SPIRV;
	if (e->value[0] != FORMAT_NATIVE || e->text_size < sizeof(header))
		return 0;
	memcpy(&header, e->text, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	return header.e_machine == EM_INTELGT_ ? CODE_OBJECT_ZEBIN : 0;
}

void ze_module_gone(struct ze_process *p, uint64_t module)
{
	hash_remove(&p->modules, module);
	/* Another may have its handle; its kernels are new, too. */
	vec_for_each(&p->kernels, it)
		hash_remove(&p->records, hash_u64(module) ^ it->name);
}

int ze_module_created(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	struct record_code_object object = { .process = p->process, .kind = module_kind(e) };
	uint64_t module = e->value[4];
	char name[64];
	int rc = 0;

	if (!module || (uint32_t)e->value[5] != 0)
		return 0;
	if (hash_get(&p->modules, module))
		ze_module_gone(p, module);
	if (object.kind && e->text_size && !(e->flags & ACCEL_EVENT_CUT)) {
		object.id = z->host.number(z->host.data);
		snprintf(name, sizeof(name), "Level Zero module 0x%" PRIx64, module);
		rc = capture_writer_string(z->host.writer, name, &object.name);
		if (rc == 0)
			rc = capture_writer_code_object(z->host.writer, &object, e->text,
							e->text_size);
	}
	if (p->modules.len >= ZE_MODULES_MAX)
		hash_release(&p->modules);
	return rc < 0 ? rc : hash_set(&p->modules, module, object.id);
}
