/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/kernel_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void kernel_table_init(struct kernel_table *t, const struct accel_host *host, uint32_t process,
		       const char *title)
{
	*t = (struct kernel_table){ .host = host, .process = process, .title = title };
}

void kernel_table_release(struct kernel_table *t)
{
	hash_release(&t->index);
	vec_release(&t->kernels);
	hash_release(&t->records);
	hash_release(&t->modules);
}

const struct kernel *kernel_table_get(const struct kernel_table *t, uint64_t handle)
{
	uint64_t *index = hash_get(&t->index, handle);

	return index ? &t->kernels.data[*index] : NULL;
}

int kernel_table_set(struct kernel_table *t, uint64_t handle, const struct kernel *kernel)
{
	uint64_t *index = hash_get(&t->index, handle);

	if (index) {
		t->kernels.data[*index] = *kernel;
		return 0;
	}
	if (!handle || kernel_table_is_full(t))
		return 0;
	if (vec_push(&t->kernels, *kernel) < 0)
		return -ENOMEM;
	return hash_set(&t->index, handle, t->kernels.len - 1);
}

static int put_kernel(struct kernel_table *t, const struct kernel_facts *facts, uint32_t code,
		      uint32_t *ret)
{
	struct record record = {
		.type = RECORD_KERNEL,
		.kernel = {
			.id = t->host->number(t->host->data),
			.process = t->process,
			.code_object = code,
			.name = facts->name,
			.handle = facts->handle,
			.program = facts->module,
			.size = facts->size,
		},
	};
	char text[64];
	int rc = 0;

	if (facts->address) {
		snprintf(text, sizeof(text), "address=0x%" PRIx64, facts->address);
		rc = capture_writer_string(t->host->writer, text, &record.kernel.metadata);
	}
	*ret = record.kernel.id;
	return rc < 0 ? rc : capture_writer_put(t->host->writer, &record);
}

int kernel_table_add(struct kernel_table *t, const struct kernel_facts *facts, struct kernel *ret)
{
	/* Where code is, those of modules that nobody knows may be several of one name. */
	uint64_t module = facts->module || !facts->address ? facts->module : facts->handle;
	uint64_t *which = hash_get(&t->modules, facts->module);
	uint64_t key = hash_u64(hash_u64(module) ^ (which ? *which : 0)) ^
		       (facts->name ? facts->name : hash_u64(facts->handle));
	uint64_t *known = hash_get(&t->records, key);
	struct kernel kernel = { .name = facts->name };
	int rc = 0;

	if (known) {
		kernel.record = (uint32_t)*known;
	} else {
		if (t->records.len >= KERNEL_TABLE_MAX)
			hash_release(&t->records);
		rc = put_kernel(t, facts, which ? (uint32_t)*which : 0, &kernel.record);
		rc = rc < 0 ? rc : hash_set(&t->records, key, kernel.record);
	}
	if (rc == 0)
		rc = kernel_table_set(t, facts->handle, &kernel);
	if (rc == 0)
		*ret = kernel;
	return rc;
}

static int put_code(struct kernel_table *t, uint64_t module, uint32_t kind, struct span code,
		    uint32_t *ret)
{
	struct record_code_object object = {
		.id = t->host->number(t->host->data),
		.kind = kind,
		.process = t->process,
	};
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "%s 0x%" PRIx64, t->title, module);
	rc = capture_writer_string(t->host->writer, name, &object.name);
	*ret = object.id;
	return rc < 0 ? rc
		      : capture_writer_code_object(t->host->writer, &object, code.data, code.size);
}

int kernel_table_module(struct kernel_table *t, uint64_t module, uint32_t kind, struct span code)
{
	uint32_t record = 0;
	int rc = kind ? put_code(t, module, kind, code, &record) : 0;

	if (t->modules.len >= KERNEL_TABLE_MAX) {
		hash_release(&t->modules);
		hash_release(&t->records);
	}
	return rc < 0 || !module
		       ? rc
		       : hash_set(&t->modules, module, hash_pair(++t->last_module, record));
}

int kernel_table_alias(struct kernel_table *t, uint64_t alias, uint64_t module)
{
	uint64_t *which = hash_get(&t->modules, module);

	return which && alias ? hash_set(&t->modules, alias, *which) : 0;
}
