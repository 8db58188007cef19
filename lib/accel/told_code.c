/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/told_code.h"

#include "accel/info.h"
#include "elf/elf.h"
#include "inject/message.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a kernel whose size is told by nobody: drivers of the time when they could not be asked gave each the rest of its
 * 64 KiB. */
#define KERNEL_SPACING (64u << 10)
/* Kernels of one module. */
#define PARTS_MAX 65536

static void forget_modules(struct told_code *c)
{
	vec_for_each(&c->modules, it)
		vec_release(&it->parts);
	vec_release(&c->modules);
	hash_release(&c->index);
	c->parts = 0;
}

void told_code_release(struct told_code *c)
{
	forget_modules(c);
	hash_release(&c->names);
	hash_release(&c->threads);
	told_image_release(&c->image);
}

static struct told_module *find_module(const struct told_code *c, uint64_t module)
{
	uint64_t *index = hash_get(&c->index, module);

	return index ? &c->modules.data[*index] : NULL;
}

static int add_module(struct told_code *c, uint64_t module, struct told_module **ret)
{
	if (c->modules.len >= TOLD_MODULES_MAX || c->parts >= TOLD_PARTS_MAX)
		forget_modules(c);
	*ret = find_module(c, module);
	if (*ret) {
		vec_release(&(*ret)->parts);
		return 0;
	}
	if (vec_push(&c->modules, (struct told_module){ .module = module }) < 0)
		return -ENOMEM;
	*ret = vec_last(&c->modules);
	return hash_set(&c->index, module, c->modules.len - 1);
}

/* Executable sections with an address: kernels, and functions that they call. What is no ELF file has none. */
static int read_parts(struct told_module *m, const struct told_image *image)
{
	CLEANUP(elf_close) struct elf_file *elf = NULL;

	if (elf_open_memory(&elf, span_of(image->bytes, image->total), "module", NULL) < 0)
		return 0;
	for (size_t i = 0; i < elf_section_count(elf) && m->parts.len < PARTS_MAX; i++) {
		struct elf_section s = elf_section_get(elf, i);
		if (!(s.flags & SHF_EXECINSTR) || !s.addr || !s.size)
			continue;
		if (vec_push(&m->parts, (struct told_part){ s.addr, s.size }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Until kernels there are told of, and of what is none: functions that kernels call. */
static int load_parts(const struct told_code *c, const struct told_taker *taker,
		      const struct told_module *module, uint64_t time_ns)
{
	int rc = 0;

	vec_for_each(&module->parts, it) {
		struct accel_code code = {
			.time_ns = time_ns,
			.process = taker->kernels->process,
			.has_all = c->has_all,
			.address = it->address,
			.size = it->size,
		};
		rc = rc ? rc : accel_code_loaded(taker->kernels->host->accel, &code);
	}
	return rc;
}

static int take_code(struct told_code *c, const struct told_taker *taker,
		     const struct accel_event *e, struct cursor *m)
{
	const struct told_image *image = &c->image;
	struct told_module *module;
	int rc = told_image_part(&c->image, m);

	if (rc <= 0)
		return rc;
	uint64_t digest = hash_bytes(image->bytes, image->total) | 1;
	module = find_module(c, image->module);
	if (module && module->digest == digest) {
		/* Told again because of another recorder. */
		told_image_release(&c->image);
		return 0;
	}
	/* In the place of what was told of that module before. */
	rc = add_module(c, image->module, &module);
	if (rc == 0) {
		module->digest = digest;
		rc = read_parts(module, image);
	}
	if (rc == 0)
		c->parts += module->parts.len;
	if (rc == 0)
		rc = load_parts(c, taker, module, e->time_ns);
	if (rc == 0)
		rc = kernel_table_module(taker->kernels, image->module, CODE_OBJECT_ZEBIN,
					 span_of(image->bytes, image->total));
	told_image_release(&c->image);
	return rc;
}

/* How much code begins at @address of a module; 0: not known. */
static uint64_t size_at(const struct told_code *c, uint64_t module, uint64_t address)
{
	const struct told_module *m = find_module(c, module);

	if (m)
		vec_for_each(&m->parts, it)
			if (it->address == address)
				return it->size;
	return 0;
}

static int take_kernel(struct told_code *c, const struct told_taker *taker,
		       const struct accel_event *e, const struct inject_kernel *k)
{
	uint64_t *name = hash_get(&c->names, k->name);
	struct accel_code code = {
		.time_ns = e->time_ns,
		.process = taker->kernels->process,
		.has_all = c->has_all,
		.pci = k->pci,
		.address = k->address,
		.size = size_at(c, k->module, k->address),
	};
	struct kernel_facts facts = {
		.handle = k->handle,
		.module = k->module,
		.address = k->address,
		.name = name ? (uint32_t)*name : 0,
	};
	struct kernel kernel;
	int rc;

	if (!k->handle)
		return 0;
	if (!code.size)
		code.size = k->size;
	if (!code.size && k->address)
		code.size = KERNEL_SPACING - k->address % KERNEL_SPACING;
	facts.size = code.size;
	rc = taker->device(taker->data, k->device, &code.device);
	if (rc == 0)
		rc = kernel_table_add(taker->kernels, &facts, &kernel);
	if (rc < 0 || !k->address)
		return rc;
	code.kernel = kernel.record;
	++*taker->located;
	return accel_code_loaded(taker->kernels->host->accel, &code);
}

static int take_thread(struct told_code *c, const struct accel_event *e, struct cursor *m)
{
	uint32_t number;

	if (cursor_u32(m, &number, NULL) < 0)
		return 0;
	if (c->threads.len >= TOLD_THREADS_MAX)
		hash_release(&c->threads);
	return hash_set(&c->threads, number, e->tid);
}

static int take_time(const struct told_code *c, const struct told_taker *taker,
		     const struct told_message *m)
{
	struct inject_time time;
	uint64_t *tid;

	if (m->whole.size < sizeof(time))
		return 0;
	memcpy(&time, m->whole.data, sizeof(time));
	if (time.end_ns < time.start_ns)
		return 0;
	tid = hash_get(&c->threads, time.thread);
	return taker->time(taker->data, &time, tid ? (uint32_t)*tid : 0);
}

static int take_dropped(const struct told_taker *taker, const struct accel_event *e,
			struct cursor *m)
{
	uint64_t count;

	if (cursor_u64(m, &count, NULL) < 0)
		return 0;
	return accel_lost(taker->kernels->host, e->time_ns, "dispatch",
			  "times of work that could not be kept inside the program", count);
}

static int take_status(const struct told_taker *taker, uint16_t about, struct span text)
{
	char copy[256];
	size_t size = text.size < sizeof(copy) - 1 ? text.size : sizeof(copy) - 1;

	memcpy(copy, text.data, size);
	copy[size] = '\0';
	return accel_info(taker->kernels->host->writer,
			  about == INJECT_STATUS_TIME ? "missing.device-time" : "missing.code",
			  copy);
}

static int take_message(struct told_code *c, const struct told_taker *taker,
			const struct accel_event *e, struct told_message *m)
{
	struct inject_kernel kernel;

	switch (m->type) {
	case INJECT_STATUS:
		return take_status(taker, m->about, m->body.span);
	case INJECT_HERE:
		c->has_all = m->about != 0;
		return 0;
	case INJECT_NAME:
		return told_name(&c->names, taker->kernels->host->writer, &m->body);
	case INJECT_THREAD:
		return take_thread(c, e, &m->body);
	case INJECT_TIME:
		return take_time(c, taker, m);
	case INJECT_DROPPED:
		return take_dropped(taker, e, &m->body);
	case INJECT_CODE:
		return take_code(c, taker, e, &m->body);
	case INJECT_KERNEL:
		if (m->whole.size < sizeof(kernel))
			return 0;
		memcpy(&kernel, m->whole.data, sizeof(kernel));
		return take_kernel(c, taker, e, &kernel);
	default: /* of a newer library */
		return 0;
	}
}

int told_code_batch(struct told_code *c, const struct told_taker *taker,
		    const struct accel_event *e)
{
	struct span batch = span_of(e->text, e->text_size);
	struct told_message message;
	int rc = 0;

	while (rc == 0 && told_next(&batch, &message))
		rc = take_message(c, taker, e, &message);
	return rc;
}

int told_code_gone(struct told_code *c, struct kernel_table *kernels, uint64_t module,
		   uint64_t time_ns)
{
	struct told_module *m = find_module(c, module);
	int rc = kernel_table_module(kernels, module, 0, (struct span){ 0 });

	if (!m)
		return rc;
	vec_for_each(&m->parts, it) {
		struct accel_code code = {
			.time_ns = time_ns,
			.process = kernels->process,
			.address = it->address,
			.size = it->size,
		};
		rc = rc ? rc : accel_code_unloaded(kernels->host->accel, &code);
	}
	vec_release(&m->parts);
	m->digest = 0;
	return rc;
}
