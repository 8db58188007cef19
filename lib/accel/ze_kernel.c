/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and kernels. What a kernel is called is told when it is made. What a module was made from is kept; where its
 * code went only the library inside a target can tell.
 */
#include "accel/ze.h"

#include <elf.h>
#include <string.h>

#define EM_INTELGT_   205 /* EM_INTELGT: in <elf.h> since glibc 2.36 */
#define FORMAT_SPIRV  0   /* ZE_MODULE_FORMAT_IL_SPIRV */
#define FORMAT_NATIVE 1   /* ZE_MODULE_FORMAT_NATIVE */

int ze_kernel(struct ze *z, struct ze_process *p, uint64_t handle, struct kernel *ret)
{
	const struct kernel_facts facts = { .handle = handle };
	const struct kernel *known = kernel_table_get(&p->kernels, handle);

	z->stats.unnamed += !known || !known->name;
	if (!known && !kernel_table_is_full(&p->kernels))
		return kernel_table_add(&p->kernels, &facts, ret);
	*ret = known ? *known : (struct kernel){ 0 };
	return 0;
}

int ze_kernel_created(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	struct kernel_facts facts = { .handle = e->value[3], .module = e->value[0] };
	struct kernel kernel;
	int rc;

	/* What is inside tells more of it at once. */
	if (!facts.handle || (uint32_t)e->value[4] != 0 || !e->text_size || p->is_told)
		return 0;
	rc = capture_writer_bytes(z->host.writer, e->text, e->text_size, &facts.name);
	return rc < 0 ? rc : kernel_table_add(&p->kernels, &facts, &kernel);
}

struct told_to {
	struct ze *z;
	struct ze_process *p;
};

static int told_device(void *data, uint64_t handle, uint32_t *ret)
{
	struct told_to *to = data;

	return ze_device(to->z, to->p, handle, ret);
}

static int take_time(void *data, const struct inject_time *time, uint32_t tid)
{
	const struct told_to *to = data;

	(void)tid;
	return ze_timed(to->z, to->p, time);
}

int ze_told(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	const struct told_taker taker = {
		.kernels = &p->kernels,
		.device = told_device,
		.time = take_time,
		.data = &(struct told_to){ z, p },
		.located = &z->stats.located,
	};

	p->is_told = true;
	return told_code_batch(&p->code, &taker, e);
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

int ze_module_created(struct ze_process *p, const struct accel_event *e)
{
	uint32_t kind = module_kind(e);
	uint64_t module = e->value[4];
	int rc;

	if (!module || (uint32_t)e->value[5] != 0)
		return 0;
	if (!e->text_size || e->flags & ACCEL_EVENT_CUT || p->is_told)
		kind = 0;
	rc = told_code_gone(&p->code, &p->kernels, module, e->time_ns);
	return rc < 0 ? rc
		      : kernel_table_module(&p->kernels, module, kind,
					    span_of(e->text, e->text_size));
}
