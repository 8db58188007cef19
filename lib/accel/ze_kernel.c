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

/* @told: what else is known, or NULL. */
static int put_kernel(struct ze *z, struct ze_process *p, uint64_t module, uint64_t handle,
		      const struct told_kernel *told, struct ze_kernel *kernel)
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
			.size = told ? told->size : 0,
		},
	};
	int rc = told ? told_kernel_metadata(told, z->host.writer, &record.kernel.metadata) : 0;

	kernel->code = record.kernel.code_object;
	kernel->record = record.kernel.id;
	return rc < 0 ? rc : capture_writer_put(z->host.writer, &record);
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

static uint64_t key_of(uint64_t module, uint32_t name, uint64_t handle)
{
	return hash_u64(module) ^ (name ? name : hash_u64(handle));
}

/* @handle is the function @name of @module. Programs make kernels again and again: equal ones share one record. */
static int add_kernel(struct ze *z, struct ze_process *p, uint64_t handle, uint64_t module,
		      uint32_t name, struct ze_kernel *ret)
{
	struct ze_kernel kernel = { .name = name };
	uint64_t key = key_of(module, name, handle);
	uint64_t *known = hash_get(&p->records, key);
	int rc = 0;

	if (known) {
		kernel.record = (uint32_t)*known;
		kernel.code = (uint32_t)(*known >> 32);
	} else {
		rc = put_kernel(z, p, module, handle, NULL, &kernel);
	}
	if (p->records.len >= ZE_KERNELS_MAX)
		hash_release(&p->records);
	if (rc == 0 && !known)
		rc = hash_set(&p->records, key, hash_pair(kernel.code, kernel.record));
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

struct told_to {
	struct ze *z;
	struct ze_process *p;
};

/* A kernel of which the library inside has told where it is. */
static int take_told(void *data, const struct told_kernel *k, uint32_t *ret_kernel,
		     uint32_t *ret_device)
{
	struct told_to *to = data;
	struct ze_process *p = to->p;
	/* Those of modules that nobody knows may be several of one name. */
	uint64_t key = key_of(k->module ? k->module : k->handle, k->name, k->handle);
	uint64_t *known = hash_get(&p->records, key);
	uint64_t *code = hash_get(&p->modules, k->module);
	struct ze_kernel kernel = { .name = k->name, .code = code ? (uint32_t)*code : 0 };
	int rc = ze_device(to->z, p, k->device, ret_device);

	if (rc < 0)
		return rc;
	/* Of the same code: programs make kernels again and again. */
	if (known && *known >> 32 == kernel.code)
		kernel.record = (uint32_t)*known;
	else
		rc = put_kernel(to->z, p, k->module, k->handle, k, &kernel);
	if (p->records.len >= ZE_KERNELS_MAX)
		hash_release(&p->records);
	if (rc == 0)
		rc = hash_set(&p->records, key, hash_pair(kernel.code, kernel.record));
	*ret_kernel = kernel.record;
	return rc < 0 ? rc : set_kernel(p, k->handle, &kernel);
}

int ze_told(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	struct told_to to = { z, p };
	const struct told_taker taker = {
		.host = &z->host,
		.process = p->process,
		.title = "Level Zero module",
		.modules = &p->modules,
		.modules_max = ZE_MODULES_MAX,
		.located = &z->stats.located,
		.kernel = take_told,
		.data = &to,
	};

	p->is_told = true;
	return told_code_batch(&p->code, &taker, e);
}

int ze_kernel_created(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	uint64_t handle = e->value[3];
	uint32_t name;
	int rc;

	/* What is inside tells more of it at once. */
	if (!handle || (uint32_t)e->value[4] != 0 || !e->text_size || p->is_told)
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

int ze_module_gone(struct ze *z, struct ze_process *p, uint64_t module, uint64_t time_ns)
{
	hash_remove(&p->modules, module);
	/* Another may have its handle; its kernels are new, too. */
	vec_for_each(&p->kernels, it)
		hash_remove(&p->records, hash_u64(module) ^ it->name);
	return told_code_gone(&p->code, &z->host, p->process, module, time_ns);
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
		rc = ze_module_gone(z, p, module, e->time_ns);
	if (rc < 0)
		return rc;
	if (object.kind && e->text_size && !(e->flags & ACCEL_EVENT_CUT) && !p->is_told) {
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
